"""What `/forget` shows to be clicked or filled in, and how that is read. Pure.

Above: `forgetting`, `home_blocks`. Below: `block_kit`, `payload`, `reply_to`.

Rule: beside what it does and for whom, a button carries what "this thread" is.
"""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Final

from agent.messages import Json, JsonObject
from bot.platforms.slack.payload import fields, items, text
from bot.platforms.slack.replies.reply_to import ReplyTo, of_window
from bot.platforms.slack.views.block_kit import (
    button,
    carried_by,
    carried_by_view,
    field,
    line,
    option,
    picked,
    row,
    typed,
    window,
)

ACTION: Final = "cogency_forget"
AGREE: Final = "agree"
WORDS: Final = "words"
KEEP: Final = "keep"
REPLIES: Final = "cogency_forget_replies"
VIEW: Final = "cogency_forget_view"
_TYPED: Final = "words"
_SCOPE: Final = "scope"
_ABOUT: Final = "about"
_SCOPES: Final[tuple[Json, ...]] = (option("What speaks of it", _ABOUT), option("What I said in that time", "time"))
_REPLIES_TOO: Final[Json] = option("Delete my replies to it here, too", "replies")


@dataclass(frozen=True, slots=True)
class Clicked:
    """`what`: AGREE to `token`; WORDS: ask for `words`, or for a window; or KEEP. `thread`: what "this thread" is."""

    what: str
    user: str
    token: str = ""
    words: str = ""
    thread: tuple[str, ...] = ()
    replies: bool = False


@dataclass(frozen=True, slots=True)
class Wished:
    """What was said in the window, as words; `to` is where the buttons stand."""

    words: str
    thread: tuple[str, ...]
    to: ReplyTo
    replies: bool = False


def ways(user: str, thread: Collection[str]) -> list[Json]:
    """The buttons of somebody who has not said what to forget."""
    buttons = [_button(WORDS, "Forget everything", user, thread, number=1, words="everything")]
    if thread:
        buttons.insert(0, _button(WORDS, "Forget this thread", user, thread, number=0, words="thread"))
    return row([*buttons, _button(WORDS, "Something else…", user, thread, number=2), _keep(user)])


def ways_at_home(user: str) -> list[Json]:
    """The same where there is no thread, and room for more."""
    asked = ("2 hours", "today", "everything")
    labels = ("The last 2 hours…", "Today…", "Everything…")
    buttons = [
        _button(WORDS, label, user, (), number=number, words=words)
        for number, (label, words) in enumerate(zip(labels, asked, strict=True))
    ]
    return row([*buttons, _button(WORDS, "About something…", user, (), number=len(asked))])


def agreeing(user: str, thread: Collection[str], token: str, wider: str = "", *, replies: bool = False) -> list[Json]:
    """The buttons below what would be forgotten. `wider`: with what may have been made of it. `replies`: the box for
    the bot's replies is ticked.
    """
    ticked: Json = [_REPLIES_TOO]
    box: dict[str, Json] = {"type": "checkboxes", "action_id": REPLIES, "options": [_REPLIES_TOO]}
    agree = _button(AGREE, "Forget", user, thread, token=token, style="danger")
    too = [_button(AGREE, "Forget those, too", user, thread, number=1, token=wider, style="danger")] if wider else []
    return row([box | ({"initial_options": ticked} if replies else {}), agree, *too, _keep(user)])


def clicked(body: JsonObject, action: JsonObject) -> Clicked | None:
    """What a click on a button asks for; None if it is not one of ours."""
    value = carried_by(action)
    replies = _is_ticked(body) or _is_ticked(fields(body, "view"))
    what = text(action, "action_id").removeprefix(f"{ACTION}:").partition(":")[0]
    made = Clicked(what, text(value, "user"), text(value, "token"), text(value, "words"), _thread(value), replies)
    return made if made.user else None


def wish_window(to: ReplyTo, thread: Collection[str]) -> JsonObject:
    """Where somebody says in words what to forget."""
    hint = "A name, a word or two; or 2 hours, today, since Monday. You will see what it is before it is erased."
    scopes: dict[str, Json] = {"type": "radio_buttons", "options": [*_SCOPES], "initial_option": _SCOPES[0]}
    boxes: dict[str, Json] = {"type": "checkboxes", "options": [_REPLIES_TOO]}
    fields_: list[Json] = [
        field(_TYPED, "What shall I forget?", line(), hint=hint),
        field(_SCOPE, "That means", scopes),
        field(REPLIES, "My replies", boxes, optional=True),
    ]
    return window(VIEW, "Forget", "Show", {"thread": [*thread], "to": to.encode()}, fields_)


def wished(view: JsonObject) -> Wished | None:
    """What was said in that window; None if it is not one of ours."""
    words, to = typed(view, _TYPED), of_window(view)
    if not words or to is None:
        return None
    if picked(view, _SCOPE) == _ABOUT and not words.casefold().startswith(f"{_ABOUT} "):
        words = f"{_ABOUT} {words}"
    return Wished(words, _thread(carried_by_view(view)), to, _is_ticked(view))


def _is_ticked(shown: JsonObject) -> bool:
    """Whether the box for the bot's replies is ticked, in a message or a view."""
    values = fields(shown, "state", "values")
    return any(items(block, REPLIES, "selected_options") for block in values.values())


def _thread(value: Json) -> tuple[str, ...]:
    held = value.get("thread") if isinstance(value, dict) else None
    return tuple(one for one in held if isinstance(one, str)) if isinstance(held, list) else ()


def _keep(user: str) -> Json:
    return _button(KEEP, "Keep everything", user, ())


def _button(
    what: str,
    label: str,
    user: str,
    thread: Collection[str],
    *,
    number: int = 0,
    token: str = "",
    words: str = "",
    **more: Json,
) -> Json:
    carried: dict[str, Json] = {"user": user, "thread": [*sorted(thread)], "token": token, "words": words}
    return button(f"{ACTION}:{what}:{number}", label, carried, **more)
