"""Backup, restore, moving to another database, and going back to an earlier version, each through a copy in one file.

Rules
  A backup is a database in one SQLite file, whichever engine it came from: a snapshot, taken while the bot runs,
  without the bytes of forgotten rows.
  What was forgotten after a backup is forgotten again when the backup is restored over the database that has recorded
  it: that database has the keyed hashes of what was forgotten. If it is lost, so is that record, unless there is a
  forgetting log (`store.forgetting.log`). If that database exists, tokens of programs that were revoked, keys of
  channels that were removed, and accounts that were disconnected after the backup are so again.
  A restored database replaces the former one in one step, when it is complete: a kill leaves one or the other.
  Rows are copied unchanged, with their ids, and no id is assigned twice later. The search indexes, which are derived
  from rows, are rebuilt at the next start if the engines differ.
  Both sides of a copy are read again and compared by the number of rows and an order-independent digest.
"""

import asyncio
import errno
import hashlib
import os
import sqlite3
import stat
from collections.abc import AsyncGenerator, Callable, Collection, Generator, Iterable, Mapping, Sequence
from contextlib import ExitStack, asynccontextmanager, closing, contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final, TypeAlias

from filelock import FileLock, Timeout
from sqlalchemy import URL, Connection, Select, Table, create_engine, delete, func, insert, inspect, select, text
from sqlalchemy.exc import DBAPIError

from agent import texts
from agent.errors import StoreError, StoreLocked, StoreMisnamed
from agent.machine import sqlite_path
from agent.memory.forgetting_plans import CONNECTED
from agent.path_errors import unwritable_reason
from store import timelines
from store.api_tokens import api_token
from store.database_state import look_at
from store.databases.database import is_postgresql, migrating
from store.databases.sqlite import BLOCK_BYTES, store_error
from store.derived_data import DERIVED
from store.engine import database_beside, database_of, erased_key, lock_migrations, obstacle, open_store, require_head
from store.erased_ids import erased
from store.forget_again import forget_again
from store.memory_tables import fact
from store.message_tables import conversation, message, person
from store.migrations import MIGRATIONS, RELEASES, lost_before, take_back, version
from store.place_keys import place_key
from store.preferences import preference
from store.schema import meta, metadata
from store.search import passages
from store.search.index import INDEXES
from store.search.passages import document

MADE: Final = "backup"  # The key in `meta` of the time at which a backup was made
_SQLITE: Final = b"SQLite format 3\0"  # The first bytes of each SQLite file
ROWS: Final = 500  # Copied at once: as many parameters as PostgreSQL takes in one statement, and little memory
POLL_S: Final = 0.2  # Between two checks of a copy's size
_COUNTED: Final = {
    "messages": message,
    "people": person,
    "conversations": conversation,
    "facts": fact,
    "documents": document,
}
# Connections carry the program's name, so another process of the bot is seen before its database is replaced.
_OTHERS: Final = text(
    "SELECT count(*) FROM pg_stat_activity"
    " WHERE application_name = 'cogency' AND datname = current_database() AND pid <> pg_backend_pid()"
)
_A_MOMENT: Final = text("SELECT pg_sleep(0.05), pg_stat_clear_snapshot()")
CONNECTION_CHECKS: Final = 20  # A closed connection is listed for some moments more

# Called with the name of the step, how much of it is done, and how much there is; possibly on another thread.
ReportProgress: TypeAlias = Callable[[str, int, int], object]


def silent(what: str, done: int, of: int) -> None:
    """For a caller that shows no progress."""


@dataclass(frozen=True, slots=True)
class Holding:
    """The contents of a database or a backup. `made`: None for a database. `counts`: by kind, "messages" first."""

    version: str
    counts: Mapping[str, int]
    made: datetime | None = None

    @property
    def is_empty(self) -> bool:
        return not any(self.counts.values())

    def __str__(self) -> str:
        """ "12 messages, 1 person"."""
        singular = {"people": "person"}
        return ", ".join(
            f"{number:,} {kind if number != 1 else singular.get(kind, kind[:-1])}"
            for kind, number in self.counts.items()
        )


@dataclass(frozen=True, slots=True)
class Restored:
    """`again`: how many messages were forgotten again. `knows`: whether the replaced database had recorded what was
    forgotten since the backup.
    """

    holding: Holding
    again: int
    knows: bool


async def backup(
    url: str, file: Path, now: datetime, *, replace: bool = False, tell: ReportProgress = silent
) -> Holding:
    """Write a backup to `file`, also while a bot serves from the database. Raises StoreError, and leaves no file."""
    part = file.parent / f"{file.name}.part"
    try:
        _make_room(file, part, replace=replace)
        await _copy_to_file(url, part, tell)
        holding = await asyncio.to_thread(_finish, part, now)
        part.replace(file)
        _fsync(file.parent)
    except (OSError, sqlite3.Error) as error:
        raise _translate(error, file) from error
    finally:
        _discard(part)
    return holding


def look_into(file: Path) -> Holding:
    """The contents of a backup. Raises StoreError for a file that is no backup, or that is of a newer version."""
    try:
        if not stat.S_ISREG(file.stat().st_mode):  # a pipe would block, and a folder cannot be read
            raise StoreMisnamed(texts.NO_BACKUP.format(file=file))
        with file.open("rb") as opened:
            beginning = opened.read(len(_SQLITE))
    except (FileNotFoundError, NotADirectoryError):
        raise StoreMisnamed(texts.BACKUP_MISSING.format(file=file)) from None
    except OSError as error:
        raise StoreMisnamed(texts.BACKUP_UNREADABLE.format(file=file, reason=error.strerror)) from None
    if beginning != _SQLITE:
        raise StoreMisnamed(texts.NO_BACKUP.format(file=file))
    with _connect(file) as connection:
        if version(connection) is None:
            raise StoreMisnamed(texts.NO_BACKUP.format(file=file))
        if (fault := obstacle(connection, str(file), MIGRATIONS, texts.ANOTHER_BACKUP)) is not None:
            raise StoreError(fault)
        if connection.exec_driver_sql("PRAGMA quick_check(1)").scalar_one() != "ok":
            raise StoreError(texts.NO_BACKUP.format(file=file))
        return _holding(connection)


async def restore(
    file: Path, url: str, now: datetime, *, replace: bool = False, tell: ReportProgress = silent
) -> Restored:
    """Replace the database of `url` by the backup. `replace`: also if it is not empty. No bot may run meanwhile.

    Raises StoreError, and then nothing has changed.
    """
    await asyncio.to_thread(look_into, file)
    async with _target(url, replace=replace) as target:
        part = target.part
        try:
            await asyncio.to_thread(_copy_file, file, part, tell)
            store = await open_store(f"sqlite:///{part}")
            try:
                knows = target.key == await store.database.read(erased_key)
                hashes = dict.fromkeys(target.erased if knows else (), now)
                again = await forget_again(store.database, store.forgetting, hashes, now)
                if knows:
                    await store.database.write(_revoke_again, target.tokens)
                    await store.database.write(_take_keys, target.place_keys)
                    await store.database.write(_disconnect_again, target.connected)
                await store.database.write(_drop_made)
                await store.forgetting.sweep()
            finally:
                await store.close()
            holding = await asyncio.to_thread(look_into, part)
            await target.take(tell)
        except (OSError, sqlite3.Error) as error:
            raise _translate(error, part) from error
        return Restored(holding, again, knows)


async def copy(
    source: str, url: str, now: datetime, *, replace: bool = False, tell: ReportProgress = silent
) -> Holding:
    """Copy a database to another one, and compare both. Raises StoreError, and then nothing has changed."""
    async with _target(url, replace=replace) as target:
        try:
            await backup(source, target.part, now, replace=True, tell=tell)
            store = await open_store(f"sqlite:///{target.part}")
            try:
                await store.database.write(_drop_made)
            finally:
                await store.close()
            holding = await asyncio.to_thread(look_into, target.part)
            await target.take(tell)
        except (OSError, sqlite3.Error) as error:
            raise _translate(error, target.part) from error
        return holding


# Back to an earlier version.


@dataclass(frozen=True, slots=True)
class Back:
    """`lost`: what the version `to` cannot hold. `saved`: the contents of the backup, None if nothing was done."""

    where: str
    to: str
    lost: Mapping[str, int]
    saved: Holding | None = None


async def go_back(
    url: str, name: str, file: Path, now: datetime, *, lose: bool = False, tell: ReportProgress = silent
) -> Back:
    """Downgrade a database to an earlier version, given by its number or by a release's, after a backup of it to
    `file`. If rows would be lost, nothing is done unless `lose` is set. No bot may run meanwhile.

    Raises StoreError, and then nothing has changed.
    """
    to = MIGRATIONS.named(name)
    if to is None:
        raise StoreMisnamed(texts.NO_SUCH_VERSION.format(name=name, releases=", ".join(RELEASES)))
    if (state := await look_at(url)).version is None:
        raise StoreError(texts.SQLITE_NOT_YET.format(path=state.where))
    database = database_of(url)  # locks a file
    try:
        await database.read(require_head, database.where, MIGRATIONS)
        await database.read(_require_alone, database.where)
        async with migrating():
            lost = await database.read(lost_before, database.where, to, MIGRATIONS)
        if to == MIGRATIONS.head or (lost and not lose):
            return Back(database.where, to, lost)
        saved = await backup(url, file, now, tell=tell)
        async with migrating():
            await database.change_tables(_downgrade, database.where, to)
    finally:
        await database.close()
    return Back(database.where, to, lost, saved)


def _downgrade(connection: Connection, where: str, to: str) -> None:
    lock_migrations(connection)
    _require_alone(connection, where)
    take_back(connection, to, MIGRATIONS)


def is_connected_to(connection: Connection) -> bool:
    """Whether another connection to a server exists, possibly of this process."""
    return is_postgresql(connection) and connection.execute(_OTHERS).scalar_one() > 0


def _require_alone(connection: Connection, where: str) -> None:
    """Raise StoreLocked while a bot is connected to a server. (For a file there is a lock anyway.)"""
    if not is_postgresql(connection):
        return
    for _ in range(CONNECTION_CHECKS):
        if not is_connected_to(connection):
            return
        connection.execute(_A_MOMENT)
    raise StoreLocked(texts.BOTS_ARE_CONNECTED.format(where=where))


# The target of a copy.


@dataclass(slots=True)
class _Target:
    """`part`: the file in which the copy is made. `key`, `erased`, `tokens`, `place_keys`, `connected`: of the database
    that is to be replaced, the key and hashes of erased ids, the hashes of its programs' tokens, its channels'
    keys, and the accounts that are connected; None and empty if there is none.
    """

    url: str
    path: Path | None
    part: Path
    key: bytes | None = None
    erased: frozenset[str] = frozenset()
    tokens: frozenset[str] = frozenset()
    place_keys: Sequence[Mapping[str, Any]] = ()
    connected: frozenset[tuple[str, str]] = frozenset()

    async def take(self, tell: ReportProgress) -> None:
        """Put the copy in the place of the database."""
        if self.path is not None:
            await asyncio.to_thread(_replace_file, self.part, self.path)
            return
        store = await open_store(self.url)
        try:
            await store.database.write_alone(_from_file, self.part, tell)
        finally:
            await store.close()


@asynccontextmanager
async def _target(url: str, *, replace: bool) -> AsyncGenerator[_Target]:
    """Lock and inspect the target. Raises StoreError if it is locked, or not empty and `replace` is not set."""
    scheme, _, rest = url.partition("://")
    path = sqlite_path(rest) if scheme.partition("+")[0] == "sqlite" else None
    with ExitStack() as stack:
        try:
            if path is None:
                part = Path(stack.enter_context(TemporaryDirectory(prefix="cogency-")), "copy.db")
            else:
                part = path.with_name(f".{path.name}.part")
                path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
                stack.enter_context(FileLock(f"{path}.lock").acquire(timeout=0))
        except Timeout:
            raise StoreLocked(texts.SQLITE_LOCKED.format(path=path)) from None
        except OSError as error:
            raise _translate(error, path or Path("copy.db")) from error
        stack.callback(_discard, part)
        target = _Target(url, path, part)
        if path is None or path.exists():
            await _look_at(target, replace=replace)
        yield target


async def _look_at(target: _Target, *, replace: bool) -> None:
    database = database_beside(target.url)
    try:
        if await database.read(version) is None:
            if (fault := await database.read(obstacle, database.where, MIGRATIONS)) is not None:
                raise StoreError(fault)
            return
        await database.read(_require_alone, database.where)
        holding = await database.read(_holding)
        if not holding.is_empty and not replace:
            raise StoreError(texts.NOT_EMPTY.format(where=database.where, held=holding))
        target.key = await database.read(erased_key)
        target.erased = frozenset(await database.read(lambda c: list(c.execute(select(erased.c.hash)).scalars())))
        target.tokens = await database.read(_token_hashes)
        target.place_keys = await database.read(_channel_keys)
        target.connected = await database.read(_connected)
    finally:
        await database.close()


def _token_hashes(connection: Connection) -> frozenset[str]:
    if not inspect(connection).has_table(api_token.name):  # an earlier version
        return frozenset()
    return frozenset(connection.execute(select(api_token.c.hash)).scalars())


def _revoke_again(connection: Connection, valid: Collection[str]) -> None:
    """Delete the tokens that were revoked since the backup."""
    restored = [*connection.execute(select(api_token.c.hash)).scalars()]
    for revoked in {*restored} - {*valid}:
        connection.execute(delete(api_token).where(api_token.c.hash == revoked))


_KEY_COLUMNS: Final = tuple(column for column in place_key.c if not column.primary_key)


def _channel_keys(connection: Connection) -> list[dict[str, Any]]:
    if not inspect(connection).has_table(place_key.name):  # an earlier version
        return []
    return [dict(row) for row in connection.execute(select(*_KEY_COLUMNS)).mappings()]


def _take_keys(connection: Connection, keys: Sequence[Mapping[str, Any]]) -> None:
    """Let channels have the keys that they had when the database was replaced, and no others: without the key that
    replaced an earlier one, the operator would pay for a channel that pays for itself.
    """
    connection.execute(delete(place_key))
    if keys:
        connection.execute(insert(place_key), keys)


_CONNECTS: Final = preference.c.name.startswith(f"{CONNECTED} ", autoescape=True)


def _connected(connection: Connection) -> frozenset[tuple[str, str]]:
    """Return which account names which other one."""
    named = select(preference.c.owner, preference.c.name).where(_CONNECTS)
    return frozenset((row.owner, row.name) for row in connection.execute(named))


def _disconnect_again(connection: Connection, valid: Collection[tuple[str, str]]) -> None:
    """Separate the accounts that were separated since the backup."""
    for owner, name in _connected(connection) - {*valid}:
        connection.execute(delete(preference).where(preference.c.owner == owner, preference.c.name == name))


def _replace_file(part: Path, path: Path) -> None:
    """Replace the database's file in one step: after a kill it is one of the two."""
    if path.exists():  # its log is emptied first, because it would be applied to the new file
        with closing(sqlite3.connect(path, isolation_level=None)) as old:
            busy, *_ = old.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
        if busy:
            raise StoreLocked(texts.SQLITE_FAULTS["SQLITE_BUSY"].format(path=path))
    _fsync(part)
    part.replace(path)
    _fsync(path.parent)


# Copying.


async def _copy_to_file(url: str, part: Path, tell: ReportProgress) -> None:
    scheme, _, rest = url.partition("://")
    if scheme.partition("+")[0] == "sqlite":
        path = sqlite_path(rest)
        if path is None or not path.exists():
            raise StoreError(texts.SQLITE_NOT_YET.format(path=path))
        await asyncio.to_thread(_require_database, path)
        copying = asyncio.ensure_future(asyncio.to_thread(_vacuum, path, part))
        while not copying.done():
            tell("copying", _size(part), _size(path))
            await asyncio.wait([copying], timeout=POLL_S)
        return await copying
    os.close(new_file(part))
    await (await open_store(f"sqlite:///{part}")).close()  # an empty database for the rows
    database = database_beside(url)
    try:
        await database.read(require_head, database.where, MIGRATIONS)
        await database.read_long(_into_file, part, tell)
    finally:
        await database.close()
    return None


def _require_database(path: Path) -> None:
    """Raises StoreError for a file that is no database of this program, of whatever version."""
    if not path.is_file():
        raise StoreError(texts.SQLITE_NOT_OPENED.format(path=path, reason=texts.NOT_A_FILE))
    with _connect(path) as source:
        if version(source) is None:
            is_empty = not inspect(source).get_table_names()
            raise StoreError((texts.SQLITE_NOT_YET if is_empty else texts.OTHER_PROGRAM).format(path=path, where=path))


def _vacuum(path: Path, part: Path) -> None:
    """Copy a snapshot without free pages, so that it has no bytes of forgotten rows."""
    os.close(new_file(part))
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("VACUUM INTO ?", [str(part)])


def _into_file(source: Connection, part: Path, tell: ReportProgress) -> None:
    with _connect(part, writes=True) as target:
        _copy_rows(source, target, tell)


def _from_file(target: Connection, part: Path, tell: ReportProgress) -> None:
    names = ", ".join([*(table.name for table in metadata.sorted_tables), *INDEXES])
    target.execute(text(f"TRUNCATE {names} CASCADE"))  # also the table of the vector index (`store.search.hnsw`)
    with _connect(part) as source:
        _copy_rows(source, target, tell)


def _copy_rows(source: Connection, target: Connection, tell: ReportProgress) -> None:
    """Copy all rows from one engine to the other. Raises StoreError if the two then differ."""
    target.execute(delete(meta))
    sums = {
        table: source.execute(select(func.count()).select_from(table)).scalar_one() for table in metadata.sorted_tables
    }
    done, of = 0, 2 * sum(sums.values())
    for table in metadata.sorted_tables:
        for batch in _batches(source, table):
            target.execute(insert(table), batch)
            done += len(batch)
            tell("copying", done, of)
    for table in metadata.sorted_tables:
        if digest(source, table) != digest(target, table):
            raise StoreError(texts.COPY_DIFFERS.format(table=table.name))
        done += sums[table]
        tell("comparing", done, of)
    for table in metadata.sorted_tables:
        if table.dialect_options["sqlite"]["autoincrement"]:
            _set_last_id(source, target, table)
    passages.index_anew(target)


def _rows_of(table: Table) -> Select[Any]:
    """A query for the table's rows, without the progress of derived data, which is the engine's own."""
    of_this_database = [*timelines.KEYS, *(item.name for item in DERIVED)]
    return select(table).where(meta.c.name.not_in(of_this_database)) if table is meta else select(table)


def _batches(connection: Connection, table: Table) -> Iterable[list[dict[str, Any]]]:
    found = connection.execution_options(yield_per=ROWS).execute(_rows_of(table)).mappings()
    for batch in found.partitions():
        yield [dict(row) for row in batch]


def digest(connection: Connection, table: Table) -> tuple[int, int]:
    """The number of rows, and the sum of their hashes, which does not depend on their order."""
    count = total = 0
    for batch in _batches(connection, table):
        for row in batch:
            count += 1
            total += int.from_bytes(hashlib.sha256(repr([*row.values()]).encode("utf-8", "surrogatepass")).digest())
    return count, total % 2**256


def _set_last_id(source: Connection, target: Connection, table: Table) -> None:
    """Set the last assigned id, also if its row was deleted, so that no id is assigned again."""
    column = next(iter(table.primary_key)).name
    sequence = text("SELECT pg_get_serial_sequence(:table, :column)")
    names = {"table": table.name, "column": column}
    if is_postgresql(source):
        name = source.execute(sequence, names).scalar_one()
        last = source.execute(text(f"SELECT CASE WHEN is_called THEN last_value ELSE 0 END FROM {name}")).scalar_one()  # noqa: S608 -- the server's
        target.execute(text("DELETE FROM sqlite_sequence WHERE name = :name"), {"name": table.name})
        target.execute(text("INSERT INTO sqlite_sequence VALUES (:name, :last)"), {"name": table.name, "last": last})
        return
    found = source.execute(text("SELECT seq FROM sqlite_sequence WHERE name = :name"), {"name": table.name})
    last = found.scalar_one_or_none() or 0
    name = target.execute(sequence, names).scalar_one()
    target.execute(text("SELECT setval(:name, :last, :used)"), {"name": name, "last": max(last, 1), "used": last > 0})


# The file of a backup.


def _finish(part: Path, now: datetime) -> Holding:
    """Store the time in the backup, and sync it to the disk."""
    with _connect(part, writes=True) as connection:
        _drop_made(connection)
        connection.execute(insert(meta).values(name=MADE, value=now.isoformat().encode()))
    with closing(sqlite3.connect(part, isolation_level=None)) as alone:
        alone.execute("PRAGMA journal_mode = DELETE")  # one file, without a log beside it
    holding = look_into(part)
    _fsync(part)
    return holding


@contextmanager
def _connect(file: Path, *, writes: bool = False) -> Generator[Connection]:
    """A connection for one transaction to an SQLite file that no one else uses. Raises StoreError."""
    engine = create_engine(URL.create("sqlite", database=str(file)), hide_parameters=True)
    try:
        with engine.begin() as connection:
            if not writes:
                connection.exec_driver_sql("PRAGMA query_only = ON")
            yield connection
    except DBAPIError as error:
        raise store_error(error, file) from error
    finally:
        engine.dispose()


def _make_room(file: Path, part: Path, *, replace: bool) -> None:
    if file.exists() and not file.is_file():  # it would be replaced, even if it is a device
        raise StoreMisnamed(texts.BACKUP_IN_NO_FILE.format(file=file))
    if file.exists() and not replace:
        raise StoreError(texts.BACKUP_EXISTS.format(file=file))
    file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    _remove(part)


def _remove(part: Path) -> None:
    for suffix in ("", "-wal", "-shm", "-journal", ".lock"):
        Path(f"{part}{suffix}").unlink(missing_ok=True)


def _discard(part: Path) -> None:
    """Remove what an attempt has left. Where nothing can be removed, nothing could be written, which is reported."""
    with suppress(OSError):
        _remove(part)


def new_file(part: Path) -> int:
    """Return the descriptor of a new file that only its owner reads. What somebody put there meanwhile, such as a link
    in a folder that others share, is not written to.
    """
    return os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)


def _size(file: Path) -> int:
    return file.stat().st_size if file.exists() else 0


def _copy_file(file: Path, part: Path, tell: ReportProgress) -> None:
    of, done = file.stat().st_size, 0
    _remove(part)
    with file.open("rb") as source, os.fdopen(new_file(part), "wb") as target:
        while block := source.read(BLOCK_BYTES):
            target.write(block)
            tell("copying", done := done + len(block), of)


def _fsync(path: Path) -> None:
    """Sync a file, or the names in a folder, to the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _translate(error: OSError | sqlite3.Error, file: Path) -> StoreError:
    if isinstance(error, sqlite3.Error):
        return store_error(error, file)
    if error.errno == errno.ENOSPC:
        return StoreError(texts.SQLITE_FAULTS["SQLITE_FULL"].format(path=file))
    return StoreError(texts.BACKUP_UNWRITABLE.format(file=file, reason=unwritable_reason(error, file)))


def _drop_made(connection: Connection) -> None:
    connection.execute(delete(meta).where(meta.c.name == MADE))


def _holding(connection: Connection) -> Holding:
    counts = {
        kind: connection.execute(select(func.count()).select_from(table)).scalar_one()
        for kind, table in _COUNTED.items()
        if connection.dialect.has_table(connection, table.name)  # an earlier version may have none
    }
    made = connection.execute(select(meta.c.value).where(meta.c.name == MADE)).scalar_one_or_none()
    return Holding(version(connection) or "", counts, None if made is None else datetime.fromisoformat(made.decode()))
