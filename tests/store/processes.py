"""Other processes: one that looks into files, one that runs a script until it is killed."""

import asyncio
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

from tests.patience import PATIENCE_S

# To close a database file in this process would drop the locks of the open store; so another one reads it.
_COUNT = """
import pathlib, sys
held = b"".join(path.read_bytes() for path in pathlib.Path(sys.argv[1]).iterdir())
print(sum(piece.encode() in held for piece in sys.argv[2:]))
"""


async def pieces_in_files(folder: Path, pieces: list[str]) -> int:
    """How many of the pieces stand somewhere in the files of a folder."""
    return int(await output(_COUNT, str(folder), *pieces))


async def output(script: str, *arguments: str) -> str:
    """What a Python script prints. It has to succeed."""
    async with running(script, *arguments) as process, asyncio.timeout(PATIENCE_S):
        printed, _ = await process.communicate()
        assert process.returncode == 0
        return printed.decode()


@asynccontextmanager
async def running(script: str, *arguments: str) -> AsyncGenerator[Process]:
    """A Python process with its standard input and output; killed (SIGKILL) at the end, if it still runs."""
    process = await asyncio.create_subprocess_exec(sys.executable, "-c", script, *arguments, stdin=PIPE, stdout=PIPE)
    try:
        yield process
    finally:
        if process.returncode is None:
            process.kill()
        async with asyncio.timeout(PATIENCE_S):
            await process.communicate()


async def line(process: Process) -> str:
    """The next line that the process prints."""
    assert process.stdout is not None
    async with asyncio.timeout(PATIENCE_S):
        return (await process.stdout.readline()).decode().strip()
