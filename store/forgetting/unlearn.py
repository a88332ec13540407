"""What forgetting does to profiles.

Above: `store.forgetting.erase`, `store.forgetting.doomed`, `store.forgetting.proof`. Below: `store.memory.profiles`,
reach, text, tables.

Rules
  An entry falls with any of its sources, because nobody can say which of its words came from which. What else it came
  from waits to be learned from again.
  So does an entry that quotes an erased message of its audience: a model may have named the wrong source.
"""

from collections.abc import Collection
from typing import Any

from sqlalchemy import ColumnElement, Connection, Row, and_, delete, exists, select, true, update

from agent.memory.forgetting import ForgettingPlan
from store.memory import profiles
from store.search.reach import of_plan
from store.search.text import quotes
from store.tables import message, profile, profile_entry, profile_source


def reached(connection: Connection, plan: ForgettingPlan) -> frozenset[int]:
    """The entries that fall with the plan, while its messages still stand."""
    theirs = select(profile_entry).where(profile_entry.c.person == plan.person)
    if plan.everything:
        return frozenset(row.id for row in connection.execute(theirs))
    erased = connection.execute(select(message.c.id, message.c.audience, message.c.text).where(of_plan(plan, message)))
    said = {id_: (audience, text) for id_, audience, text in erased}
    named = select(profile_source.c.entry).where(profile_source.c.message.in_(list(said)))
    fallen = frozenset(connection.execute(named).scalars())
    others = (row for row in connection.execute(theirs) if row.id not in fallen)
    return fallen | {row.id for row in others if _quotes(row, said.values())}


def texts(connection: Connection, entries: Collection[int]) -> list[str]:
    """What these entries say."""
    return list(connection.execute(select(profile_entry.c.text).where(profile_entry.c.id.in_(entries))).scalars())


def erase(connection: Connection, plan: ForgettingPlan, entries: frozenset[int]) -> int:
    """Take these entries out; how many there were. Whoever learns meanwhile finds another revision."""
    theirs = profile.c.person == plan.person
    if plan.everything:
        removed = profiles.remove(connection, entries)
        connection.execute(delete(profile).where(theirs))
        return removed
    again = select(profile_source.c.message).where(profile_source.c.entry.in_(entries))
    teaches = and_(message.c.id.in_(again), ~message.c.passed_over)
    connection.execute(update(message).where(teaches).values(to_learn=True))
    connection.execute(update(profile).where(theirs).values(revision=profile.c.revision + 1))
    return profiles.remove(connection, entries)


def orphaned(plan: ForgettingPlan) -> ColumnElement[bool]:
    """The person's entries that should have fallen: everywhere all of them, else those whose source is gone."""
    stands = exists().where(message.c.id == profile_source.c.message)
    lost = profile_entry.c.id.in_(select(profile_source.c.entry).where(~stands))
    return and_(profile_entry.c.person == plan.person, true() if plan.everything else lost)


def _quotes(entry: Row[Any], said: Collection[tuple[str, str]]) -> bool:
    return any(audience == entry.audience and quotes(entry.text, text) for audience, text in said)
