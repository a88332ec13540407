"""The texts of API keys: several in one setting, and the part that operators may read. Pure."""

import re
from typing import Final

from agent import texts

SHOWN_CHARS: Final = 4
MIN_SHOWN_OF: Final = 16  # Of a shorter key, four characters would be too large a part
MAX_KEYS: Final = 20  # Each may be asked before a question fails
# The end of a handle that one of several keys stored. It stays if one key is left.
KEY_MARK: Final = re.compile(r"#key-([0-9a-f]{8})$")
OWN_KEY_MARK: Final = re.compile(r"#own-([0-9a-f]{32})$")  # The same, of a channel's own key


def split_keys(value: str) -> tuple[str, ...]:
    """Return the keys of a setting, which are separated by commas or line breaks.

    Raises ValueError whose text continues the name of the setting, and never contains a key.
    """
    *lines, last = [line.strip() for line in value.strip().split("\n")]
    listed = ",".join([*(line.removesuffix(",") for line in lines), last])
    pieces = [piece.strip() for piece in listed.split(",")]
    if len(pieces) > MAX_KEYS:
        raise ValueError(texts.TOO_MANY_KEYS.format(limit=MAX_KEYS))
    for piece in pieces:
        if not piece:
            raise ValueError(texts.KEY_EMPTY)
        if not piece.isascii() or not piece.isprintable() or " " in piece:
            raise ValueError(texts.KEY_CHARACTER)
    if len({*pieces}) < len(pieces):
        raise ValueError(texts.KEY_TWICE)
    return tuple(pieces)


def key_end(key: str) -> str:
    """Return the end of a key that operators may read: its last four characters, or nothing of a short one."""
    return f"…{key[-SHOWN_CHARS:]}" if len(key) >= MIN_SHOWN_OF else "…"


def own_mark(handle: str) -> str:
    """Return the mark of the channel's key that stored a handle; "" for one that the operator's keys stored."""
    found = OWN_KEY_MARK.search(handle)
    return "" if found is None else found[1]
