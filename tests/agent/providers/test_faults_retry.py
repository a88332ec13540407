"""When a failed request is retried, and after what delay."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.providers.faults import Fault, FaultKind, RetryPolicy, retry_after_s, should_retry

NOW = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)
POLICY = RetryPolicy(max_retries=3, first_delay_s=0.5, max_delay_s=8, max_total_wait_s=30, jitter=0.25)


def answered(status: int, code: str = "", after_s: float | None = None, *, should: bool | None = None) -> Fault:
    return Fault(FaultKind.ANSWERED, status, code, retry_after_s=after_s, should_retry=should)


@pytest.mark.parametrize("status", [408, 409, 429, 500, 502, 503, 504, 529])
def test_what_may_pass_is_tried_again(status: int) -> None:
    assert POLICY.delay_s(answered(status), 0, 0.0, 0.0) == 0.5


@pytest.mark.parametrize("status", [400, 401, 402, 403, 404, 413, 422])
def test_what_will_not_pass_is_not_tried_again(status: int) -> None:
    assert POLICY.delay_s(answered(status), 0, 0.0, 0.0) is None


def test_an_empty_account_is_not_a_rate_limit() -> None:
    assert POLICY.delay_s(answered(429, "insufficient_quota"), 0, 0.0, 0.0) is None


@pytest.mark.parametrize(
    ("fault", "again"),
    [
        (Fault(FaultKind.CUT), False),
        (Fault(FaultKind.SLOW), False),
        (Fault(FaultKind.UNREADABLE), False),
        (Fault(FaultKind.UNREACHABLE), False),
        (Fault(FaultKind.UNREACHABLE, should_retry=True), True),
        (answered(500, should=False), False),
        (Fault(FaultKind.ANSWERED, 500, message="model requires more system memory (9 GiB) than is available"), False),
        (Fault(FaultKind.ANSWERED, 500, message="CUDA out of memory on one of the vendor's machines"), True),
        (answered(400, should=True), True),
    ],
)
def test_other_faults_are_tried_again_only_where_it_helps(fault: Fault, *, again: bool) -> None:
    assert (POLICY.delay_s(fault, 0, 0.0, 0.0) is not None) is again


def test_waits_double_up_to_their_limit_and_end_with_the_last_retry() -> None:
    policy = RetryPolicy(max_retries=6, max_total_wait_s=100)
    delays = [policy.delay_s(answered(500), n, 0.0, 0.0) for n in range(7)]
    assert delays == [0.5, 1.0, 2.0, 4.0, 8.0, 8.0, None]


def test_what_the_service_asks_for_holds() -> None:
    assert POLICY.delay_s(answered(429, after_s=3), 0, 0.0, 0.9) == 3
    assert POLICY.delay_s(answered(429, after_s=0), 0, 0.0, 0.9) == 0


def test_a_wait_that_we_are_not_ready_for_is_not_begun() -> None:
    assert POLICY.delay_s(answered(429, after_s=31), 0, 0.0, 0.0) is None
    assert POLICY.delay_s(answered(429, after_s=3), 1, 28.0, 0.0) is None


@given(st.lists(st.tuples(st.none() | st.floats(0, 100), st.floats(0, 1, exclude_max=True)), max_size=20))
def test_all_waits_together_stay_under_the_cap(asked: list[tuple[float | None, float]]) -> None:
    waited = 0.0
    for retries, (after_s, chance) in enumerate(asked):
        delay = POLICY.delay_s(answered(503, after_s=after_s), retries, waited, chance)
        if delay is None:
            break
        assert delay >= 0
        waited += delay
    assert waited <= POLICY.max_total_wait_s


@given(st.integers(0, 2), st.floats(0, 1, exclude_max=True))
def test_chance_only_shortens_a_wait_by_its_share(retries: int, chance: float) -> None:
    full = POLICY.delay_s(answered(500), retries, 0.0, 0.0)
    delay = POLICY.delay_s(answered(500), retries, 0.0, chance)
    assert full is not None
    assert delay is not None
    assert full * 0.75 <= delay <= full


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"retry-after": "7"}, 7.0),
        ({"retry-after": "0.5"}, 0.5),
        ({"retry-after": "7", "retry-after-ms": "250"}, 0.25),
        ({"retry-after": "7", "retry-after-ms": "soon"}, 7.0),
        ({"retry-after": "Sat, 21 Nov 2026 12:00:09 GMT"}, 9.0),
        ({"retry-after": "Sat, 21 Nov 2026 11:00:00 GMT"}, 0.0),
        ({"retry-after": "Sat, 21 Nov 2026 12:00:09 -0000"}, None),
        ({"retry-after": "-3"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "inf"}, None),
        ({"retry-after": "tomorrow"}, None),
    ],
)
def test_the_wait_that_is_asked_for_is_read_in_every_form(headers: dict[str, str], seconds: float | None) -> None:
    assert retry_after_s(headers, NOW) == seconds
    assert retry_after_s(headers, NOW.astimezone() + timedelta(0)) == seconds


@pytest.mark.parametrize(("value", "says"), [("true", True), ("False", False), ("maybe", None)])
def test_the_service_may_say_whether_to_retry(value: str, *, says: bool | None) -> None:
    assert should_retry({"x-should-retry": value}) is says
    assert should_retry({}) is None
