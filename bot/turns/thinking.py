"""One turn's answer: from a claimed question to everything that the turn leaves behind.

Above: `bot.turns.worker`. Below: `agent.context`, `agent.turn`, `agent.loop`, the ports of `agent.ports`,
`bot.reply.live`.

One of the three broad excepts of this program is here: a turn. Whatever goes wrong ends in one sentence to the person
and one log line with the turn's id.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from hashlib import sha256

from agent.context import Context, ContextBudget, ContextParts, Persona, build_context
from agent.errors import StoreError
from agent.events import AgentEvent, IterationStarted, ModelSwitched, Outcome, TextArrived
from agent.loop import Loop
from agent.memory.audience import Place, may_flow_from
from agent.memory.earlier import Said
from agent.memory.facts import Scope
from agent.memory.scopes import reading_scopes
from agent.messages import ModelCall
from agent.ports import CallOptions, Clock, Knowledge, Ledger, Provider, ToolContext
from agent.progress import Progress, action_records, decode, encode, sources
from agent.recollection import query_about
from agent.records import Author, Claim, Closing, Incoming, RecallQuery, StoredMessage, Waiting
from agent.reply_text import joined
from agent.state import ActionRecord, Execution, SituationSummary
from agent.tools.registry import Registry
from agent.turn import Turn, TurnLimits
from bot.casts import FooterStyle
from bot.reply.live import LiveReply
from bot.surface import SurfaceError
from bot.turns.footer import footer

log = logging.getLogger(__name__)

ANSWERED = (Outcome.ANSWERED, Outcome.CUT, Outcome.EXHAUSTED)
"""How a turn ends that has answered what joined it; after any other end that is answered by itself."""

NO_ANSWER_FROM_FIRST = "it could not answer."
LAST_ACTIONS = 3
"""What stands in for a summary that nobody wrote (seed 002)."""
WAITED = timedelta(seconds=5)
"""Longer than from a message to its turn when nothing is in the way."""
BROKEN = "Something went wrong on my side (turn {turn}). Please ask again; the operator finds the reason in the log."


async def no_groups(place: Place) -> frozenset[str]:  # noqa: ARG001 -- nobody to ask
    return frozenset()


@dataclass(frozen=True, slots=True)
class Mind:
    """What answers: chosen anew for each turn, so that a person's choice of model counts from the next question."""

    provider: Callable[[Incoming], Awaitable[Provider]]
    persona: Callable[[Incoming], Persona]
    tools: Registry
    turn_limits: TurnLimits
    budget: ContextBudget
    footer: FooterStyle = FooterStyle.OFF
    joins: bool = False
    """Whether what a person writes while their answer grows joins it; else it waits for its own."""
    budget_left: Callable[[Incoming], Awaitable[str | None]] | None = None
    """Why a question that has waited may no longer be answered: what others spent meanwhile; None if it may."""
    notice: Callable[[AgentEvent], Awaitable[None]] | None = None
    """Told of everything that happens, before it is shown."""
    learn_at: Callable[[datetime], datetime | None] | None = None
    """When to learn from a question that is answered now; None: nothing is learned."""
    may_learn: Callable[[Incoming], Awaitable[bool]] | None = None
    """Whether this question may be learned from; None: all may."""
    first_notice: Callable[[str, int], Awaitable[str]] | None = None
    """What this turn says to this person below its answer because it is the first; "" if it is not."""
    answering: Callable[[], AbstractContextManager[None]] = nullcontext
    """Entered while a model is asked: what works in the background gives way."""
    aside: Callable[[Incoming, Sequence[ActionRecord]], Awaitable[str]] | None = None
    """What the person alone is told of what was done for them, "" for nothing (`bot.memory.withheld`)."""
    groups_of: Callable[[Place], Awaitable[frozenset[str]]] = no_groups
    """The group places that may be drawn from where only one person reads (`bot.access.readers`)."""
    recollect: Callable[[RecallQuery], Awaitable[Sequence[Said]]] | None = None
    """Finds the past threads that a question is about; None: they are left to the recall tool."""
    history_messages: int = 200
    """Messages read from the store for one turn; the budget's tokens cut further."""


class Thinking:
    """Stateless but for its dependencies."""

    def __init__(self, mind: Mind, ledger: Ledger, knowledge: Knowledge, clock: Clock) -> None:
        self._mind = mind
        self._ledger = ledger
        self._knowledge = knowledge
        self._clock = clock

    async def think(self, claim: Claim, live: LiveReply, stopped: Callable[[], bool]) -> Closing:
        """Everything up to the complete reply, shown on `live` as it grows.

        A cancellation while `stopped()` ends the turn with what was said; any other one is raised, as are StoreError
        and SurfaceError.
        """
        tools = self._mind.tools
        turn = Turn(tools.check, tools.read_only, self._mind.turn_limits, decode(claim.progress))
        closing = Closing(Outcome.STOPPED, "")
        heard = _Heard(live, self._mind.notice)
        notice = ""
        try:
            if stopped():
                return closing
            if (spent := await self._overspent(claim, turn)) is not None:
                return await self._end(claim, turn, closing, Outcome.REFUSED, spent)
            groups = await self._mind.groups_of(claim.incoming.place)
            context, summary = await self._context(claim, groups)
            turn.drew_on(context.sources)
            closing = replace(closing, context_messages=context.message_ids, context_facts=context.fact_ids)
            provider = await self._mind.provider(claim.incoming)
            heard.asked = provider.name
            loop = self._loop(claim, turn, context, groups, provider, heard)
            await _show_again(turn.progress, live)
            with self._mind.answering():
                ended = await loop.run()
            closing = replace(closing, outcome=ended.outcome, reply=ended.text)
            if turn.progress.summary:
                closing = replace(closing, summary=summary.merged(turn.progress.summary))
            if closing.outcome in ANSWERED:
                notice = await self._first_notice(claim, closing.reply)
                closing = await self._to_be_learned(claim.incoming, closing)
        except asyncio.CancelledError:
            if not stopped():
                raise
            closing = await self._end(claim, turn, closing, Outcome.STOPPED, turn.text)
        except (StoreError, SurfaceError):
            raise
        except Exception:
            log.exception("turn %d: failed", claim.turn)
            reply = joined([turn.text, BROKEN.format(turn=claim.turn)])
            closing = await self._end(claim, turn, closing, Outcome.REFUSED, reply)
        return replace(
            closing,
            calls=turn.progress.calls,
            footer=joined([_footer(turn, heard, self._mind.footer), notice]),
            actions=action_records(turn.progress),
            joined=turn.progress.joined if closing.outcome in ANSWERED else (),
            learn_at=closing.learn_at if closing.outcome in ANSWERED else None,
            context_messages=(*closing.context_messages, *sources(turn.progress)),
        )

    async def aside(self, asked: Incoming, closing: Closing) -> str:
        """What the person alone is told once the reply has ended; "" for nothing."""
        if self._mind.aside is None or closing.outcome not in ANSWERED:
            return ""
        return await self._mind.aside(asked, closing.actions)

    async def _to_be_learned(self, asked: Incoming, closing: Closing) -> Closing:
        if self._mind.may_learn is not None and not await self._mind.may_learn(asked):
            return replace(closing, passed_over=True)
        due = None if self._mind.learn_at is None else self._mind.learn_at(self._clock.now())
        return replace(closing, learn_at=due)

    async def _first_notice(self, claim: Claim, reply: str) -> str:
        if self._mind.first_notice is None or not reply:
            return ""
        return await self._mind.first_notice(claim.incoming.person.id, claim.turn)

    async def _overspent(self, claim: Claim, turn: Turn) -> str | None:
        """Why a question that waited is not answered. One that begins at once was checked when it came in."""
        waited = self._clock.now() - claim.incoming.time
        if self._mind.budget_left is None or turn.progress.calls or waited < WAITED:
            return None
        return await self._mind.budget_left(claim.incoming)

    async def _end(self, claim: Claim, turn: Turn, closing: Closing, outcome: Outcome, reply: str) -> Closing:
        """Make it durable that this is all: a crash while it is shown must not begin the answer anew."""
        await self._ledger.save(claim, progress=encode(replace(turn.progress, reply=reply, outcome=outcome)))
        return replace(closing, outcome=outcome, reply=reply)

    async def _context(self, claim: Claim, groups: frozenset[str]) -> tuple[Context, SituationSummary]:
        incoming = claim.incoming
        audiences = may_flow_from(incoming.place, groups)
        limit = self._mind.history_messages
        known = await self._knowledge.known(
            incoming, audiences, before_turn=claim.turn, messages=limit, actions=LAST_ACTIONS
        )
        # A place that has become more public keeps for itself what was said before.
        history = [message for message in known.said if message.audience in audiences]
        parts = ContextParts(
            persona=self._mind.persona(incoming),
            tool_schemas=self._mind.tools.schemas(),
            tool_summary=self._mind.tools.summary(),
            person=incoming.person,
            now=incoming.time,
            question=incoming.text,
            images=incoming.images,
            history=history,
            is_cut=len(known.said) == limit,
            actions=known.actions,
            quoted=incoming.quoted,
            profile=known.profile,
            authority=incoming.authority,
            audiences=audiences,
            scopes=_scopes(claim, history),
            facts=known.facts,
            working_set=known.working_set,
            earlier=await self._earlier(incoming, audiences) if known.wrote_elsewhere else (),
            summary=known.summary,
            execution=Execution(max_iterations=self._mind.turn_limits.max_iterations),
        )
        if parts.earlier:  # reading past threads takes tens of milliseconds, in which other replies go on
            return await asyncio.to_thread(build_context, parts, self._mind.budget), known.summary
        return build_context(parts, self._mind.budget), known.summary

    async def _earlier(self, incoming: Incoming, audiences: frozenset[str]) -> Sequence[Said]:
        if self._mind.recollect is None:
            return ()
        conversation, now = incoming.conversation, incoming.time
        return await self._mind.recollect(query_about(incoming.text, incoming.person, audiences, conversation, now))

    def _loop(
        self, claim: Claim, turn: Turn, context: Context, groups: frozenset[str], provider: Provider, heard: "_Heard"
    ) -> Loop:
        async def save(progress: Progress) -> None:
            await self._ledger.save(claim, progress=encode(progress))

        async def arrived() -> Sequence[Waiting]:
            return await self._ledger.waiting(claim)

        incoming = claim.incoming
        tool_context = ToolContext(
            incoming.person,
            incoming.place,
            incoming.conversation,
            claim.message,
            self._clock.now(),
            groups,
            incoming.authority,
            context.superseded,
        )
        return Loop(
            turn,
            context.messages,
            provider,
            self._mind.tools,
            tool_context,
            self._clock,
            emit=heard.see,
            save=save,
            arrived=arrived if self._mind.joins else None,
            options=CallOptions(incoming.depth, cache_key(incoming.conversation)),
        )


@dataclass(slots=True, eq=False)
class _Heard:
    """Passes on what happens, and notes which model was `asked`, and why another one answered."""

    live: LiveReply
    notice: Callable[[AgentEvent], Awaitable[None]] | None
    asked: str = ""
    switched: str = ""

    async def see(self, event: AgentEvent) -> None:
        if isinstance(event, ModelSwitched):
            log.warning("%s answers instead of %s: %s", event.name, self.asked, event.why)
            self.switched = event.why
        if self.notice is not None:
            await self.notice(event)
        await self.live.see(event)

    def why(self, calls: Sequence[ModelCall]) -> str:
        """Why another model answered than the one that was asked, "" if it did."""
        another = bool(self.asked and calls) and calls[-1].model != self.asked
        return (self.switched or NO_ANSWER_FROM_FIRST) if another else ""


def _footer(turn: Turn, heard: _Heard, style: FooterStyle) -> str:
    calls = turn.progress.calls
    return footer(calls, heard.asked, heard.why(calls), style)


def _scopes(claim: Claim, history: Sequence[StoredMessage]) -> frozenset[tuple[Scope, str | None]]:
    asker = claim.incoming.person.id
    said = [message.text for message in history if message.author is Author.PERSON and message.person == asker]
    return reading_scopes(said, claim.incoming.text, claim.incoming.conversation, str(claim.message))


def cache_key(conversation: str) -> str:
    """The name under which a vendor may keep the beginning of this conversation's requests: tells it nothing else."""
    return sha256(conversation.encode()).hexdigest()[:32]


async def _show_again(progress: Progress, live: LiveReply) -> None:
    """What an earlier process had said before its tools ran stands at the beginning of the reply."""
    for number, step in enumerate(progress.steps, 1):
        await live.see(IterationStarted(number))
        if step.text:
            await live.see(TextArrived(step.text))
