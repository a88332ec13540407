"""A minimal bot that answers a mention on Slack and on Discord: without memory, storage, pace or retries.

`benchmarks.first_text` compares `cogency run` with it. It takes the same environment, and shows the model's first text
as soon as it comes: in Slack in the mention's thread, on Discord in a thread that it starts.
"""

import asyncio
import json
import os
from collections.abc import Awaitable, Callable
from typing import Protocol, cast

import discord
import httpx
import yarl
from discord.gateway import DiscordWebSocket
from discord.http import Route
from slack_bolt.adapter.socket_mode.async_handler import AsyncSocketModeHandler
from slack_bolt.async_app import AsyncApp
from slack_bolt.context.ack.async_ack import AsyncAck
from slack_sdk.web.async_client import AsyncWebClient

ENV = os.environ  # noqa: TID251 -- a process of its own, which has no settings of ours


class Registry(Protocol):
    """AsyncApp's own types are incomplete."""

    def event(self, event: str) -> Callable[[Callable[..., Awaitable[object]]], object]: ...


class Client(Protocol):
    """AsyncWebClient's too."""

    async def chat_postMessage(self, *, channel: str, thread_ts: str, markdown_text: str) -> object: ...  # noqa: N802 -- the method as Slack's library names it


class Model:
    def __init__(self, client: httpx.AsyncClient) -> None:
        self._client = client

    async def first_text(self, question: str) -> str:
        body = {"model": "m-1", "stream": True, "messages": [{"role": "user", "content": question}]}
        async with self._client.stream("POST", f"{ENV['OPENAI_BASE_URL']}/chat/completions", json=body) as response:
            async for line in response.aiter_lines():
                if line.startswith("data: {"):
                    text: str = json.loads(line[6:])["choices"][0]["delta"]["content"]
                    return text
        raise ValueError("the model said nothing")


class OnDiscord(discord.Client):
    def __init__(self, model: Model) -> None:
        super().__init__(intents=discord.Intents(guilds=True, guild_messages=True))
        self._model = model

    async def on_message(self, message: discord.Message) -> None:
        if self.user in message.mentions:
            thread = await message.create_thread(name="answer")
            await thread.send(await self._model.first_text(message.content))


def on_slack(model: Model) -> AsyncApp:
    app = AsyncApp(client=AsyncWebClient(ENV["SLACK_BOT_TOKEN"], base_url=ENV["SLACK_API_BASE_URL"] + "/"))
    on = cast("Registry", app)

    async def answer(event: dict[str, str], client: Client) -> None:
        text = await model.first_text(event["text"])
        await client.chat_postMessage(channel=event["channel"], thread_ts=event["ts"], markdown_text=text)

    async def ignore(ack: AsyncAck) -> None:
        await ack()

    on.event("app_mention")(answer)
    on.event("message")(ignore)
    return app


async def main() -> None:
    Route.BASE = ENV["DISCORD_API_BASE_URL"]
    DiscordWebSocket.DEFAULT_GATEWAY = yarl.URL(ENV["DISCORD_GATEWAY_URL"])
    async with httpx.AsyncClient() as client:
        model = Model(client)
        slack = AsyncSocketModeHandler(on_slack(model), ENV["SLACK_APP_TOKEN"])
        await slack.connect_async()
        await OnDiscord(model).start(ENV["DISCORD_TOKEN"])


if __name__ == "__main__":
    asyncio.run(main())
