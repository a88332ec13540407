"""One turn's answer: from a claimed question to everything that the turn leaves behind.

Above: `bot.turns.answering`. Below: `agent.turn`, `agent.loop`, the ports of `agent.ports`, `bot.turns.known`,
`bot.turns.mind`, `bot.turns.footer`, `bot.reply.live`.

One of the three broad excepts of this program is here: a turn. Whatever goes wrong ends in one sentence to the person
and one log line with the turn's id.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from hashlib import sha256

from agent.context import Context
from agent.errors import StoreError
from agent.events import AgentEvent, IterationStarted, ModelSwitched, Outcome, TextArrived
from agent.loop import Loop
from agent.memory.small_talk import may_teach
from agent.messages import ModelCall
from agent.ports import CallOptions, Clock, Knowledge, Ledger, Provider, ToolContext
from agent.progress import Progress, action_records, decode, encode, given, sources
from agent.records import Claim, Closing, Incoming, Waiting
from agent.reply_text import joined
from agent.state import SituationSummary
from agent.turn import Turn
from bot.attachments.reading import Attached
from bot.casts import FooterStyle
from bot.reply.live import LiveReply
from bot.surface import SurfaceError
from bot.turns.footer import footer
from bot.turns.known import NOTHING, known_context
from bot.turns.mind import Mind

log = logging.getLogger(__name__)

ANSWERED = (Outcome.ANSWERED, Outcome.CUT, Outcome.EXHAUSTED)
"""How a turn ends that has answered what joined it; after any other end that is answered by itself."""

NO_ANSWER_FROM_FIRST = "it could not answer."
WAITED = timedelta(seconds=5)
"""Longer than from a message to its turn when nothing is in the way."""
BROKEN = "Something went wrong on my side (turn {turn}). Please ask again; the operator finds the reason in the log."


class Thinking:
    """Stateless but for its dependencies."""

    def __init__(self, mind: Mind, ledger: Ledger, knowledge: Knowledge, clock: Clock) -> None:
        self._mind = mind
        self._ledger = ledger
        self._knowledge = knowledge
        self._clock = clock
        self._composing = asyncio.Semaphore(1)  # more at once would only keep the loop waiting for longer

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
            files = await self._files(claim.incoming, live)
            if files.sorry:
                return await self._end(claim, turn, closing, Outcome.REFUSED, files.sorry)
            if files.spoken:
                claim = replace(claim, incoming=replace(claim.incoming, text=files.spoken))
                await self._ledger.put_down(claim, files.spoken)
            groups = await self._mind.groups_of(claim.incoming.place)
            provider = await self._mind.provider(claim.incoming)
            context, until = await known_context(
                self._mind,
                self._knowledge,
                claim,
                groups,
                files,
                turn.progress,
                reasons=provider.capabilities.reasons,
                composing=self._composing,
            )
            turn.drew_on(context.sources)
            closing = replace(
                closing,
                context_messages=context.message_ids,
                context_facts=context.fact_ids,
                summarise_until=until if self._mind.summarises else None,
            )
            heard.asked = provider.name
            loop = self._loop(claim, turn, context, groups, provider, heard)
            await _show_again(turn.progress, live)
            with self._mind.answering():
                ended = await loop.run()
            written = turn.progress.summary
            noted = SituationSummary().merged(written) if written else None
            closing = replace(closing, outcome=ended.outcome, reply=ended.text, summary=noted)
            if closing.outcome in ANSWERED:
                notice = await self._first_notice(claim, closing.reply)
                closing = await self._to_be_learned(claim.incoming, turn.progress.joined, closing)
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
        return _closed(closing, turn, joined([_footer(turn, heard, self._mind.footer), notice]))

    async def _files(self, asked: Incoming, live: LiveReply) -> Attached:
        """What came with the question, read now; meanwhile the person sees that something goes on."""
        if self._mind.attached is None or not asked.files:
            return NOTHING
        await live.see(IterationStarted(1))
        return await self._mind.attached(asked)

    async def kept(self, claim: Claim, closing: Closing) -> str:
        """What the asker reads below the reply of what was kept of them; "" for nothing."""
        used = any(record.calls for record in closing.actions)
        return await self._mind.kept(claim.turn) if self._mind.kept is not None and used else ""

    async def aside(self, asked: Incoming, closing: Closing) -> str:
        """What the person alone is told once the reply has ended; "" for nothing."""
        if self._mind.aside is None or closing.outcome not in ANSWERED:
            return ""
        return await self._mind.aside(asked, closing.actions)

    async def _to_be_learned(self, asked: Incoming, joined: Sequence[Waiting], closing: Closing) -> Closing:
        """Without a time to learn at, small talk is learned from as soon as its message is edited into something."""
        if self._mind.may_learn is not None and not await self._mind.may_learn(asked):
            return replace(closing, passed_over=True)
        teaches = may_teach([asked.text, *(one.text for one in joined)])
        due = None if self._mind.learn_at is None or not teaches else self._mind.learn_at(self._clock.now())
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
            context.assumed,
            context.own_words,
            context.others_words,
            context.visible_from,
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
            options=CallOptions(incoming.depth, cache_key(incoming.conversation), self._mind.tools.specs()),
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


def _closed(closing: Closing, turn: Turn, below: str) -> Closing:
    """With all that the turn did on its way to this end."""
    answered = closing.outcome in ANSWERED
    return replace(
        closing,
        calls=turn.progress.calls,
        footer=below,
        actions=action_records(turn.progress),
        joined=turn.progress.joined if answered else (),
        learn_at=closing.learn_at if answered else None,
        context_messages=(*closing.context_messages, *sources(turn.progress)),
        given_messages=given(turn.progress),
    )


def _footer(turn: Turn, heard: _Heard, style: FooterStyle) -> str:
    calls = turn.progress.calls
    return footer(calls, heard.asked, heard.why(calls), style)


def cache_key(conversation: str) -> str:
    """The name under which a vendor may keep the beginning of this conversation's requests: tells it nothing else."""
    return sha256(conversation.encode()).hexdigest()[:32]


async def _show_again(progress: Progress, live: LiveReply) -> None:
    """What an earlier process had said before its tools ran stands at the beginning of the reply."""
    for number, step in enumerate(progress.steps, 1):
        await live.see(IterationStarted(number))
        if step.text:
            await live.see(TextArrived(step.text))
