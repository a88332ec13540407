"""What is kept encrypted, and the keys for it, which the operator keeps apart from the database.

The rules.
- Encrypted is by AES-256-GCM, with a new nonce each time, and bound to whose it is and what: moved elsewhere, it opens
  nothing.
- A key is 32 random bytes as base64, in a setting, or in a file that nobody else may read. There may be several.
- What cannot be opened is no error: it is as if it were not there.
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
from bot.texts import setup_texts

KEY_BYTES: Final = 32
NONCE_BYTES: Final = 12
MAX_FILE_BYTES: Final = 4_096
T = TypeVar("T")


class SealingKeys:
    """The first seals, all open: so an operator puts a new key before the old one. Raises SettingsError."""

    def __init__(self, written: str, where: str) -> None:
        keys = [_key(word, where) for word in written.replace(",", " ").split()]
        if not keys:
            raise SettingsError(setup_texts.ACCOUNT_KEY_WRONG.format(where=where))
        self._keys = [AESGCM(key) for key in keys]

    def seal(self, adapter: "TypeAdapter[T]", value: T, *bound_to: str) -> bytes:
        """Only who says the same of what it is bound to opens it."""
        nonce = os.urandom(NONCE_BYTES)
        return nonce + self._keys[0].encrypt(nonce, adapter.dump_json(value), _bound(bound_to))

    def open(self, adapter: "TypeAdapter[T]", sealed: bytes, *bound_to: str) -> T | None:
        """None for what these keys did not seal, or not for this."""
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
        raise SettingsError(setup_texts.ACCOUNT_KEY_WRONG.format(where=where))
    return key


def keys_in_file(file: Path, name: str) -> SealingKeys:
    """The keys in a file that nobody else may read. `name`: of the setting. Raises SettingsError."""
    try:
        with os.fdopen(
            os.open(file.expanduser(), os.O_RDONLY | getattr(os, "O_NONBLOCK", 0)), "rb"
        ) as opened:  # a pipe never ends
            status = os.fstat(opened.fileno())
            written = opened.read(MAX_FILE_BYTES).decode("ascii") if stat.S_ISREG(status.st_mode) else ""
    except (OSError, RuntimeError, ValueError):  # RuntimeError: "~name" of nobody
        raise SettingsError(setup_texts.ACCOUNT_KEY_UNREADABLE.format(name=name, file=file)) from None
    if _others_may_read(status):
        raise SettingsError(setup_texts.ACCOUNT_KEY_OPEN.format(name=name, file=file))
    return SealingKeys(written, name)


def _others_may_read(status: os.stat_result) -> bool:
    """A secret that is mounted belongs to root, and a group is let in to read it."""
    if sys.platform == "win32":
        return False
    mounted = stat.S_IRGRP if status.st_uid == 0 and os.geteuid() != 0 else 0
    return bool(status.st_mode & (stat.S_IRWXG | stat.S_IRWXO) & ~mounted)
