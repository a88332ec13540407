"""What stands in a plug-in's folder: its files, and nothing outside of it; and the skills among them.

The rules.
- A path is followed name by name, each exactly as its folder lists it. So "..", absolute paths, other cases and a
  system's names for devices lead nowhere: no folder lists them.
- A link may lead to a place within the folder. What is opened is what was judged: the way to it is walked from the
  folder without following a link, so that one put there meanwhile ends the walk.
- Only regular files are read, to a limit; a pipe or a device is not even opened.
- Folders that are too full, and trees that are too deep, are not gone through: each limit has its sentence.
"""

import asyncio
import json
import os
import re
import stat
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, NoReturn, TypeAlias

import yaml

from agent.errors import ToolError
from agent.messages import Json, is_too_deep
from agent.tools.skill import INSTRUCTIONS, MAX_FILES_NAMED, MAX_SKILLS, Skill

MAX_PATH_CHARS: Final = 400
MAX_NAMES: Final = 12  # Of a path within a plug-in: the form needs four, and skills are asked to stay one below that
MAX_ENTRIES: Final = 2_000  # Of one folder
MAX_WALKED: Final = 2_000  # Files and folders that a listing goes through
MAX_JSON_DEPTH: Final = 32
# Besides what begins with a dot: folders of thousands of files that nobody wrote for a model.
SKIPPED: Final = frozenset({"node_modules", "__pycache__"})
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


# Skills: folders with a `SKILL.md`, as agentskills.io describes them.
#
# The rules.
# - The head of `SKILL.md` is YAML between two lines of `---`. It is read as a tree of texts: no value is built from it,
#   an alias is refused, and its size and depth are bounded before it is read.
# - A skill that does not conform is left out, with its line and what to change; the others stay. What the form does not
#   know is passed over with a note.
# - `allowed-tools` is not obeyed: which tool may do what is the operator's to say, outside of a skill.

SKILLS: Final = "skills"
MAX_NAME: Final = 64
MAX_DESCRIPTION: Final = 1_024
MAX_COMPATIBILITY: Final = 500
MAX_HEAD_CHARS: Final = 16_000  # Of the YAML: every field at its longest, and room for metadata
MAX_HEAD_DEPTH: Final = 4
# About fourteen pages of a model's largest result are read; what is longer is no text for a model.
MAX_FILE_BYTES: Final = 1_000_000
MAX_FILE_DEPTH: Final = 4
KNOWN: Final = frozenset({"name", "description", "license", "compatibility", "metadata", "allowed-tools"})
NOT_OBEYED: Final = "allowed-tools"


@dataclass(frozen=True, slots=True)
class SkillHead:
    """What stands between the lines of `---`. `notes`: what is passed over in it."""

    name: str
    description: str
    body: str
    notes: tuple[PluginFault, ...] = ()


def find_skills(folder: PluginFolder, plugin: str) -> tuple[list[Skill], list[PluginFault], list[PluginFault]]:
    """The skills of a plug-in, why others of it are none, and what is passed over."""
    skills: list[Skill] = []
    faults: list[PluginFault] = []
    notes: list[PluginFault] = []
    if not folder.has(SKILLS):
        return skills, faults, notes
    try:
        if not folder.is_folder(SKILLS):
            refuse(SKILLS, "is no folder, so there are no skills")
        names = folder.names(SKILLS)
    except PluginFault as fault:
        return skills, [fault], notes
    for name in names:
        path = f"{SKILLS}/{name}"
        try:
            if name.startswith(".") or not folder.is_folder(path) or not folder.has(f"{path}/{INSTRUCTIONS}"):
                continue
            if len(skills) == MAX_SKILLS:
                refuse(path, f"is left out: a plug-in may have {MAX_SKILLS} skills")
            head = read_head(folder, path)
        except PluginFault as fault:
            faults.append(fault)
            continue
        notes += head.notes
        reader = _SkillReader(folder, path)
        skills.append(Skill(head.name, head.description, plugin, reader.read, reader.files))
    return skills, faults, notes


def read_head(folder: PluginFolder, path: str) -> SkillHead:
    """The `SKILL.md` of the skill in the folder `path`. Raises PluginFault."""
    file = f"{path}/{INSTRUCTIONS}"
    return parse_skill(folder.text(file, MAX_FILE_BYTES), file, path.rpartition("/")[2])


def parse_skill(text: str, file: str, folder_name: str) -> SkillHead:
    """The skill that `text` describes. `file` is named in what is wrong with it. Raises PluginFault."""
    first, _, rest = text.partition("\n")
    if first.rstrip() != "---":
        raise PluginFault(file, "must begin with a line of three hyphens, and its name and description below it", 1)
    head, body = _divided(rest, file)
    fields = dict[str, tuple[yaml.Node, int]]()
    for key, value, line in _fields(head, file):
        if key in fields:
            raise PluginFault(file, f"has {key[:40]!r} twice", line)
        fields[key] = value, line
    name = _text(fields, "name", MAX_NAME, file)
    name_line = fields["name"][1]
    name = unicodedata.normalize("NFKC", name)
    if not all(sign.isalnum() or sign == "-" for sign in name) or name != name.lower():
        raise PluginFault(file, "the name may hold small letters, digits and single hyphens only", name_line)
    if name.startswith("-") or name.endswith("-") or "--" in name:
        raise PluginFault(file, "the name may neither begin nor end with a hyphen, nor have two in a row", name_line)
    if name != unicodedata.normalize("NFKC", folder_name):
        raise PluginFault(file, f"the name is {name!r}, and must be that of its folder, {folder_name!r}", name_line)
    description = _text(fields, "description", MAX_DESCRIPTION, file)
    if "compatibility" in fields:
        _text(fields, "compatibility", MAX_COMPATIBILITY, file)
    notes = [
        PluginFault(file, f"{key[:40]!r} is not known, and passed over", fields[key][1])
        for key in fields.keys() - KNOWN
    ]
    if NOT_OBEYED in fields:
        said = f"{NOT_OBEYED!r} is not obeyed: a skill allows nothing by itself"
        notes.append(PluginFault(file, said, fields[NOT_OBEYED][1]))
    return SkillHead(name, description, body, tuple(sorted(notes, key=str)))


def _divided(rest: str, file: str) -> tuple[str, str]:
    """The head, and what stands below it."""
    end = 0
    for line in rest[: MAX_HEAD_CHARS + 4].splitlines(keepends=True):
        if line.rstrip() == "---":
            return rest[:end], rest[end + len(line) :].strip("\n")
        end += len(line)
    if len(rest) > MAX_HEAD_CHARS:
        raise PluginFault(file, f"has no second line of three hyphens within {MAX_HEAD_CHARS:,} characters", 1)
    raise PluginFault(file, "has no second line of three hyphens, which ends name and description", 1)


def _fields(head: str, file: str) -> Iterator[tuple[str, yaml.Node, int]]:
    """Each field with the line of the file in which it stands."""
    try:
        depth = 0
        for event in yaml.parse(head, yaml.SafeLoader):  # event by event: bounded, however the head is written
            line = 2 if event.start_mark is None else event.start_mark.line + 2
            if isinstance(event, yaml.AliasEvent) or getattr(event, "anchor", None):
                raise PluginFault(file, "uses an anchor or an alias of YAML: write it out", line)
            depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
            if depth > MAX_HEAD_DEPTH:
                raise PluginFault(file, f"has more than {MAX_HEAD_DEPTH} mappings and lists in each other", line)
        node = yaml.compose(head, yaml.SafeLoader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = 2 if mark is None else mark.line + 2
        problem = f"is no YAML: {(error.problem or '')[:100]}; a text with a colon in it needs quotes"
        raise PluginFault(file, problem, line) from None
    except yaml.YAMLError:  # a sign that YAML does not allow
        raise PluginFault(file, "holds a sign that YAML does not allow between its two lines of hyphens", 2) from None
    if not isinstance(node, yaml.MappingNode):
        raise PluginFault(file, "needs a name and a description, as in `name: report`", 2)
    for key, value in node.value:
        line = key.start_mark.line + 2
        if not isinstance(key, yaml.ScalarNode):
            raise PluginFault(file, "has a field whose name is no text", line)
        yield str(key.value), value, line


def _text(fields: dict[str, tuple[yaml.Node, int]], key: str, most: int, file: str) -> str:
    if key not in fields:
        raise PluginFault(file, f"has no {key}", 1)
    node, line = fields[key]
    if not isinstance(node, yaml.ScalarNode):
        raise PluginFault(file, f"the {key} must be a text", line)
    text = str(node.value).strip()
    if not text:
        raise PluginFault(file, f"the {key} is empty", line)
    if len(text) > most:
        raise PluginFault(file, f"the {key} has {len(text):,} characters; {most:,} at most", line)
    return text


class _SkillReader:
    """The files of one skill, read when they are asked for: a change counts at once."""

    def __init__(self, folder: PluginFolder, path: str) -> None:
        self._folder = folder
        self._path = path

    async def read(self, file: str) -> str:
        return await asyncio.to_thread(self._read, file)

    async def files(self) -> tuple[Sequence[str], bool]:
        return await asyncio.to_thread(self._files)

    def _read(self, file: str) -> str:
        try:
            if file == INSTRUCTIONS:
                return read_head(self._folder, self._path).body
            return self._folder.text(f"{self._path}/{file}", MAX_FILE_BYTES)
        except PluginFault as fault:
            where = fault.where.removeprefix(f"{self._path}/")
            raise ToolError(
                f"{where[:200]}: {fault.what}", "the skill names its files when it is read", ours=True
            ) from None

    def _files(self) -> tuple[Sequence[str], bool]:
        try:
            listing = self._folder.files(self._path, MAX_FILES_NAMED + 1, MAX_FILE_DEPTH)
        except PluginFault:
            return (), False
        return [name for name, _ in listing.files if name != INSTRUCTIONS and name.isprintable()], listing.is_whole


def named_apart(skills: Sequence[Skill]) -> Iterator[tuple[Skill, Skill | None]]:
    """Each skill under a name of its own, with the one that it shared it with before: the first keeps its name."""
    taken: dict[str, Skill] = {}
    for skill in skills:
        first = taken.get(skill.name)
        name = skill.name if first is None else f"{skill.plugin}/{skill.name}"
        taken[name] = Skill(name, skill.description, skill.plugin, skill.read, skill.files)
        yield taken[name], first
