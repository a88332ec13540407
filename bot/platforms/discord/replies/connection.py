"""What all replies on Discord share: the way to its REST API, the pace of each channel, the tasks in the background.

Above: `run` opens it, `client` and `commands` report to it, `surface` calls it. Below: `gate`, `rest`.

Turns may go on before the bot has logged in, as after a restart: whoever needs the API waits here.
"""

import asyncio
import logging
from collections.abc import Coroutine
from weakref import WeakValueDictionary

from agent.ports import Clock
from bot.backoff import OncePerMinute
from bot.platforms.discord.replies.gate import Gate
from bot.platforms.discord.replies.rest import Rest, explained
from bot.surface import PageUnsent

log = logging.getLogger(__name__)

LOGIN_PATIENCE_S = 30.0
"""How long a write waits for the bot to be logged in; then it counts as unsent and is tried again later."""

ACKNOWLEDGE_PATIENCE_S = 5.0
"""More than the three seconds in which an interaction is acknowledged or lost."""


class Connection:
    """`log_in` says that the API can be used; from then on `rest` returns at once."""

    def __init__(self, clock: Clock, edit_interval_s: float) -> None:
        self.clock = clock
        self.edit_interval_s = edit_interval_s
        self._rest: Rest | None = None
        self._logged_in = asyncio.Event()
        self._gates: WeakValueDictionary[str, Gate] = WeakValueDictionary()
        self._typed: dict[str, float] = {}
        """When the bot typed in a channel, whichever of its replies it was for."""
        self._acknowledging: dict[str, asyncio.Event] = {}
        self._logged = OncePerMinute()
        self._tasks: set[asyncio.Task[None]] = set()

    def log_in(self, rest: Rest) -> None:
        self._rest = rest
        self._logged_in.set()

    async def rest(self) -> Rest:
        """Raises PageUnsent if the bot is not logged in in time."""
        try:
            async with asyncio.timeout(LOGIN_PATIENCE_S):
                await self._logged_in.wait()
        except TimeoutError:
            raise PageUnsent("Discord is not connected") from None
        assert self._rest is not None  # noqa: S101 -- set before the event
        return self._rest

    def gate(self, place: str) -> Gate:
        """The pace of the edits in one place, shared by all replies there; keep it as long as you write."""
        if (gate := self._gates.get(place)) is None:
            gate = self._gates[place] = Gate(self.edit_interval_s)
        return gate

    def is_to_type(self, channel: str, every_s: float) -> bool:
        """Whether nobody has typed there for so long; whoever asks types now."""
        now = self.clock.monotonic()
        self._typed = {place: time for place, time in self._typed.items() if now - time < every_s}
        return self._typed.setdefault(channel, now) == now

    def acknowledging(self, interaction: str) -> bool:
        """An interaction is about to be acknowledged. False if it already is: it was delivered twice."""
        if interaction in self._acknowledging:
            return False
        self._acknowledging[interaction] = asyncio.Event()
        return True

    def acknowledged(self, interaction: str) -> None:
        """It has been acknowledged, or never will be."""
        self._acknowledging.pop(interaction).set()

    async def until_acknowledged(self, interaction: str) -> None:
        """Its answer cannot be filled in earlier."""
        if (event := self._acknowledging.get(interaction)) is not None:
            try:
                async with asyncio.timeout(ACKNOWLEDGE_PATIENCE_S):
                    await event.wait()
            except TimeoutError:
                raise PageUnsent("the interaction is not yet acknowledged") from None

    def complain(self, what: str, error: Exception) -> None:
        """Log what Discord refused, or did not do: once a minute for each cause, with what helps."""
        why = explained(error)
        if (more := self._logged.due(f"{what} {why}", self.clock.monotonic())) is not None:
            log.warning("Discord: %s: %s%s", what, why, more)

    def in_background(self, work: Coroutine[object, object, None]) -> asyncio.Task[None]:
        """Run it until it ends, or until `close`."""
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def close(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
