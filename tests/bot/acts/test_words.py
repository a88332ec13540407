"""Which texts may be shown to other readers than those of the question: those in the asker's own words."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.acts.words import is_said_by_asker, words_of

QUESTION = "post in #team: **Lunch** is at 12, pizza or pasta? 🍕\n> the code is vermilion\n```\nsecret\n```"


@pytest.mark.parametrize("text", ["Lunch is at 12!", "pizza or pasta 🍕", "12, LUNCH - *at* team", "", "…"])
def test_a_text_of_the_questions_words_may_go_out_in_any_order_and_no_other(text: str) -> None:
    assert is_said_by_asker(text, QUESTION)


@pytest.mark.parametrize("text", ["Lunch is at 1", "Lunches", "vermilion", "secret", "12 🍔", "lunch at 12 €"])
def test_a_word_that_the_asker_did_not_say_keeps_a_text_in(text: str) -> None:
    assert not is_said_by_asker(text, QUESTION)


@given(st.text(max_size=60), st.text(max_size=60))
def test_no_letter_or_digit_goes_out_that_was_not_said(text: str, question: str) -> None:
    if is_said_by_asker(text, question):
        said = {char for char in question.casefold() if char.isalnum()}
        assert {char for char in text.casefold() if char.isalnum()} <= said
    assert is_said_by_asker(" ".join(words_of(question)), question) or ">" in question or "`" in question
