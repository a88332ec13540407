"""Claiming a turn: from the queue's choice to everything that its worker needs.

Above: `store.turns.ledger`. Below: queue, rows, tables.

Rules
  A claim raises the epoch, which every later write names.
  A turn that cannot be read is put aside as refused, so that it never stands in the way of the others.
"""

import logging
from functools import cache
from typing import Any, Final

from sqlalchemy import Connection, Select, and_, bindparam, select, update
from sqlalchemy.exc import NoResultFound

from agent.events import Outcome
from agent.records import Author, Claim, Claiming
from store import rows
from store.tables import RUNNING, message, person, turn
from store.turns import queue

log = logging.getLogger(__name__)

_QUESTION: Final = ("text", "time", "audience", "permalink")
_TAKE: Final = update(turn).where(turn.c.id == bindparam("chosen"))


def claim(connection: Connection, claiming: Claiming) -> Claim | None:
    """See `Ledger.claim`."""
    owner, now = claiming.owner, claiming.now
    while (chosen := queue.next_turn(connection, now, claiming.per_person, claiming.sources)) is not None:
        try:
            claimed = rows.claim(connection.execute(_asked(), {"chosen": chosen}).mappings().one(), owner)
        except (ValueError, TypeError, AttributeError, NoResultFound) as error:
            log.error("turn %d cannot be read and is put aside (%s)", chosen, type(error).__name__)  # noqa: TRY400  (the traceback holds the row)
            connection.execute(update(turn).where(turn.c.id == chosen).values(**rows.over(now, Outcome.REFUSED)))
            continue
        taken = {
            "owner": owner,
            "lease_until": now + claiming.lease,
            "epoch": claimed.epoch,
            "attempts": claimed.attempts,
        }
        connection.execute(_TAKE, {"chosen": chosen, "state": RUNNING, **taken})
        queue.serve(connection, claimed.incoming.person.id, now)
        return claimed
    return None


@cache
def _asked() -> Select[*tuple[Any, ...]]:
    """A turn, its question and its person. Made once."""
    question = message.c.id.label("question")
    columns = (turn, person.c.name, person.c.time_zone, question, *(message.c[name] for name in _QUESTION))
    joined = turn.join(person, person.c.id == turn.c.person).join(
        message, and_(message.c.turn == turn.c.id, message.c.author == Author.PERSON)
    )
    return select(*columns).select_from(joined).where(turn.c.id == bindparam("chosen"))
