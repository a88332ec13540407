"""Reactions to a reply: what readers think of it, and the asker's wish to have it deleted.

Above: `client` hands over what was added or taken back. Below: `place`, `rest`, discord.py's events, `bot.host.Host`.

Rule. Nobody is answered: a reaction is a light word, and of all those that mean nothing here nobody wants to hear. What
is refused, or concerns a message that is no reply, has no consequence.
"""

from collections.abc import Mapping
from contextlib import suppress
from typing import Final

import discord

from agent.errors import Refused
from agent.records import REACHED_ONCE, Answered, Verdict
from bot.host import Host
from bot.platforms.discord.connection import Connection
from bot.platforms.discord.place import SOURCE, known_as
from bot.surface import SurfaceError

VERDICTS: Final[Mapping[str, Verdict]] = {"👍": Verdict.GOOD, "👎": Verdict.BAD}
WASTE_BASKET: Final = "🗑"
_VARIATIONS: Final = "\ufe0f\U0001f3fb\U0001f3fc\U0001f3fd\U0001f3fe\U0001f3ff"
"""The colours of skin, and the wish for a picture in colour: they change nothing of what is meant."""


async def added(host: Host, connection: Connection, event: discord.RawReactionActionEvent) -> None:
    """Somebody reacted. Raises CogencyError."""
    emoji, person = _meant(event), known_as(event.user_id)
    if emoji not in {*VERDICTS, WASTE_BASKET} or (reply := await _reply(host, event)) is None:
        return
    if emoji in VERDICTS:
        await host.judge(reply.turn, person, VERDICTS[emoji])
        return
    with suppress(Refused):
        if reply.person == person and await host.delete_reply(reply.turn, person):
            await _take_away(connection, event.channel_id, reply)


async def taken_back(host: Host, event: discord.RawReactionActionEvent) -> None:
    """Somebody took a reaction back. Raises CogencyError."""
    if _meant(event) in VERDICTS and (reply := await _reply(host, event)) is not None:
        await host.judge(reply.turn, known_as(event.user_id), None)


def _meant(event: discord.RawReactionActionEvent) -> str:
    """The emoji, if it is one of everybody's."""
    return event.emoji.name.rstrip(_VARIATIONS) if event.emoji.id is None else ""


async def _reply(host: Host, event: discord.RawReactionActionEvent) -> Answered | None:
    pages = (f"{event.channel_id}/{event.message_id}", f"{REACHED_ONCE}/{event.message_id}")
    found = [await host.reply_at(SOURCE, page) for page in pages]
    return next((reply for reply in found if reply is not None), None)


async def _take_away(connection: Connection, channel: int, reply: Answered) -> None:
    """The pages of an interaction's answer, which the host cannot reach; all see them, or nobody could react."""
    rest = await connection.rest()
    for page in reply.pages:
        reached, _, message = page.partition("/")
        if reached == REACHED_ONCE:
            with suppress(SurfaceError):
                await rest.delete(str(channel), message)
