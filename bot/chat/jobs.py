"""Runs background jobs.

One of the few broad excepts of this program is here. Any failure is one log line; the job is tried again after a
pause that doubles each time, and given up after `max_attempts`.
"""

import asyncio
import logging
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import ExitStack, asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import TypeAlias

from agent.errors import CogencyError, LeaseLost, StoreError, StoreUnavailable, Unexpected
from agent.jobs import Job
from agent.ports.clock import Clock
from agent.ports.jobs import Jobs
from bot.chat.logs import severity
from bot.chat.telemetry import SILENT, JobEnd, JobOver, Telemetry
from bot.chat.unexpected import unexpected_logged

log = logging.getLogger(__name__)


Handler: TypeAlias = Callable[[Job], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class JobLimits:
    sweep_s: float = 5.0
    """How often to look for due jobs: of most kinds, nobody waits for one."""
    lease: timedelta = timedelta(minutes=2)
    """How long a worker that stopped keeps its job; the lease is renewed while the handler works."""
    first_retry: timedelta = timedelta(minutes=1)
    longest_retry: timedelta = timedelta(hours=6)
    """The pause doubles between these: short after a hiccup, long for a service that is down for days."""
    max_attempts: int = 20
    """About four days: longer than an outage, shorter than a wrong setting that stays."""

    def retry_after(self, attempts: int) -> timedelta:
        """Return how long to wait after this many attempts, at least one."""
        return min(self.first_retry * 2 ** min(attempts - 1, 20), self.longest_retry)


class JobWorker:
    """Runs one job at a time, so that answers have the machine's other resources."""

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
        self._due = asyncio.Event()

    @asynccontextmanager
    async def serving(self) -> AsyncGenerator[None, None]:
        """Run due jobs until the block ends; a job that is interrupted waits for the next start."""
        with ExitStack() as stack:
            for kind in self._handlers:
                stack.callback(self._jobs.on_due(kind, self._due.set))
            worker = asyncio.create_task(self._serve())
            try:
                yield
            finally:
                worker.cancel()
                await asyncio.gather(worker, return_exceptions=True)

    async def work(self) -> bool:
        """Run the next due job; return False if there is none. Raises StoreError."""
        job = await self._jobs.claim(frozenset(self._handlers), self._owner, self._clock.now(), self._limits.lease)
        if job is None:
            return False
        renewing, started = asyncio.create_task(self._renew(job)), self._clock.monotonic()
        try:
            done = await self._run_handler(job)
        finally:
            renewing.cancel()
        took_s, end = self._clock.monotonic() - started, JobEnd.DONE if done else JobEnd.FAILED
        try:
            if done or job.attempts >= self._limits.max_attempts:
                await self._jobs.finish(job)
                end = JobEnd.DONE if done else JobEnd.GIVEN_UP
            else:
                await self._jobs.postpone(job, self._clock.now() + self._limits.retry_after(job.attempts))
        except LeaseLost as error:
            end = JobEnd.LOST
            log.info("job %d (%s): %s", job.id, job.kind, error)
        self._telemetry.record(JobOver(job.kind, end, took_s))
        return True

    async def _serve(self) -> None:
        while True:
            self._due.clear()
            try:
                with unexpected_logged("the worker of jobs"):
                    while await self.work():
                        pass
            except (StoreError, Unexpected) as error:
                log.log(severity(error), "jobs could not be run; retrying: %s", error)
                await self._clock.sleep(self._limits.sweep_s)
            else:
                await self._wait()

    async def _wait(self) -> None:
        """Wait until it is time to look for due jobs, or one was added."""
        pausing = asyncio.create_task(self._clock.sleep(self._limits.sweep_s))
        added = asyncio.create_task(self._due.wait())
        try:
            await asyncio.wait({pausing, added}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            pausing.cancel()
            added.cancel()
            await asyncio.gather(pausing, added, return_exceptions=True)

    async def _run_handler(self, job: Job) -> bool:
        try:
            await self._handlers[job.kind](job)
        except StoreUnavailable:
            raise  # nothing is wrong with the job
        except CogencyError as error:
            log.warning("job %d (%s): attempt %d failed: %s", job.id, job.kind, job.attempts, error)
            return False
        except Exception:  # a bug in one handler must not stop the other jobs
            log.exception("job %d (%s): attempt %d failed", job.id, job.kind, job.attempts)
            return False
        return True

    async def _renew(self, job: Job) -> None:
        while True:
            await self._clock.sleep(self._limits.lease.total_seconds() / 3)
            try:
                await self._jobs.renew(job, self._clock.now(), self._limits.lease)
            except StoreError as error:
                log.log(severity(error), "job %d (%s): the lease could not be renewed: %s", job.id, job.kind, error)
