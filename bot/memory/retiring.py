"""Erasing for which nobody waits: jobs of the ledger, in batches, between which answers have the database.

Theory of operation. A job erases batch after batch until one finds nothing, then has the bytes wiped, once. If the
process dies, the job begins again and finds less. What is past its time is looked for once a day.
"""

import json
import logging
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from agent.memory.audience import AudienceKind
from agent.memory.forgetting import ERASE_ENTRIES, Deleted, Expired, ForgettingPlan, Gone
from agent.ports import Clock, Forgetting, Jobs
from agent.records import Job
from bot.jobs import Handler

log = logging.getLogger(__name__)

DELETED: Final = "forget_deleted"
GONE: Final = "forget_gone"
EXPIRED: Final = "forget_expired"
SWEEP: Final = "sweep"

BATCH: Final = 200
"""Messages erased in one transaction: some tens of milliseconds in which no answer can be stored."""
PAUSE_S: Final = 0.1
"""Between two batches, so that whoever waits for the database gets it."""
SWEEP_AFTER: Final = timedelta(minutes=1)
"""One wiping serves all that is deleted within a minute; each takes about a second on a large database."""
EVERY: Final = timedelta(days=1)
"""How often what is past its time is looked for: people think of retention in days."""


@dataclass(frozen=True, slots=True)
class Retiring:
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
        """All of it; what went."""
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
