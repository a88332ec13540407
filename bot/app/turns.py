"""How turns are answered: with which tools, with which context, and by which worker."""

from collections.abc import Callable
from functools import partial

from agent.context import ContextBudget
from agent.context_composer import ContextConfig
from agent.incoming import Incoming
from agent.machine import CLOCK, fresh_word, new_id
from agent.tools.recall import recollect
from agent.turn import TurnLimits
from bot.app.features import Features
from bot.app.opened import Opened
from bot.app.persona import persona_of
from bot.app.settings import Settings
from bot.channels.effects import ChannelEffects
from bot.chat.core import Core
from bot.chat.reply.surface import Surface
from bot.chat.telemetry import SILENT, TimedMemories
from bot.chat.turns.runner import TurnRunner
from bot.chat.turns.settings import WhileBusy
from bot.chat.turns.tool_use import ToolUse
from bot.chat.turns.turn_features import TurnFeatures
from bot.chat.turns.turn_ports import NO_READERS
from bot.chat.turns.worker import TurnWorker, TurnWorkerLimits
from bot.models.service import ModelService
from store.engine import Store


def turn_runner(
    settings: Settings,
    core: Core,
    opened: Opened,
    features: Features,
    models: ModelService,
) -> TurnRunner:
    """Return what answers turns."""
    store, telemetry = opened.store, core.telemetry
    memories = store.memories if telemetry is SILENT else TimedMemories(store.memories, core.clock, telemetry)
    return TurnRunner(
        ledger=store.ledger,
        knowledge=store.knowledge,
        clock=core.clock,
        provider=models.provider,
        persona=persona_of(settings),
        tools=ToolUse(
            features.tools.service.toolbox,
            opened.policy,
            store.audit,
            features.tools.questions,
            features.tools.asked,
            features.tools.service.approvers,
        ),
        context=ContextConfig(
            fresh_word,
            TurnLimits(max_iterations=settings.turns.max_iterations),
            ContextBudget(settings.chat.history_tokens, settings.memory.tokens, settings.memory.profile_tokens),
            partial(recollect, memories, store.conversations) if settings.memory.earlier else None,
            settings.chat.history_messages,
        ),
        features=TurnFeatures(features.all),
        joins=settings.turns.while_busy is WhileBusy.JOIN,
        summarises=True,
        telemetry=telemetry,
        budgets=core.budgets,
        channel_rules=ChannelEffects(store.preferences),
        together=store.preferences.together,
        readers=NO_READERS if core.readers is None else core.readers,
        files=opened.reader,
        learning=features.memory.schedule,
        handles=features.copies,
        foreground=core.foreground,
        hooks=opened.hooks,
    )


def open_turns(
    core: Core,
    store: Store,
    runner: TurnRunner,
    surface_for: Callable[[Incoming], Surface],
    limits: TurnWorkerLimits,
    sources: Callable[[], frozenset[str]],
) -> TurnWorker:
    """Return the worker of turns, registered with the core."""
    asking = runner.tools.questions
    worker = TurnWorker(
        store.ledger,
        runner,
        surface_for,
        store.notifier,
        CLOCK,
        new_id(),
        limits,
        sources,
        waiting=() if asking is None else asking.waiting,
    )
    core.turns.register(worker)
    return worker
