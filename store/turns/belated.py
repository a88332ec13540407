"""Questions that are taken in late, after others that were asked later: they stand before those that still wait.

Above: `store.turns.ledger`. Below: json_columns, tables.

What a platform could not deliver, as into a socket that just died, comes again after a while, or is found in its
history. People read, and expect answers, in the order of the platform's own times.

Rules
  The turns of a conversation run in the order of their ids, and history is read in that order. So the ids stay, and the
  questions change places: a waiting turn that nobody has claimed yet is a place in the queue and nothing else.
  Whoever was claimed once, or has joined a running turn, keeps their place.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Any, Final

from sqlalchemy import Connection, RowMapping, Select, and_, select, update

from agent.records import Author
from store import json_columns
from store.tables import RUNNING, WAITING, message, turn

_QUESTION: Final = ("source", "event_id", "channel", "message_id", "person", "taken", "stopping", "payload")
"""What a turn that nobody has claimed yet holds of its question."""


def place(connection: Connection, conversation: str, late: int, asked_at: datetime) -> int:
    """Put the question of the turn `late`, which was just taken in, where it belongs: the turn where it stands now."""
    waiting = _behind(connection, conversation, late, asked_at)
    if not waiting:
        return late
    new = connection.execute(_questions().where(turn.c.id == late)).mappings().one()
    places = [*(row["id"] for row in waiting), late]
    for taken in places:  # no two turns may stand for the same event, not even meanwhile
        _put(connection, taken, {"event_id": f"moved {taken}", "message_id": f"moved {taken}"})
    for taken, row in zip(places, [new, *waiting], strict=True):
        _put(connection, taken, {name: row[name] for name in _QUESTION})
        connection.execute(update(message).where(message.c.id == row["question"]).values(turn=taken))
    return places[0]


def _behind(connection: Connection, conversation: str, late: int, asked_at: datetime) -> Sequence[RowMapping]:
    """The questions that were asked later and can still be put off, in their order; held against whoever claims."""
    waits = and_(turn.c.conversation == conversation, turn.c.state == WAITING, turn.c.id < late, turn.c.epoch == 0)
    later = _questions().where(waits, message.c.time > asked_at).order_by(turn.c.id).with_for_update(of=turn)
    found = connection.execute(later).mappings().all()
    joined = _joined(connection, conversation) if found else ()
    return [row for row in found if row["id"] not in joined]


def _joined(connection: Connection, conversation: str) -> frozenset[int]:
    """The turns whose questions the running turn has read."""
    running = select(turn.c.progress).where(turn.c.conversation == conversation, turn.c.state == RUNNING)
    return frozenset(
        joined
        for progress in connection.execute(running).scalars()
        for joined in json_columns.joined(progress).values()
    )


def _questions() -> Select[*tuple[Any, ...]]:
    columns = (turn.c.id, message.c.id.label("question"), *(turn.c[name] for name in _QUESTION))
    return select(*columns).join_from(
        turn, message, and_(message.c.turn == turn.c.id, message.c.author == Author.PERSON)
    )


def _put(connection: Connection, number: int, values: dict[str, Any]) -> None:
    connection.execute(update(turn).where(turn.c.id == number).values(**values))
