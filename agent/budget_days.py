"""What happens to a budget within its period, a day of UTC: a warning, a request for more, turns that wait for it.

Rules
  A budget is warned about once in its period, and extended once. A decision about an extension is final.
  A turn that would exceed a budget waits before its next call of a model, until the budget is extended, or the period
  is over, or its time is. It holds no process, and blocks no other turn of its conversation.
"""

from dataclasses import dataclass
from datetime import date, datetime, timedelta
from enum import Enum, StrEnum, auto
from typing import Final

from agent.admission_terms import Whose

BUDGET: Final = "budget"  # The kind of the job that writes to people about a budget; its key is the row's number
WAIT: Final = timedelta(hours=4)  # How long a turn waits for an extension: later its asker has gone another way
KEPT: Final = timedelta(days=2)  # Rows of past periods
SENDING: Final = ("?",)  # The pages of a message that is being sent: it may be there


class Extension(StrEnum):
    """The values are stored."""

    NONE = ""
    """Nobody was asked."""
    ASKED = "asked"
    GIVEN = "given"
    REFUSED = "refused"
    UNASKED = "unasked"
    """Nobody who may extend it could be asked."""

    @property
    def is_open(self) -> bool:
        return self in {Extension.NONE, Extension.ASKED}


class MessageKind(StrEnum):
    """What people are written about a budget. The values are stored."""

    NEAR = "near"
    REQUEST = "request"


class Decided(Enum):
    """The result of a decision about a budget, or about the limit of one turn."""

    STORED = auto()
    GIVEN_BEFORE = auto()
    REFUSED_BEFORE = auto()
    NOT_THEIRS = auto()
    OVER = auto()
    """Nothing waits for it any more."""


@dataclass(frozen=True, slots=True)
class BudgetRef:
    """A budget in a period. `account`: its unique name; that of accounts that share one is the same. `id`: of the
    person, channel or workspace, "" for everyone; `source`: the workspace of a person or a channel.
    """

    day: date
    account: str
    whose: Whose
    id: str
    source: str


@dataclass(frozen=True, slots=True)
class NearSpent:
    """What was spent when the warning was due."""

    tokens: int
    cost: int
    percent: int


@dataclass(frozen=True, slots=True)
class BudgetDay:
    """`number`: of its row. `turn`: the one with which it was noticed. `near`: None before the warning. `percent`: by
    how much it is extended. `person`: who decided. `told`, `requested`: whether it is stored to whom the warning and
    the request go.
    """

    number: int
    budget: BudgetRef
    turn: int
    near: NearSpent | None
    extension: Extension
    percent: int
    person: str
    told: bool
    requested: bool


@dataclass(frozen=True, slots=True)
class BudgetMessage:
    """`pages`: the platform's ids of what shows it; empty before it is sent. `closed`: it shows how it ended."""

    kind: MessageKind
    person: str
    pages: tuple[str, ...] = ()
    closed: bool = False


@dataclass(frozen=True, slots=True)
class BudgetPause:
    """A turn that waits before its next call of a model, from `since` and no longer than `until`. `budget`: which would
    be exceeded; None for the limit of the turn itself, about which its asker decides. `extensions`: by how many times
    that limit the turn has already gone beyond it.
    """

    since: datetime
    until: datetime
    budget: BudgetRef | None = None
    extensions: int = 0


@dataclass(frozen=True, slots=True)
class PauseState:
    """A turn's last pause. `budget`: the number of the budget's row; None for the turn's own limit. `refused`: its
    asker let it go no further. `extensions`: how often they let it. `is_over`: it waited for something else since.
    """

    budget: int | None
    until: datetime
    refused: bool
    extensions: int
    is_over: bool
