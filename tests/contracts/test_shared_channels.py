"""The contract of a channel that two workspaces share, each with its own bot: whatever one of them hears of the channel
changes, restricts, counts and erases what its own bot stored there, and nothing of the other's.

Both store the same kinds of rows, and everything that the store does by a channel's id is done for the second one. So
the rows of the first stay as they are, but for those of jobs.
"""

from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import timedelta
from typing import Final

import pytest
import sqlalchemy as sa

from agent.admission_terms import Rate, RateReached, Terms, TermsNotMet, Whose
from agent.events import Outcome
from agent.incoming import Incoming, Person
from agent.memory.audience import GroupAudience, Place, TeamAudience, label
from agent.memory.documents import NewDocument, Passage
from agent.memory.forgetting_plans import AMBIENT_STATE, PLACE_RULES, Deleted, Gone
from agent.schedules.definitions import NewSchedule, Schedule, ScheduleKind, ScheduleRefused, Timing
from agent.turn_records import Closing
from bot.chat.access.place_rules import name_at
from store.data_subjects import counts, place_named
from store.engine import Store
from store.schedule_store import MAX_IN_CHANNEL
from store.schema import metadata
from tests.contracts.steps import claimed
from tests.fakes.facts import remember
from tests.fakes.incoming import START, said

CHANNEL: Final = "C0SHARED"
ONE, TWO = "slack:T1", "slack:T2"
HOUR: Final = timedelta(hours=1)


def in_(source: str, text: str, message: str) -> Incoming:
    """A question in the channel, which this workspace shows to its whole team."""
    name = f"{source}:U{message}"
    place = Place(TeamAudience(source), within_team=source)
    asked = replace(said(text, person=name, conversation=f"{source}:{CHANNEL}:{message}", place=place), source=source)
    return replace(asked, channel=CHANNEL, message_id=message, event_id=message, person=Person(name, "Ann"))


async def stored_for(store: Store, source: str, message: str) -> Incoming:
    """A message with its reply, a fact, a document, a reminder, choices of managers, and a question that waits."""
    asked = in_(source, "a red boat", message)
    await store.ledger.accept(asked)
    claim = await claimed(store)
    closing = Closing(Outcome.ANSWERED, "Noted.", pages=(f"page-{message}",), learn_at=START)
    await store.ledger.finish(claim, closing, START)
    audience = label(asked.place.audience)
    await remember(store.facts, asked.person.id, "a red boat", audience, START, claim.message)
    await store.documents.keep(
        NewDocument("handbook", audience, source, CHANNEL, asked.person.id, START, [Passage("Rule 7.")])
    )
    timing = Timing("UTC", at=START + 9 * HOUR)
    reminder = NewSchedule(
        asked.person.id, source, CHANNEL, asked.place, ScheduleKind.REMINDER, "Paint it.", timing, START
    )
    await store.schedules.add(replace(reminder, conversation=asked.conversation, message=message))
    for choice in (PLACE_RULES, AMBIENT_STATE):
        await store.preferences.set(f"channel:{CHANNEL}", name_at(source, choice), '{"of": "this workspace"}')
    await store.ledger.accept(in_(source, "and a blue one", f"{message}0"))
    return asked


async def rows_of(store: Store, source: str) -> dict[str, list[str]]:
    """All rows that name the workspace, by table; of the others, nothing names a place."""

    def read(connection: sa.Connection) -> dict[str, list[str]]:
        found = {
            table.name: [
                str(dict(row))
                for row in connection.execute(sa.select(table).order_by(*table.primary_key)).mappings()
                if source in str(dict(row))
            ]
            for table in metadata.sorted_tables
            if table.name != "job"
        }
        return {name: rows for name, rows in found.items() if rows}

    return await store.database.read(read)


CLOSED: Final = Place(GroupAudience(f"{TWO}:{CHANNEL}"), whole_channel=True)


async def restrict(store: Store) -> None:
    assert await store.ledger.restrict_place(TWO, CHANNEL, CLOSED, START)


async def hear_that_it_is_closed(store: Store) -> None:
    await store.ledger.accept(replace(in_(TWO, "hello", "29"), place=CLOSED))


async def erase_the_channel(store: Store) -> None:
    gone = Gone(channels=frozenset({CHANNEL}), audiences=frozenset({label(CLOSED.audience)}), within=TWO)
    assert (await store.forgetting.forget(gone, START)).erased["messages"]


async def erase_the_workspace(store: Store) -> None:
    assert (await store.forgetting.forget(Gone(sources=frozenset({TWO})), START)).erased["messages"]


async def erase_as_an_operator(store: Store) -> None:
    place = await store.database.read(place_named, f"{TWO}:{CHANNEL}")
    assert place is not None
    assert (await store.forgetting.forget(place.plan, START)).erased["messages"]


async def delete_the_others_message(store: Store) -> None:
    await store.forgetting.forget(Deleted(TWO, CHANNEL, frozenset({"1", "10"})), START)


async def edit_the_others_messages(store: Store) -> None:
    assert await store.forgetting.author(TWO, CHANNEL, "1") is None
    assert await store.forgetting.text(TWO, CHANNEL, "1") is None
    assert not await store.forgetting.update_text(TWO, CHANNEL, "1", "forged", START, START)
    assert not await store.ledger.amend(TWO, CHANNEL, "10", "forged")


async def withdraw_the_others_question(store: Store) -> None:
    assert not await store.ledger.withdraw(TWO, CHANNEL, "10", START)


async def pause_learning(store: Store) -> None:
    assert await store.profiles.skip_learning(channel=CHANNEL, source=TWO) == 1


async def use_up_the_rate(store: Store) -> None:
    terms = Terms(START + HOUR, (Rate(Whose.CHANNEL, 4, 2 * HOUR),))
    for number in range(4):
        await store.ledger.accept(in_(TWO, "again", f"2{number}1"), terms)
    with pytest.raises(TermsNotMet) as reached:
        await store.ledger.accept(in_(TWO, "again", "251"), terms)
    assert isinstance(reached.value.obstacle, RateReached)
    await store.ledger.accept(in_(ONE, "again", "151"), terms)  # its own rate


DONE: Final[list[Callable[[Store], Awaitable[None]]]] = [
    restrict,
    hear_that_it_is_closed,
    erase_the_channel,
    erase_the_workspace,
    erase_as_an_operator,
    delete_the_others_message,
    edit_the_others_messages,
    withdraw_the_others_question,
    pause_learning,
]


@pytest.mark.parametrize("done", DONE, ids=lambda one: one.__name__)
async def test_what_one_workspace_does_about_a_shared_channel_leaves_what_the_other_one_stored(
    store: Store, done: Callable[[Store], Awaitable[None]]
) -> None:
    await stored_for(store, ONE, "1")
    await stored_for(store, TWO, "2")
    before = await rows_of(store, ONE)
    assert {"message", "turn", "fact", "document", "schedule", "preference", "page"} <= before.keys()
    await done(store)
    assert await rows_of(store, ONE) == before


async def test_an_export_of_a_shared_channel_holds_only_what_its_workspace_stored(store: Store) -> None:
    async def sizes() -> dict[str, int]:
        place = await store.database.read(place_named, f"{TWO}:{CHANNEL}")
        assert place is not None
        return await store.database.read(counts, place)

    await stored_for(store, TWO, "2")
    alone = await sizes()
    await stored_for(store, ONE, "1")
    assert await sizes() == alone
    assert alone.keys() >= {"messages", "documents", "preferences"}


async def test_the_schedules_of_one_workspace_use_up_no_room_of_the_other_in_a_shared_channel(store: Store) -> None:
    def reminder(source: str, number: int) -> NewSchedule:
        timing = Timing("UTC", at=START + 9 * HOUR)
        place, who = Place(TeamAudience(source)), f"{source}:U{number // 10}"
        return NewSchedule(who, source, CHANNEL, place, ScheduleKind.REMINDER, f"Paint {number}.", timing, START)

    for number in range(MAX_IN_CHANNEL):
        assert isinstance(await store.schedules.add(reminder(TWO, number)), Schedule)
    assert await store.schedules.add(reminder(TWO, 999)) is ScheduleRefused.MANY_IN_CHANNEL
    assert isinstance(await store.schedules.add(reminder(ONE, 1)), Schedule)


# What a row of each table with a platform's id of a channel or a message belongs to: its own source, or that of its
# turn, or a person, whose id holds the workspace. A new table is added here with its own.
OWNERS: Final = {
    "turn": "source",
    "message": "turn",
    "document": "source",
    "schedule": "source",
    "tool_call": "person",
    "model_call": "person",
}


def test_each_row_with_a_platforms_id_says_of_which_workspace_it_is() -> None:
    ids = {"channel", "message_id"}
    with_ids = {table.name: table for table in metadata.sorted_tables if ids & {column.name for column in table.c}}
    assert with_ids.keys() == OWNERS.keys()
    assert [name for name, table in with_ids.items() if OWNERS[name] not in table.c] == []


async def test_the_questions_of_one_workspace_use_up_no_rate_of_the_other_in_a_shared_channel(store: Store) -> None:
    await use_up_the_rate(store)
