"""Why answers were bad, and who looks into it, as a port of the store."""

from collections.abc import Sequence
from datetime import datetime
from typing import Protocol

from agent.feedback import (
    ChannelFeedback,
    FeedbackDetails,
    FeedbackFilter,
    FeedbackItem,
    FeedbackView,
    RatingCounts,
    StateChange,
)


class Feedback(Protocol):
    """Every method raises StoreError. What a view does not contain is returned by no method."""

    async def explain(self, turn: int, person: str, details: FeedbackDetails, now: datetime) -> bool:
        """Store why a person rated the answer of a turn as bad, in place of what they said before.

        False, and nothing is stored, unless the person has rated it so, or asked its question.
        """
        ...

    async def details(self, turn: int, person: str) -> FeedbackDetails | None:
        """Return what this person said about the answer; None if nothing."""
        ...

    async def listed(
        self, view: FeedbackView, chosen: FeedbackFilter, *, limit: int, offset: int = 0
    ) -> Sequence[FeedbackItem]:
        """Return the chosen ratings that the view contains, the newest first."""
        ...

    async def count(self, view: FeedbackView, chosen: FeedbackFilter) -> int:
        """Return how many there are."""
        ...

    async def change_state(self, view: FeedbackView, id_: int, change: StateChange) -> FeedbackItem | None:
        """Store the state of a rating that the view contains, its owner, and a row of the audit. Return the rating as
        it is then; None if there is none.
        """
        ...

    async def counts(self, since: datetime, within: ChannelFeedback | None = None) -> RatingCounts:
        """Return how often answers were rated since then; `within`: only those in this channel. The reasons are those
        of bad answers.
        """
        ...
