"""Tool calls that wait for the decisions of their askers."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import Enum, auto

from agent.messages import ToolCall


class ConsentOutcome(Enum):
    """The result of an asker's decision about a call."""

    KEPT = auto()
    """Stored; the turn waits for a decision about another call."""
    GOES_ON = auto()
    ALLOWED_BEFORE = auto()
    REFUSED_BEFORE = auto()
    NOT_THEIRS = auto()
    OVER = auto()
    """The turn no longer waits: it was stopped or forgotten, or the time is over."""


@dataclass(frozen=True, slots=True)
class Undecided:
    """A call that waits for its asker's decision. `key`: see `agent.progress.consent_key`; `asked`: the question."""

    turn: int
    key: str
    call: ToolCall
    asked: str


@dataclass(frozen=True, slots=True)
class PutAside:
    """A turn that waits, no longer than `until`, for its asker's decision about these calls."""

    calls: Mapping[str, ToolCall]
    until: datetime
