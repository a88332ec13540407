"""Background tasks end, or are cancelled: none outlives the platform."""

import asyncio

import pytest

from bot.chat.background_tasks import BackgroundTasks


async def hang() -> None:
    await asyncio.Event().wait()


async def test_what_ends_in_time_is_waited_for() -> None:
    underway, done = BackgroundTasks(patience_s=9.0), list[str]()

    async def work() -> None:
        await asyncio.sleep(0)
        done.append("it")

    underway.start(work())
    await underway.close()
    assert done == ["it"]


@pytest.mark.parametrize("patience_s", [0.0, 0.01])
async def test_what_does_not_end_is_cancelled(patience_s: float) -> None:
    underway = BackgroundTasks(patience_s)
    task = underway.start(hang())
    await underway.close()
    assert task.cancelled()


async def test_there_may_be_nothing_to_close() -> None:
    await BackgroundTasks(9.0).close()
