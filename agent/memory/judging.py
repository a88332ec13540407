"""Judges what a new fact does to an older one: it replaces it, it may outdate it, or both stand (seed 003). Pure.

A key and a number come from a model, so they are hints. What decides is what the person wrote: the sentences of their
messages that state the two facts. A bare value ("Friday") tells neither who is meant nor whether something is added.

Rules
  A fact replaces another only if all of this holds (`agent.memory.attributes`):
    something says that they are about the same: one key, a number that the model names, or the words themselves;
    the sentences are evidence enough: they have something in common, differ in one thing, tell of a change ("now",
      "moved", "no longer"), and show that it is one of this thing (another value of one kind);
    nothing speaks against it: the newer one adds ("also"), reports ("Rita thinks"), supposes ("if", "would"), asks,
      denies something else ("not on Sundays"), or holds for less ("on Saturdays", "today", "except …").
  If they may be about the same, the older one may be outdated: both are kept, shown so, and a model is asked about the
  two alone. One hint is enough for that: one key, a number, or a word that both have. A replaced statement is lost, and
  a marked one is not.
  Two keys that tell two things apart (`agent.memory.keys`) replace nothing.
  What has one key, or what the model names, is marked at least, unless it only adds. A common word alone marks nothing
  where it is proven that there are two things (`agent.memory.distinct`); nor does the model's answer replace it there.
  What was said in one message was meant together: nothing in it replaces the rest of it.
  Where no message is known, two bare values under one key are taken at their word.
  Two long statements are not compared, as the time would grow with the product of their words: both are kept, and a
  model is asked only if it named the older one, or both have one key.
"""

from enum import Enum, auto
from typing import Final

from agent.memory import cues, lexicon
from agent.memory.alignment import alike, all_in, clauses_of, content_of, has_any, is_in, negates
from agent.memory.attributes import differs_in_one_place, gives_another_value, succeeds
from agent.memory.comparison import compared, may_be_about_the_same
from agent.memory.distinct import are_two_things
from agent.memory.facts import plain_key, same_key
from agent.memory.keys import name_one_thing, tell_apart
from agent.memory.supersession import contradicts, different_subjects
from agent.memory.told import Told, has_cue

MAX_COMPARED: Final = 800  # Characters of two statements together; nobody states one thing in so many


class Verdict(Enum):
    REPLACES = auto()
    MAY_OUTDATE = auto()
    STANDS_BESIDE = auto()


def judge(older: Told, newer: Told, *, named: bool = False) -> Verdict:
    """Return what `newer` does to `older`. `named`: a model that has read both says that it replaces it."""
    is_same = older.value.strip().casefold() == newer.value.strip().casefold()
    if is_same and plain_key(older.key) == plain_key(newer.key):
        return Verdict.STANDS_BESIDE
    is_said = named or name_one_thing(older.key, newer.key)  # That they are about one thing
    if _are_long(older, newer):
        return Verdict.MAY_OUTDATE if is_said and not has_cue(newer, cues.ADDS) else Verdict.STANDS_BESIDE
    may_be_one = not tell_apart(older.key, newer.key)
    if may_be_one and not _is_question(newer) and succeeds(older, newer):
        return Verdict.REPLACES
    if has_cue(newer, cues.ADDS):
        return Verdict.MAY_OUTDATE if is_said and not _only_adds(older, newer) else Verdict.STANDS_BESIDE
    # "Perhaps Ann is the lead" replaces nothing; it may only cast doubt, below.
    if may_be_one and not _is_unsure(newer, older) and _replaces(older, newer, named=named):
        return Verdict.REPLACES
    if is_said:
        return Verdict.MAY_OUTDATE
    may_be = _related(older.key, newer.key) or may_be_about_the_same(older, newer)
    return Verdict.MAY_OUTDATE if may_be and not are_two_things(older, newer) else Verdict.STANDS_BESIDE


def may_replace(older: Told, newer: Told) -> bool:
    """Return whether a model that was asked about the two alone may say that `newer` replaces `older`. It decides what
    the rules leave open, and nothing that they prove.

    A word such as "also" or "thinks" is no proof, as it may belong to anything in the sentence: "we're in another
    subnet now". A model whose verdicts count reads what it belongs to (`agent.memory.doubts`).
    """
    return not (_are_in_one_sentence(older, newer) or _are_long(older, newer) or are_two_things(older, newer))


def _only_adds(older: Told, newer: Told) -> bool:
    """Return whether what adds something says nothing else that could outdate the older one: no other value of its
    kind, no change or denial, and nothing in a clause of its own: not "we bought three more, that makes five hens now".
    """
    pair = compared(older, newer)
    changes = pair.clash or pair.ends_older or has_any(newer.sentence, (*cues.CHANGES, cues.MISTAKEN))
    if changes or negates(newer.sentence):
        return False
    adding = [clause for clause in clauses_of(newer.sentence) if has_any(clause, cues.ADDS) and content_of(clause)]
    return has_any(pair.newer.text, cues.ADDS) or not adding


def _are_long(older: Told, newer: Told) -> bool:
    return len(older.sentence) + len(newer.sentence) > MAX_COMPARED


def _replaces(older: Told, newer: Told, *, named: bool) -> bool:
    # Two bare values have no sentences to compare: the keys alone say whether they are about one thing.
    if older.is_bare and newer.is_bare:
        is_one = same_key(older.key, newer.key) or (named and _related(older.key, newer.key))
        return is_one and not (different_subjects(older.value, newer.value) or _other_verbs(older.value, newer.value))
    if differs_in_one_place(older, newer) and contradicts(older.sentence, newer.sentence):
        return True
    return gives_another_value(older, newer, named=named)


def _is_unsure(newer: Told, older: Told) -> bool:
    """Return whether the newer one is not the person's certain statement, or holds for less than the older one."""
    return has_cue(newer, cues.UNSURE) or _is_question(newer) or _are_in_one_sentence(older, newer)


def _are_in_one_sentence(older: Told, newer: Told) -> bool:
    return bool(older.said) and older.said == newer.said and older.sentence == newer.sentence


def _is_question(told: Told) -> bool:
    return told.sentence.rstrip(" \"'”»").endswith(("?", "？"))


def _related(key: str, other: str) -> bool:
    """Return whether two keys may name one thing: one of them has all words of the other, and no name besides."""
    if same_key(key, other):
        return True
    words, others = content_of(key), content_of(other)
    if not words or not others:
        return False
    if len(words) > len(others):
        words, others = others, words
    extra = [word for word in others if not is_in(word, words)]
    return all_in(words, others) and not any(word.kind for word in extra) and len(extra) <= 1


def _other_verbs(older: str, newer: str) -> bool:
    """Return whether two bare values begin with different verbs: "weighs 5 kg", "likes fish"."""
    old, new = content_of(older), content_of(newer)
    if not old or not new or has_any(newer, cues.CHANGES):
        return False
    verbs = [word.raw for word in (old[0], new[0]) if word.raw in lexicon.STATE_VERBS]
    return len(verbs) == 2 and not alike(old[0], new[0])
