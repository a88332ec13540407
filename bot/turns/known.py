"""What a turn begins with: everything that is known and may be used, as the context of its model.

Above: `bot.turns.thinking`. Below: `agent.context`, the port Knowledge, `bot.turns.mind`.

Rule: only what may flow to the place of the question is read.
"""

import asyncio
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import replace

from agent.context import Context, ContextParts, build_context
from agent.memory.audience import PersonAudience, may_flow_from
from agent.memory.earlier import Said
from agent.memory.facts import Scope
from agent.memory.scopes import assumed_in, reading_scopes
from agent.ports import Knowledge
from agent.progress import Progress
from agent.recollection import query_about
from agent.records import Author, Claim, Incoming, StoredMessage
from agent.state import Execution, Workspace
from agent.summarising import due, visible_from
from bot.attachments.reading import Attached
from bot.turns.mind import Mind

NOTHING = Attached()
FEW_FACTS = 10
"""Composing so many takes less time than handing them to a thread."""
UNBEGUN = Progress()
LAST_ACTIONS = 3
"""What stands in for a summary that nobody wrote."""


async def known_context(
    mind: Mind,
    knowledge: Knowledge,
    claim: Claim,
    groups: frozenset[str],
    files: Attached = NOTHING,
    progress: Progress = UNBEGUN,
    *,
    reasons: bool = False,
    composing: asyncio.Semaphore | None = None,
) -> tuple[Context, int | None]:
    """The context of a claimed question, and up to which message its conversation is to be summarised (None: it need
    not be). Raises StoreError.

    `groups`: the group places that may be drawn from where only one person reads. `files`: what came with it.
    `progress`: what an earlier process had done before it ended. `reasons`: whether the model reasons by itself.
    `composing`: how many contexts are composed at the same time, in threads that take the interpreter from one another.
    """
    incoming = claim.incoming
    audiences = may_flow_from(incoming.place, groups)
    limit = mind.history_messages
    known = await knowledge.known(incoming, audiences, before_turn=claim.turn, messages=limit, actions=LAST_ACTIONS)
    # A place that has become more public keeps for itself what was said before.
    history = [message for message in known.said if message.audience in audiences]
    window = mind.budget.history
    is_cut = len(known.said) == limit
    hidden = visible_from(history, window, is_cut=is_cut)
    until = due(history, known.covered, window, limit)
    parts = ContextParts(
        persona=mind.persona(incoming),
        tool_schemas=mind.tools.schemas(),
        person=incoming.person,
        now=incoming.time,
        question=incoming.text,
        word=mind.fresh_word(),
        place=incoming.place,
        reasons=reasons,
        platform=incoming.source.partition(":")[0].capitalize(),
        channel="" if isinstance(incoming.place.audience, PersonAudience) else f"<#{incoming.channel}>",
        images=(*incoming.images, *files.images),
        history=history,
        is_cut=is_cut,
        actions=known.actions,
        quoted=incoming.quoted,
        files=files.quoted,
        profile=known.profile,
        authority=incoming.authority,
        organization=incoming.organization,
        audiences=audiences,
        scopes=_scopes(claim, history),
        assumed=assumed_in(_said(claim, history), incoming.text),
        facts=known.facts,
        working_set=known.working_set,
        earlier=await _earlier(mind, incoming, audiences, hidden) if known.wrote_elsewhere or hidden else (),
        summary=known.summary,
        covered=known.covered,
        workspace=progress.workspace or Workspace(),
        execution=Execution(len(progress.steps) + 1, mind.turn_limits.max_iterations),
    )
    if parts.earlier or len(known.facts) > FEW_FACTS:  # it takes milliseconds, in which other replies go on
        async with composing or nullcontext():
            return await asyncio.to_thread(build_context, parts, mind.budget), until
    return build_context(parts, mind.budget), until


async def _earlier(mind: Mind, incoming: Incoming, audiences: frozenset[str], hidden: int) -> Sequence[Said]:
    if mind.recollect is None:
        return ()
    conversation, now = incoming.conversation, incoming.time
    query = query_about(incoming.text, incoming.person, audiences, conversation, now)
    return await mind.recollect(replace(query, visible_from=hidden))


def _scopes(claim: Claim, history: Sequence[StoredMessage]) -> frozenset[tuple[Scope, str | None]]:
    incoming = claim.incoming
    return reading_scopes(_said(claim, history), incoming.text, incoming.conversation, str(claim.message))


def _said(claim: Claim, history: Sequence[StoredMessage]) -> list[str]:
    """What the asker wrote in this conversation before."""
    asker = claim.incoming.person.id
    return [message.text for message in history if message.author is Author.PERSON and message.person == asker]
