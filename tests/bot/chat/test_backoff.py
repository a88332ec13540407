"""Pauses after failures double per cause, up to a limit; a cause is logged once a minute, with its count."""

from hypothesis import given
from hypothesis import strategies as st

from bot.chat.backoff import LOG_INTERVAL_S, Backoff, OncePerMinute


def test_pauses_double_up_to_the_limit_and_are_reset_when_that_cause_has_worked() -> None:
    backoff = Backoff(1.0, 8.0)
    assert [backoff.failed("post") for _ in range(5)] == [1.0, 2.0, 4.0, 8.0, 8.0]
    backoff.worked("find")
    assert backoff.failed("post") == 8.0
    assert backoff.failed("find") == 1.0
    backoff.worked("post")
    assert backoff.failed("post") == 1.0


@given(st.lists(st.tuples(st.sampled_from("ab"), st.booleans()), max_size=60))
def test_the_pause_of_a_cause_depends_on_its_own_consecutive_failures(events: list[tuple[str, bool]]) -> None:
    backoff, failures = Backoff(1.0, 30.0), dict.fromkeys("ab", 0)
    for cause, failed in events:
        if failed:
            failures[cause] += 1
            assert backoff.failed(cause) == min(30.0, 2.0 ** (failures[cause] - 1))
        else:
            failures[cause] = 0
            backoff.worked(cause)


@given(st.lists(st.tuples(st.sampled_from("ab"), st.floats(0.0, 40.0)), max_size=80))
def test_a_line_is_due_once_a_minute_and_the_others_are_counted(events: list[tuple[str, float]]) -> None:
    lines, now, last, swallowed = OncePerMinute(), 0.0, dict[str, float](), dict.fromkeys("ab", 0)
    for cause, passed in events:
        now += passed
        more = lines.due(cause, now)
        if cause in last and now - last[cause] < LOG_INTERVAL_S:
            assert more is None
            swallowed[cause] += 1
            continue
        assert more is not None
        assert more == (f" (and {swallowed[cause]} more since the last such line)" if swallowed[cause] else "")
        last[cause], swallowed[cause] = now, 0
