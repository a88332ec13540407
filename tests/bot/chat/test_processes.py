"""What starts and ends processes is not interrupted, and hides no cancellation."""

import asyncio
import sys

import pytest

from bot.chat.processes import complete, kill, started
from tests.fakes.cancelling import left_by_cancelling
from tests.patience import PATIENCE_S


async def test_work_that_is_cancelled_twice_goes_to_its_end_and_the_cancellation_is_raised_then() -> None:
    begun, may_end, done = asyncio.Event(), asyncio.Event(), list[str]()

    async def work() -> None:
        begun.set()
        await may_end.wait()
        done.append("to its end")

    caller = asyncio.create_task(complete(work()))
    await begun.wait()
    for _ in range(2):
        caller.cancel()
        await asyncio.sleep(0)
    assert not caller.done()
    may_end.set()
    await asyncio.wait({caller}, timeout=PATIENCE_S)
    assert caller.cancelled()
    assert done == ["to its end"]


async def test_the_failure_of_the_work_is_raised() -> None:
    async def work() -> None:
        raise ValueError("torn")

    with pytest.raises(ValueError, match="torn"):
        await complete(work())


async def test_a_process_that_cannot_be_started_is_reported_as_such() -> None:
    with pytest.raises(FileNotFoundError):
        await started(asyncio.create_subprocess_exec("/nowhere/at/all"), kill)


@pytest.mark.slow
@pytest.mark.parametrize("again", [False, True], ids=["once", "at each step from there on"])
def test_a_process_whose_start_or_end_is_cancelled_at_any_step_has_ended(again: bool) -> None:
    async def work() -> None:
        starting = asyncio.create_subprocess_exec(
            sys.executable, "-S", "-E", "-c", "input()", stdin=-1, stdout=-1, start_new_session=True
        )
        process = await started(starting, kill)
        try:
            await asyncio.sleep(0)
        finally:
            await complete(kill(process))

    assert left_by_cancelling(work, again=again) == []
