"""`/forget`: what somebody told the bot is erased, after a question, with a receipt."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from bot.access.acl import Requester
from bot.commands import declaration
from bot.host import CommandHost, ForgetAnswer, ForgetProgress
from bot.memory.forget_desk import is_request
from bot.texts import memory_texts

SCOPES = {
    "thread": "this conversation",
    "time": "a stretch of time",
    "about": "a subject",
    "everything": "everything",
}
"""What it may be about; for a time or a subject its words say which."""

TIMES = ("2 hours", "today", "yesterday", "7 days", "since monday")
WORDS = ("this thread", "everything", *TIMES, "about …")
"""Examples of what it understands, offered while somebody types."""


async def _examples(_: CommandHost, __: Requester, given: Mapping[str, str]) -> Sequence[str]:
    """A subject is theirs alone to name."""
    return {"": WORDS, "time": TIMES}.get(given.get("scope", ""), ())


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
_ASK = "ask "
"""Before what a button asks about. Behind other buttons stands what they agree to, as the desk has written it."""
_ZONE = "zone "
"""The same, where the time zone that was chosen follows it."""
NOTHING = "nothing"
"""What whoever keeps everything agrees to."""
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

COMMAND = declaration.Command(
    name="forget",
    summary="Forget what you told me",
    run=forget,
    forms=(SOMETHING_ELSE,),
    arguments=(
        declaration.Argument(
            "what", "thread, everything, 2 hours, since Monday, or about and a word", suggests=_examples
        ),
        declaration.Argument("scope", "Which kind of thing that is", choices=SCOPES),
        declaration.Argument(REPLIES, _DELETE_REPLIES, declaration.ArgumentKind.FLAG),
    ),
    open_to_all=True,
    also_called=("delete", "erase"),
    means=lambda words, now: is_request(words.strip(" .!"), now),
    examples={written.removeprefix("/forget "): what for written, what in memory_texts.FORGET_HELP.items()},
)
