"""Questions a second with one, two and four processes on one PostgreSQL, for `benchmarks.scale`.

The processes are the real `cogency run`; Slack, Discord and the model are those of `benchmarks.chaos`, in the measuring
process, and each answer comes at once. All questions are asked within moments, so that the processes always have work.
No process is killed.
"""

import asyncio
import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import IO, Final

from agent.machine import CLOCK
from benchmarks.chaos_model import Kind
from benchmarks.chaos_processes import Replica, replicas
from benchmarks.chaos_town import judge, town
from tests.fakes.postgresql import PostgresServer

TICK: Final = os.sysconf("SC_CLK_TCK")
LOOK_S: Final = 0.1
START_S: Final = 60.0
PATIENCE_S: Final = 120.0
ASKING_S: Final = 2.0
CONVERSATIONS: Final = 60
# Questions of each conversation before the measurement: a process loads modules for its first answers, and each of its
# connections prepares its statements, once; that is no cost of a question.
WARM_UP: Final = 4


@dataclass(frozen=True, slots=True)
class Throughput:
    """`bot_ms`, `database_ms`: processor time for each question, in all processes together."""

    processes: int
    per_second: float
    bot_ms: float
    database_ms: float
    connections: int

    @property
    def cpu_ms(self) -> float:
        return self.bot_ms + self.database_ms


@dataclass(slots=True)
class _Launched:
    """Starts processes, and records their ids."""

    pids: list[int] = field(default_factory=list[int])

    async def launch(self, folder: Path, environment: Mapping[str, str], log: IO[bytes]) -> Replica:
        command = (sys.executable, "-m", "bot", "run")
        process = await asyncio.create_subprocess_exec(*command, cwd=folder, env=dict(environment), stderr=log)
        self.pids.append(process.pid)
        return process


async def throughput(server: PostgresServer, processes: int, questions: int) -> Throughput:
    launched, known = _Launched(), CONVERSATIONS * WARM_UP
    with TemporaryDirectory() as name:
        async with server.database() as url, town(CONVERSATIONS, known + questions, Random(1)) as place:
            place.model.kinds.update(dict.fromkeys(place.model.kinds, Kind.AT_ONCE))
            environment = {**place.environment(), "HOME": name, "COGENCY_DATABASE_URL": url}
            async with replicas(processes, environment, Path(name), launched.launch) as running:
                await _until(lambda: place.connected(processes), START_S, running.logs)
                await place.become_known()
                await place.ask_everything(ASKING_S, WARM_UP)
                await _until(lambda: judge(place, ()).replies == known, PATIENCE_S, running.logs)
                postmaster = _postmaster(server)
                bots, database = sum(map(_ticks, launched.pids)), _family(postmaster)
                begun = CLOCK.monotonic()
                asking = asyncio.ensure_future(place.ask_everything(ASKING_S))
                await _until(lambda: judge(place, ()).replies == known + questions, PATIENCE_S, running.logs)
                took = CLOCK.monotonic() - begun
                await asking
                connections = len(_children(postmaster))
                bots = sum(map(_ticks, launched.pids)) - bots
                database = _family(postmaster) - database
    each = 1000 / TICK / questions
    return Throughput(processes, questions / took, each * bots, each * database, connections)


async def _until(done: Callable[[], bool], within_s: float, logs: Callable[[], list[str]]) -> None:
    try:
        async with asyncio.timeout(within_s):
            while not done():  # noqa: ASYNC110 -- it happens in other processes
                await asyncio.sleep(LOOK_S)
    except TimeoutError:
        raise RuntimeError("\n".join(["the processes do not get there", *logs()])) from None


def _stat(pid: int) -> list[str]:
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()


def _ticks(pid: int) -> int:
    """Return the processor time of a process."""
    return sum(map(int, _stat(pid)[11:13]))


def _children(pid: int) -> list[int]:
    return [int(one) for one in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def _family(pid: int) -> int:
    """Return the processor time of a server and all processes that it has started, ended ones too."""
    return sum(map(int, _stat(pid)[11:15])) + sum(map(_ticks, _children(pid)))


def _postmaster(server: PostgresServer) -> int:
    return int((server.data / "postmaster.pid").read_text().splitlines()[0])
