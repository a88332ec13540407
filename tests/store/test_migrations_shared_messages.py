"""Revision r0032 on a database that a bot has used: the turns' table is replaced, and everything that refers to it
stays.
"""

import hmac
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Connection, insert, select, text

from agent.events import Outcome
from agent.incoming import Incoming
from agent.turn_records import Closing
from store.engine import Store, erased_key, open_store
from store.erased_ids import erased
from store.migrations import HEAD
from store.outbox import webhook
from store.turn_tables import turn
from tests.contracts.steps import answered, claimed
from tests.fakes.incoming import START, said
from tests.store.migrating import up_to

BEFORE = "r0031"
# Columns of turns that later revisions add.
TODAYS = {
    "answers": "BIGINT",
    "erased_sources": "INTEGER NOT NULL DEFAULT 0",
    "charged": "INTEGER NOT NULL DEFAULT 0",
}


@pytest.fixture
def url(empty_on_either: str) -> str:
    return empty_on_either


async def earlier(url: str, folder: Path) -> Store:
    """The store of the version before."""
    return await open_store(url, migrations=up_to(BEFORE, folder))


def rows_with(connection: Connection, *tables: str) -> dict[str, list[Any]]:
    """The rows, without what later revisions add to them."""
    return {
        table: sorted(
            repr([(name, value) for name, value in row.items() if name not in TODAYS])
            for row in connection.execute(text(f"SELECT * FROM {table}")).mappings()  # noqa: S608 -- our own names
        )
        for table in tables
    }


def add_todays_columns(connection: Connection) -> None:
    """Today's code writes them; the migration adds them again."""
    for name, kind in TODAYS.items():
        connection.execute(text(f"ALTER TABLE turn ADD COLUMN {name} {kind}"))


def drop_todays_columns(connection: Connection) -> None:
    for name in TODAYS:
        connection.execute(text(f"ALTER TABLE turn DROP COLUMN {name}"))


def indexes(connection: Connection) -> list[str]:
    """Of the turns, as each engine describes them, without the constraint that is replaced."""
    kept = {
        "sqlite": "SELECT sql FROM sqlite_master WHERE type = 'index' AND tbl_name = 'turn' AND sql IS NOT NULL",
        "postgresql": "SELECT indexdef FROM pg_indexes WHERE tablename = 'turn' AND indexname NOT LIKE '%message_id'",
    }
    found = connection.execute(text(kept[connection.dialect.name])).scalars()
    return sorted(" ".join(one.replace("(", " ").replace(")", " ").split()) for one in found)


def forget_as_before(connection: Connection, asked: Incoming) -> None:
    """As the earlier version recorded a forgotten message; today's code needs tables that are not there yet."""
    plain = "\0".join(("post", asked.channel, asked.message_id)).encode()
    row = {"hash": hmac.new(erased_key(connection) or b"", plain, "sha256").hexdigest(), "time": START}
    connection.execute(insert(erased), row)


def delete_of(connection: Connection, person: str) -> None:
    for table in ("message", "turn"):
        gone = connection.execute(text(f"DELETE FROM {table} WHERE person = :person"), {"person": person})  # noqa: S608 -- ours
        assert gone.rowcount == 1


async def test_rows_keys_indexes_and_ids_stay(url: str, tmp_path: Path) -> None:
    tables = ("turn", "message", "page", "participant", "erased", "model_call")
    store = await earlier(url, tmp_path)
    await store.database.write(webhook.create)  # today's code asks who wants to know of an answer
    await store.database.write(add_todays_columns)
    for text_ in ("my boat is blue", "my car is red"):
        await answered(store, said(text_), "Noted.")
    await store.ledger.accept(said("and where is it?"))
    last = await store.ledger.record_context_message(said("forget this", conversation="other", person="bob"))
    await store.database.write(forget_as_before, said("forget this"))
    await store.database.write(delete_of, "bob")
    await store.database.write(webhook.drop)
    await store.database.write(drop_todays_columns)
    before = await store.database.read(rows_with, *tables), await store.database.read(indexes)
    await store.close()

    store = await open_store(url)
    assert (store.version_before, store.version) == (BEFORE, HEAD)
    assert (await store.database.read(rows_with, *tables), await store.database.read(indexes)) == before
    if not store.database.is_shared:
        assert await store.database.read(lambda c: c.execute(text("PRAGMA foreign_key_check")).all()) == []
        assert await store.database.read(lambda c: c.execute(text("PRAGMA foreign_keys")).scalar_one()) == 1
    waiting = await claimed(store)
    assert waiting.incoming.text == "and where is it?"
    await store.ledger.finish(waiting, Closing(Outcome.ANSWERED, "At home."), START)
    new = await answered(store, said("a new one"), "Noted.")
    assert new.turn > last.turn, "no id is given twice"
    await store.close()


async def test_what_was_forgotten_before_stays_forgotten_in_each_workspace(url: str, tmp_path: Path) -> None:
    store, asked = await earlier(url, tmp_path), said("my boat is blue")
    await store.database.write(forget_as_before, asked)
    await store.close()
    store = await open_store(url)
    for source in ("slack:T1", "slack:T2"):
        assert (await store.ledger.accept(replace(asked, source=source))).duplicate
    await store.close()


async def test_edits_that_wait_are_found_by_their_new_names(url: str, tmp_path: Path) -> None:
    store = await earlier(url, tmp_path)
    jobs = [
        ("edit", "C1 1", '["slack:T1", "C1", "1", "a red boat"]'),
        ("edit", "C1 2", '["C1", "2", "a red boat"]'),  # of a version that named no source
        ("forget_deleted", "C1 3", '["slack:T1", "C1", "3"]'),
        ("forget_deleted", "C1 4", '["C1", "4"]'),
        ("sweep", "", ""),
    ]
    for kind, key, payload in jobs:
        await store.jobs.schedule(kind, key, payload, START)
    await store.close()
    store = await open_store(url)
    keys = await store.database.read(lambda c: c.execute(text("SELECT key FROM job ORDER BY id")).scalars().all())
    assert keys == ["slack:T1 C1 1", "C1 2", "slack:T1 C1 3", "C1 4", ""]
    await store.close()


async def test_afterwards_each_workspace_stores_a_shared_message_for_itself(url: str, tmp_path: Path) -> None:
    await (await earlier(url, tmp_path)).close()
    store = await open_store(url)
    for source in ("slack:T1", "slack:T2"):
        asked = replace(said("my boat", conversation=source, person=f"{source}:U1", number=1), source=source)
        assert not (await store.ledger.accept(asked)).duplicate
        assert (await store.ledger.accept(asked)).duplicate
    stored = await store.database.read(lambda c: c.execute(select(turn.c.source)).scalars().all())
    assert sorted(stored) == ["slack:T1", "slack:T2"]
    await store.close()
