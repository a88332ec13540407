"""The ids of the buttons below a reply contain their action."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.chat.reply.surface import SCHEDULING, ReplyAction
from bot.platforms.discord.buttons import NONE, ReplyPress, reply_press, row

MAX_ID_CHARS = 100  # Discord's limit of a button's id
MAX_IN_ROW = 5


@given(st.frozensets(st.sampled_from(ReplyAction)), st.integers(0, 2**64), st.integers(0, 2**64), st.integers(1, 2**53))
def test_each_button_means_what_it_was_made_for(
    offers: frozenset[ReplyAction], channel: int, person: int, turn: int
) -> None:
    conversation = f"discord:{channel}:{person}"
    shown = [button for each in row(offers, conversation, turn) for button in each["components"]]
    made = [reply_press(button["custom_id"]) for button in shown]
    assert all(len(button["custom_id"]) <= MAX_ID_CHARS for button in shown)
    assert {button.offer for button in made if button is not None} == offers
    assert all(
        button in {ReplyPress(button.offer, conversation), ReplyPress(button.offer, turn=turn)}
        for button in made
        if button
    )


@given(st.frozensets(st.sampled_from(ReplyAction)).filter(lambda offers: ReplyAction.STOP not in offers))
def test_what_may_be_offered_at_the_end_fits_its_rows(offers: frozenset[ReplyAction]) -> None:
    assert sum(len(each["components"]) for each in row(offers, "discord:1", 1)) == len(offers)
    assert all(len(each["components"]) <= MAX_IN_ROW for each in row(offers, "discord:1", 1))


def test_what_is_done_at_a_time_has_a_row_of_its_own_above_the_others() -> None:
    rows = row(SCHEDULING | {ReplyAction.REGENERATE, ReplyAction.DELETE}, "discord:1", 7)
    labels = [[button["label"] for button in each["components"]] for each in rows]
    assert labels == [["Change", "Cancel"], ["Regenerate", "Delete"]]


def test_without_a_turn_only_the_conversations_buttons_stand_there() -> None:
    (only,) = row({ReplyAction.STOP, ReplyAction.GOOD}, "discord:1", 0)
    assert [button["custom_id"] for button in only["components"]] == ["stop:discord:1"]
    assert row({ReplyAction.GOOD, ReplyAction.DELETE}, "discord:1", 0) == row(frozenset(), "discord:1", 3) == NONE


@pytest.mark.parametrize(
    "id_",
    ["", "stop", "stop:", "go:discord:1", "forget:thread:1:2", "continue\ndiscord:1", "good:", "good:0", "bad:1x"],
)
def test_other_buttons_are_none_of_these(id_: str) -> None:
    assert reply_press(id_) is None
