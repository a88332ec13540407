"""The commands `/remind` and `/schedules`.

Rules
  A time is confirmed in words, in the person's zone; an ambiguous one is asked back. UTC is never assumed silently.
  "me" means the person alone, in their direct messages; otherwise a reminder is posted where it was asked for.
  People see and change their own schedules. Operators see the times and places of all, without the words, and can
  cancel them.
  A channel's managers can forbid scheduled posts in it.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime
from typing import ClassVar, Final, assert_never
from zoneinfo import ZoneInfo

from agent.errors import Refused
from agent.incoming import Incoming, platform_of
from agent.memory.audience import PersonAudience, Place
from agent.ports.clock import Clock
from agent.ports.preferences import Preferences
from agent.ports.tools import Asker
from agent.schedules.definitions import (
    NewSchedule,
    Schedule,
    ScheduleKind,
    ScheduleRefused,
    ScheduleState,
    Timing,
)
from agent.schedules.ids import TERMINAL, source_of
from agent.schedules.port import Schedules
from agent.schedules.times import following_in_words, has_lapsed, in_words, problem_of, zone_of
from agent.shown_replies import Answered
from agent.turn_kinds import TurnKind
from bot.chat.access.place_rules import chosen_at, name_at, place_owner
from bot.chat.notes import NO_LINE, EndedTurn, NoteLine
from bot.chat.reply.surface import LAPSING, SCHEDULING
from bot.chat.texts import replies as reply_texts
from bot.schedules import texts as schedule_texts
from bot.schedules.answers import ScheduleAnswer, ShownSchedule
from bot.schedules.phrases.reading import MAX_CHARS, When, WhenRead, WhenUnclear, read_when
from bot.schedules.reports import rule_asked, rule_named

FORBIDS: Final = "schedules"  # The preference of a channel in which scheduled posts are forbidden
OFF: Final = "off"
ALLOWED: Final = "on"
PAGE: Final = 6  # Entries of a page: with their buttons they fit one message on every platform
MAX_LISTED: Final = 50
MAX_LINES: Final = 5  # Below an answer; the list has all
ID_DIGITS: Final = 9
EDIT, SHOW = "edit", "show"  # Words of `/schedules`
EASTMOST, WESTMOST = ZoneInfo("Pacific/Kiritimati"), ZoneInfo("Pacific/Pago_Pago")


@dataclass(frozen=True, slots=True)
class ScheduleService:
    schedules: Schedules
    preferences: Preferences
    clock: Clock
    operates: Callable[[str], bool] = lambda _: False

    async def remind(self, asker: Asker, words: str) -> ScheduleAnswer:
        """Run `/remind` with these words. Raises StoreError."""
        if not words.strip():
            return ScheduleAnswer(schedule_texts.REMIND_USAGE, refused=True)
        return await self._create(asker, words, ScheduleKind.REMINDER)

    async def answer(self, asker: Asker, words: str) -> ScheduleAnswer:
        """Run `/schedules` with these words. Raises StoreError."""
        word, _, rest = words.strip().partition(" ")
        number, _, extra = rest.strip().partition(" ")
        id_ = int(number) if number.isascii() and number.isdecimal() and len(number) <= ID_DIGITS else 0
        match word.casefold():
            case "" | "list" if not rest:
                return await self._list(asker, 1)
            case "page" if id_ and not extra:
                return await self._list(asker, id_)
            case "show" if id_:
                return await self._show(asker, rest)
            case "all" if not rest:
                return await self._list_all(asker)
            case "remind" if rest:
                return await self._create(asker, rest, ScheduleKind.REMINDER, before="remind ")
            case "ask":
                return await self._ask(asker, rest)
            case "pause" | "resume" | "cancel" as order if id_ and not extra:
                return await self._change_state(asker, order, id_)
            case "edit" if id_ and extra.strip():
                return await self._edit(asker, id_, extra.strip())
            case "edit" if id_:  # its buttons change it
                return await self._show(asker, number)
            case "forbid" | "allow" as order if not rest:
                return await self._set_forbidden(asker, forbids=order == "forbid")
            case _:
                return ScheduleAnswer(schedule_texts.USAGE, refused=True)

    async def forbidden_in(self, source: str, channel: str) -> bool:
        """Return whether scheduled posts of the bot of this source are forbidden there. Raises StoreError."""
        return bool(channel) and chosen_at(await self.preferences.all_of(place_owner(channel)), source, FORBIDS) == OFF

    async def created_lines(self, question: Incoming) -> str:
        """Return the lines below an answer about the schedules that it created; "" for none."""
        schedules, now = (
            await self._created_by(question.person.id, question.channel, question.message_id),
            self.clock.now(),
        )
        buttons = platform_of(question.source) != TERMINAL
        template = schedule_texts.AT_A_TIME if buttons else schedule_texts.AT_A_TIME_HOW
        zone = question.person.time_zone
        lines = [
            template.format(id=item.id, when=_when(item, item.definition.timing.seen_from(zone), now))
            for item in schedules
        ]
        return "\n".join(lines[:MAX_LINES])

    async def change_words(self, reply: Answered, person: str) -> str:
        """Return the words for `/schedules` that edit what this reply's question created; several schedules are shown.

        Raises Refused for others than its asker, and if none is left.
        """
        if reply.person != person:
            raise Refused(reply_texts.NOT_YOURS)
        schedules = await self._created_by(person, reply.channel, reply.message_id)
        ids = [str(schedule.id) for schedule in schedules]
        if not ids:
            raise Refused(schedule_texts.NOT_ANY_MORE)
        return f"{EDIT} {ids[0]}" if len(ids) == 1 else " ".join([SHOW, *ids[:MAX_LINES]])

    async def take_back(self, reply: Answered, person: str) -> str:
        """Cancel what this reply's question created, and return a confirmation."""
        schedules = await self._created_by(person, reply.channel, reply.message_id)
        cancelled = [await self.schedules.cancel(person, item.id, self.clock.now()) for item in schedules]
        lines = [
            schedule_texts.CANCELLED.format(words=schedule_texts.quoted(item.definition.words))
            for item in cancelled
            if item
        ]
        return "\n".join(lines) or schedule_texts.NOT_ANY_MORE

    async def lapse_line(self, notice: Incoming) -> str:
        """Return the line below a notice about a schedule that asks whether it goes on; "" if that is not asked."""
        schedule = None if notice.schedule is None else await self.schedules.by_id(notice.schedule)
        if schedule is None or not _asks_to_go_on(schedule, self.clock.now()):
            return ""
        buttons = platform_of(notice.source) != TERMINAL
        return schedule_texts.LAPSE_LINE if buttons else schedule_texts.LAPSE_LINE_HOW.format(id=schedule.id)

    async def keep(self, reply: Answered, person: str) -> str:
        """Let the schedule that this notice is about go on, and return a confirmation."""
        now = self.clock.now()
        kept = (
            None
            if reply.schedule is None
            else await self.schedules.pause(person, reply.schedule, paused=False, now=now)
        )
        if kept is None or kept.state is ScheduleState.ENDED:
            return schedule_texts.NOT_ANY_MORE
        words = schedule_texts.quoted(kept.definition.words)
        return schedule_texts.RESUMED.format(when=_when(kept, kept.definition.timing, now), following="", words=words)

    async def end(self, reply: Answered, person: str) -> str:
        """End the schedule that this notice is about, and return a confirmation."""
        now = self.clock.now()
        ended = None if reply.schedule is None else await self.schedules.cancel(person, reply.schedule, now)
        if ended is None:
            return schedule_texts.NOT_ANY_MORE
        return schedule_texts.CANCELLED.format(words=schedule_texts.quoted(ended.definition.words))

    async def _created_by(self, person: str, channel: str, message: str) -> list[Schedule]:
        schedules = await self.schedules.of_person(person)
        return [schedule for schedule in schedules if _comes_from(schedule, channel, message)]

    async def _ask(self, asker: Asker, words: str) -> ScheduleAnswer:
        rule, rest = rule_asked(words)
        before = f"ask {rule.words}".rstrip()
        return await self._create(asker, rest, ScheduleKind.QUESTION, before=f"{before} ", report=rule.name)

    async def _create(
        self, asker: Asker, words: str, kind: ScheduleKind, before: str = "", report: str = ""
    ) -> ScheduleAnswer:
        now = self.clock.now()
        read = await self._read(asker, words, before)
        if isinstance(read, ScheduleAnswer):
            return read
        if not read.words:
            is_question = kind is ScheduleKind.QUESTION
            return ScheduleAnswer(schedule_texts.ASK_USAGE if is_question else schedule_texts.NO_WORDS, refused=True)
        if trouble := problem_of(read.timing, now):
            return ScheduleAnswer(trouble, refused=True)
        own = PersonAudience(asker.person.id)
        direct = asker.place.audience == own or read.direct is True
        if not direct and await self.forbidden_in(source_of(asker.person.id), asker.channel):
            return ScheduleAnswer(schedule_texts.FORBIDDEN, refused=True)
        new = NewSchedule(
            person=asker.person.id,
            source=source_of(asker.person.id),
            channel=asker.channel,
            place=Place(own) if direct else asker.place,
            kind=kind,
            words=read.words,
            timing=read.timing,
            created=now,
            direct=direct,
            own=True,
            report=report,
        )
        schedule = await self.schedules.add(new)
        if isinstance(schedule, ScheduleRefused):
            return ScheduleAnswer(schedule_texts.REFUSED[schedule], refused=True)
        text = schedule_texts.KEPT[kind].format(
            whom=schedule_texts.YOU_ALONE if direct else schedule_texts.YOU_HERE,
            where=schedule_texts.IN_DIRECT if direct else schedule_texts.HERE,
            when=_when(schedule, schedule.definition.timing, now),
            following=_following(schedule.definition.timing, now, asker),
            words=schedule_texts.quoted(read.words),
        )
        return ScheduleAnswer(text, (render_schedule(schedule, now, alone=True),))

    async def _read(self, asker: Asker, words: str, before: str) -> WhenRead | ScheduleAnswer:
        """Return when that is, or what is asked back. `before`: the words that precede them in a repeated command."""
        if len(words) > MAX_CHARS:
            return ScheduleAnswer(schedule_texts.TOO_LONG.format(most=MAX_CHARS), refused=True)
        now = self.clock.now()
        zone = ZoneInfo(asker.person.time_zone) if asker.person.time_zone else ZoneInfo("UTC")
        read = await asyncio.to_thread(read_when, words, now, zone)
        if isinstance(read, WhenUnclear) and not read.choices:
            return _not_understood(read, before)
        # Only after words that are not understood at all: who has to choose a zone first should know that it will help.
        if not asker.person.time_zone and await asyncio.to_thread(self._needs_zone, words, now):
            return ScheduleAnswer(schedule_texts.ZONE_FIRST, by_clock=True, refused=True)
        match read:
            case None:
                return ScheduleAnswer(schedule_texts.NO_TIME, refused=True)
            case WhenUnclear(choices, passed):
                commands = [f"{before}{choice.words}" for choice in choices]
                labels = [schedule_texts.choice_label(choice.time, zone) for choice in choices]
                text = schedule_texts.choices_text(labels, commands[0], passed=passed)
                return ScheduleAnswer(text, choices=tuple(zip(labels, commands, strict=True)), refused=True)
            case WhenRead(timing):
                timing = timing if asker.person.time_zone else replace(timing, zone="")
                return replace(read, timing=timing)

    @staticmethod
    def _needs_zone(words: str, now: datetime) -> bool:
        def read_in(zone: ZoneInfo) -> When:
            read = read_when(words, now, zone)
            return replace(read, timing=replace(read.timing, zone="")) if isinstance(read, WhenRead) else read

        # "in two hours" is the same moment in the first zone of the earth and in the last; "tomorrow" is not.
        return read_in(EASTMOST) != read_in(WESTMOST) or _is_by_clock(read_in(EASTMOST))

    async def _edit(self, asker: Asker, id_: int, words: str) -> ScheduleAnswer:
        """Change the time, the words behind a `|`, or both: "tomorrow at 9:00 | call Ann"."""
        if await self._is_work(asker.person.id, id_):
            return ScheduleAnswer(schedule_texts.WORK_STAYS.format(id=id_), refused=True)
        timing, (time_words, _, new_words) = None, words.partition("|")
        new_words = new_words.strip()
        if time_words.strip():
            read = await self._read(asker, f"{time_words} | {new_words}", f"edit {id_} ")
            if isinstance(read, ScheduleAnswer):
                return read
            timing = read.timing
        now = self.clock.now()
        if timing is not None and (trouble := problem_of(timing, now)):
            return ScheduleAnswer(trouble, refused=True)
        if len(new_words) > MAX_CHARS:
            return ScheduleAnswer(schedule_texts.TOO_LONG.format(most=MAX_CHARS), refused=True)
        changed = await self.schedules.change(asker.person.id, id_, timing=timing, words=new_words or None, now=now)
        if changed is None:
            return ScheduleAnswer(schedule_texts.UNKNOWN.format(id=id_), refused=True)
        return self._confirm(schedule_texts.CHANGED, changed, asker)

    async def _is_work(self, person: str, id_: int) -> bool:
        """Return whether this is long work, which can only be stopped."""
        schedule = await self.schedules.by_id(id_)
        return schedule is not None and (schedule.definition.person, schedule.definition.kind) == (
            person,
            ScheduleKind.WORK,
        )

    async def _change_state(self, asker: Asker, order: str, id_: int) -> ScheduleAnswer:
        now, person = self.clock.now(), asker.person.id
        if order != "cancel" and await self._is_work(person, id_):
            return ScheduleAnswer(schedule_texts.WORK_STAYS.format(id=id_), refused=True)
        if order != "cancel":
            schedule = await self.schedules.pause(person, id_, paused=order == "pause", now=now)
            if schedule is None:
                return ScheduleAnswer(schedule_texts.UNKNOWN.format(id=id_), refused=True)
            if schedule.state is ScheduleState.ENDED:
                return ScheduleAnswer(
                    schedule_texts.NEVER_AGAIN, (render_schedule(schedule, now, alone=True),), refused=True
                )
            return self._confirm(schedule_texts.PAUSED if order == "pause" else schedule_texts.RESUMED, schedule, asker)
        cancelled = await self.schedules.cancel(person, id_, now)
        if cancelled is None and self.operates(person):
            others = {schedule.id: schedule.definition.person for schedule in await self.schedules.all(MAX_LISTED)}
            cancelled = await self.schedules.cancel(others.get(id_, person), id_, now)
            # Operators may end what others have scheduled, but not read it.
            cancelled = cancelled and replace(cancelled, definition=replace(cancelled.definition, words="…"))
        if cancelled is None:
            return ScheduleAnswer(schedule_texts.UNKNOWN.format(id=id_), refused=True)
        template = (
            schedule_texts.WORK_STOPPED if cancelled.definition.kind is ScheduleKind.WORK else schedule_texts.CANCELLED
        )
        return ScheduleAnswer(template.format(words=schedule_texts.quoted(cancelled.definition.words)))

    def _confirm(self, text: str, schedule: Schedule, asker: Asker) -> ScheduleAnswer:
        now, timing = self.clock.now(), schedule.definition.timing.seen_from(asker.person.time_zone)
        when, words = _when(schedule, timing, now), schedule_texts.quoted(schedule.definition.words)
        following = _following(timing, now, asker)
        text = text.format(when=when, following=following, words=words)
        return ScheduleAnswer(text, (render_schedule(schedule, now, alone=True),))

    async def _list(self, asker: Asker, page: int) -> ScheduleAnswer:
        schedules, now = await self._own(asker), self.clock.now()
        if not schedules:
            return ScheduleAnswer(schedule_texts.NOTHING)
        pages = -(-len(schedules) // PAGE)
        page = min(page, pages)
        entries = tuple(render_schedule(schedule, now) for schedule in schedules[(page - 1) * PAGE : page * PAGE])
        return ScheduleAnswer(schedule_texts.YOURS, entries, page=page, pages=pages)

    async def _own(self, asker: Asker) -> list[Schedule]:
        """Return the asker's schedules, with the times as seen from their zone now."""
        zone, schedules = asker.person.time_zone, await self.schedules.of_person(asker.person.id)
        return [
            replace(item, definition=replace(item.definition, timing=item.definition.timing.seen_from(zone)))
            for item in schedules
        ]

    async def _show(self, asker: Asker, numbers: str) -> ScheduleAnswer:
        schedules, now = await self._own(asker), self.clock.now()
        found = [render_schedule(schedule, now) for schedule in schedules if str(schedule.id) in numbers.split()]
        if not found:
            return ScheduleAnswer(schedule_texts.UNKNOWN.format(id=numbers), refused=True)
        if len(found) > 1:
            return ScheduleAnswer(schedule_texts.WHICH_OF_THEM, tuple(found[:PAGE]))
        return ScheduleAnswer(found[0].text, (replace(found[0], text=""),))

    async def _list_all(self, asker: Asker) -> ScheduleAnswer:
        if not self.operates(asker.person.id):
            return ScheduleAnswer(schedule_texts.OPERATORS_ONLY, refused=True)
        schedules, now = await self.schedules.all(MAX_LISTED), self.clock.now()
        if not schedules:
            return ScheduleAnswer(schedule_texts.NOTHING_OF_ANYBODY)
        lines = [f"- {render_schedule(schedule, now, whose=schedule.definition.person).text}" for schedule in schedules]
        return ScheduleAnswer("\n".join([schedule_texts.OF_ALL.format(shown=len(lines)), "", *lines]))

    async def _set_forbidden(self, asker: Asker, *, forbids: bool) -> ScheduleAnswer:
        if not asker.channel or asker.place.audience == PersonAudience(asker.person.id):
            return ScheduleAnswer(schedule_texts.NO_CHANNEL, refused=True)
        if not (asker.manages or self.operates(asker.person.id)):
            return ScheduleAnswer(schedule_texts.MANAGERS_ONLY, refused=True)
        name = name_at(source_of(asker.person.id), FORBIDS)
        await self.preferences.set(place_owner(asker.channel), name, OFF if forbids else ALLOWED)
        return ScheduleAnswer(schedule_texts.FORBID_DONE if forbids else schedule_texts.ALLOW_DONE)


def _when(schedule: Schedule, timing: Timing, now: datetime) -> str:
    """Return when it is done, and when its answer is posted if that is not always so."""
    return ", ".join(filter(None, [in_words(timing, now), rule_named(schedule.definition.report).shown]))


def _following(timing: Timing, now: datetime, asker: Asker) -> str:
    """The line with the next times of a repetition, in the asker's zone; "" for one time."""
    zone = asker.person.time_zone or timing.zone
    times = following_in_words(timing, now, zone)
    other_zone = "" if zone == timing.zone else f" ({zone})"
    return schedule_texts.FOLLOWING.format(times=times, zone=other_zone) if times else ""


def _not_understood(read: WhenUnclear, before: str) -> ScheduleAnswer:
    """Ask back which words belong to the time."""
    if not read.left:
        return ScheduleAnswer(schedule_texts.NO_TIME, refused=True)
    understood, left = schedule_texts.quoted(read.understood), schedule_texts.quoted(read.left)
    template = schedule_texts.PARTLY_UNDERSTOOD if understood else schedule_texts.NOT_UNDERSTOOD
    choices = ((schedule_texts.REST_IS_TEXT, f"{before}{read.divided}"),) if read.divided else ()
    return ScheduleAnswer(template.format(understood=understood, left=left), choices=choices, refused=True)


def _comes_from(schedule: Schedule, channel: str, message: str) -> bool:
    """Whether that message created it, and it has not ended. Long work is left out: it shows itself."""
    is_open = schedule.state is not ScheduleState.ENDED and schedule.definition.kind is not ScheduleKind.WORK
    return is_open and (schedule.definition.channel, schedule.definition.message) == (channel, message)


def _asks_to_go_on(schedule: Schedule, now: datetime) -> bool:
    """Whether its person has been told that it lapses, and has not said yet whether it goes on."""
    is_open = schedule.state in {ScheduleState.ACTIVE, ScheduleState.PAUSED}
    timing = schedule.definition.timing
    return is_open and timing.lapses and (schedule.warned or has_lapsed(timing, now))


def _is_by_clock(when: When) -> bool:
    """Whether it is a rule or an hour, whose text is the same everywhere, but whose time depends on the zone."""
    return isinstance(when, WhenUnclear) or (isinstance(when, WhenRead) and bool(when.timing.rule))


def render_schedule(schedule: Schedule, now: datetime, *, whose: str = "", alone: bool = False) -> ShownSchedule:
    """Return it as shown in a list. `whose`: for operators, without the words; `alone`: below a text about it."""
    made = schedule.definition
    state = ScheduleState.WORKING if made.kind is ScheduleKind.WORK else schedule.state
    match state:
        case ScheduleState.ACTIVE:
            when = _when(schedule, made.timing, now)
        case ScheduleState.PAUSED if has_lapsed(made.timing, now):
            how = schedule_texts.HOW_TO_GO_ON.format(id=schedule.id)
            when = f"{schedule_texts.REST_ENDED} {schedule_texts.last_day(made.timing, now)}. {how}"
        case ScheduleState.PAUSED:
            when = f"{schedule_texts.REST_PAUSED} ({_when(schedule, made.timing, now)})"
        case ScheduleState.ENDED:
            when = f"{schedule_texts.REST_ENDED}. {schedule.why}".strip()
        case ScheduleState.WORKING:
            since = made.created.astimezone(zone_of(made.timing.zone))
            when = schedule_texts.AT_WORK.format(since=since)
        case _:
            assert_never(state)
    where = (
        schedule_texts.IN_DIRECT
        if made.direct
        else schedule_texts.IN_CHANNEL.format(channel=made.channel.rpartition(":")[2])
    )
    where = where if not whose else f"{where} ({whose})"
    text = "" if alone else schedule_texts.entry(schedule.id, made.kind, when, where, "" if whose else made.words)
    return ShownSchedule(schedule.id, text, state, made.words)


@dataclass(frozen=True, slots=True)
class LapseNote:
    """The question below a notice that a schedule lapses."""

    schedules: ScheduleService
    is_private: ClassVar[bool] = False

    async def line(self, ended: EndedTurn) -> NoteLine:
        text = await self.schedules.lapse_line(ended.question) if ended.kind is TurnKind.NOTICE else ""
        return NoteLine(text, LAPSING) if text else NO_LINE


@dataclass(frozen=True, slots=True)
class ScheduleNote:
    """The lines below an answer about the schedules that it created."""

    schedules: ScheduleService
    is_private: ClassVar[bool] = False

    async def line(self, ended: EndedTurn) -> NoteLine:
        text = await self.schedules.created_lines(ended.question) if ended.closing.used_tools else ""
        return NoteLine(text, SCHEDULING) if text else NO_LINE
