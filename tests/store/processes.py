"""Other processes: one that looks into files, one that runs a script until it is killed."""

import asyncio
import os
import sys
from asyncio.subprocess import PIPE
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

from tests.fakes.ready_process import ROOT, ReadyProcess
from tests.patience import PATIENCE_S

STDERR = 2
ENVIRONMENT = {"PATH": os.defpath, "LANG": "C.UTF-8", "PYTHONPATH": str(ROOT)}

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
    """What a Python script prints, in an interpreter that has imported nothing yet. It has to succeed."""
    process = await asyncio.create_subprocess_exec(sys.executable, "-c", script, *arguments, stdout=PIPE)
    try:
        async with asyncio.timeout(PATIENCE_S):
            printed, _ = await process.communicate()
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    assert process.returncode == 0
    return printed.decode()


@asynccontextmanager
async def running(script: str, *arguments: str) -> AsyncGenerator[asyncio.StreamReader]:
    """What a Python script prints, which may wait for its standard input; killed (SIGKILL) at the end."""
    printed = asyncio.StreamReader()
    (given, giving), (source, sink) = os.pipe(), os.pipe()
    with os.fdopen(giving, "wb"):
        protocol = asyncio.StreamReaderProtocol(printed)
        reading, _ = await asyncio.get_running_loop().connect_read_pipe(lambda: protocol, os.fdopen(source, "rb"))
        with os.fdopen(given, "rb"), os.fdopen(sink, "wb"):
            process = await asyncio.to_thread(ReadyProcess, script, (given, sink, STDERR), ENVIRONMENT, ROOT, arguments)
        try:
            yield printed
        finally:
            process.kill()
            reading.close()
            await asyncio.to_thread(process.wait, PATIENCE_S)


async def line(printed: asyncio.StreamReader) -> str:
    """The next line that the process prints."""
    async with asyncio.timeout(PATIENCE_S):
        return (await printed.readline()).decode().strip()
