"""The tables of budgets and their periods, and of the turns that wait for them. They hold ids and counts, no words."""

from datetime import date, datetime
from typing import Any, ClassVar, Final

from sqlalchemy import BigInteger, Index, UniqueConstraint
from sqlmodel import Field

from store.databases.database import StorableText, UtcDateTime
from store.schema import NEVER_REUSED, TableRow, metadata


class BudgetDayRow(TableRow, table=True):
    """A budget on a day of UTC: see `agent.budget_days.BudgetDay`. `subject`: the id of the person, channel or
    workspace. `turn` may be gone, and the row outlives forgetting, as budgets do.
    """

    __table_args__: ClassVar[Any] = (UniqueConstraint("day", "account"), NEVER_REUSED)

    id: int | None = Field(default=None, primary_key=True)
    day: date
    account: str = Field(sa_type=StorableText)
    whose: str = Field(sa_type=StorableText)
    subject: str = Field(sa_type=StorableText)
    source: str = Field(sa_type=StorableText)
    extension: str = Field(sa_type=StorableText, default="")
    person: str = Field(sa_type=StorableText, default="")
    near_tokens: int | None = Field(sa_type=BigInteger, default=None)
    near_cost: int | None = Field(sa_type=BigInteger, default=None)
    near_percent: int | None = None
    turn: int | None = None
    percent: int = 0
    told: bool = False
    requested: bool = False
    decided: datetime | None = Field(sa_type=UtcDateTime, default=None)


class BudgetMessageRow(TableRow, table=True):
    """What a person is written about a budget. `pages`: as JSON."""

    __table_args__: ClassVar[Any] = (Index("ix_budget_message_person", "person"),)

    budget: int = Field(primary_key=True, foreign_key="budget_day.id")
    kind: str = Field(sa_type=StorableText, primary_key=True)
    person: str = Field(sa_type=StorableText, primary_key=True)
    pages: str = Field(sa_type=StorableText, default="[]")
    closed: bool = Field(default=False)


class BudgetPauseRow(TableRow, table=True):
    """The last pause of a turn before a call of a model. `budget`: the row of a budget, which may be gone; None for the
    limit of the turn itself. `state`: OPEN, REFUSED by the asker, or OVER.
    """

    __table_args__: ClassVar[Any] = (Index("ix_budget_pause_budget", "budget"),)

    turn: int = Field(primary_key=True, foreign_key="turn.id")
    budget: int | None = None
    until: datetime = Field(sa_type=UtcDateTime)
    state: str = Field(sa_type=StorableText, default="")
    extensions: int = 0


budget_day: Final = metadata.tables["budget_day"]
budget_message: Final = metadata.tables["budget_message"]
budget_pause: Final = metadata.tables["budget_pause"]
