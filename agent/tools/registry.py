"""The tools of one turn: their schemas for the model, the check of each call before it runs, and what becomes of what
a call brings. Pure.

Rule. The tools that everybody has everywhere stand first, in the order of registration, and the rest behind them by
name: so the prefix of a person in a place stays the same, byte for byte, and its beginning is everybody's.
"""

import json
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from typing import Any, Final, assert_never, cast

from cachetools import LRUCache
from jsonschema import Draft202012Validator, ValidationError

from agent.memory.audience import PersonAudience, label
from agent.messages import MAX_FILES, Image, Json, Link, ResultStatus, SharedFile, StructuredData, ToolCall, ToolResult
from agent.ports import Asker, Tool, ToolEffect, ToolOutput, ToolSource, ToolSpec
from agent.records import Person


@dataclass(frozen=True, slots=True)
class ToolLimits:
    """Of what one call brings."""

    max_result_chars: int = 24_000
    """About 6,000 tokens: forty recalled messages fit, a whole web page does not push out the conversation."""
    max_images: int = 4
    """Each costs a model about 1,500 tokens in every round that follows."""
    max_files: int = MAX_FILES
    max_bytes: int = 8_000_000
    """Of pictures and files together: below what Discord takes, and little enough to stand in a turn's progress."""


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

    def repeatable(self, name: str) -> bool:
        """Whether a call of it may run again when nobody knows whether it ran."""
        return name in self._tools and self._tools[name].effect is ToolEffect.READS

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

    def result(self, name: str, output: ToolOutput, asker: Person) -> ToolResult:
        """What the model is told of an output, within the limits, and who may read it."""
        audience = output.audience or PersonAudience(asker.id)
        return _result(name, ResultStatus.SUCCESS, output, label(audience), self._limits)

    def failure(self, name: str, reason: str, asker: Person | None = None) -> ToolResult:
        """Why a call failed. `asker`: in the tool's own words, which may say what only they may read."""
        audience = "" if asker is None else label(PersonAudience(asker.id))
        return _result(name, ResultStatus.FAILURE, ToolOutput(reason), audience, self._limits)


UNASKED: Final = frozenset({ToolEffect.READS, ToolEffect.WRITES_HERE})


def may_be_offered(tool: Tool, effects: Collection[ToolEffect] = UNASKED) -> bool:
    """Whether it does no more than may be done without asking anybody. Nobody can be asked yet."""
    return tool.effect in effects


@dataclass(frozen=True, slots=True)
class FixedTools:
    """A source of tools that are the same for everybody, everywhere."""

    all: tuple[Tool, ...] = ()

    def tools(self, asker: Asker) -> tuple[Tool, ...]:  # noqa: ARG002 -- the same for everybody
        return self.all


class Toolbox:
    """Every tool that there is: the `core` for everybody, and what the `sources` have now for whoever asks."""

    def __init__(self, core: Sequence[Tool], sources: Sequence[ToolSource] = ()) -> None:
        self._core = tuple(core)
        self._sources = tuple(sources)
        self._known: LRUCache[tuple[int, ...], tuple[tuple[Tool, ...], Registry]] = LRUCache(MAX_REGISTRIES)
        self._registry_of(self._core)  # what is wrong with it is said at the start

    def registry(self, asker: Asker) -> Registry:
        """The tools of this person here and now. One whose name is taken is left out: it may not shadow another."""
        rest = sorted((tool for source in self._sources for tool in source.tools(asker)), key=lambda tool: tool.name)
        named = {tool.name: tool for tool in (*reversed(rest), *reversed(self._core))}
        tools = (*self._core, *(tool for tool in rest if named[tool.name] is tool))
        return self._registry_of(tools)

    def _registry_of(self, tools: tuple[Tool, ...]) -> Registry:
        key = tuple(map(id, tools))
        if key not in self._known:  # its tools are held with it, so that no id is given away meanwhile
            self._known[key] = tools, Registry(tools)
        return self._known[key][1]


MAX_REGISTRIES: Final = 64
"""Compiled schemas that are kept: of a large workspace's kinds of people and places."""


def _result(name: str, status: ResultStatus, output: ToolOutput, audience: str, limits: ToolLimits) -> ToolResult:
    told, left = [output.text] if output.text else [], limits.max_bytes
    images, files = list[Image](), list[SharedFile]()
    for part in output.parts:
        match part:
            case str():
                told.append(part)
            case Link(url, title):
                told.append(f"{title}: {url}" if title else url)
            case StructuredData(value):
                told.append(json.dumps(value, ensure_ascii=False))
            case Image(media_type, data):
                fits = len(images) < limits.max_images and len(data) <= left
                about = f"a picture ({media_type})"
                told.append(PICTURE.format(about=about) if fits else LEFT_OUT.format(about=about))
                if fits:
                    images.append(part)
                    left -= len(data)
            case SharedFile(file_name, media_type, data):
                fits = len(files) < limits.max_files and len(data) <= left
                about = f"{file_name} ({media_type}, {len(data):,} bytes)"
                told.append(FILE.format(about=about) if fits else LEFT_OUT.format(about=about))
                if fits:
                    files.append(part)
                    left -= len(data)
            case _:
                assert_never(part)
    content = _cut("\n\n".join(told), limits.max_result_chars)
    return ToolResult(name, status, content, output.sources, tuple(images), tuple(files), audience, output.keep)


PICTURE: Final = "[{about}, which follows these results]"
FILE: Final = "[the file {about} will stand below your answer]"
LEFT_OUT: Final = "[left out, because results may hold no more: {about}]"


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[:most]}\n[cut: {len(text) - most} more characters]"


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
    if isinstance(several := schema.get("anyOf"), list):
        return " | ".join(_kind(one) for one in several if isinstance(one, dict))
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
