"""Answers go first on this machine's own model."""

import asyncio

import pytest

from bot.chat.foreground import ForegroundPriority
from tests.patience import PATIENCE_S


async def forever() -> str:
    await asyncio.Event().wait()
    return "never"


async def at_once() -> str:
    return "done"


async def test_background_work_ends_normally_while_no_answer_runs() -> None:
    assert await ForegroundPriority().while_free(at_once()) == "done"


async def test_background_work_does_not_start_while_an_answer_runs() -> None:
    floor = ForegroundPriority()
    with floor.answering(), floor.answering():
        assert await floor.while_free(at_once()) is None
    assert await floor.while_free(at_once()) == "done"


async def test_background_work_is_interrupted_as_soon_as_an_answer_starts() -> None:
    floor = ForegroundPriority()
    async with asyncio.timeout(PATIENCE_S):
        working = asyncio.create_task(floor.while_free(forever()))
        await asyncio.sleep(0)
        with floor.answering():
            assert await working is None


async def test_failing_background_work_raises_its_own_error() -> None:
    async def failing() -> str:
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        await ForegroundPriority().while_free(failing())
