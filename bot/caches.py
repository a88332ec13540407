"""What this process remembers in passing, within bounds, and may lose with a restart. Times are arguments.

Answers of platforms, keys that came lately, how long to wait after a failure, when a failure was logged, and who waits.
And what it counts together with other processes.
"""

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine, Generator, Hashable, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass, field
from datetime import timedelta
from functools import partial
from typing import Any, Final, Generic, TypeVar

from cachetools import LRUCache, TLRUCache

from agent.admission_terms import Rate, RateReached
from agent.errors import StoreError
from agent.ports.clock import Clock
from agent.ports.shard_leases import ShardLeases
from agent.ports.shared_rates import CallRate, CallsAsked, CallsTaken, SharedRates

T = TypeVar("T")

# More messages than people come back to, and more people or channels than write to one bot within a minute.
MAX_ENTRIES: Final = 2_000

# Authority is resolved at the time of use; a change of it takes effect within a minute.
MAX_AGE_S: Final = 60.0

FRESH_S: Final = 5.0  # For answers that a minute would make too old, and that many callers may need at the same time


def until_too_old(_key: object, answer: tuple[float, object], _now: float) -> float:
    """Return when an answer expires, for a TLRUCache: counted from when it was asked for, not from when it came."""
    return answer[0] + MAX_AGE_S


class SingleFlight(Generic[T]):
    """Loads once for all callers who need the same thing at the same time.

    The load belongs to none of them: one who is cancelled, or does not wait so long, leaves it to the others. An error
    is raised to all who wait, and is not kept.
    """

    def __init__(self) -> None:
        self._loading: dict[Hashable, asyncio.Task[T]] = {}

    async def load(self, key: Hashable, load: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """Return the result of `load`, or of one for this key that is under way. Raises what it raises."""
        task = self._loading.get(key)
        if task is None:
            task = self._loading[key] = asyncio.create_task(load())
            task.add_done_callback(partial(self._ended, key))
        return await asyncio.shield(task)

    def drop(self, key: Hashable) -> None:
        """Let later callers load again: what is under way may have been asked before a change."""
        self._loading.pop(key, None)

    def _ended(self, key: Hashable, task: "asyncio.Task[T]") -> None:
        if self._loading.get(key) is task:
            del self._loading[key]
        if not task.cancelled():
            task.exception()  # retrieved, also if nobody waits any more


@dataclass(eq=False, frozen=True, slots=True)
class _Asked:
    """A request that is under way, and when it began."""

    at: float


class ExpiringCache(Generic[T]):
    """Caches answers of a platform by key. `load` asks the platform; `get` calls it again once an answer is too old.
    Callers at the same time share one request.
    """

    def __init__(self, load: Callable[[str], Awaitable[T]], clock: Clock) -> None:
        self._load = load
        self._clock = clock
        self._flights = SingleFlight[T]()
        self._asked: dict[str, _Asked] = {}  # What is under way
        self._known = TLRUCache[str, tuple[float, T], float](MAX_ENTRIES, until_too_old, clock.monotonic)

    async def get(self, key: str, max_age_s: float = MAX_AGE_S) -> T:
        """Return an answer that was asked for within `max_age_s` seconds. Raises what `load` raises."""
        known = self._known.get(key)
        if known is not None and self._clock.monotonic() - known[0] <= max_age_s:
            return known[1]
        now = self._clock.monotonic()
        if (asked := self._asked.get(key)) is not None and now - asked.at > max_age_s:
            self._flights.drop(key)
        return await self._flights.load(key, partial(self._ask, key, now))

    async def _ask(self, key: str, now: float) -> T:
        asked = self._asked[key] = _Asked(now)
        try:
            value = await self._load(key)
        finally:
            is_newest = self._asked.get(key) is asked  # else it was dropped, or asked for again meanwhile
            if is_newest:
                del self._asked[key]
        if is_newest:
            self._known[key] = now, value
        return value

    def drop(self, key: str) -> None:
        """Forget an answer that has changed, and one that is under way and may be older than the change."""
        self._known.pop(key, None)
        self._asked.pop(key, None)
        self._flights.drop(key)


class RecentKeys(LRUCache[str, None]):
    """The keys that came recently, for deliveries that would be shown twice and that no table records."""

    def __init__(self) -> None:
        super().__init__(MAX_ENTRIES)

    def first(self, key: str) -> bool:
        """Return whether this key is new."""
        known = key in self
        self[key] = None
        return not known


# How long to wait after a failure, and how often to log it. The pause doubles with each failure of one cause, up to a
# limit, and is reset only when that cause itself has worked. A cause is logged once a minute, with the number of
# failures in between.

FIRST_S: Final = 1.0
MAX_PAUSE_S: Final = 30.0  # Short after a lost packet, long enough for a platform that is down

# Often enough to show in a log that a failure persists; seldom enough that frequent failures do not fill it.
LOG_INTERVAL_S: Final = timedelta(minutes=1).total_seconds()
MAX_CAUSES: Final = 1_000  # The oldest beyond that are dropped, and may be logged again


@dataclass(slots=True)
class Backoff:
    """Computes the pauses after failures, for each cause by itself."""

    first_s: float = FIRST_S
    most_s: float = MAX_PAUSE_S
    _pauses: LRUCache[str, float] = field(default_factory=lambda: LRUCache(MAX_CAUSES))

    def failed(self, cause: str = "") -> float:
        """Record a failure, and return how many seconds to wait."""
        self._pauses[cause] = pause = min(self.most_s, self._pauses.get(cause, self.first_s / 2) * 2)
        return pause

    def worked(self, cause: str = "") -> None:
        self._pauses.pop(cause, None)


@dataclass(slots=True)
class OncePerMinute:
    """Decides whether a log line about a cause is due."""

    _lines: LRUCache[str, tuple[float, int]] = field(default_factory=lambda: LRUCache(MAX_CAUSES))
    """When each cause was last logged, and how often it occurred since."""

    def due(self, cause: str, now: float) -> str | None:
        """Return None if it was logged within a minute, else what to append to the line: how often it was left out."""
        logged, count = self._lines.get(cause, (float("-inf"), 0))
        due = now - logged >= LOG_INTERVAL_S
        self._lines[cause] = (now, 0) if due else (logged, count + 1)
        if not due:
            return None
        return f" (and {count} more since the last such line)" if count else ""


# State that processes on one database share.
#
# Theory of operation. Each process registers itself regularly, and so learns how many others there are. A process that
# is alone counts in memory, without the database. It also does so while the database fails or is slow: it then makes an
# equal part of the calls, because exceeding a person's rate for a while is better than not answering.

LOOK_S: Final = 5.0  # How long others may not know of a new process; meanwhile each counts for itself
PRESENCE: Final = timedelta(seconds=20)  # A process that has not registered for this long is gone
PATIENCE_S: Final = 1.0  # For counting what a person does; a hundred times what it takes
# For taking calls: processes under load are slow to send the request and slow to read its answer.
CALLS_PATIENCE_S: Final = 5.0
ALONE_S: Final = 10.0  # After the database failed or was slow, it is not asked again for this long


@dataclass(slots=True)
class Replicas:
    """`owner`: this process. Methods return None if it is alone, or if the database does not answer in time."""

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
        """Register this process regularly until the block ends."""
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
        """Register this process, and update the number of others."""
        with suppress(StoreError):  # its log says so
            self._others = await self.rates.others(self.owner, self.clock.now(), PRESENCE)

    @property
    def is_alone(self) -> bool:
        return self._others == 0 or self.is_cut_off

    @property
    def is_cut_off(self) -> bool:
        """Whether there are other processes, but the database cannot count for all of them."""
        return self._others > 0 and self.clock.monotonic() < self._alone_until

    def share(self, calls: int) -> int:
        """Return how many of `calls` this process may make by itself."""
        return max(1, calls // (1 + self._others)) if self.is_cut_off else calls

    async def count(self, what: str, rates: Sequence[Rate], person: str, channel: str) -> RateReached | None:
        """Count one more action `what` of this person; or return the rate that it would exceed, and do not count it."""
        return await self._ask(self.rates.count(what, rates, person, channel, self.clock.now()), self.patience_s)

    async def take(self, name: str, rate: CallRate, calls: int, asking: int, made: int) -> CallsTaken | None:
        """Take some of the calls of `name` from the budget of all processes; see `CallsAsked`."""
        asks = CallsAsked(self.owner, calls, asking, made)
        return await self._ask(self.rates.take(name, rate, asks, self.clock.now()), self.calls_patience_s)

    async def book(self, name: str, interval_s: float) -> float | None:
        """Take the next place in the queue `name`; return in how many seconds it is."""
        booking = self.rates.book(name, timedelta(seconds=interval_s), self.clock.now())
        wait = await self._ask(booking, self.calls_patience_s)
        return None if wait is None else wait.total_seconds()

    async def hold(self, name: str, after_s: float) -> None:
        """Allow no call of `name` for `after_s` seconds in any process."""
        await self._ask(self.rates.hold(name, self.clock.now() + timedelta(seconds=after_s)), self.calls_patience_s)

    async def _ask(self, asking: Coroutine[Any, Any, T], patience_s: float) -> T | None:
        if self.is_alone:
            asking.close()
            return None
        task = asyncio.create_task(asking)  # not cancelled when slow: a transaction is finished first
        self._asking.add(task)
        task.add_done_callback(self._forget_task)
        await asyncio.wait({task}, timeout=patience_s)
        with suppress(StoreError):
            if task.done():
                return task.result()
        self._alone_until = self.clock.monotonic() + ALONE_S
        return None

    def _forget_task(self, task: asyncio.Task[Any]) -> None:
        self._asking.discard(task)
        if not task.cancelled():
            task.exception()  # retrieved, because no caller may be waiting for it any more


# How often a platform's methods may be called, shared fairly between replies. Pure, except for the budget that all
# processes share.

# A reply that has not asked for this long, or since it was due, takes no share: much longer than between two words.
ACTIVE_S = 30.0

# The pause of a share, as a multiple of the pause that would exactly use up the limit: EAGER after a quiet minute, CALM
# after a full one, linear in between, and 1 on average. Callers that start at twice the speed thus reach the limit only
# when the first minute is over.
EAGER, CALM = 0.5, 1.5

MINUTE: Final = 60.0

# How long calls that were taken from the shared budget may be made. They count from when they were taken, so the window
# that is counted is longer by this.
TAKEN_S: Final = 5.0
NO_TOTALS: Final = CallsTaken(calls=0, wait_s=0.0, made=0, asking=0)
# At most one in SHARE_TAKEN of a window's calls is taken at once: a reply may end before it has made them.
SHARE_TAKEN: Final = 12


@dataclass(slots=True)
class MethodRate:
    """At most `calls` in any `window_s` seconds.

    Times are `Clock.monotonic` seconds; a time earlier than one already passed counts as that one.

    Rules. Slack counts calls per method, workspace and app, not per message. So each of n open replies makes at most
    every n-th call. The pause is short after few recent calls and grows with their number, so that all replies together
    settle below the limit, and no window ever holds more calls than allowed. No place is reserved for a caller that has
    to wait: it comes back with newer text. Posts are rare and urgent: they queue, and their places are reserved.

    With `replicas`, calls of `name` are taken from a budget of all processes: several at once while many are left, so
    that edits seldom ask the database. Its answer includes how many callers ask in other processes; they count as open
    replies do.
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
    """When callers that were refused are due again, if they have not called since."""
    _latest: float = float("-inf")
    _taken: int = 0
    _taken_until: float = float("-inf")
    _unreported: int = 0
    """Calls made without being taken from the shared budget."""
    _totals: CallsTaken = NO_TOTALS
    _totals_at: float = float("-inf")
    _taking: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def ask(self, who: str, now: float) -> float:
        """Return 0.0 to call now, which is counted; else the seconds after which to ask again, or call `left`."""
        while self.replicas is not None and not self.replicas.is_alone and self._lacks_one(who, now):
            async with self._taking:
                if self._lacks_one(who, now):
                    await self._take(self.replicas, now)
        return self.wait(who, now)

    def wait(self, who: str, now: float) -> float:
        """Return 0.0 to call now, which is counted, or the seconds to wait, as far as this process alone knows."""
        now = self._refresh(who, now)
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
            self._unreported += 1
        return 0.0

    def is_scarce(self, now: float) -> bool:
        """Return whether half of a window's calls have been made."""
        self._forget_old(now)
        return self._used(now) >= 0.5

    async def try_call(self, who: str, now: float) -> bool:
        """Return whether an optional call can be made now; if so, it is counted."""
        made = await self.ask(who, now) == 0.0
        self.remove(who)
        return made

    def block_for(self, now: float, retry_after_s: float) -> None:
        """The platform refused a call: allow none for `retry_after_s` seconds."""
        self._blocked_until = max(self._blocked_until, now + retry_after_s)

    async def hold(self, now: float, retry_after_s: float) -> None:
        """Allow no call for `retry_after_s` seconds in all processes, but for those that one has already taken."""
        self.block_for(now, retry_after_s)
        if self.replicas is not None:
            await self.replicas.hold(self.name, retry_after_s)

    def remove(self, who: str) -> None:
        """This caller will not call again."""
        for times in (self._asked, self._last, self._due):
            times.pop(who, None)

    @property
    def _share(self) -> int:
        return self.calls if self.replicas is None else self.replicas.share(self.calls)

    def _free_at(self, who: str, now: float) -> float:
        share = self._last.get(who, float("-inf")) + self._pause(now)
        return max(share, self._room_at(who, now), self._blocked_until)

    def _pause(self, now: float) -> float:
        asking = len(self._asked) + self._current_totals(now).asking
        return asking * (EAGER + (CALM - EAGER) * self._used(now)) * self.window_s / self._share

    def _used(self, now: float) -> float:
        return min(1.0, max(len(self._made), self._current_totals(now).made) / self._share)

    def _current_totals(self, now: float) -> CallsTaken:
        """The last totals of all processes, unless they are outdated."""
        is_old = now - self._totals_at > ACTIVE_S or (self.replicas is not None and self.replicas.is_cut_off)
        return NO_TOTALS if is_old else self._totals

    def _has_taken(self, now: float) -> bool:
        return self._taken > 0 and now < self._taken_until

    def _lacks_one(self, who: str, now: float) -> bool:
        """Whether a call would be allowed now if one were taken."""
        now = self._refresh(who, now)
        return not self._has_taken(now) and self._free_at(who, now) <= now

    async def _take(self, replicas: Replicas, now: float) -> None:
        soon = TAKEN_S * len(self._asked) / self._pause(now)
        count = max(1, min(round(soon), self.calls // SHARE_TAKEN))
        rate = CallRate(self.calls, timedelta(seconds=self.window_s + TAKEN_S))
        taken = await replicas.take(self.name, rate, count, len(self._asked), min(self._unreported, len(self._made)))
        if taken is not None:
            self._totals, self._totals_at, self._unreported = taken, now, 0
            self._taken, self._taken_until = taken.calls, now + TAKEN_S
            self.block_for(now, taken.wait_s)

    def _room_at(self, who: str, now: float) -> float:
        """When there is room for a call besides those that are due before it."""
        mine = self._due.get(who, now)
        earlier = sum(due < mine for other, due in self._due.items() if other != who)
        missing = earlier + 1 - (self._share - len(self._made))
        if missing <= 0:
            return now
        if missing <= len(self._made):
            return self._made[missing - 1] + self.window_s
        # More calls are due before it than a window holds: it is due after the next window, behind the surplus.
        full = self._made[-1] + self.window_s if self._made else now
        return full + (missing - len(self._made)) * self.window_s / self._share

    def _refresh(self, who: str, now: float) -> float:
        """Record that `who` asks, drop callers and calls that no longer count, and return the current time."""
        self._latest = now = max(now, self._latest)
        self._asked[who] = now
        active = {other: max(asked, self._due.get(other, asked)) for other, asked in self._asked.items()}
        for other in [other for other, active_until in active.items() if now - active_until > ACTIVE_S]:
            self.remove(other)
        self._forget_old(now)
        return now

    def _forget_old(self, now: float) -> None:
        while self._made and self._made[0] + self.window_s <= now:
            self._made.popleft()


@dataclass(slots=True)
class MethodQueue:
    """One call every `interval_s` seconds, first come, first served; `burst` of them at once after a pause. With
    `replicas`, in all processes together.
    """

    interval_s: float
    name: str = ""
    replicas: Replicas | None = None
    burst: int = 1
    _next: float = float("-inf")
    _places: dict[str, float] = field(default_factory=dict[str, float])

    def join(self, now: float) -> float:
        """Take the next place in this process; return in how many seconds to call."""
        place = max(self._next, now)
        self._next = place + self.interval_s
        return max(0.0, place - self._early_s - now)

    @property
    def _early_s(self) -> float:
        """How much earlier than its place in an even row a call may be."""
        return (self.burst - 1) * self.interval_s

    async def book(self, now: float) -> float:
        """Take the next place; return in how many seconds to call."""
        wait = self.join(now)
        shared_wait = None if self.replicas is None else await self.replicas.book(self.name, self.interval_s)
        if shared_wait is not None:
            wait = max(wait, shared_wait - self._early_s)
            self._next = max(self._next, now + shared_wait + self.interval_s)
        return wait

    async def ask(self, who: str, now: float) -> float:
        """Return 0.0 to call now, which gives up the place; else the seconds after which to ask again for it."""
        if who not in self._places:
            self._places[who] = now + await self.book(now)
        if (wait := self._places[who] - now) > 0:
            return wait
        del self._places[who]
        return 0.0

    def block_for(self, now: float, retry_after_s: float) -> None:
        """The platform refused a call: allow none for `retry_after_s` seconds."""
        self._next = max(self._next, now + retry_after_s + self._early_s)

    async def hold(self, now: float, retry_after_s: float) -> None:
        """Allow no call for `retry_after_s` seconds in all processes."""
        self.block_for(now, retry_after_s)
        if self.replicas is not None:
            await self.replicas.hold(self.name, retry_after_s + self._early_s)


# Slow work with limited concurrency, in turns by person, so that one person's backlog does not delay the others.


class FairTurns:
    """Runs `at_once` pieces of work at a time, one per person; waiting people take turns."""

    def __init__(self, at_once: int) -> None:
        self._free = at_once
        self._busy: set[str] = set()
        self._waiting: dict[str, deque[asyncio.Future[None]]] = {}  # By person, the next first

    @asynccontextmanager
    async def turn(self, person: str) -> AsyncGenerator[None]:
        await self._acquire(person)
        try:
            yield
        finally:
            self._release(person)

    async def _acquire(self, person: str) -> None:
        turn = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(person, deque()).append(turn)
        self._grant_turns()
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():
                self._release(person)  # it was granted just before
            raise

    def _release(self, person: str) -> None:
        self._free += 1
        self._busy.discard(person)
        self._grant_turns()

    def _grant_turns(self) -> None:
        for person in [waiting for waiting in self._waiting if waiting not in self._busy]:
            turns = self._waiting.pop(person)
            while turns and turns[0].done():
                turns.popleft()  # cancelled while it waited
            if turns and self._free:
                self._free -= 1
                self._busy.add(person)
                turns.popleft().set_result(None)
                if turns:
                    self._waiting[person] = turns  # behind all other people
            elif turns:
                self._waiting = {person: turns} | self._waiting
                return


# Priority on the model of this machine: answers come first, and background work is interrupted at once.
#
# Only within this process: other processes on the machine use its model without coordination.


class ForegroundPriority:
    """No answer runs at first."""

    def __init__(self) -> None:
        self._answering = 0
        self._busy = asyncio.Event()

    @contextmanager
    def answering(self) -> Generator[None]:
        """A question is being answered until the block ends."""
        self._answering += 1
        self._busy.set()
        try:
            yield
        finally:
            self._answering -= 1
            if not self._answering:
                self._busy.clear()

    async def while_free(self, work: Coroutine[Any, Any, T]) -> T | None:
        """Return the result of `work`, or None if an answer started before its end and it was cancelled."""
        if self._busy.is_set():
            work.close()
            return None
        working = asyncio.create_task(work)
        interrupted = asyncio.create_task(self._busy.wait())
        try:
            await asyncio.wait({working, interrupted}, return_when=asyncio.FIRST_COMPLETED)
            return await working if working.done() else None
        finally:
            for task in (working, interrupted):
                task.cancel()
            await asyncio.gather(working, interrupted, return_exceptions=True)
