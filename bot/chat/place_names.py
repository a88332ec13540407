"""What platforms call their channels and servers, for operators, who know names and not ids.

Rules
  A platform is asked for all names at once, at most once within a minute: soon if one is missing, else after an hour. A
  page does not wait long for it, and shows what was known before; an unknown name stays an id.
  Names are kept in memory only, so that there is none to erase with a place.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Collection, Mapping
from functools import partial
from typing import Final, TypeAlias

from agent.errors import CogencyError
from agent.ports.clock import Clock
from bot.chat.caches import SingleFlight

log = logging.getLogger(__name__)

# Returns the names of a platform's channels and servers, as people see them, by their ids there. Raises CogencyError.
ReadNames: TypeAlias = Callable[[], Awaitable[Mapping[str, str]]]

AGE_S: Final = 3_600.0  # Channels are renamed a few times a year
# Between two requests while a name is missing: a channel of which the platform does not say the name stays one.
AGAIN_S: Final = 60.0
WAIT_S: Final = 2.0  # For a page


class PlaceNames:
    """`platforms`: those that are connected now, by source."""

    def __init__(self, platforms: Mapping[str, ReadNames], clock: Clock, wait_s: float = WAIT_S) -> None:
        self._platforms = platforms
        self._clock = clock
        self._wait_s = wait_s
        self._names: dict[str, Mapping[str, str]] = {}
        self._asked: dict[str, float] = {}
        self._flights = SingleFlight[None]()

    async def of(self, ids: Collection[str]) -> Mapping[str, str]:
        """Return the names of those of these channels and servers that have a known one. Never raises."""
        missing = not all(any(id_ in names for names in self._names.values()) for id_ in ids)
        due = [source for source in self._platforms if self._is_due(source, missing=missing)]
        if due:
            asking = asyncio.gather(*(self._flights.load(source, partial(self._ask, source)) for source in due))
            try:
                async with asyncio.timeout(self._wait_s):
                    await asking
            except TimeoutError:  # the next page has them
                log.info("the names of channels are still being read")
        return {id_: name for names in self._names.values() for id_, name in names.items() if id_ in ids}

    def _is_due(self, source: str, *, missing: bool) -> bool:
        asked = self._asked.get(source)
        return asked is None or self._clock.monotonic() - asked >= (AGAIN_S if missing else AGE_S)

    async def _ask(self, source: str) -> None:
        self._asked[source] = self._clock.monotonic()
        try:
            self._names[source] = await self._platforms[source]()
        except CogencyError as error:
            log.info("the names of channels of %s could not be read: %s", source, error)
