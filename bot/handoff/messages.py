"""The messages of a request for a human: to the people who may take over, and where it was asked.

Rules
  Before a message is sent, its row says so. So a process that continues after a crash finds the message, and one that
  is sent while the request is forgotten is deleted.
  What people were sent is replaced by the outcome. Where it was asked, a notice says who has taken over; each is a turn
  of the ledger with a name of its own, so it is posted once.
"""

import json
import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final, assert_never

from agent.admission_terms import Terms
from agent.errors import CogencyError, StoreError
from agent.handoffs import OPEN_FOR, REMIND_AFTER, SENDING, TAKEN_FOR, Handoff, HandoffMessage, HandoffState
from agent.jobs import Job
from agent.ports.clock import Clock
from agent.ports.handoffs import Handoffs
from agent.ports.jobs import Jobs
from agent.ports.written_turns import WrittenTurns
from agent.schedules.definitions import (
    NewSchedule,
    NotAllowed,
    Occurrence,
    Schedule,
    ScheduleKind,
    Timing,
)
from agent.schedules.port import SchedulePlatform
from agent.shown_replies import DELETE_REPLY, ShownPage
from agent.turn_kinds import TurnKind
from bot.chat.approvers import ApproverPlatform
from bot.chat.panels import Panel, PanelAction
from bot.chat.reply.surface import PageGone
from bot.handoff import orders, texts
from bot.handoff.content import asker_name, outcome_text, request_text, taker_name
from bot.handoff.people import HandoffPeople, is_private

log = logging.getLogger(__name__)

AWAY: Final = timedelta(seconds=15)  # How long a job waits for a platform that this process does not serve now
AGAIN: Final = timedelta(seconds=30)  # Until someone who could not be written is tried again
SLOWLY: Final = timedelta(hours=1)  # The same, once it has failed for as long
GIVE_UP: Final = timedelta(days=1)  # Until an outcome that cannot be shown is left out
LOOK: Final = timedelta(days=1)  # How often it is checked that who has taken over is still there
BEYOND_SCHEDULES: Final = 10**12  # No schedule has such a number, which names the conversation of a direct message


@dataclass(frozen=True, slots=True, kw_only=True)
class HandoffMessages:
    """`schedules`: know where notices are posted, by the source of their messages. `wake`: called when a turn can
    begin.
    """

    handoffs: Handoffs
    people: HandoffPeople
    jobs: Jobs
    written: WrittenTurns
    schedules: Mapping[str, SchedulePlatform]
    clock: Clock
    wake: Callable[[], None]

    async def run(self, job: Job) -> None:
        """Write people about a request, remind them, and show them and the asker how it stands. Raises CogencyError.

        A job with a payload looks for a message that nothing may show any more.
        """
        if job.payload:
            await self._delete_lost(job)
            return
        handoff, now = await self.handoffs.by_number(int(job.key)), self.clock.now()
        if handoff is None:
            return
        platform = self.people.platforms.get(handoff.question.source)
        if platform is None:
            await self.jobs.again(job, now + AWAY)
            return
        match handoff.state:
            case HandoffState.OPEN:
                due = await self._serve_open(platform, handoff, now)
            case HandoffState.TAKEN:
                due = await self._serve_taken(platform, handoff, now)
            case HandoffState.RETURNED | HandoffState.WITHDRAWN | HandoffState.EXPIRED:
                due = await self._serve_ended(platform, handoff, now)
            case _:
                assert_never(handoff.state)
        if due is not None:
            await self.jobs.again(job, due)

    async def _serve_open(self, platform: ApproverPlatform, handoff: Handoff, now: datetime) -> datetime | None:
        """Return when to look again."""
        remind_at, until = handoff.changed + REMIND_AFTER, handoff.changed + OPEN_FOR
        failed = False
        for each in await self.handoffs.messages(handoff.number):
            if each.closed or (each.pages and each.pages != SENDING):
                continue
            try:
                await self._write(platform, handoff, each)
            except StoreError:
                raise
            except CogencyError as error:  # the others are still served
                log.warning("request %d: someone could not be asked to take over: %s", handoff.number, error)
                failed = True
        reached = any(not each.closed for each in await self.handoffs.messages(handoff.number))
        if now >= until or not reached:
            await self.handoffs.close(handoff.number, HandoffState.EXPIRED, now, before=HandoffState.OPEN)
            return None  # the change has a job of its own
        if now >= remind_at:
            if not handoff.reminded:
                await self._remind(platform, handoff)
            failed |= not await self._post(handoff, "reminded", texts.NOTICE_REMINDED, now)
        due, since = (until, remind_at) if now >= remind_at else (remind_at, handoff.changed)
        return min(due, _retry(since, now)) if failed else due

    async def _write(self, platform: ApproverPlatform, handoff: Handoff, message: HandoffMessage) -> None:
        number, person = handoff.number, message.person
        if await self.people.check(person, handoff.question) is None:
            log.info("request %d: %s can no longer take over", number, person)
            await self.handoffs.closed(number, person)
            return
        pages = await platform.find(person, orders.take_words(number)) if message.pages == SENDING else ()
        if not pages:
            if not await self.handoffs.shown(number, person, SENDING):
                return
            text = request_text(handoff, await self.handoffs.content(handoff.turn))
            try:
                take = PanelAction(texts.TAKE_BUTTON, orders.take_words(number))
                pages = await platform.send(person, Panel(text, (take,)))
            except PageGone:
                log.info("request %d: %s cannot be messaged", number, person)
                await self.handoffs.shown(number, person, ())
                await self.handoffs.closed(number, person)
                return
        if not await self.handoffs.shown(number, person, pages):  # it was forgotten meanwhile
            await self._delete(handoff.question.source, pages)

    async def _remind(self, platform: ApproverPlatform, handoff: Handoff) -> None:
        """Remind people once: a reminder that was lost in a crash is not repeated."""
        if not await self.handoffs.reminded(handoff.number):
            return
        for each in await self.handoffs.messages(handoff.number):
            if each.closed or not each.pages or each.pages == SENDING:
                continue
            try:
                pages = await platform.send(each.person, Panel(texts.REMINDER.format(asker=asker_name(handoff))))
            except StoreError:
                raise
            except CogencyError as error:
                log.warning("request %d: someone could not be reminded: %s", handoff.number, error)
                continue
            if not await self.handoffs.shown(handoff.number, each.person, (*each.pages, *pages)):
                await self._delete(handoff.question.source, pages)

    async def _serve_taken(self, platform: ApproverPlatform, handoff: Handoff, now: datetime) -> datetime | None:
        private = is_private(handoff.question)
        notice = texts.NOTICE_TAKEN_PRIVATE if private else texts.NOTICE_TAKEN
        posted = await self._post(handoff, "taken", notice.format(taker=taker_name(handoff)), now)
        shown = await self._show_outcome(platform, handoff)
        if now >= handoff.changed + TAKEN_FOR:
            await self.handoffs.close(handoff.number, HandoffState.RETURNED, now, before=HandoffState.TAKEN)
            return None
        if now >= handoff.changed + LOOK and await self._has_left(handoff):
            return await self._replace(handoff, now)
        return now + LOOK if posted and shown else _retry(handoff.changed, now)

    async def _has_left(self, handoff: Handoff) -> bool:
        """Return whether who has taken over certainly may not any more."""
        try:
            return await self.people.check(handoff.taker, handoff.question) is None
        except StoreError:
            raise
        except CogencyError as error:
            log.info("request %d: could not check who has taken over: %s", handoff.number, error)
            return False

    async def _replace(self, handoff: Handoff, now: datetime) -> datetime | None:
        """Ask the others again, because who had taken over has left."""
        taker = taker_name(handoff)
        try:
            found = await self.people.find(handoff.question, handoff.person)
        except StoreError:
            raise
        except CogencyError:
            return _retry(handoff.changed, now)
        people = [each.person.id for each in found if each.person.id != handoff.taker]
        notice = (texts.NOTICE_REOPENED if people else texts.NOTICE_LEFT).format(taker=taker)
        if not await self._post(handoff, "left", notice, now):
            return _retry(handoff.changed, now)
        if people:
            await self.handoffs.reopen(handoff.number, handoff.taker, people, now)
        else:
            await self.handoffs.close(handoff.number, HandoffState.RETURNED, now, before=HandoffState.TAKEN)
        return None  # the change has a job of its own

    async def _serve_ended(self, platform: ApproverPlatform, handoff: Handoff, now: datetime) -> datetime | None:
        notices = {HandoffState.EXPIRED: texts.NOTICE_EXPIRED, HandoffState.RETURNED: texts.NOTICE_RETURNED}
        if is_private(handoff.question):
            notices[HandoffState.RETURNED] = texts.NOTICE_RETURNED_PRIVATE.format(taker=taker_name(handoff))
        notice, posted = notices.get(handoff.state), True
        if notice is not None:
            posted = await self._post(handoff, handoff.state, notice, now)
        shown = await self._show_outcome(platform, handoff)
        if shown:
            for each in await self.handoffs.messages(handoff.number):
                await self.handoffs.closed(handoff.number, each.person)
        is_done = (shown and posted) or now >= handoff.changed + GIVE_UP
        return None if is_done else _retry(handoff.changed, now)

    async def _show_outcome(self, platform: ApproverPlatform, handoff: Handoff) -> bool:
        """Show people how it stands, in place of the request. Return whether that worked for all."""
        done = True
        for each in await self.handoffs.messages(handoff.number):
            if each.closed:
                continue
            try:
                await self._show_to(platform, handoff, each)
            except StoreError:
                raise
            except CogencyError as error:
                log.warning("request %d: the outcome could not be shown: %s", handoff.number, error)
                done = False
        return done

    async def _show_to(self, platform: ApproverPlatform, handoff: Handoff, message: HandoffMessage) -> None:
        pages = message.pages
        if pages == SENDING:
            pages = await platform.find(message.person, orders.take_words(handoff.number))
        if not pages:
            return
        await platform.update(pages[0], outcome_text(handoff, message.person))
        await self._delete(handoff.question.source, pages[1:])
        if not await self.handoffs.shown(handoff.number, message.person, pages[:1]):
            await self._delete(handoff.question.source, pages)

    async def _post(self, handoff: Handoff, what: str, text: str, now: datetime) -> bool:
        """Post a notice where it was asked, once. Return whether nothing remains to be done about it."""
        source = handoff.question.source
        platform = self.schedules.get(source)
        if platform is None:
            return False
        name = f"{orders.WORD}:{handoff.number}:{what}:{handoff.changed.timestamp():.0f}"
        try:
            found = await platform.admit(Occurrence(_place_of(handoff, now), now))
        except StoreError:
            raise
        except CogencyError as error:
            log.info("request %d: a notice could not be posted yet: %s", handoff.number, error)
            return False
        if isinstance(found, NotAllowed):
            log.info("request %d: a notice cannot be posted: %s", handoff.number, found.why)
            return True
        incoming = replace(
            found,
            event_id=name,
            message_id=name,
            conversation=handoff.conversation if found.channel == handoff.question.channel else found.conversation,
            text=text,
            time=now,
            own=False,
            kind=TurnKind.HANDOFF,
        )
        await self.written.accept(incoming, text, Terms(now))
        self.wake()
        return True

    async def _delete(self, source: str, pages: Sequence[str]) -> None:
        for page in pages:
            shown = ShownPage(source, "", page)
            await self.jobs.schedule(DELETE_REPLY, shown.key, shown.encode(), self.clock.now())

    async def _delete_lost(self, job: Job) -> None:
        """Delete a message that was being sent when its request was forgotten, if it was sent."""
        source, person, number = json.loads(job.payload)
        platform = self.people.platforms.get(source)
        if platform is None:
            await self.jobs.again(job, self.clock.now() + AWAY)
            return
        await self._delete(source, await platform.find(person, orders.take_words(number)))


def _retry(since: datetime, now: datetime) -> datetime:
    """Return when something that is tried since then is tried again."""
    return now + (AGAIN if now < since + SLOWLY else SLOWLY)


def _place_of(handoff: Handoff, now: datetime) -> Schedule:
    """Return where the request was made, as the platforms know places: that of a result of long work, below the
    question.
    """
    question = handoff.question
    new = NewSchedule(
        person=handoff.person,
        source=question.source,
        channel=question.channel,
        place=question.place,
        kind=ScheduleKind.WORK,
        words="",
        timing=Timing("", now),
        created=handoff.time,
        conversation=handoff.conversation,
    )
    return Schedule(BEYOND_SCHEDULES + handoff.number, new, None)
