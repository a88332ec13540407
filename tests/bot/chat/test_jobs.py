"""Background jobs: run when due, tried again, given up."""

import asyncio
import logging
from dataclasses import dataclass, field
from datetime import datetime, timedelta

import pytest

from agent.errors import ProviderUnavailable, StoreUnavailable
from agent.jobs import Job
from bot.chat.jobs import JobLimits, JobWorker
from store.job_queue import SqlJobs
from tests.fakes.clock import FakeClock
from tests.fakes.store import StoreInMemory, store_in_memory
from tests.patience import PATIENCE_S

LIMITS = JobLimits(max_attempts=3)


@dataclass
class Work:
    """A handler that fails as often as `failures` says."""

    failures: list[Exception] = field(default_factory=list[Exception])
    done: list[str] = field(default_factory=list[str])

    async def __call__(self, job: Job) -> None:
        if self.failures:
            raise self.failures.pop(0)
        self.done.append(job.payload)


def bench(work: Work) -> tuple[JobWorker, StoreInMemory, FakeClock]:
    store, clock = store_in_memory(), FakeClock(auto=False)
    return JobWorker(store.jobs, {"kind": work}, clock, "worker", LIMITS), store, clock


async def test_a_due_job_runs_once_and_is_removed() -> None:
    work = Work()
    worker, store, clock = bench(work)
    await store.jobs.schedule("kind", "a", "first", clock.now())
    await store.jobs.schedule("kind", "b", "later", clock.now() + timedelta(hours=1))
    await store.jobs.schedule("other", "c", "not ours", clock.now())
    assert await worker.work()
    assert not await worker.work()
    assert work.done == ["first"]
    assert set(store.waiting_jobs) == {("kind", "b"), ("other", "c")}


async def test_a_job_that_finds_no_database_is_not_logged_as_failed(caplog: pytest.LogCaptureFixture) -> None:
    work = Work([StoreUnavailable("The disk is full.")])
    worker, store, clock = bench(work)
    await store.jobs.schedule("kind", "a", "first", clock.now())
    with pytest.raises(StoreUnavailable):
        await worker.work()
    await clock.advance(LIMITS.lease.total_seconds())
    assert await worker.work()
    assert work.done == ["first"]
    assert caplog.messages == []


@pytest.mark.parametrize("error", [ProviderUnavailable("It is down."), RuntimeError("a bug")])
async def test_a_failed_job_is_logged_and_tried_again_later(error: Exception, caplog: pytest.LogCaptureFixture) -> None:
    work = Work([error])
    worker, store, clock = bench(work)
    await store.jobs.schedule("kind", "a", "first", clock.now())
    with caplog.at_level(logging.WARNING):
        assert await worker.work()
    assert "attempt 1 failed" in caplog.text
    assert not await worker.work()
    await clock.advance(LIMITS.first_retry.total_seconds())
    assert await worker.work()
    assert work.done == ["first"]


async def test_a_job_that_always_fails_is_given_up() -> None:
    work = Work([RuntimeError("a bug")] * LIMITS.max_attempts)
    worker, store, clock = bench(work)
    await store.jobs.schedule("kind", "a", "first", clock.now())
    for _ in range(LIMITS.max_attempts):
        assert await worker.work()
        await clock.advance(LIMITS.longest_retry.total_seconds())
    assert not await worker.work()
    assert not store.waiting_jobs


def test_the_time_between_attempts_doubles_up_to_the_longest() -> None:
    waits = [JobLimits().retry_after(attempts) for attempts in range(1, 30)]
    assert waits[:3] == [timedelta(minutes=1), timedelta(minutes=2), timedelta(minutes=4)]
    assert waits == sorted(waits)
    assert waits[-1] == timedelta(hours=6)


class FailingJobs(SqlJobs):
    """Fails the first claim."""

    failures = 1

    async def claim(self, kinds: frozenset[str], owner: str, now: datetime, lease: timedelta) -> Job | None:
        if self.failures:
            self.failures -= 1
            raise KeyError("unexpected")
        return await super().claim(kinds, owner, now, lease)


async def test_a_worker_goes_on_after_an_unexpected_error(caplog: pytest.LogCaptureFixture) -> None:
    work, store, clock = Work(), store_in_memory(), FakeClock()
    worker = JobWorker(FailingJobs(store.database), {"kind": work}, clock, "worker", LIMITS)
    await store.jobs.schedule("kind", "a", "first", clock.now())
    async with asyncio.timeout(PATIENCE_S), worker.serving():
        await clock.sleep(100)
    assert work.done == ["first"]
    assert "KeyError: 'unexpected'" in caplog.text


async def test_a_worker_runs_due_jobs_until_it_is_stopped() -> None:
    work = Work()
    store, clock = store_in_memory(), FakeClock()
    worker = JobWorker(store.jobs, {"kind": work}, clock, "worker", LIMITS)
    await store.jobs.schedule("kind", "a", "first", clock.now() + timedelta(minutes=1))
    async with asyncio.timeout(PATIENCE_S), worker.serving():
        await clock.sleep(100)
    assert work.done == ["first"]
