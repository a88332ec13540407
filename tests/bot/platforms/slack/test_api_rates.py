"""One method's calls are shared among the open replies, and stay within Slack's limit at every moment."""

from collections import Counter
from dataclasses import dataclass
from itertools import pairwise

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from bot.chat.method_queue import MethodQueue
from bot.chat.rates import ACTIVE_S, MethodRate
from bot.platforms.slack.api import MethodRates


def calls(budget: MethodRate, replies: int, seconds: float, step: float = 0.1) -> list[tuple[float, str]]:
    """Return which reply called when, if each of `replies` asks as soon as it may."""
    made: list[tuple[float, str]] = []
    ready = dict.fromkeys(map(str, range(replies)), 0.0)
    now = 0.0
    while now < seconds:
        for who, at in ready.items():
            if now >= at:
                wait = budget.wait(who, now)
                ready[who] = now + wait
                if not wait:
                    made.append((now, who))
        now += step
    return made


def most_in_a_minute(made: list[tuple[float, str]]) -> int:
    times = [at for at, _ in made]
    return max((sum(begin <= at < begin + 60 for at in times) for begin in times), default=0)


def test_the_first_call_may_be_made_at_once() -> None:
    assert MethodRate(48, 60).wait("a", 0.0) == 0.0


def test_one_reply_alone_calls_at_nearly_the_pace_that_is_allowed() -> None:
    assert 40 <= len(calls(MethodRate(48, 60), 1, 60)) <= 48


@given(st.integers(1, 30), st.floats(0.05, 1.5))
def test_no_minute_holds_more_calls_than_the_limit(replies: int, step: float) -> None:
    assert most_in_a_minute(calls(MethodRate(48, 60), replies, 180, step)) <= 48


def test_open_replies_get_equal_shares() -> None:
    shares = Counter(who for _, who in calls(MethodRate(48, 60), 6, 240))
    assert len(shares) == 6
    assert max(shares.values()) - min(shares.values()) <= 3


def test_a_reply_that_has_ended_takes_no_share() -> None:
    budget = MethodRate(60, 60)
    for who in "abc":
        budget.wait(who, 0.0)
    assert budget.wait("a", 1.0) > 0
    budget.remove("b")
    budget.remove("c")
    assert budget.wait("a", 1.0) == 0.0


def test_the_first_calls_come_quicker_than_the_limit_lasts_and_later_ones_slower() -> None:
    times = [at for at, _ in calls(MethodRate(60, 60), 1, 120, step=0.05)]
    pauses = [later - earlier for earlier, later in pairwise(times)]
    assert max(pauses[:10]) < 0.8
    assert min(pauses[50:]) > 1.0
    assert max(pauses) < 1.7


@pytest.mark.slow
@given(st.integers(1, 30), st.floats(0.05, 1.5))
def test_no_tier_is_ever_exceeded_and_every_reply_gets_its_share(replies: int, step: float) -> None:
    budgets = MethodRates()
    for budget, tier in ((budgets.appends, 100), (budgets.updates, 50), (budgets.starts, 20), (budgets.stops, 20)):
        made = calls(budget, replies, 180, step)
        assert most_in_a_minute(made) < tier
        shares = Counter(who for _, who in made)
        assert len(shares) == replies
        assert max(shares.values()) - min(shares.values()) <= max(3, step * 8)


async def test_what_is_not_worth_waiting_for_takes_no_share() -> None:
    budget = MethodRate(3, 60)
    assert [await budget.try_call(who, 0.0) for who in "aabc"] == [True, True, True, False]
    assert await budget.try_call("c", 60.0)


def test_a_reply_that_is_silent_takes_no_share_after_a_while() -> None:
    budget = MethodRate(60, 60)
    for who in "abc":
        budget.wait(who, 0.0)
    assert budget.wait("a", ACTIVE_S + 2.0) == 0.0
    assert budget.wait("a", ACTIVE_S + 3.2) == 0.0


def test_a_refusal_holds_everybody_back() -> None:
    budget = MethodRate(48, 60)
    budget.block_for(10.0, 7.0)
    assert budget.wait("a", 12.0) == 5.0
    assert budget.wait("b", 17.0) == 0.0


def test_a_queue_serves_one_a_second_in_the_order_of_arrival() -> None:
    queue = MethodQueue(1.0)
    assert [queue.join(now) for now in (5.0, 5.0, 5.5, 9.0)] == [0.0, 1.0, 1.5, 0.0]


async def test_whoever_is_told_to_wait_keeps_their_place_until_they_take_it() -> None:
    queue = MethodQueue(1.0)
    assert await queue.ask("a", 5.0) == 0.0
    assert await queue.ask("b", 5.2) == await queue.ask("b", 5.2) == pytest.approx(0.8)
    assert await queue.ask("c", 5.5) == pytest.approx(1.5)
    assert await queue.ask("b", 6.1) == 0.0
    assert await queue.ask("b", 6.2) == pytest.approx(1.8)


def test_a_refusal_holds_the_queue_back() -> None:
    queue = MethodQueue(1.0)
    queue.block_for(5.0, 3.0)
    assert queue.join(6.0) == 2.0


def test_calls_are_scarce_while_half_of_a_window_is_used_up() -> None:
    budget = MethodRate(4, 60)
    assert not budget.is_scarce(0.0)
    for who in "ab":
        assert budget.wait(who, 100.0) == 0.0
    assert budget.is_scarce(101.0)
    assert not budget.is_scarce(161.0)


@dataclass(frozen=True)
class Ask:
    """A reply asks after some seconds, or on a clock that was put back. `stays`: it asks again if refused; otherwise it
    says so if it is `polite`.
    """

    who: int
    after: float
    stays: bool
    polite: bool


_ASKS = st.builds(
    Ask, st.integers(0, 60), st.sampled_from([0.0, 0.0, 0.1, 1.0, 7.0, 61.0, -5.0]), st.booleans(), st.booleans()
)


# Sums of such floats differ by a bit from their differences: then a window ends neither here nor there.
@example(
    [
        Ask(who, after, stays=False, polite=False)
        for who, after in zip([0, 0, 1, 0, 0, 1, 0, 0], [0.1, 7.0, -5.0, 1.0, 1.0, 61.0, -5.0, 7.0], strict=True)
    ],
    2,
)
@given(st.lists(_ASKS, max_size=150), st.integers(1, 20))
def test_whoever_is_refused_leaves_or_stays_no_window_holds_too_many_and_nobody_starves(
    asks: list[Ask], calls: int
) -> None:
    budget, now, true_now = MethodRate(calls, 60.0), 0.0, float("-inf")
    made, staying = list[float](), dict[str, float]()
    for ask in asks:
        now += ask.after
        true_now = max(true_now, now)
        for who in [who for who, due in staying.items() if due <= true_now]:
            wait = budget.wait(who, true_now)
            made += [true_now] * (wait == 0.0)
            staying = {**staying, who: true_now + wait} if wait else {k: v for k, v in staying.items() if k != who}
        name = f"w{ask.who}"
        wait = budget.wait(name, now)
        assert wait >= 0.0
        if wait == 0.0:
            made.append(true_now)
            staying.pop(name, None)
        elif ask.stays:
            staying[name] = true_now + wait
        elif ask.polite:
            budget.remove(name)
            staying.pop(name, None)
    for at in made:
        assert sum(other <= at < other + 60.0 for other in made) <= calls
    waited, true_now = 0.0, max(true_now, 0.0)
    while (wait := budget.wait("last", true_now)) > 0.0:
        waited += wait
        true_now += wait
        assert waited < 30.0 + 60.0 * (2 + 62 / calls)


@given(st.integers(1, 4), st.lists(st.floats(0.0, 3.0), min_size=1, max_size=30))
def test_a_queue_lets_no_more_than_its_burst_through_at_once_and_keeps_its_rate(burst: int, gaps: list[float]) -> None:
    queue, now, calls = MethodQueue(1.0, burst=burst), 0.0, list[float]()
    for gap in gaps:
        now += gap
        calls.append(now + queue.join(now))
    for first in range(len(calls)):
        for last in range(first, len(calls)):
            assert last - first + 1 <= burst + (calls[last] - calls[first]) + 1e-6
    assert calls[0] == gaps[0]


async def test_a_refused_call_holds_a_queue_for_as_long_as_slack_says_whatever_its_burst() -> None:
    queue = MethodQueue(1.0, burst=3)
    queue.block_for(10.0, 7.0)
    assert queue.join(10.0) == 7.0
