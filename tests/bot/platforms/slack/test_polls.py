"""How a poll looks in Slack."""

from dataclasses import replace
from typing import Any

from agent.ports.acts import Poll
from bot.platforms.poll_text import poll_text
from bot.platforms.slack.api import fields
from bot.platforms.slack.polls import BUTTON_CHARS, poll_blocks
from tests.fakes.slack_blocks import message_problems

OPEN = Poll("Lunch?", ("Pizza", "Pasta", "x" * 100), (10, 5, 0))


def test_a_poll_shows_its_votes_and_a_bar_for_each_option() -> None:
    assert poll_text(OPEN).splitlines() == [
        "**Lunch?**",
        "",
        "1. Pizza: **10** ▇▇▇▇▇▇▇▇▇▇",
        "2. Pasta: **5** ▇▇▇▇▇",
        f"3. {'x' * 100}: **0**",
        "",
        "15 votes",
    ]
    assert poll_text(replace(OPEN, counts=())).endswith("0 votes")


def test_an_open_poll_has_a_button_for_each_option_and_a_closed_one_none() -> None:
    words, buttons = poll_blocks(OPEN)
    shown: Any = buttons
    labels = [element["text"]["text"] for element in shown["elements"]]
    assert labels[:2] == ["Pizza", "Pasta"]
    assert len(labels[2]) <= BUTTON_CHARS
    assert not message_problems([dict(fields(words)), dict(fields(buttons))])
    assert len(poll_blocks(replace(OPEN, closed=True))) == 1
