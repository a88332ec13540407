"""`/remind` and `/schedules`: what is said or done at a time that somebody names."""

from collections.abc import Mapping, Sequence

from agent.schedules import ScheduleState, source_of
from bot.access.acl import Requester, ScheduleAnswer, ShownSchedule
from bot.commands import declaration
from bot.host import CommandHost, PlaceAsker
from bot.schedule_reading import MAX_CHARS
from bot.texts import command_texts, schedule_texts

ZONE = "zone "  # Before what was asked, where the time zone that was chosen follows it
BUTTON_CHARS = 80  # Of what a button tells its command; Discord has the least room
CHANGES = "edit "  # How words begin that change one; with its number alone, they are those of the form's button
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
OF_OPERATORS = ("all",)  # Offered while somebody types; what is in capitals they replace


async def asker_of(call: declaration.CommandCall) -> PlaceAsker:
    asker, viewer = await call.caller.tool_asker(), await call.caller.viewer()
    source = source_of(asker.person.id)
    return PlaceAsker(asker.person, asker.authority, asker.place, source, call.caller.channel, viewer.manages)


async def remind(call: declaration.CommandCall) -> declaration.Panel:
    words = call.words.strip()
    if call.pressed and words.startswith(ZONE):
        words, _, zone = words.removeprefix(ZONE).rpartition(" ")
        if told := await call.caller.keep_zone(zone):
            return declaration.Panel(told, refused=True)
    if not words:
        return declaration.Panel(schedule_texts.REMIND_USAGE, (NEW.button(),))
    answer = await call.host.schedules.remind(await asker_of(call), words)
    return await _panel(call, answer, words)


async def show(call: declaration.CommandCall) -> declaration.Panel:
    words = call.words.strip()
    if call.pressed and words.startswith(ZONE):
        words, _, zone = words.removeprefix(ZONE).rpartition(" ")
        if told := await call.caller.keep_zone(zone):
            return declaration.Panel(told, refused=True)
    return await _panel(call, await call.host.schedules.answer(await asker_of(call), words), words)


async def _panel(call: declaration.CommandCall, answer: ScheduleAnswer, words: str) -> declaration.Panel:
    buttons = call.caller.entry_chars is not None
    if answer.by_clock:
        again = ZONE + (words if len(words) < BUTTON_CHARS - len(ZONE) else "")
        zone = await call.caller.ask_zone(again.strip() if again == ZONE else again)
        return declaration.Panel(answer.text, parts=(zone,) if zone else (), refused=True)
    if answer.choices:
        fitting = [(label, said) for label, said in answer.choices if len(said) <= BUTTON_CHARS]
        actions = tuple(declaration.PanelAction(label, said) for label, said in fitting)
        return declaration.Panel(answer.text, actions, refused=answer.refused)
    return schedule_panel(answer, buttons=buttons)


def schedule_panel(answer: ScheduleAnswer, *, buttons: bool = True) -> declaration.Panel:
    """What was done, or the list. `buttons`: whether the platform has some; else what may be written is said."""
    listed = [one for one in answer.entries if one.text]
    alone = [one for one in answer.entries if not one.text]
    text = answer.text
    if not buttons:
        hints = [schedule_texts.HOW_TO_CHANGE.format(id=one.id) for one in alone]
        hints += [schedule_texts.USAGE] if listed else []
        text = "\n".join([text, *hints])
    parts = tuple(declaration.PanelPart(one.text, entry_actions(one)) for one in listed)
    parts += (_pages(answer, buttons=buttons),) if answer.pages > 1 else ()
    actions = tuple(action for one in alone for action in entry_actions(one))
    return declaration.Panel(text, actions, parts, refused=answer.refused)


def _pages(answer: ScheduleAnswer, *, buttons: bool) -> declaration.PanelPart:
    if not buttons:
        another = answer.page % answer.pages + 1
        return declaration.PanelPart(
            schedule_texts.PAGE_OF.format(page=answer.page, pages=answer.pages, another=another)
        )
    around = {"Earlier page": answer.page - 1, "Next page": answer.page + 1}
    turning = [
        declaration.PanelAction(label, f"page {page}") for label, page in around.items() if 1 <= page <= answer.pages
    ]
    return declaration.PanelPart(f"Page {answer.page} of {answer.pages}", tuple(turning))


def entry_actions(one: ShownSchedule) -> tuple[declaration.PanelAction, ...]:
    """What may be decided about one; each is a word of `/schedules`."""
    cancel = declaration.PanelAction(
        command_texts.CANCEL_BUTTON, f"cancel {one.id}", danger=True, confirm=schedule_texts.SURE
    )
    match one.state:
        case ScheduleState.ACTIVE:
            pause = declaration.PanelAction("Pause", f"pause {one.id}")
            return (CHANGE.button(f"edit {one.id}"), *((pause,) if one.text else ()), cancel)
        case ScheduleState.PAUSED:
            return (declaration.PanelAction("Resume", f"resume {one.id}"), cancel)
        case ScheduleState.ENDED:
            return (CHANGE.button(f"edit {one.id}"), cancel)
        case ScheduleState.WORKING:
            return (declaration.PanelAction("Stop", cancel.words),)


async def _offered(host: CommandHost, who: Requester, _: Mapping[str, str]) -> Sequence[str]:
    return (*WORDS, *OF_OPERATORS) if host.operates(who.person) else WORDS


async def _words_now(call: declaration.CommandCall) -> declaration.Filled:
    """What it says that is to be changed."""
    answer = await call.host.schedules.answer(await asker_of(call), f"show {call.words.removeprefix(CHANGES)}")
    return {"what": next((one.words for one in answer.entries), "")}


def _spelled(filled: declaration.Filled) -> str:
    when, what = filled["when"].replace("|", " ").strip(), " ".join(filled["what"].split())
    return f"{when} | {what}" if what else when


def _new_words(filled: declaration.Filled) -> str:
    return f"me {_spelled(filled)}" if filled["me"] else _spelled(filled)


def _change_mistakes(filled: declaration.Filled) -> Mapping[str, str]:
    return {} if filled["when"].strip() or filled["what"].strip() else {"when": schedule_texts.WHICH}


_WHEN = "tomorrow at 9:00, in 20 minutes, every Monday at 8:00"
NEW = declaration.PanelForm(
    name="reminder",
    label="New reminder…",
    title="New reminder",
    submit="Remind me",
    fields=(
        declaration.FormField("when", "When", hint=_WHEN, max_chars=200),
        declaration.FormField("what", "What", declaration.FieldKind.LINES, max_chars=MAX_CHARS - 300),
        declaration.FormField(
            "me", "To whom", declaration.FieldKind.PICK, choices={"me": "Me alone, in a direct message"}, optional=True
        ),
    ),
    words=_new_words,
)
CHANGE = declaration.PanelForm(
    name="reschedule",
    label=command_texts.CHANGE_BUTTON,
    title="Change",
    submit="Change",
    fields=(
        declaration.FormField("when", "New time", hint=f"Empty: as it is. {_WHEN}", optional=True, max_chars=200),
        declaration.FormField("what", "What", declaration.FieldKind.LINES, optional=True, max_chars=MAX_CHARS - 300),
    ),
    words=_spelled,
    mistakes=_change_mistakes,
    prefill=_words_now,
)


def _is_order(words: str) -> bool:
    match words.casefold().split():
        case ["pause" | "resume" | "cancel", number]:
            return number.isdecimal()
        case _:
            return False


REMIND_COMMAND = declaration.Command(
    name="remind",
    summary="Remind you of something at a time that you name",
    run=remind,
    arguments=(
        declaration.Argument(
            "words", "When, and what: tomorrow at 9:00 to call Ann", hint="[me] tomorrow at 9:00 to call Ann"
        ),
    ),
    forms=(NEW,),
    bare=False,
    examples={
        "me tomorrow at 9:00 to call Ann": "a message to you alone, at that time",
        "every weekday at 8:30 standup": "here, again and again, for half a year if you name no end",
        "in 20 minutes the oven": "once, here",
    },
)
COMMAND = declaration.Command(
    name="schedules",
    summary="See what I do for you at a time; pause, change or cancel it",
    run=show,
    arguments=(
        declaration.Argument(
            "words",
            "pause 3, resume 3, cancel 3, edit 3 NEW TIME, remind WHEN WHAT, or ask WHEN | WHAT",
            suggests=_offered,
            max_chars=MAX_CHARS,
        ),
    ),
    forms=(CHANGE,),
    phrases=("show schedules", "my schedules", "my reminders", "show my reminders"),
    means=lambda words, _: _is_order(words),
    examples={
        "remind me tomorrow at 9:00 to call Ann": "the same as `/remind`, also where a platform has that of its own",
        "ask every Monday at 8:00 | sum up the week here": "have me do something at a time, as if you asked it then",
        "pause 3": "let it rest; `resume 3` goes on with it",
        "edit 3 tomorrow at 10:00": "another time; behind a `|` other words",
        "cancel 3": "take it back",
        "forbid": "whoever manages a channel: nothing is posted here at a time; `allow` takes that back",
        "all": "operators: when everybody's come, and where",
    },
)
