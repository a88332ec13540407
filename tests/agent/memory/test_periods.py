"""Periods that a question mentions. It is Wednesday, 20 May 2026, 01:30 in Madrid; in UTC it is still Tuesday."""

from datetime import UTC, date, datetime
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.memory.periods import MAX_PERIODS, periods_in

MADRID = "Europe/Madrid"
NOW = datetime(2026, 5, 19, 23, 30, tzinfo=UTC)


def days(text: str, zone: str = MADRID) -> list[tuple[str, str]]:
    """First day, and the day after the last, on the person's calendar."""
    local = ZoneInfo(zone)
    return [
        (str(period.since.astimezone(local).date()), str(period.until.astimezone(local).date()))
        for period in periods_in(text, NOW, zone)
    ]


@pytest.mark.parametrize(
    ("text", "since", "until"),
    [
        ("what did I say today?", "2026-05-20", "2026-05-21"),
        ("yesterday", "2026-05-19", "2026-05-20"),
        ("昨日の会議", "2026-05-19", "2026-05-20"),
        ("last week", "2026-05-11", "2026-05-18"),
        ("上周说的", "2026-05-11", "2026-05-18"),
        ("先週", "2026-05-11", "2026-05-18"),
        ("this week", "2026-05-18", "2026-05-25"),
        ("last weekend", "2026-05-16", "2026-05-18"),
        ("last month", "2026-04-01", "2026-05-01"),
        ("last year", "2025-01-01", "2026-01-01"),
        ("去年", "2025-01-01", "2026-01-01"),
        ("on Monday", "2026-05-18", "2026-05-19"),
        ("last Wednesday", "2026-05-13", "2026-05-14"),
        ("3 days ago", "2026-05-17", "2026-05-18"),
        ("two weeks ago", "2026-05-03", "2026-05-10"),
        ("a month ago", "2026-04-01", "2026-05-01"),
        ("the last 3 days", "2026-05-17", "2026-05-21"),
        ("the past two weeks", "2026-05-06", "2026-05-21"),
        ("the past two months", "2026-03-01", "2026-05-21"),
        ("in May", "2026-05-01", "2026-06-01"),
        ("in June", "2025-06-01", "2025-07-01"),
        ("May 2024", "2024-05-01", "2024-06-01"),
        ("in Sept. 2024", "2024-09-01", "2024-10-01"),
        ("on 3 June", "2025-06-03", "2025-06-04"),
        ("on the 3rd of June, 2024", "2024-06-03", "2024-06-04"),
        ("August 14, 2023", "2023-08-14", "2023-08-15"),
        ("since 2024", "2024-01-01", "2025-01-01"),
        ("2024-02-29", "2024-02-29", "2024-03-01"),
        ("2024-02", "2024-02-01", "2024-03-01"),
        ("2024年2月", "2024-02-01", "2024-03-01"),
        ("3月14日", "2026-03-14", "2026-03-15"),
    ],
)
def test_a_time_is_read_on_the_persons_calendar(text: str, since: str, until: str) -> None:
    assert days(text) == [(since, until)]


@pytest.mark.parametrize("text", ["", "may I ask?", "you may say so", "march on", "13月", "9999 bolts", "decide now"])
def test_what_is_no_time_says_nothing(text: str) -> None:
    assert days(text) == []


def test_a_day_that_does_not_exist_is_read_as_its_month() -> None:
    assert days("31 June 2024") == [("2024-06-01", "2024-07-01")]


def test_several_times_are_all_read() -> None:
    assert days("between May 2024 and July 2024") == [("2024-05-01", "2024-06-01"), ("2024-07-01", "2024-08-01")]


def test_an_unknown_zone_is_read_as_utc() -> None:
    [period] = periods_in("today", NOW, "Nowhere/Land")
    assert (period.since, period.until.date()) == (datetime(2026, 5, 19, tzinfo=UTC), date(2026, 5, 20))


pieces = st.sampled_from(
    ["0", "3", "12", "31", "2024", "年", "月", "日", "-", " ", "ago", "last", "weeks", "may", "on"]
)


@given(st.text(max_size=60) | st.lists(pieces).map("".join) | st.lists(pieces).map(" ".join))
def test_any_text_gives_a_bounded_number_of_periods_that_begin_before_they_end(text: str) -> None:
    found = periods_in(text, NOW, MADRID)
    assert len(found) <= MAX_PERIODS
    assert all(period.since < period.until for period in found)
