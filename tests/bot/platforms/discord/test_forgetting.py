"""The buttons under `/forget`."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.memory.forget_desk import MAX_TOKEN_CHARS
from bot.platforms.discord.forgetting import NOTHING, Decision, decision

ids = st.integers(0, 2**64 - 1)
tokens = st.text(st.characters(exclude_categories=["C", "Z"]), min_size=1, max_size=MAX_TOKEN_CHARS)


@given(ids, st.just(NOTHING) | tokens, st.booleans())
def test_a_button_says_by_its_id_what_it_decides(person: int, token: str, replies: bool) -> None:
    made = Decision(person, token, replies)
    assert decision(made.id) == made
    assert len(made.id) <= 100, "Discord takes no longer one"


@pytest.mark.parametrize("button", ["", "forget", "forget:x:0:thread", "forget:1:2:thread", "forget:1:0:", "other"])
def test_other_buttons_decide_nothing(button: str) -> None:
    assert decision(button) is None
