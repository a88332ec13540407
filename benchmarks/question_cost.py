"""What a question costs: processor time, statements of SQL and bytes written, for `benchmarks.first_text`.

The processes and their servers are those of `benchmarks.first_text`, but with wide limits. In each round, people ask in
eight channels of each platform at once, and the next round begins when all are answered. Two things are not counted:
the first rounds, in which a process loads modules and its connections prepare their statements; and what the idle
process uses in the same time, which is measured before. Processor time is that of the processes, not of the clock. Yet
on a busy machine it varies by tens of percent from run to run: compare only what one run measured.
"""

import asyncio
import os
import subprocess
import sys
import tempfile
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from agent.machine import CLOCK
from benchmarks.first_text_town import START_S, Town, town, until
from tests.fakes.discord_world import ANN, BO, CY
from tests.fakes.postgresql import PostgresServer, running_postgres

CHANNELS: Final = 8
WARM_UP: Final = 3
ROUNDS: Final = 12
QUICK_ROUNDS: Final = 4
IDLE_S: Final = 3.0
CALM_S: Final = 1.0  # After the last answer: for what a question still causes in the background
BETWEEN_S: Final = 1.2  # Slack takes one message a second in a channel
WIDE: Final = 1_000  # What the limits of the platforms allow, in place of a few a minute
BOT: Final = ("-m", "bot", "run")
MINIMAL: Final = ("-m", "benchmarks.minimal_bot")
# A few people ask more often here than people do.
_UNLIMITED: Final = ("PERSON_PER_MINUTE", "PERSON_PER_HOUR", "CHANNEL_PER_MINUTE", "PERSON_RUNNING", "BACKLOG")
_TICK_MS: Final = 1000 / os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True, slots=True)
class Used:
    """Of a bot and its database: processor time of each, bytes that the one writes which holds the data, statements."""

    time_s: float
    bot_ms: float
    database_ms: float
    bytes_written: float
    statements: float

    def __sub__(self, other: "Used") -> "Used":
        return Used(
            self.time_s - other.time_s,
            self.bot_ms - other.bot_ms,
            self.database_ms - other.database_ms,
            self.bytes_written - other.bytes_written,
            self.statements - other.statements,
        )

    def times(self, factor: float) -> "Used":
        return Used(
            self.time_s * factor,
            self.bot_ms * factor,
            self.database_ms * factor,
            self.bytes_written * factor,
            self.statements * factor,
        )


@dataclass(frozen=True, slots=True)
class Cost:
    """`question`: what each question uses beyond the idle bot; `idle`: what that uses in a second."""

    question: Used
    idle: Used


async def cost(command: Sequence[str], rounds: int, server: PostgresServer | None = None) -> Cost:
    """Run a bot on SQLite, or on a new database of `server`. Statements are 0; see `statements`."""
    if server is None:
        return await _cost(lambda _: command, rounds)
    async with server.database() as url:
        return await _cost(lambda _: command, rounds, url, server)


def costs(*, quick: bool) -> tuple[Mapping[str, float], Mapping[str, float]]:
    """Return what a question costs the bot on each engine, and what it costs a minimal bot."""
    rounds = QUICK_ROUNDS if quick else ROUNDS
    minimal = asyncio.run(cost(MINIMAL, rounds))
    sqlite, ran = asyncio.run(cost(BOT, rounds)), asyncio.run(statements())
    metrics = {
        "cpu_ms_per_question": sqlite.question.bot_ms,
        "statements_per_question": ran,
        "bytes_written_per_question": sqlite.question.bytes_written,
        "idle_cpu_ms_per_s": sqlite.idle.bot_ms,
    }
    with running_postgres("fsync=on", "full_page_writes=on", "autovacuum=on") as server:
        shared, ran = asyncio.run(cost(BOT, rounds, server)), asyncio.run(statements(server))
    metrics |= {
        "cpu_ms_per_question_postgresql": shared.question.bot_ms,
        "server_cpu_ms_per_question_postgresql": shared.question.database_ms,
        "statements_per_question_postgresql": ran,
        "bytes_written_per_question_postgresql": shared.question.bytes_written,
        "idle_cpu_ms_per_s_postgresql": shared.idle.bot_ms,
    }
    return metrics, {"minimal_cpu_ms_per_question": minimal.question.bot_ms}


async def statements(server: PostgresServer | None = None) -> float:
    """Return how many statements of SQL a question takes. Counting them takes time, so this is a run of its own."""

    def command(count: Path) -> Sequence[str]:
        return ("-m", "benchmarks.counting_bot", str(count))

    if server is None:
        return (await _cost(command, WARM_UP)).question.statements
    async with server.database() as url:
        return (await _cost(command, WARM_UP, url, server)).question.statements


async def _cost(
    command: Callable[[Path], Sequence[str]], rounds: int, url: str = "", server: PostgresServer | None = None
) -> Cost:
    """`command`: by the file for the number of statements."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        count = folder / "statements"
        async with town() as servers:
            _widen(servers)
            environment = servers.environment(folder) | {f"COGENCY_{limit}": "0" for limit in _UNLIMITED}
            environment |= {"COGENCY_EMBEDDINGS": "off"}  # an extra, which embeds each message in the background
            environment |= {"COGENCY_DATABASE_URL": url} if url else {}
            asking = _Asking(servers)  # its channels are there before the bot, which learns of them as it connects
            process = await asyncio.create_subprocess_exec(
                sys.executable, *command(count), cwd=name, env=environment, stderr=subprocess.DEVNULL
            )

            async def used() -> Used:
                wrote = await _logged_bytes(server) if server else _written_bytes(process.pid)
                ran = float(count.read_text()) if count.exists() else 0.0
                return Used(CLOCK.monotonic(), _ms(process.pid), _family_ms(server) if server else 0.0, wrote, ran)

            try:
                await until(servers.connected, START_S)
                return await _measured(asking, rounds, used)
            finally:
                process.kill()
                await process.wait()


async def _measured(asking: "_Asking", rounds: int, used: Callable[[], Awaitable[Used]]) -> Cost:
    await asking.rounds(WARM_UP)
    await asyncio.sleep(CALM_S)
    began = await used()
    await asyncio.sleep(IDLE_S)
    rested = await used()
    await asking.rounds(rounds)
    await asyncio.sleep(CALM_S)
    whole, idle = await used() - rested, rested - began
    idle = idle.times(1 / idle.time_s)
    return Cost((whole - idle.times(whole.time_s)).times(1 / (rounds * asking.in_round)), idle)


class _Asking:
    def __init__(self, servers: Town) -> None:
        self._servers = servers
        slack, discord = servers.slack.state, servers.discord.world
        self._slack = [(slack.user(f"p{n}"), slack.channel(f"c{n}")) for n in range(CHANNELS)]
        people = (ANN, BO, CY)
        self._discord = [
            (people[n % len(people)], discord.open_channel(f"{1000 + n}", f"pier-{n}")["id"]) for n in range(CHANNELS)
        ]

    @property
    def in_round(self) -> int:
        return len(self._slack) + len(self._discord)

    async def rounds(self, number: int) -> None:
        for _ in range(number):
            await asyncio.gather(
                *(self._servers.slack_ms(*one) for one in self._slack),
                *(self._servers.discord_ms(*one) for one in self._discord),
            )
            await asyncio.sleep(BETWEEN_S)


def _widen(servers: Town) -> None:
    slack = servers.slack.state
    slack.per_minute = dict.fromkeys(slack.per_minute, WIDE)
    servers.discord.rest.rates[""] = WIDE, 1.0


def _ticks(pid: int) -> list[int]:
    """Return the processor time of a process, of user and system; then that of its ended children."""
    return [int(ticks) for ticks in Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[11:15]]


def _ms(pid: int) -> float:
    return _TICK_MS * sum(_ticks(pid))


def _family_ms(server: PostgresServer) -> float:
    """Return the processor time of a server and of all processes that it has started."""
    postmaster = int((server.data / "postmaster.pid").read_text().splitlines()[0])
    ms = 0.0
    for child in Path(f"/proc/{postmaster}/task/{postmaster}/children").read_text().split():
        with suppress(FileNotFoundError):  # it has just ended
            ms += _TICK_MS * sum(_ticks(int(child))[:2])
    return ms + _ms(postmaster)


def _written_bytes(pid: int) -> float:
    """Return how many bytes a process has caused to be written to disks."""
    (line,) = (line for line in Path(f"/proc/{pid}/io").read_text().splitlines() if line.startswith("write_bytes"))
    return float(line.split()[1])


async def _logged_bytes(server: PostgresServer) -> float:
    """Return how many bytes a server has written to its log."""
    return float(str(await server.value("SELECT pg_current_wal_insert_lsn() - '0/0'", database="postgres")))
