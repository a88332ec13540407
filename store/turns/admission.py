"""Whether a message may be accepted now: counted inside the transaction that would store it.

Rules
  Messages stored only as context, and rows older than this count, have no `taken` time and do not count. On PostgreSQL
  a lock for the person and one for the channel serialise the count, so that two replicas cannot both accept the last
  message that a rate allows. The backlog is counted without a lock: a few too many do no harm.
  There is one backlog for all, but one team's flood does not close it to the others: while it is full, and until it is
  twice as long, a team with few waiting turns is still accepted.
"""

from collections.abc import Sequence
from datetime import datetime
from functools import cache
from typing import Any, Final, assert_never, cast

import sqlalchemy as sa

from agent.admission_terms import BacklogFull, Closed, Obstacle, Rate, RateReached, Terms, Whose
from agent.incoming import Incoming
from store.databases.database import in_order
from store.memory import participants
from store.memory.participants import KnownParticipant
from store.turn_tables import turn

TEAM_SHARE: Final = 10  # A team may still add to a full backlog while it has less than 1/TEAM_SHARE of the limit


def locks(incoming: Incoming, terms: Terms | None) -> list[str]:
    """The names under which the counts of these terms are in order (`in_order`), always the person's first."""
    owners = {Whose.PERSON: incoming.person.id, Whose.CHANNEL: incoming.channel}
    counted = {rate.whose for rate in terms.rates} if terms is not None and not terms.closed else set[Whose]()
    return [f"{whose}:{owner}" for whose, owner in owners.items() if whose in counted]


def read_known(
    connection: sa.Connection, incoming: Incoming, hashes: tuple[str, ...], terms: Terms | None
) -> tuple[KnownParticipant, Obstacle | None]:
    """Return what is known of the message, and the first term that is not met: closed, the rates in their order, the
    backlog. With one statement, because each costs a round trip to the server while a user waits.
    """
    if terms is None or terms.closed:
        known = participants.known_participant(connection, incoming, hashes)
        return known, None if terms is None else Closed()
    for name in locks(incoming, terms):
        in_order(connection, name)
    limit = terms.backlog or 0
    values: dict[str, object] = {
        **participants.known_values(incoming, hashes),
        "whose": incoming.person.id,
        "there": incoming.channel,
        "of_source": incoming.source,
        "of_team": incoming.team,
        "limit": limit,
        "twice": 2 * limit,
        **{f"since_{number}": terms.now - rate.within for number, rate in enumerate(terms.rates)},
    }
    found = connection.execute(_known_and_counts(terms.rates), values).all()
    return participants.known_in(incoming, found), _obstacle(terms, found[0][-2 - len(terms.rates) :])


def _obstacle(terms: Terms, counts: Sequence[Any]) -> Obstacle | None:
    """`counts`: the columns that `_known_and_counts` adds."""
    waiting, of_team, oldest = counts[0], counts[1], cast("Sequence[datetime | None]", counts[2:])
    for rate, taken in zip(terms.rates, oldest, strict=True):
        if taken is not None:
            return RateReached(rate, taken + rate.within)
    limit = terms.backlog or 0
    full = waiting >= limit and of_team >= limit // TEAM_SHARE
    return BacklogFull(waiting) if terms.backlog is not None and (full or waiting >= 2 * limit) else None


@cache
def _known_and_counts(rates: tuple[Rate, ...]) -> sa.Select[*tuple[Any, ...]]:
    """`known_query`, then how many turns wait, how many of the team's, and `_oldest_counted` for each rate. Built once,
    because building it takes longer than running it.
    """
    of_team = sa.and_(turn.c.source == sa.bindparam("of_source"), turn.c.team == sa.bindparam("of_team"))
    oldest = (_oldest_counted(rate, sa.bindparam(f"since_{number}")) for number, rate in enumerate(rates))
    return participants.known_query().add_columns(_count_waiting("twice"), _count_waiting("limit", of_team), *oldest)


def _oldest_counted(rate: Rate, since: sa.BindParameter[datetime]) -> sa.ScalarSelect[datetime]:
    """When the message was accepted that has to leave the rate's period before one more is allowed; NULL if none."""
    latest = sa.select(turn.c.taken).where(_counted_by(rate.whose), turn.c.taken > since)
    nth = latest.order_by(turn.c.taken.desc()).offset(rate.limit - 1).limit(1)
    return nth.scalar_subquery()


def _counted_by(whose: Whose) -> sa.ColumnElement[bool]:
    match whose:
        case Whose.PERSON:
            return turn.c.person == sa.bindparam("whose")
        case Whose.CHANNEL:
            return sa.and_(turn.c.channel == sa.bindparam("there"), turn.c.source == sa.bindparam("of_source"))
        case Whose.WORKSPACE:
            return sa.and_(turn.c.source == sa.bindparam("of_source"), turn.c.team == sa.bindparam("of_team"))
        case Whose.EVERYONE:
            return sa.true()
        case _:
            assert_never(whose)


def _count_waiting(limit: str, condition: sa.ColumnElement[bool] = sa.true()) -> sa.ScalarSelect[int]:  # noqa: B008 -- a constant
    """How many turns wait for a free slot, counted up to the parameter `limit`."""
    waits = sa.and_(sa.text("state = 'waiting'"), turn.c.run_at.is_(None), condition)
    waiting = sa.select(turn.c.id).where(waits).limit(sa.bindparam(limit, type_=sa.Integer)).subquery()
    return sa.select(sa.func.count()).select_from(waiting).scalar_subquery()
