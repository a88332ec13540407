"""The ledger in a database: what the contract cannot show from outside."""

import logging
from dataclasses import replace

import pytest
from sqlalchemy import Connection, select, text, update

from agent.turn_records import Claiming
from store.engine import Store, open_store
from store.message_tables import message
from store.turn_tables import turn
from store.turns.turn_queue import next_turn
from tests.contracts.steps import claimed
from tests.fakes.incoming import LEASE, START, said
from tests.fakes.postgresql import PostgresServer


@pytest.mark.parametrize("damage", [{"payload": "no JSON"}, {"payload": '{"quoted":[{"x":1}]}'}, {"payload": "[]"}])
async def test_a_turn_that_cannot_be_read_is_put_aside_with_one_log_line(
    either: Store, caplog: pytest.LogCaptureFixture, damage: dict[str, str]
) -> None:
    accepted = await either.ledger.accept(said("first"))
    await either.ledger.accept(said("second"))
    await either.database.write(lambda c: c.execute(update(turn).where(turn.c.id == accepted.turn).values(**damage)))
    with caplog.at_level(logging.INFO):
        assert (await claimed(either)).incoming.text == "second"
    [line] = caplog.messages
    assert line.startswith(f"turn {accepted.turn} could not be read")
    columns = select(turn.c.state, turn.c.outcome, turn.c.payload).where(turn.c.id == accepted.turn)
    assert tuple(await either.database.read(lambda c: c.execute(columns).one())) == ("done", "refused", "{}")


async def test_a_place_without_a_name_in_the_database_blocks_nobody(either: Store) -> None:
    await either.ledger.accept(said("from nowhere", conversation="a"))
    await either.database.write(lambda c: c.execute(update(message).values(audience="group:")))
    await either.ledger.accept(said("hello", conversation="b"))
    assert (await claimed(either)).incoming.text == "hello"
    assert await either.ledger.claim(Claiming("worker", START, LEASE)) is None


async def test_of_teams_that_wait_equally_long_the_oldest_turn_is_next_however_the_table_is_read(
    postgres: PostgresServer,
) -> None:
    store = await open_store(await postgres.empty())
    asked = [("ann", "first"), ("bob", "second"), ("cat", "first")]
    oldest, *_ = [
        (await store.ledger.accept(replace(said("?", person=person, conversation=person), team=team))).turn
        for person, team in asked
    ]

    def next_without_index(connection: Connection) -> int | None:
        for way in ("indexscan", "indexonlyscan", "bitmapscan"):
            connection.execute(text(f"SET LOCAL enable_{way} = off"))
        return next_turn(connection, START, None, None)

    await store.database.write(  # PostgreSQL writes a changed row anew, behind the others
        lambda connection: connection.execute(update(turn).where(turn.c.id == oldest).values(attempts=0))
    )
    assert await store.database.write(next_without_index) == oldest
    await store.close()
