"""The list of what is remembered as blocks of Slack, its buttons, and the window for a correction. Pure.

Rule: a button carries the words that it stands for, and for whom, so that it works after a restart, for nobody else,
and for the entry beside which it stands, whatever became of the list.
"""

import json
from dataclasses import dataclass
from typing import Final

from agent.messages import Json, JsonObject
from bot.host import MemoryAnswer, ShownEntry
from bot.memory import words
from bot.memory.view import line as entry_line
from bot.platforms.slack.payload import text
from bot.platforms.slack.replies.reply_to import ReplyTo, of_window
from bot.platforms.slack.views.block_kit import (
    button,
    carried_by,
    carried_by_view,
    field,
    line,
    row,
    sure,
    typed,
    window,
)

ENTRY_CHARS: Final = 600
"""Of an entry in the list: a page of them stays under the 12,000 characters that Slack shows in one message."""
PREFILL_CHARS: Final = 1_000
"""A button carries at most 2,000, written as JSON; a longer text is corrected in an empty window."""

ACTION: Final = "cogency_view"
CORRECT: Final = "correct"
VIEW: Final = "cogency_correct_view"
_WORDS: Final = "words"
_SURE: Final = sure(
    "Are you sure?",
    "I will erase this after a minute in which you can undo it, and not learn it again from the same message.",
    "Delete",
    "Keep",
)


@dataclass(frozen=True, slots=True)
class Clicked:
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
        for block in (_markdown(entry_line(entry, ENTRY_CHARS)), *row(decisions(entry, user)))
    ]
    return [*row(undoing(answer, user)), *shown, *row(pages(answer, user))]


def clicked(action: JsonObject) -> Clicked | None:
    """What a click on a button asks for; None if it is not one of ours."""
    value = carried_by(action)
    made = Clicked(text(value, "user"), text(value, "words"), text(value, "plain"))
    return made if made.user and made.words else None


def correct_view(made: Clicked, to: ReplyTo) -> JsonObject:
    """The window in which an entry is corrected."""
    entry = field(_WORDS, "In your own words", line(initial=made.plain, multiline=True))
    return window(VIEW, "Correct an entry", "Correct", {"words": made.words, "to": to.encode()}, [entry])


def corrected(view: JsonObject) -> Corrected | None:
    """What was typed into that window; None if it is not one of ours."""
    asked, own, to = text(carried_by_view(view), "words"), typed(view, _WORDS), of_window(view)
    return Corrected(f"{asked} {own}", to) if own and to is not None else None


def decisions(entry: ShownEntry, user: str) -> list[Json]:
    """The buttons of an entry."""
    number, key = entry.number, entry.key
    prefill = entry.plain if len(json.dumps(entry.plain, ensure_ascii=False)) <= PREFILL_CHARS else ""
    buttons: list[Json] = [
        asking(f"delete:{number}", "Delete", words.delete_words(key), user, style="danger", confirm=_SURE),
        asking(f"{CORRECT}:{number}", "Correct", words.correct_words(key), user, plain=prefill),
    ]
    if entry.may_go_everywhere:
        everywhere = words.everywhere_words(key, on=True)
        buttons.append(asking(f"everywhere:{number}", "Use everywhere", everywhere, user))
    if entry.everywhere:
        here = words.everywhere_words(key, on=False)
        buttons.append(asking(f"here:{number}", "Only where it was said", here, user))
    return buttons


def undoing(answer: MemoryAnswer, user: str) -> list[Json]:
    """The button that brings back what was just deleted, if anything was."""
    return [asking("undo", "Undo", words.undo_words(answer.undo), user)] if answer.undo else []


def pages(answer: MemoryAnswer, user: str) -> list[Json]:
    """The buttons for the pages before and after this one."""
    around = {"Earlier page": answer.page - 1, "Next page": answer.page + 1}
    return [
        asking(f"page:{page}", label, words.page_words(page), user)
        for label, page in around.items()
        if 1 <= page <= answer.pages
    ]


def asking(action: str, label: str, asked: str, user: str, *, plain: str = "", **more: Json) -> Json:
    """A button that asks these words of `/memory`."""
    return button(f"{ACTION}:{action}", label, {"user": user, "words": asked, "plain": plain}, **more)


def _markdown(shown: str) -> Json:
    return {"type": "markdown", "text": shown}
