"""When schedules are due, compared with a simulated clock minute by minute."""

from calendar import monthrange
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from time import process_time
from zoneinfo import ZoneInfo

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from agent.cron_rules import MAX_RULE_CHARS
from agent.schedules.definitions import Timing
from agent.schedules.long_work import MAX_ROUND_TIME, asked_in, work_conversation, worked_for
from agent.schedules.times import DEFAULT_DURATION, in_words, next_occurrence, problem_of, with_end
from tests.patience import cpu_s

ZONES = ("Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Africa/Cairo", "Asia/Kolkata", "America/Santiago")
NOW = datetime(2026, 11, 23, 12, tzinfo=UTC)
MINUTE = timedelta(minutes=1)


def watched(
    zone: str, minutes: frozenset[int], hours: frozenset[int], begin: datetime, end: datetime
) -> list[datetime]:
    """The times at which a schedule is due for an observer that reads the clock of the zone each minute, remembers the
    times that it has shown, and runs skipped times at once.
    """
    called = list[datetime]()
    clock, at = begin.astimezone(ZoneInfo(zone)).replace(tzinfo=None) - MINUTE, begin
    while at < end:
        shows = at.astimezone(ZoneInfo(zone)).replace(tzinfo=None)
        due = False
        while clock < shows:  # each time comes once: what is shown again was shown before
            clock += MINUTE
            due = due or (clock.minute in minutes and clock.hour in hours)
        if due:
            called.append(at)
        at += MINUTE
    return called


def all_of(timing: Timing, begin: datetime, end: datetime) -> list[datetime]:
    found, at = list[datetime](), next_occurrence(timing, begin - MINUTE)
    while at is not None and at < end:
        found.append(at)
        at = next_occurrence(timing, at)
    return found


@st.composite
def changes(draw: st.DrawFn) -> tuple[str, datetime]:
    """A zone, and two days around one of its changes, if it has any."""
    zone = draw(st.sampled_from(ZONES))
    begin = datetime(2026, 1, 1, tzinfo=UTC)
    days = [begin + timedelta(days=day) for day in range(365)]
    offsets = [day.astimezone(ZoneInfo(zone)).utcoffset() for day in days]
    turned = [at for at, one, later in zip(days, offsets, offsets[1:], strict=False) if one != later]
    return zone, draw(st.sampled_from(turned or days)) - timedelta(hours=12)


@pytest.mark.slow
@given(
    changes(),
    st.frozensets(st.integers(0, 59), min_size=1, max_size=4),
    st.frozensets(st.integers(0, 23), min_size=1, max_size=12),
)
def test_each_time_on_the_clock_comes_once_and_what_the_clocks_leave_out_comes_at_once(
    change: tuple[str, datetime], minutes: frozenset[int], hours: frozenset[int]
) -> None:
    zone, begin = change
    end = begin + timedelta(days=2)
    rule = f"{','.join(map(str, sorted(minutes)))} {','.join(map(str, sorted(hours)))} * * *"
    before = watched(zone, minutes, hours, begin - timedelta(hours=6), end)
    assert all_of(Timing(zone, rule=rule), begin, end) == [at for at in before if at >= begin]


@given(changes(), st.integers(0, 59), st.sampled_from([1, 2, 3]))
def test_a_rule_for_every_hour_goes_by_the_time_that_passes(
    change: tuple[str, datetime], minute: int, times: int
) -> None:
    zone, begin = change
    rule = f"{','.join(str((minute + 20 * one) % 60) for one in range(times))} * * * *"
    found = all_of(Timing(zone, rule=rule), begin, begin + timedelta(days=2))
    longest = 60 if zone != "Australia/Lord_Howe" else 90  # there the clocks change by half an hour
    assert all(timedelta() < later - one <= timedelta(minutes=longest) for one, later in pairwise(found))
    assert len(found) >= 46 * times


@given(
    st.sampled_from(ZONES),
    st.integers(0, 365 * 24 * 60).map(lambda minutes: NOW + minutes * MINUTE),
    st.from_regex(
        r"(\*|\*/[1-9]|[0-5]?[0-9](,[0-5]?[0-9])?) (\*|\*/[1-9]|1?[0-9](-2[0-3])?) \* \* (\*|[0-6])", fullmatch=True
    ),
)
def test_what_is_accepted_comes_after_each_time_before_its_end_and_seldom_enough(
    zone: str, now: datetime, rule: str
) -> None:
    timing = with_end(Timing(zone, rule=rule), now)
    if problem_of(timing, now):
        return
    at = now
    for _ in range(30):
        found = next_occurrence(timing, at)
        if found is None:
            return
        assert at < found <= now + DEFAULT_DURATION
        jumped = (found - timedelta(hours=1)).astimezone(ZoneInfo(zone)).utcoffset() != found.astimezone(
            ZoneInfo(zone)
        ).utcoffset()
        assert jumped or at == now or found - at >= timedelta(minutes=5)
        at = found


@pytest.mark.parametrize(
    ("timing", "problem"),
    [
        (Timing("Europe/Berlin", at=NOW), "has passed"),
        (Timing("Europe/Berlin", at=NOW + timedelta(days=3000)), "too far"),
        (Timing("Europe/Berlin", at=(NOW + timedelta(days=1)).replace(tzinfo=None)), "UTC"),
        (Timing("Mars/Olympus", rule="0 9 * * *"), "Mars/Olympus"),
        (Timing("../../etc/passwd", rule="0 9 * * *"), "unknown"),
        (Timing("Europe/Berlin"), "Give either"),
        (Timing("Europe/Berlin", at=NOW + MINUTE, rule="0 9 * * *"), "Give either"),
        (Timing("Europe/Berlin", rule="* * * * *"), "too often"),
        (Timing("Europe/Berlin", rule="*/7 * * * *"), "too often"),  # 56 and 0
        (Timing("Europe/Berlin", rule="58,1 23,0 * * *"), "too often"),  # over midnight
        (Timing("Europe/Berlin", rule="0 0 30 2 *"), "not a valid rule"),
        (Timing("Europe/Berlin", rule="0 9 * *"), "not a valid rule"),
        (Timing("Europe/Berlin", rule="0 0 9 * * *"), "not a valid rule"),
        (Timing("Europe/Berlin", rule="0 9 1 10 *"), "does not occur within 180 days"),
        (Timing("Europe/Berlin", rule="0 9 * * 1", until=NOW + timedelta(hours=1)), "before its end"),
        (Timing("Europe/Berlin", rule="0 9 * * 1", until=NOW + timedelta(days=3000)), "too far"),
        (Timing("Europe/Berlin", rule="0 9 29 2 *", until=NOW + timedelta(days=1000)), ""),
        (Timing("Europe/Berlin", rule="*/5 * * * *"), ""),
        (Timing("Europe/Berlin", rule="0 9 l * *"), ""),
    ],
)
def test_what_cannot_be_a_schedule_is_said_in_a_sentence(timing: Timing, problem: str) -> None:
    assert problem in problem_of(timing, NOW)
    assert bool(problem) == bool(problem_of(timing, NOW))


@pytest.mark.slow
@given(st.text("0123456789*/,-#LW MON JAN", max_size=MAX_RULE_CHARS + 5))
@example("*/5 * * * *")
@example("0 0 1 1 *")
@example("0 0 29 2 */7")
@example("0 0 * 2 1#5")
@example("0 0 31 4 1#5")
@example("59 23 29 2 6#5")
def test_a_hostile_rule_is_refused_or_comes_within_a_moment_of_work(rule: str) -> None:
    began = process_time()
    problem = problem_of(Timing("Europe/Berlin", rule=rule, until=NOW + timedelta(days=1500), weeks=26), NOW)
    assert process_time() - began < cpu_s(0.5)
    if not problem:
        assert in_words(Timing("Europe/Berlin", rule=rule), NOW)


@pytest.mark.parametrize(
    ("timing", "words"),
    [
        (
            Timing("Europe/Berlin", rule="0 9 * * 1"),
            "Monday, November 30, 09:00 Europe/Berlin; then every Monday at 09:00, until May 22, 2027",
        ),
        (
            Timing("Europe/Berlin", rule="30 8 * * 0,6", until=NOW + timedelta(days=30)),
            (
                "Saturday, November 28, 08:30 Europe/Berlin; "
                "then every Saturday and Sunday at 08:30, until December 23, 2026"
            ),
        ),
        (
            Timing("Asia/Kolkata", rule="15 7 1 * *"),
            "Tuesday, December 1, 07:15 Asia/Kolkata; then on the 1st of every month at 07:15, until May 22, 2027",
        ),
        (Timing("America/New_York", at=NOW + timedelta(days=60)), "Friday, January 22, 2027, 07:00 America/New_York"),
        (Timing("America/New_York", at=NOW), ""),
        (Timing("", at=NOW + timedelta(minutes=20)), "in 20 minutes"),
        (Timing("", at=NOW + timedelta(minutes=61)), "in 1 hour and 1 minute"),
        (Timing("", at=NOW + timedelta(days=2, hours=3, minutes=4)), "in 2 days and 3 hours"),
        (Timing("", at=NOW + timedelta(seconds=5)), "in 1 minute"),
        (
            Timing("", at=NOW + timedelta(minutes=20)).seen_from("Asia/Kolkata"),
            "Monday, November 23, 17:50 Asia/Kolkata",
        ),
    ],
)
def test_a_time_is_said_in_words_in_its_zone_with_the_end_of_a_rule(timing: Timing, words: str) -> None:
    assert in_words(timing, NOW) == words


@pytest.mark.parametrize(
    ("around", "comes"),
    [
        (datetime(2026, 10, 3, 14, 0, tzinfo=UTC), ["14:00", "15:00", "15:30", "16:30"]),  # 02:00 is 02:30
        (datetime(2026, 4, 4, 13, 0, tzinfo=UTC), ["13:30", "14:30", "15:00", "16:00"]),  # 02:00 is 01:30
    ],
)
def test_a_rule_for_every_hour_comes_as_clocks_are_set_by_half_an_hour(around: datetime, comes: list[str]) -> None:
    timing = Timing("Australia/Lord_Howe", rule="30 * * * *")
    found = all_of(timing, around, around + timedelta(hours=3, minutes=1))
    assert [f"{one:%H:%M}" for one in found] == comes


def test_a_rule_of_every_third_day_counts_days_of_the_calendar_also_where_the_clocks_change() -> None:
    since = datetime(2026, 10, 22, 7, tzinfo=UTC)
    timing, found, later = Timing("Europe/Berlin", rule="0 9 * * *", since=since, days=3), list[str](), since
    while len(found) < 4:
        later = next_occurrence(timing, later - timedelta(seconds=not found)) or since
        found.append(f"{later.astimezone(ZoneInfo(timing.zone)):%m-%d %H:%M}")
    assert found == ["10-22 09:00", "10-25 09:00", "10-28 09:00", "10-31 09:00"]
    assert "then every 3 days at 09:00" in in_words(timing, since)
    assert problem_of(timing, NOW) == ""
    assert problem_of(Timing("Europe/Berlin", rule="0 9 * * *", days=1_000), NOW)
    assert problem_of(Timing("Europe/Berlin", rule="0 9 * * *", days=3, weeks=2), NOW)
    mondays = Timing("Europe/Berlin", rule="0 9 * * 1", since=since, days=2)
    assert "every Monday at 09:00, of every 2 days" in in_words(mondays, since)
    hours = Timing("Europe/Berlin", rule="0 */6 * * *", since=since, days=2)
    assert in_words(hours, since).endswith("then every 2 days at 00:00, 06:00, 12:00 and 18:00, until April 20, 2027")


def test_a_rule_of_every_second_week_skips_the_weeks_between_also_where_the_clocks_change() -> None:
    since = datetime(2026, 10, 16, 8, tzinfo=UTC)
    timing = Timing("Europe/Berlin", rule="0 10 * * 1,5", since=since, weeks=2)
    found, moment = list[str](), since - timedelta(days=30)
    while len(found) < 5 and (later := next_occurrence(timing, moment)):
        moment = later
        found.append(f"{later.astimezone(ZoneInfo(timing.zone)):%m-%d %H:%M}")
    assert found == ["10-16 10:00", "10-26 10:00", "10-30 10:00", "11-09 10:00", "11-13 10:00"]
    assert "then every 2 weeks on Monday and Friday at 10:00" in in_words(timing, since)
    assert problem_of(Timing("Europe/Berlin", rule="0 10 * * 1", weeks=1_000), NOW)
    assert not problem_of(timing, since)


def test_work_is_named_after_the_conversation_in_which_it_was_asked_for() -> None:
    thread = "slack:T1:C1:1712345678.000100"
    assert asked_in(work_conversation(thread, 7)) == thread
    assert asked_in(thread) == thread
    assert asked_in(f"{thread}:work:seven") == f"{thread}:work:seven"
    assert asked_in(f"{work_conversation(thread, 7)}:told") == f"{thread}:work:7:told"


def test_what_waits_between_two_rounds_is_no_work() -> None:
    minute = timedelta(minutes=1)
    assert worked_for([], NOW) == timedelta()
    assert worked_for([NOW], NOW + minute) == minute
    round_starts = [NOW, NOW + minute, NOW + 60 * minute]
    assert worked_for(round_starts, NOW + 61 * minute) == 2 * minute + MAX_ROUND_TIME
    assert worked_for([NOW, NOW - minute], NOW) == timedelta(), "a clock that goes back takes nothing off"


@given(
    st.integers(29, 31),
    st.datetimes(datetime(2024, 1, 1), datetime(2040, 12, 31)),  # noqa: DTZ001 -- hypothesis takes no zone here
    st.sampled_from(["UTC", "Europe/Berlin", "America/New_York", "Pacific/Apia"]),
)
def test_a_day_that_some_months_lack_comes_once_in_each_month(day: int, start: datetime, zone: str) -> None:
    there = ZoneInfo(zone)
    timing = Timing(zone, rule=f"0 9 {day} * *", until=datetime(2050, 1, 1, tzinfo=UTC))
    at, found = start.replace(tzinfo=UTC), list[datetime]()
    for _ in range(12):
        at = next_occurrence(timing, at) or pytest.fail("it ended")
        found.append(at.astimezone(there))
    months = [moment.year * 12 + moment.month for moment in found]
    assert months == list(range(months[0], months[0] + 12))
    for moment in found:
        assert moment.day == min(day, monthrange(moment.year, moment.month)[1])


def test_a_day_that_only_leap_years_have_comes_each_year() -> None:
    timing, at = Timing("UTC", rule="0 9 29 2 *", until=NOW + timedelta(days=1800)), NOW
    found = list[str]()
    while (following := next_occurrence(timing, at)) is not None:
        at = following
        found.append(f"{at:%Y-%m-%d}")
    assert found == ["2027-02-28", "2028-02-29", "2029-02-28", "2030-02-28", "2031-02-28"]
