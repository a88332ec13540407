"""The port Jobs in memory."""

from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from itertools import count

from agent.errors import LeaseLost
from agent.records import Job


@dataclass
class FakeJobs:
    waiting: dict[tuple[str, str], Job] = field(default_factory=dict[tuple[str, str], Job])
    """By kind and key."""
    running: dict[tuple[str, str], tuple[Job, datetime]] = field(
        default_factory=dict[tuple[str, str], tuple[Job, datetime]]
    )
    """With the ends of their leases."""
    ids: "count[int]" = field(default_factory=lambda: count(1))

    async def schedule(
        self, kind: str, key: str, payload: str, run_at: datetime, *, person: str = "", conversation: str = ""
    ) -> None:
        job = self.waiting.get((kind, key)) or Job(next(self.ids), 0, "", kind, key, "", run_at, attempts=0)
        values = {"payload": payload, "run_at": run_at, "person": person, "conversation": conversation}
        self.waiting[kind, key] = replace(job, **values)

    async def cancel(self, kind: str, key: str) -> bool:
        return self.waiting.pop((kind, key), None) is not None

    async def claim(self, kinds: frozenset[str], owner: str, now: datetime, lease: timedelta) -> Job | None:
        lost = [job for job, until in self.running.values() if until <= now]
        due = [job for name, job in self.waiting.items() if name not in self.running and job.run_at <= now]
        free = sorted((job for job in lost + due if job.kind in kinds), key=lambda job: (job.run_at, job.id))
        if not free:
            return None
        [job, *_] = free
        if job in due:
            del self.waiting[job.kind, job.key]
        claimed = replace(job, epoch=job.epoch + 1, owner=owner, attempts=job.attempts + 1)
        self.running[job.kind, job.key] = (claimed, now + lease)
        return claimed

    async def renew(self, job: Job, now: datetime, lease: timedelta) -> None:
        self._end(job)
        self.running[job.kind, job.key] = (job, now + lease)

    async def finish(self, job: Job) -> None:
        self._end(job)

    async def postpone(self, job: Job, run_at: datetime) -> None:
        self._end(job)
        self.waiting.setdefault((job.kind, job.key), replace(job, run_at=run_at))

    def forget(self, person: str, conversation: str | None) -> int:
        """Drop what concerns the person there (None: everywhere); how many."""

        def stays(job: Job) -> bool:
            return job.person != person or conversation not in {None, job.conversation}

        before = len(self.waiting) + len(self.running)
        self.waiting = {name: job for name, job in self.waiting.items() if stays(job)}
        self.running = {name: held for name, held in self.running.items() if stays(held[0])}
        return before - len(self.waiting) - len(self.running)

    def _end(self, job: Job) -> None:
        held, _ = self.running.get((job.kind, job.key), (None, None))
        if held is None or (held.id, held.epoch) != (job.id, job.epoch):
            raise LeaseLost(f"Job {job.id} ({job.kind}) is no longer held by {job.owner}.")
        del self.running[job.kind, job.key]
