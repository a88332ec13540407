"""The time that we add to each token of a model, with many answers at the same time in one process.

added_p50_ms, added_p99_ms  from a token's write by the model to our TextArrived; 500 streams of 50 tokens/s each
cpu_ms_per_1000_tokens      processor time of our process, for all of them together
kb_per_stream               memory of each open stream, in KB of 1,000 bytes
alone_p50_ms, alone_p99_ms  the same for one stream

The model is a process of its own, on loopback; each token is the time at which it was written. A stream is a whole
turn: HTTP, server-sent events, the wire's reader, the protocol's parser, the turn and its loop.

Baseline, in the same run: bare httpx, which parses one JSON object for each token, and nothing else.
"""

import asyncio
import json
import multiprocessing
import os
import statistics
import time
from collections.abc import Callable, Coroutine, Generator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import httpx

from agent.events import AgentEvent, TextArrived
from agent.incoming import Person
from agent.loop import Loop, Prompt, TurnCallbacks
from agent.memory.audience import PersonAudience, Place
from agent.messages import Message, Role
from agent.ports.tools import ToolContext
from agent.progress import Progress
from agent.providers.catalog import OPENAI
from agent.providers.factory import ProviderWorld, open_chat
from agent.toolbox.registry import Registry
from agent.turn import Turn
from benchmarks.report import print_report, read_options
from benchmarks.stream_server import Load, now_us, serve, stamped
from tests.fakes.fast_clock import FastClock

MANY = 500
RATE = 50.0
WARM_UP = 0.2  # The share of each stream that is not counted, for connecting and warming up
CONTEXT = (Message(Role.SYSTEM, "You are a bot."), Message(Role.USER, "Hello?"))
PATIENCE_S = 120.0
SPAWN = multiprocessing.get_context("spawn")


@dataclass(slots=True)
class Meter:
    """The measurements of one process. Times are in microseconds."""

    load: Load
    added: list[int] = field(default_factory=list[int])
    idle_bytes: int = 0
    open_bytes: int = 0
    cpu_s: float = 0.0

    def see(self, text: str) -> None:
        now = now_us()
        self.added += [now - sent for sent in stamped(text)]

    async def watch(self) -> None:
        """Read the memory once the warm-up is over, when every stream is open."""
        while len(self.added) < WARM_UP * self.load.streams * self.load.tokens:  # noqa: ASYNC110 -- there is no event for it
            await asyncio.sleep(0.05)
        self.open_bytes = resident_bytes()

    @property
    def counted(self) -> list[int]:
        return sorted(self.added[int(WARM_UP * len(self.added)) :])


@dataclass(frozen=True, slots=True)
class Measured:
    p50_ms: float
    p99_ms: float
    cpu_ms_per_1000: float
    kb_per_stream: float


Side = Callable[[str, Meter], Coroutine[object, object, None]]


async def ours(url: str, meter: Meter) -> None:
    """Run every stream as a turn."""
    clock = FastClock(speed=1.0)
    provider = open_chat(OPENAI.at(url), "m-1", "sk-1", ProviderWorld(clock, lambda: 0.0))
    tools = Registry([])
    anna = Person("terminal:anna", "Anna")
    asker = ToolContext(anna, Place(PersonAudience(anna.id)), "c1", 1, clock.now())

    async def emit(event: AgentEvent) -> None:
        if isinstance(event, TextArrived):
            meter.see(event.text)

    async def save(_: Progress) -> None:
        pass

    async def one() -> None:
        turn = Turn(tools.check, tools.repeatable)
        await Loop(turn, Prompt(CONTEXT), provider, tools, asker, clock, TurnCallbacks(emit, save)).run()

    meter.idle_bytes = resident_bytes()
    await asyncio.gather(meter.watch(), *[one() for _ in range(meter.load.streams)])
    await provider.aclose()


async def bare(url: str, meter: Meter) -> None:
    """Run the minimum with the same libraries."""
    limits = httpx.Limits(max_connections=None)
    async with httpx.AsyncClient(timeout=PATIENCE_S, limits=limits, trust_env=False) as client:

        async def one() -> None:
            async with client.stream("POST", f"{url}/chat/completions", json={"stream": True}) as response:
                async for line in response.aiter_lines():
                    if line.startswith("data: {"):
                        meter.see(json.loads(line[6:])["choices"][0]["delta"].get("content", ""))

        meter.idle_bytes = resident_bytes()
        await asyncio.gather(meter.watch(), *[one() for _ in range(meter.load.streams)])


def measure(side: Side, url: str, load: Load) -> Measured:
    """Measure in the calling process, which is a fresh one."""
    meter = Meter(load)

    async def run() -> None:
        async with asyncio.timeout(PATIENCE_S):
            await side(url, meter)

    begin = time.process_time()
    asyncio.run(run())
    cpu_s, tokens = time.process_time() - begin, load.streams * load.tokens
    if len(meter.added) != tokens:
        raise AssertionError(f"{len(meter.added)} of {tokens} tokens came")
    counted = meter.counted
    return Measured(
        p50_ms=statistics.median(counted) / 1000,
        p99_ms=counted[len(counted) * 99 // 100] / 1000,
        cpu_ms_per_1000=1000 * cpu_s / tokens * 1000,
        kb_per_stream=(meter.open_bytes - meter.idle_bytes) / load.streams / 1000,
    )


def measured(side: Side, load: Load) -> Measured:
    """Measure with a model and a client in fresh processes."""
    with serving(load) as url, ProcessPoolExecutor(1, mp_context=SPAWN) as client:
        return client.submit(measure, side, url, load).result()


@contextmanager
def serving(load: Load) -> Generator[str, None, None]:
    receiver, sender = SPAWN.Pipe(duplex=False)
    server = SPAWN.Process(target=serve, args=(load, sender), daemon=True)
    server.start()
    try:
        yield f"http://127.0.0.1:{receiver.recv()}/v1"
    finally:
        server.kill()
        server.join()


def resident_bytes() -> int:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def main() -> None:
    options = read_options("What we add to each token of a model.")
    seconds = 4 if options.quick else 15
    tokens = int(seconds * RATE)
    many, one = Load(MANY, RATE, tokens), Load(1, RATE, tokens)
    we, they, alone, bare_alone = measured(ours, many), measured(bare, many), measured(ours, one), measured(bare, one)
    print_report(
        "stream",
        {
            "added_p50_ms": we.p50_ms,
            "added_p99_ms": we.p99_ms,
            "cpu_ms_per_1000_tokens": we.cpu_ms_per_1000,
            "kb_per_stream": we.kb_per_stream,
            "alone_p50_ms": alone.p50_ms,
            "alone_p99_ms": alone.p99_ms,
        },
        {
            "bare_p50_ms": they.p50_ms,
            "bare_p99_ms": they.p99_ms,
            "bare_cpu_ms_per_1000_tokens": they.cpu_ms_per_1000,
            "bare_kb_per_stream": they.kb_per_stream,
            "bare_alone_p50_ms": bare_alone.p50_ms,
            "bare_alone_p99_ms": bare_alone.p99_ms,
        },
        options,
        f"{MANY} streams of {RATE:g} tokens/s for {seconds} s; kB of open streams include their connections",
    )


if __name__ == "__main__":
    main()
