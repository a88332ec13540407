"""What the first bytes of a picture say of it: its size, and its title. Pure, bounded, and nothing is unpacked."""

import struct
from collections.abc import Iterator
from typing import Final

from agent.protocol.render import one_line

PNG: Final = b"\x89PNG\r\n\x1a\n"
MAX_TITLE: Final = 900  # Discord takes 1,024 characters, Slack 1,000
MAX_TITLE_BYTES: Final = 10_000
MAX_CHUNKS: Final = 50  # Of a PNG, before its pixels
TITLE: Final = b"Title\0"


def picture_size(data: bytes) -> tuple[int, int] | None:
    """Return the width and height that a PNG, GIF or JPEG declares; None if it declares none."""
    try:
        if data.startswith(b"\x89PNG\r\n\x1a\n"):
            return struct.unpack(">II", data[16:24]) if data[12:16] == b"IHDR" else None
        if data.startswith(b"GIF8"):
            return struct.unpack("<HH", data[6:10])
        return next(_jpeg_sizes(data), None)
    except struct.error:
        return None


def _jpeg_sizes(data: bytes) -> Iterator[tuple[int, int]]:
    """The sizes of a JPEG's frames. Segments follow each other: a marker, and the length of what belongs to it."""
    position = 2
    while position + 4 <= len(data) and data[position] == 0xFF:
        marker, length = data[position + 1], struct.unpack(">H", data[position + 2 : position + 4])[0]
        # A frame's marker is between 0xC0 and 0xCF; three of these numbers are tables.
        if 0xC0 <= marker <= 0xCF and marker not in {0xC4, 0xC8, 0xCC}:
            height, width = struct.unpack(">HH", data[position + 5 : position + 9])
            yield width, height
        position += 2 + max(length, 2)


def picture_title(data: bytes) -> str:
    """Return the title that stands in a PNG before its pixels, on one line; "" without one.

    A chunk is its length, its type, and its data with a checksum. `tEXt` holds Latin-1, `iTXt` UTF-8 behind whether it
    is compressed, a language and a translated keyword (https://www.w3.org/TR/png-3/#11textinfo).
    """
    position = len(PNG) if data.startswith(PNG) else len(data)
    for _ in range(MAX_CHUNKS):
        length, kind = int.from_bytes(data[position : position + 4], "big"), data[position + 4 : position + 8]
        if kind in {b"", b"IDAT"}:
            break
        chunk = data[position + 8 : position + 8 + min(length, MAX_TITLE_BYTES)]
        if kind == b"tEXt" and chunk.startswith(TITLE):
            return _shown(chunk.removeprefix(TITLE).decode("latin-1"))
        if kind == b"iTXt" and chunk.startswith(TITLE + b"\0\0"):
            return _shown(chunk.split(b"\0", 5)[-1].decode(errors="replace") if chunk.count(b"\0") >= 5 else "")
        position += length + 12
    return ""


def _shown(title: str) -> str:
    line = "".join(char for char in one_line(title) if char.isprintable()).strip()
    return line if len(line) <= MAX_TITLE else f"{line[: MAX_TITLE - 1]}…"
