"""The questions that this process has stored lately.

A mention arrives as two events, `app_mention` and `message`, in either order, and Slack sends an event again that it
thinks was lost. Neither kind can be dropped by a rule: an app may be subscribed to one of them alone, and Slack repeats
each by itself if its delivery fails. So an event is dropped only once its message is stored as a question, which spares
the second one its reads of Slack's Web API. The ledger dedupes the rest: what comes after a restart, or to another
process.
"""

import asyncio
from dataclasses import dataclass, field
from weakref import WeakValueDictionary

from bot.chat.caches import RecentKeys


@dataclass(slots=True)
class StoredQuestions:
    """A key stands for a message: its channel and time stamp."""

    _stored: RecentKeys = field(default_factory=RecentKeys)
    _storing: WeakValueDictionary[str, asyncio.Lock] = field(default_factory=WeakValueDictionary[str, asyncio.Lock])

    def __contains__(self, key: str) -> bool:
        return key in self._stored

    def add(self, key: str) -> None:
        self._stored[key] = None

    def clear(self) -> None:
        """The database may no longer have them."""
        self._stored.clear()

    def lock(self, key: str) -> asyncio.Lock:
        """Return the lock to hold while an event of the message is being stored, from the check whether it is."""
        return self._storing.setdefault(key, asyncio.Lock())
