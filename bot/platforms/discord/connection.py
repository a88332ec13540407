"""What all replies on Discord share: the way to its REST API, the pace of each channel, the tasks in the background.

Turns may go on before the bot has logged in, as after a restart: whoever needs the API waits here.
"""

import asyncio
import logging
from collections import deque
from collections.abc import Coroutine
from dataclasses import dataclass, field
from typing import Final
from weakref import WeakValueDictionary

from cachetools import LRUCache

from agent.ports import Clock
from bot.caches import OncePerMinute
from bot.platforms.discord.rest import Rest, explained
from bot.reply_surface import PageUnsent
from bot.telemetry import SILENT, Telemetry

# Whose turn it is to write in one place. Pure: it answers "in so many seconds".
#
# The rules. One write at a time, and `gap_s` between the starts of two. A write is counted somewhere between its
# start and its return; so the one that follows FEW others begins FEW gaps after the first of them has returned, and
# no delay on the way can bring more than FEW of them into so long a time. Whoever is told to wait keeps their place,
# so that of n replies that grow in a channel each writes every n-th time; what they write is what they have to say
# then. A place whose reply does not come back when it is due is given up.

FEW: Final = 5  # As many writes as Discord was seen to allow in a row, in so many seconds

PATIENCE_S: Final = 2.0  # How late a reply may come back: more than a busy process takes to wake it

LOOK_AGAIN: Final = 0.25  # The part of a gap after which somebody asks again who waits for a write to return


@dataclass(slots=True, weakref_slot=True)
class WriteTurns:
    gap_s: float
    _started: float = float("-inf")
    _returned: deque[float] = field(default_factory=lambda: deque[float](maxlen=FEW))
    _writing: bool = False
    _due: dict[str, float] = field(default_factory=dict[str, float])
    """When those who wait were told to come back; first come, first served."""

    def wait(self, who: str, now: float) -> float:
        """0.0: write now, and say `returned`. Else ask again after so many seconds."""
        self._give_up_late(who, now)
        waiting = [*self._due]
        ahead = waiting.index(who) if who in self._due else len(waiting)
        free = max(now, self._not_before)
        if self._writing:
            free = max(free, now + LOOK_AGAIN * self.gap_s)
        if free > now or ahead:
            self._due[who] = free + ahead * self.gap_s
            return self._due[who] - now
        self._due.pop(who, None)
        self._writing, self._started = True, now
        return 0.0

    def returned(self, now: float) -> None:
        """The write has returned, well or not."""
        self._writing = False
        self._returned.append(now)

    @property
    def _not_before(self) -> float:
        times = [self._started + self.gap_s, *self._returned]
        if len(self._returned) == FEW:
            times.append(self._returned[0] + FEW * self.gap_s)
        return max(times)

    def _give_up_late(self, who: str, now: float) -> None:
        if self._writing:
            return
        for other, due in [*self._due.items()]:
            if other != who and max(due, self._not_before) + PATIENCE_S < now:
                del self._due[other]


log = logging.getLogger(__name__)

# How long a write waits for the bot to be logged in; then it counts as unsent and is tried again later.
LOGIN_PATIENCE_S = 30.0

ACKNOWLEDGE_PATIENCE_S = 5.0  # More than the three seconds in which an interaction is acknowledged or lost


# Whose pace outlives the replies there: Discord still counts what the last one wrote. More than a bot writes to within
# the few seconds that it counts.
PLACES_KEPT: Final = 1_024


class Connection:
    """`log_in` says that the API can be used; from then on `rest` returns at once."""

    def __init__(self, clock: Clock, edit_interval_s: float, telemetry: Telemetry = SILENT) -> None:
        self.clock = clock
        self.telemetry = telemetry
        self.edit_interval_s = edit_interval_s
        self._rest: Rest | None = None
        self._logged_in = asyncio.Event()
        self._gates: WeakValueDictionary[str, WriteTurns] = WeakValueDictionary()
        self._lately: LRUCache[str, WriteTurns] = LRUCache(PLACES_KEPT)
        self._typed: dict[str, float] = {}  # When the bot typed in a channel, whichever of its replies it was for
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

    def gate(self, place: str) -> WriteTurns:
        """The pace of the edits in one place, shared by all replies there; keep it as long as you write."""
        if (gate := self._gates.get(place)) is None:
            gate = self._gates[place] = WriteTurns(self.edit_interval_s)
        self._lately[place] = gate
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
