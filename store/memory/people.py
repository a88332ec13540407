"""People: who they are, what they chose, and what is known of them, in rows.

Rules
  People and conversations come into being with the first message that names them.
  A profile is written by whoever read its newest revision, or not at all; forgetting makes a new revision, too. So what
  was forgotten meanwhile never comes back, and of two who learn at once one begins anew.
  A message is learned from once: with the profile it loses its mark, in the same transaction. What was learned from
  words that were edited meanwhile, or of a place that has become another one, is not kept.
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
from store import history, job_queue
from store.databases.database import SqlStore, in_order, reads, row_id, writes
from store.memory import fact_store
from store.search import index
from store.tables import (
    conversation,
    erased,
    message,
    participant,
    person,
    preference,
    profile,
    profile_entry,
    profile_source,
    turn,
)


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


def standing(connection: sa.Connection, incoming: Incoming, hashes: tuple[str, ...]) -> KnownParticipant:
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
def _standing() -> sa.Select[*tuple[Any, ...]]:
    """Made once: making it takes longer than running it."""
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
        history.shares(sa.bindparam("shared"), sa.bindparam("person")).label("shares"),
        reader.c.id.label("reader"),
        reader.c.number.label("reader_number"),
    ).select_from(known)


def upsert_participant(
    connection: sa.Connection, incoming: Incoming, audience: str, known: KnownParticipant
) -> list[int]:
    """Store what is new about person and conversation, and make it one of the person's threads.

    Returns the numbers of everybody who may find the message, the person's first: all who wrote in the conversation.
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
    elif known.audience != audience:  # other readers: the summary was made for those before
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


# What people chose, by name.


def chosen(connection: sa.Connection, owner: str) -> dict[str, str]:
    kept = sa.select(preference.c.name, preference.c.value).where(preference.c.owner == owner)
    return {row.name: row.value for row in connection.execute(kept.order_by(preference.c.name))}


def choose(connection: sa.Connection, owner: str, name: str, value: str | None) -> None:
    this = sa.and_(preference.c.owner == owner, preference.c.name == name)
    if value is None:
        connection.execute(sa.delete(preference).where(this))
    elif connection.execute(sa.update(preference).where(this).values(value=value)).rowcount == 0:
        connection.execute(sa.insert(preference).values(owner=owner, name=name, value=value))


def swap(connection: sa.Connection, owner: str, name: str, before: str | None, after: str) -> bool:
    in_order(connection, f"{owner} {name}")
    as_before = chosen(connection, owner).get(name) == before
    if as_before:
        choose(connection, owner, name, after)
    return as_before


class SqlPreferences(SqlStore):
    of = reads(chosen)
    set = writes(choose)
    swap = writes(swap)


# What is known of people, and read at once for a turn.


def profile_of(connection: sa.Connection, partition: Partition) -> UserProfile:
    this = sa.and_(profile.c.person == partition.person, profile.c.audience == partition.audience)
    kept = connection.execute(sa.select(profile).where(this)).mappings().one_or_none()
    if kept is None:
        return UserProfile(partition.person)
    return UserProfile(
        user_id=partition.person,
        entries=_entries(connection, partition.person, frozenset({partition.audience})),
        created_at=kept["created"],
        last_updated=kept["updated"],
        interaction_count=kept["interaction_count"],
        synthesised_count=kept["synthesised_count"],
        synthesis_version=kept["synthesis_version"],
        revision=kept["revision"],
    )


def readable(connection: sa.Connection, person: str, audiences: frozenset[str]) -> UserProfile:
    return for_place(UserProfile(person, tuple(known_entries(connection, person, audiences))), audiences)


def known_entries(connection: sa.Connection, person: str, audiences: frozenset[str]) -> list[ProfileEntry]:
    found = _entries(connection, person, audiences, everywhere=True)
    newest = {entry.id: max(entry.sources) for entry in found if entry.sources}
    linked = sa.select(message.c.id, message.c.permalink).where(message.c.id.in_(sorted(newest.values())))
    links = {row.id: row.permalink for row in connection.execute(linked)} if newest else {}
    return [replace(one, permalink=links.get(newest.get(one.id, 0))) for one in found]


def unlearned(connection: sa.Connection, partition: Partition, limit: int) -> list[Utterance]:
    theirs = sa.and_(message.c.person == partition.person, message.c.audience == partition.audience)
    columns = (message.c.id, message.c.text, message.c.time, message.c.conversation)
    waiting = sa.select(*columns).where(theirs, message.c.to_learn).order_by(message.c.id).limit(limit)
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
    taught = [one.id for one in learned]
    connection.execute(sa.update(message).where(message.c.id.in_(taught)).values(to_learn=False))
    for new in stated:
        fact_store.write(connection, new)
    return True


def skip_learning(connection: sa.Connection, person: str | None = None, channel: str | None = None) -> int:
    theirs = sa.true() if person is None else message.c.person == person
    there = sa.true() if channel is None else message.c.channel == channel
    waiting = sa.update(message).where(message.c.to_learn, theirs, there)
    return connection.execute(waiting.values(to_learn=False, passed_over=True)).rowcount


class SqlProfiles(SqlStore):
    of = reads(profile_of)
    readable = reads(readable)
    known = reads(known_entries)
    unlearned = reads(unlearned)
    save = writes(save)
    skip_learning = writes(skip_learning)


def remove_entries(connection: sa.Connection, entries: frozenset[int]) -> int:
    """Take these entries out, with the names of their sources; how many there were."""
    connection.execute(sa.delete(profile_source).where(profile_source.c.entry.in_(entries)))
    return connection.execute(sa.delete(profile_entry).where(profile_entry.c.id.in_(entries))).rowcount


# What an entry and its row have in common, besides its field and where it stands.
_SAYS: Final = ("key", "text", "time", "confidence", "everywhere")
_SAID_THERE: Final = profile_entry.c.audience.in_(sa.bindparam("audiences", expanding=True))
_OPEN: Final = sa.or_(_SAID_THERE, sa.and_(profile_entry.c.everywhere, sa.bindparam("everywhere", type_=sa.Boolean)))
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
    """The person's entries of these audiences; with `everywhere` also those that they opened to all replies to them."""
    which = {"whose": person_id, "audiences": sorted(audiences), "everywhere": everywhere}
    found = connection.execute(_ENTRIES, which).mappings().all()
    if not found:
        return ()
    sources: dict[int, list[int]] = {}
    for entry, source in connection.execute(_SOURCES, which):
        sources.setdefault(entry, []).append(source)
    same = ("id", "audience", *_SAYS)
    return tuple(
        ProfileEntry(
            field=ProfileField(row["field"]),
            sources=tuple(sources.get(row["id"], ())),
            **{name: row[name] for name in same},
        )
        for row in found
    )


def _all_wait(connection: sa.Connection, partition: Partition, learned: Sequence[Utterance]) -> bool:
    if not learned:
        return True
    theirs = sa.and_(message.c.person == partition.person, message.c.audience == partition.audience)
    some = message.c.id.in_([one.id for one in learned])
    waiting = sa.select(message.c.id, message.c.text).where(theirs, some, message.c.to_learn)
    return {(one.id, one.text) for one in learned} <= {(id_, said) for id_, said in connection.execute(waiting)}


def _next_revision(connection: sa.Connection, partition: Partition, became: UserProfile) -> bool:
    """Write the counters; False if this is not what came of the newest revision."""
    values = {
        "created": became.created_at,
        "updated": became.last_updated,
        "interaction_count": became.interaction_count,
        "synthesised_count": became.synthesised_count,
        "synthesis_version": became.synthesis_version,
        "revision": became.revision + 1,
    }
    this = sa.and_(profile.c.person == partition.person, profile.c.audience == partition.audience)
    read = sa.and_(this, profile.c.revision == became.revision)
    if connection.execute(sa.update(profile).where(read).values(values)).rowcount:
        return True
    is_new = became.revision == 0 and connection.execute(sa.select(profile.c.person).where(this)).first() is None
    known = connection.execute(sa.select(person.c.id).where(person.c.id == partition.person)).first() is not None
    if is_new and known:
        connection.execute(sa.insert(profile).values(person=partition.person, audience=partition.audience, **values))
    return is_new and known


def _add(connection: sa.Connection, partition: Partition, entry: ProfileEntry) -> None:
    placed = {"person": partition.person, "audience": partition.audience}
    added = row_id(connection.execute(sa.insert(profile_entry).values(**placed, **_columns(entry))))
    _name_sources(connection, added, entry)


def _change(connection: sa.Connection, entry: ProfileEntry) -> None:
    connection.execute(sa.update(profile_entry).where(profile_entry.c.id == entry.id).values(_columns(entry)))
    connection.execute(sa.delete(profile_source).where(profile_source.c.entry == entry.id))
    _name_sources(connection, entry.id, entry)


def _columns(entry: ProfileEntry) -> dict[str, object]:
    return {"field": entry.field, **{name: getattr(entry, name) for name in _SAYS}}


def _name_sources(connection: sa.Connection, entry_id: int, entry: ProfileEntry) -> None:
    named = [{"entry": entry_id, "message": source} for source in entry.sources]
    if named:
        connection.execute(sa.insert(profile_source), named)


# What is to be learned from: marked, and given a job, in the transaction that ends a turn, so that nothing is lost.
#
# Rule: a partition (person and audience) has one job. A newer message puts it off again, so that waiting ones are
# learned from together; but a partition in which enough has gathered waits no longer.

ENOUGH: Final = 20  # So many messages make one model call worth it, even while the person goes on writing


_THEIRS: Final = sa.and_(message.c.person == sa.bindparam("learner"), message.c.audience == sa.bindparam("there"))
_TO_LEARN: Final = sa.update(message).where(_THEIRS, ~message.c.passed_over).values(to_learn=True)
_LEARNS: Final = sa.select(sa.func.count()).select_from(message).where(_THEIRS, message.c.to_learn)


def queue_for_learning(connection: sa.Connection, claim: Claim, at: datetime, now: datetime) -> None:
    """Let what the claimed turn answered be learned from, not before `at`, unless enough waits."""
    partition = Partition(claim.incoming.person.id, label(claim.incoming.place.audience))
    asked = sa.and_(message.c.turn == claim.turn, message.c.author == Author.PERSON)
    schedule_learning(connection, partition, asked, at, now, claim.incoming.authority)


def exempt_from_learning(connection: sa.Connection, claim: Claim) -> None:
    """Let what the claimed turn answered never be learned from."""
    asked = sa.and_(message.c.turn == claim.turn, message.c.author == Author.PERSON)
    connection.execute(sa.update(message).where(asked).values(passed_over=True))


def schedule_learning(
    connection: sa.Connection,
    partition: Partition,
    which: sa.ColumnElement[bool],
    at: datetime,
    now: datetime,
    authority: Authority = Authority.EMPLOYEE,
) -> None:
    """The same for any messages of a partition, of somebody with this authority; not for those that are passed over."""
    theirs = {"learner": partition.person, "there": partition.audience}
    connection.execute(_TO_LEARN.where(which), theirs)
    run_at = now if connection.execute(_LEARNS, theirs).scalar_one() >= ENOUGH else at
    values = {"payload": str(int(authority)), "run_at": run_at, "person": partition.person, "conversation": ""}
    job_queue.schedule(connection, LEARNING, partition.key, values)


# What a turn begins with, read at once.
#
# Rule: one transaction for all of it. It is one state of the database, so nothing that is just forgotten stands in one
# part and is missing in another; and somebody waits, for whom each transaction more takes longer than a statement.


def known(
    connection: sa.Connection,
    incoming: Incoming,
    audiences: frozenset[str],
    before_turn: int,
    messages: int,
    actions: int,
) -> Known:
    here, person = incoming.conversation, incoming.person.id
    said = history.history(connection, here, before_turn, messages)
    summary, covered = history.summary(connection, here)
    done = LastActions()
    if said and summary.is_empty:
        done = history.last_actions(connection, here, person, audiences, before_turn, actions)
    return Known(
        said,
        summary,
        done,
        fact_store.relevant(connection, person, audiences, incoming.text, here, [one.id for one in said]),
        readable(connection, person, audiences),
        history.wrote_elsewhere(connection, person, here),
        history.working_items(connection, here, audiences, incoming.time),
        covered,
        history.something_shared(connection, audiences),
        history.reminded(connection, incoming, audiences),
    )


class SqlKnowledge(SqlStore):
    known = reads(known)


# --------------------------------------------------------------------------------------------------
