"""Questions of a channel, with what became of them: read from what their turns stored, so nothing is stored twice.

Rule: only questions within the view are read, through an index, so that old ones cost nothing. A question or an answer
that was only to be used in its turn is left out.
"""

import json
from collections import defaultdict
from collections.abc import Iterable
from datetime import datetime
from typing import Final

import sqlalchemy as sa

from agent.events import Outcome
from agent.feedback import ChannelFeedback
from agent.memory.audience import NOWHERE, AudienceKind
from agent.messages import ResultStatus
from agent.shown_replies import ReplyVerdict
from agent.stored_messages import Author
from agent.turn_kinds import TurnKind
from agent.unanswered import AskedChannel, AskedQuestion
from store.databases.database import SqlStore, reads, reads_long
from store.json_columns import read_ids
from store.message_tables import embedding, message
from store.replies import verdict
from store.row_mapping import UNKNOWN
from store.tool_calls import tool_call
from store.turn_tables import DONE, turn

MAX_PEOPLE: Final = 20  # Of a channel, the last who asked there
SEARCH: Final = "recall"  # The tool that searches past messages and documents

_QUESTION, _ANSWER = message.alias(), message.alias()


def _of_turn(author: Author, *, newest: bool) -> sa.ScalarSelect[int]:
    pick = sa.func.max if newest else sa.func.min
    of_turn = sa.select(pick(message.c.id)).where(message.c.turn == turn.c.id, message.c.author == author)
    return of_turn.correlate(turn).scalar_subquery()


_ASKED: Final = (
    sa.select(
        turn.c.id,
        turn.c.given_messages,
        turn.c.given_documents,
        turn.c.erased_sources,
        turn.c.usage,
        _QUESTION.c.text.label("question"),
        _QUESTION.c.time,
        _QUESTION.c.permalink,
        _ANSWER.c.text.label("answer"),
        embedding.c.model,
        embedding.c.signs,
        sa.exists().where(verdict.c.turn == turn.c.id, verdict.c.verdict == ReplyVerdict.BAD).label("disliked"),
    )
    .select_from(
        turn.join(_QUESTION, _QUESTION.c.id == _of_turn(Author.PERSON, newest=False))
        .join(_ANSWER, _ANSWER.c.id == _of_turn(Author.BOT, newest=True))
        .outerjoin(embedding, embedding.c.message == _QUESTION.c.id)
    )
    .where(
        turn.c.state == DONE,
        turn.c.kind == TurnKind.QUESTION,
        turn.c.outcome == Outcome.ANSWERED,
        _QUESTION.c.drawn_from != NOWHERE,
        _ANSWER.c.drawn_from != NOWHERE,
    )
)


def asked(connection: sa.Connection, view: ChannelFeedback, since: datetime, limit: int) -> list[AskedQuestion]:
    within = _ASKED.where(
        turn.c.source == view.source,
        turn.c.channel == view.channel,
        turn.c.taken >= since,  # by an index of the channel: the time of the question has none
        _QUESTION.c.audience.in_(sorted(view.audiences)),
        _QUESTION.c.time >= since,
    )
    rows = connection.execute(within.order_by(turn.c.id.desc()).limit(limit)).all()
    worked, failed = _tools(connection, [row.id for row in rows])
    return [
        AskedQuestion(
            turn=row.id,
            question=row.question,
            answer=row.answer,
            time=row.time,
            link=row.permalink or "",
            searched=SEARCH in worked[row.id],
            # What a tool of another kind returned has no ids: it may have been the answer.
            found=bool(
                read_ids(row.given_messages)
                or read_ids(row.given_documents)
                or row.erased_sources
                or worked[row.id] - {SEARCH}
            ),
            failed=frozenset(failed[row.id] - worked[row.id]),
            disliked=row.disliked,
            unknown=bool(json.loads(row.usage).get(UNKNOWN)),
            model=row.model or "",
            signs=bytes(row.signs or b""),
        )
        for row in rows
    ]


def channels(connection: sa.Connection, since: datetime, limit: int) -> list[AskedChannel]:
    key = turn.c.source, turn.c.channel, _QUESTION.c.audience
    within = (
        sa.select(*key)
        .select_from(turn.join(_QUESTION, _QUESTION.c.id == _of_turn(Author.PERSON, newest=False)))
        .where(
            turn.c.state == DONE,
            turn.c.kind == TurnKind.QUESTION,
            turn.c.outcome == Outcome.ANSWERED,
            turn.c.ended >= since,  # by a partial index: the time of the question has none
            turn.c.taken >= since,
            _QUESTION.c.time >= since,
            ~_QUESTION.c.audience.startswith(f"{AudienceKind.PERSON}:", autoescape=True),
        )
    )
    newest = within.group_by(*key).order_by(sa.func.max(turn.c.id).desc()).limit(limit)
    asking = within.with_only_columns(turn.c.person).group_by(turn.c.person).order_by(sa.func.max(turn.c.id).desc())
    found = list[AskedChannel]()
    for source, channel, audience in connection.execute(newest).all():
        here = turn.c.source == source, turn.c.channel == channel, _QUESTION.c.audience == audience
        people = connection.execute(asking.where(*here).limit(MAX_PEOPLE)).scalars()
        found.append(AskedChannel(source, channel, audience, tuple(people)))
    return found


def _tools(connection: sa.Connection, turns: Iterable[int]) -> tuple[dict[int, set[str]], dict[int, set[str]]]:
    """The tools that worked in each of these turns, and those that failed."""
    worked, failed = defaultdict[int, set[str]](set), defaultdict[int, set[str]](set)
    calls = sa.select(tool_call.c.turn, tool_call.c.tool, tool_call.c.outcome)
    for row in connection.execute(calls.where(tool_call.c.turn.in_(turns), tool_call.c.effect != "")):
        if row.outcome == ResultStatus.SUCCESS:
            worked[row.turn].add(row.tool)
        elif row.outcome == ResultStatus.FAILURE:
            failed[row.turn].add(row.tool)
    return worked, failed


class SqlUnanswered(SqlStore):
    asked = reads(asked)
    channels = reads_long(channels)
