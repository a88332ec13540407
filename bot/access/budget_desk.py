"""Seeing and changing budgets: `/budget` on every platform, and `cogency budget`.

Above: `bot.hosting`, the terminal, `bot.app`. Below: `bot.access.budget_words`, `bot.access.allowances`,
`bot.access.lists`.

Rules. Everybody may see their own budget. Operators see and change all of them: raise, lift, reset. A budget is never
lowered below the usual one here; that is a setting. A change counts from the next message on.
"""

from dataclasses import dataclass
from typing import assert_never

from agent.admission import Whose
from agent.ports import Clock
from agent.prices import Money
from agent.spending import Spent
from bot.access.allowances import Account, Allowances
from bot.access.budget_words import USAGE, Change, Exempt, Raise, Request, Reset, read
from bot.access.budgets import EXEMPT, MONEY, TOKENS, Budget, tokens
from bot.access.lists import AccessRules
from bot.amounts import counted, money

ONLY_OPERATORS = "Only operators (COGENCY_OPERATORS) may see and change other budgets than their own."
OPERATOR = "You are an operator: no budget holds for you."


@dataclass(frozen=True, slots=True)
class BudgetAnswer:
    """`is_refused`: nothing was changed or shown; the text says why."""

    text: str
    is_refused: bool = False


@dataclass(frozen=True, slots=True)
class BudgetDesk:
    access: AccessRules
    allowances: Allowances
    clock: Clock

    async def answer(self, person: str, channel: str, words: str) -> str:
        """What `/budget` says to this person there, for them alone. `words`: as `budget_words` reads them."""
        return (await self.decide(person, channel, words)).text

    async def decide(self, person: str, channel: str, words: str) -> BudgetAnswer:
        """The same, with whether it was refused."""
        request = read(words)
        if request is None:
            return BudgetAnswer(USAGE, is_refused=True)
        account = _account(request, person, channel)
        own = account == Account(Whose.PERSON, person)
        if not self.access.is_operator(person) and (request.change is not None or not own):
            return BudgetAnswer(ONLY_OPERATORS, is_refused=True)
        if request.change is not None:
            problem = await self._change(account, request.change)
            if problem is not None:
                return BudgetAnswer(problem, is_refused=True)
        return BudgetAnswer(await self._shown(account, own=own))

    async def _change(self, account: Account, change: Change) -> str | None:
        """Keep it; or the sentence for why not."""
        match change:
            case Raise(count, sum_):
                usual = self.allowances.usual.of(account.whose)
                problem = _not_more(account.whose, usual, count, sum_)
                if problem is None:
                    agreed = await self.allowances.agreed(account)
                    await self.allowances.change(account, _kept(agreed, count, sum_))
                return problem
            case Exempt():
                await self.allowances.change(account, {EXEMPT: "yes"})
            case Reset():
                await self.allowances.change(account, {})
            case _:
                assert_never(change)
        return None

    async def _shown(self, account: Account, *, own: bool) -> str:
        if account.whose is Whose.PERSON and self.access.is_operator(account.id):
            return OPERATOR
        spent = await self.allowances.spent(account, self.clock.now())
        whose = "You" if own else _name(account)
        return budget_text(whose, spent, await self.allowances.agreed(account))


def budget_text(whose: str, spent: Spent, budget: Budget) -> str:
    """What is spent today, and of how much. Pure."""
    used = counted(tokens(spent), "token", "tokens")
    tokens_of = "no limit" if budget.tokens is None else f"of {counted(budget.tokens, 'token', 'tokens')}"
    money_of = "no limit" if budget.money is None else f"of {money(budget.money)}"
    return f"{whose}, today (UTC): {used} ({tokens_of}), {money(spent.cost)} ({money_of})."


def _name(account: Account) -> str:
    return f"{account.whose.capitalize()} `{account.id}`" if account.id else "Everyone"


def _account(request: Request, person: str, channel: str) -> Account:
    match request.whose:
        case Whose.PERSON:
            return Account(request.whose, request.id or person)
        case Whose.CHANNEL:
            return Account(request.whose, request.id or channel)
        case Whose.EVERYONE:
            return Account(request.whose)


def _not_more(whose: Whose, usual: Budget, count: int | None, sum_: Money | None) -> str | None:
    wanted, limit = (count, usual.tokens) if count is not None else (sum_, usual.money)
    unit = "TOKENS" if count is not None else "DOLLARS"
    setting = f"COGENCY_{whose.upper()}_{unit}_PER_DAY"
    if limit is None:
        return f"There is no such limit; {setting} sets one."
    if wanted is None or wanted <= limit:
        usually = counted(limit, "token", "tokens") if count is not None else money(Money(limit))
        return f"The usual budget is {usually}: here it can only be raised; {setting} changes it."
    return None


def _kept(agreed: Budget, count: int | None, sum_: Money | None) -> dict[str, str]:
    """The preferences for the raised budget; what was raised before stays."""
    wanted = {TOKENS: agreed.tokens if count is None else count, MONEY: agreed.money if sum_ is None else sum_}
    return {name: str(value) for name, value in wanted.items() if value is not None}
