"""The tools of one agent: their schemas for the model, and the check of each call before it runs. Pure.

Above: `agent.loop`, `agent.calling`, `agent.probes`, `bot`. Below: `agent.ports`.
"""

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from typing import Any, cast

from jsonschema import Draft202012Validator, ValidationError

from agent.messages import ToolCall, ToolResult
from agent.ports import Tool


@dataclass(frozen=True, slots=True)
class ToolLimits:
    max_result_chars: int = 24_000
    """About 6,000 tokens: twenty recalled messages fit, a whole web page does not push out the conversation."""


class Registry:
    """Tools by name. Raises ValueError for two tools of one name, or a schema that is none."""

    def __init__(self, tools: Sequence[Tool], limits: ToolLimits = ToolLimits()) -> None:
        self._tools = {tool.name: tool for tool in tools}
        if len(self._tools) != len(tools):
            raise ValueError("two tools have one name")
        for tool in tools:
            Draft202012Validator.check_schema(dict(tool.schema))
        self._validators = {tool.name: Draft202012Validator(dict(tool.schema)) for tool in tools}
        self._limits = limits

    @property
    def names(self) -> frozenset[str]:
        return frozenset(self._tools)

    def get(self, name: str) -> Tool:
        return self._tools[name]

    def read_only(self, name: str) -> bool:
        return name in self._tools and self._tools[name].read_only

    def check(self, call: ToolCall) -> str | None:
        """What is wrong with the call, written for the model, or None."""
        if call.name not in self._tools:
            near = get_close_matches(call.name, self._tools, n=1)
            hint = f"did you mean {near[0]!r}?" if near else f"there are: {', '.join(sorted(self._tools)) or 'none'}"
            return f"unknown tool {call.name!r}; {hint}"
        problems = [_problem(error.json_path, error.message) for error in _errors(self._validators[call.name], call)]
        if not problems:
            return None
        schema = json.dumps(self._tools[call.name].schema, ensure_ascii=False)
        return f"wrong arguments: {'; '.join(sorted(problems))}. The schema is {schema}"

    def bounded(self, result: ToolResult) -> ToolResult:
        """The result with its content cut to the limit, saying so."""
        most = self._limits.max_result_chars
        if len(result.content) <= most:
            return result
        note = f"\n[cut: {len(result.content) - most} more characters]"
        return replace(result, content=result.content[:most] + note)

    def schemas(self) -> str:
        """Every tool with its schema, for the stable prefix; in the order of registration."""
        return "\n".join(
            json.dumps({"name": tool.name, "description": tool.description, "args": tool.schema}, ensure_ascii=False)
            for tool in self._tools.values()
        )

    def summary(self) -> str:
        """One line a tool, for the context message."""
        return "\n".join(f"- {tool.name}: {tool.description}" for tool in self._tools.values())


def _errors(validator: Draft202012Validator, call: ToolCall) -> Iterable[ValidationError]:
    iter_errors = cast(
        "Callable[[Any], Iterable[ValidationError]]",
        validator.iter_errors,  # pyright: ignore[reportUnknownMemberType] -- a deprecated overload is untyped
    )
    return iter_errors(dict(call.args))


def _problem(path: str, message: str) -> str:
    """jsonschema quotes the whole value in its message; a model needs no more than the head of it."""
    where = path.removeprefix("$.").removeprefix("$")
    return f"{where}: {message[:200]}" if where else message[:200]
