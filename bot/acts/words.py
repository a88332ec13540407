"""Whether a text may be shown to the readers of another place than the one where it was asked for. Pure.

Rules
  A text that the bot writes may hold whatever the turn has read. So it may go elsewhere only if everything that may be
  used where the question was asked may also be used there (`agent.memory.audience`).
  Otherwise each of its words must stand in the question, in the asker's own words: whatever order they are in, nobody
  learns more than the asker has just said. What the asker quotes or pastes does not count.
"""

import regex

from agent.memory.attribution import stated

_WORD = regex.compile(r"[\p{L}\p{N}\p{M}_]++|[^\p{L}\p{N}\p{M}_\s\p{P}]")


def words_of(text: str) -> frozenset[str]:
    """Return the words of a text and its other signs, such as emoji, without punctuation."""
    return frozenset(_WORD.findall(text.casefold()))


def is_said_by_asker(text: str, question: str) -> bool:
    return words_of(text) <= words_of(stated(question))
