"""One timer for many waits: each has its own timeout, and a cancellation by others is not lost."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import pytest

from agent.providers.replay import IdleTimeout

BOUND_S = 5.0
LONG_S = 60.0


@asynccontextmanager
async def watching() -> AsyncGenerator[IdleTimeout, None]:
    watch = IdleTimeout()
    try:
        async with asyncio.timeout(BOUND_S):
            yield watch
    finally:
        watch.close()


async def value() -> int:
    return 7


async def test_what_is_there_is_the_result() -> None:
    async with watching() as watch:
        assert [await watch.wait(value(), LONG_S) for _ in range(3)] == [7, 7, 7]


async def test_a_wait_that_takes_too_long_is_ended() -> None:
    cancelled: list[bool] = []

    async def never() -> None:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            cancelled.append(True)
            raise

    async with watching() as watch:
        with pytest.raises(TimeoutError):
            await watch.wait(never(), 0.02)
        assert cancelled
        assert await watch.wait(value(), LONG_S) == 7


async def test_a_short_wait_after_a_long_one_is_not_as_long() -> None:
    async with watching() as watch:
        await watch.wait(value(), LONG_S)
        with pytest.raises(TimeoutError):
            await watch.wait(asyncio.Event().wait(), 0.02)


async def test_a_long_wait_after_a_short_one_is_not_as_short() -> None:
    async with watching() as watch:
        await watch.wait(value(), 0.02)
        assert await watch.wait(asyncio.sleep(0.1, 7), LONG_S) == 7


async def test_time_between_the_waits_does_not_count() -> None:
    async with watching() as watch:
        await watch.wait(value(), 0.02)
        await asyncio.sleep(0.05)
        assert await watch.wait(asyncio.sleep(0, 7), 0.5) == 7
        with pytest.raises(TimeoutError):
            await watch.wait(asyncio.Event().wait(), 0.02)


async def test_an_error_goes_through() -> None:
    async def fail() -> None:
        raise LookupError

    async with watching() as watch:
        with pytest.raises(LookupError):
            await watch.wait(fail(), LONG_S)


async def test_a_task_that_is_cancelled_is_cancelled() -> None:
    async def wait() -> None:
        async with watching() as watch:
            await watch.wait(asyncio.Event().wait(), LONG_S)

    task = asyncio.create_task(wait())
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_a_task_that_is_cancelled_while_its_wait_is_ended_is_cancelled() -> None:
    async def wait(watch: IdleTimeout) -> None:
        await watch.wait(asyncio.Event().wait(), 0.02)

    async with watching() as watch:
        task = asyncio.create_task(wait(watch))
        asyncio.get_running_loop().call_later(0.02, task.cancel)
        with pytest.raises(asyncio.CancelledError):
            await task


async def test_a_timeout_around_a_wait_holds() -> None:
    async with watching() as watch:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.02):
                await watch.wait(asyncio.Event().wait(), LONG_S)
        task = asyncio.current_task()
        assert task is not None
        assert task.cancelling() == 0
