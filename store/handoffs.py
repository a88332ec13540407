"""Requests for a human: who asked, who is written about it, and who took over.

Rules
  A conversation has one request that is open or taken. Who asks, and who takes, change it only from the state before,
  so that of two processes one wins.
  A row holds words of its asker alone. It falls with the turn that was answered, and its messages are deleted then.
  What changes is stored with the event for webhooks, and with the job that writes to people.
"""

import json
from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Any, Final

import sqlalchemy as sa

from agent.handoffs import (
    HANDOFF,
    MAX_PEOPLE,
    SENDING,
    Handoff,
    HandoffContent,
    HandoffMessage,
    HandoffOutcome,
    HandoffState,
    NewHandoff,
)
from agent.incoming import Incoming
from agent.memory.audience import WIDE
from agent.outgoing import OutgoingEvent
from agent.schedules.long_work import asked_in
from agent.shown_replies import DELETE_REPLY, Answered, ShownPage
from agent.state import SituationSummary
from agent.stored_messages import Author
from agent.turn_kinds import TurnKind
from store import job_queue, outbox, row_mapping
from store.databases.database import SqlStore, after_commit, in_order, reads, row_id, writes
from store.handoff_tables import handoff, handoff_message
from store.message_tables import conversation, message, person
from store.replies import by_turn, page
from store.tool_calls import tool_call
from store.turn_tables import turn

_ASKED: Final = [kind for kind in TurnKind if kind.is_asked]
MAX_TOOLS: Final = 20  # Named in a summary: nobody reads more
_CURRENT: Final = [state for state in HandoffState if state.is_current]
_FIRST: Final = (
    sa.select(sa.func.min(message.c.id))
    .where(message.c.turn == turn.c.id, message.c.author == Author.PERSON)
    .correlate(turn)
    .scalar_subquery()
)
_OWN: Final = (
    *("turn", "person", "asker_name", "conversation", "time", "note", "shared"),
    *("changed", "taker", "taker_name", "reminded"),
)
# The columns of the turn and its question are those that `row_mapping.incoming` reads.
_QUESTIONS: Final[sa.Select[Any]] = (
    sa.select(turn, message.c.text, message.c.time, message.c.permalink, message.c.audience)
    .add_columns(person.c.name, person.c.time_zone)
    .join_from(turn, message, message.c.id == _FIRST)
    .join(person, person.c.id == turn.c.person)
)
_HANDOFFS: Final[sa.Select[Any]] = _QUESTIONS.add_columns(
    *(handoff.c[name].label(f"its_{name}") for name in ("id", "state", *_OWN))
).join(handoff, handoff.c.turn == turn.c.id)


def _handoff(row: sa.RowMapping) -> Handoff:
    return Handoff(
        **{name: row[f"its_{name}"] for name in _OWN},
        number=row["its_id"],
        state=HandoffState(row["its_state"]),
        question=row_mapping.incoming(row, {"team": row["team"]}),
    )


def _found(connection: sa.Connection, *where: sa.ColumnElement[bool]) -> Handoff | None:
    row = connection.execute(_HANDOFFS.where(*where).order_by(handoff.c.id.desc()).limit(1)).mappings().one_or_none()
    return None if row is None else _handoff(row)


def by_number(connection: sa.Connection, number: int) -> Handoff | None:
    return _found(connection, handoff.c.id == number)


def current(connection: sa.Connection, conversation_id: str) -> Handoff | None:
    return _found(connection, handoff.c.conversation == conversation_id, handoff.c.state.in_(_CURRENT))


def of_person(connection: sa.Connection, who: str, *, limit: int) -> list[Handoff]:
    written = sa.select(handoff_message.c.handoff).where(handoff_message.c.person == who)
    theirs = sa.or_(handoff.c.person == who, handoff.c.taker == who, handoff.c.id.in_(written))
    query = _HANDOFFS.where(handoff.c.state.in_(_CURRENT), theirs).order_by(handoff.c.id.desc()).limit(limit)
    return [_handoff(row) for row in connection.execute(query).mappings()]


def listed(connection: sa.Connection, *, limit: int) -> list[Handoff]:
    query = _HANDOFFS.where(handoff.c.state.in_(_CURRENT)).order_by(handoff.c.id).limit(limit)
    return [_handoff(row) for row in connection.execute(query).mappings()]


# Changes


def _schedule(connection: sa.Connection, key: str, now: datetime, payload: str = "") -> None:
    values = {"payload": payload, "run_at": now, "person": "", "conversation": ""}
    job_queue.schedule(connection, HANDOFF, key, values)
    after_commit(connection, job_queue.due_topic(HANDOFF))


def _address(connection: sa.Connection, number: int, people: Collection[str]) -> None:
    known = connection.execute(sa.select(handoff_message.c.person).where(handoff_message.c.handoff == number)).scalars()
    new = [each for each in dict.fromkeys(people) if each not in {*known}][:MAX_PEOPLE]
    if new:
        rows = [{"handoff": number, "person": each, "pages": "[]", "closed": False} for each in new]
        connection.execute(sa.insert(handoff_message), rows)


def ask(connection: sa.Connection, new: NewHandoff, people: Collection[str], now: datetime) -> Handoff | None:
    if (reply := by_turn(connection, new.turn)) is None:
        return None
    where = asked_in(reply.conversation)
    in_order(connection, f"handoff {where}")
    if (before := current(connection, where)) is not None:
        return before
    values = {
        "turn": new.turn,
        "conversation": where,
        "person": new.person,
        "asker_name": new.name,
        "note": new.note,
        "shared": new.shared,
        "state": HandoffState.OPEN,
        "taker": "",
        "taker_name": "",
        "time": now,
        "changed": now,
        "reminded": False,
    }
    number = row_id(connection.execute(sa.insert(handoff).values(**values)))
    _address(connection, number, people)
    asked = by_number(connection, number)
    if asked is not None:
        outbox.handoff_changed(connection, OutgoingEvent.HANDOFF_ASKED, asked, now)
        _schedule(connection, str(number), now)
    return asked


def take(connection: sa.Connection, number: int, who: str, name: str, now: datetime) -> HandoffOutcome:
    open_ = sa.update(handoff).where(handoff.c.id == number, handoff.c.state == HandoffState.OPEN)
    values = {"state": HandoffState.TAKEN, "taker": who, "taker_name": name, "changed": now, "reminded": True}
    taken = connection.execute(open_.values(**values))
    found = by_number(connection, number)
    if found is None:
        return HandoffOutcome.OVER
    if taken.rowcount == 0:
        return HandoffOutcome.TAKEN_BEFORE if found.state is HandoffState.TAKEN else HandoffOutcome.OVER
    outbox.handoff_changed(connection, OutgoingEvent.HANDOFF_TAKEN, found, now)
    _schedule(connection, str(number), now)
    return HandoffOutcome.STORED


def close(
    connection: sa.Connection,
    number: int,
    state: HandoffState,
    now: datetime,
    *,
    before: HandoffState | None = None,
) -> HandoffOutcome:
    states = _CURRENT if before is None else [before]
    held = sa.update(handoff).where(handoff.c.id == number, handoff.c.state.in_(states))
    changed = connection.execute(held.values(state=state, changed=now)).rowcount
    found = by_number(connection, number)
    if found is None or not changed:
        return HandoffOutcome.OVER
    outbox.handoff_changed(connection, OutgoingEvent.HANDOFF_ENDED, found, now)
    _schedule(connection, str(number), now)
    return HandoffOutcome.STORED


def reopen(connection: sa.Connection, number: int, taker: str, people: Collection[str], now: datetime) -> bool:
    held = sa.update(handoff).where(
        handoff.c.id == number, handoff.c.state == HandoffState.TAKEN, handoff.c.taker == taker
    )
    values: dict[str, object] = {"state": HandoffState.OPEN, "taker": "", "taker_name": ""}
    values |= {"changed": now, "reminded": False}
    # What the asker agreed to share was for the people whom they were shown then.
    if not {each.person for each in messages(connection, number)}.issuperset(people):
        values["shared"] = ""
    if connection.execute(held.values(**values)).rowcount == 0:
        return False
    _reset_messages(connection, number, now)
    _address(connection, number, people)
    _schedule(connection, str(number), now)
    return True


def _reset_messages(connection: sa.Connection, number: int, now: datetime) -> None:
    """Delete what people were written. Those who may still take the request are written anew."""
    for row in connection.execute(_SHOWN.where(handoff_message.c.handoff == number)).all():
        _delete_pages(connection, row, now)
    connection.execute(sa.delete(handoff_message).where(handoff_message.c.handoff == number))


def reminded(connection: sa.Connection, number: int) -> bool:
    held = sa.update(handoff).where(handoff.c.id == number, ~handoff.c.reminded)
    return connection.execute(held.values(reminded=True)).rowcount > 0


# What is shown


def question(connection: sa.Connection, number: int) -> Incoming | None:
    row = connection.execute(_QUESTIONS.where(turn.c.id == number)).mappings().one_or_none()
    return None if row is None else row_mapping.incoming(row, {"team": row["team"]})


def asked_since(connection: sa.Connection, who: str, since: datetime) -> int:
    asked = sa.select(sa.func.count()).where(handoff.c.person == who, handoff.c.time >= since)
    return connection.execute(asked).scalar_one()


def content(connection: sa.Connection, number: int) -> HandoffContent | None:
    said = sa.select(message.c.author, message.c.text, message.c.drawn_from, message.c.conversation, message.c.audience)
    found = connection.execute(said.where(message.c.turn == number).order_by(message.c.id)).all()
    asked = [row for row in found if row.author == Author.PERSON]
    if not asked:
        return None
    replies = [row for row in found if row.author == Author.BOT]
    tools = sa.select(tool_call.c.tool).where(tool_call.c.turn == number, tool_call.c.effect != "")
    names = connection.execute(tools.order_by(tool_call.c.id).limit(MAX_TOOLS)).scalars()
    where = asked[0].conversation
    # What not all readers of an answer may read leaves its conversation in no form.
    narrow = sa.exists().where(message.c.conversation == where, message.c.drawn_from != WIDE)
    is_wide = not connection.execute(sa.select(narrow)).scalar_one()
    drawn = next((row.drawn_from for row in replies if row.drawn_from != WIDE), WIDE)
    return HandoffContent(
        question=asked[0].text,
        answer="\n\n".join(row.text for row in replies) if replies and drawn == WIDE else None,
        drawn_from=drawn,
        tools=tuple(dict.fromkeys(names)),
        summary=_summary(connection, where, asked[0].audience) if is_wide else SituationSummary(),
    )


def _summary(connection: sa.Connection, where: str, audience: str) -> SituationSummary:
    """The summary for these readers: none if the conversation has had others since."""
    for_them = sa.and_(conversation.c.id == where, conversation.c.audience == audience)
    stored = connection.execute(sa.select(conversation.c.summary).where(for_them)).scalar_one_or_none()
    return row_mapping.summary(stored)[0] if stored else SituationSummary()


def newest(connection: sa.Connection, who: str, channel: str, conversations: Collection[str]) -> Answered | None:
    query = sa.select(turn.c.id).where(turn.c.id.in_(sa.select(page.c.turn)), turn.c.kind.in_(_ASKED))
    if conversations:
        query = query.where(turn.c.conversation.in_(sorted(conversations)))
    else:
        query = query.where(turn.c.person == who, *([turn.c.channel == channel] if channel else []))
    found = connection.execute(query.order_by(turn.c.id.desc()).limit(1)).scalar_one_or_none()
    return None if found is None else by_turn(connection, found)


def messages(connection: sa.Connection, number: int) -> list[HandoffMessage]:
    of = sa.select(handoff_message).where(handoff_message.c.handoff == number).order_by(handoff_message.c.person)
    return [HandoffMessage(row.person, tuple(json.loads(row.pages)), row.closed) for row in connection.execute(of)]


def _message(number: int, who: str) -> sa.ColumnElement[bool]:
    return sa.and_(handoff_message.c.handoff == number, handoff_message.c.person == who)


def shown(connection: sa.Connection, number: int, who: str, pages: Sequence[str]) -> bool:
    held = sa.update(handoff_message).where(_message(number, who))
    return connection.execute(held.values(pages=json.dumps([*pages]))).rowcount > 0


def closed(connection: sa.Connection, number: int, who: str) -> None:
    connection.execute(sa.update(handoff_message).where(_message(number, who)).values(closed=True))


# Forgetting

_SHOWN: Final = sa.select(handoff_message)


def _delete_pages(connection: sa.Connection, row: sa.Row[Any], now: datetime) -> None:
    """Delete the messages of a row; one that was just being sent is looked for."""
    pages, source = tuple(json.loads(row.pages)), row.person.rpartition(":")[0]
    if pages == SENDING:
        _schedule(connection, f"{row.handoff} {row.person}", now, json.dumps([source, row.person, row.handoff]))
        return
    for each in pages:
        gone = ShownPage(source, "", each)
        values = {"payload": gone.encode(), "run_at": now, "person": "", "conversation": ""}
        job_queue.schedule(connection, DELETE_REPLY, gone.key, values)


def withdraw(connection: sa.Connection, which: sa.ColumnElement[bool], now: datetime) -> None:
    """Delete these requests, and the messages that show them."""
    numbers = [*connection.execute(sa.select(handoff.c.id).where(which)).scalars()]
    if not numbers:
        return
    outbox.drop_handoffs(connection, numbers)
    of_them = handoff_message.c.handoff.in_(numbers)
    for row in connection.execute(_SHOWN.where(of_them)).all():
        _delete_pages(connection, row, now)
    connection.execute(sa.delete(handoff_message).where(of_them))
    connection.execute(sa.delete(handoff).where(handoff.c.id.in_(numbers)))


def drop_person(connection: sa.Connection, who: str, now: datetime) -> None:
    """Erase what a person asked of people, and what they were written; what they had taken waits for the others."""
    withdraw(connection, handoff.c.person == who, now)
    theirs = handoff.c.taker == who
    numbers = connection.execute(sa.select(handoff.c.id).where(theirs)).scalars().all()
    outbox.drop_handoffs(connection, numbers)
    for number in numbers:
        if not reopen(connection, number, who, _written_to(connection, number, who), now):
            _reset_messages(connection, number, now)  # it is over, and its messages name who had it
    connection.execute(sa.update(handoff).where(theirs).values(taker="", taker_name=""))
    mine = handoff_message.c.person == who
    for row in connection.execute(_SHOWN.where(mine)).all():
        _delete_pages(connection, row, now)
    connection.execute(sa.delete(handoff_message).where(mine))


def _written_to(connection: sa.Connection, number: int, without: str) -> list[str]:
    return [each.person for each in messages(connection, number) if each.person != without]


class SqlHandoffs(SqlStore):
    """The port Handoffs."""

    ask = writes(ask)
    by_number = reads(by_number)
    current = reads(current)
    of_person = reads(of_person)
    listed = reads(listed)
    take = writes(take)
    close = writes(close)
    reopen = writes(reopen)
    reminded = writes(reminded)
    content = reads(content)
    question = reads(question)
    reply = reads(by_turn)
    asked_since = reads(asked_since)
    newest = reads(newest)
    messages = reads(messages)
    shown = writes(shown)
    closed = writes(closed)
