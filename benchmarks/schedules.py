"""Schedules through a year, on real stores: each occurrence runs once, at its local time.

duplicates, lost    of the occurrences of 10,000 schedules in a simulated year with both changes of the clocks in five
wrong_times         zones; three replicas share the store, are killed between any two steps, and have clocks that jump
occurrences         that the oracle expects
missed              of them, while all replicas were down: done late as one, or left out if they are questions
kills               of replicas, without those of all at once
late_p50_s, …_p99   in real time: 1,000 reminders due in one minute, with three replicas in one process, from the time
                    at which one is due until its place shows its words
burst_p99_s         the same where all of them are due in the same second

In the simulated year the scheduler, the store and the ledger are the product's; the turns are claimed, shown and
finished by the steps of a worker, without its model and its frames. In real time these are the product's, too.

Baseline, in the same run: an oracle that follows the clocks of each zone minute by minute and knows no rule of cron;
and late_p99_s, the required value.
"""

import asyncio
import heapq
import logging
import statistics
import tempfile
from collections import Counter
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator, Sequence
from contextlib import ExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from random import Random
from typing import Any, Final
from zoneinfo import ZoneInfo

from agent.errors import LeaseLost
from agent.events import Outcome
from agent.incoming import Incoming, Person
from agent.machine import CLOCK
from agent.ports.clock import Clock
from agent.progress import decode
from agent.providers.scripted import ScriptedProvider
from agent.schedules.definitions import Admitted, NewSchedule, Occurrence, Schedule, ScheduleKind, Timing
from agent.schedules.ids import occurrence_id
from agent.schedules.port import Schedules
from agent.turn_records import Claiming, Closing
from benchmarks.report import print_report, read_options
from bot.chat.feature import Feature
from bot.chat.reply.surface import ReplyEnd
from bot.chat.turns.turn_features import TurnFeatures
from bot.chat.turns.worker import TurnWorker, TurnWorkerLimits
from bot.schedules.reports import ScheduleReporter
from bot.schedules.scheduler import Scheduler, schedule_kinds
from store.databases.database import LocalNotifier
from store.engine import Store, open_store
from tests.fakes.incoming import dm
from tests.fakes.postgresql import running_postgres
from tests.fakes.runners import runner_on
from tests.fakes.surface import FakeSurface

ZONES: Final = ("Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "America/Santiago", "Africa/Cairo")
BEGIN: Final = datetime(2026, 1, 1, tzinfo=UTC)
DAYS: Final = 365
MINUTE: Final = timedelta(minutes=1)
LEASE: Final = timedelta(seconds=30)
REPLICAS: Final = 3
AFTER: Final = timedelta(days=6)  # Longer than any outage, for the occurrences left by one at the end of the year
WAIT_S: Final = 300.0

# The schedules, and an oracle that only follows clocks.


@dataclass(frozen=True)
class Planned:
    """The fields of a rule as sets, which the oracle compares with the clocks; or `once`, a moment. Without `hours` it
    is for every hour, in the days from `since`.
    """

    zone: str
    minutes: frozenset[int] = frozenset()
    hours: frozenset[int] = frozenset()
    days: frozenset[int] = frozenset()
    months: frozenset[int] = frozenset()
    weekdays: frozenset[int] = frozenset()
    once: datetime | None = None
    since: datetime | None = None

    @property
    def timing(self) -> Timing:
        if self.once is not None:
            return Timing(self.zone, at=self.once)
        weekdays = frozenset((day + 1) % 7 for day in self.weekdays)
        fields = map(_field, (self.minutes, self.hours, self.days, self.months, weekdays))
        return Timing(self.zone, rule=" ".join(fields), since=self.since, until=self.until)

    @property
    def until(self) -> datetime:
        return BEGIN + timedelta(days=400) if self.since is None else self.since + HOURLY_FOR

    def comes_on(self, day: datetime) -> bool:
        asked = ((self.days, day.day), (self.months, day.month), (self.weekdays, day.weekday()))
        return all(not some or value in some for some, value in asked)


HOURLY_FOR: Final = timedelta(days=10)


def _field(values: frozenset[int]) -> str:
    return ",".join(map(str, sorted(values))) or "*"


def planned(random: Random, days: int) -> Planned:
    """Draw a rule, often at night and in the months in which clocks change."""
    zone, kind = random.choice(ZONES), random.random()
    minute, hour = random.choice((0, 0, 15, 30, 59)), random.choice((0, 1, 2, 2, 3, 9, 14, 23))
    at, then = frozenset({minute}), frozenset({hour})
    if kind < 0.45:
        return Planned(zone, once=BEGIN + timedelta(seconds=random.randrange(60, days * 86_400)))
    if kind < 0.93:
        months = frozenset(random.choices((3, 3, 4, 4, 9, 10, 10, 11, *range(1, 13)), k=3))
        return Planned(zone, at, then, frozenset({random.randint(1, 28), random.randint(1, 8)}), months)
    if kind < 0.996:
        return Planned(zone, at, then, weekdays=frozenset({random.choice((5, 6, 6, random.randrange(7)))}))
    if kind < 0.997:
        return Planned(zone, at, then | {(hour + 1) % 24})
    return Planned(zone, at, since=BEGIN + timedelta(days=random.choice((64, 84, 91, 112, 243, 270, 295, 300))))


def expected(plans: Sequence[Planned], days: int) -> list[set[datetime]]:
    """Return for each plan its moments, found by following the clocks of its zone."""
    calls = [{plan.once} if plan.once is not None else set[datetime]() for plan in plans]
    for zone in ZONES:
        by_clock, by_minute = dict[int, list[int]](), dict[int, list[int]]()
        for number, plan in enumerate(plans):
            for minute in plan.minutes if plan.zone == zone else ():
                for hour in plan.hours:
                    by_clock.setdefault(hour * 60 + minute, []).append(number)
                if not plan.hours:
                    by_minute.setdefault(minute, []).append(number)
        for minutes, clock, is_new, is_now in watched(zone, days * 24 * 60):
            hit = by_clock.get(clock % 1440) if is_new else None
            for number in hit or ():
                if plans[number].comes_on(BEGIN + clock * MINUTE):
                    calls[number].add(BEGIN + minutes * MINUTE)
            hourly = by_minute.get(clock % 60) if is_now else None
            for number in hourly or ():
                since, moment = plans[number].since, BEGIN + minutes * MINUTE
                if since is not None and since <= moment <= plans[number].until:
                    calls[number].add(moment)
    return calls


def watched(zone: str, end: int) -> Iterator[tuple[int, int, bool, bool]]:
    """Yield each minute until `end`: how many have passed, and how many have passed by the local clock; whether the
    clock shows this minute for the first time, and whether it shows it now or has just skipped it.
    """
    local_zone, ahead = ZoneInfo(zone), 0
    seen: int | None = None
    for minutes in range(end):
        if minutes % 15 == 0:  # no clock changes in between
            offset = (BEGIN + minutes * MINUTE).astimezone(local_zone).utcoffset() or timedelta()
            ahead = int(offset.total_seconds()) // 60
        shown = minutes + ahead
        before = shown - 1 if seen is None else seen
        for left_out in range(before + 1, shown):
            yield minutes, left_out, True, False
        yield minutes, shown, shown > before, True
        seen = max(before, shown)


# Three replicas in simulated time, each of which may be killed between any two steps.


class Killed(BaseException):
    """The process was killed: none of its steps follows."""


@dataclass
class SimulatedClock:
    """`off`: the error of this replica's time of day."""

    world: "World"
    off: timedelta = timedelta()

    def now(self) -> datetime:
        return self.world.time + self.off

    def monotonic(self) -> float:
        return (self.world.time - BEGIN).total_seconds()

    async def sleep(self, seconds: float) -> None:  # noqa: ARG002 -- as the port says
        raise AssertionError("the steps of this world are taken by hand: nobody waits in it")


@dataclass
class Steps:
    """The store of a replica, which is killed before or after one in `one_in` steps."""

    random: Random
    one_in: int
    dead: bool = False

    async def take(self, step: Callable[[], Awaitable[Any]]) -> Any:  # noqa: ANN401 -- of any step
        falls = self.random.randrange(self.one_in) == 0
        if self.dead or (falls and self.random.random() < 0.5):
            self.dead = True
            raise Killed
        done = await step()
        if falls:
            self.dead = True
        if self.dead:
            raise Killed
        return done

    def on(self, schedules: Schedules) -> Any:  # noqa: ANN401 -- whatever the port has
        return _Stepwise(self, schedules)


@dataclass
class _Stepwise:
    steps: Steps
    schedules: Schedules

    def __getattr__(self, name: str) -> Callable[..., Awaitable[Any]]:
        method = getattr(self.schedules, name)
        return lambda *args, **options: self.steps.take(partial(method, *args, **options))


class Anywhere:
    """A platform that allows everything."""

    async def admit(self, occurrence: Occurrence) -> Admitted:
        return self._incoming(occurrence.schedule)

    async def direct(self, schedule: Schedule, time: datetime) -> Incoming:  # noqa: ARG002 -- as the port has it
        return self._incoming(schedule)

    def _incoming(self, schedule: Schedule) -> Incoming:
        who, own = schedule.definition.person, f"runs of {schedule.id}"
        return Incoming(
            "sim", "", schedule.definition.channel, "", own, Person(who, who), dm(who), schedule.definition.words, BEGIN
        )


@dataclass
class World:
    """`shown`: how often each occurrence was shown, counted by turns, as a turn that is shown again finds its page.
    `down`: when no replica was running.
    """

    store: Store
    random: Random
    one_in: int
    time: datetime = BEGIN
    shown: dict[str, set[int]] = field(default_factory=dict[str, set[int]])
    down: list[tuple[datetime, datetime]] = field(default_factory=list[tuple[datetime, datetime]])
    alarms: list[datetime] = field(default_factory=list[datetime])
    kills: int = 0

    def __post_init__(self) -> None:
        self.replicas = [Replica(self, f"replica {number}") for number in range(REPLICAS)]

    async def run(self, end: datetime) -> None:
        """Run until all occurrences that were due before `end` are done."""
        outage = self.random.randrange(3, 30)
        while self.time < end + AFTER:
            if self.time > BEGIN + timedelta(days=outage) and self.time < end:
                outage += self.random.randrange(10, 60)
                back = self.time + timedelta(seconds=self.random.choice((5, 90, 4_000, 40_000, 200_000)))
                for replica in self.replicas:
                    replica.back = max(replica.back, back)
                    replica.begin_anew()
            there = [one for one in self.replicas if one.back <= self.time]
            looking = self.random.sample(there, self.random.randint(1, len(there))) if there else []
            await asyncio.gather(*(one.work() for one in looking))
            await self._go_on(end)

    async def _go_on(self, end: datetime) -> None:
        """Advance to the next moment at which something may happen."""
        before = self.time
        first = await self.store.schedules.first_due(frozenset({"sim"}))
        there = [replica.back for replica in self.replicas]
        while self.alarms and self.alarms[0] <= before:
            heapq.heappop(self.alarms)
        later = [at for at in (first, *self.alarms[:1], *there) if at is not None and at > before]
        overdue = first is not None and first <= before and min(there) <= before
        self.time = before + timedelta(seconds=1) if overdue else min([*later, before + timedelta(days=1)])
        if self.time > end and not self.alarms and (first is None or first > end):
            self.time = end + AFTER
        if min(there) > before:
            self.down.append((before, min(self.time, *there)))

    def was_down(self, moment: datetime) -> bool:
        """Whether all replicas were down within a lease of `moment`: a killed one may have held the occurrence."""
        return any(began - LEASE <= moment < ended + LEASE for began, ended in self.down)


@dataclass
class Replica:
    world: World
    name: str
    back: datetime = BEGIN

    def __post_init__(self) -> None:
        self.begin_anew()

    def begin_anew(self) -> None:
        world = self.world
        self.steps, self.clock = Steps(world.random, world.one_in), SimulatedClock(world)
        schedules = self.steps.on(world.store.schedules)
        self.scheduler = Scheduler(schedules, {"sim": Anywhere()}, self.clock, lambda: None)

    async def work(self) -> None:
        world = self.world
        try:
            if world.random.randrange(500) == 0:  # a wrong clock, which is corrected before the next poll
                await self.scheduler.work()
                self.clock.off = world.random.choice((timedelta(days=3), -timedelta(hours=7)))
                await self.scheduler.work()
                self.clock.off = timedelta()
            while await self.scheduler.work() == 0:
                pass
            while await self._answer():
                pass
        except Killed:
            world.kills += 1
            self.back = world.time + timedelta(seconds=world.random.choice((1, 10, 45, 600)))
            heapq.heappush(world.alarms, world.time + LEASE)
            self.begin_anew()

    async def _answer(self) -> bool:
        """Do the steps of a worker that ends one turn; False if there is none."""
        world, ledger, take = self.world, self.world.store.ledger, self.steps.take
        claim = await take(lambda: ledger.claim(Claiming(self.name, world.time, LEASE)))
        if claim is None:
            return False
        said = decode(claim.progress).reply or "an answer"
        world.shown.setdefault(claim.incoming.event_id, set()).add(claim.turn)
        with suppress(LeaseLost):
            await take(
                lambda: ledger.finish(claim, Closing(Outcome.ANSWERED, said, excluded_from_learning=True), world.time)
            )
        return True


@dataclass(frozen=True)
class YearResult:
    occurrences: int
    duplicates: int
    lost: int
    wrong_times: int
    missed: int


@dataclass(frozen=True)
class Year:
    """The stored schedules, the occurrences that were shown, and the moments that the oracle expects."""

    world: World
    kept: Sequence[Schedule]
    calls: Sequence[set[datetime]]
    end: datetime


async def a_year(store: Store, seed: int, count: int, days: int, one_in: int) -> Year:
    """`one_in`: a replica is killed at one in this many steps."""
    random = Random(seed)
    plans = [planned(random, days) for _ in range(count)]
    kept = [await keep(store, number, plan, random) for number, plan in enumerate(plans)]
    world, end = World(store, random, one_in), BEGIN + timedelta(days=days)
    await world.run(end)
    return Year(world, kept, expected(plans, days), end)


async def keep(store: Store, number: int, plan: Planned, random: Random) -> Schedule:
    person = f"sim:p{number // 40}"
    kind = ScheduleKind.QUESTION if random.random() < 0.2 else ScheduleKind.REMINDER
    words = f"do thing {number}"
    new = NewSchedule(person, "sim", f"c{number // 40}", dm(person), kind, words, plan.timing, BEGIN - MINUTE)
    schedule = await store.schedules.add(new)
    if not isinstance(schedule, Schedule):
        raise TypeError(schedule)
    return schedule


def judged(year: Year) -> YearResult:
    """Judge a year. A reminder that was missed while all replicas were down may be done late, or by a later one; a
    question may be left out.
    """
    shown, counts, expected = year.world.shown, Counter[str](), set[str]()
    newest = dict[str, int]()
    for name in shown:
        whose, _, moment = name.rpartition(":")
        newest[whose] = max(newest.get(whose, 0), int(moment))
    for schedule, moments in zip(year.kept, year.calls, strict=True):
        names = {occurrence_id(schedule.id, moment): moment for moment in moments}
        expected |= names.keys()
        last = newest.get(occurrence_id(schedule.id, BEGIN).rpartition(":")[0], 0)
        for name, moment in names.items():
            counts["duplicates"] += max(0, len(shown.get(name, ())) - 1)
            if name not in shown:
                excused = schedule.definition.kind is ScheduleKind.QUESTION or last > moment.timestamp()
                counts["missed" if excused and year.world.was_down(moment) else "lost"] += 1
    counts["occurrences"] = len(expected)
    late = {name for name in shown if int(name.rpartition(":")[2]) >= year.end.timestamp()}
    counts["wrong_times"] = len(shown.keys() - expected - late)
    return YearResult(*(counts[name] for name in ("occurrences", "duplicates", "lost", "wrong_times", "missed")))


# In real time, with real turns.


@dataclass
class Minute:
    """Three replicas in one process. `shown`: when the place of each schedule showed its text."""

    store: Store
    clock: Clock = CLOCK
    shown: dict[int, datetime] = field(default_factory=dict[int, datetime])
    all_shown: asyncio.Event = field(default_factory=asyncio.Event)
    wanted: int = 0

    def surface(self, incoming: Incoming) -> FakeSurface:
        return _Told(self, int(incoming.conversation.rpartition(" ")[2]))

    def turns(self) -> TurnWorker:
        kinds = schedule_kinds(ScheduleReporter(self.store.schedules))
        runner = replace(
            runner_on(self.store, ScriptedProvider([]), self.clock),
            features=TurnFeatures([Feature(name="schedules", kinds=kinds)]),
        )
        owner = f"owner {id(runner)}"
        limits = TurnWorkerLimits(per_person=None)
        return TurnWorker(self.store.ledger, runner, self.surface, LocalNotifier(), self.clock, owner, limits)

    @asynccontextmanager
    async def serving(self) -> AsyncGenerator[None]:
        async with asyncio.timeout(WAIT_S), self._replica(), self._replica(), self._replica():
            yield

    @asynccontextmanager
    async def _replica(self) -> AsyncGenerator[None]:
        turns = self.turns()
        scheduler = Scheduler(self.store.schedules, {"sim": Anywhere()}, self.clock, turns.wake)
        async with turns.serving(), scheduler.serving():
            yield


class _Told(FakeSurface):
    def __init__(self, minute: Minute, schedule: int) -> None:
        super().__init__(minute.clock)
        self._minute, self._schedule = minute, schedule

    def finish(self, end: ReplyEnd) -> None:
        super().finish(end)
        minute = self._minute
        minute.shown.setdefault(self._schedule, minute.clock.now())
        if len(minute.shown) == minute.wanted:
            minute.all_shown.set()


async def lateness(store: Store, count: int, within: timedelta) -> list[float]:
    """Return the delays in seconds of `count` reminders that are due at moments spread over `within`."""
    minute = Minute(store, wanted=count)
    first = minute.clock.now() + timedelta(seconds=1 + count / 60)
    due = dict[int, datetime]()
    for number in range(count):
        at = (first + within * number / count).replace(microsecond=0)
        person = f"sim:q{number // 40}"
        new = NewSchedule(
            person,
            "sim",
            f"d{number // 40}",
            dm(person),
            ScheduleKind.REMINDER,
            f"do {number}",
            Timing("UTC", at=at),
            minute.clock.now(),
        )
        schedule = await store.schedules.add(new)
        if not isinstance(schedule, Schedule):
            raise TypeError(schedule)
        due[schedule.id] = at
    async with minute.serving():
        await minute.all_shown.wait()
    return sorted((minute.shown[id_] - at).total_seconds() for id_, at in due.items())


def p99(values: Sequence[float]) -> float:
    return values[min(len(values) - 1, int(len(values) * 0.99))]


async def measure(store_url: Callable[[], Awaitable[str]], *, quick: bool) -> tuple[dict[str, float], dict[str, float]]:
    count = 80 if quick else 10_000
    store = await open_store(await store_url())
    try:
        lived = await a_year(store, 19, count, DAYS, one_in=400)
        year = judged(lived)
    finally:
        await store.close()
    due, within = (50, timedelta(seconds=3)) if quick else (1_000, timedelta(seconds=60))
    store = await open_store(await store_url())
    try:
        spread = await lateness(store, due, within)
        burst = await lateness(store, due, timedelta())
    finally:
        await store.close()
    metrics = {
        "duplicates": year.duplicates,
        "lost": year.lost,
        "wrong_times": year.wrong_times,
        "occurrences": year.occurrences,
        "missed": year.missed,
        "kills": lived.world.kills,
        "late_p50_s": statistics.median(spread),
        "late_p99_s": p99(spread),
        "burst_p99_s": p99(burst),
    }
    return metrics, {"duplicates": 0, "lost": 0, "wrong_times": 0, "late_p99_s": 2.0}


def main() -> None:
    options = read_options(__doc__ or "", engines=("sqlite", "postgresql"))
    logging.disable(logging.WARNING)
    memory = Path("/dev/shm")  # noqa: S108 -- for the year: its data need not outlive the machine
    with ExitStack() as stack:
        folders = [
            Path(stack.enter_context(tempfile.TemporaryDirectory(dir=folder)))
            for folder in (memory if memory.is_dir() else None, None)
        ]
        server = stack.enter_context(running_postgres()) if options.engine == "postgresql" else None

        async def fresh() -> str:
            return f"sqlite:///{folders.pop(0)}/store.db" if server is None else await server.empty()

        metrics, baseline = asyncio.run(measure(fresh, quick=options.quick))
    print_report("schedules", metrics, baseline, options)


if __name__ == "__main__":
    main()
