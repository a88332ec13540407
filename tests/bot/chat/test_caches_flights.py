"""Who asks for the same thing at the same time shares one request, and nobody else's troubles."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence

import pytest

from bot.chat.caches import ExpiringCache, SingleFlight
from tests.fakes.clock import FakeClock
from tests.patience import PATIENCE_S


class Platform:
    """Answers each request when it is let, with its number."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.answers: list[asyncio.Future[str]] = []

    async def load(self, key: str) -> str:
        self.asked.append(key)
        answer = asyncio.get_running_loop().create_future()
        self.answers.append(answer)
        return await answer


async def begun(*calls: Awaitable[str]) -> Sequence[asyncio.Future[str]]:
    tasks = [asyncio.ensure_future(call) for call in calls]
    for _ in range(5):
        await asyncio.sleep(0)
    return tasks


async def within(task: Awaitable[str]) -> str:
    async with asyncio.timeout(PATIENCE_S):
        return await task


async def test_a_hundred_and_fifty_at_once_make_one_request_for_each_key() -> None:
    platform = Platform()
    cache = ExpiringCache(platform.load, FakeClock())
    tasks = await begun(*(cache.get(f"U{number % 3}") for number in range(150)))
    assert sorted(platform.asked) == ["U0", "U1", "U2"]
    for answer in platform.answers:
        answer.set_result("Ann")
    assert {await within(task) for task in tasks} == {"Ann"}
    assert await within(cache.get("U0")) == "Ann"
    assert len(platform.asked) == 3


async def test_one_who_goes_away_leaves_the_request_to_the_others() -> None:
    platform = Platform()
    cache = ExpiringCache(platform.load, FakeClock())
    first, second = await begun(cache.get("U"), cache.get("U"))
    first.cancel()
    platform.answers[0].set_result("Ann")
    assert await within(second) == "Ann"
    assert first.cancelled()
    assert await within(cache.get("U")) == "Ann"
    assert len(platform.asked) == 1


async def test_an_error_is_raised_to_all_and_not_kept() -> None:
    platform = Platform()
    cache = ExpiringCache(platform.load, FakeClock())
    tasks = await begun(cache.get("U"), cache.get("U"))
    platform.answers[0].set_exception(ConnectionError("away"))
    for task in tasks:
        with pytest.raises(ConnectionError):
            await within(task)
    (again,) = await begun(cache.get("U"))
    platform.answers[1].set_result("Ann")
    assert await within(again) == "Ann"


async def test_an_answer_that_is_under_way_when_something_changes_is_not_kept() -> None:
    platform = Platform()
    cache = ExpiringCache(platform.load, FakeClock())
    (before,) = await begun(cache.get("U"))
    cache.drop("U")
    (after,) = await begun(cache.get("U"))
    platform.answers[1].set_result("new")
    assert await within(after) == "new"
    platform.answers[0].set_result("old")
    assert await within(before) == "old"
    assert await within(cache.get("U")) == "new"


async def test_who_needs_a_fresh_answer_does_not_wait_for_one_that_was_asked_for_before() -> None:
    platform, clock = Platform(), FakeClock()
    cache = ExpiringCache(platform.load, clock)
    (old,) = await begun(cache.get("U"))
    await clock.advance(10)
    fresh, other = await begun(cache.get("U", max_age_s=5), cache.get("U"))
    assert len(platform.asked) == 2
    platform.answers[1].set_result("new")
    platform.answers[0].set_result("old")
    assert [await within(task) for task in (old, fresh, other)] == ["old", "new", "new"]
    assert await within(cache.get("U")) == "new"


async def test_a_flight_that_nobody_waits_for_ends_without_a_word(caplog: pytest.LogCaptureFixture) -> None:
    platform, flights = Platform(), SingleFlight[str]()
    asking: Callable[[], Awaitable[str]] = lambda: flights.load("U", lambda: platform.load("U"))  # noqa: E731 -- twice
    (one,) = await begun(asking())
    one.cancel()
    await begun()
    platform.answers[0].set_exception(ConnectionError("away"))
    await begun()
    (again,) = await begun(asking())
    platform.answers[1].set_result("Ann")
    assert await within(again) == "Ann"
    assert caplog.records == []
