"""What is known of people, in rows, and read at once for a turn.

Rules
  A profile is written by whoever read its newest revision, or not at all; forgetting makes a new revision, too. So what
  was forgotten meanwhile never comes back, and of two who learn at once one begins anew.
  A message is learned from once: with the profile it loses its mark, in the same transaction. What was learned from
  words that were edited meanwhile, or of a place that has become another one, is not kept.
"""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import Final

import sqlalchemy as sa

from agent.admission_terms import Authority
from agent.memory.audience import label
from agent.memory.profile import LEARNING, Partition, ProfileEntry, ProfileField, UserProfile, Utterance, for_place
from agent.memory.writing import NewFact
from agent.records import Author, Claim, Incoming, Known
from agent.state import LastActions
from store import history, job_queue
from store.databases.database import SqlStore, in_order, reads, row_id, writes
from store.memory import fact_store
from store.tables import message, person, profile, profile_entry, profile_source


def of(connection: sa.Connection, partition: Partition) -> UserProfile:
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
    remove(connection, frozenset(before) - {entry.id for entry in profile.entries})
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
    of = reads(of)
    readable = reads(readable)
    known = reads(known_entries)
    unlearned = reads(unlearned)
    save = writes(save)
    skip_learning = writes(skip_learning)


def remove(connection: sa.Connection, entries: frozenset[int]) -> int:
    """Take these entries out, with the names of their sources; how many there were."""
    connection.execute(sa.delete(profile_source).where(profile_source.c.entry.in_(entries)))
    return connection.execute(sa.delete(profile_entry).where(profile_entry.c.id.in_(entries))).rowcount


_SAYS: Final = ("key", "text", "time", "confidence", "everywhere")
"""What an entry and its row have in common, besides its field and where it stands."""
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

ENOUGH: Final = 20
"""So many messages make one model call worth it, even while the person goes on writing."""


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
    theirs = sa.and_(message.c.person == partition.person, message.c.audience == partition.audience)
    connection.execute(sa.update(message).where(theirs, which, ~message.c.passed_over).values(to_learn=True))
    waiting = sa.select(sa.func.count()).select_from(message).where(theirs, message.c.to_learn)
    run_at = now if connection.execute(waiting).scalar_one() >= ENOUGH else at
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
