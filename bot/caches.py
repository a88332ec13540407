"""What this process remembers in passing, within bounds, and may lose with a restart. Times are arguments.

Answers of platforms, keys that came lately, how long to wait after a failure, when a failure was logged, and who waits.
And what it counts together with other processes.
"""

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine, Generator, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, Final, Generic, TypeVar

from cachetools import LRUCache, TLRUCache

from agent.admission_terms import Rate, RateReached
from agent.errors import StoreError
from agent.ports import CallRate, CallsAsked, CallsTaken, Clock, ShardLeases, SharedRates

T = TypeVar("T")

# As many messages as people still come back to, and as many people or channels as write to one bot within a minute.
MAX_ENTRIES: Final = 2_000

# Authority is resolved at the time of use; a minute is the most that a change may take to count.
MAX_AGE_S: Final = 60.0


FRESH_S: Final = 5.0  # What counts as known at this moment, where a minute is too long: many may ask the same at once


def until_too_old(_key: object, answer: tuple[float, object], _now: float) -> float:
    """For a TLRUCache of answers with the times at which they were asked for: an answer may be old when it comes."""
    return answer[0] + MAX_AGE_S


class ExpiringCache(Generic[T]):
    """`load` asks the platform; `get` asks it again once what is known is too old."""

    def __init__(self, load: Callable[[str], Awaitable[T]], clock: Clock) -> None:
        self._load = load
        self._clock = clock
        self._known = TLRUCache[str, tuple[float, T], float](MAX_ENTRIES, until_too_old, clock.monotonic)

    async def get(self, key: str, most_s: float = MAX_AGE_S) -> T:
        """Asked for within `most_s` seconds. Raises what `load` raises."""
        known = self._known.get(key)
        if known is not None and self._clock.monotonic() - known[0] <= most_s:
            return known[1]
        asked_at = self._clock.monotonic()
        value = await self._load(key)
        self._known[key] = asked_at, value
        return value

    def drop(self, key: str) -> None:
        """It is known to have changed."""
        self._known.pop(key, None)


class RecentKeys(LRUCache[str, None]):
    """Which keys have come by lately: for what would be shown twice, and that nothing stores."""

    def __init__(self) -> None:
        super().__init__(MAX_ENTRIES)

    def first(self, key: str) -> bool:
        """Whether this key comes for the first time."""
        known = key in self
        self[key] = None
        return not known


# How long to wait after something failed, and how often to log it. The pause doubles with each failure of one cause,
# up to a cap, and begins anew only when that cause itself has worked. A cause is logged once a minute, with how often
# it was met in between.

FIRST_S: Final = 1.0
MOST_S: Final = 30.0  # Quick after a lost packet, gentle with a platform that is down

# Who watches a log learns that it goes on; what fails a hundred times a minute does not fill it.
AGAIN_S: Final = timedelta(minutes=1).total_seconds()
MAX_CAUSES: Final = 1_000  # Beyond that the oldest are forgotten, and may be logged again


@dataclass(slots=True)
class Backoff:
    """The pauses after failures, by their causes."""

    first_s: float = FIRST_S
    most_s: float = MOST_S
    _pauses: LRUCache[str, float] = field(default_factory=lambda: LRUCache(MAX_CAUSES))

    def failed(self, cause: str = "") -> float:
        """It failed, once more: wait so many seconds."""
        self._pauses[cause] = pause = min(self.most_s, self._pauses.get(cause, self.first_s / 2) * 2)
        return pause

    def worked(self, cause: str = "") -> None:
        self._pauses.pop(cause, None)


@dataclass(slots=True)
class OncePerMinute:
    """Whether a line about a cause is due."""

    _lines: LRUCache[str, tuple[float, int]] = field(default_factory=lambda: LRUCache(MAX_CAUSES))
    """When each cause was logged last, and how often it was met since."""

    def due(self, cause: str, now: float) -> str | None:
        """None if it was logged a moment ago. Else what to add to the line: how often it was met since the last one."""
        logged, met = self._lines.get(cause, (float("-inf"), 0))
        due = now - logged >= AGAIN_S
        self._lines[cause] = (now, 0) if due else (logged, met + 1)
        if not due:
            return None
        return f" (and {met} more since the last such line)" if met else ""


# What this process shares with others on one database.
#
# Theory of operation. Each says that it is there, and so learns how many others are. While there is none, this process
# counts in its memory alone, and asks the database nothing. So it does where the database fails, or takes long: it
# makes an even part of the calls then, and a person's rate that is exceeded for a while is better than no answer.

LOOK_S: Final = 5.0  # How late others may learn of a process. Until then both count for themselves.
PRESENCE: Final = timedelta(seconds=20)  # A process that has not said for so long that it is there is gone
PATIENCE_S: Final = 1.0  # For what a person orders: a hundred times what counting takes
# For calls: where processes have too much to do, each is slow to ask and to hear what it was told.
CALLS_PATIENCE_S: Final = 5.0
ALONE_S: Final = 10.0  # The database was too slow, or failed: nobody waits for it again so soon


@dataclass(slots=True)
class Replicas:
    """`owner`: this process. An answer is None where it is alone, or where the database does not answer in time."""

    leases: ShardLeases
    rates: SharedRates
    owner: str
    clock: Clock
    patience_s: float = PATIENCE_S
    calls_patience_s: float = CALLS_PATIENCE_S
    _others: int = 0
    _alone_until: float = float("-inf")
    _asking: set[asyncio.Task[Any]] = field(default_factory=set[asyncio.Task[Any]])

    @asynccontextmanager
    async def serving(self) -> AsyncGenerator[None]:
        """Be there until the block ends."""
        await self.look()
        looking = asyncio.create_task(self._keep_looking())
        try:
            yield
        finally:
            looking.cancel()
            await asyncio.wait({looking, *self._asking})

    async def _keep_looking(self) -> None:
        while True:
            await self.clock.sleep(LOOK_S)
            await self.look()

    async def look(self) -> None:
        """Say that this process is there, and learn who else is."""
        with suppress(StoreError):  # its log says so
            self._others = await self.rates.others(self.owner, self.clock.now(), PRESENCE)

    @property
    def is_alone(self) -> bool:
        return self._others == 0 or self.is_cut_off

    @property
    def is_cut_off(self) -> bool:
        """Whether others are there, and the database does not count for all."""
        return self._others > 0 and self.clock.monotonic() < self._alone_until

    def share(self, calls: int) -> int:
        """How many of so many this process may make by itself."""
        return max(1, calls // (1 + self._others)) if self.is_cut_off else calls

    async def count(self, what: str, rates: Sequence[Rate], person: str, channel: str) -> RateReached | None:
        """Count one more of what somebody does; the rate that stands in its way, and then it is not counted."""
        return await self._told(self.rates.count(what, rates, person, channel, self.clock.now()), self.patience_s)

    async def take(self, name: str, rate: CallRate, calls: int, asking: int, made: int) -> CallsTaken | None:
        """Some of the calls of that name; see `CallsAsked`."""
        asks = CallsAsked(self.owner, calls, asking, made)
        return await self._told(self.rates.take(name, rate, asks, self.clock.now()), self.calls_patience_s)

    async def book(self, name: str, interval_s: float) -> float | None:
        """The next place in a queue: in so many seconds."""
        booking = self.rates.book(name, timedelta(seconds=interval_s), self.clock.now())
        wait = await self._told(booking, self.calls_patience_s)
        return None if wait is None else wait.total_seconds()

    async def hold(self, name: str, after_s: float) -> None:
        """Nothing of that name for so long."""
        await self._told(self.rates.hold(name, self.clock.now() + timedelta(seconds=after_s)), self.calls_patience_s)

    async def _told(self, asking: Coroutine[Any, Any, T], patience_s: float) -> T | None:
        if self.is_alone:
            asking.close()
            return None
        task = asyncio.create_task(asking)  # not cancelled when it takes long: a transaction is ended first
        self._asking.add(task)
        task.add_done_callback(self._asked)
        await asyncio.wait({task}, timeout=patience_s)
        with suppress(StoreError):
            if task.done():
                return task.result()
        self._alone_until = self.clock.monotonic() + ALONE_S
        return None

    def _asked(self, task: asyncio.Task[Any]) -> None:
        self._asking.discard(task)
        if not task.cancelled():
            task.exception()  # nobody may wait for it any more: seen


# How often the methods of a platform may be called, shared fairly: in so many seconds. Pure, but for what all processes
# count together.

# A reply that has not asked for so long, or since it might, takes no share: much longer than between two words.
ACTIVE_S = 30.0

# How long a share's pause is, against the pause that would just use up the limit: after a quiet minute, and after a
# full one. In between it grows evenly, and 1 on the average: whoever begins twice as fast arrives at the limit when the
# first minute is over, not before.
EAGER, CALM = 0.5, 1.5

MINUTE: Final = 60.0

# So long calls that were taken from all processes' budget may be made. They count from when they were taken, so that
# what counts is looked at so much longer.
TAKEN_S: Final = 5.0
NOTHING_TOLD: Final = CallsTaken(calls=0, wait_s=0.0, made=0, asking=0)
# One in so many of a window's calls are taken at once at most: a reply may end before it has made them.
SHARE_TAKEN: Final = 12


@dataclass(slots=True)
class MethodRate:
    """At most `calls` in any `window_s` seconds.

    Times are `Clock.monotonic` seconds; one that lies before another that was told counts as that one.

    The rules. Slack counts calls per method, workspace and app, not per message. So each of n open replies calls at
    most every n-th time: quickly while few calls were made of late, and the slower the more of them there were, so that
    all together settle below the limit; and no window of time ever holds more calls than allowed. Nothing is kept for
    whoever is told to wait: they come back with newer text. Posts are rare and wanted soon: they queue, and their
    places are kept.

    With `replicas`, calls of this `name` are taken from a budget of all processes: some at once where there are many
    left, so that few edits ask the database. It tells how many others want some, who count as open replies do.
    """

    calls: int
    window_s: float
    name: str = ""
    replicas: Replicas | None = None
    _made: deque[float] = field(default_factory=deque[float])
    _blocked_until: float = float("-inf")
    _asked: dict[str, float] = field(default_factory=dict[str, float])
    _last: dict[str, float] = field(default_factory=dict[str, float])
    _due: dict[str, float] = field(default_factory=dict[str, float])
    """When those were told to come back who have not called since."""
    _latest: float = float("-inf")
    _taken: int = 0
    _taken_until: float = float("-inf")
    _untold: int = 0
    """Calls that were made without being taken."""
    _together: CallsTaken = NOTHING_TOLD
    _told_at: float = float("-inf")
    _taking: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def ask(self, who: str, now: float) -> float:
        """0.0: call now, it is counted. Else ask again after so many seconds; who will not has to say so (`left`)."""
        while self.replicas is not None and not self.replicas.is_alone and self._lacks_one(who, now):
            async with self._taking:
                if self._lacks_one(who, now):
                    await self._take(self.replicas, now)
        return self.wait(who, now)

    def wait(self, who: str, now: float) -> float:
        """The same, without asking other processes."""
        now = self._look_around(who, now)
        wait = self._free_at(who, now) - now
        if wait > 0:
            self._due.setdefault(who, now + wait)
            return wait
        self._made.append(now)
        self._last[who] = now
        self._due.pop(who, None)
        if self._has_taken(now):
            self._taken -= 1
        else:
            self._untold += 1
        return 0.0

    def is_scarce(self, now: float) -> bool:
        """Whether half of the calls of a window have been made."""
        self._forget_old(now)
        return self._used(now) >= 0.5

    async def spare(self, who: str, now: float) -> bool:
        """Whether a call that is not worth waiting for can be made now; it is then counted."""
        made = await self.ask(who, now) == 0.0
        self.left(who)
        return made

    def limited(self, now: float, retry_after_s: float) -> None:
        """A call was refused: nobody calls before this time."""
        self._blocked_until = max(self._blocked_until, now + retry_after_s)

    async def hold(self, now: float, retry_after_s: float) -> None:
        """The same in all processes; who has taken some may make those."""
        self.limited(now, retry_after_s)
        if self.replicas is not None:
            await self.replicas.hold(self.name, retry_after_s)

    def left(self, who: str) -> None:
        """This one will not call again."""
        for kept in (self._asked, self._last, self._due):
            kept.pop(who, None)

    @property
    def _share(self) -> int:
        return self.calls if self.replicas is None else self.replicas.share(self.calls)

    def _free_at(self, who: str, now: float) -> float:
        share = self._last.get(who, float("-inf")) + self._pause(now)
        return max(share, self._room(who, now), self._blocked_until)

    def _pause(self, now: float) -> float:
        asking = len(self._asked) + self._elsewhere(now).asking
        return asking * (EAGER + (CALM - EAGER) * self._used(now)) * self.window_s / self._share

    def _used(self, now: float) -> float:
        return min(1.0, max(len(self._made), self._elsewhere(now).made) / self._share)

    def _elsewhere(self, now: float) -> CallsTaken:
        """What was last told of all processes."""
        is_old = now - self._told_at > ACTIVE_S or (self.replicas is not None and self.replicas.is_cut_off)
        return NOTHING_TOLD if is_old else self._together

    def _has_taken(self, now: float) -> bool:
        return self._taken > 0 and now < self._taken_until

    def _lacks_one(self, who: str, now: float) -> bool:
        """Whether a call could be made now, if one were taken."""
        now = self._look_around(who, now)
        return not self._has_taken(now) and self._free_at(who, now) <= now

    async def _take(self, replicas: Replicas, now: float) -> None:
        soon = TAKEN_S * len(self._asked) / self._pause(now)
        some = max(1, min(round(soon), self.calls // SHARE_TAKEN))
        rate = CallRate(self.calls, timedelta(seconds=self.window_s + TAKEN_S))
        took = await replicas.take(self.name, rate, some, len(self._asked), min(self._untold, len(self._made)))
        if took is not None:
            self._together, self._told_at, self._untold = took, now, 0
            self._taken, self._taken_until = took.calls, now + TAKEN_S
            self.limited(now, took.wait_s)

    def _room(self, who: str, now: float) -> float:
        """When there is room for a call besides those that are due before it."""
        mine = self._due.get(who, now)
        earlier = sum(due < mine for other, due in self._due.items() if other != who)
        missing = earlier + 1 - (self._share - len(self._made))
        if missing <= 0:
            return now
        if missing <= len(self._made):
            return self._made[missing - 1] + self.window_s
        # More are due before it than a window holds: it follows the next window, as far behind as they are many.
        full = self._made[-1] + self.window_s if self._made else now
        return full + (missing - len(self._made)) * self.window_s / self._share

    def _look_around(self, who: str, now: float) -> float:
        """Who shares, and what still counts; what time it is."""
        self._latest = now = max(now, self._latest)
        self._asked[who] = now
        active = {other: max(asked, self._due.get(other, asked)) for other, asked in self._asked.items()}
        for other in [other for other, until in active.items() if now - until > ACTIVE_S]:
            self.left(other)
        self._forget_old(now)
        return now

    def _forget_old(self, now: float) -> None:
        while self._made and self._made[0] + self.window_s <= now:
            self._made.popleft()


@dataclass(slots=True)
class MethodQueue:
    """One call every `interval_s` seconds, first come, first served. With `replicas`, one of this `name` in all."""

    interval_s: float
    name: str = ""
    replicas: Replicas | None = None
    _next: float = float("-inf")
    _places: dict[str, float] = field(default_factory=dict[str, float])

    def join(self, now: float) -> float:
        """Take the next place in this process; call after so many seconds."""
        wait = max(0.0, self._next - now)
        self._next = now + wait + self.interval_s
        return wait

    async def book(self, now: float) -> float:
        """Take the next place; call after so many seconds."""
        wait = self.join(now)
        elsewhere = None if self.replicas is None else await self.replicas.book(self.name, self.interval_s)
        if elsewhere is not None:
            wait = max(wait, elsewhere)
            self._next = max(self._next, now + wait + self.interval_s)
        return wait

    async def ask(self, who: str, now: float) -> float:
        """0.0: call now, and the place is given up. Else ask again after so many seconds: it is kept."""
        if who not in self._places:
            self._places[who] = now + await self.book(now)
        if (wait := self._places[who] - now) > 0:
            return wait
        del self._places[who]
        return 0.0

    def limited(self, now: float, retry_after_s: float) -> None:
        """A call was refused: nobody calls before this time."""
        self._next = max(self._next, now + retry_after_s)

    async def hold(self, now: float, retry_after_s: float) -> None:
        """The same in all processes."""
        self.limited(now, retry_after_s)
        if self.replicas is not None:
            await self.replicas.hold(self.name, retry_after_s)


# Work that takes long, some of it at once, in turns by person: nobody waits for all that somebody else asked for.


class FairTurns:
    """So many at once, of each person one; those who wait go round by person."""

    def __init__(self, at_once: int) -> None:
        self._free = at_once
        self._busy: set[str] = set()
        self._waiting: dict[str, deque[asyncio.Future[None]]] = {}  # By person, whose turn it is next first

    @asynccontextmanager
    async def turn(self, person: str) -> AsyncGenerator[None]:
        await self._begin(person)
        try:
            yield
        finally:
            self._end(person)

    async def _begin(self, person: str) -> None:
        turn = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(person, deque()).append(turn)
        self._go_on()
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():
                self._end(person)  # it had just begun
            raise

    def _end(self, person: str) -> None:
        self._free += 1
        self._busy.discard(person)
        self._go_on()

    def _go_on(self) -> None:
        for person in [one for one in self._waiting if one not in self._busy]:
            turns = self._waiting.pop(person)
            while turns and turns[0].done():
                turns.popleft()  # given up
            if turns and self._free:
                self._free -= 1
                self._busy.add(person)
                turns.popleft().set_result(None)
                if turns:
                    self._waiting[person] = turns  # behind everybody else
            elif turns:
                self._waiting = {person: turns} | self._waiting
                return


# Who has the model of this machine: answers go first, and whoever works in the background gives way at once.
#
# It knows of this process only: processes that share a machine share its model without knowing of each other.


class ForegroundPriority:
    """Free at first."""

    def __init__(self) -> None:
        self._answering = 0
        self._taken = asyncio.Event()

    @contextmanager
    def answering(self) -> Generator[None]:
        """Somebody is being answered until the block ends."""
        self._answering += 1
        self._taken.set()
        try:
            yield
        finally:
            self._answering -= 1
            if not self._answering:
                self._taken.clear()

    async def while_free(self, work: Coroutine[Any, Any, T]) -> T | None:
        """The outcome of `work`; None if somebody had to be answered before its end, and it was cancelled."""
        if self._taken.is_set():
            work.close()
            return None
        working = asyncio.create_task(work)
        taken = asyncio.create_task(self._taken.wait())
        try:
            await asyncio.wait({working, taken}, return_when=asyncio.FIRST_COMPLETED)
            return await working if working.done() else None
        finally:
            for task in (working, taken):
                task.cancel()
            await asyncio.gather(working, taken, return_exceptions=True)
