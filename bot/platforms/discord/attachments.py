"""Attached files of Discord: their metadata, and how their content is fetched."""

import logging
import re
from collections.abc import Iterable
from typing import Final
from urllib.parse import urlsplit

import discord

from agent.incoming import ATTACHED, Attachment
from agent.providers.http_client import Http, TransportError
from bot.chat.attachments.kinds import FileKind, announced

log = logging.getLogger(__name__)

_DISCORD: Final = ("discord.com", "ptb.discord.com", "canary.discord.com", "discordapp.com")
_HOSTS: Final = r"cdn\.discordapp\.com|media\.discordapp\.net"
# A path without traversal before its query, and without blanks, backslashes and fragments.
_PATH: Final = r"(?!/|(?:[^?]*/)?(?:\.|%2[Ee]){1,2}(?:[/?]|$))[^\s\\\x00-\x1f\x7f#]*"


def attachments(
    files: Iterable[discord.Attachment],
    author: str,
    source: str = ATTACHED,
    *,
    voice: bool = False,
    by_bot: bool = False,
) -> list[Attachment]:
    """Return the files' metadata. `voice`: the message is a voice message, in which its author speaks. `by_bot`: the
    bot posted them, or nobody knows who did.
    """
    return [
        Attachment(
            file.filename,
            file.content_type or "",
            file.size,
            file.url,
            author,
            spoken=voice and announced(file.filename, file.content_type or "") is FileKind.SOUND,
            source=source,
            by_bot=by_bot,
        )
        for file in files
    ]


class Downloads:
    """Fetches attachments, from Discord's file servers only.

    The address comes with a message: without this check, a forged one could make the bot request any server that it can
    reach. A request carries no headers of ours, in particular not the bot's token, and no redirect is followed.
    """

    def __init__(self, http: Http, api_base_url: str) -> None:
        self._http = http
        self._allowed = file_addresses(api_base_url)

    async def fetch(self, address: str, limit: int) -> bytes | None:
        """Return the first `limit` bytes of the file at Discord's address; None if it cannot be read."""
        if self._allowed.fullmatch(address) is None:
            log.warning("a file was not downloaded, because its address is not Discord's")
            return None
        content = bytearray()
        try:
            async with self._http.request("GET", address, {}) as reply:
                if reply.status != 200:
                    return None
                async for chunk in reply.body():
                    content += chunk
                    if len(content) >= limit:
                        break
        except TransportError:
            return None
        return bytes(content[:limit])


def file_addresses(api_base_url: str) -> re.Pattern[str]:
    """Return a pattern of the allowed addresses: on Discord's file servers, or on the server of a custom API, outside
    of the API's own path. Pure.

    The whole address is matched, so that no interpretation of it (username, port, backslash, path traversal) escapes.
    """
    api = urlsplit(api_base_url)
    if (api.hostname or "") in _DISCORD:
        return re.compile(rf"(?i:https://(?:{_HOSTS}))(?::443)?/{_PATH}", re.ASCII)
    inside = re.escape(api.path.strip("/"))
    not_inside = rf"(?!{inside}(?:/|$))" if inside else ""
    return re.compile(rf"{re.escape(f'{api.scheme}://{api.netloc}')}/{not_inside}{_PATH}", re.ASCII)
