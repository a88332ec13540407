"""Memory, as a feature of the chat bot: what is remembered of people and past conversations."""

from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial

from agent.incoming import person_source
from agent.jobs import INDEXING, Job
from agent.memory.profile import LEARNING
from agent.ports.clock import Clock
from agent.ports.memory import Memories, Profiles
from agent.ports.tools import Tool, ToolContext
from agent.summary import SUMMARY
from agent.tools.recall import WITH_DOCUMENTS, RecallTool
from agent.tools.remember import RememberTool
from bot.chat.access.place_rules import rules_at
from bot.chat.commands.declaration import BoundCommand
from bot.chat.core import Core, Repositories
from bot.chat.feature import Feature
from bot.chat.reply.surface import ReplyAction
from bot.chat.telemetry import SILENT, TimedMemories
from bot.memory.commands import COMMAND
from bot.memory.learning import DOUBTS, HasBudget, Learner, may_spend
from bot.memory.meanings import EMBEDDING, INDEX_PAUSE_S, Meanings, MeaningWriter
from bot.memory.notices import FirstNotice, KeptNotice, WithheldNotice
from bot.memory.pauses import LearningPauses, LearningSchedule
from bot.memory.policies import PolicyService
from bot.memory.policy_commands import POLICY_COMMAND
from bot.memory.service import MemoryService
from bot.memory.settings import MemorySettings
from bot.memory.summaries import Summariser


@dataclass(frozen=True, slots=True)
class Memory:
    """`memories`: for searches that may take time: by meaning, too, where an embedding model is configured. `learner`:
    None if nothing is learned.
    """

    feature: Feature
    memories: Memories
    learner: Learner | None
    schedule: LearningSchedule


def open_memory(
    core: Core,
    settings: MemorySettings,
    service: MemoryService,
    policies: PolicyService,
    *,
    meanings: Meanings | None = None,
    has_budget: HasBudget = may_spend,
    named: Callable[[str, str], str] = lambda _, text: text,
) -> Memory:
    """`meanings`: None where past messages are found by words alone. `has_budget`: whether anything may be spent on a
    person now. `named`: see `FirstNotice`.
    """
    store, clock = core.store, core.clock
    pauses = LearningPauses(store.preferences, store.profiles, clock)
    by_meaning = None if meanings is None else meanings.search_in(store.memories, store.spending, clock)
    learner = Learner(
        store.profiles,
        store.facts,
        store.jobs,
        store.spending,
        core.learning_model,
        clock,
        core.foreground,
        has_budget=has_budget,
        meanings=by_meaning,
    )
    summariser = Summariser(
        store.summaries, store.jobs, store.spending, core.learning_model, clock, core.foreground, has_budget
    )
    jobs = [{INDEXING: partial(_index, store.memories, clock)}, {SUMMARY: summariser.summarise}]
    if settings.learning:
        jobs.append(
            {LEARNING: partial(_learn, learner, store.profiles, pauses), DOUBTS: partial(_settle, learner, pauses)}
        )
    writer = None
    if meanings is not None:
        shared = core.foreground if meanings.is_local else None
        writer = MeaningWriter(meanings.embeddings, meanings.embedder, store.jobs, store.spending, clock, shared)
        jobs.append({EMBEDDING: writer.write})
    memories: Memories = by_meaning or store.memories
    if core.telemetry is not SILENT:
        memories = TimedMemories(memories, clock, core.telemetry)

    @asynccontextmanager
    async def serving() -> AsyncGenerator[None]:
        if writer is not None:
            await writer.begin()
        yield

    def learns_now() -> bool:
        return settings.learning and learner.due(clock.now()) is not None

    first = [FirstNotice(store.preferences, learns_now, named)] if settings.first_notice else []
    kept = KeptNotice(store.facts, store.profiles, store.forgetting, clock)
    withheld = [] if core.readers is None else [WithheldNotice(store.memories, core.readers, clock)]
    return Memory(
        Feature(
            name="memory",
            commands=bound_commands(service, policies),
            tools=memory_tools(store, memories, core.tool_timeout_s),
            jobs=jobs,
            notes=[kept, *first, *withheld],
            presses={ReplyAction.UNDO: kept.press_undo},
            serving=serving,
        ),
        memories,
        learner if settings.learning else None,
        LearningSchedule(learner if settings.learning else None, pauses),
    )


def bound_commands(service: MemoryService, policies: PolicyService) -> tuple[BoundCommand, ...]:
    return (COMMAND.bound(service), POLICY_COMMAND.bound(policies))


def memory_tools(store: Repositories, memories: Memories, timeout_s: float) -> tuple[Tool, ...]:
    async def finds(context: ToolContext) -> bool:
        return (await rules_at(store.preferences, person_source(context.person.id), context.channel)).finds_documents

    return (
        RecallTool(memories, timeout_s, store.documents, description=WITH_DOCUMENTS, finds=finds),
        RememberTool(store.facts, store.working_set, timeout_s),
    )


async def _index(memories: Memories, clock: Clock, job: Job) -> None:
    """The job: index messages for a person who joined a long thread, or for many new readers. Raises StoreError."""
    while await memories.index_more(job):
        await clock.sleep(INDEX_PAUSE_S)


async def _learn(learner: Learner, profiles: Profiles, pauses: LearningPauses, job: Job) -> None:
    if await pauses.is_paused(job.person):
        await profiles.skip_learning(person=job.person)  # messages collected just before the pause began
    else:
        await learner.learn(job)


async def _settle(learner: Learner, pauses: LearningPauses, job: Job) -> None:
    if not await pauses.is_paused(job.person):
        await learner.settle(job)
