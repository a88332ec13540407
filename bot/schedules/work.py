"""Long work, in steps.

It begins at once. While it runs, its platform is asked now and then whether its person may still run it there. If not,
it ends with what it has written, and only that person is notified.
"""

import logging
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Final

from cachetools import LRUCache

from agent.errors import CogencyError, StoreError
from agent.events import Outcome
from agent.incoming import Incoming
from agent.ports.clock import Clock
from agent.progress import Progress
from agent.protocol.render import excerpt
from agent.schedules.definitions import NotAllowed, Occurrence, Schedule
from agent.schedules.ids import NOTICE
from agent.schedules.long_work import WORK_CHARS, WORK_TIME, worked_for
from agent.schedules.port import SchedulePlatform, Schedules
from agent.turn_events import EndDue
from agent.turn_kinds import TurnKind
from agent.turn_records import Closing
from bot.schedules import texts as schedule_texts
from bot.schedules.scheduler import WORDS_CHARS, direct_message_of

log = logging.getLogger(__name__)


ASK_AGAIN_S: Final = 60.0  # Between two checks whether its person may still run it
CACHED_CHECKS: Final = 256  # Pieces of work whose last check is remembered


@dataclass(frozen=True, slots=True)
class LongWork:
    """`platforms`: see `Scheduler`."""

    schedules: Schedules
    platforms: Mapping[str, SchedulePlatform]
    clock: Clock
    _allowed: LRUCache[str, float] = field(default_factory=lambda: LRUCache(CACHED_CHECKS))

    async def end_due(self, question: Incoming, progress: Progress) -> EndDue | None:
        """Return how the work has to end, if it has to. Raises StoreError."""
        if (why := await self._why_forbidden(question)) is not None:
            return EndDue(schedule_texts.WORK_FORBIDDEN.format(why=why), at_once=True)
        starts = [step.time for step in progress.steps if step.time is not None]
        if worked_for(starts, self.clock.now()) >= WORK_TIME:
            return EndDue(schedule_texts.WORK_TOO_LONG.format(minutes=int(WORK_TIME.total_seconds() / 60)))
        results = (result for step in progress.steps for result in step.results if result is not None)
        is_too_much = sum(len(result.content) for result in results) >= WORK_CHARS
        return EndDue(schedule_texts.WORK_TOO_MUCH) if is_too_much else None

    async def ended(self, question: Incoming, closing: Closing) -> Incoming | None:
        """Return the message at its end: a direct one if its person may no longer run it; in its place if they asked to
        be mentioned; else None. Raises StoreError.
        """
        schedule = await self._schedule_of(question)
        if schedule is None or closing.outcome is Outcome.STOPPED:
            return None
        now = self.clock.now()
        if (why := await self._why_forbidden(question)) is not None:
            message = await direct_message_of(self.platforms[schedule.definition.source], schedule, now)
            words = excerpt(schedule.definition.words, WORDS_CHARS)
            text = schedule_texts.WORK_TAKEN_AWAY.format(words=words, why=why)
            return None if message is None else _notice_of(question, message, text, now)
        if (
            not schedule.definition.mention or schedule.definition.source == schedule.definition.person
        ):  # a terminal shows it
            return None
        text = schedule_texts.WORK_DONE if closing.outcome is Outcome.ANSWERED else schedule_texts.WORK_ENDED
        beside = replace(question, conversation=f"{question.conversation}{NOTICE}")
        return _notice_of(question, beside, text, now)

    async def _schedule_of(self, question: Incoming) -> Schedule | None:
        return None if question.schedule is None else await self.schedules.by_id(question.schedule)

    async def _why_forbidden(self, question: Incoming) -> str | None:
        """Return why its person may no longer run it; None if they may, or if that cannot be known now."""
        name, elapsed = question.event_id, self.clock.monotonic()
        if elapsed - self._allowed.get(name, float("-inf")) < ASK_AGAIN_S:
            return None
        schedule = await self._schedule_of(question)
        platform = None if schedule is None else self.platforms.get(schedule.definition.source)
        if schedule is None or platform is None:
            return None
        try:
            admitted = await platform.admit(Occurrence(schedule, schedule.last or schedule.definition.created))
        except StoreError:
            raise
        except CogencyError as error:
            log.info("schedule %d: could not check whether it is still allowed: %s", schedule.id, error)
            return None
        if isinstance(admitted, NotAllowed):
            return admitted.why
        self._allowed[name] = elapsed
        return None


def _notice_of(work: Incoming, message: Incoming, text: str, now: datetime) -> Incoming:
    """The message that notifies the person of `work`, at the place of `message`; once for each work."""
    name = f"{work.event_id}{NOTICE}"
    named = replace(message, event_id=name, message_id=name, time=now, text=text, own=False)
    return replace(named, kind=TurnKind.NOTICE, schedule=work.schedule)
