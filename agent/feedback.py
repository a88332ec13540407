"""Why answers were bad, who looks into it, and who may see it. Pure values."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Final, TypeAlias

from agent.memory.audience import AudienceKind

# Rules
#   A rating has words only of the person who rates: the question and the answer are read from their own rows, so that
#   forgetting and deleting them holds here, too.
#   The words of a rating, the question and the answer are shown only to people who can read the place of the answer
#   now, and, if the rater shared them, to the bot's operators. Everyone else sees counts (`FeedbackView`).

# In characters. Windows of Slack and Discord accept up to 3,000 and 4,000; a reason is a sentence or two.
MAX_COMMENT: Final = 500
MAX_CORRECTION: Final = 2_000


class FeedbackReason(StrEnum):
    """Why an answer was bad. The values are stored, and sent to webhooks."""

    WRONG = "wrong"
    OUTDATED = "outdated"
    NOT_ASKED = "not-asked"
    """It does not answer what was asked."""
    TOO_LONG = "too-long"
    PRIVATE = "private"
    """It says what should not be said there."""
    OTHER = "other"


class FeedbackState(StrEnum):
    NEW = "new"
    IN_WORK = "in-work"
    FIXED = "fixed"


@dataclass(frozen=True, slots=True)
class FeedbackDetails:
    """What a person says about an answer that they rated as bad. `correction`: what it should have been. `shared`:
    whether operators may read the question, the answer and these words.
    """

    reason: FeedbackReason
    comment: str = ""
    correction: str = ""
    shared: bool = False


@dataclass(frozen=True, slots=True)
class SharedFeedback:
    """The view of the bot's operators: all that was shared with them."""


@dataclass(frozen=True, slots=True)
class ChannelFeedback:
    """The view of those who can read a channel now. `audiences`: the labels of those whose messages may be used there,
    and of no single person's.
    """

    source: str
    channel: str
    audiences: frozenset[str]

    def __post_init__(self) -> None:
        if any(audience.partition(":")[0] == AudienceKind.PERSON for audience in self.audiences):
            raise ValueError("what only one person reads is no channel")


FeedbackView: TypeAlias = SharedFeedback | ChannelFeedback


@dataclass(frozen=True, slots=True)
class FeedbackFilter:
    """Which ratings are meant. `states`: empty for all. `since`: None for any time."""

    states: frozenset[FeedbackState] = frozenset()
    reason: FeedbackReason | None = None
    place: str = ""
    """A channel with its source, such as "slack:T0123:C0123"; "" for any place."""
    since: datetime | None = None


@dataclass(frozen=True, slots=True)
class FeedbackItem:
    """A rating of a bad answer, for people who may see it. `person`: who rated; `place`: the channel with its source.

    `question` and `answer`: None if they are no longer stored, or were never to be stored.
    """

    id: int
    turn: int
    person: str
    place: str
    audience: str
    time: datetime
    reason: FeedbackReason | None
    comment: str
    correction: str
    shared: bool
    state: FeedbackState
    owner: str
    """The id of the person who has it in work, or fixed it; "" for nobody."""
    link: str
    """The link to the question; "" if the platform has none."""
    question: str | None
    answer: str | None
    person_name: str = ""
    owner_name: str = ""


class CountedBy(StrEnum):
    MODEL = "model"
    PLACE = "place"
    """A channel with its source; all direct messages are one place, "" (who rated there is not said)."""
    TOOL = "tool"
    REASON = "reason"


@dataclass(frozen=True, slots=True)
class RatingCount:
    """How often people rated answers of a model, at a place, with a tool."""

    key: str
    good: int
    bad: int


# The counts of each kind, the most frequent first.
RatingCounts: TypeAlias = Mapping[CountedBy, Sequence[RatingCount]]


@dataclass(frozen=True, slots=True)
class StateChange:
    """Who moves a rating to another state, and when."""

    state: FeedbackState
    person: str
    channel: str
    time: datetime
