"""The footer: off unless asked for, and always there when another model answered."""

import pytest

from agent.messages import ModelCall, Usage
from bot.budgets.report import WHY_CHARS, FooterStyle, footer

TERRA = ModelCall("openai:gpt-6.1-terra", Usage(1_000, 8_000, 200, 300, 40))
LOCAL = ModelCall("ollama:llama_3*", Usage(input_uncached=20, output=1, estimated=True))
DOWN = "OpenAI is overloaded: try again later."


@pytest.mark.parametrize(
    ("style", "shown"),
    [
        (FooterStyle.OFF, ""),
        (FooterStyle.MODEL, "*openai:gpt-6.1-terra*"),
        (FooterStyle.COST, "*openai:gpt-6.1-terra · 9,200 tokens in (8,000 cached), 340 out · $0.0034*"),
    ],
)
def test_it_shows_what_the_setting_asks_for(style: FooterStyle, shown: str) -> None:
    assert footer([TERRA], "openai:gpt-6.1-terra", "", style) == shown


def test_all_calls_of_the_turn_are_counted_and_the_last_model_is_named() -> None:
    shown = footer([TERRA, TERRA], "openai:gpt-6.1-terra", "", FooterStyle.COST)
    assert shown == "*openai:gpt-6.1-terra · 18,400 tokens in (16,000 cached), 680 out · $0.0067*"


def test_estimates_are_called_so_and_a_model_without_a_price_shows_tokens_only() -> None:
    assert footer([LOCAL], LOCAL.model, "", FooterStyle.COST) == "*ollama:llama_3\\* · about 20 tokens in, 1 out*"


def test_a_sum_without_some_prices_is_shown_as_at_least() -> None:
    assert footer([TERRA, LOCAL], TERRA.model, "", FooterStyle.COST).endswith(" · at least $0.0034*")


@pytest.mark.parametrize("style", list(FooterStyle))
def test_a_switched_model_is_always_named_with_the_reason(style: FooterStyle) -> None:
    shown = footer([LOCAL], TERRA.model, DOWN, style)
    assert shown.startswith(f"*ollama:llama_3\\* answered instead of openai:gpt-6.1-terra: {DOWN}")
    assert ("tokens" in shown) == (style is FooterStyle.COST)


@pytest.mark.parametrize("style", list(FooterStyle))
def test_a_turn_without_a_model_call_has_none(style: FooterStyle) -> None:
    assert footer([], TERRA.model, "", style) == ""


def test_it_stays_on_one_short_line_whatever_a_vendor_says() -> None:
    shown = footer([LOCAL], TERRA.model, "**no**\n" * 500, FooterStyle.OFF)
    assert "\n" not in shown
    assert "**" not in shown
    assert len(shown) < 3 * WHY_CHARS
