"""Reactions to a reply, and its deletion: what readers think of it, and who wants it gone.

Rule. Nobody is answered: a reaction is a light word, and of all those that mean nothing here nobody wants to hear. What
is refused, or concerns a message that is no reply, has no consequence. A page of a reply can be deleted by whoever
manages the messages there: its words are forgotten then, and its other pages go, too.
"""

from collections.abc import Collection, Mapping
from contextlib import suppress
from typing import Final

import discord
from cachetools import LRUCache

from agent.errors import Refused
from agent.records import EPHEMERAL_PAGE, Answered, ReplyVerdict
from bot.host import Host
from bot.platforms.discord.connection import Connection
from bot.platforms.discord.inbound import pages_at, place_of_page
from bot.platforms.discord.places import SOURCE, known_as
from bot.reply_surface import SurfaceError

VERDICTS: Final[Mapping[str, ReplyVerdict]] = {"👍": ReplyVerdict.GOOD, "👎": ReplyVerdict.BAD}
WASTE_BASKET: Final = "🗑"
_VARIATIONS: Final = "\ufe0f\U0001f3fb\U0001f3fc\U0001f3fd\U0001f3fe\U0001f3ff"
"""The colours of skin, and the wish for a picture in colour: they change nothing of what is meant."""


async def reaction_added(
    host: Host, connection: Connection, said_last: LRUCache[str, str], event: discord.RawReactionActionEvent
) -> None:
    """Somebody reacted. Raises CogencyError."""
    emoji, person = _meant(event), known_as(event.user_id)
    if emoji not in {*VERDICTS, WASTE_BASKET}:
        return
    if (reply := await _reply(host, event.channel_id, event.message_id)) is None:
        return
    if emoji in VERDICTS:
        said_last[f"{reply.turn}:{person}"] = VERDICTS[emoji]
        await host.judge(reply.turn, person, VERDICTS[emoji])
        return
    with suppress(Refused):
        if reply.person == person and await host.delete_reply(reply.turn, person):
            await delete_pages(connection, event.channel_id, reply)


async def reaction_removed(host: Host, said_last: LRUCache[str, str], event: discord.RawReactionActionEvent) -> None:
    """Somebody took a reaction back, which counts only if they said nothing after it. Raises CogencyError."""
    verdict, person = VERDICTS.get(_meant(event)), known_as(event.user_id)
    if verdict is None or (reply := await _reply(host, event.channel_id, event.message_id)) is None:
        return
    if said_last.get(f"{reply.turn}:{person}", verdict) == verdict:
        await host.judge(reply.turn, person, None)


async def messages_deleted(host: Host, connection: Connection, channel: int, messages: Collection[int]) -> None:
    """These messages were deleted. Raises CogencyError."""
    for message in messages:
        reply = await _reply(host, channel, message)
        if reply is not None and await host.delete_reply(reply.turn, reply.person):
            await delete_pages(connection, channel, reply)


def _meant(event: discord.RawReactionActionEvent) -> str:
    """The emoji, if it is one of everybody's."""
    return event.emoji.name.rstrip(_VARIATIONS) if event.emoji.id is None else ""


async def _reply(host: Host, channel: int, message: int) -> Answered | None:
    found = [await host.reply_at(SOURCE, page) for page in pages_at(channel, message)]
    return next((reply for reply in found if reply is not None), None)


async def delete_pages(connection: Connection, channel: int, reply: Answered) -> None:
    """The pages of an interaction's answer, which the host cannot reach; all see them, or nobody could react."""
    rest = await connection.rest()
    for page in reply.pages:
        reached, message, _ = place_of_page(page)
        if reached == EPHEMERAL_PAGE:
            with suppress(SurfaceError):
                await rest.delete(str(channel), message)
