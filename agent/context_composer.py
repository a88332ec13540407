"""Composes the context with which a turn begins, from what is stored and what its question brings.

Rule: only what may flow to the place of the question is read.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace

from agent.admission_terms import Authority
from agent.context import REMINDED, Context, ContextBudget, ContextParts, Persona, build_context
from agent.incoming import Incoming, Quoted, platform_of
from agent.memory.audience import PersonAudience, may_flow_from
from agent.memory.facts import assumed_in, reading_scopes
from agent.memory.past_threads import PastMessage
from agent.messages import Image
from agent.ports.conversations import Knowledge
from agent.ports.model import Capabilities
from agent.progress import Progress
from agent.recall_query import RecallQuery
from agent.state import Execution, Workspace
from agent.stored_messages import Author, StoredMessage
from agent.summary import summary_due, visible_from
from agent.toolbox.registry import Registry
from agent.tools.recall import query_about
from agent.turn import TurnLimits
from agent.turn_records import Claim


@dataclass(frozen=True, slots=True)
class ContextConfig:
    """How contexts are composed.

    `fresh_word`: returns a random word, which marks the system's messages of one turn, so that quoted text cannot
    imitate them. `recollect`: searches past threads for a question; None leaves that to the recall tool.
    """

    fresh_word: Callable[[], str]
    turn_limits: TurnLimits = TurnLimits()  # noqa: RUF009 -- frozen
    budget: ContextBudget = ContextBudget()  # noqa: RUF009 -- frozen
    recollect: Callable[[RecallQuery], Awaitable[Sequence[PastMessage]]] | None = None
    history_messages: int = 200  # Read from the store for one turn; the budget's tokens cut further


# The prefix of the sources and people of programs. Each question has its own source, so no agent claims another's.
# It is no platform that people know, so the model does not read it.
LIBRARY = "python"
# Composing so many facts, or so much of past threads, takes less time than handing it to a thread.
FEW_FACTS = 10
FEW_CHARS = 500
UNBEGUN = Progress()
LAST_ACTIONS = 3  # What stands in for a summary that nobody wrote


@dataclass(frozen=True, slots=True)
class FileContents:
    """What the model is shown of a question's files."""

    images: Sequence[Image] = ()
    quoted: Sequence[Quoted] = ()


NO_FILES = FileContents()


@dataclass(frozen=True, slots=True)
class ContextComposer:
    """Composes the contexts of turns."""

    config: ContextConfig
    knowledge: Knowledge
    composing: asyncio.Semaphore | None = None
    """Limits how many contexts are composed at the same time in threads, which share one interpreter."""

    async def compose(
        self,
        claim: Claim,
        persona: Persona,
        tools: Registry,
        readable: frozenset[str],
        capabilities: Capabilities,
        progress: Progress = UNBEGUN,
        files: FileContents = NO_FILES,
    ) -> tuple[Context, int | None]:
        """Return the context of a claimed question, and the last message up to which its conversation has to be
        summarised (None: it has not). Raises StoreError.

        `readable`: the labels of what else may be used in a place that only one person reads. `capabilities`:
        those of the model that answers. `progress`: the steps of an earlier process.
        """
        incoming = claim.incoming
        audiences = may_flow_from(incoming.place, readable)
        limit = self.config.history_messages
        known = await self.knowledge.for_turn(
            incoming, audiences, before_turn=claim.turn, messages=limit, actions=LAST_ACTIONS
        )
        # A place that has become more public keeps for itself what was said before.
        history = [message for message in known.said if message.audience in audiences]
        budget = self.config.budget.within(capabilities.context_tokens)
        window = budget.history
        is_cut = len(known.said) == limit
        hidden = visible_from(history, window, is_cut=is_cut)
        until = summary_due(history, known.covered, window, limit)
        shared = known.something_shared and incoming.authority >= Authority.EMPLOYEE
        looks = known.wrote_elsewhere or hidden or shared
        earlier = await _earlier(self.config, incoming, audiences, hidden, shared=shared) if looks else ()
        reminded = [REMINDED for _ in known.reminded[:1]]  # "move it to ten" speaks of that
        schemas, specs = tools.offer([incoming.text, *reminded, *(one.text for one in (*reversed(history), *earlier))])
        assumed = assumed_in(_said(claim, history), incoming.text)
        parts = ContextParts(
            persona=persona,
            tool_schemas=schemas,
            tools=specs,
            person=incoming.person,
            now=incoming.time,
            question=incoming.text,
            own=incoming.own,
            word=self.config.fresh_word(),
            place=incoming.place,
            reasons=capabilities.reasons,
            in_functions=capabilities.native_calls,
            platform="" if platform_of(incoming.source) == LIBRARY else platform_of(incoming.source).capitalize(),
            channel="" if isinstance(incoming.place.audience, PersonAudience) else f"<#{incoming.channel}>",
            images=(*incoming.images, *files.images),
            history=history,
            is_cut=is_cut,
            reminded=known.reminded,
            actions=known.actions,
            quoted=(*persona.quoted, *incoming.quoted),
            files=files.quoted,
            profile=known.profile,
            authority=incoming.authority,
            organization=incoming.organization,
            audiences=audiences,
            scopes=reading_scopes(assumed, incoming.text, incoming.conversation, str(claim.message)),
            assumed=assumed,
            facts=known.facts,
            working_set=known.working_set,
            earlier=earlier,
            summary=known.summary,
            covered=known.covered,
            summary_words=known.summary_words,
            workspace=progress.workspace or Workspace(),
            execution=Execution(len(progress.steps) + 1, self.config.turn_limits.max_iterations),
        )
        is_long = sum(len(one.text) for one in earlier) > FEW_CHARS or len(known.facts) > FEW_FACTS
        if is_long:  # it takes milliseconds, in which other replies go on
            async with self.composing or nullcontext():
                return await asyncio.to_thread(build_context, parts, budget), until
        return build_context(parts, budget), until


async def _earlier(
    config: ContextConfig, incoming: Incoming, audiences: frozenset[str], hidden: int, *, shared: bool
) -> Sequence[PastMessage]:
    if config.recollect is None:
        return ()
    conversation, now = incoming.conversation, incoming.time
    query = query_about(incoming.text, incoming.person, audiences, conversation, now)
    return await config.recollect(replace(query, visible_from=hidden, shared=shared))


def _said(claim: Claim, history: Sequence[StoredMessage]) -> list[str]:
    asker = claim.incoming.person.id
    return [message.text for message in history if message.author is Author.PERSON and message.person == asker]
