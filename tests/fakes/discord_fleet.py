"""Several processes of the bot on one PostgreSQL, which share Discord's connections."""

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from agent.machine import CLOCK
from tests.fakes.discord_gateway import FakeDiscord, running_discord
from tests.fakes.discord_world import ANN, BOT, GENERAL
from tests.fakes.model_server import DONE, ModelServer, Reply, Request, head, text
from tests.fakes.ready_process import ReadyService
from tests.flows.test_discord_missed import open_the_quay
from tests.flows.test_service import on_discord, service
from tests.patience import PATIENCE_S

TAKEOVER_S = 15.0
LANDING = "60"  # A channel of the second server, which belongs to the second shard


@dataclass
class Fleet:
    """Processes on one database."""

    discord: FakeDiscord
    folder: Path
    stack: AsyncExitStack
    settings: dict[str, str]
    asked: list[str] = field(default_factory=list[str])
    started: int = 0

    async def start(self, **more: str) -> ReadyService:
        self.started += 1
        folder = self.folder / str(self.started)
        folder.mkdir()
        return await self.stack.enter_async_context(service(folder, **{**self.settings, **more}))

    async def ask(self, question: str, channel: str) -> None:
        """Ask by mention; its thread has its message's id."""
        self.asked.append((await self.discord.say(ANN, f"<@{BOT}> {question}", channel))["id"])

    async def ask_everywhere(self, question: str) -> None:
        """Ask in a channel of each server."""
        for channel in (GENERAL, LANDING):
            await self.ask(question, channel)

    def layout(self) -> list[tuple[int, int]]:
        """Return the existing connections: number and count."""
        return sorted(session.shard for session in self.discord.connected)

    async def answered(self) -> None:
        await patiently(lambda: all(self.answers(question) for question in self.asked))

    def answers(self, question: str) -> list[str]:
        return [
            message["content"] for message in self.discord.world.said_in(question) if message["author"]["id"] == BOT
        ]


def answer(_: Request) -> Reply:
    return [head(), text("The boat lies in the harbour."), DONE]


async def patiently(happened: Callable[[], object]) -> None:
    """Wait with a longer limit: leases and identifies take time on top of a slow machine's."""
    async with asyncio.timeout(PATIENCE_S + TAKEOVER_S):
        while not happened():  # noqa: ASYNC110 -- it happens in another process
            await asyncio.sleep(0.05)


@asynccontextmanager
async def fleet(folder: Path, url: str) -> AsyncGenerator[Fleet]:
    """Run a fleet. `url`: of a database without rows."""
    async with running_discord(CLOCK) as discord, ModelServer(answer) as model:
        open_the_quay(discord)
        discord.rest.session_starts["max_concurrency"] = 2
        settings = {
            **on_discord(discord),
            "OPENAI_BASE_URL": model.url,
            "COGENCY_DATABASE_URL": url,
            "COGENCY_DISCORD_SHARDS": "2",
            "COGENCY_LEARNING": "off",
            "COGENCY_FIRST_NOTICE": "off",
        }
        async with AsyncExitStack() as stack:
            yield Fleet(discord, folder, stack, settings)
        assert not discord.shard_violations


async def takeover_s(bot: Fleet) -> float:
    """Return the seconds from the kill of the only process until another one, which had just joined, has continued with
    the messages that it received.
    """
    first = await bot.start()
    await patiently(lambda: len(bot.discord.connected) == 2)
    await bot.ask_everywhere("where is my boat?")
    await bot.answered()
    await bot.start()
    await patiently(lambda: bot.discord.resumed == 1 and len(bot.discord.connected) == 2)
    await bot.ask_everywhere("where is my boat?")
    await bot.answered()
    (survivor,) = (session for session in bot.discord.connected if not session.resumes)
    killed = asyncio.get_running_loop().time()
    first.kill()
    await first.wait()
    await patiently(lambda: survivor.resumes)
    await bot.ask_everywhere("where is my boat?")
    await bot.answered()
    return survivor.resumes[0] - killed
