"""The contract of a channel that two workspaces share, each with its own bot: whatever one of them hears of the channel
changes, restricts, counts and erases what its own bot stored there, and nothing of the other's.

Both store the same kinds of rows, of other messages or of the same ones, and everything that the store does by the id
of a channel or of a message is done for the second one. So the rows of the first stay as they are, but for those of
jobs.
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
from agent.memory.forgetting_plans import (
    AMBIENT_STATE,
    EDIT,
    PLACE_RULES,
    Deleted,
    EntriesPlan,
    Everything,
    Gone,
    post_key,
)
from agent.messages import ModelCall, Usage
from agent.repeats import repeat_of
from agent.schedules.definitions import NewSchedule, Schedule, ScheduleKind, ScheduleRefused, Timing
from agent.turn_records import Claiming, Closing
from bot.budgets.budgets import Budget, BudgetAllowances, Budgets
from bot.chat.access.place_rules import name_at
from store.data_subjects import place_named
from store.engine import Store
from store.message_tables import message
from store.schedule_store import MAX_IN_CHANNEL
from store.schema import metadata
from store.subject_export import counts
from store.turn_tables import turn
from tests.contracts.steps import claimed
from tests.examples import thorough
from tests.fakes.clock import FakeClock
from tests.fakes.facts import remember
from tests.fakes.incoming import LEASE, START, said

CHANNEL: Final = "C0SHARED"
# The ids of the message of each workspace: each bot was asked in another one, or both hear of the same message.
MESSAGES: Final = {"other messages": ("1", "2"), "the same message": ("1", "1")}
ONE, TWO = "slack:T1", "slack:T2"
HOUR: Final = timedelta(hours=1)


def in_(source: str, text: str, message: str) -> Incoming:
    """A question in the channel, which this workspace shows to its whole team."""
    name = f"{source}:U{message}"
    place = Place(TeamAudience(source), within_team=source)
    asked = replace(said(text, person=name, conversation=f"{source}:{CHANNEL}:{message}", place=place), source=source)
    return replace(asked, channel=CHANNEL, message_id=message, event_id=message, person=Person(name, "Ann"))


def again(source: str) -> Incoming:
    """The first message, asked again."""
    repeat = repeat_of("1")
    assert repeat is not None
    return replace(in_(source, "a red boat", "1"), message_id=repeat, event_id=repeat)


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
    for of_message in (message, f"{message}0"):
        await store.schedules.add(replace(reminder, conversation=asked.conversation, message=of_message))
    await store.schedules.add(
        replace(reminder, kind=ScheduleKind.WORK, conversation=asked.conversation, message=message)
    )
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


async def delete_messages(store: Store) -> None:
    await store.forgetting.forget(Deleted(TWO, CHANNEL, frozenset({"1", "10"})), START)


async def edit_messages(store: Store) -> None:
    asker = await store.forgetting.author(TWO, CHANNEL, "1")
    assert asker in {None, f"{TWO}:U1"}
    assert await store.forgetting.text(TWO, CHANNEL, "1") == (None if asker is None else "a red boat")
    assert await store.forgetting.update_text(TWO, CHANNEL, "1", "forged", START, START) == (asker is not None)
    assert await store.ledger.amend(TWO, CHANNEL, "10", "forged") == (asker is not None)


async def withdraw_questions(store: Store) -> None:
    known = await store.forgetting.author(TWO, CHANNEL, "10") is not None
    assert await store.ledger.withdraw(TWO, CHANNEL, "10", START) == known


async def withdraw_a_question_that_runs(store: Store) -> None:
    while (claim := await store.ledger.claim(Claiming("worker", START, LEASE, sources=frozenset({TWO})))) is not None:
        await store.ledger.withdraw(TWO, CHANNEL, claim.incoming.message_id, START)
        await store.ledger.finish(claim, Closing(Outcome.STOPPED, ""), START)


async def stop_work(store: Store) -> None:
    stopped = await store.ledger.stop(f"{TWO}:{CHANNEL}:1")
    sources = sa.select(turn.c.source).where(turn.c.id.in_(stopped))
    assert ONE not in await store.database.read(lambda connection: connection.execute(sources).scalars().all())


async def ask_again_and_forget_entries(store: Store) -> None:
    await store.ledger.accept(again(TWO))
    audience = label(TeamAudience(TWO))
    for asker in (f"{TWO}:U1", f"{TWO}:U2"):
        facts = frozenset(fact.id for fact in await store.facts.readable(asker, frozenset({audience})))
        await store.forgetting.forget_entries(EntriesPlan(asker, facts=facts), START)


async def forget_a_person(store: Store) -> None:
    for number in ("1", "2"):
        await store.forgetting.forget(Everything(f"{TWO}:U{number}"), START)


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
    delete_messages,
    edit_messages,
    withdraw_questions,
    withdraw_a_question_that_runs,
    stop_work,
    ask_again_and_forget_entries,
    forget_a_person,
    pause_learning,
]


@pytest.mark.parametrize(
    ("done", "messages"),
    [  # `make test` does one half with other messages, and one half with the same
        pytest.param(done, messages, id=f"{done.__name__}-{name}", marks=[] if (at + place) % 2 == 0 else thorough)
        for at, done in enumerate(DONE)
        for place, (name, messages) in enumerate(MESSAGES.items())
    ],
)
async def test_what_one_workspace_does_about_a_shared_channel_leaves_what_the_other_one_stored(
    store: Store, done: Callable[[Store], Awaitable[None]], messages: tuple[str, str]
) -> None:
    for source, number in zip((ONE, TWO), messages, strict=True):
        await stored_for(store, source, number)
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


async def test_the_questions_of_one_workspace_use_up_no_rate_of_the_other_in_a_shared_channel(store: Store) -> None:
    await use_up_the_rate(store)


async def test_a_message_that_one_workspace_forgot_is_stored_and_answered_for_the_other(store: Store) -> None:
    for number in ("1", "2"):
        await stored_for(store, ONE, number)
    await store.forgetting.forget(Deleted(ONE, CHANNEL, frozenset({"1"})), START)
    await store.forgetting.forget(Everything(f"{ONE}:U2"), START)
    for number in ("1", "2"):
        assert not (await store.ledger.accept(in_(TWO, "a red boat", number))).duplicate
        redelivered = replace(in_(ONE, "a red boat", number), event_id=f"found again {number}")
        assert (await store.ledger.accept(redelivered)).duplicate


async def test_memories_that_a_person_deleted_in_one_workspace_may_be_learned_in_the_other(store: Store) -> None:
    for source in (ONE, TWO):
        await stored_for(store, source, "1")
    facts = await store.facts.readable(f"{TWO}:U1", frozenset({label(TeamAudience(TWO))}))
    await store.forgetting.forget_entries(EntriesPlan(f"{TWO}:U1", facts=frozenset(fact.id for fact in facts)), START)
    taken_back = {source: await store.ledger.accept(again(source)) for source in (ONE, TWO)}
    marked = sa.select(message.c.turn).where(message.c.taken_back, message.c.message_id.like("again:%"))
    found = await store.database.read(lambda connection: connection.execute(marked).scalars().all())
    assert found == [taken_back[TWO].turn]


async def test_an_edit_that_waits_in_one_workspace_stays_when_the_other_forgets_or_edits_the_message(
    store: Store,
) -> None:
    for source in (ONE, TWO):
        await stored_for(store, source, "1")
        key = post_key(source, CHANNEL, "1")
        await store.jobs.schedule(EDIT, key, f'["{source}", "{CHANNEL}", "1", "a blue boat"]', START)
    assert await store.forgetting.update_text(TWO, CHANNEL, "1", "a green boat", START)
    await store.forgetting.forget(Deleted(TWO, CHANNEL, frozenset({"1"})), START)
    job = await store.jobs.claim(frozenset({EDIT}), "worker", START, LEASE)
    assert job is not None
    assert job.key == post_key(ONE, CHANNEL, "1")
    assert await store.jobs.claim(frozenset({EDIT}), "worker", START, LEASE) is None


async def test_work_is_refused_for_a_question_that_its_own_asker_deleted_and_not_for_anothers(store: Store) -> None:
    for source in (ONE, TWO):
        await store.ledger.accept(in_(source, "a red boat", "1"))
    while (claim := await store.ledger.claim(Claiming("worker", START, LEASE))) is not None:
        if claim.incoming.source == TWO:
            assert await store.ledger.withdraw(TWO, CHANNEL, "1", START)
    for source in (ONE, TWO):
        made = NewSchedule(
            f"{source}:U1", source, CHANNEL, Place(TeamAudience(source)), ScheduleKind.REMINDER, "Paint it.",
            Timing("UTC", at=START + 9 * HOUR), START, message="1",
        )  # fmt: skip
        assert (await store.schedules.add(made) is ScheduleRefused.QUESTION_DELETED) == (source == TWO)


async def test_the_people_of_one_workspace_use_up_no_budget_of_the_other_in_a_shared_channel(store: Store) -> None:
    budgets = Budgets(channel=Budget(tokens=1_000))
    allowances = BudgetAllowances(budgets, store.spending, store.preferences, FakeClock(START))
    spent = ModelCall("openai:m", Usage(output=1_000))
    await store.spending.charge(f"{TWO}:U1", "answering", [spent], START, CHANNEL)
    assert "This channel has used up today's budget" in str(await allowances.budget_left(in_(TWO, "again", "2")))
    assert await allowances.budget_left(in_(ONE, "again", "1")) is None
    assert await allowances.budget_left(replace(in_(TWO, "again", "3"), channel="C0OTHER")) is None
