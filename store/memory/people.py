"""People in rows: their names, preferences and profiles, and what learning has yet to read.

Rules
  Rows of people and conversations are made with the first message that names them.
  A profile is written only over the revision that the writer has read; forgetting makes a new revision as well. So what
  was forgotten meanwhile is never restored, and of two concurrent learners one starts again.
  A message is learned from once: its mark is removed in the transaction that writes the profile. What was learned from
  a text that was edited meanwhile, or in a place whose audience has changed, is not stored.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cache
from typing import Any, Final

import sqlalchemy as sa

from agent.admission_terms import Authority
from agent.memory.audience import label
from agent.memory.profile import LEARNING, Partition, ProfileEntry, ProfileField, UserProfile, Utterance, for_place
from agent.memory.writing import NewFact
from agent.records import Author, Claim, Incoming, Known, Person
from agent.state import LastActions
from store import conversations, job_queue, sharing, summaries, working_sets
from store.databases.database import SqlStore, in_order, reads, row_id, writes
from store.erased_ids import erased
from store.memory import fact_store
from store.memory_tables import profile, profile_entry, profile_source
from store.message_tables import conversation, message, participant, person
from store.search import index
from store.turn_tables import turn


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
    shares: bool = False
    """Whether the person's messages in the channel are shared with its team (`agent.memory.documents.SHARING`)."""


def known_participant(connection: sa.Connection, incoming: Incoming, hashes: tuple[str, ...]) -> KnownParticipant:
    """Read all of it with one statement, because each costs a round trip to the server while a user waits."""
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
    found = connection.execute(_known_participant(), values).all()
    row = found[0]
    return KnownParticipant(
        turn=row.by_post if row.by_event is None else row.by_event,
        forgotten=bool(row.forgotten),
        number=row.number,
        person=Person(incoming.person.id, row.name or "", row.time_zone or ""),
        audience=row.audience,
        latest=row.latest,
        readers={reader_row.reader: reader_row.reader_number for reader_row in found if reader_row.reader is not None},
        shares=bool(row.shares),
    )


@cache
def _known_participant() -> sa.Select[*tuple[Any, ...]]:
    """Built once, because building it takes longer than running it."""
    asker, reader = person.alias("asker"), person.alias("reader")
    by_event = sa.select(turn.c.id).where(
        turn.c.source == sa.bindparam("source"), turn.c.event_id == sa.bindparam("event_id")
    )
    by_post = sa.select(turn.c.id).where(
        turn.c.channel == sa.bindparam("channel"), turn.c.message_id == sa.bindparam("message_id")
    )
    latest = (
        sa.select(message.c.time)
        .where(message.c.conversation == sa.bindparam("conversation"), message.c.author == Author.PERSON)
        .order_by(message.c.turn.desc())
        .limit(1)
    )
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
        sa.exists().where(erased.c.hash.in_(sa.bindparam("hashes", expanding=True))).label("forgotten"),
        asker.c.number,
        asker.c.name,
        asker.c.time_zone,
        conversation.c.audience,
        latest.scalar_subquery().label("latest"),
        sharing.shares(sa.bindparam("shared"), sa.bindparam("person")).label("shares"),
        reader.c.id.label("reader"),
        reader.c.number.label("reader_number"),
    ).select_from(known)


def upsert_participant(
    connection: sa.Connection, incoming: Incoming, audience: str, known: KnownParticipant
) -> list[int]:
    """Store changes of the person and the conversation, and make it one of the person's threads.

    Returns the numbers of all who may find the message, which are all who wrote in the conversation, the person first.
    """
    number = known.number
    if number is None:
        number = add_person(connection, incoming.person)
    elif known.person != incoming.person:
        who = incoming.person
        changed = sa.update(person).where(person.c.number == number)
        connection.execute(changed.values(name=who.name, time_zone=who.time_zone))
    if known.audience is None:
        connection.execute(sa.insert(conversation).values(id=incoming.conversation, audience=audience, summary="{}"))
    elif known.audience != audience:  # the summary was made for other readers
        moved = sa.update(conversation).where(conversation.c.id == incoming.conversation)
        connection.execute(moved.values(audience=audience, summary="{}"))
    if incoming.person.id not in known.readers:
        connection.execute(sa.insert(participant).values(conversation=incoming.conversation, person=incoming.person.id))
        index.add_thread(connection, incoming.conversation, incoming.person.id, number)
    return [number, *(other for other in known.readers.values() if other != number)]


def add_person(connection: sa.Connection, who: Person) -> int:
    return row_id(connection.execute(sa.insert(person).values(id=who.id, name=who.name, time_zone=who.time_zone)))


def number_of(connection: sa.Connection, person_id: str) -> int | None:
    return connection.execute(sa.select(person.c.number).where(person.c.id == person_id)).scalar_one_or_none()


# Profiles.


def profile_of(connection: sa.Connection, partition: Partition) -> UserProfile:
    same = sa.and_(profile.c.person == partition.person, profile.c.audience == partition.audience)
    row = connection.execute(sa.select(profile).where(same)).mappings().one_or_none()
    if row is None:
        return UserProfile(partition.person)
    return UserProfile(
        user_id=partition.person,
        entries=_entries(connection, partition.person, frozenset({partition.audience})),
        created_at=row["created"],
        last_updated=row["updated"],
        interaction_count=row["interaction_count"],
        synthesised_count=row["synthesised_count"],
        synthesis_version=row["synthesis_version"],
        revision=row["revision"],
    )


def readable(connection: sa.Connection, person: str, audiences: frozenset[str]) -> UserProfile:
    return for_place(UserProfile(person, tuple(known_entries(connection, person, audiences))), audiences)


def known_entries(connection: sa.Connection, person: str, audiences: frozenset[str]) -> list[ProfileEntry]:
    found = _entries(connection, person, audiences, everywhere=True)
    newest = {entry.id: max(entry.sources) for entry in found if entry.sources}
    linked = sa.select(message.c.id, message.c.permalink).where(message.c.id.in_(sorted(newest.values())))
    links = {row.id: row.permalink for row in connection.execute(linked)} if newest else {}
    return [replace(entry_, permalink=links.get(newest.get(entry_.id, 0))) for entry_ in found]


def unlearned(connection: sa.Connection, partition: Partition, limit: int) -> list[Utterance]:
    of_partition = sa.and_(message.c.person == partition.person, message.c.audience == partition.audience)
    columns = (message.c.id, message.c.text, message.c.time, message.c.conversation)
    waiting = sa.select(*columns).where(of_partition, message.c.to_learn).order_by(message.c.id).limit(limit)
    return [Utterance(*row) for row in connection.execute(waiting)]


def save(
    connection: sa.Connection,
    partition: Partition,
    profile: UserProfile,
    learned: Sequence[Utterance] = (),
    stated: Sequence[NewFact] = (),
) -> bool:
    in_order(connection, partition.person)
    if not (_all_wait(connection, partition, learned) and _next_revision(connection, partition, profile)):
        return False
    before = {entry.id: entry for entry in _entries(connection, partition.person, frozenset({partition.audience}))}
    remove_entries(connection, frozenset(before) - {entry.id for entry in profile.entries})
    for entry in profile.entries:
        if entry.id not in before:
            _add(connection, partition, entry)
        elif entry != before[entry.id]:
            _change(connection, entry)
    ids = [item.id for item in learned]
    connection.execute(sa.update(message).where(message.c.id.in_(ids)).values(to_learn=False))
    for new in stated:
        fact_store.write(connection, new)
    return True


def skip_learning(connection: sa.Connection, person: str | None = None, channel: str | None = None) -> int:
    of_person = sa.true() if person is None else message.c.person == person
    in_channel = sa.true() if channel is None else message.c.channel == channel
    waiting = sa.update(message).where(message.c.to_learn, of_person, in_channel)
    return connection.execute(waiting.values(to_learn=False, passed_over=True)).rowcount


class SqlProfiles(SqlStore):
    get = reads(profile_of)
    readable = reads(readable)
    all_entries = reads(known_entries)
    unlearned = reads(unlearned)
    save = writes(save)
    skip_learning = writes(skip_learning)


def remove_entries(connection: sa.Connection, entries: frozenset[int]) -> int:
    """Delete these entries, with the rows of their sources; returns how many there were."""
    connection.execute(sa.delete(profile_source).where(profile_source.c.entry.in_(entries)))
    return connection.execute(sa.delete(profile_entry).where(profile_entry.c.id.in_(entries))).rowcount


# The columns that an entry stores under its own names, besides its id, field and audience.
_COLUMNS: Final = ("key", "text", "time", "confidence", "everywhere")
_IN_AUDIENCES: Final = profile_entry.c.audience.in_(sa.bindparam("audiences", expanding=True))
_OPEN: Final = sa.or_(_IN_AUDIENCES, sa.and_(profile_entry.c.everywhere, sa.bindparam("everywhere", type_=sa.Boolean)))
_USABLE: Final = sa.and_(profile_entry.c.person == sa.bindparam("whose"), _OPEN)
_ENTRIES: Final = sa.select(profile_entry).where(_USABLE).order_by(profile_entry.c.time, profile_entry.c.id)
_SOURCES: Final = (
    sa.select(profile_source.c.entry, profile_source.c.message)
    .join(profile_entry)
    .where(_USABLE)
    .order_by(profile_source.c.message)
)


def _entries(
    connection: sa.Connection, person_id: str, audiences: frozenset[str], *, everywhere: bool = False
) -> tuple[ProfileEntry, ...]:
    """The person's entries of these audiences; with `everywhere` also those that the person allowed in all replies."""
    parameters = {"whose": person_id, "audiences": sorted(audiences), "everywhere": everywhere}
    found = connection.execute(_ENTRIES, parameters).mappings().all()
    if not found:
        return ()
    sources: dict[int, list[int]] = {}
    for entry, source in connection.execute(_SOURCES, parameters):
        sources.setdefault(entry, []).append(source)
    names = ("id", "audience", *_COLUMNS)
    return tuple(
        ProfileEntry(
            field=ProfileField(row["field"]),
            sources=tuple(sources.get(row["id"], ())),
            **{name: row[name] for name in names},
        )
        for row in found
    )


def _all_wait(connection: sa.Connection, partition: Partition, learned: Sequence[Utterance]) -> bool:
    if not learned:
        return True
    of_partition = sa.and_(message.c.person == partition.person, message.c.audience == partition.audience)
    given = message.c.id.in_([item.id for item in learned])
    waiting = sa.select(message.c.id, message.c.text).where(of_partition, given, message.c.to_learn)
    return {(item.id, item.text) for item in learned} <= {(id_, text) for id_, text in connection.execute(waiting)}


def _next_revision(connection: sa.Connection, partition: Partition, updated: UserProfile) -> bool:
    """Write the counters; False if the profile was not made from the newest revision."""
    values = {
        "created": updated.created_at,
        "updated": updated.last_updated,
        "interaction_count": updated.interaction_count,
        "synthesised_count": updated.synthesised_count,
        "synthesis_version": updated.synthesis_version,
        "revision": updated.revision + 1,
    }
    same = sa.and_(profile.c.person == partition.person, profile.c.audience == partition.audience)
    unchanged = sa.and_(same, profile.c.revision == updated.revision)
    if connection.execute(sa.update(profile).where(unchanged).values(values)).rowcount:
        return True
    is_new = updated.revision == 0 and connection.execute(sa.select(profile.c.person).where(same)).first() is None
    known = connection.execute(sa.select(person.c.id).where(person.c.id == partition.person)).first() is not None
    if is_new and known:
        connection.execute(sa.insert(profile).values(person=partition.person, audience=partition.audience, **values))
    return is_new and known


def _add(connection: sa.Connection, partition: Partition, entry: ProfileEntry) -> None:
    columns = {"person": partition.person, "audience": partition.audience}
    added = row_id(connection.execute(sa.insert(profile_entry).values(**columns, **_columns(entry))))
    _add_sources(connection, added, entry)


def _change(connection: sa.Connection, entry: ProfileEntry) -> None:
    connection.execute(sa.update(profile_entry).where(profile_entry.c.id == entry.id).values(_columns(entry)))
    connection.execute(sa.delete(profile_source).where(profile_source.c.entry == entry.id))
    _add_sources(connection, entry.id, entry)


def _columns(entry: ProfileEntry) -> dict[str, object]:
    return {"field": entry.field, **{name: getattr(entry, name) for name in _COLUMNS}}


def _add_sources(connection: sa.Connection, entry_id: int, entry: ProfileEntry) -> None:
    rows = [{"entry": entry_id, "message": source} for source in entry.sources]
    if rows:
        connection.execute(sa.insert(profile_source), rows)


# Messages to learn from are marked, and given a job, in the transaction that ends a turn, so that none is lost.
#
# Rule: a partition (person and audience) has one job. A newer message postpones it, so that waiting messages are
# learned from together; but a partition with ENOUGH messages waits no longer.

ENOUGH: Final = 20  # The number of messages that are worth a model call, even while the person is still writing

_THEIRS: Final = sa.and_(message.c.person == sa.bindparam("learner"), message.c.audience == sa.bindparam("there"))
_TO_LEARN: Final = sa.update(message).where(_THEIRS, ~message.c.passed_over).values(to_learn=True)
_LEARNS: Final = sa.select(sa.func.count()).select_from(message).where(_THEIRS, message.c.to_learn)


def queue_for_learning(connection: sa.Connection, claim: Claim, at: datetime, now: datetime) -> None:
    """Schedule learning from the messages of the claimed turn, not before `at`, unless enough of them wait."""
    partition = Partition(claim.incoming.person.id, label(claim.incoming.place.audience))
    asked = sa.and_(message.c.turn == claim.turn, message.c.author == Author.PERSON)
    schedule_learning(connection, partition, asked, at, now, claim.incoming.authority)


def exempt_from_learning(connection: sa.Connection, claim: Claim) -> None:
    """Exclude the messages of the claimed turn from learning."""
    asked = sa.and_(message.c.turn == claim.turn, message.c.author == Author.PERSON)
    connection.execute(sa.update(message).where(asked).values(passed_over=True))


def schedule_learning(
    connection: sa.Connection,
    partition: Partition,
    condition: sa.ColumnElement[bool],
    at: datetime,
    now: datetime,
    authority: Authority = Authority.EMPLOYEE,
) -> None:
    """Schedule learning from messages of a partition that are not excluded. `authority`: of the person."""
    parameters = {"learner": partition.person, "there": partition.audience}
    connection.execute(_TO_LEARN.where(condition), parameters)
    run_at = now if connection.execute(_LEARNS, parameters).scalar_one() >= ENOUGH else at
    values = {"payload": str(int(authority)), "run_at": run_at, "person": partition.person, "conversation": ""}
    job_queue.schedule(connection, LEARNING, partition.key, values)


# The context of a new turn, read at once.
#
# Rule: one transaction for all of it. It is one snapshot, so that what is forgotten meanwhile is in all parts or in
# none; and a user waits, for whom each further transaction costs more than a statement.


def known_for_turn(
    connection: sa.Connection,
    incoming: Incoming,
    audiences: frozenset[str],
    before_turn: int,
    messages: int,
    actions: int,
) -> Known:
    thread, person = incoming.conversation, incoming.person.id
    past = conversations.history(connection, thread, before_turn, messages)
    summary, covered = summaries.summary(connection, thread)
    last_actions = LastActions()
    if past and summary.is_empty:
        last_actions = conversations.last_actions(connection, thread, person, audiences, before_turn, actions)
    return Known(
        past,
        summary,
        last_actions,
        fact_store.relevant(connection, person, audiences, incoming.text, thread, [item.id for item in past]),
        readable(connection, person, audiences),
        conversations.wrote_elsewhere(connection, person, thread),
        working_sets.working_items(connection, thread, audiences, incoming.time),
        covered,
        sharing.something_shared(connection, audiences),
        conversations.reminded(connection, incoming, audiences),
    )


class SqlKnowledge(SqlStore):
    for_turn = reads(known_for_turn)
