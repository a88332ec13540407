"""The list of what is remembered as blocks of Slack, its buttons, and the window for a correction. Pure.

Rule: a button carries the words that it stands for, and for whom, so that it works after a restart, for nobody else,
and for the entry beside which it stands, whatever became of the list.
"""

import json
from collections.abc import Collection
from dataclasses import dataclass
from typing import Final

from agent.messages import Json, JsonObject
from bot.commands.declaration import PanelAction
from bot.commands.memory import entry_actions, page_actions, undo_actions
from bot.host import MemoryAnswer, ShownEntry
from bot.memory.view import entry_line
from bot.platforms.slack.api import fields, items, text
from bot.platforms.slack.block_kit import (
    button,
    carried_by,
    carried_by_view,
    field,
    line,
    option,
    picked,
    row,
    sure,
    typed,
    window,
)
from bot.platforms.slack.inbound import ReplyTo, of_window
from bot.texts import command_texts

ENTRY_CHARS: Final = 600
"""Of an entry in the list: a page of them stays under the 12,000 characters that Slack shows in one message."""
PREFILL_CHARS: Final = 1_000
"""A button carries at most 2,000, written as JSON; a longer text is corrected in an empty window."""

ACTION: Final = "cogency_view"
CORRECT: Final = "correct"
VIEW: Final = "cogency_correct_view"
_WORDS: Final = "words"
_SURE: Final = sure(
    command_texts.ARE_YOU_SURE,
    command_texts.WILL_DELETE,
    "Delete",
    "Keep",
)


@dataclass(frozen=True, slots=True)
class MemoryClick:
    """`words`: what the button stands for; "correct KEY" opens the window, in which `plain` is to be corrected."""

    user: str
    words: str
    plain: str = ""


@dataclass(frozen=True, slots=True)
class Corrected:
    """What was typed into the window, as words; `to`: where the list stands."""

    words: str
    to: ReplyTo


def entry_blocks(answer: MemoryAnswer, user: str) -> list[Json]:
    """A page of the list: each entry with its buttons, then those for the other pages; before it, to bring back what
    was deleted.
    """
    shown = [
        block
        for entry in answer.entries
        for block in (_markdown(entry_line(entry, ENTRY_CHARS)), *row(entry_buttons(entry, user)))
    ]
    return [*row(undoing(answer, user)), *shown, *row(page_buttons(answer, user))]


def memory_click(action: JsonObject) -> MemoryClick | None:
    """What a click on a button asks for; None if it is not one of ours."""
    value = carried_by(action)
    made = MemoryClick(text(value, "user"), text(value, "words"), text(value, "plain"))
    return made if made.user and made.words else None


def correct_view(made: MemoryClick, to: ReplyTo) -> JsonObject:
    """The window in which an entry is corrected."""
    entry = field(_WORDS, command_texts.IN_YOUR_WORDS, line(initial=made.plain, multiline=True))
    return window(VIEW, command_texts.CORRECT_ENTRY, "Correct", {"words": made.words, "to": to.encode()}, [entry])


def corrected(view: JsonObject) -> Corrected | None:
    """What was typed into that window; None if it is not one of ours."""
    asked, own, to = text(carried_by_view(view), "words"), typed(view, _WORDS), of_window(view)
    return Corrected(f"{asked} {own}", to) if own and to is not None else None


def entry_buttons(entry: ShownEntry, user: str) -> list[Json]:
    """The buttons of an entry."""
    prefill = entry.plain if len(json.dumps(entry.plain, ensure_ascii=False)) <= PREFILL_CHARS else ""
    return [_action(one, user, f":{entry.number}", prefill) for one in entry_actions(entry)]


def undoing(answer: MemoryAnswer, user: str) -> list[Json]:
    """The button that brings back what was just deleted, if anything was."""
    return [_action(one, user) for one in undo_actions(answer)]


def page_buttons(answer: MemoryAnswer, user: str) -> list[Json]:
    """The buttons for the pages before and after this one."""
    return [_action(one, user) for one in page_actions(answer)]


def _action(one: PanelAction, user: str, of: str = "", prefill: str = "") -> Json:
    sure: dict[str, Json] = {"style": "danger", "confirm": _SURE} if one.danger else {}
    plain = prefill if one.fills_in else ""
    return memory_button(f"{one.name}{of}", one.label, one.words, user, plain=plain, **sure)


def memory_button(action: str, label: str, asked: str, user: str, *, plain: str = "", **more: Json) -> Json:
    """A button that asks these words of `/memory`."""
    return button(f"{ACTION}:{action}", label, {"user": user, "words": asked, "plain": plain}, **more)


def _markdown(shown: str) -> Json:
    return {"type": "markdown", "text": shown}


# What `/forget` shows to be clicked or filled in, and how that is read. Pure.
#
# Rule: beside what it does and for whom, a button carries what "this thread" is.


FORGET_ACTION: Final = "cogency_forget"
AGREE: Final = "agree"
WORDS: Final = "words"
KEEP: Final = "keep"
REPLIES: Final = "cogency_forget_replies"
FORGET_VIEW: Final = "cogency_forget_view"
_TYPED: Final = "words"
_SCOPE: Final = "scope"
_ABOUT: Final = "about"
_SCOPES: Final[tuple[Json, ...]] = (
    option(command_texts.WHAT_SPEAKS_OF_IT, _ABOUT),
    option(command_texts.WHAT_I_SAID_THEN, "time"),
)
_REPLIES_TOO: Final[Json] = option(command_texts.REPLIES_TOO, "replies")


@dataclass(frozen=True, slots=True)
class ForgetClick:
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


def forget_buttons(user: str, thread: Collection[str]) -> list[Json]:
    """The buttons of somebody who has not said what to forget."""
    buttons = [_button(WORDS, command_texts.FORGET_EVERYTHING, user, thread, number=1, words="everything")]
    if thread:
        buttons.insert(0, _button(WORDS, command_texts.FORGET_THREAD, user, thread, number=0, words="thread"))
    return row([*buttons, _button(WORDS, command_texts.SOMETHING_ELSE, user, thread, number=2), _keep(user)])


def forget_buttons_at_home(user: str) -> list[Json]:
    """The same where there is no thread, and room for more."""
    asked = ("2 hours", "today", "everything")
    labels = (command_texts.LAST_HOURS, "Today…", "Everything…")
    buttons = [
        _button(WORDS, label, user, (), number=number, words=words)
        for number, (label, words) in enumerate(zip(labels, asked, strict=True))
    ]
    return row([*buttons, _button(WORDS, command_texts.ABOUT_SOMETHING, user, (), number=len(asked))])


def agreement_buttons(
    user: str, thread: Collection[str], token: str, wider: str = "", *, replies: bool = False
) -> list[Json]:
    """The buttons below what would be forgotten. `wider`: with what may have been made of it. `replies`: the box for
    the bot's replies is ticked.
    """
    ticked: Json = [_REPLIES_TOO]
    box: dict[str, Json] = {"type": "checkboxes", "action_id": REPLIES, "options": [_REPLIES_TOO]}
    agree = _button(AGREE, "Forget", user, thread, token=token, style="danger")
    too = (
        [_button(AGREE, command_texts.FORGET_THOSE_TOO, user, thread, number=1, token=wider, style="danger")]
        if wider
        else []
    )
    return row([box | ({"initial_options": ticked} if replies else {}), agree, *too, _keep(user)])


def forget_click(body: JsonObject, action: JsonObject) -> ForgetClick | None:
    """What a click on a button asks for; None if it is not one of ours."""
    value = carried_by(action)
    replies = _is_ticked(body) or _is_ticked(fields(body, "view"))
    what = text(action, "action_id").removeprefix(f"{FORGET_ACTION}:").partition(":")[0]
    made = ForgetClick(what, text(value, "user"), text(value, "token"), text(value, "words"), _thread(value), replies)
    return made if made.user else None


def wish_window(to: ReplyTo, thread: Collection[str]) -> JsonObject:
    """Where somebody says in words what to forget."""
    hint = command_texts.FORGET_HINT
    scopes: dict[str, Json] = {"type": "radio_buttons", "options": [*_SCOPES], "initial_option": _SCOPES[0]}
    boxes: dict[str, Json] = {"type": "checkboxes", "options": [_REPLIES_TOO]}
    fields_: list[Json] = [
        field(_TYPED, command_texts.FORGET_WHAT, line(), hint=hint),
        field(_SCOPE, command_texts.THAT_MEANS, scopes),
        field(REPLIES, command_texts.MY_REPLIES, boxes, optional=True),
    ]
    return window(FORGET_VIEW, "Forget", "Show", {"thread": [*thread], "to": to.encode()}, fields_)


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
    return _button(KEEP, command_texts.KEEP_EVERYTHING, user, ())


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
    return button(f"{FORGET_ACTION}:{what}:{number}", label, carried, **more)
