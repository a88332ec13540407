"""What a person can read now besides a place of their own: what was said there may be used where only they read."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Final

from cachetools import TLRUCache

from agent.memory.audience import GroupAudience, PersonAudience, Place, label, may_flow_from
from agent.ports.clock import Clock
from agent.ports.membership import Membership
from bot.chat.caches import SingleFlight, until_too_old

# The places in which the person wrote last; more than a person follows at once, and each may cost a request.
MAX_GROUPS: Final = 20
PATIENCE_S: Final = 1.0  # For all of them together, at most once a minute: the reply waits for it
# Pairs of person and place: as many people as write to one bot within a minute, in ten places each.
MAX_KNOWN: Final = 20_000

# Returns the group places in which a person (their id) wrote, the latest first, up to a limit.
WrittenIn = Callable[[str, int], Awaitable[Sequence[str]]]
# Returns the ids of a person's other accounts whose direct messages they may read now.
Accounts = Callable[[str], Awaitable[Sequence[str]]]


async def no_accounts(_: str) -> Sequence[str]:
    """Nobody has connected accounts."""
    return ()


@dataclass(slots=True)
class Readers:
    """`platforms`: by the source of their messages. `accounts`: `Accounts`.

    Rules
      Only places in which the person wrote are asked about: nothing else of them could be used anyway.
      An answer is valid for MAX_AGE_S from when it was asked for. A place that the platform does not know, or not in
      time, counts as unreadable, and is asked about again. A platform is asked only about its own people and places.
    """

    written_in: WrittenIn
    clock: Clock
    platforms: dict[str, Membership] = field(default_factory=dict[str, Membership])
    accounts: Accounts = no_accounts
    _flights: SingleFlight[Mapping[str, bool]] = field(default_factory=SingleFlight[Mapping[str, bool]])
    _known: TLRUCache[tuple[str, str], tuple[float, bool], float] = field(init=False)

    def __post_init__(self) -> None:
        self._known = TLRUCache(MAX_KNOWN, until_too_old, self.clock.monotonic)

    async def also_readable(self, place: Place) -> frozenset[str]:
        """Return the labels of the groups that the person of this place can read, and of the direct messages of their
        connected accounts; none if others read this place, too. Raises StoreError.
        """
        if not isinstance(place.audience, PersonAudience):
            return frozenset()
        person = place.audience.person
        accounts = frozenset(label(PersonAudience(account)) for account in await self.accounts(person))
        membership = self._membership_of(person)
        if membership is None:
            return accounts
        groups = await self._readable(membership, person, await self.written_in(person, MAX_GROUPS))
        return accounts | {label(GroupAudience(group)) for group in groups}

    async def connected(self, person: str) -> Sequence[str]:
        """Return the ids of the person's other accounts that they may read now. Raises StoreError."""
        return await self.accounts(person)

    async def audiences(self, place: Place) -> frozenset[str]:
        """Return the labels of all audiences whose content may be used at this place now. Raises StoreError."""
        return may_flow_from(place, await self.also_readable(place))

    async def _readable(self, membership: Membership, person: str, places: Sequence[str]) -> frozenset[str]:
        now = self.clock.monotonic()
        candidates = [place for place in places if self._membership_of(place) is membership]
        known = {place: answer[1] for place in candidates if (answer := self._known.get((person, place))) is not None}
        unknown = [place for place in candidates if place not in known]
        if unknown:
            asking = partial(_answered_in_time, membership, person, unknown)
            answered = await self._flights.load((person, *unknown), asking)
            for place in set(unknown) & answered.keys():
                known[place] = answered[place]
                self._known[person, place] = now, answered[place]
        return frozenset(place for place, reads in known.items() if reads)

    def _membership_of(self, name: str) -> Membership | None:
        """The platform of this person or place, whose name begins with its source."""
        return next((found for source, found in self.platforms.items() if name.startswith(f"{source}:")), None)


async def _answered_in_time(membership: Membership, person: str, places: Sequence[str]) -> Mapping[str, bool]:
    """Return what the platform says of these places; nothing if it takes too long."""
    try:
        async with asyncio.timeout(PATIENCE_S):
            return await membership.readable(person, places)
    except TimeoutError:
        return {}
