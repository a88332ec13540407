"""Too many messages: the sentence, and until when it holds."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.admission_terms import BacklogFull, Closed, Obstacle, Rate, RateReached, Whose
from bot.chat.access.admission import HOUR, MAX_COUNTED, MINUTE, RateCounter, RateLimits, limit_sentence
from bot.chat.texts.formatting import local_moment

NOON = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("obstacle", "reason", "said"),
    [
        (
            RateReached(Rate(Whose.PERSON, 20, MINUTE), NOON),
            "person",
            (
                "The limit is 20 messages a minute from one person, so I did not read this message. Ask again after "
                "13:00 (Europe/Madrid)."
            ),
        ),
        (
            RateReached(Rate(Whose.CHANNEL, 1, HOUR), NOON + timedelta(seconds=1)),
            "channel",
            (
                "The limit is 1 message an hour in one channel, so I did not read this message. Ask again after 13:01 "
                "(Europe/Madrid)."
            ),
        ),
        (
            BacklogFull(1_000),
            "backlog",
            "I already have 1,000 questions waiting, so I could not accept yours. Ask again in a few minutes.",
        ),
    ],
)
def test_each_limit_is_explained_in_one_sentence(obstacle: Obstacle, reason: str, said: str) -> None:
    assert limit_sentence(obstacle, "Europe/Madrid") == (reason, said)


def test_each_reason_has_a_word_of_its_own() -> None:
    rates = [Rate(whose, 1, MINUTE) for whose in Whose]
    obstacles = [*(RateReached(rate, NOON) for rate in rates), BacklogFull(1), Closed()]
    assert len({limit_sentence(obstacle, "UTC")[0] for obstacle in obstacles}) == len(obstacles)


def test_only_limits_that_are_set_are_limits() -> None:
    assert RateLimits.of(person_minute=None, person_hour=None, channel_minute=None, backlog=None) == RateLimits()
    limits = RateLimits.of(person_minute=20, person_hour=None, channel_minute=60, backlog=9)
    assert limits.rates == (Rate(Whose.PERSON, 20, MINUTE), Rate(Whose.CHANNEL, 60, MINUTE))
    assert limits.backlog == 9


@given(st.datetimes(datetime(2020, 1, 1), datetime(2040, 1, 1), timezones=st.just(UTC)))  # noqa: DTZ001 -- naive bounds are what it takes
def test_the_limit_has_ended_at_the_time_that_is_shown(moment: datetime) -> None:
    clock_time = datetime.strptime(local_moment(moment, "UTC").split()[0], "%H:%M").time()  # noqa: DTZ007 -- a time of day
    shown = moment.replace(hour=clock_time.hour, minute=clock_time.minute, second=0, microsecond=0)
    if shown < moment:
        shown += timedelta(days=1)
    assert moment <= shown < moment + MINUTE


@given(
    st.lists(st.tuples(st.sampled_from("ab"), st.sampled_from("xy"), st.integers(0, 40)), max_size=60),
    st.integers(1, 4),
    st.integers(1, 6),
)
async def test_no_minute_holds_more_than_its_rates_and_nothing_within_them_is_refused(
    done: list[tuple[str, str, int]], person: int, channel: int
) -> None:
    tally = RateCounter((Rate(Whose.PERSON, person, MINUTE), Rate(Whose.CHANNEL, channel, MINUTE)))
    now, counted = NOON, list[tuple[str, str, datetime]]()
    for who, where, seconds in done:
        now += timedelta(seconds=seconds)
        lately = [one for one in counted if one[2] > now - MINUTE]
        full = sum(one[0] == who for one in lately) >= person or sum(one[1] == where for one in lately) >= channel
        reached = await tally.obstacle(who, where, now)
        assert (reached is not None) is full
        if reached is None:
            counted.append((who, where, now))
        else:
            assert now < reached.free_at <= now + MINUTE


async def test_a_crowd_uses_bounded_memory() -> None:
    tally = RateCounter((Rate(Whose.PERSON, 5, MINUTE),))
    for number in range(3 * MAX_COUNTED):
        assert await tally.obstacle(f"p{number}", "c", NOON) is None
    for _ in range(5):
        assert await tally.obstacle("p0", "c", NOON) is None  # forgotten, so that it starts again at zero


async def test_the_talk_of_one_workspace_uses_up_no_rate_of_the_other_in_a_channel_that_both_share() -> None:
    tally = RateCounter((Rate(Whose.CHANNEL, 2, MINUTE),))
    for person in ("slack:T1:U1", "slack:T1:U2"):
        assert await tally.obstacle(person, "C1", NOON) is None
    assert await tally.obstacle("slack:T1:U3", "C1", NOON) is not None
    assert await tally.obstacle("slack:T2:U1", "C1", NOON) is None
