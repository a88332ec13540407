"""Questions that a person may want to ask, from what they talked about."""

from collections.abc import Sequence
from typing import Final

from agent.memory.profile import ProfileEntry, ProfileField
from agent.stored_messages import Thread
from bot.chat.ports import Suggestion
from bot.chat.texts.formatting import shortened
from bot.memory import texts as memory_texts

# Suggested questions, from what is known about a person. Pure.
#
# Rule: suggestions use only what may be shown at their place, and only what the person wrote or asked themselves: who
# chooses one sends it as a message of their own.

TITLE_CHARS: Final = 60  # Fits a button on a phone
QUESTION_CHARS: Final = 300
NEWEST: Final = 3  # Of each kind: people seldom return to older ones


def suggestions(threads: Sequence[Thread], entries: Sequence[ProfileEntry], limit: int) -> tuple[Suggestion, ...]:
    """Return up to `limit` suggestions, alternating by kind: the latest thread, the newest goal, the newest project…"""
    newest = sorted(entries, key=lambda entry: entry.time, reverse=True)
    goals = [entry.text for entry in newest if entry.field is ProfileField.GOALS]
    projects = [entry.key or entry.text for entry in newest if entry.field is ProfileField.PROJECTS]
    forms = (
        (memory_texts.GO_ON_WITH, [thread.title for thread in threads if thread.own]),
        (memory_texts.GOAL, goals),
        (memory_texts.PROJECT, projects),
    )
    kinds = [[_suggestion(form, topic) for topic in _distinct(texts)] for form, texts in forms]
    by_turns = [kind[place] for place in range(NEWEST) for kind in kinds if place < len(kind)]
    return tuple(by_turns[: max(limit, 0)])


def _distinct(texts: Sequence[str]) -> list[str]:
    lines = (" ".join(text.split()).rstrip(".") for text in texts)
    return list(dict.fromkeys(filter(None, lines)))[:NEWEST]


def _suggestion(form: tuple[str, str], topic: str) -> Suggestion:
    title, question = form
    room = TITLE_CHARS - len(title.format(what=""))
    return Suggestion(title.format(what=shortened(topic, room)), question.format(what=shortened(topic, QUESTION_CHARS)))
