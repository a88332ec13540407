"""Erasing single things that are known of a person, while what they came from stays.

What falls with an entry: what the summaries of the person's conversations and the records of their turns say in its
words. The messages that it came from are passed over from now on: nothing is learned from them again.
"""

from collections.abc import Collection, Iterable
from dataclasses import dataclass

from sqlalchemy import Connection, and_, delete, func, select, update

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
class Falling:
    """What a plan takes out, by ids: `texts` is what it says, `sources` are the messages that it came from."""

    person: str
    entries: frozenset[int]
    facts: frozenset[str]
    sources: frozenset[int]
    summaries: tuple[str, ...]
    actions: tuple[int, ...]
    texts: tuple[str, ...]


def falling(connection: Connection, plan: EntriesPlan) -> Falling:
    """What would be erased now."""
    entries, texts = _entries(connection, plan)
    known = facts.of_person(connection, plan.person)
    out = fallen(known, plan.facts)
    gone = [one for one in known if one.id in out]
    texts += [words for one in gone for words in (one.key, one.value) if words]
    taught = select(profile_source.c.message).where(profile_source.c.entry.in_(entries))
    named = {one.source_message for one in gone if one.source_message is not None}
    return Falling(
        plan.person,
        entries,
        out,
        frozenset(connection.execute(taught).scalars()) | named,
        tuple(_summaries(connection, plan.person, texts)),
        tuple(_actions(connection, plan.person, texts)),
        tuple(texts),
    )


def erase(connection: Connection, falling: Falling, *, owes_sweep: bool) -> dict[str, int]:
    """Take it out; counts for the receipt. Nothing of it is proved yet. Nobody else may write meanwhile."""
    if owes_sweep:
        owe(connection)
    _pass_over(connection, falling)
    summaries = update(conversation).where(conversation.c.id.in_(falling.summaries)).values(summary="{}")
    actions = delete(action_record).where(action_record.c.id.in_(falling.actions))
    return {
        "profile": profiles.remove(connection, falling.entries),
        "facts": facts.remove(connection, falling.person, falling.facts),
        "summaries": connection.execute(summaries).rowcount,
        "actions": connection.execute(actions).rowcount,
    }


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


def _pass_over(connection: Connection, falling: Falling) -> None:
    """Let the messages that it came from teach no more. Whoever learns just now begins anew."""
    sources = and_(message.c.person == falling.person, message.c.id.in_(falling.sources))
    connection.execute(update(message).where(sources).values(to_learn=False, passed_over=True))
    mine = update(profile).where(profile.c.person == falling.person)
    connection.execute(mine.values(revision=profile.c.revision + 1))


def _summaries(connection: Connection, person: str, texts: Collection[str]) -> list[str]:
    """The person's conversations whose summaries say it."""
    joined = select(participant.c.conversation).where(participant.c.person == person)
    kept = select(conversation.c.id, conversation.c.summary)
    held = kept.where(conversation.c.id.in_(joined), conversation.c.summary != "{}")
    return [id_ for id_, summary in connection.execute(held) if _any_quotes(json_columns.strings(summary), texts)]


def _actions(connection: Connection, person: str, texts: Collection[str]) -> list[int]:
    """The records of the person's turns that say it."""
    kept = select(action_record).join(turn, turn.c.id == action_record.c.turn).where(turn.c.person == person)
    return [
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


def _any_quotes(held: Iterable[str], texts: Collection[str]) -> bool:
    return any(quotes(some, erased) for some in held for erased in texts)
