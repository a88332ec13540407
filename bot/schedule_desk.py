"""What `/remind` and `/schedules` say and do.

Rules
  A time is confirmed in words, in the person's zone; what may mean two is asked back. Nobody is silently in UTC.
  "me" means the person alone, in their direct messages; otherwise a reminder is posted where it was asked for.
  People see and change their own; operators see when everybody's come and where, without the words, and cancel them.
  In a channel whoever manages it may forbid what is posted there at a time.
"""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from hashlib import sha256
from typing import Final, assert_never, cast
from zoneinfo import ZoneInfo

from agent.citations import FETCH
from agent.errors import CogencyError, Refused
from agent.memory.audience import PersonAudience, Place
from agent.messages import JsonObject, Provenance, ToolCall
from agent.ports import Asker, Clock, Preferences, Tool, ToolContext, ToolEffect
from agent.records import Answered, Incoming, platform_of
from agent.schedules import (
    TERMINAL,
    CheckKind,
    FirstCheck,
    NewSchedule,
    Schedule,
    ScheduleKind,
    ScheduleRefused,
    Schedules,
    ScheduleState,
    in_words,
    problem_of,
    zone_of,
)
from agent.tool_policy import PolicyAnswer, PolicyRow, decide
from agent.tools.read_channel import NAME as READ_CHANNEL
from agent.tools.registry import Toolbox
from agent.turn_setup import asker_of
from bot.access.acl import ScheduleAnswer, ShownSchedule
from bot.host import PlaceAsker
from bot.schedule_reading import MAX_CHARS, When, WhenRead, WhenUnclear, read_when
from bot.texts import memory_texts, reply_texts, schedule_texts

FORBIDS: Final = "schedules"  # The preference of a channel in which nobody may have anything posted at a time
OFF: Final = "off"
PAGE: Final = 6  # Of a list: with their buttons they fit one message on every platform
MOST_OF_ALL: Final = 50
MOST_TOLD: Final = 5  # Below an answer; the list has all
ID_DIGITS: Final = 9
EDIT, SHOW = "edit", "show"  # Words of `/schedules`
EAST, WEST = ZoneInfo("Pacific/Kiritimati"), ZoneInfo("Pacific/Pago_Pago")


@dataclass(frozen=True, slots=True)
class ScheduleDesk:
    schedules: Schedules
    preferences: Preferences
    clock: Clock
    operates: Callable[[str], bool] = lambda _: False

    async def remind(self, asker: PlaceAsker, words: str) -> ScheduleAnswer:
        """What `/remind` with these words does. Raises StoreError."""
        if not words.strip():
            return ScheduleAnswer(schedule_texts.REMIND_USAGE, refused=True)
        return await self._new(asker, words, ScheduleKind.REMINDER)

    async def answer(self, asker: PlaceAsker, words: str) -> ScheduleAnswer:
        """What `/schedules` with these words does. Raises StoreError."""
        word, _, rest = words.strip().partition(" ")
        number, _, behind = rest.strip().partition(" ")
        id_ = int(number) if number.isascii() and number.isdecimal() and len(number) <= ID_DIGITS else 0
        match word.casefold():
            case "" | "list" if not rest:
                return await self._listed(asker, 1)
            case "page" if id_ and not behind:
                return await self._listed(asker, id_)
            case "show" if id_:
                return await self._opened(asker, rest)
            case "all" if not rest:
                return await self._of_all(asker)
            case "remind" if rest:
                return await self._new(asker, rest, ScheduleKind.REMINDER, before="remind ")
            case "ask":
                return await self._new(asker, rest, ScheduleKind.QUESTION, before="ask ")
            case "pause" | "resume" | "cancel" as order if id_ and not behind:
                return await self._ordered(asker, order, id_)
            case "edit" if id_ and behind.strip():
                return await self._edited(asker, id_, behind.strip())
            case "forbid" | "allow" as order if not rest:
                return await self._allowed(asker, forbids=order == "forbid")
            case _:
                return ScheduleAnswer(schedule_texts.USAGE, refused=True)

    async def forbidden_in(self, channel: str) -> bool:
        """Whether nothing may be posted there at a time. Raises StoreError."""
        return bool(channel) and (await self.preferences.of(f"channel:{channel}")).get(FORBIDS) == OFF

    async def line(self, question: Incoming) -> str:
        """What its asker reads below the answer of what is done at a time because of it; "" for nothing."""
        made, now = await self._made_by(question.person.id, question.channel, question.message_id), self.clock.now()
        buttons = platform_of(question.source) != TERMINAL
        told = memory_texts.AT_A_TIME if buttons else memory_texts.AT_A_TIME_HOW
        zone = question.person.time_zone
        lines = [told.format(id=one.id, when=in_words(one.made.timing.seen_from(zone), now)) for one in made]
        return "\n".join(lines[:MOST_TOLD])

    async def change_words(self, answered: Answered, person: str) -> str:
        """What `/schedules` is told to change what came of the question of that reply; of several they are shown.

        Raises Refused for anybody else, and where nothing of it is left.
        """
        made = [str(one.id) for one in await self._made_for(answered, person)]
        if not made:
            raise Refused(schedule_texts.NOT_ANY_MORE)
        return f"{EDIT} {made[0]}" if len(made) == 1 else " ".join([SHOW, *made[:MOST_TOLD]])

    async def take_back(self, answered: Answered, person: str) -> str:
        """Cancel what came of the question of that reply, and say so. Raises Refused for anybody else."""
        made = await self._made_for(answered, person)
        gone = [await self.schedules.cancel(person, one.id, self.clock.now()) for one in made]
        lines = [schedule_texts.CANCELLED.format(words=schedule_texts.quoted(one.made.words)) for one in gone if one]
        return "\n".join(lines) or schedule_texts.NOT_ANY_MORE

    async def _made_for(self, answered: Answered, person: str) -> list[Schedule]:
        if answered.person != person:
            raise Refused(reply_texts.NOT_YOURS)
        return await self._made_by(person, answered.channel, answered.message_id)

    async def _made_by(self, person: str, channel: str, message: str) -> list[Schedule]:
        theirs = await self.schedules.of_person(person)
        return [one for one in theirs if _is_of(one, channel, message)]

    async def _new(self, asker: PlaceAsker, words: str, kind: ScheduleKind, before: str = "") -> ScheduleAnswer:
        now = self.clock.now()
        read = await self._read(asker, words, before)
        if isinstance(read, ScheduleAnswer):
            return read
        if not read.words:
            asks = kind is ScheduleKind.QUESTION
            return ScheduleAnswer(schedule_texts.ASK_USAGE if asks else schedule_texts.NO_WORDS, refused=True)
        if trouble := problem_of(read.timing, now):
            return ScheduleAnswer(trouble, refused=True)
        own = PersonAudience(asker.person.id)
        direct = asker.place.audience == own or read.direct is True
        if not direct and await self.forbidden_in(asker.channel):
            return ScheduleAnswer(schedule_texts.FORBIDDEN, refused=True)
        new = NewSchedule(
            person=asker.person.id,
            source=asker.source,
            channel=asker.channel,
            place=Place(own) if direct else asker.place,
            kind=kind,
            words=read.words,
            timing=read.timing,
            created=now,
            direct=direct,
            own=True,
        )
        kept = await self.schedules.keep(new)
        if isinstance(kept, ScheduleRefused):
            return ScheduleAnswer(schedule_texts.REFUSED[kept], refused=True)
        text = schedule_texts.KEPT[kind].format(
            whom=schedule_texts.YOU_ALONE if direct else schedule_texts.YOU_HERE,
            where=schedule_texts.IN_DIRECT if direct else schedule_texts.HERE,
            when=in_words(kept.made.timing, now),
            words=schedule_texts.quoted(read.words),
        )
        return ScheduleAnswer(text, (shown(kept, now, alone=True),))

    async def _read(self, asker: PlaceAsker, words: str, before: str) -> WhenRead | ScheduleAnswer:
        """When that is, or what is asked back. `before`: what stands before the words where they are written again."""
        if len(words) > MAX_CHARS:
            return ScheduleAnswer(schedule_texts.TOO_LONG.format(most=MAX_CHARS), refused=True)
        now, (time_words, divided, rest) = self.clock.now(), words.partition("|")
        zone = ZoneInfo(asker.person.time_zone) if asker.person.time_zone else ZoneInfo("UTC")
        read = await asyncio.to_thread(read_when, time_words, now, zone)
        if not asker.person.time_zone and self._needs_zone(time_words, now):
            return ScheduleAnswer(schedule_texts.ZONE_FIRST, by_clock=True, refused=True)
        match read:
            case None:
                return ScheduleAnswer(schedule_texts.NO_TIME, refused=True)
            case WhenUnclear(choices, passed):
                behind = f" |{rest}" if divided else ""
                spelled = [f"{before}{one.words}{behind}" for one in choices]
                labels = [schedule_texts.choice_label(one.time, zone) for one in choices]
                text = schedule_texts.choices_text(labels, spelled[0], passed=passed)
                return ScheduleAnswer(text, choices=tuple(zip(labels, spelled, strict=True)), refused=True)
            case WhenRead(timing):
                timing = timing if asker.person.time_zone else replace(timing, zone="")
                return replace(read, timing=timing, words=rest.strip() if divided else read.words)

    @staticmethod
    def _needs_zone(words: str, now: datetime) -> bool:
        def meant(zone: ZoneInfo) -> When:
            read = read_when(words, now, zone)
            return replace(read, timing=replace(read.timing, zone="")) if isinstance(read, WhenRead) else read

        return meant(EAST) != meant(WEST) or _is_by_clock(meant(EAST))

    async def _edited(self, asker: PlaceAsker, id_: int, words: str) -> ScheduleAnswer:
        """Another time, other words, or both: "tomorrow at 9:00 | call Ann"."""
        if await self._stays(asker.person.id, id_):
            return ScheduleAnswer(schedule_texts.WORK_STAYS.format(id=id_), refused=True)
        timing, said = None, words
        if words.startswith("|"):
            said = words[1:].strip()
        else:
            read = await self._read(asker, words, f"edit {id_} ")
            if isinstance(read, ScheduleAnswer):
                return read
            timing, said = read.timing, read.words
        now = self.clock.now()
        if timing is not None and (trouble := problem_of(timing, now)):
            return ScheduleAnswer(trouble, refused=True)
        if len(said) > MAX_CHARS:
            return ScheduleAnswer(schedule_texts.TOO_LONG.format(most=MAX_CHARS), refused=True)
        changed = await self.schedules.change(asker.person.id, id_, timing=timing, words=said or None, now=now)
        if changed is None:
            return ScheduleAnswer(schedule_texts.UNKNOWN.format(id=id_), refused=True)
        return self._told(schedule_texts.CHANGED, changed, asker)

    async def _stays(self, person: str, id_: int) -> bool:
        """Whether this is long work, which can be stopped and nothing else."""
        one = await self.schedules.by_id(id_)
        return one is not None and (one.made.person, one.made.kind) == (person, ScheduleKind.WORK)

    async def _ordered(self, asker: PlaceAsker, order: str, id_: int) -> ScheduleAnswer:
        now, person = self.clock.now(), asker.person.id
        if order != "cancel" and await self._stays(person, id_):
            return ScheduleAnswer(schedule_texts.WORK_STAYS.format(id=id_), refused=True)
        if order != "cancel":
            found = await self.schedules.pause(person, id_, paused=order == "pause", now=now)
            if found is None:
                return ScheduleAnswer(schedule_texts.UNKNOWN.format(id=id_), refused=True)
            if found.state is ScheduleState.ENDED:
                return ScheduleAnswer(schedule_texts.NEVER_AGAIN, (shown(found, now, alone=True),), refused=True)
            return self._told(schedule_texts.PAUSED if order == "pause" else schedule_texts.RESUMED, found, asker)
        gone = await self.schedules.cancel(person, id_, now)
        if gone is None and self.operates(person):
            others = {one.id: one.made.person for one in await self.schedules.all(MOST_OF_ALL)}
            gone = await self.schedules.cancel(others.get(id_, person), id_, now)
            gone = gone and replace(gone, made=replace(gone.made, words="…"))
        if gone is None:
            return ScheduleAnswer(schedule_texts.UNKNOWN.format(id=id_), refused=True)
        told = schedule_texts.WORK_STOPPED if gone.made.kind is ScheduleKind.WORK else schedule_texts.CANCELLED
        return ScheduleAnswer(told.format(words=schedule_texts.quoted(gone.made.words)))

    def _told(self, text: str, one: Schedule, asker: PlaceAsker) -> ScheduleAnswer:
        now, timing = self.clock.now(), one.made.timing.seen_from(asker.person.time_zone)
        when, words = in_words(timing, now), schedule_texts.quoted(one.made.words)
        return ScheduleAnswer(text.format(when=when, words=words), (shown(one, now, alone=True),))

    async def _listed(self, asker: PlaceAsker, page: int) -> ScheduleAnswer:
        theirs, now = await self._theirs(asker), self.clock.now()
        if not theirs:
            return ScheduleAnswer(schedule_texts.NOTHING)
        pages = -(-len(theirs) // PAGE)
        page = min(page, pages)
        entries = tuple(shown(one, now) for one in theirs[(page - 1) * PAGE : page * PAGE])
        return ScheduleAnswer(schedule_texts.YOURS, entries, page=page, pages=pages)

    async def _theirs(self, asker: PlaceAsker) -> list[Schedule]:
        """With their times as their clock shows them now."""
        zone, theirs = asker.person.time_zone, await self.schedules.of_person(asker.person.id)
        return [replace(one, made=replace(one.made, timing=one.made.timing.seen_from(zone))) for one in theirs]

    async def _opened(self, asker: PlaceAsker, numbers: str) -> ScheduleAnswer:
        theirs, now = await self._theirs(asker), self.clock.now()
        found = [shown(one, now) for one in theirs if str(one.id) in numbers.split()]
        if not found:
            return ScheduleAnswer(schedule_texts.UNKNOWN.format(id=numbers), refused=True)
        if len(found) > 1:
            return ScheduleAnswer(schedule_texts.WHICH_OF_THEM, tuple(found[:PAGE]))
        return ScheduleAnswer(found[0].text, (replace(found[0], text=""),))

    async def _of_all(self, asker: PlaceAsker) -> ScheduleAnswer:
        if not self.operates(asker.person.id):
            return ScheduleAnswer(schedule_texts.OPERATORS_ONLY, refused=True)
        everybody, now = await self.schedules.all(MOST_OF_ALL), self.clock.now()
        if not everybody:
            return ScheduleAnswer(schedule_texts.NOTHING_OF_ANYBODY)
        lines = [f"- {shown(one, now, whose=one.made.person).text}" for one in everybody]
        return ScheduleAnswer("\n".join([schedule_texts.OF_ALL.format(shown=len(lines)), "", *lines]))

    async def _allowed(self, asker: PlaceAsker, *, forbids: bool) -> ScheduleAnswer:
        if not asker.channel or asker.place.audience == PersonAudience(asker.person.id):
            return ScheduleAnswer(schedule_texts.NO_CHANNEL, refused=True)
        if not (asker.manages or self.operates(asker.person.id)):
            return ScheduleAnswer(schedule_texts.MANAGERS_ONLY, refused=True)
        await self.preferences.set(f"channel:{asker.channel}", FORBIDS, OFF if forbids else None)
        return ScheduleAnswer(schedule_texts.FORBID_DONE if forbids else schedule_texts.ALLOW_DONE)


def _is_of(one: Schedule, channel: str, message: str) -> bool:
    """Whether it came of that message, and is not over. Long work shows itself."""
    comes = one.state is not ScheduleState.ENDED and one.made.kind is not ScheduleKind.WORK
    return comes and (one.made.channel, one.made.message) == (channel, message)


def _is_by_clock(read: When) -> bool:
    """A rule, or an hour that is asked for, is read the same everywhere, and means another time in each zone."""
    return isinstance(read, WhenUnclear) or (isinstance(read, WhenRead) and bool(read.timing.rule))


def shown(one: Schedule, now: datetime, *, whose: str = "", alone: bool = False) -> ShownSchedule:
    """As its person sees it in a list. `whose`: for operators, who see no words; `alone`: below what is said of it."""
    made = one.made
    state = ScheduleState.WORKING if made.kind is ScheduleKind.WORK else one.state
    match state:
        case ScheduleState.ACTIVE:
            when = in_words(made.timing, now)
        case ScheduleState.PAUSED:
            when = f"{schedule_texts.REST_PAUSED} ({in_words(made.timing, now)})"
        case ScheduleState.ENDED:
            when = f"{schedule_texts.REST_ENDED}. {one.why}".strip()
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
    text = "" if alone else schedule_texts.entry(one.id, made.kind, when, where, "" if whose else made.words)
    return ShownSchedule(one.id, text, state, made.words)


# What is looked at before a question is asked at its time.


class NothingSeen(CogencyError):
    """What is to be looked at cannot be seen now."""


@dataclass(frozen=True, slots=True)
class FirstLook:
    """Looks with the tools that only read, as the person may use them there unasked; at no page of the operator's own
    network, which somebody has to name.
    """

    toolbox: Toolbox
    clock: Clock
    rows: Sequence[PolicyRow] = ()

    async def digest(self, check: FirstCheck, incoming: Incoming) -> str:
        """Of what it says now. Raises NothingSeen."""
        asker, call = asker_of(incoming), call_of(check)
        await self.toolbox.servers.prepare(asker)
        registry = self.toolbox.registry(asker)
        if registry.check(call) is not None or not self._may_run(registry.get(call.name), asker):
            raise NothingSeen(schedule_texts.NOTHING_SEEN.format(tool=call.name))
        tool = registry.get(call.name)
        context = ToolContext(
            incoming.person,
            incoming.place,
            incoming.conversation,
            0,
            self.clock.now(),
            authority=incoming.authority,
            channel=incoming.channel,
        )
        try:
            async with asyncio.timeout(tool.timeout_s):
                output = await tool.run(registry.as_meant(call).args, context)
        except TimeoutError:
            raise NothingSeen(schedule_texts.NOTHING_SEEN.format(tool=call.name)) from None
        text, parts = (output, ()) if isinstance(output, str) else (output.text, output.parts)
        seen = parts if check.kind is CheckKind.CHANNEL else (text, *parts)  # the head of a channel tells the time
        return sha256(repr(seen).encode()).hexdigest()

    def _may_run(self, tool: Tool, asker: Asker) -> bool:
        decided = decide(self.rows, tool.name, tool.effect, asker, Provenance.OWN)
        return tool.effect is ToolEffect.READS and decided.answer is PolicyAnswer.YES


def call_of(check: FirstCheck) -> ToolCall:
    """The call that looks at it."""
    match check.kind:
        case CheckKind.PAGE:
            return ToolCall(FETCH, {"url": check.target})
        case CheckKind.CHANNEL:
            return ToolCall(READ_CHANNEL, {"where": check.target, "last": 1})
        case CheckKind.TOOL:
            return ToolCall(check.target, cast("JsonObject", check.args))
        case _:
            assert_never(check.kind)
