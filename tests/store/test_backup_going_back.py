"""Going back to an earlier version: what it can hold stays, what it cannot is named first, and a backup has it all."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import pytest
from alembic.config import Config
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, insert, inspect, select, update

from agent.errors import StoreError, StoreLocked
from store.all_tables import metadata
from store.api_tokens import api_token
from store.backup import go_back, look_into, restore
from store.database_state import look_at
from store.databases.database import migrating
from store.engine import Store, database_beside, open_store, prepare
from store.installations import installation
from store.message_tables import message, place
from store.migrations import HEAD, MIGRATIONS, RELEASES, take_back
from store.model_calls import TOKENS, model_call
from store.operator_sessions import operator_session
from store.schedule_table import schedule
from store.search.index import INDEXES
from store.search.passages import document
from store.shard_leases import shard_lease
from store.tool_accounts import sign_in, tool_account
from store.tool_calls import tool_call
from store.turn_tables import turn
from store.turns.consents import consent
from store.turns.open_questions import open_question
from tests.contracts.steps import answered, texts_found
from tests.examples import is_thorough
from tests.fakes.incoming import START, said
from tests.store.migrating import up_to
from tests.store.processes import line, running
from tests.store.test_backup import LATER, checked, digests, fill, opened

T = TypeVar("T")

EARLIEST = "r0005"
BACK_TO = [version for version in reversed(MIGRATIONS.versions) if EARLIEST <= version < HEAD]
FEW = ["r0010", "r0005"]
NEWEST = 6
# These rows stay, as a later version needs them again.
UNREAD = "marks of forgotten messages; these messages may return if they are sent again"
LOST: Mapping[str, set[str]] = {
    "r0032": {"tokens of programs; they have to be created again"},
    "r0031": {
        "links to messages that another workspace stored, too; later edits and deletions of these have no effect",
        UNREAD,
    },
    "r0027": {"files that code saved"},
    "r0019": {"installations of the app; workspaces have to install it again"},
    "r0021": {"connections to a gateway that processes share"},
    "r0018": {"times of turns and of models' answers", "times at which turns started"},
    "r0017": {"sessions on the operators' page; operators have to sign in again"},
    "r0015": {"marks that a learned page is in your own network"},
    "r0014": {"marks that a message is shared with its team"},
    "r0013": {"addresses of learned web pages; the bot no longer checks these pages for changes"},
    "r0012": {"reminders and other schedules"},
    "r0011": {"documents of channels, workspaces and people"},
    "r0010": {"questions of tools that wait for an answer"},
    "r0009": {"audit entries about tool calls and about who can use tools"},
    "r0008": {"marks that a reply contains nothing about others"},
    "r0007": {"people's decisions about tool calls"},
    "r0006": {"accounts at tool servers; people have to sign in again", "sign-ins in progress"},
}


@pytest.fixture
def url(new_on_either: str) -> str:
    return new_on_either


def one_of_each(connection: Connection) -> None:
    """A row of each kind that some earlier version knows nothing of."""
    channel, message_id = connection.execute(select(turn.c.channel, turn.c.message_id).where(turn.c.id == 1)).one()
    shared = {"source": "another", "channel": channel, "message_id": message_id}
    connection.execute(update(turn).where(turn.c.id == 2).values(**shared))
    of_ann, text = {"person": "ann", "server": "wiki", "sealed": b"sealed"}, dict.fromkeys
    connection.execute(insert(tool_account).values(**of_ann))
    connection.execute(insert(sign_in).values(**of_ann, handle="handle", expires=START))
    of_a_token = text(("hash", "name", "person", "audience", "source", "channel", "scopes"), "x")
    connection.execute(insert(api_token).values(**of_a_token, created=START, by_person=True))
    connection.execute(insert(operator_session).values(hash="hash", seen=START, expires=START))
    of_a_workspace = text(("source", "app", "organization", "bot", "scopes", "installer"), "x")
    connection.execute(insert(installation).values(**of_a_workspace, installed=START, sealed=b"sealed", epoch=1))
    connection.execute(insert(shard_lease).values(number=0, shards=1, owner="x", epoch=1))
    of_a_turn = {"turn": 1, "person": "ann"}
    connection.execute(insert(consent).values(
        **of_a_turn, **text(("call", "word", "conversation", "tool"), "x"), standing=True, decided=START
    ))  # fmt: skip
    connection.execute(insert(open_question).values(
        **of_a_turn, **text(("key", "asked", "filled", "action"), "x"), epoch=1, until=START
    ))  # fmt: skip
    said = ("call", "channel", "audience", "tool", "arguments", "effect", "decision", "decided_by", "outcome")
    connection.execute(insert(tool_call).values(**of_a_turn, **text(said, "x"), time=START))
    made = ("person", "source", "channel", "audience", "conversation", "message", "words", "state")
    connection.execute(insert(schedule).values(**text(made, "x"), made="{}", next=START, epoch=1))
    connection.execute(update(document).values(address="http://wiki.example", etag="1", due=START, is_own=True))
    number = connection.execute(select(place.c.number)).scalars().first()
    connection.execute(update(message).where(message.c.turn == 2).values(place=number))
    connection.execute(update(message).where(message.c.author == "bot").values(retold=False))
    connection.execute(update(turn).values(began=START))
    spent = text(("kind", "model", "person"), "x") | {"began": START, "ms": 1, "day": START.date(), "estimated": False}
    connection.execute(insert(model_call).values(**spent, **dict.fromkeys(("number", *TOKENS, "bytes_up"), 1)))


def columns_of(connection: Connection) -> dict[str, list[str]]:
    """Of each table that there is. The indexes are each engine's own, `meta` says how far they are, jobs make them."""
    found = inspect(connection)
    kept = (name for name in found.get_table_names() if name not in {"alembic_version", "meta", "job"})
    return {
        name: [one["name"] for one in found.get_columns(name)]
        for name in kept
        if not name.startswith((*INDEXES, "sqlite"))
    }


def rows_of(connection: Connection, columns: Mapping[str, list[str]]) -> dict[str, list[str]]:
    """What these columns hold."""
    return {
        name: sorted(
            repr(tuple(row)) for row in connection.execute(select(*(metadata.tables[name].c[one] for one in some)))
        )
        for name, some in columns.items()
    }


def shape(connection: Connection) -> dict[str, Any]:
    """Tables, columns, keys and indexes, each kind read of all tables at once."""
    found = inspect(connection)
    columns, primary = found.get_multi_columns(), found.get_multi_pk_constraint()
    foreign, unique = found.get_multi_foreign_keys(), found.get_multi_unique_constraints()
    indexes = found.get_multi_indexes()

    def sorted_names(rows: Any) -> list[str]:
        return sorted(str({**one, "comment": None, "autoincrement": None}) for one in rows)

    return {
        table[1]: [
            sorted(f"{one['name']} {one['type']!r} {one['nullable']}" for one in columns[table]),
            primary[table]["constrained_columns"],
            sorted_names(foreign[table]),
            sorted_names(unique[table]),
            sorted(str((one["name"], one["column_names"], one["unique"])) for one in indexes[table]),
        ]
        for table in columns
        if not table[1].startswith(("message_index_", "passage_index_"))
    }


async def beside(url: str, work: Callable[..., T], *given: object) -> T:
    """What a database is, at whatever version."""
    database = database_beside(url)
    try:
        return await database.read(work, *given)
    finally:
        await database.close()


async def filled(url: str) -> int:
    """A database with something of each kind; the last id that was given to a turn there."""
    last = await fill(url)
    async with opened(url) as store:
        await store.database.write(one_of_each)
    return last


async def test_each_version_back_to_the_fifth_keeps_what_it_can_hold_and_names_the_rest(
    url: str, tmp_path: Path
) -> None:
    last, gone = await filled(url), set[str]()
    for version in BACK_TO if is_thorough() else FEW:  # a backup and a copy of each take a while
        file = tmp_path / f"{version}.backup"
        told = await go_back(url, version, file, START)
        losing = {one for since, lost in LOST.items() if since >= version for one in lost} - gone
        assert {*told.lost} == losing, version
        gone |= losing - {UNREAD}
        assert (told.saved is None) == bool(told.lost), "what would be lost is said, and nothing is done"
        held = await beside(url, rows_of, await beside(url, columns_of)) if told.lost else None
        if held is not None:
            assert ((await look_at(url)).version, file.exists()) == (HEAD, False)
            told = await go_back(url, version, file, START, lose=True)
        assert told.saved == look_into(file)
        assert (await look_at(url)).version == version
        columns = await beside(url, columns_of)
        at_that_version = await beside(url, rows_of, columns)
        async with opened(url) as store:
            assert store.version_before == version
            assert await store.database.read(rows_of, columns) == at_that_version
        if held is not None:
            there = f"sqlite:///{tmp_path}/{version}.db"
            await restore(file, there, LATER)
            restored = await beside(there, rows_of, await beside(there, columns_of))
            made_anew = {"passage": held["passage"]}  # in which range of the index a passage stands
            assert {**restored, **made_anew} == held, "the backup has all of it"
    async with opened(url) as store:
        assert len(await texts_found(store, "boat")) == 5
        claim = await answered(store, said("and my kayak is red", number=90), "Noted.")
        assert claim.turn > last


async def test_the_tables_are_those_that_a_database_of_the_earlier_version_has(either: Store, tmp_path: Path) -> None:
    """Down in steps, and up again: each version looks the same on both ways. Old revisions do not change."""
    steps = BACK_TO if is_thorough() else BACK_TO[:NEWEST]

    def walked(connection: Connection) -> tuple[dict[str, Any], dict[str, Any]]:
        down, up = dict[str, Any](), dict[str, Any]()
        for version in steps:
            take_back(connection, version, MIGRATIONS)
            down[version] = shape(connection)
        for version in reversed(steps):
            prepare(connection, "here", lambda: b"key", up_to(version, tmp_path / version))
            up[version] = shape(connection)
        prepare(connection, "here", lambda: b"key", MIGRATIONS)
        return down, up

    before = await either.database.read(shape)
    async with migrating():
        down, up = await either.database.change_tables(walked)
    assert down == up
    assert await either.database.read(shape) == before


def test_each_revision_has_its_way_back_or_says_why_there_is_none() -> None:
    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS.folder))
    for revision in ScriptDirectory.from_config(config).walk_revisions():
        module = revision.module
        assert callable(getattr(module, "downgrade", None)) != bool(getattr(module, "NO_WAY_BACK", "")), revision


async def test_a_release_is_a_version_to_go_back_to_and_who_is_there_already_is_told_so(
    url: str, tmp_path: Path
) -> None:
    for name in (*RELEASES, *(f"v{release}" for release in RELEASES)):
        await (await open_store(url)).close()
        told = await go_back(url, name, tmp_path / f"backup {name}", START)
        assert (told.to, told.saved) == (RELEASES[name.removeprefix("v")], None if told.to == HEAD else told.saved)


async def test_what_cannot_go_back_is_one_sentence_and_stays_as_it_is(url: str, tmp_path: Path) -> None:
    await filled(url)
    before, file = await beside(url, digests), tmp_path / "backup"
    refused = [
        ("r0004", "because the earlier version would quote replies without checking"),
        ("r0001", "cannot go back from version r0005"),
        ("0.0.9", r"There is no version 0\.0\.9 to go back to\. Name a release \(.*0\.1\.0"),
        ("r9999", "There is no version r9999"),
    ]
    for version, sentence in refused:
        with pytest.raises(StoreError, match=sentence):
            await go_back(url, version, file, START, lose=True)
    file.write_text("the only copy of a novel")
    with pytest.raises(StoreError, match=r"already exists\. Choose another name"):
        await go_back(url, "r0015", file, START, lose=True)
    assert file.read_text() == "the only copy of a novel"
    assert await beside(url, digests) == before
    assert (await look_at(url)).version == HEAD


async def test_while_a_bot_serves_from_the_database_nothing_goes_back(url: str, tmp_path: Path) -> None:
    async with opened(url) as store:
        claim = await answered(store, said("my tent is green", number=50), "Noted.")
        with pytest.raises(StoreLocked, match=r"Another process is using|A bot is connected to"):
            await go_back(url, "r0006", tmp_path / "backup", START, lose=True)
        assert (await answered(store, said("my hat is grey", number=51), "Noted.")).turn > claim.turn
    assert not (tmp_path / "backup").exists()
    await go_back(url, "r0006", tmp_path / "backup", START, lose=True)


async def test_a_database_that_is_not_there_is_not_made(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="does not exist yet"):
        await go_back(f"sqlite:///{tmp_path}/none.db", "r0015", tmp_path / "backup", START)
    assert not (tmp_path / "none.db").exists()


_GOES_BACK = """
import asyncio, sys
from pathlib import Path
import store.migrations.versions
from sqlalchemy import event
from sqlalchemy.engine import Engine
from store.backup import go_back
from tests.fakes.incoming import START

@event.listens_for(Engine, "before_cursor_execute")
def wait(connection, cursor, statement, *rest):
    if "DROP TABLE open_question" in statement:
        print("half", flush=True)
        sys.stdin.read()

asyncio.run(go_back(sys.argv[1], "r0006", Path(sys.argv[2]), START, lose=True))
"""


async def test_a_way_back_that_is_killed_has_not_begun(url: str, tmp_path: Path) -> None:
    last = await filled(url)
    before = await beside(url, digests)
    async with running(_GOES_BACK, url, str(tmp_path / "backup")) as process:
        assert await line(process) == "half"
    assert (await look_at(url)).version == HEAD
    assert await beside(url, digests) == before
    assert look_into(tmp_path / "backup").version == HEAD
    await checked(url, last)
