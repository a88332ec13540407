"""From an incoming message to its finished reply: durable intake, one turn at a time per conversation, live reply.

Above: `bot.app` builds it; platforms and commands call `submit`, `wait` and `stop`.
Below: `bot.thinking`, `bot.reply.live`, `bot.surface`, the Ledger port.

Rules (DESIGN.md, section 7).
- A message is stored, with its turn, before the platform is told that it arrived.
- Every write after a claim carries its epoch; a worker that lost its lease stops without a word.
- Progress is saved before each effect, the reply before its final frame: after a crash the turn goes on from there.
- A turn that keeps killing its process is given up with a sentence, not tried for ever.
"""

import asyncio
import json
import logging
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, replace
from datetime import timedelta

from agent.errors import LeaseLost, StoreError
from agent.events import Outcome
from agent.ports import Clock, Ledger
from agent.records import Accepted, Claim, Closing, Incoming
from bot.reply.live import LiveReply
from bot.surface import PageGone, PageRef, Surface, SurfaceError
from bot.thinking import Thinking

log = logging.getLogger(__name__)

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


class Turns:
    """Takes messages in and answers them. Use `serving` around everything that waits for an answer."""

    def __init__(
        self,
        ledger: Ledger,
        thinking: Thinking,
        surface_for: Callable[[Incoming], Surface],
        clock: Clock,
        owner: str,
        limits: TurnsLimits = TurnsLimits(),
    ) -> None:
        self._ledger = ledger
        self._thinking = thinking
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
    async def serving(self, grace_s: float = 0.0) -> AsyncGenerator[None, None]:
        """Answer what is submitted until the block ends.

        Turns that still run then get `grace_s` seconds, and are parked for the next start.
        """
        worker = asyncio.create_task(self._serve())
        try:
            yield
        finally:
            worker.cancel()
            if grace_s and self._running:
                await asyncio.wait(self._running.values(), timeout=grace_s)
            running = [*self._running.values()]
            for task in running:
                task.cancel()
            await asyncio.gather(worker, *running, return_exceptions=True)

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
            closing = await self._reply(claim, live)
            shown = await live.finish(closing.reply)
        return await self._close(claim, replace(closing, pages=shown))

    async def _close(self, claim: Claim, closing: Closing) -> Outcome:
        await self._ledger.finish(claim, closing, self._clock.now())
        log.info("turn %d: %s, %d tokens out", claim.turn, closing.outcome, closing.usage.output)
        return closing.outcome

    async def _reply(self, claim: Claim, live: LiveReply) -> Closing:
        if claim.attempts > self._limits.max_attempts:
            return Closing(Outcome.REFUSED, GIVEN_UP.format(attempts=claim.attempts - 1, turn=claim.turn))
        return await self._thinking.think(claim, live, lambda: claim.turn in self._stopping)
