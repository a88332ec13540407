"""What vendors keep of a turn, and its deletion there, also after a crash.

Above: `bot.turns.thinking` notes what is kept, `bot.app` gives the job its handler. Below: the Jobs port.

Theory of operation. As soon as a vendor keeps something, its deletion is a job of the ledger, due a while later. A turn
that ends well has it deleted and takes the job back; after a crash, or with a vendor that is down, the job does it.
Nothing is left to remember by anybody, and forgetting has nothing of its own to do at a vendor.
"""

import json
from collections.abc import Awaitable, Callable, Sequence
from datetime import timedelta
from typing import cast

from agent.errors import ProviderUnavailable
from agent.events import AgentEvent, HandleClosed, HandleOpened
from agent.ports import Clock, Jobs
from agent.records import Job

KIND = "vendor_copy"
GUARD = timedelta(minutes=30)
"""Longer than any turn runs: until then the turn itself has it deleted."""

Forget = Callable[[str, Sequence[str]], Awaitable[Sequence[str]]]
"""Have the vendor of this model drop these handles; what may still be there."""


class VendorCopies:
    def __init__(self, jobs: Jobs, clock: Clock, forget: Forget) -> None:
        self._jobs = jobs
        self._clock = clock
        self._forget = forget

    async def see(self, event: AgentEvent) -> None:
        """Note what is kept from now on, and what no longer is. Raises StoreError."""
        match event:
            case HandleOpened(model, handle):
                payload = json.dumps({"model": model, "handle": handle})
                await self._jobs.schedule(KIND, handle, payload, self._clock.now() + GUARD)
            case HandleClosed(handle):
                await self._jobs.cancel(KIND, handle)
            case _:
                pass

    async def drop(self, job: Job) -> None:
        """The job: delete it at the vendor. Raises ProviderUnavailable while it may still be there."""
        copy = cast("dict[str, str]", json.loads(job.payload))
        if await self._forget(copy["model"], [copy["handle"]]):
            raise ProviderUnavailable(f"{copy['model']} may still keep a part of an old turn; trying again later.")
