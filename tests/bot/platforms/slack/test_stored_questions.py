"""Of the events of one message, one stores it; none is dropped before that."""

import asyncio

import pytest

from agent.errors import StoreUnavailable
from bot.platforms.slack.stored_questions import StoredQuestions

KEY = "C1:1700000000.0001"


async def stored() -> bool:
    return True


async def dropped() -> bool:
    return False


async def never() -> bool:
    raise AssertionError


async def test_a_stored_message_is_stored_once() -> None:
    questions = StoredQuestions()
    assert KEY not in questions
    assert await questions.store_once(KEY, stored)
    assert KEY in questions
    assert not await questions.store_once(KEY, never)
    assert "C1:1700000000.0002" not in questions


async def test_what_was_not_stored_is_tried_again() -> None:
    async def fail() -> bool:
        raise StoreUnavailable("away")

    questions = StoredQuestions()
    assert not await questions.store_once(KEY, dropped)
    with pytest.raises(StoreUnavailable):
        await questions.store_once(KEY, fail)
    assert KEY not in questions
    assert await questions.store_once(KEY, stored)


@pytest.mark.parametrize("how", ["stored", "refused", "failed", "cancelled"])
async def test_the_second_event_waits_for_the_first_and_stores_the_message_only_if_that_did_not(how: str) -> None:
    questions, began, gate, times = StoredQuestions(), asyncio.Event(), asyncio.Event(), list[str]()

    async def first() -> bool:
        times.append("first")
        began.set()
        await gate.wait()
        if how == "failed":
            raise StoreUnavailable("away")
        return how == "stored"

    async def second() -> bool:
        times.append("second")
        return True

    tasks = [asyncio.create_task(questions.store_once(KEY, store)) for store in (first, second)]
    await began.wait()
    if how == "cancelled":
        tasks[0].cancel()
    gate.set()
    results = await asyncio.gather(*tasks, return_exceptions=True)
    assert times == (["first"] if how == "stored" else ["first", "second"])
    assert results[1] == (how != "stored")
    assert KEY in questions
