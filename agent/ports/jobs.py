"""The durable list of jobs.

The `owner` of a job is a worker's id. Every call of the store may raise StoreError, and StoreUnavailable if the same
may work later.
"""

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Protocol

from agent.jobs import Job


class Jobs(Protocol):
    """The durable list of work outside of turns. Of one kind and key at most one waits, until the one that runs ends.

    Every write after `claim` is fenced by the job's epoch and raises LeaseLost. Times are absolute: the caller converts
    local times.
    """

    async def schedule(
        self, kind: str, key: str, payload: str, run_at: datetime, *, person: str = "", conversation: str = ""
    ) -> None:
        """Add a job that runs at `run_at` or later. A waiting job of its kind and key gets the new payload and time."""
        ...

    async def replace(self, kind: str, key: str, *, payload: str, person: str) -> bool:
        """Replace the payload of the waiting job; its time stays. False if there is none."""
        ...

    async def cancel(self, kind: str, key: str) -> bool:
        """Delete the waiting job. False if there is none."""
        ...

    async def claim(self, kinds: frozenset[str], owner: str, now: datetime, lease: timedelta) -> Job | None:
        """Claim the job of these kinds that was due first, or one whose worker's lease ran out."""
        ...

    async def renew(self, job: Job, now: datetime, lease: timedelta) -> None:
        """Hold the job until `now` + `lease`."""
        ...

    async def finish(self, job: Job) -> None:
        """Delete the job, which is done."""
        ...

    async def postpone(self, job: Job, run_at: datetime) -> None:
        """Try again later. If a newer job of its kind and key waits already, that one replaces both."""
        ...

    async def again(self, job: Job, run_at: datetime) -> None:
        """Let a job that runs run once more, after it has finished. If a newer one of its kind and key waits already,
        that one stays, and runs at the earlier of both times.
        """
        ...

    def on_due(self, kind: str, listener: Callable[[], None]) -> Callable[[], None]:
        """Call `listener` when this process has added a job of this kind that someone waits for: others are found by
        looking now and then. Returns what ends that.
        """
        ...

    async def late(self, now: datetime) -> dict[str, timedelta]:
        """Return by kind how long the first due job has waited; kinds without a due job are left out."""
        ...
