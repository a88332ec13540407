"""`/remind` and `/schedules`: reminders and scheduled questions."""

from collections.abc import Mapping, Sequence

from agent.errors import Refused
from agent.schedules.definitions import ScheduleState
from bot.chat.askers import Requester
from bot.chat.commands import declaration
from bot.chat.commands.declaration import HomeContent, HomeSection, HomeVisit
from bot.chat.panels import (
    FieldKind,
    Filled,
    FormField,
    Panel,
    PanelAction,
    PanelForm,
    PanelPart,
    page_part,
    page_words,
)
from bot.chat.reply.surface import ReplyAction
from bot.chat.texts import replies as reply_texts
from bot.schedules import texts as schedule_texts
from bot.schedules.answers import ScheduleAnswer, ShownSchedule
from bot.schedules.phrases.reading import MAX_CHARS
from bot.schedules.service import ScheduleService

ZONE = "zone "  # Begins the words of a choice of a time zone; the command follows, and then the zone
BUTTON_CHARS = 80  # The limit for the words of a button, on one line; Discord's is the smallest
CHANGES = "edit "  # Begins words that change a schedule; with only its number they are those of the form's button
WORDS = (
    "list",
    "pause 3",
    "resume 3",
    "cancel 3",
    "edit 3 NEW TIME",
    "remind me WHEN WHAT",
    "ask WHEN | WHAT",
    "forbid",
    "allow",
)
OF_OPERATORS = ("all",)  # Suggested like WORDS while an operator types


async def _store_zone(call: declaration.CommandCall) -> tuple[str, str]:
    """Store a time zone that was chosen; return the words of the command, and why the zone was not stored, or ""."""
    words = call.words.strip()
    if not (call.pressed and words.startswith(ZONE)):
        return words, ""
    words, _, zone = words.removeprefix(ZONE).rpartition(" ")
    return words, await call.caller.keep_zone(zone)


async def remind(service: ScheduleService, call: declaration.CommandCall) -> Panel:
    words, problem = await _store_zone(call)
    if problem:
        return Panel(problem, refused=True)
    if not words:
        return Panel(schedule_texts.REMIND_USAGE, (NEW.button(),))
    answer = await service.remind(await call.caller.asker(), words)
    return await _panel(call, answer, words)


async def show(service: ScheduleService, call: declaration.CommandCall) -> Panel:
    words, problem = await _store_zone(call)
    if problem:
        return Panel(problem, refused=True)
    return await _panel(call, await service.answer(await call.caller.asker(), words), words)


async def _panel(call: declaration.CommandCall, answer: ScheduleAnswer, words: str) -> Panel:
    buttons = call.caller.entry_chars is not None
    if answer.by_clock:
        words_with_zone = ZONE + (words if _fits(words, BUTTON_CHARS - len(ZONE) - 1) else "")
        zone = await call.caller.ask_zone(words_with_zone.strip() if words_with_zone == ZONE else words_with_zone)
        return Panel(answer.text, parts=(zone,) if zone else (), refused=True)
    if answer.choices:
        choices = [(label, command) for label, command in answer.choices if _fits(command)]
        actions = tuple(PanelAction(label, command) for label, command in choices)
        return Panel(answer.text, actions, refused=answer.refused)
    return schedule_panel(answer, buttons=buttons)


def _fits(words: str, chars: int = BUTTON_CHARS) -> bool:
    return len(words) <= chars and "\n" not in words


def schedule_panel(answer: ScheduleAnswer, *, buttons: bool = True) -> Panel:
    """Return the confirmation or the list. `buttons`: whether the platform has them; if not, the syntax is shown."""
    listed = [entry for entry in answer.entries if entry.text]
    confirmed = [entry for entry in answer.entries if not entry.text]
    text = answer.text
    if not buttons:
        hints = [schedule_texts.HOW_TO_CHANGE.format(id=entry.id) for entry in confirmed]
        hints += [schedule_texts.USAGE] if listed else []
        text = "\n".join([text, *hints])
    parts = tuple(PanelPart(entry.text, entry_actions(entry)) for entry in listed)
    if answer.pages > 1:
        parts += (page_part(answer.page, answer.pages, "" if buttons else schedule_texts.PAGE_OF),)
    actions = tuple(action for entry in confirmed for action in entry_actions(entry))
    return Panel(text, actions, parts, page=answer.page, refused=answer.refused)


def entry_actions(schedule: ShownSchedule) -> tuple[PanelAction, ...]:
    """Return the buttons of a schedule; each sends words for `/schedules`."""
    cancel = PanelAction(
        reply_texts.CANCEL_BUTTON, f"cancel {schedule.id}", danger=True, confirm=reply_texts.CANCEL_CONSEQUENCE
    )
    match schedule.state:
        case ScheduleState.ACTIVE:
            pause = PanelAction("Pause", f"pause {schedule.id}")
            return (CHANGE.button(f"edit {schedule.id}"), *((pause,) if schedule.text else ()), cancel)
        case ScheduleState.PAUSED:
            return (PanelAction("Resume", f"resume {schedule.id}"), cancel)
        case ScheduleState.ENDED:
            return (CHANGE.button(f"edit {schedule.id}"), cancel)
        case ScheduleState.WORKING:
            return (PanelAction("Stop", cancel.words),)


async def press_change(service: ScheduleService, pressed: declaration.PressedReply) -> PanelAction:
    """The form to change the schedule that the reply's question created, or the list of several."""
    if pressed.answered is None:
        raise Refused(schedule_texts.NOT_ANY_MORE)
    words = await service.change_words(pressed.answered, pressed.person)
    return CHANGE.button(words) if words.startswith(CHANGES) else PanelAction(CHANGE.label, words)


async def _offered(service: ScheduleService, requester: Requester, _: Mapping[str, str]) -> Sequence[str]:
    return (*WORDS, *OF_OPERATORS) if service.operates(requester.person) else WORDS


async def _words_now(service: ScheduleService, call: declaration.CommandCall) -> Filled:
    """The current words of the schedule to change."""
    answer = await service.answer(await call.caller.asker(), f"show {call.words.removeprefix(CHANGES)}")
    return {"what": next((entry.words for entry in answer.entries), "")}


def _words_of(filled: Filled) -> str:
    when, what = filled["when"].replace("|", " ").strip(), filled["what"].strip()
    return f"{when} | {what}" if what else when


def _new_words(filled: Filled) -> str:
    return f"me {_words_of(filled)}" if filled["me"] else _words_of(filled)


def _change_mistakes(filled: Filled) -> Mapping[str, str]:
    return {} if filled["when"].strip() or filled["what"].strip() else {"when": schedule_texts.WHICH}


_WHEN = "tomorrow at 9:00, in 20 minutes, every Monday at 8:00"
NEW = PanelForm(
    name="reminder",
    label="New reminder…",
    title="New reminder",
    submit="Remind me",
    fields=(
        FormField("when", "When", hint=_WHEN, max_chars=200),
        FormField("what", "What", FieldKind.LINES, max_chars=MAX_CHARS - 300),
        FormField("me", "Recipient", FieldKind.PICK, choices={"me": "Only me, in a direct message"}, optional=True),
    ),
    words=_new_words,
)
CHANGE = PanelForm(
    name="reschedule",
    label=reply_texts.CHANGE_BUTTON,
    title="Change",
    submit="Change",
    fields=(
        FormField(
            "when", "New time", hint=f"Leave empty to keep the time. Examples: {_WHEN}", optional=True, max_chars=200
        ),
        FormField("what", "What", FieldKind.LINES, optional=True, max_chars=MAX_CHARS - 300),
    ),
    words=_words_of,
    mistakes=_change_mistakes,
)


def _is_order(words: str) -> bool:
    match words.casefold().split():
        case ["pause" | "resume" | "cancel", number]:
            return number.isdecimal()
        case _:
            return False


async def _home(visit: HomeVisit) -> HomeContent:
    return HomeContent(await visit.panel(page_words(visit.page) if visit.page > 1 else ""))


REMIND_COMMAND = declaration.Command(
    name="remind",
    summary="Set a reminder",
    run=remind,
    arguments=(
        declaration.Argument(
            "words",
            "When and what, for example: tomorrow at 9:00 to call Ann",
            hint="[me] tomorrow at 9:00 to call Ann",
        ),
    ),
    forms=(NEW,),
    bare=False,
    examples={
        "me tomorrow at 9:00 to call Ann": "remind you in a direct message",
        "every weekday at 8:30 standup": "post a reminder here repeatedly, for six months unless you set an end date",
        "in 20 minutes the oven": "post a reminder here once",
    },
)
COMMAND = declaration.Command(
    name="schedules",
    home=HomeSection(title=schedule_texts.HOME_SCHEDULES, show=_home),
    summary="See your reminders and scheduled tasks; pause, change, or cancel them",
    run=show,
    suggests={"words": _offered},
    prefills={CHANGE.name: _words_now},
    presses={ReplyAction.CHANGE: press_change},
    arguments=(
        declaration.Argument(
            "words",
            "pause N, resume N, cancel N, edit N WHEN, remind WHEN WHAT, or ask WHEN | WHAT",
            max_chars=MAX_CHARS,
        ),
    ),
    forms=(CHANGE,),
    phrases=("show schedules", "my schedules", "my reminders", "show my reminders"),
    means=lambda words, _: _is_order(words),
    examples={
        "remind me tomorrow at 9:00 to call Ann": "set a reminder, even where the platform has its own `/remind`",
        "ask every Monday at 8:00 | sum up the week here": "schedule a question that I answer at that time",
        "ask if changed every hour | is the site up?": "schedule a question, and post the answer only if it changed",
        "pause 3": "pause schedule 3; `resume 3` continues it",
        "edit 3 tomorrow at 10:00": "change the time of schedule 3; to change its text, add `|` and the new text",
        "cancel 3": "cancel schedule 3",
        "forbid": "for channel managers: forbid new scheduled posts here; `allow` permits them again",
        "all": "for operators: see when and where everyone's schedules run",
    },
)
