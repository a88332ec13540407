"""The contract of the port Memories: recall that respects who may read what."""

from agent.memory.audience import GroupAudience, Place
from agent.recall_query import RecallQuery
from store.engine import Store
from tests.contracts.steps import answered, found, texts_found
from tests.fakes.incoming import said

DM = "person:ann"
CLUB = Place(GroupAudience("club"))


async def test_what_was_said_in_an_earlier_thread_is_found(store: Store) -> None:
    await answered(store, said("my boat is blue", conversation="harbour"), "A fine colour.")
    [hit] = await found(store, "what did I say about my boat?")
    assert hit.message.text == "my boat is blue"


async def test_more_matching_words_come_first_and_the_limit_holds(store: Store) -> None:
    await answered(store, said("the red boat sank", conversation="a"), "oh")
    await answered(store, said("the blue boat sails", conversation="b"), "good")
    await answered(store, said("a train", conversation="c"), "fine")
    assert await texts_found(store, "blue boat") == ["the blue boat sails", "the red boat sank"]
    query = RecallQuery("ann", "blue boat", frozenset({DM}), "", limit=1)
    assert [hit.message.text for hit in await store.memories.search(query)] == ["the blue boat sails"]


async def test_between_equals_the_newest_comes_first(store: Store) -> None:
    for conversation in ("a", "b", "c"):
        await answered(store, said("my boat", conversation=conversation), "yes")
    assert [hit.message.conversation for hit in await found(store, "boat")] == ["c", "b", "a"]


async def test_the_current_conversation_is_not_searched(store: Store) -> None:
    await answered(store, said("my boat is blue", conversation="now"), "yes")
    assert await found(store, "boat", elsewhere="now") == []


async def test_what_others_said_where_the_person_never_wrote_is_not_found(store: Store) -> None:
    await answered(store, said("ben's boat", person="ben", conversation="club", place=CLUB), "yes")
    assert await found(store, "boat", place=CLUB) == []
    await answered(store, said("hello", conversation="club", place=CLUB), "hi")
    [hit] = await found(store, "boat", place=CLUB)
    assert (hit.message.text, hit.message.person) == ("ben's boat", "ben")


async def test_hits_are_only_of_the_audiences_asked_for(store: Store) -> None:
    await answered(store, said("a secret before", conversation="moved"), "kept")
    await answered(store, said("a boat", conversation="moved", place=CLUB), "in the club")
    await answered(store, said("a boat again", conversation="moved"), "a secret after")
    [hit] = await found(store, "boat", place=CLUB)
    assert hit.message.text == "a boat"


async def test_a_search_for_no_audience_finds_nothing(store: Store) -> None:
    await answered(store, said("my boat"), "yes")
    assert await store.memories.search(RecallQuery("ann", "boat", frozenset(), "")) == []
    assert await store.memories.search(RecallQuery("nobody", "boat", frozenset({"person:nobody"}), "")) == []
