"""Proves that two statements are about two things, whatever a model says of them. Pure.

Such a proof outweighs one key, the model's number, and its answer when it is asked about the two alone: nothing is
replaced, though what has one key is still marked (`agent.memory.judging`). So it rests on what the newer statement says
outright, and never on a word of change that it lacks:

    another owner     "Leo's manager", "my sister's rent", where the older one names no such person
    another one       "invoice 1002", "room B", "the rent of the studio is 700" beside "the rent of the shop is 900"
    one of several    "requests in the billing repository", "the reduced ticket"
    another time      what was so once, the next time only, or while somebody stands in

That two sentences share few words proves nothing: most changes are told in other words than what they change.
"""

import re
from collections.abc import Callable, Sequence
from itertools import islice, pairwise
from typing import Final

from agent.memory import cues, grammar, lexicon, when_cues, whose_cues
from agent.memory.alignment import all_in, by_kind, content_of, has_any, is_in, owners_in, tells
from agent.memory.comparison import Pair, Side, begins_with_speaker, compared, is_among, new_in
from agent.memory.restating import VERB_OF_CHANGE, tells_when_first
from agent.memory.statements import READ_CHARS, WORD, Token, is_function, stem
from agent.memory.told import Told

_PERSONS: Final = frozenset({"i", "we", "you", "he", "she", "they"})
PASSIVE_WORDS: Final = 3  # Behind "was", in which a participle makes a passive: "was just recently moved"
MAX_PLACES: Final = 8  # Of a word in a sentence, that are looked at
WORD_CHARS: Final = 60  # Of the text behind a place, in which the next words are looked for


def are_two_things(older: Told, newer: Told) -> bool:
    """Return whether it is proven that the newer one replaces nothing of the older."""
    pair = compared(older, newer)
    return any(proves(pair) for proves in _PROOFS)


def is_of_another_owner(pair: Pair) -> bool:
    """Return whether the newer one says outright that it is about somebody else's."""
    older, newer = pair.older, pair.newer
    known = (*older.words, *older.key)
    if not all(is_in(owner, known) for owner in owners_in(newer.text)):
        return True
    of_key = [word for word in older.key if is_in(word, newer.key)]
    owned = [match for word in of_key for match in owned_by(word, newer.said)]
    if pair.names_attribute and any(tells(word) and not (is_among(word, known)) for word in owned):
        return True  # "Ann's husband" is another one than "Ann"
    if pair.is_of_relative or begins_with_another_of_ours(pair):
        return True
    whose = whose_cues.OF_SOMEBODY.match(newer.text)
    if whose is not None and not all(older.mentions(word) for word in content_of(whose["owner"])):
        return True
    about = older.statement.about, newer.statement.about
    return all(about) and (about[0] == "they") != (about[1] == "they")


def begins_with_another_of_ours(pair: Pair) -> bool:
    """Return whether the older one is about the speaker, and the newer one begins with somebody of theirs: "I drive a
    Panda", "my brother-in-law drives a Tesla now". Not "my landlord raised our rent".
    """
    older, newer = pair.older, pair.newer
    if older.subject or not begins_with_speaker(older.text) or not pair.is_of_another_of_ours:
        return False
    is_new = bool(new_in(newer.said))
    return not (is_new or is_agent(pair) or has_any(newer.said, (whose_cues.SPEAKER,)))


def owned_by(name: Token, text: str) -> list[Token]:
    """Return what of what a word names a text speaks of: "husband" of "Ann's husband", "demo" of "la demo de Ann"."""
    word = re.escape(re.sub("['’]s$", "", name.raw))
    pattern = rf"(?<!\w){word}['’]s (\w{{2,30}})|(\w{{2,30}}) (?:{whose_cues.OF_NAME}) {word}(?!\w)"
    found = re.findall(pattern, text[:READ_CHARS], re.IGNORECASE) if name.is_name and name.raw else []
    return [token for before, after in found for token in content_of(before or after)[:1]]


def names_another(pair: Pair) -> bool:
    """Return whether they name two things by their numbers, or the newer key and sentence a part of the older one's."""
    older, newer = pair.older, pair.newer
    identifiers = older.statement.identifiers, newer.statement.identifiers
    if all(identifiers) and identifiers[0] != identifiers[1] and identifiers[0] & older.statement.subject:
        return True
    if not any(is_among(word, older.key) for word in newer.key if tells(word)):
        return False  # Two keys without a common word may be two names of one thing
    old_said, new_said, old_key = map(lexicon.folded, (older.said, newer.said, older.key_text))
    added = [word for word in map(lexicon.folded, WORD.findall(newer.key_text)) if word not in old_key]
    known = [*new_in(newer.said), *older.key]
    added = [word for word in added if not is_among(Token(stem(word), raw=word), known)]
    return any(word in new_said and word not in old_said and not is_function(word) for word in added)


def _differs_in_subject_and_value(pair: Pair) -> bool:
    """Return whether each names a subject of its own, and a value of its own: "the rent of the shop is 900", "the rent
    of the studio is 700". A subject alone may be the value: "Priya leads the team", "Tomasz leads the team".
    """
    older, newer = pair.older, pair.newer
    if newer.is_about_it:
        return False

    def own(words: Sequence[Token], other: Side) -> list[Token]:
        return [word for word in words if not (other.mentions(word) or is_among(word, (*other.words, *pair.keys)))]

    def has_value(words: Sequence[Token], other: Side) -> bool:
        return any((word.kind or word.is_name) and not other.mentions(word) for word in words)

    subjects = any(map(tells, own(older.subject, newer))) and any(map(tells, own(newer.subject, older)))
    return subjects and has_value(older.predicate, newer) and has_value(newer.predicate, older)


def is_of_one_of_several(pair: Pair) -> bool:
    """Return whether the newer one says behind the noun that both share which one it means: "requests need one
    approval", "requests in the billing repository need two".
    """
    older, newer = pair.older, pair.newer
    shared = [word for word in (*(older.subject or older.words), *older.key) if word.raw and not word.kind]
    folded = lexicon.folded(newer.said[:READ_CHARS])
    for word in shared[:MAX_PLACES]:
        for found in islice(re.finditer(rf"(?<!\w){re.escape(word.raw)}s? ", folded), MAX_PLACES):
            which = grammar.BESIDE_NOUN.match(folded, found.end())
            which = which or grammar.ADJECTIVE_BEHIND.match(folded, found.end())
            named = which["which"] if which is not None else ""
            words = [each for each in content_of(newer.said) if each.raw and each.raw == named and tells(each)]
            if any(not (older.mentions(each) or is_among(each, pair.keys)) for each in words):
                return True
    return False


def is_of_an_earlier_state(pair: Pair) -> bool:
    return (was_so(pair.newer) and not was_so(pair.older)) or _puts_the_verb_in_the_past(pair)


def _puts_the_verb_in_the_past(pair: Pair) -> bool:
    """Return whether an English newer one says in the past what the older one says in the present, and nothing of a
    change: "I report to Ann", "I reported to Ben in 2019".
    """
    if has_any(pair.newer.said, (*cues.CHANGES, cues.GIVEN, when_cues.JUST, when_cues.PERFECT, cues.MISTAKEN)):
        return False
    now = {word.raw.removesuffix("s") for word in pair.older.clause if word.raw and not word.kind}
    then = {f"{verb.removesuffix('e')}ed" for verb in now}
    said = WORD.findall(lexicon.folded(pair.newer.text[:READ_CHARS]))
    return any(word in then and before in _PERSONS for before, word in pairwise(said))


def was_so(side: Side) -> bool:
    """Return whether it tells of a state in the past tense, or of a year: "our rent was 700", "we spent 55k in 2022".
    Where a change is told behind "was", it is a passive: "the class was moved to Monday".
    """
    text = lexicon.folded(side.text[:READ_CHARS])
    if side.statement.past and not has_any(side.said, cues.CHANGES) and when_cues.IN_A_YEAR.search(text) is not None:
        return True
    changes = (*cues.CHANGES, cues.GIVEN, VERB_OF_CHANGE)
    after = (text[found.end() :][:WORD_CHARS] for found in islice(when_cues.PAST_STATE.finditer(text), MAX_PLACES))
    following = (" ".join(rest.split()[:PASSIVE_WORDS]) for rest in after)
    is_state = any(not any(pattern.search(words) for pattern in changes) for words in following)
    return is_state and not has_any(side.text, (cues.MISTAKEN,))


def holds_for_a_time(pair: Pair) -> bool:
    """Return whether the newer one holds on a day, the next time, or while somebody stands in: "tomorrow Sven comes at
    ten". One that begins with a day is about that day, where the older one names none.
    """
    said = pair.older.said, pair.newer.said
    if when_cues.BEGINS_WITH_TIME.search(said[1][:READ_CHARS]) and not when_cues.BEGINS_WITH_TIME.search(said[0]):
        return not pair.tells_what_became_of_it
    if any(has_any(said[1], (cue,)) and not has_any(said[0], (cue,)) for cue in (cues.RETURN, whose_cues.STANDS_IN)):
        return True
    begins_with_day = any(word.kind in lexicon.DAYLIKE for word in pair.newer.words[:1])
    if begins_with_day and not (by_kind(pair.older.words).keys() & lexicon.DAYLIKE or tells_when_first(said[1])):
        return not pair.tells_what_became_of_it
    return _is_on_another_day(pair) or _holds_next_time(pair)


def _is_on_another_day(pair: Pair) -> bool:
    """Return whether each names a weekday of its own, and something else that differs: "I finish at five on Mondays",
    "I now finish at three on Fridays". Where a thing was moved to a day, all of it was.
    """
    older, newer = pair.older, pair.newer
    days = [by_kind(side.words).get("weekday", set[str]()) for side in (older, newer)]
    if not all(days) or days[0] & days[1] or has_any(newer.said, (lexicon.MOVES, VERB_OF_CHANGE)):
        return False
    if newer.is_unspaced:
        rest = [[word for word in side.words if not word.kind] for side in (older, newer)]
        differing = [[word for word in rest[at] if not is_in(word, rest[1 - at])] for at in (0, 1)]
        return not pair.changed and all(differing)
    values = [[word for word in side.words if word.kind and word.kind != "weekday"] for side in (older, newer)]
    differing = [[word for word in values[at] if not is_in(word, values[1 - at])] for at in (0, 1)]
    return begins_with_speaker(older.text) and all(differing)


def _holds_next_time(pair: Pair) -> bool:
    """Return whether the newer one tells of the next day or period, and the older one of what is usual, or of another
    period: "on Mondays", "next Monday".
    """
    older, newer = pair.older, pair.newer
    is_next = [has_any(side.said, (when_cues.NEXT,)) for side in (older, newer)]
    if is_next != [False, True] or has_any(newer.said, (lexicon.MOVES,)):
        return False
    is_usual = older.statement.habit or has_any(older.said, (lexicon.ON_WEEKDAYS,))
    return is_usual or bool(by_kind(older.words).get("relative"))


def is_agent(pair: Pair) -> bool:
    """Return whether the newer subject only made the change: "the landlord raised our rent to …"."""
    older, newer = pair.older, pair.newer
    if any(is_in(word, older.subject or older.words) for word in newer.subject):
        return False  # "The evening class" is another one than "the class"
    if any(_precedes(last, word, newer) for last in newer.subject[-1:] for word in (*pair.keys, *older.subject)):
        return False  # "The internal deadline moved to …" is about another one than "the deadline"
    if older.is_of_speaker and not older.subject and has_any(newer.text, (whose_cues.DONE_TO_SPEAKER,)):
        return pair.changed or pair.clash  # "The doctor put me on 30 mg"
    # "My neighbor has …" is not about the speaker, "my landlord raised our rent" is
    object_ = whose_cues.BEGINS_WITH_OURS.sub("", lexicon.folded(newer.text[:READ_CHARS]))
    is_ours = has_any(object_, (whose_cues.SPEAKER, whose_cues.OURS)) or not older.is_of_speaker
    return pair.changed and is_ours and all_in(pair.keys, newer.predicate)


def _precedes(word: Token, noun: Token, side: Side) -> bool:
    """Return whether a word stands right before a noun, as what tells which one is meant."""
    pair = rf"(?<!\w){re.escape(word.raw)} {re.escape(noun.raw)}(?!\w)"
    return bool(word.raw and noun.raw) and re.search(pair, lexicon.folded(side.text[:READ_CHARS])) is not None


_PROOFS: Final[tuple[Callable[[Pair], bool], ...]] = (
    is_of_another_owner,
    names_another,
    _differs_in_subject_and_value,
    is_of_one_of_several,
    is_of_an_earlier_state,
    holds_for_a_time,
)
