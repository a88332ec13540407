"""Decides whether a newer statement names the older one's value as over, and another in its place. Pure.

    Ann leads the design team.          Ann has left, Ben leads design now.
    Wir nutzen Trello.                  Der Umzug weg von Trello ist durch, alles liegt in Asana.
    The limit is 20 GB.                 I was wrong: the limit is 50 GB, not 20.

That is the strongest sign that one thing has changed, since the newer statement itself says what it replaces. So the
other signs of `agent.memory.attributes` do not count, and the keys, which a model words freely, need not be alike if
the two share a word besides. All of this has to hold:

    over         a clause names the old value, a name or a value of a kind, and says that it ended, left, is replaced,
                 was wrong, or is not so
    instead      another clause, or the rest of that one, names another value of its kind
    one thing    they have related keys, share a word, or both are the speaker's
    for good     nothing says that it is so for a while ("is on vacation", "until Friday"), or will be so ("will leave")
    one owner    the newer one is not about somebody else's
"""

from collections.abc import Sequence
from itertools import chain
from typing import Final

from agent.memory import cues, lexicon
from agent.memory.alignment import clauses_of, content_of, has_any, is_in, negates, owners_in, tells
from agent.memory.comparison import Pair, Side, compared, is_among
from agent.memory.restating import with_closed_codes
from agent.memory.statements import READ_CHARS, Token, displaced_in, sentences
from agent.memory.told import Told

MAX_SENTENCES: Final = 3  # Of a message, in which a value and its successor are told: "Ann left. Ben leads it."
_ENDING: Final = (
    *(lexicon.ENDED, lexicon.CANCELLED),
    *(cues.STOPPED, cues.LEFT, cues.GONE, cues.MISTAKEN, cues.WITHDRAWN, cues.BY_ANOTHER),
)
_LONG: Final = 3  # Digits of a number that names one thing
_NUMERIC: Final = frozenset({"number", "money", "share", "duration", "age", "code"})


def names_successor(older: Told, newer: Told) -> bool:
    """Return whether the newer one names the value of the older one as over, and another in its place."""
    pair = compared(older, newer)
    text = _message(newer)
    values = _values_of(older, pair)
    if not values or has_any(text, (cues.AWAY, cues.STANDS_IN, cues.FOR_A_WHILE, cues.SUPPOSES)):
        return False
    clauses = [*chain.from_iterable(map(clauses_of, sentences(text)[:MAX_SENTENCES]))]
    over = [clause for clause in clauses if _is_over(clause, values, pair)]
    if not over:
        return False
    rest = [clause for clause in clauses if clause not in over]
    if has_any(" ".join(rest), (*cues.ADDS, *cues.UNSURE)) or has_any(" ".join(over), (cues.WILL_BE, cues.REPORTS)):
        return False
    instead = [word for clause in rest if not negates(clause) for word in content_of(clause)]
    instead += [word for clause in over for word in _behind_the_end(clause, values)]
    if not any(_replaces(word, values, pair) for word in instead) or _is_of_another(pair, text):
        return False
    return _is_about_one_thing(pair, values, clauses)


def _message(told: Told) -> str:
    """Return what the person wrote, if it is short, else the sentence that states it."""
    text = told.said[:READ_CHARS]
    return with_closed_codes(text if 0 < len(sentences(text)) <= MAX_SENTENCES else told.sentence)


def _values_of(older: Told, pair: Pair) -> list[Token]:
    """Return the names, numbers and days that the older one states, but for those in its key."""
    named = [word for word in _words_of(pair.older) if word.is_name or word.kind]
    if older.is_bare or older.value != older.sentence:
        bare = [word for word in content_of(older.value) if word.is_name or word.kind]
        named = [word for word in named if is_in(word, bare)] or named
    return [word for word in named if not is_among(word, pair.older.key)] or named


def _words_of(side: Side) -> tuple[Token, ...]:
    return content_of(with_closed_codes(side.said))


def _is_over(clause: str, values: Sequence[Token], pair: Pair) -> bool:
    words = content_of(clause)
    if not any(is_in(value, words) for value in values):
        return False
    if any(is_in(word, values) for word in _displaced(clause)):
        return True
    if has_any(clause, (*_ENDING, cues.NOT_IT)):
        return True
    if any(_replaces(word, values, pair) for word in words):
        return False  # What it denies or tells of the past may be about the other value
    return negates(clause) or has_any(clause, (cues.PAST_STATE,))


def _displaced(clause: str) -> list[Token]:
    return [word for phrase in displaced_in(clause) for word in content_of(phrase)]


def _behind_the_end(clause: str, values: Sequence[Token]) -> list[Token]:
    """Return what a clause says besides what it displaces, or behind the end with which it begins: "instead of A, B",
    "since Ann's departure Ben has …".
    """
    words = content_of(clause)
    if any(is_in(word, values) for word in _displaced(clause)):
        return [word for word in words if not is_in(word, values)]
    begun = cues.BEGINS_WITH_END.match(lexicon.folded(clause[:READ_CHARS]))
    return [*content_of(clause[begun.end() :])] if begun is not None else []


def _replaces(word: Token, values: Sequence[Token], pair: Pair) -> bool:
    """Return whether a word may stand in the place of one of the values: a name for a name, an hour for an hour."""
    if not (word.is_name or word.kind) or is_in(word, _words_of(pair.older)) or is_among(word, pair.keys):
        return False
    return any(_are_of_one_kind(word, value) for value in values)


def _are_of_one_kind(word: Token, value: Token) -> bool:
    kinds = {word.kind, value.kind}
    if word.kind == value.kind:
        return True
    if kinds <= lexicon.DAYLIKE or kinds <= _NUMERIC:
        return True
    return kinds <= {"", "code"}


def _is_about_one_thing(pair: Pair, values: Sequence[Token], clauses: Sequence[str]) -> bool:
    older = pair.older
    if pair.one_key or pair.related_keys:
        return True
    known = [word for word in (*older.words, *older.key) if not is_in(word, values) and tells(word)]
    said = [word for clause in clauses for word in content_of(clause) if not word.kind]
    if any(is_among(word, known) for word in said):
        return True
    # A long number is hardly that of two things: "my extension is 218", "somebody else has 218, I have 340"
    numbers = [word for word in values if word.kind in _NUMERIC and len(word.word) >= _LONG]
    is_named = any(is_in(word, content_of(clause)) for clause in clauses for word in numbers)
    return is_named and all(has_any(text, (cues.SPEAKER, cues.OURS)) for text in (older.said, " ".join(clauses)))


def _is_of_another(pair: Pair, text: str) -> bool:
    """Return whether it speaks of somebody whom the older one does not name: "Leo's manager", "my sister left A"."""
    known = (*pair.older.words, *pair.older.key)
    if not all(is_in(owner, known) for owner in owners_in(text)) or pair.is_of_relative:
        return True
    texts = (pair.older.said, text)
    ours, theirs = (
        [has_any(each, (cue,)) for each in texts] for cue in (cues.BEGINS_WITH_OURS, cues.BEGINS_WITH_THEIRS)
    )
    return (ours[0] and theirs[1] and not ours[1]) or (ours[1] and theirs[0] and not ours[0])
