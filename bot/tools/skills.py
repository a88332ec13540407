"""Skills: folders with a `SKILL.md`, as agentskills.io describes them.

The rules.
- The head of `SKILL.md` is YAML between two lines of `---`. It is read as a tree of texts: no value is built from it,
  an alias is refused, and its size and depth are bounded before it is read.
- A skill that does not conform is left out, with its line and what to change; the others stay. What the form does not
  know is passed over with a note.
- `allowed-tools` is not obeyed: which tool may do what is the operator's to say, outside of a skill.
"""

import asyncio
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import yaml

from agent.errors import ToolError
from agent.tools.skill import INSTRUCTIONS, MAX_FILES_NAMED, MAX_SKILLS, Skill
from bot.tools.plugin_files import PluginFault, PluginFolder, refuse

SKILLS: Final = "skills"
MAX_NAME: Final = 64
MAX_DESCRIPTION: Final = 1_024
MAX_COMPATIBILITY: Final = 500
MAX_HEAD_CHARS: Final = 16_000
"""Of the YAML: every field at its longest, and room for metadata."""
MAX_HEAD_DEPTH: Final = 4
MAX_FILE_BYTES: Final = 1_000_000
"""About fourteen pages of a model's largest result are read; what is longer is no text for a model."""
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
