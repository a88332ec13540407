"""The apps that workspaces were given by their install page.

What is kept is sealed by whoever asks, and the key is not here. Two processes never renew one app's tokens at the same
time: a refresh token counts once. An epoch fences off who was too slow. What is removed loses its tokens at once.
"""

from collections.abc import Collection
from datetime import datetime, timedelta

from sqlalchemy import Connection, delete, insert, or_, select, update

from agent.ports import Installation
from store.databases.database import SqlStore, in_order, reads, writes
from store.tables import installation

_ROW = installation.c
_KEPT = tuple(name for name in Installation.__slots__)


def put(connection: Connection, one: Installation) -> None:
    in_order(connection, f"installation {one.source}")
    values = {name: getattr(one, name) for name in _KEPT} | {"renewing": None}
    changed = update(installation).where(_ROW.source == one.source).values(**values, epoch=_ROW.epoch + 1)
    if connection.execute(changed).rowcount == 0:
        connection.execute(insert(installation).values(**values, epoch=0))


def listed(connection: Connection) -> list[Installation]:
    rows = connection.execute(select(*(_ROW[name] for name in _KEPT)).order_by(_ROW.source))
    return [Installation(*row) for row in rows]


def claim(connection: Connection, source: str, sealed: bytes, now: datetime, lease: timedelta) -> int | None:
    free = or_(_ROW.renewing.is_(None), _ROW.renewing <= now)
    mine = update(installation).where(_ROW.source == source, _ROW.sealed == sealed, _ROW.removed.is_(None), free)
    claimed = mine.values(renewing=now + lease, epoch=_ROW.epoch + 1).returning(_ROW.epoch)
    return connection.execute(claimed).scalar_one_or_none()


def renewed(connection: Connection, source: str, epoch: int, sealed: bytes, expires: datetime | None) -> bool:
    mine = update(installation).where(_ROW.source == source, _ROW.epoch == epoch, _ROW.removed.is_(None))
    return connection.execute(mine.values(sealed=sealed, expires=expires, renewing=None)).rowcount > 0


def remove(connection: Connection, source: str, installed: datetime, now: datetime) -> bool:
    there = update(installation).where(_ROW.source == source, _ROW.installed == installed, _ROW.removed.is_(None))
    gone = there.values(removed=now, sealed=b"", expires=None, renewing=None, epoch=_ROW.epoch + 1)
    return connection.execute(gone).rowcount > 0


def erase_installations(connection: Connection, people: Collection[str], sources: Collection[str]) -> None:
    """Forget that these people installed one; and those of these sources that were removed."""
    gone = delete(installation).where(_ROW.source.in_(sorted(sources)), _ROW.removed.is_not(None))
    connection.execute(gone)
    by_sources = (_ROW.installer.startswith(f"{source}:", autoescape=True) for source in sorted(sources))
    theirs = or_(_ROW.installer.in_(sorted(people)), *by_sources)
    connection.execute(update(installation).where(theirs).values(installer=""))


class SqlInstallations(SqlStore):
    put = writes(put)
    listed = reads(listed)
    claim = writes(claim)
    renewed = writes(renewed)
    remove = writes(remove)
