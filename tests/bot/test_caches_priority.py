"""Answers go first on this machine's own model."""

import asyncio

import pytest

from bot.caches import ForegroundPriority
from tests.patience import PATIENCE_S


async def forever() -> str:
    await asyncio.Event().wait()
    return "never"


async def at_once() -> str:
    return "done"


async def test_who_works_while_nobody_is_answered_comes_to_an_end() -> None:
    assert await ForegroundPriority().while_free(at_once()) == "done"


async def test_nobody_begins_while_somebody_is_answered() -> None:
    floor = ForegroundPriority()
    with floor.answering(), floor.answering():
        assert await floor.while_free(at_once()) is None
    assert await floor.while_free(at_once()) == "done"


async def test_who_works_gives_way_as_soon_as_somebody_is_answered() -> None:
    floor = ForegroundPriority()
    async with asyncio.timeout(PATIENCE_S):
        working = asyncio.create_task(floor.while_free(forever()))
        await asyncio.sleep(0)
        with floor.answering():
            assert await working is None


async def test_work_that_fails_fails_as_it_would_alone() -> None:
    async def failing() -> str:
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        await ForegroundPriority().while_free(failing())
