"""`/forget`."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from bot.chat.askers import Requester
from bot.chat.commands import declaration
from bot.chat.commands.declaration import CommandEntry, HomeContent, HomeSection, HomeVisit
from bot.chat.panels import FieldKind, FormField, Panel, PanelAction, PanelForm
from bot.forgetting import texts as forgetting_texts
from bot.forgetting.answers import ForgetAnswer, ForgetProgress, ForgetQuestions
from bot.forgetting.requests import is_request

# What the words can name; for a time or a subject, they say which.
SCOPES = {
    "thread": "this conversation",
    "time": "a period",
    "about": "a subject",
    "everything": "everything",
}

TIMES = ("2 hours", "today", "yesterday", "7 days", "since monday")
# Examples that are suggested while a person types.
FORGET_WORDS = ("this thread", "everything", *TIMES, "about …")


async def _forget_words(_: ForgetQuestions, __: Requester, given: Mapping[str, str]) -> Sequence[str]:
    """Suggest no subject: only the person can name one."""
    return {"": FORGET_WORDS, "time": TIMES}.get(given.get("scope", ""), ())


async def forget(service: ForgetQuestions, call: declaration.CommandCall) -> Panel:
    """Ask for confirmation of what they named; or carry out a button of that question."""
    words, keeps = call.words.strip(), bool(call.options.get(KEEP_REPLIES))
    # The time zone was asked for in between: the subject travels in the button, and the question is asked again.
    if call.pressed and words.startswith(_ZONE):
        subject, _, zone = words.removeprefix(_ZONE).rpartition(" ")
        if problem := await call.caller.keep_zone(zone):
            return Panel(problem, refused=True)
        words = f"{_ASK}{subject}"
    asker = await call.caller.private_asker()

    async def show_progress(progress: ForgetProgress) -> None:
        await call.show(_progress_panel(progress))

    if call.pressed and not words.startswith(_ASK):
        if words == NOTHING:
            return Panel(forgetting_texts.FORGET_DECLINED)
        if words == STOP.words:
            return Panel(
                forgetting_texts.FORGET_STOPPED
                if await service.stop_everywhere(asker.person.id)
                else forgetting_texts.NOTHING_SOUGHT
            )
        # What a platform without buttons has shown is text that nobody can delete.
        replies = None if call.caller.entry_chars is None else not keeps
        return _question(await service.forget(asker, words, replies=replies, tell=show_progress), keeps=keeps)
    subject = scoped(words.removeprefix(_ASK), call.options.get("scope", ""))
    if not subject:
        in_thread = bool(asker.thread)
        which = forgetting_texts.forget_which(in_thread=in_thread)
        text = which if in_thread else f"{which} {NO_THREAD_HERE}"
        return Panel(text, (*choices(thread=in_thread), KEEP), takes_words=True)
    answer = await service.ask(asker, subject, show_progress)
    zone = await call.caller.ask_zone(_ZONE + " ".join(subject.split())) if answer.by_clock else None
    return replace(_question(answer, keeps=keeps), parts=(zone,) if zone else ())


def choices(*, thread: bool) -> tuple[PanelAction, ...]:
    """Return the choices for a person who has not said what to forget; `thread`: whether they are in one."""
    buttons = {"This thread…": "thread"} if thread else {}
    buttons |= {"The last 2 hours…": "2 hours", "Today…": "today", "Everything…": "everything"}
    return (
        *(PanelAction(label, f"{_ASK}{words}") for label, words in buttons.items()),
        SOMETHING_ELSE.button(),
    )


def agreement(text: str, token: str, wider: str = "", *, keeps: bool | None = None) -> Panel:
    """Return the question whether to forget what these tokens stand for. `keeps`: whether the box to keep the bot's
    replies is ticked; None for no box.
    """
    wider_action = (PanelAction("Forget those, too", wider, danger=True, typed=("all",)),) if wider else ()
    boxes = {} if keeps is None else {KEEP_REPLIES: keeps}
    return Panel(text, (PanelAction("Forget", token, danger=True, typed=("yes",)), *wider_action, KEEP), boxes=boxes)


def scoped(what: str, scope: str) -> str:
    """Return the words for the service, from what a person wrote and chose."""
    match scope:
        case "about" if what.strip() and not what.casefold().startswith("about "):
            return f"about {what}"
        case "thread" | "everything":
            return scope
        case _:
            return what


def _progress_panel(progress: ForgetProgress) -> Panel:
    if progress.erasing:
        return Panel(forgetting_texts.ERASING)
    return Panel(forgetting_texts.looking(progress.found), (STOP,))


def _question(answer: ForgetAnswer, *, keeps: bool) -> Panel:
    if not answer.token:
        return Panel(answer.text, refused=answer.refused)
    return agreement(answer.text, answer.token, answer.wider, keeps=keeps)


KEEP_REPLIES = "keep_replies"
KEEP_REPLIES_WORDS = "Keep my replies visible"
# The prefix of a button that asks about a subject. Other buttons hold the token of what they agree to.
_ASK = "ask "
_ZONE = "zone "  # The same, when a chosen time zone follows the subject
NOTHING = "nothing"  # The button that keeps everything
KEEP = PanelAction("Keep everything", NOTHING, typed=("",))
STOP = PanelAction("Stop", "stop")
NO_THREAD_HERE = "To forget a thread, mention me in it and write “forget this thread”."
SOMETHING_ELSE = PanelForm(
    name="forget",
    label="Something else…",
    title="Forget",
    submit="Show",
    fields=(
        FormField(
            "words",
            "What should I forget?",
            hint="A name or a few words; or 2 hours, today, since Monday. I show you what I found before I erase it.",
        ),
        FormField(
            "scope",
            "Type",
            FieldKind.CHOICE,
            choices={"about": "Everything that mentions these words", "time": "What you said in that period"},
        ),
        FormField(KEEP_REPLIES, "My replies", FieldKind.BOX, hint=KEEP_REPLIES_WORDS, optional=True),
    ),
    words=lambda filled: scoped(filled["words"], filled["scope"]),
)


async def _home(_: HomeVisit) -> HomeContent:
    return HomeContent(Panel(forgetting_texts.FORGET_SECTION, choices(thread=False)))


FORGET_COMMAND = declaration.Command(
    name="forget",
    summary="Forget what you told me",
    run=forget,
    home=HomeSection(title=forgetting_texts.HOME_FORGET, show=_home),
    suggests={"what": _forget_words},
    forms=(SOMETHING_ELSE,),
    stop=STOP,
    means_thread=True,
    entry=CommandEntry(
        id="cogency_forget_thread",
        label=forgetting_texts.FORGET_THREAD,
        summary=forgetting_texts.FORGET_THREAD_WHAT,
        words="thread",
    ),
    arguments=(
        declaration.Argument("what", "thread, everything, 2 hours, since Monday, or “about” and a word"),
        declaration.Argument("scope", "Type", choices=SCOPES),
        declaration.Argument(KEEP_REPLIES, KEEP_REPLIES_WORDS, declaration.ArgumentKind.FLAG),
    ),
    open_to_all=True,
    also_called=("delete", "erase"),
    means=lambda words, now: is_request(words.strip(" .!"), now),
    examples={written.removeprefix("/forget "): what for written, what in forgetting_texts.FORGET_HELP.items()},
)
