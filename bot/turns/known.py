"""What a turn begins with: everything that is known and may be used, as the context of its model.

Above: `bot.turns.thinking`. Below: `agent.context`, the port Knowledge, `bot.turns.mind`.

Rule: only what may flow to the place of the question is read.
"""

import asyncio
from collections.abc import Sequence

from agent.context import Context, ContextParts, build_context
from agent.memory.audience import PersonAudience, may_flow_from
from agent.memory.earlier import Said
from agent.memory.facts import Scope
from agent.memory.scopes import assumed_in, reading_scopes
from agent.ports import Knowledge
from agent.recollection import query_about
from agent.records import Author, Claim, Incoming, StoredMessage
from agent.state import Execution, SituationSummary
from bot.attachments.reading import Attached
from bot.turns.mind import Mind

NOTHING = Attached()
LAST_ACTIONS = 3
"""What stands in for a summary that nobody wrote."""


async def known_context(
    mind: Mind, knowledge: Knowledge, claim: Claim, groups: frozenset[str], files: Attached = NOTHING
) -> tuple[Context, SituationSummary]:
    """The context of a claimed question, and the summary that its turn goes on from. Raises StoreError.

    `groups`: the group places that may be drawn from where only one person reads. `files`: what came with it.
    """
    incoming = claim.incoming
    audiences = may_flow_from(incoming.place, groups)
    limit = mind.history_messages
    known = await knowledge.known(incoming, audiences, before_turn=claim.turn, messages=limit, actions=LAST_ACTIONS)
    # A place that has become more public keeps for itself what was said before.
    history = [message for message in known.said if message.audience in audiences]
    parts = ContextParts(
        persona=mind.persona(incoming),
        tool_schemas=mind.tools.schemas(),
        tool_summary=mind.tools.summary(),
        person=incoming.person,
        now=incoming.time,
        question=incoming.text,
        word=mind.fresh_word(),
        place=incoming.place,
        platform=incoming.source.partition(":")[0].capitalize(),
        channel="" if isinstance(incoming.place.audience, PersonAudience) else f"<#{incoming.channel}>",
        images=(*incoming.images, *files.images),
        history=history,
        is_cut=len(known.said) == limit,
        actions=known.actions,
        quoted=incoming.quoted,
        files=files.quoted,
        profile=known.profile,
        authority=incoming.authority,
        audiences=audiences,
        scopes=_scopes(claim, history),
        assumed=assumed_in(_said(claim, history), incoming.text),
        facts=known.facts,
        working_set=known.working_set,
        earlier=await _earlier(mind, incoming, audiences) if known.wrote_elsewhere else (),
        summary=known.summary,
        execution=Execution(max_iterations=mind.turn_limits.max_iterations),
    )
    if parts.earlier:  # reading past threads takes tens of milliseconds, in which other replies go on
        return await asyncio.to_thread(build_context, parts, mind.budget), known.summary
    return build_context(parts, mind.budget), known.summary


async def _earlier(mind: Mind, incoming: Incoming, audiences: frozenset[str]) -> Sequence[Said]:
    if mind.recollect is None:
        return ()
    conversation, now = incoming.conversation, incoming.time
    return await mind.recollect(query_about(incoming.text, incoming.person, audiences, conversation, now))


def _scopes(claim: Claim, history: Sequence[StoredMessage]) -> frozenset[tuple[Scope, str | None]]:
    incoming = claim.incoming
    return reading_scopes(_said(claim, history), incoming.text, incoming.conversation, str(claim.message))


def _said(claim: Claim, history: Sequence[StoredMessage]) -> list[str]:
    """What the asker wrote in this conversation before."""
    asker = claim.incoming.person.id
    return [message.text for message in history if message.author is Author.PERSON and message.person == asker]
