"""Requests for a human: a person asks people of their place to take over a conversation. Pure values.

Rules
  A conversation has one request at a time, open or taken. One person takes it, whoever presses first.
  While it is taken, the bot answers in the conversation only if it is mentioned (`store.conversations.participants`).
  A request holds words of its asker alone: the question and the answer are read from their own rows, so that forgetting
  and deleting them holds here, too.
"""

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import Enum, StrEnum, auto
from typing import Final

from agent.incoming import Incoming
from agent.memory.audience import WIDE
from agent.state import SituationSummary

HANDOFF: Final = "handoff"  # The kind of job that writes to people about a request; its key is the request's number
SENDING: Final = ("?",)  # The pages of a message that is being sent: it may be there
MAX_NOTE: Final = 500  # A few sentences: the question itself is shown, too
MAX_A_DAY: Final = 10  # Requests of one person: each interrupts people
MAX_PEOPLE: Final = 10  # Written about one request: more people would only be interrupted
REMIND_AFTER: Final = timedelta(hours=1)
OPEN_FOR: Final = timedelta(days=7)  # Nobody takes an older request
TAKEN_FOR: Final = timedelta(days=30)  # Until a request that nobody handed back ends by itself


class HandoffState(StrEnum):
    """The values are stored."""

    OPEN = "open"
    TAKEN = "taken"
    RETURNED = "returned"
    """It was handed back to the bot."""
    WITHDRAWN = "withdrawn"
    """Its asker no longer needs anyone."""
    EXPIRED = "expired"
    """Nobody took it in time."""

    @property
    def is_current(self) -> bool:
        return self in {HandoffState.OPEN, HandoffState.TAKEN}


class HandoffOutcome(Enum):
    """The result of a change of a request's state."""

    STORED = auto()
    TAKEN_BEFORE = auto()
    """Somebody else has taken it."""
    OVER = auto()


@dataclass(frozen=True, slots=True)
class NewHandoff:
    """`turn`: of the answer; `person`: who asks, and their `name`. `note`: their own words. `shared`: the digest of
    what they agreed to share from a conversation that only they read, "" for nothing; unused where people can read it.
    """

    turn: int
    person: str
    name: str = ""
    note: str = ""
    shared: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Handoff:
    """A request. `question`: the one that was answered, as a message at its place; `asker_name`: of the person who
    asked for a human, who may be another reader. `changed`: since when it is in its state. `taker`: an id, "" for
    nobody. `reminded`: people were reminded, or need not be.
    """

    number: int
    turn: int
    person: str
    asker_name: str
    conversation: str
    time: datetime
    state: HandoffState
    question: Incoming
    note: str = ""
    shared: str = ""
    changed: datetime
    taker: str = ""
    taker_name: str = ""
    reminded: bool = False


@dataclass(frozen=True, slots=True)
class HandoffMessage:
    """What a person was written about a request. `pages`: its messages, as page ids of their platform; empty before
    they are sent. `closed`: they say how it ended.
    """

    person: str
    pages: tuple[str, ...] = ()
    closed: bool = False


@dataclass(frozen=True, slots=True)
class HandoffContent:
    """What was asked and tried, as stored now. `answer`: None if it was drawn from what not all of its readers may read
    (`drawn_from`), or is gone; then `summary` is empty, too. `tools`: the names of those that were called.
    """

    question: str
    answer: str | None = None
    drawn_from: str = WIDE
    tools: tuple[str, ...] = ()
    summary: SituationSummary = field(default_factory=SituationSummary)
