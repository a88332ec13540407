"""Profiles in rows, and the messages that learning has yet to read.

Rules
  A profile is written only over the revision that the writer has read; forgetting makes a new revision as well. So what
  was forgotten meanwhile is never restored, and of two concurrent learners one starts again.
  A message is learned from once: its mark is removed in the transaction that writes the profile. What was learned from
  a text that was edited meanwhile, or in a place whose audience has changed, is not stored.
"""

from collections.abc import Collection, Sequence
from dataclasses import replace
from datetime import datetime
from itertools import chain
from typing import Final

import sqlalchemy as sa

from agent.memory.audience import by_account
from agent.memory.profile import Partition, ProfileEntry, ProfileField, UserProfile, Utterance, for_place
from agent.memory.writing import NewFact
from store.databases.database import SqlStore, in_order, reads, row_id, writes
from store.memory import fact_store
from store.memory_tables import profile, profile_entry, profile_source
from store.message_tables import message, person
from store.turn_tables import turn


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
    if not newest:
        return list(found)
    linked = sa.select(message.c.id, message.c.permalink).where(message.c.id.in_(sorted(newest.values())))
    links = {row.id: row.permalink for row in connection.execute(linked)}
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


def skip_learning(
    connection: sa.Connection, person: str | None = None, channel: str | None = None, source: str | None = None
) -> int:
    of_person = sa.true() if person is None else message.c.person == person
    there = sa.true() if channel is None else message.c.channel == channel
    of_source = sa.true() if source is None else message.c.turn.in_(sa.select(turn.c.id).where(turn.c.source == source))
    waiting = sa.update(message).where(message.c.to_learn, of_person, there, of_source)
    return connection.execute(waiting.values(to_learn=False, passed_over=True)).rowcount


def keep(connection: sa.Connection, person: str, entry: int, now: datetime) -> bool:
    own = sa.update(profile_entry).where(profile_entry.c.person == person, profile_entry.c.id == entry)
    return connection.execute(own.values(kept=now)).rowcount == 1


def mark_used(connection: sa.Connection, entries: Collection[int], now: datetime) -> None:
    connection.execute(sa.update(profile_entry).where(profile_entry.c.id.in_(entries)).values(used=now))


class SqlProfiles(SqlStore):
    get = reads(profile_of)
    readable = reads(readable)
    all_entries = reads(known_entries)
    unlearned = reads(unlearned)
    save = writes(save)
    skip_learning = writes(skip_learning)
    keep = writes(keep)


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
    accounts = by_account(person_id, audiences).items()
    found = (
        _of_account(connection, account, labels, everywhere=everywhere and account == person_id)
        for account, labels in accounts
    )
    return tuple(sorted(chain(*found), key=lambda entry: (entry.time, entry.id)))


def _of_account(
    connection: sa.Connection, account: str, audiences: frozenset[str], *, everywhere: bool
) -> tuple[ProfileEntry, ...]:
    parameters = {"whose": account, "audiences": sorted(audiences), "everywhere": everywhere}
    found = connection.execute(_ENTRIES, parameters).mappings().all()
    if not found:
        return ()
    sources: dict[int, list[int]] = {}
    for entry, source in connection.execute(_SOURCES, parameters):
        sources.setdefault(entry, []).append(source)
    names = ("id", "audience", *_COLUMNS, "used", "kept")
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
