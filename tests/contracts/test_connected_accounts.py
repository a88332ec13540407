"""The contract of connected accounts: one memory of direct messages, on every store; places stay apart."""

from agent.embeddings import Meaning
from agent.memory.audience import GroupAudience, PersonAudience, Place, TeamAudience, label, may_flow_from
from agent.memory.profile import Partition, ProfileEntry, ProfileField, stated
from agent.recall_query import RecallQuery
from agent.stored_messages import Author
from agent.tools.recall import recollect
from store.engine import Store
from tests.contracts.steps import AFTER_ALL, answered
from tests.fakes.facts import remember
from tests.fakes.incoming import START, said

OTHER = "ann2"  # Ann's account elsewhere
HERE, THERE = Place(PersonAudience("ann")), Place(PersonAudience(OTHER))
CLUB = Place(GroupAudience("club"))
CONNECTED = frozenset({label(THERE.audience)})
BOTH = may_flow_from(HERE, CONNECTED)


async def told(store: Store, text: str, place: Place, person: str = OTHER, conversation: str = "elsewhere") -> None:
    await answered(store, said(text, person=person, conversation=conversation, place=place), "I see.")


async def found(store: Store, audiences: frozenset[str], *, by: str = "", author: Author | None = None) -> list[str]:
    query = RecallQuery("ann", "boat", audiences, "this thread", by=by, author=author)
    return sorted(hit.message.text for hit in await store.memories.search(query))


async def test_a_search_finds_the_direct_messages_of_both_accounts_and_no_place_of_the_other(store: Store) -> None:
    await told(store, "my boat is red", HERE, person="ann", conversation="mine")
    await told(store, "my boat is called Canoe", THERE)
    await told(store, "the boat of the club", CLUB, conversation="club thread")
    assert await found(store, may_flow_from(HERE)) == ["my boat is red"]
    assert await found(store, BOTH) == ["my boat is called Canoe", "my boat is red"]
    assert await found(store, BOTH | {label(CLUB.audience)}) == ["my boat is called Canoe", "my boat is red"]
    assert await found(store, BOTH, by="ann") == ["my boat is called Canoe", "my boat is red"]
    assert await found(store, may_flow_from(CLUB)) == []


async def test_the_bots_answers_to_the_other_account_are_not_found_as_they_may_hold_what_stays_apart(
    store: Store,
) -> None:
    asked = said("what of the boat?", person=OTHER, conversation="elsewhere", place=THERE)
    await answered(store, asked, "The boat of the secret club is gold.")
    assert await found(store, BOTH) == ["what of the boat?"]
    assert await found(store, BOTH, author=Author.BOT) == []
    wanted = Meaning("a model", (1.0, 0.0), 1.0)
    query = RecallQuery("ann", "secret boat", BOTH, "this thread", meaning=wanted)
    assert [hit.message.text for hit in await store.memories.search(query)] == ["what of the boat?"]
    earlier = await recollect(store.memories, store.conversations, RecallQuery("ann", "the boat?", BOTH, "this thread"))
    assert [message.text for message in earlier] == ["what of the boat?"]


async def test_a_search_of_an_account_that_has_written_nothing_finds_the_other(store: Store) -> None:
    await told(store, "my boat is called Canoe", THERE)
    assert await found(store, BOTH) == ["my boat is called Canoe"]


async def test_a_search_by_meaning_looks_in_each_account(store: Store) -> None:
    await told(store, "my boat is red", HERE, person="ann", conversation="mine")
    await told(store, "my boat is called Canoe", THERE)
    wanted = Meaning("a model", (1.0, 0.0), 1.0)
    query = RecallQuery("ann", "boat", BOTH, "this thread", meaning=wanted)
    assert len(await store.memories.search(query)) == 2


async def test_facts_are_those_of_both_accounts_and_of_the_other_only_what_was_said_in_its_direct_messages(
    store: Store,
) -> None:
    await told(store, "hello", THERE)
    await remember(store.facts, "ann", "likes tea", label(HERE.audience), START)
    await remember(store.facts, OTHER, "likes boats", label(THERE.audience), START)
    opened = await remember(store.facts, OTHER, "likes crowds", label(TeamAudience("t")), START)
    await store.facts.open(OTHER, opened.id, everywhere=True)
    assert {fact.value for fact in await store.facts.readable("ann", may_flow_from(HERE))} == {"likes tea"}
    assert {fact.value for fact in await store.facts.readable("ann", BOTH)} == {"likes tea", "likes boats"}
    asked = said("what do I like?", person="ann", conversation="mine", place=HERE)
    known = await store.knowledge.for_turn(asked, BOTH, before_turn=AFTER_ALL, messages=9, actions=9)
    assert {fact.value for fact in known.facts} == {"likes tea", "likes boats"}
    assert known.wrote_elsewhere
    alone = await store.knowledge.for_turn(asked, may_flow_from(HERE), before_turn=AFTER_ALL, messages=9, actions=9)
    assert {fact.value for fact in alone.facts} == {"likes tea"}
    assert not alone.wrote_elsewhere


async def test_the_profile_is_that_of_both_accounts_and_of_the_other_only_from_its_direct_messages(
    store: Store,
) -> None:
    await told(store, "hello", THERE)
    for place, everywhere in ((THERE, False), (CLUB, True)):
        audience = label(place.audience)
        goal = ProfileEntry(0, ProfileField.GOALS, f"goal of {audience}", audience, (), START, everywhere=everywhere)
        partition = Partition(OTHER, audience)
        assert await store.profiles.save(partition, stated(await store.profiles.get(partition), goal, START))
    assert (await store.profiles.readable("ann", may_flow_from(HERE))).entries == ()
    for entries in (
        (await store.profiles.readable("ann", BOTH)).entries,
        await store.profiles.all_entries("ann", BOTH),
    ):
        assert [entry.text for entry in entries] == [f"goal of {label(THERE.audience)}"]
