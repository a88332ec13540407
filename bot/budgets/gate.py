"""What budgets do to turns: which questions are accepted, and when a turn waits or ends before it calls a model again.

Rules
  A call of a model begins only while all budgets have something left: so a budget is exceeded by no more than one call
  of each turn that runs at that moment.
  A turn whose next call would probably exceed a budget (by what its last one used) waits before it, if an approver can
  still extend the budget today; else that call is its last, in which the model answers with what it knows. A turn that
  finds a budget used up ends at once.
  A turn that has reached its own limit asks its asker, each time for as much again. Where nobody can be asked, its next
  call is its last.
  What no person waits for, and what a program asks, does not wait for an extension.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from agent.admission_terms import Whose
from agent.approvers import Approvers
from agent.budget_days import WAIT, BudgetDay, BudgetPause, PauseState
from agent.incoming import Incoming
from agent.messages import ModelCall
from agent.spending import Spent
from agent.turn_events import EndDue, PauseDue
from bot.budgets import texts as budgets_texts
from bot.budgets.budgets import (
    UNLIMITED,
    Budget,
    BudgetAccount,
    BudgetAllowances,
    drawn_on,
    exceeded,
    extended,
    midnight,
    over_budget,
    times_spent,
    tokens_spent,
)
from bot.chat.telemetry import SILENT, BudgetMark, BudgetSeen, Telemetry
from bot.chat.texts.formatting import counted, local_moment, money


@dataclass(frozen=True, slots=True)
class ExtensionRules:
    """`percent`: of the budget, by which it is extended; 0: never. `approvers`: None for operators. `operators`: who
    they are, by their ids or the last parts of them. `operates`: whether a person is one.
    """

    percent: int
    approvers: Approvers | None
    operators: frozenset[str]
    operates: Callable[[str], bool]

    @property
    def can_be_asked(self) -> bool:
        return self.percent > 0 and (self.approvers is not None or bool(self.operators))


ONE_TURN: Final = "turn"  # In telemetry
NO_EXTENSIONS: Final = ExtensionRules(0, None, frozenset(), lambda _: False)


@dataclass(frozen=True, slots=True)
class BudgetGate:
    """`run`: the limit of one turn. Implements `BudgetChecks`."""

    allowances: BudgetAllowances
    rules: ExtensionRules = NO_EXTENSIONS
    run: Budget = UNLIMITED
    telemetry: Telemetry = SILENT

    async def budget_left(self, incoming: Incoming, calls: Sequence[ModelCall] = ()) -> str | None:
        return await self.allowances.budget_left(incoming, calls)

    async def budget_refusal(self, incoming: Incoming) -> str | None:
        now, zone = self.allowances.clock.now(), incoming.person.time_zone
        for account in drawn_on(incoming):
            sentence = await self.allowances.used_up(account, now, zone)
            if sentence is not None and not (incoming.kind.is_asked and await self._can_be_extended(account, now)):
                return sentence
        return None

    async def _can_be_extended(self, account: BudgetAccount, now: datetime) -> bool:
        if not self.rules.can_be_asked:
            return False
        return all(day.extension.is_open for day in await self.allowances.days_of(account, now))

    async def held(
        self, question: Incoming, turn: int, calls: Sequence[ModelCall], *, waits: bool
    ) -> PauseDue | EndDue | None:
        if not self.rules.operates(question.person.id):
            usual = {account: await self.allowances.usually(account) for account in drawn_on(question)}
            limited = [account for account, budget in usual.items() if budget != UNLIMITED]
            spent = await self.allowances.spent_by_each(limited, self.allowances.clock.now())
            found = [
                await self._held_by(account, usual[account], spent[account], question, turn, calls[-1:], waits=waits)
                for account in limited
            ]
            if dues := [due for due in found if due is not None]:
                first = min(dues, key=_order)
                if isinstance(first.due, PauseDue):
                    self.telemetry.record(BudgetSeen(first.whose, BudgetMark.WAITS))
                return first.due
        return await self._held_by_run(question, turn, calls, waits=waits)

    async def ended(self, question: Incoming, turn: int, calls: Sequence[ModelCall]) -> None:
        now = self.allowances.clock.now()
        for account in drawn_on(question):
            usual = await self.allowances.usually(account)
            # What others have spent since the turn was let in shows when the next one is.
            if usual != UNLIMITED and self.allowances.may_be_near(account, usual, now, Spent.on(calls)):
                await self._warn(account, await self.allowances.spent(account, now, exact=True), usual, turn)

    async def _warn(self, account: BudgetAccount, spent: Spent, usual: Budget, turn: int) -> None:
        if await self.allowances.warn_if_near(account, spent, usual, self.allowances.clock.now(), turn):
            self.telemetry.record(BudgetSeen(account.whose, BudgetMark.NEAR))

    async def _held_by(
        self,
        account: BudgetAccount,
        usual: Budget,
        spent: Spent,
        question: Incoming,
        turn: int,
        last: Sequence[ModelCall],
        *,
        waits: bool,
    ) -> "_Held | None":
        """`usual`: the default budget, and what was spent of it. `last`: the turn's last call, which the next one
        probably equals; () before the first.
        """
        allowances, zone = self.allowances, question.person.time_zone
        now = allowances.clock.now()
        await self._warn(account, spent, usual, turn)
        expected = spent + Spent.on(last)
        if exceeded(expected, usual) is None:
            return None
        limit = await allowances.limit_today(account, now)
        if (reached := exceeded(expected, limit)) is None:
            return None
        if (why := over_budget(spent, limit, account.whose, now, zone)) is None:
            at = local_moment(midnight(now), zone)
            why = budgets_texts.NEXT_EXCEEDS.format(whose=budgets_texts.WHOSE[account.whose], limit=reached, moment=at)
        is_over = exceeded(spent, limit) is not None
        rows = await allowances.days_of(account, now)
        if (state := next((row for row in rows if not row.extension.is_open), None)) is not None:
            declined = budgets_texts.NOT_EXTENDED.get(state.extension.name, "")
            return _Held(account.whose, _end(f"{why} {declined}".rstrip(), last, at_once=is_over), is_over)
        if not (waits and self.rules.can_be_asked):
            return _Held(account.whose, _end(why, last, at_once=is_over), is_over)
        if await self._has_expired(turn, rows, now):
            late = f"{why} {budgets_texts.NOT_EXTENDED_IN_TIME}"
            return _Held(account.whose, _end(late, last, at_once=is_over), is_over)
        until = min(now + WAIT, midnight(now))
        then = budgets_texts.OR_RESET if until == midnight(now) else budgets_texts.OR_END
        asked = budgets_texts.EXTENSION_ASKED.format(
            who=budgets_texts.APPROVING["" if self.rules.approvers is None else "others"]
        )
        text = f"{why} {asked} {then.format(moment=local_moment(until, zone))}"
        pause = BudgetPause(now, until, await allowances.ref(account, now))
        return _Held(account.whose, PauseDue(text, pause), is_over)

    async def _has_expired(self, turn: int, rows: Sequence[BudgetDay], now: datetime) -> bool:
        """Whether the turn has waited for this extension as long as it may."""
        pause = await self._pause_of(turn) if rows else None
        return (
            pause is not None
            and not pause.is_over
            and pause.budget in {row.number for row in rows}
            and (pause.until <= now)
        )

    async def _pause_of(self, turn: int) -> PauseState | None:
        days = self.allowances.days
        return None if days is None else await days.pause_of(turn)

    async def _held_by_run(
        self, question: Incoming, turn: int, calls: Sequence[ModelCall], *, waits: bool
    ) -> PauseDue | EndDue | None:
        if self.run == UNLIMITED or not calls:
            return None
        spent, last = Spent.on(calls), Spent.on(calls[-1:])
        if exceeded(spent + last, self.run) is None:
            return None
        pause, now = await self._pause_of(turn), self.allowances.clock.now()
        limit = extended(self.run, 100 * (0 if pause is None else pause.extensions))
        if (reached := exceeded(spent + last, limit)) is None:
            return None
        why = budgets_texts.RUN_LIMIT.format(limit=reached, used=_used(spent))
        has_asked = pause is not None and pause.budget is None and not pause.is_over
        if not waits or (pause is not None and has_asked and (pause.refused or pause.until <= now)):
            return EndDue(budgets_texts.STOPPED_EARLY.format(why=why))
        self.telemetry.record(BudgetSeen(ONE_TURN, BudgetMark.WAITS))
        at = local_moment(now + WAIT, question.person.time_zone)
        # If the asker lets it continue, the next call and as much again are within the limit.
        extensions = int(times_spent(spent + last, self.run)) - 1
        text = budgets_texts.RUN_ASKED.format(why=why, moment=at)
        return PauseDue(text, BudgetPause(now, now + WAIT, extensions=extensions))


@dataclass(frozen=True, slots=True)
class _Held:
    """What one budget does to a turn. `is_over`: it is used up, and not only probably by the next call."""

    whose: Whose
    due: PauseDue | EndDue
    is_over: bool


def _order(held: _Held) -> tuple[bool, bool]:
    """What ends a turn comes before what lets it wait; but no call begins, not even a last one, once a budget is used
    up.
    """
    return not held.is_over, isinstance(held.due, PauseDue)


def _end(why: str, last: Sequence[ModelCall], *, at_once: bool) -> EndDue:
    return EndDue(budgets_texts.STOPPED_EARLY.format(why=why) if last else why, at_once=at_once)


def _used(spent: Spent) -> str:
    return counted(tokens_spent(spent), "token", "tokens") if spent.unpriced == spent.calls else money(spent.cost)
