"""The files of folders that an operator adds as documents: which they are, and what each document is called.

Rules
  A file of a folder is called by its path, from the folder's own name on ("handbook/guides/setup.md"), so that two
  files of one name stay two documents, and another run finds each again. A file that is named itself keeps its own
  name, as with `/learn`.
  Left out are hidden files and folders, links that lead out of the folder or to a file that is read anyway, and kinds
  of files that have no text to learn. What is named itself is read, even if it is hidden.
  Links to folders end, because no folder is read twice.
"""

import glob
import stat
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from hashlib import sha256
from pathlib import Path
from typing import Final

from agent.errors import Refused
from agent.memory.documents import MAX_NAME_CHARS
from bot.chat.attachments.kinds import announced, plain_line
from bot.chat.attachments.reading import NO_DOCUMENTS
from bot.knowledge import texts as knowledge_texts

MAX_FILES: Final = 10_000  # Ten times what a place holds: more is a disk, and not a handbook
_LOCKS: Final = "~$"  # What office programs write beside an open file


class LeftOut(StrEnum):
    """Why a file is left out; the value completes "3 …"."""

    HIDDEN = "hidden"
    EMPTY = "empty"
    LINK = "linked (outside the folder, or read anyway)"
    KIND = "without text (such as pictures)"


@dataclass(frozen=True, slots=True)
class FoundFile:
    """`name`: of the document; `path`: where it is read; `fault`: why it cannot be learned, known before it is read."""

    name: str
    path: Path
    fault: str = ""


@dataclass(frozen=True, slots=True)
class FoundFiles:
    """`folders`: what the names of all their documents begin with, as "handbook/". `unread`: folders that could not be
    listed, with the reason.
    """

    files: Sequence[FoundFile]
    folders: Sequence[str] = ()
    left_out: Mapping[LeftOut, int] = field(default_factory=dict[LeftOut, int])
    unread: Sequence[tuple[str, str]] = ()


def find_files(paths: Sequence[str], *, most: int = MAX_FILES) -> FoundFiles:
    """Return the files of these folders, files and patterns ("docs/*.md"). Raises Refused if one of them is not there,
    or if there are more than `most`.
    """
    search = _Search(most)
    for text in paths:
        for path in _paths_of(text):
            if path.is_dir():
                search.add_folder(path)
            else:
                search.add_file(path.name, path)
    return search.found()


def _paths_of(text: str) -> list[Path]:
    """The paths that a text names: itself, or those that match it as a pattern, where no shell has replaced it."""
    try:
        path = Path(text).expanduser()
        if path.exists():
            return [path.absolute()]
        matches = sorted(glob.glob(str(path), recursive=True))  # noqa: PTH207 -- a pattern may be absolute
    except (OSError, RuntimeError, ValueError):
        matches = []
    if not matches:
        reason = knowledge_texts.NOTHING_MATCHES if glob.has_magic(text) else knowledge_texts.NO_SUCH_PATH
        raise Refused(reason.format(path=text))
    return [Path(match).absolute() for match in matches]


class _Search:
    def __init__(self, most: int) -> None:
        self._most = most
        self._files = dict[str, FoundFile]()
        self._same_name = list[FoundFile]()
        self._read = set[Path]()
        self._folders_read = set[Path]()
        self._folders = list[str]()
        self._left_out = Counter[LeftOut]()
        self._unread = list[tuple[str, str]]()

    def found(self) -> FoundFiles:
        return FoundFiles(
            [*self._files.values(), *self._same_name], self._folders, dict(self._left_out), tuple(self._unread)
        )

    def add_file(self, name: str, path: Path) -> None:
        real, name = path.resolve(), document_name(name)
        if announced(real.name, "") in NO_DOCUMENTS:
            self._left_out[LeftOut.KIND] += 1
            return
        if real.is_file() and not real.stat().st_size:
            self._left_out[LeftOut.EMPTY] += 1
            return
        known = self._files.get(name)
        if known is not None and known.path == real:
            return
        self._read.add(real)
        if known is not None:
            self._same_name.append(FoundFile(name, real, knowledge_texts.SAME_NAME))
        else:
            self._files[name] = FoundFile(name, real)
        if len(self._files) + len(self._same_name) > self._most:
            raise Refused(knowledge_texts.TOO_MANY_FILES.format(most=f"{self._most:,}"))

    def add_folder(self, folder: Path) -> None:
        # The name as it was typed, not that of what a link leads to: tools that fetch a repository move the link.
        root, prefix = folder.resolve(), folder.name or "files"
        self._folders.append(f"{prefix}/")
        links = list(self._files_below(prefix, root))
        while links:  # after all else, so that a link to a file that is read anyway is known as such
            name, link = links.pop(0)
            try:
                target = link.resolve(strict=True)
            except (OSError, RuntimeError):  # it leads nowhere, or to itself
                target = root.parent
            if not target.is_relative_to(root) or target in (self._read | self._folders_read):
                self._left_out[LeftOut.LINK] += 1
            elif target.is_dir():
                links += self._files_below(name, target)
            elif target.is_file():
                self.add_file(name, target)

    def _files_below(self, name: str, folder: Path) -> Iterator[tuple[str, Path]]:
        """Add the files below a folder, in order; yield its links, with their names."""
        waiting = [(name, folder)]
        while waiting:
            name, folder = waiting.pop()
            if folder in self._folders_read:
                continue
            self._folders_read.add(folder)
            try:
                entries = sorted(folder.iterdir(), reverse=True)
            except OSError as error:
                self._unread.append((name, error.strerror or type(error).__name__))
                continue
            inner = list[tuple[str, Path]]()
            for entry in reversed(entries):
                entry_name = f"{name}/{entry.name}"
                if is_hidden(entry):
                    self._left_out[LeftOut.HIDDEN] += 1
                elif entry.is_symlink():
                    yield entry_name, entry
                elif entry.is_dir():
                    inner.append((entry_name, entry))
                elif entry.is_file():  # reading a pipe or a device could block
                    self.add_file(entry_name, entry)
            waiting += reversed(inner)


def is_hidden(path: Path) -> bool:
    if path.name.startswith((".", _LOCKS)):
        return True
    try:  # as Windows marks it
        return bool(getattr(path.lstat(), "st_file_attributes", 0) & stat.FILE_ATTRIBUTE_HIDDEN)
    except OSError:
        return False


def document_name(name: str) -> str:
    """Return a file's name as that of a document: one line, shortened after its folder's name if it is too long."""
    line = plain_line(name)
    if len(line) <= MAX_NAME_CHARS:
        return line or "document"
    folder, separator, rest = line.partition("/")
    head = f"{folder}{separator}" if separator and len(folder) < MAX_NAME_CHARS // 2 else ""
    # Two long paths with one end are two documents: a few signs of the whole path keep them apart.
    mark = f"…{sha256(name.encode(errors='replace')).hexdigest()[:8]}…"
    tail = rest if head else line
    return f"{head}{mark}{tail[len(tail) - (MAX_NAME_CHARS - len(head) - len(mark)) :]}"
