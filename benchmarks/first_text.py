"""The time until the first text of an answer shows in Slack and on Discord, and the memory of the idle bot.

slack_first_text_ms    from sending a mention's event to the first text of its answer at Slack; the median of several
                       mentions in different threads, after one that is not counted
discord_first_text_ms  the same on Discord; it includes the start of the answer's thread
rss_mb                 resident memory of `cogency run`, connected to both and idle, in MB of 1,000,000 bytes

Everything is on loopback: the process is the real one; Slack, Discord and a model that answers at once are the tests'.

Baseline, in the same run: `benchmarks.minimal_bot`, a minimal bot on the same libraries, against the same servers; and
the memory of a Python that only imports these libraries.
"""

import asyncio
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from agent.machine import CLOCK
from benchmarks.report import print_report, read_options
from tests.fakes.discord_gateway import FakeDiscord, running_discord
from tests.fakes.discord_requests import TOKEN
from tests.fakes.discord_world import ANN, BOT
from tests.fakes.model_server import DONE, ModelServer, head, text
from tests.fakes.slack import FakeSlack
from tests.fakes.slack_things import APP_TOKEN, BOT_TOKEN, BOT_USER

ROOT = Path(__file__).parents[1]
PATIENCE_S = 30.0
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


@dataclass(slots=True)
class Town:
    """Run both platforms and a model."""

    slack: FakeSlack
    discord: FakeDiscord
    model: ModelServer

    def environment(self, folder: Path) -> dict[str, str]:
        return {
            "PATH": os.defpath,
            "HOME": str(folder),
            "LANG": "C.UTF-8",
            "PYTHONPATH": str(ROOT),
            "COGENCY_DATABASE_URL": f"sqlite:///{folder / 'bot.db'}",
            "COGENCY_MODEL": "openai:m-1",
            "OPENAI_BASE_URL": self.model.url,
            "SLACK_BOT_TOKEN": BOT_TOKEN,
            "SLACK_APP_TOKEN": APP_TOKEN,
            "SLACK_API_BASE_URL": self.slack.url,
            "DISCORD_TOKEN": TOKEN,
            "DISCORD_API_BASE_URL": self.discord.api_base_url,
            "DISCORD_GATEWAY_URL": self.discord.gateway_url,
        }

    def connected(self) -> bool:
        return bool(self.slack.sockets and self.discord.identified)

    async def slack_ms(self, person: str, channel: str) -> float:
        asked = await self.slack.say(person, channel, f"<@{BOT_USER}> where is my boat?")
        await until(lambda: self.slack.state.answers(channel, asked.ts))
        return 1000 * (self.slack.state.answers(channel, asked.ts)[0].versions[0][0] - asked.versions[0][0])

    async def discord_ms(self) -> float:
        began = CLOCK.monotonic()
        asked = await self.discord.say(ANN, f"<@{BOT}> where is my boat?")
        path = f"/channels/{asked['id']}/messages"

        def posts() -> list[float]:
            return [call.time for call in self.discord.calls if (call.method, call.path) == ("POST", path)]

        await until(posts)
        return 1000 * (posts()[0] - began)


async def until(happened: Callable[[], object]) -> None:
    """Wait until `happened`. The measured times come from the servers, so polling does not affect them."""
    async with asyncio.timeout(PATIENCE_S):
        while not happened():  # noqa: ASYNC110 -- it happens in another process
            await asyncio.sleep(0.02)


@asynccontextmanager
async def town(answers: int) -> AsyncGenerator[Town, None]:
    answer = [head(), text("The boat lies in the harbour."), DONE]
    async with (
        FakeSlack(CLOCK) as slack,
        running_discord(CLOCK) as discord,
        ModelServer([answer] * answers) as model,
    ):
        yield Town(slack, discord, model)


async def measured(command: Sequence[str], rounds: int) -> Measured:
    """Run one process."""
    with tempfile.TemporaryDirectory() as name:
        async with town(2 * rounds + 2) as servers:
            process = await asyncio.create_subprocess_exec(
                sys.executable, *command, cwd=name, env=servers.environment(Path(name)), stderr=subprocess.DEVNULL
            )
            try:
                await until(servers.connected)
                await asyncio.sleep(IDLE_S)
                rss = rss_mb(process.pid)
                slack, discord = await _first_texts(servers, rounds)
            finally:
                process.kill()
                await process.wait()
    return Measured(statistics.median(slack), statistics.median(discord), rss)


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
    ours = asyncio.run(measured(["-m", "bot", "run"], rounds))
    least = asyncio.run(measured(["-m", "benchmarks.minimal_bot"], rounds))
    imports_mb = imports_rss_mb()
    print_report(
        "first_text",
        {"slack_first_text_ms": ours.slack_ms, "discord_first_text_ms": ours.discord_ms, "rss_mb": ours.rss_mb},
        {
            "minimal_slack_ms": least.slack_ms,
            "minimal_discord_ms": least.discord_ms,
            "minimal_rss_mb": least.rss_mb,
            "imports_rss_mb": imports_mb,
            "slack_over_minimal": ours.slack_ms / least.slack_ms,
            "discord_over_minimal": ours.discord_ms / least.discord_ms,
            "rss_over_minimal": ours.rss_mb / least.rss_mb,
            "rss_over_imports": ours.rss_mb / imports_mb,
        },
        options,
    )


if __name__ == "__main__":
    main()
