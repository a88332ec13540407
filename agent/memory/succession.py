"""Decides whether a newer statement names the older one's value as over, and another in its place. Pure.

    Ann leads the design team.          Ann has left, Ben leads design now.
    Wir nutzen Trello.                  Der Umzug weg von Trello ist durch, alles liegt in Asana.
    The limit is 20 GB.                 I was wrong: the limit is 50 GB, not 20.

That is the strongest sign that one thing has changed, since the newer statement itself says what it replaces. So the
other signs of `agent.memory.attributes` do not count, and the keys, which a model words freely, need not be alike if
the two share a word besides. All of this has to hold:

    over         a clause names the old value, a name or a value of a kind, and says that it ended, left, is replaced,
                 was wrong, or is not so. If only that it is or was not so, the other clause has to say what is so now
                 of the same thing: "Ann was busy, so Ben came along" replaces nothing
    instead      another clause, or the rest of that one, names another value of its kind
    one thing    both say of what the value is ("design"), or nothing else ended: not "Ann left the choir, Ben sings"
    for good     nothing says that it is so for a while ("is on vacation", "until Friday"), or will be so ("will leave")
    one owner    the newer one is not about somebody else's
"""

from collections.abc import Iterable, Sequence
from itertools import chain
from typing import Final

from agent.memory import cues, grammar, lexicon, when_cues, whose_cues
from agent.memory.alignment import UNSPACED, clauses_of, content_of, has_any, is_in, negates, owners_in, tells
from agent.memory.comparison import Pair, Side, compared, is_among
from agent.memory.restating import with_closed_codes
from agent.memory.statements import READ_CHARS, Token, displaced_in, sentences, without
from agent.memory.told import Told

MAX_SENTENCES: Final = 3  # Of a message, in which a value and its successor are told: "Ann left. Ben leads it."
_ENDS: Final = (lexicon.ENDED, lexicon.CANCELLED, cues.STOPPED, cues.LEFT, cues.GONE, grammar.ELIDED_END)
_TAKES_BACK: Final = (cues.MISTAKEN, cues.WITHDRAWN, whose_cues.BY_ANOTHER)
_LONG: Final = 3  # Digits of a number that names one thing
_HOURS: Final = frozenset({"clock", "number"})
_NUMERIC: Final = frozenset({"number", "money", "share", "duration", "age", "code"})


def names_successor(older: Told, newer: Told) -> bool:
    """Return whether the newer one names the value of the older one as over, and another in its place."""
    pair = compared(older, newer)
    text = _message(newer)
    values = _values_of(older, pair)
    if not values or has_any(text, (when_cues.AWAY, whose_cues.STANDS_IN, when_cues.FOR_A_WHILE, cues.SUPPOSES)):
        return False
    clauses = [*chain.from_iterable(map(clauses_of, sentences(text)[:MAX_SENTENCES]))]
    over = [clause for clause in clauses if _is_over(clause, values, pair)]
    rest = [clause for clause in clauses if clause not in over]
    if not over or has_any(" ".join(over), (when_cues.WILL_BE, cues.REPORTS)):
        return False
    if has_any(text, (when_cues.ON_ONE_DAY,)) and not has_any(" ".join(over), (*_ENDS, *_TAKES_BACK)):
        return False  # "Jo came along today instead of Ann"
    if has_any(" ".join(rest), (*cues.ADDS, *cues.UNSURE)) or _is_of_another(pair, text):
        return False
    instead = [clause for clause in rest if not negates(clause) and _names_other(content_of(clause), values, pair)]
    if not instead and not any(_names_other(_behind_the_end(clause, values), values, pair) for clause in over):
        return False
    is_for_good = any(_is_for_good(clause, values) for clause in over)
    if _shares_a_word(pair, values, clauses if is_for_good else instead):
        return is_for_good or not any(map(_is_event, instead))
    is_one = pair.one_key or pair.related_keys or _is_of_one_number(pair, values, clauses)
    return is_one and any(_ends_only_it(clause, values) for clause in over) and not any(map(_is_event, instead))


def is_of_another_end(pair: Pair) -> bool:
    """Return whether a clause of the newer one tells of the old value what ends something else, or was so once only:
    "Ann left the choir, Ben sings now", "Ann was busy, Ben came along".
    """
    values = [word for word in content_of(pair.older.text) if word.is_name or word.kind]
    values = [word for word in values if not is_among(word, pair.keys)]
    clauses = clauses_of(pair.newer.said)
    over = [clause for clause in clauses if _is_over(clause, values, pair)]
    rest = [clause for clause in clauses if clause not in over]
    instead = [clause for clause in rest if _names_other(content_of(clause), values, pair)]
    if not over or not instead or _shares_a_word(pair, values, instead):
        return False
    if any(_is_for_good(clause, values) for clause in over):
        return not any(_ends_only_it(clause, values) or _shares_a_word(pair, values, [clause]) for clause in over)
    return all(map(_is_event, instead))


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
    if _is_for_good(clause, values) or has_any(clause, (cues.NOT_IT,)):
        return True
    # What it denies or tells of the past may be about the other value
    is_over = negates(clause) or has_any(clause, (when_cues.PAST_STATE,))
    return is_over and not _names_other(words, values, pair)


def _is_for_good(clause: str, values: Sequence[Token]) -> bool:
    """Return whether a clause says that something ended, was exchanged or was wrong: more than that it is not so."""
    return has_any(clause, (*_ENDS, *_TAKES_BACK)) or any(is_in(word, values) for word in _displaced(clause))


def _ends_only_it(clause: str, values: Sequence[Token]) -> bool:
    """Return whether a clause says nothing but that the value is over: "Ann has left", where "Ann has left the choir"
    tells of something else. So does the hour: "I left Leeds at 7".
    """
    if has_any(clause, _TAKES_BACK):
        return True
    if not _is_for_good(clause, values):
        return False
    if UNSPACED.search(clause) is not None:
        return True  # No rule tells its words apart
    begun = cues.BEGINS_WITH_END.match(lexicon.folded(clause[:READ_CHARS]))
    rest = clause if begun is None else clause[: begun.end()]
    for pattern in (*_ENDS, cues.WORKPLACE):
        rest = without(rest, pattern)
    words = [word for word in content_of(rest) if not is_in(word, values)]
    is_displaced = any(is_in(word, values) for word in _displaced(clause))
    return is_displaced or not any(word.kind in _HOURS or (not word.kind and tells(word)) for word in words)


def _is_event(clause: str) -> bool:
    """Return whether a clause tells what happened once, and not what is so or what somebody got."""
    happened = (lexicon.PAST, when_cues.HAPPENED, when_cues.PERFECT, when_cues.PAST_STATE)
    return has_any(clause, happened) and not has_any(clause, (*cues.CHANGES, cues.GIVEN, cues.BEGUN))


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


def _names_other(words: Iterable[Token], values: Sequence[Token], pair: Pair) -> bool:
    return any(_replaces(word, values, pair) for word in words)


def _are_of_one_kind(word: Token, value: Token) -> bool:
    kinds = {word.kind, value.kind}
    if word.kind == value.kind:
        return True
    if kinds <= lexicon.DAYLIKE or kinds <= _NUMERIC:
        return True
    return kinds <= {"", "code"}


def _shares_a_word(pair: Pair, values: Sequence[Token], clauses: Sequence[str]) -> bool:
    """Return whether both say of what the value is: "Ann leads design", "… Ben leads design"."""
    known = [word for word in (*pair.older.words, *pair.older.key) if not is_in(word, values) and tells(word)]
    known = [word for word in known if not (word.kind or word.raw in whose_cues.TITLES)]
    said = [word for clause in clauses for word in content_of(clause) if not (word.kind or is_in(word, values))]
    return any(is_among(word, known) for word in said)


def _is_of_one_number(pair: Pair, values: Sequence[Token], clauses: Sequence[str]) -> bool:
    """Return whether both name a number that is hardly that of two things: "my extension is 218", "somebody else has
    218, I have 340".
    """
    numbers = [word for word in values if word.kind in _NUMERIC and len(word.word) >= _LONG]
    is_named = any(is_in(word, content_of(clause)) for clause in clauses for word in numbers)
    return is_named and all(
        has_any(text, (whose_cues.SPEAKER, whose_cues.OURS)) for text in (pair.older.said, " ".join(clauses))
    )


def _is_of_another(pair: Pair, text: str) -> bool:
    """Return whether it speaks of somebody whom the older one does not name: "Leo's manager", "my sister left A"."""
    known = (*pair.older.words, *pair.older.key)
    if not all(is_in(owner, known) for owner in owners_in(text)) or pair.is_of_relative:
        return True
    texts = (pair.older.said, text)
    ours, theirs = (
        [has_any(each, (cue,)) for each in texts]
        for cue in (whose_cues.BEGINS_WITH_OURS, whose_cues.BEGINS_WITH_THEIRS)
    )
    return (ours[0] and theirs[1] and not ours[1]) or (ours[1] and theirs[0] and not ours[0])
