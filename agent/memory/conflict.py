"""Does a newer statement take the place of an older one? (Seed 003, supersession rules 1 and 2.) Pure.

Above: `agent.memory.writing` (facts), `agent.memory.outdated` (a past thread). Below: `agent.memory.statements`.

Two statements contradict each other if they have one subject and either conflicting values of one kind ("the meeting is
Tuesday", "let's do the meeting Thursday") or the newer one announces a change ("the project is now delayed"). In doubt
they do not: a superseded truth is worse than two truths side by side.
"""

from typing import Final

from agent.memory.statements import Statement, read

SAME_SUBJECT: Final = 0.5
"""Share of the shorter subject's words that both must have."""


def contradicts(older: str, newer: str) -> bool:
    """Can the two not both hold now? Each is one sentence, or the value of a fact."""
    return replaces(read(older), read(newer))


def replaces(older: Statement, newer: Statement) -> bool:
    if older.values == newer.values and older.content == newer.content:
        return False
    if clash(older, newer):
        return same_subject(older, newer)
    return newer.changes and same_subject(older, newer) and not newer.content <= older.content


def clash(older: Statement, newer: Statement) -> bool:
    """Do they give values of one kind, and no common one?"""
    both = older.kinds() & newer.kinds()
    return bool(both) and all(not older.of_kind(kind) & newer.of_kind(kind) for kind in both)


def same_subject(older: Statement, newer: Statement) -> bool:
    if _different_names(older, newer):
        return False
    shared = older.content & newer.subject | older.subject & newer.content
    shorter = min(len(older.subject), len(newer.subject))
    return shorter > 0 and len(shared) >= SAME_SUBJECT * shorter


def _different_names(older: Statement, newer: Statement) -> bool:
    """Two customers are two subjects, unless the names themselves are the values that clash."""
    if any("_" in kind for kind in older.kinds() & newer.kinds()):
        return False
    return bool(older.names - newer.content) and bool(newer.names - older.content)
