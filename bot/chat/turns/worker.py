"""The worker: stores incoming messages durably, claims turns and runs them, one at a time per conversation.

Rules (ARCHITECTURE.md, "One visible reply").
- A message is stored, with its turn, before its arrival is acknowledged to the platform.
- Progress is saved before each effect, and the reply before its final frame: after a crash the turn resumes there.
"""

import asyncio
import logging
from collections.abc import AsyncGenerator, Callable, Collection
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from datetime import timedelta
from functools import partial
from typing import Final

from agent.admission_terms import Terms
from agent.errors import CogencyError, LeaseLost, StoreError, Unexpected
from agent.events import Outcome
from agent.incoming import Incoming
from agent.ports.clock import Clock
from agent.ports.ledger import Ledger
from agent.ports.notifier import Notifier
from agent.schedules.long_work import asked_in
from agent.turn_kinds import TurnKind
from agent.turn_records import Accepted, Claim, Claiming
from bot.chat.logs import severity
from bot.chat.reply.surface import Surface
from bot.chat.texts import replies as reply_texts
from bot.chat.turns.answering import Answering, RunningTurn
from bot.chat.turns.lease import Lease
from bot.chat.turns.runner import TurnRunner
from bot.chat.unexpected import unexpected_logged

# Waiting for the end of a turn.


class AnsweredElsewhere(CogencyError):
    """Another process on the same ledger has answered a question that was asked in this one, as turn `turn`."""

    def __init__(self, turn: int) -> None:
        super().__init__(reply_texts.ANSWERED_ELSEWHERE)
        self.turn = turn


@dataclass(slots=True, eq=False)
class PendingTurn:
    """A caller that waits for the end of a turn. `turn`: 0 while its number is unknown. Of `resolve` and
    `answered_elsewhere`, the first call counts.
    """

    turn: int = 0
    outcome: "asyncio.Future[Outcome | None]" = field(
        default_factory=lambda: asyncio.get_running_loop().create_future()
    )

    def resolve(self, outcome: Outcome | None) -> None:
        if not self.outcome.done():
            self.outcome.set_result(outcome)

    def answered_elsewhere(self) -> None:
        if not self.outcome.done():
            self.outcome.set_exception(AnsweredElsewhere(self.turn))


# How many turns run at once in one process, and what may be claimed for a free slot.


@dataclass(frozen=True, slots=True)
class TurnWorkerLimits:
    max_running: int = 16
    """Turns that run at once in one process; more wait in the ledger."""
    per_person: int | None = 4
    """Turns of one person that run at once in all processes: enough for several threads, and others find a free slot.
    """
    max_working: int | None = 4
    """Long work that runs at once in one process, in addition to `max_running`: it takes minutes, and no question waits
    for it. None: it counts toward `max_running`."""
    max_attempts: int = 10
    """Claims of a turn without progress, before it is given up: a question must not crash the process without end.
    There are several, because a crash also interrupts turns that did not cause it."""
    lease: timedelta = timedelta(seconds=9)
    """How long a worker that does not renew keeps its turn; also how long a takeover takes."""
    sweep_s: float = 1.0
    """How often the ledger is read without a notification: this finds leases that ran out, and lost notifications."""
    end_s: float = 10.0
    """How long a caller that stops turns waits for their end. The ledger refuses what they write after a forgetting."""


@dataclass(slots=True)
class TurnSlots:
    """The slots for running turns in this process. `sources`, `waiting`: see `TurnWorker`. `are_open`: whether turns
    are answered now.
    """

    limits: TurnWorkerLimits
    owner: str
    clock: Clock
    sources: Callable[[], frozenset[str] | None]
    are_open: bool = False
    promised: int = 0
    """Slots reserved for messages that are being stored."""
    waiting: Collection[int] = ()

    def free(self, running: int, working: int = 0) -> Claiming | None:
        """Return what may be claimed while `running` turns and `working` long works run; None if there is no slot for a
        turn.
        """
        limits = self.limits
        if not self.are_open or running - len(self.waiting) + self.promised >= limits.max_running:
            return None
        works, now = limits.max_working is None or working < limits.max_working, self.clock.now()
        return Claiming(self.owner, now, limits.lease, limits.per_person, self.sources(), works=works)

    def promise(self, running: int, working: int = 0) -> Claiming | None:
        """As `free`, and reserve that slot until its `release`."""
        claiming = self.free(running, working)
        self.promised += claiming is not None
        return claiming

    def release(self, claiming: Claiming | None) -> None:
        self.promised -= claiming is not None


log = logging.getLogger(__name__)

TAKEN_BACK_S: Final = 0.05  # The interval of polling whether waiting turns have ended
# How long the end waits for writes to a platform that are in flight. A write that hangs is abandoned. Its turn is not
# given back, as the write may have taken effect.
LEAVE_S: Final = 1.5


class TurnWorker:
    """Stores messages and answers them. Use `serving` around everything that waits for an answer."""

    def __init__(
        self,
        ledger: Ledger,
        runner: TurnRunner,
        surface_for: Callable[[Incoming], Surface],
        notifier: Notifier,
        clock: Clock,
        owner: str,
        limits: TurnWorkerLimits = TurnWorkerLimits(),
        sources: Callable[[], frozenset[str] | None] = lambda: None,
        waiting: Collection[int] = (),
    ) -> None:
        """`sources`: the sources of messages to which this process can show replies now; None: all. Other processes on
        the same ledger answer the rest. `waiting`: turns that wait for a person, and take no slot meanwhile; when they
        continue, more than `max_running` may run for a moment.
        """
        self._ledger = ledger
        self._answering = Answering(ledger, runner, surface_for, clock, limits.max_attempts)
        self._clock = clock
        self._owner = owner
        self._limits = limits
        self._slots = TurnSlots(limits, owner, clock, sources, waiting=waiting)
        self._notifier = notifier
        self._idle = asyncio.Event()
        self._running: dict[int, RunningTurn] = {}
        self._stopping: set[int] = set()
        self._accepting: set[asyncio.Task[Accepted]] = set()
        self._put_off: list[Claim] = []
        self._was_full = False  # No slot was free for what may have been waiting
        self._worker: asyncio.Task[None] | None = None
        self._returning: asyncio.Future[None] | None = None  # Gives back a claim that came during the shutdown
        self._pending: dict[tuple[str, str], PendingTurn] = {}  # By source and event id

    @asynccontextmanager
    async def serving(self, grace_s: float = 0.0) -> AsyncGenerator[None, None]:
        """Answer what is submitted until the block ends.

        Turns that still run then get `grace_s` seconds. After that, another process on the same ledger resumes them at
        once, or this one after its next start.
        """
        self._slots.are_open = True
        self._worker = worker = asyncio.create_task(self._serve())
        try:
            yield
        finally:
            self._slots.are_open = False
            worker.cancel()
            open_turns = [*self._running.values()]
            tasks = [running.task for running in open_turns]
            if grace_s and tasks:
                await asyncio.wait(tasks, timeout=grace_s)
            strays = [*self._answering.strays]
            for task in [*tasks, *strays]:
                task.cancel()
            await asyncio.wait([worker, *tasks, *strays], timeout=LEAVE_S)
            parked = [running for running in open_turns if running.task.done() and running.task.cancelled()]
            if (hanging := sum(not task.done() for task in tasks)) > 0:
                log.warning(
                    "the process ends while %d answers are still waiting for their platform; they are continued when "
                    "their leases expire",
                    hanging,
                )
            await self._give_back([running.claim for running in parked])
            for pending in self._pending.values():
                pending.resolve(None)

    def has_stopped(self) -> bool:
        """Whether the worker was started and has ended."""
        return self._worker is not None and self._worker.done()

    async def submit(self, incoming: Incoming, terms: Terms | None = None) -> Accepted:
        """Store a message durably. Its turn starts as soon as its conversation is free. Raises TermsNotMet."""
        claiming = self.promise_slot()
        return await self.follow(asyncio.ensure_future(self._ledger.accept(incoming, terms, claiming)), claiming)

    def promise_slot(self) -> Claiming | None:
        """Reserve a slot, to claim the turn in the transaction that stores its message: this saves the user the wait
        for a second one. The slot is reserved until the task given to `follow` has ended. None if there is no slot.
        """
        return self._slots.promise(*self._loads())

    def follow(self, accepting: "asyncio.Task[Accepted]", claiming: Claiming | None) -> "asyncio.Future[Accepted]":
        """Run the turn that the ledger claims while it stores a message, even if the caller is cancelled."""
        self._accepting.add(accepting)
        self._idle.clear()
        accepting.add_done_callback(partial(self._accepted, claiming, self._lease()))
        return asyncio.shield(accepting)

    def _accepted(self, claiming: Claiming | None, lease: Lease, accepting: "asyncio.Task[Accepted]") -> None:
        self._accepting.discard(accepting)
        self._slots.release(claiming)
        if accepting.cancelled() or accepting.exception() is not None:
            self._update_idle()
            return
        accepted = accepting.result()
        if accepted.claim is not None and self._slots.are_open:
            self._begin(accepted.claim, lease)
        elif accepted.claim is not None:  # the shutdown started meanwhile
            self._returning = asyncio.ensure_future(self._give_back([accepted.claim]))
        if accepted.claim is None or accepted.claim.turn != accepted.turn:
            self._notifier.notify()

    async def ask(self, incoming: Incoming, terms: Terms | None = None) -> Outcome | None:
        """`submit`, and wait for the end. None if it was a duplicate, or if the turn was lost, parked or put aside.

        Raises AnsweredElsewhere and TermsNotMet. Cancelling this call stops the turn, within `end_s`, and keeps the
        reply so far.
        """
        key = (incoming.source, incoming.event_id)
        if key in self._pending:
            return None
        pending = self._pending[key] = PendingTurn()
        submitting = asyncio.ensure_future(self.submit(incoming, terms))
        try:
            accepted = await asyncio.shield(submitting)
            if accepted.duplicate:
                return None
            pending.turn = accepted.turn
            return await asyncio.shield(pending.outcome)
        except asyncio.CancelledError:
            submitting.add_done_callback(self._stop_submitted)
            with suppress(TimeoutError, CogencyError):
                async with asyncio.timeout(self._limits.end_s):
                    await self._end_pending(await asyncio.shield(submitting), incoming, pending)
            raise
        finally:
            del self._pending[key]

    async def _end_pending(self, accepted: Accepted, incoming: Incoming, pending: PendingTurn) -> None:
        if accepted.duplicate or pending.outcome.done():
            return
        if accepted.turn not in self._running:  # it waits, or another process runs it
            await self._ledger.stop(incoming.conversation)
            self._notifier.notify()
        await asyncio.shield(pending.outcome)

    def _stop_submitted(self, submitting: "asyncio.Future[Accepted]") -> None:
        """Stop the turn, however late it was stored: its caller no longer waits."""
        if not submitting.cancelled() and submitting.exception() is None and not submitting.result().duplicate:
            self.stop(submitting.result().turn)

    async def take_over_turns(self, person: str, family: str, source: str) -> bool:
        """Take over, as `source`, the turns of this person that ended processes of its `family` left. Return whether
        there were any.
        """
        taken_over = await self._ledger.take_over_turns(person, family, source, self._clock.now(), self._limits.lease)
        if taken_over:
            self._idle.clear()
            self._notifier.notify()
        return taken_over > 0

    def wake(self) -> None:
        """Look for turns to claim: one that waited for its asker may continue."""
        self._idle.clear()
        self._notifier.notify()

    async def end_lost(self) -> None:
        """End the running turns that are no longer this process's, without waiting until their leases are renewed."""
        for running in [*self._running.values()]:
            try:
                await running.lease.renew(running.claim)
            except LeaseLost:
                if not running.ending:  # as after a renewal
                    running.lost = True
                    running.task.cancel()

    async def idle(self) -> None:
        """Return when no turn waits or runs. Cancelling this call stops the running turns and waits for their end."""
        try:
            await self._idle.wait()
        except asyncio.CancelledError:
            await self._end([*self._running.values()])
            raise

    def stop(self, turn: int) -> None:
        """End the turn at once and keep its reply so far. A turn that still waits ends as soon as it is claimed."""
        self._stopping.add(turn)
        if turn in self._running:
            self._running[turn].stop()

    async def stop_conversation(self, conversation: str, *, alone: bool = False) -> bool:
        """`stop` the running and waiting turns of a conversation; return whether there was one. Unless `alone`, also
        stop the long work that was asked for in it.

        A turn that another process runs is stopped when that process reads the ledger, within `sweep_s`.
        """
        turns = await self._ledger.stop(conversation, alone=alone)
        for turn in turns:
            self.stop(turn)
        self._notifier.notify()
        return bool(turns)

    async def waits_for_people(self, conversation: str) -> bool:
        """Return whether a turn there, or its long work, waits until people decide or answer. Raises StoreError."""
        return await self._ledger.waits_for_people(conversation)

    async def withdraw(self, source: str, channel: str, message_id: str) -> bool:
        """A question was deleted: do not answer it, and delete its reply so far. False if its turn neither waits nor
        runs. A turn that another process runs is ended by that process, within `sweep_s`.
        """
        was_open = await self._ledger.withdraw(source, channel, message_id, self._clock.now())
        if was_open:
            await self._apply_stops()
            self._notifier.notify()
        return was_open

    async def take_back(self, person: str, conversation: str | None) -> None:
        """Before messages are forgotten: end the open turns of `person` in `conversation` (None: in all), and delete
        their replies.
        """
        running = [
            running
            for running in self._running.values()
            if running.claim.incoming.person.id == person
            and conversation in {None, *_conversations(running.claim.incoming)}
        ]
        for turn in running:
            turn.taken_back = True
        waiting = await self._take_back_waiting(person, conversation)
        await self._end(running)
        if any(turn.put_aside for turn in running):  # it was put aside meanwhile, and waits now
            waiting |= await self._take_back_waiting(person, conversation)
        with suppress(TimeoutError):
            async with asyncio.timeout(self._limits.end_s):
                while waiting and waiting - (await self._ledger.ended(waiting)).keys():
                    await self._clock.sleep(TAKEN_BACK_S)

    async def _take_back_waiting(self, person: str, conversation: str | None) -> frozenset[int]:
        waiting = frozenset(await self._ledger.take_back(person, conversation))
        for turn in waiting:
            self.stop(turn)
        if waiting:
            self._notifier.notify()
        return waiting

    async def _end(self, running: list[RunningTurn]) -> None:
        for turn in running:
            self.stop(turn.claim.turn)
        if running:
            await asyncio.wait([turn.task for turn in running], timeout=self._limits.end_s)

    async def _give_back(self, claims: list[Claim]) -> None:
        """Release claims. One that cannot be released is claimed again when its lease runs out."""
        for claim in claims:
            with suppress(LeaseLost, StoreError):
                await self._ledger.release(claim)
        if claims:
            self._notifier.notify()

    async def _serve(self) -> None:
        while True:
            try:
                with unexpected_logged("the worker of turns"):
                    await self._claim()
                    await self._apply_stops()
                    await self._resolve_ended_elsewhere()
                    # The ledger answers again, so turns that were put off need not wait for their leases to run out.
                    put_off, self._put_off = self._put_off, []
                    await self._give_back(put_off)
            except (StoreError, Unexpected) as error:
                log.log(severity(error), "the ledger could not be read; retrying: %s", error)
            else:
                self._update_idle()
            await self._notifier.wait(self._limits.sweep_s)

    def _update_idle(self) -> None:
        if not (self._running or self._accepting or self._notifier.is_notified):
            self._idle.set()

    async def _claim(self) -> None:
        while (claiming := self._slots.free(*self._loads())) is not None:
            lease = self._lease()
            claim = await self._ledger.claim(claiming)
            if claim is None:
                return
            self._begin(claim, lease)
        self._was_full = True

    def _loads(self) -> tuple[int, int]:
        """Return how many turns run in this process, and how many long works that are counted apart."""
        if self._limits.max_working is None:
            return len(self._running), 0
        working = sum(running.claim.incoming.kind is TurnKind.WORK for running in self._running.values())
        return len(self._running) - working, working

    def _lease(self) -> Lease:
        return Lease(self._ledger, self._clock, self._limits.lease)

    def _begin(self, claim: Claim, lease: Lease) -> None:
        if claim.stopping:
            self._stopping.add(claim.turn)
        lease.claimed(claim.attempts)
        running = RunningTurn(claim, lease, self._running.get(claim.turn), taken_back=claim.withdrawn)
        stopped = partial(self._stopping.__contains__, claim.turn)
        running.task = asyncio.create_task(self._answering.run(running, stopped))
        running.task.add_done_callback(lambda task, running=running: self._ended(running, task))
        self._running[claim.turn] = running
        claimed = (claim.incoming.source, claim.incoming.event_id)
        for key, pending in self._pending.items():
            if key == claimed:
                pending.turn = claim.turn
            elif pending.turn == claim.turn:
                pending.turn = 0  # a late message took its number; its question waits under another one

    async def _apply_stops(self) -> None:
        """Stop turns that another process was asked to stop, and those whose question was deleted."""
        stopping = await self._ledger.stopping(self._owner) if self._running else frozenset[int]()
        for turn in await self._ledger.withdrawn(self._owner) if stopping else ():
            if turn in self._running:
                self._running[turn].taken_back = True
        for turn in stopping - self._stopping:
            self.stop(turn)

    async def _resolve_ended_elsewhere(self) -> None:
        """Resolve questions that another process has answered, as it took over while this one was suspended."""
        joined = frozenset[int]().union(*(running.joined for running in self._running.values()))
        elsewhere = {
            pending.turn: pending
            for pending in self._pending.values()
            if pending.turn and pending.turn not in self._running and pending.turn not in joined
        }
        if elsewhere:
            for turn in await self._ledger.ended(frozenset(elsewhere)):
                if turn not in self._running:  # else it was claimed here meanwhile, with a question that came in
                    elsewhere[turn].answered_elsewhere()

    def _ended(self, running: RunningTurn, task: asyncio.Task[Outcome | None]) -> None:
        """Handle the end of a turn's task, which may come before its first step."""
        turn, incoming = running.claim.turn, running.claim.incoming
        if running.others_wait or self._was_full:
            self._was_full = False
            self._notifier.notify()
        if self._running.get(turn) is not running:
            return  # claimed again meanwhile: the newer task answers, or has answered
        del self._running[turn]
        self._update_idle()
        self._stopping.discard(turn)
        if running.put_off:
            self._put_off.append(running.claim)
        if task.cancelled():
            return  # its lease was lost, or the service ends
        error = task.exception()
        if error is not None:
            log.error("turn %d: lost", turn, exc_info=error)
        outcome = None if error is not None else task.result()
        pending = self._pending.get((incoming.source, incoming.event_id))
        has_ended = error is not None or outcome is not None or running.put_aside  # else it continues later
        if pending is not None and has_ended:
            pending.resolve(outcome)
        for other in self._pending.values() if has_ended else ():
            if other.turn in running.joined:
                other.resolve(outcome)


def _conversations(question: Incoming) -> tuple[str, str]:
    """Return the conversation in which a question is answered, and the one in which it was asked."""
    return question.conversation, asked_in(question.conversation)
