"""Spending as text: each count by itself, estimates marked, and no sum that hides what it leaves out."""

import json
from datetime import date

from hypothesis import given
from hypothesis import strategies as st

from agent.messages import ModelCall, Usage
from agent.spending import By, SpendingAccount, SpendingPeriod, Spent, Total
from bot.budgets import texts as budgets_texts
from bot.budgets.report import account_text, cost_text, report_json, report_text

TERRA = Spent.on([ModelCall("openai:gpt-6.1-terra", Usage(1_000, 8_000, 200, 300, 40, bytes_up=90_000))])
LOCAL = Spent.on([ModelCall("ollama:llama3.2", Usage(input_uncached=20, output=1, estimated=True))])
NOVEMBER = SpendingPeriod(date(2026, 11, 1), date(2026, 11, 21))


def test_a_person_sees_today_and_this_month_with_each_count() -> None:
    assert account_text(SpendingAccount(TERRA, TERRA + TERRA)).splitlines() == [
        "What your questions used:",
        "",
        "**Today**: $0.0034, 1 model call",
        "",
        "- Input: 1,000 new tokens, 8,000 read from the vendor's cache, 200 written to the vendor's cache",
        "- Output: 300 tokens, and 40 of reasoning",
        "",
        "**This month**: $0.0067, 2 model calls",
        "",
        "- Input: 2,000 new tokens, 16,000 read from the vendor's cache, 400 written to the vendor's cache",
        "- Output: 600 tokens, and 80 of reasoning",
        "",
        budgets_texts.NO_FORECAST,
        "",
        budgets_texts.LIST_PRICES,
    ]


def test_estimates_are_marked_and_the_mark_is_explained() -> None:
    text = account_text(SpendingAccount(Spent(), LOCAL))
    assert "**Today**: nothing" in text
    assert "**This month**: no price, 1 model call" in text
    assert "~20 new tokens" in text
    assert "~ partly estimated" in text
    assert "~" not in account_text(SpendingAccount(TERRA, TERRA))


def test_unused_kinds_of_tokens_are_not_listed() -> None:
    text = account_text(SpendingAccount(Spent(), LOCAL))
    assert "- Input: ~20 new tokens\n- Output: ~1 token\n" in text


def test_a_person_without_questions_gets_one_sentence() -> None:
    assert account_text(SpendingAccount(Spent(), Spent())) == "You have not asked anything this month."


def test_a_sum_says_when_some_or_all_of_it_has_no_price() -> None:
    assert [cost_text(spent) for spent in (TERRA, LOCAL, TERRA + LOCAL, Spent())] == [
        "$0.0034",
        "no price",
        "at least $0.0034",
        "$0",
    ]


def test_the_operator_sees_the_most_expensive_first_and_the_sum_below() -> None:
    totals = [Total("slack:T1:U1", LOCAL, "Ann"), Total("slack:T1:U2", TERRA, "Ben"), Total("slack:T1:U3", LOCAL)]
    lines = report_text(totals, NOVEMBER, By.PERSON).splitlines()
    assert lines[0] == f"2026-11-01 to 2026-11-21, by person. {budgets_texts.LIST_PRICES}"
    assert lines[2].split() == ["person", "calls", "input", "cached", "written", "output", "reasoning", "cost"]
    assert [line[:18].rstrip() for line in lines[3:7]] == [
        "Ben (slack:T1:U2)",
        "Ann (slack:T1:U1)",
        "slack:T1:U3",
        "all",
    ]
    assert lines[3].split()[2:] == ["1", "1,000", "8,000", "200", "300", "40", "$0.0034"]
    assert lines[6].split()[1:] == ["3", "~1,040", "~8,000", "~200", "~302", "~40", "at", "least", "$0.0034"]
    assert len({len(line) for line in lines[2:7]}) == 1
    assert "estimated" in lines[-1]


def test_days_stay_in_their_order_and_a_forgotten_channel_has_no_name() -> None:
    days = [Total("2026-11-02", LOCAL), Total("2026-11-03", TERRA)]
    report = report_text(days, NOVEMBER, By.DAY)
    assert report.index("2026-11-02") < report.index("2026-11-03")
    assert "(forgotten)" in report_text([Total("", TERRA)], NOVEMBER, By.CHANNEL)


def test_nothing_spent_is_a_sentence() -> None:
    assert report_text([], NOVEMBER, By.MODEL).endswith("\n\nNothing was spent.\n")


def test_a_program_reads_the_same_with_every_field() -> None:
    read = json.loads(report_json([Total("a", LOCAL), Total("b", TERRA, "Ben")], NOVEMBER, By.PERSON))
    assert (read["first_day"], read["last_day"], read["by"]) == ("2026-11-01", "2026-11-21", "person")
    assert read["totals"][0] == {
        "key": "b",
        "name": "Ben",
        "calls": 1,
        "input_uncached": 1_000,
        "input_cached": 8_000,
        "input_written": 200,
        "output": 300,
        "reasoning": 40,
        "bytes_up": 90_000,
        "estimated": False,
        "cost_usd": 0.00335,
        "calls_without_price": 0,
    }
    assert (read["totals"][1]["cost_usd"], read["totals"][1]["calls_without_price"]) == (None, 1)


@given(st.text(min_size=1), st.text())
def test_any_name_keeps_the_lines_of_the_table(key: str, name: str) -> None:
    lines = report_text([Total(key, TERRA, name)], NOVEMBER, By.PERSON).splitlines()
    assert len(lines) == 5


def test_names_contain_no_control_characters() -> None:
    shown = report_text([Total("U1", TERRA, "Ann\x1b]0;owned\x07\x9b2J\u202e")], NOVEMBER, By.PERSON)
    assert all(line.isprintable() for line in shown.splitlines())
