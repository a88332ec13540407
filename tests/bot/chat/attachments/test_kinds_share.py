"""Sharing the budget of tokens among texts."""

from hypothesis import given
from hypothesis import strategies as st

from agent.messages import estimate_tokens
from bot.chat.attachments.kinds import cut_text, token_shares

costs = st.lists(st.integers(0, 50_000), max_size=12)


def test_small_texts_are_whole_and_the_large_ones_share_the_rest() -> None:
    assert token_shares([10_000, 100, 30_000], 6_100) == [3_000, 100, 3_000]


@given(costs, st.integers(0, 20_000))
def test_the_budget_is_kept_and_nobody_gets_more_than_it_wants(costs: list[int], budget: int) -> None:
    given_ = token_shares(costs, budget)
    assert sum(given_) <= budget
    assert all(got <= cost for got, cost in zip(given_, costs, strict=True))
    assert sum(costs) > budget or given_ == costs


def test_a_long_text_says_where_it_was_cut() -> None:
    text = "word " * 1_000
    assert cut_text(text, 100) == f"{text[:400]}\n(cut here: these are the first 400 of 5,000 characters)"
    assert cut_text("short", 100) == "short"


@given(st.text(max_size=300), st.integers(0, 60))
def test_what_is_kept_is_the_beginning_and_fits(text: str, tokens: int) -> None:
    kept = cut_text(text, tokens)
    beginning = kept.rpartition("\n(cut here")[0] if kept != text else kept
    assert text.startswith(beginning)
    assert estimate_tokens(beginning) <= tokens
