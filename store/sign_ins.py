"""Sign-ins: people's accounts at tool servers, operators' sessions, and apps in the workspaces that installed them.

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

from agent.ports.installations import Installation
from agent.ports.operator_sessions import OperatorSession
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


class OperatorSessionRow(TableRow, table=True):
    """A session of the operators' page. `hash`: of the browser's cookie, or of a link; `opened`: None for a link."""

    hash: str = Field(sa_type=StorableText, primary_key=True)
    opened: datetime | None = Field(sa_type=UtcDateTime, default=None)
    seen: datetime = Field(sa_type=UtcDateTime)
    expires: datetime = Field(sa_type=UtcDateTime)


operator_session: Final = metadata.tables["operator_session"]


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


# Sessions of the operators' page, and the links that open one.
#
# Rules
#   Only hashes are stored: a copy of the database gives no access. A row without `opened` is a link.
#   A link opens one session, and is deleted. Expired rows are deleted with the next link or session.
#   Links and sessions belong to no person: the holder of a link gets access.

MAX_ROWS: Final = 20  # Of links, and of sessions: more than a bot has operators. The oldest are deleted.
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


def mark_used(connection: Connection, session: str, now: datetime) -> None:
    connection.execute(update(operator_session).where(_ROW.hash == session, _ROW.seen < now).values(seen=now))


def end(connection: Connection, session: str) -> None:
    connection.execute(delete(operator_session).where(_ROW.hash == session))


def end_all(connection: Connection) -> int:
    """Delete all sessions and links; returns how many sessions there were."""
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
    """Delete the oldest rows of the kind, so that there is room for one more."""
    newest = select(_ROW.hash).where(kind).order_by(_ROW.seen.desc(), _ROW.hash).limit(MAX_ROWS - 1)
    newest_hashes = [row.hash for row in connection.execute(newest)]
    if len(newest_hashes) == MAX_ROWS - 1:
        connection.execute(delete(operator_session).where(kind, _ROW.hash.not_in(newest_hashes)))


class SqlOperatorSessions(SqlStore):
    offer = writes(offer)
    is_offered = reads(is_offered)
    open = writes(open_)
    find = reads(find)
    mark_used = writes(mark_used)
    end = writes(end)
    end_all = writes(end_all)
    listed = reads(listed)


# The apps that workspaces have installed through the install page.
#
# Rules
#   Tokens are sealed by the caller, and the key is not in the database.
#   Two processes never renew one app's tokens at the same time: a refresh token works once. An epoch fences off a
#   process that was too slow.
#   A removed app loses its tokens at once, and its row when the messages of its workspace are forgotten.

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
