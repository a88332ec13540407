"""When a failed delivery is tried again: later and later, within a day, and as the receiver asks within bounds."""

from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from itertools import count, pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent.outgoing import TRIED_FOR
from bot.webhooks.outgoing.retries import LIMITS, next_attempt, parse_retry_after
from tests.examples import examples

NOW = datetime(2026, 1, 5, 12, 0, tzinfo=UTC)
RANDOM = st.floats(0, 1, exclude_max=True)
PAUSES = st.timedeltas(timedelta(), timedelta(days=400))


def tried(random: float) -> list[datetime]:
    """The times of all attempts of a delivery whose receiver never answers."""
    times = [NOW]
    for failed in count(1):
        again = next_attempt(failed, times[-1], NOW + TRIED_FOR, random)
        if again is None:
            return times
        times.append(again)
    raise AssertionError


@settings(max_examples=examples(60))
@given(RANDOM)
def test_a_delivery_is_tried_for_a_day_with_pauses_that_grow_and_then_given_up(random: float) -> None:
    times = tried(random)
    pauses = [later - earlier for earlier, later in pairwise(times)]
    assert pauses == sorted(pauses)
    assert timedelta(seconds=3) <= pauses[0] <= timedelta(seconds=7)
    assert pauses[-1] <= LIMITS.longest * (1 + LIMITS.jitter)
    assert TRIED_FOR - 2 * LIMITS.longest <= times[-1] - NOW <= TRIED_FOR
    assert len(times) < 60


@settings(max_examples=examples(100))
@given(st.integers(1, 10_000), RANDOM, st.none() | PAUSES)
def test_the_pause_is_at_least_what_the_receiver_asks_within_six_hours(
    failed: int, random: float, asked: timedelta | None
) -> None:
    again = next_attempt(failed, NOW, NOW + timedelta(days=4_000), random, asked)
    assert again is not None
    assert timedelta(seconds=3) <= again - NOW <= LIMITS.longest_asked
    if asked is not None:
        assert again - NOW >= min(asked, LIMITS.longest_asked)


def test_after_a_day_without_the_bot_a_delivery_still_has_some_attempts() -> None:
    ended = NOW - timedelta(days=2)
    assert [next_attempt(failed, NOW, ended, 0.5) is None for failed in range(1, 8)] == [*[False] * 5, True, True]


@pytest.mark.parametrize(
    ("value", "pause"),
    [
        ("120", timedelta(seconds=120)),
        (" 0 ", timedelta()),
        ("999999999", timedelta(seconds=999_999_999)),
        (format_datetime(NOW + timedelta(minutes=2), usegmt=True), timedelta(minutes=2)),
        (format_datetime(NOW - timedelta(minutes=2), usegmt=True), timedelta()),
        *((text, None) for text in ("", "-1", "1.5", "soon", "١٢", "9" * 10, "Mon, 05 Jan 2026 12:02:00", "x" * 50)),
    ],
)
def test_retry_after_is_seconds_or_a_date_and_anything_else_is_ignored(value: str, pause: timedelta | None) -> None:
    assert parse_retry_after(value, NOW) == pause


@settings(max_examples=examples(200))
@given(st.text(max_size=60) | st.text("MonJa 0123456789:,+-GT", max_size=40))
def test_no_value_of_retry_after_is_an_error(value: str) -> None:
    pause = parse_retry_after(value, NOW)
    assert pause is None or pause >= timedelta()
