"""The watermark of a platform, and from when on messages may have been missed."""

from dataclasses import replace
from datetime import datetime, timedelta

import pytest

from agent.errors import CogencyError, StoreError, StoreUnavailable
from bot.chat.watermark import KEEP_S, Bounds, Watermark
from tests.fakes.clock import NOON, FakeClock
from tests.fakes.recording_host import RecordingHost, recording_host
from tests.fakes.store import WatchedConversations, store_in_memory

BOUNDS = Bounds()


async def listening(host: RecordingHost, clock: FakeClock) -> Watermark:
    """A connected process that has missed nothing."""
    begun = Watermark(host, "test", clock)
    await begun.begin()
    begun.connected = True
    return begun


async def test_nothing_was_missed_before_the_first_time() -> None:
    begun = await listening(recording_host(), FakeClock())
    assert begun.since() is None
    assert begun.silent_for() == timedelta()


async def test_another_process_looks_back_to_when_everything_was_heard_and_a_little_further() -> None:
    host, clock = recording_host(), FakeClock()
    await (await listening(host, clock)).note()
    await clock.advance(3600)
    later = await listening(host, clock)
    assert later.since() == NOON - BOUNDS.overlap
    assert later.silent_for() == timedelta(hours=1)


async def test_nobody_looks_back_further_than_somebody_would_wait_for_an_answer() -> None:
    host, clock = recording_host(), FakeClock()
    await (await listening(host, clock)).note()
    await clock.advance(timedelta(days=9).total_seconds())
    assert (await listening(host, clock)).since() == clock.now() - BOUNDS.age


async def test_the_time_stands_still_without_a_connection_and_until_what_was_missed_is_taken_in() -> None:
    host, clock = recording_host(), FakeClock(auto=False)
    begun = await listening(host, clock)
    began = clock.now()
    await clock.advance(60)
    begun.connected = False
    await begun.note()
    begun.connected, begun.behind = True, True
    await begun.note()
    assert await host.conversations.watermark("test") == began
    begun.behind = False
    await begun.note()
    assert await host.conversations.watermark("test") == clock.now()


async def test_what_the_first_process_missed_by_dying_at_once_the_next_one_looks_for() -> None:
    host, clock = recording_host(), FakeClock()
    began = clock.now()
    await listening(host, clock)
    await clock.advance(5)
    assert (await listening(host, clock)).since() == began - BOUNDS.overlap


class Broken(WatchedConversations):
    async def set_watermark(self, source: str, time: datetime) -> None:  # noqa: ARG002 -- it fails for any time
        raise StoreError("The disk is full.")


async def test_a_time_that_cannot_be_kept_stops_nothing() -> None:
    store, clock = store_in_memory(), FakeClock()
    host = recording_host(replace(store, conversations=Broken(store.database)))
    begun = await listening(host, clock)
    await begun.note()
    await clock.advance(2 * KEEP_S)
    await begun.note()
    assert begun.silent_for() == timedelta()


async def test_what_cannot_be_stored_is_tried_until_it_can_and_somebody_is_told_once() -> None:
    host, clock = recording_host(), FakeClock()
    begun = await listening(host, clock)
    told: list[str] = []
    failures = [StoreUnavailable("away")] * 5

    async def take() -> str:
        if failures:
            await begun.note()
            raise failures.pop()
        return "taken"

    async def tell(error: CogencyError) -> None:
        told.append(str(error))

    assert await begun.retry(take, tell) == "taken"
    assert told == ["away"]
    assert clock.now() == NOON + timedelta(seconds=1 + 2 + 4 + 8 + 16)
    await begun.note()
    assert await host.conversations.watermark("test") == clock.now()


async def test_one_failure_is_told_to_nobody() -> None:
    begun = await listening(recording_host(), FakeClock())
    failures = [StoreUnavailable("away")]

    async def take() -> None:
        if failures:
            raise failures.pop()

    async def tell(error: CogencyError) -> None:
        raise AssertionError(error)

    await begun.retry(take, tell)


@pytest.mark.parametrize(("asked_s", "is_told"), [(1.5, False), (30.0, True)])
async def test_a_service_is_not_asked_before_it_says_and_whoever_waits_long_is_told_at_once(
    asked_s: float, is_told: bool
) -> None:
    host, clock = recording_host(), FakeClock()
    begun = await listening(host, clock)
    limited = StoreUnavailable("limited")
    limited.retry_after_s = asked_s
    failures, told = [limited], list[datetime]()

    async def take() -> str:
        if failures:
            raise failures.pop()
        return "taken"

    async def tell(_: CogencyError) -> None:
        told.append(clock.now())

    assert await begun.retry(take, tell) == "taken"
    assert clock.now() == NOON + timedelta(seconds=asked_s)
    assert told == [NOON] * is_told


async def test_what_has_become_too_old_is_given_up() -> None:
    clock = FakeClock()
    begun = await listening(recording_host(), clock)

    async def take() -> None:
        raise StoreUnavailable("away")

    async def tell(error: CogencyError) -> None:
        pass

    with pytest.raises(StoreUnavailable):
        await begun.retry(take, tell)
    assert clock.now() - NOON < BOUNDS.age + timedelta(minutes=1)
