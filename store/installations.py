"""Installations: the apps that workspaces have installed through the install page.

Rules
  Tokens are sealed by the caller, and the key is not in the database.
  Two processes never renew one app's tokens at the same time: a refresh token works once. An epoch fences off a process
  that was too slow.
  A removed app loses its tokens at once, and its row when the messages of its workspace are forgotten.
"""

from collections.abc import Collection
from datetime import datetime, timedelta
from typing import Final

from sqlalchemy import Connection, delete, insert, or_, select, update
from sqlmodel import Field

from agent.ports.installations import Installation
from store.databases.database import SqlStore, StorableText, UtcDateTime, in_order, reads, writes
from store.schema import TableRow, metadata


class InstallationRow(TableRow, table=True):
    """An app installed in a workspace through the install page, by the source of its messages. `sealed`: its tokens.

    `epoch` and `renewing`: the claim to renew them, and until when it holds; `removed`: when the app was uninstalled.
    """

    source: str = Field(sa_type=StorableText, primary_key=True)
    app: str = Field(sa_type=StorableText)
    organization: str = Field(sa_type=StorableText, default="")
    bot: str = Field(sa_type=StorableText)
    scopes: str = Field(sa_type=StorableText)
    installer: str = Field(sa_type=StorableText, default="")
    installed: datetime = Field(sa_type=UtcDateTime)
    expires: datetime | None = Field(sa_type=UtcDateTime, default=None)
    sealed: bytes
    epoch: int = 0
    renewing: datetime | None = Field(sa_type=UtcDateTime, default=None)
    removed: datetime | None = Field(sa_type=UtcDateTime, default=None)


installation: Final = metadata.tables["installation"]


_APP = installation.c
_KEPT = Installation.__slots__


def install(connection: Connection, one: Installation) -> None:
    in_order(connection, f"installation {one.source}")
    values = {name: getattr(one, name) for name in _KEPT} | {"renewing": None}
    changed = update(installation).where(_APP.source == one.source).values(**values, epoch=_APP.epoch + 1)
    if connection.execute(changed).rowcount == 0:
        connection.execute(insert(installation).values(**values, epoch=0))


def installed(connection: Connection) -> list[Installation]:
    rows = connection.execute(select(*(_APP[name] for name in _KEPT)).order_by(_APP.source))
    return [Installation(*row) for row in rows]


def claim_tokens(connection: Connection, source: str, sealed: bytes, now: datetime, lease: timedelta) -> int | None:
    free = or_(_APP.renewing.is_(None), _APP.renewing <= now)
    free_app = update(installation).where(_APP.source == source, _APP.sealed == sealed, _APP.removed.is_(None), free)
    claimed = free_app.values(renewing=now + lease, epoch=_APP.epoch + 1).returning(_APP.epoch)
    return connection.execute(claimed).scalar_one_or_none()


def keep_tokens(connection: Connection, source: str, epoch: int, sealed: bytes, expires: datetime | None) -> bool:
    claimed = update(installation).where(_APP.source == source, _APP.epoch == epoch, _APP.removed.is_(None))
    return connection.execute(claimed.values(sealed=sealed, expires=expires, renewing=None)).rowcount > 0


def uninstall(connection: Connection, source: str, installed: datetime, now: datetime) -> bool:
    installed_app = update(installation).where(
        _APP.source == source, _APP.installed == installed, _APP.removed.is_(None)
    )
    removed = installed_app.values(removed=now, sealed=b"", expires=None, renewing=None, epoch=_APP.epoch + 1)
    return connection.execute(removed).rowcount > 0


def erase_installations(connection: Connection, people: Collection[str], sources: Collection[str]) -> None:
    """Erase these people as installers, and the removed installations of these sources."""
    connection.execute(delete(installation).where(_APP.source.in_(sorted(sources)), _APP.removed.is_not(None)))
    by_sources = (_APP.installer.startswith(f"{source}:", autoescape=True) for source in sorted(sources))
    installed_by = or_(_APP.installer.in_(sorted(people)), *by_sources)
    connection.execute(update(installation).where(installed_by).values(installer=""))


class SqlInstallations(SqlStore):
    put = writes(install)
    listed = reads(installed)
    claim = writes(claim_tokens)
    renewed = writes(keep_tokens)
    remove = writes(uninstall)
