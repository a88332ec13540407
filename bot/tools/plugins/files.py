"""Reads the files of a plug-in's folder, and nothing outside of it; and the skills among them.

Rules.
- A path is resolved name by name, and each name must be listed by its folder exactly. So "..", absolute paths, other
  cases and a system's device names are not found: no folder lists them.
- A link may lead to a place within the folder. A checked file is opened by walking from the folder without following
  links, so that a link which is created after the check is an error.
- Only regular files are read, up to a limit; a pipe or a device is not even opened.
- The entries of a folder and the depth of a tree are limited; each limit has its own error.
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
from typing import TYPE_CHECKING, Final, NoReturn, TypeAlias

from agent.errors import ToolError
from agent.messages import Json, is_too_deep
from agent.tools.skill import INSTRUCTIONS, MAX_FILES_NAMED, MAX_SKILLS, Skill

if TYPE_CHECKING:
    import yaml

MAX_PATH_CHARS: Final = 400
MAX_NAMES: Final = 12  # Of a path within a plug-in: the format needs four, and its guide for skills asks for fewer
MAX_ENTRIES: Final = 2_000  # Of one folder
MAX_WALKED: Final = 2_000  # Files and folders that a listing visits
MAX_JSON_DEPTH: Final = 32
# Besides names that begin with a dot: folders with thousands of files that are not for a model.
SKIPPED: Final = frozenset({"node_modules", "__pycache__"})
_OPENING: Final = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
_NO_LINK: Final = _OPENING | getattr(os, "O_NOFOLLOW", 0)
_JSON_TOKEN: Final = re.compile(r'"(?:[^"\\]|\\.)*+"?|[\[\]{},:\n]')

JsonPath: TypeAlias = tuple[str | int, ...]


class PluginFault(Exception):
    """Why a part of a plug-in is not used. `where`: its file, with the line if known. `what`: a sentence without a full
    stop.
    """

    def __init__(self, where: str, what: str, line: int | None = None) -> None:
        self.where = where if line is None else f"{where}:{line}"
        self.what = what
        super().__init__(f"{self.where}: {what}")


def refuse(where: str, what: str) -> NoReturn:
    raise PluginFault(where, what)


@dataclass(frozen=True, slots=True)
class Listing:
    """The files below a folder: relative paths and sizes in bytes. `is_whole`: no limit was reached."""

    files: tuple[tuple[str, int], ...]
    is_whole: bool


class PluginFolder:
    """A plug-in's folder. Paths are relative to it, with "/": "skills/report/SKILL.md". Methods raise PluginFault."""

    def __init__(self, root: Path) -> None:
        """Raises PluginFault if there is no such folder."""
        try:
            self.root = Path(os.path.realpath(root, strict=True))
        except (OSError, ValueError):
            raise PluginFault(str(root), "the folder does not exist") from None
        if not self.root.is_dir():
            raise PluginFault(str(root), "is not a folder")

    def names(self, path: str = "") -> list[str]:
        """Return the names in a folder, sorted."""
        return self._list(self.resolve(path), path)

    def has(self, path: str) -> bool:
        """Whether the folder of `path` lists its last name, also as a link that leads outside. Never raises."""
        parent, _, name = path.rpartition("/")
        try:
            return name in self.names(parent)
        except PluginFault:
            return False

    def is_folder(self, path: str) -> bool:
        return self.resolve(path).is_dir()

    def is_file(self, path: str) -> bool:
        return self.resolve(path).is_file()

    def text(self, path: str, limit: int) -> str:
        """Return the text of a file of up to `limit` bytes."""
        content = self._bytes(path, limit)
        try:
            text = content.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            line = content.count(b"\n", 0, error.start) + 1
            raise PluginFault(path, "is not UTF-8 text", line) from None
        if "\0" in text:
            raise PluginFault(path, "is not text: it contains NUL bytes")
        return text.replace("\r\n", "\n").replace("\r", "\n")

    def json(self, path: str, limit: int) -> tuple[Json, Mapping[JsonPath, int]]:
        """Return the content of a JSON file, and the line of each field."""
        text = self.text(path, limit)
        if is_too_deep(text, MAX_JSON_DEPTH):
            raise PluginFault(path, f"nests objects and lists more than {MAX_JSON_DEPTH} levels deep")
        try:
            return json.loads(text, parse_constant=_refuse_constant), json_lines(text)
        except json.JSONDecodeError as error:
            raise PluginFault(
                path, f"is not valid JSON: {error.msg[:100]}, column {error.colno}", error.lineno
            ) from None
        except ValueError:  # NaN, Infinity, or a number of thousands of digits
            raise PluginFault(path, "contains NaN, Infinity or a number with too many digits") from None

    def files(self, path: str, limit: int, depth: int) -> Listing:
        """Return the first `limit` files below a folder, up to `depth` folders deep, without links."""
        files: list[tuple[str, int]] = []
        walked, is_whole = 0, True
        queue = [(self.resolve(path), "", depth)]
        while queue:
            folder, prefix, levels = queue.pop(0)
            for name in self._list(folder, path):
                walked += 1
                if len(files) >= limit or walked > MAX_WALKED:
                    return Listing(tuple(files), is_whole=False)
                if name.startswith(".") or name in SKIPPED:
                    continue
                try:
                    status = (folder / name).stat(follow_symlinks=False)
                except OSError:
                    continue
                if stat.S_ISREG(status.st_mode):
                    files.append((f"{prefix}{name}", status.st_size))
                elif stat.S_ISDIR(status.st_mode) and levels:
                    queue.append((folder / name, f"{prefix}{name}/", levels - 1))
                elif stat.S_ISDIR(status.st_mode):
                    is_whole = False
        return Listing(tuple(files), is_whole)

    def resolve(self, path: str) -> Path:
        """Return the real path, which is within the folder."""
        if not path:
            return self.root
        names = path.split("/")
        if len(path) > MAX_PATH_CHARS or len(names) > MAX_NAMES:
            raise PluginFault(
                path[:80], f"is a path that is too long: at most {MAX_NAMES} names and {MAX_PATH_CHARS} characters"
            )
        real = self.root
        for name in names:
            if name not in self._list(real, path):
                raise PluginFault(path, "the file does not exist")
            try:
                real = Path(os.path.realpath(real / name, strict=True))
            except (OSError, ValueError):
                raise PluginFault(path, "is a broken link") from None
            if not real.is_relative_to(self.root):
                raise PluginFault(path, "points outside the plug-in's folder, so it is not read")
        return real

    def _list(self, folder: Path, path: str) -> list[str]:
        names: list[str] = []
        try:
            with os.scandir(folder) as entries:
                for entry in entries:
                    if len(names) == MAX_ENTRIES:
                        raise PluginFault(path or ".", f"is in a folder with more than {MAX_ENTRIES:,} entries")
                    names.append(entry.name)
        except NotADirectoryError:
            return []
        except OSError as error:
            raise PluginFault(path or ".", f"could not be read ({error.strerror})") from None
        return sorted(names)

    def _bytes(self, path: str, limit: int) -> bytes:
        real = self.resolve(path)
        try:
            # Checked before opening, as opening a pipe or a device may already have an effect.
            if not stat.S_ISREG(real.stat(follow_symlinks=False).st_mode):
                refuse(path, "is not a regular file")
            with os.fdopen(self._open(real), "rb") as file:
                status = os.fstat(file.fileno())
                if not stat.S_ISREG(status.st_mode):
                    refuse(path, "is not a regular file")
                content = file.read(limit + 1) if status.st_size <= limit else b""
        except OSError as error:
            raise PluginFault(path, f"could not be read ({error.strerror})") from None
        if status.st_size > limit or len(content) > limit:
            raise PluginFault(path, f"has {max(status.st_size, len(content)):,} bytes; the limit is {limit:,}")
        return content

    def _open(self, real: Path) -> int:
        """Return a descriptor of a file, opened without following links on its path."""
        if os.open not in os.supports_dir_fd:
            return os.open(real, _NO_LINK)
        *folders, name = real.relative_to(self.root).parts
        parent = os.open(self.root, _NO_LINK)
        try:
            for folder in folders:
                child = os.open(folder, _NO_LINK, dir_fd=parent)
                os.close(parent)
                parent = child
            return os.open(name, _NO_LINK, dir_fd=parent)
        finally:
            os.close(parent)


def json_lines(text: str) -> Mapping[JsonPath, int]:
    """Return the line of each field of a JSON text, by its path of names and indexes."""
    return dict(_json_lines(text))


def _json_lines(text: str) -> Iterator[tuple[JsonPath, int]]:
    line, path, is_key = 1, list[str | int](), False
    for token in _JSON_TOKEN.finditer(text):
        match token[0]:
            case "\n":
                line += 1
            case "{" | "[" as opening:
                if len(path) == MAX_JSON_DEPTH:
                    return  # deeper fields are refused by `PluginFolder.json`
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
    """Return the line of a field, or of the nearest one that contains it."""
    return next((lines[path[:end]] for end in range(len(path), 0, -1) if path[:end] in lines), 1)


def _refuse_constant(name: str) -> Json:
    raise ValueError(name)


# Skills: folders with a `SKILL.md`, as agentskills.io describes them.
#
# Rules.
# - The head of `SKILL.md` is YAML between two lines of `---`. It is parsed as a tree of texts: no objects are
#   constructed, aliases are refused, and size and depth are limited before it is parsed.
# - An invalid skill is not used; its fault names the line and what to change. Other skills are not affected. Unknown
#   fields are ignored, with a note.
# - `allowed-tools` has no effect: operators decide what tools may do, outside of skills.

SKILLS: Final = "skills"
MAX_NAME: Final = 64
MAX_DESCRIPTION: Final = 1_024
MAX_COMPATIBILITY: Final = 500
MAX_HEAD_CHARS: Final = 16_000  # Of the YAML: every field at its maximum, and room for metadata
MAX_HEAD_DEPTH: Final = 4
NO_CHARACTER: Final = r"has an escape such as \ud800, which does not represent a character: write the character itself"
_SURROGATE: Final = re.compile("[\ud800-\udfff]")
# About fourteen times the largest result of a tool; a longer text is not meant for a model.
MAX_FILE_BYTES: Final = 1_000_000
MAX_FILE_DEPTH: Final = 4
KNOWN: Final = frozenset({"name", "description", "license", "compatibility", "metadata", "allowed-tools"})
NOT_OBEYED: Final = "allowed-tools"


@dataclass(frozen=True, slots=True)
class SkillHead:
    """The head of `SKILL.md`, and its body. `notes`: fields that are ignored."""

    name: str
    description: str
    body: str
    notes: tuple[PluginFault, ...] = ()


def find_skills(folder: PluginFolder, plugin: str) -> tuple[list[Skill], list[PluginFault], list[PluginFault]]:
    """Return the skills of a plug-in, the faults of others, and notes."""
    skills: list[Skill] = []
    faults: list[PluginFault] = []
    notes: list[PluginFault] = []
    if not folder.has(SKILLS):
        return skills, faults, notes
    try:
        if not folder.is_folder(SKILLS):
            refuse(SKILLS, "is not a folder, so no skills were loaded")
        names = folder.names(SKILLS)
    except PluginFault as fault:
        return skills, [fault], notes
    for name in names:
        path = f"{SKILLS}/{name}"
        try:
            if name.startswith(".") or not folder.is_folder(path) or not folder.has(f"{path}/{INSTRUCTIONS}"):
                continue
            if len(skills) == MAX_SKILLS:
                refuse(path, f"is left out: a plug-in can have at most {MAX_SKILLS} skills")
            head = read_head(folder, path)
        except PluginFault as fault:
            faults.append(fault)
            continue
        notes += head.notes
        reader = _SkillReader(folder, path)
        skills.append(Skill(head.name, head.description, plugin, reader.read, reader.files))
    return skills, faults, notes


def read_head(folder: PluginFolder, path: str) -> SkillHead:
    """Read the `SKILL.md` of the skill in the folder `path`. Raises PluginFault."""
    file = f"{path}/{INSTRUCTIONS}"
    return parse_skill(folder.text(file, MAX_FILE_BYTES), file, path.rpartition("/")[2])


def parse_skill(text: str, file: str, folder_name: str) -> SkillHead:
    """Parse the `SKILL.md` `text`. `file`: its path, for faults. Raises PluginFault."""
    first, _, rest = text.partition("\n")
    if first.rstrip() != "---":
        raise PluginFault(file, "must begin with a line of three hyphens, followed by its name and description", 1)
    head, body = _split_head(rest, file)
    fields: dict[str, tuple[yaml.Node, int]] = {}
    for key, value, line in _fields(head, file):
        if key in fields:
            raise PluginFault(file, f"has {key[:40]!r} twice", line)
        fields[key] = value, line
    name = _text(fields, "name", MAX_NAME, file)
    name_line = fields["name"][1]
    # The name becomes a word for the model and is compared with a folder's, for which file systems use several forms of
    # one letter.
    name = unicodedata.normalize("NFKC", name)
    if not all(char.isalnum() or char == "-" for char in name) or name != name.lower():
        raise PluginFault(file, "the name can contain only lowercase letters, digits and single hyphens", name_line)
    if name.startswith("-") or name.endswith("-") or "--" in name:
        raise PluginFault(file, "the name cannot begin or end with a hyphen or have two in a row", name_line)
    if name != unicodedata.normalize("NFKC", folder_name):
        raise PluginFault(file, f"the name is {name!r} but must match its folder, {folder_name!r}", name_line)
    description = _text(fields, "description", MAX_DESCRIPTION, file)
    if "compatibility" in fields:
        _text(fields, "compatibility", MAX_COMPATIBILITY, file)
    notes = [PluginFault(file, f"{key[:40]!r} is unknown and ignored", fields[key][1]) for key in fields.keys() - KNOWN]
    if NOT_OBEYED in fields:
        problem = f"{NOT_OBEYED!r} is ignored: a skill cannot allow tools"
        notes.append(PluginFault(file, problem, fields[NOT_OBEYED][1]))
    return SkillHead(name, description, body, tuple(sorted(notes, key=str)))


def _split_head(rest: str, file: str) -> tuple[str, str]:
    """Return the head and the body."""
    end = 0
    for line in rest[: MAX_HEAD_CHARS + 4].splitlines(keepends=True):
        if line.rstrip() == "---":
            return rest[:end], rest[end + len(line) :].strip("\n")
        end += len(line)
    if len(rest) > MAX_HEAD_CHARS:
        raise PluginFault(file, f"has no second line of three hyphens within {MAX_HEAD_CHARS:,} characters", 1)
    raise PluginFault(file, "has no second line of three hyphens after its name and description", 1)


def _fields(head: str, file: str) -> "Iterator[tuple[str, yaml.Node, int]]":
    """Yield each field with its line in the file."""
    import yaml  # noqa: PLC0415 -- a bot without plug-ins does not load it

    depth, line = 0, 2
    try:
        for event in yaml.parse(head, yaml.SafeLoader):  # event by event, so that size and depth are bounded
            line = 2 if event.start_mark is None else event.start_mark.line + 2
            if isinstance(event, yaml.ScalarEvent) and _SURROGATE.search(event.value):
                raise PluginFault(file, NO_CHARACTER, line)
            if isinstance(event, yaml.AliasEvent) or getattr(event, "anchor", None):
                raise PluginFault(file, "uses a YAML anchor or alias: write the value out", line)
            depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
            if depth > MAX_HEAD_DEPTH:
                raise PluginFault(file, f"nests mappings and lists more than {MAX_HEAD_DEPTH} levels deep", line)
        node = yaml.compose(head, yaml.SafeLoader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = 2 if mark is None else mark.line + 2
        problem = f"is not valid YAML: {(error.problem or '')[:100]}; put text that contains a colon in quotes"
        raise PluginFault(file, problem, line) from None
    except yaml.YAMLError:  # a character that YAML does not allow
        raise PluginFault(
            file, "contains a character that YAML does not allow between its two lines of hyphens", 2
        ) from None
    except (ValueError, OverflowError):  # PyYAML's, for an escape such as "\U00110000"
        raise PluginFault(file, NO_CHARACTER, line) from None
    if not isinstance(node, yaml.MappingNode):
        raise PluginFault(file, "needs a name and a description, as in `name: report`", 2)
    for key, value in node.value:
        line = key.start_mark.line + 2
        if not isinstance(key, yaml.ScalarNode):
            raise PluginFault(file, "has a field whose name is not text", line)
        yield str(key.value), value, line


def _text(fields: "Mapping[str, tuple[yaml.Node, int]]", key: str, limit: int, file: str) -> str:
    import yaml  # noqa: PLC0415 -- as above

    if key not in fields:
        raise PluginFault(file, f"has no {key}", 1)
    node, line = fields[key]
    if not isinstance(node, yaml.ScalarNode):
        raise PluginFault(file, f"the {key} must be text", line)
    text = str(node.value).strip()
    if not text:
        raise PluginFault(file, f"the {key} is empty", line)
    if len(text) > limit:
        raise PluginFault(file, f"the {key} has {len(text):,} characters; the limit is {limit:,}", line)
    return text


class _SkillReader:
    """Reads the files of one skill on demand, so that changes take effect at once."""

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
            # What is not listed is not read: a `.env`, or the settings of git with an access token.
            if any(name.startswith(".") or name in SKIPPED for name in file.split("/")):
                refuse(file, "the file does not exist")
            return self._folder.text(f"{self._path}/{file}", MAX_FILE_BYTES)
        except PluginFault as fault:
            where = fault.where.removeprefix(f"{self._path}/")
            raise ToolError(f"{where[:200]}: {fault.what}", "read the skill to see its files", ours=True) from None

    def _files(self) -> tuple[Sequence[str], bool]:
        try:
            listing = self._folder.files(self._path, MAX_FILES_NAMED + 1, MAX_FILE_DEPTH)
        except PluginFault:
            return (), False
        return [name for name, _ in listing.files if name != INSTRUCTIONS and name.isprintable()], listing.is_whole


def unique_names(skills: Sequence[Skill]) -> Iterator[tuple[Skill, Skill | None]]:
    """Yield each skill with a unique name, and the earlier skill of the same name, if any: that one keeps the name."""
    taken: dict[str, Skill] = {}
    for skill in skills:
        first = taken.get(skill.name)
        name = skill.name if first is None else f"{skill.plugin}/{skill.name}"
        taken[name] = Skill(name, skill.description, skill.plugin, skill.read, skill.files)
        yield taken[name], first
