"""Attached files of Discord: what is known of them, and how their bytes are fetched."""

import logging
import re
from collections.abc import Iterable
from typing import Final
from urllib.parse import urlsplit

import discord

from agent.providers.http_client import Http, TransportError
from agent.records import ATTACHED, Attachment
from bot.attachments.kinds import FileKind, announced

log = logging.getLogger(__name__)

_DISCORD: Final = ("discord.com", "ptb.discord.com", "canary.discord.com", "discordapp.com")
_HOSTS: Final = r"cdn\.discordapp\.com|media\.discordapp\.net"
# Of an address that means what it shows: no step upwards before its query, no blank, no backslash, no fragment.
_PATH: Final = r"(?!/|(?:[^?]*/)?(?:\.|%2[Ee]){1,2}(?:[/?]|$))[^\s\\\x00-\x1f\x7f#]*"


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
            spoken=voice and announced(file.filename, file.content_type or "") is FileKind.SOUND,
            source=source,
        )
        for file in files
    ]


class Downloads:
    """Fetches what people attach, from where Discord keeps files and from nowhere else.

    An address comes with a message, so whoever can make one up could have the bot ask any server that it can reach.
    Nothing goes along with a request, above all not the bot's token, and no redirect is followed.
    """

    def __init__(self, http: Http, api_base_url: str) -> None:
        self._http = http
        self._kept = kept_at(api_base_url)

    async def fetch(self, address: str, limit: int) -> bytes | None:
        """The first `limit` bytes of a file, at the address that Discord gave; None if it cannot be had."""
        if self._kept.fullmatch(address) is None:
            log.warning("a file is not fetched: its address is not one of Discord's")
            return None
        read = bytearray()
        try:
            async with self._http.request("GET", address, {}) as reply:
                if reply.status != 200:
                    return None
                async for piece in reply.body():
                    read += piece
                    if len(read) >= limit:
                        break
        except TransportError:
            return None
        return bytes(read[:limit])


def kept_at(api_base_url: str) -> re.Pattern[str]:
    """The addresses of files: on Discord's servers for them, or beside an API of one's own, but never in it. Pure.

    The whole address is compared, so that no reading of it (a user name, a port, a backslash, a step upwards) leads
    elsewhere.
    """
    api = urlsplit(api_base_url)
    if (api.hostname or "") in _DISCORD:
        return re.compile(rf"(?i:https://(?:{_HOSTS}))(?::443)?/{_PATH}", re.ASCII)
    inside = re.escape(api.path.strip("/"))
    elsewhere = rf"(?!{inside}(?:/|$))" if inside else ""
    return re.compile(rf"{re.escape(f'{api.scheme}://{api.netloc}')}/{elsewhere}{_PATH}", re.ASCII)
