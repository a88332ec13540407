"""`@tool`: a typed function of an operator's or a developer's own becomes a tool.

    @tool(effect="reads")
    async def weather(city: str, days: int = 1) -> str:
        '''The weather forecast of a city.

        Args:
            city: as people call it
        '''

Rules
  What the model reads comes from the function: the docstring says what it does, with a line for an argument where one
  helps, and the annotations are the JSON Schema. What has no place there is an error when the module is imported.
  Who does not say what a call does to the world has said that others notice it (ACTS_OUTWARD).
  A function that is not async runs in a thread of its own, which nobody waits for once its time is over: a program ends
  without it, and no other work needs its place.
"""

import asyncio
import inspect
import json
import re
import sys
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from contextvars import copy_context
from dataclasses import MISSING, asdict, dataclass, field, fields, is_dataclass
from enum import Enum
from functools import partial
from importlib import import_module
from importlib.machinery import ModuleSpec, SourceFileLoader
from importlib.metadata import entry_points
from importlib.util import module_from_spec
from threading import BoundedSemaphore, Thread
from types import ModuleType, NoneType, UnionType
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
from agent.ports import ToolContext, ToolEffect, ToolOutput
from agent.protocol.grammar import TAG_NAMES

P = ParamSpec("P")
R = TypeVar("R")
Effect: TypeAlias = ToolEffect | Literal["reads", "writes here", "acts outward", "irreversible"]
Read: TypeAlias = Callable[[Any], Any]

TIMEOUT_S: Final = 20.0  # A person who watches a status line gives up at about this point
MAX_TIMEOUT_S: Final = 600.0
MAX_NAME_CHARS: Final = 64  # As vendors allow
MAX_DESCRIPTION_CHARS: Final = 1_000  # It stands in each question to the model; what takes more is documentation
# Of one tool, calls that were given up among them: a function that never ends must not fill the process.
MAX_THREADS: Final = 8
MAX_SHOWN_CHARS: Final = 300  # Of what somebody else wrote, in an error
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
    """The parameter that is given the ToolContext, "" for none."""
    readers: Mapping[str, Read] = field(repr=False)
    """What each argument becomes, from JSON that matches the schema."""
    threads: BoundedSemaphore = field(default_factory=lambda: BoundedSemaphore(MAX_THREADS), repr=False)

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        return self.function(*args, **kwargs)

    async def run(self, args: JsonObject, context: ToolContext) -> str | ToolOutput:
        given = {name: self.readers[name](value) for name, value in args.items()}
        if self.context_name:
            given[self.context_name] = context
        call = cast("Callable[[], Any]", partial(cast("Callable[..., Any]", self.function), **given))
        try:
            brought = await call() if inspect.iscoroutinefunction(self.function) else await self._in_thread(call)
        except SystemExit as error:  # it would end the program, past everybody who answers for a failed tool
            raise RuntimeError("the function asked to end the program") from error
        return _output(brought, self.name)

    async def _in_thread(self, call: Callable[[], Any]) -> object:
        if not self.threads.acquire(blocking=False):
            busy = f"{self.name} is busy: {MAX_THREADS} calls of it have not ended yet. Try again later."
            raise ToolError(busy, ours=True)
        loop, context = asyncio.get_running_loop(), copy_context()
        done: asyncio.Future[Any] = loop.create_future()

        def work() -> None:
            try:
                settle = partial(_set_result, done, context.run(call))
            except BaseException as error:  # noqa: BLE001 -- handed to the call that waits, where the loop answers for it
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
    if not done.done():  # a future takes no StopIteration, and what ends programs would end this one
        done.set_exception(error if isinstance(error, Exception) and not isinstance(error, StopIteration) else _ended())


def _ended() -> RuntimeError:
    return RuntimeError("the function ended in a way that no function should")


def _output(brought: object, name: str) -> str | ToolOutput:
    if isinstance(brought, str | ToolOutput):
        return brought
    if brought is None:
        return DONE
    try:
        value: Json = json.loads(json.dumps(brought, allow_nan=False, default=_plain))
    except (TypeError, ValueError):
        raise TypeError(f"{name} returned what is no JSON: a {type(brought).__name__}") from None
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
    """Make a tool of a function, sync or async, whose parameters are annotated and whose docstring says what it does.

    `effect`: the worst that a call may do: "reads", "writes here" (what the bot or you keep), "acts outward" (others
    notice it; so it is assumed), or "irreversible". `timeout_s`: a call that takes longer is given up. `name`: in place
    of the function's. A parameter of type ToolContext is given the context of the call, and the model does not see it.
    The function returns a text, a ToolOutput or what can be JSON; a ToolError that it raises is told to the model.

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
        effects = ", ".join(repr(one.value) for one in ToolEffect)
        raise ToolDefinitionError(texts.NO_EFFECT.format(where=where, effects=effects))
    if not 0 < timeout_s <= MAX_TIMEOUT_S:
        raise ToolDefinitionError(texts.NO_TIMEOUT.format(where=where, most=MAX_TIMEOUT_S))
    if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
        raise ToolDefinitionError(texts.NO_RESULT.format(where=where))
    description, about = _documented(inspect.getdoc(function) or "")
    if not 0 < len(description) <= MAX_DESCRIPTION_CHARS:
        raise ToolDefinitionError(texts.NO_DOCSTRING.format(where=where, most=MAX_DESCRIPTION_CHARS))
    context_name, arguments = _arguments(function, where)
    properties = {one.name: {**one.kind.schema, **_told(one, about)} for one in arguments}
    schema: dict[str, Json] = {"type": "object", "properties": cast("Json", properties), "additionalProperties": False}
    if required := [one.name for one in arguments if one.required]:
        schema["required"] = cast("Json", required)
    readers = {one.name: one.kind.read for one in arguments}
    effect = ToolEffect(effect)
    return FunctionTool(function, name, description, schema, effect, float(timeout_s), context_name, readers)


# What the model reads: the docstring's text, and its lines about arguments, as Google's and Sphinx's forms have them.

_SECTION: Final = re.compile(
    r"(Args|Arguments|Parameters|Returns?|Raises|Yields?|Examples?|Notes?)\s*:\s*$|:(param|returns?|rtype|raises)\b"
)
_ARGUMENT: Final = re.compile(r"(?P<indent>\s+)(?P<name>\w+)\s*(?:\([^)]*\))?:\s*(?P<text>.*)")
_PARAM: Final = re.compile(r":param\s(?P<named>[^:]*+):\s*(?P<text>.*)")  # With or without a type before the name


def _documented(text: str) -> tuple[str, dict[str, str]]:
    """What it does, on one line, and what each described argument is."""
    does, about = list[str](), dict[str, list[str]]()
    section, current, indent = "", "", 0
    for line in text.splitlines():
        if (found := _PARAM.match(line)) and (named := found["named"].split()):
            section, current, indent = "param", named[-1], 0
            about[current] = [found["text"]]
        elif found := _SECTION.match(line):
            section, current, indent = found[1] or "other", "", 0
        elif not section:
            does.append(line)
        elif section in {"Args", "Arguments", "Parameters"} and (found := _ARGUMENT.match(line)):
            depth = len(found["indent"])
            indent = indent or depth
            if depth <= indent:
                current = found["name"]
                about[current] = [found["text"]]
            else:
                about[current].append(line)
        elif current and line.startswith(" "):
            about[current].append(line)
        elif line.strip():
            current = ""
    return _one_line(does), {name: _one_line(lines) for name, lines in about.items()}


def _one_line(lines: Sequence[str]) -> str:
    return " ".join(" ".join(lines).split())


# The arguments: what annotations say of the JSON that the model writes, and what becomes of it.


@dataclass(frozen=True, slots=True)
class _Kind:
    schema: dict[str, Json]
    read: Read


@dataclass(frozen=True, slots=True)
class _Argument:
    name: str
    kind: _Kind
    required: bool


def _told(argument: _Argument, about: Mapping[str, str]) -> dict[str, Json]:
    """What the annotation says goes before the docstring."""
    said = about.get(argument.name, "")[:MAX_DESCRIPTION_CHARS]
    return {"description": said} if said and "description" not in argument.kind.schema else {}


def _arguments(function: Callable[..., Any], where: str) -> tuple[str, list[_Argument]]:
    """The parameter for the ToolContext ("" for none), and those that the model fills."""
    hints, context_name, found = _hints(function, where), "", list[_Argument]()
    for name, parameter in inspect.signature(function).parameters.items():
        place = f"{where}: the parameter {name!r}"
        if parameter.kind not in {parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY}:
            raise ToolDefinitionError(texts.NO_PARAMETER_NAME.format(where=place))
        if name not in hints:
            raise ToolDefinitionError(texts.NO_ANNOTATION.format(where=place, name=name))
        if hints[name] in (ToolContext, ToolContext | None):
            context_name = name
        else:
            found.append(_Argument(name, _kind(hints[name], place), parameter.default is parameter.empty))
    return context_name, found


def _hints(of: Any, where: str) -> dict[str, Any]:
    try:
        return get_type_hints(of, include_extras=True)
    except (NameError, TypeError, AttributeError, SyntaxError) as error:
        raise ToolDefinitionError(texts.ANNOTATION_UNREADABLE.format(where=where, error=error)) from error


def _same(value: Any) -> Any:
    return value


_PLAIN: Final[Mapping[Any, _Kind]] = {
    str: _Kind({"type": "string"}, _same),
    bool: _Kind({"type": "boolean"}, _same),
    int: _Kind({"type": "integer"}, int),  # 3.0 is an integer to JSON Schema
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
        said = next((_one_line([one]) for one in parts[1:] if isinstance(one, str)), "")
        inner = kind(parts[0])
        return _Kind({**inner.schema, "description": said[:MAX_DESCRIPTION_CHARS]}, inner.read) if said else inner
    if origin in (Required, NotRequired):
        return kind(parts[0])
    if origin is Literal and all(isinstance(one, str | int | None) and not isinstance(one, Enum) for one in parts):
        return _Kind({"enum": list(parts)}, _same)
    if origin is list:
        item = kind(parts[0])
        return _Kind({"type": "array", "items": item.schema}, lambda value: [item.read(one) for one in value])
    if origin is dict and parts[0] is str:
        item = kind(parts[1])
        read: Read = lambda value: {key: item.read(one) for key, one in value.items()}  # noqa: E731 -- as its siblings
        return _Kind({"type": "object", "additionalProperties": item.schema}, read)
    if origin in (Union, UnionType):
        return _either([kind(one) for one in parts])
    made: Any = annotation if isinstance(annotation, type) and annotation not in within else None
    if made is not None and issubclass(made, Enum):
        return _choice(made)
    if made is not None and (is_dataclass(made) or is_typeddict(made)):
        return _object(made, where, (*within, made))
    shown = annotation.__name__ if isinstance(annotation, type) and origin is None else annotation
    raise ToolDefinitionError(texts.NO_SCHEMA.format(where=where, shown=str(shown)[:MAX_SHOWN_CHARS]))


def _either(kinds: Sequence[_Kind]) -> _Kind:
    validators = [Draft202012Validator(kind.schema) for kind in kinds]

    def read(value: Any) -> Any:
        fits = (kind for kind, one in zip(kinds, validators, strict=True) if one.is_valid(value))  # pyright: ignore[reportUnknownMemberType] -- a deprecated overload is untyped
        return next(fits).read(value)

    return _Kind({"anyOf": [kind.schema for kind in kinds]}, read)


def _choice(chosen: type[Enum]) -> _Kind:
    """By their values where those are texts, else by their names."""
    values = [member.value for member in chosen]
    if all(isinstance(value, str) for value in values):
        return _Kind({"enum": [str(value) for value in values]}, chosen)
    return _Kind({"enum": [member.name for member in chosen]}, lambda name: chosen[name])


def _object(made: Any, where: str, within: tuple[object, ...]) -> _Kind:
    hints = _hints(made, where)
    if is_typeddict(made):
        needed = set(made.__required_keys__)
    else:
        own = [one for one in fields(made) if one.init]
        needed = {one.name for one in own if one.default is MISSING and one.default_factory is MISSING}
        hints = {one.name: hints[one.name] for one in own}
    kinds = {name: _kind(hint, f"{where}, in its {name!r},", within) for name, hint in hints.items()}
    schema: dict[str, Json] = {
        "type": "object",
        "properties": {name: kind.schema for name, kind in kinds.items()},
        "required": [name for name in hints if name in needed],
        "additionalProperties": False,
    }
    return _Kind(schema, lambda value: made(**{name: kinds[name].read(one) for name, one in value.items()}))


# Where the tools of an operator are found: in modules and entry points that are named, and nowhere else.

# The group in which an installed package offers its tools; what it offers is loaded only if its name is given.
ENTRY_POINTS: Final = "cogency.tools"


def load_tools(names: Sequence[str], taken: Collection[str], setting: str) -> tuple[FunctionTool[..., Any], ...]:
    """The tools of these entry points, modules and files (by a path that ends in .py), in their order in a setting.

    `taken`: the names of tools that are there already. Raises SettingsError, which names what cannot be loaded.
    """
    points = {point.name: point.value for point in entry_points(group=ENTRY_POINTS)} if names else {}
    found: dict[str, tuple[str, FunctionTool[..., Any]]] = {}
    for source in names:
        for one in _tools_in(source, points.get(source, source), setting):
            if one.name in taken:
                raise SettingsError(texts.TOOL_NAME_TAKEN.format(setting=setting, source=source, name=one.name))
            first, known = found.setdefault(one.name, (source, one))
            if known is not one:
                raise SettingsError(
                    texts.TOOL_NAME_TWICE.format(setting=setting, first=first, second=source, name=one.name)
                )
    return tuple(one for _, one in found.values())


def _tools_in(source: str, place: str, setting: str) -> list[FunctionTool[..., Any]]:
    path, _, attribute = (place, "", "") if place.endswith(".py") else place.partition(":")
    module = _imported(path, source, setting)
    named: object = getattr(module, attribute, None) if attribute else list(vars(module).values())
    there = cast("Sequence[object]", named) if isinstance(named, list | tuple) else [named]
    tools = [cast("FunctionTool[..., Any]", one) for one in there if isinstance(one, FunctionTool)]
    if not tools:
        raise SettingsError(texts.NO_TOOL_THERE.format(setting=setting, source=source))
    return tools


def _run(file: str) -> ModuleType:
    """A file as a module, which bears its path as a name: so it stands for no other."""
    if file in sys.modules:
        return sys.modules[file]
    loader = SourceFileLoader(file, file)
    module = sys.modules[file] = module_from_spec(ModuleSpec(file, loader, origin=file))
    try:
        loader.exec_module(module)
    except BaseException:
        del sys.modules[file]
        raise
    return module


def _imported(path: str, source: str, setting: str) -> ModuleType:
    try:
        return _run(path) if path.endswith(".py") else import_module(path)
    except (Exception, SystemExit) as error:
        is_missing = isinstance(error, ModuleNotFoundError) and f"{path}.".startswith(f"{error.name}.")
        if is_missing:
            raise SettingsError(texts.NO_SUCH_MODULE.format(setting=setting, source=source)) from error
        said = " ".join(str(error).split())[:MAX_SHOWN_CHARS]
        name = type(error).__name__
        broken = texts.MODULE_BROKEN.format(setting=setting, source=source, error=name, said=said or "it says no more")
        raise SettingsError(broken) from error
