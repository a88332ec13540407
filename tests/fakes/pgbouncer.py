"""A real PgBouncer for tests, in front of a PostgreSQL."""

import asyncio
import os
import re
import shutil
import subprocess
from asyncio.subprocess import DEVNULL
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from functools import cache
from pathlib import Path
from tempfile import mkdtemp
from typing import Final

from tests.fakes.debian_programs import debian_program
from tests.fakes.postgresql import OWNER, PASSWORD, PostgresServer
from tests.patience import PATIENCE_S

SOCKET: Final = ".s.PGSQL.6432"
_CONFIGURATION: Final = """
[databases]
* = host={server}

[pgbouncer]
listen_addr =
unix_socket_dir = {folder}
auth_type = scram-sha-256
auth_file = {folder}/users
pool_mode = {mode}
default_pool_size = {size}
max_client_conn = 200
logfile = {folder}/log
"""
_KEEPS: Final = "max_prepared_statements = {prepared}\n"
KEEPS_SINCE: Final = (1, 21)


def pgbouncer() -> tuple[Path, str]:
    """Return the program, and the folder of its libraries."""
    return debian_program("pgbouncer", "usr/sbin/pgbouncer")


@cache
def keeps_statements() -> bool:
    """Return whether it supports prepared statements: Debian's of 2023 does not, Ubuntu's of 2024 and later does."""
    program, libraries = pgbouncer()
    output = subprocess.check_output([program, "--version"], env={"LD_LIBRARY_PATH": libraries}, timeout=PATIENCE_S)  # noqa: S603 -- our own command
    found = re.search(rb"PgBouncer (\d+)\.(\d+)", output)
    assert found is not None, output
    return (int(found[1]), int(found[2])) >= KEEPS_SINCE


@asynccontextmanager
async def running_pgbouncer(
    server: PostgresServer, *, mode: str = "transaction", size: int = 6, prepared: int = 200
) -> AsyncGenerator[Path]:
    """Return the folder with the socket of a PgBouncer in front of this server; it is stopped at the end. `prepared`:
    how many statements it keeps for each connection, if it can.
    """
    program, libraries = await asyncio.to_thread(pgbouncer)
    keeps = await asyncio.to_thread(keeps_statements)
    folder = Path(mkdtemp(prefix="bouncer-", dir=server.folder))
    (folder / "users").write_text(f'"{OWNER}" "{PASSWORD}"\n')
    settings = folder / "settings"
    written = _CONFIGURATION.format(server=server.folder, folder=folder, mode=mode, size=size)
    settings.write_text(written + (_KEEPS.format(prepared=prepared) if keeps else ""))
    command = [str(program), str(settings)]
    if os.geteuid() == 0:
        for path in (folder, folder / "users", settings):
            shutil.chown(path, "nobody")
        command += ["-u", "nobody"]
    process = await asyncio.create_subprocess_exec(
        *command, env={"LD_LIBRARY_PATH": libraries}, stdout=DEVNULL, stderr=DEVNULL
    )
    try:
        async with asyncio.timeout(PATIENCE_S):
            while not await _listens(folder / SOCKET):
                assert process.returncode is None, (folder / "log").read_text()
                await asyncio.sleep(0.02)
        yield folder
    finally:
        process.kill()
        await process.wait()


async def _listens(socket: Path) -> bool:
    """Return whether it accepts connections: that its socket exists is not enough, since it refuses clients for a
    moment.
    """
    try:
        _, connection = await asyncio.open_unix_connection(socket)
    except (FileNotFoundError, ConnectionRefusedError):
        return False
    connection.close()
    await connection.wait_closed()
    return True


def through(folder: Path, url: str) -> str:
    """Return the URL of a database, through the PgBouncer of that folder."""
    return f"{url.partition('?')[0]}?host={folder}&port=6432"
