"""The rate of edits in one place, for all replies that are written there."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.platforms.discord.connection import FETCH_AGAIN, FEW, PATIENCE_S, WriteTurns
from tests.fakes.discord_bot import most_in

GAP_S, WINDOW_S, MOST = 1.02, 5.0, 5


def test_the_next_edit_begins_a_gap_after_the_last_began_and_not_before_that_has_returned() -> None:
    gate = WriteTurns(GAP_S)
    assert gate.wait("a", 0.0) == 0.0
    assert gate.wait("b", 0.5) == pytest.approx(GAP_S - 0.5)
    assert gate.wait("b", GAP_S) == pytest.approx(FETCH_AGAIN * GAP_S), "nobody knows yet when it will return"
    gate.returned(1.2)
    assert gate.wait("b", 1.2) == 0.0


def test_the_sixth_edit_begins_five_gaps_after_the_first_has_returned() -> None:
    gate = WriteTurns(GAP_S)
    for number in range(FEW):
        assert gate.wait("a", 2.0 * number) == 0.0
        gate.returned(2.0 * number + 1.9)
    assert gate.wait("a", 10.0) == 0.0, "slow ones are far enough from one another"
    gate = WriteTurns(GAP_S)
    for number in range(FEW):
        assert gate.wait("a", GAP_S * number) == 0.0
        gate.returned(GAP_S * number + 0.2)
    assert gate.wait("a", FEW * GAP_S) == pytest.approx(0.2)


def test_those_who_wait_keep_their_places() -> None:
    gate = WriteTurns(GAP_S)
    gate.wait("a", 0.0)
    gate.returned(0.0)
    assert [round(gate.wait(who, 0.1), 2) for who in "bcd"] == [0.92, 1.94, 2.96]
    assert gate.wait("a", GAP_S) > 0, "it has just written"
    assert gate.wait("b", GAP_S) == 0.0


def test_one_who_does_not_come_back_holds_nobody_up() -> None:
    gate = WriteTurns(GAP_S)
    gate.wait("a", 0.0)
    gate.returned(0.0)
    gate.wait("b", 0.1)
    gate.wait("c", 0.1)
    late = GAP_S + PATIENCE_S + 0.1
    assert gate.wait("c", late) == 0.0


@given(
    replies=st.integers(1, 12),
    takes=st.lists(st.floats(0.0, 3.0), min_size=1, max_size=20),
    lags=st.lists(st.floats(0.0, 0.3), min_size=1, max_size=20),
)
def test_however_long_edits_take_discord_never_sees_more_than_it_allows_and_each_reply_has_its_share(
    replies: int, takes: list[float], lags: list[float]
) -> None:
    """Every reply always has a new text; an edit arrives at any moment between its start and its return."""
    gate = WriteTurns(GAP_S)
    asks = {f"reply {number}": 0.0 for number in range(replies)}
    arrived: list[float] = []
    written: Counter[str] = Counter()
    free = 0.0
    for step in range(40 * replies):
        who = min(asks, key=lambda name: asks[name])
        now = max(asks[who], free)
        wait = gate.wait(who, now)
        if wait > 0:
            asks[who] = now + wait + lags[step % len(lags)]
            continue
        took = takes[step % len(takes)]
        arrived.append(now + took * (step % 2))
        written[who] += 1
        gate.returned(now + took)
        free = now + took
        del asks[who]
        asks[who] = free  # among replies that ask at the same moment, the one that wrote last comes last
    assert most_in(arrived, WINDOW_S) <= MOST
    assert max(written.values()) - min(written[who] for who in asks) <= 2
