"""What forgetting does to profiles.

Above: `store.forgetting.erase`, `store.forgetting.doomed`, `store.forgetting.proof`. Below: `store.memory.profiles`,
chosen, batches, text, tables.

Rules
  An entry falls with any of its sources, because nobody can say which of its words came from which. What else it came
  from waits to be learned from again.
  So does an entry that quotes an erased message of its audience, unless its own sources say the same: a model may have
  named the wrong source.
"""

from collections.abc import Collection, Mapping
from typing import Any

from sqlalchemy import Connection, Row, exists, select, update

from agent.memory.forgetting import Everything, ForgettingPlan
from store.forgetting.batches import among
from store.forgetting.chosen import Said
from store.memory import profiles
from store.search.text import passages, plain_words
from store.tables import message, profile, profile_entry, profile_source


def reached(connection: Connection, said: Mapping[int, Said]) -> frozenset[int]:
    """The entries that fall with these messages, while they still stand."""
    named = (select(profile_source.c.entry).where(where) for where in among(profile_source.c.message, said))
    fallen = frozenset(id_ for query in named for id_ in connection.execute(query).scalars())
    people = {one.person for one in said.values()}
    theirs = (select(profile_entry).where(where) for where in among(profile_entry.c.person, people))
    others = (row for query in theirs for row in connection.execute(query) if row.id not in fallen)
    quoting = {row.id: quoted for row in others if (quoted := _quoted(row, said.values()))}
    return fallen | {id_ for id_, quoted in quoting.items() if not quoted <= _own_words(connection, id_, quoted)}


def texts(connection: Connection, entries: Collection[int]) -> list[str]:
    """What these entries say."""
    wanted = (select(profile_entry.c.text).where(where) for where in among(profile_entry.c.id, entries))
    return [text for query in wanted for text in connection.execute(query).scalars()]


def erase(connection: Connection, plan: ForgettingPlan | None, entries: frozenset[int], people: frozenset[str]) -> int:
    """Take these entries out; how many there were. Whoever learns of these people meanwhile finds another revision.

    `plan` None: the messages that they came from stand, with other words.
    """
    for where in among(profile.c.person, people | _people(connection, entries)):
        connection.execute(update(profile).where(where).values(revision=profile.c.revision + 1))
    if not isinstance(plan, Everything):
        named = (select(profile_source.c.message).where(where) for where in among(profile_source.c.entry, entries))
        for where in among(message.c.id, {id_ for query in named for id_ in connection.execute(query).scalars()}):
            connection.execute(update(message).where(where, ~message.c.passed_over).values(to_learn=True))
    return profiles.remove(connection, entries)


def orphaned(connection: Connection, people: Collection[str]) -> list[str]:
    """What these people's entries say that should have fallen with their sources."""
    stands = exists().where(message.c.id == profile_source.c.message)
    lost = profile_entry.c.id.in_(select(profile_source.c.entry).where(~stands))
    found = (select(profile_entry.c.text).where(lost, where) for where in among(profile_entry.c.person, people))
    return [text for query in found for text in connection.execute(query).scalars()]


def _people(connection: Connection, entries: frozenset[int]) -> frozenset[str]:
    wanted = (select(profile_entry.c.person).where(where) for where in among(profile_entry.c.id, entries))
    return frozenset(person for query in wanted for person in connection.execute(query).scalars())


def _quoted(entry: Row[Any], said: Collection[Said]) -> set[str]:
    """The passages of these messages that it quotes."""
    theirs = (one for one in said if (one.person, one.audience) == (entry.person, entry.audience))
    return {piece for one in theirs for piece in passages(plain_words(entry.text), plain_words(one.text))}


def _own_words(connection: Connection, entry: int, quoted: set[str]) -> set[str]:
    """Those of the passages that its sources have."""
    sources = select(message.c.text).join(profile_source, profile_source.c.message == message.c.id)
    own = [plain_words(text) for text in connection.execute(sources.where(profile_source.c.entry == entry)).scalars()]
    return {piece for piece in quoted if any(piece in text for text in own)}
