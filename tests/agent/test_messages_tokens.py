from hypothesis import given
from hypothesis import strategies as st

from agent.messages import estimate_tokens, fit_newest


def test_four_ascii_characters_are_a_token_and_the_rest_counts_as_one() -> None:
    assert [estimate_tokens("x" * n) for n in (0, 1, 4, 5)] == [0, 1, 1, 2]


def test_every_other_character_is_a_token() -> None:
    assert estimate_tokens("船は青い") == 4
    assert estimate_tokens("café") == 2


@given(st.text(), st.text())
def test_more_text_never_costs_less(one: str, two: str) -> None:
    assert estimate_tokens(one + two) >= max(estimate_tokens(one), estimate_tokens(two))


@given(st.lists(st.integers(0, 9)), st.integers(0, 40))
def test_what_fits_is_the_longest_run_of_the_newest(costs: list[int], budget: int) -> None:
    newest_first = list(enumerate(costs))
    kept = fit_newest(((item, item[1]) for item in newest_first), budget)
    assert kept == newest_first[: len(kept)][::-1]
    assert sum(cost for _, cost in kept) <= budget
    if len(kept) < len(costs):
        assert sum(costs[: len(kept) + 1]) > budget
