"""/budget: everyone sees their own; operators see, raise, lift and reset all of them."""

from dataclasses import dataclass, field, replace

import pytest

from agent.admission_terms import Whose
from agent.events import Outcome
from agent.messages import ModelCall, Usage
from agent.spending import NANO, Money
from agent.turn_records import Closing
from bot.budgets import texts as budgets_texts
from bot.budgets.budgets import UNLIMITED, Budget, BudgetAccount, BudgetAllowances, Budgets
from bot.budgets.service import BudgetService
from bot.chat.access.acl import AccessRules
from tests.contracts.steps import claimed
from tests.fakes.clock import FakeClock
from tests.fakes.incoming import said
from tests.fakes.store import StoreInMemory, store_in_memory

ANN, OP = "slack:T1:U1", "slack:T1:U9"
USUAL = Budgets(person=Budget(1_000, Money(5 * NANO)))


@dataclass
class Office:
    """A service with an operator, and budgets of 1,000 tokens and $5 for each person."""

    budgets: Budgets = USUAL
    store: StoreInMemory = field(default_factory=store_in_memory)
    clock: FakeClock = field(default_factory=FakeClock)

    def __post_init__(self) -> None:
        self.allowances = BudgetAllowances(self.budgets, self.store.spending, self.store.preferences, self.clock)
        self.service = BudgetService(AccessRules(operators=frozenset({"U9"})), self.allowances, self.clock)

    async def ask(self, words: str, person: str = OP) -> str:
        return (await self.service.answer(person, "C1", words)).text

    async def of_ann(self) -> Budget:
        return await self.allowances.agreed(BudgetAccount(Whose.PERSON, ANN))

    async def spend(self, tokens: int) -> None:
        call = ModelCall("openai:gpt-6.1-terra", Usage(output=tokens))
        await self.store.ledger.accept(replace(said("Hello?", person=ANN), channel="C1"))
        ending = Closing(Outcome.ANSWERED, "Hello.", calls=(call,))
        await self.store.ledger.finish(await claimed(self.store, now=self.clock.now()), ending, self.clock.now())


async def test_people_see_their_own_budget_and_what_is_spent_of_it() -> None:
    office = Office()
    await office.spend(200)
    assert await office.ask("", ANN) == ("Your usage today (UTC): 200 tokens (of 1,000), $0.0010 (of $5.00).")


@pytest.mark.parametrize("words", ["exempt", "channel", "everyone", f"person:{OP}", "$20", "reset"])
async def test_only_operators_see_others_and_change_anything(words: str) -> None:
    office = Office()
    assert await office.ask(words, ANN) == budgets_texts.ONLY_OPERATORS
    assert await office.of_ann() == office.budgets.person


async def test_an_operator_raises_tokens_and_money_one_after_the_other() -> None:
    office = Office()
    assert "(of 5,000)" in await office.ask(f"person:{ANN} 5,000 tokens")
    assert "(of $20.00)" in await office.ask(f"person:{ANN} $20")
    assert await office.of_ann() == Budget(5_000, Money(20 * NANO))
    assert "(of 2,000), $0 (of $20.00)" in await office.ask(f"person:{ANN} 2,000 tokens")


async def test_an_operator_lifts_a_budget_and_resets_it() -> None:
    office = Office()
    assert "0 tokens (no limit), $0 (no limit)" in await office.ask(f"person:{ANN} exempt")
    assert await office.of_ann() == UNLIMITED
    assert "(of 1,000)" in await office.ask(f"person:{ANN} reset")
    assert await office.of_ann() == office.budgets.person


async def test_raising_after_lifting_gives_the_raised_budget() -> None:
    office = Office()
    await office.ask(f"person:{ANN} exempt")
    await office.ask(f"person:{ANN} 5,000 tokens")
    assert await office.of_ann() == Budget(5_000, Money(5 * NANO))


async def test_a_refused_change_names_the_setting_for_it() -> None:
    office = Office()
    assert await office.ask(f"person:{ANN} 10 tokens") == (
        "The budget must be higher than the default of 1,000 tokens. To return to the default, use `reset`. To change "
        "the default, use COGENCY_PERSON_TOKENS_PER_DAY."
    )
    assert (
        "$5.00. To return to the default, use `reset`. To change the default, use COGENCY_PERSON_DOLLARS_PER_DAY"
        in await office.ask(f"person:{ANN} $1")
    )
    assert await office.ask("everyone $20") == "This limit is not set. To set it, use COGENCY_EVERYONE_DOLLARS_PER_DAY."
    assert await office.ask("Please.") == budgets_texts.BUDGET_USAGE
    own, everyone, others = (await office.ask("")).split("\n\n")
    assert (own, others) == (budgets_texts.OPERATOR, budgets_texts.OTHER_BUDGETS)
    assert everyone == await office.ask("everyone")


async def test_a_workspace_has_the_default_budget_or_its_apps_and_an_operator_raises_it() -> None:
    office = Office(Budgets(workspace=Budget(tokens=1_000), apps={"acme": Budget(tokens=300, money=Money(NANO))}))
    await office.store.preferences.set("workspace:slack:T2", "app", "acme")
    await office.spend(7)
    assert await office.ask("workspace") == (
        "Workspace `slack:T1`, today (UTC): 7 tokens (of 1,000), under $0.0001 (no limit)."
    )
    assert "0 tokens (of 300), $0 (of $1.00)" in await office.ask("workspace:T2")
    assert "(of 500)" in await office.ask("workspace:slack:T2 500 tokens")
    assert await office.ask("workspace:T2 100 tokens") == (
        "The budget must be higher than the default of 300 tokens. To return to the default, use `reset`. To change "
        "the default, use COGENCY_WORKSPACE_TOKENS_PER_DAY (or tokens_per_day for the app in the COGENCY_SLACK_APPS "
        "file)."
    )
    assert "(of 300)" in await office.ask("workspace:T2 reset")
    assert "0 tokens (no limit)" in await office.ask("workspace", "terminal:you"), "what has none has no budget"


async def test_the_terminal_is_an_operators() -> None:
    office = Office()
    await office.spend(7)
    assert "Everyone, today (UTC): 7 tokens (no limit)" in await office.ask("everyone", "terminal:you")
    assert "Channel `C1`, today (UTC): 7 tokens (no limit)" in await office.ask("channel", "terminal:you")
