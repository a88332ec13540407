"""People and conversations come into being with the first message that names them."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from typing import Any

from sqlalchemy import (
    Connection,
    Select,
    and_,
    bindparam,
    delete,
    exists,
    insert,
    literal,
    select,
    update,
)

from agent.records import Author, Incoming, Person
from store import history
from store.databases.database import SqlStore, in_order, reads, row_id, writes
from store.search import index
from store.tables import conversation, erased, message, participant, person, preference, turn


@dataclass(frozen=True, slots=True)
class KnownParticipant:
    """What the store knows of an incoming message, its person and its conversation.

    `turn`: the turn that took it in, if one did. `latest`: the time of the latest question of the conversation.
    `readers`: the numbers of those who wrote there.
    """

    turn: int | None
    forgotten: bool
    number: int | None
    person: Person
    audience: str | None
    latest: datetime | None
    readers: Mapping[str, int]
    shares: bool = False
    """What the person says in the channel is shared, where its team reads it (`agent.memory.documents.SHARING`)."""


def standing(connection: Connection, incoming: Incoming, hashes: tuple[str, ...]) -> KnownParticipant:
    """One question for all of it: every statement costs a round trip to the server, and somebody is waiting."""
    values = {
        "source": incoming.source,
        "event_id": incoming.event_id,
        "channel": incoming.channel,
        "message_id": incoming.message_id,
        "conversation": incoming.conversation,
        "person": incoming.person.id,
        "hashes": hashes,
        "shared": f"channel:{incoming.channel}",
    }
    found = connection.execute(_standing(), values).all()
    row = found[0]
    return KnownParticipant(
        turn=row.by_post if row.by_event is None else row.by_event,
        forgotten=bool(row.forgotten),
        number=row.number,
        person=Person(incoming.person.id, row.name or "", row.time_zone or ""),
        audience=row.audience,
        latest=row.latest,
        readers={one.reader: one.reader_number for one in found if one.reader is not None},
        shares=bool(row.shares),
    )


@cache
def _standing() -> Select[*tuple[Any, ...]]:
    """Made once: making it takes longer than running it."""
    asker, reader = person.alias("asker"), person.alias("reader")
    by_event = select(turn.c.id).where(turn.c.source == bindparam("source"), turn.c.event_id == bindparam("event_id"))
    by_post = select(turn.c.id).where(
        turn.c.channel == bindparam("channel"), turn.c.message_id == bindparam("message_id")
    )
    latest = (
        select(message.c.time)
        .where(message.c.conversation == bindparam("conversation"), message.c.author == Author.PERSON)
        .order_by(message.c.turn.desc())
        .limit(1)
    )
    once = select(literal(1).label("once")).subquery()
    known = (
        once.outerjoin(conversation, conversation.c.id == bindparam("conversation"))
        .outerjoin(asker, asker.c.id == bindparam("person"))
        .outerjoin(participant, participant.c.conversation == bindparam("conversation"))
        .outerjoin(reader, reader.c.id == participant.c.person)
    )
    return select(
        by_event.scalar_subquery().label("by_event"),
        by_post.scalar_subquery().label("by_post"),
        exists().where(erased.c.hash.in_(bindparam("hashes", expanding=True))).label("forgotten"),
        asker.c.number,
        asker.c.name,
        asker.c.time_zone,
        conversation.c.audience,
        latest.scalar_subquery().label("latest"),
        history.shares(bindparam("shared"), bindparam("person")).label("shares"),
        reader.c.id.label("reader"),
        reader.c.number.label("reader_number"),
    ).select_from(known)


def upsert_participant(connection: Connection, incoming: Incoming, audience: str, known: KnownParticipant) -> list[int]:
    """Store what is new about person and conversation, and make it one of the person's threads.

    Returns the numbers of everybody who may find the message, the person's first: all who wrote in the conversation.
    """
    number = known.number
    if number is None:
        number = add_person(connection, incoming.person)
    elif known.person != incoming.person:
        who = incoming.person
        changed = update(person).where(person.c.number == number)
        connection.execute(changed.values(name=who.name, time_zone=who.time_zone))
    if known.audience is None:
        connection.execute(insert(conversation).values(id=incoming.conversation, audience=audience, summary="{}"))
    elif known.audience != audience:  # other readers: the summary was made for those before
        moved = update(conversation).where(conversation.c.id == incoming.conversation)
        connection.execute(moved.values(audience=audience, summary="{}"))
    if incoming.person.id not in known.readers:
        connection.execute(insert(participant).values(conversation=incoming.conversation, person=incoming.person.id))
        index.add_thread(connection, incoming.conversation, incoming.person.id, number)
    return [number, *(other for other in known.readers.values() if other != number)]


def add_person(connection: Connection, who: Person) -> int:
    return row_id(connection.execute(insert(person).values(id=who.id, name=who.name, time_zone=who.time_zone)))


def number_of(connection: Connection, person_id: str) -> int | None:
    return connection.execute(select(person.c.number).where(person.c.id == person_id)).scalar_one_or_none()


# What people chose, by name.


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


class SqlPreferences(SqlStore):
    of = reads(chosen)
    set = writes(choose)
    swap = writes(swap)
