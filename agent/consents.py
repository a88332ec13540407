"""Tool calls that wait for the decisions of their askers."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import Enum, auto
from typing import Final

from agent.messages import ToolCall
from agent.progress import Progress

CONSENT_TIME: Final = timedelta(days=1)  # After a day without a decision, the asker has forgotten the question


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
    """A turn that waits, no longer than `until`, for its asker's decision about these calls. `joined`: the turns whose
    messages it has read.
    """

    calls: Mapping[str, ToolCall]
    until: datetime
    joined: tuple[int, ...] = ()


def wait_until(progress: Progress, now: datetime) -> datetime:
    """Return until when the asker may decide about the newest calls."""
    return (progress.steps[-1].time or now) + CONSENT_TIME
