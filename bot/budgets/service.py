"""Shows and changes budgets."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, TypeAlias, assert_never

from agent.admission_terms import Whose
from agent.incoming import person_source, platform_of
from agent.ports.clock import Clock
from agent.spending import NANO, By, Forecast, Money, SpendingAccount, SpendingPeriod, account, forecast
from bot.budgets import texts as budgets_texts
from bot.budgets.budgets import EXEMPT, MONEY, TOKENS, Budget, BudgetAccount, BudgetAllowances, tokens_spent
from bot.budgets.code_time import CodeBudget
from bot.chat.access.acl import AccessRules
from bot.chat.panels import Panel
from bot.chat.texts.formatting import counted, money

# The words of `/budget`, the same on every platform. Pure.
#
# First whose: "me" (or nothing), "channel" and "workspace" (the current one), "everyone", or "person:ID" and
# "channel:ID", with which platforms replace a mention, and "workspace:ID". Then what: nothing (to show it), "5,000,000
# tokens", "$20", "exempt", or "reset" (to the default budget).


@dataclass(frozen=True, slots=True)
class Raise:
    """Raise the limit of tokens or of money; the other one stays."""

    tokens: int | None = None
    money: Money | None = None


@dataclass(frozen=True, slots=True)
class Exempt:
    """Lift all limits."""


@dataclass(frozen=True, slots=True)
class Reset:
    """Restore the default budget."""


Change: TypeAlias = Raise | Exempt | Reset


@dataclass(frozen=True, slots=True)
class BudgetRequest:
    """`id`: of a person, channel or workspace; "" for the asker, or their channel or workspace. `change`: None to show
    it.
    """

    whose: Whose
    id: str = ""
    change: Change | None = None


def read_budget_request(words: str) -> BudgetRequest | None:
    """Return the request; None if the words are none."""
    found = _REQUEST.fullmatch(" ".join(words.split()))
    if found is None:
        return None
    change = _change(found)
    if found["person"]:
        return BudgetRequest(Whose.PERSON, found["person"], change)
    if found["channel"]:
        return BudgetRequest(Whose.CHANNEL, found["channel"], change)
    if found["workspace"]:
        return BudgetRequest(Whose.WORKSPACE, found["workspace"], change)
    match (found["word"] or "me").casefold():
        case "channel":
            return BudgetRequest(Whose.CHANNEL, change=change)
        case "workspace":
            return BudgetRequest(Whose.WORKSPACE, change=change)
        case "everyone":
            return BudgetRequest(Whose.EVERYONE, change=change)
        case _:
            return BudgetRequest(Whose.PERSON, change=change)


def _change(found: re.Match[str]) -> Change | None:
    if found["tokens"]:
        return Raise(tokens=_whole(found["tokens"]))
    if found["dollars"]:
        return Raise(money=Money(_whole(found["dollars"]) * NANO + _cents(found["cents"]) * (NANO // 100)))
    match (found["what"] or "").casefold():
        case "exempt":
            return Exempt()
        case "reset":
            return Reset()
        case _:
            return None


def _whole(number: str) -> int:
    return int(number.replace(",", ""))


def _cents(digits: str | None) -> int:
    return int((digits or "").ljust(2, "0"))


# Both halves are optional: "/budget", "/budget channel" and "/budget me 5000 tokens" are all requests. Digits are
# bounded before `int`.
_REQUEST: Final = re.compile(
    r"(?:person:(?P<person>[^\s]+)|channel:(?P<channel>[^\s]+)|workspace:(?P<workspace>[^\s]+)"
    r"|(?P<word>me|channel|workspace|everyone))?"
    r"(?:(?:^|\s+)(?:(?P<tokens>\d[\d,]{0,18}) tokens?|\$ ?(?P<dollars>\d[\d,]{0,9})(?:\.(?P<cents>\d{1,2}))?"
    r"|(?P<what>exempt|reset|show)))?",
    re.IGNORECASE | re.ASCII,
)


# Showing and changing budgets: `/budget` on every platform, and `cogency budget`.
#
# Rules. Everyone may see their own budget. Operators see and change all budgets: raise, lift, reset. A budget cannot be
# lowered below the default here; that is a setting. A change takes effect with the next message.


@dataclass(frozen=True, slots=True)
class BudgetService:
    access: AccessRules
    allowances: BudgetAllowances
    clock: Clock
    code: CodeBudget | None = None
    """None where no code runs."""
    wake: Callable[[], None] = lambda: None
    """Called when a waiting turn may continue."""

    async def code_line(self, person: str) -> str:
        """Return what the person used of their budget of code; "" where no code runs. Raises StoreError."""
        return "" if self.code is None else await self.code.line(person)

    async def usage(self, person: str) -> tuple[SpendingAccount, Forecast]:
        """Return what the person has spent, and what today and this month will have cost at this pace."""
        now = self.clock.now()
        month = SpendingPeriod.month_of(now)
        accounts, spending = await self.allowances.accounts_of(person), self.allowances.spending
        days = [total for one in accounts for total in await spending.totals(month, By.DAY, person=one)]
        return account(days, now), forecast(days, now)

    async def answer(self, person: str, channel: str, words: str) -> Panel:
        """Run `/budget`; the answer is for this person alone. `words`: as `read_budget_request` reads them."""
        request = read_budget_request(words)
        if request is None:
            return Panel(budgets_texts.BUDGET_USAGE, refused=True)
        account = _account(request, person, channel)
        own = account == BudgetAccount(Whose.PERSON, person)
        if not self.access.is_operator(person) and (request.change is not None or not own):
            return Panel(budgets_texts.ONLY_OPERATORS, refused=True)
        if request.change is not None:
            problem = await self._change(account, request.change)
            if problem is not None:
                return Panel(problem, refused=True)
        text = await self._render(account, own=own)
        if own and self.access.is_operator(person):  # what they have to watch is everyone's
            everyone = await self._render(BudgetAccount(Whose.EVERYONE), own=False)
            text = "\n\n".join([text, everyone, budgets_texts.OTHER_BUDGETS])
        return Panel(text)

    async def _change(self, account: BudgetAccount, change: Change) -> str | None:
        """Store the change; or return the sentence for why not."""
        match change:
            case Raise(count, amount):
                usual = await self.allowances.usually(account)
                problem = _refusal(account.whose, usual, count, amount)
                if problem is None:
                    agreed = await self.allowances.agreed(account)
                    await self.allowances.change(account, _preferences(agreed, count, amount))
                return problem
            case Exempt():
                await self.allowances.change(account, {EXEMPT: "yes"})
            case Reset():
                await self.allowances.change(account, {})
            case _:
                assert_never(change)
        self.wake()
        return None

    async def _render(self, account: BudgetAccount, *, own: bool) -> str:
        if account.whose is Whose.PERSON and self.code is not None:
            return f"{await self._render_spending(account, own=own)} {await self.code.today(account.id)}"
        return await self._render_spending(account, own=own)

    async def _render_spending(self, account: BudgetAccount, *, own: bool) -> str:
        if account.whose is Whose.PERSON and self.access.is_operator(account.id):
            return budgets_texts.OPERATOR
        spent = await self.allowances.spent(account, self.clock.now())
        heading = budgets_texts.YOUR_USAGE if own else budgets_texts.USAGE_OF.format(whose=_name(account))
        budget = await self.allowances.agreed(account)
        return budgets_texts.BUDGET.format(
            heading=heading,
            tokens=counted(tokens_spent(spent), "token", "tokens"),
            tokens_limit=_limit(None if budget.tokens is None else f"{budget.tokens:,}"),
            money=money(spent.cost),
            money_limit=_limit(None if budget.money is None else money(budget.money)),
        )


def _limit(limit: str | None) -> str:
    return budgets_texts.NO_LIMIT if limit is None else budgets_texts.LIMIT.format(limit=limit)


def _name(account: BudgetAccount) -> str:
    return f"{account.whose.capitalize()} `{account.id}`" if account.id else budgets_texts.EVERYONE


def _account(request: BudgetRequest, person: str, channel: str) -> BudgetAccount:
    match request.whose:
        case Whose.PERSON:
            return BudgetAccount(request.whose, request.id or person)
        case Whose.CHANNEL:
            return BudgetAccount(request.whose, request.id or channel)
        case Whose.WORKSPACE:
            own = person_source(person)
            id_ = request.id if ":" in request.id or not request.id else f"{platform_of(own)}:{request.id}"
            return BudgetAccount(request.whose, id_ or own)
        case Whose.EVERYONE:
            return BudgetAccount(request.whose)


def _refusal(whose: Whose, usual: Budget, count: int | None, amount: Money | None) -> str | None:
    wanted, limit = (count, usual.tokens) if count is not None else (amount, usual.money)
    unit = "TOKENS" if count is not None else "DOLLARS"
    setting = f"COGENCY_{whose.upper()}_{unit}_PER_DAY"
    if whose is Whose.WORKSPACE:
        setting = budgets_texts.APPS_SETTING.format(setting=setting, key=f"{unit.lower()}_per_day")
    if limit is None:
        return budgets_texts.NO_SUCH_LIMIT.format(setting=setting)
    if wanted is None or wanted <= limit:
        usually = counted(limit, "token", "tokens") if count is not None else money(Money(limit))
        return budgets_texts.ONLY_RAISED.format(usually=usually, setting=setting)
    return None


def _preferences(agreed: Budget, count: int | None, amount: Money | None) -> dict[str, str]:
    """Return the preferences for the raised budget; the limit that is not raised keeps its value."""
    wanted = {TOKENS: agreed.tokens if count is None else count, MONEY: agreed.money if amount is None else amount}
    return {name: str(value) for name, value in wanted.items() if value is not None}
