"""From an incoming message to its finished reply: durable intake, and one turn at a time per conversation.

Rules (ARCHITECTURE.md, "One visible reply").
- A message is stored, with its turn, before the platform is told that it arrived.
- Progress is saved before each effect, the reply before its final frame: after a crash the turn goes on from there.
"""

import asyncio
import logging
from collections.abc import AsyncGenerator, Callable, Collection
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from datetime import timedelta
from functools import partial
from typing import Final

from agent.errors import CogencyError, LeaseLost, StoreError
from agent.events import Outcome
from agent.ports import Clock, Ledger, Notifier
from agent.records import Accepted, Claim, Claiming, Incoming
from agent.schedules import asked_in, is_work
from bot.logs import severity
from bot.reply_surface import Surface
from bot.texts import reply_texts
from bot.turns.answering import Answering, Lease, RunningTurn
from bot.turns.runner import TurnRunner

# Somebody who waits for the end of a turn.


class AnsweredElsewhere(CogencyError):
    """Another process on the same ledger has answered what was asked here, as this turn."""

    def __init__(self, turn: int) -> None:
        super().__init__(reply_texts.ANSWERED_ELSEWHERE)
        self.turn = turn


@dataclass(slots=True, eq=False)
class PendingTurn:
    """`turn`: 0 while its number is unknown. The first of `resolve` and `answered_elsewhere` counts."""

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
class TurnsLimits:
    max_running: int = 16
    """Turns that run at once in one process; more wait in the ledger."""
    per_person: int | None = 4
    """Of them of one person, in all processes: enough for several threads, and others always find a free slot."""
    max_working: int | None = 4
    """Long work that runs in one process, beside those: it takes minutes, and no question waits for it. None: it takes
    a place among them."""
    max_attempts: int = 10
    """Claims of a turn that gets no further: a question that crashes the process must not crash it for ever. Not fewer,
    because whoever kills a process takes innocent turns along."""
    lease: timedelta = timedelta(seconds=30)
    """How long a silent worker keeps its turn; also how long a take-over takes."""
    sweep_s: float = 1.0
    """How often the ledger is looked at without notifications: finds leases that ran out, and what a lost one told."""
    end_s: float = 10.0
    """How long whoever stops answers waits for their end; what they write after a forgetting the ledger refuses."""


@dataclass(slots=True)
class TurnSlots:
    """`sources`, `waiting`: see `Turns`. `are_open`: whether anything is answered here now."""

    limits: TurnsLimits
    owner: str
    clock: Clock
    sources: Callable[[], frozenset[str] | None]
    are_open: bool = False
    promised: int = 0
    """Kept free for what is just taken in."""
    waiting: Collection[int] = ()

    def free(self, running: int, working: int = 0) -> Claiming | None:
        """What may be claimed while so many turns run, and beside them so much work; None while there is no slot for a
        turn.
        """
        limits = self.limits
        if not self.are_open or running - len(self.waiting) + self.promised >= limits.max_running:
            return None
        works, now = limits.max_working is None or working < limits.max_working, self.clock.now()
        return Claiming(self.owner, now, limits.lease, limits.per_person, self.sources(), works=works)

    def promise(self, running: int, working: int = 0) -> Claiming | None:
        """The same, and keep that slot until its `release`."""
        claiming = self.free(running, working)
        self.promised += claiming is not None
        return claiming

    def release(self, claiming: Claiming | None) -> None:
        self.promised -= claiming is not None


log = logging.getLogger(__name__)

TAKEN_BACK_S: Final = 0.05  # Between two looks whether what waited has ended
# At the end, for writes to a platform that are in flight: one that hangs is given up with its connection. Its turn is
# not given back, since nobody knows whether that write took effect.
LEAVE_S: Final = 1.5


class Turns:
    """Takes messages in and answers them. Use `serving` around everything that waits for an answer."""

    def __init__(
        self,
        ledger: Ledger,
        thinking: TurnRunner,
        surface_for: Callable[[Incoming], Surface],
        notifier: Notifier,
        clock: Clock,
        owner: str,
        limits: TurnsLimits = TurnsLimits(),
        sources: Callable[[], frozenset[str] | None] = lambda: None,
        waiting: Collection[int] = (),
    ) -> None:
        """`sources`: from where the messages came to which this process can show replies now; None: from anywhere.
        Other processes on the same ledger answer the rest. `waiting`: turns that wait for a person, and take no slot
        meanwhile; when these go on, more may run for a moment.
        """
        self._ledger = ledger
        self._answering = Answering(ledger, thinking, surface_for, clock, limits.max_attempts)
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
        self._worker: asyncio.Task[None] | None = None
        self._returning: asyncio.Future[None] | None = None  # What gives back a claim that came at the end
        self._asking: dict[tuple[str, str], PendingTurn] = {}

    @asynccontextmanager
    async def serving(self, grace_s: float = 0.0) -> AsyncGenerator[None, None]:
        """Answer what is submitted until the block ends.

        Turns that still run then get `grace_s` seconds. Others go on with them where they stopped: the processes on the
        same ledger at once, or this one after its next start.
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
            for task in tasks:
                task.cancel()
            await asyncio.wait([worker, *tasks], timeout=LEAVE_S)
            parked = [running for running in open_turns if running.task.done() and running.task.cancelled()]
            if (hanging := sum(not task.done() for task in tasks)) > 0:
                log.warning("%d answers wait for their platform as the process ends; their leases run out", hanging)
            await self._give_back([running.claim for running in parked])
            for asking in self._asking.values():
                asking.resolve(None)

    def has_stopped(self) -> bool:
        """Whether nobody looks for turns any more who did."""
        return self._worker is not None and self._worker.done()

    async def submit(self, incoming: Incoming) -> Accepted:
        """Take a message in, durably; its turn begins as soon as its conversation is free."""
        claiming = self.promise_slot()
        return await self.follow(asyncio.ensure_future(self._ledger.accept(incoming, None, claiming)), claiming)

    def promise_slot(self) -> Claiming | None:
        """To claim in the transaction that takes a message in: that is one less for the person to wait for. The slot is
        kept free until `follow` sees its end; None if there is none.
        """
        return self._slots.promise(*self._loads())

    def follow(self, accepting: "asyncio.Task[Accepted]", claiming: Claiming | None) -> "asyncio.Future[Accepted]":
        """Begin what the ledger claims while it takes a message in, also if nobody waits for it any more."""
        self._accepting.add(accepting)
        self._idle.clear()
        accepting.add_done_callback(partial(self._accepted, claiming, self._lease()))
        return asyncio.shield(accepting)

    def _accepted(self, claiming: Claiming | None, lease: Lease, accepting: "asyncio.Task[Accepted]") -> None:
        self._accepting.discard(accepting)
        self._slots.release(claiming)
        if accepting.cancelled() or accepting.exception() is not None:
            self._rest()
            return
        accepted = accepting.result()
        if accepted.claim is not None and self._slots.are_open:
            self._begin(accepted.claim, lease)
        elif accepted.claim is not None:  # the end came meanwhile
            self._returning = asyncio.ensure_future(self._give_back([accepted.claim]))
        if accepted.claim is None or accepted.claim.turn != accepted.turn:
            self._notifier.notify()

    async def ask(self, incoming: Incoming) -> Outcome | None:
        """`submit`, and wait for the end. None if it was a duplicate, or if the turn was lost, parked or put aside.

        Raises AnsweredElsewhere. Cancelling it stops the turn, within `end_s`: what was said is kept.
        """
        key = (incoming.source, incoming.event_id)
        if key in self._asking:
            return None
        asking = self._asking[key] = PendingTurn()
        submitting = asyncio.ensure_future(self.submit(incoming))
        try:
            accepted = await asyncio.shield(submitting)
            if accepted.duplicate:
                return None
            asking.turn = accepted.turn
            return await asyncio.shield(asking.outcome)
        except asyncio.CancelledError:
            submitting.add_done_callback(self._stop_what_came_of)
            with suppress(TimeoutError, CogencyError):
                async with asyncio.timeout(self._limits.end_s):
                    await self._end_asking(await asyncio.shield(submitting), incoming, asking)
            raise
        finally:
            del self._asking[key]

    async def _end_asking(self, accepted: Accepted, incoming: Incoming, asking: PendingTurn) -> None:
        if accepted.duplicate or asking.outcome.done():
            return
        if accepted.turn not in self._running:  # it waits, or another process runs it
            await self._ledger.stop(incoming.conversation)
            self._notifier.notify()
        await asyncio.shield(asking.outcome)

    def _stop_what_came_of(self, submitting: "asyncio.Future[Accepted]") -> None:
        """However late: whoever asked no longer waits."""
        if not submitting.cancelled() and submitting.exception() is None and not submitting.result().duplicate:
            self.stop(submitting.result().turn)

    async def take_over_turns(self, person: str, family: str, source: str) -> bool:
        """Go on, as `source`, with what processes of its `family` that are gone left of this person; False: nothing."""
        taken_over = await self._ledger.take_over_turns(person, family, source, self._clock.now(), self._limits.lease)
        if taken_over:
            self._idle.clear()
            self._notifier.notify()
        return taken_over > 0

    def wake(self) -> None:
        """A turn that waited for its asker may go on."""
        self._idle.clear()
        self._notifier.notify()

    async def idle(self) -> None:
        """Until nothing waits and nothing runs. Cancelling it stops what runs, and waits until that has ended."""
        try:
            await self._idle.wait()
        except asyncio.CancelledError:
            await self._end([*self._running.values()])
            raise

    def stop(self, turn: int) -> None:
        """End the turn at once, keeping what was said; if it still waits, as soon as it is claimed."""
        self._stopping.add(turn)
        if turn in self._running:
            self._running[turn].stop()

    async def stop_conversation(self, conversation: str, *, alone: bool = False) -> bool:
        """`stop` the turns of a conversation that run and wait; whether there was one. Unless it is meant `alone`, so
        is the long work that was asked for there.

        One that another process runs is stopped when that one looks at the ledger, within `sweep_s`.
        """
        turns = await self._ledger.stop(conversation, alone=alone)
        for turn in turns:
            self.stop(turn)
        self._notifier.notify()
        return bool(turns)

    async def withdraw(self, channel: str, message_id: str) -> bool:
        """A question was deleted: do not answer it, and take back what was already said. False if it does not wait or
        run. One that another process runs is ended by that one, within `sweep_s`.
        """
        open_ = await self._ledger.withdraw(channel, message_id, self._clock.now())
        if open_:
            await self._hear_of_stops()
            self._notifier.notify()
        return open_

    async def take_back(self, person: str, conversation: str | None) -> None:
        """Before something is forgotten: end the open turns that answer it, and delete what they have shown."""
        running = [
            running
            for running in self._running.values()
            if running.claim.incoming.person.id == person
            and conversation in {None, *_conversations(running.claim.incoming)}
        ]
        for one in running:
            one.taken_back = True
        waiting = await self._take_back_waiting(person, conversation)
        await self._end(running)
        if any(one.put_aside for one in running):  # before it heard of this: it waits now
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
        for one in running:
            self.stop(one.claim.turn)
        if running:
            await asyncio.wait([one.task for one in running], timeout=self._limits.end_s)

    async def _give_back(self, claims: list[Claim]) -> None:
        """What cannot be given back is found when its lease runs out."""
        for claim in claims:
            with suppress(LeaseLost, StoreError):
                await self._ledger.release(claim)
        if claims:
            self._notifier.notify()

    async def _serve(self) -> None:
        while True:
            try:
                await self._claim()
                await self._hear_of_stops()
                await self._hear_of_ends()
                await self._give_back(self._take_put_off())
            except StoreError as error:
                log.log(severity(error), "the ledger could not be asked, trying again: %s", error)
            else:
                self._rest()
            await self._notifier.wait(self._limits.sweep_s)

    def _rest(self) -> None:
        if not (self._running or self._accepting or self._notifier.is_notified):
            self._idle.set()

    async def _claim(self) -> None:
        while (claiming := self._slots.free(*self._loads())) is not None:
            lease = self._lease()
            claim = await self._ledger.claim(claiming)
            if claim is None:
                return
            self._begin(claim, lease)

    def _loads(self) -> tuple[int, int]:
        """How many turns run here, and how much work beside them."""
        if self._limits.max_working is None:
            return len(self._running), 0
        working = sum(is_work(running.claim.incoming.event_id) for running in self._running.values())
        return len(self._running) - working, working

    def _lease(self) -> Lease:
        return Lease(self._ledger, self._clock, self._limits.lease)

    def _begin(self, claim: Claim, lease: Lease) -> None:
        if claim.stopping:
            self._stopping.add(claim.turn)
        running = RunningTurn(claim, lease, earlier=self._running.get(claim.turn))
        stopped = partial(self._stopping.__contains__, claim.turn)
        running.task = asyncio.create_task(self._answering.run(running, stopped))
        running.task.add_done_callback(lambda task, running=running: self._ended(running, task))
        self._running[claim.turn] = running
        asked = (claim.incoming.source, claim.incoming.event_id)
        for key, asking in self._asking.items():
            if key == asked:
                asking.turn = claim.turn
            elif asking.turn == claim.turn:
                asking.turn = 0  # a late message took its number, and it waits under another

    async def _hear_of_stops(self) -> None:
        """What another process was asked to stop may run here, or what was just deleted."""
        stopping = await self._ledger.stopping(self._owner) if self._running else frozenset[int]()
        for turn in await self._ledger.withdrawn(self._owner) if stopping else ():
            if turn in self._running:
                self._running[turn].taken_back = True
        for turn in stopping - self._stopping:
            self.stop(turn)

    async def _hear_of_ends(self) -> None:
        """What was asked here another process may have answered: one that took over, while this one was stopped."""
        elsewhere = {one.turn: one for one in self._asking.values() if one.turn and one.turn not in self._running}
        if elsewhere:
            for turn in await self._ledger.ended(frozenset(elsewhere)):
                if turn not in self._running:  # or it was claimed here meanwhile, with a question that came in
                    elsewhere[turn].answered_elsewhere()

    def _take_put_off(self) -> list[Claim]:
        """The ledger answers again: what was put off because it did not need not wait until its lease has run out."""
        put_off, self._put_off = self._put_off, []
        return put_off

    def _ended(self, running: RunningTurn, task: asyncio.Task[Outcome | None]) -> None:
        """However it ended, even before its first step."""
        turn, incoming = running.claim.turn, running.claim.incoming
        if running.others_wait:
            self._notifier.notify()
        if self._running.get(turn) is not running:
            return  # claimed anew meanwhile: that one answers, or has answered
        del self._running[turn]
        self._rest()
        self._stopping.discard(turn)
        if running.put_off:
            self._put_off.append(running.claim)
        if task.cancelled():
            return  # its lease was lost, or the service ends
        lost = task.exception()
        if lost is not None:
            log.error("turn %d: lost", turn, exc_info=lost)
        outcome = None if lost is not None else task.result()
        asking = self._asking.get((incoming.source, incoming.event_id))
        if asking is not None and (
            lost is not None or outcome is not None or running.put_aside
        ):  # else it goes on later
            asking.resolve(outcome)


def _conversations(question: Incoming) -> tuple[str, str]:
    """In which it is answered, and in which it was asked for."""
    return question.conversation, asked_in(question.conversation)
