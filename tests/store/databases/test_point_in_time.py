"""A PostgreSQL server that is restored to a point in time holds again what was forgotten since. The forgetting log,
which is not in the database, says what that was. The proof is of bytes: of a dump of all tables, and of the files.
"""

import shutil
from datetime import datetime
from pathlib import Path
from typing import Final

import pytest
from sqlalchemy import text

from agent.memory.documents import DocumentPage, NewDocument, passages_of
from agent.memory.forgetting_plans import Deleted, Everything
from store.engine import Store, open_store
from store.forget_again import LogState, look_at_log, with_forgetting_log
from tests.contracts.steps import answered, texts_found
from tests.fakes.facts import remember
from tests.fakes.incoming import START, said
from tests.fakes.postgresql import PostgresServer, archived_postgres
from tests.store.processes import pieces_in_files

ERASED: Final = ["number 2 is blue", "Noted, 2", "bob likes tea", "Earl Grey", "herring"]
DATABASE: Final = "archived"
KEPT: Final = ["number 1 is blue", "twenty-eight days of leave"]


async def fill(store: Store) -> None:
    for number in (1, 2):
        await answered(store, said(f"my boat number {number} is blue", number=number), f"Noted, {number}.")
    tea = await answered(store, said("bob likes tea", person="bob", conversation="other", number=6), "Earl Grey?")
    await remember(store.facts, "bob", "likes herring", "person:bob", START, tea.message)
    passages = passages_of([DocumentPage("Everybody has twenty-eight days of leave a year.", 7)])
    await store.documents.keep(NewDocument("handbook", "person:ann", "test", "channel", "ann", START, passages))


async def now(store: Store) -> datetime:
    return await store.database.read(lambda c: c.execute(text("SELECT clock_timestamp()")).scalar_one())


async def dumped(server: PostgresServer, folder: Path, *lists: list[str]) -> list[int]:
    """How many of the pieces of each list stand in a dump of all tables."""
    server.run("pg_dump", "-h", server.folder, "-U", "postgres", "-f", server.folder / "dump.sql", DATABASE)
    shutil.copytree(server.folder, folder, ignore=lambda _, names: {*names} - {"dump.sql"})
    return [await pieces_in_files(folder, pieces) for pieces in lists]


async def in_files(server: PostgresServer, *lists: list[str]) -> list[int]:
    """How many of them stand in the files of tables, from which a vacuum has removed deleted rows."""
    await server.execute("VACUUM FULL", database=DATABASE)
    await server.execute("CHECKPOINT", user="postgres")
    number = await server.value("SELECT oid FROM pg_database WHERE datname = current_database()", database=DATABASE)
    return [await pieces_in_files(server.data / "base" / str(number), pieces) for pieces in lists]


@pytest.mark.server
@pytest.mark.slow
async def test_a_server_restored_to_a_point_in_time_forgets_again_what_was_forgotten_since(tmp_path: Path) -> None:
    log = tmp_path / "forgetting.log"
    with archived_postgres() as archived:
        await archived.server.execute(f"CREATE DATABASE {DATABASE}")
        store = await with_forgetting_log(await open_store(archived.server.url(DATABASE)), log, START)
        archived.back_up()
        await fill(store)
        until = await now(store)
        await answered(store, said("after the moment to which it is restored", number=20), "Yes.")
        for plan in (Deleted("test", "channel", frozenset({"post-2"})), Everything("bob")):
            receipt = await store.forgetting.forget(plan, START)
            assert (receipt.found_again, receipt.kept_by_server, receipt.is_logged) == (0, True, True)
        await store.close()
        assert await look_at_log(archived.server.url(DATABASE), log, START) == LogState(is_ahead=False, missing=0)
        await archived.archive_all()
        async with archived.restored(until) as server:
            assert await dumped(server, tmp_path / "before", ERASED, KEPT) == [len(ERASED), len(KEPT)], "it is back"
            store = await with_forgetting_log(await open_store(server.url(DATABASE)), log, START)
            assert await texts_found(store, "boat") == ["my boat number 1 is blue"]
            assert await texts_found(store, "moment") == [], "it is the past"
            assert (await store.ledger.accept(said("my boat number 2 is blue", number=2))).duplicate
            await store.close()
            assert await dumped(server, tmp_path / "after", ERASED, KEPT) == [0, len(KEPT)]
            assert await in_files(server, ERASED, KEPT) == [0, len(KEPT)]
