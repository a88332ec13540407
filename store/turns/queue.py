"""Whose turn is next: fair between people, in order within a conversation.

Above: `store.turns.claiming` claims what is chosen here. Below: columns, tables.

Rules
  A turn whose worker is gone comes first: somebody has been waiting for its end.
  Then the person of whom the fewest turns run; among those, who was served longest ago, so that with a single worker
  people take turns, too; then the oldest. A flood of one person delays another by what already runs, and no more.
  Of a conversation only the first waiting turn can be next, and only while none of it runs. An earlier one is in the
  way even if another worker is just claiming it, which cannot be seen yet.
  How many of a person run is counted in all processes. Those that claim in the very same moment do not see one another,
  and may each let one more of them run: to wait for each other would cost every claim more than that is worth.
  The cost grows with the turns that wait and run, not with those that are done; no text is read until one is chosen.
"""

from datetime import datetime
from functools import cache
from typing import Final

from sqlalchemy import (
    ColumnElement,
    Connection,
    FromClause,
    Select,
    and_,
    bindparam,
    case,
    func,
    or_,
    select,
    true,
    update,
)

from store.columns import UtcDateTime
from store.tables import RUNNING, WAITING, person, turn


def next_turn(
    connection: Connection, now: datetime, per_person: int | None, sources: frozenset[str] | None
) -> int | None:
    """The id of the turn to be claimed, held against other workers until the transaction ends; None if there is none.

    `per_person`: of one person no more than so many run at once. `sources`: only turns from there (None: all).
    """
    statement = _next_turn(limited=per_person is not None, ours=sources is not None)
    values = {"now": now, "per_person": per_person, "sources": sorted(sources or ())}
    return connection.execute(statement, values).scalar_one_or_none()


@cache
def _next_turn(*, limited: bool, ours: bool) -> Select[*tuple[int]]:
    """Made once for each of its four forms: making it takes longer than running it."""
    now = bindparam("now", type_=UtcDateTime)
    running = _running().subquery("running")
    theirs = func.coalesce(running.c.turns, 0)
    waits = and_(turn.c.state == WAITING, turn.c.id.in_(_first_of_each_conversation(now)))
    if limited:
        waits = and_(waits, theirs < bindparam("per_person"))
    lost = and_(turn.c.state == RUNNING, turn.c.lease_until <= now)
    here = turn.c.source.in_(bindparam("sources", expanding=True)) if ours else true()
    return (
        select(turn.c.id)
        .select_from(
            turn.join(person, person.c.id == turn.c.person).outerjoin(running, running.c.person == turn.c.person)
        )
        .where(turn.c.state.in_((WAITING, RUNNING)), or_(waits, lost), here)
        .order_by(case((lost, 0), else_=1), theirs, person.c.served.nulls_first(), turn.c.id)
        .limit(1)
        # Workers pass by what another one is just claiming. (SQLite has one writer, and no such words.)
        .with_for_update(of=turn, skip_locked=True)
    )


_ASKER: Final = (
    select(person.c.number).where(person.c.id == bindparam("asker")).with_for_update(key_share=True, skip_locked=True)
)
_SERVE: Final = update(person).where(person.c.number.in_(_ASKER))


def serve(connection: Connection, person_id: str, now: datetime) -> None:
    """Note that a turn of this person is claimed now, unless another worker is just noting the same."""
    connection.execute(_SERVE, {"asker": person_id, "served": now})


def _running() -> Select[*tuple[str, int]]:
    """How many turns of each person run."""
    counted = select(turn.c.person, func.count().label("turns"))
    return counted.where(turn.c.state == RUNNING).group_by(turn.c.person)


def _first_of_each_conversation(now: ColumnElement[datetime]) -> Select[*tuple[int]]:
    """The ids of the first waiting turns of the conversations in which none runs."""
    busy = select(turn.c.conversation).where(turn.c.state == RUNNING)
    waiting = turn.alias("waiting")
    due = and_(waiting.c.state == WAITING, _due(waiting, now), waiting.c.conversation.not_in(busy))
    return select(func.min(waiting.c.id)).where(due).group_by(waiting.c.conversation)


def _due(table: FromClause, now: ColumnElement[datetime]) -> ColumnElement[bool]:
    return or_(table.c.run_at.is_(None), table.c.run_at <= now)
