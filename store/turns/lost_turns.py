"""Turns of which a failover brought an earlier state back: what the process that began them still knows about them.

Rules
  A turn is found by its event or by the place of its message: a platform may give one message several events.
  A turn that has ended ends again, without its reply, which is shown.
  A turn whose reply is shown, and whose claim is lost, ends too: it would run its tools again.
  A turn that another process runs by now is that process's, unless its reply is shown.
  Any other turn can be claimed, and continues on the pages that its reply has. Its epoch is as high as before, so that
  two processes never hold the same claim.
  Pages of a turn that nobody continues are deleted: they would stay half written.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, Final

import sqlalchemy as sa

from agent.events import Outcome
from agent.shown_replies import DELETE_REPLY, ShownPage
from store import budget_days, job_queue, model_calls, row_mapping
from store.budget_tables import budget_pause
from store.databases.database import in_order
from store.json_columns import json_text, read_pages
from store.json_lists import texts_in
from store.replies import page
from store.turn_tables import DONE, RUNNING, WAITING, turn, workspace
from store.turns import approvals
from store.turns.approval_table import approval
from store.turns.consents import consent
from store.turns.open_questions import open_question
from store.turns.write_memory import BegunTurn, Event, MessageIds

_COLUMNS: Final = (
    turn.c.id,
    turn.c.source,
    turn.c.event_id,
    turn.c.channel,
    turn.c.message_id,
    turn.c.state,
    turn.c.owner,
    turn.c.epoch,
    turn.c.reply_ref,
    turn.c.pages,
)


def rows_of(connection: sa.Connection, writes: Iterable[MessageIds], *, lock: bool = False) -> dict[Event, sa.Row[Any]]:
    """Return the turns of these messages that exist, by the events of `writes`. `lock`: until the transaction ends."""
    asked = [*writes]

    def rows(column: sa.Column[str], ids: Iterable[str], *there: sa.ColumnElement[bool]) -> Iterable[Any]:
        found = sa.select(*_COLUMNS).where(*there, column.in_(texts_in([*ids])))
        return connection.execute(found.with_for_update() if lock else found)

    by_source = defaultdict[str, set[str]](set)
    for one in asked:
        by_source[one.source].add(one.event_id)
    of_event = {
        (row.source, row.event_id): row
        for source, ids in by_source.items()
        for row in rows(turn.c.event_id, ids, turn.c.source == source)
    }
    by_channel = defaultdict[tuple[str, str], set[str]](set)
    for one in asked:
        if one.event not in of_event:
            by_channel[one.source, one.channel].add(one.message_id)
    of_post = {
        (row.source, row.channel, row.message_id): row
        for (source, channel), ids in by_channel.items()
        for row in rows(turn.c.message_id, ids, turn.c.source == source, turn.c.channel == channel)
    }
    found = {one.event: of_event.get(one.event, of_post.get(one.post)) for one in asked}
    return {event: row for event, row in found.items() if row is not None}


def behind(rows: Mapping[Event, sa.Row[Any]], begun: Iterable[BegunTurn]) -> list[BegunTurn]:
    """Return those that exist in an earlier state than this process left them."""
    return [one for one in begun if one.event in rows and _is_behind(rows[one.event], one)]


def _is_behind(row: sa.Row[Any], begun: BegunTurn) -> bool:
    if row.state == DONE or begun.ended:
        return row.state != DONE
    if row.state == RUNNING and row.owner != begun.owner and not begun.shown:
        return False  # another process has it
    if row.epoch < begun.epoch:
        return True
    has_pages = {*begun.pages} <= {*read_pages(row.reply_ref or "[]")}
    return row.epoch == begun.epoch and row.owner in {None, begun.owner} and not has_pages


def put_right(connection: sa.Connection, begun: BegunTurn, now: datetime) -> None:
    """Bring one turn to the state in which this process left it, as far as it knows that."""
    in_order(connection, begun.conversation)
    row = rows_of(connection, [begun], lock=True).get(begun.event)
    if row is None or not _is_behind(row, begun):
        return
    is_lost = row.epoch < begun.epoch
    if begun.ended or (begun.shown and is_lost):
        _end(connection, row.id, begun, now)
        return
    values: dict[str, Any] = {"reply_ref": json_text(begun.pages)} if begun.pages else {}
    if is_lost:
        values |= {"state": WAITING, "owner": None, "lease_until": None, "epoch": begun.epoch}
    connection.execute(sa.update(turn).where(turn.c.id == row.id).values(**values))


def _end(connection: sa.Connection, number: int, begun: BegunTurn, now: datetime) -> None:
    model_calls.settle(connection, turn.c.id == number, now)
    ended = row_mapping.ended_columns(now, Outcome.ANSWERED) | {"pages": json_text(begun.final_pages), "run_at": None}
    connection.execute(sa.update(turn).where(turn.c.id == number).values(**ended))
    for column in (workspace.c.task_id, consent.c.turn, open_question.c.turn):
        connection.execute(sa.delete(column.table).where(column == number))
    budget_days.drop_pauses(connection, budget_pause.c.turn == number)
    approvals.withdraw(connection, approval.c.turn == number, now)
    for shown in begun.final_pages:
        connection.execute(sa.insert(page).values(turn=number, source=begun.source, page=shown))


def delete_pages(
    connection: sa.Connection,
    begun: Sequence[BegunTurn],
    gone: Iterable[Event],
    now: datetime,
    *,
    abandoned: bool = False,
) -> list[BegunTurn]:
    """Have pages deleted of those turns that are `gone`, or that others continue without them; return these turns.
    `abandoned`: this process has begun them anew.
    """
    rows, gone, unfinished = rows_of(connection, begun), {*gone}, list[BegunTurn]()
    for one in begun:
        row = rows.get(one.event)
        if one.shown or not one.pages or (row is None and one.event not in gone):
            continue
        if not abandoned and row is not None and (row.owner, row.epoch) == (one.owner, one.epoch):
            continue  # it runs in this process
        known = () if row is None else (*read_pages(row.reply_ref or "[]"), *read_pages(row.pages))
        surplus = [shown for shown in one.pages if shown not in known]
        for shown in surplus:
            deleted = ShownPage(one.source, one.channel, shown)
            values = {"payload": deleted.encode(), "run_at": now, "person": "", "conversation": ""}
            job_queue.schedule(connection, DELETE_REPLY, deleted.key, values)
        unfinished += [one] if surplus else []
    return unfinished
