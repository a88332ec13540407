"""The time until the first text of an answer shows in Slack and on Discord, the memory of the idle bot, and what a
question costs.

slack_first_text_ms    from sending a mention's event to the first text of its answer at Slack; the median of several
                       mentions in different threads, after one that is not counted
discord_first_text_ms  the same on Discord; it includes the start of the answer's thread
rss_mb                 resident memory of `cogency run`, connected to both and idle, in MB of 1,000,000 bytes; its start
                       created the database, for which it loaded Alembic
restarted_rss_mb       the same where the database exists
cpu_ms_per_question, …_postgresql  processor time of the bot for a question (`benchmarks.question_cost`); on PostgreSQL
                       server_cpu_ms_per_question_postgresql is that of the server
statements_per_question, …_postgresql  statements of SQL for a question, without those that begin and end transactions
bytes_written_per_question, …_postgresql  to the files of SQLite, and to the log of PostgreSQL
idle_cpu_ms_per_s, …_postgresql  processor time of the idle bot in a second

Everything is on loopback: the process is the real one; Slack, Discord and a model that answers at once are the tests'.

Baseline, in the same run: `benchmarks.minimal_bot`, a minimal bot on the same libraries, against the same servers; and
the memory of a Python that only imports these libraries.
"""

import asyncio
import statistics
import subprocess
import sys
import tempfile
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from benchmarks.first_text_town import START_S, Town, town, until
from benchmarks.question_cost import BOT, MINIMAL, costs
from benchmarks.report import print_report, read_options

IDLE_S = 1.5  # For the remaining work of a start
ROUNDS = 15  # With the one before them, fewer than the bot accepts from one person in a minute (20)
# Between two mentions: Slack accepts one message a second in a channel, Discord five threads in five seconds. The bot
# is measured, not its wait for these limits.
BETWEEN_S = 1.2
LIBRARIES = "import sys, slack_bolt.async_app, discord; print(flush=True); sys.stdin.read()"


@dataclass(frozen=True, slots=True)
class Measured:
    slack_ms: float
    discord_ms: float
    rss_mb: float


async def measured(command: Sequence[str], rounds: int) -> Measured:
    """Run one process."""
    with tempfile.TemporaryDirectory() as name:
        async with town() as servers, _idle(command, servers, Path(name)) as process:
            rss = rss_mb(process.pid)
            slack, discord = await _first_texts(servers, rounds)
    return Measured(statistics.median(slack), statistics.median(discord), rss)


async def restarted_rss_mb(command: Sequence[str]) -> float:
    rss = 0.0
    with tempfile.TemporaryDirectory() as name:
        for _ in range(2):
            async with town() as servers, _idle(command, servers, Path(name)) as process:
                rss = rss_mb(process.pid)
    return rss


@asynccontextmanager
async def _idle(command: Sequence[str], servers: Town, folder: Path) -> AsyncGenerator[asyncio.subprocess.Process]:
    process = await asyncio.create_subprocess_exec(
        sys.executable, *command, cwd=folder, env=servers.environment(folder), stderr=subprocess.DEVNULL
    )
    try:
        await until(servers.connected, START_S)
        await asyncio.sleep(IDLE_S)
        yield process
    finally:
        process.kill()
        await process.wait()


async def _first_texts(servers: Town, rounds: int) -> tuple[list[float], list[float]]:
    person, channel = servers.slack.state.user("ann"), servers.slack.state.channel("general")
    slack: list[float] = []
    discord: list[float] = []
    for _ in range(rounds + 1):
        slack.append(await servers.slack_ms(person, channel))
        discord.append(await servers.discord_ms())
        await asyncio.sleep(BETWEEN_S)
    return slack[1:], discord[1:]


def rss_mb(process: int) -> float:
    """The kernel counts in units of 1,024 bytes."""
    lines = Path(f"/proc/{process}/status").read_text().splitlines()
    (line,) = (line for line in lines if line.startswith("VmRSS:"))
    return int(line.split()[1]) * 1024 / 1_000_000


def imports_rss_mb() -> float:
    with subprocess.Popen([sys.executable, "-c", LIBRARIES], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        if process.stdout is None or not process.stdout.readline():
            raise ChildProcessError("the libraries cannot be imported")
        return rss_mb(process.pid)


def main() -> None:
    options = read_options("How soon the first text of an answer shows.")
    rounds = 5 if options.quick else ROUNDS
    ours = asyncio.run(measured(BOT, rounds))
    least = asyncio.run(measured(MINIMAL, rounds))
    restarted_mb, imports_mb = asyncio.run(restarted_rss_mb(BOT)), imports_rss_mb()
    metrics, baseline = costs(quick=options.quick)
    print_report(
        "first_text",
        {
            "slack_first_text_ms": ours.slack_ms,
            "discord_first_text_ms": ours.discord_ms,
            "rss_mb": ours.rss_mb,
            "restarted_rss_mb": restarted_mb,
            **metrics,
        },
        {
            "minimal_slack_ms": least.slack_ms,
            "minimal_discord_ms": least.discord_ms,
            "minimal_rss_mb": least.rss_mb,
            "imports_rss_mb": imports_mb,
            "slack_over_minimal": ours.slack_ms / least.slack_ms,
            "discord_over_minimal": ours.discord_ms / least.discord_ms,
            "rss_over_minimal": ours.rss_mb / least.rss_mb,
            "rss_over_imports": ours.rss_mb / imports_mb,
            **baseline,
        },
        options,
    )


if __name__ == "__main__":
    main()
