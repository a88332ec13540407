"""The tools of a turn as functions for code: `from host import tools; tools.recall(query="boat")`.

Rules
  A function returns its tool's result as text. A tool that fails or is refused raises an error with the reason.
  Tools that do more than read are functions that only say so: code that somebody else may have suggested never acts.
  What code has read labels what it printed and saved (`agent.inner_calls.labelled`).
"""

import json
import keyword
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from agent.errors import ToolError
from agent.messages import JsonObject, ResultStatus, ToolCall, ToolResult
from agent.ports.tools import InnerCalls, Tool, ToolEffect
from agent.toolbox.signatures import limit_spec
from bot.python import texts
from bot.python.engine import NO_FUNCTIONS, Function, Functions

MAX_NAME_CHARS: Final = 64
MAX_OFFERED_CHARS: Final = 500_000  # Of all descriptions, which each run that calls tools is sent
_IMPORTS: Final = re.compile(
    r"\bhost\b"
)  # As `from host import tools`: other code is offered nothing, and starts sooner
_NOT_IN_NAMES: Final = re.compile(r"[^A-Za-z0-9_]")


@dataclass(frozen=True, slots=True)
class CodeTools:
    """`results`: what the functions have returned so far."""

    inner: InnerCalls
    results: list[ToolResult] = field(default_factory=list[ToolResult])

    def functions_for(self, code: str) -> Functions:
        """Return the functions for this code, those that it names first if they are too many."""
        if _IMPORTS.search(code) is None:
            return NO_FUNCTIONS
        names, offered, chars = function_names(self.inner.tools), dict[str, tuple[Function, Tool]](), 0
        for tool in sorted(self.inner.tools, key=lambda tool: names[tool.name] not in code):
            function = _function_of(tool, names[tool.name])
            chars += len(function.description) + len(json.dumps(function.schema))
            if chars > MAX_OFFERED_CHARS:
                break
            offered[function.name] = function, tool

        async def call(name: str, args: JsonObject) -> str:
            result = await self.inner.run(ToolCall(offered[name][1].name, args))
            self.results.append(result)
            if result.status is not ResultStatus.SUCCESS:
                raise ToolError(result.content)
            return result.content

        return Functions(tuple(function for function, _ in offered.values()), call)


def _function_of(tool: Tool, name: str) -> Function:
    spec = limit_spec(tool)
    about = spec.description if tool.effect is ToolEffect.READS else texts.NOT_IN_CODE
    return Function(name, about, spec.schema)


def function_names(tools: Sequence[Tool]) -> dict[str, str]:
    """Return a name in Python for each tool, by the tool's name: "files.read" is files_read. Pure."""
    names, taken = dict[str, str](), set[str]()
    for tool in tools:
        bare = _NOT_IN_NAMES.sub("_", tool.name)[:MAX_NAME_CHARS]
        name = bare if bare[:1].isalpha() and not keyword.iskeyword(bare) else f"tool_{bare}"[:MAX_NAME_CHARS]
        number = 1
        while name in taken:
            number += 1
            name = f"{bare[: MAX_NAME_CHARS - 5]}_{number}"
        taken.add(name)
        names[tool.name] = name
    return names
