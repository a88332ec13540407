"""What `/human` is asked for, from its words."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.handoffs import MAX_NOTE
from bot.handoff.orders import (
    AskNow,
    HandBack,
    HumanOrder,
    KeepBot,
    ListRequests,
    Prepare,
    Send,
    Take,
    Unclear,
    Withdraw,
    read_order,
)
from bot.handoff.settings import parse_people, people_text

DIGEST = "0123456789abcdef"


@pytest.mark.parametrize(
    ("words", "order"),
    [
        ("", Prepare()),
        ("on 12", Prepare(12)),
        (f"send 12 {DIGEST}", Send(12, DIGEST)),
        (f"send 12 {DIGEST} please\nhurry", Send(12, DIGEST, "please\nhurry")),
        (f"share 12 {DIGEST}", Send(12, DIGEST, shares=True)),
        ("handoff take 3", Take(3)),
        ("take #3", Take(3)),
        ("Back.", HandBack()),
        ("hand back", HandBack()),
        ("back 3", HandBack(3)),
        ("back on 12", HandBack(turn=12)),
        ("cancel", Withdraw()),
        ("cancel 3", Withdraw(3)),
        ("keep", KeepBot()),
        ("list", ListRequests()),
        ("take 5 minutes to look at this", AskNow("take 5 minutes to look at this")),
        ("my back hurts", AskNow("my back hurts")),
        ("share 12 nothing", AskNow("share 12 nothing")),
        ("take 12345678901", AskNow("take 12345678901")),
    ],
)
def test_words_are_an_order_only_as_a_whole_and_else_a_message(words: str, order: HumanOrder) -> None:
    assert read_order(words) == order


def test_a_message_that_is_too_long_is_refused() -> None:
    for words in ("x" * (MAX_NOTE + 1), f"send 1 {DIGEST} {'x' * (MAX_NOTE + 1)}"):
        assert isinstance(read_order(words), Unclear)
    assert read_order("x" * MAX_NOTE) == AskNow("x" * MAX_NOTE)


@given(st.text(max_size=MAX_NOTE))
def test_what_is_written_in_the_window_shares_nothing_unless_its_box_is_ticked(note: str) -> None:
    for ticked in (True, False):
        order = read_order(f"send 7 {DIGEST} {note}", share=ticked)
        assert isinstance(order, Send)
        assert (order.turn, order.digest, order.note, order.shares) == (7, DIGEST, note.strip(), ticked)


def test_the_setting_lists_people_and_roles_alone() -> None:
    written = "person:slack:T1:U1,role:S1"
    assert people_text(parse_people(" role:S1 , person:slack:T1:U1")) == written
    for wrong in ("channel:C1", "team:T1", "Ann"):
        with pytest.raises(ValueError, match="must"):
            parse_people(wrong)
