"""`cogency feedback`: what people shared about answers, and counts, whether the bot runs or not."""

from collections.abc import AsyncGenerator, Sequence
from datetime import datetime, timedelta
from typing import Final

from agent.feedback import FeedbackFilter, FeedbackItem, RatingCounts, SharedFeedback
from agent.machine import CLOCK
from bot.app.settings import Settings
from store.engine import open_feedback

DAYS: Final = 30  # As many as `cogency usage` shows
PAGE: Final = 200  # Ratings in memory at once; each has a question and an answer


async def shared(settings: Settings, since: datetime | None) -> AsyncGenerator[Sequence[FeedbackItem], None]:
    """Yield what was shared with operators, the newest first, in batches. `since`: None for all. Raises StoreError."""
    view, chosen, offset, last = SharedFeedback(), FeedbackFilter(since=since), 0, None
    async with open_feedback(settings.storage.url) as feedback:
        while page := await feedback.listed(view, chosen, limit=PAGE, offset=offset):
            # What is rated meanwhile moves the others to later pages.
            yield [item for item in page if last is None or item.id < last]
            offset, last = offset + len(page), page[-1].id


async def counted(settings: Settings, since: datetime | None) -> RatingCounts:
    """Return the counts of ratings. `since`: None for the last 30 days. Raises StoreError."""
    async with open_feedback(settings.storage.url) as feedback:
        return await feedback.counts(since or CLOCK.now() - timedelta(days=DAYS))
