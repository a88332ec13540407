"""The stored runs of `cogency eval`, as a port of the store."""

from collections.abc import Sequence
from typing import Protocol

from agent.eval_runs import EvalRun


class EvalRuns(Protocol):
    """Every method raises StoreError."""

    async def add(self, run: EvalRun) -> int:
        """Store a run, and return its id. Only the newest KEPT runs stay, and of its answers the first MAX_ANSWERS."""
        ...

    async def newest(self, limit: int) -> Sequence[EvalRun]:
        """Return the newest runs first, without their answers."""
        ...

    async def of(self, id_: int) -> EvalRun | None:
        """Return a run with its answers; None if there is none."""
        ...
