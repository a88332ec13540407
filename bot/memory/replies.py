"""Deleting the bot's replies in their platforms, after their words were forgotten.

Above: `bot.background` gives the job its handler; platforms say how. Below: `bot.surface`, the port Clock.

Rules
  One page at a time, at a pace that leaves the platforms' limits to the answers. What cannot be deleted any more,
  because it is gone or may not be touched, is done; everything else is tried again later.
"""

import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass

from agent.ports import Clock
from agent.records import Job, ShownPage
from bot.surface import PageGone, PageLimited, PageLocked, PageUnsent

log = logging.getLogger(__name__)

PAUSE_S = 1.5
"""Forty a minute: Slack allows fifty deletions, Discord more."""

Delete = Callable[[ShownPage], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class ReplyDeletion:
    clock: Clock
    platforms: Mapping[str, Delete]
    """How to delete a page, by the source of its question; those that are not connected are missing."""

    async def delete(self, job: Job) -> None:
        """The job: delete one page. Raises SurfaceError to be tried again."""
        page = ShownPage.decode(job.payload)
        if page.source not in self.platforms:
            raise PageUnsent(f"{page.source} is not connected")
        try:
            await self.platforms[page.source](page)
        except PageLimited as limited:
            await self.clock.sleep(limited.retry_after_s)
            raise
        except (PageGone, PageLocked) as error:
            log.info("what is forgotten cannot be taken away on the platform (%s): %s", page.what.value, error)
        await self.clock.sleep(PAUSE_S)
