"""The audit of tool calls, as a port of the store."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Protocol

from agent.turn_records import Claim


class CallEnd(StrEnum):
    """The outcomes of a call in the audit that are no `ResultStatus`."""

    BEGUN = "begun"
    """It runs, or its end is unknown because its process died."""
    STOPPED = "stopped"
    """The asker stopped it."""
    NOT_RUN = "not run"


@dataclass(frozen=True, slots=True)
class AuditedCall:
    """A row of the audit: a tool call, or a change of the policy or a token (`tool` is "", `arguments` says it).

    `decision`: whether it ran without consent, was allowed or refused; `decided_by`: its effect, a row of the policy,
    or its asker. `ms` and `size` (in bytes): None until it ended. A forgotten row keeps neither its turn nor any text.
    """

    time: datetime
    person: str
    channel: str
    audience: str
    tool: str
    arguments: str
    effect: str
    decision: str
    decided_by: str
    outcome: str = CallEnd.BEGUN
    ms: int | None = None
    size: int | None = None
    call: str = ""
    account: str = ""
    """Whose account at a service it used (`agent.ports.tools.ToolAccount`)."""
    turn: int | None = None
    id: int = 0


class ToolAudit(Protocol):
    """The audit of tool calls: what was called, for whom, and who decided it. Every method raises StoreError."""

    async def add(self, call: AuditedCall, claim: Claim | None = None) -> int:
        """Store a row, for the turn of `claim` if given; return its id. After LeaseLost the call must not run."""
        ...

    async def keep_change(self, change: AuditedCall, owner: str, name: str, before: str | None, after: str) -> bool:
        """Change a preference as `Preferences.swap` does, and store the row of the change: both, or neither."""
        ...

    async def end(self, id_: int, ms: int, size: int, outcome: str) -> None:
        """Store how the call of this row ended."""
        ...

    async def newest(self, limit: int, before: int | None = None) -> list[AuditedCall]:
        """Return the last rows, the newest first; with `before`, only rows with a lower id."""
        ...

    async def names_of(self, ids: Collection[str]) -> Mapping[str, str]:
        """Return the known names of the people with these ids."""
        ...

    async def page(self, since: datetime, *, after: int, limit: int) -> list[AuditedCall]:
        """Return the rows since that time with an id above `after`, the oldest first."""
        ...
