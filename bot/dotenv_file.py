"""The file `.env`: names and values, taken literally.

It lies in the folder where the program is started, which may be anybody's. So it is read only if nobody else could
have written it: it belongs to the user (or to root, who may do anything), and only they may write it.
"""

import os
import stat
import sys
from io import StringIO
from pathlib import Path

from dotenv.parser import parse_stream

from agent.errors import SettingsError

if sys.platform != "win32":
    import grp
    import pwd

MAX_BYTES = 1_000_000
"""Every setting written out takes a hundredth of it."""


def read_dotenv(dotenv: Path | None) -> dict[str, str]:
    """What `.env` sets, by name; nothing when there is none.

    Raises SettingsError with the line that cannot be read, or if somebody else owns the file or may write it.
    """
    if dotenv is None:
        return {}
    try:
        content = _content(dotenv)
    except FileNotFoundError:
        return {}
    except (OSError, UnicodeDecodeError):
        raise SettingsError(f"{dotenv} cannot be read: make it a text file in UTF-8 that you may read.") from None
    written: dict[str, str] = {}
    for binding in parse_stream(StringIO(content)):
        if binding.error or (binding.key is not None and binding.value is None):
            raise SettingsError(f"{dotenv}, line {binding.original.line}: write NAME=value, or # before a comment.")
        if binding.key is not None and binding.value is not None:
            written[binding.key] = binding.value
    return written


def _content(dotenv: Path) -> str:
    # What was opened is what is judged: the name may lead elsewhere a moment later. A pipe would wait for its writer.
    descriptor = os.open(dotenv, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
    with os.fdopen(descriptor, "rb") as file:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode) or status.st_size > MAX_BYTES:
            raise OSError("no text file")
        if (fault := _fault(status)) is not None:
            raise SettingsError(f"{dotenv} {fault}")
        return file.read(MAX_BYTES).decode("utf-8-sig")


def _fault(status: os.stat_result) -> str | None:
    """How somebody else could have written the file, and what to do; None if nobody could."""
    if sys.platform == "win32":
        return None
    if status.st_uid not in {os.geteuid(), 0}:
        return (
            "belongs to another user, who could send your keys elsewhere: make it yours with `chown`, "
            "or start in another folder."
        )
    by_group = status.st_mode & stat.S_IWGRP and not _is_own_group(status.st_gid)
    if by_group or status.st_mode & stat.S_IWOTH:
        return "may be written by others, who could send your keys elsewhere: `chmod go-w .env` makes it yours alone."
    return None


def _is_own_group(group: int) -> bool:
    """Whether it is the user's private group, as most systems give one to each: then its right to write is theirs."""
    if sys.platform == "win32":
        return True
    try:
        user, found = pwd.getpwuid(os.geteuid()), grp.getgrgid(group)
    except KeyError:
        return False
    return group == user.pw_gid and found.gr_name == user.pw_name and set(found.gr_mem) <= {user.pw_name}
