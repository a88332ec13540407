"""The whole bot but its platform: real turns, replies, tools and SQLite; the model and the place are the test's.

Above: the flows. Below: everything that `bot.app` composes, composed in the same way.
"""

from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from agent.context import ContextBudget, Persona
from agent.memory.audience import Place
from agent.ports import Clock, Provider
from agent.records import Incoming
from agent.state import ActionRecord
from agent.tools.recall import RecallTool
from agent.tools.registry import Registry
from agent.tools.remember import RememberTool
from agent.turn import TurnLimits
from bot.access.allowances import Allowances
from bot.access.budgets import Budgets
from bot.access.gate import Gate, GateRules
from bot.app import CLOCK
from bot.hosting import BotHost
from bot.memory.withheld import Withheld
from bot.surface import Surface
from bot.turns.thinking import Mind, Thinking, no_groups
from bot.turns.worker import Turns, TurnsLimits
from store.engine import Store, open_store
from tests.fakes.forget_desk import forget_desk
from tests.fakes.minds import always


@dataclass(frozen=True)
class LiveBot:
    turns: Turns
    store: Store


@asynccontextmanager
async def live_bot(
    folder: Path,
    model: Provider,
    surface_for: Callable[[Incoming], Surface],
    clock: Clock = CLOCK,
    groups_of: Callable[[Place], Awaitable[frozenset[str]]] = no_groups,
    aside: Callable[[Incoming, Sequence[ActionRecord]], Awaitable[str]] | None = None,
    url: str = "",
) -> AsyncGenerator[LiveBot, None]:
    """A bot on a database in `folder`, or at `url`, answering until the block ends."""
    store = await open_store(url or f"sqlite:///{folder / 'bot.db'}")
    try:
        mind = Mind(
            provider=always(model),
            persona=lambda _: Persona("You are a bot.", "Answer in the person's language."),
            tools=Registry([RecallTool(store.memories), RememberTool(store.facts)]),
            turn_limits=TurnLimits(),
            budget=ContextBudget(),
            groups_of=groups_of,
            aside=aside,
        )
        limits = TurnsLimits(sweep_s=0.05)
        thinking = Thinking(mind, store.ledger, store.knowledge, clock)
        turns = Turns(store.ledger, thinking, surface_for, store.bell, clock, owner="flow", limits=limits)
        await store.ledger.release_all()
        async with turns.serving():
            yield LiveBot(turns, store)
    finally:
        await store.close()


@asynccontextmanager
async def live_host(folder: Path, model: Provider, clock: Clock) -> AsyncGenerator[BotHost, None]:
    """What `bot.app` gives to platforms, answering until the block ends."""

    def surface_for(incoming: Incoming) -> Surface:
        return host.surface_for(incoming)

    async def groups_of(place: Place) -> frozenset[str]:
        return await host.readers.groups_of(place)

    async def aside(asked: Incoming, actions: Sequence[ActionRecord]) -> str:
        return await Withheld(bot.store.memories, host.readers, clock).aside(asked, actions)

    async with live_bot(folder, model, surface_for, clock, groups_of, aside) as bot:
        store = bot.store
        gate = Gate(GateRules(), Allowances(Budgets(), store.spending, store.preferences, clock), clock)
        host = BotHost(store.ledger, store.conversations, store.facts, store.forgetting, store.spending, clock, gate)
        host.turns, host.profiles = bot.turns, store.profiles
        host.forget_desk = forget_desk(host, store.jobs)
        yield host
