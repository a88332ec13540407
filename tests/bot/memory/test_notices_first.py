"""The line below the first reply to a person: shown once, whichever process answers or crashes."""

from dataclasses import replace
from datetime import timedelta

import pytest

from agent.memory.forgetting_plans import Everything
from agent.turn_kinds import TurnKind
from bot.memory import texts as memory_texts
from bot.memory.notices import FirstNotice
from tests.fakes.clock import FakeClock
from tests.fakes.ended import ended
from tests.fakes.fast_clock import FastClock
from tests.fakes.incoming import said
from tests.fakes.new_database import open_new
from tests.fakes.store import store_in_memory
from tests.fakes.told_turns import ToldTurns


async def test_only_the_first_reply_to_a_person_says_it() -> None:
    told = ToldTurns(store_in_memory(), FakeClock())
    await told.ask(said("Hello?", conversation="a"))
    await told.ask(said("Again?", conversation="b"), said("Hello?", person="ben", conversation="c"))
    assert told.shown == {"a": f"Yes.\n\n{memory_texts.LEARNS}", "b": "Yes.", "c": f"Yes.\n\n{memory_texts.LEARNS}"}


async def test_it_names_the_commands_as_they_are_called_where_the_person_reads_it() -> None:
    notice = FirstNotice(
        store_in_memory().preferences, lambda: True, lambda person, text: text.replace("`/", f"`/{person}-")
    )
    assert "`/ann-memory`" in (await notice.line(ended(1))).text


async def test_it_is_shown_and_not_stored_as_part_of_the_reply() -> None:
    store = store_in_memory()
    await ToldTurns(store, FakeClock()).ask(said("Hello?"))
    assert [message.text for _, message in store.messages] == ["Hello?", "Yes."]


@pytest.mark.slow
async def test_of_many_first_replies_at_once_in_two_processes_one_says_it() -> None:
    store = await open_new()
    clock = FastClock(speed=1.0)  # a jumping clock would take the store's threads for idleness
    try:
        told = [ToldTurns(store, clock, "one"), ToldTurns(store, clock, "two")]
        for number, process in enumerate(told):
            await process.ask(*(said("Hello?", conversation=f"{number}{letter}") for letter in "abc"))
    finally:
        await store.close()
    replies = [text for process in told for text in process.shown.values()]
    assert sorted(replies) == ["Yes."] * 5 + [f"Yes.\n\n{memory_texts.LEARNS}"]


async def test_a_turn_that_is_begun_anew_after_a_crash_says_it_again_in_its_own_reply() -> None:
    preferences = store_in_memory().preferences
    notice = FirstNotice(preferences, lambda: True)
    assert (await notice.line(ended(7))).text == memory_texts.LEARNS
    assert (await notice.line(ended(8))).text == ""
    assert (await notice.line(ended(7))).text == memory_texts.LEARNS


@pytest.mark.slow
async def test_whoever_is_forgotten_is_told_anew() -> None:
    store = store_in_memory()
    told = ToldTurns(store, FakeClock())
    await told.ask(said("Hello?", conversation="a"))
    await store.forgetting.forget(Everything("ann"), told.clock.now() + timedelta(seconds=1))
    await told.ask(said("Hello?", conversation="b"))
    assert told.shown["b"] == f"Yes.\n\n{memory_texts.LEARNS}"


async def test_where_nothing_is_learned_it_claims_no_learning() -> None:
    line = await FirstNotice(store_in_memory().preferences, lambda: False).line(ended())
    assert line.text == memory_texts.KEEPS


async def test_a_program_is_not_told_in_place_of_its_person() -> None:
    notice = FirstNotice(store_in_memory().preferences, lambda: True)
    by_program = replace(said("Hello?"), kind=TurnKind.API)
    assert (await notice.line(ended(1, by_program))).text == ""
    assert (await notice.line(ended(2))).text == memory_texts.LEARNS
