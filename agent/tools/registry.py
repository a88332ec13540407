"""The tools of one agent: their schemas for the model, and the check of each call before it runs. Pure."""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from typing import Any, Final, cast

from jsonschema import Draft202012Validator, ValidationError

from agent.messages import Json, ToolCall, ToolResult
from agent.ports import Tool, ToolSpec


@dataclass(frozen=True, slots=True)
class ToolLimits:
    max_result_chars: int = 24_000
    """About 6,000 tokens: forty recalled messages fit, a whole web page does not push out the conversation."""


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
        self.schemas: Final = "\n".join(map(described, tools))
        """Every tool with its arguments, for the stable prefix; in the order of registration."""
        self.specs: Final = tuple(ToolSpec(tool.name, tool.description, tool.schema) for tool in tools)
        """The same for a vendor that takes tools in a form of its own."""

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
        meant = self.as_meant(call)
        problems = [_problem(error.json_path, error.message) for error in _errors(self._validators[call.name], meant)]
        if not problems:
            return None
        return f"wrong arguments: {'; '.join(sorted(problems))}. It is {described(self._tools[call.name])}"

    def as_meant(self, call: ToolCall) -> ToolCall:
        """The call with its arguments as the tool asks for them, where a model wrote one value in place of a list of
        them, or texts in place of one: those stand on lines of their own.
        """
        fields = _objects(self._tools[call.name].schema.get("properties"))
        args = {name: _as_meant(value, fields.get(name, {})) for name, value in call.args.items()}
        return replace(call, args=args)

    def bounded(self, result: ToolResult) -> ToolResult:
        """The result with its content cut to the limit, saying so."""
        most = self._limits.max_result_chars
        if len(result.content) <= most:
            return result
        note = f"\n[cut: {len(result.content) - most} more characters]"
        return replace(result, content=result.content[:most] + note)


def described(tool: Tool) -> str:
    """A tool as a model reads it: its name and arguments (? is optional), what it does, and a line an argument.

    A signature is what models have read most, and takes less than half of the JSON Schema's tokens. Bounds are left to
    the check.
    """
    properties = _objects(tool.schema.get("properties"))
    about = [f"  {name}: {text}" for name, value in properties.items() if (text := str(value.get("description", "")))]
    return "\n".join([f"{tool.name}{_arguments(tool.schema, '()')}: {tool.description}", *about])


def _arguments(schema: Mapping[str, Json], brackets: str) -> str:
    """As in `(name, number?: integer)`."""
    required = schema.get("required")
    needed = required if isinstance(required, list) else []
    each = [
        f"{name}{'' if name in needed else '?'}{f': {kind}' if (kind := _kind(value)) != 'string' else ''}"
        for name, value in _objects(schema.get("properties")).items()
    ]
    return f"{brackets[0]}{', '.join(each)}{brackets[1]}"


def _kind(schema: Mapping[str, Json]) -> str:
    """What a value may be; whatever has no short name is said as it stands."""
    if isinstance(values := schema.get("enum"), list):
        return " | ".join(value if isinstance(value, str) else _literal(value) for value in values)
    match schema.get("type"):
        case "object" if "properties" in schema:
            return _arguments(schema, "{}")
        case "array" if isinstance(items := schema.get("items"), dict):
            return f"[{_kind(items)}]"
        case str(name):
            return name
        case _:
            return _literal({name: value for name, value in schema.items() if name != "description"})


def _literal(value: Json) -> str:
    return json.dumps(value, ensure_ascii=False)


def _objects(value: Json) -> Mapping[str, Mapping[str, Json]]:
    """Every field that is an object itself: a field's schema may also be `true`, which says nothing."""
    return (
        {name: one if isinstance(one, dict) else {} for name, one in value.items()} if isinstance(value, dict) else {}
    )


def _as_meant(value: Json, schema: Mapping[str, Json]) -> Json:
    kind = schema.get("type")
    if kind == "array" and not isinstance(value, list) and value is not None:
        return [value]
    if kind == "string" and isinstance(value, list) and value and all(isinstance(one, str) for one in value):
        return "\n".join(map(str, value))
    return value


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
