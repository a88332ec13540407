"""A host that answers: real turns and replies on a store in memory, with a model that the test scripts.

Above: flows of the platform adapters. Below: `bot.turns`, `tests.fakes.store`.
"""

from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager

from agent.context import ContextBudget, Persona
from agent.memory.audience import Place, may_flow_from
from agent.memory.forgetting import forget_everything, forget_thread
from agent.ports import Clock, Provider
from agent.records import Incoming, Note, Receipt
from agent.tools.recall import RecallTool
from agent.tools.registry import Registry
from agent.tools.remember import RememberTool
from agent.turn import TurnLimits
from bot.surface import Surface
from bot.thinking import Mind, Thinking
from bot.turns import Turns, TurnsLimits
from tests.fakes.store import FakeStore


class AnsweringHost:
    """Implements `bot.host.Host`. `taken` counts every message that was handed over, repeated ones included."""

    def __init__(self, model: Provider, clock: Clock, store: FakeStore | None = None) -> None:
        self.store = store or FakeStore()
        self.taken: list[Incoming] = []
        self._clock = clock
        self._surfaces: dict[str, Callable[[Incoming], Surface]] = {}
        mind = Mind(
            provider=lambda _: model,
            persona=lambda _: Persona("You are a bot.", "Answer in English."),
            tools=Registry([RecallTool(self.store), RememberTool(self.store)]),
            turn_limits=TurnLimits(),
            budget=ContextBudget(),
        )
        limits = TurnsLimits(sweep_s=0.05)
        thinking = Thinking(mind, self.store, self.store, self.store, clock)
        self.turns = Turns(self.store, thinking, self._surface_for, clock, "worker", limits)

    @asynccontextmanager
    async def answering(self) -> AsyncGenerator[None, None]:
        """Answers what is taken in, until the block ends; what an earlier host left open first."""
        await self.store.release_all()
        async with self.turns.serving():
            yield

    def show_on(self, source: str, surface_for: Callable[[Incoming], Surface]) -> None:
        self._surfaces[source] = surface_for

    async def take(self, incoming: Incoming) -> bool:
        self.taken.append(incoming)
        return not (await self.turns.submit(incoming)).duplicate

    async def overhear(self, incoming: Incoming) -> None:
        await self.store.overhear(incoming)

    async def participants(self, conversation: str) -> frozenset[str] | None:
        return await self.store.participants(conversation)

    async def memory(self, person: str, place: Place) -> list[Note]:
        return await self.store.notes(person, may_flow_from(place))

    async def forget(self, person: str, conversation: str | None) -> Receipt:
        plan = forget_everything(person) if conversation is None else forget_thread(person, conversation)
        return await self.store.forget(plan, self._clock.now())

    def _surface_for(self, incoming: Incoming) -> Surface:
        return self._surfaces[incoming.source](incoming)
