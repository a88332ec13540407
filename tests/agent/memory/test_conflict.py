"""Which statements contradict each other, and which only stand side by side (seed 003, rules 1 and 2)."""

import pytest

from agent.memory.conflict import contradicts, taken_back


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("Meeting is Tuesday at 2pm", "Let's do the meeting Thursday at 3pm"),
        ("The rent is €900", "The rent is €950"),
        ("My address is 123 Main St", "My new address is 456 Oak Ave"),
        ("The project is in planning", "The project is delayed now"),
        ("The fair is in Berlin", "The fair is in Leipzig"),
        ("Delivery takes 3 weeks", "Delivery takes 5 weeks"),
    ],
)
def test_one_subject_with_another_value_is_a_contradiction(older: str, newer: str) -> None:
    assert contradicts(older, newer)


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("Meeting is Tuesday at 2pm", "The report is due Thursday"),
        ("Acme has an SLA of 4 hours", "Beta has an SLA of 8 hours"),
        ("The rent is €900", "The rent is €900"),
        ("The rent is €900", "The deposit is €2,700"),
        ("Quotes: A $180, B $150, C $220", "We take B at $145"),
        ("My cat is called Tom", "I moved to Oslo"),
        ("Launch on March 1st", "Code freeze Feb 15, launch March 1"),
        ("Release 12 ships on May 3", "Release 13 ships on June 7"),
        ("I play the violin", "I now also play chess"),
        ("", "anything"),
    ],
)
def test_two_subjects_or_one_value_are_none(older: str, newer: str) -> None:
    assert not contradicts(older, newer)


def test_of_several_sentences_only_those_are_taken_back_that_the_successor_speaks_about() -> None:
    value = "The budget is $200. We need three vendors."
    assert taken_back(value, "The budget is $120 now.") == ["The budget is $200."]


def test_a_single_sentence_is_taken_back_whole() -> None:
    assert taken_back("approved", "cancelled") == ["approved"]
