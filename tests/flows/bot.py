"""The whole bot but its platform: real turns, replies, tools and SQLite; the model and the place are the test's."""

from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path

from agent.incoming import Incoming
from agent.machine import CLOCK
from agent.ports.clock import Clock
from agent.ports.model import Provider
from agent.ports.tools import ToolSource
from agent.toolbox.registry import Toolbox
from agent.tools.recall import RecallTool
from agent.tools.remember import RememberTool
from agent.tools.schedule import SchedulesTool, ScheduleTool
from bot.budgets.budgets import ModelNote
from bot.budgets.report import FooterStyle
from bot.chat.feature import Feature
from bot.chat.reply.surface import Surface
from bot.chat.turns.runner import TurnRunner
from bot.chat.turns.tool_use import ToolUse
from bot.chat.turns.turn_features import TurnFeatures
from bot.chat.turns.worker import TurnWorker, TurnWorkerLimits
from bot.memory.notices import KeptNotice, WithheldNotice
from bot.schedules.reports import ScheduleReporter
from bot.schedules.scheduler import schedule_kinds
from bot.schedules.service import ScheduleNote, ScheduleService
from store.engine import Store, open_store
from tests.fakes.fixed_config import with_persona
from tests.fakes.hosts import ServedHost, connections_of, host_on
from tests.fakes.new_database import new_database
from tests.fakes.runners import runner_on


@dataclass(frozen=True)
class LiveBot:
    turns: TurnWorker
    store: Store


@asynccontextmanager
async def opened(url: str) -> AsyncGenerator[Store, None]:
    store = await open_store(url)
    try:
        await store.ledger.release_all()
        yield store
    finally:
        await store.close()


def turns_on(
    store: Store, runner: TurnRunner, surface_for: Callable[[Incoming], Surface], owner: str = "flow"
) -> TurnWorker:
    limits = TurnWorkerLimits(sweep_s=0.2, lease=timedelta(minutes=5))  # a busy machine lets nobody take over a turn
    return TurnWorker(store.ledger, runner, surface_for, store.notifier, runner.clock, owner=owner, limits=limits)


def flow_runner(store: Store, model: Provider, clock: Clock, *sources: ToolSource) -> TurnRunner:
    tools = [
        RecallTool(store.memories, documents=store.documents),
        RememberTool(store.facts),
        ScheduleTool(store.schedules),
        SchedulesTool(store.schedules),
    ]
    return replace(
        runner_on(store, model, clock),
        persona=with_persona("You are a bot.", "Answer in the person's language."),
        tools=ToolUse(Toolbox(tools, sources)),
    )


@asynccontextmanager
async def live_bot(
    folder: Path, model: Provider, surface_for: Callable[[Incoming], Surface], clock: Clock = CLOCK
) -> AsyncGenerator[LiveBot, None]:
    """A bot on a database in `folder`, answering until the block ends."""
    async with opened(await database_in(folder)) as store:
        turns = turns_on(store, flow_runner(store, model, clock), surface_for)
        async with turns.serving():
            yield LiveBot(turns, store)


@asynccontextmanager
async def live_host(
    folder: Path, model: Provider, clock: Clock, footer: FooterStyle = FooterStyle.OFF
) -> AsyncGenerator[ServedHost, None]:
    """What `bot.app` gives to platforms, answering until the block ends."""
    async with opened(await database_in(folder)) as store, serving_host(store, model, clock, footer) as host:
        yield host


@asynccontextmanager
async def serving_host(
    store: Store,
    model: Provider,
    clock: Clock,
    footer: FooterStyle = FooterStyle.OFF,
    owner: str = "flow",
    *,
    joins: bool = False,
) -> AsyncGenerator[ServedHost, None]:
    """The same on a store that is open. `owner`: another name for each process on the same database. `joins`: see
    `TurnRunner`.
    """
    connections = connections_of(store, clock)
    kept = KeptNotice(store.facts, store.profiles, store.forgetting, clock)
    withheld = WithheldNotice(store.memories, connections.readers, clock)
    scheduled = ScheduleNote(ScheduleService(store.schedules, store.preferences, clock))
    features = [
        Feature(name="budgets", notes=[ModelNote(footer)]),
        Feature(name="memory", notes=[kept, withheld]),
        Feature(name="schedules", kinds=schedule_kinds(ScheduleReporter(store.schedules)), notes=[scheduled]),
    ]
    runner = flow_runner(store, model, clock, connections)
    runner = replace(runner, readers=connections.readers, features=TurnFeatures(features), joins=joins)
    host = host_on(store, turns_on(store, runner, connections.surface_for, owner), connections, clock)
    async with host.turns.serving():
        yield host


async def database_in(folder: Path) -> str:
    return await new_database(folder / "bot.db")
