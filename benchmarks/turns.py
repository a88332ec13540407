"""From a message to its reply: how soon the model is asked, how many replies one process streams, how many it finishes.

intake_p50_ms_sqlite, intake_p95_ms_sqlite  from a message's arrival to the request to the model, without the platforms'
intake_p50_ms_postgresql, …_p95_…           own libraries
intake_over_commit_sqlite, …_postgresql     intake_p50_ms over the time of a bare commit in the same run
loop_lag_p99_ms_200                         how late the event loop wakes up while 200 conversations stream at once
kb_per_conversation                         memory of each of them, in KB of 1,000 bytes
turns_per_s_sqlite, turns_per_s_postgresql  with a model that answers in one word, in 100 conversations
growth_1000_sqlite                          the time of a turn with 1,000 conversations waiting, over that with 10
hostile_ms_worst                            processor time of the worst stage of a turn for 40,000 hostile characters
facts_ms_0, …_100, …_1000, …_5000           what many facts of a person cost their question (`benchmarks.turn_facts`)
loop_lag_p99_ms                             how late the loop wakes up while ten people with 5,000 facts ask at once
watched_ratio                               processor time of turns with metrics and a JSON log, over without

Everything is the product's own but the model, which is a script, and the surface, which records its pages.

Baseline, in the same run: one row inserted and committed in the same database (the minimum of a durable intake), and
the lag of the same loop while it is idle.
"""

import asyncio
import io
import os
import statistics
import sys
import tempfile
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path

from agent.incoming import Incoming, Person
from agent.machine import CLOCK
from agent.memory.audience import Place, TeamAudience
from agent.messages import Message
from agent.providers.scripted import Answer, ScriptedProvider, ScriptPause
from agent.tools.recall import RecallTool
from agent.tools.remember import RememberTool
from benchmarks import hostile, turn_facts
from benchmarks.report import print_report, read_options
from bot.chat.logs import LogForm, log_to
from bot.chat.reply.surface import Limits, Surface
from bot.chat.telemetry import SILENT, Telemetry
from bot.chat.turns.worker import TurnWorker, TurnWorkerLimits
from bot.operators.metrics import Metrics
from store.engine import Store, open_store
from tests.fakes.fast_clock import FastClock
from tests.fakes.postgresql import running_postgres
from tests.fakes.runners import runner_on
from tests.fakes.surface import FakeSurface

BOUND_S = 120.0
CONVERSATIONS = 200
# The tokens of each answer: five seconds at twenty a second. They differ, as a model that repeats itself is stopped.
PIECES = [f"some words of {number} " for number in range(100)]
RATE = 20.0
TICK_S = 0.005
AT_ONCE = Limits(page_chars=4_000, edit_interval_s=0.0, announce_final=False)
AS_PLATFORMS_DO = Limits(page_chars=4_000, edit_interval_s=1.2, announce_final=False)
WATCHED_TURNS = 20
MANY = TurnWorkerLimits(max_running=CONVERSATIONS, per_person=None)


@dataclass
class Bench:
    """Real turns on `store`. `asked_at`: the time of each request to the model."""

    store: Store
    answer: Callable[[], Answer]
    limits: TurnWorkerLimits = MANY
    pace: Limits = AT_ONCE
    asked_at: list[float] = field(default_factory=list[float])
    surfaces: dict[str, FakeSurface] = field(default_factory=dict[str, FakeSurface])

    telemetry: Telemetry = SILENT

    def __post_init__(self) -> None:
        self.clock = FastClock(start=datetime.now(UTC), speed=1.0)  # noqa: TID251 -- a benchmark reads real clocks
        self.count = 0

    def said(self, conversation: str) -> Incoming:
        """Return a new message of this conversation's person."""
        self.count += 1
        return Incoming(
            source="bench",
            event_id=f"e{self.count}",
            channel=conversation,
            message_id=f"m{self.count}",
            conversation=conversation,
            person=Person(f"bench:{conversation}", "Ann"),
            place=Place(TeamAudience("bench")),
            text="How is the boat today, and where does it lie?",
            time=self.clock.now(),
        )

    def surface(self, incoming: Incoming) -> Surface:
        return self.surfaces.setdefault(incoming.conversation, FakeSurface(self.clock, self.pace))

    @asynccontextmanager
    async def serving(self) -> AsyncGenerator[TurnWorker, None]:
        def asked(_: Sequence[Message]) -> Answer:
            self.asked_at.append(time.perf_counter())
            return self.answer()

        model = ScriptedProvider(asked, sleep=self.clock.sleep)
        store = self.store
        tools = RecallTool(store.memories), RememberTool(store.facts)
        runner = replace(runner_on(store, model, self.clock, *tools), telemetry=self.telemetry)
        turns = TurnWorker(store.ledger, runner, self.surface, store.notifier, self.clock, "bench", self.limits)
        async with asyncio.timeout(BOUND_S), turns.serving():
            yield turns


async def intake_ms(store: Store, rounds: int) -> list[float]:
    """Submit one message after the other, each in its own conversation with earlier messages."""
    bench = Bench(store, lambda: "Well.")
    waited: list[float] = []
    async with bench.serving() as turns:
        for number in range(rounds):
            incoming = bench.said(f"c{number % 20}")
            begun = time.perf_counter()
            await turns.ask(incoming)
            waited.append(1000 * (bench.asked_at[-1] - begun))
    return sorted(waited[rounds // 10 :])


async def commit_ms(store: Store, rounds: int) -> float:
    """Return the median time of one row and its commit."""
    waited: list[float] = []
    for number in range(rounds):
        begun = time.perf_counter()
        await store.preferences.set(f"bench:{number}", "model", "x")
        waited.append(1000 * (time.perf_counter() - begun))
    return statistics.median(waited)


async def turns_per_s(store: Store, turns_of_all: int, conversations: int = 100) -> float:
    bench = Bench(store, lambda: "Well.")
    async with bench.serving() as turns:
        begun = time.perf_counter()
        await asyncio.gather(*[turns.ask(bench.said(f"t{n % conversations}")) for n in range(turns_of_all)])
        return turns_of_all / (time.perf_counter() - begun)


async def watched_ratio(store: Store, rounds: int) -> float:
    """Run some turns without telemetry and some with it, repeatedly. Return the median of the second over that of the
    first.
    """
    metrics, log = Metrics(CLOCK, "1"), io.StringIO()
    took: dict[bool, list[float]] = {False: [], True: []}
    for number in range(rounds):
        for watched in (True, False) if number % 2 else (False, True):
            log_to(log, "INFO" if watched else "ERROR", [], LogForm.JSON)
            bench = Bench(store, lambda: "Well.", telemetry=metrics if watched else SILENT)
            bench.count = (2 * number + watched) * WATCHED_TURNS
            async with bench.serving() as turns:
                for turn in range(WATCHED_TURNS):
                    begun = time.process_time()
                    await turns.ask(bench.said(f"w{turn % 5}"))
                    took[watched].append(time.process_time() - begun)
    log_to(sys.stderr, "WARNING", [])
    counted = f'cogency_turns_total{{outcome="answered",platform="bench"}} {rounds * WATCHED_TURNS}.0'
    if counted.encode() not in metrics.page() or log.getvalue().count("answered") != rounds * WATCHED_TURNS:
        raise AssertionError("what was to be counted and logged was not")
    return statistics.median(took[True]) / statistics.median(took[False])


async def waiting_ms(store: Store, waiting: int) -> float:
    """Return the time of one turn while this many conversations wait, one turn at a time."""
    bench = Bench(store, lambda: "Well.", TurnWorkerLimits(max_running=1, per_person=None))
    for number in range(waiting):
        await store.ledger.accept(bench.said(f"w{waiting}-{number}"))
    async with bench.serving() as turns:
        done = min(waiting, 50)
        idle = asyncio.ensure_future(turns.idle())
        while len(bench.asked_at) <= done and not idle.done():
            await asyncio.wait({idle}, timeout=0.05)
        idle.cancel()  # stops the running turns
        await asyncio.wait({idle})
    return 1000 * (bench.asked_at[done - 1] - bench.asked_at[0]) / max(1, done - 1)


async def _nothing() -> None:
    pass


async def streaming(store: Store, beside: Callable[[], Awaitable[object]] = _nothing) -> tuple[float, float, float]:
    """Return the loop's lag (p99, ms) while idle and while all stream, and the memory of each conversation (KB).
    `beside`: what else runs meanwhile.
    """
    pieces: list[str | ScriptPause] = []
    for piece in PIECES:
        pieces += [piece, ScriptPause(1 / RATE)]
    bench = Bench(store, lambda: pieces, pace=AS_PLATFORMS_DO)
    lags: list[float] = []
    async with bench.serving() as turns:
        await _ticking(lags, lambda: asyncio.sleep(1))
        idle_ms = _p99(lags)
        idle_bytes, most = _resident(), 0

        async def all_of_them() -> None:
            nonlocal most
            other = asyncio.ensure_future(beside())
            asking = [asyncio.ensure_future(turns.ask(bench.said(f"s{n}"))) for n in range(CONVERSATIONS)]
            await asyncio.sleep(len(PIECES) / RATE * 0.8)
            most = _resident()
            await asyncio.gather(*asking)
            await other

        await _ticking(lags, all_of_them)
    shown = [surface.shown for surface in bench.surfaces.values()]
    if [[page.strip() for page in pages] for pages in shown] != [["".join(PIECES).strip()]] * CONVERSATIONS:
        raise AssertionError("a reply is missing or not complete")
    return idle_ms, _p99(lags), (most - idle_bytes) / CONVERSATIONS / 1000


async def _ticking(lags: list[float], work: Callable[[], Awaitable[object]]) -> None:
    """Do the work. Then `lags` has how late each tick meanwhile came, in ms."""
    lags.clear()
    running = asyncio.ensure_future(work())
    while not running.done():
        begun = time.perf_counter()
        await asyncio.sleep(TICK_S)
        lags.append(1000 * (time.perf_counter() - begun - TICK_S))
    await running


async def _lag_p99_ms(work: Callable[[], Awaitable[object]]) -> float:
    lags: list[float] = []
    await _ticking(lags, work)
    return _p99(lags)


def _p99(values: Sequence[float]) -> float:
    return sorted(values)[len(values) * 99 // 100]


def _resident() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


@asynccontextmanager
async def opened(url: str) -> AsyncGenerator[Store, None]:
    store = await open_store(url)
    try:
        yield store
    finally:
        await store.close()


def hostile_ms() -> tuple[float, float]:
    """Return the time of the worst stage of a turn (`benchmarks.hostile`), and of splitting its text into words."""
    worst, text = max((hostile.worst_ms(stage) for stage in hostile.stages()), default=(0.0, ""))
    return worst, hostile.best_ms(str.split, text, 3)


async def measured(folder: Path, shared: str, *, quick: bool) -> tuple[dict[str, float], dict[str, float]]:
    rounds, many = (100, 200) if quick else (500, 1_000)
    metrics: dict[str, float] = {}
    baseline: dict[str, float] = {}
    for engine, url in (("sqlite", f"sqlite:///{folder / 'turns.db'}"), ("postgresql", shared)):
        async with opened(url) as store:
            waited = await intake_ms(store, rounds)
            metrics[f"intake_p50_ms_{engine}"] = statistics.median(waited)
            metrics[f"intake_p95_ms_{engine}"] = waited[len(waited) * 95 // 100]
            metrics[f"turns_per_s_{engine}"] = await turns_per_s(store, many)
            baseline[f"commit_p50_ms_{engine}"] = await commit_ms(store, rounds)
            metrics[f"intake_over_commit_{engine}"] = (
                metrics[f"intake_p50_ms_{engine}"] / baseline[f"commit_p50_ms_{engine}"]
            )
    async with opened(f"sqlite:///{folder / 'stream.db'}") as store:
        idle_ms, lag_ms, kb = await streaming(store)
    metrics["loop_lag_p99_ms_200"], metrics["kb_per_conversation"] = lag_ms, kb
    baseline["loop_lag_p99_ms_idle"] = idle_ms
    async with opened(f"sqlite:///{folder / 'few.db'}") as store:
        few = await waiting_ms(store, 10)
    async with opened(f"sqlite:///{folder / 'many.db'}") as store:
        metrics["growth_1000_sqlite"] = await waiting_ms(store, 1_000) / few
    async with opened(f"sqlite:///{folder / 'watched.db'}") as store:
        metrics["watched_ratio"] = await watched_ratio(store, 12 if quick else 40)
    metrics["hostile_ms_worst"], baseline["hostile_ms_one_pass"] = hostile_ms()
    baseline["turn_ms_10_waiting_sqlite"] = few
    async with opened(f"sqlite:///{folder / 'facts.db'}") as store:
        with_facts, without = await turn_facts.measured(store, _lag_p99_ms)
    return metrics | with_facts, baseline | without


def main() -> None:
    options = read_options("From a message to its reply.")
    with running_postgres() as server, tempfile.TemporaryDirectory() as folder:

        async def run() -> tuple[dict[str, float], dict[str, float]]:
            async with server.database() as url:
                return await measured(Path(folder), url, quick=options.quick)

        metrics, baseline = asyncio.run(run())
    note = f"200 streams of {RATE:g} pieces/s, replies complete"
    print_report("turns", metrics, baseline, options, note)


if __name__ == "__main__":
    main()
