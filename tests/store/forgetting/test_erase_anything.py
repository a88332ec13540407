"""After any forgetting, by whatever plan, none of what fell is anywhere, and nothing that was made of it.

People talk at random in rooms of their own and in shared ones; replies quote what recall gave them; tools, summaries,
facts, facts derived from those, profiles and schedules repeat it. Each message has a word of its own, so that it can
be found. Their rooms know pages of the web, each with a word of its own in everything that is kept of it.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import assert_never

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlalchemy import Connection, select, text

from agent.events import Outcome
from agent.memory.audience import AudienceKind, GroupAudience, Place, label
from agent.memory.documents import LinkedPage, NewDocument, Passage
from agent.memory.forgetting_plans import (
    AboutTopic,
    Deleted,
    During,
    Everything,
    Expired,
    ForgettingPlan,
    Gone,
    OneReply,
    OneThread,
    Receipt,
)
from agent.memory.periods import TimeSpan
from agent.memory.profile import Insight, Partition, ProfileField, learned
from agent.memory.writing import NewFact, Written
from agent.messages import ResultStatus, ToolCall, ToolResult
from agent.schedules.definitions import NewSchedule, Schedule, ScheduleKind, Timing
from agent.state import ActionRecord, SituationSummary
from agent.turn_records import Closing
from bot.app.subject_requests import Kind
from store.all_tables import metadata
from store.databases.database import is_postgresql
from store.engine import Store, open_store
from tests.contracts.steps import claimed
from tests.examples import examples
from tests.fakes.incoming import START, dm, said
from tests.fakes.new_database import new_database
from tests.fakes.operators import by_operator
from tests.fakes.postgresql import PostgresServer

PEOPLE = ("ann", "ben", "cem")
ROOMS = ("own", "club", "yard")
HOUR = timedelta(hours=1)


@dataclass(frozen=True)
class Talk:
    """Somebody writes in a room; the reply quotes an earlier message (by its number), and rests on an earlier fact."""

    person: str
    room: str
    recalls: int | None = None
    rests_on: int | None = None


@dataclass(frozen=True)
class Said:
    """What somebody said, an hour after the one before: its word, and where it stands."""

    talk: Talk
    word: str
    conversation: str
    message_id: str
    row: int
    time: datetime
    quoted: "Said | None"

    @property
    def page_word(self) -> str:
        """Of the page that the room was told to know meanwhile."""
        return self.word.replace("marmalade", "medlar")


@dataclass
class World:
    store: Store
    schedules: bool = True
    """Whether each message asks for something to be done daily. Retention leaves that alone."""
    said: list[Said] = field(default_factory=list[Said])
    facts: list[str] = field(default_factory=list[str])

    async def live(self, talk: Talk) -> None:
        """One turn, which leaves everything behind that a turn can leave."""
        number = len(self.said)
        word = f"marmalade{number:03}quince"
        place = dm(talk.person) if talk.room == "own" else Place(GroupAudience(talk.room))
        conversation = f"{talk.room} of {talk.person}" if talk.room == "own" else talk.room
        incoming = replace(
            said(f"my {word} is here", person=talk.person, conversation=conversation, place=place),
            channel=conversation,
            time=START + number * HOUR,
        )
        await self.store.ledger.accept(incoming)
        claim = await claimed(self.store)
        quoted = self.said[talk.recalls % number] if number and talk.recalls is not None else None
        held = f"You said {quoted.word}." if quoted else "Noted."
        call = ToolCall("recall", {"query": word})
        record = ActionRecord(1, START, f"about {word}", (call,), (ToolResult("recall", ResultStatus.SUCCESS, held),))
        ending = Closing(
            Outcome.ANSWERED,
            held,
            (f"page-{word}",),
            SituationSummary(key_findings=f"{word} and {held}"),
            (record,),
            context_messages=(quoted.row,) if quoted else (),
            learn_at=START,
        )
        await self.store.ledger.finish(claim, ending, incoming.time)
        await self._learn(talk, word, claim.message, label(place.audience), incoming.time)
        if self.schedules:
            timing, words = Timing("Europe/Madrid", rule="0 9 * * *"), f"say {word}"
            asked = incoming.conversation, incoming.message_id
            reminder = NewSchedule(
                talk.person, "test", conversation, place, ScheduleKind.REMINDER, words, timing, incoming.time, *asked
            )
            assert isinstance(await self.store.schedules.add(reminder), Schedule)
        self.said.append(Said(talk, word, conversation, incoming.message_id, claim.message, incoming.time, quoted))
        await self._know(self.said[-1], label(place.audience))

    async def _know(self, one: Said, audience: str) -> None:
        """A page of the web, which changed, and then could not be read."""
        word, store = one.page_word, self.store.documents
        passages = [Passage(f"the {word} is ripe", f"about {word}")]
        page = LinkedPage(f"https://{word}.example/{word}", one.time, f'"etag {word}"', f"day of {word}", "0" * 64)
        new = NewDocument(
            word, audience, "test", one.conversation, one.talk.person, one.time, passages, page.address, web=page
        )
        await store.keep(new)
        (known,) = [each for each in await store.listed(frozenset({audience})) if each.name == word]
        await store.keep(replace(new, passages=[Passage(f"the {word} is eaten")]), renews=known.id)
        (known,) = [each for each in await store.listed(frozenset({audience})) if each.name == word]
        await store.looked(known.id, replace(page, since=one.time, fault=f"{word} is away"))

    async def _learn(self, talk: Talk, word: str, source: int, audience: str, time: datetime) -> None:
        grounds = (self.facts[talk.rests_on % len(self.facts)],) if self.facts and talk.rests_on is not None else ()
        new = NewFact("", f"key of {word}", f"fact of {word}", "user", time, audience, talk.person)
        written = await self.store.facts.write(replace(new, source_message=source, depends_on=grounds))
        assert isinstance(written, Written)
        self.facts.append(written.fact.id)
        partition = Partition(talk.person, audience)
        insight = Insight(ProfileField.PREFERENCES, f"likes {word}", (source,), time, word)
        profile = learned(await self.store.profiles.get(partition), audience, [insight], 1, time)
        waiting = [one for one in await self.store.profiles.unlearned(partition, 99) if one.id == source]
        assert await self.store.profiles.save(partition, profile, waiting)


def falls(plan: ForgettingPlan, one: Said) -> bool:
    """What each plan promises, said once more."""
    match plan:
        case OneThread(person, conversations):
            return one.talk.person == person and one.conversation in conversations
        case Everything(person):
            return one.talk.person == person
        case During(person, period):
            return one.talk.person == person and period.since <= one.time < period.until
        case AboutTopic(person, words):
            return one.talk.person == person and one.word == words
        case Deleted(_, channel, messages):
            return one.conversation == channel and one.message_id in messages
        case Gone(conversations=conversations):
            return one.conversation in conversations
        case OneReply():
            return False  # what was asked stays
        case Expired(kind, before):
            return (
                (kind is AudienceKind.PERSON) == (one.talk.room == "own")
                and kind is not AudienceKind.TEAM
                and one.time < before
            )
        case _:
            assert_never(plan)


def page_falls(plan: ForgettingPlan, one: Said) -> bool:
    """What a room was told to know falls with the room alone."""
    match plan:
        case Everything(person):
            return one.talk.room == "own" and one.talk.person == person
        case Gone(conversations=conversations):
            return one.conversation in conversations
        case _:
            return False


def plan_of(kind: str, person: str, at: int, world: list[Said]) -> ForgettingPlan:
    """A plan that reaches some of what was said."""
    one = world[at % len(world)]
    match kind:
        case "thread":
            return OneThread(one.talk.person, frozenset({one.conversation}))
        case "everything":
            return Everything(person)
        case "during":
            return During(person, TimeSpan(START + at * HOUR, START + (at + 3) * HOUR))
        case "about":
            return AboutTopic(one.talk.person, one.word)
        case "deleted":
            return Deleted("", one.conversation, frozenset({one.message_id}))
        case "everything, by an operator":
            return Everything(person)
        case "place, by an operator":
            room = next((said.conversation for said in world if said.talk.room != "own"), "yard")
            return Gone(frozenset({room}))
        case "gone":
            audience = f"person:{one.talk.person}" if one.talk.room == "own" else f"group:{one.talk.room}"
            return Gone(frozenset({one.conversation}), audiences=frozenset({audience}))
        case _:
            return Expired(AudienceKind.GROUP, START + at * HOUR)


BY_OPERATOR = ("everything, by an operator", "place, by an operator")
KINDS = ("thread", "everything", "during", "about", "deleted", "gone", "expired", *BY_OPERATOR)
# One in which every plan finds something.
LIFE = (
    Talk("ann", "club"),
    Talk("ben", "yard", recalls=0, rests_on=0),
    Talk("ann", "own", recalls=0),
    Talk("cem", "club", recalls=1),
)

kinds = st.sampled_from(KINDS)
talks = st.builds(
    Talk, st.sampled_from(PEOPLE), st.sampled_from(ROOMS), st.none() | st.integers(0, 9), st.none() | st.integers(0, 9)
)
lives = st.lists(talks, min_size=1, max_size=4)


def words_in_rows(connection: Connection) -> str:
    """Everything that stands in any row, the index included."""
    kept = (
        ("message_index", "passage_index")
        if is_postgresql(connection)
        else ("message_index_kept", "passage_index_kept")
    )
    names = (*kept, *(each.name for each in metadata.sorted_tables))
    rows = (row for name in names for row in connection.execute(select(text("*")).select_from(text(name))))
    return "\n".join(str(held) for row in rows for held in row)


def bytes_in(folder: Path) -> bytes:
    return b"".join(file.read_bytes() for file in folder.iterdir())


def may_stay(gone: Said, world: list[Said], plan: ForgettingPlan) -> bool:
    """Does a reply stay that had it in its history: to somebody else, in the same conversation?"""
    return any(
        one.quoted == gone
        and not falls(plan, one)
        and one.conversation == gone.conversation
        and one.talk.person != gone.talk.person
        for one in world
    )


async def forgotten(store: Store, life: Sequence[Talk], kind: str, person: str, at: int) -> tuple[list[str], list[str]]:
    """Live through it and forget: the words that must be gone, and those that must stay."""
    world = World(store, schedules=kind != "expired")
    for talk in life:
        await world.live(talk)
    plan = plan_of(kind, person, at, world.said)
    gone = [one for one in world.said if falls(plan, one) and not may_stay(one, world.said, plan)]
    kept = [one.word for one in world.said if not falls(plan, one)]
    receipt = await erased(store, kind, plan)
    assert receipt.found_again == 0
    assert receipt.bytes_gone is not receipt.kept_by_server
    held = await store.database.read(words_in_rows)
    assert [one.word for one in gone if one.word in held] == []
    assert [word for word in kept if f"my {word} is here" not in held] == []
    lost = [one.page_word for one in world.said if page_falls(plan, one)]
    left = [one.page_word for one in world.said if not page_falls(plan, one)]
    assert [word for word in lost if word in held] == []
    assert [word for word in left if f"{word} is away" not in held] == []
    return [*(one.word for one in gone), *lost], kept


async def erased(store: Store, kind: str, plan: ForgettingPlan) -> Receipt:
    match plan:
        case Everything(person) if kind in BY_OPERATOR:
            return await by_operator(store, person)
        case Gone(conversations=conversations) if kind in BY_OPERATOR:
            return await by_operator(store, f"test:{min(conversations)}", Kind.PLACE)
        case _:
            return await store.forgetting.forget(plan, START)


async def on_a_file(life: Sequence[Talk], kind: str, person: str, at: int) -> None:
    with TemporaryDirectory() as folder:
        store = await open_store(await new_database(Path(folder) / "store.db"))
        try:
            gone, _ = await forgotten(store, life, kind, person, at)
            written = bytes_in(Path(folder))
            assert [word for word in gone if word.encode() in written] == []
        finally:
            await store.close()


@settings(max_examples=examples(8, always=True), deadline=None)
@given(lives, kinds, st.sampled_from(PEOPLE), st.integers(0, 7))
async def test_no_row_no_entry_and_no_byte_of_a_file_holds_what_fell(
    life: list[Talk], kind: str, person: str, at: int
) -> None:
    await on_a_file(life, kind, person, at)


@pytest.mark.parametrize("kind", KINDS)
async def test_whatever_the_plan_no_byte_of_a_file_holds_what_fell(kind: str) -> None:
    await on_a_file(LIFE, kind, "ann", 0)


async def test_on_a_server_no_row_and_no_entry_holds_what_fell(postgres: PostgresServer) -> None:
    for kind in KINDS:
        store = await open_store(await postgres.empty())
        try:
            await forgotten(store, LIFE, kind, "ann", 0)
        finally:
            await store.close()
