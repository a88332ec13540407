"""The list of what is remembered as blocks of Slack, its buttons, and the window for a correction. Pure.

Above: `memory`. Below: `payload`, `reply_to`, `markup`; `bot.host` (the values), `bot.memory` (words and texts).

Rule: a button carries the words that it stands for, and for whom, so that it works after a restart, for nobody else,
and for the entry beside which it stands, whatever became of the list.
"""

import json
from dataclasses import dataclass
from typing import Final

from agent.messages import Json, JsonObject
from bot.host import MemoryAnswer, ShownEntry
from bot.memory import words
from bot.memory.view import line
from bot.platforms.slack.markup import neutral
from bot.platforms.slack.payload import text
from bot.platforms.slack.reply_to import ReplyTo, decode

ENTRY_CHARS: Final = 600
"""Of an entry in the list: a page of them stays under the 12,000 characters that Slack shows in one message."""
PREFILL_CHARS: Final = 1_000
"""A button carries at most 2,000; a longer text is corrected in an empty window."""

ACTION: Final = "cogency_view"
CORRECT: Final = "correct"
VIEW: Final = "cogency_correct_view"
_WORDS: Final = "words"


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
    """A page of the list: each entry with its buttons, then those for the other pages."""
    shown = [
        block for entry in answer.entries for block in (_markdown(line(entry, ENTRY_CHARS)), _decisions(entry, user))
    ]
    return [*shown, *_pages(answer, user)]


def clicked(action: JsonObject) -> Clicked | None:
    """What a click on a button asks for; None if it is not one of ours."""
    try:
        value: Json = json.loads(text(action, "value"))
    except ValueError:
        return None
    made = Clicked(text(value, "user"), text(value, "words"), text(value, "plain"))
    return made if made.user and made.words else None


def correct_view(made: Clicked, to: ReplyTo) -> JsonObject:
    """The window in which an entry is corrected."""
    field: dict[str, Json] = {"type": "plain_text_input", "action_id": _WORDS, "multiline": True}
    if made.plain:
        field["initial_value"] = made.plain
    return {
        "type": "modal",
        "callback_id": VIEW,
        "title": _plain("Correct an entry"),
        "submit": _plain("Correct"),
        "close": _plain("Cancel"),
        "private_metadata": json.dumps({"words": made.words, "to": to.encode()}),
        "blocks": [
            {
                "type": "input",
                "block_id": _WORDS,
                "label": _plain("In your own words"),
                "element": field,
            }
        ],
    }


def corrected(view: JsonObject) -> Corrected | None:
    """What was typed into that window; None if it is not one of ours."""
    typed = text(view, "state", "values", _WORDS, _WORDS, "value").strip()
    try:
        carried: Json = json.loads(text(view, "private_metadata"))
        to = decode(text(carried, "to"))
    except ValueError:
        return None
    return Corrected(f"{text(carried, 'words')} {typed}", to) if typed else None


def _decisions(entry: ShownEntry, user: str) -> Json:
    sure: Json = {
        "title": _plain("Are you sure?"),
        "text": _plain("I will erase this, and not learn it again from the same message."),
        "confirm": _plain("Delete"),
        "deny": _plain("Keep"),
        "style": "danger",
    }
    number, key = entry.number, entry.key
    prefill = entry.plain if len(entry.plain) <= PREFILL_CHARS else ""
    buttons: list[Json] = [
        _button(f"delete:{number}", "Delete", words.delete_words(key), user, style="danger", confirm=sure),
        _button(f"{CORRECT}:{number}", "Correct", words.correct_words(key), user, plain=prefill),
    ]
    if entry.may_go_everywhere:
        everywhere = words.everywhere_words(key, on=True)
        buttons.append(_button(f"everywhere:{number}", "Use everywhere", everywhere, user))
    if entry.everywhere:
        here = words.everywhere_words(key, on=False)
        buttons.append(_button(f"here:{number}", "Only where it was said", here, user))
    return {"type": "actions", "elements": buttons}


def _pages(answer: MemoryAnswer, user: str) -> list[Json]:
    around = {"Earlier page": answer.page - 1, "Next page": answer.page + 1}
    buttons: list[Json] = [
        _button(f"page:{page}", label, words.page_words(page), user)
        for label, page in around.items()
        if 1 <= page <= answer.pages
    ]
    return [{"type": "actions", "elements": buttons}] if buttons else []


def _button(action: str, label: str, asked: str, user: str, *, plain: str = "", **more: Json) -> Json:
    value = json.dumps({"user": user, "words": asked, "plain": plain}, ensure_ascii=False)
    return {"type": "button", "action_id": f"{ACTION}:{action}", "text": _plain(label), "value": value, **more}


def _markdown(shown: str) -> Json:
    return {"type": "markdown", "text": neutral(shown)}


def _plain(shown: str) -> dict[str, Json]:
    return {"type": "plain_text", "text": shown}
