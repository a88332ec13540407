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
from typing import Final, cast

from agent.errors import ToolError
from agent.messages import JsonObject, ResultStatus, ToolCall, ToolResult
from agent.ports.tools import InnerCalls, Tool, ToolEffect
from agent.protocol.grammar import ParserLimits
from agent.protocol.json_text import JsonReader, Unreadable
from agent.toolbox.signatures import limit_spec, objects_of
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
        names, chars = python_names([tool.name for tool in self.inner.tools]), 0
        offered = dict[str, tuple[Function, str, dict[str, str]]]()
        for tool in sorted(self.inner.tools, key=lambda tool: names[tool.name] not in code):
            function, arguments = _function_of(tool, names[tool.name])
            chars += len(function.description) + len(json.dumps(function.schema))
            if chars > MAX_OFFERED_CHARS:
                break
            offered[function.name] = function, tool.name, arguments

        async def call(name: str, args: JsonObject) -> str:
            _, tool, arguments = offered[name]
            named = {arguments.get(argument, argument): value for argument, value in args.items()}
            result = await self.inner.run(ToolCall(tool, _as_of_a_model(named)))
            self.results.append(result)
            if result.status is not ResultStatus.SUCCESS:
                raise ToolError(result.content)
            return result.content

        return Functions(tuple(function for function, *_ in offered.values()), call)


def _as_of_a_model(args: JsonObject) -> JsonObject:
    """Return arguments as those of a model are read: without NUL and halves of characters, which databases and servers
    refuse. Raises ToolError for numbers that are no JSON, or very long.
    """
    try:
        (read,) = JsonReader(ParserLimits()).read(json.dumps(dict(args)))
    except Unreadable as error:
        raise ToolError(texts.WRONG_ARGUMENTS.format(why=error), ours=True) from None
    return cast("JsonObject", read)


def _function_of(tool: Tool, name: str) -> tuple[Function, dict[str, str]]:
    """Return a tool as a function, and the names of the tool's arguments by those of the function's: `from` is no name
    in Python, so it becomes `from_`.
    """
    spec = limit_spec(tool)
    about = spec.description if tool.effect is ToolEffect.READS else texts.NOT_IN_CODE
    properties = objects_of(spec.schema.get("properties"))
    names = python_names([*properties])
    required = spec.schema.get("required")
    schema: JsonObject = {
        **spec.schema,
        "properties": {names[argument]: {**value} for argument, value in properties.items()},
        "required": [names.get(str(argument), argument) for argument in required] if isinstance(required, list) else [],
    }
    return Function(name, about, schema), {new: old for old, new in names.items()}


def python_names(names: Sequence[str]) -> dict[str, str]:
    """Return a name in Python for each of these names, all different: files_read for "files.read", from_ for "from"."""
    made, taken = dict[str, str](), set[str]()
    for name in names:
        bare = _NOT_IN_NAMES.sub("_", name)[:MAX_NAME_CHARS]
        bare = bare if bare[:1].isalpha() else f"n_{bare}"[:MAX_NAME_CHARS]
        bare = f"{bare}_" if keyword.iskeyword(bare) else bare
        number, free = 1, bare
        while free in taken:
            number += 1
            free = f"{bare[: MAX_NAME_CHARS - 5]}_{number}"
        taken.add(free)
        made[name] = free
    return made
