"""Turns of other processes: taking over the turns of a process that is gone, and learning how a turn ended.

Rule: a process is gone if its lease ran out, if it released a turn, or if it did not claim within a lease what it had
accepted. If no other process can use the database, all others are gone.
"""

from collections.abc import Iterable
from datetime import datetime, timedelta

import sqlalchemy as sa

from agent.events import Outcome
from agent.stored_messages import Author
from store.json_columns import read_pages
from store.message_tables import message
from store.turn_tables import RUNNING, WAITING, turn


def take_over_turns(
    connection: sa.Connection, person: str, family: str, source: str, now: datetime, lease: timedelta, *, alone: bool
) -> int:
    """Move this person's open turns that other sources of the family have left to `source`; returns how many.
    `person`: "" for everyone.
    """
    related = sa.or_(turn.c.source == family, turn.c.source.startswith(f"{family}:", autoescape=True))
    lost = sa.and_(turn.c.state == RUNNING, turn.c.lease_until <= now)
    held = turn.c.lease_until.is_not(None)
    unheld = sa.and_(~held, sa.true() if alone else sa.or_(turn.c.epoch > 0, _asked_before(now - lease)))
    unclaimed = sa.and_(turn.c.state == WAITING, sa.or_(unheld, sa.and_(held, turn.c.lease_until <= now)))
    open_ = turn.c.state.in_((WAITING, RUNNING))
    of_person = sa.true() if person == "" else turn.c.person == person
    taken = sa.update(turn).where(of_person, open_, related, turn.c.source != source, sa.or_(lost, unclaimed))
    return connection.execute(taken.values(source=source)).rowcount


def hold_place(connection: sa.Connection, source: str, until: datetime) -> bool:
    open_ = sa.and_(turn.c.source == source, turn.c.state.in_((WAITING, RUNNING)))
    held_longer = sa.and_(turn.c.state == RUNNING, turn.c.lease_until > until)  # by the worker that runs it
    lease = sa.case((held_longer, turn.c.lease_until), else_=until)
    return connection.execute(sa.update(turn).where(open_).values(lease_until=lease)).rowcount > 0


def _asked_before(time: datetime) -> sa.ColumnElement[bool]:
    asked = sa.select(message.c.id).where(message.c.turn == turn.c.id, message.c.author == Author.PERSON)
    return sa.exists(asked.where(message.c.time <= time))


def ended_turns(connection: sa.Connection, turns: Iterable[int]) -> dict[int, Outcome | None]:
    """The outcomes of those of these turns that have ended; None for a turn that was forgotten."""
    found = sa.select(turn.c.id, turn.c.state, turn.c.outcome).where(turn.c.id.in_(turns))
    known = {row.id: row for row in connection.execute(found)}
    over = (id_ for id_ in turns if id_ not in known or known[id_].state not in {WAITING, RUNNING})
    return {id_: Outcome(known[id_].outcome) if id_ in known and known[id_].outcome else None for id_ in over}


def pages_of_ended(connection: sa.Connection, number: int) -> tuple[str, ...] | None:
    """The pages of the reply of an ended turn, () if it was forgotten; None while it is open."""
    found = connection.execute(sa.select(turn.c.state, turn.c.pages).where(turn.c.id == number)).one_or_none()
    if found is None:
        return ()
    return None if found.state in {WAITING, RUNNING} else tuple(read_pages(found.pages))
