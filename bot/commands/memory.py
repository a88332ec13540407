"""What is remembered about somebody, and what they decide about it: `/memory`; `/forget`, which erases what they told,
after a question, with a receipt.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from bot.access.acl import Requester
from bot.commands import declaration
from bot.host import CommandHost, ForgetAnswer, ForgetProgress, MemoryAnswer, ShownEntry
from bot.memory import view
from bot.memory.desk import FACT_CHARS
from bot.memory.forget_desk import is_request
from bot.texts import memory_texts

FILE_NAME = "what-i-know.json"
MAY_DECIDE = "`/memory help` says what you may decide about it."  # Elsewhere each entry has its buttons
SURE = "I will erase this after a minute in which you can undo it, and not learn it again from the same message."
# Offered while somebody types.
WORDS = ("undo", "export", "pause", "pause here", "resume", "resume here", "share off", "share on", "help")


async def show(call: declaration.CommandCall) -> declaration.Panel:
    answer = await call.host.memory(await call.caller.viewer(), call.words)
    return memory_panel(answer, call.caller.entry_chars, listed=not call.words)


def memory_panel(answer: MemoryAnswer, chars: int | None = None, *, listed: bool = False) -> declaration.Panel:
    """What `/memory` answers. `chars`: see `Caller.entry_chars`; an entry that is cut is decided about where it stands
    whole. `listed`: the list was asked for, and nothing else.
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
        parts.append(_pages_part(answer, buttons=chars is not None))
    if chars is None and listed and answer.entries:
        parts.append(declaration.PanelPart(MAY_DECIDE))
    return declaration.Panel(answer.text, undo, tuple(parts), refused=answer.refused)


def _entry_part(entry: ShownEntry, chars: int | None) -> declaration.PanelPart:
    if chars is None or len(entry.text) <= chars:
        return declaration.PanelPart(view.entry_line(entry), _entry_actions(entry))
    return declaration.PanelPart(
        view.entry_line(entry, chars), (declaration.PanelAction(f"Open {entry.number}", view.show_words(entry.key)),)
    )


def _entry_actions(entry: ShownEntry) -> tuple[declaration.PanelAction, ...]:
    """What may be decided about an entry."""
    key = entry.key
    actions = [
        declaration.PanelAction("Delete", view.delete_words(key), danger=True, confirm=SURE),
        CORRECT.button(view.correct_words(key)),
    ]
    if entry.everywhere:
        actions.append(declaration.PanelAction("Only where it was said", view.everywhere_words(key, on=False)))
    elif entry.may_go_everywhere:
        actions.append(declaration.PanelAction("Use everywhere", view.everywhere_words(key, on=True)))
    return tuple(actions)


def _pages_part(answer: MemoryAnswer, *, buttons: bool) -> declaration.PanelPart:
    """Which page this is, and the way to others."""
    if not buttons:
        another = answer.page % answer.pages + 1
        return declaration.PanelPart(memory_texts.PAGE_OF.format(page=answer.page, pages=answer.pages, another=another))
    around = {"Earlier page": answer.page - 1, "Next page": answer.page + 1}
    turning = [
        declaration.PanelAction(label, view.page_words(page))
        for label, page in around.items()
        if 1 <= page <= answer.pages
    ]
    return declaration.PanelPart(f"Page {answer.page} of {answer.pages}", tuple(turning))


async def _words_now(call: declaration.CommandCall) -> Mapping[str, str]:
    """What an entry says that is to be corrected."""
    key = call.words.removeprefix(view.correct_words(""))
    answer = await call.host.memory(await call.caller.viewer(), view.show_words(key))
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
    prefill=_words_now,
)


async def _words_offered(*_: object) -> Sequence[str]:
    return WORDS


COMMAND = declaration.Command(
    name="memory",
    summary="See what I remember about you, and decide about it",
    run=show,
    forms=(CORRECT,),
    arguments=(
        declaration.Argument(
            "words",
            "delete 3, undo, correct 3 NEW WORDS, everywhere 3, here 3, export, pause, share off or help",
            suggests=_words_offered,
        ),
    ),
    phrases=("show memory", "show my memory"),
    means=lambda words, _: not isinstance(view.read_memory_request(words), view.UnclearMemory),
    examples={
        written.removeprefix("/memory "): what for written, what in memory_texts.MEMORY_HELP.items() if " " in written
    },
)


# What somebody told the bot is erased.

# What it may be about; for a time or a subject its words say which.
SCOPES = {
    "thread": "this conversation",
    "time": "a stretch of time",
    "about": "a subject",
    "everything": "everything",
}

TIMES = ("2 hours", "today", "yesterday", "7 days", "since monday")
# Examples of what it understands, offered while somebody types.
FORGET_WORDS = ("this thread", "everything", *TIMES, "about …")


async def _forget_words(_: CommandHost, __: Requester, given: Mapping[str, str]) -> Sequence[str]:
    """A subject is theirs alone to name."""
    return {"": FORGET_WORDS, "time": TIMES}.get(given.get("scope", ""), ())


async def forget(call: declaration.CommandCall) -> declaration.Panel:
    """Ask whether to forget what they named; or, when they press a button of that question, do what it says."""
    words, desk, replies = call.words.strip(), call.host.forgetting, bool(call.options.get(REPLIES))
    if call.pressed and words.startswith(_ZONE):
        asked, _, zone = words.removeprefix(_ZONE).rpartition(" ")
        if told := await call.caller.keep_zone(zone):
            return declaration.Panel(told, refused=True)
        words = f"{_ASK}{asked}"
    who = await call.caller.forgetter()

    async def tell(progress: ForgetProgress) -> None:
        await call.show(_meanwhile(progress))

    if call.pressed and not words.startswith(_ASK):
        if words == NOTHING:
            return declaration.Panel(memory_texts.FORGET_DECLINED)
        if words == STOP.words:
            return declaration.Panel(
                memory_texts.FORGET_STOPPED if await desk.stop_everywhere(who.person) else memory_texts.NOTHING_SOUGHT
            )
        return _question(await desk.forget(who, words, replies=replies, tell=tell), replies=replies)
    asked = scoped(words.removeprefix(_ASK), call.options.get("scope", ""))
    if not asked:
        here = memory_texts.FORGET_WHICH if who.thread else f"{memory_texts.FORGET_WHICH} {NO_THREAD_HERE}"
        return declaration.Panel(here, (*choices(thread=bool(who.thread)), KEEP))
    answer = await desk.ask(who, asked, tell)
    zone = await call.caller.ask_zone(_ZONE + " ".join(asked.split())) if answer.by_clock else None
    return replace(_question(answer, replies=replies), parts=(zone,) if zone else ())


def choices(*, thread: bool) -> tuple[declaration.PanelAction, ...]:
    """What is offered to somebody who has not said what to forget; `thread`: whether they are in one."""
    asked = {"This thread…": "thread"} if thread else {}
    asked |= {"The last 2 hours…": "2 hours", "Today…": "today", "Everything…": "everything"}
    return (
        *(declaration.PanelAction(label, f"{_ASK}{words}") for label, words in asked.items()),
        SOMETHING_ELSE.button(),
    )


def agreement(text: str, token: str, wider: str = "", *, replies: bool | None = None) -> declaration.Panel:
    """The question whether to forget what these tokens stand for. `replies`: whether the box for them is ticked; None:
    there is none.
    """
    too = (declaration.PanelAction("Forget those, too", wider, danger=True),) if wider else ()
    boxes = {} if replies is None else {REPLIES: replies}
    return declaration.Panel(text, (declaration.PanelAction("Forget", token, danger=True), *too, KEEP), boxes=boxes)


def scoped(what: str, scope: str) -> str:
    """The words that the desk reads, of what somebody wrote and chose."""
    match scope:
        case "about" if what.strip() and not what.casefold().startswith("about "):
            return f"about {what}"
        case "thread" | "everything":
            return scope
        case _:
            return what


def _meanwhile(progress: ForgetProgress) -> declaration.Panel:
    if progress.erasing:
        return declaration.Panel(memory_texts.ERASING)
    return declaration.Panel(memory_texts.looking(progress.found), (STOP,))


def _question(answer: ForgetAnswer, *, replies: bool) -> declaration.Panel:
    if not answer.token:
        return declaration.Panel(answer.text, refused=answer.refused)
    return agreement(answer.text, answer.token, answer.wider, replies=replies)


REPLIES = "delete_replies"
_DELETE_REPLIES = "Delete my replies to it here, too"
# Before what a button asks about. Behind other buttons stands what they agree to, as the desk has written it.
_ASK = "ask "
_ZONE = "zone "  # The same, where the time zone that was chosen follows it
NOTHING = "nothing"  # What whoever keeps everything agrees to
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
        declaration.FormField(REPLIES, "My replies", declaration.FieldKind.BOX, hint=_DELETE_REPLIES, optional=True),
    ),
    words=lambda filled: scoped(filled["words"], filled["scope"]),
)

FORGET_COMMAND = declaration.Command(
    name="forget",
    summary="Forget what you told me",
    run=forget,
    forms=(SOMETHING_ELSE,),
    arguments=(
        declaration.Argument(
            "what", "thread, everything, 2 hours, since Monday, or about and a word", suggests=_forget_words
        ),
        declaration.Argument("scope", "Which kind of thing that is", choices=SCOPES),
        declaration.Argument(REPLIES, _DELETE_REPLIES, declaration.ArgumentKind.FLAG),
    ),
    open_to_all=True,
    also_called=("delete", "erase"),
    means=lambda words, now: is_request(words.strip(" .!"), now),
    examples={written.removeprefix("/forget "): what for written, what in memory_texts.FORGET_HELP.items()},
)
