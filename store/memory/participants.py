"""The people who write in conversations: their names and numbers.

Rule: rows of people and conversations are made with the first message that names them.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from typing import Any, Final

import sqlalchemy as sa

from agent.incoming import Incoming, Person
from agent.stored_messages import Author
from store import sharing
from store.databases.database import StorableText, row_id
from store.erased_ids import erased
from store.message_tables import conversation, message, participant, person
from store.search import index
from store.turn_tables import turn

# Of a message: `store.erased_ids.ErasedIds.of_message`. (An expanding parameter would be expanded each time.)
_HASHES: Final = ("event_hash", "post_hash", "earlier_post_hash")


@dataclass(frozen=True, slots=True)
class KnownParticipant:
    """What the store knows of an incoming message, its person and its conversation.

    `turn`: the turn of the message, if it was accepted before. `latest`: the time of the conversation's latest
    question. `readers`: the numbers of the people who wrote there.
    """

    turn: int | None
    forgotten: bool
    number: int | None
    person: Person
    audience: str | None
    latest: datetime | None
    readers: Mapping[str, int]
    has_aside: bool = False
    """Whether a turn of the conversation is put aside, so that a message may be what it waits for."""
    shares: bool = False
    """Whether the person's messages in the channel are shared with its team (`agent.memory.documents.SHARING`)."""


def known_participant(connection: sa.Connection, incoming: Incoming, hashes: tuple[str, ...]) -> KnownParticipant:
    """Read all of it with one statement, because each costs a round trip to the server while a user waits."""
    return known_in(incoming, connection.execute(known_query(), known_values(incoming, hashes)).all())


def known_values(incoming: Incoming, hashes: tuple[str, ...]) -> dict[str, object]:
    """The parameters of `known_query`."""
    return {
        "source": incoming.source,
        "event_id": incoming.event_id,
        "channel": incoming.channel,
        "message_id": incoming.message_id,
        "conversation": incoming.conversation,
        "person": incoming.person.id,
        "shared": f"channel:{incoming.channel}",
        **dict(zip(_HASHES, hashes, strict=True)),
    }


def known_in(incoming: Incoming, found: Sequence[sa.Row[Any]]) -> KnownParticipant:
    """What the rows of `known_query` say."""
    row = found[0]
    return KnownParticipant(
        turn=row.by_post if row.by_event is None else row.by_event,
        forgotten=bool(row.forgotten),
        number=row.number,
        person=Person(incoming.person.id, row.name or "", row.time_zone or ""),
        audience=row.audience,
        latest=row.latest,
        readers={reader_row.reader: reader_row.reader_number for reader_row in found if reader_row.reader is not None},
        has_aside=bool(row.has_aside),
        shares=bool(row.shares),
    )


@cache
def known_query() -> sa.Select[*tuple[Any, ...]]:
    """One row for each person who wrote in the conversation, at least one. Built once, because building it takes longer
    than running it.
    """
    asker, reader = person.alias("asker"), person.alias("reader")
    by_event = sa.select(turn.c.id).where(
        turn.c.source == sa.bindparam("source"), turn.c.event_id == sa.bindparam("event_id")
    )
    by_post = sa.select(turn.c.id).where(
        turn.c.source == sa.bindparam("source"),
        turn.c.channel == sa.bindparam("channel"),
        turn.c.message_id == sa.bindparam("message_id"),
    )
    latest = (
        sa.select(message.c.time)
        .where(message.c.conversation == sa.bindparam("conversation"), message.c.author == Author.PERSON)
        .order_by(message.c.turn.desc())
        .limit(1)
    )
    aside = sa.exists().where(
        turn.c.conversation == sa.bindparam("conversation"),
        sa.text("turn.state = 'waiting'"),  # a literal: a partial index finds them
        turn.c.run_at.is_not(None),
    )
    hashes = [sa.bindparam(name, type_=StorableText) for name in _HASHES]
    once = sa.select(sa.literal(1).label("once")).subquery()
    known = (
        once.outerjoin(conversation, conversation.c.id == sa.bindparam("conversation"))
        .outerjoin(asker, asker.c.id == sa.bindparam("person"))
        .outerjoin(participant, participant.c.conversation == sa.bindparam("conversation"))
        .outerjoin(reader, reader.c.id == participant.c.person)
    )
    return sa.select(
        by_event.scalar_subquery().label("by_event"),
        by_post.scalar_subquery().label("by_post"),
        sa.exists().where(erased.c.hash.in_(hashes)).label("forgotten"),
        asker.c.number,
        asker.c.name,
        asker.c.time_zone,
        conversation.c.audience,
        latest.scalar_subquery().label("latest"),
        aside.label("has_aside"),
        sharing.shares(sa.bindparam("shared"), sa.bindparam("person")).label("shares"),
        reader.c.id.label("reader"),
        reader.c.number.label("reader_number"),
    ).select_from(known)


_ADD_PERSON: Final = sa.insert(person)
_ADD_CONVERSATION: Final = sa.insert(conversation)
_ADD_PARTICIPANT: Final = sa.insert(participant)


def upsert_participant(
    connection: sa.Connection, incoming: Incoming, audience: str, known: KnownParticipant
) -> list[int]:
    """Store changes of the person and the conversation, and make it one of the person's threads.

    Returns the numbers of all who may find the message, which are all who wrote in the conversation, the person first.
    """
    number, who = known.number, incoming.person
    if number is None:
        added = {"id": who.id, "name": who.name, "time_zone": who.time_zone}
        number = row_id(connection.execute(_ADD_PERSON, added))
    elif known.person != who:
        changed = sa.update(person).where(person.c.number == number)
        connection.execute(changed.values(name=who.name, time_zone=who.time_zone))
    if known.audience is None:
        added = {"id": incoming.conversation, "audience": audience, "summary": "{}"}
        connection.execute(_ADD_CONVERSATION, added)
    elif known.audience != audience:  # the summary was made for other readers
        moved = sa.update(conversation).where(conversation.c.id == incoming.conversation)
        connection.execute(moved.values(audience=audience, summary="{}"))
    if who.id not in known.readers:
        connection.execute(_ADD_PARTICIPANT, {"conversation": incoming.conversation, "person": who.id})
        if known.audience is not None:  # else it is new and has no messages
            index.add_thread(connection, incoming.conversation, who.id, number)
    return [number, *(other for other in known.readers.values() if other != number)]


def number_of(connection: sa.Connection, person_id: str) -> int | None:
    return connection.execute(sa.select(person.c.number).where(person.c.id == person_id)).scalar_one_or_none()
