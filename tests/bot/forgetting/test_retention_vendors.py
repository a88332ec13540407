"""The context that vendors store for a turn is deleted there, by the turn or by a later job."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from agent.events import HandleClosed, HandleOpened, IterationStarted
from bot.chat.jobs import JobLimits, JobWorker
from bot.forgetting.retention import CLEANUP_DELAY, KIND, VendorCopies
from tests.fakes.clock import FakeClock
from tests.fakes.store import StoreInMemory, store_in_memory

OPENED = HandleOpened("gemini:gemini-3.8-flash", "v1_1")


@dataclass
class Vendor:
    """A vendor that stores handles; while it is `down`, none is deleted."""

    kept: set[str]
    down: bool = False
    asked: list[str] = field(default_factory=list[str])

    async def forget(self, model: str, handles: Sequence[str]) -> Sequence[str]:
        self.asked.append(model)
        if not self.down:
            self.kept -= set(handles)
        return [handle for handle in handles if handle in self.kept]


def bench(vendor: Vendor) -> tuple[VendorCopies, JobWorker, StoreInMemory, FakeClock]:
    store, clock = store_in_memory(), FakeClock(auto=False)
    copies = VendorCopies(store.jobs, clock, vendor.forget)
    return copies, JobWorker(store.jobs, {KIND: copies.drop}, clock, "worker"), store, clock


async def test_a_turn_that_ends_well_leaves_no_job() -> None:
    vendor = Vendor(set())
    copies, _, store, _ = bench(vendor)
    await copies.record_event(OPENED)
    await copies.record_event(IterationStarted(1))
    assert (KIND, "v1_1") in store.waiting_jobs
    await copies.record_event(HandleClosed("v1_1"))
    assert not store.waiting_jobs
    assert vendor.asked == []


async def test_after_a_crash_the_job_deletes_it_and_tries_until_it_is_gone() -> None:
    vendor = Vendor({"v1_1"}, down=True)
    copies, worker, store, clock = bench(vendor)
    await copies.record_event(OPENED)
    assert not await worker.work()
    await clock.advance(CLEANUP_DELAY.total_seconds())
    assert await worker.work()
    assert vendor.kept == {"v1_1"}
    vendor.down = False
    await clock.advance(JobLimits().first_retry.total_seconds())
    assert await worker.work()
    assert vendor.kept == set()
    assert vendor.asked == ["gemini:gemini-3.8-flash"] * 2
    assert not store.waiting_jobs
