"""Admission control: access, then rates and backlog, then budgets; each refusal is one sentence, once a minute."""

from dataclasses import dataclass, field, replace
from datetime import timedelta

import pytest

from agent.admission_terms import Authority, Rate, TermsNotMet, Whose
from agent.errors import Refused
from agent.events import Outcome
from agent.incoming import Incoming
from agent.memory.forgetting_plans import Everything
from agent.messages import ModelCall, Usage
from agent.spending import NANO, Money
from agent.turn_records import Accepted, Claiming, Closing
from bot.budgets.budgets import EXEMPT, MONEY, TOKENS, Budget, BudgetAllowances, Budgets
from bot.budgets.gate import BudgetGate
from bot.channels.effects import ChannelEffects
from bot.chat.access.acl import AccessRules, parse_entries
from bot.chat.access.admission import MINUTE, AdmissionControl, AdmissionRules, RateLimits
from bot.chat.askers import Requester
from tests.fakes.clock import FakeClock
from tests.fakes.incoming import LEASE, said
from tests.fakes.store import StoreInMemory, store_in_memory

TERRA = "openai:gpt-6.1-terra"
TWO_A_MINUTE = RateLimits((Rate(Whose.PERSON, 2, MINUTE),))


@dataclass
class Gateway:
    """Admission control in front of a store in memory."""

    rules: AdmissionRules = field(default_factory=AdmissionRules)
    budgets: Budgets = field(default_factory=Budgets)
    store: StoreInMemory = field(default_factory=store_in_memory)
    clock: FakeClock = field(default_factory=FakeClock)

    def __post_init__(self) -> None:
        allowances = BudgetAllowances(self.budgets, self.store.spending, self.store.preferences, self.clock)
        self.gate = AdmissionControl(
            self.rules, ChannelEffects(self.store.preferences), BudgetGate(allowances), self.clock
        )

    async def take(self, incoming: Incoming) -> Accepted:
        admission = await self.gate.admission(incoming)
        try:
            accepted = await self.store.ledger.accept(incoming, admission.terms)
        except TermsNotMet as unmet:
            raise self.gate.refused(incoming, admission, unmet.obstacle) from None
        if not accepted.duplicate:
            self.gate.count(incoming, admission)
        return accepted

    async def refused(self, incoming: Incoming) -> Refused:
        with pytest.raises(Refused) as caught:
            await self.take(incoming)
        return caught.value

    async def spend(self, incoming: Incoming, tokens: int) -> None:
        """Record that a turn of this message used this many tokens."""
        await self.store.ledger.accept(incoming)
        claim = await self.store.ledger.claim(Claiming("worker", self.clock.now(), LEASE))
        assert claim is not None
        call = ModelCall(TERRA, Usage(output=tokens))
        await self.store.ledger.finish(claim, Closing(Outcome.ANSWERED, "!", calls=(call,)), self.clock.now())

    async def wait(self, period: timedelta) -> None:
        await self.clock.advance(period.total_seconds())


async def test_without_rules_members_are_admitted_and_guests_are_not() -> None:
    gateway = Gateway()
    assert not (await gateway.take(said("Hello?"))).duplicate
    assert "Guests" in str(await gateway.refused(replace(said("Hello?"), authority=Authority.GUEST)))
    assert len(gateway.store.turns) == 1


async def test_messages_of_refused_people_are_not_stored_as_context() -> None:
    gateway = Gateway(AdmissionRules(AccessRules(deny=parse_entries("person:ann"))))
    assert not await gateway.gate.admit_context(said("by the way", person="ann"))
    assert await gateway.gate.admit_context(said("by the way", person="bob"))


async def test_too_many_messages_are_refused_until_there_is_room_again() -> None:
    gateway = Gateway(AdmissionRules(surges=TWO_A_MINUTE))
    for _ in range(2):
        await gateway.take(said("?"))
    assert "2 messages a minute from one person" in str(await gateway.refused(said("?")))
    await gateway.wait(MINUTE)
    await gateway.take(said("?"))


async def test_one_reason_is_shown_once_a_minute_and_another_at_once() -> None:
    gateway = Gateway(AdmissionRules(surges=TWO_A_MINUTE))
    for _ in range(2):
        await gateway.take(said("?"))
    assert [(await gateway.refused(said("?"))).was_shown for _ in range(3)] == [False, True, True]
    assert not (await gateway.refused(replace(said("?"), authority=Authority.GUEST))).was_shown
    assert not (await gateway.refused(replace(said("?", person="gus"), authority=Authority.GUEST))).was_shown
    await gateway.wait(MINUTE)
    assert not (await gateway.refused(replace(said("?"), authority=Authority.GUEST))).was_shown


async def test_an_accepted_event_is_not_refused_when_it_is_redelivered() -> None:
    gateway = Gateway(AdmissionRules(surges=TWO_A_MINUTE), Budgets(person=Budget(tokens=10)))
    first = said("?")
    await gateway.take(first)
    await gateway.spend(said("?"), 10)
    assert (await gateway.take(first)).duplicate
    assert "today's budget" in str(await gateway.refused(said("?")))


@pytest.mark.slow
async def test_forgetting_everything_does_not_reset_the_rates() -> None:
    gateway = Gateway(AdmissionRules(surges=TWO_A_MINUTE))
    for question in ("1", "2"):
        await gateway.take(said(question))
    await gateway.store.forgetting.forget(Everything("ann"), gateway.clock.now())
    assert "2 messages a minute" in str(await gateway.refused(said("3")))
    await gateway.wait(MINUTE)
    assert not (await gateway.take(said("4"))).duplicate


async def test_a_full_backlog_is_reported_at_once() -> None:
    gateway = Gateway(AdmissionRules(surges=RateLimits(backlog=1)))
    await gateway.take(said("?"))
    assert "I already have 1 question waiting" in str(await gateway.refused(said("?", person="bob")))


@pytest.mark.parametrize(
    ("budgets", "sentence"),
    [
        (Budgets(person=Budget(tokens=1_000)), "You have used up today's budget of 1,000 tokens."),
        (Budgets(person=Budget(money=Money(NANO // 200))), "You have used up today's budget of $0.0050."),
        (Budgets(channel=Budget(tokens=1_000)), "This channel has used"),
        (Budgets(everyone=Budget(tokens=1_000)), "Everyone together has used"),
    ],
)
async def test_a_budget_holds_before_a_message_is_stored_and_before_a_model_is_called(
    budgets: Budgets, sentence: str
) -> None:
    gateway = Gateway(budgets=budgets)
    assert await gateway.gate.budget_left(said("?")) is None
    await gateway.spend(said("?"), 1_000)
    await gateway.wait(timedelta(seconds=10))
    assert str(await gateway.gate.budget_left(said("?"))).startswith(sentence)
    assert str(await gateway.refused(said("?"))).startswith(sentence)
    await gateway.wait(timedelta(days=1))
    await gateway.take(said("?"))


async def test_a_workspace_without_budget_does_not_close_others() -> None:
    gateway = Gateway(budgets=Budgets(workspace=Budget(tokens=5_000), apps={"one": Budget(tokens=1_000)}))
    await gateway.store.preferences.set("workspace:slack:T1", "app", "one")
    await gateway.store.preferences.set("workspace:slack:T2", "app", "two")
    here, there = (said("?", person=f"slack:{team}:U1", conversation=team) for team in ("T1", "T2"))
    for asked in (here, there):
        await gateway.spend(asked, 1_000)
    await gateway.wait(timedelta(seconds=10))
    assert str(await gateway.refused(said("?", person="slack:T1:U2"))).startswith(
        "This workspace has used up today's budget of 1,000 tokens. It resets at "
    )
    await gateway.take(said("?", person="slack:T2:U2"))
    await gateway.take(said("?", person="discord:1"))


async def test_the_calls_of_a_running_turn_count_before_they_are_recorded() -> None:
    gateway = Gateway(budgets=Budgets(person=Budget(tokens=1_000)))
    await gateway.spend(said("?"), 600)
    calls = [ModelCall("rehearsal", Usage(input_uncached=200)), ModelCall("rehearsal", Usage(output=200))]
    assert await gateway.gate.budget_left(said("?"), calls[:1]) is None
    assert await gateway.gate.budget_left(said("?"), calls) is not None


async def test_budgets_of_a_person_and_of_a_channel_are_separate() -> None:
    gateway = Gateway(budgets=Budgets(Budget(tokens=10), Budget(tokens=10)))
    await gateway.spend(said("?"), 10)
    assert await gateway.gate.budget_left(said("?", person="bob")) is not None
    assert await gateway.gate.budget_left(replace(said("?", person="bob"), channel="elsewhere")) is None
    assert await gateway.gate.budget_left(replace(said("?"), channel="elsewhere")) is not None


async def test_operators_and_the_terminal_are_exempt() -> None:
    gateway = Gateway(
        AdmissionRules(AccessRules(operators=frozenset({"ann"})), TWO_A_MINUTE), Budgets(Budget(tokens=1))
    )
    for _ in range(4):
        await gateway.take(said("?"))
    await gateway.spend(said("?"), 5)
    assert await gateway.gate.budget_left(said("?")) is None
    await gateway.spend(said("?", person="bob"), 5)
    assert await gateway.gate.budget_left(said("?", person="terminal:bob")) is None


@pytest.mark.parametrize("name", [TOKENS, EXEMPT])
async def test_a_raised_budget_and_an_exemption_take_effect_at_once(name: str) -> None:
    gateway = Gateway(budgets=Budgets(person=Budget(tokens=10)))
    await gateway.spend(said("?"), 10)
    await gateway.store.preferences.set("ann", name, "20")
    assert await gateway.gate.budget_left(said("?")) is None
    await gateway.store.preferences.set("ann", name, None)
    assert await gateway.gate.budget_left(said("?")) is not None


async def test_a_refusal_names_the_raised_budget() -> None:
    gateway = Gateway(budgets=Budgets(everyone=Budget(money=Money(NANO // 200))))
    await gateway.store.preferences.set("everyone", MONEY, str(NANO))
    await gateway.spend(said("?"), 200_000)
    assert "budget of $1.00." in str(await gateway.gate.budget_left(said("?")))


async def test_orders_and_context_messages_obey_the_lists() -> None:
    gateway = Gateway(AdmissionRules(AccessRules(deny=parse_entries("person:ann"), operators=frozenset({"ben"}))))
    with pytest.raises(Refused, match="do not have access") as caught:
        await gateway.gate.admit_order(Requester("ann", "C1"), Authority.EMPLOYEE, "UTC")
    assert not caught.value.was_shown
    with pytest.raises(Refused) as again:
        await gateway.gate.admit_order(Requester("ann", "C1"), Authority.EMPLOYEE, "UTC")
    assert again.value.was_shown
    assert not await gateway.gate.admit_context(said("psst", person="ann"))
    await gateway.gate.admit_order(Requester("ben", "C1"), Authority.STRANGER, "UTC")


@pytest.mark.slow
async def test_orders_and_context_messages_have_separate_rates_and_operators_none() -> None:
    rules = AdmissionRules(AccessRules(operators=frozenset({"ben"})), TWO_A_MINUTE)
    gateway = Gateway(rules)
    assert [await gateway.gate.admit_context(said("talk", person="ann")) for _ in range(3_000)].count(True) == 2
    for _ in range(2):
        await gateway.gate.admit_order(Requester("ann", "C1"), Authority.EMPLOYEE, "UTC")
        await gateway.take(said("question", person="ann", number=_ + 1))
    with pytest.raises(Refused, match="2 messages a minute"):
        await gateway.gate.admit_order(Requester("ann", "C1"), Authority.EMPLOYEE, "UTC")
    for _ in range(5):
        await gateway.gate.admit_order(Requester("ben", "C1"), Authority.EMPLOYEE, "UTC")
    await gateway.wait(MINUTE)
    assert await gateway.gate.admit_context(said("talk", person="ann"))
    await gateway.gate.admit_order(Requester("ann", "C1"), Authority.EMPLOYEE, "UTC")


async def test_nobody_keeps_others_of_a_channel_from_giving_orders() -> None:
    limits = RateLimits.of(person_minute=2, person_hour=None, channel_minute=3, backlog=None)
    gateway = Gateway(AdmissionRules(AccessRules(), limits))
    for person in ("eve", "eve", "mallory", "mallory"):
        await gateway.gate.admit_order(Requester(person, "C1"), Authority.EMPLOYEE, "UTC")
    await gateway.gate.admit_order(Requester("ann", "C1"), Authority.EMPLOYEE, "UTC")
    with pytest.raises(Refused, match="2 messages a minute"):
        await gateway.gate.admit_order(Requester("eve", "C2"), Authority.EMPLOYEE, "UTC")


async def test_where_only_a_channel_has_a_rate_each_person_has_it_for_orders() -> None:
    limits = RateLimits.of(person_minute=None, person_hour=None, channel_minute=1, backlog=None)
    gateway = Gateway(AdmissionRules(AccessRules(), limits))
    for person in ("eve", "ann"):
        await gateway.gate.admit_order(Requester(person, "C1"), Authority.EMPLOYEE, "UTC")
        with pytest.raises(Refused, match="1 message a minute"):
            await gateway.gate.admit_order(Requester(person, "C1"), Authority.EMPLOYEE, "UTC")


async def test_a_question_is_refused_before_it_is_posted() -> None:
    gateway = Gateway(
        AdmissionRules(AccessRules(deny=parse_entries("person:cat")), TWO_A_MINUTE), Budgets(person=Budget(tokens=10))
    )
    with pytest.raises(Refused, match="do not have access"):
        await gateway.gate.admit_posting(said("?", person="cat"))
    await gateway.gate.admit_posting(said("?", person="ann"))
    await gateway.gate.admit_posting(said("?", person="ann"))
    with pytest.raises(Refused, match="2 messages a minute"):
        await gateway.gate.admit_posting(said("?", person="ann"))
    await gateway.spend(said("?", person="dan"), 100)
    with pytest.raises(Refused):
        await gateway.gate.admit_posting(said("?", person="dan"))
