"""Questions that are accepted late, after others that were asked later: they go before those that still wait.

An event that a platform could not deliver, such as into a broken socket, is redelivered after a while, or found in
the channel's history. People read, and expect answers, in the order of the platform's own times.

Rules
  The turns of a conversation run in the order of their ids, and history is read in that order. So the ids stay, and
  the questions change places: a waiting turn that was never claimed is only a place in the queue.
  A turn that was claimed once, or whose question has joined a running turn, keeps its place.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Any, Final

from sqlalchemy import Connection, RowMapping, Select, and_, select, update

from agent.stored_messages import Author
from store.json_columns import NamedInProgress
from store.message_tables import message
from store.turn_tables import WAITING, turn
from store.turns.joining import begun

# The columns of an unclaimed turn that belong to its question.
_QUESTION: Final = (
    *("kind", "schedule", "answers", "source", "event_id", "channel", "message_id", "person", "team", "round", "taken"),
    *("stopping", "payload"),
)


def reorder_late_question(connection: Connection, conversation: str, late: int, asked_at: datetime) -> int:
    """Move the question of the turn `late`, just accepted, to its place by time; returns the turn that now has it."""
    waiting = _later_questions(connection, conversation, late, asked_at)
    if not waiting:
        return late
    new = connection.execute(_questions().where(turn.c.id == late)).mappings().one()
    turn_ids = [*(row["id"] for row in waiting), late]
    for turn_id in turn_ids:  # no two turns may have the same event, not even in between
        _update_turn(connection, turn_id, {"event_id": f"moved {turn_id}", "message_id": f"moved {turn_id}"})
    for turn_id, row in zip(turn_ids, [new, *waiting], strict=True):
        _update_turn(connection, turn_id, {name: row[name] for name in _QUESTION})
        connection.execute(update(message).where(message.c.id == row["question"]).values(turn=turn_id))
    return turn_ids[0]


def _later_questions(connection: Connection, conversation: str, late: int, asked_at: datetime) -> Sequence[RowMapping]:
    """The questions that were asked later and can still be moved back, in order; locked against claims."""
    fresh = and_(turn.c.epoch == 0, turn.c.progress == "")  # a reminder has its reply already
    movable = and_(turn.c.conversation == conversation, turn.c.state == WAITING, turn.c.id < late, fresh)
    later = _questions().where(movable, message.c.time > asked_at).order_by(turn.c.id).with_for_update(of=turn)
    found = connection.execute(later).mappings().all()
    joined = _joined_running(connection, conversation) if found else ()
    return [row for row in found if row["id"] not in joined]


def _joined_running(connection: Connection, conversation: str) -> frozenset[int]:
    """The turns whose questions a turn has read that runs, or that was put aside."""
    running = select(turn.c.progress).where(turn.c.conversation == conversation, begun())
    return frozenset(
        joined
        for progress in connection.execute(running).scalars()
        for joined in NamedInProgress.read(progress).joined.values()
    )


def _questions() -> Select[*tuple[Any, ...]]:
    columns = (turn.c.id, message.c.id.label("question"), *(turn.c[name] for name in _QUESTION))
    return select(*columns).join_from(
        turn, message, and_(message.c.turn == turn.c.id, message.c.author == Author.PERSON)
    )


def _update_turn(connection: Connection, number: int, values: dict[str, Any]) -> None:
    connection.execute(update(turn).where(turn.c.id == number).values(**values))
