"""People's accounts at tool servers, and the sign-ins that begin them.

Rules
  Secrets are sealed by the caller, and the key is not in the database: a copy of the database opens no account.
  Each person has one account and one sign-in for each server. A sign-in is found by a hash of the state that its person
  was given, so that a reader of the database cannot continue it; it is used once, and expires.
  Two processes never renew one account at the same time: an authorization server treats the second use of a refresh
  token as theft, and revokes the account. A lease decides which process renews. The sealed value differs after each
  renewal, so it also tells whether the account is still the same.
"""

from collections.abc import Collection, Mapping
from datetime import datetime, timedelta
from typing import Final

from sqlalchemy import ColumnElement, Connection, Table, and_, delete, insert, or_, select, update
from sqlmodel import Field

from agent.ports.tool_accounts import SealedSignIn
from store.databases.database import SqlStore, StorableText, UtcDateTime, in_order, reads, writes
from store.schema import TableRow, metadata


class ToolAccountRow(TableRow, table=True):
    """A person's account at a tool server.

    `sealed` is encrypted and holds no one's words. `renewing`: a process renews its tokens, at the latest until then.
    The person may never have written, so it is no foreign key.
    """

    person: str = Field(sa_type=StorableText, primary_key=True)
    server: str = Field(sa_type=StorableText, primary_key=True)
    sealed: bytes
    renewing: datetime | None = Field(sa_type=UtcDateTime, default=None)


tool_account: Final = metadata.tables["tool_account"]


class SignInRow(TableRow, table=True):
    """A sign-in in progress: one for each person and server. `handle`: a hash of the state that identifies it."""

    person: str = Field(sa_type=StorableText, primary_key=True)
    server: str = Field(sa_type=StorableText, primary_key=True)
    handle: str = Field(sa_type=StorableText, unique=True)
    sealed: bytes
    expires: datetime = Field(sa_type=UtcDateTime, index=True)


sign_in: Final = metadata.tables["sign_in"]


def _at(table: Table, person: str, server: str) -> ColumnElement[bool]:
    return and_(table.c.person == person, table.c.server == server)


def get(connection: Connection, person: str, server: str) -> bytes | None:
    sealed = select(tool_account.c.sealed).where(_at(tool_account, person, server))
    return connection.execute(sealed).scalar_one_or_none()


def all_of(connection: Connection, person: str) -> Mapping[str, bytes]:
    accounts = select(tool_account.c.server, tool_account.c.sealed).where(tool_account.c.person == person)
    return {row.server: row.sealed for row in connection.execute(accounts.order_by(tool_account.c.server))}


def put(connection: Connection, person: str, server: str, sealed: bytes) -> None:
    in_order(connection, _name(person, server))
    changed = update(tool_account).where(_at(tool_account, person, server)).values(sealed=sealed, renewing=None)
    if connection.execute(changed).rowcount == 0:
        connection.execute(insert(tool_account).values(person=person, server=server, sealed=sealed))


def swap(connection: Connection, person: str, server: str, before: bytes, after: bytes | None) -> bool:
    same = and_(_at(tool_account, person, server), tool_account.c.sealed == before)
    if after is None:
        return connection.execute(delete(tool_account).where(same)).rowcount > 0
    return connection.execute(update(tool_account).where(same).values(sealed=after, renewing=None)).rowcount > 0


def drop(connection: Connection, person: str, server: str) -> bytes | None:
    connection.execute(delete(sign_in).where(_at(sign_in, person, server)))
    deleted = delete(tool_account).where(_at(tool_account, person, server))
    return connection.execute(deleted.returning(tool_account.c.sealed)).scalar_one_or_none()


def renew(connection: Connection, person: str, server: str, before: bytes, now: datetime, lease: timedelta) -> bool:
    free = or_(tool_account.c.renewing.is_(None), tool_account.c.renewing <= now)
    renewable = and_(_at(tool_account, person, server), tool_account.c.sealed == before, free)
    return connection.execute(update(tool_account).where(renewable).values(renewing=now + lease)).rowcount > 0


def begin(connection: Connection, handle: str, begun: SealedSignIn, now: datetime, expires: datetime) -> None:
    in_order(connection, _name(begun.person, begun.server))
    expire(connection, now)
    connection.execute(delete(sign_in).where(_at(sign_in, begun.person, begun.server)))
    values = {"person": begun.person, "server": begun.server, "sealed": begun.sealed}
    connection.execute(insert(sign_in).values(handle=handle, expires=expires, **values))


def expire(connection: Connection, now: datetime) -> None:
    connection.execute(delete(sign_in).where(sign_in.c.expires <= now))


def advance(connection: Connection, handle: str, then: str, sealed: bytes, expires: datetime) -> bool:
    values = {"handle": then, "sealed": sealed, "expires": expires}
    return connection.execute(update(sign_in).where(sign_in.c.handle == handle).values(**values)).rowcount > 0


def find_begun(connection: Connection, handle: str, now: datetime) -> SealedSignIn | None:
    row = connection.execute(select(sign_in).where(sign_in.c.handle == handle, sign_in.c.expires > now)).one_or_none()
    return None if row is None else SealedSignIn(row.person, row.server, row.sealed)


def complete(connection: Connection, handle: str, person: str, server: str, sealed: bytes) -> bool:
    if connection.execute(delete(sign_in).where(sign_in.c.handle == handle)).rowcount == 0:
        return False
    put(connection, person, server, sealed)
    return True


def erase_accounts(connection: Connection, people: Collection[str], sources: Collection[str]) -> int:
    """Delete the accounts and sign-ins of these people and sources; returns how many accounts."""
    deleted = 0
    for table in (sign_in, tool_account):
        of_people = table.c.person.in_(sorted(people))
        of_sources = (table.c.person.startswith(f"{source}:", autoescape=True) for source in sorted(sources))
        deleted = connection.execute(delete(table).where(or_(of_people, *of_sources))).rowcount
    return deleted


def _name(person: str, server: str) -> str:
    return f"tool account {person} {server}"


class SqlToolAccounts(SqlStore):
    get = reads(get)
    all_of = reads(all_of)
    swap = writes(swap)
    drop = writes(drop)
    renew = writes(renew)
    begin = writes(begin)
    find_begun = reads(find_begun)
    expire = writes(expire)
    advance = writes(advance)
    complete = writes(complete)
