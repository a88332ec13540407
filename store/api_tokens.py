"""The tokens of programs that ask the bot.

Rules
  Only hashes are stored: a copy of the database gives no access. The secrets have 256 random bits, so a plain hash is
  enough.
  A revoked token is a deleted row. Its id is never given again, so that no later service inherits what it stored.
  Of a token whose app gets new secrets, only the hashes of the current ones and of the refresh token before are kept:
  any other text of the same family shows that a refresh token was used twice.
  A token falls with its person and with its place. An expired one stays listed until its owner gets another.
"""

from collections.abc import Collection
from datetime import datetime
from typing import Any, ClassVar, Final

from sqlalchemy import BigInteger, ColumnElement, Connection, RowMapping, delete, func, insert, or_, select, update
from sqlmodel import Field

from agent.memory.audience import audience_of, label
from agent.ports.api_tokens import ApiToken, NewApiToken, Refreshing, TokenScope
from agent.spending import Money
from store.databases.database import SqlStore, StorableText, UtcDateTime, in_order, reads, writes
from store.schema import NEVER_REUSED, TableRow, metadata


class ApiTokenRow(TableRow, table=True):
    """A token. `person`: as whom it acts, "" for a service; who may never have written, so it is no foreign key.

    `scopes`: separated by commas. `money_per_day`: in nano-dollars.
    """

    __table_args__: ClassVar[Any] = NEVER_REUSED

    id: int | None = Field(default=None, primary_key=True)
    hash: str = Field(sa_type=StorableText, unique=True)
    name: str = Field(sa_type=StorableText)
    person: str = Field(sa_type=StorableText, index=True)
    audience: str = Field(sa_type=StorableText)
    source: str = Field(sa_type=StorableText)
    channel: str = Field(sa_type=StorableText)
    scopes: str = Field(sa_type=StorableText)
    created: datetime = Field(sa_type=UtcDateTime)
    expires: datetime | None = Field(sa_type=UtcDateTime, default=None)
    used: datetime | None = Field(sa_type=UtcDateTime, default=None)
    tokens_per_day: int | None = Field(sa_type=BigInteger, default=None)
    money_per_day: int | None = Field(sa_type=BigInteger, default=None)
    by_person: bool
    client: str | None = Field(sa_type=StorableText, default=None)
    family: str | None = Field(sa_type=StorableText, default=None, unique=True, index=True)
    refresh: str | None = Field(sa_type=StorableText, default=None)
    refresh_before: str | None = Field(sa_type=StorableText, default=None)
    salt: str | None = Field(sa_type=StorableText, default=None)
    rotated: datetime | None = Field(sa_type=UtcDateTime, default=None)
    access_expires: datetime | None = Field(sa_type=UtcDateTime, default=None)


api_token: Final = metadata.tables["api_token"]

_ROW: Final = api_token.c


def add(connection: Connection, new: NewApiToken, limit: int) -> ApiToken | None:
    in_order(connection, f"api tokens {new.person}")
    connection.execute(delete(api_token).where(_ROW.person == new.person, ~_valid(new.created)))
    owned = select(func.count(), func.count().filter(_ROW.name == new.name)).where(_ROW.person == new.person)
    total, of_name = connection.execute(owned).one()
    if of_name or total >= limit:
        return None
    values = {
        "hash": new.hash,
        "name": new.name,
        "person": new.person,
        "audience": label(new.audience),
        "source": new.source,
        "channel": new.channel,
        "scopes": ",".join(sorted(new.scopes)),
        "created": new.created,
        "expires": new.expires,
        "tokens_per_day": new.tokens_per_day,
        "money_per_day": new.money_per_day,
        "by_person": new.by_person,
    }
    if new.refreshing is not None:
        values |= _refreshing_values(new.refreshing)
    return ApiToken(connection.execute(insert(api_token).values(**values).returning(_ROW.id)).scalar_one(), new)


def find(connection: Connection, hash_: str, now: datetime) -> ApiToken | None:
    fresh = or_(_ROW.access_expires.is_(None), _ROW.access_expires > now)
    row = connection.execute(select(api_token).where(_ROW.hash == hash_, _valid(now), fresh)).mappings().one_or_none()
    return None if row is None else _token(row)


def by_family(connection: Connection, family: str, now: datetime) -> ApiToken | None:
    row = connection.execute(select(api_token).where(_ROW.family == family, _valid(now))).mappings().one_or_none()
    return None if row is None else _token(row)


def rotate(connection: Connection, id_: int, hash_: str, refreshing: Refreshing) -> bool:
    unchanged = _ROW.id == id_, _ROW.family == refreshing.family, _ROW.refresh == refreshing.before
    values = {"hash": hash_, **_refreshing_values(refreshing)}
    return connection.execute(update(api_token).where(*unchanged).values(values)).rowcount == 1


def mark_used(connection: Connection, id_: int, now: datetime) -> None:
    connection.execute(update(api_token).where(_ROW.id == id_).values(used=now))


def by_id(connection: Connection, id_: int, now: datetime) -> ApiToken | None:
    row = connection.execute(select(api_token).where(_ROW.id == id_, _valid(now))).mappings().one_or_none()
    return None if row is None else _token(row)


def all_tokens(connection: Connection, limit: int) -> list[ApiToken]:
    return [_token(row) for row in connection.execute(select(api_token).order_by(_ROW.id).limit(limit)).mappings()]


def of_person(connection: Connection, person: str) -> list[ApiToken]:
    owned = select(api_token).where(_ROW.person == person, _ROW.person != "").order_by(_ROW.id)
    return [_token(row) for row in connection.execute(owned).mappings()]


def revoke(connection: Connection, ids: Collection[int]) -> int:
    return connection.execute(delete(api_token).where(_ROW.id.in_(sorted(ids)))).rowcount


def _valid(now: datetime) -> ColumnElement[bool]:
    return or_(_ROW.expires.is_(None), _ROW.expires > now)


def _refreshing_values(refreshing: Refreshing) -> dict[str, Any]:
    return {
        "client": refreshing.client,
        "family": refreshing.family,
        "refresh": refreshing.refresh,
        "refresh_before": refreshing.before,
        "salt": refreshing.salt,
        "rotated": refreshing.rotated,
        "access_expires": refreshing.access_expires,
    }


def _token(row: RowMapping) -> ApiToken:
    values: dict[str, Any] = {**row}
    id_, used, money = values.pop("id"), values.pop("used"), values.pop("money_per_day")
    state = {name: values.pop(name) for name in ("client", "family", "refresh", "salt", "rotated", "access_expires")}
    before = values.pop("refresh_before")
    scopes = frozenset(TokenScope(name) for name in values.pop("scopes").split(",") if name)
    new = NewApiToken(
        audience=audience_of(values.pop("audience")),
        scopes=scopes,
        money_per_day=None if money is None else Money(money),
        refreshing=None if state["family"] is None else Refreshing(before=before, **state),
        **values,
    )
    return ApiToken(id_, new, used)


class SqlApiTokens(SqlStore):
    """The port ApiTokens."""

    add = writes(add)
    find = reads(find)
    by_family = reads(by_family)
    rotate = writes(rotate)
    mark_used = writes(mark_used)
    by_id = reads(by_id)
    all = reads(all_tokens)
    of_person = reads(of_person)
    revoke = writes(revoke)
