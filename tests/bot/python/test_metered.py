"""How long code runs counts for its person, however it ends; who has nothing left gets a sentence."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import pytest

from bot.python.engine import NO_FUNCTIONS, EngineUnavailable, Functions, RunEnded, RunFile
from bot.python.metered import MeteredEngine


@dataclass
class Budget:
    left: str | None = None
    charged: list[tuple[str, float]] = field(default_factory=list[tuple[str, float]])

    async def used_up(self, person: str) -> str | None:  # noqa: ARG002 -- of anybody
        return self.left

    async def charge(self, person: str, seconds: float) -> None:
        await asyncio.sleep(0)
        self.charged.append((person, seconds))


@dataclass
class SlowEngine:
    """A run waits 5 seconds for others, and takes 7. `hangs`: it does not end by itself."""

    now: float = 100.0
    hangs: bool = False
    started: asyncio.Event = field(default_factory=asyncio.Event)
    got: list[object] = field(default_factory=list[object])

    async def run(
        self,
        code: str,
        files: Sequence[RunFile],
        person: str,
        begun: Callable[[], None] = lambda: None,
        functions: Functions = NO_FUNCTIONS,
        earlier: Sequence[RunFile] = (),
    ) -> RunEnded:
        self.got += [code, files, person, functions, earlier]
        self.now += 5
        begun()
        self.started.set()
        self.now += 7
        if self.hangs:
            await asyncio.Event().wait()
        return RunEnded(output="done")


async def test_a_run_counts_from_its_beginning() -> None:
    engine, budget, told = SlowEngine(), Budget(), list[bool]()
    metered = MeteredEngine(engine, budget, lambda: engine.now)
    files = [RunFile("a", b"1")]
    ended = await metered.run("1", files, "ann", lambda: told.append(True), NO_FUNCTIONS, files)
    assert (ended.output, told) == ("done", [True])
    assert engine.got == ["1", files, "ann", NO_FUNCTIONS, files]
    assert budget.charged == [("ann", 7.0)]


async def test_a_stopped_run_counts_too() -> None:
    engine, budget = SlowEngine(hangs=True), Budget()
    running = asyncio.create_task(MeteredEngine(engine, budget, lambda: engine.now).run("1", [], "ann"))
    await engine.started.wait()
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert budget.charged == [("ann", 7.0)]


async def test_who_has_used_up_their_budget_gets_the_sentence_and_nothing_runs() -> None:
    engine, budget = SlowEngine(), Budget("used up")
    with pytest.raises(EngineUnavailable, match="used up"):
        await MeteredEngine(engine, budget, lambda: engine.now).run("1", [], "ann")
    assert engine.got == []
    assert budget.charged == []
