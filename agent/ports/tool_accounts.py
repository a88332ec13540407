"""People's accounts at tool servers, as a port of the store."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Protocol


@dataclass(frozen=True, slots=True)
class SealedSignIn:
    """A pending sign-in at a tool server; `sealed` can be read only with the key."""

    person: str
    server: str
    sealed: bytes


class ToolAccounts(Protocol):
    """People's accounts at tool servers, and their pending sign-ins. It sees no tokens: the caller seals the values.
    `person` is an id.
    """

    async def get(self, person: str, server: str) -> bytes | None:
        """Return the account; None if there is none."""
        ...

    async def all_of(self, person: str) -> Mapping[str, bytes]:
        """Return the person's accounts by server name."""
        ...

    async def swap(self, person: str, server: str, before: bytes, after: bytes | None) -> bool:
        """Replace exactly this account (None drops it) and end its renewal; False if another one is stored."""
        ...

    async def drop(self, person: str, server: str) -> bytes | None:
        """Drop the account and a pending sign-in. Returns the account."""
        ...

    async def renew(self, person: str, server: str, before: bytes, now: datetime, lease: timedelta) -> bool:
        """Return whether only the caller may renew exactly this account, until it swaps or the lease is over."""
        ...

    async def begin(self, handle: str, begun: SealedSignIn, now: datetime, expires: datetime) -> None:
        """Store a new sign-in in place of an earlier one of this person at this server. Drops expired ones."""
        ...

    async def find_begun(self, handle: str, now: datetime) -> SealedSignIn | None:
        """Return the sign-in with this handle; None if there is none, or it has expired."""
        ...

    async def advance(self, handle: str, then: str, sealed: bytes, expires: datetime) -> bool:
        """Store the next step of a sign-in, from now on under the handle `then` only. False, and nothing is stored, if
        the sign-in is gone: this step was already taken, or its person signed out or was forgotten."""
        ...

    async def expire(self, now: datetime) -> None:
        """Drop the expired sign-ins."""
        ...

    async def complete(self, handle: str, person: str, server: str, sealed: bytes) -> bool:
        """End a sign-in and store this account in place of an earlier one. False, and nothing is stored, if the sign-in
        is gone: its person signed out meanwhile, or was forgotten."""
        ...
