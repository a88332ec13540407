"""The files that code saved for later runs in its conversation. Every call may raise StoreError.

Rules
  A file belongs to its conversation, and to the readers of what it was made from: to those of the place, unless it was
  drawn from something narrower (`drawn_from`). Then it is for the asker who made it, and for readers of both.
  It falls with each message that it was made from: with the question in whose turn it was saved, with the messages
  whose files or words it was computed from, and with those of the files that it was computed from.
  All files of a run are stored at once, when it has ended. A call whose process is killed after that, before its result
  is stored, is run again: by `call` it finds that it did run, so that what it appended is not appended twice.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final, Protocol

from agent.memory.audience import WIDE

MAX_BYTES: Final = 20_000_000  # Of one conversation: the oldest files go first
MAX_SAVED: Final = 200  # Files of one conversation, however small
IDLE: Final = timedelta(days=7)  # Without a run that had them, files are deleted


@dataclass(frozen=True, slots=True)
class FileSource:
    """A message that a file was made from. `asked`: it is the question of a turn that saved the file, or one that the
    file was computed from. `attached`: the names of the message's own files that it was computed from.
    """

    message: int
    asked: bool = False
    attached: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SavedFile:
    """`name`: its path in the folder of results, as in "2026/july.csv". `audience`: the label of its place;
    `drawn_from`: see `agent.memory.audience`. `documents`: the ids of stored documents that it was made from. `call`:
    see `FileChanges`.
    """

    id: int
    name: str
    data: bytes = field(repr=False)
    audience: str
    drawn_from: str = WIDE
    sources: tuple[FileSource, ...] = ()
    documents: tuple[int, ...] = ()
    call: str = ""


@dataclass(frozen=True, slots=True)
class FileChanges:
    """What one run changed in the files of its conversation.

    `person`: the id of the asker. `written`: names and contents; `used`: the ids of the files that the run had;
    `replaced`: those of them that the written ones replace, or that the code removed. `call`: names the turn and the
    call, "" for none.
    """

    conversation: str
    person: str
    audience: str
    drawn_from: str
    written: Sequence[tuple[str, bytes]] = field(repr=False)
    used: frozenset[int] = frozenset()
    replaced: frozenset[int] = frozenset()
    sources: tuple[FileSource, ...] = ()
    documents: tuple[int, ...] = ()
    call: str = ""


@dataclass(frozen=True, slots=True)
class ListedFile:
    """A saved file in an export. `size`: in bytes; `data`: None if it did not fit."""

    conversation: str
    name: str
    audience: str
    saved: datetime
    size: int
    data: bytes | None = field(default=None, repr=False)


class SavedFiles(Protocol):
    """The files that code saved, by conversation."""

    async def readable(
        self, conversation: str, audiences: frozenset[str], person: str, now: datetime
    ) -> list[SavedFile]:
        """Return the files of a conversation that may be used in a reply to these audiences, and those that the person
        made there, the newest first.
        """
        ...

    async def save(self, changes: FileChanges, now: datetime) -> bool:
        """Store what a run changed. False if a message or document that it was made from is gone: nothing is stored."""
        ...

    async def remove(self, ids: frozenset[int]) -> None:
        """Delete these files."""
        ...


class SavedFilesOfPeople(Protocol):
    """The files that code saved, by the person who asked."""

    async def of_person(
        self, person: str, audiences: frozenset[str], now: datetime, *, limit: int, max_bytes: int
    ) -> list[ListedFile]:
        """Return the newest files that a person's questions saved, in all conversations, as far as they may be shown to
        these audiences: at most `limit`, with contents of at most `max_bytes` in all.
        """
        ...
