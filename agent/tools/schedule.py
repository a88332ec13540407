"""The tools `schedule` (reminders and questions at a time), `schedules` (lists them) and `background` (long work).

Rules
  The model fills in fields. Code checks them, and returns the resulting time in words, or what is wrong.
  The owner and the place come from the turn. Only schedules that all readers of the reply may read are listed.
  The turn of a schedule cannot create schedules, so that they do not multiply.
  A program creates only reminders: what calls a model later would outlive its token, and escape its token's budget.
  The tools are offered only if the last messages mention future times, and `background` if they mention much work.
"""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime, time, timedelta
from typing import Final

from agent.addresses import MAX_ADDRESSES, AddressesRead, hosts_in
from agent.errors import ToolError
from agent.memory.attribution import said_by, without_quotes
from agent.memory.audience import PersonAudience, Place, label, may_flow_from
from agent.messages import Json, JsonObject, Provenance
from agent.ports.api_tokens import is_service
from agent.ports.tools import ToolContext, ToolEffect, ToolOutput
from agent.protocol.render import excerpt
from agent.schedules.definitions import (
    CheckKind,
    FirstCheck,
    NewSchedule,
    Schedule,
    ScheduleKind,
    ScheduleRefused,
    ScheduleState,
    Timing,
)
from agent.schedules.ids import source_of
from agent.schedules.long_work import MAX_AT_WORK
from agent.schedules.port import Schedules
from agent.schedules.times import (
    following_in_words,
    has_lapsed,
    in_words,
    moment_of,
    next_occurrence,
    problem_of,
    zone_of,
)
from agent.turn_kinds import TurnKind

MAX_CHARS: Final = 2_000  # Of a reminder or question
MAX_LISTED: Final = 20
SHOWN_CHARS: Final = 200

_WORDS: Final = (
    "remind|schedule|every |each day|each week|daily|weekly|monthly|hourly|from now on|tell me when|let me know when|"
    "notify me|ping me|wake me|alarm|tomorrow|tonight|later today|next week|next month|in an hour| minutes| hours|"
    "o'clock|at noon|"
    "erinner|jeden |jede |jedes |täglich|wöchentlich|monatlich|stündlich|werktags|sag mir, wenn|sag bescheid|"
    "melde dich|benachrichtig|übermorgen|nächste|uhr| minuten| stunde|morgen |"
    "rappel|chaque |tous les |toutes les |dis-moi quand|préviens|quotidien|demain|ce soir|prochain| heures|"
    "recuérd|recuerd|recordatorio|cada |todos los |todas las |avísame|avisa|dime cuando|mañana|esta noche|próxim|"
    " minutos| horas|"
    "ricord|promemoria|ogni |tutti i |tutte le |avvisa|dimmi quando|domani|stasera|prossim| minuti| ore|"
    "lembr|todos os |todas as |toda |todo dia|me avise|me diga quando|amanhã|hoje à noite|"
    "herinner|elke |iedere |elk uur|dagelijks|wekelijks|laat me weten|waarschuw|vanavond|overmorgen|volgende week| uur|"
    "リマインド|リマインダー|毎日|毎週|毎月|毎朝|毎晩|毎時|平日|隔週|知らせて|思い出させ|明日|明後日|来週|今夜|分後|時間後|日後"
)
# Words of messages whose authors may want a schedule. A false match only costs tokens.
BESIDE: Final = frozenset(_WORDS.split("|"))

_MUCH: Final = (
    "go through|going through|work through|look through|all of the|all the |all these|all our|each of|every |"
    "one by one|in the background|take your time|a table|in detail|in depth|thorough|research|investigat|analys|analyz|"
    "compile|"
    "a report|overview|list of all|audit|compare all|while i |when you are done|when you're done|when done|"
    "geh die|geh alle|durchgehen|gehe |alle |jede|im hintergrund|lass dir zeit|tabelle|gründlich|recherch|untersuch|"
    "bericht|übersicht|wenn du fertig|"
    "parcour|tous les|toutes les|chaque |en arrière-plan|prends ton temps|tableau|en détail|rapport|quand tu as fini|"
    "repasa|revisa|recorre|todos los|todas las|cada |en segundo plano|tabla|a fondo|investig|informe|cuando termines|"
    "passa in rassegna|esamina|tutti i|tutte le|ogni |in background|tabella|a fondo|ricerca|rapporto|quando hai finito|"
    "percorr|revê|revis|todos os|todas as|em segundo plano|tabela|relatório|quando terminar|"
    "neem alle|doorlopen|elke |alle |op de achtergrond|neem de tijd|grondig|onderzoek|rapport|overzicht|als je klaar|"
    "すべて|全て|全部|一つずつ|バックグラウンド|じっくり|表にして|表を作|調査|調べ|分析|まとめて|一覧|終わったら"
)
MUCH: Final = frozenset(_MUCH.split("|"))  # Words of messages that may ask for long work

_TEXT: Final[Json] = {"type": "string", "minLength": 1, "maxLength": MAX_CHARS}
_PROPERTIES: Final[dict[str, Json]] = {
    "what": {**_TEXT, "description": "the reminder's words, or the whole question, clear by itself"},
    "at": {"type": "string", "maxLength": 40, "description": "once: 2026-11-24T09:00, on the clock of `zone`"},
    "in_minutes": {"type": "integer", "minimum": 1, "description": "once: so long from now"},
    "rule": {"type": "string", "maxLength": 100, "description": "again and again: five fields of cron, 0 9 * * 1"},
    "weeks": {"type": "integer", "minimum": 1, "maximum": 26, "description": "of a rule: 2 is every second week"},
    "days": {"type": "integer", "minimum": 1, "maximum": 182, "description": "of a daily rule: 3 is every third day"},
    "until": {"type": "string", "maxLength": 40, "description": "of a rule: its last day, 2027-05-24"},
    "zone": {"type": "string", "maxLength": 60, "description": "if it is not the person's"},
    "kind": {"enum": ["reminder", "question"], "description": "a question is answered anew each time, by you"},
    "where": {"enum": ["here", "direct"], "description": "direct: to the person alone"},
    "check": {
        "type": "object",
        "properties": {
            "kind": {"enum": [*CheckKind]},
            "target": {"type": "string", "minLength": 1, "maxLength": 2_000},
            "args": {"type": "object"},
        },
        "required": ["kind", "target"],
        "additionalProperties": False,
        "description": "of a question: an address, a channel, or a tool with args; asked only when that changed",
    },
    "replaces": {"type": "integer", "description": "the number of one that ends with this"},
    "cancel": {"type": "integer", "description": "only that: the number of one to end"},
}


def _schema(reports: Mapping[str, str]) -> JsonObject:
    explained = "; ".join(f"{name}: {summary}" for name, summary in reports.items())
    report: dict[str, Json] = {"report": {"enum": [*reports], "description": f"of a question: {explained}"}}
    return {
        "type": "object",
        "properties": {**_PROPERTIES, **(report if reports else {})},
        "additionalProperties": False,
    }


REFUSED: Final = {
    ScheduleRefused.MANY_OF_PERSON: "the person has as many as are kept for one: they may cancel some (/schedules)",
    ScheduleRefused.MANY_IN_CHANNEL: "this channel has as many as are kept for one",
    ScheduleRefused.QUESTION_DELETED: "the person has deleted the question",
    ScheduleRefused.MANY_AT_WORK: (
        f"{MAX_AT_WORK} are at work for the person, and no more are at once: they may wait for one, or stop it "
        "(/schedules)"
    ),
}
FORBIDDEN: Final = "the managers of this channel do not allow scheduled posts here: offer `direct`"
NO_PERSON: Final = "a program asks, and no person: there is nobody for whom to schedule this"
ASKS_AGAIN: Final = "what a schedule asks makes, changes and ends no schedules"
WORKS_ALREADY: Final = "what is done at a time or in the background begins no such work: do it now, or say what is left"
PROGRAM_ASKS_LATER: Final = (
    "a program asks, and it can create only reminders: offer one, or answer now and say that the person can schedule "
    "the question in the chat"
)
PROGRAM_WORKS_LATER: Final = (
    "a program asks, and it waits for the answer: do it now, or say that the person can ask for this work in the chat"
)
NO_ZONE: Final = (
    "nobody knows the person's time zone: ask them where they are, and say it as `zone`; only `in_minutes` needs none"
)
FAR: Final = "that time is too far ahead: take one within five years"
UNKNOWN: Final = "the person has no schedule {id}: `schedules` lists theirs"
BEGINS: Final = (
    "It begins now, as number {id}, in a message of its own that shows its steps and, at the end, the result. Tell the "
    "person in one sentence that you are on it, and do nothing of it here."
)
KEPT: Final = "Kept as number {id}: {when}.{following} Posted {where}. Tell the person this time, as it stands here."


async def _nowhere(_: str, __: str) -> bool:
    return False


@dataclass(frozen=True, slots=True)
class ScheduleTool:
    """The tool `schedule`. `forbidden_in`: returns whether a source's scheduled posts are forbidden in a channel."""

    schedules: Schedules
    forbidden_in: Callable[[str, str], Awaitable[bool]] = _nowhere
    timeout_s: float = 10.0
    reports: Mapping[str, str] = field(default_factory=dict[str, str])
    """When an answer can be posted, besides whenever there is something to report: what each is for, by its name."""
    name: str = "schedule"
    description: str = "Remind the person, or answer a question of theirs, at a time or again and again."
    effect: ToolEffect = ToolEffect.WRITES_HERE
    beside: frozenset[str] = BESIDE
    schema: JsonObject = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "schema", _schema(self.reports))

    async def run(self, args: JsonObject, context: ToolContext) -> ToolOutput:
        """Raises ToolError if the schedule is refused, with a hint."""
        if context.kind.in_words_of_schedule:
            raise ToolError(ASKS_AGAIN, ours=True)
        if is_service(context.person.id):
            raise ToolError(NO_PERSON, ours=True)
        if isinstance(cancel := args.get("cancel"), int):
            return _output(await self._cancel(cancel, context), context)
        new = new_schedule(args, context)
        if context.kind is TurnKind.API and new.kind is not ScheduleKind.REMINDER:
            raise ToolError(PROGRAM_ASKS_LATER, ours=True)
        if not new.direct and await self.forbidden_in(new.source, new.channel):
            raise ToolError(FORBIDDEN, ours=True)
        cancelled = ""
        if isinstance(replaces := args.get("replaces"), int):
            cancelled = await self._cancel(replaces, context)
        schedule = await self.schedules.add(new)
        if isinstance(schedule, ScheduleRefused):
            raise ToolError(REFUSED[schedule], ours=True)
        where = "to the person alone" if new.direct else "here"
        timing = schedule.definition.timing
        times = following_in_words(timing, context.now, context.person.time_zone or timing.zone)
        following = f" Next: {times}." if times else ""
        when = in_words(timing, context.now)
        text = KEPT.format(id=schedule.id, when=when, following=following, where=where)
        return _output(f"{cancelled} {text}".strip(), context)

    async def _cancel(self, id_: int, context: ToolContext) -> str:
        if await self.schedules.cancel(context.person.id, id_, context.now) is None:
            raise ToolError(UNKNOWN.format(id=id_), ours=True)
        return f"Number {id_} is cancelled."


_WORK_SCHEMA: Final[JsonObject] = {
    "type": "object",
    "properties": {
        "what": {**_TEXT, "description": "the whole task, clear by itself, and how its result is to look"},
        "mention": {"type": "boolean", "description": "if they want to be called when it is done"},
    },
    "required": ["what"],
    "additionalProperties": False,
}


@dataclass(frozen=True, slots=True)
class BackgroundTool:
    schedules: Schedules
    timeout_s: float = 10.0
    name: str = "background"
    description: str = "Do what takes minutes, more than about eight rounds of calls, beside this conversation."
    effect: ToolEffect = ToolEffect.WRITES_HERE
    beside: frozenset[str] = MUCH
    schema: JsonObject = field(default_factory=lambda: _WORK_SCHEMA)

    async def run(self, args: JsonObject, context: ToolContext) -> ToolOutput:
        """Raises ToolError if the work is refused, with a hint."""
        if context.kind.in_words_of_schedule:
            raise ToolError(WORKS_ALREADY, ours=True)
        if is_service(context.person.id):
            raise ToolError(NO_PERSON, ours=True)
        if context.kind is TurnKind.API:
            raise ToolError(PROGRAM_WORKS_LATER, ours=True)
        what = str(args.get("what", "")).strip()
        if not what:
            raise ToolError("say `what` is to be done", ours=True)
        now = Timing(context.person.time_zone or "UTC", at=context.now)
        new = replace(_build_schedule(context, what, ScheduleKind.WORK, now), mention=args.get("mention") is True)
        schedule = await self.schedules.add(new)
        if isinstance(schedule, ScheduleRefused):
            raise ToolError(REFUSED[schedule], ours=True)
        return _output(BEGINS.format(id=schedule.id), context)


@dataclass(frozen=True, slots=True)
class SchedulesTool:
    schedules: Schedules
    timeout_s: float = 10.0
    name: str = "schedules"
    description: str = "List the person's schedules, with their numbers."
    effect: ToolEffect = ToolEffect.READS
    beside: frozenset[str] = BESIDE
    schema: JsonObject = field(default_factory=lambda: {"type": "object", "properties": {}})

    async def run(self, args: JsonObject, context: ToolContext) -> ToolOutput:  # noqa: ARG002 -- there are none
        schedules, readable = await self.schedules.of_person(context.person.id), _readable(context)
        readable_schedules = [
            schedule for schedule in schedules if label(schedule.definition.place.audience) in readable
        ]
        lines = [_line(schedule, context) for schedule in readable_schedules[:MAX_LISTED]]
        hidden = len(schedules) - len(lines)
        lines += [f"{hidden} more are told to the person alone: /schedules lists them."] if hidden else []
        # The text of a schedule may come from others.
        return _output(
            "\n".join(lines) or "The person has none.",
            context,
            words=Provenance.OWN if all(one.definition.own for one in readable_schedules) else Provenance.FOREIGN,
        )


def _output(text: str, context: ToolContext, words: Provenance = Provenance.OWN) -> ToolOutput:
    return ToolOutput(text, audience=context.place.audience, words=words, read=())


def _readable(context: ToolContext) -> frozenset[str]:
    return frozenset(map(label, [context.place.audience])) | may_flow_from(context.place, context.readable)


def _line(schedule: Schedule, context: ToolContext) -> str:
    if schedule.definition.kind is ScheduleKind.WORK:
        return f"{schedule.id} (at work now): {excerpt(schedule.definition.words, SHOWN_CHARS)}"
    timing = schedule.definition.timing.seen_from(context.person.time_zone)
    when = in_words(timing, context.now) if schedule.state is not ScheduleState.ENDED else schedule.why
    when = "ended after half a year; its person can resume it" if has_lapsed(timing, context.now) else when
    words = excerpt(schedule.definition.words, SHOWN_CHARS)
    return f"{schedule.id} ({schedule.definition.kind}, {schedule.state}): {when}: {words}"


def new_schedule(args: JsonObject, context: ToolContext) -> NewSchedule:
    """Build the schedule from the model's arguments and the turn. Raises ToolError."""
    what = str(args.get("what", "")).strip()
    if not what:
        raise ToolError("say `what` is to be said or asked", ours=True)
    timing = timing_of(args, context)
    if problem := problem_of(timing, context.now):
        raise ToolError(problem, ours=True)
    kind = ScheduleKind(str(args.get("kind", ScheduleKind.REMINDER)))
    check = args.get("check")
    new = _build_schedule(context, what, kind, timing, alone=args.get("where") == "direct")
    if kind is not ScheduleKind.QUESTION:
        return new
    return replace(new, check=_check(check) if isinstance(check, dict) else None, report=str(args.get("report", "")))


def _build_schedule(
    context: ToolContext, what: str, kind: ScheduleKind, timing: Timing, *, alone: bool = False
) -> NewSchedule:
    own = PersonAudience(context.person.id)
    direct = alone or context.place.audience == own
    return NewSchedule(
        person=context.person.id,
        source=source_of(context.person.id),
        channel=context.channel,
        place=Place(own) if direct else context.place,
        kind=kind,
        words=what,
        timing=timing,
        created=context.now,
        conversation=context.conversation,
        message=context.message_id,
        direct=direct,
        own=_is_own(what, context),
    )


def _is_own(what: str, context: ToolContext) -> bool:
    """Return whether the person said that, and wrote each address in it: a model may use words of its own."""
    own = AddressesRead()
    own.read(map(without_quotes, context.asker_texts))
    addresses = hosts_in(what)
    strict = context.words is not Provenance.OWN
    is_said = said_by(what, context.asker_texts, context.other_texts, strict=strict, read=context.read)
    return is_said and len(addresses) <= MAX_ADDRESSES and all(map(own.may_leave, addresses))


def _check(fields: JsonObject) -> FirstCheck:
    args = fields.get("args")
    return FirstCheck(
        CheckKind(str(fields["kind"])), str(fields["target"]), dict(args) if isinstance(args, dict) else {}
    )


def timing_of(args: JsonObject, context: ToolContext) -> Timing:
    """Return the timing of the arguments. Raises ToolError."""
    name = str(args.get("zone") or context.person.time_zone)
    at, rule = args.get("at"), str(args.get("rule") or "")
    # Minutes from now need no time zone.
    if isinstance(minutes := args.get("in_minutes"), int) and not (at or rule):
        return Timing(name, at=_after(minutes, context.now))
    # An hour in a guessed zone would ring at the wrong time without anybody noticing.
    if not name and not (isinstance(at, str) and _is_aware(at)):
        raise ToolError(NO_ZONE, ours=True)
    try:
        zone_of(name or "UTC")
        moment = _moment(at, name or "UTC") if isinstance(at, str) else None
        until = args.get("until")
        end = _moment(str(until), name or "UTC", end_of_day=True) if until else None
    except ValueError as error:
        raise ToolError(f"{error}", ours=True) from None
    timing = Timing(name, at=moment, rule=rule, until=end)
    weeks, days = (count if isinstance(count := args.get(name, 1), int) else 1 for name in ("weeks", "days"))
    # "Every second week" counts from the first occurrence, which therefore is stored.
    if weeks > 1 or days > 1:
        return replace(timing, weeks=weeks, days=days, since=_first_occurrence(timing, context.now))
    return timing


def _after(minutes: int, now: datetime) -> datetime:
    """Return the time after `minutes`. Raises ToolError if it is too far."""
    try:
        return (now + timedelta(minutes=minutes)).astimezone(UTC).replace(microsecond=0)
    except OverflowError:
        raise ToolError(FAR, ours=True) from None


def _first_occurrence(timing: Timing, now: datetime) -> datetime:
    """Return the first occurrence, from which weeks or days are counted."""
    try:
        return next_occurrence(timing, now) or now
    except ValueError:  # `problem_of` reports it
        return now


def _is_aware(text: str) -> bool:
    try:
        return datetime.fromisoformat(text).tzinfo is not None
    except ValueError:
        return False


def _moment(text: str, zone: str, *, end_of_day: bool = False) -> datetime:
    """Parse a time. Raises ValueError with a sentence."""
    try:
        time_read = datetime.fromisoformat(text)
        if end_of_day and len(text) <= len("2026-11-24"):
            day = date.fromisoformat(text) + timedelta(days=1)
            return moment_of(datetime.combine(day, time()), zone_of(zone)) - timedelta(seconds=1)
        return time_read.astimezone(UTC) if time_read.tzinfo is not None else moment_of(time_read, zone_of(zone))
    except (ValueError, OverflowError):
        raise ValueError(f"{excerpt(text, 40)!r} is not a time: write it as 2026-11-24T09:00") from None
