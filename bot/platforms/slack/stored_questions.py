"""The questions that this process has stored lately.

A mention arrives as two events, `app_mention` and `message`, in either order, and Slack sends an event again that it
thinks was lost. Neither kind can be dropped by a rule: an app may be subscribed to one of them alone, and Slack repeats
each by itself if its delivery fails. So an event is dropped only once its message is stored as a question, which spares
the second one its reads of Slack's Web API. The ledger dedupes the rest: what comes after a restart, or to another
process.
"""

import asyncio
from collections.abc import Awaitable, Callable
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

    async def store_once(self, key: str, store: Callable[[], Awaitable[bool]]) -> bool:
        """Run `store`, which returns whether it has stored the message, unless it is stored. Return whether it was new.

        While another event of the message is being stored, wait for that. If it fails, `store` runs nevertheless.
        """
        lock = self._storing.setdefault(key, asyncio.Lock())
        async with lock:
            if key in self._stored or not await store():
                return False
            self._stored[key] = None
            return True
