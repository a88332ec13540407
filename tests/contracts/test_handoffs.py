"""The contract of the port Handoffs: requests for a human, each taken by one person, and how they are forgotten."""

import asyncio
from dataclasses import replace
from datetime import timedelta

import pytest

from agent.events import Outcome
from agent.handoffs import HANDOFF, SENDING, Handoff, HandoffOutcome, HandoffState, NewHandoff
from agent.incoming import Incoming
from agent.memory.audience import NOWHERE, GroupAudience, Place, TeamAudience, label
from agent.memory.forgetting_plans import Deleted, Everything, OneReply
from agent.outgoing import OutgoingEvent
from agent.shown_replies import DELETE_REPLY
from agent.state import SituationSummary
from agent.turn_records import Claim, Closing
from store.data_subjects import PersonSubject
from store.engine import Store
from store.subject_access import data_subjects_in
from tests.contracts.steps import claimed, in_memory_too, proved, same_on_postgresql
from tests.contracts.test_feedback import TEAM
from tests.contracts.test_outbox import subscribed, waiting
from tests.fakes.incoming import START, said

LATER = START + timedelta(hours=1)
EVENTS = frozenset({OutgoingEvent.HANDOFF_ASKED, OutgoingEvent.HANDOFF_TAKEN, OutgoingEvent.HANDOFF_ENDED})


async def answered(store: Store, incoming: Incoming, *, drawn_from: str = "") -> Claim:
    await store.ledger.accept(incoming)
    claim = await claimed(store)
    closing = Closing(Outcome.ANSWERED, "It is Egret.", pages=(f"page {claim.turn}",), drawn_from=drawn_from)
    await store.ledger.finish(claim, closing, incoming.time)
    return claim


async def asked(store: Store, *people: str, person: str = "ann", note: str = "Please call me.") -> Handoff:
    claim = await answered(store, said("What is the boat called?", place=TEAM))
    handoff = await store.handoffs.ask(
        NewHandoff(claim.turn, person, person.title(), note), people or ("bob", "eve"), START
    )
    assert handoff is not None
    return handoff


async def jobs(store: Store, kind: str) -> list[str]:
    """The keys of the due jobs of a kind, which are done by that."""
    found = list[str]()
    while (job := await store.jobs.claim(frozenset({kind}), "worker", LATER, timedelta(seconds=30))) is not None:
        found.append(job.payload or job.key)
        await store.jobs.finish(job)
    return found


@same_on_postgresql
async def test_a_request_is_read_with_its_question_as_it_is_now(store: Store) -> None:
    handoff = await asked(store)
    assert (handoff.state, handoff.note, handoff.person, handoff.asker_name) == (
        HandoffState.OPEN,
        "Please call me.",
        "ann",
        "Ann",
    )
    assert (handoff.conversation, handoff.question.channel, handoff.question.place.audience) == (
        "thread",
        "channel",
        TeamAudience("test"),
    )
    content = await store.handoffs.content(handoff.turn)
    assert content is not None
    assert (content.question, content.answer) == ("What is the boat called?", "It is Egret.")
    assert [each.person for each in await store.handoffs.messages(handoff.number)] == ["bob", "eve"]
    assert await jobs(store, HANDOFF) == [str(handoff.number)]


@in_memory_too
async def test_of_many_who_ask_one_request_is_stored_and_of_many_who_take_one_has_it(store: Store) -> None:
    claim = await answered(store, said("one", place=TEAM))
    new = [NewHandoff(claim.turn, each) for each in ("ann", "bob", "eve")]
    found = await asyncio.gather(*(store.handoffs.ask(each, ["olga"], START) for each in new))
    numbers = {handoff.number for handoff in found if handoff is not None}
    assert len(numbers) == 1
    (number,) = numbers
    outcomes = await asyncio.gather(*(store.handoffs.take(number, f"person {each}", "", LATER) for each in range(8)))
    assert outcomes.count(HandoffOutcome.STORED) == 1
    assert outcomes.count(HandoffOutcome.TAKEN_BEFORE) == 7
    handoff = await store.handoffs.by_number(number)
    assert handoff is not None
    assert handoff.taker == f"person {outcomes.index(HandoffOutcome.STORED)}"


async def test_who_has_taken_a_conversation_takes_part_in_it_until_it_is_handed_back(store: Store) -> None:
    handoff = await asked(store)
    assert await store.conversations.participants("thread") == {"ann"}
    await store.handoffs.take(handoff.number, "bob", "Bob", LATER)
    assert await store.conversations.participants("thread") == {"ann", "bob"}
    assert await store.conversations.participants("another") is None
    assert await store.handoffs.close(handoff.number, HandoffState.RETURNED, LATER) is HandoffOutcome.STORED
    assert await store.conversations.participants("thread") == {"ann"}
    assert await store.handoffs.close(handoff.number, HandoffState.RETURNED, LATER) is HandoffOutcome.OVER
    assert await store.handoffs.take(handoff.number, "eve", "Eve", LATER) is HandoffOutcome.OVER
    assert await store.handoffs.current("thread") is None


@same_on_postgresql
async def test_a_request_is_ended_only_in_the_state_that_is_meant(store: Store) -> None:
    handoff = await asked(store)
    await store.handoffs.take(handoff.number, "bob", "Bob", LATER)
    close = store.handoffs.close
    over = await close(handoff.number, HandoffState.EXPIRED, LATER, before=HandoffState.OPEN)
    assert over is HandoffOutcome.OVER
    assert not await store.handoffs.reopen(handoff.number, "eve", ["eve"], LATER)
    assert await store.handoffs.reopen(handoff.number, "bob", ["eve"], LATER)
    again = await store.handoffs.by_number(handoff.number)
    assert again is not None
    assert (again.state, again.taker) == (HandoffState.OPEN, "")
    assert [each.person for each in await store.handoffs.messages(handoff.number)] == ["eve"]


@same_on_postgresql
async def test_an_answer_that_not_all_may_read_is_in_no_summary(store: Store) -> None:
    for drawn_from in (NOWHERE, label(TeamAudience("other"))):
        claim = await answered(store, said("one", conversation=drawn_from, place=TEAM), drawn_from=drawn_from)
        content = await store.handoffs.content(claim.turn)
        assert content is not None
        assert (content.question, content.answer, content.summary.is_empty) == ("one", None, True)


async def test_the_summary_of_a_channel_that_became_private_goes_to_none_who_could_read_it_before(store: Store) -> None:
    before = await answered(store, said("What is the boat called?", place=TEAM))
    private = Place(GroupAudience("test:secret"), within_team="test")
    await store.ledger.accept(said("And the secret one?", place=private))
    after = await claimed(store)
    closing = Closing(Outcome.ANSWERED, "Heron.", pages=("page",), summary=SituationSummary(goal="The secret boat."))
    await store.ledger.finish(after, closing, LATER)
    then, now = await store.handoffs.content(before.turn), await store.handoffs.content(after.turn)
    assert then is not None
    assert now is not None
    assert (then.summary, now.summary.goal) == (SituationSummary(), "The secret boat.")


async def test_the_newest_answer_is_found_in_the_thread_and_else_only_for_its_asker(store: Store) -> None:
    claim = await answered(store, said("one", place=TEAM))
    newest = store.handoffs.newest
    for person, channel, thread in (("bob", "channel", ["thread"]), ("ann", "channel", []), ("ann", "", [])):
        found = await newest(person, channel, thread)
        assert found is not None
        assert found.turn == claim.turn
    assert await newest("bob", "channel", []) is None
    assert await newest("ann", "another", []) is None


@same_on_postgresql
async def test_a_request_is_an_event_without_its_words(store: Store) -> None:
    await subscribed(store, "crm", events=EVENTS)
    handoff = await asked(store)
    await store.handoffs.take(handoff.number, "bob", "Bob", LATER)
    await store.handoffs.close(handoff.number, HandoffState.RETURNED, LATER)
    events = await waiting(store, key=f"handoff {handoff.number}")
    assert [(each.event, each.data["state"], each.data["taker"]) for each in events] == [
        ("handoff.asked", "open", None),
        ("handoff.taken", "taken", "bob"),
        ("handoff.ended", "returned", "bob"),
    ]
    assert not [each for each in events if "call me" in str(each.data) or "boat" in str(each.data)]


@pytest.mark.parametrize("plan", [Everything("ann"), Everything("eve"), "question", "reply"])
async def test_it_falls_with_who_asked_the_question_and_the_answer(store: Store, plan: Everything | str) -> None:
    await subscribed(store, "crm", events=EVENTS)
    handoff = await asked(store, "bob", "olga", person="eve", note="Please call me.")
    question = handoff.question
    await jobs(store, HANDOFF)
    await store.handoffs.shown(handoff.number, "bob", ["dm/1"])
    await store.handoffs.shown(handoff.number, "olga", SENDING)
    deleted = Deleted(question.source, question.channel, frozenset({question.message_id}))
    chosen = {"question": deleted, "reply": OneReply(handoff.turn)}
    receipt = await store.forgetting.forget(chosen[plan] if isinstance(plan, str) else plan, LATER)
    assert proved(receipt)
    assert await store.handoffs.by_number(handoff.number) is None
    assert not await store.handoffs.shown(handoff.number, "bob", ["dm/2"])
    assert '["", "", "dm/1", "page"]' in await jobs(store, DELETE_REPLY)
    assert await jobs(store, HANDOFF) == [f'["", "olga", {handoff.number}]']
    assert not await waiting(store, key=f"handoff {handoff.number}")


async def test_what_a_forgotten_person_had_taken_waits_for_the_others(store: Store) -> None:
    await subscribed(store, "crm", events=EVENTS)
    handoff = await asked(store)
    await store.handoffs.shown(handoff.number, "bob", ["dm/1"])
    await store.handoffs.take(handoff.number, "bob", "Bob", LATER)
    await store.forgetting.forget(Everything("bob"), LATER)
    again = await store.handoffs.by_number(handoff.number)
    assert again is not None
    assert (again.state, again.taker) == (HandoffState.OPEN, "")
    assert [each.person for each in await store.handoffs.messages(handoff.number)] == ["eve"]
    assert "bob" not in str([each.data for each in await waiting(store, key=f"handoff {handoff.number}")])


async def test_messages_that_name_a_forgotten_person_who_handed_back_are_deleted(store: Store) -> None:
    handoff = await asked(store)
    for person in ("bob", "eve"):
        await store.handoffs.shown(handoff.number, person, [f"dm/{person}"])
    await store.handoffs.take(handoff.number, "bob", "Bob", LATER)
    await store.handoffs.close(handoff.number, HandoffState.RETURNED, LATER)
    await store.forgetting.forget(Everything("bob"), LATER)
    left = await store.handoffs.by_number(handoff.number)
    assert left is not None
    assert (left.state, left.taker, left.taker_name) == (HandoffState.RETURNED, "", "")
    assert not await store.handoffs.messages(handoff.number)
    assert {*await jobs(store, DELETE_REPLY)} == {f'["", "", "dm/{person}", "page"]' for person in ("bob", "eve")}


async def test_the_export_of_a_person_has_their_own_words_only(store: Store) -> None:
    handoff = await asked(store)
    await store.handoffs.take(handoff.number, "bob", "Bob", LATER)
    subjects = await data_subjects_in(store)
    (row,) = (await subjects.page(PersonSubject("ann"), "handoffs")).rows
    assert (row["asked"], row["taken"], row["note"]) == (True, False, "Please call me.")
    (row,) = (await subjects.page(PersonSubject("bob"), "handoffs")).rows
    assert (row["asked"], row["taken"], row["note"]) == (False, True, "")
    (row,) = (await subjects.page(PersonSubject("eve"), "handoff_messages")).rows
    assert row["request"] == handoff.number


async def test_lists_have_what_is_open_or_taken(store: Store) -> None:
    handoff = await asked(store)
    other = await answered(store, replace(said("two", conversation="other", place=TEAM), channel="other"))
    ended = await store.handoffs.ask(NewHandoff(other.turn, "ann"), ["bob"], LATER)
    assert ended is not None
    await store.handoffs.close(ended.number, HandoffState.WITHDRAWN, LATER)
    assert [each.number for each in await store.handoffs.listed(limit=9)] == [handoff.number]
    for person in ("ann", "bob", "eve"):
        assert [each.number for each in await store.handoffs.of_person(person, limit=9)] == [handoff.number]
    assert not await store.handoffs.of_person("olga", limit=9)
