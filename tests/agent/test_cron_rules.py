"""Rules of schedules: several in one, how often they come, and in a person's words."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.cron_rules import MAX_RULE_CHARS, comes_too_often, rule_in_words
from agent.schedules.definitions import Timing
from agent.schedules.times import following_in_words, next_occurrence, problem_of

NOW = datetime(2026, 11, 23, 12, tzinfo=UTC)
FIVE_MINUTES = timedelta(minutes=5)


@pytest.mark.parametrize(
    ("rule", "words"),
    [
        ("0 9 * * *", "every day at 09:00"),
        ("0 9 * * 1-5", "every weekday at 09:00"),
        ("0 9 * * 2,3,4,5", "every Tuesday to Friday at 09:00"),
        ("0 9 * * 6,0", "every Saturday and Sunday at 09:00"),
        ("0 9 * * 1,3", "every Monday and Wednesday at 09:00"),
        ("0 9,17 * * 1-5", "every weekday at 09:00 and 17:00"),
        ("30 8 * * 1-5; 0 17 * * 1-5", "every weekday at 08:30 and 17:00"),
        ("0 9 * * 1; 0 17 * * 5", "every Monday at 09:00 and every Friday at 17:00"),
        ("0 * * * *", "every hour"),
        ("15 * * * *", "every hour at 15 minutes past the hour"),
        ("0 */2 * * *", "every 2 hours"),
        ("*/30 * * * *", "every 30 minutes"),
        ("0 9-17 * * *", "every hour from 09:00 to 17:00"),
        ("0 8-18/2 * * 1-5", "every 2 hours from 08:00 to 18:00, every weekday"),
        ("0,30 9-16 * * *; 0 17 * * *", "every 30 minutes from 09:00 to 17:00"),
        ("0 10 * * 1#2", "on the second Monday of every month at 10:00"),
        ("0 10 * * 5L", "on the last Friday of every month at 10:00"),
        ("0 10 3 * *", "on the 3rd of every month at 10:00"),
        ("0 10 L * *", "on the last day of every month at 10:00"),
        ("0 10 1 2,5,8,11 *", "on the 1st of February, May, August and November at 10:00"),
        ("0 10 1 6 *", "every year on June 1 at 10:00"),
        ("0 10 31 * *", "on the 31st (or the last day) of every month at 10:00"),
        ("0 10 29 * *", "on the 29th (or the last day) of every month at 10:00"),
        ("0 10 28 * *", "on the 28th of every month at 10:00"),
        ("0 10 31 1,7 *", "on the 31st of January and July at 10:00"),
        ("0 10 30 1,2 *", "on the 30th (or the last day) of January and February at 10:00"),
        ("0 10 29 2 *", "every year on February 29 (or 28) at 10:00"),
        ("0 9 1,30 * *", "at 09:00 on the first and the 30th day of month, and on the last day of shorter months"),
        ("0 10 13 * 5", "at 10:00 on the 13th day of month and on Friday"),
    ],
)
def test_a_rule_is_said_in_a_persons_words(rule: str, words: str) -> None:
    assert rule_in_words(rule, 1, 1) == words


def test_the_next_times_are_shown_on_the_clock_of_who_reads_them() -> None:
    timing = Timing("America/New_York", rule="30 8 * * 1-5; 0 17 * * 1-5")
    assert (
        following_in_words(timing, NOW, "Europe/Berlin") == "Mon, Nov 23, 14:30; Mon, Nov 23, 23:00; Tue, Nov 24, 14:30"
    )
    soon = Timing("Europe/Berlin", rule="0 13 * * *", until=NOW + timedelta(hours=25))
    assert following_in_words(soon, NOW, "") == "Tue, Nov 24, 13:00", "no more than there are"
    assert following_in_words(Timing("Europe/Berlin", at=NOW + timedelta(days=1)), NOW, "") == ""


def test_rules_that_are_too_near_each_other_are_refused_together() -> None:
    assert not comes_too_often("0 9 * * *; 5 9 * * *", FIVE_MINUTES)
    assert comes_too_often("0 9 * * *; 4 9 * * *", FIVE_MINUTES)
    assert comes_too_often("58 23 * * *; 1 0 * * *", FIVE_MINUTES)
    for rule in ("0 9 * * 1;", ";", "0 9 * * 1; nonsense", "0 9 * * 1; " * 20):
        assert "not a valid rule" in problem_of(Timing("Europe/Berlin", rule=rule), NOW), rule


@given(st.lists(st.tuples(st.integers(0, 59), st.integers(0, 23)), min_size=1, max_size=MAX_RULE_CHARS // 14))
def test_several_rules_come_whenever_one_of_them_comes(clocks: list[tuple[int, int]]) -> None:
    rules = [f"{minute} {hour} * * *" for minute, hour in clocks]
    alone = {next_occurrence(Timing("Europe/Berlin", rule=rule), NOW) for rule in rules}
    moments = list[datetime | None]()
    at: datetime | None = NOW
    while at is not None and len(moments) < len(alone):
        at = next_occurrence(Timing("Europe/Berlin", rule="; ".join(rules)), at)
        moments.append(at)
    assert moments == sorted(moment for moment in alone if moment is not None)
