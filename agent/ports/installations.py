"""The apps that were installed in workspaces by an install page, as a port of the store."""

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Installation:
    """An app that was installed in a workspace by its install page; `source` is that of its messages ("slack:T0123").

    `sealed`: its tokens, encrypted; `expires`: when they expire, None for never. `organization`: the id of the
    organization that the workspace belongs to, "" for none. `removed`: since when it is no longer installed.
    """

    source: str
    app: str
    organization: str
    bot: str
    scopes: str
    installer: str
    installed: datetime
    expires: datetime | None
    sealed: bytes = field(repr=False)
    removed: datetime | None = None


class Installations(Protocol):
    """The installed apps and their tokens. Every method raises StoreError.

    A refresh token works once, so one process renews at a time; its writes carry the epoch of its claim.
    """

    async def put(self, one: Installation) -> None:
        """Store an installation, in place of an earlier one, whose claim ends."""
        ...

    async def listed(self) -> list[Installation]:
        """Return all, by source; removed ones until the messages of their source are forgotten."""
        ...

    async def claim(self, source: str, sealed: bytes, now: datetime, lease: timedelta) -> int | None:
        """Claim the renewal of these tokens. Returns the epoch; None if another process renews them or has done so."""
        ...

    async def renewed(self, source: str, epoch: int, sealed: bytes, expires: datetime | None) -> bool:
        """Store the renewed tokens. False if the claim has ended."""
        ...

    async def remove(self, source: str, installed: datetime, now: datetime) -> bool:
        """Mark it as removed and drop its tokens. False if it was installed again since, or there is none."""
        ...
