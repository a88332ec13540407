"""Programs that try to leave the sandbox: none gets what it wants, and none takes the bot along."""

import asyncio
import os
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from bot.python.engine import RunEnded, RunFile
from bot.python.sandbox import Sandbox
from tests.sandbox import attempts
from tests.sandbox.attempts import GOT, SECRET, Attempt

GIVEN = RunFile("sales.csv", b"month,sum\njuly,3\n")


@asynccontextmanager
async def listener() -> AsyncGenerator[tuple[int, list[bytes]]]:
    """A server of the host; yields its port, and what it was sent."""
    got = list[bytes]()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        got.append(await reader.read(100))
        writer.close()

    async with await asyncio.start_server(serve, "127.0.0.1", 0) as server:
        yield server.sockets[0].getsockname()[1], got


@pytest.mark.parametrize(
    "wanted",
    [
        attempts.HOST_FILES,
        attempts.WRITES,
        attempts.ENVIRONMENT,
        attempts.NETWORK,
        attempts.PROCESSES,
        attempts.NEIGHBORS,
    ],
    ids=["host files", "writes", "environment", "network", "processes", "neighbors"],
)
async def test_no_attempt_gets_what_it_wants(
    sandbox: Sandbox, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, wanted: Sequence[Attempt]
) -> None:
    monkeypatch.setenv("COGENCY_SECRET", SECRET)
    (tmp_path / "secret.txt").write_text(SECRET, encoding="utf-8")
    async with listener() as (port, got):

        async def run(number: int, attempt: Attempt) -> RunEnded:
            code = attempt.code.replace("{host}", str(tmp_path)).replace("{port}", str(port))
            return await sandbox.run(code, [GIVEN], f"person {number % 2}")

        ended = await asyncio.gather(*(run(number, attempt) for number, attempt in enumerate(wanted)))
    shown = [(attempt.name, one.output[:200]) for attempt, one in zip(wanted, ended, strict=True)]
    assert [name for name, output in shown if GOT in output or SECRET in output] == []
    assert [name for (name, _), one in zip(shown, ended, strict=True) if one.limit is not None] == []
    assert got == []
    assert await asyncio.to_thread(os.listdir, tmp_path) == ["secret.txt"]


def test_there_are_at_least_sixty_attempts_each_of_its_own_name() -> None:
    names = [attempt.name for attempt in attempts.ALL]
    assert len({*names}) == len(names) >= 60
