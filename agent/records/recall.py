"""What is searched, and what is found."""

from dataclasses import dataclass
from typing import TypeAlias

from agent.memory.facts import Fact
from agent.memory.periods import Period
from agent.memory.profile import ProfileEntry
from agent.messages import ModelCall
from agent.records.messages import Author, StoredMessage

Remembered: TypeAlias = Fact | ProfileEntry
"""What a person is shown of what is known about them."""


@dataclass(frozen=True, slots=True)
class Meaning:
    """What a text means to a model for embeddings: a vector, to be compared with those of the same model only."""

    model: str
    vector: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Unembedded:
    """A message without a vector: its row id, whom its conversation turns on (for the bill), its words."""

    id: int
    person: str
    text: str


@dataclass(frozen=True, slots=True)
class Embedded:
    """A vector for each text of one call, all of the same length, and what the call took."""

    vectors: tuple[tuple[float, ...], ...]
    call: ModelCall


@dataclass(frozen=True, slots=True)
class RecallQuery:
    """A search of one person's past threads, for a reply in one place.

    `audiences` holds the labels that may flow into that reply (`may_flow_from`); the store filters inside its query.
    `periods` are the times that the text speaks of: what was said then comes first. The rest leaves out what does not
    fit: `within` by time, `author` by who wrote, `by` by a name or an id of a person. With a `meaning`, what means
    something like it is found, too, as far as vectors of its model are kept.
    """

    person: str
    text: str
    audiences: frozenset[str]
    exclude_conversation: str
    """The conversation that goes on: what its model sees already is not found (see `visible_from`)."""
    limit: int = 10
    periods: tuple[Period, ...] = ()
    within: Period | None = None
    author: Author | None = None
    by: str = ""
    meaning: Meaning | None = None
    visible_from: int = 0
    """Of the excluded conversation what stands before this message (its id) is found all the same."""


@dataclass(frozen=True, slots=True)
class Hit:
    """One found message. What stands beside it in its thread is a hit of its own where it helps."""

    message: StoredMessage
    score: float
