"""Too many messages: what is said, and until when."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.admission import BacklogFull, Closed, Obstacle, Rate, RateReached, Whose
from bot.access.surges import HOUR, MINUTE, Surges, sentence
from bot.local_time import at

NOON = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("obstacle", "reason", "said"),
    [
        (
            RateReached(Rate(Whose.PERSON, 20, MINUTE), NOON),
            "person",
            (
                "I take 20 messages a minute from one person, so I did not read this one; "
                "please ask again after 13:00 (Europe/Madrid)."
            ),
        ),
        (
            RateReached(Rate(Whose.CHANNEL, 1, HOUR), NOON + timedelta(seconds=1)),
            "channel",
            (
                "I take 1 message an hour in one channel, so I did not read this one; "
                "please ask again after 13:01 (Europe/Madrid)."
            ),
        ),
        (
            BacklogFull(1_000),
            "backlog",
            "I have 1,000 questions to answer already, so I could not take yours; please ask again in a few minutes.",
        ),
    ],
)
def test_each_limit_is_told_in_one_sentence(obstacle: Obstacle, reason: str, said: str) -> None:
    assert sentence(obstacle, "Europe/Madrid") == (reason, said)


def test_each_reason_has_a_word_of_its_own() -> None:
    rates = [Rate(whose, 1, MINUTE) for whose in Whose]
    obstacles = [*(RateReached(rate, NOON) for rate in rates), BacklogFull(1), Closed()]
    assert len({sentence(obstacle, "UTC")[0] for obstacle in obstacles}) == len(obstacles)


def test_only_limits_that_are_set_are_limits() -> None:
    assert Surges.of(person_minute=None, person_hour=None, channel_minute=None, backlog=None) == Surges()
    some = Surges.of(person_minute=20, person_hour=None, channel_minute=60, backlog=9)
    assert some.rates == (Rate(Whose.PERSON, 20, MINUTE), Rate(Whose.CHANNEL, 60, MINUTE))
    assert some.backlog == 9


@given(st.datetimes(datetime(2020, 1, 1), datetime(2040, 1, 1), timezones=st.just(UTC)))  # noqa: DTZ001 -- naive bounds are what it takes
def test_a_time_that_is_told_has_passed_by_then(moment: datetime) -> None:
    told = datetime.strptime(at(moment, "UTC").split()[0], "%H:%M").time()  # noqa: DTZ007 -- a time of day
    shown = moment.replace(hour=told.hour, minute=told.minute, second=0, microsecond=0)
    if shown < moment:
        shown += timedelta(days=1)
    assert moment <= shown < moment + MINUTE
