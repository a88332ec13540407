"""What narrows a search, and the scripts that it reads: the same on every store."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from agent.incoming import Incoming, Person
from agent.memory.audience import GroupAudience, Place, may_flow_from
from agent.memory.periods import TimeSpan
from agent.messages import JsonObject
from agent.ports.tools import ToolContext
from agent.recall_query import RecallQuery
from agent.stored_messages import Author
from agent.tools.recall import RecallTool
from store.engine import Store
from tests.contracts.steps import answered
from tests.fakes.incoming import dm, said

CLUB = Place(GroupAudience("club"))


async def searched(store: Store, text: str, place: Place = CLUB, **narrowed: Any) -> list[str]:
    query = RecallQuery("ann", text, may_flow_from(place), "", **narrowed)
    return [hit.message.text for hit in await store.memories.search(query)]


async def two_people(store: Store) -> TimeSpan:
    """Ann and Ben speak of boats in one thread, and the bot answers; later they do so again. The first time."""
    first = [said("Here lies a boat", conversation="one", place=CLUB)]
    first.append(said("The boat is sold", person="ben", conversation="one", place=CLUB))
    for message in first:
        await answered(store, message, f"A boat, {message.person.name}.")
    await answered(store, said("Sails on the boat", conversation="two", place=CLUB), "Fine.")
    return TimeSpan(first[0].time, first[1].time + timedelta(milliseconds=900))


async def test_a_period_leaves_out_what_was_said_at_other_times(store: Store) -> None:
    then = await two_people(store)
    assert "Sails on the boat" in await searched(store, "boat")
    assert "Sails on the boat" not in await searched(store, "boat", within=then)
    assert len(await searched(store, "boat", within=then)) == 4


async def test_a_period_alone_finds_what_was_said_then_the_newest_first(store: Store) -> None:
    then = await two_people(store)
    assert (await searched(store, "?!", within=then))[:2] == ["A boat, Ben.", "The boat is sold"]
    assert len(await searched(store, "what did we discuss then", within=then)) == 4
    assert await searched(store, "?!", within=then, by="Ann") == ["Here lies a boat"]
    assert await searched(store, "?!", within=then, author=Author.BOT) == ["A boat, Ben.", "A boat, Ann."]
    assert await searched(store, "?!") == []


async def test_a_name_or_an_id_narrows_to_what_that_person_wrote(store: Store) -> None:
    await two_people(store)
    assert await searched(store, "boat", by="ben") == await searched(store, "boat", by="Ben") == ["The boat is sold"]
    assert set(await searched(store, "boat", by="ann")) == {"Here lies a boat", "Sails on the boat"}
    assert await searched(store, "boat", by="Nobody") == []


async def test_the_author_narrows_to_people_or_to_the_bot(store: Store) -> None:
    await two_people(store)
    assert set(await searched(store, "boat", author=Author.BOT)) == {"A boat, Ben.", "A boat, Ann."}
    people = {"Here lies a boat", "The boat is sold", "Sails on the boat"}
    assert set(await searched(store, "boat", author=Author.PERSON)) == people


async def test_irregular_forms_of_a_word_find_one_another(store: Store) -> None:
    await answered(store, said("I bought shoes for the children"), "Nice.")
    assert await searched(store, "what did I buy?", dm("ann")) == ["I bought shoes for the children"]
    assert await searched(store, "child", dm("ann")) == ["I bought shoes for the children"]


@pytest.mark.parametrize(
    ("text", "question"),
    [
        ("昨日は東京タワーに行きました", "東京タワーはいつ？"),
        ("来週の会議は大阪です", "大阪の会議について"),
        ("我们明天去北京吃烤鸭", "北京有什么好吃的"),
        ("我在學習西班牙語", "西班牙語學得怎麼樣"),
        ("내일 서울에서 만나요", "서울"),
    ],
)
async def test_chinese_japanese_and_korean_are_found_without_blanks(store: Store, text: str, question: str) -> None:
    await answered(store, said(text, conversation="a"), "👍")
    await answered(store, said("another matter altogether", conversation="b"), "👍")
    assert await searched(store, question, dm("ann")) == [text]


async def asked(store: Store, place: Place = CLUB, **args: str) -> str:
    """What the tool shows Ann, who is in Tokyo, at noon (UTC) on Wednesday 7 January 2026."""
    request: JsonObject = {"query": "boat", **args}
    now = datetime(2026, 1, 7, 12, tzinfo=UTC)
    ann = Person("ann", "Ann", "Asia/Tokyo")
    return (await RecallTool(store.memories).run(request, ToolContext(ann, place, "now", 9, now))).text


def at(time: datetime, incoming: Incoming) -> Incoming:
    return replace(incoming, time=time)


async def test_times_that_the_model_names_are_those_of_the_persons_own_clock(store: Store) -> None:
    before_midnight = datetime(2026, 1, 5, 14, 59, tzinfo=UTC)
    await answered(store, at(before_midnight, said("a boat on Monday", conversation="a")), "Yes.")
    await answered(
        store, at(before_midnight + timedelta(minutes=1), said("a boat on Tuesday", conversation="b")), "Yes."
    )
    shown = await asked(store, dm("ann"), when="yesterday")
    assert "a boat on Tuesday" in shown
    assert "[1] 2026-01-06 Asia/Tokyo, in direct messages" in shown
    assert "\n00:00, Ann wrote:\n> a boat on Tuesday" in shown
    assert "a boat on Monday" not in shown
    assert "a boat on Monday" in await asked(store, dm("ann"), when="2026-01-05")
    assert "a boat" not in await asked(store, dm("ann"), when="last week")


async def test_places_and_people_that_the_model_names_narrow_what_is_shown(store: Store) -> None:
    await two_people(store)
    assert "The boat is sold" in await asked(store, by="Ben")
    assert "Here lies a boat" not in await asked(store, by="Ben")
    assert "The boat is sold" not in await asked(store, by="me")
    assert "A boat, Ben." in await asked(store, by="you")
    assert "boat" in await asked(store, where="private channels")
    assert "boat" not in await asked(store, where="direct messages")


async def test_several_wordings_find_in_one_call_what_each_of_them_finds_and_nothing_else(store: Store) -> None:
    for number, text in enumerate(
        ["The yacht is turquoise", "Our ship is red", "A hammer and nails", "The bus is late"]
    ):
        await answered(store, said(text, conversation=f"thread {number}"), "Fine.")
    wordings = ("yacht", "ship sail")
    assert await searched(store, "boat", dm("ann")) == []
    found = await searched(store, "boat", dm("ann"), wordings=wordings)
    assert {text for text in found if text != "Fine."} == {"The yacht is turquoise", "Our ship is red"}
    assert await searched(store, "ship", dm("ann"), wordings=("ship", "")) == await searched(store, "ship", dm("ann"))
    assert await searched(store, "boat", CLUB, wordings=wordings) == [], "of another place nothing, in any wording"
    assert await searched(store, "?!", dm("ann"), wordings=("yacht",), by="Nobody") == []


async def test_what_most_wordings_find_comes_first(store: Store) -> None:
    await answered(store, said("A red boat", conversation="one"), "Fine.")
    await answered(store, said("The yacht, a sailing vessel", conversation="two"), "Fine.")
    found = await searched(store, "boat", dm("ann"), wordings=("yacht", "sailing", "vessel"))
    assert found[0] == "The yacht, a sailing vessel"
    assert "A red boat" in found
