"""What people asked to be remembered, and the search of their past threads.

Above: `store.engine` bundles it. Below: `store.databases.database`, search, people, rows, tables.
"""

from datetime import datetime

from sqlalchemy import Connection, Select, insert, select

from agent.errors import StoreError
from agent.records import Hit, Note, Person, RecallQuery
from store import rows
from store.columns import storable
from store.databases.database import Database, new_id
from store.memory import people
from store.search.search import search
from store.tables import message, note


class SqlMemories:
    """The port Memories on a database."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def remember(
        self, person: str, text: str, audience: str, now: datetime, source_message: int | None = None
    ) -> Note:
        """See the port. A note that is kept already is returned as it was: its first source stands.

        Raises StoreError if the message that it comes from was forgotten meanwhile.
        """
        kept = Note(0, person, storable(text), audience, now, source_message)
        return await self._database.write(remember, kept)

    async def notes(self, person: str, audiences: frozenset[str]) -> list[Note]:
        return await self._database.read(notes, person, audiences)

    async def search(self, query: RecallQuery) -> list[Hit]:
        return await self._database.read(search, query)


def remember(connection: Connection, kept: Note) -> Note:
    if kept.source_message is not None and not _stands(connection, kept.source_message):
        raise StoreError("What this note comes from was forgotten meanwhile, so it is not kept.")
    same = (note.c.person == kept.person, note.c.audience == kept.audience, note.c.text == kept.text)
    stored = connection.execute(_notes().where(*same).limit(1)).mappings().one_or_none()
    if stored is None:
        if people.number_of(connection, kept.person) is None:
            people.add_person(connection, Person(kept.person, ""))
        added = insert(note).values(
            person=kept.person,
            text=kept.text,
            audience=kept.audience,
            time=kept.time,
            source_message=kept.source_message,
        )
        mine = note.c.id == new_id(connection, added)
        stored = connection.execute(_notes().where(mine)).mappings().one()
    return rows.note(stored)


def notes(connection: Connection, person_id: str, audiences: frozenset[str]) -> list[Note]:
    usable = _notes().where(note.c.person == person_id, note.c.audience.in_(sorted(audiences)))
    return [rows.note(row) for row in connection.execute(usable.order_by(note.c.id)).mappings()]


def _stands(connection: Connection, message_id: int) -> bool:
    return connection.execute(select(message.c.id).where(message.c.id == message_id)).first() is not None


def _notes() -> Select[tuple[object, ...]]:
    """Notes with the link to the message they came from, for `rows.note`."""
    return select(note, message.c.permalink).outerjoin_from(note, message, message.c.id == note.c.source_message)
