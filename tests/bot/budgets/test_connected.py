"""Connected accounts have one budget: what they spend together counts for each of them."""

import pytest

from agent.memory.forgetting_plans import CONNECTED
from agent.messages import ModelCall, Usage
from bot.budgets.budgets import EXEMPT, TOKENS, Budget, BudgetAllowances, Budgets
from bot.budgets.service import BudgetService
from bot.chat.access.acl import AccessRules
from bot.chat.caches import MAX_AGE_S
from tests.fakes.clock import FakeClock
from tests.fakes.incoming import said
from tests.fakes.store import StoreInMemory, store_in_memory

LIMIT = 1_000


class World:
    def __init__(self) -> None:
        self.store: StoreInMemory = store_in_memory()
        self.clock = FakeClock(auto=False)
        usual = Budgets(person=Budget(tokens=LIMIT))
        self.budgets = BudgetAllowances(usual, self.store.spending, self.store.preferences, self.clock)

    async def connect(self) -> None:
        for one, other in (("ann", "ann2"), ("ann2", "ann")):
            await self.store.preferences.set(one, f"{CONNECTED} {other}", self.clock.now().isoformat())

    async def spend(self, person: str, tokens: int) -> None:
        await self.store.spending.charge(person, "turn", [ModelCall("m", Usage(output=tokens))], self.clock.now())

    async def is_spent(self, person: str) -> bool:
        return await self.budgets.budget_left(said("one", person=person)) is not None


async def test_what_both_accounts_spend_counts_together_once_they_are_connected() -> None:
    world = World()
    await world.spend("ann", LIMIT // 2)
    await world.spend("ann2", LIMIT // 2)
    assert not await world.is_spent("ann")
    await world.connect()
    await world.clock.advance(MAX_AGE_S)
    assert await world.is_spent("ann")
    assert await world.is_spent("ann2")
    usage, _ = await BudgetService(AccessRules(), world.budgets, world.clock).usage("ann2")
    assert (usage.today.usage.output, usage.month.usage.output) == (LIMIT, LIMIT)


@pytest.mark.parametrize(("name", "value"), [(TOKENS, "5000"), (EXEMPT, "yes")])
async def test_a_budget_that_was_raised_for_one_account_is_raised_for_that_account_alone(name: str, value: str) -> None:
    world = World()
    await world.connect()
    await world.spend("ann2", 2 * LIMIT)
    await world.store.preferences.set("ann2", name, value)
    assert await world.is_spent("ann")
    assert not await world.is_spent("ann2")
