"""What has been heard of each platform, and until when: where to look for what was missed.

Above: `store.conversations`. Below: tables; `agent.records`.
"""

from datetime import datetime
from typing import Final

from sqlalchemy import Connection, delete, insert, select

from agent.records import Author, LastSeen
from store.tables import message, meta, turn

LATEST_TURNS: Final = 5_000
"""How far back to look, whatever their age: a start must not read through years of messages."""
_HEARD: Final = "heard:"


def last_seen(connection: Connection, source: str, since: datetime, limit: int) -> list[LastSeen]:
    latest = select(turn.c.id, turn.c.source).order_by(turn.c.id.desc()).limit(LATEST_TURNS).subquery()
    asked = (
        select(message.c.conversation, message.c.channel, message.c.message_id, message.c.time)
        .join_from(latest, message, message.c.turn == latest.c.id)
        .where(latest.c.source == source, message.c.author == Author.PERSON, message.c.time >= since)
        .order_by(message.c.time.desc(), message.c.id.desc())
    )
    found: dict[str, LastSeen] = {}
    for row in connection.execute(asked):
        if len(found) >= limit:
            break
        found.setdefault(row.conversation, LastSeen(row.conversation, row.channel, row.message_id or "", row.time))
    return list(found.values())


def heard_until(connection: Connection, source: str) -> datetime | None:
    kept = connection.execute(select(meta.c.value).where(meta.c.name == _HEARD + source)).scalar_one_or_none()
    return None if kept is None else datetime.fromisoformat(kept.decode())


def hear_until(connection: Connection, source: str, time: datetime) -> None:
    connection.execute(delete(meta).where(meta.c.name == _HEARD + source))
    connection.execute(insert(meta).values(name=_HEARD + source, value=time.isoformat().encode()))
