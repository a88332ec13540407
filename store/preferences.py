"""Preferences of people and channels, by name."""

from typing import Final

import sqlalchemy as sa
from sqlmodel import Field

from store.databases.database import SqlStore, StorableText, in_order, reads_one, writes
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


class SqlPreferences(SqlStore):
    all_of = reads_one(chosen)
    all_named = reads_one(named)
    set = writes(choose)
    swap = writes(swap)
