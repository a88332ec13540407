"""The buttons under a reply carry what they do."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.platforms.discord.buttons import Button, Pressed, pressed, row

MAX_ID_CHARS = 100
"""Discord's limit of a button's id."""


@given(st.sampled_from(Button), st.integers(0, 2**64), st.integers(0, 2**64))
def test_a_button_means_what_it_was_made_for(button: Button, channel: int, person: int) -> None:
    made = Pressed(button, f"discord:{channel}:{person}")
    (shown,) = row(made.button, made.conversation)[0]["components"]
    assert len(shown["custom_id"]) <= MAX_ID_CHARS
    assert pressed(shown["custom_id"]) == made


@pytest.mark.parametrize("id_", ["", "stop", "stop:", "go:discord:1", "forget:thread:1:2", "continue\ndiscord:1"])
def test_other_buttons_are_none_of_these(id_: str) -> None:
    assert pressed(id_) is None
