"""Replies in platforms: found by a page or by their turn, and readers' verdicts on them.

Rule: a reply is known as long as its question and its own text exist; its pages are deleted with them.
"""

import json
from collections.abc import Collection, Mapping
from datetime import datetime
from functools import partial
from typing import Any, ClassVar, Final

import sqlalchemy as sa
from sqlalchemy import Index
from sqlmodel import Field

from agent.feedback import FeedbackState
from agent.memory.audience import WIDE
from agent.messages import ToolCall
from agent.shown_replies import Answered, ReplyVerdict
from agent.stored_messages import Author
from agent.turn_kinds import TurnKind
from store import outbox, row_mapping
from store.databases.database import SqlStore, StorableText, UtcDateTime, in_order, reads
from store.json_columns import json_text
from store.message_tables import message
from store.schema import NEVER_REUSED, TableRow, metadata
from store.turn_tables import RUNNING, WAITING, action_record, turn


class PageRow(TableRow, table=True):
    """A page of a finished reply, by the platform's own id; deleted with the reply's text."""

    __table_args__: ClassVar[Any] = (Index("ix_page_page", "page", "source"), NEVER_REUSED)

    id: int | None = Field(default=None, primary_key=True)
    turn: int = Field(foreign_key="turn.id", index=True)
    source: str = Field(sa_type=StorableText)
    page: str = Field(sa_type=StorableText)


page: Final = metadata.tables["page"]


class VerdictRow(TableRow, table=True):
    """A reader's verdict on the reply of a turn."""

    turn: int = Field(primary_key=True, foreign_key="turn.id")
    person: str = Field(sa_type=StorableText, primary_key=True, index=True)
    verdict: str = Field(sa_type=StorableText)
    time: datetime = Field(sa_type=UtcDateTime, index=True)


verdict: Final = metadata.tables["verdict"]


class FeedbackRow(TableRow, table=True):
    """Why a reader judged the reply of a turn to be bad, and who looks into it (`agent.feedback`). It has words of this
    person alone, and none of the reply. `reason`: "" if they gave none. `owner`: a person's id, "" for nobody.
    """

    __table_args__: ClassVar[Any] = (
        Index("ix_feedback_turn", "turn", "person", unique=True),
        Index("ix_feedback_person", "person"),
        Index("ix_feedback_owner", "owner"),
        Index("ix_feedback_time", "time"),
        NEVER_REUSED,
    )

    id: int | None = Field(default=None, primary_key=True)
    turn: int = Field(foreign_key="turn.id")
    person: str = Field(sa_type=StorableText)
    time: datetime = Field(sa_type=UtcDateTime)
    reason: str = Field(sa_type=StorableText)
    comment: str = Field(sa_type=StorableText)
    correction: str = Field(sa_type=StorableText)
    shared: bool
    state: str = Field(sa_type=StorableText)
    owner: str = Field(sa_type=StorableText)


feedback: Final = metadata.tables["feedback"]

UNEXPLAINED: Final[Mapping[str, object]] = {
    **dict.fromkeys(("reason", "comment", "correction", "owner"), ""),
    "shared": False,
    "state": FeedbackState.NEW,
}

_REPLY: Final = message.alias()
_DRAWN_FROM: Final = (
    sa.select(_REPLY.c.drawn_from)
    .where(_REPLY.c.turn == turn.c.id, _REPLY.c.author == Author.BOT)
    .order_by(_REPLY.c.id.desc())
    .limit(1)
    .scalar_subquery()
)
_QUESTION: Final = (
    sa.select(
        turn.c.id,
        turn.c.source,
        turn.c.conversation,
        turn.c.channel,
        turn.c.message_id,
        turn.c.person,
        message.c.text,
        message.c.audience,
        turn.c.kind,
        turn.c.schedule,
        _DRAWN_FROM,
        message.c.retold,
    )
    .join_from(turn, message, message.c.turn == turn.c.id)
    .where(message.c.author == Author.PERSON)
    .order_by(message.c.id)
    .limit(1)
)


def by_page(connection: sa.Connection, source: str, page_id: str, channel: str = "") -> Answered | None:
    query = sa.select(page.c.turn).where(page.c.page == page_id, page.c.source == source)
    if channel:
        query = query.join_from(page, turn, turn.c.id == page.c.turn).where(turn.c.channel == channel)
    found = connection.execute(query.order_by(page.c.turn.desc()).limit(1)).scalar_one_or_none()
    return None if found is None else by_turn(connection, found)


def running_by_page(connection: sa.Connection, source: str, page_id: str, channel: str = "") -> Answered | None:
    open_ = sa.select(turn.c.id, turn.c.reply_ref).where(
        turn.c.state.in_((RUNNING, WAITING)), turn.c.source == source, turn.c.reply_ref != ""
    )
    for number, stored in connection.execute(open_.where(turn.c.channel == channel) if channel else open_):
        pages: tuple[str, ...] = tuple(json.loads(stored))
        if page_id in pages:
            return _answered(connection, number, pages)
    return None


def by_turn(connection: sa.Connection, number: int) -> Answered | None:
    pages = tuple(connection.execute(_pages(), {"of": number}).scalars())
    return _answered(connection, number, pages) if pages else None


def _answered(connection: sa.Connection, number: int, pages: tuple[str, ...]) -> Answered | None:
    asked = connection.execute(_QUESTION.where(turn.c.id == number)).one_or_none()
    if asked is None:
        return None
    *question, kind, schedule, drawn_from, retold = asked
    return Answered(
        *question,
        pages=pages,
        kind=TurnKind(kind),
        schedule=schedule,
        drawn_from=drawn_from or WIDE,
        own=not retold,
    )


def calls(connection: sa.Connection, number: int, tools: Collection[str], *, succeeded: bool) -> list[ToolCall]:
    records = sa.select(action_record).where(action_record.c.turn == number)
    found = connection.execute(records.order_by(action_record.c.iteration, action_record.c.id)).mappings()
    made = [row_mapping.action_record(row) for row in found]
    asked = [call for record in made for call in (record.succeeded if succeeded else record.calls)]
    return [call for call in asked if call.name in tools]


def newest_with(connection: sa.Connection, tools: Collection[str], person: str, channel: str) -> Answered | None:
    named = sa.or_(
        *(action_record.c.calls.contains(json_text({"name": tool})[1:-1], autoescape=True) for tool in tools)
    )
    query = sa.select(turn.c.id).join_from(action_record, turn, turn.c.id == action_record.c.turn)
    query = query.where(turn.c.person == person, named, turn.c.id.in_(sa.select(page.c.turn)))
    if channel:
        query = query.where(turn.c.channel == channel)
    found = connection.execute(query.order_by(turn.c.id.desc()).limit(1)).scalar_one_or_none()
    return None if found is None else by_turn(connection, found)


def answered(connection: sa.Connection, source: str, conversations: Collection[str]) -> frozenset[str]:
    shown = sa.select(page.c.turn).where(page.c.turn == turn.c.id).exists()
    found = sa.select(turn.c.conversation).where(turn.c.source == source, turn.c.conversation.in_(conversations), shown)
    return frozenset(connection.execute(found.distinct()).scalars())


def judge(connection: sa.Connection, number: int, person: str, opinion: ReplyVerdict | None, now: datetime) -> bool:
    in_order(connection, f"verdict {number} {person}")
    if (reply := by_turn(connection, number)) is None:
        return False
    own = (verdict.c.turn == number, verdict.c.person == person)
    before = connection.execute(sa.select(verdict.c.verdict).where(*own)).scalar_one_or_none()
    if opinion is None:
        connection.execute(sa.delete(verdict).where(*own))
    elif connection.execute(sa.update(verdict).where(*own).values(verdict=opinion, time=now)).rowcount == 0:
        connection.execute(sa.insert(verdict).values(turn=number, person=person, verdict=opinion, time=now))
    if before != opinion:
        connection.execute(sa.delete(feedback).where(feedback.c.turn == number, feedback.c.person == person))
        if opinion is ReplyVerdict.BAD:
            connection.execute(sa.insert(feedback).values(turn=number, person=person, time=now, **UNEXPLAINED))
        outbox.feedback_given(connection, reply, person, opinion, now)
    return True


def withdraw(connection: sa.Connection, number: int, person: str, opinion: ReplyVerdict, now: datetime) -> None:
    in_order(connection, f"verdict {number} {person}")
    own = verdict.c.turn == number, verdict.c.person == person
    if connection.execute(sa.select(verdict.c.verdict).where(*own)).scalar_one_or_none() == opinion:
        judge(connection, number, person, None, now)


def verdicts(connection: sa.Connection, since: datetime) -> dict[ReplyVerdict, int]:
    counted = sa.select(verdict.c.verdict, sa.func.count()).where(verdict.c.time >= since).group_by(verdict.c.verdict)
    return {ReplyVerdict(row[0]): row[1] for row in connection.execute(counted)}


class SqlReplies(SqlStore):
    by_page = reads(by_page)
    running_by_page = reads(running_by_page)
    verdicts = reads(verdicts)
    newest_with = reads(newest_with)
    answered = reads(answered)

    async def by_turn(self, turn: int) -> Answered | None:
        return await self.database.read(by_turn, turn)

    async def calls(self, turn: int, tools: Collection[str], *, succeeded: bool = False) -> list[ToolCall]:
        return await self.database.read(partial(calls, succeeded=succeeded), turn, tools)

    async def judge(self, turn: int, person: str, verdict: ReplyVerdict | None, now: datetime) -> bool:
        return await self.database.write(judge, turn, person, verdict, now)

    async def withdraw(self, turn: int, person: str, verdict: ReplyVerdict, now: datetime) -> None:
        await self.database.write(withdraw, turn, person, verdict, now)


def _pages() -> sa.Select[str]:
    return sa.select(page.c.page).where(page.c.turn == sa.bindparam("of")).order_by(page.c.id)
