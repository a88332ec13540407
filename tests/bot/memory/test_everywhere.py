"""Entries that a person uses everywhere are in the contexts of replies to that person, and in no others."""

import asyncio
from dataclasses import dataclass, replace
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent.memory.audience import GroupAudience, PersonAudience, Place, TeamAudience, label, may_flow_from
from agent.memory.profile import Insight, Partition, ProfileField, learned, opened
from tests.examples import examples
from tests.fakes.clock import FakeClock
from tests.fakes.facts import remember
from tests.fakes.incoming import said
from tests.fakes.store import StoreInMemory, store_in_memory
from tests.fakes.told_turns import ToldTurns

PEOPLE = ("ann", "ben")
ROOMS = ("alone", "club", "team")
THINGS = ("harmonium", "vermilion", "zeppelin", "obsidian", "marzipan")


@dataclass(frozen=True)
class Kept:
    """An entry or fact about its owner, learned or remembered in a room."""

    owner: str
    room: str
    everywhere: bool
    is_fact: bool


def place(person: str, room: str) -> Place:
    if room == "alone":
        return Place(PersonAudience(person), within_team="T")
    return Place(GroupAudience("club"), within_team="T") if room == "club" else Place(TeamAudience("T"), "T")


async def keep(store: StoreInMemory, clock: FakeClock, kept: Kept, thing: str) -> None:
    partition = Partition(kept.owner, label(place(kept.owner, kept.room).audience))
    if kept.is_fact:
        fact = await remember(store.facts, kept.owner, f"likes {thing}", partition.audience, clock.now())
        await store.facts.open(kept.owner, fact.id, everywhere=kept.everywhere)
        return
    there = place(kept.owner, kept.room)
    source = await store.hear(said("Hm.", person=kept.owner, conversation=f"{kept.owner} in {kept.room}", place=there))
    insight = Insight(ProfileField.INTERESTS, thing, (source,), clock.now())
    profile = learned(await store.profiles.get(partition), partition.audience, [insight], 1, clock.now())
    assert await store.profiles.save(partition, profile)
    profile = await store.profiles.get(partition)
    added = max(entry.id for entry in profile.entries)
    assert await store.profiles.save(partition, opened(profile, added, everywhere=kept.everywhere))


@pytest.mark.slow
@settings(max_examples=examples(25), deadline=None)
@given(
    st.lists(
        st.builds(Kept, st.sampled_from(PEOPLE), st.sampled_from(ROOMS), st.booleans(), st.booleans()),
        max_size=len(THINGS),
    )
)
def test_a_context_holds_what_may_flow_there_or_what_its_asker_opened_and_nothing_of_anybody_else(
    known: list[Kept],
) -> None:
    async def ask_everywhere() -> None:
        store, clock = store_in_memory(), FakeClock()
        told = ToldTurns(store, clock)
        for kept, thing in zip(known, THINGS, strict=False):
            await keep(store, clock, kept, thing)
        for asker, room in product(PEOPLE, ROOMS):
            here = place(asker, room)
            await told.ask(replace(said("What?", person=asker, conversation=f"{asker} {room}"), place=here))
            shown = "\n".join(message.text for message in told.model.requests[-1])
            for kept, thing in zip(known, THINGS, strict=False):
                flows = label(place(kept.owner, kept.room).audience) in may_flow_from(here)
                assert (thing in shown) is (kept.owner == asker and (kept.everywhere or flows)), (asker, room, kept)

    asyncio.run(ask_everywhere())
