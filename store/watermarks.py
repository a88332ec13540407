"""The last messages received from each platform, and the watermark: where a start looks for missed messages."""

from datetime import datetime
from typing import Final

import sqlalchemy as sa

from agent.stored_messages import Author, LastSeen
from store.message_tables import message
from store.schema import meta
from store.turn_tables import turn

LATEST_TURNS: Final = 5_000  # The newest turns that are read: a start must not read years of messages
_HEARD: Final = "heard:"
_IS_OF_SOURCE: Final = meta.c.name == sa.bindparam("key")
_WATERMARK: Final = sa.select(meta.c.value).where(_IS_OF_SOURCE)
_MOVE: Final = sa.update(meta).where(_IS_OF_SOURCE)
_ADD: Final = sa.insert(meta)


def last_seen(connection: sa.Connection, source: str, since: datetime, limit: int) -> list[LastSeen]:
    latest = sa.select(turn.c.id, turn.c.source).order_by(turn.c.id.desc()).limit(LATEST_TURNS).subquery()
    questions = (
        sa.select(message.c.conversation, message.c.channel, message.c.message_id, message.c.time)
        .join_from(latest, message, message.c.turn == latest.c.id)
        .where(latest.c.source == source, message.c.author == Author.PERSON, message.c.time >= since)
        .order_by(message.c.time.desc(), message.c.id.desc())
    )
    found: dict[str, LastSeen] = {}
    for row in connection.execute(questions):
        if len(found) >= limit:
            break
        found.setdefault(row.conversation, LastSeen(row.conversation, row.channel, row.message_id or "", row.time))
    return list(found.values())


def watermark(connection: sa.Connection, source: str) -> datetime | None:
    stored = connection.execute(_WATERMARK, {"key": _HEARD + source}).scalar_one_or_none()
    return None if stored is None else datetime.fromisoformat(stored.decode())


def set_watermark(connection: sa.Connection, source: str, time: datetime) -> None:
    key, value = _HEARD + source, time.isoformat().encode()
    if not connection.execute(_MOVE, {"key": key, "value": value}).rowcount:
        connection.execute(_ADD, {"name": key, "value": value})
