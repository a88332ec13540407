"""The page of `cogency play` without a browser: each person's socket, and the events that it received."""

import asyncio
import json
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed
from websockets.typing import Origin, Subprotocol

from bot.app.platforms import play
from bot.app.settings import load_settings
from bot.platforms.play.run import PROTOCOL
from tests.fakes.new_database import new_database
from tests.patience import PATIENCE_S

Told = dict[str, Any]


def labels(message: Told) -> list[str]:
    """Return the labels of its panel's buttons."""
    return [one["label"] for one in message["panel"]["buttons"]]


@dataclass
class PlayPage:
    """One person's socket. `messages`: all messages that it received, in their current state."""

    socket: ClientConnection
    person: str
    messages: dict[str, Told] = field(default_factory=dict[str, Told])
    frames: list[Told] = field(default_factory=list[Told])
    hello: Told = field(default_factory=dict[str, Any])
    change: int = 0
    _answers: dict[int, asyncio.Future[Told]] = field(default_factory=dict[int, "asyncio.Future[Told]"])
    _numbers: "count[int]" = field(default_factory=lambda: count(1))
    _changed: asyncio.Condition = field(default_factory=asyncio.Condition)

    async def read(self) -> None:
        with suppress(ConnectionClosed):
            async for written in self.socket:
                event: Told = json.loads(written)
                self.frames.append(event)
                match event["type"]:
                    case "hello":
                        self.hello = event
                        if event["anew"]:
                            self.messages.clear()
                    case "changed":
                        self.messages |= {one["id"]: one for one in event["messages"]}
                    case "at":
                        self.change = event["change"]
                    case _:
                        self._answers.pop(event["number"]).set_result(event)
                async with self._changed:
                    self._changed.notify_all()

    async def ask(self, kind: str, **what: Any) -> Told:
        """Send a request of the page, and return the answer."""
        number = next(self._numbers)
        self._answers[number] = asyncio.get_running_loop().create_future()
        async with asyncio.timeout(PATIENCE_S):
            await self.socket.send(json.dumps({"number": number, "type": kind, **what}))
            return await self._answers[number]

    async def say(self, channel: str, text: str, thread: str = "", key: str = "") -> Told:
        return await self.ask("say", channel=channel, text=text, thread=thread, key=key)

    async def until(self, happened: Callable[[], Any]) -> Any:
        """Wait until the result of `happened` is truthy, and return it."""
        async with asyncio.timeout(PATIENCE_S), self._changed:
            await self._changed.wait_for(happened)
        return happened()

    def there(self, channel: str) -> list[Told]:
        """Return the current messages of a channel, in order."""
        stand = (one for one in self.messages.values() if not (one.get("gone") or one.get("status")))
        return sorted((one for one in stand if one["channel"] == channel), key=lambda one: int(one["id"]))

    def with_words(self, words: str) -> list[Told]:
        return [one for channel in self.channels for one in self.there(channel) if words in one["html"]]

    @property
    def channels(self) -> Sequence[str]:
        return [one["id"] for one in self.hello.get("channels", ())]

    async def shown(self, words: str, *, author: str = "cogency") -> Told:
        """Return the newest finished message that holds these words."""

        def whole() -> list[Told]:
            return [one for one in self.with_words(words) if one["author"] == author and not one["grows"]]

        return (await self.until(whole))[-1]

    async def first(self, matches: Callable[[Told], Any]) -> Told:
        """Return the first message that matches."""
        return await self.until(
            lambda: next((one for channel in self.channels for one in self.there(channel) if matches(one)), None)
        )

    async def press(self, message: Told, label: str, **what: Any) -> Told:
        """Press a button of a panel, by its label."""
        return await self.ask("press", message=message["id"], button=labels(message).index(label), **what)

    async def offer(self, message: Told, offer: str) -> Told:
        return await self.ask("offer", message=message["id"], offer=offer)


@dataclass
class Playing:
    """A page that is served. `address`: with its token."""

    address: str
    stack: AsyncExitStack

    @property
    def token(self) -> str:
        return self.address.partition("#token=")[2]

    @property
    def port(self) -> str:
        return self.address.partition("/#")[0].rpartition(":")[2]

    async def page(self, person: str, before: PlayPage | None = None) -> PlayPage:
        """Open the page. `before`: the same page's socket that was cut."""
        query = "" if before is None else f"?log={before.hello['log']}&since={before.change}"
        socket = await self.stack.enter_async_context(self.connecting(person, query))
        opened = PlayPage(socket, person)
        if before is not None:
            opened.messages |= before.messages
        reading = asyncio.create_task(opened.read())
        self.stack.callback(reading.cancel)
        await opened.until(lambda: opened.hello)
        return opened

    def connecting(
        self,
        person: str,
        query: str = "",
        *,
        token: str | None = None,
        origin: str | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> connect:
        return connect(
            f"ws://127.0.0.1:{self.port}/socket/{person}{query}",
            origin=Origin(f"http://127.0.0.1:{self.port}" if origin is None else origin),
            subprotocols=[Subprotocol(PROTOCOL), Subprotocol(self.token if token is None else token)],
            additional_headers=headers,
            proxy=None,
            max_size=None,  # as browsers have it
        )


@asynccontextmanager
async def playing(
    folder: Path, *, keep: str = "play.db", port: int = 0, **settings: str
) -> AsyncGenerator[Playing, None]:
    """Run `cogency play` on the rehearsal model, in this process; it continues with the data of an earlier one.

    `port`: 0 for any that is free.
    """
    await new_database(folder / keep)
    opened: asyncio.Future[str] = asyncio.get_running_loop().create_future()
    given = {"COGENCY_MODEL": "rehearsal", "COGENCY_FIRST_NOTICE": "off", **settings}
    serving = asyncio.create_task(play(load_settings(given), folder / keep, port, "UTC", opened.set_result))
    try:
        async with AsyncExitStack() as stack:
            await asyncio.wait({serving, opened}, timeout=PATIENCE_S, return_when=asyncio.FIRST_COMPLETED)
            if serving.done():
                await serving
            yield Playing(opened.result(), stack)
    finally:
        serving.cancel()
        await asyncio.wait({serving}, timeout=PATIENCE_S)
