"""Whom a request to extend a budget reaches, and who decides about it: what one question hinders, another does not."""

from collections.abc import Mapping
from dataclasses import replace

import pytest

from agent.admission_terms import Authority, Whose
from agent.approvers import CHANNEL_MANAGER, Approvers
from agent.budget_days import BUDGET, BudgetPause, BudgetRef, Decided, Extension
from agent.errors import Refused
from agent.incoming import Incoming
from agent.memory.audience import GroupAudience, PersonAudience, Place
from agent.memory.forgetting_plans import Everything
from bot.budgets import texts as budgets_texts
from bot.budgets.budgets import UNLIMITED, Budget, BudgetAllowances, Budgets, midnight
from bot.budgets.extensions import AGAIN, ExtensionService
from bot.budgets.gate import ExtensionRules
from bot.chat.approvers import Approver
from tests.contracts.steps import claimed
from tests.fakes.approver_platform import FakeApproverPlatform
from tests.fakes.clock import FakeClock
from tests.fakes.incoming import LEASE, said
from tests.fakes.store import store_in_memory

BOSS = "test:boss"
MANAGERS = Approvers(CHANNEL_MANAGER)
ROOM = Place(GroupAudience("test:room"))
OPERATORS = ExtensionRules(50, None, frozenset({BOSS}), BOSS.__eq__)


class Rooms(FakeApproverPlatform):
    """No place of one person has a manager. It lists nobody if it is `blind`."""

    blind = False

    async def candidates(self, rule: Approvers, question: Incoming) -> list[str]:
        return [] if self.blind else [*await super().candidates(rule, question)]

    async def approver(self, person: str, rule: Approvers, question: Incoming) -> Approver | None:
        if rule.who == CHANNEL_MANAGER and isinstance(question.place.audience, PersonAudience):
            return None
        return await super().approver(person, rule, question)


class Office:
    """The budget of everyone is used up."""

    def __init__(self, rules: ExtensionRules) -> None:
        self.store, self.clock = store_in_memory(), FakeClock(auto=False)
        self.platform = Rooms({BOSS: Authority.MANAGER}, {BOSS})
        self.connected = {"test": self.platform}
        self.ref = BudgetRef(self.clock.now().date(), "everyone", Whose.EVERYONE, "", "")
        store = self.store
        budgets, days = Budgets(everyone=Budget(tokens=1_000)), store.budget_days
        self.service = ExtensionService(
            days=days,
            allowances=BudgetAllowances(budgets, store.spending, store.preferences, self.clock, days),
            rules=rules,
            run_limit=UNLIMITED,
            jobs=store.jobs,
            audit=store.audit,
            approvals=store.approvals,
            written=store.written_turns,
            clock=self.clock,
            wake=lambda: None,
            platforms=self.connected,
            events={},
        )

    async def waits(self, person: str, channel: str, place: Place | None = None) -> int:
        """Have a question of this person wait for the budget; return its turn."""
        asked = replace(said("one", person=person, conversation=channel, place=place), channel=channel)
        await self.store.ledger.accept(asked)
        claim, now = await claimed(self.store), self.clock.now()
        await self.store.ledger.put_aside(claim, midnight(now), BudgetPause(now, midnight(now), self.ref))
        return claim.turn

    async def number(self) -> int:
        (day,) = await self.store.budget_days.of([self.ref])
        return day.number

    async def run(self) -> Mapping[str, str]:
        """Run the job, which is due; return what was sent to whom."""
        job = await self.store.jobs.claim(frozenset({BUDGET}), "worker", self.clock.now(), LEASE)
        assert job is not None
        await self.service.run(job)
        await self.store.jobs.finish(job)
        return {person: panel.text for person, panel in self.platform.shown.values()}

    async def extension(self) -> Extension:
        (day,) = await self.store.budget_days.of([self.ref])
        return day.extension


async def test_a_question_in_direct_messages_keeps_no_channels_managers_from_extending_the_budget_of_all() -> None:
    office = Office(ExtensionRules(50, MANAGERS, frozenset(), lambda _: False))
    await office.waits("ann", "dm")
    assert await office.run() == {}
    assert await office.extension() is Extension.ASKED
    turn = await office.waits("ben", "room", ROOM)
    assert [*await office.run()] == [BOSS]
    panel = await office.service.answer(BOSS, f"waiting {turn}")
    assert panel is not None
    assert "https://example.test/" in panel.text
    assert await office.service.decide(await office.number(), BOSS, given=True) is Decided.STORED


async def test_who_has_the_role_decides_where_the_platform_lists_nobody() -> None:
    office = Office(ExtensionRules(50, Approvers("role:5"), frozenset(), lambda _: False))
    office.platform.blind = True
    turn = await office.waits("ann", "room", ROOM)
    assert await office.run() == {}
    assert await office.extension() is Extension.ASKED
    panel = await office.service.answer(BOSS, f"waiting {turn}")
    assert panel is not None
    assert [action.label for action in panel.actions] == [budgets_texts.EXTEND, budgets_texts.DECLINE]
    with pytest.raises(Refused):
        await office.service.decide(await office.number(), "test:stranger", given=True)
    assert await office.service.decide(await office.number(), BOSS, given=True) is Decided.STORED


async def test_people_whom_the_platform_does_not_list_are_asked_if_they_have_written_to_the_bot() -> None:
    office = Office(ExtensionRules(50, Approvers("manager"), frozenset(), lambda _: False))
    office.platform.blind = True
    await office.store.ledger.record_context_message(said("hi", person=BOSS, conversation="elsewhere"))
    await office.waits("ann", "room", ROOM)
    assert [*await office.run()] == [BOSS]


async def test_operators_of_a_platform_that_is_not_connected_are_asked_once_it_is() -> None:
    office = Office(OPERATORS)
    office.connected.clear()
    await office.waits("ann", "room", ROOM)
    assert await office.run() == {}
    assert await office.extension() is Extension.ASKED
    office.connected["test"] = office.platform
    await office.clock.advance(AGAIN.total_seconds())
    assert [*await office.run()] == [BOSS]


async def test_a_question_that_is_forgotten_before_anybody_was_asked_ends_nothing_for_others() -> None:
    office = Office(ExtensionRules(50, Approvers(BOSS), frozenset(), lambda _: False))
    await office.waits("ann", "room", ROOM)
    await office.store.forgetting.forget(Everything("ann"), office.clock.now())
    assert await office.run() == {}
    assert await office.extension() is Extension.ASKED
    await office.waits("ben", "room", ROOM)
    assert [*await office.run()] == [BOSS]
