"""Notices that were shown a moment ago."""

from bot.chat.access.admission import MAX_SHOWN, SHOWN_AGAIN, NoticeThrottle
from tests.fakes.clock import FakeClock


async def test_a_reason_is_shown_to_a_person_once_a_minute() -> None:
    clock = FakeClock()
    throttle = NoticeThrottle(clock)
    assert [throttle.was_shown("ann", "full") for _ in range(3)] == [False, True, True]
    assert not throttle.was_shown("ben", "full")
    assert not throttle.was_shown("ann", "closed")
    await clock.advance(SHOWN_AGAIN.total_seconds())
    assert not throttle.was_shown("ann", "full")


def test_the_number_of_remembered_notices_is_bounded() -> None:
    throttle = NoticeThrottle(FakeClock())
    for number in range(MAX_SHOWN + 1):
        throttle.was_shown(f"person {number}", "full")
    assert not throttle.was_shown("person 0", "full")
    assert throttle.was_shown(f"person {MAX_SHOWN}", "full")
