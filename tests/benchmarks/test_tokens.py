"""What resume mode saves, measured on the wire; and the vendors' bills, which do not depend on it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.messages import Usage
from benchmarks.billing import RULES, CacheRule, billed, input_dollars, input_tokens
from benchmarks.tokens import compare, prompt_tokens_hi, prompt_tokens_hi_native, round_output_tokens, seed_ratio

WRITES = CacheRule("a", "anthropic:claude-sonnet-5-5", 512, writes_cost=True)
FREE = CacheRule("b", "gemini:gemini-3.8-flash", 4_096, writes_cost=False)


async def test_resuming_uploads_less_by_the_factors_of_seed_004_and_is_billed_the_same() -> None:
    metrics, _, _ = await compare(32)
    assert metrics["upload_ratio_8"] >= 5.2
    assert metrics["upload_ratio_16"] >= 9.3
    assert metrics["upload_ratio_32"] >= 17.4
    assert [metrics[f"billed_ratio_{rule.vendor}_32"] for rule in RULES] == pytest.approx([1.0] * len(RULES), rel=0.02)


def test_a_greeting_and_a_round_of_tools_cost_little() -> None:
    assert prompt_tokens_hi() <= 700
    assert prompt_tokens_hi_native() <= 700
    assert round_output_tokens() <= 60


def test_seed_004_counts_tokens_in_and_out() -> None:
    assert [round(seed_ratio(rounds), 1) for rounds in (8, 16, 32)] == [5.2, 9.3, 17.4]


def test_what_is_cached_is_written_once_and_read_from_then_on() -> None:
    assert billed(WRITES, [1_000, 1_600]) == Usage(input_cached=1_000, input_written=1_600)
    assert billed(FREE, [5_000, 5_600]) == Usage(input_uncached=5_600, input_cached=5_000)


def test_an_input_that_is_too_short_for_the_cache_is_not_in_it() -> None:
    assert billed(WRITES, [100, 600]) == Usage(input_uncached=100, input_written=600)
    assert billed(FREE, [4_000, 4_600, 5_200]) == Usage(input_uncached=4_000 + 4_600 + 600, input_cached=4_600)


@given(st.sampled_from(RULES), st.lists(st.integers(1, 2_000), max_size=20))
def test_every_token_of_every_call_is_billed_once_and_a_cache_never_costs_more_than_it_writes(
    rule: CacheRule, steps: list[int]
) -> None:
    inputs = [sum(steps[: count + 1]) for count in range(len(steps))]
    usage = billed(rule, inputs)
    assert input_tokens(usage) == sum(inputs)
    assert input_dollars(rule, usage) <= 1.25 * input_dollars(rule, Usage(input_uncached=sum(inputs))) + 1e-9
