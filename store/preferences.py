"""Preferences of people and channels, by name."""

from collections.abc import Collection, Generator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from typing import Any, Final

import sqlalchemy as sa
from sqlmodel import Field

from store.databases.database import SqlStore, StorableText, in_order, reads_few, reads_one, writes
from store.schema import TableRow, metadata


class PreferenceRow(TableRow, table=True):
    """A preference. `owner` is a person, who may not have written yet, or "channel:" and a channel's id."""

    owner: str = Field(sa_type=StorableText, primary_key=True)
    name: str = Field(sa_type=StorableText, primary_key=True)
    value: str = Field(sa_type=StorableText)


preference: Final = metadata.tables["preference"]

# Built once: a question reads the preferences of a dozen owners, and building a statement takes longer than running it.
_CHOSEN: Final = (
    sa.select(preference.c.name, preference.c.value)
    .where(preference.c.owner == sa.bindparam("whose"))
    .order_by(preference.c.name)
)


@cache
def _chosen_by_each(owners: int) -> sa.Select[Any]:
    """What so many owners have chosen. An expanding parameter would take as long as the rest of the query."""
    names = [sa.bindparam(f"owner{number}", type_=StorableText) for number in range(owners)]
    return sa.select(*preference.c).where(preference.c.owner.in_(names))


def chosen_by_each(connection: sa.Connection, owners: Collection[str]) -> dict[str, dict[str, str]]:
    found: dict[str, dict[str, str]] = {owner: {} for owner in owners}
    values = {f"owner{number}": owner for number, owner in enumerate(found)}
    for row in connection.execute(_chosen_by_each(len(found)), values):
        found[row.owner][row.name] = row.value
    return found


def chosen(connection: sa.Connection, owner: str) -> dict[str, str]:
    return {row.name: row.value for row in connection.execute(_CHOSEN, {"whose": owner})}


def named(connection: sa.Connection, name: str) -> list[tuple[str, str]]:
    same = sa.or_(preference.c.name == name, preference.c.name.startswith(f"{name} ", autoescape=True))
    found = (
        sa.select(preference.c.owner, preference.c.value).where(same).order_by(preference.c.owner, preference.c.name)
    )
    return [(row.owner, row.value) for row in connection.execute(found)]


def choose(connection: sa.Connection, owner: str, name: str, value: str | None) -> None:
    stored = sa.and_(preference.c.owner == owner, preference.c.name == name)
    if value is None:
        connection.execute(sa.delete(preference).where(stored))
    elif connection.execute(sa.update(preference).where(stored).values(value=value)).rowcount == 0:
        connection.execute(sa.insert(preference).values(owner=owner, name=name, value=value))


def swap(connection: sa.Connection, owner: str, name: str, before: str | None, after: str) -> bool:
    in_order(connection, f"{owner} {name}")
    is_unchanged = chosen(connection, owner).get(name) == before
    if is_unchanged:
        choose(connection, owner, name, after)
    return is_unchanged


class _ReadTogether:
    """What a block has read. Tasks that it began know it, too, and may outlive it: so it ends by a mark."""

    def __init__(self, preferences: "SqlPreferences", owners: Collection[str]) -> None:
        self._preferences = preferences
        self._owners = frozenset(owners)
        self._found: dict[str, dict[str, str]] | None = None

    def has(self, preferences: "SqlPreferences", owner: str) -> bool:
        return preferences is self._preferences and owner in self._owners

    async def of(self, owner: str) -> dict[str, str]:
        if self._found is None:
            self._found = await self._preferences.of_each(self._owners)
        return dict(self._found[owner])

    def end(self) -> None:
        self._owners = frozenset[str]()


_TOGETHER: Final = ContextVar[_ReadTogether | None]("preferences read together", default=None)


class SqlPreferences(SqlStore):
    of_each = reads_few(chosen_by_each)
    _of_one = reads_few(chosen)
    all_named = reads_one(named)
    _set = writes(choose)
    _swap = writes(swap)

    @contextmanager
    def together(self, *owners: str) -> Generator[_ReadTogether]:
        read = _ReadTogether(self, owners)
        before = _TOGETHER.set(read)
        try:
            yield read
        finally:
            read.end()
            _TOGETHER.reset(before)

    async def all_of(self, owner: str) -> dict[str, str]:
        read = _TOGETHER.get()
        return await (read.of(owner) if read is not None and read.has(self, owner) else self._of_one(owner))

    async def set(self, owner: str, name: str, value: str | None) -> None:
        _end_together()
        await self._set(owner, name, value)

    async def swap(self, owner: str, name: str, before: str | None, after: str) -> bool:
        _end_together()
        return await self._swap(owner, name, before, after)


def _end_together() -> None:
    """A block that changes something reads it anew."""
    if (read := _TOGETHER.get()) is not None:
        read.end()
