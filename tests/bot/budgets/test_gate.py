"""When a budget lets a turn wait, and when it ends it: by who asks, who could extend it, and what the turn has used."""

from dataclasses import replace
from datetime import timedelta

import pytest

from agent.approvers import Approvers
from agent.budget_days import WAIT, Extension
from agent.incoming import Incoming
from agent.messages import ModelCall, Usage
from agent.turn_events import EndDue, PauseDue
from agent.turn_kinds import TurnKind
from bot.budgets import texts as budgets_texts
from bot.budgets.budgets import UNLIMITED, Budget, BudgetAllowances, Budgets, midnight
from bot.budgets.gate import NO_EXTENSIONS, BudgetGate, ExtensionRules
from tests.contracts.steps import claimed
from tests.fakes.clock import FakeClock
from tests.fakes.incoming import said
from tests.fakes.store import store_in_memory

OPERATORS = ExtensionRules(50, None, frozenset({"op"}), "op".__eq__)
ONE = ModelCall("m", Usage(output=400))


class Office:
    """A budget of 1,000 tokens for each person."""

    def __init__(
        self, rules: ExtensionRules = OPERATORS, run: Budget = UNLIMITED, budgets: Budgets | None = None
    ) -> None:
        self.store, self.clock = store_in_memory(), FakeClock(auto=False)
        days = self.store.budget_days
        budgets = budgets or Budgets(person=Budget(tokens=1_000))
        allowances = BudgetAllowances(budgets, self.store.spending, self.store.preferences, self.clock, days)
        self.gate = BudgetGate(allowances, rules, run)

    async def spend(self, tokens: int, person: str = "ann") -> None:
        call = ModelCall("m", Usage(output=tokens))
        await self.store.spending.charge(person, "turn", [call], self.clock.now())

    async def held(self, *calls: ModelCall, question: Incoming | None = None) -> PauseDue | EndDue | None:
        asked = question or said("one")
        return await self.gate.held(asked, 1, calls, waits=not asked.kind.asks_nobody)


async def test_a_turn_waits_before_the_call_that_would_exceed_the_budget_until_midnight_at_the_latest() -> None:
    office = Office()
    await office.spend(500)
    assert await office.held(ONE) is None
    await office.spend(100)
    due = await office.held(ONE)
    assert isinstance(due, PauseDue)
    now = office.clock.now()
    assert due.pause.until == now + WAIT
    assert due.why.startswith("My next step would probably exceed your budget of 1,000 tokens for today")
    assert "If nobody decides by" in due.why
    await office.clock.advance((midnight(now) - now - timedelta(hours=1)).total_seconds())
    due = await office.held(ONE)
    assert isinstance(due, PauseDue)
    assert due.pause.until == midnight(now)
    assert due.why.endswith(budgets_texts.OR_RESET)


async def test_before_any_call_of_a_model_what_others_have_just_spent_of_a_shared_budget_counts() -> None:
    office = Office(budgets=Budgets(everyone=Budget(tokens=1_000)))
    await office.spend(900, "ben")
    assert await office.gate.budget_refusal(said("one")) is None
    assert await office.gate.allowances.may_spend("ann")
    await office.spend(200, "ben")
    assert not await office.gate.allowances.may_spend("ann")
    assert await office.gate.budget_left(said("one")) is not None


async def test_an_operator_is_held_by_no_budget() -> None:
    office = Office()
    await office.spend(5_000, "op")
    assert await office.held(ONE, question=said("one", person="op")) is None


@pytest.mark.parametrize("kind", [TurnKind.API, TurnKind.EVENT_QUESTION])
async def test_a_door_cannot_wait_and_is_refused_with_the_sentence(kind: TurnKind) -> None:
    office, question = Office(), replace(said("one"), kind=kind)
    await office.spend(700)
    assert await office.gate.budget_refusal(question) is None
    due = await office.held(ONE, question=question)
    assert isinstance(due, EndDue)
    assert not due.at_once, "in its last call it answers with what it knows"
    await office.spend(300)
    refused = await office.gate.budget_refusal(question)
    assert str(refused).startswith("You have used up today's budget of 1,000 tokens.")
    due = await office.held(question=question)
    assert due == EndDue(str(refused), at_once=True)
    assert await office.gate.budget_refusal(said("one")) is None, "a person's question waits"


@pytest.mark.parametrize(
    "rules", [NO_EXTENSIONS, replace(OPERATORS, operators=frozenset()), replace(OPERATORS, percent=0)]
)
async def test_where_nobody_can_extend_it_a_question_is_refused(rules: ExtensionRules) -> None:
    office = Office(rules)
    await office.spend(1_000)
    assert await office.gate.budget_refusal(said("one")) is not None
    due = await office.held()
    assert isinstance(due, EndDue)
    assert due.at_once


async def test_a_named_approver_needs_no_operator() -> None:
    office = Office(ExtensionRules(50, Approvers("manager"), frozenset(), lambda _: False))
    await office.spend(1_000)
    due = await office.held()
    assert isinstance(due, PauseDue)
    assert "the people who can extend it" in due.why


@pytest.mark.parametrize(
    ("extension", "limit"),
    [(Extension.GIVEN, 1_500), (Extension.REFUSED, 1_000), (Extension.UNASKED, 1_000)],
)
async def test_after_a_decision_the_turn_goes_on_to_the_limit_that_holds_then_and_waits_no_more(
    extension: Extension, limit: int
) -> None:
    office = Office()
    await office.spend(1_000)
    due = await office.held()
    assert isinstance(due, PauseDue)
    await office.store.ledger.accept(said("one"))
    claim = await claimed(office.store, now=office.clock.now())
    await office.store.ledger.put_aside(claim, due.pause.until, due.pause)
    assert due.pause.budget is not None
    (day,) = await office.store.budget_days.of([due.pause.budget])
    await office.store.budget_days.decide(day.number, "op", extension, 50, office.clock.now())
    assert await office.held() is None or limit == 1_000
    await office.spend(limit - 1_000)
    due = await office.held(ONE)
    assert isinstance(due, EndDue)
    assert due.at_once
    assert budgets_texts.NOT_EXTENDED[extension.name] in due.why
    assert await office.gate.budget_refusal(said("one")) is not None


async def test_a_turn_that_waited_as_long_as_it_may_ends_and_says_so() -> None:
    office = Office()
    await office.spend(1_000)
    due = await office.held()
    assert isinstance(due, PauseDue)
    await office.store.ledger.accept(said("one"))
    claim = await claimed(office.store, now=office.clock.now())
    await office.store.ledger.put_aside(claim, due.pause.until, due.pause)
    await office.clock.advance(WAIT.total_seconds())
    due = await office.gate.held(said("one"), claim.turn, (), waits=True)
    assert isinstance(due, EndDue)
    assert due.why.endswith(budgets_texts.NOT_EXTENDED_IN_TIME)


async def test_the_limit_of_one_turn_holds_for_operators_too_and_a_door_ends() -> None:
    office = Office(run=Budget(tokens=1_000))
    operator = said("one", person="op")
    assert await office.held(ONE, question=operator) is None
    due = await office.held(ONE, ONE, question=operator)
    assert isinstance(due, PauseDue)
    assert due.pause.budget is None
    assert "has used 800 tokens so far" in due.why
    assert due.pause.extensions == 0
    due = await office.held(ONE, ONE, question=replace(operator, kind=TurnKind.API))
    assert isinstance(due, EndDue)
    assert not due.at_once
    many = [ONE] * 9
    due = await office.held(*many, question=operator)
    assert isinstance(due, PauseDue)
    await office.store.ledger.accept(operator)
    claim = await claimed(office.store, now=office.clock.now())
    await office.store.ledger.put_aside(claim, due.pause.until, due.pause)
    await office.store.budget_days.decide_turn(claim.turn, "op", office.clock.now(), goes_on=True)
    assert await office.gate.held(operator, claim.turn, many, waits=True) is None, "one press is enough"
    assert await office.gate.held(operator, claim.turn, [ONE] * 13, waits=True) is not None
