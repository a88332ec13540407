"""What a turn stored is listed below its answer by code, and only its person can take it back, once."""

from dataclasses import replace
from datetime import timedelta

import pytest

from agent.errors import Refused
from agent.memory.audience import Place, TeamAudience
from agent.memory.profile import Insight, Partition, ProfileField, learned
from agent.memory.writing import NewFact, Written
from bot.memory import texts as memory_texts
from bot.memory.notices import KeptNotice
from bot.platforms import texts as platforms_texts
from store.engine import Store
from tests.contracts.steps import answered
from tests.fakes.clock import FakeClock
from tests.fakes.ended import ended
from tests.fakes.incoming import START, said
from tests.fakes.store import store_in_memory

DM = "person:ann"


@pytest.fixture
def store() -> Store:
    return store_in_memory()


def kept(store: Store) -> KeptNotice:
    return KeptNotice(store.facts, store.profiles, store.forgetting, FakeClock(START))


async def remembered(store: Store, text: str, key: str = "", minutes: int = 0) -> int:
    """Run a turn that stores this; return its number."""
    claim = await answered(store, said(text), "Noted.")
    new = NewFact("", key, text, "user", START + timedelta(minutes=minutes), DM, "ann", source_message=claim.message)
    outcome = await store.facts.write(new)
    assert isinstance(outcome, Written)
    return claim.turn


async def known(store: Store) -> list[str]:
    return [one.value for one in await store.facts.readable("ann", frozenset({DM})) if one.is_valid]


async def test_what_was_kept_is_said_and_what_it_took_the_place_of(store: Store) -> None:
    first = await remembered(store, "Friday", "deadline")
    assert (await kept(store).line(ended(first))).text == "*Remembered: deadline: Friday*"
    second = await remembered(store, "Monday", "deadline", minutes=1)
    assert (await kept(store).line(ended(second))).text == "*Remembered: deadline: Monday (replaced: deadline: Friday)*"
    assert (await kept(store).line(ended(second + 1))).text == ""


async def test_what_people_write_does_not_become_markdown(store: Store) -> None:
    turn = await remembered(store, "my boat is *blue*")
    assert r"\*blue\*" in (await kept(store).line(ended(turn))).text


@pytest.mark.slow
async def test_taken_back_it_is_gone_and_what_it_had_superseded_holds_again_and_once_only(store: Store) -> None:
    await remembered(store, "Friday", "deadline")
    turn = await remembered(store, "Monday", "deadline", minutes=1)
    said_ = await kept(store).take_back(turn, "ann")
    assert said_.startswith("Undone: deadline: Monday.")
    assert said_.endswith("This is valid again: deadline: Friday.")
    assert await known(store) == ["Friday"]
    assert await kept(store).take_back(turn, "ann") == memory_texts.NOTHING_KEPT
    assert await known(store) == ["Friday"]


async def test_what_was_learned_of_the_same_question_since_goes_too_and_it_teaches_no_more(store: Store) -> None:
    claim = await answered(store, said("My boat is blue, remember that"), "Noted.")
    new = NewFact("", "", "The boat is blue.", "user", START, DM, "ann", source_message=claim.message)
    await store.facts.write(new)
    await store.facts.write(replace(new, key="colour of the boat", value="blue"))
    await kept(store).take_back(claim.turn, "ann")
    assert await known(store) == []


async def test_what_the_profile_learned_of_it_alone_goes_too(store: Store) -> None:
    before = await answered(store, said("I sail"), "Noted.")
    claim = await answered(store, said("My boat is blue, remember that"), "Noted.")
    await store.facts.write(NewFact("", "", "My boat is blue.", "user", START, DM, "ann", source_message=claim.message))
    partition = Partition("ann", DM)
    insights = [
        Insight(ProfileField.INTERESTS, "has a blue boat", (claim.message,), START),
        Insight(ProfileField.INTERESTS, "sails", (before.message,), START),
        Insight(ProfileField.PROJECTS, "sails a boat", (before.message, claim.message), START, key="boat"),
    ]
    assert await store.profiles.save(partition, learned(await store.profiles.get(partition), DM, insights, 2, START))
    await kept(store).take_back(claim.turn, "ann")
    assert [one.text for one in await store.profiles.all_entries("ann", frozenset({DM}))] == ["sails", "sails a boat"]


async def test_what_the_same_question_had_taught_before_is_not_said_to_hold_again(store: Store) -> None:
    await remembered(store, "Friday", "deadline")
    turn = await remembered(store, "Monday", "deadline", minutes=1)
    (first,) = (await store.facts.kept_in(turn)).from_question
    again = NewFact(
        "",
        "deadline",
        "Tuesday",
        "user",
        START + timedelta(minutes=2),
        DM,
        "ann",
        source_message=first.fact.source_message,
    )
    await store.facts.write(again)
    said_ = await kept(store).take_back(turn, "ann")
    assert said_.endswith("This is valid again: deadline: Friday.")
    assert await known(store) == ["Friday"]


async def test_nobody_else_takes_it_back(store: Store) -> None:
    turn = await remembered(store, "my boat is blue")
    with pytest.raises(Refused):
        await kept(store).take_back(turn, "ben")
    assert await known(store) == ["my boat is blue"]


async def test_of_many_the_first_are_named(store: Store) -> None:
    claim = await answered(store, said("Invoices 1 to 7 are open"), "Noted.")
    for number in range(7):
        value = f"invoice {number} is open"
        await store.facts.write(NewFact("", "", value, "user", START, DM, "ann", source_message=claim.message))
    assert ((await kept(store).line(ended(claim.turn))).text).endswith("invoice 4 is open; and 2 more*")


async def learned_later(store: Store, text: str, key: str, value: str, minutes: int) -> int:
    """Run a turn, and learn a fact from it after its answer was shown."""
    claim = await answered(store, said(text), "OK.")
    await kept(store).line(ended(claim.turn))
    at = START + timedelta(minutes=minutes)
    await store.facts.write(NewFact("", key, value, "user", at, DM, "ann", source_message=claim.message))
    return claim.turn


async def test_what_was_learned_after_an_answer_is_told_below_the_next_one_once(store: Store) -> None:
    await learned_later(store, "My desk is in room 4", "desk", "room 4", 0)
    await learned_later(store, "My desk is in room 7 now", "desk", "room 7", 1)
    next_turn = (await answered(store, said("What is new?"), "Nothing.")).turn
    line = (await kept(store).line(ended(next_turn))).text
    assert line == "*Learned from your earlier messages: desk: room 7 (replaced: desk: room 4)*"
    assert (await kept(store).line(ended(next_turn))).text == line  # the turn continues after a crash
    assert (await kept(store).line(ended((await answered(store, said("And now?"), "Nothing.")).turn))).text == ""


async def test_what_is_told_below_the_next_answer_is_undone_there(store: Store) -> None:
    await learned_later(store, "My desk is in room 4", "desk", "room 4", 0)
    await learned_later(store, "My desk is in room 7 now", "desk", "room 7", 1)
    next_turn = (await answered(store, said("What is new?"), "Nothing.")).turn
    line = (await kept(store).line(ended(next_turn))).text
    assert (await kept(store).take_back(next_turn, "ann")).endswith("This is valid again: desk: room 4.")
    assert await known(store) == ["room 4"]
    assert platforms_texts.undone(f"Nothing.\n{line}") == f"Nothing.\n{platforms_texts.UNDONE}"


async def test_what_was_learned_is_told_in_its_own_audience_only(store: Store) -> None:
    await learned_later(store, "My desk is in room 4", "desk", "room 4", 0)
    public = (await answered(store, said("Hello", conversation="open", place=Place(TeamAudience("t"))), "Hi.")).turn
    assert (await kept(store).line(ended(public))).text == ""
    private = (await answered(store, said("Hello"), "Hi.")).turn
    assert "room 4" in (await kept(store).line(ended(private))).text
