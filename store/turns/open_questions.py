"""The questions of tools to their askers during a call, each a row while its call waits.

Rules
  A question belongs to the claim that waits for its answer. A later claim of the turn knows nothing of the call, so
  questions of an earlier epoch are over, and answers to them are refused. Only the turn's asker answers, once.
  The waiting call deletes the row. A row left by a killed process is deleted when its turn ends, or with the next
  question of any person once its time has passed.
"""

from datetime import datetime
from typing import Final

import sqlalchemy as sa
from sqlmodel import Field

from agent.messages import AnswerOutcome, ElicitAction, OpenQuestion
from agent.stored_messages import Author
from agent.turn_records import Claim
from store.databases.database import SqlStore, StorableText, UtcDateTime, in_order, reads, writes
from store.message_tables import message
from store.schema import TableRow, metadata
from store.turn_tables import RUNNING, turn


class OpenQuestionRow(TableRow, table=True):
    """A question of a tool to the asker while its call waits, and the answer; deleted with the call. It is valid as
    long as the claim of that `epoch` holds. `action`: "" until the asker has decided.
    """

    turn: int = Field(primary_key=True, foreign_key="turn.id")
    key: str = Field(sa_type=StorableText, primary_key=True)
    epoch: int
    person: str = Field(sa_type=StorableText, index=True)
    asked: str = Field(sa_type=StorableText)
    filled: str = Field(sa_type=StorableText, default="")
    action: str = Field(sa_type=StorableText, default="")
    until: datetime = Field(sa_type=UtcDateTime)


open_question: Final = metadata.tables["open_question"]


_RUNS: Final = sa.and_(
    turn.c.id == open_question.c.turn, turn.c.epoch == open_question.c.epoch, turn.c.state == RUNNING
)
_HELD: Final = sa.and_(_RUNS, ~turn.c.stopping)
_RUNNING_ROWS: Final = sa.select(open_question).join_from(open_question, turn, _RUNS)
_HELD_ROWS: Final = sa.select(open_question).join_from(open_question, turn, _HELD)
_WAITING: Final = (
    sa.select(open_question, message.c.text)
    .join_from(open_question, turn, _HELD)
    .join(message, sa.and_(message.c.turn == turn.c.id, message.c.author == Author.PERSON))
    .where(open_question.c.action == "")
)


def _of(number: int, key: str) -> sa.ColumnElement[bool]:
    return sa.and_(open_question.c.turn == number, open_question.c.key == key)


def _in_time(now: datetime) -> sa.ColumnElement[bool]:
    """Neither the question nor the claim has expired: a process that is gone no longer renews its claim."""
    return sa.and_(open_question.c.until > now, turn.c.lease_until > now)


def open_(
    connection: sa.Connection, claim: Claim, key: str, asked: str, now: datetime, until: datetime, most: int
) -> bool:
    person = claim.incoming.person.id
    in_order(connection, f"questions {person}")
    connection.execute(sa.delete(open_question).where(open_question.c.until <= now))
    if len(waiting(connection, person, now)) >= most:
        return False
    row = {"turn": claim.turn, "key": key, "epoch": claim.epoch, "person": person, "asked": asked, "until": until}
    connection.execute(sa.insert(open_question).values(**row, filled="", action=""))
    return True


def answered(connection: sa.Connection, turn: int, key: str) -> tuple[ElicitAction, str] | None:
    found = connection.execute(_RUNNING_ROWS.where(_of(turn, key))).one_or_none()
    if found is None:  # forgotten or claimed again: no answer will come; a stopped turn ends with its calls
        return ElicitAction.CANCEL, ""
    return (ElicitAction(found.action), found.filled) if found.action else None


def close(connection: sa.Connection, turn: int, key: str) -> None:
    connection.execute(sa.delete(open_question).where(_of(turn, key)))


def waiting(connection: sa.Connection, person: str, now: datetime) -> list[OpenQuestion]:
    query = _WAITING.where(open_question.c.person == person, _in_time(now))
    found = connection.execute(query.order_by(open_question.c.turn, open_question.c.key))
    return [OpenQuestion(row.turn, row.key, row.asked, row.filled, row.text) for row in found]


def answer(
    connection: sa.Connection,
    turn: int,
    key: str,
    person: str,
    filled: str,
    action: ElicitAction | None,
    now: datetime,
) -> AnswerOutcome:
    """The row is locked: of two simultaneous answers the second one finds the first."""
    query = sa.select(open_question).where(_of(turn, key)).with_for_update()
    found = connection.execute(query).one_or_none()
    if found is None:
        return AnswerOutcome.OVER
    if found.person != person:
        return AnswerOutcome.NOT_THEIRS
    if found.action:
        return AnswerOutcome.ANSWERED_BEFORE
    held = _HELD_ROWS.where(_of(turn, key), _in_time(now))
    if connection.execute(held).first() is None:
        return AnswerOutcome.OVER
    values = {"filled": filled, "action": "" if action is None else action.value}
    connection.execute(sa.update(open_question).where(_of(turn, key)).values(**values))
    return AnswerOutcome.KEPT


class SqlOpenQuestions(SqlStore):
    open = writes(open_)
    answered = reads(answered)
    close = writes(close)
    waiting = reads(waiting)
    answer = writes(answer)
