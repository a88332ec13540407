"""Who is asked to take over, what they get to read, and how a request ends, also where a platform fails."""

import asyncio
from collections.abc import Collection
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent.admission_terms import Authority
from agent.errors import Refused
from agent.events import Outcome
from agent.handoffs import (
    HANDOFF,
    MAX_A_DAY,
    OPEN_FOR,
    REMIND_AFTER,
    SENDING,
    TAKEN_FOR,
    Handoff,
    HandoffOutcome,
    HandoffState,
)
from agent.incoming import Incoming, Person
from agent.memory.audience import WIDE, GroupAudience, PersonAudience, Place, TeamAudience
from agent.memory.audience import label as audience_label
from agent.memory.forgetting_plans import Everything
from agent.ports.tools import Asker
from agent.schedules.definitions import NotAllowed, Occurrence, Schedule
from agent.shown_replies import DELETE_REPLY
from agent.turn_kinds import TurnKind
from agent.turn_records import Claim, Claiming, Closing
from bot.chat.access.acl import parse_entries
from bot.chat.access.place_rules import HUMAN, PLACE, name_at, place_owner
from bot.chat.panels import Panel
from bot.handoff import texts
from bot.handoff.messages import AGAIN, GIVE_UP, LOOK, SLOWLY, HandoffMessages
from bot.handoff.people import HandoffPeople
from bot.handoff.service import HandoffService
from tests.contracts.steps import claimed
from tests.fakes.approver_platform import FakeApproverPlatform, NoAnswer
from tests.fakes.clock import FakeClock
from tests.fakes.incoming import LEASE, said
from tests.fakes.store import store_in_memory

ANN, BOB, EVE, MIA = "test:ann", "test:bob", "test:eve", "test:mia"
TEAM, GROUP = Place(TeamAudience("test"), within_team="test"), Place(GroupAudience("test:secret"), within_team="test")
DIRECT = Place(PersonAudience(ANN))
QUESTION, ANSWER, NOTE = "Where is the heron?", "It is in the harbour.", "Please hurry."


@dataclass
class FakePlaces:
    """Implements `SchedulePlatform`: where notices are posted. `why`: why they are not; `is_down`: nobody knows now."""

    why: str = ""
    is_down: bool = False
    asked: list[Schedule] = field(default_factory=list[Schedule])

    async def admit(self, occurrence: Occurrence) -> Incoming | NotAllowed:
        if self.is_down:
            raise NoAnswer("no answer")
        self.asked.append(occurrence.schedule)
        if self.why:
            return NotAllowed(self.why)
        made = occurrence.schedule.definition
        asked = said("", person=made.person, conversation=made.conversation, place=made.place)
        return replace(asked, source=made.source, channel=made.channel)

    async def direct(self, schedule: Schedule, time: datetime) -> Incoming:  # noqa: ARG002 -- no notice needs it
        raise NoAnswer("not used")


class Desk:
    """Ann asks the bot. Bob and Eve take over, and Mia manages the channel. All read it, unless a test says else."""

    def __init__(self, people: str = f"person:{BOB},person:{EVE}", place: Place = TEAM) -> None:
        self.store, self.clock, self.places = store_in_memory(), FakeClock(auto=False), FakePlaces()
        ranks = {ANN: Authority.EMPLOYEE, BOB: Authority.EMPLOYEE, EVE: Authority.EMPLOYEE, MIA: Authority.MANAGER}
        self.platform, self.place = FakeApproverPlatform(ranks, {*ranks}), place
        self.people, self.woken = parse_entries(people), 0

    @property
    def service(self) -> HandoffService:
        """That of a new process."""
        return HandoffService(
            handoffs=self.store.handoffs, people=self._found, clock=self.clock, operates=lambda _: False
        )

    @property
    def messages(self) -> HandoffMessages:
        """Those of a new process."""
        return HandoffMessages(
            handoffs=self.store.handoffs,
            people=self._found,
            jobs=self.store.jobs,
            written=self.store.written_turns,
            schedules={"test": self.places},
            clock=self.clock,
            wake=self._wake,
        )

    @property
    def _found(self) -> HandoffPeople:
        return HandoffPeople(self.store.preferences, self.store.approvals, {"test": self.platform}, self.people)

    def _wake(self) -> None:
        self.woken += 1

    def asker(self, person: str = ANN, *, manages: bool = False) -> Asker:
        return Asker(Person(person, person.rpartition(":")[2].title()), self.place, "channel", manages=manages)

    async def answered(self, *, conversation: str = "test:thread", drawn_from: str = WIDE) -> Claim:
        await self.store.ledger.accept(said(QUESTION, person=ANN, conversation=conversation, place=self.place))
        claim = await claimed(self.store, now=self.clock.now())
        closing = Closing(Outcome.ANSWERED, ANSWER, pages=(f"page {claim.turn}",), drawn_from=drawn_from)
        await self.store.ledger.finish(claim, closing, self.clock.now())
        return claim

    async def use(self, words: str = "", person: str = ANN, *, share: bool = False, manages: bool = False) -> Panel:
        """The answer to `/human`, also if it is a refusal."""
        try:
            asker = self.asker(person, manages=manages)
            return await self.service.command(asker, frozenset({"test:thread"}), words, share=share)
        except Refused as refused:
            return Panel(str(refused), refused=True)

    async def asked(self, label: str = texts.BUTTON) -> Handoff:
        """Ann has asked, with this button of the preview, and people are written."""
        preview = await self.use()
        (button,) = [action for action in preview.actions if action.label == label]
        panel = await self.use(button.words)
        assert not panel.refused, panel.text
        await self.work()
        return await self.handoff()

    async def handoff(self, number: int = 1) -> Handoff:
        found = await self.store.handoffs.by_number(number)
        assert found is not None
        return found

    async def work(self, *, kind: str = HANDOFF) -> list[str]:
        """Run the jobs that are due, each once. Returns their keys."""
        done = list[str]()
        jobs = self.store.jobs
        while (job := await jobs.claim(frozenset({kind}), "worker", self.clock.now(), LEASE)) is not None:
            done.append(job.key)
            if kind == HANDOFF:
                await self.messages.run(job)
            await jobs.finish(job)
        return done

    async def later(self, by: timedelta) -> None:
        await self.clock.advance(by.total_seconds())
        await self.work()

    async def press(self, person: str, words: str) -> Panel:
        panel = await self.service.answer(person, words)
        assert panel is not None
        return panel

    def shown_to(self, person: str) -> str:
        return "\n".join(panel.text for whose, panel in self.platform.shown.values() if whose == person)

    async def notices(self) -> list[str]:
        """What was posted where Ann asked, in order."""
        found = list[str]()
        while (claim := await self.store.ledger.claim(_claiming(self.clock.now()))) is not None:
            assert claim.incoming.kind is TurnKind.HANDOFF
            assert not claim.incoming.own
            found.append(claim.incoming.text)
            closing = Closing(Outcome.ANSWERED, claim.incoming.text, pages=(f"page {claim.turn}",))
            await self.store.ledger.finish(claim, closing, self.clock.now())
        return found


def _claiming(now: datetime) -> Claiming:
    return Claiming("worker", now, LEASE)


async def test_people_are_shown_before_and_written_once_with_the_question_the_answer_and_the_link() -> None:
    desk = Desk()
    claim = await desk.answered()
    preview = await desk.use()
    assert "Test:Bob, Test:Eve" in preview.text
    assert not desk.platform.shown
    handoff = await desk.asked()
    for person in (BOB, EVE):
        text = desk.shown_to(person)
        for words in ("Ann asks for a human", QUESTION, ANSWER, f"({claim.incoming.permalink})"):
            assert words in text
    assert not desk.shown_to(ANN)
    await desk.store.jobs.schedule(HANDOFF, str(handoff.number), "", desk.clock.now())
    await desk.work()
    assert len(desk.platform.shown) == 2


@pytest.mark.parametrize("dies", [True, False])
async def test_a_message_that_was_sent_before_a_crash_is_found_and_not_sent_again(dies: bool) -> None:
    desk = Desk(f"person:{BOB}")
    await desk.answered()
    desk.platform.dies = dies
    handoff = await desk.asked()
    if not dies:  # it was killed before the message was sent
        desk.platform.shown.clear()
        await desk.store.handoffs.shown(handoff.number, BOB, SENDING)
        await desk.store.jobs.schedule(HANDOFF, "1", "", desk.clock.now())
    await desk.later(AGAIN)
    assert len(desk.platform.shown) == 1
    (message,) = await desk.store.handoffs.messages(handoff.number)
    assert [*message.pages] == [*desk.platform.shown]


async def test_one_of_many_who_press_takes_it_and_all_see_who() -> None:
    desk = Desk()
    await desk.answered()
    await desk.asked()
    panels = await asyncio.gather(*(desk.press(each, "handoff take 1") for each in (BOB, EVE)))
    assert sorted(panel.refused for panel in panels) == [False, True]
    handoff = await desk.handoff()
    await desk.work()
    other = EVE if handoff.taker == BOB else BOB
    assert "has taken over Ann's conversation" in desk.shown_to(other)
    assert "You have taken over" in desk.shown_to(handoff.taker)
    assert QUESTION not in desk.shown_to(other) + desk.shown_to(handoff.taker)
    (notice,) = await desk.notices()
    assert "has taken over. I answer here only if someone mentions me" in notice
    again = await desk.press(handoff.taker, "handoff take 1")
    assert not again.refused  # who has it may press again


async def test_who_asks_does_not_take_and_who_is_unknown_now_takes_nothing() -> None:
    desk = Desk()
    await desk.answered()
    await desk.asked()
    assert (await desk.press(ANN, "handoff take 1")).text == texts.NOT_YOUR_OWN
    assert (await desk.press(MIA, "handoff take 1")).text == texts.NOT_FOR_YOU
    desk.platform.readers.discard(BOB)
    assert (await desk.press(BOB, "handoff take 1")).text == texts.NOT_FOR_YOU
    desk.platform.is_down = True
    assert (await desk.press(EVE, "handoff take 1")).text == texts.NOT_CHECKED
    assert (await desk.handoff()).state is HandoffState.OPEN


async def test_a_request_while_one_is_open_or_taken_says_so_and_interrupts_nobody_again() -> None:
    desk = Desk()
    await desk.answered()
    await desk.asked()
    assert (await desk.use()).text == texts.OPEN_ALREADY.format(ago=texts.AGO_NOW)
    assert (await desk.use("hurry up")).text == texts.OPEN_ALREADY.format(ago=texts.AGO_NOW)
    await desk.press(BOB, "handoff take 1")
    assert "has taken over this conversation" in (await desk.use("hurry up")).text
    assert len(await desk.store.handoffs.listed(limit=9)) == 1


async def test_only_who_has_it_who_asked_and_a_manager_there_hand_it_back() -> None:
    for person, manages, may in ((BOB, False, True), (ANN, False, True), (MIA, True, True), (EVE, False, False)):
        desk = Desk()
        await desk.answered()
        await desk.asked()
        await desk.press(BOB, "handoff take 1")
        panel = await desk.use("back 1", person, manages=manages)
        assert (panel.text == texts.HANDED_BACK, (await desk.handoff()).state is HandoffState.RETURNED) == (may, may)
        if may:
            await desk.work()
            assert (await desk.notices())[-1] == texts.NOTICE_RETURNED


async def test_a_manager_of_another_place_learns_nothing_of_a_request() -> None:
    desk = Desk()
    await desk.answered()
    await desk.asked()
    await desk.press(BOB, "handoff take 1")
    elsewhere = replace(desk.asker(MIA, manages=True), channel="other")
    panel = await desk.service.command(elsewhere, frozenset(), "back 1")
    assert panel.text == texts.NONE_HERE


async def test_who_asked_takes_the_request_back_and_nobody_else_does() -> None:
    desk = Desk()
    await desk.answered()
    await desk.asked()
    assert (await desk.use("cancel 1", BOB)).text in {texts.NOT_YOURS_TO_CANCEL, texts.NO_REQUEST}
    assert (await desk.use("cancel")).text == texts.CANCELED
    await desk.work()
    assert "canceled the request for a human" in desk.shown_to(BOB)
    assert (await desk.press(BOB, "handoff take 1")).text == texts.TAKE_FAILED[HandoffOutcome.OVER]
    assert await desk.notices() == []


async def test_people_are_reminded_once_and_the_asker_is_told_also_if_that_fails_at_first() -> None:
    desk = Desk()
    await desk.answered()
    await desk.asked()
    desk.places.is_down = True
    await desk.later(REMIND_AFTER)
    assert desk.shown_to(BOB).count("is still waiting for a human") == 1
    desk.places.is_down = False
    await desk.later(AGAIN)
    assert await desk.notices() == [texts.NOTICE_REMINDED]
    await desk.later(timedelta(days=1))
    assert desk.shown_to(BOB).count("is still waiting for a human") == 1


async def test_a_request_that_nobody_takes_ends_and_its_asker_is_told() -> None:
    desk = Desk()
    await desk.answered()
    await desk.asked()
    await desk.later(OPEN_FOR)
    assert (await desk.handoff()).state is HandoffState.EXPIRED
    assert (await desk.notices())[-1] == texts.NOTICE_EXPIRED
    assert "is closed, because nobody took over" in desk.shown_to(EVE)


async def test_a_request_ends_if_none_of_the_people_can_be_written_to() -> None:
    desk = Desk()
    await desk.answered()
    desk.platform.closed = {BOB, EVE}
    handoff = await desk.asked()
    assert handoff.state is HandoffState.EXPIRED
    assert await desk.notices() == [texts.NOTICE_EXPIRED]


async def test_when_the_person_who_took_over_has_left_the_others_are_asked_again() -> None:
    desk = Desk()
    await desk.answered()
    await desk.asked()
    await desk.press(BOB, "handoff take 1")
    await desk.work()
    del desk.platform.ranks[BOB]
    await desk.later(LOOK)
    assert (await desk.handoff()).state is HandoffState.OPEN
    assert "asks for a human" in desk.shown_to(EVE)
    assert (await desk.notices())[-1] == texts.NOTICE_REOPENED.format(taker="Test:Bob")
    await desk.press(EVE, "handoff take 1")
    await desk.work()
    del desk.platform.ranks[EVE]
    await desk.later(LOOK)
    assert (await desk.handoff()).state is HandoffState.RETURNED


async def test_a_conversation_that_nobody_hands_back_is_the_bots_again_after_a_month() -> None:
    desk = Desk()
    await desk.answered()
    await desk.asked()
    await desk.press(BOB, "handoff take 1")
    await desk.later(TAKEN_FOR - timedelta(hours=1))
    assert await desk.store.conversations.participants("test:thread") == {ANN, BOB}
    await desk.later(LOOK)
    assert (await desk.handoff()).state is HandoffState.RETURNED
    assert await desk.store.conversations.participants("test:thread") == {ANN}


async def test_a_notice_that_cannot_be_posted_any_more_is_left_out() -> None:
    desk = Desk()
    await desk.answered()
    await desk.asked()
    desk.places.why = "The channel was deleted."
    await desk.press(BOB, "handoff take 1")
    assert await desk.work() == ["1"]
    assert await desk.notices() == []
    assert "You have taken over" in desk.shown_to(BOB)


async def test_where_nobody_is_set_up_or_nobody_reads_it_is_said_and_nothing_is_stored() -> None:
    desk = Desk("")
    await desk.answered()
    assert (await desk.use()).text == texts.NOBODY
    desk.people = parse_entries(f"person:{BOB}")
    desk.platform.readers.clear()
    assert (await desk.use()).text == texts.NOBODY_READS
    desk.platform.is_down = True
    assert (await desk.use()).text == texts.UNKNOWN
    assert not await desk.store.handoffs.listed(limit=9)


async def test_a_channels_choice_precedes_the_operators_and_off_is_nobody() -> None:
    desk = Desk(f"person:{BOB}")
    claim = await desk.answered()
    for chosen, names in (("managers", "Test:Mia"), (f"person:{EVE}", "Test:Eve"), ("off", None), ("", "Test:Bob")):
        rules = f'{{"{HUMAN}": "{chosen}"}}' if chosen else "{}"
        await desk.store.preferences.set(place_owner("channel"), name_at("test", PLACE), rules)
        preview = await desk.use()
        assert (preview.text == texts.NOBODY) if names is None else f"I will ask {names} to" in preview.text
        assert await desk.service.offers(claim.incoming) is (names is not None)


async def test_a_person_asks_so_often_a_day() -> None:
    desk = Desk()
    for each in range(MAX_A_DAY + 1):
        claim = await desk.answered(conversation=f"test:{each}")
        preview = await desk.use(f"on {claim.turn}")
        (button,) = [action for action in preview.actions if action.label == texts.BUTTON]
        panel = await desk.use(button.words)
        assert panel.refused is (each == MAX_A_DAY)


async def test_nobody_asks_about_an_answer_that_they_cannot_read() -> None:
    desk = Desk()
    claim = await desk.answered()
    words = f"on {claim.turn}"
    elsewhere = replace(desk.asker(BOB), channel="other")
    narrower = replace(desk.asker(BOB), place=GROUP)
    for asker in (elsewhere, replace(narrower, place=Place(GroupAudience("x")))):
        with pytest.raises(Refused):
            await desk.service.command(asker, frozenset(), words)
    desk.place = DIRECT
    direct = await desk.answered(conversation="test:dm")
    assert (await desk.use(f"on {direct.turn}", BOB)).text == texts.NOT_THIS_ONE


async def test_what_has_changed_since_it_was_shown_is_not_sent() -> None:
    desk = Desk(place=DIRECT)
    claim = await desk.answered()
    preview = await desk.use()
    share = next(action for action in preview.actions if action.label == texts.SHARE_BUTTON)
    asked = claim.incoming
    other = share.words[:-16] + "0" * 16
    again = await desk.use(other)
    assert again.text.startswith(texts.PREVIEW_CHANGED)
    assert not await desk.store.handoffs.listed(limit=9)
    await desk.use(share.words)
    # The answer is forgotten before the message is sent.
    await desk.store.forgetting.forget(Everything(ANN), desk.clock.now())
    await desk.work()
    assert not desk.platform.shown
    assert asked.text == QUESTION


async def test_a_message_alone_shares_nothing_of_direct_messages() -> None:
    desk = Desk(place=DIRECT)
    await desk.answered()
    panel = await desk.use(NOTE)
    assert texts.ASKED_NOTE in panel.text
    await desk.work()
    assert NOTE in desk.shown_to(BOB)
    assert QUESTION not in desk.shown_to(BOB)
    assert "<@ann>" in desk.shown_to(BOB)


async def test_a_message_that_shares_direct_messages_sends_nothing_before_they_are_shown() -> None:
    desk = Desk(place=DIRECT)
    await desk.answered()
    panel = await desk.use(NOTE, share=True)
    assert panel.text.startswith(texts.SHARE_SHOWN_FIRST)
    assert QUESTION in panel.text
    assert texts.SHARE_BUTTON in [action.label for action in panel.actions]
    assert not await desk.store.handoffs.listed(limit=9)


async def test_a_message_that_was_being_sent_when_all_was_forgotten_is_deleted() -> None:
    desk = Desk(f"person:{BOB}")
    await desk.answered()
    handoff = await desk.asked()
    await desk.store.handoffs.shown(handoff.number, BOB, SENDING)
    await desk.store.forgetting.forget(Everything(ANN), desk.clock.now())
    await desk.work()
    assert len(await desk.work(kind=DELETE_REPLY)) == 1


@settings(max_examples=30)  # each is a whole request
@given(
    place=st.sampled_from([TEAM, GROUP, DIRECT]),
    readers=st.sets(st.sampled_from([BOB, EVE, MIA])),
    later=st.sets(st.sampled_from([BOB, EVE, MIA])),
    people=st.sets(st.sampled_from([BOB, EVE, MIA]), min_size=1),
    label=st.sampled_from([texts.BUTTON, texts.ALONE_BUTTON, texts.SHARE_BUTTON]),
    drawn_from=st.sampled_from([WIDE, "person:test:ann", "group:test:other"]),
    taker=st.sampled_from([None, BOB, EVE, MIA]),
)
def test_nobody_reads_a_word_of_what_they_may_not_read(
    place: Place,
    readers: Collection[str],
    later: Collection[str],
    people: Collection[str],
    label: str,
    drawn_from: str,
    taker: str | None,
) -> None:
    """`readers`: who can read the place when people are written; `later`: at the press."""

    async def run() -> None:
        desk = Desk(",".join(f"person:{each}" for each in sorted(people)), place)
        desk.platform.readers = {*readers}
        await desk.answered(drawn_from=drawn_from)
        preview = await desk.use()
        button = next((action for action in preview.actions if action.label == label), None)
        if button is not None:
            await desk.use(button.words)
        await desk.work()
        is_wide = drawn_from in {WIDE, audience_label(place.audience)}
        is_direct, shares = place is DIRECT, label == texts.SHARE_BUTTON and button is not None
        for person in (BOB, EVE, MIA):
            may_read = person in people and (shares if is_direct else person in readers)
            text = desk.shown_to(person)
            assert may_read or QUESTION not in text
            assert (may_read and is_wide) or ANSWER not in text
            assert not is_direct or "example.test" not in text
        desk.platform.readers = {*later}
        if taker is not None:
            panel = await desk.service.answer(taker, "handoff take 1") or Panel("")
            handoff = await desk.store.handoffs.by_number(1)
            taken = handoff is not None and handoff.state is HandoffState.TAKEN
            assert not taken or (taker in people and (is_direct or taker in later))
            assert QUESTION not in panel.text
        for person in (BOB, EVE, MIA):
            listed = await desk.service.command(desk.asker(person), frozenset(), "list")
            may_list = not is_direct and person in people and person in later
            assert may_list or not any(QUESTION in part.text for part in listed.parts)

    asyncio.run(run())


async def test_a_role_that_a_platform_does_not_know_hides_nobody_else() -> None:
    desk = Desk(f"role:35,person:{BOB}")
    await desk.answered()
    desk.platform.unknown_roles = True
    assert "I will ask Test:Bob to" in (await desk.use()).text
    await desk.asked()
    assert not (await desk.press(BOB, "handoff take 1")).refused
    desk.people = parse_entries("role:35")
    await desk.answered(conversation="test:other")
    assert (await desk.use("on 2")).text in {texts.UNKNOWN, texts.NOBODY_READS}


@pytest.mark.parametrize("fails_for", [AGAIN, GIVE_UP + SLOWLY])
async def test_an_outcome_that_cannot_be_shown_is_tried_for_a_day_and_then_left_out(fails_for: timedelta) -> None:
    desk = Desk()
    await desk.answered()
    await desk.asked()
    await desk.use("cancel")
    desk.platform.fails_to_update = True
    for _ in range(0, int(fails_for.total_seconds()), int(SLOWLY.total_seconds())):
        await desk.work()
        await desk.later(min(fails_for, SLOWLY))
    desk.platform.fails_to_update = False
    await desk.later(SLOWLY)
    assert ("canceled the request for a human" in desk.shown_to(BOB)) is (fails_for == AGAIN)


async def test_what_a_person_agreed_to_share_goes_to_those_whom_they_were_shown() -> None:
    desk = Desk(f"person:{BOB}", DIRECT)
    await desk.answered()
    preview = await desk.use()
    share = next(action for action in preview.actions if action.label == texts.SHARE_BUTTON)
    desk.people = parse_entries(f"person:{EVE}")
    again = await desk.use(share.words)
    assert again.text.startswith(texts.PREVIEW_CHANGED)
    assert "Test:Eve" in again.text
    await desk.work()
    assert not desk.platform.shown
    await desk.asked(texts.SHARE_BUTTON)
    assert ANSWER in desk.shown_to(EVE)
    await desk.press(EVE, "handoff take 1")
    await desk.work()
    # She leaves, and others take over now.
    desk.people = parse_entries(f"person:{BOB}")
    await desk.later(LOOK)
    assert "Ann asks for a human" in desk.shown_to(BOB)
    assert QUESTION not in desk.shown_to(BOB)
    assert ANSWER not in desk.shown_to(BOB)
