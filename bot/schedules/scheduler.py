"""What people have scheduled, run when it is due.

Rules: each replica runs what is due on the platforms that it serves now
  The process that finds a schedule due asks its platform whether, as whom and where its person may run it now. Then it
  begins a turn of the ledger, which is answered like any other; or it skips, postpones or ends the schedule, of which
  the person is notified in a direct message.
  After the clock jumps ahead, nothing begins for a moment, in which the clock may be corrected.
  A rule whose person gave no end lapses after half a year: a notice where it is posted says so some runs before, and
  asks at the last one whether it goes on. Until it is answered it is paused.
  A reminder's turn has its words as the reply. A question is asked within the budgets, and not at all if its check
  finds what it found last time; its answer may be that there is nothing to report, and then nothing is shown.
"""

import asyncio
import logging
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Final, TypeAlias

from agent import texts
from agent.errors import CogencyError, LeaseLost, StoreError, Unexpected
from agent.incoming import Incoming
from agent.ports.clock import Clock
from agent.protocol.render import excerpt, joined
from agent.schedules.definitions import FirstCheck, NotAllowed, Notice, Occurrence, Schedule, ScheduleKind
from agent.schedules.ids import occurrence_id
from agent.schedules.lateness import is_stale, late_note
from agent.schedules.long_work import WORK_ROUNDS
from agent.schedules.port import SchedulePlatform, Schedules
from agent.schedules.times import has_lapsed, lapses_soon
from agent.turn_kinds import TurnKind
from bot.chat.kinds import TurnReporter, TurnRule, TurnWatcher
from bot.chat.logs import severity
from bot.chat.unexpected import unexpected_logged
from bot.schedules import texts as schedule_texts

log = logging.getLogger(__name__)


# Schedules that are due, on each replica, for the platforms that it serves now.

LOOK_S: Final = 5.0  # The longest pause between two looks: a change by another process is noticed within it
SOON_S: Final = 0.02  # The shortest: another process may already have what is due
BATCH: Final = 100  # Schedules taken at a time: what one process can run within its lease
CONCURRENT_CHECKS: Final = 16  # Of a batch, how many are checked at the same time
JUMP: Final = timedelta(minutes=1)  # More than regular corrections of a clock
JUMP_S: Final = 60.0  # For a clock that jumped ahead to be corrected, as after a machine has slept
FIRST_RETRY: Final = timedelta(seconds=10)
# While no answer can be had whether it may run: each pause is as long as it is late already, within these bounds.
LONGEST_RETRY: Final = timedelta(minutes=30)
GIVE_UP: Final = timedelta(days=7)  # A place about which no answer can be had for this long is gone
WORDS_CHARS: Final = 200  # Of a schedule's words, in a notice to its person

# Returns a digest of what is checked before a model is asked, as the person may see it. Raises CogencyError.
Look: TypeAlias = Callable[[FirstCheck, Incoming], Awaitable[str]]


class NoChecks(CogencyError):
    """No checks are available here."""


async def no_checks(check: FirstCheck, incoming: Incoming) -> str:  # noqa: ARG001 -- there are no checks
    raise NoChecks(schedule_texts.NO_CHECKS)


async def always_allowed(incoming: Incoming) -> str | None:  # noqa: ARG001 -- nothing to count
    return None


@dataclass(slots=True)
class TrustedClock:
    """Compares the time of day with the monotonic clock."""

    clock: Clock
    _last: tuple[datetime, float] | None = None
    _distrusted_until: float = float("-inf")

    def now(self) -> datetime | None:
        """Return the time; None while it may be wrong."""
        now, elapsed = self.clock.now(), self.clock.monotonic()
        if self._last is not None:
            jumped = now - self._last[0] - timedelta(seconds=elapsed - self._last[1])
            if jumped > JUMP:
                log.warning("the clock jumped ahead by %s; schedules start again in %.0f s", jumped, JUMP_S)
                self._distrusted_until = elapsed + JUMP_S
            elif jumped < -JUMP:
                self._distrusted_until = float("-inf")  # it was corrected
        self._last = now, elapsed
        return None if elapsed < self._distrusted_until else now


@dataclass(slots=True, eq=False)
class Scheduler:
    """`platforms`: those served now, by source. `wake`: called after a turn began. `closed`: returns why the person may
    not use the bot there, None if they may. `budget_left`: returns why a question may cost nothing more, or None.
    """

    schedules: Schedules
    platforms: Mapping[str, SchedulePlatform]
    clock: Clock
    wake: Callable[[], None]
    closed: Callable[[Incoming], Awaitable[str | None]] = always_allowed
    budget_left: Callable[[Incoming], Awaitable[str | None]] = always_allowed
    look_first: Look = no_checks
    _changed: asyncio.Event = field(default_factory=asyncio.Event)
    _slots: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(CONCURRENT_CHECKS))
    _time: TrustedClock = field(init=False)

    def __post_init__(self) -> None:
        self._time = TrustedClock(self.clock)

    @asynccontextmanager
    async def serving(self) -> AsyncGenerator[None]:
        """Run what is due until the block ends. What is interrupted is run by the process that next finds it due."""
        self.schedules.on_change(self.changed)
        serving = asyncio.create_task(self._serve())
        try:
            yield
        finally:
            serving.cancel()
            await asyncio.gather(serving, return_exceptions=True)

    def changed(self) -> None:
        """A schedule, or a time of one, was added or changed."""
        self._changed.set()

    async def _serve(self) -> None:
        while True:
            pause = 1.0
            try:
                with unexpected_logged("the scheduler"):
                    pause = await self.work()
            except (StoreError, Unexpected) as error:
                log.log(severity(error), "schedules could not be read; retrying: %s", error)
            with suppress(TimeoutError):
                async with asyncio.timeout(pause):
                    await self._changed.wait()
            self._changed.clear()

    async def work(self) -> float:
        """Begin what is due; return for how many seconds nothing else is due. Raises StoreError."""
        now, sources = self._time.now(), frozenset(self.platforms)
        if now is None or not sources:
            return 1.0
        due = await self.schedules.due(sources, now, BATCH)
        if due:
            outcomes = await asyncio.gather(*(self._process(occurrence) for occurrence in due), return_exceptions=True)
            for occurrence, error in zip(due, outcomes, strict=True):
                self._log_failure(occurrence, error)
            return 0.0
        first = await self.schedules.first_due(sources)
        return LOOK_S if first is None else min(LOOK_S, max(SOON_S, (first - self.clock.now()).total_seconds()))

    async def is_due(self) -> bool:
        """Return whether `work` would begin anything. Raises StoreError."""
        first = await self.schedules.first_due(frozenset(self.platforms))
        return first is not None and first <= self.clock.now()

    def _log_failure(self, due: Occurrence, error: BaseException | None) -> None:
        """Log why it failed; it is tried again when its lease runs out."""
        match error:
            case None:
                pass
            case LeaseLost():
                log.info("%s", error)
            case StoreError():
                log.log(severity(error), "schedule %d: retrying: %s", due.schedule.id, error)
            case Exception():
                log.error("schedule %d: failed", due.schedule.id, exc_info=error)
            case _:
                raise error

    async def _process(self, due: Occurrence) -> None:
        async with self._slots:
            made, now = due.schedule.definition, self.clock.now()
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
                await self._postpone(due, error, platform)
                return
            await self._end(due, admitted.why, platform)

    async def _begin(self, due: Occurrence, admitted: Incoming, platform: SchedulePlatform) -> None:
        """Raises CogencyError if that is not possible now."""
        made, now = due.schedule.definition, self.clock.now()
        at_origin = replace(admitted, channel=made.channel)  # checked for the channel where it was asked for
        if (why := await self.closed(at_origin)) is not None:
            await self._end(due, why, platform)
            return
        if made.kind is ScheduleKind.WORK:
            await self.schedules.begin(due, replace(admitted, time=now), now)
            self.wake()
            return
        lapse = self._lapse_notice(due, admitted, now)
        text = joined([made.words, late_note(due, now, admitted.person.time_zone)])
        incoming = replace(admitted, time=now, text=text)
        if made.kind is ScheduleKind.REMINDER:
            await self.schedules.begin(due, incoming, now, reply=text, lapse=lapse)
            self.wake()
            return
        if (spent := await self.budget_left(incoming)) is not None:
            notice_text = schedule_texts.SCHEDULE_OVER_BUDGET.format(words=_excerpt(due), why=spent)
            name = f"scheduled:budget:{made.person}:{now:%Y-%m-%d}"  # told once a day
            notice = await self._notice(due, platform, name, notice_text)
            await self.schedules.skip(due, now, notice=notice, lapse=lapse)
            self.wake()
            return
        seen = None if made.check is None else await self.look_first(made.check, incoming)
        if made.check is not None and seen == made.check.seen:
            await self.schedules.skip(due, now, lapse=lapse)
            if lapse is not None:
                self.wake()
            return
        await self.schedules.begin(due, incoming, now, seen=seen, lapse=lapse)
        self.wake()

    async def _end(self, due: Occurrence, why: str, platform: SchedulePlatform) -> None:
        kind = due.schedule.definition.kind
        template = schedule_texts.WORK_TAKEN_AWAY if kind is ScheduleKind.WORK else schedule_texts.SCHEDULE_ENDED
        notice_text = template.format(kind=schedule_texts.KINDS[kind], words=_excerpt(due), why=why)
        name = f"{occurrence_id(due.schedule.id, due.time)}:ended"
        log.info("schedule %d: ended", due.schedule.id)
        await self.schedules.end(
            due, why, self.clock.now(), notice=await self._notice(due, platform, name, notice_text)
        )
        self.wake()

    @staticmethod
    def _lapse_notice(due: Occurrence, admitted: Incoming, now: datetime) -> Notice | None:
        """Return the notice, in the schedule's place, that it lapses soon or with this occurrence; None for none."""
        timing = due.schedule.definition.timing
        is_over = has_lapsed(timing, due.time)
        if not is_over and (due.schedule.warned or not lapses_soon(timing, due.time)):
            return None
        template = schedule_texts.LAPSED if is_over else schedule_texts.LAPSES_SOON
        kind, day = schedule_texts.KINDS[due.schedule.definition.kind], schedule_texts.last_day(timing, now)
        words = template.format(kind=kind, words=_excerpt(due), day=day)
        name = f"{occurrence_id(due.schedule.id, due.time)}:lapse"
        return Notice(name, replace(admitted, time=now, text=_excerpt(due)), words)

    async def _notice(self, due: Occurrence, platform: SchedulePlatform, name: str, words: str) -> Notice | None:
        now = self.clock.now()
        message = await direct_message_of(platform, due.schedule, now)
        return None if message is None else Notice(name, replace(message, time=now, text=_excerpt(due)), words)

    async def _postpone(self, due: Occurrence, error: CogencyError, platform: SchedulePlatform) -> None:
        now = self.clock.now()
        late = now - due.time
        if late > GIVE_UP:
            await self._end(due, str(error), platform)
            return
        log.warning("schedule %d: postponed: %s", due.schedule.id, error)
        await self.schedules.put_off(due, now + min(max(late, FIRST_RETRY), LONGEST_RETRY))


async def direct_message_of(platform: SchedulePlatform, schedule: Schedule, now: datetime) -> Incoming | None:
    """Return None if the person cannot be written to: they are gone, or want no messages."""
    try:
        return await platform.direct(schedule, now)
    except StoreError:
        raise
    except CogencyError as error:
        log.info("schedule %d: the person could not be notified: %s", schedule.id, error)
        return None


def _excerpt(due: Occurrence) -> str:
    return excerpt(due.schedule.definition.words, WORDS_CHARS)


def schedule_kinds(reporter: TurnReporter, work: TurnWatcher | None = None) -> Mapping[TurnKind, TurnRule]:
    """Return how the turns that schedules begin are answered. `reporter`: decides which answers are posted; `work`:
    watches long work.
    """
    posted = TurnRule(posts_text=True, is_learned_from=False, offers_actions=False)
    return {
        TurnKind.REMINDER: posted,
        TurnKind.NOTICE: posted,
        # It was learned from when it was scheduled.
        TurnKind.SCHEDULED: TurnRule(may_be_silent=True, is_learned_from=False, reporter=reporter),
        TurnKind.WORK: TurnRule(
            instruction=texts.LONG_WORK, runs_beside=True, rounds=WORK_ROUNDS, is_learned_from=False, watcher=work
        ),
    }
