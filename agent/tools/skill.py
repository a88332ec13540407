"""`skill`: the operator's instructions for kinds of tasks, which the model reads when it needs them.

Rules.
- The prefix lists the name and the beginning of the description of each skill on one line, which cannot end the list or
  open a section, a tool or a block. The whole list has a limit, for any number of skills.
- This tool reads the rest: the instructions, and the files that they name, in pages.
- No file of a skill is run, and the result says so if a file is a program.
- The operator provides skills for all users of the bot, so all readers of the place may read the result.
"""

import re
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Final

from agent.errors import ToolError
from agent.messages import Json, JsonObject
from agent.ports.tools import ToolContext, ToolEffect, ToolOutput
from agent.protocol.render import excerpt

NAME: Final = "skill"
INSTRUCTIONS: Final = "SKILL.md"
# Of a description in the prefix: about 100 tokens, as the format of skills recommends.
MAX_SHOWN_CHARS: Final = 400
MIN_SHOWN_CHARS: Final = 60
# Of all descriptions in the prefix: 3,000 tokens. Thirty fit as they are; more are cut shorter.
MAX_LIST_CHARS: Final = 12_000
MAX_SKILLS: Final = 100
PAGE_CHARS: Final = 18_000  # The limit of a result without the lines before a page
MAX_FILES_NAMED: Final = 40

ABOUT: Final = "Read the instructions for a kind of task before you do one. Skills, with what each says of itself:"
HEAD: Final = "Skill {name}, of the plug-in {plugin}: the operator's instructions. They change no rule of yours."
NOT_RUN: Final = "Nothing in it can be run here: do by yourself what a script would do, or say that you cannot."
IS_SCRIPT: Final = "This is a program. It is not run here, and was not."
FILES: Final = "Its other files, which `file` reads: {files}"
MORE_FILES: Final = "{files}, and more"
PAGE: Final = "Page {page} of {pages}."
# Skills come with programs for an agent that can run them; where one is listed, the model is told that nothing runs
# here.
_PROGRAM: Final = re.compile(
    r"(?:^|/)scripts/|\.(?:py|sh|bash|zsh|js|mjs|cjs|ts|rb|pl|php|ps1|bat|cmd|exe|jar|lua|r)$", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class Skill:
    """One skill.

    `read` returns the text of a file by its path in the skill's folder, of SKILL.md without its front matter; it raises
    ToolError. `files` returns the paths of its first files, and whether those are all.
    """

    name: str
    description: str
    plugin: str
    read: Callable[[str], Awaitable[str]]
    files: Callable[[], Awaitable[tuple[Sequence[str], bool]]]


class SkillTool:
    """The tool `skill`. There must be at least one skill, and their names must differ."""

    name: str = NAME
    effect: ToolEffect = ToolEffect.READS

    def __init__(self, skills: Sequence[Skill], timeout_s: float) -> None:
        self.timeout_s = timeout_s
        self._skills = {skill.name: skill for skill in skills}
        self.description = "\n".join([ABOUT, *list_skills(skills)])

    @property
    def schema(self) -> JsonObject:
        return {
            "type": "object",
            "properties": _PROPERTIES,
            "required": ["name"],
            "additionalProperties": False,
        }

    async def run(self, args: JsonObject, context: ToolContext) -> ToolOutput:
        skill = self._find_skill(str(args["name"]))
        file, page = str(args.get("file") or INSTRUCTIONS).removeprefix("./"), args.get("page", 1)
        head = [HEAD.format(name=skill.name, plugin=skill.plugin)]
        text = await skill.read(file)
        if file != INSTRUCTIONS:
            head.append(f"{file}:" if not _PROGRAM.search(file) else f"{file}: {IS_SCRIPT}")
        elif page == 1:
            files, is_whole = await skill.files()
            file_names = ", ".join(files[:MAX_FILES_NAMED])
            if len(files) > MAX_FILES_NAMED or not is_whole:
                file_names = MORE_FILES.format(files=file_names)
            head += [FILES.format(files=file_names)] if files else []
            head += [NOT_RUN] if any(map(_PROGRAM.search, files)) else []
        text_pages = split_pages(text, PAGE_CHARS)
        if not isinstance(page, int) or not 1 <= page <= len(text_pages):
            raise ToolError(
                f"there is no page {page}: the last one of {file} of {skill.name} is {len(text_pages)}", ours=True
            )
        if len(text_pages) > 1:
            head.append(PAGE.format(page=page, pages=len(text_pages)))
        return ToolOutput("\n".join([*head, "", text_pages[page - 1]]), audience=context.place.audience)

    def _find_skill(self, name: str) -> Skill:
        if name in self._skills:
            return self._skills[name]
        similar = get_close_matches(name, self._skills, n=1)
        hint = f"did you mean {similar[0]!r}?" if similar else "the description of this tool lists them"
        raise ToolError(f"there is no skill {name[:80]!r}", hint, ours=True)


_PROPERTIES: Final[dict[str, Json]] = {
    "name": {"type": "string", "minLength": 1},
    "file": {"type": "string", "minLength": 1, "description": "another file of it, by the path that it gives"},
    "page": {"type": "integer", "minimum": 1},
}


def list_skills(skills: Sequence[Skill]) -> list[str]:
    """Return a line for each skill, with its description shortened to the limit of the list."""
    room = max(MIN_SHOWN_CHARS, min(MAX_SHOWN_CHARS, MAX_LIST_CHARS // max(1, len(skills))))
    return [f"- {skill.name}: {excerpt(skill.description, room)}" for skill in skills]


def split_pages(text: str, limit: int) -> list[str]:
    """Split a text into pages of up to `limit` characters, between lines if possible; there is at least one page."""
    pieces: list[str] = []
    start = 0
    while len(text) - start > limit:
        end = text.rfind("\n", start + limit // 2, start + limit) + 1 or start + limit
        pieces.append(text[start:end])
        start = end
    return [*pieces, text[start:]]
