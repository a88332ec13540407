"""Connected accounts have one budget: they spend it together, and it is the largest of theirs."""

import pytest

from agent.memory.forgetting_plans import CONNECTED
from agent.messages import ModelCall, Usage
from bot.budgets.budgets import EXEMPT, TOKENS, UNLIMITED, Budget, BudgetAllowances, Budgets, largest
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
    usage = await BudgetService(AccessRules(), world.budgets, world.clock).usage("ann2")
    assert (usage.today.usage.output, usage.month.usage.output) == (LIMIT, LIMIT)


@pytest.mark.parametrize(("name", "value"), [(TOKENS, "5000"), (EXEMPT, "yes")])
async def test_a_budget_that_was_raised_for_one_account_is_raised_for_both(name: str, value: str) -> None:
    world = World()
    await world.connect()
    await world.spend("ann2", 2 * LIMIT)
    assert await world.is_spent("ann")
    await world.store.preferences.set("ann2", name, value)
    assert not await world.is_spent("ann")


def test_the_largest_of_budgets_has_no_limit_where_one_of_them_has_none() -> None:
    assert largest([Budget(tokens=1), Budget(tokens=3)]) == Budget(tokens=3)
    assert largest([Budget(tokens=1), UNLIMITED]) == UNLIMITED
    assert largest([UNLIMITED]) == UNLIMITED
