"""Erasing single things that are known of a person, while what they came from stays.

Above: `store.forgetting.forgetting`. Below: `store.forgetting.erase`, `store.memory`, `store.search.text`, tables;
`agent.memory.forgetting`, removal.

What falls with an entry: what the summaries of the person's conversations and the records of their turns say in its
words. The messages that it came from are passed over from now on: nothing is learned from them again.
"""

from collections.abc import Collection, Iterable
from dataclasses import dataclass

from sqlalchemy import Connection, and_, delete, func, or_, select, update

from agent.memory.forgetting import EntriesPlan
from agent.memory.removal import fallen
from store import json_columns
from store.forgetting.erase import owe
from store.memory import facts, profiles
from store.search.text import quotes
from store.tables import (
    action_record,
    conversation,
    message,
    participant,
    profile,
    profile_entry,
    profile_source,
    turn,
)


@dataclass(frozen=True, slots=True)
class ErasedEntries:
    """What was erased: `texts` for the search for proof, `counts` for the receipt."""

    texts: tuple[str, ...]
    counts: dict[str, int]


def erase(connection: Connection, plan: EntriesPlan, *, owes_sweep: bool) -> ErasedEntries:
    """Carry out `plan`; nothing of it is proved yet. Nobody else may write meanwhile."""
    if owes_sweep:
        owe(connection)
    entries, texts = _entries(connection, plan)
    known = facts.of_person(connection, plan.person)
    out = fallen(known, plan.facts)
    gone = [one for one in known if one.id in out]
    texts += [words for one in gone for words in (one.key, one.value) if words]
    _pass_over(connection, plan.person, entries, [one.source_message for one in gone if one.source_message is not None])
    counts = {"profile": profiles.remove(connection, entries), "facts": facts.remove(connection, plan.person, out)}
    counts["summaries"] = _drop_summaries(connection, plan.person, texts)
    counts["actions"] = _drop_actions(connection, plan.person, texts)
    return ErasedEntries(tuple(texts), counts)


def left(connection: Connection, plan: EntriesPlan) -> int:
    """How many of them are still there. 0 is the proof."""
    still = select(func.count()).select_from(profile_entry).where(profile_entry.c.id.in_(plan.entries))
    known = {one.id for one in facts.of_person(connection, plan.person)}
    return connection.execute(still).scalar_one() + len(known & plan.facts)


def _entries(connection: Connection, plan: EntriesPlan) -> tuple[frozenset[int], list[str]]:
    """The entries of the profile that there are, and what they say."""
    theirs = and_(profile_entry.c.person == plan.person, profile_entry.c.id.in_(plan.entries))
    found = connection.execute(
        select(profile_entry.c.id, profile_entry.c.key, profile_entry.c.text).where(theirs)
    ).all()
    return frozenset(row.id for row in found), [words for row in found for words in (row.key, row.text) if words]


def _pass_over(connection: Connection, person: str, entries: Collection[int], messages: Collection[int]) -> None:
    """Let these messages, and those that the entries came from, teach no more. Whoever learns just now begins anew."""
    taught = select(profile_source.c.message).where(profile_source.c.entry.in_(entries))
    sources = or_(message.c.id.in_(taught), message.c.id.in_(messages))
    passed_over = update(message).where(message.c.person == person, sources)
    connection.execute(passed_over.values(to_learn=False, passed_over=True))
    mine = update(profile).where(profile.c.person == person)
    connection.execute(mine.values(revision=profile.c.revision + 1))


def _drop_summaries(connection: Connection, person: str, texts: Collection[str]) -> int:
    joined = select(participant.c.conversation).where(participant.c.person == person)
    kept = select(conversation.c.id, conversation.c.summary)
    held = kept.where(conversation.c.id.in_(joined), conversation.c.summary != "{}")
    gone = [id_ for id_, summary in connection.execute(held) if _any_quotes(json_columns.strings(summary), texts)]
    return connection.execute(update(conversation).where(conversation.c.id.in_(gone)).values(summary="{}")).rowcount


def _drop_actions(connection: Connection, person: str, texts: Collection[str]) -> int:
    """The records of the person's turns that say it."""
    kept = select(action_record).join(turn, turn.c.id == action_record.c.turn).where(turn.c.person == person)
    gone = [
        row.id
        for row in connection.execute(kept)
        if _any_quotes(
            [
                row.thinking,
                *json_columns.strings(row.calls),
                *json_columns.strings(row.results),
            ],
            texts,
        )
    ]
    return connection.execute(delete(action_record).where(action_record.c.id.in_(gone))).rowcount


def _any_quotes(held: Iterable[str], texts: Collection[str]) -> bool:
    return any(quotes(some, erased) for some in held for erased in texts)
