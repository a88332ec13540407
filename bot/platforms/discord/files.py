"""Reads attached text files and pictures, never more than a bounded piece of them.

Above: `surroundings`. Below: `bot.pictures`, `agent.providers.http`.
"""

import asyncio
from codecs import getincrementaldecoder

from agent.messages import Image
from agent.providers.http import Http, TransportError
from bot import pictures

MAX_BYTES = 64_000
"""Of one file: some thirty pages, and already more than the model is given of a thread."""

READ_TIMEOUT_S = 5.0
"""Discord's own store answers at once, or not in time to be of use."""

_TEXT = frozenset({"json", "xml", "yaml", "x-yaml", "toml", "javascript", "sql", "x-sh"})
_UNKNOWN = frozenset({"", "application/octet-stream"})


def decoding(content_type: str | None) -> str | None:
    """How the bytes of such a file become text: "replace" what is not UTF-8, take them only if all of them are
    ("strict"), or None: it is no text."""
    kind = (content_type or "").partition(";")[0].strip().lower()
    if kind.startswith("text/") or kind.removeprefix("application/") in _TEXT:
        return "replace"
    return "strict" if kind in _UNKNOWN else None


async def read_text(http: Http, address: str, content_type: str | None) -> str | None:
    """The file's text, cut after MAX_BYTES with an ellipsis; None if it cannot be had, or is no text."""
    errors = decoding(content_type)
    read = await _read(http, address, MAX_BYTES + 1) if errors is not None else None
    if errors is None or read is None:
        return None
    return _decoded(read[:MAX_BYTES], errors, cut=len(read) > MAX_BYTES)


async def read_picture(http: Http, address: str, size: int) -> Image | str:
    """The picture, or the reason why it is not shown to the model. `size` is what Discord says of it, in bytes."""
    if size > pictures.MAX_IMAGE_BYTES:
        return pictures.TOO_LARGE
    data = await _read(http, address, pictures.MAX_IMAGE_BYTES + 1)
    if data is None:
        return pictures.UNREACHABLE
    return pictures.picture(data)


async def _read(http: Http, address: str, most: int) -> bytes | None:
    """The first `most` bytes of a file; None if it cannot be had."""
    read = bytearray()
    try:
        async with asyncio.timeout(READ_TIMEOUT_S), http.request("GET", address, {}) as reply:
            if reply.status != 200:
                return None
            async for piece in reply.body():
                read += piece
                if len(read) >= most:
                    break
    except (TransportError, TimeoutError):
        return None
    return bytes(read[:most])


def _decoded(data: bytes, errors: str, *, cut: bool) -> str | None:
    try:
        text = getincrementaldecoder("utf-8-sig")(errors).decode(data, final=not cut)
    except UnicodeDecodeError:
        return None
    if "\0" in text:
        return None
    return f"{text}…" if cut else text
