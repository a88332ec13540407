"""The seconds of Python code that people have in a day: counted, shown, and refused once they are used up."""

from datetime import UTC, datetime

import pytest

from agent.spending import SpendingAccount, Spent
from bot.budgets import texts
from bot.budgets.budgets import EXEMPT, BudgetAllowances, Budgets
from bot.budgets.code_time import CodeBudget
from bot.budgets.report import account_text
from bot.budgets.service import BudgetService
from bot.chat.access.acl import AccessRules
from tests.fakes.clock import FakeClock
from tests.fakes.store import StoreInMemory, store_in_memory

ANN, OP = "slack:T1:U1", "slack:T1:U9"
USED = texts.CODE_USED.format(limit="60 seconds")


def opened(store: StoreInMemory, clock: FakeClock, usual: int | None = 60) -> CodeBudget:
    return CodeBudget(store.code_time, store.preferences, clock, lambda person: person == OP, usual)


async def test_seconds_add_up_until_the_budget_is_used_and_start_again_at_midnight() -> None:
    store, clock = store_in_memory(), FakeClock(datetime(2026, 3, 31, 12, tzinfo=UTC))
    budget = opened(store, clock)
    await budget.charge(ANN, 40.25)
    assert await budget.used_up(ANN) is None
    await budget.charge(ANN, 19.75)
    assert await budget.used_up(ANN) == USED
    assert await budget.used_up("slack:T1:U2") is None, "everybody has their own"
    await clock.advance(12 * 3_600)
    assert await budget.used_up(ANN) is None


async def test_operators_the_exempt_and_a_bot_without_a_limit_go_on() -> None:
    store, clock = store_in_memory(), FakeClock()
    budget = opened(store, clock)
    for person in (ANN, OP):
        await budget.charge(person, 100)
    assert await budget.used_up(OP) is None
    assert await budget.used_up(ANN) == USED
    await store.preferences.set(ANN, EXEMPT, "yes")
    assert await budget.used_up(ANN) is None
    assert await opened(store, clock, None).used_up("slack:T1:U2") is None


async def test_usage_shows_the_seconds_of_today_and_of_the_month() -> None:
    store, clock = store_in_memory(), FakeClock(datetime(2026, 3, 30, 12, tzinfo=UTC))
    budget = opened(store, clock)
    await budget.charge(ANN, 1.4)
    await clock.advance(24 * 3_600)
    await budget.charge(ANN, 12.6)
    assert await budget.line(ANN) == "**Python code**: 13 seconds today (of 60 seconds), 14 seconds this month"
    await clock.advance(24 * 3_600)
    assert await budget.line(ANN) == "**Python code**: 0 seconds today (of 60 seconds), 0 seconds this month"
    assert "(no limit)" in await budget.line(OP)


@pytest.mark.parametrize("runs_code", [True, False])
async def test_the_line_is_only_there_where_code_runs(runs_code: bool) -> None:
    store, clock = store_in_memory(), FakeClock()
    allowances = BudgetAllowances(Budgets(), store.spending, store.preferences, clock)
    code = opened(store, clock) if runs_code else None
    line = await BudgetService(AccessRules(), allowances, clock, code).code_line(ANN)
    assert bool(line) is runs_code


@pytest.mark.parametrize(
    ("words", "shown"),
    [
        ("", "Your usage today (UTC): 0 tokens (no limit), $0 (no limit). Python code: 13 seconds used of 60 sec"),
        (f"person:{ANN}", f"Person `{ANN}`, today (UTC): 0 tokens (no limit), $0 (no limit). Python code: 13 sec"),
        ("everyone", "Everyone, today (UTC): 0 tokens (no limit), $0 (no limit)."),
    ],
)
async def test_a_budget_shows_the_seconds_that_are_used_and_left(words: str, shown: str) -> None:
    store, clock = store_in_memory(), FakeClock()
    allowances = BudgetAllowances(Budgets(), store.spending, store.preferences, clock)
    budget = opened(store, clock)
    service = BudgetService(AccessRules(operators=frozenset({OP})), allowances, clock, budget)
    await budget.charge(ANN, 12.6)
    panel = await service.answer(OP if words else ANN, "C1", words)
    assert panel.text.startswith(shown)
    assert ("47 seconds left." in panel.text) is (words != "everyone")


async def test_a_budget_shows_what_is_left_after_more_was_used_and_where_nothing_limits_it() -> None:
    store, clock = store_in_memory(), FakeClock()
    budget = opened(store, clock)
    await budget.charge(ANN, 89.0)
    assert await budget.today(ANN) == "Python code: 89 seconds used of 60 seconds, 0 seconds left."
    assert await budget.today(OP) == "Python code: 0 seconds used, no limit."
    await store.preferences.set(ANN, EXEMPT, "yes")
    assert await budget.today(ANN) == "Python code: 89 seconds used, no limit."


def test_who_has_asked_nothing_reads_only_that() -> None:
    assert account_text(SpendingAccount(Spent(), Spent()), "**Python code**") == texts.NOTHING_SPENT
