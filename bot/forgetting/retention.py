"""Background erasure: jobs that erase in batches, so that answers can use the database in between.

Theory of operation. A job erases batch after batch until one finds nothing, then wipes the freed bytes once. If the
process dies, the job starts again and finds less. Expired messages are looked for once a day.
"""

import json
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final, cast

from agent.errors import ProviderUnavailable
from agent.events import AgentEvent, HandleClosed, HandleOpened
from agent.jobs import Job
from agent.memory.audience import AudienceKind
from agent.memory.forgetting_plans import ERASE_ENTRIES, IDLE_FILES, Deleted, Expired, ForgettingPlan, Gone
from agent.ports.clock import Clock
from agent.ports.forgetting import Forgetting
from agent.ports.jobs import Jobs
from agent.shown_replies import ShownPage
from bot.chat.jobs import Handler
from bot.chat.reply.surface import Delete, PageGone, PageLimited, PageLocked, PageUnsent
from bot.forgetting import texts as forgetting_texts

log = logging.getLogger(__name__)

DELETED: Final = "forget_deleted"
GONE: Final = "forget_gone"
EXPIRED: Final = "forget_expired"
SWEEP: Final = "sweep"

BATCH: Final = 200  # Messages erased in one transaction: no answer can be stored for some tens of milliseconds
PAUSE_S: Final = 0.1  # Between two batches, so that waiting writers get the database
# One sweep serves all that is deleted within a minute; each takes about a second on a large database.
SWEEP_AFTER: Final = timedelta(minutes=1)
EXPIRY_INTERVAL: Final = timedelta(days=1)  # Between two searches for expired messages: retention is set in days


@dataclass(frozen=True, slots=True)
class Retention:
    """`days`: how long messages are kept, by the kind of place; those of other kinds are kept without a limit."""

    forgetting: Forgetting
    jobs: Jobs
    clock: Clock
    days: Mapping[AudienceKind, int]

    @property
    def handlers(self) -> Mapping[str, Handler]:
        return {
            DELETED: self.erase_deleted,
            GONE: self.erase_gone,
            EXPIRED: self.erase_expired,
            SWEEP: self.sweep,
            ERASE_ENTRIES: self.erase_entries,
            IDLE_FILES: self.drop_idle_files,
        }

    async def begin(self) -> None:
        """Schedule the daily erasure of expired messages, or cancel it where `days` is empty. Raises StoreError."""
        if self.days:
            await self.jobs.schedule(EXPIRED, "", "", self.clock.now())
        else:
            await self.jobs.cancel(EXPIRED, "")

    async def erase_deleted(self, job: Job) -> None:
        """Run the job: erase a message that was deleted while it was answered. Raises StoreError."""
        source, channel, message = ["", *json.loads(job.payload)][-3:]  # an earlier version named no source
        await self._erase(Deleted(source, channel, frozenset({message})))
        await self.forgetting.sweep()

    async def erase_gone(self, job: Job) -> None:
        """Run the job: erase all messages of a place that is gone. Raises StoreError."""
        erased = await self._erase(Gone.decode(job.payload))
        await self.forgetting.sweep()
        log.info("erased the messages of a deleted place: %s", _format_counts(erased))

    async def erase_expired(self, job: Job) -> None:
        """Run the job: erase expired messages. Raises StoreError."""
        now = self.clock.now()
        plans = [Expired(kind, now - timedelta(days=days)) for kind, days in self.days.items()]
        erased: dict[str, int] = {}
        for plan in plans:
            erased = _add_counts(erased, await self._erase(plan))
        if erased:
            await self.forgetting.sweep()
            log.info("erased expired messages: %s", _format_counts(erased))
        await self.jobs.schedule(job.kind, job.key, "", now + EXPIRY_INTERVAL)

    async def erase_entries(self, job: Job) -> None:
        """Run the job: erase entries that a person deleted a minute ago and did not restore. Raises StoreError."""
        if not await self.forgetting.wipe(job.key):
            await sweep_soon(self.jobs, self.clock.now())

    async def drop_idle_files(self, job: Job) -> None:
        """Run the job: delete the files of code of a conversation that were not used for a while. Raises StoreError."""
        now = self.clock.now()
        again = await self.forgetting.drop_idle_files(job.key, now)
        await sweep_soon(self.jobs, now)
        if again is not None:
            await self.jobs.schedule(job.kind, job.key, "", again, conversation=job.key)

    async def sweep(self, job: Job) -> None:  # noqa: ARG002 -- a handler takes its job
        """Run the job: wipe the bytes of what was erased. Raises StoreError."""
        await self.forgetting.sweep()

    async def _erase(self, plan: ForgettingPlan) -> dict[str, int]:
        erased: dict[str, int] = {}
        while any((batch := await self.forgetting.retire(plan, self.clock.now(), BATCH)).values()):
            erased = _add_counts(erased, batch)
            await self.clock.sleep(PAUSE_S)
        return erased


async def sweep_soon(jobs: Jobs, now: datetime) -> None:
    """Schedule wiping the bytes of what was just erased. Raises StoreError."""
    await jobs.schedule(SWEEP, "", "", now + SWEEP_AFTER)


def _add_counts(first: Mapping[str, int], second: Mapping[str, int]) -> dict[str, int]:
    return {kind: first.get(kind, 0) + second.get(kind, 0) for kind in {**first, **second}}


def _format_counts(erased: Mapping[str, int]) -> str:
    return ", ".join(f"{count} {kind}" for kind, count in sorted(erased.items()) if count) or "nothing"


# Deletion of the bot's replies on their platforms, after their text was forgotten.
#
# Rules
#   Pages are deleted one at a time, at a pace that leaves the platforms' rate limits to the answers. A page that is
#   gone or may not be touched counts as deleted; any other failure is tried again later.

PAGE_PAUSE_S = 1.5  # Forty a minute: Slack allows fifty deletions, Discord more


@dataclass(frozen=True, slots=True)
class ReplyDeletion:
    clock: Clock
    platforms: Mapping[str, Delete]
    """Deletes a page, by the source of its question; platforms that are not connected are missing."""

    async def delete(self, job: Job) -> None:
        """Run the job: delete one page. Raises SurfaceError if it is to be tried again."""
        page = ShownPage.decode(job.payload)
        if page.source not in self.platforms:
            raise PageUnsent(f"{page.source} is not connected")
        try:
            await self.platforms[page.source](page)
        except PageLimited as limited:
            await self.clock.sleep(limited.retry_after_s)
            raise
        except (PageGone, PageLocked) as error:
            log.info("a forgotten message could not be deleted on the platform (%s): %s", page.what.value, error)
        await self.clock.sleep(PAGE_PAUSE_S)


# Deletion of the context that vendors store for a turn, even after a crash.
#
# Theory of operation. As soon as a vendor stores context, a job is scheduled that deletes it a while later. A turn that
# ends well deletes it itself and cancels the job; after a crash, or while the vendor is down, the job deletes it. So no
# process has to remember the handle, and forgetting needs no call to a vendor.

KIND = "vendor_copy"
CLEANUP_DELAY = timedelta(minutes=30)  # Longer than any turn runs: before that the turn itself deletes the context

# Drops these handles at the vendor of this model; returns those that may still exist.
Forget = Callable[[str, Sequence[str]], Awaitable[Sequence[str]]]


@dataclass(frozen=True, slots=True)
class VendorCopies:
    jobs: Jobs
    clock: Clock
    forget: Forget

    async def record_event(self, event: AgentEvent) -> None:
        """Schedule the deletion of an opened handle; cancel it for a closed one. Raises StoreError."""
        match event:
            case HandleOpened(model, handle):
                payload = json.dumps({"model": model, "handle": handle})
                await self.jobs.schedule(KIND, handle, payload, self.clock.now() + CLEANUP_DELAY)
            case HandleClosed(handle):
                await self.jobs.cancel(KIND, handle)
            case _:
                pass

    async def drop(self, job: Job) -> None:
        """Run the job: delete a handle at its vendor. Raises ProviderUnavailable while it may still exist."""
        copy = cast("dict[str, str]", json.loads(job.payload))
        if await self.forget(copy["model"], [copy["handle"]]):
            raise ProviderUnavailable(forgetting_texts.COPY_STILL_KEPT.format(model=copy["model"]))
