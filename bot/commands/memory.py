"""`/memory`: what the bot remembers about a person, and their decisions about it. `/forget`: erases what they told it,
after a confirmation, with a receipt.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from bot.access.acl import Requester
from bot.commands import declaration
from bot.host import ForgetAnswer, ForgetProgress, ForgetQuestions, MemoryAnswer, ShownEntry
from bot.memory import view
from bot.memory.desk import FACT_CHARS, MemoryDesk
from bot.memory.forget_desk import is_request
from bot.texts import memory_texts

FILE_NAME = "what-i-know.json"
MAY_DECIDE = "`/memory help` says what you may decide about it."  # For platforms without buttons at each entry
SURE = "I will erase this after a minute in which you can undo it, and not learn it again from the same message."
# Suggested while a person types.
WORDS = ("undo", "export", "pause", "pause here", "resume", "resume here", "share off", "share on", "help")


async def show(desk: MemoryDesk, call: declaration.CommandCall) -> declaration.Panel:
    answer = await desk.answer(await call.caller.private_asker(), call.words)
    return memory_panel(answer, call.caller.entry_chars, listed=not call.words)


def memory_panel(answer: MemoryAnswer, chars: int | None = None, *, listed: bool = False) -> declaration.Panel:
    """Return the panel of `/memory`. `chars`: see `Caller.entry_chars`; an entry that is cut off has its buttons only
    when it is opened. `listed`: the list was asked for, and nothing else.
    """
    if answer.file is not None:
        return declaration.Panel(answer.text, file=declaration.PanelFile(FILE_NAME, answer.file))
    if answer.opened:
        (entry,) = answer.entries
        back = declaration.PanelAction("Back", view.page_words(answer.page))
        return declaration.Panel(view.entry_line(entry), (*_entry_actions(entry), back))
    undo = (declaration.PanelAction("Undo", view.undo_words(answer.undo)),) if answer.undo else ()
    parts = [_entry_part(entry, chars) for entry in answer.entries]
    if answer.pages > 1:
        usage = memory_texts.PAGE_OF if chars is None else ""
        parts.append(declaration.page_part(answer.page, answer.pages, usage))
    if chars is None and listed and answer.entries:
        parts.append(declaration.PanelPart(MAY_DECIDE))
    return declaration.Panel(answer.text, undo, tuple(parts), page=answer.page, refused=answer.refused)


def _entry_part(entry: ShownEntry, chars: int | None) -> declaration.PanelPart:
    if chars is None or len(entry.text) <= chars:
        return declaration.PanelPart(view.entry_line(entry), _entry_actions(entry))
    return declaration.PanelPart(
        view.entry_line(entry, chars), (declaration.PanelAction(f"Open {entry.number}", view.show_words(entry.key)),)
    )


def _entry_actions(entry: ShownEntry) -> tuple[declaration.PanelAction, ...]:
    """The buttons of an entry."""
    key = entry.key
    actions = [
        declaration.PanelAction("Delete", view.delete_words(key), danger=True, confirm=SURE),
        CORRECT.button(view.correct_words(key)),
    ]
    if entry.may_undo:
        actions.append(declaration.PanelAction("Undo", view.undo_words(key)))
    if entry.everywhere:
        actions.append(declaration.PanelAction("Only where it was said", view.everywhere_words(key, on=False)))
    elif entry.may_go_everywhere:
        actions.append(declaration.PanelAction("Use everywhere", view.everywhere_words(key, on=True)))
    return tuple(actions)


async def _words_now(desk: MemoryDesk, call: declaration.CommandCall) -> declaration.Filled:
    """The current text of the entry to correct."""
    key = call.words.removeprefix(view.correct_words(""))
    answer = await desk.answer(await call.caller.private_asker(), view.show_words(key))
    return {"words": next((entry.plain[:FACT_CHARS] for entry in answer.entries if entry.key == key), "")}


def _corrected(filled: declaration.Filled) -> str:
    return filled["words"]


CORRECT = declaration.PanelForm(
    name="correct",
    label="Correct",
    title="Correct an entry",
    submit="Correct",
    fields=(declaration.FormField("words", "In your own words", declaration.FieldKind.LINES, max_chars=FACT_CHARS),),
    words=_corrected,
)


async def _words_offered(*_: object) -> Sequence[str]:
    return WORDS


COMMAND = declaration.Command(
    name="memory",
    summary="See what I remember about you, and decide about it",
    run=show,
    suggests={"words": _words_offered},
    prefills={CORRECT.name: _words_now},
    forms=(CORRECT,),
    arguments=(
        declaration.Argument(
            "words",
            "delete 3, undo, correct 3 NEW WORDS, everywhere 3, here 3, export, pause, share off or help",
        ),
    ),
    phrases=("show memory", "show my memory"),
    means=lambda words, _: not isinstance(view.read_memory_request(words), view.UnclearMemory),
    examples={
        written.removeprefix("/memory "): what for written, what in memory_texts.MEMORY_HELP.items() if " " in written
    },
)


# Forgetting.

# What the words can name; for a time or a subject, they say which.
SCOPES = {
    "thread": "this conversation",
    "time": "a stretch of time",
    "about": "a subject",
    "everything": "everything",
}

TIMES = ("2 hours", "today", "yesterday", "7 days", "since monday")
# Examples that are suggested while a person types.
FORGET_WORDS = ("this thread", "everything", *TIMES, "about …")


async def _forget_words(_: ForgetQuestions, __: Requester, given: Mapping[str, str]) -> Sequence[str]:
    """Suggest no subject: only the person can name one."""
    return {"": FORGET_WORDS, "time": TIMES}.get(given.get("scope", ""), ())


async def forget(desk: ForgetQuestions, call: declaration.CommandCall) -> declaration.Panel:
    """Ask for confirmation of what they named; or carry out a button of that question."""
    words, keeps = call.words.strip(), bool(call.options.get(KEEP_REPLIES))
    # The time zone was asked for in between: the subject travels in the button, and the question is asked again.
    if call.pressed and words.startswith(_ZONE):
        subject, _, zone = words.removeprefix(_ZONE).rpartition(" ")
        if problem := await call.caller.keep_zone(zone):
            return declaration.Panel(problem, refused=True)
        words = f"{_ASK}{subject}"
    asker = await call.caller.private_asker()

    async def show_progress(progress: ForgetProgress) -> None:
        await call.show(_progress_panel(progress))

    if call.pressed and not words.startswith(_ASK):
        if words == NOTHING:
            return declaration.Panel(memory_texts.FORGET_DECLINED)
        if words == STOP.words:
            return declaration.Panel(
                memory_texts.FORGET_STOPPED
                if await desk.stop_everywhere(asker.person.id)
                else memory_texts.NOTHING_SOUGHT
            )
        return _question(await desk.forget(asker, words, replies=not keeps, tell=show_progress), keeps=keeps)
    subject = scoped(words.removeprefix(_ASK), call.options.get("scope", ""))
    if not subject:
        text = memory_texts.FORGET_WHICH if asker.thread else f"{memory_texts.FORGET_WHICH} {NO_THREAD_HERE}"
        return declaration.Panel(text, (*choices(thread=bool(asker.thread)), KEEP))
    answer = await desk.ask(asker, subject, show_progress)
    zone = await call.caller.ask_zone(_ZONE + " ".join(subject.split())) if answer.by_clock else None
    return replace(_question(answer, keeps=keeps), parts=(zone,) if zone else ())


def choices(*, thread: bool) -> tuple[declaration.PanelAction, ...]:
    """Return the choices for a person who has not said what to forget; `thread`: whether they are in one."""
    buttons = {"This thread…": "thread"} if thread else {}
    buttons |= {"The last 2 hours…": "2 hours", "Today…": "today", "Everything…": "everything"}
    return (
        *(declaration.PanelAction(label, f"{_ASK}{words}") for label, words in buttons.items()),
        SOMETHING_ELSE.button(),
    )


def agreement(text: str, token: str, wider: str = "", *, keeps: bool | None = None) -> declaration.Panel:
    """Return the question whether to forget what these tokens stand for. `keeps`: whether the box to keep the bot's
    replies is ticked; None for no box.
    """
    wider_action = (declaration.PanelAction("Forget those, too", wider, danger=True),) if wider else ()
    boxes = {} if keeps is None else {KEEP_REPLIES: keeps}
    return declaration.Panel(
        text, (declaration.PanelAction("Forget", token, danger=True), *wider_action, KEEP), boxes=boxes
    )


def scoped(what: str, scope: str) -> str:
    """Return the words for the desk, from what a person wrote and chose."""
    match scope:
        case "about" if what.strip() and not what.casefold().startswith("about "):
            return f"about {what}"
        case "thread" | "everything":
            return scope
        case _:
            return what


def _progress_panel(progress: ForgetProgress) -> declaration.Panel:
    if progress.erasing:
        return declaration.Panel(memory_texts.ERASING)
    return declaration.Panel(memory_texts.looking(progress.found), (STOP,))


def _question(answer: ForgetAnswer, *, keeps: bool) -> declaration.Panel:
    if not answer.token:
        return declaration.Panel(answer.text, refused=answer.refused)
    return agreement(answer.text, answer.token, answer.wider, keeps=keeps)


KEEP_REPLIES = "keep_replies"
_KEEP_REPLIES = "Keep my replies to it where they are shown"
# The prefix of a button that asks about a subject. Other buttons hold the token of what they agree to.
_ASK = "ask "
_ZONE = "zone "  # The same, when a chosen time zone follows the subject
NOTHING = "nothing"  # The button that keeps everything
KEEP = declaration.PanelAction("Keep everything", NOTHING)
STOP = declaration.PanelAction("Stop", "stop")
NO_THREAD_HERE = "To forget one thread, mention me with “forget this thread” in it."
SOMETHING_ELSE = declaration.PanelForm(
    name="forget",
    label="Something else…",
    title="Forget",
    submit="Show",
    fields=(
        declaration.FormField(
            "words",
            "What shall I forget?",
            hint="A name, a word or two; or 2 hours, today, since Monday. You will see it before it is erased.",
        ),
        declaration.FormField(
            "scope",
            "That means",
            declaration.FieldKind.CHOICE,
            choices={"about": "What speaks of it", "time": "What I said in that time"},
        ),
        declaration.FormField(KEEP_REPLIES, "My replies", declaration.FieldKind.BOX, hint=_KEEP_REPLIES, optional=True),
    ),
    words=lambda filled: scoped(filled["words"], filled["scope"]),
)

FORGET_COMMAND = declaration.Command(
    name="forget",
    summary="Forget what you told me",
    run=forget,
    suggests={"what": _forget_words},
    forms=(SOMETHING_ELSE,),
    arguments=(
        declaration.Argument("what", "thread, everything, 2 hours, since Monday, or about and a word"),
        declaration.Argument("scope", "Which kind of thing that is", choices=SCOPES),
        declaration.Argument(KEEP_REPLIES, _KEEP_REPLIES, declaration.ArgumentKind.FLAG),
    ),
    open_to_all=True,
    also_called=("delete", "erase"),
    means=lambda words, now: is_request(words.strip(" .!"), now),
    examples={written.removeprefix("/forget "): what for written, what in memory_texts.FORGET_HELP.items()},
)
