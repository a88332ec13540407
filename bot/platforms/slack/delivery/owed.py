"""Events that could not be stored yet, in the order in which they came.

Above: `listeners` hands over every event, `run` closes it. Below: `missed`, which takes one in, `bot.turns.missed`.

Rules
- Such an event is not acknowledged. Slack sends it again a few times; here it is tried until it can be stored, however
  long that takes, and what comes meanwhile waits behind it. The ledger knows what came twice.
- The time until which everything has come in stands still: after a restart Slack's history is read from there.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Final

from agent.errors import CogencyError, StoreUnavailable
from agent.messages import JsonObject
from bot.logs import severity
from bot.platforms.slack.payload import text
from bot.turns.missed import Listening

log = logging.getLogger(__name__)

MOST: Final = 1_000
"""Events that are kept in memory; more are left to Slack, and to its history after the next start."""


@dataclass(slots=True)
class Owed:
    """`see` takes an event in; `tell` says to its author that it has to wait."""

    listening: Listening
    see: Callable[[JsonObject], Awaitable[None]]
    tell: Callable[[JsonObject], Awaitable[None]]
    _waiting: dict[str, JsonObject] = field(default_factory=dict[str, JsonObject])
    _lasts: bool = False
    """It did not work the second time either."""
    _taking: asyncio.Task[None] | None = None

    async def take(self, body: JsonObject) -> bool:
        """Take an event in. False: it cannot be stored now, so do not acknowledge it. Raises CogencyError for another
        reason.
        """
        if not self._waiting:
            try:
                await self.see(body)
            except StoreUnavailable:
                pass
            else:
                return True
        await self._put(text(body, "event_id"), body)
        return False

    async def close(self) -> None:
        if self._taking is not None:
            self._taking.cancel()
            await asyncio.wait({self._taking})

    async def _put(self, event: str, body: JsonObject) -> None:
        if event in self._waiting or len(self._waiting) >= MOST:
            return
        self._waiting[event] = body
        if self._taking is None or self._taking.done():
            self._taking = asyncio.create_task(self._take_all())
        if self._lasts:
            await self.tell(body)

    async def _take_all(self) -> None:
        while self._waiting:
            event, body = next(iter(self._waiting.items()))
            try:
                await self.listening.insist(partial(self.see, body), self._tell_all)
            except CogencyError as error:
                log.log(severity(error), "event %s was not taken in: %s", event, error)
            del self._waiting[event]
        self._lasts = False

    async def _tell_all(self, _: StoreUnavailable) -> None:
        self._lasts = True
        for body in [*self._waiting.values()]:
            await self.tell(body)
