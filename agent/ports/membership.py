"""The members of places, as a port of the platforms."""

from collections.abc import Mapping, Sequence
from typing import Protocol


class Membership(Protocol):
    """A platform's members. Each call asks the platform again; the caller caches the answers."""

    async def readable(self, person: str, places: Sequence[str]) -> Mapping[str, bool]:
        """Return for each of these group places ("slack:T0123:C0123", as in GroupAudience) whether the person can read
        it now.

        A place is missing from the result if its readers are unknown. Never raises; the caller bounds the time.
        """
        ...
