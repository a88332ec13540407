"""People and conversations come into being with the first message that names them.

Above: ledger, memories. Below: `store.tables`, `store.index`.
"""

from sqlalchemy import Connection, insert, select, update

from agent.records import Person
from store import index
from store.tables import conversation, participant, person


def meet(connection: Connection, who: Person) -> int:
    """Store the person, or their new name or time zone; return their number."""
    known = connection.execute(
        select(person.c.number, person.c.name, person.c.time_zone).where(person.c.id == who.id)
    ).one_or_none()
    if known is None:
        added = insert(person).values(id=who.id, name=who.name, time_zone=who.time_zone)
        return connection.execute(added.returning(person.c.number)).scalar_one()
    number, name, time_zone = known
    if (name, time_zone) != (who.name, who.time_zone):
        changed = update(person).where(person.c.id == who.id)
        connection.execute(changed.values(name=who.name, time_zone=who.time_zone))
    return number


def number_of(connection: Connection, person_id: str) -> int | None:
    return connection.execute(select(person.c.number).where(person.c.id == person_id)).scalar_one_or_none()


def open_conversation(connection: Connection, conversation_id: str, audience: str) -> None:
    """Store the conversation. If its readers have changed, its summary starts anew: it was made for the others."""
    known = connection.execute(
        select(conversation.c.audience).where(conversation.c.id == conversation_id)
    ).scalar_one_or_none()
    if known is None:
        connection.execute(insert(conversation).values(id=conversation_id, audience=audience, summary="{}"))
    elif known != audience:
        changed = update(conversation).where(conversation.c.id == conversation_id)
        connection.execute(changed.values(audience=audience, summary="{}"))


def join(connection: Connection, conversation_id: str, who: str, number: int) -> list[int]:
    """Make it one of the person's threads; return the numbers of everybody who wrote there, this person included."""
    joined = index.numbers(connection, conversation_id)
    if who not in joined:
        connection.execute(insert(participant).values(conversation=conversation_id, person=who))
        index.add_thread(connection, conversation_id, number)
        joined[who] = number
    return list(joined.values())
