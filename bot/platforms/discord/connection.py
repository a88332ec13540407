"""What all replies on Discord share: the REST API, the write rate of each channel, and background tasks.

Turns may continue before the bot has logged in, as after a restart: `rest` waits for the login.
"""

import asyncio
import logging
from collections import deque
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Final
from weakref import WeakValueDictionary

from cachetools import LRUCache

from agent.ports.clock import Clock
from bot.chat.background_tasks import BackgroundTasks
from bot.chat.backoff import OncePerMinute
from bot.chat.caches import RecentKeys
from bot.chat.reply.surface import PageUnsent, SurfaceError
from bot.chat.telemetry import SILENT, Telemetry
from bot.platforms.discord.rest import Rest, explained

# The order of writes in one place. Pure: `wait` returns a number of seconds.
#
# Rules. One write at a time, and `gap_s` between the starts of two. Discord counts a write at some moment between its
# start and its return; so the write after FEW others starts FEW gaps after the first of them has returned, and no
# network delay can bring more than FEW of them into that period. A reply that waits keeps its place in the queue, so
# that of n replies written in a channel, each writes every n-th time, with its latest text. A reply that does not come
# back when it is due loses its place.

FEW: Final = 5  # Writes that Discord was observed to allow in a row, in as many seconds

PATIENCE_S: Final = 2.0  # How late a reply may come back: longer than a busy process takes to wake it

FETCH_AGAIN: Final = 0.25  # The part of a gap after which a reply asks again while another write is running


@dataclass(slots=True, weakref_slot=True)
class WriteTurns:
    gap_s: float
    _started: float = float("-inf")
    _returned: deque[float] = field(default_factory=lambda: deque[float](maxlen=FEW))
    _writing: bool = False
    _due: dict[str, float] = field(default_factory=dict[str, float])
    """When each waiting reply was told to come back, in the order of arrival."""

    def wait(self, who: str, now: float) -> float:
        """Return 0.0 if `who` may write now, and must then call `returned`; else the seconds until the next call."""
        self._drop_overdue(who, now)
        waiting = [*self._due]
        ahead = waiting.index(who) if who in self._due else len(waiting)
        free_at = max(now, self._not_before)
        if self._writing:
            free_at = max(free_at, now + FETCH_AGAIN * self.gap_s)
        if free_at > now or ahead:
            self._due[who] = free_at + ahead * self.gap_s
            return self._due[who] - now
        self._due.pop(who, None)
        self._writing, self._started = True, now
        return 0.0

    def returned(self, now: float) -> None:
        """The write has returned, successfully or not."""
        self._writing = False
        self._returned.append(now)

    @property
    def _not_before(self) -> float:
        times = [self._started + self.gap_s, *self._returned]
        if len(self._returned) == FEW:
            times.append(self._returned[0] + FEW * self.gap_s)
        return max(times)

    def _drop_overdue(self, who: str, now: float) -> None:
        if self._writing:
            return
        for other, due in [*self._due.items()]:
            if other != who and max(due, self._not_before) + PATIENCE_S < now:
                del self._due[other]


log = logging.getLogger(__name__)

# How long a write waits for the login; after that it counts as unsent and is tried again later.
LOGIN_PATIENCE_S = 30.0

# A user who wrote to the bot is shown that it types, unless something else is shown within SIGN_S.
SIGN_S: Final = 1.5
TYPING_EVERY_S: Final = 8.0  # Typing is shown for ten seconds
MAX_SIGNS: Final = 4  # Another process may answer, and this one does not learn of it

# How long the end of the process waits for what is under way. Supervisors kill after ten seconds, and Discord may hang.
CLOSE_S: Final = 1.2

ACKNOWLEDGE_PATIENCE_S = 5.0  # More than the three seconds within which an interaction must be acknowledged


# Places whose rate is remembered after their replies have ended: Discord still counts their last writes. More than a
# bot writes to within the few seconds that Discord counts.
PLACES_KEPT: Final = 1_024


class Connection:
    """`log_in` sets the API's client; from then on `rest` returns at once."""

    def __init__(self, clock: Clock, edit_interval_s: float, telemetry: Telemetry = SILENT) -> None:
        self.clock = clock
        self.telemetry = telemetry
        self.edit_interval_s = edit_interval_s
        self._rest: Rest | None = None
        self._logged_in = asyncio.Event()
        self._gates: WeakValueDictionary[str, WriteTurns] = WeakValueDictionary()
        self._recent_gates: LRUCache[str, WriteTurns] = LRUCache(PLACES_KEPT)
        self._typing_since: dict[str, float] = {}  # When the bot last typed in a channel, for any of its replies
        self._expected = RecentKeys()
        self._signed = RecentKeys()  # The messages for which something is shown, or that get no answer
        self._acknowledging: dict[str, asyncio.Event] = {}
        self._logged = OncePerMinute()
        self.lasting = BackgroundTasks()  # Until they end, or until `close`: what shows that the bot types
        self.underway = BackgroundTasks(CLOSE_S)  # What ends by itself, such as the last mark of a question

    def log_in(self, rest: Rest) -> None:
        self._rest = rest
        self._logged_in.set()

    async def rest(self) -> Rest:
        """Raises PageUnsent if the bot does not log in in time."""
        try:
            async with asyncio.timeout(LOGIN_PATIENCE_S):
                await self._logged_in.wait()
        except TimeoutError:
            raise PageUnsent("Discord is not connected") from None
        assert self._rest is not None  # noqa: S101 -- set before the event
        return self._rest

    def gate(self, place: str) -> WriteTurns:
        """Return the write rate of a place, shared by all replies there; keep it while you write."""
        if (gate := self._gates.get(place)) is None:
            gate = self._gates[place] = WriteTurns(self.edit_interval_s)
        self._recent_gates[place] = gate
        return gate

    def claim_typing(self, channel: str, every_s: float) -> bool:
        """Return whether no reply typed in the channel within `every_s`; if so, the caller must type now."""
        now = self.clock.monotonic()
        self._typing_since = {place: time for place, time in self._typing_since.items() if now - time < every_s}
        return self._typing_since.setdefault(channel, now) == now

    def expect_sign(self, message: str, channel: str) -> None:
        """Type in the channel if it takes long until `mark_signed` is called for this message."""
        if message not in self._signed and self._expected.first(message):
            self.lasting.start(self._sign(message, channel))

    def mark_signed(self, message: str) -> None:
        """Something is shown in answer to this message, or it gets no answer."""
        self._signed[message] = None

    async def _sign(self, message: str, channel: str) -> None:
        await self.clock.sleep(SIGN_S)
        for _ in range(MAX_SIGNS):
            if message in self._signed or self._rest is None:
                return
            if self.claim_typing(channel, TYPING_EVERY_S):
                with suppress(SurfaceError):  # typing is optional
                    await self._rest.type(channel)
            await self.clock.sleep(TYPING_EVERY_S)

    def acknowledging(self, interaction: str) -> bool:
        """Mark an interaction as being acknowledged. False if it already is: it was delivered twice."""
        if interaction in self._acknowledging:
            return False
        self._acknowledging[interaction] = asyncio.Event()
        return True

    def acknowledged(self, interaction: str) -> None:
        """Mark it as acknowledged, or as never to be."""
        self._acknowledging.pop(interaction).set()

    async def until_acknowledged(self, interaction: str) -> None:
        """Wait until the interaction's response can be filled in. Raises PageUnsent if that takes too long."""
        if (event := self._acknowledging.get(interaction)) is not None:
            try:
                async with asyncio.timeout(ACKNOWLEDGE_PATIENCE_S):
                    await event.wait()
            except TimeoutError:
                raise PageUnsent("the interaction is not yet acknowledged") from None

    def log_failure(self, what: str, error: Exception) -> None:
        """Log an error of Discord with its remedy, once a minute for each cause."""
        why = explained(error)
        if (more := self._logged.due(f"{what} {why}", self.clock.monotonic())) is not None:
            log.warning("Discord: %s: %s%s", what, why, more)

    async def close(self) -> None:
        """Cancel what would last, and wait up to CLOSE_S for what is under way. Needs the login still."""
        await self.lasting.close()
        await self.underway.close()
