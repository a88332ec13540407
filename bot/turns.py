"""From an incoming message to its finished reply: durable intake, one turn at a time per conversation, live reply.

Above: `bot.app` builds it; platforms and commands call `submit`, `wait` and `stop`.
Below: the ports of `agent.ports`, `agent.loop`, `bot.reply.live`, `bot.surface`.

Rules (DESIGN.md, section 7).
- A message is stored, with its turn, before the platform is told that it arrived.
- Every write after a claim carries its epoch; a worker that lost its lease stops without a word.
- Progress is saved before each effect, the reply before its final frame: after a crash the turn goes on from there.
- A turn that keeps killing its process is given up with a sentence, not tried for ever.

One of the three broad excepts of this program is here: a turn. Whatever goes wrong ends in one sentence to the person
and one log line with the turn's id.
"""

import asyncio
import json
import logging
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, replace
from datetime import timedelta

from agent.context import Context, ContextBudget, ContextParts, Persona, build_context
from agent.errors import LeaseLost, StoreError
from agent.events import IterationStarted, Outcome, TextArrived
from agent.loop import Loop
from agent.memory.audience import may_flow_from
from agent.ports import Clock, Conversations, Ledger, Memories, Provider, ToolContext
from agent.progress import Progress, action_records, decode, encode
from agent.records import Accepted, Claim, Closing, Incoming
from agent.reply_text import joined
from agent.state import Execution, SituationSummary
from agent.tools.registry import Registry
from agent.turn import Turn, TurnLimits
from bot.reply.live import LiveReply
from bot.surface import PageGone, PageRef, Surface, SurfaceError

log = logging.getLogger(__name__)

BROKEN = "Something went wrong on my side (turn {turn}). Please ask again; the operator finds the reason in the log."
GIVEN_UP = "I could not finish this answer after {attempts} attempts (turn {turn}). Please ask again in other words."


@dataclass(frozen=True, slots=True)
class TurnsLimits:
    max_running: int = 16
    """Turns that run at once in one process; more wait in the ledger."""
    max_attempts: int = 5
    """Claims of one turn: a question that crashes the process must not crash it for ever."""
    lease: timedelta = timedelta(seconds=30)
    """How long a silent worker keeps its turn; also how long a take-over takes."""
    sweep_s: float = 1.0
    """How often the ledger is looked at when nobody rings."""
    history_messages: int = 200
    """Messages read from the store for one turn; the token budget of the context cuts further."""


@dataclass(frozen=True, slots=True)
class Mind:
    """What answers: chosen anew for each turn, so that a person's choice of model counts from the next question."""

    provider: Callable[[Incoming], Provider]
    persona: Callable[[Incoming], Persona]
    tools: Registry
    turn_limits: TurnLimits
    budget: ContextBudget


class Turns:
    """Takes messages in and answers them. Use `serving` around everything that waits for an answer."""

    def __init__(
        self,
        ledger: Ledger,
        conversations: Conversations,
        memories: Memories,
        mind: Mind,
        surface_for: Callable[[Incoming], Surface],
        clock: Clock,
        owner: str,
        limits: TurnsLimits = TurnsLimits(),
    ) -> None:
        self._ledger = ledger
        self._conversations = conversations
        self._memories = memories
        self._mind = mind
        self._surface_for = surface_for
        self._clock = clock
        self._owner = owner
        self._limits = limits
        self._bell = asyncio.Event()
        self._idle = asyncio.Event()
        self._running: dict[int, asyncio.Task[None]] = {}
        self._stopping: set[int] = set()
        self._asking: dict[tuple[str, str], asyncio.Future[Outcome | None]] = {}

    @asynccontextmanager
    async def serving(self) -> AsyncGenerator[None, None]:
        """Answer what is submitted until the block ends; turns that still run are then parked for the next start."""
        worker = asyncio.create_task(self._serve())
        try:
            yield
        finally:
            tasks = [worker, *self._running.values()]
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def submit(self, incoming: Incoming) -> Accepted:
        """Take a message in, durably; its turn begins as soon as its conversation is free."""
        accepted = await self._ledger.accept(incoming)
        self._idle.clear()
        self._bell.set()
        return accepted

    async def ask(self, incoming: Incoming) -> Outcome | None:
        """`submit`, and wait for the end. None if it was a duplicate, or if the turn was given up or parked.

        Cancelling it stops the turn: what was said is kept.
        """
        key = (incoming.source, incoming.event_id)
        asking = self._asking[key] = asyncio.get_running_loop().create_future()
        try:
            accepted = await self.submit(incoming)
            if accepted.duplicate:
                return None
            try:
                return await asyncio.shield(asking)
            except asyncio.CancelledError:
                self.stop(accepted.turn)
                await asking
                raise
        finally:
            del self._asking[key]

    async def idle(self) -> None:
        """Until nothing waits and nothing runs. Cancelling it stops what runs."""
        try:
            await self._idle.wait()
        except asyncio.CancelledError:
            for turn in [*self._running]:
                self.stop(turn)
            raise

    def stop(self, turn: int) -> None:
        """End the turn at once, keeping what was said; if it still waits, as soon as it is claimed."""
        self._stopping.add(turn)
        if turn in self._running:
            self._running[turn].cancel()

    async def _serve(self) -> None:
        while True:
            self._bell.clear()
            while len(self._running) < self._limits.max_running:
                claim = await self._ledger.claim(self._owner, self._clock.now(), self._limits.lease)
                if claim is None:
                    break
                self._running[claim.turn] = asyncio.create_task(self._run(claim))
            if not self._running and not self._bell.is_set():
                self._idle.set()
            with suppress(TimeoutError):
                async with asyncio.timeout(self._limits.sweep_s):
                    await self._bell.wait()

    async def _run(self, claim: Claim) -> None:
        outcome: Outcome | None = None
        renewing = asyncio.create_task(self._renew(claim))
        try:
            outcome = await self._answer(claim)
        except PageGone:
            log.info("turn %d: somebody deleted the reply", claim.turn)
            outcome = await self._close(claim, Closing(Outcome.STOPPED, ""))
        except (StoreError, SurfaceError) as error:
            log.warning("turn %d: put off: %s", claim.turn, error)
        finally:
            renewing.cancel()
            del self._running[claim.turn]
            self._stopping.discard(claim.turn)
            asking = self._asking.get((claim.incoming.source, claim.incoming.event_id))
            if asking is not None and not asking.done():
                asking.set_result(outcome)
            self._bell.set()

    async def _renew(self, claim: Claim) -> None:
        while True:
            await self._clock.sleep(self._limits.lease.total_seconds() / 3)
            try:
                await self._ledger.renew(claim, self._clock.now(), self._limits.lease)
            except LeaseLost:
                self._running[claim.turn].cancel()
                return
            except StoreError as error:
                log.warning("turn %d: lease not renewed: %s", claim.turn, error)

    async def _answer(self, claim: Claim) -> Outcome:
        """Think, show the reply, store it: in this order, so that a crash in between shows nothing twice."""

        async def keep_pages(pages: tuple[str, ...]) -> None:
            await self._ledger.save(claim, reply_ref=json.dumps(pages))

        pages = [PageRef(page) for page in json.loads(claim.reply_ref or "[]")]
        surface = self._surface_for(claim.incoming)
        async with LiveReply(surface, self._clock, claim.turn, pages, on_pages=keep_pages) as live:
            closing = await self._think(claim, live)
            shown = await live.finish(closing.reply)
        return await self._close(claim, replace(closing, pages=shown))

    async def _close(self, claim: Claim, closing: Closing) -> Outcome:
        await self._ledger.finish(claim, closing, self._clock.now())
        log.info("turn %d: %s, %d tokens out", claim.turn, closing.outcome, closing.usage.output)
        return closing.outcome

    async def _think(self, claim: Claim, live: LiveReply) -> Closing:
        """Everything up to the complete reply."""
        if claim.attempts > self._limits.max_attempts:
            return Closing(Outcome.REFUSED, GIVEN_UP.format(attempts=claim.attempts - 1, turn=claim.turn))
        tools = self._mind.tools
        turn = Turn(tools.check, tools.read_only, self._mind.turn_limits, decode(claim.progress))
        closing = Closing(Outcome.STOPPED, "")
        try:
            if claim.turn in self._stopping:
                return closing
            context, summary = await self._context(claim)
            closing = replace(closing, context_messages=context.message_ids, context_notes=context.note_ids)
            loop = self._loop(claim, turn, context, live)
            await _show_again(turn.progress, live)
            ended = await loop.run()
            closing = replace(closing, outcome=ended.outcome, reply=ended.text, usage=ended.usage)
            if turn.progress.summary:
                closing = replace(closing, summary=summary.merged(turn.progress.summary))
        except asyncio.CancelledError:
            if claim.turn not in self._stopping:
                raise
            _forget_cancellation()
            closing = replace(closing, outcome=Outcome.STOPPED, reply=turn.text)
        except (StoreError, SurfaceError):
            raise
        except Exception:
            log.exception("turn %d: failed", claim.turn)
            reply = joined([turn.text, BROKEN.format(turn=claim.turn)])
            closing = replace(closing, outcome=Outcome.REFUSED, reply=reply)
        return replace(closing, actions=action_records(turn.progress))

    async def _context(self, claim: Claim) -> tuple[Context, SituationSummary]:
        incoming = claim.incoming
        audiences = may_flow_from(incoming.place)
        limit = self._limits.history_messages
        said = await self._conversations.history(incoming.conversation, before_turn=claim.turn, limit=limit)
        # A place that has become more public keeps for itself what was said before.
        history = [message for message in said if message.audience in audiences]
        summary = await self._conversations.summary(incoming.conversation)
        notes = await self._memories.notes(incoming.person.id, audiences)
        parts = ContextParts(
            persona=self._mind.persona(incoming),
            tool_schemas=self._mind.tools.schemas(),
            tool_summary=self._mind.tools.summary(),
            person=incoming.person,
            now=incoming.time,
            question=incoming.text,
            history=history,
            quoted=incoming.quoted,
            notes=notes,
            summary=summary,
            execution=Execution(max_iterations=self._mind.turn_limits.max_iterations),
        )
        return build_context(parts, self._mind.budget), summary

    def _loop(self, claim: Claim, turn: Turn, context: Context, live: LiveReply) -> Loop:
        async def save(progress: Progress) -> None:
            await self._ledger.save(claim, progress=encode(progress))

        incoming = claim.incoming
        tool_context = ToolContext(
            incoming.person, incoming.place, incoming.conversation, claim.message, self._clock.now()
        )
        provider = self._mind.provider(incoming)
        return Loop(
            turn, context.messages, provider, self._mind.tools, tool_context, self._clock, emit=live.see, save=save
        )


async def _show_again(progress: Progress, live: LiveReply) -> None:
    """What an earlier process had said before its tools ran stands at the beginning of the reply."""
    for number, step in enumerate(progress.steps, 1):
        await live.see(IterationStarted(number))
        if step.text:
            await live.see(TextArrived(step.text))


def _forget_cancellation() -> None:
    """The cancellation meant the turn; the task goes on, to show and store what was said."""
    task = asyncio.current_task()
    if task is not None:
        task.uncancel()
