"""What tools of MCP servers cost: a call, a start, and idle connections.

call_overhead_ms             a call of a server on this machine through us, from the check of its arguments to its
                             result, less the same by the bare SDK: the medians' difference, call by call in turn
start_added_ms_0_servers     processor time at a start without a configured server: loading and looking for one
start_added_ms_20_servers    how much later a person can type in `cogency chat` with twenty servers, by the medians
start_added_ms_dead_server   the same with one that never answers
idle_cpu_percent_20_servers  of one processor, by the bot itself, while twenty servers are connected and no user asks
prefix_tokens_5, _40, _200   tokens before the first message with that many tools, as `benchmarks.tokens` counts them

Baseline: the bounds that this project has set; and the medians of the bare SDK's call and of a start without servers.
The server is written by hand and starts at once (`tests.fakes.mcp_raw`), so that our own time is measured.
"""

import asyncio
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Final

from mcp import Client, StdioServerParameters

from agent.loop import run_call
from agent.messages import ResultStatus, ToolCall
from agent.toolbox.registry import Registry
from agent.turn_events import CallPlaced
from benchmarks.report import Options, print_report, read_options
from benchmarks.startup import ROOT, start
from benchmarks.tokens import TOOLS, prefix_tokens
from bot.tools.mcp.config import StdioReach
from tests.fakes.mcp_world import config, connected, context, raw

BOUNDS: Final = {
    "call_overhead_ms": 5.0,
    "start_added_ms_0_servers": 10.0,
    "start_added_ms_20_servers": 1_000.0,
    "idle_cpu_percent_20_servers": 1.0,
    "prefix_tokens_200": 2_500.0,
}
ARGUMENTS: Final = {"word": "boat"}
SERVERS: Final = 20


async def _timed(act: Callable[[], Awaitable[object]]) -> float:
    began = time.perf_counter()
    await act()
    return time.perf_counter() - began


async def call_ms(calls: int) -> tuple[float, float]:
    """Return the times of a call through us, and of one by the bare SDK."""
    command = raw()
    bare = StdioServerParameters(command=command.command, args=list(command.args), env=dict(command.env))
    async with connected(config(command)) as (server,), Client(bare) as client:
        registry = Registry((), rest=server.tools)
        call = ToolCall("raw.echo", ARGUMENTS)

        async def through_us() -> None:
            refused = registry.check(call)
            answered = await run_call(CallPlaced("1.1", call), registry, context())
            if refused is not None or answered.result.status is not ResultStatus.SUCCESS:
                raise RuntimeError(f"the call failed: {refused or answered.result}")

        ours, theirs = list[float](), list[float]()
        for _ in range(calls):
            ours.append(await _timed(through_us))
            theirs.append(await _timed(lambda: client.call_tool("echo", dict(ARGUMENTS))))
    return 1_000 * statistics.median(ours), 1_000 * statistics.median(theirs)


async def idle_cpu_percent(seconds: float) -> float:
    """Return the bot's own processor time, with the threads of its event loop."""
    async with connected(*(config(raw(), f"s{number}") for number in range(SERVERS))) as servers:
        if not all(server.connected.is_set() for server in servers):
            raise RuntimeError("not all servers are connected")
        await asyncio.sleep(1.0)  # until the work of connecting is done
        began, used = time.perf_counter(), time.process_time()
        await asyncio.sleep(seconds)
        return 100 * (time.process_time() - used) / (time.perf_counter() - began)


# In its own process, the processor time of what a start loads and looks for.
LOADING: Final = """
import importlib, statistics, sys, time
from pathlib import Path
from bot.app.parts import open_tool_sources
from bot.app.settings import load_settings
from bot.tools.mcp import config as mcp_config, source as mcp_source
import asyncio
def used(act):
    began = time.process_time()
    act()
    return time.process_time() - began
async def enter(settings):
    async with open_tool_sources(settings, None, pages=False):
        pass
settings = load_settings({"COGENCY_DATABASE_URL": f"sqlite:///{Path(sys.argv[1]) / 'bot.db'}"})
looked = [used(lambda: asyncio.run(enter(settings))) - used(lambda: asyncio.run(asyncio.sleep(0))) for _ in range(30)]
loaded = [used(lambda: [importlib.reload(one) for one in (mcp_config, mcp_source)]) for _ in range(30)]
print(1_000 * (statistics.median(loaded) + statistics.median(looked)))
"""


def added_without_ms() -> float:
    with tempfile.TemporaryDirectory() as folder:
        ran = subprocess.run(
            [sys.executable, "-c", LOADING, folder], cwd=ROOT, capture_output=True, text=True, check=True
        )
    return float(ran.stdout)


def added_ms(starts: int) -> dict[str, float]:
    """Start the chat without servers, with twenty, and with one that never answers, in turn."""
    ways: dict[str, Mapping[str, StdioReach]] = {
        "without": {},
        "20_servers": {f"s{number}": raw() for number in range(SERVERS)},
        "dead_server": {"silent": raw("silent")},
    }
    times: dict[str, list[float]] = {way: [] for way in ways}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        start(folder)  # creates its database
        for _ in range(starts):
            for way, servers in ways.items():
                entries = {name: {"command": one.command, "args": list(one.args)} for name, one in servers.items()}
                (folder / "mcp.json").write_text(json.dumps({"mcpServers": entries}))
                (folder / ".env").write_text("COGENCY_MCP=mcp.json\n" if servers else "")
                times[way].append(start(folder).prompt_s)
    medians = {way: 1_000 * statistics.median(taken) for way, taken in times.items()}
    return {"start_ms": medians["without"]} | {
        f"start_added_ms_{way}": medians[way] - medians["without"] for way in ways if way != "without"
    }


async def measured(options: Options) -> tuple[dict[str, float], dict[str, float]]:
    ours, bare = await call_ms(50 if options.quick else 500)
    idle = await idle_cpu_percent(3.0 if options.quick else 20.0)
    without = await asyncio.to_thread(added_without_ms)
    starts = await asyncio.to_thread(added_ms, 3 if options.quick else 7)
    start_ms = starts.pop("start_ms")
    metrics = {"call_overhead_ms": ours - bare, "start_added_ms_0_servers": without, **starts}
    metrics |= {f"idle_cpu_percent_{SERVERS}_servers": idle}
    metrics |= {f"prefix_tokens_{count}": prefix_tokens(count) for count in TOOLS}
    return metrics, {**BOUNDS, "call_ms_bare_sdk": bare, "start_ms": start_ms}


if __name__ == "__main__":
    options = read_options(__doc__ or "")
    print_report("tools", *asyncio.run(measured(options)), options)
