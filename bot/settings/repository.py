"""Finds out whether a git repository contains a file, by its index: git itself may not be installed."""

import os
from pathlib import Path
from typing import Final

MAX_INDEX_BYTES: Final = 200_000_000  # Of a git repository with a million files
_ENTRY: Final = 62  # The fixed part of an entry, before its name
_CHECKSUM: Final = 20
_ELSEWHERE: Final = frozenset({b"link", b"sdir"})  # Extensions with which names stand in other files, or in none


def is_in_repository(file: Path) -> bool:
    """Return whether a git repository contains this file, so that it came with a clone; True if that is unknown.

    An own `.env` is ignored by git or outside of any repository, and a clone only brings files that are in its index.
    """
    folder = file.absolute().parent
    try:
        top = next((parent for parent in (folder, *folder.parents) if (parent / ".git").exists()), None)
        if top is None:
            return False
        git = top / ".git"
        if git.is_file():  # of a work tree or a submodule
            git = top / git.read_text(encoding="utf-8").removeprefix("gitdir:").strip()
        with (git / "index").open("rb") as index:
            names = _index_names(index.read(MAX_INDEX_BYTES))
        # Some file systems open ".ENV" for ".env".
        return os.fsencode(file.absolute().relative_to(top).as_posix()).lower() in {name.lower() for name in names}
    except FileNotFoundError:
        return False  # nothing was added to it yet
    except (OSError, ValueError, IndexError):
        return True


def _index_names(data: bytes) -> set[bytes]:
    """Return the names of the files in a git index (gitformat-index). Raises ValueError and IndexError."""
    version, count = int.from_bytes(data[4:8]), int.from_bytes(data[8:12])
    if data[:4] != b"DIRC" or version not in {2, 3, 4}:
        raise ValueError("no index that is known here")
    names, name, at = set[bytes](), b"", 12
    for _ in range(count):
        is_extended = version > 2 and data[at + _ENTRY - 2] & 0x40
        start = at + _ENTRY + (2 if is_extended else 0)
        dropped = len(name)
        if version == 4:  # the name goes on from the one before, less this many letters
            dropped = data[start] & 0x7F
            while data[start] & 0x80:
                start += 1
                dropped = ((dropped + 1) << 7) | (data[start] & 0x7F)
            start += 1
        end = data.index(b"\0", start)
        name = name[: len(name) - dropped] + data[start:end]
        names.add(name)
        at = end + 1 if version == 4 else at + (end - at + 8) // 8 * 8
    # What was misread (a repository with longer hashes) does not end exactly at the checksum.
    while at < len(data) - _CHECKSUM:
        if data[at : at + 4] in _ELSEWHERE:
            raise ValueError("names stand elsewhere, too")
        at += 8 + int.from_bytes(data[at + 4 : at + 8])
    if at != len(data) - _CHECKSUM:
        raise ValueError("no index that is known here")
    return names
