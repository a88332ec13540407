"""The functions that one mention in Slack enters before its answer is stored, in a real `cogency run`.

It runs on the tests' Slack and SQLite, with the rehearsal as its model. Functions of `agent/providers` are left out, as
they differ from vendor to vendor. Only functions that are entered in each of several runs count; the process's own work
meanwhile (pings, sweeps) does not.
"""

import asyncio
import json
import os
import signal
import sys
import tempfile
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from agent.machine import CLOCK
from agent.providers.rehearsal import NOTICE
from benchmarks.house_code import ROOT, Call
from tests.fakes.slack import FakeSlack
from tests.fakes.slack_things import APP_TOKEN, BOT_TOKEN, BOT_USER

LEFT_OUT: Final = "agent/providers/"
PLATFORMS: Final = "bot/platforms/"
HELLO: Final = "Hello zanzibar"  # A word that no SQL statement has by chance
# The beginning of what ends the answer: the command behind it depends on how the process was started.
ANSWER: Final = NOTICE.partition("`")[0].lstrip("*(")
PATIENCE_S: Final = 60.0
QUIET_S: Final = 1.0  # The start is over when Slack has had no request for this time


@dataclass(frozen=True, slots=True)
class MentionPath:
    """`functions`: each function that was entered, once, in order. `chain`: the calls from the event to the row; the
    last `in_thread` of them are on the database's thread.
    """

    functions: list[Call]
    chain: list[Call]
    in_thread: int

    @property
    def files(self) -> list[str]:
        """The files, in the order in which they are entered."""
        return list(dict.fromkeys(call.file for call in self.functions))

    @property
    def core_to_thread(self) -> list[Call]:
        """The calls of the chain that are neither the platform's nor on the database's thread."""
        in_loop = self.chain[: len(self.chain) - self.in_thread]
        start = max((n for n, call in enumerate(in_loop, 1) if call.file.startswith(PLATFORMS)), default=0)
        return in_loop[start:]


async def mention_path(runs: int) -> MentionPath:
    """Trace a mention in `runs` processes, one after the other, each with a new database.

    Raises TimeoutError if one does not answer, and RuntimeError if it ends before that.
    """
    paths: list[MentionPath] = []
    for _ in range(runs):
        with tempfile.TemporaryDirectory() as folder:
            paths.append(await _one_run(Path(folder)))
    first, *others = paths
    entered = [call for call in first.functions if all(call in other.functions for other in others)]
    return replace(first, functions=entered)


async def _one_run(folder: Path) -> MentionPath:
    result = folder / "path.json"
    async with asyncio.timeout(PATIENCE_S), FakeSlack(CLOCK) as slack, _watched(slack, folder, result) as process:
        person, channel = slack.state.user("ann"), slack.state.channel("general")
        await _started(slack)
        process.send_signal(signal.SIGUSR1)
        await _told(process, "watching")
        await slack.say(person, channel, f"<@{BOT_USER}> {HELLO}")
        await _told(process, "done")
    found = json.loads(result.read_text(encoding="utf-8"))
    functions, chain = ([Call(**call) for call in found[key]] for key in ("functions", "chain"))
    entered = [call for call in functions if not call.file.startswith(LEFT_OUT)]
    return MentionPath(entered, chain, found["in_thread"])


@asynccontextmanager
async def _watched(slack: FakeSlack, folder: Path, result: Path) -> AsyncGenerator[Process, None]:
    environment = {
        "PATH": os.defpath,
        "HOME": str(folder),
        "LANG": "C.UTF-8",
        "PYTHONPATH": str(ROOT),
        "COGENCY_MODEL": "rehearsal",
        "COGENCY_LOG_LEVEL": "warning",
        "COGENCY_DATABASE_URL": f"sqlite:///{folder / 'bot.db'}",
        "SLACK_BOT_TOKEN": BOT_TOKEN,
        "SLACK_APP_TOKEN": APP_TOKEN,
        "SLACK_API_BASE_URL": slack.url,
    }
    module = [sys.executable, "-m", "benchmarks.mention_tracer", HELLO, ANSWER, str(result)]
    process = await asyncio.create_subprocess_exec(*module, cwd=folder, env=environment, stdout=PIPE)
    try:
        yield process
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()


async def _started(slack: FakeSlack) -> None:
    calls = -1
    while not slack.sockets or calls != len(slack.state.calls):
        calls = len(slack.state.calls)
        await asyncio.sleep(QUIET_S)


async def _told(process: Process, word: str) -> None:
    """Wait until the process prints `word`. Raises RuntimeError if it ends before."""
    while process.stdout is not None and (line := await process.stdout.readline()):
        if line.decode().strip() == word:
            return
    raise RuntimeError(f"the bot ended before it was {word}")
