"""The kinds of turns in a database from before there was a column for them, and in rows of an earlier program."""

from collections.abc import Mapping

import pytest
from sqlalchemy import Connection, text

from agent.events import Outcome
from agent.messages import ModelCall, Usage
from agent.progress import Progress, RoundStep, encode
from agent.turn_kinds import TurnKind
from agent.turn_records import Claiming, Closing
from store.engine import Store, open_store
from store.migrations import MIGRATIONS, take_back
from store.turns.earlier_ids import kind_of, schedule_of
from tests.contracts.steps import claimed
from tests.fakes.incoming import LEASE, START, said

REPLY = encode(Progress(reply="Water the plants.", outcome=Outcome.ANSWERED))
BEGUN = encode(Progress((RoundStep(START),)))

# The ids of an earlier program, with the turn's progress, and what they meant.
OLD_IDS = [
    ("Ev012", "1.0", "", TurnKind.QUESTION, None),
    ("posted:Ev013", "2.0", "", TurnKind.POSTED, None),
    ("ambient:Ev014", "3.0", "", TurnKind.AMBIENT, None),
    ("scheduled:7:1795424400", "scheduled:7:1795424400", REPLY, TurnKind.REMINDER, 7),
    ("scheduled:8:1795424400", "scheduled:8:1795424400", "", TurnKind.SCHEDULED, 8),
    ("scheduled:9:1795424400", "scheduled:9:1795424400", BEGUN, TurnKind.SCHEDULED, 9),
    ("scheduled:10:1795424400:work", "scheduled:10:1795424400:work", "", TurnKind.WORK, 10),
    ("scheduled:10:1795424400:work:told", "scheduled:10:1795424400:work:told", "", TurnKind.NOTICE, 10),
    ("scheduled:11:1795424400:ended", "scheduled:11:1795424400:ended", REPLY, TurnKind.NOTICE, 11),
    ("scheduled:budget:s:U1:2026-11-28", "scheduled:budget:s:U1:2026-11-28", REPLY, TurnKind.NOTICE, None),
    ("C1:again:scheduled:7:1795424400:1", "again:scheduled:7:1795424400:1", "", TurnKind.SCHEDULED_AGAIN, None),
    ("C1:again:1.0:1", "again:1.0:1", "", TurnKind.QUESTION, None),
    ("rescheduled:7:1", "rescheduled:7:1", "", TurnKind.QUESTION, None),
]


@pytest.fixture
def url(new_on_either: str) -> str:
    return new_on_either


@pytest.mark.parametrize(("event", "message", "progress", "kind", "schedule"), OLD_IDS)
def test_the_kind_of_a_turn_of_an_earlier_program_is_read_from_its_ids(
    event: str, message: str, progress: str, kind: TurnKind, schedule: int | None
) -> None:
    assert (kind_of(event, message, progress), schedule_of(event)) == (kind, schedule)


async def accept_with_old_ids(store: Store) -> None:
    """Questions as an earlier program stores them: their rows say nothing of their kinds."""
    for number, (event, message, progress, _, _) in enumerate(OLD_IDS):
        accepted = await store.ledger.accept(said("x", conversation=f"thread {number}"))
        values = {"event": event, "message": message, "progress": progress, "id": accepted.turn}
        await store.database.write(rename, values)


def rename(connection: Connection, values: Mapping[str, object]) -> None:
    statement = "UPDATE turn SET event_id = :event, message_id = :message, progress = :progress WHERE id = :id"
    connection.execute(text(statement), values)


async def kinds(store: Store) -> list[tuple[str, int | None]]:
    def read(connection: Connection) -> list[tuple[str, int | None]]:
        found = connection.execute(text("SELECT kind, schedule FROM turn ORDER BY id"))
        return [(row.kind, row.schedule) for row in found]

    return await store.database.read(read)


async def upgraded(store: Store, url: str) -> Store:
    """The store opened again, after its database was taken back to before r0026."""
    await store.database.change_tables(take_back, "r0025", MIGRATIONS)
    await store.close()
    return await open_store(url)


async def test_an_upgrade_reads_the_kind_and_the_schedule_of_waiting_turns_from_their_ids(url: str) -> None:
    store = await open_store(url)
    await accept_with_old_ids(store)
    store = await upgraded(store, url)
    try:
        assert await kinds(store) == [(kind, schedule) for *_, kind, schedule in OLD_IDS]
        for *_, kind, schedule in OLD_IDS:
            claim = await store.ledger.claim(Claiming("w", START, LEASE))
            assert claim is not None
            assert (claim.incoming.kind, claim.incoming.schedule) == (kind, schedule)
    finally:
        await store.close()


async def test_a_turn_that_an_earlier_program_accepts_later_gets_its_kind_when_it_is_claimed(url: str) -> None:
    store = await open_store(url)
    try:
        await accept_with_old_ids(store)
        for *_, kind, schedule in OLD_IDS:
            claim = await store.ledger.claim(Claiming("w", START, LEASE))
            assert claim is not None
            assert (claim.incoming.kind, claim.incoming.schedule) == (kind, schedule)
        assert await kinds(store) == [(kind, schedule) for *_, kind, schedule in OLD_IDS]
    finally:
        await store.close()


async def test_an_upgrade_tells_an_ended_reminder_from_an_ended_question_by_what_its_model_wrote(url: str) -> None:
    store = await open_store(url)
    for number, usage in ((7, Usage()), (8, Usage(output=5))):
        await store.ledger.accept(said("x", number=number))
        claim = await claimed(store)
        calls = (ModelCall("a:model", usage, None),) if usage.output else ()
        await store.ledger.finish(claim, Closing(Outcome.ANSWERED, "y", calls=calls), START)
        name = f"scheduled:{number}:1795424400"
        await store.database.write(rename, {"event": name, "message": name, "progress": "", "id": claim.turn})
    store = await upgraded(store, url)
    try:
        assert await kinds(store) == [(TurnKind.REMINDER, 7), (TurnKind.SCHEDULED, 8)]
    finally:
        await store.close()


async def test_an_upgrade_leaves_only_the_words_of_schedules_as_words_that_a_model_may_have_written(url: str) -> None:
    """Up to r0009 no row said whose words a person's message holds, so all were marked."""
    store = await open_store(url)
    await accept_with_old_ids(store)
    await store.database.write(lambda to: to.execute(text("UPDATE message SET retold = TRUE")))
    store = await upgraded(store, url)
    try:
        query = text("SELECT kind FROM turn JOIN message ON message.turn = turn.id WHERE retold ORDER BY turn.id")
        marked = await store.database.read(lambda of: of.execute(query).scalars().all())
        assert marked == [kind for *_, kind, _ in OLD_IDS if kind.in_words_of_schedule]
    finally:
        await store.close()
