"""Prices: list prices to the nano-dollar, per vendor, and no price where none is known."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.messages import ModelCall, Usage
from agent.spending import NANO, cost

MILLION = 1_000_000
COUNTS = st.integers(0, 2_000_000)
USED = Usage(10, 10, 10, 10, 10)
EVERY = (
    "openai:gpt-6.1-sol",
    "openai:gpt-6.1-terra",
    "openai:gpt-6-luna",
    "openai-realtime:gpt-realtime-2.1",
    "openai-realtime:gpt-realtime-2.1-mini",
    "anthropic:claude-opus-5-5",
    "anthropic:claude-sonnet-5-5",
    "anthropic:claude-haiku-5-5",
    "gemini:gemini-4-argon",
    "gemini:gemini-3.8-flash",
    "gemini:gemini-3.5-flash-lite",
    "mistral:mistral-medium-latest",
)
USAGES = st.builds(Usage, COUNTS, COUNTS, COUNTS, COUNTS, COUNTS)


@pytest.mark.parametrize(
    ("model", "usage", "dollars"),
    [
        ("openai:gpt-6.1-terra", Usage(input_uncached=200_000), 0.20),
        ("openai:gpt-6.1-terra", Usage(input_cached=200_000), 0.01),
        ("openai:gpt-6.1-terra", Usage(input_written=200_000), 0.25),
        ("openai:gpt-6.1-terra", Usage(output=MILLION), 5.00),
        ("openai:gpt-6.1-terra", Usage(reasoning=MILLION), 5.00),
        ("anthropic:claude-sonnet-5-5", Usage(input_written=MILLION), 2.50),
        ("gemini:gemini-3.8-flash", Usage(MILLION, MILLION, 0, MILLION, MILLION), 0.75 + 0.075 + 2 * 3.75),
        ("openai-realtime:gpt-realtime-2.1-mini", Usage(MILLION, MILLION, 0, MILLION), 0.60 + 0.06 + 2.40),
        ("mistral:mistral-medium-latest", Usage(input_uncached=MILLION), 1.50),
    ],
)
def test_a_call_costs_its_vendors_list_price(model: str, usage: Usage, dollars: float) -> None:
    assert cost(ModelCall(model, usage)) == round(dollars * NANO)


def test_one_cached_token_of_the_cheapest_model_is_not_free() -> None:
    assert cost(ModelCall("openai:gpt-6-luna", Usage(input_cached=1))) == 10


@pytest.mark.parametrize(
    ("model", "limit", "factors"),
    [("openai:gpt-6.1-terra", 272_000, (2, 1.5)), ("anthropic:claude-haiku-5-5", 100_000, (5, 5))],
)
def test_above_the_limit_the_whole_call_costs_more_cached_input_counted(
    model: str, limit: int, factors: tuple[float, float]
) -> None:
    def costs(usage: Usage) -> int:
        return cost(ModelCall(model, usage)) or 0

    one, read, written, answered = (
        costs(usage)
        for usage in (Usage(input_uncached=1), Usage(input_cached=1), Usage(input_written=1), Usage(output=1))
    )
    at_limit = Usage(input_uncached=1, input_cached=limit - 2, input_written=1, output=10)
    assert costs(at_limit) == one + (limit - 2) * read + written + 10 * answered
    above = costs(Usage(input_uncached=2, input_cached=limit - 2, input_written=1, output=10))
    reading, answering = factors
    assert above == (2 * one + (limit - 2) * read + written) * reading + 10 * answered * answering


@pytest.mark.parametrize("model", ["mistral-medium", "mistral-large", "mistral-large-latest", "ministral-8b"])
def test_a_name_that_moves_has_no_price_where_the_list_is_that_of_an_old_version(model: str) -> None:
    assert cost(ModelCall(f"mistral:{model}", USED)) is None


@pytest.mark.parametrize(
    ("model", "version"),
    [
        ("mistral-medium-latest", "mistral-medium-2604"),
        ("mistral-small-latest", "mistral-small-2603"),
        ("ministral-8b-latest", "ministral-8b-2512"),
        ("pixtral-large-latest", "pixtral-large-2411"),
    ],
)
def test_a_name_that_moves_costs_what_the_newest_version_costs(model: str, version: str) -> None:
    assert cost(ModelCall(f"mistral:{model}", USED)) == cost(ModelCall(f"mistral:{version}", USED)) is not None


def test_an_old_version_costs_what_it_did() -> None:
    assert cost(ModelCall("mistral:mistral-medium-2508", Usage(input_uncached=MILLION))) == round(0.4 * NANO)


@pytest.mark.parametrize(
    "model",
    [
        "openai:gpt-6.1-terra-2026-09-01",
        "openai:gpt-6.1-terra-20260901",
    ],
)
def test_a_dated_version_costs_what_its_model_costs(model: str) -> None:
    assert cost(ModelCall(model, USED)) == cost(ModelCall("openai:gpt-6.1-terra", USED))


@pytest.mark.parametrize(
    "model",
    [
        "rehearsal",
        "scripted",
        "",
        "openai:gpt-6.1-terra-pro",
        "openai:gpt-6.1-terra-mini-2026-09-01",
        "openai:gpt-6.1",
        "gpt-6.1-terra",
        "openrouter:gpt-6.1-terra",
        "mistral:gpt-6.1-terra",
        "ollama:mistral-medium",
        "vllm:gpt-6.1-terra",
    ],
)
def test_what_is_unknown_has_no_price_rather_than_none_to_pay(model: str) -> None:
    assert cost(ModelCall(model, Usage(10, 10, 10, 10, 10))) is None


def test_what_is_free_at_a_gateway_has_no_price_either() -> None:
    assert cost(ModelCall("openrouter:deepseek/deepseek-chat:free", USED)) is None


def test_a_gateway_has_its_own_price() -> None:
    assert cost(ModelCall("openrouter:openai/gpt-6.1-terra", USED)) is not None


@pytest.mark.parametrize("model", EVERY)
def test_every_rate_is_positive_and_reading_the_cache_is_the_cheapest(model: str) -> None:
    parts = (Usage(input_cached=1), Usage(input_uncached=1), Usage(input_written=1), Usage(output=1))
    cached, uncached, written, output = (cost(ModelCall(model, part)) or 0 for part in parts)
    assert 0 < cached < uncached <= written < output


@given(st.sampled_from(EVERY), USAGES, USAGES)
def test_using_more_never_costs_less(model: str, one: Usage, more: Usage) -> None:
    assert (cost(ModelCall(model, one + more)) or 0) >= (cost(ModelCall(model, one)) or 0)
