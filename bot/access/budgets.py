"""What people may spend in a day, in tokens and in money, and what was spent, told to whom it concerns. Pure.

Rules. A day is one of UTC, so that everybody's budget begins anew at the same moment; people read it in their own time.
What was spent is known once a turn has ended, so a budget can be passed by what was running when it was reached.
Calls without a price count in tokens only.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Final, TypeAlias, assert_never

from agent.admission_terms import Whose
from agent.messages import Json, ModelCall
from agent.ports import Clock, Preferences, Spending
from agent.records import platform_of
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
from bot.access.acl import AccessRules, CommandAnswer, place_owner
from bot.caches import ExpiringCache
from bot.exits import printable_json, printable_line
from bot.setting_parsers import FooterStyle
from bot.texts import formatting, reply_texts
from bot.texts.formatting import counted, literal, local_moment, money, shortened


@dataclass(frozen=True, slots=True)
class Budget:
    """What may be spent in one day; None is no limit."""

    tokens: int | None = None
    money: Money | None = None

    @property
    def is_none(self) -> bool:
        return self.tokens is None and self.money is None


UNLIMITED: Final = Budget()

TOKENS: Final = "budget.tokens"
MONEY: Final = "budget.money"
EXEMPT: Final = "budget.exempt"  # The names of the preferences: whole numbers of tokens and of nano-dollars, and a mark


@dataclass(frozen=True, slots=True)
class Budgets:
    """The usual ones. `everyone`: all together that this bot serves."""

    person: Budget = UNLIMITED
    channel: Budget = UNLIMITED
    everyone: Budget = UNLIMITED
    workspace: Budget = UNLIMITED
    """Each workspace of a platform that has them, unless…"""
    apps: Mapping[str, Budget] = field(default_factory=dict[str, Budget])
    """… its app has one of its own, by what it is called among several."""

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
    """All tokens, whatever they cost."""
    used = spent.usage
    return used.input_uncached + used.input_cached + used.input_written + used.output + used.reasoning


def exceeded(spent: Spent, budget: Budget) -> str | None:
    """The limit that is reached, in words; None while there is something left."""
    if budget.tokens is not None and tokens_spent(spent) >= budget.tokens:
        return counted(budget.tokens, "token", "tokens")
    if budget.money is not None and spent.cost >= budget.money:
        return money(budget.money)
    return None


def over_budget(spent: Spent, budget: Budget, whose: Whose, now: datetime, zone: str = "") -> str | None:
    """One sentence once a budget is spent: whose, how much, until when; None while there is something left.

    `spent`: today. `now` in UTC. `zone`: the person's time zone.
    """
    limit = exceeded(spent, budget)
    if limit is None:
        return None
    return reply_texts.BUDGET_USED.format(
        who=reply_texts.WHO_USED[whose], limit=limit, moment=local_moment(midnight(now), zone)
    )


def raised_budget(usual: Budget, kept: Mapping[str, str]) -> Budget:
    """The usual budget with what `/budget` changed: raised, never lowered, or gone. `kept`: the owner's preferences."""
    if kept.get(EXEMPT) is not None:
        return UNLIMITED
    higher = _higher(usual.money, kept.get(MONEY))
    return Budget(_higher(usual.tokens, kept.get(TOKENS)), None if higher is None else Money(higher))


def midnight(now: datetime) -> datetime:
    """When the next day begins. `now` in UTC."""
    return datetime.combine(now.date() + timedelta(days=1), datetime.min.time(), UTC)


def _higher(usual: int | None, kept: str | None) -> int | None:
    """What is kept, if it is more."""
    if usual is None or kept is None or not kept.isdecimal():
        return usual
    return max(usual, int(kept))


# What each budget is, with what `/budget` changed, and what is spent of it today.

# How old the sums of channels, workspaces and everybody may be: they are added up from every call of the day.
FRESH_S: Final = 5.0
NAMES: Final = (TOKENS, MONEY, EXEMPT)
NOT_SPENT: Final = Spent()


@dataclass(frozen=True, slots=True)
class BudgetAccount:
    """Whose budget it is; `id` names the person, the channel or the workspace, and nobody for everybody's."""

    whose: Whose
    id: str = ""

    @property
    def has_one(self) -> bool:
        """Where a platform has no workspaces, the id names all of it."""
        return self.whose is not Whose.WORKSPACE or ":" in self.id

    @property
    def owner(self) -> str:
        """Under whose name changes are kept among the preferences."""
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
    _sums: dict[By, tuple[float, SpendingPeriod, list[Total]]] = field(
        default_factory=dict[By, tuple[float, SpendingPeriod, list[Total]]]
    )

    def __post_init__(self) -> None:
        self._apps = ExpiringCache(self.preferences.of, self.clock)

    async def used_up(
        self, account: BudgetAccount, now: datetime, zone: str, uncounted: Spent = NOT_SPENT
    ) -> str | None:
        """The sentence for when nothing is left. A changed budget is only read once the usual one is spent.

        `uncounted`: what was spent of it besides.
        """
        usual = await self.usually(account)
        if usual.is_none:
            return None
        spent = await self.spent(account, now) + uncounted
        if exceeded(spent, usual) is None:
            return None
        return over_budget(spent, await self.agreed(account), account.whose, now, zone)

    async def usually(self, account: BudgetAccount) -> Budget:
        """Without what `/budget` changed. Raises StoreError."""
        if not account.has_one:
            return UNLIMITED
        if account.whose is not Whose.WORKSPACE or not self.usual.apps:
            return self.usual.of(account.whose)
        app = (await self._apps.get(account.owner)).get(APP, "")
        return self.usual.apps.get(app, self.usual.workspace)

    async def agreed(self, account: BudgetAccount) -> Budget:
        """The budget as it stands."""
        return raised_budget(await self.usually(account), await self.preferences.of(account.owner))

    async def change(self, account: BudgetAccount, kept: dict[str, str]) -> None:
        """Keep these changes in place of all earlier ones."""
        for name in NAMES:
            await self.preferences.set(account.owner, name, kept.get(name))

    async def spent(self, account: BudgetAccount, now: datetime) -> Spent:
        """Today. `now` in UTC."""
        today = SpendingPeriod.days_until(now, 1)
        match account.whose:
            case Whose.PERSON:
                totals = await self.spending.totals(today, By.DAY, person=account.id)
            case Whose.CHANNEL:
                totals = [total for total in await self._by(By.CHANNEL, today) if total.key == account.id]
            case Whose.WORKSPACE:
                totals = [total for total in await self._by(By.WORKSPACE, today) if total.key == account.id]
            case Whose.EVERYONE:
                totals = await self._by(By.CHANNEL, today)
        return sum((total.spent for total in totals), Spent())

    async def _by(self, by: By, today: SpendingPeriod) -> list[Total]:
        """A few seconds old at most."""
        now, kept = self.clock.monotonic(), self._sums.get(by)
        if kept is None or kept[1] != today or now - kept[0] > FRESH_S:
            kept = self._sums[by] = (now, today, await self.spending.totals(today, by))
        return kept[2]


# What `/budget` is asked, read from its words; the same on every platform. Pure.
#
# The words: whose, then what. Whose: "me" (also when nothing is said), "channel" and "workspace" (this one),
# "everyone", or "person:ID" and "channel:ID", with which platforms replace a mention, and "workspace:ID". What: nothing
# (to see it), "5,000,000 tokens", "$20", "exempt", or "reset" (to the usual budget).


@dataclass(frozen=True, slots=True)
class Raise:
    """To so many tokens or to so much money; the other stays."""

    tokens: int | None = None
    money: Money | None = None


@dataclass(frozen=True, slots=True)
class Exempt:
    """No budget at all."""


@dataclass(frozen=True, slots=True)
class Reset:
    """The usual budget again."""


Change: TypeAlias = Raise | Exempt | Reset


@dataclass(frozen=True, slots=True)
class BudgetRequest:
    """`id`: of a person, channel or workspace; "" for the one who asks, and for where they do. `change`: None to see
    it.
    """

    whose: Whose
    id: str = ""
    change: Change | None = None


def read_budget_request(words: str) -> BudgetRequest | None:
    """The request; None if it is none."""
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


_REQUEST: Final = re.compile(
    r"(?:person:(?P<person>[^\s]+)|channel:(?P<channel>[^\s]+)|workspace:(?P<workspace>[^\s]+)"
    r"|(?P<word>me|channel|workspace|everyone))?"
    r"(?:(?:^|\s+)(?:(?P<tokens>\d[\d,]{0,18}) tokens?|\$ ?(?P<dollars>\d[\d,]{0,9})(?:\.(?P<cents>\d{1,2}))?"
    r"|(?P<what>exempt|reset|show)))?",
    re.IGNORECASE | re.ASCII,
)


# Seeing and changing budgets: `/budget` on every platform, and `cogency budget`.
#
# Rules. Everybody may see their own budget. Operators see and change all of them: raise, lift, reset. A budget is never
# lowered below the usual one here; that is a setting. A change counts from the next message on.


@dataclass(frozen=True, slots=True)
class BudgetDesk:
    access: AccessRules
    allowances: BudgetAllowances
    clock: Clock

    async def usage(self, person: str) -> SpendingAccount:
        now = self.clock.now()
        month = SpendingPeriod.month_of(now)
        return account(await self.allowances.spending.totals(month, By.DAY, person=person), now)

    async def answer(self, person: str, channel: str, words: str) -> CommandAnswer:
        """What `/budget` says to this person there, for them alone. `words`: as `read_budget_request` reads them."""
        request = read_budget_request(words)
        if request is None:
            return CommandAnswer(reply_texts.BUDGET_USAGE, refused=True)
        account = _account(request, person, channel)
        own = account == BudgetAccount(Whose.PERSON, person)
        if not self.access.is_operator(person) and (request.change is not None or not own):
            return CommandAnswer(reply_texts.ONLY_OPERATORS, refused=True)
        if request.change is not None:
            problem = await self._change(account, request.change)
            if problem is not None:
                return CommandAnswer(problem, refused=True)
        return CommandAnswer(await self._shown(account, own=own))

    async def _change(self, account: BudgetAccount, change: Change) -> str | None:
        """Keep it; or the sentence for why not."""
        match change:
            case Raise(count, sum_):
                usual = await self.allowances.usually(account)
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

    async def _shown(self, account: BudgetAccount, *, own: bool) -> str:
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


def _not_more(whose: Whose, usual: Budget, count: int | None, sum_: Money | None) -> str | None:
    wanted, limit = (count, usual.tokens) if count is not None else (sum_, usual.money)
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


def _kept(agreed: Budget, count: int | None, sum_: Money | None) -> dict[str, str]:
    """The preferences for the raised budget; what was raised before stays."""
    wanted = {TOKENS: agreed.tokens if count is None else count, MONEY: agreed.money if sum_ is None else sum_}
    return {name: str(value) for name, value in wanted.items() if value is not None}


# What was spent, in words and tables: for a person, for the operator, for a program.
#
# Rules. Counts that a model did not report are marked as estimated; a sum that leaves calls without a price out says
# so.

_HEADINGS = ("calls", "input", "cached", "written", "output", "reasoning", "cost")


def account_text(account: SpendingAccount) -> str:
    """What one person's questions took, today and this month, as Markdown."""
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
    """The money: "$0.0123", "at least $0.0123" where some calls have no price, "no price" where none has."""
    if spent.calls == spent.unpriced:
        return "no price" if spent.calls else money(spent.cost)
    return f"at least {money(spent.cost)}" if spent.unpriced else money(spent.cost)


def report_text(totals: Sequence[Total], period: SpendingPeriod, by: By) -> str:
    """A table for a terminal, the most expensive first (days in their order), with the sum of all below."""
    heading = f"{period.first} to {period.last}, by {by}. {reply_texts.LIST_PRICES}"
    if not totals:
        return f"{heading}\n\nNothing was spent.\n"
    everything = sum((total.spent for total in totals), Spent())
    rows = [(by.value, *_HEADINGS)]
    rows += [(_who(total, by), *_cells(total.spent)) for total in _ordered(totals, by)]
    rows.append(("all", *_cells(everything)))
    note = f"\n{reply_texts.ESTIMATED}\n" if everything.usage.estimated else ""
    return f"{heading}\n\n{_table(rows)}\n{note}"


def report_json(totals: Sequence[Total], period: SpendingPeriod, by: By) -> str:
    """The same for a program, on one line. `cost_usd` is null if no call has a price."""
    listed: list[Json] = [_as_json(total) for total in _ordered(totals, by)]
    report: Json = {
        "first_day": period.first.isoformat(),
        "last_day": period.last.isoformat(),
        "by": by.value,
        "prices_as_of": PRICES_AS_OF.isoformat(),
        "totals": listed,
    }
    return printable_json(report)


def _block(when: str, spent: Spent) -> list[str]:
    if not spent.calls:
        return [f"**{when}**: nothing"]
    used = spent.usage
    about = "~" if used.estimated else ""
    read = f", {about}{used.input_cached:,} read from the vendor's cache" if used.input_cached else ""
    written = f", {about}{used.input_written:,} written to the vendor's cache" if used.input_written else ""
    reasoning = f", and {about}{used.reasoning:,} of reasoning" if used.reasoning else ""
    asked = f"- Input: {about}{counted(used.input_uncached, 'new token', 'new tokens')}{read}{written}"
    answered = f"- Output: {about}{counted(used.output, 'token', 'tokens')}{reasoning}"
    total = f"**{when}**: {cost_text(spent)}, {counted(spent.calls, 'model call', 'model calls')}"
    return ["\n".join([total, "", asked, answered])]


def _ordered(totals: Sequence[Total], by: By) -> list[Total]:
    if by is By.DAY:
        return sorted(totals, key=lambda total: total.key)
    return sorted(totals, key=lambda total: (-total.spent.cost, -total.spent.calls, total.key))


def _who(total: Total, by: By) -> str:
    if by is By.CHANNEL and not total.key:
        return "(forgotten)"
    key, name = (
        formatting.shortened(printable_line(words), reply_texts.TITLE_CHARS) for words in (total.key, total.name)
    )
    return f"{name} ({key})" if name else key


def _cells(spent: Spent) -> tuple[str, ...]:
    used = spent.usage
    about = "~" if used.estimated else ""
    counts = (used.input_uncached, used.input_cached, used.input_written, used.output, used.reasoning)
    return (f"{spent.calls:,}", *(f"{about}{count:,}" for count in counts), cost_text(spent))


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


# The small line under a reply: which model answered, and what it took.
#
# Rules: it is shown and never stored as part of the reply. When another model answered than the one that was asked, the
# line is there and says why, whatever the setting.

WHY_CHARS = 200  # A reason stays on two lines of a phone; the log has the whole of it
SEPARATOR = " · "


def footer(calls: Sequence[ModelCall], asked_model: str, switched_why: str, style: FooterStyle) -> str:
    """One line of Markdown in italics, "" for none.

    `calls` are all of the turn, the last one is the answer's. `asked_model` is the name of the model that should have
    answered; `switched_why` is a sentence, "" if it did.
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
    read = used.input_uncached + used.input_cached + used.input_written
    cached = f" ({used.input_cached:,} cached)" if used.input_cached else ""
    tokens = f"{about}{counted(read, 'token', 'tokens')} in{cached}, {used.output + used.reasoning:,} out"
    return [tokens] if spent.unpriced == spent.calls else [tokens, cost_text(spent)]
