"""`@tool`: the description and schema of a function, its arguments, and its results."""

import asyncio
import logging
import sys
import threading
from collections.abc import AsyncGenerator, Callable, Generator
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import Enum, StrEnum, auto
from pathlib import Path
from typing import Annotated, Any, Literal, NotRequired, TypedDict

import pytest
from hypothesis import given
from hypothesis import strategies as st

import agent
from agent import ToolContext, ToolDefinitionError, ToolEffect, ToolError, ToolOutput, tool
from agent.errors import SettingsError
from agent.incoming import Person
from agent.loop import TOOL_BROKE, run_call
from agent.memory.audience import PersonAudience, Place
from agent.messages import ResultStatus, StructuredData, ToolCall, ToolResult
from agent.toolbox.registry import Registry
from agent.toolbox.signatures import described
from agent.tools.functions import MAX_DESCRIPTION_CHARS, MAX_THREADS, FunctionTool, load_tools
from agent.turn_events import CallPlaced
from tests.patience import PATIENCE_S

NOTHING = "nothing"
ANN = Person("slack:T1:U1", "Ann")
CONTEXT = ToolContext(ANN, Place(PersonAudience(ANN.id)), "thread", 1, datetime(2026, 1, 5, tzinfo=UTC))


class Unit(StrEnum):
    CELSIUS = "celsius"
    FAHRENHEIT = "fahrenheit"


class Size(Enum):
    SMALL = auto()
    LARGE = auto()


@dataclass(frozen=True)
class Span:
    first: int
    last: int = 9


class Spot(TypedDict):
    lat: float
    name: NotRequired[str]


@tool(effect="reads")
async def weather(city: str, days: int = 1) -> str:
    """The weather forecast
    of a city.

    Args:
        city: as people
            call it
        days (int): from today

    Returns:
        Not for the model.
    """
    return f"{city} {days}"


def of(function: Callable[..., Any]) -> FunctionTool[..., Any]:
    function.__doc__ = function.__doc__ or "It does something."
    return tool(effect="reads")(function)


async def called(one: FunctionTool[..., Any], **args: Any) -> ToolResult:
    registry = Registry([one])
    call = ToolCall(one.name, args)
    assert registry.check(call) is None
    async with asyncio.timeout(PATIENCE_S):
        return (await run_call(CallPlaced("1.1", call), registry, CONTEXT)).result


def test_a_tool_is_told_by_its_docstring_and_its_annotations() -> None:
    assert described(weather) == (
        "weather(city, days?: integer): The weather forecast of a city.\n  city: as people call it\n  days: from today"
    )
    assert (weather.effect, weather.timeout_s) == (ToolEffect.READS, 20)


async def test_the_function_is_still_one() -> None:
    assert await weather("Kiel", days=2) == "Kiel 2"


def test_whoever_does_not_say_what_a_call_does_has_said_that_it_acts_outward() -> None:
    @tool
    def send(text: str) -> str:
        """Send it."""
        return text

    assert send.effect is ToolEffect.ACTS_OUTWARD


def test_every_kind_of_argument_has_its_schema() -> None:
    def every(
        text: Annotated[str, "what is said"],
        yes: bool,
        number: float,
        unit: Unit,
        size: Size,
        one_of: Literal["a", 2],
        many: list[int],
        by_name: dict[str, float],
        maybe: int | None,
        span: Span,
        spot: Spot,
    ) -> None: ...

    schema = of(every).schema
    assert schema["required"] == list(every.__annotations__)[:-1]
    assert schema["properties"] == {
        "text": {"type": "string", "description": "what is said"},
        "yes": {"type": "boolean"},
        "number": {"type": "number"},
        "unit": {"enum": ["celsius", "fahrenheit"]},
        "size": {"enum": ["SMALL", "LARGE"]},
        "one_of": {"enum": ["a", 2]},
        "many": {"type": "array", "items": {"type": "integer"}},
        "by_name": {"type": "object", "additionalProperties": {"type": "number"}},
        "maybe": {"anyOf": [{"type": "integer"}, {"type": "null"}]},
        "span": {
            "type": "object",
            "properties": {"first": {"type": "integer"}, "last": {"type": "integer"}},
            "required": ["first"],
            "additionalProperties": False,
        },
        "spot": {
            "type": "object",
            "properties": {"lat": {"type": "number"}, "name": {"type": "string"}},
            "required": ["lat"],
            "additionalProperties": False,
        },
    }
    assert "maybe: integer | null" in described(of(every))


async def test_a_function_is_given_what_its_annotations_say() -> None:
    got = list[object]()

    def take(unit: Unit, size: Size, spans: list[Span], number: float, maybe: Span | None = None) -> None:
        got.extend([unit, size, spans, number, maybe])

    args = {"unit": "celsius", "size": "LARGE", "spans": [{"first": 1}], "number": 2, "maybe": {"first": 3, "last": 4}}
    assert (await called(of(take), **args)).content == "done"
    assert got == [Unit.CELSIUS, Size.LARGE, [Span(1)], 2.0, Span(3, 4)]


async def test_the_context_is_given_by_us_and_unknown_to_the_model() -> None:
    async def who(context: ToolContext, greeting: str = "Hello") -> str:
        return f"{greeting} {context.person.name}"

    one = of(who)
    assert one.schema["properties"] == {"greeting": {"type": "string"}}
    assert (await called(one)).content == "Hello Ann"
    assert Registry([one]).check(ToolCall("who", {"context": {}})) is not None


@pytest.mark.parametrize(
    ("brought", "told"),
    [("as it is", "as it is"), (None, "done"), ({"a": [Span(1)]}, '{"a": [{"first": 1, "last": 9}]}'), (3, "3")],
)
async def test_a_result_is_a_text_or_what_can_be_json(brought: object, told: str) -> None:
    def bring() -> object:
        return brought

    assert (await called(of(bring))).content == told


async def test_a_result_may_have_parts() -> None:
    def bring() -> ToolOutput:
        return ToolOutput("two:", parts=(StructuredData([1, 2]),))

    assert (await called(of(bring))).content == "two:\n\n[1, 2]"


@pytest.mark.parametrize("brought", [object(), float("nan"), {1, 2}])
async def test_a_result_that_is_no_json_is_a_failure(brought: object) -> None:
    def bring() -> object:
        return brought

    assert (await called(of(bring))).content == TOOL_BROKE


async def test_a_function_that_is_not_async_runs_beside_the_loop() -> None:
    def where() -> bool:
        return threading.current_thread() is threading.main_thread()

    assert (await called(of(where))).content == "false"


async def test_a_function_that_hangs_is_given_up_and_does_not_take_threads_without_end() -> None:
    go_on = threading.Event()

    @tool(effect="reads", timeout_s=0.01)
    def hang() -> None:
        """Wait."""
        go_on.wait(PATIENCE_S)

    try:
        for _ in range(MAX_THREADS):
            assert "no result after" in (await called(hang)).content
        assert "busy" in (await called(hang)).content
    finally:
        go_on.set()


@pytest.mark.parametrize("error", [ValueError("secret words"), StopIteration(), SystemExit(3), KeyboardInterrupt()])
@pytest.mark.parametrize("is_async", [True, False])
async def test_what_a_function_raises_is_a_failed_result_without_its_words(
    error: BaseException, caplog: pytest.LogCaptureFixture, *, is_async: bool
) -> None:
    if is_async and not isinstance(error, Exception | SystemExit):
        return  # Ctrl-C is not a function's

    def fail() -> None:
        raise error

    async def fail_async() -> None:
        raise error

    with caplog.at_level(logging.INFO):
        result = await called(of(fail_async if is_async else fail))
    assert (result.status, result.content, result.audience) == (ResultStatus.FAILURE, TOOL_BROKE, "")
    assert not any("secret" in record.getMessage() for record in caplog.records)


async def test_a_tool_error_is_told_to_the_model() -> None:
    def fail() -> None:
        raise ToolError("there is no such city")

    assert (await called(of(fail))).content == "there is no such city"


def needs_name(*args: str) -> None: ...
def has_no_schema(when: datetime) -> None: ...
def has_keys_of_numbers(by: dict[int, str]) -> None: ...
def Loud() -> None: ...  # noqa: N802 -- a name that no tool may have
def think() -> None: ...
def yields() -> Generator[int]:
    yield 1


async def yields_async() -> AsyncGenerator[int]:
    yield 1


def needs_annotation(city: str) -> None: ...
def cannot_be_read(what: str) -> None: ...


del needs_annotation.__annotations__["city"]
cannot_be_read.__annotations__["what"] = "Nowhere"


@dataclass
class Node:
    child: "Node | None"


def holds_itself(node: Node) -> None: ...


@pytest.mark.parametrize(
    ("function", "says"),
    [
        (needs_name, "'args' cannot be passed by name"),
        (needs_annotation, "'city' needs an annotation"),
        (has_no_schema, "'when' is annotated with datetime"),
        (has_keys_of_numbers, "dict[int, str]"),
        (cannot_be_read, "Nowhere"),
        (Loud, "lowercase letters"),
        (think, "cannot start with a digit or be one of"),
        (yields, "cannot yield"),
        (yields_async, "cannot yield"),
        (holds_itself, "'child'"),
    ],
)
def test_what_cannot_be_a_tool_is_an_error_that_names_it(function: Callable[..., Any], says: str) -> None:
    with pytest.raises(ToolDefinitionError) as raised:
        of(function)
    assert function.__name__ in str(raised.value)
    assert says in str(raised.value)


@pytest.mark.parametrize("text", ["", "word " * MAX_DESCRIPTION_CHARS])
def test_a_tool_needs_a_docstring_that_a_prompt_can_hold(text: str) -> None:
    def silent() -> None: ...

    silent.__doc__ = text
    with pytest.raises(ToolDefinitionError, match="docstring"):
        tool(silent)


@pytest.mark.parametrize("options", [{"effect": "harmless"}, {"timeout_s": 0}, {"timeout_s": 1e9}, {"name": "a b"}])
def test_options_are_checked(options: dict[str, Any]) -> None:
    def fine() -> None:
        """Fine."""

    with pytest.raises(ToolDefinitionError):
        tool(**options)(fine)


@given(st.text(max_size=300))
def test_any_docstring_is_read(text: str) -> None:
    def fine(city: str) -> None: ...

    fine.__doc__ = f"It does. {text}"
    description = tool(fine).description
    assert description.startswith("It does.")
    assert "\n" not in description


# Finding them


MINE = '''
from agent import tool

@tool(effect="reads")
def {name}() -> str:
    """It greets."""
    return "hello"
'''


@pytest.fixture
def folder(tmp_path: Path) -> Generator[Path]:
    """A folder whose modules can be imported, until the test ends."""
    before = set(sys.modules)
    sys.path.insert(0, str(tmp_path))
    yield tmp_path
    sys.path.remove(str(tmp_path))
    for name in set(sys.modules) - before:
        del sys.modules[name]


def loaded(*names: str) -> list[str]:
    return [one.name for one in load_tools(names, {"recall"}, "COGENCY_TOOLS")]


def install(folder: Path, name: str, value: str) -> None:
    """As pip leaves it of a package with an entry point."""
    about = folder / "some_tools-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: some-tools\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text(f"[cogency.tools]\n{name} = {value}\n")


def test_the_tools_of_a_named_module_are_loaded_in_its_order(folder: Path) -> None:
    (folder / "my_tools.py").write_text(MINE.format(name="greet") + MINE.format(name="answer"))
    assert loaded("my_tools") == ["greet", "answer"]
    assert loaded("my_tools", "my_tools") == ["greet", "answer"]


def test_the_tools_of_a_named_file_are_loaded_once_and_it_stands_for_no_other_module(folder: Path) -> None:
    imports = "from __future__ import annotations\nfrom dataclasses import dataclass\n"
    classes = f"{imports}@dataclass\nclass Trip:\n    days: int\n"
    plan = "@tool(effect='reads')\ndef plan(trip: Trip) -> str:\n    'Plan it.'\n    return str(trip.days)\n"
    (folder / "json.py").write_text(f"{classes}{MINE.format(name='greet')}{plan}")
    file = str(folder / "json.py")
    assert loaded(file) == ["greet", "plan"]
    assert loaded(file, file) == ["greet", "plan"]
    assert sys.modules["json"].__file__ != file
    (folder / "broken.py").write_text("1 / 0")
    for _ in range(2):
        with pytest.raises(SettingsError, match=r"broken\.py cannot be imported.*ZeroDivisionError"):
            loaded(str(folder / "broken.py"))


@pytest.mark.parametrize("value", ["ep_tools", "ep_tools:greet", "ep_tools:ALL"])
def test_what_a_package_offers_is_loaded_only_when_its_name_stands_there(folder: Path, value: str) -> None:
    (folder / "ep_tools.py").write_text(f"{MINE.format(name='greet')}\nALL = [greet]\n")
    install(folder, "greetings", value)
    assert loaded() == []
    assert "ep_tools" not in sys.modules
    assert loaded("greetings") == ["greet"]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (None, "broken_tools was not found"),
        (
            "import nowhere_at_all",
            (
                "cannot be imported. Fix it, or remove it from the setting. ModuleNotFoundError: No module named "
                "'nowhere_at_all'"
            ),
        ),
        ("1 / 0", "cannot be imported. Fix it, or remove it from the setting. ZeroDivisionError: division by zero"),
        ("raise SystemExit(3)", "cannot be imported. Fix it, or remove it from the setting. SystemExit: 3"),
        ("def f(:", "cannot be imported. Fix it, or remove it from the setting. SyntaxError"),
        ("x = 1", "broken_tools does not contain any tools"),
        (MINE.format(name="recall"), "'recall'"),
        (
            MINE.format(name="Loud"),
            "cannot be imported. Fix it, or remove it from the setting. ToolDefinitionError: Loud() in broken_tools",
        ),
    ],
)
def test_a_module_that_cannot_be_used_is_an_error_that_names_it(folder: Path, text: str | None, says: str) -> None:
    if text is not None:
        (folder / "broken_tools.py").write_text(text)
    with pytest.raises(SettingsError) as raised:
        loaded("broken_tools")
    assert str(raised.value).startswith("COGENCY_TOOLS: broken_tools")
    assert says in str(raised.value)


def test_two_tools_of_one_name_are_an_error_that_names_both(folder: Path) -> None:
    (folder / "one_tools.py").write_text(MINE.format(name="greet"))
    (folder / "other_tools.py").write_text(MINE.format(name="greet"))
    with pytest.raises(SettingsError, match=r"one_tools and other_tools both have a tool named 'greet'"):
        loaded("one_tools", "other_tools")


def test_every_public_name_is_there_and_no_other() -> None:
    assert all(getattr(agent, name) is not None for name in agent.__all__)
    assert dir(agent) == sorted(agent.__all__)
    with pytest.raises(AttributeError):
        getattr(agent, NOTHING)
