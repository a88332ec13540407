"""Edits and deletions of questions, and stopping of open turns.

Rules
  A running turn answers its question as it was. So a question is edited only if no worker runs its turn, the turn has
  no progress, and the question has not joined a running turn.
  The transcript of a spoken question is stored as soon as it exists, and is treated as written text.
  A turn that waits for its asker's consent restarts when its question is edited. If one of its calls has run already,
  it continues with the new text and without the calls that waited (`store.forgetting.sql_forgetting.update_text`).
  The turn of a question that is deleted while it waits ends at once. If the answer has begun, the question's text is
  erased, and the worker that runs or claims the turn deletes what it has shown; schedules that the turn made are
  deleted, and it makes no more.
"""

from collections.abc import Collection
from datetime import datetime
from typing import Any, Final

from sqlalchemy import (
    ColumnElement,
    Connection,
    and_,
    bindparam,
    delete,
    exists,
    or_,
    select,
    true,
    update,
)

from agent.events import Outcome
from agent.jobs import Job
from agent.memory.forgetting_plans import EDIT, post_key
from agent.progress import decode
from agent.schedules.definitions import ScheduleKind, ScheduleState
from agent.stored_messages import Author
from agent.turn_records import Claim
from store import job_queue, model_calls, row_mapping, tool_calls
from store.budget_tables import budget_pause
from store.channels import asked_for_schedule, in_channel
from store.databases.database import storable
from store.json_columns import is_withdrawn, mark_withdrawn
from store.message_tables import message
from store.schedule_table import schedule
from store.search import index
from store.search.text import IndexedText
from store.tool_calls import tool_call
from store.turn_tables import RUNNING, WAITING, turn, workspace
from store.turns import approvals
from store.turns.approval_table import approval
from store.turns.consents import consent
from store.turns.joining import has_joined
from store.turns.open_questions import open_question

STOPPED: Final[dict[str, Any]] = {"stopping": True, "run_at": None}  # The columns of a stopped turn
_OF_WORK: Final = schedule.c.made.contains(f'"kind":"{ScheduleKind.WORK}"')
_POSTS: Final = select(turn.c.source, turn.c.channel, turn.c.message_id)


def _posted(source: str, channel: str, message_id: str) -> ColumnElement[bool]:
    """The condition for the turn of a platform's message, as the bot of this source knows it."""
    return and_(turn.c.source == source, turn.c.channel == channel, turn.c.message_id == message_id)


def stop(connection: Connection, conversation: str, *, alone: bool = False) -> list[int]:
    """Mark the waiting and running turns of a conversation as stopping; returns their ids, the oldest first.

    Unless `alone`, long work that was asked for there is stopped as well; of work that has not begun, the id of the
    turn that asked for it is returned.
    """
    condition = turn.c.conversation == conversation if alone else _turns_of(connection, conversation)
    open_ = select(turn.c.id).where(condition, turn.c.state.in_((WAITING, RUNNING))).order_by(turn.c.id)
    found = list(connection.execute(open_).scalars())
    connection.execute(update(turn).where(turn.c.id.in_(found)).values(**STOPPED))
    return found if alone else sorted({*found, *_delete_waiting_work(connection, conversation)})


def _turns_of(connection: Connection, conversation: str) -> ColumnElement[bool]:
    """The condition for turns of a conversation, and for long work that was asked for there, wherever it is shown."""
    asked = select(schedule.c.id).where(schedule.c.conversation == conversation, _OF_WORK)
    return or_(turn.c.conversation == conversation, begun_by(connection.execute(asked).scalars().all()))


def _delete_waiting_work(connection: Connection, conversation: str) -> list[int]:
    """Delete work that has not begun; returns the turns that asked for it."""
    condition = and_(schedule.c.conversation == conversation, schedule.c.state == ScheduleState.ACTIVE)
    found = connection.execute(
        select(schedule.c.id, turn.c.id.label("asked"))
        .join_from(schedule, turn, asked_for_schedule(turn))
        .where(condition, _OF_WORK)
    ).all()
    connection.execute(delete(schedule).where(schedule.c.id.in_([row.id for row in found])))
    return [row.asked for row in found]


_STOPPING: Final = select(turn.c.id).where(
    turn.c.state == RUNNING, turn.c.owner == bindparam("worker"), turn.c.stopping
)


def stopping(connection: Connection, owner: str) -> frozenset[int]:
    """The turns that this worker runs and that are to stop."""
    return frozenset(connection.execute(_STOPPING, {"worker": owner}).scalars())


def withdrawn(connection: Connection, owner: str) -> frozenset[int]:
    """Those of `stopping` whose question was deleted."""
    rows = connection.execute(_STOPPING.add_columns(turn.c.payload), {"worker": owner})
    return frozenset(row.id for row in rows if is_withdrawn(row.payload))


def amend(
    connection: Connection, source: str, channel: str, message_id: str, indexed: IndexedText, job: Job | None = None
) -> bool:
    """Replace the text of a question that waits; False if it does not wait. `job`: of this edit, if it has one."""
    question = _find_waiting(connection, source, channel, message_id) or _restart_put_aside(
        connection, source, channel, message_id
    )
    if question is None:
        _stop_if_asking(connection, source, channel, message_id)
        return False
    if not job_queue.is_newest(connection, EDIT, post_key(source, channel, message_id), job):
        return False
    _, question_id, conversation = question
    index.change_text(connection, question_id, conversation, indexed)
    return True


def _stop_if_asking(connection: Connection, source: str, channel: str, message_id: str) -> None:
    """Stop a turn whose tool call waits for an answer of the asker: the edit replaces the request."""
    edited = and_(_posted(source, channel, message_id), turn.c.state == RUNNING)
    asks = exists().where(open_question.c.turn == turn.c.id, open_question.c.epoch == turn.c.epoch)
    connection.execute(update(turn).where(edited, asks).values(stopping=True))


def _restart_put_aside(
    connection: Connection, source: str, channel: str, message_id: str
) -> tuple[int, int, str] | None:
    """Restart a turn that waits for its asker, and return the same as `_find_waiting`; None if a call of it has run."""
    edited = _posted(source, channel, message_id)
    begun = or_(turn.c.progress != "", turn.c.reply_ref != "")  # one that waits for a budget may have no progress
    aside = and_(turn.c.state == WAITING, begun, turn.c.run_at.is_not(None))
    asked = and_(message.c.turn == turn.c.id, message.c.author == Author.PERSON)
    found = connection.execute(
        select(
            turn.c.id, turn.c.conversation, turn.c.epoch, turn.c.progress, message.c.id.label("asked"), message.c.time
        )
        .select_from(turn.join(message, asked))
        .where(edited, aside)
        .with_for_update(of=turn)
    ).one_or_none()
    if found is None:
        return None
    if any(result is not None for step in decode(found.progress).steps for result in step.results):
        return None
    model_calls.settle(connection, turn.c.id == found.id, found.time)
    connection.execute(update(turn).where(turn.c.id == found.id).values(**row_mapping.restarted(found.epoch + 1)))
    tool_calls.drop_arguments(connection, tool_call.c.turn == found.id)
    for column in (workspace.c.task_id, consent.c.turn, budget_pause.c.turn):
        connection.execute(delete(column.table).where(column == found.id))
    approvals.withdraw(connection, approval.c.turn == found.id, found.time)
    return found.id, found.asked, found.conversation


def set_text(connection: Connection, claim: Claim, indexed: IndexedText, before: str | None = None) -> None:
    """Set the text of a running question, such as a transcript, unless it was deleted meanwhile, or is not `before`."""
    payload = connection.execute(select(turn.c.payload).where(turn.c.id == claim.turn).with_for_update()).scalar_one()
    text = connection.execute(select(message.c.text).where(message.c.id == claim.message)).scalar()
    if not is_withdrawn(payload) and (before is None or storable(before) == text):
        index.change_text(connection, claim.message, claim.incoming.conversation, indexed)


def withdraw(connection: Connection, source: str, channel: str, message_id: str, now: datetime) -> bool:
    """End the turn of a waiting question without an answer, or mark a running one, and erase the question's text; the
    same for long work that it asked for. False if there is no such turn.

    The row of the turn stays, so that a redelivered message is recognised.
    """
    begun = [_withdraw(connection, *work, now) for work in _work_of(connection, source, channel, message_id)]
    return _withdraw(connection, source, channel, message_id, now) or any(begun)


def _work_of(connection: Connection, source: str, channel: str, message_id: str) -> list[tuple[str, str, str]]:
    """The sources, channels and message ids of the open turns of long work that this message asked for."""
    asked = schedule.c.source == source, schedule.c.channel == channel, schedule.c.message == message_id, _OF_WORK
    ids = connection.execute(select(schedule.c.id).where(*asked)).scalars().all()
    open_ = _POSTS.where(begun_by(ids), turn.c.state.in_((WAITING, RUNNING)))
    return [(row.source, row.channel, row.message_id) for row in connection.execute(open_)] if ids else []


def _withdraw(connection: Connection, source: str, channel: str, message_id: str, now: datetime) -> bool:
    if (question := _find_waiting(connection, source, channel, message_id)) is None:
        return _mark_withdrawn(connection, source, channel, message_id, now)
    turn_id, question_id, _ = question
    index.remove(connection, [question_id])
    connection.execute(delete(message).where(message.c.id == question_id))
    connection.execute(
        update(turn).where(turn.c.id == turn_id).values(**row_mapping.ended_columns(now, Outcome.STOPPED))
    )
    return True


def withdraw_turns(connection: Connection, schedules: Collection[int], now: datetime) -> None:
    """Withdraw the turns that these schedules have begun and that still wait."""
    waiting = _POSTS.where(turn.c.state == WAITING, begun_by(schedules))
    for source, channel, message_id in connection.execute(waiting).all():
        withdraw(connection, source, channel, message_id, now)


def begun_by(schedules: Collection[int]) -> ColumnElement[bool]:
    """The condition for turns that these schedules have begun."""
    return turn.c.schedule.in_(sorted(schedules))


def take_back(connection: Connection, person: str, conversation: str | None) -> list[int]:
    """Mark this person's waiting turns that have shown a reply as withdrawn, in one conversation or all (None)."""
    begun = and_(turn.c.person == person, turn.c.state == WAITING, or_(turn.c.progress != "", turn.c.reply_ref != ""))
    condition = true() if conversation is None else _turns_of(connection, conversation)
    found = connection.execute(select(turn.c.id, turn.c.payload).where(begun, condition).with_for_update()).all()
    for row in found:
        values = {**STOPPED, "payload": mark_withdrawn(row.payload)}
        connection.execute(update(turn).where(turn.c.id == row.id).values(**values))
    return [row.id for row in found]


def _mark_withdrawn(connection: Connection, source: str, channel: str, message_id: str, now: datetime) -> bool:
    """Mark a begun turn as withdrawn, and delete its schedules. A question that joined another turn stays."""
    deleted = _posted(source, channel, message_id)
    begun = or_(turn.c.state == RUNNING, turn.c.progress != "", turn.c.reply_ref != "")
    asked = and_(message.c.turn == turn.c.id, message.c.author == Author.PERSON)
    found = connection.execute(
        select(turn.c.id, turn.c.payload, turn.c.conversation, message.c.id.label("question"))
        .select_from(turn.join(message, asked))
        .where(deleted, turn.c.state.in_((WAITING, RUNNING)), begun)
        .with_for_update(of=turn)
    ).one_or_none()
    if found is None:
        return False
    values = {**STOPPED, "payload": mark_withdrawn(found.payload)}
    connection.execute(update(turn).where(turn.c.id == found.id).values(**values))
    index.remove(connection, [found.question])
    connection.execute(update(message).where(message.c.id == found.question).values(text="", length=0))
    there = or_(in_channel(schedule, source, channel), schedule.c.conversation == found.conversation)
    scheduled = select(schedule.c.id).where(schedule.c.message == message_id, there)
    schedule_ids = list(connection.execute(scheduled).scalars())
    withdraw_turns(connection, schedule_ids, now)
    connection.execute(delete(schedule).where(schedule.c.id.in_(schedule_ids)))
    return True


def is_deleted(connection: Connection, source: str, channel: str, message_id: str) -> bool:
    """Whether this question was deleted while its turn is open; its row is locked until the transaction ends."""
    open_turn = and_(_posted(source, channel, message_id), turn.c.state.in_((WAITING, RUNNING)))
    payloads = connection.execute(select(turn.c.payload).where(open_turn).with_for_update()).scalars()
    return any(map(is_withdrawn, payloads))


def _find_waiting(connection: Connection, source: str, channel: str, message_id: str) -> tuple[int, int, str] | None:
    """The turn, question and conversation of a message whose turn waits, not begun; locked against claims."""
    same_message = _posted(source, channel, message_id)
    fresh = and_(turn.c.state == WAITING, turn.c.progress == "", turn.c.reply_ref == "")
    asked = and_(message.c.turn == turn.c.id, message.c.author == Author.PERSON)
    found = connection.execute(
        select(turn.c.id, message.c.id, turn.c.conversation)
        .select_from(turn.join(message, asked))
        .where(same_message, fresh)
        .with_for_update(of=turn)
    ).one_or_none()
    if found is None or has_joined(connection, found[2], found[1]):
        return None
    return found[0], found[1], found[2]
