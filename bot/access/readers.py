"""Which group places a person can read now: what was said there may be used where only they read."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Final

from cachetools import TLRUCache

from agent.memory.audience import PersonAudience, Place, may_flow_from
from agent.ports import Clock, Membership
from bot.caches import until_too_old

MAX_GROUPS: Final = 20
"""The places in which the person wrote last; nobody follows more of them at once, and each may cost a request."""
PATIENCE_S: Final = 1.0
"""For all of them together, once in a minute: the reply waits for it."""
MAX_KNOWN: Final = 20_000
"""Pairs of person and place: as many people as write to one bot within a minute, in ten places each."""

WrittenIn = Callable[[str, int], Awaitable[Sequence[str]]]
"""The group places in which a person wrote, the latest first, at most so many."""


@dataclass(slots=True)
class Readers:
    """`platforms`: what can be asked, by the source of its messages.

    Rules
      Only the places in which the person wrote are asked about: nothing else of them is found or told anyway.
      An answer counts for MAX_AGE_S from when it was asked for. What a platform does not know, or not in time, is a no,
      and is asked again. A platform is asked about its own people and places only.
    """

    written_in: WrittenIn
    clock: Clock
    platforms: dict[str, Membership] = field(default_factory=dict[str, Membership])
    _known: TLRUCache[tuple[str, str], tuple[float, bool], float] = field(init=False)

    def __post_init__(self) -> None:
        self._known = TLRUCache(MAX_KNOWN, until_too_old, self.clock.monotonic)

    async def groups_of(self, place: Place) -> frozenset[str]:
        """The group places whose readers include the person of this place; none where others read, too.

        Raises StoreError.
        """
        if not isinstance(place.audience, PersonAudience):
            return frozenset()
        person = place.audience.person
        membership = self._platform(person)
        if membership is None:
            return frozenset()
        return await self._readable(membership, person, await self.written_in(person, MAX_GROUPS))

    async def audiences(self, place: Place) -> frozenset[str]:
        """The labels of everything that may be used at this place now. Raises StoreError."""
        return may_flow_from(place, await self.groups_of(place))

    async def _readable(self, membership: Membership, person: str, places: Sequence[str]) -> frozenset[str]:
        now = self.clock.monotonic()
        asked = [place for place in places if self._platform(place) is membership]
        known = {place: answer[1] for place in asked if (answer := self._known.get((person, place))) is not None}
        unknown = [place for place in asked if place not in known]
        if unknown:
            try:
                async with asyncio.timeout(PATIENCE_S):
                    answered = await membership.readable(person, unknown)
            except TimeoutError:
                answered = dict[str, bool]()
            for place in set(unknown) & answered.keys():
                known[place] = answered[place]
                self._known[person, place] = now, answered[place]
        return frozenset(place for place, reads in known.items() if reads)

    def _platform(self, name: str) -> Membership | None:
        """Whose person or place this is: names begin with their source."""
        return next((one for source, one in self.platforms.items() if name.startswith(f"{source}:")), None)
