"""The API keys of channels for services of models.

Rules
  Keys are sealed by the caller, and the key that opens them is not in the database: a copy of the database opens none.
  A row names no person: the key belongs to its channel, like the channel's rules, and is erased with it. Who changed it
  is in the audit.
"""

from collections.abc import Mapping
from dataclasses import asdict
from datetime import datetime
from typing import Any, ClassVar, Final

from sqlalchemy import Connection, UniqueConstraint, delete, insert, select, update
from sqlmodel import Field

from agent.memory.audience import audience_of, label
from agent.ports.place_keys import StoredPlaceKey
from store.databases.database import SqlStore, StorableText, UtcDateTime, in_order, reads, writes
from store.schema import TableRow, metadata


class PlaceKeyRow(TableRow, table=True):
    """A channel's key for a service; see `StoredPlaceKey`."""

    __table_args__: ClassVar[Any] = (UniqueConstraint("source", "channel", "vendor", name="uq_place_key_source"),)

    id: int | None = Field(default=None, primary_key=True)
    source: str = Field(sa_type=StorableText)
    channel: str = Field(sa_type=StorableText)
    audience: str = Field(sa_type=StorableText)
    vendor: str = Field(sa_type=StorableText)
    sealed: bytes
    ending: str = Field(sa_type=StorableText)
    mark: str = Field(sa_type=StorableText, unique=True)
    added: datetime = Field(sa_type=UtcDateTime)
    refused: datetime | None = Field(sa_type=UtcDateTime, default=None)


place_key: Final = metadata.tables["place_key"]

_ROW: Final = place_key.c
_ORDER: Final = (_ROW.source, _ROW.channel, _ROW.vendor)


def of(connection: Connection, source: str, channel: str) -> list[StoredPlaceKey]:
    found = select(place_key).where(_ROW.source == source, _ROW.channel == channel).order_by(_ROW.vendor)
    return [_stored(row) for row in connection.execute(found).mappings()]


def all_keys(connection: Connection, limit: int) -> list[StoredPlaceKey]:
    found = select(place_key).order_by(*_ORDER).limit(limit)
    return [_stored(row) for row in connection.execute(found).mappings()]


def marked(connection: Connection, mark: str) -> StoredPlaceKey | None:
    row = connection.execute(select(place_key).where(_ROW.mark == mark)).mappings().one_or_none()
    return None if row is None else _stored(row)


def put(connection: Connection, key: StoredPlaceKey) -> None:
    in_order(connection, f"place key {key.source} {key.channel} {key.vendor}")
    drop(connection, key.source, key.channel, key.vendor)
    connection.execute(insert(place_key).values(**asdict(key) | {"audience": label(key.audience)}))


def drop(connection: Connection, source: str, channel: str, vendor: str) -> bool:
    where = (_ROW.source == source, _ROW.channel == channel, _ROW.vendor == vendor)
    return connection.execute(delete(place_key).where(*where)).rowcount > 0


def refuse(connection: Connection, mark: str, now: datetime) -> bool:
    new = update(place_key).where(_ROW.mark == mark, _ROW.refused.is_(None))
    return connection.execute(new.values(refused=now)).rowcount > 0


def accept(connection: Connection, mark: str) -> None:
    connection.execute(update(place_key).where(_ROW.mark == mark, _ROW.refused.is_not(None)).values(refused=None))


def _stored(row: Mapping[Any, Any]) -> StoredPlaceKey:
    values: dict[str, Any] = {name: value for name, value in row.items() if name != "id"}
    values["audience"] = audience_of(values["audience"])
    return StoredPlaceKey(**values)


class SqlPlaceKeys(SqlStore):
    """The port PlaceKeys."""

    of = reads(of)
    all = reads(all_keys)
    marked = reads(marked)
    put = writes(put)
    drop = writes(drop)
    refuse = writes(refuse)
    accept = writes(accept)
