"""A typical bot, the baseline of `benchmarks.live_edit`: it edits each reply every second, and waits if it is refused.

A reply is posted as soon as it has a word, and edited a second after its last write. When a write is refused, the bot
waits as long as the platform says, and then writes the text that it has by then. A full message stays, and the rest
continues in the next one. On Discord the library itself waits, inside of each call.
"""

from typing import Final, Protocol

import discord
from discord.abc import Messageable

from agent.ports.clock import Clock
from benchmarks.live_edit_voices import Voice
from bot.platforms.slack.api import SlackApi, SlackLimited, text
from bot.platforms.slack.options import Method

INTERVAL_S: Final = 1.0
FIRST_S: Final = 0.1  # By then there are some words


class TooFast(Exception):
    def __init__(self, retry_after_s: float) -> None:
        super().__init__(retry_after_s)
        self.retry_after_s = retry_after_s


class Place(Protocol):
    """The place of one reply. `show` returns the message that it posted or edited; it raises TooFast."""

    @property
    def max_chars(self) -> int: ...

    async def show(self, message: str, shown: str) -> str:
        """Edit this message, or post a new one if `message` is ""."""
        ...


class SlackPlace:
    """A thread."""

    max_chars = 3_900

    def __init__(self, api: SlackApi, channel: str, thread_ts: str) -> None:
        self._api = api
        self._channel = channel
        self._thread_ts = thread_ts

    async def show(self, message: str, shown: str) -> str:
        method = Method.UPDATE if message else Method.POST
        where = {"ts": message} if message else {"thread_ts": self._thread_ts}
        try:
            answer = await self._api.call(method, channel=self._channel, markdown_text=shown, **where)
        except SlackLimited as limited:
            raise TooFast(limited.retry_after_s) from limited
        return text(answer, "ts")


class DiscordPlace:
    """A channel."""

    max_chars = 2_000

    def __init__(self, client: discord.Client, channel: str) -> None:
        self._channel: Messageable = client.get_partial_messageable(int(channel))
        self._messages: dict[str, discord.Message] = {}

    async def show(self, message: str, shown: str) -> str:
        if message:
            await self._messages[message].edit(content=shown)
            return message
        sent = await self._channel.send(shown)
        self._messages[str(sent.id)] = sent
        return str(sent.id)


async def edit_at_intervals(voice: Voice, place: Place, clock: Clock) -> None:
    """Show one reply while it is produced, until all of it is shown."""
    begin, message, wait_s = 0, "", FIRST_S
    while begin < len(voice.text) or not voice.ended:
        await clock.sleep(wait_s)
        ended, said = voice.ended, voice.text[begin:]
        shown = _fitting(said, place.max_chars)
        try:
            message = await place.show(message, shown)
        except TooFast as refused:
            wait_s = refused.retry_after_s
            continue
        wait_s = INTERVAL_S
        if ended or shown != said:
            begin, message = begin + len(shown), ""


def _fitting(said: str, max_chars: int) -> str:
    """Return the words that fit one message."""
    return said if len(said) <= max_chars else said[: said.rindex(" ", 0, max_chars)]
