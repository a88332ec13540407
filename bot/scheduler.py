"""Work that no message asks for at this moment: jobs in the background, and what people have put off to a time.

Rules of jobs
  One of the three broad excepts of this program is here: a background job. Whatever goes wrong is one log line; the job
  is tried again later, each time after twice as long, and given up after `max_attempts`.

Rules of schedules, of which each replica does what is due for the platforms that it serves now
  Whoever finds a schedule due asks its platform whether, as whom and where its person may have it done now. Then it
  is begun as a turn of the ledger, which answers it as any other; or passed over, put off, or ended, of which its
  person is told in a direct message.
  A clock that jumps ahead is given a moment to be set right before anything is begun by it.
  A reminder's turn has its words. A question is asked within the budgets, and not at all if what it looks at first says
  what it said last; it may find that there is nothing to report, and then nothing is shown.
  Long work is begun at once. While it goes on, it is asked now and then whether its person may still have it done
  there: where they may not, it ends with what it has said, and they are told so alone.
"""

import asyncio
import logging
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Final, TypeAlias

from cachetools import LRUCache

from agent.errors import CogencyError, LeaseLost, StoreError, StoreUnavailable
from agent.events import Outcome
from agent.messages import ModelCall
from agent.ports import Clock, Jobs
from agent.progress import Progress
from agent.protocol.render import excerpt, joined
from agent.records import SCHEDULED, Closing, Incoming, Job
from agent.schedules import (
    TELLS,
    WORK_CHARS,
    WORK_TIME,
    FirstCheck,
    NotAllowed,
    Notice,
    Occurrence,
    Schedule,
    ScheduleKind,
    SchedulePlatform,
    Schedules,
    is_stale,
    late_note,
    occurrence_id,
    schedule_of,
    worked_for,
)
from agent.turn import EndDue
from bot.logs import severity
from bot.telemetry import SILENT, JobEnd, JobOver, Telemetry
from bot.texts import reply_texts

log = logging.getLogger(__name__)

Handler: TypeAlias = Callable[[Job], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class JobLimits:
    sweep_s: float = 5.0
    """How often to look for what is due: nobody waits for it."""
    lease: timedelta = timedelta(minutes=2)
    """How long a silent worker keeps its job; it is renewed while the handler works."""
    first_retry: timedelta = timedelta(minutes=1)
    longest_retry: timedelta = timedelta(hours=6)
    """Doubling from the first to the longest: quick after a hiccup, gentle with a service that is down for days."""
    max_attempts: int = 20
    """About four days: longer than an outage, shorter than a change of settings that will never be undone."""

    def retry_after(self, attempts: int) -> timedelta:
        """How long to wait after so many attempts, at least one."""
        return min(self.first_retry * 2 ** min(attempts - 1, 20), self.longest_retry)


class JobWorker:
    """Does one job at a time: background work leaves the machine to the answers."""

    def __init__(
        self,
        jobs: Jobs,
        handlers: Mapping[str, Handler],
        clock: Clock,
        owner: str,
        limits: JobLimits = JobLimits(),
        telemetry: Telemetry = SILENT,
    ) -> None:
        self._jobs = jobs
        self._handlers = handlers
        self._clock = clock
        self._owner = owner
        self._limits = limits
        self._telemetry = telemetry

    @asynccontextmanager
    async def serving(self) -> AsyncGenerator[None, None]:
        """Do what is due until the block ends; a job that is cut short waits for the next start."""
        worker = asyncio.create_task(self._serve())
        try:
            yield
        finally:
            worker.cancel()
            await asyncio.gather(worker, return_exceptions=True)

    async def work(self) -> bool:
        """Do the next job that is due; False if there is none. Raises StoreError."""
        job = await self._jobs.claim(frozenset(self._handlers), self._owner, self._clock.now(), self._limits.lease)
        if job is None:
            return False
        renewing, begun = asyncio.create_task(self._renew(job)), self._clock.monotonic()
        try:
            done = await self._done(job)
        finally:
            renewing.cancel()
        took_s, end = self._clock.monotonic() - begun, JobEnd.DONE if done else JobEnd.FAILED
        try:
            if done or job.attempts >= self._limits.max_attempts:
                await self._jobs.finish(job)
                end = JobEnd.DONE if done else JobEnd.GIVEN_UP
            else:
                await self._jobs.postpone(job, self._clock.now() + self._limits.retry_after(job.attempts))
        except LeaseLost as error:
            end = JobEnd.LOST
            log.info("job %d (%s): %s", job.id, job.kind, error)
        self._telemetry.tell(JobOver(job.kind, end, took_s))
        return True

    async def _serve(self) -> None:
        while True:
            try:
                while await self.work():
                    pass
            except StoreError as error:
                log.log(severity(error), "no job could be done, trying again: %s", error)
            await self._clock.sleep(self._limits.sweep_s)

    async def _done(self, job: Job) -> bool:
        try:
            await self._handlers[job.kind](job)
        except StoreUnavailable:
            raise  # nothing is wrong with the job
        except CogencyError as error:
            log.warning("job %d (%s): attempt %d failed: %s", job.id, job.kind, job.attempts, error)
            return False
        except Exception:
            log.exception("job %d (%s): attempt %d failed", job.id, job.kind, job.attempts)
            return False
        return True

    async def _renew(self, job: Job) -> None:
        while True:
            await self._clock.sleep(self._limits.lease.total_seconds() / 3)
            try:
                await self._jobs.renew(job, self._clock.now(), self._limits.lease)
            except StoreError as error:
                log.log(severity(error), "job %d (%s): lease not renewed: %s", job.id, job.kind, error)


# What is due at a time, on each replica, for the platforms that it serves now.

LOOK_S: Final = 5.0  # At the longest between two looks: what another process has changed is seen by then
SOON_S: Final = 0.02  # At the shortest: what is due may be in another process's hands
AT_ONCE: Final = 100  # Schedules that are taken together: what one process has in hand within its lease
ASKED: Final = 16  # Of them are asked about at the same time
JUMP: Final = timedelta(minutes=1)  # More than clocks are set by while they are right
JUMP_S: Final = 60.0  # For a clock that jumped ahead to be set right, as after a machine has slept
FIRST_RETRY: Final = timedelta(seconds=10)
# Where nobody can say now whether it may be done: as long again as it is late, in these bounds.
LONGEST_RETRY: Final = timedelta(minutes=30)
GIVE_UP: Final = timedelta(days=7)  # A place that could not be asked about for so long is gone
WORDS_CHARS: Final = 200  # Of a schedule, in what its person is told about it

# A digest of what is looked at before a model is asked, as the person may see it. Raises CogencyError.
Look: TypeAlias = Callable[[FirstCheck, Incoming], Awaitable[str]]


class NoChecks(CogencyError):
    """Nothing can be looked at here."""


async def no_checks(check: FirstCheck, incoming: Incoming) -> str:  # noqa: ARG001 -- nothing to look with
    raise NoChecks(reply_texts.NO_CHECKS)


async def unlimited(incoming: Incoming) -> str | None:  # noqa: ARG001 -- nothing to count
    return None


@dataclass(slots=True)
class TrustedClock:
    """Holds the time of day against the clock that only goes forward."""

    clock: Clock
    _seen: tuple[datetime, float] | None = None
    _until: float = float("-inf")

    def now(self) -> datetime | None:
        """The time; None while it may be wrong."""
        now, elapsed = self.clock.now(), self.clock.monotonic()
        if self._seen is not None:
            jumped = now - self._seen[0] - timedelta(seconds=elapsed - self._seen[1])
            if jumped > JUMP:
                log.warning("the clock jumped ahead by %s; schedules wait for %.0f s", jumped, JUMP_S)
                self._until = elapsed + JUMP_S
            elif jumped < -JUMP:
                self._until = float("-inf")  # it was set right
        self._seen = now, elapsed
        return None if elapsed < self._until else now


@dataclass(slots=True, eq=False)
class Scheduler:
    """`platforms`: by source, those that are served now. `wake`: there is a new turn. `closed`: why somebody may not
    use the bot there, None if they may; `budget_left`: why nothing may be spent on a question.
    """

    schedules: Schedules
    platforms: Mapping[str, SchedulePlatform]
    clock: Clock
    wake: Callable[[], None]
    closed: Callable[[Incoming], Awaitable[str | None]] = unlimited
    budget_left: Callable[[Incoming], Awaitable[str | None]] = unlimited
    look_first: Look = no_checks
    _changed: asyncio.Event = field(default_factory=asyncio.Event)
    _asked: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(ASKED))
    _time: TrustedClock = field(init=False)

    def __post_init__(self) -> None:
        self._time = TrustedClock(self.clock)

    @asynccontextmanager
    async def serving(self) -> AsyncGenerator[None]:
        """Do what is due until the block ends. What is cut short is done by whoever finds it next."""
        self.schedules.on_change(self.changed)
        serving = asyncio.create_task(self._serve())
        try:
            yield
        finally:
            serving.cancel()
            await asyncio.gather(serving, return_exceptions=True)

    def changed(self) -> None:
        """There is another schedule, or another time."""
        self._changed.set()

    async def _serve(self) -> None:
        while True:
            pause = 1.0
            try:
                pause = await self.work()
            except StoreError as error:
                log.log(severity(error), "schedules could not be looked at, trying again: %s", error)
            with suppress(TimeoutError):
                async with asyncio.timeout(pause):
                    await self._changed.wait()
            self._changed.clear()

    async def work(self) -> float:
        """Begin what is due; for how many seconds there is nothing to do then. Raises StoreError."""
        now, sources = self._time.now(), frozenset(self.platforms)
        if now is None or not sources:
            return 1.0
        due = await self.schedules.due(sources, now, AT_ONCE)
        if due:
            ended = await asyncio.gather(*(self._do(one) for one in due), return_exceptions=True)
            for one, error in zip(due, ended, strict=True):
                self._tell(one, error)
            return 0.0
        first = await self.schedules.first_due(sources)
        return LOOK_S if first is None else min(LOOK_S, max(SOON_S, (first - self.clock.now()).total_seconds()))

    async def is_due(self) -> bool:
        """Whether `work` would begin anything. Raises StoreError."""
        first = await self.schedules.first_due(frozenset(self.platforms))
        return first is not None and first <= self.clock.now()

    def _tell(self, due: Occurrence, error: BaseException | None) -> None:
        """Whatever went wrong, its lease runs out, and it is tried again."""
        match error:
            case None:
                pass
            case LeaseLost():
                log.info("%s", error)
            case StoreError():
                log.log(severity(error), "schedule %d: trying again: %s", due.schedule.id, error)
            case Exception():
                log.error("schedule %d: failed", due.schedule.id, exc_info=error)
            case _:
                raise error

    async def _do(self, due: Occurrence) -> None:
        async with self._asked:
            made, now = due.schedule.made, self.clock.now()
            platform = self.platforms.get(made.source)
            if platform is None:
                return
            if is_stale(due, now):
                await self.schedules.skip(due, now)
                return
            try:
                admitted = await platform.admit(due)
                if not isinstance(admitted, NotAllowed):
                    await self._begin(due, admitted, platform)
                    return
            except StoreError:
                raise
            except CogencyError as error:
                await self._put_off(due, error, platform)
                return
            await self._end(due, admitted.why, platform)

    async def _begin(self, due: Occurrence, admitted: Incoming, platform: SchedulePlatform) -> None:
        """Raises CogencyError where that cannot be done now."""
        made, now = due.schedule.made, self.clock.now()
        asked = replace(admitted, channel=made.channel)  # as of where it was asked for
        if (why := await self.closed(asked)) is not None:
            await self._end(due, why, platform)
            return
        if made.kind is ScheduleKind.WORK:
            await self.schedules.begin(due, replace(admitted, time=now), now)
            self.wake()
            return
        said = joined([made.words, late_note(due, now, admitted.person.time_zone)])
        incoming = replace(admitted, time=now, text=said)
        if made.kind is ScheduleKind.REMINDER:
            await self.schedules.begin(due, incoming, now, reply=said)
            self.wake()
            return
        if (spent := await self.budget_left(incoming)) is not None:
            told = reply_texts.SCHEDULE_OVER_BUDGET.format(words=_shown(due), why=spent)
            name = f"{SCHEDULED}budget:{made.person}:{now:%Y-%m-%d}"
            await self.schedules.skip(due, now, notice=await self._notice(due, platform, name, told))
            self.wake()
            return
        seen = None if made.check is None else await self.look_first(made.check, incoming)
        if made.check is not None and seen == made.check.seen:
            await self.schedules.skip(due, now)
            return
        await self.schedules.begin(due, incoming, now, seen=seen)
        self.wake()

    async def _end(self, due: Occurrence, why: str, platform: SchedulePlatform) -> None:
        works = due.schedule.made.kind is ScheduleKind.WORK
        ended = reply_texts.WORK_TAKEN_AWAY if works else reply_texts.SCHEDULE_ENDED
        told = ended.format(words=_shown(due), why=why)
        name = f"{occurrence_id(due.schedule.id, due.time)}:ended"
        log.info("schedule %d: ended", due.schedule.id)
        await self.schedules.end(due, why, self.clock.now(), notice=await self._notice(due, platform, name, told))
        self.wake()

    async def _notice(self, due: Occurrence, platform: SchedulePlatform, name: str, words: str) -> Notice | None:
        """None where they cannot be written to: they are gone, or want to hear nothing."""
        now = self.clock.now()
        try:
            told = await platform.direct(due.schedule, now)
        except StoreError:
            raise
        except CogencyError as error:
            log.info("schedule %d: its person is not told: %s", due.schedule.id, error)
            return None
        return Notice(name, replace(told, time=now, text=_shown(due)), words)

    async def _put_off(self, due: Occurrence, error: CogencyError, platform: SchedulePlatform) -> None:
        now = self.clock.now()
        late = now - due.time
        if late > GIVE_UP:
            await self._end(due, str(error), platform)
            return
        log.warning("schedule %d: put off: %s", due.schedule.id, error)
        await self.schedules.put_off(due, now + min(max(late, FIRST_RETRY), LONGEST_RETRY))


def _shown(due: Occurrence) -> str:
    return excerpt(due.schedule.made.words, WORDS_CHARS)


# Long work, once it was begun.

ASK_AGAIN_S: Final = 60.0  # Between two looks whether its person may still have it done
AT_WORK: Final = 256  # Of which it is known when that was looked at last


async def boundless(incoming: Incoming, calls: Sequence[ModelCall]) -> str | None:  # noqa: ARG001 -- nothing to count
    return None


@dataclass(frozen=True, slots=True)
class LongWork:
    """`platforms`: see `Scheduler`. `budget_left`: why nothing more may be spent, after these calls."""

    schedules: Schedules
    platforms: Mapping[str, SchedulePlatform]
    clock: Clock
    budget_left: Callable[[Incoming, Sequence[ModelCall]], Awaitable[str | None]] = boundless
    _allowed: LRUCache[str, float] = field(default_factory=lambda: LRUCache(AT_WORK))

    async def ends(self, question: Incoming, progress: Progress) -> EndDue | None:
        """Whether it has to come to its end. Raises StoreError."""
        if (why := await self._forbidden(question)) is not None:
            return EndDue(reply_texts.WORK_FORBIDDEN.format(why=why), at_once=True)
        begun = [step.time for step in progress.steps if step.time is not None]
        if worked_for(begun, self.clock.now()) >= WORK_TIME:
            return EndDue(reply_texts.WORK_TOO_LONG.format(minutes=int(WORK_TIME.total_seconds() / 60)))
        results = (result for step in progress.steps for result in step.results if result is not None)
        if sum(len(result.content) for result in results) >= WORK_CHARS:
            return EndDue(reply_texts.WORK_TOO_MUCH)
        spent = await self.budget_left(question, progress.calls)
        return None if spent is None else EndDue(reply_texts.WORK_OVER_BUDGET.format(why=spent))

    async def told(self, question: Incoming, closing: Closing) -> Incoming | None:
        """What is said at its end: to its person alone if it was taken from them, and where it stands if they asked for
        that. Raises StoreError.
        """
        kept = await self.schedules.by_id(schedule_of(question.event_id))
        if kept is None or closing.outcome is Outcome.STOPPED:
            return None
        name, now = f"{question.event_id}{TELLS}", self.clock.now()
        named = {"event_id": name, "message_id": name, "time": now}
        if (why := await self._forbidden(question)) is not None:
            alone = await self._alone(kept, now)
            words = excerpt(kept.made.words, WORDS_CHARS)
            told = reply_texts.WORK_TAKEN_AWAY.format(words=words, why=why)
            return None if alone is None else replace(alone, text=told, **named)
        if not kept.made.mention or kept.made.source == kept.made.person:  # who sits at a terminal sees it
            return None
        told = reply_texts.WORK_DONE if closing.outcome is Outcome.ANSWERED else reply_texts.WORK_ENDED
        return replace(question, conversation=f"{question.conversation}{TELLS}", text=told, **named)

    async def _forbidden(self, question: Incoming) -> str | None:
        """Why its person may not have it done any more; None if they may, or if nobody can say now."""
        name, elapsed = question.event_id, self.clock.monotonic()
        if elapsed - self._allowed.get(name, float("-inf")) < ASK_AGAIN_S:
            return None
        kept = await self.schedules.by_id(schedule_of(name))
        platform = None if kept is None else self.platforms.get(kept.made.source)
        if kept is None or platform is None:
            return None
        try:
            admitted = await platform.admit(Occurrence(kept, kept.last or kept.made.created))
        except StoreError:
            raise
        except CogencyError as error:
            log.info("schedule %d: nobody can say whether it may go on: %s", kept.id, error)
            return None
        if isinstance(admitted, NotAllowed):
            return admitted.why
        self._allowed[name] = elapsed
        return None

    async def _alone(self, kept: Schedule, now: datetime) -> Incoming | None:
        try:
            return await self.platforms[kept.made.source].direct(kept, now)
        except StoreError:
            raise
        except CogencyError as error:
            log.info("schedule %d: its person is not told: %s", kept.id, error)
            return None
