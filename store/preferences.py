"""What people chose, by name.

Above: `store.engine` bundles it. Below: `store.databases.database`, tables.
"""

from sqlalchemy import Connection, and_, delete, insert, select, update

from store.databases.database import Database, in_order
from store.tables import preference


class SqlPreferences:
    """The port Preferences on a database."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def of(self, owner: str) -> dict[str, str]:
        return await self._database.read(chosen, owner)

    async def set(self, owner: str, name: str, value: str | None) -> None:
        await self._database.write(choose, owner, name, value)

    async def swap(self, owner: str, name: str, before: str | None, after: str) -> bool:
        return await self._database.write(swap, owner, name, before, after)


def chosen(connection: Connection, owner: str) -> dict[str, str]:
    kept = select(preference.c.name, preference.c.value).where(preference.c.owner == owner)
    return {row.name: row.value for row in connection.execute(kept.order_by(preference.c.name))}


def choose(connection: Connection, owner: str, name: str, value: str | None) -> None:
    this = and_(preference.c.owner == owner, preference.c.name == name)
    if value is None:
        connection.execute(delete(preference).where(this))
    elif connection.execute(update(preference).where(this).values(value=value)).rowcount == 0:
        connection.execute(insert(preference).values(owner=owner, name=name, value=value))


def swap(connection: Connection, owner: str, name: str, before: str | None, after: str) -> bool:
    in_order(connection, f"{owner} {name}")
    as_before = chosen(connection, owner).get(name) == before
    if as_before:
        choose(connection, owner, name, after)
    return as_before
