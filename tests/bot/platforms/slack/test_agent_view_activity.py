"""Titles and statuses stay within Slack's limits."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.chat.texts import replies as reply_texts
from bot.platforms.slack.agent_view import (
    MAX_MESSAGES,
    MESSAGE_CHARS,
    TITLE_CHARS,
    loading_messages,
    status_of,
    title_of,
)


@pytest.mark.parametrize(
    ("question", "title"),
    [
        ("which colour has the boat?", "which colour has the boat?"),
        ("  which\n\ncolour?  ", "which colour?"),
        ("**why** does `main()` fail in snake_case?", "why does main() fail in snake_case?"),
        ("# Plan\n- buy *paint*", "Plan buy paint"),
        ("what is https://example.com/secret?token=1 about", "what is … about"),
        ("> quoted: so what?", "quoted: so what?"),
        ("…", ""),
        ("https://example.com", ""),
        ("```", ""),
        ("", ""),
        ("どの色?", "どの色?"),
    ],
)
def test_a_title_is_the_question_in_plain_words_on_one_line(question: str, title: str) -> None:
    assert title_of(question) == title


@given(st.text())
def test_a_title_fits_into_its_list(question: str) -> None:
    title = title_of(question)
    assert len(title) <= TITLE_CHARS
    assert "\n" not in title


def test_a_line_reads_on_from_the_name_of_the_bot() -> None:
    assert status_of("Searching past threads…") == "is searching past threads…"
    assert status_of("I cannot store anything.") == "says: I cannot store anything."


@given(st.text(min_size=1) | st.just(reply_texts.THINKING))
def test_what_is_rotated_through_is_within_slacks_limits(doing: str) -> None:
    messages = loading_messages(doing)
    assert len(messages) <= MAX_MESSAGES
    assert all(1 <= len(message) <= MESSAGE_CHARS for message in messages)
