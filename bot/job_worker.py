"""Work outside of turns: claims what is due, and lets the handler of its kind do it.

One of the three broad excepts of this program is here: a background job. Whatever goes wrong is one log line; the job
is tried again later, each time after twice as long, and given up after `max_attempts`.
"""

import asyncio
import logging
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import TypeAlias

from agent.errors import CogencyError, LeaseLost, StoreError, StoreUnavailable
from agent.ports import Clock, Jobs
from agent.records import Job
from bot.logs import severity
from bot.telemetry import SILENT, JobEnd, JobOver, Telemetry

log = logging.getLogger(__name__)

Handler: TypeAlias = Callable[[Job], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class JobLimits:
    sweep_s: float = 5.0
    """How often to look for what is due: nobody waits for it."""
    lease: timedelta = timedelta(minutes=2)
    """How long a silent worker keeps its job; it is renewed while the handler works."""
    first_retry: timedelta = timedelta(minutes=1)
    longest_retry: timedelta = timedelta(hours=6)
    """Doubling from the first to the longest: quick after a hiccup, gentle with a service that is down for days."""
    max_attempts: int = 20
    """About four days: longer than an outage, shorter than a change of settings that will never be undone."""

    def retry_after(self, attempts: int) -> timedelta:
        """How long to wait after so many attempts, at least one."""
        return min(self.first_retry * 2 ** min(attempts - 1, 20), self.longest_retry)


class JobWorker:
    """Does one job at a time: background work leaves the machine to the answers."""

    def __init__(
        self,
        jobs: Jobs,
        handlers: Mapping[str, Handler],
        clock: Clock,
        owner: str,
        limits: JobLimits = JobLimits(),
        telemetry: Telemetry = SILENT,
    ) -> None:
        self._jobs = jobs
        self._handlers = handlers
        self._clock = clock
        self._owner = owner
        self._limits = limits
        self._telemetry = telemetry

    @asynccontextmanager
    async def serving(self) -> AsyncGenerator[None, None]:
        """Do what is due until the block ends; a job that is cut short waits for the next start."""
        worker = asyncio.create_task(self._serve())
        try:
            yield
        finally:
            worker.cancel()
            await asyncio.gather(worker, return_exceptions=True)

    async def work(self) -> bool:
        """Do the next job that is due; False if there is none. Raises StoreError."""
        job = await self._jobs.claim(frozenset(self._handlers), self._owner, self._clock.now(), self._limits.lease)
        if job is None:
            return False
        renewing, begun = asyncio.create_task(self._renew(job)), self._clock.monotonic()
        try:
            done = await self._done(job)
        finally:
            renewing.cancel()
        took_s, end = self._clock.monotonic() - begun, JobEnd.DONE if done else JobEnd.FAILED
        try:
            if done or job.attempts >= self._limits.max_attempts:
                await self._jobs.finish(job)
                end = JobEnd.DONE if done else JobEnd.GIVEN_UP
            else:
                await self._jobs.postpone(job, self._clock.now() + self._limits.retry_after(job.attempts))
        except LeaseLost as error:
            end = JobEnd.LOST
            log.info("job %d (%s): %s", job.id, job.kind, error)
        self._telemetry.tell(JobOver(job.kind, end, took_s))
        return True

    async def _serve(self) -> None:
        while True:
            try:
                while await self.work():
                    pass
            except StoreError as error:
                log.log(severity(error), "no job could be done, trying again: %s", error)
            await self._clock.sleep(self._limits.sweep_s)

    async def _done(self, job: Job) -> bool:
        try:
            await self._handlers[job.kind](job)
        except StoreUnavailable:
            raise  # nothing is wrong with the job
        except CogencyError as error:
            log.warning("job %d (%s): attempt %d failed: %s", job.id, job.kind, job.attempts, error)
            return False
        except Exception:
            log.exception("job %d (%s): attempt %d failed", job.id, job.kind, job.attempts)
            return False
        return True

    async def _renew(self, job: Job) -> None:
        while True:
            await self._clock.sleep(self._limits.lease.total_seconds() / 3)
            try:
                await self._jobs.renew(job, self._clock.now(), self._limits.lease)
            except StoreError as error:
                log.log(severity(error), "job %d (%s): lease not renewed: %s", job.id, job.kind, error)
