"""What happens to budgets within their periods, as a port of the store. Every method raises StoreError."""

from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Protocol

from agent.budget_days import BudgetDay, BudgetMessage, BudgetRef, Decided, Extension, MessageKind, PauseState
from agent.incoming import Incoming
from agent.outgoing import NearBudget


class BudgetDays(Protocol):
    """The rows of budgets and their periods, by number, and the turns that wait. What a period needs is stored once,
    whichever processes notice it at the same time.
    """

    async def near(self, budget: BudgetRef, near: NearBudget, turn: int, now: datetime, /) -> bool:
        """Store that the budget is nearly spent, with the outgoing event and a job that warns people. False if that was
        stored before.
        """
        ...

    async def sweep(self, now: datetime, /) -> None:
        """Delete the rows of periods that are over for longer than KEPT."""
        ...

    async def of(self, budgets: Collection[BudgetRef]) -> Sequence[BudgetDay]:
        """Return the rows of these budgets."""
        ...

    async def by_number(self, number: int, /) -> BudgetDay | None:
        """Return the row; None if it was deleted."""
        ...

    async def question(self, number: int, /) -> Incoming | None:
        """Return the oldest question that waits for the budget's extension, else the one with which it was noticed;
        None if both are forgotten.
        """
        ...

    async def questions(self, number: int, /) -> Sequence[Incoming]:
        """Return the oldest question of each channel (up to a bound) that waits for the budget's extension, the oldest
        first; if none waits, the one with which it was noticed.
        """
        ...

    async def waits(self, number: int, /) -> bool:
        """Return whether a turn waits for the budget's extension."""
        ...

    async def decide(self, number: int, person: str, extension: Extension, percent: int, now: datetime, /) -> Decided:
        """Store a decision about the extension, once, and let the turns continue that wait for it. The caller has
        checked that this person may decide.
        """
        ...

    async def release(self, account: str, now: datetime, /) -> bool:
        """Let the turns continue that wait for this budget, which was changed; for a channel's, those of all workspaces
        that use it. Returns whether there are any.
        """
        ...

    async def messages(self, number: int, /) -> Sequence[BudgetMessage]:
        """Return what people are written about the budget."""
        ...

    async def address(self, number: int, kind: MessageKind, people: Collection[str]) -> None:
        """Store, once, to whom such a message goes."""
        ...

    async def shown(self, number: int, kind: MessageKind, person: str, pages: Sequence[str], /) -> bool:
        """Store what shows the message; False if nothing may show it any more."""
        ...

    async def closed(self, number: int, kind: MessageKind, person: str, /) -> None:
        """Store that the message shows how it ended, or cannot be sent."""
        ...

    async def pause_of(self, turn: int, /) -> PauseState | None:
        """Return the turn's last pause."""
        ...

    async def paused(self, person: str, now: datetime, /) -> Sequence[int]:
        """Return the person's turns that wait because of their own limits, the oldest first."""
        ...

    async def decide_turn(self, turn: int, person: str, now: datetime, *, goes_on: bool) -> Decided:
        """Store the asker's decision about the limit of a turn, which then continues."""
        ...

    async def budget_of(self, turn: int, /) -> int | None:
        """Return the number of the budget for whose extension this turn waits; None if it waits for none."""
        ...
