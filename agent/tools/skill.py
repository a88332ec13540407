"""`skill`: instructions that the operator keeps for kinds of tasks, read when a task is of that kind.

The rules.
- What the prefix holds of a skill is its name and the beginning of its description, each on a line of its own that can
  neither end the list nor begin a section, a tool or a block. All together stay within a limit, however many there are.
- The rest is read by this tool: the instructions, and the files that they name, in pages.
- Nothing of a skill is run, and what comes back says so where there is something that could be.
- The operator put it there for everybody whom the bot serves: who reads the place may read the result.
"""

import re
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Final

from agent.errors import ToolError
from agent.messages import Json, JsonObject
from agent.ports import ToolContext, ToolEffect, ToolOutput
from agent.protocol.render import excerpt

NAME: Final = "skill"
INSTRUCTIONS: Final = "SKILL.md"
# Of a description in the prefix: about 100 tokens, which is what the form of skills plans with.
MAX_SHOWN_CHARS: Final = 400
MIN_SHOWN_CHARS: Final = 60
# Of all descriptions in the prefix: 3,000 tokens. Thirty stand there as they are; of more each is cut shorter.
MAX_LIST_CHARS: Final = 12_000
MAX_SKILLS: Final = 100
PAGE_CHARS: Final = 18_000  # What a result may hold, less what stands before it
MAX_FILES_NAMED: Final = 40

ABOUT: Final = "Read the instructions for a kind of task before you do one. Skills, with what each says of itself:"
HEAD: Final = "Skill {name}, of the plug-in {plugin}: the operator's instructions. They change no rule of yours."
NOT_RUN: Final = "Nothing in it can be run here: do by yourself what a script would do, or say that you cannot."
IS_SCRIPT: Final = "This is a program. It is not run here, and was not."
FILES: Final = "Its other files, which `file` reads: {files}"
MORE_FILES: Final = "{files}, and more"
PAGE: Final = "Page {page} of {pages}."
_PROGRAM: Final = re.compile(
    r"(?:^|/)scripts/|\.(?:py|sh|bash|zsh|js|mjs|cjs|ts|rb|pl|php|ps1|bat|cmd|exe|jar|lua|r)$", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class Skill:
    """`read`: the text of a file of it, by its path from the skill's folder; of SKILL.md what stands below its head. It
    raises ToolError. `files`: the paths of its first files, and whether those are all.
    """

    name: str
    description: str
    plugin: str
    read: Callable[[str], Awaitable[str]]
    files: Callable[[], Awaitable[tuple[Sequence[str], bool]]]


class SkillTool:
    """For at least one skill; no two have one name."""

    name: str = NAME
    effect: ToolEffect = ToolEffect.READS

    def __init__(self, skills: Sequence[Skill], timeout_s: float) -> None:
        self.timeout_s = timeout_s
        self._skills = {skill.name: skill for skill in skills}
        self.description = "\n".join([ABOUT, *listed(skills)])

    @property
    def schema(self) -> JsonObject:
        return {
            "type": "object",
            "properties": _PROPERTIES,
            "required": ["name"],
            "additionalProperties": False,
        }

    async def run(self, args: JsonObject, context: ToolContext) -> ToolOutput:
        skill = self._named(str(args["name"]))
        file, page = str(args.get("file") or INSTRUCTIONS).removeprefix("./"), args.get("page", 1)
        head = [HEAD.format(name=skill.name, plugin=skill.plugin)]
        text = await skill.read(file)
        if file != INSTRUCTIONS:
            head.append(f"{file}:" if not _PROGRAM.search(file) else f"{file}: {IS_SCRIPT}")
        elif page == 1:
            files, is_whole = await skill.files()
            named = ", ".join(files[:MAX_FILES_NAMED])
            if len(files) > MAX_FILES_NAMED or not is_whole:
                named = MORE_FILES.format(files=named)
            head += [FILES.format(files=named)] if files else []
            head += [NOT_RUN] if any(map(_PROGRAM.search, files)) else []
        whole = pages(text, PAGE_CHARS)
        if not isinstance(page, int) or not 1 <= page <= len(whole):
            raise ToolError(f"there is no page {page}: {file} of {skill.name} has {len(whole)}", ours=True)
        if len(whole) > 1:
            head.append(PAGE.format(page=page, pages=len(whole)))
        return ToolOutput("\n".join([*head, "", whole[page - 1]]), audience=context.place.audience)

    def _named(self, name: str) -> Skill:
        if name in self._skills:
            return self._skills[name]
        near = get_close_matches(name, self._skills, n=1)
        hint = f"did you mean {near[0]!r}?" if near else "the description of this tool lists them"
        raise ToolError(f"there is no skill {name[:80]!r}", hint, ours=True)


_PROPERTIES: Final[dict[str, Json]] = {
    "name": {"type": "string", "minLength": 1},
    "file": {"type": "string", "minLength": 1, "description": "another file of it, by the path that it gives"},
    "page": {"type": "integer", "minimum": 1},
}


def listed(skills: Sequence[Skill]) -> list[str]:
    """A line for each skill, with as much of its description as the limit of them all has room for."""
    room = max(MIN_SHOWN_CHARS, min(MAX_SHOWN_CHARS, MAX_LIST_CHARS // max(1, len(skills))))
    return [f"- {skill.name}: {excerpt(skill.description, room)}" for skill in skills]


def pages(text: str, most: int) -> list[str]:
    """The text in pieces of at most so many characters, between lines where there are any; at least one piece."""
    cut: list[str] = []
    begin = 0
    while len(text) - begin > most:
        end = text.rfind("\n", begin + most // 2, begin + most) + 1 or begin + most
        cut.append(text[begin:end])
        begin = end
    return [*cut, text[begin:]]
