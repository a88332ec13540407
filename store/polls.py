"""Polls that the bot counts itself, and their votes, one for each person. They are erased with the post of the poll.

Rule: a vote counts for the poll that the message shows, so a poll is found by its message.
"""

from collections import Counter
from typing import Any, Final

import sqlalchemy as sa
from sqlmodel import Field

from agent.ports.acts import Poll
from agent.turn_kinds import TurnKind
from store.databases.database import StorableText, in_order
from store.json_columns import json_text, read_json
from store.replies import page
from store.schema import TableRow, metadata
from store.turn_tables import turn


class PollRow(TableRow, table=True):
    """A poll, by the turn of its post. `options`: a JSON list of texts."""

    turn: int = Field(primary_key=True, foreign_key="turn.id")
    question: str = Field(sa_type=StorableText)
    options: str = Field(sa_type=StorableText)
    closed: bool = False


poll: Final = metadata.tables["poll"]


class PollVoteRow(TableRow, table=True):
    """A person's vote. `choice`: the place of an option, from 0."""

    turn: int = Field(primary_key=True, foreign_key="turn.id")
    person: str = Field(sa_type=StorableText, primary_key=True, index=True)
    choice: int


poll_vote: Final = metadata.tables["poll_vote"]


def open_poll(connection: sa.Connection, turn_id: int, asked: Poll) -> None:
    values = {"turn": turn_id, "question": asked.question, "options": json_text([*asked.options]), "closed": False}
    connection.execute(sa.insert(poll).values(values))


def poll_at(connection: sa.Connection, source: str, channel: str, page_id: str) -> Poll | None:
    found = _find(connection, source, channel, page_id)
    return None if found is None else _counted(connection, found)


def vote(connection: sa.Connection, source: str, channel: str, page_id: str, person: str, choice: int) -> Poll | None:
    in_order(connection, f"poll {source} {channel} {page_id}")
    found = _find(connection, source, channel, page_id)
    if found is None:
        return None
    counted = _counted(connection, found)
    if counted.closed or not 0 <= choice < len(counted.options):
        return counted
    own = poll_vote.c.turn == found.turn, poll_vote.c.person == person
    if connection.execute(sa.update(poll_vote).where(*own).values(choice=choice)).rowcount == 0:
        connection.execute(sa.insert(poll_vote).values(turn=found.turn, person=person, choice=choice))
    return _counted(connection, found)


def close_poll(connection: sa.Connection, source: str, channel: str, page_id: str) -> Poll | None:
    in_order(connection, f"poll {source} {channel} {page_id}")
    found = _find(connection, source, channel, page_id)
    if found is None:
        return None
    connection.execute(sa.update(poll).where(poll.c.turn == found.turn).values(closed=True))
    return poll_at(connection, source, channel, page_id)


def _find(connection: sa.Connection, source: str, channel: str, page_id: str) -> sa.Row[Any] | None:
    shown = page.c.source == source, page.c.page == page_id, turn.c.channel == channel, turn.c.kind == TurnKind.ACT
    query = sa.select(poll).join_from(page, turn, turn.c.id == page.c.turn).join(poll, poll.c.turn == turn.c.id)
    return connection.execute(query.where(*shown).order_by(poll.c.turn.desc()).limit(1)).one_or_none()


def _counted(connection: sa.Connection, found: sa.Row[Any]) -> Poll:
    listed: Any = read_json(found.options)
    options = tuple(str(option) for option in listed)
    choices = connection.execute(sa.select(poll_vote.c.choice).where(poll_vote.c.turn == found.turn)).scalars()
    counts = Counter(choices)
    return Poll(found.question, options, tuple(counts[number] for number in range(len(options))), found.closed)
