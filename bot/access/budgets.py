"""What people may spend in a day, in tokens and in money; and what was spent, as text. Pure.

Rules. A day is one of UTC, so that all budgets start again at the same moment; people read it in their own time zone.
Spending is known once a turn has ended, so turns that run when a budget is reached can exceed it. Calls without a price
count in tokens only.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import ClassVar, Final, TypeAlias, assert_never

from agent.admission_terms import Whose
from agent.incoming import platform_of
from agent.messages import Json, ModelCall
from agent.ports.clock import Clock
from agent.ports.preferences import Preferences
from agent.ports.spending import Spending
from agent.spending import (
    APP,
    NANO,
    PRICES_AS_OF,
    WORKSPACE,
    By,
    Money,
    SpendingAccount,
    SpendingPeriod,
    Spent,
    Total,
    account,
    workspace_of,
)
from bot.access.acl import AccessRules, place_owner
from bot.caches import ExpiringCache
from bot.chat.turns.notes import EndedTurn, NoteLine
from bot.commands.declaration import Panel
from bot.exits import printable_json, printable_line
from bot.setting_parsers import FooterStyle
from bot.texts import formatting, reply_texts
from bot.texts.formatting import counted, literal, local_moment, money, shortened


@dataclass(frozen=True, slots=True)
class Budget:
    """A limit for one day; None is no limit."""

    tokens: int | None = None
    money: Money | None = None

    @property
    def is_none(self) -> bool:
        return self.tokens is None and self.money is None


UNLIMITED: Final = Budget()

# Names of preferences: whole numbers of tokens and of nano-dollars, and a mark.
TOKENS: Final = "budget.tokens"
MONEY: Final = "budget.money"
EXEMPT: Final = "budget.exempt"


@dataclass(frozen=True, slots=True)
class Budgets:
    """The default budgets. `everyone`: all people of this bot together."""

    person: Budget = UNLIMITED
    channel: Budget = UNLIMITED
    everyone: Budget = UNLIMITED
    workspace: Budget = UNLIMITED
    """For each workspace of a platform that has them, except those whose app is in `apps`."""
    apps: Mapping[str, Budget] = field(default_factory=dict[str, Budget])
    """By the app's name among several."""

    def of(self, whose: Whose) -> Budget:
        match whose:
            case Whose.PERSON:
                return self.person
            case Whose.CHANNEL:
                return self.channel
            case Whose.WORKSPACE:
                return self.workspace
            case Whose.EVERYONE:
                return self.everyone


def tokens_spent(spent: Spent) -> int:
    """Return the sum of all tokens, whatever they cost."""
    used = spent.usage
    return used.input_uncached + used.input_cached + used.input_written + used.output + used.reasoning


def exceeded(spent: Spent, budget: Budget) -> str | None:
    """Return the limit that is reached, in words; None while something is left."""
    if budget.tokens is not None and tokens_spent(spent) >= budget.tokens:
        return counted(budget.tokens, "token", "tokens")
    if budget.money is not None and spent.cost >= budget.money:
        return money(budget.money)
    return None


def over_budget(spent: Spent, budget: Budget, whose: Whose, now: datetime, zone: str = "") -> str | None:
    """Return a sentence once a budget is spent: whose, how much, until when; None while something is left.

    `spent`: today. `now` in UTC. `zone`: the person's time zone.
    """
    limit = exceeded(spent, budget)
    if limit is None:
        return None
    return reply_texts.BUDGET_USED.format(
        who=reply_texts.WHO_USED[whose], limit=limit, moment=local_moment(midnight(now), zone)
    )


def raised_budget(usual: Budget, changes: Mapping[str, str]) -> Budget:
    """Return the default budget as `/budget` changed it: raised, never lowered, or lifted. `changes`: preferences."""
    if changes.get(EXEMPT) is not None:
        return UNLIMITED
    higher = _higher(usual.money, changes.get(MONEY))
    return Budget(_higher(usual.tokens, changes.get(TOKENS)), None if higher is None else Money(higher))


def midnight(now: datetime) -> datetime:
    """Return when the next day begins. `now` in UTC."""
    return datetime.combine(now.date() + timedelta(days=1), datetime.min.time(), UTC)


def _higher(usual: int | None, raised: str | None) -> int | None:
    """The raised limit, if it is higher."""
    if usual is None or raised is None or not raised.isdecimal():
        return usual
    return max(usual, int(raised))


# Each budget with what `/budget` changed, and what was spent of it today.

# How old the totals of channels, workspaces and everyone may be: they are added up from every call of the day.
TOTALS_FRESH_S: Final = 5.0
NAMES: Final = (TOKENS, MONEY, EXEMPT)
NOT_SPENT: Final = Spent()


@dataclass(frozen=True, slots=True)
class BudgetAccount:
    """Whose budget it is. `id`: of the person, channel or workspace; "" for everyone."""

    whose: Whose
    id: str = ""

    @property
    def has_one(self) -> bool:
        """Whether there is such a budget: on a platform without workspaces, `id` is the platform's name."""
        return self.whose is not Whose.WORKSPACE or ":" in self.id

    @property
    def owner(self) -> str:
        """The owner of the preferences that hold its changes."""
        match self.whose:
            case Whose.PERSON:
                return self.id
            case Whose.CHANNEL:
                return place_owner(self.id)
            case Whose.WORKSPACE:
                return f"{WORKSPACE}{self.id}"
            case Whose.EVERYONE:
                return "everyone"


@dataclass(slots=True)
class BudgetAllowances:
    usual: Budgets
    spending: Spending
    preferences: Preferences
    clock: Clock
    _apps: ExpiringCache[Mapping[str, str]] = field(init=False)
    _totals: dict[By, tuple[float, SpendingPeriod, list[Total]]] = field(
        default_factory=dict[By, tuple[float, SpendingPeriod, list[Total]]]
    )

    def __post_init__(self) -> None:
        self._apps = ExpiringCache(self.preferences.all_of, self.clock)

    async def used_up(
        self, account: BudgetAccount, now: datetime, zone: str, uncounted: Spent = NOT_SPENT
    ) -> str | None:
        """Return the sentence for a budget that is used up; None while something is left. Changes by `/budget` are read
        only once the default budget is spent.

        `uncounted`: spending that is not recorded yet.
        """
        usual = await self.usually(account)
        if usual.is_none:
            return None
        spent = await self.spent(account, now) + uncounted
        if exceeded(spent, usual) is None:
            return None
        return over_budget(spent, await self.agreed(account), account.whose, now, zone)

    async def usually(self, account: BudgetAccount) -> Budget:
        """Return the default budget, without changes by `/budget`. Raises StoreError."""
        if not account.has_one:
            return UNLIMITED
        if account.whose is not Whose.WORKSPACE or not self.usual.apps:
            return self.usual.of(account.whose)
        app = (await self._apps.get(account.owner)).get(APP, "")
        return self.usual.apps.get(app, self.usual.workspace)

    async def agreed(self, account: BudgetAccount) -> Budget:
        """Return the budget with changes by `/budget`."""
        return raised_budget(await self.usually(account), await self.preferences.all_of(account.owner))

    async def change(self, account: BudgetAccount, changes: dict[str, str]) -> None:
        """Store these changes in place of all earlier ones."""
        for name in NAMES:
            await self.preferences.set(account.owner, name, changes.get(name))

    async def spent(self, account: BudgetAccount, now: datetime) -> Spent:
        """Return what was spent today. `now` in UTC."""
        today = SpendingPeriod.days_until(now, 1)
        match account.whose:
            case Whose.PERSON:
                totals = await self.spending.totals(today, By.DAY, person=account.id)
            case Whose.CHANNEL:
                totals = [total for total in await self._cached_totals(By.CHANNEL, today) if total.key == account.id]
            case Whose.WORKSPACE:
                totals = [total for total in await self._cached_totals(By.WORKSPACE, today) if total.key == account.id]
            case Whose.EVERYONE:
                totals = await self._cached_totals(By.CHANNEL, today)
        return sum((total.spent for total in totals), Spent())

    async def _cached_totals(self, by: By, today: SpendingPeriod) -> list[Total]:
        """Return today's totals, at most TOTALS_FRESH_S old."""
        now, cached = self.clock.monotonic(), self._totals.get(by)
        if cached is None or cached[1] != today or now - cached[0] > TOTALS_FRESH_S:
            cached = self._totals[by] = (now, today, await self.spending.totals(today, by))
        return cached[2]


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
class BudgetDesk:
    access: AccessRules
    allowances: BudgetAllowances
    clock: Clock

    async def usage(self, person: str) -> SpendingAccount:
        now = self.clock.now()
        month = SpendingPeriod.month_of(now)
        return account(await self.allowances.spending.totals(month, By.DAY, person=person), now)

    async def answer(self, person: str, channel: str, words: str) -> Panel:
        """Run `/budget`; the answer is for this person alone. `words`: as `read_budget_request` reads them."""
        request = read_budget_request(words)
        if request is None:
            return Panel(reply_texts.BUDGET_USAGE, refused=True)
        account = _account(request, person, channel)
        own = account == BudgetAccount(Whose.PERSON, person)
        if not self.access.is_operator(person) and (request.change is not None or not own):
            return Panel(reply_texts.ONLY_OPERATORS, refused=True)
        if request.change is not None:
            problem = await self._change(account, request.change)
            if problem is not None:
                return Panel(problem, refused=True)
        return Panel(await self._render(account, own=own))

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
        return None

    async def _render(self, account: BudgetAccount, *, own: bool) -> str:
        if account.whose is Whose.PERSON and self.access.is_operator(account.id):
            return reply_texts.OPERATOR
        spent = await self.allowances.spent(account, self.clock.now())
        whose = reply_texts.YOU if own else _name(account)
        budget = await self.allowances.agreed(account)
        return reply_texts.BUDGET.format(
            whose=whose,
            tokens=counted(tokens_spent(spent), "token", "tokens"),
            tokens_limit=_limit(None if budget.tokens is None else counted(budget.tokens, "token", "tokens")),
            money=money(spent.cost),
            money_limit=_limit(None if budget.money is None else money(budget.money)),
        )


def _limit(limit: str | None) -> str:
    return reply_texts.NO_LIMIT if limit is None else reply_texts.LIMIT.format(limit=limit)


def _name(account: BudgetAccount) -> str:
    return f"{account.whose.capitalize()} `{account.id}`" if account.id else reply_texts.EVERYONE


def _account(request: BudgetRequest, person: str, channel: str) -> BudgetAccount:
    match request.whose:
        case Whose.PERSON:
            return BudgetAccount(request.whose, request.id or person)
        case Whose.CHANNEL:
            return BudgetAccount(request.whose, request.id or channel)
        case Whose.WORKSPACE:
            own = workspace_of(person)
            id_ = request.id if ":" in request.id or not request.id else f"{platform_of(own)}:{request.id}"
            return BudgetAccount(request.whose, id_ or own)
        case Whose.EVERYONE:
            return BudgetAccount(request.whose)


def _refusal(whose: Whose, usual: Budget, count: int | None, amount: Money | None) -> str | None:
    wanted, limit = (count, usual.tokens) if count is not None else (amount, usual.money)
    unit = "TOKENS" if count is not None else "DOLLARS"
    setting = f"COGENCY_{whose.upper()}_{unit}_PER_DAY"
    if whose is Whose.WORKSPACE:
        setting = reply_texts.APPS_SETTING.format(setting=setting, key=f"{unit.lower()}_per_day")
    if limit is None:
        return reply_texts.NO_SUCH_LIMIT.format(setting=setting)
    if wanted is None or wanted <= limit:
        usually = counted(limit, "token", "tokens") if count is not None else money(Money(limit))
        return reply_texts.ONLY_RAISED.format(usually=usually, setting=setting)
    return None


def _preferences(agreed: Budget, count: int | None, amount: Money | None) -> dict[str, str]:
    """Return the preferences for the raised budget; the limit that is not raised keeps its value."""
    wanted = {TOKENS: agreed.tokens if count is None else count, MONEY: agreed.money if amount is None else amount}
    return {name: str(value) for name, value in wanted.items() if value is not None}


# What was spent, as text: for a person, for the operator, for a program.
#
# Rules. Counts that a model did not report are marked as estimated. A sum without some calls' prices says so.

_HEADINGS = ("calls", "input", "cached", "written", "output", "reasoning", "cost")


def account_text(account: SpendingAccount) -> str:
    """Return what one person's questions used, today and this month, as Markdown."""
    if not account.month.calls:
        return reply_texts.NOTHING_SPENT
    parts = [
        reply_texts.SPENT,
        *_block(reply_texts.TODAY, account.today),
        *_block(reply_texts.THIS_MONTH, account.month),
    ]
    if account.month.usage.estimated:
        parts.append(f"{reply_texts.ESTIMATED}.")
    return "\n\n".join([*parts, reply_texts.LIST_PRICES])


def cost_text(spent: Spent) -> str:
    """Return the money: "$0.0123", "at least $0.0123" if some calls have no price, "no price" if none has."""
    if spent.calls == spent.unpriced:
        return "no price" if spent.calls else money(spent.cost)
    return f"at least {money(spent.cost)}" if spent.unpriced else money(spent.cost)


def report_text(totals: Sequence[Total], period: SpendingPeriod, by: By) -> str:
    """Return a table for a terminal, the most expensive first (days in order), with the total in the last row."""
    heading = f"{period.first} to {period.last}, by {by}. {reply_texts.LIST_PRICES}"
    if not totals:
        return f"{heading}\n\nNothing was spent.\n"
    overall = sum((total.spent for total in totals), Spent())
    rows = [(by.value, *_HEADINGS)]
    rows += [(_label(total, by), *_cells(total.spent)) for total in _ordered(totals, by)]
    rows.append(("all", *_cells(overall)))
    note = f"\n{reply_texts.ESTIMATED}\n" if overall.usage.estimated else ""
    return f"{heading}\n\n{_table(rows)}\n{note}"


def report_json(totals: Sequence[Total], period: SpendingPeriod, by: By) -> str:
    """Return the same for a program, on one line. `cost_usd` is null if no call has a price."""
    rows: list[Json] = [_as_json(total) for total in _ordered(totals, by)]
    report: Json = {
        "first_day": period.first.isoformat(),
        "last_day": period.last.isoformat(),
        "by": by.value,
        "prices_as_of": PRICES_AS_OF.isoformat(),
        "totals": rows,
    }
    return printable_json(report)


def _block(when: str, spent: Spent) -> list[str]:
    if not spent.calls:
        return [f"**{when}**: nothing"]
    used = spent.usage
    prefix = "~" if used.estimated else ""
    cached = f", {prefix}{used.input_cached:,} read from the vendor's cache" if used.input_cached else ""
    written = f", {prefix}{used.input_written:,} written to the vendor's cache" if used.input_written else ""
    reasoning = f", and {prefix}{used.reasoning:,} of reasoning" if used.reasoning else ""
    input_line = f"- Input: {prefix}{counted(used.input_uncached, 'new token', 'new tokens')}{cached}{written}"
    output_line = f"- Output: {prefix}{counted(used.output, 'token', 'tokens')}{reasoning}"
    total = f"**{when}**: {cost_text(spent)}, {counted(spent.calls, 'model call', 'model calls')}"
    return ["\n".join([total, "", input_line, output_line])]


def _ordered(totals: Sequence[Total], by: By) -> list[Total]:
    if by is By.DAY:
        return sorted(totals, key=lambda total: total.key)
    return sorted(totals, key=lambda total: (-total.spent.cost, -total.spent.calls, total.key))


def _label(total: Total, by: By) -> str:
    if by is By.CHANNEL and not total.key:
        return "(forgotten)"
    key, name = (
        formatting.shortened(printable_line(words), reply_texts.TITLE_CHARS) for words in (total.key, total.name)
    )
    return f"{name} ({key})" if name else key


def _cells(spent: Spent) -> tuple[str, ...]:
    used = spent.usage
    prefix = "~" if used.estimated else ""
    counts = (used.input_uncached, used.input_cached, used.input_written, used.output, used.reasoning)
    return (f"{spent.calls:,}", *(f"{prefix}{count:,}" for count in counts), cost_text(spent))


def _table(rows: Sequence[tuple[str, ...]]) -> str:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join(
        "  ".join(
            [row[0].ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True))]
        )
        for row in rows
    )


def _as_json(total: Total) -> Json:
    spent, used = total.spent, total.spent.usage
    return {
        "key": total.key,
        "name": total.name,
        "calls": spent.calls,
        "input_uncached": used.input_uncached,
        "input_cached": used.input_cached,
        "input_written": used.input_written,
        "output": used.output,
        "reasoning": used.reasoning,
        "bytes_up": used.bytes_up,
        "estimated": used.estimated,
        "cost_usd": None if spent.calls == spent.unpriced else spent.cost / NANO,
        "calls_without_price": spent.unpriced,
    }


# The footer of a reply: which model answered, and what it used.
#
# Rules: it is shown, and never stored as part of the reply. If another model answered than the requested one, the
# footer is shown and says why, whatever the setting.

WHY_CHARS = 200  # Two lines on a phone; the log has the whole reason
SEPARATOR = " · "


@dataclass(frozen=True, slots=True)
class ModelNote:
    """The footer of each reply."""

    style: FooterStyle
    is_private: ClassVar[bool] = False

    async def line(self, ended: EndedTurn) -> NoteLine:
        return NoteLine(footer(ended.closing.calls, ended.asked_model, ended.why_another, self.style))


def footer(calls: Sequence[ModelCall], asked_model: str, switched_why: str, style: FooterStyle) -> str:
    """Return one line of Markdown in italics, "" for none.

    `calls` are all of the turn's; the last one produced the answer. `asked_model` is the name of the model that should
    have answered; `switched_why` is a sentence, "" if it did.
    """
    if not calls:
        return ""
    parts: list[str] = []
    if style is not FooterStyle.OFF or switched_why:
        parts.append(_model(calls[-1].model, asked_model, switched_why))
    if style is FooterStyle.COST:
        parts += _cost(calls)
    return f"*{SEPARATOR.join(parts)}*" if parts else ""


def _model(answered: str, asked: str, why: str) -> str:
    if not why:
        return literal(answered)
    return f"{literal(answered)} answered instead of {literal(asked)}: {literal(shortened(why, WHY_CHARS))}"


def _cost(calls: Sequence[ModelCall]) -> list[str]:
    spent = Spent.on(calls)
    used = spent.usage
    about = "about " if used.estimated else ""
    input_tokens = used.input_uncached + used.input_cached + used.input_written
    cached = f" ({used.input_cached:,} cached)" if used.input_cached else ""
    tokens = f"{about}{counted(input_tokens, 'token', 'tokens')} in{cached}, {used.output + used.reasoning:,} out"
    return [tokens] if spent.unpriced == spent.calls else [tokens, cost_text(spent)]
