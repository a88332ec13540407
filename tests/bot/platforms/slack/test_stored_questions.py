"""Which messages are stored, and who may store one now."""

import asyncio

from bot.platforms.slack.stored_questions import StoredQuestions

KEY, OTHER = "C1:1700000000.0001", "C1:1700000000.0002"


def test_only_a_message_that_was_added_is_stored() -> None:
    questions = StoredQuestions()
    assert KEY not in questions
    questions.add(KEY)
    assert (KEY in questions, OTHER in questions) == (True, False)


async def test_the_events_of_one_message_are_stored_one_after_the_other_and_those_of_others_meanwhile() -> None:
    questions, began, gate, times = StoredQuestions(), asyncio.Event(), asyncio.Event(), list[str]()

    async def first() -> None:
        async with questions.lock(KEY):
            began.set()
            await gate.wait()
            times.append("first")

    async def second() -> None:
        async with questions.lock(KEY):
            times.append("second")

    tasks = [asyncio.create_task(first()), asyncio.create_task(second())]
    await began.wait()
    async with questions.lock(OTHER):
        times.append("other")
    gate.set()
    await asyncio.gather(*tasks)
    assert times == ["other", "first", "second"]


async def test_an_event_that_was_cancelled_lets_the_other_one_store_the_message() -> None:
    questions, began = StoredQuestions(), asyncio.Event()

    async def hang() -> None:
        async with questions.lock(KEY):
            began.set()
            await asyncio.Event().wait()

    task = asyncio.create_task(hang())
    await began.wait()
    task.cancel()
    async with questions.lock(KEY):
        assert KEY not in questions
