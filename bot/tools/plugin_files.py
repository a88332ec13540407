"""Reading the files of a plug-in, and nothing outside of its folder.

The rules.
- A path is followed name by name, each exactly as its folder lists it. So "..", absolute paths, other cases and a
  system's names for devices lead nowhere: no folder lists them.
- A link may lead to a place within the folder. What is opened is what was judged: the way to it is walked from the
  folder without following a link, so that one put there meanwhile ends the walk.
- Only regular files are read, to a limit; a pipe or a device is not even opened.
- Folders that are too full, and trees that are too deep, are not gone through: each limit has its sentence.
"""

import json
import os
import re
import stat
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final, NoReturn, TypeAlias

from agent.messages import Json, is_too_deep

MAX_PATH_CHARS: Final = 400
MAX_NAMES: Final = 12
"""Of a path within a plug-in: the form needs four, and skills are asked to stay one below that."""
MAX_ENTRIES: Final = 2_000
"""Of one folder."""
MAX_WALKED: Final = 2_000
"""Files and folders that a listing goes through."""
MAX_JSON_DEPTH: Final = 32
SKIPPED: Final = frozenset({"node_modules", "__pycache__"})
"""Besides what begins with a dot: folders of thousands of files that nobody wrote for a model."""
_OPENING: Final = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
_NO_LINK: Final = _OPENING | getattr(os, "O_NOFOLLOW", 0)
_JSON_TOKEN: Final = re.compile(r'"(?:[^"\\]|\\.)*+"?|[\[\]{},:\n]')

JsonPath: TypeAlias = tuple[str | int, ...]


class PluginFault(Exception):
    """Why something of a plug-in is not used: `where` is its file, with a line where that is known, `what` a sentence
    without a stop.
    """

    def __init__(self, where: str, what: str, line: int | None = None) -> None:
        self.where = where if line is None else f"{where}:{line}"
        self.what = what
        super().__init__(f"{self.where}: {what}")


def refuse(where: str, what: str) -> NoReturn:
    raise PluginFault(where, what)


@dataclass(frozen=True, slots=True)
class Listing:
    """The files below a folder, by their paths from there, with their bytes. `is_whole`: no limit ended it."""

    files: tuple[tuple[str, int], ...]
    is_whole: bool


class PluginFolder:
    """A plug-in's folder. Paths are written with "/" and start at the folder: "skills/report/SKILL.md"."""

    def __init__(self, root: Path) -> None:
        """Raises PluginFault if there is no such folder."""
        try:
            self.root = Path(os.path.realpath(root, strict=True))
        except (OSError, ValueError):
            raise PluginFault(str(root), "there is no such folder") from None
        if not self.root.is_dir():
            raise PluginFault(str(root), "is no folder")

    def names(self, path: str = "") -> list[str]:
        """What a folder lists, in order."""
        return self._listed(self._resolved(path), path)

    def has(self, path: str) -> bool:
        """Whether something is listed under this name, of whatever kind and wherever it leads."""
        parent, _, name = path.rpartition("/")
        try:
            return name in self.names(parent)
        except PluginFault:
            return False

    def is_folder(self, path: str) -> bool:
        return self._resolved(path).is_dir()

    def is_file(self, path: str) -> bool:
        return self._resolved(path).is_file()

    def resolve(self, path: str) -> Path:
        """Where it really is, within the folder."""
        return self._resolved(path)

    def text(self, path: str, limit: int) -> str:
        """The text of a file of at most `limit` bytes."""
        content = self._bytes(path, limit)
        try:
            text = content.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            line = content.count(b"\n", 0, error.start) + 1
            raise PluginFault(path, "is no text in UTF-8", line) from None
        if "\0" in text:
            raise PluginFault(path, "is no text: it holds zero bytes")
        return text.replace("\r\n", "\n").replace("\r", "\n")

    def json(self, path: str, limit: int) -> tuple[Json, Mapping[JsonPath, int]]:
        """What a JSON file says, and the line of each field."""
        text = self.text(path, limit)
        if is_too_deep(text, MAX_JSON_DEPTH):
            raise PluginFault(path, f"has more than {MAX_JSON_DEPTH} objects and lists in each other")
        try:
            return json.loads(text, parse_constant=_no_constant), json_lines(text)
        except json.JSONDecodeError as error:
            raise PluginFault(path, f"is no JSON: {error.msg[:100]}, in column {error.colno}", error.lineno) from None
        except ValueError:  # NaN, Infinity, or a number of thousands of digits
            raise PluginFault(path, "holds a number that JSON does not have") from None

    def files(self, path: str, limit: int, depth: int) -> Listing:
        """The first files below a folder, not deeper than so many folders; none that a link leads to."""
        start = self._resolved(path)
        found: list[tuple[str, int]] = []
        walked, is_whole = 0, True
        waiting = [(start, "", depth)]
        while waiting:
            folder, below, left = waiting.pop(0)
            for name in self._listed(folder, path):
                walked += 1
                if len(found) >= limit or walked > MAX_WALKED:
                    return Listing(tuple(found), is_whole=False)
                if name.startswith(".") or name in SKIPPED:
                    continue
                try:
                    status = (folder / name).stat(follow_symlinks=False)
                except OSError:
                    continue
                if stat.S_ISREG(status.st_mode):
                    found.append((f"{below}{name}", status.st_size))
                elif stat.S_ISDIR(status.st_mode) and left:
                    waiting.append((folder / name, f"{below}{name}/", left - 1))
                elif stat.S_ISDIR(status.st_mode):
                    is_whole = False
        return Listing(tuple(found), is_whole)

    def _resolved(self, path: str) -> Path:
        if not path:
            return self.root
        names = path.split("/")
        if len(path) > MAX_PATH_CHARS or len(names) > MAX_NAMES:
            raise PluginFault(path[:80], f"is no path here: {MAX_NAMES} names and {MAX_PATH_CHARS} characters at most")
        here = self.root
        for name in names:
            if name not in self._listed(here, path):
                raise PluginFault(path, "there is no such file")
            try:
                here = Path(os.path.realpath(here / name, strict=True))
            except (OSError, ValueError):
                raise PluginFault(path, "is a link that leads nowhere") from None
            if not here.is_relative_to(self.root):
                raise PluginFault(path, "leads out of the plug-in's folder, so it is not read")
        return here

    def _listed(self, folder: Path, path: str) -> list[str]:
        names: list[str] = []
        try:
            with os.scandir(folder) as entries:
                for entry in entries:
                    if len(names) == MAX_ENTRIES:
                        raise PluginFault(path or ".", f"lies in a folder with more than {MAX_ENTRIES:,} entries")
                    names.append(entry.name)
        except NotADirectoryError:
            return []
        except OSError as error:
            raise PluginFault(path or ".", f"cannot be read ({error.strerror})") from None
        return sorted(names)

    def _bytes(self, path: str, limit: int) -> bytes:
        real = self._resolved(path)
        try:
            # Before it is opened: to open a pipe or a device may already do something.
            if not stat.S_ISREG(real.stat(follow_symlinks=False).st_mode):
                refuse(path, "is no regular file")
            with os.fdopen(self._opened(real), "rb") as file:
                status = os.fstat(file.fileno())
                if not stat.S_ISREG(status.st_mode):
                    refuse(path, "is no regular file")
                content = file.read(limit + 1) if status.st_size <= limit else b""
        except OSError as error:
            raise PluginFault(path, f"cannot be read ({error.strerror})") from None
        if status.st_size > limit or len(content) > limit:
            raise PluginFault(path, f"has {max(status.st_size, len(content)):,} bytes; {limit:,} at most")
        return content

    def _opened(self, real: Path) -> int:
        """A descriptor of a file whose way holds no link."""
        if os.open not in os.supports_dir_fd:
            return os.open(real, _NO_LINK)
        *folders, name = real.relative_to(self.root).parts
        here = os.open(self.root, _NO_LINK)
        try:
            for folder in folders:
                below = os.open(folder, _NO_LINK, dir_fd=here)
                os.close(here)
                here = below
            return os.open(name, _NO_LINK, dir_fd=here)
        finally:
            os.close(here)


def json_lines(text: str) -> Mapping[JsonPath, int]:
    """The line of each field of a JSON text, under the names and numbers that lead to it."""
    return dict(_json_lines(text))


def _json_lines(text: str) -> Iterator[tuple[JsonPath, int]]:
    line, path, is_key = 1, list[str | int](), False
    for found in _JSON_TOKEN.finditer(text):
        match found[0]:
            case "\n":
                line += 1
            case "{" | "[" as opening:
                if len(path) == MAX_JSON_DEPTH:
                    return  # nobody reads what is nested more deeply
                path.append("" if opening == "{" else 0)
                is_key = opening == "{"
            case "}" | "]":
                path.pop()
            case ",":
                last = path[-1]
                is_key = isinstance(last, str)
                if isinstance(last, int):
                    path[-1] = last + 1
            case ":":
                is_key = False
            case name if is_key:
                path[-1] = str(json.loads(name))
                yield tuple(path), line
            case _:
                pass


def line_of(lines: Mapping[JsonPath, int], path: JsonPath) -> int:
    """The line of a field, or of the nearest one that holds it."""
    return next((lines[path[:end]] for end in range(len(path), 0, -1) if path[:end] in lines), 1)


def _no_constant(name: str) -> Json:
    raise ValueError(name)
