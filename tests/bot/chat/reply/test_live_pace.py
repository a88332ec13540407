"""The pace of writes: when the next one may start."""

from bot.chat.reply.live import AT_ONCE, MAX_STRETCH, Pace
from bot.chat.reply.surface import Limits

LIMITS = Limits(page_chars=2_000, edit_interval_s=1.2)


def test_the_first_write_may_start_at_once() -> None:
    assert Pace(LIMITS).not_before == AT_ONCE


def test_the_next_one_waits_for_an_interval_after_the_return() -> None:
    assert Pace(LIMITS).after_write(returned=10).not_before == 11.2


def test_a_new_page_follows_the_end_of_the_last_one_at_once_unless_the_platform_was_in_trouble() -> None:
    assert Pace(LIMITS).after_write(returned=10, page_ended=True).not_before == 10
    hasty = Pace(LIMITS).after_limit(returned=9, retry_after_s=1).after_limit(returned=10, retry_after_s=1)
    assert hasty.after_write(returned=20, page_ended=True).not_before > 20


def test_a_limit_is_obeyed() -> None:
    assert Pace(LIMITS).after_limit(returned=10, retry_after_s=8).not_before == 18


def test_a_limit_that_asks_for_less_than_our_own_pace_slows_us_down_all_the_same() -> None:
    assert Pace(LIMITS).after_limit(returned=10, retry_after_s=0).not_before == 12.4


def test_limits_in_a_row_stretch_the_interval_and_good_writes_take_it_back() -> None:
    pace = Pace(LIMITS)
    for _ in range(10):
        pace = pace.after_limit(returned=0, retry_after_s=0)
    assert pace.stretch == MAX_STRETCH
    assert pace.after_write(returned=0).not_before == 1.2 * MAX_STRETCH / 2
    for _ in range(3):
        pace = pace.after_write(returned=0)
    assert pace.not_before == 1.2


def test_a_failure_waits_for_its_backoff_but_not_less_than_the_interval() -> None:
    assert Pace(LIMITS).after_failure(returned=10, backoff_s=4).not_before == 14
    assert Pace(LIMITS).after_failure(returned=10, backoff_s=0.1).not_before == 11.2
