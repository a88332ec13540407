"""What a search leaves out where others read: only the asker sees how much, and the model nothing."""

import json

from agent.incoming import Incoming
from agent.memory.audience import GroupAudience, PersonAudience, Place, TeamAudience
from agent.messages import JsonObject, ToolCall
from agent.state import ActionRecord
from bot.chat.access.readers import Readers
from bot.memory.notices import MAX_SEARCHES, WithheldNotice
from tests.contracts.steps import answered
from tests.fakes.clock import NOON, FakeClock
from tests.fakes.ended import ended
from tests.fakes.incoming import said
from tests.fakes.membership import FakeMembership
from tests.fakes.store import store_in_memory

ANN = "t:ann"
DM, CLUB = Place(PersonAudience(ANN)), Place(GroupAudience("t:club"))
PUBLIC = Place(TeamAudience("t"), within_team="t")


def searching(*queries: str, **more: str) -> tuple[ActionRecord, ...]:
    calls = tuple(ToolCall("recall", {"query": query, **more}) for query in queries)
    return (ActionRecord(1, NOON, "", calls),)


def asked(place: Place = PUBLIC) -> Incoming:
    return said("which colour?", person=ANN, conversation="here", place=place)


async def withheld() -> tuple[WithheldNotice, FakeMembership]:
    """Ann spoke of her canoe in her direct messages, in a private channel and in public; bob in his direct messages."""
    store, clock = store_in_memory(), FakeClock()
    for place in (DM, CLUB, PUBLIC):
        await answered(store, said("the canoe is red", person=ANN, conversation=str(place), place=place), "noted")
    bobs = Place(PersonAudience("t:bob"))
    await answered(store, said("my canoe", person="t:bob", conversation="bob's", place=bobs), "noted")
    members = FakeMembership({"t:club": {ANN}})
    return WithheldNotice(store.memories, Readers(store.conversations.groups, clock, {"t": members}), clock), members


async def test_what_the_person_would_find_in_their_direct_messages_is_counted_once() -> None:
    held, members = await withheld()
    assert await held.count(asked(), searching("canoe", "canoe red")) == 2
    members.readers.clear()
    held = WithheldNotice(
        held.memories, Readers(held.readers.written_in, held.clock, held.readers.platforms), held.clock
    )
    assert await held.count(asked(), searching("canoe")) == 1


async def test_in_direct_messages_and_without_a_search_nothing_is_left_out() -> None:
    held, members = await withheld()
    assert await held.count(asked(DM), searching("canoe")) == 0
    assert await held.count(asked(), [ActionRecord(1, NOON, "", (ToolCall("other", {"query": "canoe"}),))]) == 0
    assert (await held.line(ended(1, asked(), searching("submarine")))).text == ""
    assert members.asked == [(ANN, ("t:club",))]


async def test_what_the_model_did_not_ask_for_is_not_counted() -> None:
    held, _ = await withheld()
    assert await held.count(asked(), searching("canoe", where="direct messages")) == 1
    assert await held.count(asked(), searching("canoe", where="public channels")) == 0
    assert await held.count(asked(), searching("canoe", when="gibberish")) == 0


async def test_a_call_with_wrong_arguments_or_without_those_that_may_not_be_kept_is_no_search() -> None:
    held, _ = await withheld()
    wrong: list[JsonObject] = [{}, {"q": "canoe"}, {"wordings": "canoe"}, {"query": 7, "wordings": {}, "where": []}]
    calls = [ActionRecord(1, NOON, "", tuple(ToolCall("recall", args) for args in wrong))]
    assert await held.count(asked(), calls) == 0
    assert await held.count(asked(), [*calls, *searching("canoe")]) == 2


async def test_the_sentence_says_how_many_and_nothing_of_what() -> None:
    held, _ = await withheld()
    sentence = (await held.line(ended(1, asked(), searching("canoe")))).text
    assert sentence == (
        "2 more results from your direct messages or private channels are not shown here. "
        "To see them, ask me in a direct message."
    )
    one = (await held.line(ended(1, asked(CLUB), searching("canoe")))).text
    assert one.startswith("1 more result from your direct messages or private channels is not shown here")
    assert "red" not in json.dumps([sentence, one])


async def test_a_model_that_searches_on_and_on_does_not_make_everything_be_searched_twice() -> None:
    held, _ = await withheld()
    assert await held.count(asked(), searching(*["submarine"] * MAX_SEARCHES, "canoe")) == 0
