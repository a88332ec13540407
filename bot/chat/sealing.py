"""Encryption of stored secrets, with keys that the operator keeps apart from the database.

Rules.
- Values are encrypted with AES-256-GCM, with a new nonce each time. Their owner and kind are authenticated data, so
  that a value that is moved elsewhere cannot be opened.
- A key is 32 random bytes as base64, in a setting, or in a file that no other user may read. There may be several.
- A value that cannot be opened is no error: it counts as missing.
"""

import os
import stat
import sys
from base64 import b64decode
from collections.abc import Sequence
from pathlib import Path
from typing import Final, TypeVar

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from pydantic import TypeAdapter, ValidationError

from agent.errors import SettingsError
from bot.chat.texts import operating as operating_texts

KEY_BYTES: Final = 32
NONCE_BYTES: Final = 12
MAX_FILE_BYTES: Final = 4_096
T = TypeVar("T")


class SealingKeys:
    """Seals with the first key and opens with all, so that an operator adds a new key before the old one.

    `text`: the keys. `where`: the setting that holds them. Raises SettingsError.
    """

    def __init__(self, text: str, where: str) -> None:
        keys = [_key(word, where) for word in text.replace(",", " ").split()]
        if not keys:
            raise SettingsError(operating_texts.SEALING_KEY_WRONG.format(where=where))
        self._keys = [AESGCM(key) for key in keys]

    def seal(self, adapter: "TypeAdapter[T]", value: T, *bound_to: str) -> bytes:
        """Encrypt a value. `open` needs the same `bound_to`."""
        nonce = os.urandom(NONCE_BYTES)
        return nonce + self._keys[0].encrypt(nonce, adapter.dump_json(value), _bound(bound_to))

    def open(self, adapter: "TypeAdapter[T]", sealed: bytes, *bound_to: str) -> T | None:
        """Decrypt a value; None if none of these keys sealed it with this `bound_to`."""
        for key in self._keys:
            try:
                plain = key.decrypt(sealed[:NONCE_BYTES], sealed[NONCE_BYTES:], _bound(bound_to))
                return adapter.validate_json(plain)
            except (InvalidTag, ValidationError, ValueError):
                continue
        return None


def _bound(parts: Sequence[str]) -> bytes:
    return "\0".join(parts).encode("utf-8", "surrogatepass")


def _key(word: str, where: str) -> bytes:
    try:
        key = b64decode(word.replace("-", "+").replace("_", "/") + "=" * (-len(word) % 4), validate=True)
    except ValueError:
        key = b""
    if len(key) != KEY_BYTES:
        raise SettingsError(operating_texts.SEALING_KEY_WRONG.format(where=where))
    return key


def keys_in_file(file: Path, name: str) -> SealingKeys:
    """Read keys from a file that no other user may read. `name`: the name of the setting. Raises SettingsError."""
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0)  # opening a pipe would block
    try:
        with os.fdopen(os.open(file.expanduser(), flags), "rb") as opened:
            status = os.fstat(opened.fileno())
            text = opened.read(MAX_FILE_BYTES).decode("ascii") if stat.S_ISREG(status.st_mode) else ""
    except (OSError, RuntimeError, ValueError):  # RuntimeError: "~name" of an unknown user
        raise SettingsError(operating_texts.SEALING_KEY_UNREADABLE.format(name=name, file=file)) from None
    if _others_may_read(status):
        raise SettingsError(operating_texts.SEALING_KEY_OPEN.format(name=name, file=file))
    return SealingKeys(text, name)


def _others_may_read(status: os.stat_result) -> bool:
    """Whether other users may read the file. The group may, for a mounted secret: that belongs to root."""
    if sys.platform == "win32":
        return False
    mounted = stat.S_IRGRP if status.st_uid == 0 and os.geteuid() != 0 else 0
    return bool(status.st_mode & (stat.S_IRWXG | stat.S_IRWXO) & ~mounted)
