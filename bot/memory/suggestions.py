"""What somebody may want to ask next, from what is known about them. Pure.

Above: `bot.hosting`. Below: `agent.memory.profile`, `agent.records`, `bot.host` (the values), `bot.wording`.

Rule: only what may be shown where it is suggested goes in, and only what the person said or asked themselves.
"""

from collections.abc import Sequence
from typing import Final

from agent.memory.profile import ProfileEntry, ProfileField
from agent.records import Thread
from bot.host import Suggestion
from bot.wording import shortened

TITLE_CHARS: Final = 60
"""What fits a button on a phone."""
QUESTION_CHARS: Final = 300
NEWEST: Final = 3
"""Of each kind: an older one is hardly what somebody is about now."""

GO_ON: Final = ("Go on: {what}", "Let us go on with this: “{what}”. Where did we stop, and what is next?")
GOAL: Final = ("Next step: {what}", "What is a good next step towards this goal of mine: {what}?")
PROJECT: Final = ("About {what}", "What do you know about my project {what}, and what is open there?")


def suggestions(threads: Sequence[Thread], entries: Sequence[ProfileEntry], limit: int) -> tuple[Suggestion, ...]:
    """At most `limit`, by turns of each kind: the latest thread, the newest goal, the newest project, and so on."""
    newest = sorted(entries, key=lambda entry: entry.time, reverse=True)
    goals = [entry.text for entry in newest if entry.field is ProfileField.GOALS]
    projects = [entry.key or entry.text for entry in newest if entry.field is ProfileField.PROJECTS]
    forms = ((GO_ON, [thread.title for thread in threads]), (GOAL, goals), (PROJECT, projects))
    kinds = [[_suggestion(form, what) for what in _distinct(some)] for form, some in forms]
    by_turns = [kind[place] for place in range(NEWEST) for kind in kinds if place < len(kind)]
    return tuple(by_turns[: max(limit, 0)])


def _distinct(texts: Sequence[str]) -> list[str]:
    lines = (" ".join(text.split()).rstrip(".") for text in texts)
    return list(dict.fromkeys(filter(None, lines)))[:NEWEST]


def _suggestion(form: tuple[str, str], what: str) -> Suggestion:
    title, question = form
    room = TITLE_CHARS - len(title.format(what=""))
    return Suggestion(title.format(what=shortened(what, room)), question.format(what=shortened(what, QUESTION_CHARS)))
