"""Questions of a channel with what became of them, as a port of the store."""

from collections.abc import Sequence
from datetime import datetime
from typing import Protocol

from agent.feedback import ChannelFeedback
from agent.unanswered import AskedChannel, AskedQuestion


class UnansweredQuestions(Protocol):
    """Raises StoreError."""

    async def asked(self, view: ChannelFeedback, since: datetime, limit: int) -> Sequence[AskedQuestion]:
        """Return the questions that were answered since then in this channel, for those who can read it; the newest
        first.
        """
        ...

    async def channels(self, since: datetime, limit: int) -> Sequence[AskedChannel]:
        """Return the channels in which questions were answered since then, the most recent first."""
        ...
