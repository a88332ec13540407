"""The buttons under `/forget`."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.records import Receipt
from bot.platforms.discord.forgetting import Decision, added, decision
from bot.wording import Scope

ids = st.integers(0, 2**64 - 1)


@given(st.sampled_from([Scope.THREAD, Scope.EVERYTHING, None]), ids, ids)
def test_a_button_says_by_its_id_what_it_decides(scope: Scope | None, person: int, channel: int) -> None:
    made = Decision(scope, person, channel)
    assert decision(made.id) == made
    assert len(made.id) <= 100, "Discord takes no longer one"


@pytest.mark.parametrize(
    "button", ["", "forget", "forget:all:1:2", "forget:thread:x:2", "forget:thread:1:2:3", "other"]
)
def test_other_buttons_decide_nothing(button: str) -> None:
    assert decision(button) is None


def test_receipts_add_up_and_claim_no_more_than_the_weakest() -> None:
    one = Receipt({"messages": 2, "facts": 1}, found_again=0, bytes_gone=True)
    two = Receipt({"messages": 3}, found_again=1, bytes_gone=False)
    assert added([one, two]) == Receipt({"messages": 5, "facts": 1}, found_again=1, bytes_gone=False)
