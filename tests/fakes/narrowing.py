"""What a channel that fewer can read than before does to the store in memory: to what is known from there."""

from collections.abc import Collection, Iterable
from dataclasses import replace

from agent.memory.profile import Partition, ProfileEntry, UserProfile
from agent.records import StoredMessage
from tests.fakes.facts import FakeFacts
from tests.fakes.profiles import FakeProfiles
from tests.fakes.working import FakeWorkingSet


def move_facts(facts: FakeFacts, said: Collection[int], wide: Collection[str], own: str) -> None:
    before = None
    while before != facts.kept:
        before = facts.kept
        closed = {one.id for one in before if one.audience == own}
        facts.kept = tuple(
            replace(one, audience=own)
            if one.audience in wide and (one.source_message in said or closed & set(one.depends_on))
            else one
            for one in before
        )


def move_entries(profiles: FakeProfiles, said: Collection[int], wide: Collection[str], own: str) -> None:
    for partition, kept in [*profiles.kept.items()]:
        moving = [entry for entry in kept.entries if set(entry.sources) & set(said)]
        if not moving or partition.audience == own:
            continue
        staying = tuple(entry for entry in kept.entries if entry not in moving)
        profiles.kept[partition] = replace(kept, entries=staying, revision=kept.revision + 1)
        if partition.audience in wide:
            _add(profiles, Partition(partition.person, own), kept, moving, own)


def _add(profiles: FakeProfiles, there: Partition, kept: UserProfile, moving: Iterable[ProfileEntry], own: str) -> None:
    new = UserProfile(there.person, created_at=kept.created_at, last_updated=kept.last_updated)
    known = profiles.kept.get(there, new)
    entries = (*known.entries, *(replace(entry, audience=own) for entry in moving))
    profiles.kept[there] = replace(known, entries=entries, revision=known.revision + 1)


def move_waiting(profiles: FakeProfiles, said: Collection[int], wide: Collection[str], own: str) -> set[Partition]:
    """What is learned from there is learned for the channel alone; the partitions that it waited in."""
    moving = {id_: one for id_, one in profiles.waiting.items() if id_ in said and one.audience in wide}
    profiles.waiting |= {id_: replace(one, audience=own) for id_, one in moving.items()}
    return {Partition(one.person, one.audience) for one in moving.values()}


def move_working(working: FakeWorkingSet, threads: Collection[str], wide: Collection[str], own: str) -> None:
    working.kept = [
        (where, own if where in threads and audience in wide else audience, item)
        for where, audience, item in working.kept
    ]


def move_messages(
    messages: Iterable[tuple[int, StoredMessage]], said: Collection[int], own: str
) -> list[tuple[int, StoredMessage]]:
    return [(turn, replace(one, audience=own) if one.id in said else one) for turn, one in messages]
