"""Slack, Discord and a model on loopback, for `benchmarks.first_text` and `benchmarks.question_cost`."""

import asyncio
import os
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from agent.machine import CLOCK
from tests.fakes.discord_gateway import FakeDiscord, running_discord
from tests.fakes.discord_requests import TOKEN
from tests.fakes.discord_world import ANN, BOT, GENERAL
from tests.fakes.model_server import DONE, ModelServer, head, text
from tests.fakes.slack import FakeSlack
from tests.fakes.slack_things import APP_TOKEN, BOT_TOKEN, BOT_USER

ROOT = Path(__file__).parents[1]
PATIENCE_S = 30.0
START_S = 120.0  # On a busy machine
QUESTION = "where is my boat?"


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
        asked = await self.slack.say(person, channel, f"<@{BOT_USER}> {QUESTION}")
        await until(lambda: self.slack.state.answers(channel, asked.ts))
        return 1000 * (self.slack.state.answers(channel, asked.ts)[0].versions[0][0] - asked.versions[0][0])

    async def discord_ms(self, person: str = ANN, channel: str = GENERAL) -> float:
        began = CLOCK.monotonic()
        asked = await self.discord.say(person, f"<@{BOT}> {QUESTION}", channel)
        path = f"/channels/{asked['id']}/messages"

        def posts() -> list[float]:
            return [call.time for call in self.discord.calls if (call.method, call.path) == ("POST", path)]

        await until(posts)
        return 1000 * (posts()[0] - began)


async def until(happened: Callable[[], object], within_s: float = PATIENCE_S) -> None:
    """Wait until `happened`. The measured times come from the servers, so polling does not affect them."""
    async with asyncio.timeout(within_s):
        while not happened():  # noqa: ASYNC110 -- it happens in another process
            await asyncio.sleep(0.02)


@asynccontextmanager
async def town() -> AsyncGenerator[Town, None]:
    answer = [head(), text("The boat lies in the harbour."), DONE]
    async with (
        FakeSlack(CLOCK) as slack,
        running_discord(CLOCK) as discord,
        ModelServer(lambda _: answer) as model,
    ):
        yield Town(slack, discord, model)
