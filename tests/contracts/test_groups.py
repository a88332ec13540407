"""The contract of `Conversations.groups`: where something of a person belongs to a group."""

from datetime import timedelta

from agent.incoming import Incoming
from agent.memory.audience import GroupAudience, Place, TeamAudience
from agent.memory.profile import Partition, UserProfile
from store.engine import Store
from tests.contracts.steps import answered, same_on_postgresql
from tests.fakes.facts import remember
from tests.fakes.incoming import START, said


def heard(place: str, thread: str, *, person: str = "ann") -> Incoming:
    return said("hello", conversation=thread, place=Place(GroupAudience(place)), person=person)


async def test_the_groups_of_a_person_come_the_latest_first_and_once(store: Store) -> None:
    for place, thread in (("old", "a"), ("new", "b"), ("old", "c"), ("middle", "d"), ("new", "b")):
        await answered(store, heard(place, thread), "yes")
    assert await store.conversations.groups("ann", 9) == ["new", "middle", "old"]
    assert await store.conversations.groups("ann", 1) == ["new"]
    assert await store.conversations.groups("ann", 0) == []


@same_on_postgresql
async def test_places_of_others_and_places_that_are_no_groups_do_not_count(store: Store) -> None:
    await answered(store, heard("theirs", "a", person="bob"), "yes")
    await answered(store, said("mine"), "yes")
    await answered(store, said("ours", conversation="public", place=Place(TeamAudience("team"))), "yes")
    assert await store.conversations.groups("ann", 9) == []


@same_on_postgresql
async def test_what_was_learned_or_noted_in_a_group_counts_without_a_thread(store: Store) -> None:
    await answered(store, said("hello"), "yes")
    await remember(store.facts, "ann", "The sail is red.", "group:noted", START)
    learned = UserProfile("ann", created_at=START, last_updated=START + timedelta(days=1))
    assert await store.profiles.save(Partition("ann", "group:learned"), learned)
    assert await store.conversations.groups("ann", 9) == ["learned", "noted"]
