"""Whether a message may be taken in now: counted inside the transaction that would store it.

Above: `store.turns.ledger`. Below: `store.databases.database`, tables; `agent.admission`.

Rules
  What is overheard, and what came before this was counted, has no time of its own (`taken`) and does not count.
  On PostgreSQL the writers of one person, and those in one channel, follow one another while they are counted, so that
  two replicas cannot both let the last one in. The backlog is counted without: a few too many do no harm.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import assert_never, cast

from sqlalchemy import ColumnElement, Connection, ScalarSelect, func, select, true

from agent.admission import BacklogFull, Closed, Rate, RateReached, Terms, TermsNotMet, Whose
from agent.records import Incoming
from store.databases.database import in_order
from store.tables import WAITING, turn


def check(connection: Connection, incoming: Incoming, terms: Terms) -> None:
    """Raises TermsNotMet with the first term that is not met: closed, the rates in their order, the backlog."""
    if terms.closed:
        raise TermsNotMet(Closed())
    for whose in (Whose.PERSON, Whose.CHANNEL):  # always in this order: nobody waits for one who waits for them
        if any(rate.whose is whose for rate in terms.rates):
            in_order(connection, f"{whose}:{incoming.person.id if whose is Whose.PERSON else incoming.channel}")
    counts = [_oldest_that_counts(rate, incoming, terms.now) for rate in terms.rates]
    row = connection.execute(select(_waiting(terms.backlog or 0), *counts)).one()
    waiting, oldest = row[0], cast("Sequence[datetime | None]", row[1:])
    for rate, taken in zip(terms.rates, oldest, strict=True):
        if taken is not None:
            raise TermsNotMet(RateReached(rate, taken + rate.within))
    if terms.backlog is not None and waiting >= terms.backlog:
        raise TermsNotMet(BacklogFull(waiting))


def _oldest_that_counts(rate: Rate, incoming: Incoming, now: datetime) -> ScalarSelect[datetime]:
    """When the message was taken in that stands in the way of one more; NULL if there is none."""
    latest = select(turn.c.taken).where(_of(rate, incoming), turn.c.taken > now - rate.within)
    nth = latest.order_by(turn.c.taken.desc()).offset(rate.most - 1).limit(1)
    return nth.scalar_subquery()


def _of(rate: Rate, incoming: Incoming) -> ColumnElement[bool]:
    match rate.whose:
        case Whose.PERSON:
            return turn.c.person == incoming.person.id
        case Whose.CHANNEL:
            return turn.c.channel == incoming.channel
        case Whose.EVERYONE:
            return true()
        case _:
            assert_never(rate.whose)


def _waiting(most: int) -> ScalarSelect[int]:
    """How many turns wait, counted no further than `most`."""
    some = select(turn.c.id).where(turn.c.state == WAITING).limit(most).subquery()
    return select(func.count()).select_from(some).scalar_subquery()
