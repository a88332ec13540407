"""The contract of a channel that fewer can read than before: what it held for its team becomes its own."""

from dataclasses import replace
from datetime import timedelta

import pytest

from agent.errors import LeaseLost
from agent.events import Outcome
from agent.incoming import Incoming
from agent.memory.audience import GroupAudience, Place, TeamAudience, label
from agent.memory.layers import WorkingItem
from agent.memory.profile import LEARNING, Partition, ProfileEntry, ProfileField, UserProfile
from agent.state import SituationSummary
from agent.turn_records import Claim, Closing
from store.engine import Store
from tests.contracts.steps import answered, claimed, found, summary_of
from tests.fakes.facts import remember
from tests.fakes.incoming import LEASE, START, said

PUBLIC = Place(TeamAudience("team"), within_team="team")
CLOSED = Place(GroupAudience("club"), whole_channel=True)
UNKNOWN = Place(GroupAudience("club"))
CELLAR = Place(GroupAudience("cellar"), whole_channel=True)
TEAM, CLUB = label(PUBLIC.audience), label(CLOSED.audience)
HOUR = timedelta(hours=1)


def heard(text: str, place: Place, thread: str = "thread", channel: str = "channel") -> Incoming:
    return replace(said(text, conversation=thread, place=place), channel=channel)


async def texts(store: Store, place: Place) -> set[str]:
    return {hit.message.text for hit in await found(store, "boat", place=place)}


async def in_three_threads(store: Store) -> None:
    """A boat in a public channel, one in another public channel, and one in private before."""
    await answered(store, heard("a red boat", PUBLIC), "ok")
    await answered(store, heard("a blue boat", PUBLIC, "other", "elsewhere"), "ok")
    await answered(store, heard("a grey boat", CELLAR, "third", "below"), "ok")


async def test_what_a_public_channel_held_is_found_where_it_is_private_and_no_longer_in_public(store: Store) -> None:
    await in_three_threads(store)
    assert await store.ledger.restrict_place("test", "channel", CLOSED, START) == 2
    assert await texts(store, PUBLIC) == {"a blue boat"}
    assert await texts(store, CLOSED) == {"a red boat"}
    assert await texts(store, CELLAR) == {"a grey boat"}
    assert await store.ledger.restrict_place("test", "channel", CLOSED, START) == 0


async def test_the_next_message_finds_that_the_channel_was_closed(store: Store) -> None:
    await in_three_threads(store)
    await answered(store, heard("hello", CLOSED, "new thread"), "yes")
    assert (await texts(store, PUBLIC), await texts(store, CLOSED)) == ({"a blue boat"}, {"a red boat"})


async def test_what_is_said_after_it_was_opened_is_public_until_it_is_closed_again(store: Store) -> None:
    await answered(store, heard("a red boat", CLOSED), "ok")
    await answered(store, heard("a blue boat", PUBLIC), "ok")
    assert (await texts(store, PUBLIC), await texts(store, CLOSED)) == ({"a blue boat"}, {"a red boat"})
    await store.ledger.record_context_message(heard("hush", CLOSED))
    assert (await texts(store, PUBLIC), await texts(store, CLOSED)) == (set(), {"a red boat", "a blue boat"})


async def test_a_place_that_is_only_unknown_or_not_the_whole_channel_moves_nothing(store: Store) -> None:
    await in_three_threads(store)
    await answered(store, heard("hello", UNKNOWN, "new thread"), "yes")
    assert await store.ledger.restrict_place("test", "channel", UNKNOWN, START) == 0
    assert await store.ledger.restrict_place("test", "channel", replace(PUBLIC, whole_channel=True), START) == 0
    assert await texts(store, PUBLIC) == {"a red boat", "a blue boat"}


async def test_the_summary_begins_anew(store: Store) -> None:
    await store.ledger.accept(heard("a boat", PUBLIC))
    closing = Closing(Outcome.ANSWERED, "ok", summary=SituationSummary(goal="a boat"))
    await store.ledger.finish(await claimed(store), closing, START)
    await store.ledger.restrict_place("test", "channel", CLOSED, START)
    assert await summary_of(store, "thread") == SituationSummary()


async def test_facts_from_there_move_with_what_rests_on_them_and_no_others(store: Store) -> None:
    here = await answered(store, heard("red", PUBLIC), "ok")
    there = await answered(store, heard("blue", PUBLIC, "other", "elsewhere"), "ok")
    for text, source in (("red", here.message), ("blue", there.message), ("sourceless", None)):
        await remember(store.facts, "ann", text, TEAM, START, source)
    await store.ledger.restrict_place("test", "channel", CLOSED, START)
    assert {one.value for one in await store.facts.readable("ann", frozenset({CLUB}))} == {"red"}
    assert {one.value for one in await store.facts.readable("ann", frozenset({TEAM}))} == {"blue", "sourceless"}


def entry(text: str, *sources: int, audience: str = TEAM) -> ProfileEntry:
    return ProfileEntry(0, ProfileField.GOALS, text, audience, sources, START)


async def learned(store: Store, *entries: ProfileEntry) -> UserProfile:
    before = await store.profiles.get(Partition("ann", TEAM))
    became = replace(before, entries=entries, created_at=START, last_updated=START)
    assert await store.profiles.save(Partition("ann", TEAM), became)
    return await store.profiles.get(Partition("ann", TEAM))


async def known(store: Store, audience: str) -> set[str]:
    return {one.text for one in (await store.profiles.get(Partition("ann", audience))).entries}


async def test_profile_entries_with_a_source_there_move_and_who_learns_meanwhile_begins_anew(store: Store) -> None:
    here = await answered(store, heard("red", PUBLIC), "ok")
    there = await answered(store, heard("blue", PUBLIC, "other", "elsewhere"), "ok")
    read = await learned(
        store, entry("red", here.message), entry("blue", there.message), entry("both", here.message, there.message)
    )
    await store.ledger.restrict_place("test", "channel", CLOSED, START)
    assert (await known(store, TEAM), await known(store, CLUB)) == ({"blue"}, {"red", "both"})
    assert not await store.profiles.save(Partition("ann", TEAM), read)


async def test_what_came_from_two_closed_channels_belongs_to_neither(store: Store) -> None:
    here = await answered(store, heard("red", PUBLIC), "ok")
    there = await answered(store, heard("blue", PUBLIC, "other", "elsewhere"), "ok")
    await learned(store, entry("both", here.message, there.message))
    await store.ledger.restrict_place("test", "channel", CLOSED, START)
    await store.ledger.restrict_place("test", "elsewhere", CELLAR, START)
    assert [await known(store, one) for one in (TEAM, CLUB, label(CELLAR.audience))] == [set(), set(), set()]


async def test_what_waits_to_be_learned_from_is_learned_for_the_channel_alone(store: Store) -> None:
    await store.ledger.accept(heard("red", PUBLIC))
    claim = await claimed(store)
    await store.ledger.finish(claim, Closing(Outcome.ANSWERED, "ok", learn_at=START), START)
    read, waiting = (
        await store.profiles.get(Partition("ann", TEAM)),
        await store.profiles.unlearned(Partition("ann", TEAM), 9),
    )
    await store.ledger.restrict_place("test", "channel", CLOSED, START)
    assert await store.profiles.unlearned(Partition("ann", TEAM), 9) == []
    assert [one.text for one in await store.profiles.unlearned(Partition("ann", CLUB), 9)] == ["red"]
    became = replace(read, created_at=START, last_updated=START)
    assert not await store.profiles.save(Partition("ann", TEAM), became, waiting)
    jobs = [await store.jobs.claim(frozenset({LEARNING}), "learner", START + HOUR, LEASE) for _ in range(2)]
    assert {job.key for job in jobs if job is not None} == {f"ann {TEAM}", f"ann {CLUB}"}


async def test_scratch_values_of_its_conversations_are_its_own(store: Store) -> None:
    first = await answered(store, heard("red", PUBLIC), "ok")
    item = WorkingItem("colour", "red", START, START + HOUR, first.message)
    await store.working_set.store_item("thread", TEAM, item)
    await store.ledger.restrict_place("test", "channel", CLOSED, START)
    asked = replace(heard("and now?", CLOSED), time=START)
    for audience, kept in ((TEAM, []), (CLUB, [item])):
        seen = await store.knowledge.for_turn(asked, frozenset({audience}), before_turn=10**6, messages=9, actions=3)
        assert list(seen.working_set) == kept


async def restarted(store: Store, claim: Claim) -> Claim:
    with pytest.raises(LeaseLost):
        await store.ledger.finish(claim, Closing(Outcome.ANSWERED, "too late"), START)
    return await claimed(store)


async def test_an_answer_that_runs_or_waits_there_is_given_in_the_closed_place(store: Store) -> None:
    await store.ledger.accept(heard("runs", PUBLIC))
    runs = await claimed(store)
    await store.ledger.accept(heard("waits", PUBLIC, "other"))
    await store.ledger.restrict_place("test", "channel", CLOSED, START)
    assert [(await restarted(store, runs)).incoming.place, (await claimed(store)).incoming.place] == [CLOSED, CLOSED]
