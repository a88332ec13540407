"""One turn from its claim: whose words it holds, the loop that answers it, and what it leaves behind."""

from dataclasses import replace
from hashlib import sha256

from agent.citations import ReferenceNumbers, references_of
from agent.context import Context
from agent.events import Outcome
from agent.incoming import Incoming
from agent.loop import Loop, Prompt, TurnCallbacks
from agent.memory.audience import WIDE, Place
from agent.ports.clock import Clock
from agent.ports.model import CallOptions, Provider
from agent.ports.tools import Asker, ToolContext
from agent.progress import action_records, sources, tool_documents, tool_sources, turn_drawn_from, whose_words
from agent.tool_policy import TurnWords
from agent.toolbox.registry import Registry
from agent.tools.share_file import shared_files
from agent.turn import Turn
from agent.turn_records import Claim, Closing

# How a turn ends that has answered what joined it; after any other end that is answered by itself.
ANSWERED = (Outcome.ANSWERED, Outcome.CUT, Outcome.EXHAUSTED)


def turn_words(claim: Claim, context: Context) -> TurnWords:
    """Return whose words the turn holds, for the policy about its calls."""
    asked = claim.incoming.text if claim.incoming.own else ""
    return TurnWords(context.provenance, context.read, asked)


def asker_of(incoming: Incoming) -> Asker:
    return Asker(incoming.person, incoming.place, incoming.channel, incoming.authority)


def loop_of(
    claim: Claim,
    turn: Turn,
    tools: Registry,
    context: Context,
    readable: frozenset[str],
    provider: Provider,
    clock: Clock,
    callbacks: TurnCallbacks,
) -> Loop:
    """Return the loop that answers the claimed question, with tools that run on behalf of its asker."""
    incoming, numbers = claim.incoming, ReferenceNumbers()
    if turn.progress.steps:
        numbers.know(references_of(result for step in turn.progress.steps for result in step.known_results).values())
    tool_context = ToolContext(
        incoming.person,
        incoming.place,
        incoming.conversation,
        claim.message,
        clock.now(),
        readable,
        incoming.authority,
        context.superseded,
        context.assumed,
        context.asker_texts,
        context.other_texts,
        context.visible_from,
        numbers=numbers,
        channel=incoming.channel,
        message_id=incoming.message_id,
        reply_to=incoming.reply_to,
        kind=incoming.kind,
        words=context.provenance,
        turn=claim.turn,
    )
    return Loop(
        turn,
        Prompt(
            context.messages,
            CallOptions(incoming.depth, cache_key(incoming.conversation), context.tools),
            context.instructions,
        ),
        provider,
        tools,
        tool_context,
        clock,
        callbacks,
    )


def closed(closing: Closing, turn: Turn, place: Place) -> Closing:
    """Add the turn's progress to the closing."""
    answered = closing.outcome in ANSWERED
    drawn = turn_drawn_from(turn.progress, place)
    return replace(
        closing,
        drawn_from=drawn,
        words=whose_words(closing.words, turn.progress.steps),
        # What the model notes of a result may say more than it told those who read here.
        summary=closing.summary if drawn == WIDE else None,
        calls=turn.progress.calls,
        actions=action_records(turn.progress),
        files=shared_files(turn.progress) if any(step.calls for step in turn.progress.steps) else (),
        joined=turn.progress.joined if answered else (),
        learn_at=closing.learn_at if answered else None,
        context_messages=(*closing.context_messages, *sources(turn.progress)),
        given_messages=tool_sources(turn.progress),
        given_documents=tool_documents(turn.progress),
        unknown=turn.progress.unknown,
        has_workspace=turn.progress.workspace is not None,
    )


def cache_key(conversation: str) -> str:
    """Return the name under which a vendor may cache the beginning of this conversation's requests; a digest."""
    return sha256(conversation.encode()).hexdigest()[:32]
