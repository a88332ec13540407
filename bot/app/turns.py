"""How turns are answered: with which tools, with which context, and by which worker."""

from collections.abc import Callable, Sequence
from functools import partial

from agent.context import ContextBudget
from agent.context_composer import ContextConfig
from agent.incoming import Incoming
from agent.machine import CLOCK, fresh_word, new_id
from agent.ports.tools import NO_SERVERS, ToolSource
from agent.toolbox.registry import FixedTools, Toolbox
from agent.tools.recall import recollect
from agent.turn import TurnLimits
from bot.app import parts
from bot.app.features import Features
from bot.app.opened import Opened
from bot.app.persona import persona_of
from bot.app.settings import Settings
from bot.channels.effects import ChannelEffects
from bot.chat.core import Core
from bot.chat.feature import Feature
from bot.chat.reply.surface import Surface
from bot.chat.telemetry import SILENT, TimedMemories
from bot.chat.turns.runner import TurnRunner
from bot.chat.turns.settings import WhileBusy
from bot.chat.turns.tool_use import ToolUse
from bot.chat.turns.turn_ports import NO_GROUPS
from bot.chat.turns.worker import TurnWorker, TurnWorkerLimits
from bot.models.service import ModelService
from bot.tools.questions import QuestionService
from store.engine import Store


def toolbox(
    settings: Settings, opened: Opened, features: Sequence[Feature], platforms: Sequence[ToolSource] = ()
) -> Toolbox:
    """Return all tools: those of features, the operator's own, those that read platforms, and those of tool servers.

    Raises SettingsError if the operator's tools cannot be loaded.
    """
    own, servers = parts.own_tools(settings), opened.sources
    return Toolbox(
        [tool for feature in features for tool in feature.tools],
        [*([FixedTools(own)] if own else ()), *platforms, *servers],
        opened.policy,
        servers=servers[0] if servers else NO_SERVERS,
    )


def turn_runner(
    settings: Settings,
    core: Core,
    opened: Opened,
    features: Features,
    models: ModelService,
    questions: QuestionService,
    platforms: Sequence[ToolSource] = (),
) -> TurnRunner:
    """Return what answers turns. `questions`: where tools ask people something. `platforms`: the tools that read
    platforms. Raises SettingsError if the operator's tools cannot be loaded.
    """
    store, telemetry = opened.store, core.telemetry
    memories = store.memories if telemetry is SILENT else TimedMemories(store.memories, core.clock, telemetry)
    return TurnRunner(
        ledger=store.ledger,
        knowledge=store.knowledge,
        clock=core.clock,
        provider=models.provider,
        persona=persona_of(settings),
        tools=ToolUse(toolbox(settings, opened, features.all, platforms), opened.policy, store.audit, questions),
        context=ContextConfig(
            fresh_word,
            TurnLimits(max_iterations=settings.turns.max_iterations),
            ContextBudget(settings.chat.history_tokens, settings.memory.tokens, settings.memory.profile_tokens),
            partial(recollect, memories, store.conversations) if settings.memory.earlier else None,
            settings.chat.history_messages,
        ),
        features=features.all,
        joins=settings.turns.while_busy is WhileBusy.JOIN,
        summarises=True,
        telemetry=telemetry,
        budgets=core.budgets,
        channel_rules=ChannelEffects(store.preferences),
        readers=NO_GROUPS if core.readers is None else core.readers,
        files=opened.reader,
        learning=features.memory.schedule,
        handles=features.copies,
        foreground=core.foreground,
    )


def open_turns(
    store: Store,
    runner: TurnRunner,
    surface_for: Callable[[Incoming], Surface],
    limits: TurnWorkerLimits,
    sources: Callable[[], frozenset[str]],
) -> TurnWorker:
    asking = runner.tools.questions
    return TurnWorker(
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
