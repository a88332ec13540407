"""Decides whether a newer statement under the same key tells what became of what the key names. Pure.

People seldom repeat the frame of what they said before ("the kickoff is in Berlin"). They tell what happened, and from
that what is so now: "nobody got travel approval, so we do the kickoff on Zoom". Such a sentence has few words in common
with the older one, so two sentences beside each other prove little (`agent.memory.attributes`). What is certain here
comes from the form of the newer one. Of the statements under one key that are proven neither to be about two things
(`agent.memory.distinct`) nor to add, report or suppose anything, these replace the older one:

    several clauses, and a name of the older one      "Dr. Brandt takes no patients, I went to Dr. Öz"
    several clauses, news, and a key of two words     "new contract with the works, they pay 110" ("hourly rate works")
    several clauses and news, without a second thing  "we sold the flat, it is a house now"
    the speaker does something to what was spoken of  "the code of the gate is 12", "I set the gate's code to 34"

Under two keys that may name one thing ("release of Alpha", "date of Alpha"), it takes a model that names the older one,
several clauses, a sign of a change, nothing that speaks of another thing and, where the keys have words of their own,
the older value or another one of its kind.

"News" is a sign of a change (`agent.memory.attributes`). A statement of one clause under a key of one word is none of
these: "Ann walks the dog", "the dog now sleeps in the hall". A single event, a time at which it holds, a release, what
begins with another place, and what somebody of the older one has are signs against it.
"""

import re
from collections.abc import Callable
from typing import Final

from agent.memory.alignment import UNSPACED, clauses_of, content_of, is_in, tells
from agent.memory.attributes import (
    came_out,
    denies,
    holds_at_another_time,
    is_news,
    is_of_another,
    leaves_out_two,
    was_an_event,
)
from agent.memory.comparison import Pair, begins_with_speaker, compared, is_among, may_be_about_the_same
from agent.memory.distinct import owned_by
from agent.memory.keys import tell_apart
from agent.memory.statements import WORD, is_function
from agent.memory.succession import is_of_another_end
from agent.memory.told import Told
from agent.memory.whose_cues import TITLES

_APOSTROPHE: Final = re.compile("['’]")
COMPOUND_WORDS: Final = 2  # Of a key that names an attribute of something: "hourly rate works"
COMPOUND_SIGNS: Final = 4  # Of such a key in Chinese or Japanese
COMMON_WORDS: Final = 2  # By which both speak of one thing, where the newer one begins with the speaker
PLACE_WORDS: Final = 2  # Of a place before a comma: "at the fire station of Pontivy"


def tells_what_became(older: Told, newer: Told) -> bool:
    """Return whether the newer one, under the same key, tells what became of what the older one states."""
    pair = compared(older, newer)
    if any(speaks_against(pair) for speaks_against in _SIGNS):
        return False
    if len(clauses_of(pair.newer.said)) > 1:
        if _has_compound_key(pair):
            return is_news(pair) or _names_the_same(pair)
        return _tells_of_change(pair) and (_names_the_same(pair) or not pair.contrasts)
    is_speakers = begins_with_speaker(pair.newer.said) and not begins_with_speaker(pair.older.said)
    return is_speakers and sum(map(pair.newer.mentions, pair.older.words)) >= COMMON_WORDS


def tells_of_the_same(older: Told, newer: Told) -> bool:
    """Return whether the newer one, of which a model says that it replaces the older one, tells under another key what
    became of it: in several clauses, with a sign of a change, and of nobody and nothing else.
    """
    pair = compared(older, newer)
    if len(clauses_of(pair.newer.said)) < 2 or not pair.changed or is_of_another(pair) or is_of_another_end(pair):
        return False
    if any(speaks_against(pair) for speaks_against in _SIGNS) or not may_be_about_the_same(older, newer):
        return False
    return not tell_apart(older.key, newer.key) or _speaks_of_both_keys(pair)


def _speaks_of_both_keys(pair: Pair) -> bool:
    """Return whether the newer one speaks of what both keys name, and of the older value or another one of its kind.

    "Mum retired from the bank" says nothing of "mum's flat". Keys that differ in numbers or in order name two things.
    """
    older, newer = pair.older.key, pair.newer.key
    only_one = [word for word in (*older, *newer) if not (is_in(word, older) and is_in(word, newer))]
    if not only_one or any(char.isdigit() for word in only_one for char in word.raw):
        return False
    names = [word for word in pair.older.words if word.is_name and not is_among(word, (*older, *newer))]
    is_of_value = pair.clash or any(map(pair.newer.mentions, names))
    return is_of_value and any(is_in(word, newer) and pair.newer.mentions(word) for word in older)


def _tells_of_change(pair: Pair) -> bool:
    """Return whether it says that something changed, or gives another value of the same kind, and not of another thing:
    "Ann left the choir" after "Ann is our manager".
    """
    gives_value = pair.clash and not (denies(pair) or leaves_out_two(pair))
    return (pair.changed or gives_value) and not is_of_another_end(pair)


def _names_the_same(pair: Pair) -> bool:
    names = [word for word in pair.older.words if word.is_name and word.raw not in TITLES]
    return any(map(pair.newer.mentions, names))


def _has_compound_key(pair: Pair) -> bool:
    key = pair.older.key_text
    return len(key) >= COMPOUND_SIGNS if UNSPACED.search(key) is not None else len(pair.older.key) >= COMPOUND_WORDS


def _begins_with_another_place(pair: Pair) -> bool:
    """Return whether it begins with a preposition and a thing of which nothing was said: "at the client's, …"."""
    first = clauses_of(pair.newer.said)[0] if "," in pair.newer.said else ""
    words = [_APOSTROPHE.split(word)[-1] for word in WORD.findall(first)]  # "l'agence"
    telling = [word for word in content_of(first) if tells(word)]
    telling = [word for word in telling if len(word.raw) > 1]  # "À"
    if not words or not 0 < len(telling) <= PLACE_WORDS or telling[0].raw == words[0].lower():
        return False
    known, raw = (*pair.older.words, *pair.keys), {word.raw for word in telling}
    others = [word.lower() for word in words if len(word) > 1 and word.lower() not in raw]
    return all(map(is_function, others)) and not any(word.kind or is_among(word, known) for word in telling)


def _is_of_what_they_have(pair: Pair) -> bool:
    """Return whether it is about something of whom the older one names: "Ann leads the team", "Ann's deputy, …"."""
    older, newer = pair.older, pair.newer
    owned = [thing for word in older.subject for thing in owned_by(word, newer.said)]
    return any(tells(thing) and not is_among(thing, (*older.words, *pair.keys)) for thing in owned)


_SIGNS: Final[tuple[Callable[[Pair], bool], ...]] = (
    holds_at_another_time,
    was_an_event,
    came_out,
    _begins_with_another_place,
    _is_of_what_they_have,
)
