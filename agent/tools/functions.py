"""`@tool` turns a typed function of an operator or developer into a tool.

    @tool(effect="reads")
    async def weather(city: str, days: int = 1) -> str:
        '''The weather forecast of a city.

        Args:
            city: as people call it
        '''

Rules
  The model's description comes from the function: the docstring says what it does, optionally with a line for each
  argument, and the annotations give the JSON Schema. Unsupported annotations raise an error at import.
  Without an `effect`, a tool counts as one whose calls others notice (ACTS_OUTWARD).
  A function that is not async runs in its own daemon thread. After its timeout nothing waits for the thread: the
  process can end, and no other work needs it.
"""

import asyncio
import inspect
import json
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from contextvars import copy_context
from dataclasses import MISSING, asdict, dataclass, field, fields, is_dataclass
from enum import Enum
from functools import partial
from importlib.metadata import entry_points
from threading import BoundedSemaphore, Thread
from types import NoneType, UnionType
from typing import (
    Annotated,
    Any,
    Final,
    Generic,
    Literal,
    NotRequired,
    ParamSpec,
    Required,
    TypeAlias,
    TypeVar,
    Union,
    cast,
    get_args,
    get_origin,
    get_type_hints,
    is_typeddict,
    overload,
)

from jsonschema import Draft202012Validator

from agent import texts
from agent.errors import SettingsError, ToolDefinitionError, ToolError
from agent.messages import Json, JsonObject, StructuredData
from agent.operator_modules import MAX_SHOWN_CHARS, import_operator_module
from agent.ports.tools import ToolContext, ToolEffect, ToolOutput
from agent.protocol.grammar import TAG_NAMES

P = ParamSpec("P")
R = TypeVar("R")
Effect: TypeAlias = ToolEffect | Literal["reads", "writes here", "acts outward", "irreversible"]
Read: TypeAlias = Callable[[Any], Any]

TIMEOUT_S: Final = 20.0  # About as long as a person watches a status line
MAX_TIMEOUT_S: Final = 600.0
MAX_NAME_CHARS: Final = 64  # The limit of vendors
MAX_DESCRIPTION_CHARS: Final = 1_000  # It is part of each request to the model; longer text is documentation
# Concurrent calls of one tool, including those after their timeout: endless functions must not fill the process.
MAX_THREADS: Final = 8
DONE: Final = "done"
_NAME: Final = re.compile(r"[a-z_][a-z0-9_]*")


@dataclass(frozen=True, slots=True, eq=False)
class FunctionTool(Generic[P, R]):
    """A function as a tool. Calling it calls the function."""

    function: Callable[P, R]
    name: str
    description: str
    schema: JsonObject
    effect: ToolEffect
    timeout_s: float
    context_name: str
    """The name of the parameter for the ToolContext, "" if there is none."""
    readers: Mapping[str, Read] = field(repr=False)
    """For each argument a function that converts JSON that matches the schema."""
    threads: BoundedSemaphore = field(default_factory=lambda: BoundedSemaphore(MAX_THREADS), repr=False)

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        return self.function(*args, **kwargs)

    async def run(self, args: JsonObject, context: ToolContext) -> str | ToolOutput:
        arguments = {name: self.readers[name](value) for name, value in args.items()}
        if self.context_name:
            arguments[self.context_name] = context
        call = cast("Callable[[], Any]", partial(cast("Callable[..., Any]", self.function), **arguments))
        try:
            returned = await call() if inspect.iscoroutinefunction(self.function) else await self._in_thread(call)
        except SystemExit as error:  # it would end the program instead of failing the call
            raise RuntimeError("the function asked to end the program") from error
        return _output(returned, self.name)

    async def _in_thread(self, call: Callable[[], Any]) -> object:
        if not self.threads.acquire(blocking=False):
            busy = f"{self.name} is busy: {MAX_THREADS} calls of it have not ended yet. Try again later."
            raise ToolError(busy, ours=True)
        loop, context = asyncio.get_running_loop(), copy_context()
        done: asyncio.Future[Any] = loop.create_future()

        def work() -> None:
            try:
                settle = partial(_set_result, done, context.run(call))
            except BaseException as error:  # noqa: BLE001 -- raised in the waiting call, where the loop handles it
                settle = partial(_set_exception, done, error)
            finally:
                self.threads.release()
            with suppress(RuntimeError):  # the program has ended meanwhile
                loop.call_soon_threadsafe(settle)

        Thread(target=work, name=f"tool {self.name}", daemon=True).start()
        return await done


def _set_result(done: "asyncio.Future[Any]", value: object) -> None:
    if not done.done():
        done.set_result(value)


def _set_exception(done: "asyncio.Future[Any]", error: BaseException) -> None:
    if not done.done():  # a future accepts no StopIteration, and an exception that ends programs would end this one
        done.set_exception(
            error if isinstance(error, Exception) and not isinstance(error, StopIteration) else _wrong_end_error()
        )


def _wrong_end_error() -> RuntimeError:
    return RuntimeError("the function ended in a way that no function should")


def _output(returned: object, name: str) -> str | ToolOutput:
    if isinstance(returned, str | ToolOutput):
        return returned
    if returned is None:
        return DONE
    try:
        value: Json = json.loads(json.dumps(returned, allow_nan=False, default=_plain))
    except (TypeError, ValueError):
        raise TypeError(f"{name} returned a value that is not JSON: a {type(returned).__name__}") from None
    return ToolOutput(parts=(StructuredData(value),))


def _plain(value: object) -> object:
    match value:
        case Enum():
            return value.value if isinstance(value.value, str) else value.name
        case _ if is_dataclass(value) and not isinstance(value, type):
            return asdict(value)
        case _:
            raise TypeError


@overload
def tool(function: Callable[P, R], /) -> FunctionTool[P, R]: ...


@overload
def tool(
    *, effect: Effect = ..., timeout_s: float = ..., name: str = ...
) -> Callable[[Callable[P, R]], FunctionTool[P, R]]: ...


def tool(
    function: Callable[..., Any] | None = None,
    /,
    *,
    effect: Effect = ToolEffect.ACTS_OUTWARD,
    timeout_s: float = TIMEOUT_S,
    name: str = "",
) -> Any:
    """Make a tool of a function, sync or async, with annotated parameters and a docstring that says what it does.

    `effect`: the worst effect of a call: "reads", "writes here" (data of the bot or your own), "acts outward" (others
    notice it; the default), or "irreversible". `timeout_s`: the time limit of a call. `name`: replaces the function's
    name. A parameter of type ToolContext receives the context of the call, and is hidden from the model. The function
    returns a text, a ToolOutput or a value that can be JSON. A ToolError that it raises is shown to the model.

    Raises ToolDefinitionError.
    """
    if function is None:
        return partial(_tool_of, effect=effect, timeout_s=timeout_s, name=name)
    return _tool_of(function, effect, timeout_s, name)


def _tool_of(function: Callable[..., Any], effect: Effect, timeout_s: float, name: str) -> FunctionTool[..., Any]:
    if not inspect.isfunction(function):
        raise ToolDefinitionError(texts.NO_FUNCTION.format(what=repr(function)[:MAX_SHOWN_CHARS]))
    name = name or function.__name__
    where = f"{name}() in {function.__module__}"
    if not _NAME.fullmatch(name) or len(name) > MAX_NAME_CHARS or name in TAG_NAMES:
        tags = ", ".join(sorted(TAG_NAMES))
        raise ToolDefinitionError(texts.NO_TOOL_NAME.format(where=where, most=MAX_NAME_CHARS, tags=tags))
    if effect not in set(ToolEffect):
        effects = ", ".join(repr(choice.value) for choice in ToolEffect)
        raise ToolDefinitionError(texts.NO_EFFECT.format(where=where, effects=effects))
    if not 0 < timeout_s <= MAX_TIMEOUT_S:
        raise ToolDefinitionError(texts.NO_TIMEOUT.format(where=where, most=MAX_TIMEOUT_S))
    # A generator would be "called" without running a line of it.
    if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
        raise ToolDefinitionError(texts.NO_RESULT.format(where=where))
    # The docstring is what the model reads, so a function without one is no tool.
    description, argument_texts = _documented(inspect.getdoc(function) or "")
    if not 0 < len(description) <= MAX_DESCRIPTION_CHARS:
        raise ToolDefinitionError(texts.NO_DOCSTRING.format(where=where, most=MAX_DESCRIPTION_CHARS))
    context_name, arguments = _arguments(function, where)
    properties = {
        argument.name: {**argument.kind.schema, **_description(argument, argument_texts)} for argument in arguments
    }
    schema: dict[str, Json] = {"type": "object", "properties": cast("Json", properties), "additionalProperties": False}
    if required := [argument.name for argument in arguments if argument.required]:
        schema["required"] = cast("Json", required)
    readers = {argument.name: argument.kind.read for argument in arguments}
    effect = ToolEffect(effect)
    return FunctionTool(function, name, description, schema, effect, float(timeout_s), context_name, readers)


# The description for the model: the docstring's text, and its lines about arguments in Google's or Sphinx's form.

# A heading of Google's style, or Sphinx's field: each ends the description before it.
_SECTION: Final = re.compile(
    r"(Args|Arguments|Parameters|Returns?|Raises|Yields?|Examples?|Notes?)\s*:\s*$|:(param|returns?|rtype|raises)\b"
)
_ARGUMENT: Final = re.compile(r"(?P<indent>\s+)(?P<name>\w+)\s*(?:\([^)]*\))?:\s*(?P<text>.*)")
_PARAM: Final = re.compile(r":param\s(?P<named>[^:]*+):\s*(?P<text>.*)")  # With or without a type before the name


def _documented(text: str) -> tuple[str, dict[str, str]]:
    """Return what the function does, on one line, and the descriptions of its arguments."""
    summary, argument_texts = list[str](), dict[str, list[str]]()
    section, argument, indent = "", "", 0
    for line in text.splitlines():
        # Sphinx names the argument on each line; Google's and NumPy's styles have a section for all.
        if (match := _PARAM.match(line)) and (named := match["named"].split()):
            section, argument, indent = "param", named[-1], 0
            argument_texts[argument] = [match["text"]]
        elif match := _SECTION.match(line):
            section, argument, indent = match[1] or "other", "", 0
        elif not section:
            summary.append(line)
        elif section in {"Args", "Arguments", "Parameters"} and (match := _ARGUMENT.match(line)):
            depth = len(match["indent"])
            indent = indent or depth
            # The first argument sets the indentation of all; deeper lines go on with the text of the one above.
            if depth <= indent:
                argument = match["name"]
                argument_texts[argument] = [match["text"]]
            else:
                argument_texts[argument].append(line)
        elif argument and line.startswith(" "):
            argument_texts[argument].append(line)
        elif line.strip():
            argument = ""
    return _one_line(summary), {name: _one_line(lines) for name, lines in argument_texts.items()}


def _one_line(lines: Sequence[str]) -> str:
    return " ".join(" ".join(lines).split())


# The arguments: the JSON Schema of annotations, and the conversion of the model's JSON.


@dataclass(frozen=True, slots=True)
class _Kind:
    schema: dict[str, Json]
    read: Read


@dataclass(frozen=True, slots=True)
class _Argument:
    name: str
    kind: _Kind
    required: bool


def _description(argument: _Argument, argument_texts: Mapping[str, str]) -> dict[str, Json]:
    """Return the description of an argument. One in the annotation takes precedence over the docstring."""
    text = argument_texts.get(argument.name, "")[:MAX_DESCRIPTION_CHARS]
    return {"description": text} if text and "description" not in argument.kind.schema else {}


def _arguments(function: Callable[..., Any], where: str) -> tuple[str, list[_Argument]]:
    """Return the name of the parameter for the ToolContext ("" for none), and the arguments for the model."""
    hints, context_name, arguments = _hints(function, where), "", list[_Argument]()
    for name, parameter in inspect.signature(function).parameters.items():
        place = f"{where}: the parameter {name!r}"
        if parameter.kind not in {parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY}:
            raise ToolDefinitionError(texts.NO_PARAMETER_NAME.format(where=place))
        if name not in hints:
            raise ToolDefinitionError(texts.NO_ANNOTATION.format(where=place, name=name))
        if hints[name] in (ToolContext, ToolContext | None):
            context_name = name
        else:
            arguments.append(_Argument(name, _kind(hints[name], place), parameter.default is parameter.empty))
    return context_name, arguments


def _hints(annotated: Any, where: str) -> dict[str, Any]:
    try:
        return get_type_hints(annotated, include_extras=True)
    except (NameError, TypeError, AttributeError, SyntaxError) as error:
        raise ToolDefinitionError(texts.ANNOTATION_UNREADABLE.format(where=where, error=error)) from error


def _same(value: Any) -> Any:
    return value


_PLAIN: Final[Mapping[Any, _Kind]] = {
    str: _Kind({"type": "string"}, _same),
    bool: _Kind({"type": "boolean"}, _same),
    int: _Kind({"type": "integer"}, int),  # 3.0 is an integer in JSON Schema
    float: _Kind({"type": "number"}, float),
    list: _Kind({"type": "array"}, _same),
    dict: _Kind({"type": "object"}, _same),
    NoneType: _Kind({"type": "null"}, _same),
}


def _kind(annotation: Any, where: str, within: tuple[object, ...] = ()) -> _Kind:
    origin, parts = get_origin(annotation), get_args(annotation)
    kind = partial(_kind, where=where, within=within)
    if annotation in (None, *_PLAIN):
        return _PLAIN[annotation or NoneType]
    if origin is Annotated:
        description = next((_one_line([part]) for part in parts[1:] if isinstance(part, str)), "")
        inner = kind(parts[0])
        return (
            _Kind({**inner.schema, "description": description[:MAX_DESCRIPTION_CHARS]}, inner.read)
            if description
            else inner
        )
    if origin in (Required, NotRequired):
        return kind(parts[0])
    # Bytes and enum members have no value in JSON that would come back as the same one.
    if origin is Literal and all(isinstance(part, str | int | None) and not isinstance(part, Enum) for part in parts):
        return _Kind({"enum": list(parts)}, _same)
    if origin is list:
        item = kind(parts[0])
        return _Kind({"type": "array", "items": item.schema}, lambda value: [item.read(part) for part in value])
    if origin is dict and parts[0] is str:
        item = kind(parts[1])
        read: Read = lambda value: {key: item.read(part) for key, part in value.items()}  # noqa: E731 -- every kind's reader is an expression
        return _Kind({"type": "object", "additionalProperties": item.schema}, read)
    if origin in (Union, UnionType):
        return _either([kind(part) for part in parts])
    # A class within itself would make a schema without end; it is refused below, since services reject references.
    class_: Any = annotation if isinstance(annotation, type) and annotation not in within else None
    if class_ is not None and issubclass(class_, Enum):
        return _choice(class_)
    if class_ is not None and (is_dataclass(class_) or is_typeddict(class_)):
        return _object(class_, where, (*within, class_))
    # "list[set]" says more than "list": a generic type is shown as it is written.
    type_name = annotation.__name__ if isinstance(annotation, type) and origin is None else annotation
    raise ToolDefinitionError(texts.NO_SCHEMA.format(where=where, shown=str(type_name)[:MAX_SHOWN_CHARS]))


def _either(kinds: Sequence[_Kind]) -> _Kind:
    validators = [Draft202012Validator(kind.schema) for kind in kinds]

    def read(value: Any) -> Any:
        fits = (kind for kind, validator in zip(kinds, validators, strict=True) if validator.is_valid(value))  # pyright: ignore[reportUnknownMemberType] -- a deprecated overload is untyped
        return next(fits).read(value)

    return _Kind({"anyOf": [kind.schema for kind in kinds]}, read)


def _choice(enum: type[Enum]) -> _Kind:
    """Return the kind of an enum: its values if all are texts, else the names of its members."""
    values = [member.value for member in enum]
    if all(isinstance(value, str) for value in values):
        return _Kind({"enum": [str(value) for value in values]}, enum)
    return _Kind({"enum": [member.name for member in enum]}, lambda name: enum[name])


def _object(class_: Any, where: str, within: tuple[object, ...]) -> _Kind:
    hints = _hints(class_, where)
    if is_typeddict(class_):
        required = set(class_.__required_keys__)
    else:
        init_fields = [init_field for init_field in fields(class_) if init_field.init]
        required = {
            init_field.name
            for init_field in init_fields
            if init_field.default is MISSING and init_field.default_factory is MISSING
        }
        hints = {init_field.name: hints[init_field.name] for init_field in init_fields}
    kinds = {name: _kind(hint, f"{where}, in its {name!r},", within) for name, hint in hints.items()}
    schema: dict[str, Json] = {
        "type": "object",
        "properties": {name: kind.schema for name, kind in kinds.items()},
        "required": [name for name in hints if name in required],
        "additionalProperties": False,
    }
    return _Kind(
        schema, lambda value: class_(**{name: kinds[name].read(field_value) for name, field_value in value.items()})
    )


# Loading an operator's tools: only from modules, files and entry points that a setting names.

# The entry point group of packages with tools. An entry point is loaded only if the setting names it.
ENTRY_POINTS: Final = "cogency.tools"


def load_tools(names: Sequence[str], taken_names: Collection[str], setting: str) -> tuple[FunctionTool[..., Any], ...]:
    """Load the tools of these entry points, modules and files (paths that end with .py), in the order of the setting.

    `taken`: the names of existing tools. Raises SettingsError, which names what cannot be loaded.
    """
    entry_point_values = {point.name: point.value for point in entry_points(group=ENTRY_POINTS)} if names else {}
    loaded: dict[str, tuple[str, FunctionTool[..., Any]]] = {}
    for source in names:
        for found_tool in _tools_in(source, entry_point_values.get(source, source), setting):
            if found_tool.name in taken_names:
                raise SettingsError(texts.TOOL_NAME_TAKEN.format(setting=setting, source=source, name=found_tool.name))
            first, existing = loaded.setdefault(found_tool.name, (source, found_tool))
            if existing is not found_tool:
                raise SettingsError(
                    texts.TOOL_NAME_TWICE.format(setting=setting, first=first, second=source, name=found_tool.name)
                )
    return tuple(found_tool for _, found_tool in loaded.values())


def _tools_in(source: str, location: str, setting: str) -> list[FunctionTool[..., Any]]:
    path, _, attribute = (location, "", "") if location.endswith(".py") else location.partition(":")
    module = import_operator_module(path, source, setting)
    named_object: object = getattr(module, attribute, None) if attribute else list(vars(module).values())
    items = cast("Sequence[object]", named_object) if isinstance(named_object, list | tuple) else [named_object]
    tools = [cast("FunctionTool[..., Any]", item) for item in items if isinstance(item, FunctionTool)]
    if not tools:
        raise SettingsError(texts.NO_TOOL_THERE.format(setting=setting, source=source))
    return tools
