"""Who is signed in on the operators' page, and the links that let somebody in.

Rules
  Only hashes are kept: a copy of the database lets nobody in. A row without a time of opening is a link.
  A link opens one session, and is gone. What has expired goes with the next link or session.
  It is nobody's in particular: whoever holds a link is let in.
"""

from datetime import datetime
from typing import Final

from sqlalchemy import ColumnElement, Connection, and_, delete, insert, select, update

from agent.ports import OperatorSession
from store.databases.database import SqlStore, reads, writes
from store.tables import operator_session

MOST: Final = 20
"""Of links, and of sessions: more operators than a bot has. The oldest go."""
_ROW = operator_session.c


def offer(connection: Connection, link: str, now: datetime, expires: datetime) -> None:
    _expire(connection, now)
    _make_room(connection, _ROW.opened.is_(None))
    connection.execute(insert(operator_session).values(hash=link, seen=now, expires=expires))


def is_offered(connection: Connection, link: str, now: datetime) -> bool:
    return connection.execute(select(_ROW.hash).where(_link(link, now))).one_or_none() is not None


def open_(connection: Connection, link: str, session: str, now: datetime, expires: datetime) -> bool:
    if connection.execute(delete(operator_session).where(_link(link, now))).rowcount == 0:
        return False
    _expire(connection, now)
    _make_room(connection, _ROW.opened.is_not(None))
    connection.execute(insert(operator_session).values(hash=session, opened=now, seen=now, expires=expires))
    return True


def find(connection: Connection, session: str, now: datetime, idle_since: datetime) -> OperatorSession | None:
    row = connection.execute(_SESSIONS.where(_ROW.hash == session, *_open(now, idle_since))).one_or_none()
    return None if row is None else OperatorSession(row.opened, row.seen, row.expires)


def see(connection: Connection, session: str, now: datetime) -> None:
    connection.execute(update(operator_session).where(_ROW.hash == session, _ROW.seen < now).values(seen=now))


def end(connection: Connection, session: str) -> None:
    connection.execute(delete(operator_session).where(_ROW.hash == session))


def end_all(connection: Connection) -> int:
    """Links, too; how many sessions there were."""
    sessions = connection.execute(delete(operator_session).where(_ROW.opened.is_not(None))).rowcount
    connection.execute(delete(operator_session))
    return sessions


def listed(connection: Connection, now: datetime, idle_since: datetime) -> list[OperatorSession]:
    rows = connection.execute(_SESSIONS.where(*_open(now, idle_since)).order_by(_ROW.opened.desc()))
    return [OperatorSession(row.opened, row.seen, row.expires) for row in rows]


_SESSIONS: Final = select(_ROW.opened, _ROW.seen, _ROW.expires).where(_ROW.opened.is_not(None))


def _open(now: datetime, idle_since: datetime) -> tuple[ColumnElement[bool], ...]:
    return _ROW.expires > now, _ROW.seen > idle_since


def _link(link: str, now: datetime) -> ColumnElement[bool]:
    return and_(_ROW.hash == link, _ROW.opened.is_(None), _ROW.expires > now)


def _expire(connection: Connection, now: datetime) -> None:
    connection.execute(delete(operator_session).where(_ROW.expires <= now))


def _make_room(connection: Connection, kind: ColumnElement[bool]) -> None:
    """For one more of the kind."""
    newest = select(_ROW.hash).where(kind).order_by(_ROW.seen.desc(), _ROW.hash).limit(MOST - 1)
    kept = [row.hash for row in connection.execute(newest)]
    if len(kept) == MOST - 1:
        connection.execute(delete(operator_session).where(kind, _ROW.hash.not_in(kept)))


class SqlOperatorSessions(SqlStore):
    offer = writes(offer)
    is_offered = reads(is_offered)
    open = writes(open_)
    find = reads(find)
    see = writes(see)
    end = writes(end)
    end_all = writes(end_all)
    listed = reads(listed)
