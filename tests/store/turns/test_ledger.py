"""The ledger in a database: what the contract cannot show from outside."""

import logging

import pytest
from sqlalchemy import select, update

from agent.records import Claiming
from store.engine import Store
from store.tables import message, turn
from tests.contracts.steps import claimed
from tests.fakes.incoming import LEASE, START, said


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
    assert line.startswith(f"turn {accepted.turn} cannot be read")
    columns = select(turn.c.state, turn.c.outcome, turn.c.payload).where(turn.c.id == accepted.turn)
    assert tuple(await either.database.read(lambda c: c.execute(columns).one())) == ("done", "refused", "{}")


async def test_a_place_without_a_name_in_the_database_blocks_nobody(either: Store) -> None:
    await either.ledger.accept(said("from nowhere", conversation="a"))
    await either.database.write(lambda c: c.execute(update(message).values(audience="group:")))
    await either.ledger.accept(said("hello", conversation="b"))
    assert (await claimed(either)).incoming.text == "hello"
    assert await either.ledger.claim(Claiming("worker", START, LEASE)) is None
