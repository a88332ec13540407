"""The tokens of programs that ask the bot.

Rules
  Only hashes are stored: a copy of the database gives no access. The secrets have 256 random bits, so a plain hash is
  enough.
  A revoked token is a deleted row. Its id is never given again, so that no later service inherits what it stored.
  A token falls with its person and with its place. An expired one stays listed until its owner gets another.
"""

from collections.abc import Collection
from datetime import datetime
from typing import Any, ClassVar, Final

from sqlalchemy import BigInteger, ColumnElement, Connection, RowMapping, delete, func, insert, or_, select, update
from sqlmodel import Field

from agent.memory.audience import audience_of, label
from agent.ports.api_tokens import ApiToken, NewApiToken, TokenScope
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
    return ApiToken(connection.execute(insert(api_token).values(**values).returning(_ROW.id)).scalar_one(), new)


def find(connection: Connection, hash_: str, now: datetime) -> ApiToken | None:
    row = connection.execute(select(api_token).where(_ROW.hash == hash_, _valid(now))).mappings().one_or_none()
    return None if row is None else _token(row)


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


def _token(row: RowMapping) -> ApiToken:
    values: dict[str, Any] = {**row}
    id_, used, money = values.pop("id"), values.pop("used"), values.pop("money_per_day")
    scopes = frozenset(TokenScope(name) for name in values.pop("scopes").split(",") if name)
    new = NewApiToken(
        audience=audience_of(values.pop("audience")),
        scopes=scopes,
        money_per_day=None if money is None else Money(money),
        **values,
    )
    return ApiToken(id_, new, used)


class SqlApiTokens(SqlStore):
    """The port ApiTokens."""

    add = writes(add)
    find = reads(find)
    mark_used = writes(mark_used)
    by_id = reads(by_id)
    all = reads(all_tokens)
    of_person = reads(of_person)
    revoke = writes(revoke)
