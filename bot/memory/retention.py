"""Erasing for which nobody waits: jobs of the ledger, in batches, between which answers have the database.

Theory of operation. A job erases batch after batch until one finds nothing, then has the bytes wiped, once. If the
process dies, the job begins again and finds less. What is past its time is looked for once a day.
"""

import json
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final, cast

from agent.errors import ProviderUnavailable
from agent.events import AgentEvent, HandleClosed, HandleOpened
from agent.memory.audience import AudienceKind
from agent.memory.forgetting_plans import ERASE_ENTRIES, Deleted, Expired, ForgettingPlan, Gone
from agent.ports import Clock, Forgetting, Jobs
from agent.records import Job, ShownPage
from bot.reply_surface import PageGone, PageLimited, PageLocked, PageUnsent
from bot.scheduler import Handler
from bot.texts import setup_texts

log = logging.getLogger(__name__)

DELETED: Final = "forget_deleted"
GONE: Final = "forget_gone"
EXPIRED: Final = "forget_expired"
SWEEP: Final = "sweep"

BATCH: Final = 200  # Messages erased in one transaction: some tens of milliseconds in which no answer can be stored
PAUSE_S: Final = 0.1  # Between two batches, so that whoever waits for the database gets it
# One wiping serves all that is deleted within a minute; each takes about a second on a large database.
SWEEP_AFTER: Final = timedelta(minutes=1)
EVERY: Final = timedelta(days=1)  # How often what is past its time is looked for: people think of retention in days


@dataclass(frozen=True, slots=True)
class Retention:
    """`days`: how long is kept what was said in each kind of place; other kinds are kept for ever."""

    forgetting: Forgetting
    jobs: Jobs
    clock: Clock
    days: Mapping[AudienceKind, int]

    @property
    def handlers(self) -> Mapping[str, Handler]:
        return {
            DELETED: self.deleted,
            GONE: self.gone,
            EXPIRED: self.expired,
            SWEEP: self.sweep,
            ERASE_ENTRIES: self.entries,
        }

    async def begin(self) -> None:
        """Look for what is past its time now, and from now on each day; or no longer. Raises StoreError."""
        if self.days:
            await self.jobs.schedule(EXPIRED, "", "", self.clock.now())
        else:
            await self.jobs.cancel(EXPIRED, "")

    async def deleted(self, job: Job) -> None:
        """The job: messages that were deleted while they were answered. Raises StoreError."""
        channel, message = json.loads(job.payload)
        await self._retire(Deleted(channel, frozenset({message})))
        await self.forgetting.sweep()

    async def gone(self, job: Job) -> None:
        """The job: what was said in a place that is no more. Raises StoreError."""
        erased = await self._retire(Gone.decode(job.payload))
        await self.forgetting.sweep()
        log.info("forgot what was said in a place that is gone: %s", _counted(erased))

    async def expired(self, job: Job) -> None:
        """The job: what is past its time. Raises StoreError."""
        now = self.clock.now()
        plans = [Expired(kind, now - timedelta(days=days)) for kind, days in self.days.items()]
        erased: dict[str, int] = {}
        for plan in plans:
            erased = _sum(erased, await self._retire(plan))
        if erased:
            await self.forgetting.sweep()
            log.info("forgot what was past its time: %s", _counted(erased))
        await self.jobs.schedule(job.kind, job.key, "", now + EVERY)

    async def entries(self, job: Job) -> None:
        """The job: what a person deleted a minute ago and has not brought back. Raises StoreError."""
        if not await self.forgetting.wipe(job.key):
            await sweep_soon(self.jobs, self.clock.now())

    async def sweep(self, job: Job) -> None:  # noqa: ARG002 -- a handler takes its job
        """The job: wipe the bytes of what was erased. Raises StoreError."""
        await self.forgetting.sweep()

    async def _retire(self, plan: ForgettingPlan) -> dict[str, int]:
        erased: dict[str, int] = {}
        while any((batch := await self.forgetting.retire(plan, self.clock.now(), BATCH)).values()):
            erased = _sum(erased, batch)
            await self.clock.sleep(PAUSE_S)
        return erased


async def sweep_soon(jobs: Jobs, now: datetime) -> None:
    """Have the bytes wiped of what was just erased. Raises StoreError."""
    await jobs.schedule(SWEEP, "", "", now + SWEEP_AFTER)


def _sum(one: Mapping[str, int], other: Mapping[str, int]) -> dict[str, int]:
    return {kind: one.get(kind, 0) + other.get(kind, 0) for kind in {**one, **other}}


def _counted(erased: Mapping[str, int]) -> str:
    return ", ".join(f"{count} {kind}" for kind, count in sorted(erased.items()) if count) or "nothing"


# Deleting the bot's replies in their platforms, after their words were forgotten.
#
# Rules
#   One page at a time, at a pace that leaves the platforms' limits to the answers. What cannot be deleted any more,
#   because it is gone or may not be touched, is done; everything else is tried again later.

PAGE_PAUSE_S = 1.5  # Forty a minute: Slack allows fifty deletions, Discord more

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
        await self.clock.sleep(PAGE_PAUSE_S)


# What vendors keep of a turn, and its deletion there, also after a crash.
#
# Theory of operation. As soon as a vendor keeps something, its deletion is a job of the ledger, due a while later. A
# turn that ends well has it deleted and takes the job back; after a crash, or with a vendor that is down, the job
# does it. Nothing is left to remember by anybody, and forgetting has nothing of its own to do at a vendor.

KIND = "vendor_copy"
GUARD = timedelta(minutes=30)  # Longer than any turn runs: until then the turn itself has it deleted

# Have the vendor of this model drop these handles; what may still be there.
Forget = Callable[[str, Sequence[str]], Awaitable[Sequence[str]]]


@dataclass(frozen=True, slots=True)
class VendorCopies:
    jobs: Jobs
    clock: Clock
    forget: Forget

    async def see(self, event: AgentEvent) -> None:
        """Note what is kept from now on, and what no longer is. Raises StoreError."""
        match event:
            case HandleOpened(model, handle):
                payload = json.dumps({"model": model, "handle": handle})
                await self.jobs.schedule(KIND, handle, payload, self.clock.now() + GUARD)
            case HandleClosed(handle):
                await self.jobs.cancel(KIND, handle)
            case _:
                pass

    async def drop(self, job: Job) -> None:
        """The job: delete it at the vendor. Raises ProviderUnavailable while it may still be there."""
        copy = cast("dict[str, str]", json.loads(job.payload))
        if await self.forget(copy["model"], [copy["handle"]]):
            raise ProviderUnavailable(setup_texts.COPY_STILL_KEPT.format(model=copy["model"]))
