"""Whatever an MCP server does, callers wait no longer than their timeout, the bot goes on, and a person gets an answer.

The tests name the issues of other clients, each of which crashed in one of these ways.
"""

import asyncio
import json
import subprocess
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from aiohttp import web
from mcp import Client, InputRequiredRoundsExceededError, MCPError

from agent.errors import ToolError
from agent.incoming import Person
from agent.memory.audience import Place, TeamAudience
from agent.messages import StructuredData, ToolCall
from agent.ports.tools import Asker, ToolEffect, ToolOutput
from agent.progress import Progress
from agent.tool_policy import CallGate, TurnWords
from agent.toolbox.registry import Registry
from bot.tools.mcp.call_questions import NEEDS_INPUT
from bot.tools.mcp.config import AccountKind, HttpReach, McpServerConfig, StdioReach
from bot.tools.mcp.listing import MAX_TOOLS, NO_NAME, NO_SCHEMA, TAKEN, TOO_MANY, alias
from bot.tools.mcp.server import McpLimits, reason_of
from bot.tools.mcp.transport import MAX_MESSAGE_BYTES, Allowance, ServerBroken
from tests.fakes import mcp_raw
from tests.fakes.clock import FakeClock
from tests.fakes.fast_clock import FastClock
from tests.fakes.mcp_world import QUICK, called, config, connected, context, raw
from tests.patience import PATIENCE_S, until

pytestmark = pytest.mark.server


BLOCKED = "transport write blocked"  # What the SDK logs after it has waited for seconds


def lives(process: int) -> bool:
    """Whether a process runs. A zombie counts as ended."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


async def test_a_call_goes_there_and_back_for_the_asker_alone() -> None:
    async with connected(config(raw())) as (server,):
        output = await called(server, "echo", word="boat")
    assert json.loads(str(output.parts[0])) == [{"word": "boat"}, 0]
    assert output.audience is None


async def test_what_a_shared_server_brings_is_the_teams_where_its_operator_says_so() -> None:
    shared = McpServerConfig("raw", raw(), {"*": ToolEffect.READS}, for_team=True)
    async with connected(shared) as (server,):
        assert (await called(server, "echo")).audience == TeamAudience("slack:T1")


async def test_only_the_operator_says_what_a_tool_does_and_what_nobody_speaks_of_acts_outward() -> None:
    said = {"e*": ToolEffect.READS, "echo": ToolEffect.ACTS_OUTWARD, "hang": ToolEffect.IRREVERSIBLE}
    async with connected(config(raw(), effects=said)) as (server,):
        effects = {tool.name: tool.effect for tool in server.tools}
        assert effects["raw.endless"] is ToolEffect.READS
        assert effects["raw.echo"] is effects["raw.die"] is ToolEffect.ACTS_OUTWARD
        assert effects["raw.hang"] is ToolEffect.IRREVERSIBLE


async def test_a_server_that_dies_in_mid_call_fails_that_call_and_is_there_for_the_next() -> None:
    async with connected(config(raw())) as (server,):
        with pytest.raises(ToolError, match="it is unknown whether the call took effect"):
            await called(server, "die")
        assert (await called(server, "echo")).parts
        assert server.attempts == 2


async def test_a_server_that_closes_its_input_fails_its_calls_and_is_there_for_the_next() -> None:
    async with connected(config(raw()), clock=FastClock()) as (server,):
        async with asyncio.timeout(PATIENCE_S):
            with pytest.raises(ToolError, match="or closed its input"):
                await called(server, "deaf")
        assert (await called(server, "echo")).parts
        assert server.attempts == 2


async def test_a_server_that_reads_nothing_is_started_again_once_nobody_waits_for_it(
    caplog: pytest.LogCaptureFixture,
) -> None:
    long = "x" * 300_000  # more than a pipe holds
    async with connected(replace(config(raw()), timeout_s=0.5)) as (server,):
        calls = [called(server, "busy"), called(server, "echo", word=long)]
        async with asyncio.timeout(PATIENCE_S):
            failures = await asyncio.gather(*calls, return_exceptions=True)
        assert all("no longer reads the messages that it is sent" in str(failure) for failure in failures), failures
        assert (await called(server, "echo", word=long)).parts
        assert server.attempts == 2
    assert not [line for line in caplog.messages if BLOCKED in line]


async def test_the_bot_ends_without_waiting_for_a_server_that_reads_nothing(caplog: pytest.LogCaptureFixture) -> None:
    begun = asyncio.Event()

    async def report(*_: object) -> None:
        begun.set()

    async with connected(config(raw())) as (server,):
        calls = [called(server, "busy", report, word="x" * 300_000) for _ in range(2)]
        calling = [asyncio.create_task(call) for call in calls]
        await begun.wait()
    assert all("it was stopped" in str(failure) for failure in await asyncio.gather(*calling, return_exceptions=True))
    assert not [line for line in caplog.messages if BLOCKED in line]


async def test_what_is_no_utf_8_in_a_call_reaches_the_server_and_ends_no_connection() -> None:
    async with connected(config(raw())) as (server,):
        (echoed,) = (await called(server, "echo", word="a\ud800b")).parts
        assert json.loads(str(echoed)) == [{"word": "a\ud800b"}, 0]
        assert server.attempts == 1


@pytest.mark.parametrize("behaviour", ["flood", "endless", "deep", "babble"])
async def test_a_server_that_floods_or_sends_what_nobody_can_read_is_cut_off(behaviour: str) -> None:
    async with connected(config(raw())) as (server,):
        with pytest.raises(ToolError, match="connection to the server 'raw' ended"):
            await called(server, behaviour)
        assert (await called(server, "echo")).parts


async def test_a_megabyte_of_text_is_cut_and_an_answer_against_the_protocol_is_one_sentence() -> None:
    async with connected(config(raw())) as (server,):
        (text,) = (await called(server, "big")).parts
        assert len(str(text)) < 25_000
        with pytest.raises(ToolError, match="violates the protocol") as wrong:
            await called(server, "wrong")
        assert len(str(wrong.value)) < 500
        with pytest.raises(ToolError, match="no such thing: fail"):
            await called(server, "fail")
        assert server.attempts == 1


async def test_an_answer_of_which_a_part_is_not_valid_is_not_lost_nor_told_as_a_failure() -> None:
    async with connected(config(raw())) as (server,):
        good, note, data = (await called(server, "odd")).parts
        assert good == "good"
        assert "“video”" in str(note)
        assert data == StructuredData({"result": [1]})
        with pytest.raises(
            ToolError, match=r"answered, but its answer could not be read .* the call may have taken effect"
        ):
            await called(server, "wrong")


async def test_a_tool_and_arguments_of_any_name_are_called_as_the_server_names_them() -> None:
    async with connected(config(raw())) as (server,):
        (tool,) = [tool for tool in server.tools if tool.description.startswith("“中文工具”")]
        output = await tool.run({alias("uids[]", "field"): ["a"], alias("größe", "field"): 7}, context())
        assert isinstance(output, ToolOutput)
        assert json.loads(str(output.parts[0]))[0] == {"uids[]": ["a"], "größe": 7}


async def test_an_error_that_no_request_should_raise_ends_the_connection_and_reaches_nobody_as_it_is() -> None:
    async def mistaken(client: Client) -> None:
        raise KeyError(client.protocol_version)

    async with connected(config(raw())) as (server,):
        with pytest.raises(ToolError, match=r"connection to the server 'raw' ended .*KeyError"):
            await server.ask(mistaken)
        assert (await called(server, "echo")).parts
        assert server.attempts == 2


def test_a_server_that_asks_for_more_in_every_round_is_told_in_words() -> None:
    assert reason_of(InputRequiredRoundsExceededError(10)) == NEEDS_INPUT


async def test_progress_is_told_in_numbers_only() -> None:
    told: list[tuple[float, float]] = []

    async def report(done: float, total: float, unit: str) -> None:  # noqa: ARG001 -- a share
        told.append((done, total))

    async with connected(config(raw()), limits=McpLimits(connect_s=PATIENCE_S, progress_s=0.0)) as (server,):
        await called(server, "slow", report)
    assert told
    assert set(told) <= {(1.0, 4.0), (2.0, 4.0), (3.0, 4.0)}


async def test_a_call_that_is_stopped_is_cancelled_at_the_server() -> None:
    async with connected(config(raw())) as (server,):
        (hang,) = [tool for tool in server.tools if tool.name == "raw.hang"]
        hanging = asyncio.create_task(hang.run({}, context()))
        await called(server, "echo")  # by now it has the other one, too
        hanging.cancel()
        with pytest.raises(asyncio.CancelledError):
            await hanging

        async def cancelled() -> int:
            return json.loads(str((await called(server, "echo")).parts[0]))[1]

        async with asyncio.timeout(PATIENCE_S):
            while not await cancelled():
                pass


async def test_what_acts_is_called_round_no_approval_openclaw_78308() -> None:
    said = {"*": ToolEffect.READS, "change": ToolEffect.ACTS_OUTWARD}
    async with connected(config(raw(), effects=said)) as (server,):
        registry = Registry((), rest=server.tools)
        for name in ("change", "raw.Change", "raw--change", "functions.raw.change"):
            assert registry.check(ToolCall(name, {})) is not None
        asker = Asker(Person("t:ann", "Ann"), Place(TeamAudience("t")), "c")
        effects = {tool.name: tool.effect for tool in server.tools}
        gate = CallGate((), registry.check, effects.__getitem__, asker, frozenset(), TurnWords, Progress)
        for call in (ToolCall("raw.change", {}), ToolCall("call_tool", {"name": "raw.change", "args": {}})):
            meant = registry.unwrap(call)
            assert gate.check(meant) is not None or gate.needs_consent(meant)
        assert not gate.needs_consent(ToolCall("raw.echo", {"word": "ahoy"}))


async def test_a_list_that_changes_is_read_again_and_what_stayed_is_the_same_object() -> None:
    async with connected(config(raw())) as (server,):
        before = server.tools
        await called(server, "change")
        await until(lambda: len(server.tools) > len(before))
        assert server.tools[: len(before)] == before
        assert server.tools[-1].name == "raw.fresh"


async def test_strange_tools_are_left_out_each_with_its_reason() -> None:
    async with connected(config(raw("strange"))) as (server,):
        offered = {tool.name: tool for tool in server.tools}
        cut = "raw.list_what_was_said_of_pull_requests_and_threads_in_"
        shortened = sorted(name for name in offered if name.startswith(cut))
        assert [len(name) for name in shortened] == [60, 60]
        assert sorted(offered.keys() - set(shortened)) == [
            "raw.away",
            "raw.echo",
            "raw.long",
            "raw.round",
            "raw.slow_pattern",
        ]
        why = {tool.name: tool.why for tool in server.listing.omitted}
        assert why == {"raw.echo": TAKEN, "wipe??2J": NO_NAME, "no_schema": NO_SCHEMA}
        assert offered["raw.echo"].description == "Says it again."
        assert len(offered["raw.long"].description) <= 1_000
        schemas = json.dumps([dict(tool.schema) for tool in server.tools])
        assert "$ref" not in schemas
        assert "pattern" not in schemas


async def test_one_tool_that_is_none_does_not_take_the_others_with_it() -> None:
    async with connected(config(raw("broken"))) as (server,):
        assert "raw.echo" in {tool.name for tool in server.tools}
        assert [tool.why for tool in server.listing.omitted] == [NO_SCHEMA]


async def test_of_ten_thousand_tools_the_first_are_offered_and_the_next_named() -> None:
    async with connected(config(raw("many"))) as (server,):
        assert len(server.tools) == MAX_TOOLS
        assert {tool.why for tool in server.listing.omitted} == {TOO_MANY}
        assert len(server.listing.omitted) == MAX_TOOLS


async def test_a_timeout_of_one_server_touches_no_other_nanobot_1055() -> None:
    async with connected(config(raw(), "good")) as (good,):
        impatient = McpLimits(connect_s=0.2, wait_s=0.1)
        async with connected(config(raw("silent"), "silent"), limits=impatient) as (silent,):
            assert "not ready after 0.2 s" in silent.trouble
            with pytest.raises(ToolError, match="has been unreachable for less than a minute"):
                await silent.ask(lambda client: client.list_prompts())
            assert (await called(good, "echo")).parts
        assert (await called(good, "echo")).parts


async def test_reconnecting_again_and_again_leaves_no_scope_behind_nanobot_4302_and_4764() -> None:
    async with connected(config(raw())) as (server,):
        for _ in range(3):
            with pytest.raises(ToolError):
                await called(server, "die")
            assert (await called(server, "echo")).parts
        assert server.attempts == 4


class NotingClock(FakeClock):
    """Records each pause, and ends it at once."""

    def __init__(self) -> None:
        super().__init__(auto=False)
        self.pauses: list[float] = []

    async def sleep(self, seconds: float) -> None:
        self.pauses.append(seconds)
        await asyncio.sleep(0)


async def test_a_server_that_cannot_be_started_is_tried_ever_more_seldom_nanobot_3610_and_hermes_62212() -> None:
    nowhere, clock = config(StdioReach("/nowhere/to/be/found"), "nowhere"), NotingClock()
    limits = McpLimits(first_pause_s=1, max_pause_s=10)
    async with connected(nowhere, limits=limits, clock=clock) as (server,):
        assert server.trouble == "its command could not be started: it is not installed or not on PATH"
        await until(lambda: server.attempts >= 8)
        assert clock.pauses[:7] == [1, 2, 4, 8, 10, 10, 10]
        assert server.attempts <= len(clock.pauses) + 1


async def test_why_a_process_does_not_start_is_told_its_operator() -> None:
    async with connected(config(raw("exit"))) as (server,):
        assert server.trouble == "its process ended; its error output: no key is set"
        (finding,) = await server.examine()
        assert "not connected" in finding.what


async def test_what_a_process_writes_to_its_standard_error_reaches_no_model_and_no_secret_of_it_anybody(
    caplog: pytest.LogCaptureFixture,
) -> None:
    leaking = replace(config(raw("leak")), secrets=("opensesame",))
    impatient = replace(QUICK, wait_s=0.0)
    async with connected(leaking, limits=impatient) as (server,):
        with pytest.raises(ToolError) as told:
            await server.ask(lambda client: client.list_tools())
        (finding,) = await server.examine()
        for_operator = f"{server.trouble} {finding.what} {finding.remedy} {caplog.text}"
    assert "its process ended" in str(told.value)
    assert "mallory" not in str(told.value)
    assert "mallory" in for_operator, "what may explain the failure is shown to the operator"
    for secret in ("swordfish", "opensesame", "0123456789abcdefghij"):
        assert secret not in for_operator


async def test_the_words_with_which_a_server_refuses_a_connection_reach_no_model() -> None:
    refusal = MCPError(code=-32000, message="mallory's key is wrong")
    assert "mallory" in reason_of(refusal)
    assert "mallory" not in reason_of(ExceptionGroup("", [refusal]), quoting=False)


async def test_an_operator_is_told_how_long_a_connection_took_and_whose_account_it_has() -> None:
    clock = NotingClock()
    theirs = replace(config(raw(), "theirs"), account=AccountKind.SHARED)
    async with connected(config(raw()), theirs, clock=clock) as servers:
        (plain,), (shared,) = [await server.examine() for server in servers]
    assert "; connected after 0.0 s; it offers these tools: " in plain.what
    assert "; connected with your account after 0.0 s; it offers these tools: " in shared.what


async def test_a_dead_server_delays_nobody_hermes_29726() -> None:
    async with asyncio.timeout(PATIENCE_S / 2):
        async with connected(config(raw("silent"), "silent"), limits=McpLimits(connect_s=0.1)) as (server,):
            assert server.tools == ()


async def test_what_a_process_started_ends_with_it_hermes_72887() -> None:
    async with connected(config(raw())) as (server,):
        grandchild = int(str((await called(server, "spawn")).parts[0]))
        assert lives(grandchild)
    await until(lambda: not lives(grandchild))


async def test_a_process_that_does_not_want_to_end_is_killed() -> None:
    async with connected(config(raw("stubborn"))) as (server,):
        grandchild = int(str((await called(server, "spawn")).parts[0]))
    await until(lambda: not lives(grandchild))


async def test_a_connection_that_nobody_uses_is_left_in_peace_hermes_103746() -> None:
    clock = FakeClock(auto=False)
    async with connected(config(raw()), clock=clock) as (server,):
        await clock.advance(86_400)
        assert (await called(server, "echo")).parts
        assert server.attempts == 1


KILLED = """
import asyncio, sys
from tests.fakes import mcp_raw
from tests.fakes.mcp_world import called, config, connected, raw
async def main():
    async with connected(config(raw("stubborn"))) as (server,):
        print((await called(server, "spawn")).parts[0], flush=True)
        await asyncio.Event().wait()
asyncio.run(main())
"""


async def test_what_a_process_started_ends_with_a_bot_that_is_killed() -> None:
    bot = await asyncio.create_subprocess_exec(sys.executable, "-c", KILLED, stdout=subprocess.PIPE)
    try:
        assert bot.stdout is not None
        async with asyncio.timeout(PATIENCE_S):
            grandchild = int(await bot.stdout.readline())
        assert lives(grandchild)
    finally:
        bot.kill()
        await bot.wait()
    await until(lambda: not lives(grandchild))


def test_a_flood_is_told_from_a_burst_and_from_a_steady_trickle() -> None:
    now = [0.0]
    allowance = Allowance(lambda: now[0], max_lines=10, max_bytes=1_000, lines_per_s=2, bytes_per_s=100)
    for _ in range(10):
        allowance.take(1, 10)
    for _ in range(100):
        now[0] += 1
        allowance.take(2, 50)
    with pytest.raises(ServerBroken, match="too much data"):
        allowance.take(11, 1)


async def test_a_service_is_spoken_to_by_http_and_what_floods_there_is_cut_off() -> None:
    async with http_service() as (url, asked):
        wrong = {"Accept-Encoding": "gzip", "Content-Length": "1", "Host": "elsewhere.example", "accept": "text/html"}
        reach = HttpReach(url, {"Authorization": "Bearer key", **wrong})
        async with connected(config(reach, "web")) as (server,):
            assert (await called(server, "echo", word="boat")).parts
            (text,) = (await called(server, "big")).parts
            assert len(str(text)) < 25_000
            with pytest.raises(ToolError, match="no such thing"):
                await called(server, "fail")
            with pytest.raises(ToolError):
                await called(server, "huge")
            assert (await called(server, "echo")).parts
    assert {one.headers["Authorization"] for one in asked} == {"Bearer key"}
    assert {tuple(one.headers.getall("Accept-Encoding")) for one in asked} == {("identity",)}
    assert {one.headers["Host"] in url for one in asked} == {True}
    assert {one.headers["Accept"] for one in asked} == {"application/json, text/event-stream"}


async def test_the_headers_of_a_service_go_to_no_other_that_it_names() -> None:
    async with (
        http_service() as (url, asked),
        http_service(moved_to=url) as (moved, _),
        connected(config(HttpReach(moved, {"X-Key": "key"}), "web")) as (server,),
    ):
        assert server.trouble
    assert asked == []


async def test_a_service_that_is_away_is_told_and_tried_again() -> None:
    async with connected(config(HttpReach("http://127.0.0.1:9/mcp"), "web")) as (server,):
        assert server.trouble.startswith("it cannot be reached: the connection was refused")
        await until(lambda: server.attempts > 1)


# Few bytes that take much time: lines that end in CR alone, and a list of millions of items.
FLOODS = {
    "lines": (b":\r" * 20_000, "text/event-stream"),
    "values": (b"[%s1]" % (b"1," * 2_500_000), "application/json"),
}


@pytest.mark.parametrize("flood", FLOODS)
async def test_a_service_that_sends_little_which_takes_long_to_read_is_cut_off(flood: str) -> None:
    async with http_service() as (url, _), connected(config(HttpReach(url), "web")) as (server,):
        with pytest.raises(ToolError, match="too much data"):
            await called(server, flood)


@asynccontextmanager
async def http_service(moved_to: str = "") -> AsyncGenerator[tuple[str, list[web.Request]]]:
    """`tests.fakes.mcp_raw` behind HTTP, with one tool more."""
    asked: list[web.Request] = []

    async def post(request: web.Request) -> web.StreamResponse:
        asked.append(request)
        if moved_to:
            raise web.HTTPTemporaryRedirect(moved_to)
        message = await request.json()
        params = message.get("params", {})
        if "id" not in message:
            return web.Response(status=202)
        if params.get("name") in FLOODS:
            body, kind = FLOODS[params["name"]]
            return web.Response(body=body, content_type=kind)
        if params.get("name") == "huge":
            return web.Response(body=b"x" * (MAX_MESSAGE_BYTES + 1), content_type="application/json")
        answer = mcp_raw.answer("plain", message["method"], params, message["id"])
        if answer is None:
            return web.json_response({"jsonrpc": "2.0", "id": message["id"], "error": {"code": -32601, "message": "?"}})
        if message["method"] == "tools/list":
            more = [{"name": name, "inputSchema": {"type": "object"}} for name in ("huge", *FLOODS)]
            answer = {"tools": [*mcp_raw.TOOLS, *more]}
        return web.json_response({"jsonrpc": "2.0", "id": message["id"], "result": answer})

    app = web.Application()
    app.router.add_post("/mcp", post)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    try:
        port = runner.addresses[0][1]
        yield f"http://127.0.0.1:{port}/mcp", asked
    finally:
        await runner.cleanup()
