"""Turns of other processes: taking over what one that is gone has left, and hearing how one ended.

Above: `store.turns.ledger`. Below: json_columns, tables.

Rule: gone is whoever let a lease run out, or gave a turn back, or for a whole lease did not claim what it took in.
Where no other process can work on the database, everybody else is gone.
"""

from collections.abc import Iterable
from datetime import datetime, timedelta

from sqlalchemy import ColumnElement, Connection, and_, exists, func, or_, select, true, update

from agent.events import Outcome
from agent.records import Author, Load
from store import json_columns
from store.tables import RUNNING, WAITING, message, turn


def adopt(
    connection: Connection, person: str, family: str, source: str, now: datetime, lease: timedelta, *, alone: bool
) -> int:
    """Let `source` have what others of its family have left of this person's open turns; how many there are."""
    theirs = or_(turn.c.source == family, turn.c.source.startswith(f"{family}:", autoescape=True))
    lost = and_(turn.c.state == RUNNING, turn.c.lease_until <= now)
    left = and_(turn.c.state == WAITING, true() if alone else or_(turn.c.epoch > 0, _asked_by(now - lease)))
    open_ = turn.c.state.in_((WAITING, RUNNING))
    taken = update(turn).where(turn.c.person == person, open_, theirs, turn.c.source != source, or_(lost, left))
    return connection.execute(taken.values(source=source)).rowcount


def _asked_by(time: datetime) -> ColumnElement[bool]:
    asked = select(message.c.id).where(message.c.turn == turn.c.id, message.c.author == Author.PERSON)
    return exists(asked.where(message.c.time <= time))


def ended(connection: Connection, turns: Iterable[int]) -> dict[int, Outcome | None]:
    """How those of these turns ended that are over; None for one that was forgotten."""
    found = select(turn.c.id, turn.c.state, turn.c.outcome).where(turn.c.id.in_(turns))
    known = {row.id: row for row in connection.execute(found)}
    over = (id_ for id_ in turns if id_ not in known or known[id_].state not in {WAITING, RUNNING})
    return {id_: Outcome(known[id_].outcome) if id_ in known and known[id_].outcome else None for id_ in over}


def pages(connection: Connection, number: int) -> tuple[str, ...] | None:
    """The pages of the reply to a turn that is over, none if it was forgotten; None while it is open."""
    found = connection.execute(select(turn.c.state, turn.c.pages).where(turn.c.id == number)).one_or_none()
    if found is None:
        return ()
    return None if found.state in {WAITING, RUNNING} else tuple(json_columns.pages(found.pages))


def load(connection: Connection) -> Load:
    """How many turns run and wait."""
    counted = select(turn.c.state, func.count()).where(turn.c.state.in_((WAITING, RUNNING))).group_by(turn.c.state)
    found = {row[0]: row[1] for row in connection.execute(counted)}
    return Load(running=found.get(RUNNING, 0), waiting=found.get(WAITING, 0))
