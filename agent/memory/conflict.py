"""Does a newer statement take the place of an older one? (Seed 003, supersession rules 1 and 2.) Pure.

Two statements contradict each other if they have one subject and either conflicting values of one kind ("the meeting is
Tuesday", "let's do the meeting Thursday") or the newer one announces a change ("the project is now delayed"). In doubt
they do not: a superseded truth is worse than two truths side by side.
"""

import re
from typing import Final

from agent.memory.statements import Statement, read, sentences

SAME_SUBJECT: Final = 0.5
"""Share of one subject's words that the other statement must have."""


_REASON: Final = re.compile(
    r"\b(?:because|based on|due to|weil|wegen|aufgrund|porque|ya que|debido a)\b|因为|由于|根据", re.IGNORECASE
)
_REASON_BEFORE: Final = re.compile("(?:な)?ので|だから|ため(?:に|、)")
"""In Japanese the reason stands before its word."""


def contradicts(older: str, newer: str, *, about: tuple[str, str] = ("", "")) -> bool:
    """Can the two surely not both hold now? `about`: the keys that they stand under. What is more than one sentence
    says too much to be taken back by another.
    """
    if max(len(sentences(older)), len(sentences(newer))) != 1:
        return False
    return replaces(read(older, about=about[0]), read(newer, about=about[1]))


def about_the_same(older: str, newer: str) -> bool:
    """May one take the place of the other, if somebody who read both says so? They share a word or a kind of value,
    and do not speak of two different things.
    """
    one, other = read(older), read(newer)
    shared = one.content & other.content or _plain_kinds(one) & _plain_kinds(other)
    return bool(shared) and not different_subjects(older, newer)


def different_subjects(older: str, newer: str) -> bool:
    """Do two sentences speak of two things by name or number: "Anna's phone is …", "Ben's phone is …"?"""
    one, other = read(older), read(newer)
    return one.has_subject and other.has_subject and _different_names(one, other) and not one.names & other.names


def gives_as_reason(text: str, ground: str) -> bool:
    """Does a sentence say that something holds because of this: a value of it, about the same?"""
    cue, before = _REASON.search(text), _REASON_BEFORE.search(text)
    if cue is None and before is None:
        return False
    reason, known = read(text[cue.end() :] if cue else text[: before.start() if before else 0]), read(ground)
    values = {(kind, value) for kind, value in known.values if "_" not in kind}
    return bool(values & reason.values) and bool(known.content & reason.content)


def _plain_kinds(statement: Statement) -> frozenset[str]:
    return frozenset("name" if "_" in kind else kind for kind in statement.kinds())


def replaces(older: Statement, newer: Statement) -> bool:
    if older.values == newer.values and older.content == newer.content:
        return False
    if clash(older, newer):
        return same_subject(older, newer)
    return newer.changes and same_subject(older, newer) and not newer.content <= older.content


def taken_back(value: str, successor: str) -> list[str]:
    """What of a value no longer holds, now that another has superseded it: all of a single sentence; of several, which
    say more than one thing, those that the successor speaks about.
    """
    parts = sentences(value)
    if len(parts) <= 1:
        return [value]
    newer = [read(sentence) for sentence in sentences(successor)]
    return [part for part in parts if any(same_subject(read(part), one) for one in newer)]


def clash(older: Statement, newer: Statement) -> bool:
    """Do they give values of one kind, and no common one? An older one with more values says more than this one, and a
    number beside another value tells two things apart ("release 12 ships Monday").
    """
    shared = older.kinds() & newer.kinds()
    if "number" in shared and len(shared) > 1:
        return False
    pairs = [(older.of_kind(kind), newer.of_kind(kind)) for kind in shared]
    return bool(pairs) and all(not old & new and len(old) <= len(new) for old, new in pairs)


def same_subject(older: Statement, newer: Statement) -> bool:
    if _different_names(older, newer):
        return False
    ours, theirs = newer.subject & older.content, older.subject & newer.content
    share = max(len(ours) / max(len(newer.subject), 1), len(theirs) / max(len(older.subject), 1))
    return bool(ours and theirs) and share >= SAME_SUBJECT


def _different_names(older: Statement, newer: Statement) -> bool:
    """Two customers are two subjects, unless the names themselves are the values that clash."""
    if any("_" in kind for kind in older.kinds() & newer.kinds()):
        return False
    return bool(older.names - newer.content) and bool(newer.names - older.content)
