"""What `/forget` shows to be clicked or filled in, and how that is read. Pure.

Above: `forgetting`. Below: `payload`, `reply_to`.

Rule: a button carries what it does, where, and for whom, so that it works after a restart, and for nobody else.
"""

import json
from collections.abc import Collection
from dataclasses import dataclass
from typing import Final

from agent.messages import Json, JsonObject
from bot.platforms.slack.payload import fields, items, text
from bot.platforms.slack.reply_to import ReplyTo, decode

ACTION: Final = "cogency_forget"
AGREE: Final = "agree"
WORDS: Final = "words"
KEEP: Final = "keep"
REPLIES: Final = "cogency_forget_replies"
VIEW: Final = "cogency_forget_view"
_TYPED: Final = "words"


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
class Typed:
    """What was typed into the window; `to` is where the buttons stand."""

    words: str
    thread: tuple[str, ...]
    to: ReplyTo


def ways(user: str, thread: Collection[str]) -> Json:
    """The buttons of somebody who has not said what to forget."""
    buttons = [_button(WORDS, "Forget everything", user, thread, number=1, words="everything")]
    if thread:
        buttons.insert(0, _button(WORDS, "Forget this thread", user, thread, number=0, words="thread"))
    other = _button(WORDS, "Something else…", user, thread, number=2)
    return {"type": "actions", "elements": [*buttons, other, _keep(user)]}


def agreeing(user: str, thread: Collection[str], token: str) -> Json:
    """The buttons below what would be forgotten."""
    replies: Json = {
        "type": "checkboxes",
        "action_id": REPLIES,
        "options": [{"text": _plain("Delete my replies to it here, too"), "value": "replies"}],
    }
    agree = _button(AGREE, "Forget", user, thread, token=token, style="danger")
    return {"type": "actions", "elements": [replies, agree, _keep(user)]}


def clicked(body: JsonObject, action: JsonObject) -> Clicked | None:
    """What a click on a button asks for; None if it is not one of ours."""
    try:
        value: Json = json.loads(text(action, "value"))
    except ValueError:
        return None
    what = text(action, "action_id").removeprefix(f"{ACTION}:").partition(":")[0]
    user = text(value, "user")
    return (
        Clicked(what, user, text(value, "token"), text(value, "words"), _thread(value), _ticked(body)) if user else None
    )


def window(made: Clicked, to: ReplyTo) -> JsonObject:
    """Where somebody says in words what to forget."""
    typed: Json = {
        "type": "input",
        "block_id": _TYPED,
        "label": _plain("What shall I forget?"),
        "hint": _plain("2 hours, today, since Monday, about Apollo. You will see what it is before it is erased."),
        "element": {"type": "plain_text_input", "action_id": _TYPED},
    }
    return {
        "type": "modal",
        "callback_id": VIEW,
        "title": _plain("Forget"),
        "submit": _plain("Show"),
        "close": _plain("Cancel"),
        "private_metadata": json.dumps({"thread": list(made.thread), "to": to.encode()}),
        "blocks": [typed],
    }


def typed(view: JsonObject) -> Typed | None:
    """What was typed into the window; None if it is not one of ours."""
    words = text(view, "state", "values", _TYPED, _TYPED, "value").strip()
    try:
        carried: Json = json.loads(text(view, "private_metadata"))
        to = decode(text(carried, "to"))
    except ValueError:
        return None
    return Typed(words, _thread(carried), to) if words else None


def _ticked(body: JsonObject) -> bool:
    """Whether the box beside the button is ticked."""
    values = fields(body, "state", "values")
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
    value = json.dumps({"user": user, "thread": sorted(thread), "token": token, "words": words}, ensure_ascii=False)
    return {"type": "button", "action_id": f"{ACTION}:{what}:{number}", "text": _plain(label), "value": value, **more}


def _plain(words: str) -> dict[str, Json]:
    return {"type": "plain_text", "text": words}
