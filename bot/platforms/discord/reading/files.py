"""Attached files of Discord: what is known of them, and how their bytes are fetched.

Above: `surroundings` and `run`. Below: `bot.attachments.kinds`, `agent.providers.http`; discord.py's attachments.
"""

from collections.abc import Iterable

import discord

from agent.providers.http import Http, TransportError
from agent.records import ATTACHED, Attachment
from bot.attachments.kinds import Kind, announced


def attachments(
    files: Iterable[discord.Attachment], author: str, source: str = ATTACHED, *, voice: bool = False
) -> list[Attachment]:
    """What came along, before anybody reads it. `voice`: the message is a voice message: its author speaks in it."""
    return [
        Attachment(
            file.filename,
            file.content_type or "",
            file.size,
            file.url,
            author,
            spoken=voice and announced(file.filename, file.content_type or "") is Kind.SOUND,
            source=source,
        )
        for file in files
    ]


async def fetch(http: Http, address: str, most: int) -> bytes | None:
    """The first `most` bytes of a file, at the address that Discord gave; None if it cannot be had."""
    read = bytearray()
    try:
        async with http.request("GET", address, {}) as reply:
            if reply.status != 200:
                return None
            async for piece in reply.body():
                read += piece
                if len(read) >= most:
                    break
    except TransportError:
        return None
    return bytes(read[:most])
