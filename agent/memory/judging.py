"""Judges what a new fact does to an older one: it replaces it, it may outdate it, or both stand (seed 003). Pure.

A key and a number come from a model, so they are hints. What decides is what the person wrote: the sentences of their
messages that state the two facts. A bare value ("Friday") tells neither who is meant nor whether something is added.

Rules
  Under a key that names an attribute the newer fact holds, unless a sign speaks against it: `agent.memory.attributes`.
  Else a fact replaces another only if all of this holds:
    something says that they are about the same: one key, a number that the model names, or the words themselves;
    something says that the older one ended: a word of change ("now", "moved"), what it replaces ("from X to Y"), its
      end ("no longer"), or another value in the same words ("the code is 12", "the code is 34");
    they differ in one place: sentences that differ in who and in what ("Ann's phone is 1", "Ben's phone is 2") are
      about two things;
    nothing speaks against it: the newer one adds ("also"), reports ("Rita thinks"), supposes ("if", "would"), asks,
      denies something else ("not on Sundays"), or holds for less ("on Saturdays", "today", "except …").
  If they may be about the same, the older one may be outdated: both are kept, and shown so.
  What was said in one message was meant together: nothing in it replaces the rest of it.
  Where no message is known, two bare values under one key are taken at their word.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import Enum, auto
from functools import lru_cache
from typing import Final

from agent.memory import cues, lexicon
from agent.memory.alignment import (
    MANNER,
    MAX_TOKENS,
    UNSPACED,
    alike,
    all_in,
    by_kind,
    clause_about,
    clauses_of,
    content_of,
    count_in,
    differing_places,
    has_any,
    is_in,
    is_theirs,
    leaves_out,
    limits,
    negates,
    owners_in,
    owns,
    qualifies,
    root,
    tells,
    topic_of,
    values_clash,
    words_added,
)
from agent.memory.attributes import belongs_to_others, gives_another_value, is_about_another_time, is_one_of_many
from agent.memory.facts import plain_key, same_key
from agent.memory.restating import restate
from agent.memory.statements import NO_CONTENT, READ_CHARS, WORD, Statement, Token, read_statement, without
from agent.memory.supersession import about_the_same, contradicts, different_subjects
from agent.memory.told import Told, has_cue
from agent.patterns import compile_later

FRAMED_WORDS: Final = 3  # Of a name
_FIRST_PERSON: Final = compile_later(r"\w{2,20}[aei]mos")  # A Spanish or Portuguese verb, which implies its subject
_NAMED: Final = compile_later(r"(?:[OA]s?|La|Il) [A-Z]")  # "A Carla": a name with its article
_ROLE_AND_NAME: Final = compile_later(
    r"[А-ЯЁ]?[а-яё]{2,20}(?: [а-яё]{2,20})? [—–-] [А-ЯЁ][а-яё]{1,20}\W{0,2}$"
)  # Russian
# When it ended, and no part of what ended
_WHEN_ENDED: Final = frozenset({"month", "relative", "date"})


class Verdict(Enum):
    REPLACES = auto()
    MAY_OUTDATE = auto()
    STANDS_BESIDE = auto()


def judge(older: Told, newer: Told, *, named: bool = False) -> Verdict:
    """Return what `newer` does to `older`. `named`: a model that has read both says that it replaces it."""
    if older.value.strip().casefold() == newer.value.strip().casefold() and plain_key(older.key) == plain_key(
        newer.key
    ):
        return Verdict.STANDS_BESIDE
    if has_cue(newer, cues.ADDS):
        return Verdict.STANDS_BESIDE
    comparison = _compared(older, newer)
    # "Perhaps Ann is the lead" replaces nothing; it may only cast doubt, below.
    if not _is_unsure(newer, older) and _replaces(older, newer, comparison, named=named):
        return Verdict.REPLACES
    # News under one key that names no other thing may be told in other words: "My desk is in B2", "I sit in C4 now".
    one_key = bool(older.key) and same_key(older.key, newer.key)
    if one_key and comparison.changes and not comparison.names_another:
        return Verdict.MAY_OUTDATE
    if comparison.are_two_things or (older.key and newer.key and not _related(older.key, newer.key)):
        return Verdict.STANDS_BESIDE
    # When in doubt both stay, and a model is asked about the two alone.
    is_news = comparison.denies or (comparison.changes and comparison.is_related)
    may_be = named or _related(older.key, newer.key) or is_news or about_the_same(older.sentence, newer.sentence)
    return Verdict.MAY_OUTDATE if may_be else Verdict.STANDS_BESIDE


def may_replace(older: Told, newer: Told) -> bool:
    """Return whether nothing speaks against it that `newer` replaces `older`. For a model that was asked about the two
    alone: it decides what the rules leave open, and nothing that they exclude.
    """
    if has_cue(newer, cues.ADDS) or _is_unsure(newer, older):
        return False
    comparison = _compared(older, newer)
    excluded = comparison.are_two_things or comparison.is_narrower or comparison.tells_another
    return not excluded and (comparison.denies or not comparison.denies_other)


def _replaces(older: Told, newer: Told, comparison: "_Comparison", *, named: bool) -> bool:
    one_key = same_key(older.key, newer.key)
    # Two bare values have no sentences to compare: the keys alone say whether they are about one thing.
    if older.is_bare and newer.is_bare:
        return comparison.same_predicate and (one_key or (named and _related(older.key, newer.key)))
    if belongs_to_others(older.sentence, newer.sentence):
        return False
    if not comparison.tells_another and contradicts(older.sentence, newer.sentence):
        return True
    if gives_another_value(older, newer, named=named):
        return True
    if comparison.are_two_things or comparison.is_narrower or is_about_another_time(older, newer):
        return False
    # The key is chosen by a model, so a related key is not enough without a second sign.
    about_one = one_key or (_related(older.key, newer.key) and (named or comparison.changes))
    if not about_one and not (named and comparison.same_subject and not (older.key and newer.key)):
        return False
    if comparison.denies:
        return True
    # A denial of something else leaves this fact as it was.
    if comparison.denies_other:
        return False
    if comparison.changes:
        return comparison.is_related
    return comparison.same_frame or (named and comparison.is_one_of_a_kind and not is_one_of_many(older, newer))


# What speaks against it.


def _is_unsure(newer: Told, older: Told) -> bool:
    """Return whether the newer one is not the person's certain statement, or holds for less than the older one."""
    if has_cue(newer, cues.UNSURE):
        return True
    return newer.sentence.rstrip(" \"'”»").endswith(("?", "？")) or (
        bool(older.said) and older.said == newer.said and older.sentence == newer.sentence
    )


# The sentence of a message that states a fact.


# Words, and whether two of them are one.


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


# The two sentences beside each other.


@dataclass(frozen=True, slots=True)
class _Sides:
    """The content words of a sentence: those of its subject, and those of its predicate with the values."""

    subject: tuple[Token, ...]
    predicate: tuple[Token, ...]

    @classmethod
    def of(cls, text: str, statement: Statement) -> "_Sides":
        tokens = content_of(text)
        if statement.has_subject:
            subject = tuple(token for token in tokens if token.word in statement.subject)
        elif statement.about:
            subject = ()  # "I live in Leeds"
        elif UNSPACED.search(text) is not None:
            subject = topic_of(tokens, statement)
        elif tokens and (tokens[0].raw in lexicon.SPEAKERS_VERBS or _FIRST_PERSON.fullmatch(tokens[0].raw)):
            subject = ()  # "Usamos …"
        else:
            subject = tuple(token for token in tokens[:1] if not token.kind)  # "Le séminaire aura lieu le …"
        return cls(subject, tuple(token for token in tokens if token not in subject))


@dataclass(frozen=True, slots=True)
class _Comparison:
    """What two sentences have in common.

    `are_two_things`: they differ in who and in what; `is_narrower`: the newer one holds for less; `same_subject`: the
    newer one names the subject of the older one; `changes`: it has a word of change; `denies`: it says that the older
    one ended; `denies_other`: it denies something else; `is_related`: both say something of the same kind;
    `same_frame`: they are the same but for values of one kind; `tells_another`: they say different kinds of things of
    one subject ("Ann is tall", "Ann is in Rome now"); `is_one_of_a_kind`: they differ in one place, where only
    one thing can be true at a time; `same_predicate`: two bare values say something of the same kind; `names_another`:
    the newer one names somebody or something that neither the older one nor the keys do.
    """

    are_two_things: bool
    is_narrower: bool
    same_subject: bool
    changes: bool
    denies: bool
    denies_other: bool
    is_related: bool
    same_frame: bool
    tells_another: bool
    is_one_of_a_kind: bool
    same_predicate: bool
    names_another: bool


@lru_cache(maxsize=64)
def _compared(older: Told, newer: Told) -> _Comparison:
    old_text, restated = restate(older.sentence, older.sentence).text, restate(newer.sentence, older.sentence)
    whole_text = restated.text
    old, whole = read_statement(old_text), read_statement(newer.sentence)  # The frame of a change tells, too
    old_words, new_words, keys = (
        content_of(old_text),
        content_of(whole_text),
        (*content_of(older.key), *content_of(newer.key)),
    )
    new_text = clause_about(whole_text, newer.value, (*old_words, *keys))
    new = read_statement(new_text)
    clause = content_of(new_text)
    old_side, new_side = _Sides.of(old_text, old), _Sides.of(new_text, new)
    clash = values_clash(old_words, clause) or values_clash(old_words, new_words)
    missing = [word for word in old_side.subject if not is_in(word, new_words) and not is_in(word, keys)]
    lost = [word for word in old_side.predicate if not word.kind and not is_in(word, new_words) and tells(word)]
    extra = [word for word in new_side.subject if not is_in(word, (*old_words, *keys)) and tells(word)]
    extra = [word for word in extra if not word.kind]
    added_to_key = [word for word in content_of(newer.key) if not is_in(word, content_of(older.key))]
    of_less = any(is_in(word, new_words) and not is_in(word, old_words) for word in added_to_key if older.key)
    duties = [word for word in keys if word.raw not in cues.DUTIES]
    holder = (
        not any(is_in(word, (*clause, *keys)) for word in old_side.subject)
        and all(word.raw in cues.DUTIES for word in lost)
        and not (clash or old.about or new.about)
        and all_in(duties, clause)
        and _names_holder(old, old_side.subject)
    )
    # "Ann is the lead" is about the lead
    reversed_ = all_in(old_side.subject, new_side.predicate) and not count_in(old_side.subject, new_side.subject)
    of_another = any(owns(word, new_text) and not owns(word, old_text) for word in old_side.subject)
    of_others = has_any(old_text, (cues.OURS,)) and is_theirs(newer.sentence)
    of_another = of_another or not all(is_in(owner, (*old_words, *keys)) for owner in owners_in(new_text))
    other_person = bool(old.about) and bool(new.about) and (old.about == "they") != (new.about == "they")
    changed = restated.changed or _changes(newer.sentence) or _changes(newer.value)
    places, added = differing_places(old_words, clause, (old_text, new_text)), words_added(old_words, clause, keys)
    instead = [word for word in clause if not (word.kind or word.is_name or is_in(word, (*old_words, *keys)))]
    lasts = old.has_subject or bool(old.verb) or old.placed or old.resides  # else it may be an event: "I ran 5 km"
    is_one_place = places == 1 and not added and lasts and not old.past
    mentions_old = any(is_in(word, new_words) for word in old_side.predicate if tells(word) and not is_in(word, keys))
    exchanged = bool(whole.displaced) or has_any(newer.sentence, (cues.EXCHANGED,))
    denying = [clause for clause in clauses_of(whole_text) if negates(clause)]
    attribute = any(not is_in(word, old_side.subject) for word in content_of(older.key))
    unique = old.unique or new.unique or lexicon.UNIQUE.search(lexicon.folded(newer.key)) is not None
    shares = any(is_in(word, clause) for word in old_side.predicate if word.raw not in lexicon.GENERIC_VERBS)
    is_person = bool(old.names) and not old.definite  # "Ann is …" says many things of one subject
    states = old.has_subject and new.has_subject and old.verb == new.verb and not is_person
    # A copula joins anything ("is red", "is in the garage"): of what it joins, two places are one attribute
    names = [all(word.is_name for word in side.predicate) and side.predicate for side in (old_side, new_side)]
    named = states and all(names) and not (old.placed or new.placed)
    states = named or (states and old.placed and new.placed)
    at_home = old.placed or old.resides or has_any(older.key, (cues.HOME,))
    relocated = at_home and (new.settles or new.placed or has_any(newer.sentence, (cues.RELOCATED,)))
    if has_any(old_text, (cues.MANY_AT_A_TIME,)):
        nouns = [word for word in old_side.predicate if not cues.MANY_AT_A_TIME.fullmatch(word.raw)]
        is_related = unique or clash or any(is_in(word, new_words) and not is_in(word, keys) for word in nouns)
    elif old_side.subject:
        is_related = clash or holder or mentions_old or unique or attribute or states or shares or relocated
        is_related = is_related or _in_one_frame(old_text, new_text)
    else:  # "I read novels", "I now watch films": a person does many things
        verbs = [word for word in old_side.predicate if word.raw == old.verb] or [*old_side.predicate[:1]]
        same_verb = bool(count_in(verbs, new_words)) or bool(denying) or whole.moves or exchanged
        is_related = (
            unique
            or relocated
            or (clash and all(is_in(word, keys) for word in lost))
            or (same_verb and (mentions_old or shares))
            or _in_one_frame(old_text, new_text)
        )
    return _Comparison(
        are_two_things=(bool(missing) and not (holder or (clash and changed and _renamed(old_side, new_side, keys))))
        or other_person
        or of_others
        or (UNSPACED.search(old_text) is not None and _other_letters(topic_of(old_words, old), topic_of(clause, new)))
        or places > 1
        or (not old.has_subject and leaves_out(old_words, clause)),
        is_narrower=of_less
        or of_another
        or (bool(extra) and new.has_subject and not holder and not reversed_)
        or (limits(old_words, new_words, whole_text) and not has_any(newer.sentence, cues.ENDS))
        or (old.past and not exchanged)  # What happened once stays true
        or (has_any(new_text, (cues.ATTRIBUTE,)) and not has_any(old_text, (cues.ATTRIBUTE,)))
        or qualifies(new_text, added)
        or (not has_any(old_text, (cues.QUALIFIES,)) and qualifies(new_text, instead))
        # A word that stands in the place of none says that the newer one is about something else, or holds for less
        or (bool(added) and not (holder or reversed_ or (exchanged and mentions_old))),
        same_subject=bool(old_side.subject) and all_in(old_side.subject, new_words),
        changes=changed or (named and whole.new),
        denies=not old.negated and any(_denies(clause, old_words, old_side.subject, keys) for clause in denying),
        denies_other=negates(new_text),
        is_related=is_related,
        tells_another=of_others
        or (places > 1 and not unique)
        or (
            (is_person or UNSPACED.search(old_text) is not None)
            and not (is_related or mentions_old or denying or whole.displaced)
            and not any(is_in(word, clause) for word in old_side.predicate)
            and not has_any(newer.sentence, (lexicon.ANY_STATE,))
        ),
        same_frame=is_one_place and clash and not (lost or old.habit or old.verb in lexicon.HAVE),
        is_one_of_a_kind=is_one_place
        and bool(clash or unique or (old.placed and new.placed) or (old.resides and new.resides)),
        names_another=other_person
        or (whole.new and has_any(old_text, (cues.OLD,)))
        or of_others
        or of_another
        or any(owns(word, old_text) and not is_in(word, new_words) for word in old_side.subject)
        or of_less
        or (places > 1 and count_in(old_words, clause) > 0)  # without a common word nothing is contrasted
        or any(not is_in(word, (*old_words, *keys)) for word in new_side.subject if tells(word)),
        same_predicate=not (older.is_bare and newer.is_bare)
        or not (different_subjects(older.value, newer.value) or _other_verbs(older.value, newer.value)),
    )


def _other_letters(older: Iterable[Token], newer: Iterable[Token]) -> bool:
    """Return whether letters tell two things apart: "会議室A", "会議室B"."""
    old, new = ({word.word for word in side if word.kind == "code" and word.word.isalpha()} for side in (older, newer))
    return bool(old) and bool(new) and not old & new


def _renamed(older: _Sides, newer: _Sides, keys: Sequence[Token]) -> bool:
    """Return whether it is named as by the older one or the key, only otherwise: "my dog Rex is 4", "Rex is 5"."""
    return all_in(newer.subject, (*older.predicate, *keys)) and not count_in(newer.subject, older.subject)


def _names_holder(old: Statement, subject: Sequence[Token]) -> bool:
    """Return whether a sentence begins with the name of who does something: another one may do it now."""
    if any(UNSPACED.search(word.word) for word in subject):
        return old.verb == "负责"
    is_name = not old.definite or _NAMED.match(old.text) is not None
    return bool(subject) and all(word.is_name for word in subject) and is_name


def _changes(text: str) -> bool:
    return has_any(text, cues.CHANGES)


@lru_cache(maxsize=64)
def _in_one_frame(older: str, newer: str) -> bool:
    """Return whether they are the same, word for word, but for a name behind one preposition, or a Japanese person.

    "The course is in Lyon", "the course is now in Metz". Behind a copula or a verb the names may say different things.
    """
    if UNSPACED.search(older) is not None:
        old_person, new_person = cues.JAPANESE_PERSON.search(older), cues.JAPANESE_PERSON.search(newer)
        return bool(old_person and new_person and old_person["topic"] == new_person["topic"])
    old, new = _framed(older), _framed(newer)
    start = next((at for at, (word, other) in enumerate(zip(old, new, strict=False)) if word != other), 0)
    end = next(
        (
            at
            for at, (word, other) in enumerate(zip(reversed(old[start:]), reversed(new[start:]), strict=False))
            if word != other
        ),
        0,
    )
    differing = [words[start : len(words) - end] for words in (old, new)]
    is_short = all(0 < len(words) <= FRAMED_WORDS for words in differing)
    are_names = all(word[:1].isupper() for words in differing for word in words)
    if not (is_short and are_names):
        return False
    if _ROLE_AND_NAME.match(older) is not None:
        return start == len(old) - 1 and end == 0
    before = old[start - 1].casefold() if start > 1 else ""
    return before in cues.PLACING or before in cues.LIGHT


def _framed(text: str) -> list[str]:
    """Return the words of a sentence without those of manner."""
    words = text[:READ_CHARS]
    for pattern in (*NO_CONTENT, *MANNER):
        words = without(words, pattern)
    found = WORD.findall(words)
    return [word.casefold() if at == 0 else word for at, word in enumerate(found)][:MAX_TOKENS]


def _denies(clause: str, older: Sequence[Token], subject: Sequence[Token], keys: Sequence[Token]) -> bool:
    """Return whether a denying clause denies what the older sentence says of its subject, and nothing else."""
    words = content_of(cues.SINCE.sub(" ", clause))
    if has_any(clause, cues.ENDS):  # "I stopped smoking in March": that is when it ended
        words = tuple(word for word in words if word.kind not in _WHEN_ENDED or word.kind in by_kind(older))
    verbs = [word for word in older if not word.kind]
    denied = [word for word in words if tells(word) and not _is_infinitive_of(word, verbs)]
    said = [word for word in words if not is_in(word, subject)] or words
    says_it = any(is_in(word, older) or _is_infinitive_of(word, verbs) for word in said)
    return says_it and (not denied or all_in(denied, (*older, *keys)))


def _is_infinitive_of(word: Token, others: Iterable[Token]) -> bool:
    """Return whether it is the infinitive of one of these verbs: "fumer" of "fume", "fumar" of "fumo"."""
    infinitive = cues.INFINITIVE.fullmatch(word.raw)
    return infinitive is not None and any(root(other.raw) == infinitive["stem"] for other in others)


def _other_verbs(older: str, newer: str) -> bool:
    """Return whether two bare values begin with different verbs: "weighs 5 kg", "likes fish"."""
    old, new = content_of(older), content_of(newer)
    if not old or not new or _changes(newer):
        return False
    verbs = [word.raw for word in (old[0], new[0]) if word.raw in lexicon.STATE_VERBS]
    return len(verbs) == 2 and not alike(old[0], new[0])
