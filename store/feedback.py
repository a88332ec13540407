"""Why answers were bad, and who looks into it: the tables `verdict` and `feedback` are in `store.replies`.

Rules
  Every list reads within a view (`agent.feedback`): its condition is part of the query, also of a change. The question
  and the answer are read from their own messages; what was only to be used in its turn is left out.
  Counts say nothing about who rated; all direct messages count as one place.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Any, Final, assert_never

import sqlalchemy as sa

from agent.feedback import (
    ChannelFeedback,
    CountedBy,
    FeedbackDetails,
    FeedbackFilter,
    FeedbackItem,
    FeedbackReason,
    FeedbackState,
    FeedbackView,
    RatingCount,
    RatingCounts,
    SharedFeedback,
    StateChange,
)
from agent.memory.audience import NOWHERE, AudienceKind
from agent.messages import ResultStatus
from agent.ports.tool_audit import AuditedCall
from agent.shown_replies import ReplyVerdict
from agent.stored_messages import Author
from agent.tool_policy import DecidedBy
from store import outbox, tool_calls
from store.databases.database import SqlStore, in_order, reads, writes
from store.message_tables import message, person
from store.model_calls import TURN, model_call
from store.replies import UNEXPLAINED, by_turn, feedback, verdict
from store.tool_calls import tool_call
from store.turn_tables import turn

MAX_KEYS: Final = 20  # Models, places, tools: nobody reads a table of more

_BAD: Final = sa.exists().where(
    verdict.c.turn == feedback.c.turn, verdict.c.person == feedback.c.person, verdict.c.verdict == ReplyVerdict.BAD
)
_PLACE: Final = turn.c.source + ":" + turn.c.channel
_RATER, _OWNER = person.alias(), person.alias()


def _first(author: Author, *, newest: bool) -> sa.ScalarSelect[int]:
    """The id of the first or the newest message of an author in the turn of a rating."""
    pick = sa.func.max if newest else sa.func.min
    of_turn = sa.select(pick(message.c.id)).where(message.c.turn == feedback.c.turn, message.c.author == author)
    return of_turn.correlate(feedback).scalar_subquery()


_QUESTION, _ANSWER = message.alias(), message.alias()
_JOINED: Final = (
    feedback.join(turn, turn.c.id == feedback.c.turn)
    .join(_QUESTION, _QUESTION.c.id == _first(Author.PERSON, newest=False))
    .outerjoin(_ANSWER, _ANSWER.c.id == _first(Author.BOT, newest=True))
    .outerjoin(_RATER, _RATER.c.id == feedback.c.person)
    .outerjoin(_OWNER, _OWNER.c.id == feedback.c.owner)
)
_ITEM: Final = (
    *(feedback.c[name] for name in ("id", "turn", "person", "time", "reason", "comment", "correction", "shared")),
    feedback.c.state,
    feedback.c.owner,
    _PLACE.label("place"),
    _QUESTION.c.audience,
    _QUESTION.c.permalink,
    *(
        sa.case((table.c.drawn_from == NOWHERE, None), else_=table.c.text).label(name)
        for table, name in ((_QUESTION, "question"), (_ANSWER, "answer"))
    ),
    _RATER.c.name.label("person_name"),
    _OWNER.c.name.label("owner_name"),
)


def explain(connection: sa.Connection, number: int, who: str, details: FeedbackDetails, now: datetime) -> bool:
    in_order(connection, f"verdict {number} {who}")
    if (reply := by_turn(connection, number)) is None:
        return False
    judged = verdict.c.turn == number, verdict.c.person == who
    given = connection.execute(sa.select(verdict.c.verdict).where(*judged)).scalar_one_or_none()
    if given != ReplyVerdict.BAD:
        if reply.person != who:
            return False
        connection.execute(sa.delete(verdict).where(*judged))
        connection.execute(sa.insert(verdict).values(turn=number, person=who, verdict=ReplyVerdict.BAD, time=now))
    own = feedback.c.turn == number, feedback.c.person == who
    before = connection.execute(sa.select(feedback.c.reason).where(*own)).scalar_one_or_none()
    said = {
        "reason": details.reason,
        "comment": details.comment,
        "correction": details.correction,
        "shared": details.shared,
    }
    if before is None:
        values = {**UNEXPLAINED, "turn": number, "person": who, "time": now, **said}
        connection.execute(sa.insert(feedback).values(**values))
    else:
        connection.execute(sa.update(feedback).where(*own).values(**said))
    if before != details.reason or given != ReplyVerdict.BAD:
        outbox.feedback_given(connection, reply, who, ReplyVerdict.BAD, now, details.reason)
    return True


def details_of(connection: sa.Connection, number: int, who: str) -> FeedbackDetails | None:
    columns = feedback.c.reason, feedback.c.comment, feedback.c.correction, feedback.c.shared
    own = sa.select(*columns).where(feedback.c.turn == number, feedback.c.person == who, feedback.c.reason != "", _BAD)
    row = connection.execute(own).one_or_none()
    if row is None:
        return None
    return FeedbackDetails(FeedbackReason(row.reason), row.comment, row.correction, row.shared)


def _in_view(view: FeedbackView) -> sa.ColumnElement[bool]:
    match view:
        case SharedFeedback():
            return feedback.c.shared
        case ChannelFeedback():
            return _in_channel(view, _QUESTION)
        case _:
            assert_never(view)


def _in_channel(view: ChannelFeedback, question: sa.FromClause) -> sa.ColumnElement[bool]:
    return sa.and_(
        turn.c.source == view.source,
        turn.c.channel == view.channel,
        question.c.audience.in_(sorted(view.audiences)),
    )


def _chosen(view: FeedbackView, chosen: FeedbackFilter) -> sa.ColumnElement[bool]:
    conditions = [_BAD, _in_view(view)]
    if chosen.states:
        conditions.append(feedback.c.state.in_(sorted(chosen.states)))
    if chosen.reason is not None:
        conditions.append(feedback.c.reason == chosen.reason)
    if chosen.place:
        conditions.append(_PLACE.in_([chosen.place]))
    if chosen.since is not None:
        conditions.append(feedback.c.time >= chosen.since)
    return sa.and_(*conditions)


def listed(
    connection: sa.Connection, view: FeedbackView, chosen: FeedbackFilter, *, limit: int, offset: int = 0
) -> list[FeedbackItem]:
    query = sa.select(*_ITEM).select_from(_JOINED).where(_chosen(view, chosen))
    found = connection.execute(query.order_by(feedback.c.id.desc()).limit(limit).offset(offset))
    return [_item(row) for row in found.mappings()]


def _item(row: sa.RowMapping) -> FeedbackItem:
    plain = ("id", "turn", "person", "place", "audience", "time", "comment", "correction", "shared", "owner")
    return FeedbackItem(
        **{name: row[name] for name in plain},
        reason=FeedbackReason(row["reason"]) if row["reason"] else None,
        state=FeedbackState(row["state"]),
        link=row["permalink"] or "",
        question=row["question"],
        answer=row["answer"],
        person_name=row["person_name"] or "",
        owner_name=row["owner_name"] or "",
    )


def count(connection: sa.Connection, view: FeedbackView, chosen: FeedbackFilter) -> int:
    query = sa.select(sa.func.count(feedback.c.id)).select_from(_JOINED).where(_chosen(view, chosen))
    return connection.execute(query).scalar_one()


def change_state(connection: sa.Connection, view: FeedbackView, id_: int, change: StateChange) -> FeedbackItem | None:
    one = sa.select(*_ITEM).select_from(_JOINED).where(_in_view(view), _BAD, feedback.c.id == id_)
    before = connection.execute(one).mappings().one_or_none()
    if before is None:
        return None
    owner = "" if change.state is FeedbackState.NEW else change.person
    connection.execute(sa.update(feedback).where(feedback.c.id == id_).values(state=change.state, owner=owner))
    if before["state"] != change.state or before["owner"] != owner:
        tool_calls.audit(connection, _audited(id_, before["state"], change))
    return _item(connection.execute(one).mappings().one())


def _audited(id_: int, before: str, change: StateChange) -> AuditedCall:
    return AuditedCall(
        time=change.time,
        person=change.person,
        channel=change.channel,
        audience="",
        tool="",
        arguments=f"feedback {id_}: {before} > {change.state}",
        effect="",
        decision="changed",
        decided_by=DecidedBy.FEEDBACK,
        outcome=ResultStatus.SUCCESS,
    )


def counts(connection: sa.Connection, since: datetime, within: ChannelFeedback | None = None) -> RatingCounts:
    """Each rating counts once for each model, tool, place and reason."""
    question = message.alias()
    asked = sa.select(sa.func.min(message.c.id)).where(message.c.turn == turn.c.id, message.c.author == Author.PERSON)
    asked = asked.correlate(turn).scalar_subquery()
    direct = sa.func.substr(question.c.audience, 1, len(AudienceKind.PERSON) + 1) == f"{AudienceKind.PERSON}:"
    rated = (
        sa.select(
            verdict.c.turn,
            verdict.c.person,
            verdict.c.verdict,
            sa.case((direct, ""), else_=_PLACE).label("place"),
        )
        .select_from(verdict.join(turn, turn.c.id == verdict.c.turn).join(question, question.c.id == asked))
        .where(verdict.c.time >= since)
    )
    if within is not None:
        rated = rated.where(_in_channel(within, question))
    ratings = rated.cte("rated")
    of_turn = {
        CountedBy.MODEL: (model_call.c.model, model_call.c.turn, model_call.c.kind == TURN),
        CountedBy.TOOL: (tool_call.c.tool, tool_call.c.turn, tool_call.c.effect != ""),
    }
    keyed: dict[CountedBy, sa.Select[Any]] = {
        # Each rating once for each key, however many calls its turn made
        by: sa.select(*ratings.c, key.label("key"))
        .join_from(ratings, key.table, number == ratings.c.turn)
        .where(counts_)
        for by, (key, number, counts_) in of_turn.items()
    }
    keyed[CountedBy.PLACE] = sa.select(*ratings.c, ratings.c.place.label("key"))
    bad = feedback.c.turn == ratings.c.turn, feedback.c.person == ratings.c.person
    reasons = sa.select(*ratings.c, feedback.c.reason.label("key")).join_from(ratings, feedback, sa.and_(*bad))
    keyed[CountedBy.REASON] = reasons.where(ratings.c.verdict == ReplyVerdict.BAD)
    return {by: _counted(connection, keyed[by].distinct().subquery()) for by in CountedBy}


def _counted(connection: sa.Connection, keyed: sa.Subquery) -> Sequence[RatingCount]:
    good = sa.func.count().filter(keyed.c.verdict == ReplyVerdict.GOOD)
    bad = sa.func.count().filter(keyed.c.verdict == ReplyVerdict.BAD)
    query = sa.select(keyed.c.key, good, bad).group_by(keyed.c.key)
    found = connection.execute(query.order_by(sa.func.count().desc(), keyed.c.key).limit(MAX_KEYS))
    return [RatingCount(*row) for row in found]


class SqlFeedback(SqlStore):
    listed = reads(listed)
    count = reads(count)
    change_state = writes(change_state)
    counts = reads(counts)

    async def explain(self, turn: int, person: str, details: FeedbackDetails, now: datetime) -> bool:
        return await self.database.write(explain, turn, person, details, now)

    async def details(self, turn: int, person: str) -> FeedbackDetails | None:
        return await self.database.read(details_of, turn, person)
