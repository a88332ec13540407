"""Superseded values are marked in visible text, and withheld from quoted text."""

import random
from time import process_time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.memory.marking import MARKED, mark, mostly_superseded, superseded, withhold
from tests.patience import cpu_s


def test_a_superseded_value_is_marked_whatever_its_case_and_punctuation() -> None:
    stale = superseded(["25% discount for Acme"], ["10% discount for Acme"])
    assert mark("They asked for a 25% Discount, again.", stale) == (
        "They asked for a [superseded: 25% Discount], again."
    )


def test_withholding_leaves_a_mark_without_the_value() -> None:
    stale = superseded(["$200,000 in Q4"], ["$120,000"])
    assert withhold("It was $200,000 in Q4, now $120,000.", stale) == "It was [superseded], now $120,000."


def test_words_that_something_current_says_are_not_marked() -> None:
    stale = superseded(["meeting on Tuesday"], ["meeting on Thursday"])
    assert mark("The meeting room is free on Thursday.", stale) == "The meeting room is free on Thursday."


def test_a_value_that_holds_again_is_not_superseded() -> None:
    assert superseded(["blue"], ["blue"]) == ()


def test_a_current_text_that_quotes_a_superseded_value_does_not_make_it_current() -> None:
    quoting = "Invalid, because it rested on: 8 engineers on Alpha"
    stale = superseded(["8 engineers on Alpha"], [quoting])
    assert withhold(quoting, stale) == "Invalid, because it rested on: [superseded]"


def test_a_sentence_that_says_nothing_else_is_mostly_superseded() -> None:
    stale = superseded(["The order is approved"])
    assert mostly_superseded("[Ann]: The order is approved!", stale)
    assert not mostly_superseded("Who knows why the order is approved in Rome but not in Oslo, Bergen or Riga?", stale)


@pytest.mark.slow
@given(st.text(max_size=80), st.lists(st.text(max_size=20), max_size=3), st.lists(st.text(max_size=20), max_size=3))
def test_nothing_but_marks_changes_in_a_text(text: str, gone: list[str], current: list[str]) -> None:
    stale = superseded(gone, current)
    unmarked = MARKED.sub("", withhold(text, stale))
    rest = iter(text)
    assert all(char in rest for char in unmarked)


@given(st.lists(st.sampled_from(["red", "blue 7", "Friday", "12 May", "gone"]), min_size=1, max_size=4))
def test_a_whole_superseded_value_never_stays_unmarked(values: list[str]) -> None:
    stale = superseded(values)
    plain = MARKED.sub("", mark("; ".join(values), stale))
    assert not any(value in plain for value in values)


def test_a_bare_value_of_another_thing_is_not_marked() -> None:
    stale = superseded(["Friday"], ["Monday"], {"Friday": "deadline of Apollo"})
    assert mark("Zeus is due on Friday.", stale) == "Zeus is due on Friday."
    assert mark("The deadline of Apollo is Friday.", stale) == "The deadline of Apollo is [superseded: Friday]."
    hardware = superseded(["The budget for hardware is $200"], ["The budget for hardware is $350"])
    assert mark("The budget for travel is $200.", hardware) == "The budget for travel is $200."
    assert "[superseded" in mark("So $200 for hardware.", hardware)


def test_only_the_sentence_around_a_bare_value_tells_what_it_is_about() -> None:
    stale = superseded(["$200"], ["the limit of Apollo is $300"], {"$200": "limit of Apollo"})
    assert mark("The limit of Zeus is $200. Nobody minds the limit of Apollo.", stale).startswith(
        "The limit of Zeus is $200."
    )
    assert "[superseded: $200]" in mark("We agreed on $200. The limit of Zeus is another thing.", stale)


def test_of_very_many_bare_values_so_many_are_looked_at_and_the_rest_is_marked() -> None:
    stale = superseded(["$200"], ["the limit of Apollo is $300"], {"$200": "limit of Apollo"})
    told = [f"The limit of project {number} is $200." for number in range(400)]
    marked = mark(" ".join(told), stale)
    assert marked.startswith(" ".join(told[:100]))
    assert marked.endswith("is [superseded: $200].")


def test_a_whole_superseded_value_of_several_words_is_marked_whatever_its_sentence_is_about() -> None:
    stale = superseded(["25% volume discount applies"], ["Only 10% discount applies, 25% needs a contract"], {})
    said = "CORRECTION: The value was: 25% volume discount applies."
    assert withhold(said, stale) == "CORRECTION: The value was: [superseded]."


def test_a_sentence_about_the_value_or_the_data_speaks_of_whatever_the_value_is_one_of() -> None:
    stale = superseded(["$100 per unit"], ["$150 per unit"], {"$100 per unit": "unit price"})
    assert withhold("The value was: $100 per unit.", stale) == "The value was: [superseded]."
    assert withhold("The deposit is $100 per unit.", stale) == "The deposit is $100 per unit."


def test_a_superseded_value_is_marked_in_the_label_of_a_sentence_about_something_else() -> None:
    stale = superseded(["$100 per unit"], ["$150"], {"$100 per unit": "unit price"})
    filed = "[INVALID, rested on: $100 per unit] The total is high."
    assert withhold(filed, stale) == "[INVALID, rested on: [superseded]] The total is high."


def test_a_state_in_front_of_a_value_is_no_part_of_what_its_sentence_is_about() -> None:
    stale = superseded(["1000 units"], ["750"], {"1000 units": "order quantity"})
    assert withhold("Order confirmed: 1000 units to Riga.", stale) == "Order confirmed: [superseded] to Riga."
    assert withhold("Stock in Riga: 1000 units.", stale) == "Stock in Riga: 1000 units."


@pytest.mark.slow
def test_thousands_of_superseded_values_of_the_same_words_cost_a_bounded_time() -> None:
    draw = random.Random(3)
    words = ["".join(draw.choices("abcdefghijklmnop", k=5)) for _ in range(300)]
    values = [". ".join(" ".join(draw.choices(words, k=4)) for _ in range(80))[:2_000] for _ in range(120)]
    messages = [" ".join(values)[at : at + 2_000] for at in range(0, 100_000, 2_000)]
    begun = process_time()
    stale = superseded(values, ["The budget is 2."])
    marked = [mark(message, stale) for message in messages]
    assert process_time() - begun < cpu_s(1.0)
    for before, after in zip(messages, marked, strict=True):
        assert words[0] not in MARKED.sub("", after)
        assert len(after) > len(before)


def test_a_sentence_of_thousands_of_superseded_words_takes_time_in_proportion() -> None:
    sentence = "Friday, and " * 4_000
    begun = process_time()
    assert mostly_superseded(sentence, superseded(["Friday"]))
    assert process_time() - begun < cpu_s(0.5)
