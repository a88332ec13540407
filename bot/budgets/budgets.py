"""What people may spend in a day, in tokens and in money.

Rules. A day is one of UTC, so that all budgets start again at the same moment; people read it in their own time zone.
Connected accounts have one budget: what they spend together counts against the limit of the one that asks. A call of a
model counts once it is over, so a budget is exceeded by no more than the calls that run when it is reached. Calls
without a price count in tokens only.
"""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime, timedelta
from typing import ClassVar, Final, assert_never

from cachetools import LRUCache

from agent.admission_terms import Whose
from agent.budget_days import BudgetDay, BudgetRef, Extension
from agent.errors import StoreError
from agent.incoming import Incoming, person_source
from agent.messages import ModelCall
from agent.outgoing import NearBudget
from agent.ports.budget_days import BudgetDays
from agent.ports.clock import Clock
from agent.ports.preferences import Preferences
from agent.ports.spending import Spending
from agent.spending import (
    APP,
    NANO,
    WORKSPACE,
    Money,
    Spent,
    SpentBy,
)
from bot.budgets import texts as budgets_texts
from bot.budgets.report import FooterStyle, footer
from bot.chat.access.connected_accounts import ConnectedAccounts
from bot.chat.access.place_rules import place_owner
from bot.chat.caches import MAX_ENTRIES, ExpiringCache
from bot.chat.notes import EndedTurn, NoteLine
from bot.chat.texts.formatting import counted, local_moment, money


@dataclass(frozen=True, slots=True)
class Budget:
    """A limit for one day; None is no limit."""

    tokens: int | None = None
    money: Money | None = None


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


DEFAULT_NEAR: Final = 80  # The percent of a budget that are worth a word to those who could raise it


def extended(budget: Budget, percent: int) -> Budget:
    """Return the budget with so many percent more."""
    tokens, amount = (
        None if limit is None else limit + limit * percent // 100 for limit in (budget.tokens, budget.money)
    )
    return Budget(tokens, None if amount is None else Money(amount))


def times_spent(spent: Spent, budget: Budget) -> float:
    """Return how many times a limit is spent, the largest of both; 0 without limits."""
    limits = (tokens_spent(spent), budget.tokens), (spent.cost, budget.money)
    return max((1.0 if not limit else used / limit for used, limit in limits if limit is not None), default=0.0)


def share(spent: Spent, budget: Budget) -> float:
    """Return the largest share of a limit that is spent; at most 9.99, and 0 without limits."""
    return min(times_spent(spent, budget), 9.99)


def over_budget(spent: Spent, budget: Budget, whose: Whose, now: datetime, zone: str = "") -> str | None:
    """Return a sentence once a budget is spent: whose, how much, until when; None while something is left.

    `spent`: today. `now` in UTC. `zone`: the person's time zone.
    """
    limit = exceeded(spent, budget)
    if limit is None:
        return None
    return budgets_texts.BUDGET_USED.format(
        who=budgets_texts.WHO_USED[whose], limit=limit, moment=local_moment(midnight(now), zone)
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

# How old the sums of channels, workspaces and everyone may be when a message comes in: they are added up from every
# call of the day. Before a call of a model, they are always read again.
SUMS_FRESH_S: Final = 5.0
NAMES: Final = (TOKENS, MONEY, EXEMPT)
NOT_SPENT: Final = Spent()


@dataclass(frozen=True, slots=True)
class BudgetAccount:
    """Whose budget it is. `id`: of the person, channel or workspace; "" for everyone. `source`: of a channel, the
    workspace that uses it. Several may share it, and each has the whole budget for its own people. "" for all of them,
    as operators see it.
    """

    whose: Whose
    id: str = ""
    source: str = ""

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
    """`days`: remembers warnings and extensions; None: there are none. `near`: the percent at which to warn."""

    usual: Budgets
    spending: Spending
    preferences: Preferences
    clock: Clock
    days: BudgetDays | None = None
    near: int = DEFAULT_NEAR
    _told: LRUCache[tuple[BudgetAccount, datetime], bool] = field(default_factory=lambda: LRUCache(MAX_ENTRIES))
    _apps: ExpiringCache[Mapping[str, str]] = field(init=False)
    _connected: ExpiringCache[tuple[str, ...]] = field(init=False)
    _recent: LRUCache[BudgetAccount, tuple[float, date, Spent]] = field(default_factory=lambda: LRUCache(MAX_ENTRIES))
    """What was spent: when it was read, on which day, and the sum."""

    def __post_init__(self) -> None:
        self._apps = ExpiringCache(self.preferences.all_of, self.clock)
        self._connected = ExpiringCache(ConnectedAccounts(self.preferences).of, self.clock)

    async def budget_left(self, incoming: Incoming, calls: Sequence[ModelCall] = ()) -> str | None:
        """Return None while all budgets that this message draws on have something left; else the sentence why not.

        `calls`: the turn's calls so far, which are not recorded yet. Raises StoreError.
        """
        person, now, uncounted = incoming.person, self.clock.now(), Spent.on(calls)
        for account in drawn_on(incoming):
            sentence = await self.used_up(account, now, person.time_zone, uncounted, exact=True)
            if sentence is not None:
                return sentence
        return None

    async def may_spend(self, person: str) -> bool:
        """Return whether background work may spend something on this person (their id) now: whether person, workspace
        and everyone have something left. A channel's budget counts for answers only. Raises StoreError.
        """
        now, workspace = self.clock.now(), BudgetAccount(Whose.WORKSPACE, person_source(person))
        accounts = (BudgetAccount(Whose.PERSON, person), workspace, BudgetAccount(Whose.EVERYONE))
        return not any([await self.used_up(account, now, "UTC", exact=True) for account in accounts])

    async def used_up(
        self, account: BudgetAccount, now: datetime, zone: str, uncounted: Spent = NOT_SPENT, *, exact: bool = False
    ) -> str | None:
        """Return the sentence for a budget that is used up; None while something is left. Changes by `/budget` are read
        only once the default budget is spent.

        `uncounted`: spending that is not recorded yet. `exact`: see `spent`.
        """
        usual = await self.usually(account)
        if usual == UNLIMITED:
            return None
        spent = await self.spent(account, now, exact=exact) + uncounted
        if exceeded(spent, usual) is None:
            return None
        return over_budget(spent, await self.limit_today(account, now), account.whose, now, zone)

    async def limit_today(self, account: BudgetAccount, now: datetime) -> Budget:
        """Return the budget with changes by `/budget` and today's extension. Raises StoreError."""
        agreed = await self.agreed(account)
        given = [day.percent for day in await self.days_of(account, now) if day.extension is Extension.GIVEN]
        return extended(agreed, max(given)) if given else agreed

    async def days_of(self, account: BudgetAccount, now: datetime) -> Sequence[BudgetDay]:
        """Return the rows of the budget today; several if accounts were connected since. Raises StoreError."""
        if self.days is None:
            return ()
        people = await self.accounts_of(account.id) if account.whose is Whose.PERSON else (account.id,)
        return await self.days.of([_ref(replace(account, id=each), now) for each in people])

    async def ref(self, account: BudgetAccount, now: datetime) -> BudgetRef:
        """Return the name of the budget today; connected accounts share one. Raises StoreError."""
        if account.whose is not Whose.PERSON:
            return _ref(account, now)
        shared = _ref(replace(account, id=min(await self.accounts_of(account.id))), now)
        return replace(_ref(account, now), account=shared.account)

    async def warn_if_near(self, account: BudgetAccount, spent: Spent, usual: Budget, now: datetime, turn: int) -> bool:
        """Store that the budget is nearly spent, once today; return whether that was new. `usual`: without changes;
        `turn`: which noticed it.
        """
        resets = midnight(now)
        if self.days is None or 100 * share(spent, usual) < self.near or (account, resets) in self._told:
            return False
        agreed = await self.agreed(account)
        if 100 * (spent_share := share(spent, agreed)) < self.near:
            return False
        source = person_source(account.id) if account.whose is Whose.PERSON else account.source
        near = NearBudget(
            whose=account.whose,
            owner=account.owner,
            id=account.id,
            source=source,
            percent=int(100 * spent_share),
            tokens=tokens_spent(spent),
            token_limit=agreed.tokens,
            dollars=spent.cost / NANO,
            dollar_limit=None if agreed.money is None else agreed.money / NANO,
            resets=resets,
        )
        is_new = False
        with suppress(StoreError):  # the question is answered all the same, and the next one tries again
            if not any(day.near for day in await self.days_of(account, now)):
                is_new = await self.days.near(await self.ref(account, now), near, turn, now)
            self._told[account, resets] = True
        return is_new

    def may_be_near(self, account: BudgetAccount, usual: Budget, now: datetime, since: Spent) -> bool:
        """Return whether the budget may be nearly spent, if `since` was spent after it was read last. `now` in UTC."""
        recent = self._recent.get(account)
        if recent is None or recent[1] != now.date():
            return True
        return 100 * share(recent[2] + since, usual) >= self.near

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

    async def accounts_of(self, person: str) -> tuple[str, ...]:
        """Return the accounts that share the person's budget: their own, and those connected, up to a minute old."""
        return person, *await self._connected.get(person)

    async def change(self, account: BudgetAccount, changes: dict[str, str]) -> None:
        """Store these changes in place of all earlier ones."""
        for name in NAMES:
            await self.preferences.set(account.owner, name, changes.get(name))
        if self.days is not None:
            now = self.clock.now()
            await self.days.release((await self.ref(account, now)).account, now)

    async def spent(self, account: BudgetAccount, now: datetime, *, exact: bool = False) -> Spent:
        """Return what was spent today. `now` in UTC. `exact`: now, and not some seconds ago."""
        elapsed, cached = self.clock.monotonic(), self._recent.get(account)
        is_recent = cached is not None and cached[1] == now.date() and elapsed - cached[0] <= SUMS_FRESH_S
        if cached is not None and is_recent and not exact and account.whose is not Whose.PERSON:
            return cached[2]
        return (await self.spent_by_each([account], now))[account]

    async def spent_by_each(self, accounts: Sequence[BudgetAccount], now: datetime) -> Mapping[BudgetAccount, Spent]:
        """Return what was spent today until this moment. `now` in UTC."""
        if not accounts:
            return {}
        elapsed = self.clock.monotonic()
        found = await self.spending.spent_on(now.date(), *[await self._whose(account) for account in accounts])
        spent = dict(zip(accounts, found, strict=True))
        for account in accounts:
            self._recent[account] = (elapsed, now.date(), spent[account])
        return spent

    async def _whose(self, account: BudgetAccount) -> SpentBy:
        match account.whose:
            case Whose.PERSON:
                return SpentBy(people=await self.accounts_of(account.id))
            case Whose.CHANNEL:
                return SpentBy(source=account.source, channel=account.id)
            case Whose.WORKSPACE:
                return SpentBy(source=account.id)
            case Whose.EVERYONE:
                return SpentBy()
            case _:
                assert_never(account.whose)


def drawn_on(question: Incoming) -> tuple[BudgetAccount, ...]:
    """Return whose budgets an answer to this question draws on."""
    person, source = question.person.id, person_source(question.person.id)
    return (
        BudgetAccount(Whose.PERSON, person),
        BudgetAccount(Whose.CHANNEL, question.channel, source),
        BudgetAccount(Whose.WORKSPACE, source),
        BudgetAccount(Whose.EVERYONE),
    )


def _ref(account: BudgetAccount, now: datetime) -> BudgetRef:
    source = person_source(account.id) if account.whose is Whose.PERSON else account.source
    name = f"{account.owner} {account.source}".strip()
    return BudgetRef(now.date(), name, account.whose, account.id, source)


@dataclass(frozen=True, slots=True)
class ModelNote:
    """The footer of each reply."""

    style: FooterStyle
    is_private: ClassVar[bool] = False

    async def line(self, ended: EndedTurn) -> NoteLine:
        return NoteLine(footer(ended.closing.calls, ended.asked_model, ended.why_another, self.style))
