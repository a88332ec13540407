"""Functions that code in the sandbox calls: bounded, stoppable, and no way out."""

import asyncio
import json
from collections.abc import Sequence
from dataclasses import dataclass, field

import pytest

from agent.errors import ToolError
from agent.messages import JsonObject, ResultStatus, ToolCall, ToolResult
from agent.ports.tools import Tool, ToolContext, ToolEffect
from bot.python import texts
from bot.python.code_tools import CodeTools
from bot.python.engine import Function, Functions, Limit, RunEnded, RunLimits
from bot.python.feature import open_sandbox
from bot.python.sandbox import Sandbox
from tests.patience import PATIENCE_S, until

IMPORT = "from host import tools\n"
SCHEMA: JsonObject = {"type": "object", "properties": {"query": {}}}


@dataclass
class Calls:
    """`got`: the arguments of each call. `waits`: what a call waits for."""

    got: list[JsonObject] = field(default_factory=list[JsonObject])
    waits: asyncio.Event | None = None

    async def call(self, name: str, args: JsonObject) -> str:
        self.got.append(args)
        if self.waits is not None:
            await self.waits.wait()
        if args.get("query") == "refused":
            raise ToolError("never")
        return f"{name} {len(self.got)}"

    @property
    def functions(self) -> Functions:
        return Functions((Function("look", "Look it up", SCHEMA),), self.call)


async def run(sandbox: Sandbox, code: str, calls: Calls) -> RunEnded:
    return await sandbox.run(IMPORT + code, [], "ann", functions=calls.functions)


async def test_a_flood_of_calls_is_bounded(sandbox: Sandbox) -> None:
    calls = Calls()
    code = """
told = {}
for _ in range(5_000):
    try:
        tools.look()
    except Exception as error:
        told[str(error)] = told.get(str(error), 0) + 1
print(told)
"""
    ended = await run(sandbox, code, calls)
    assert len(calls.got) == RunLimits().function_calls
    assert texts.TOO_MANY_CALLS.format(limit=RunLimits().function_calls) in ended.output
    assert ended.limit is None


@pytest.mark.parametrize(
    "argument",
    [
        "'x' * 200_000",
        "b'x'",
        "{1: 2}",
        "float('nan')",
        "10 ** 400",
        "object()",
        "'\\ud800'",
        "(lambda x: [x.append([]) or x.append(x) for _ in range(1)][0] or x)([])",
        "__import__('functools').reduce(lambda x, _: [x], range(500), [])",
    ],
)
async def test_strange_arguments_are_an_error_of_the_code_or_plain_json(sandbox: Sandbox, argument: str) -> None:
    calls = Calls()
    ended = await run(
        sandbox,
        f"try:\n    tools.look(query={argument})\nexcept Exception:\n    print('caught')\nprint(tools.look(query=1))",
        calls,
    )
    assert ended.limit is None, ended
    assert calls.got[-1] == {"query": 1}
    assert len(json.dumps(calls.got)) < RunLimits().argument_bytes


async def test_waiting_for_a_function_does_not_count_as_time_of_the_code() -> None:
    calls = Calls(waits=asyncio.Event())
    opened = Sandbox(open_sandbox().cache, RunLimits(seconds=5.0))
    async with opened.serving(), asyncio.timeout(PATIENCE_S):
        await opened.compiled()
        running = asyncio.create_task(run(opened, "print(tools.look())", calls))
        await until(lambda: calls.got)
        await asyncio.wait({running}, timeout=6.0)
        assert calls.waits is not None
        calls.waits.set()
        assert (await running).output == "look 1\n"


@pytest.mark.parametrize("code", ["while True: pass", "while True: tools.look(query='x' * 50_000)"])
async def test_code_with_functions_is_ended_in_time_too(code: str) -> None:
    opened = Sandbox(open_sandbox().cache, RunLimits(seconds=5.0, function_calls=10_000))
    async with opened.serving(), asyncio.timeout(PATIENCE_S):
        await opened.compiled()
        ended = await run(
            opened, f"tools.look()\nprint(1, flush=True)\ntry:\n    {code}\nfinally:\n    print(2)", Calls()
        )
    assert ended.limit is Limit.TIME or "Budget" in ended.error
    assert ended.output.startswith("1\n")


async def test_stop_ends_a_run_that_waits_for_a_function(sandbox: Sandbox) -> None:
    calls = Calls(waits=asyncio.Event())
    running = asyncio.create_task(run(sandbox, "tools.look()", calls))
    await until(lambda: calls.got)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert (await run(sandbox, "1 + 1", Calls())).output == "2\n"


async def test_what_a_function_refuses_is_an_error_and_what_breaks_in_it_is_raised(sandbox: Sandbox) -> None:
    ended = await run(sandbox, "tools.look(query='refused')", Calls())
    assert ended.error.endswith("never\n")

    async def fail(name: str, args: JsonObject) -> str:
        raise RuntimeError(name, args)

    broken = Functions((Function("look", "", SCHEMA),), fail)
    with pytest.raises(RuntimeError):
        await sandbox.run(IMPORT + "tools.look()", [], "ann", functions=broken)


async def test_code_reaches_nothing_else_by_the_door_of_its_functions(sandbox: Sandbox) -> None:
    """The package that calls functions sends frames; whatever they say, only offered functions run."""
    calls = Calls()
    code = """
import host.tools as door
found = []
for frame in ({"op": "call", "tool": "os.system", "arguments": {}}, {"op": "call", "tool": "__class__"}, {}, [], "x"):
    for send in ("_exchange", "_call"):
        try:
            found.append(getattr(door, send)(frame))
        except BaseException as error:
            found.append(type(error).__name__)
print(len(found))
"""
    ended = await run(sandbox, code, calls)
    assert calls.got == []
    assert ended.output == "10\n"


@dataclass(frozen=True)
class Strange:
    """A tool with a schema that nobody checked."""

    name: str
    schema: JsonObject
    description: str = "Look."
    effect: ToolEffect = ToolEffect.READS
    timeout_s: float = 5.0

    async def run(self, args: JsonObject, context: ToolContext) -> str:
        return f"{args} {context}"


@dataclass(frozen=True)
class Offered:
    """The tools that code may call. Each answers with its call."""

    tools: Sequence[Tool]

    async def run(self, call: ToolCall) -> ToolResult:
        return ToolResult(call.name, ResultStatus.SUCCESS, f"{call.name} {dict(call.args)}")


async def test_every_tool_of_the_bot_is_a_function_whatever_its_schema(sandbox: Sandbox) -> None:
    """Also of schemas that servers may write: none keeps the others from being there."""
    strange: list[JsonObject] = [
        {"type": "object", "properties": {"from": {"$ref": "#/none"}, "class": {}, "a-b": {"type": ["x"]}}},
        {"type": "object", "properties": {"query": True}, "required": "query"},
        {"properties": {"\u00fc": {"anyOf": []}, "": {}, "x" * 300: {}}},
        {},
        {"type": "object", "patternProperties": {".*": {}}, "oneOf": [{"required": ["a"]}]},
    ]
    tools = [Strange(f"strange.{at}", schema) for at, schema in enumerate(strange)]

    code = f"{IMPORT}print(tools.strange_0(from_=1))\nprint([hasattr(tools, f'strange_{{n}}') for n in range(5)])"
    ended = await sandbox.run(code, [], "ann", functions=CodeTools(Offered(tools)).functions_for(code))
    assert ended.output == "strange.0 {'from': 1}\n[True, True, True, True, True]\n", ended
