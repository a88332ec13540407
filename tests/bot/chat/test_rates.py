"""Calls of a platform's methods by processes that share a database: together they stay within one budget."""

from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bot.chat.method_queue import MethodQueue
from bot.chat.rates import MINUTE, TAKEN_S, MethodRate
from bot.chat.replicas import ALONE_S, Replicas
from store.engine import Store
from tests.examples import examples
from tests.fakes.clock import FakeClock
from tests.fakes.new_database import open_new
from tests.fakes.shared_rates import WatchedRates

EDITS = 48


@dataclass
class Process:
    name: str
    store: Store
    clock: FakeClock

    def __post_init__(self) -> None:
        self.rates = WatchedRates(self.store.shared_rates)
        self.replicas = Replicas(self.store.shard_leases, self.rates, self.name, self.clock, calls_patience_s=20.0)
        self.edits = MethodRate(EDITS, MINUTE, "edits", self.replicas)
        self.posts = MethodQueue(1.0, "posts", self.replicas)

    async def edit(self, who: str) -> float:
        return await self.edits.ask(who, self.clock.monotonic())


@dataclass
class Fleet:
    store: Store
    clock: FakeClock

    async def processes(self, *names: str) -> list[Process]:
        processes = [Process(name, self.store, self.clock) for name in names]
        for _ in range(2):
            for process in processes:
                await process.replicas.look()
        return processes

    async def edits(self, replies: Sequence[tuple[Process, str]], seconds: float) -> list[tuple[float, str]]:
        """Return the time and process of each call, if every reply asks again as soon as it may."""
        made, due = list[tuple[float, str]](), dict.fromkeys(range(len(replies)), self.clock.monotonic())
        until = self.clock.monotonic() + seconds
        while (next_due := min(due.values())) < until:
            await self.clock.advance(next_due - self.clock.monotonic())
            for number, (process, who) in enumerate(replies):
                if due[number] <= self.clock.monotonic():
                    wait = await process.edit(who)
                    if wait == 0.0:
                        made.append((self.clock.monotonic(), process.name))
                    due[number] = self.clock.monotonic() + max(wait, 0.25)
        return made


@pytest.fixture
async def fleet() -> AsyncGenerator[Fleet]:
    store = await open_new("sqlite://")
    yield Fleet(store, FakeClock(auto=False))
    await store.close()


def max_in_a_minute(calls: Sequence[tuple[float, str]]) -> int:
    return max(sum(begin <= at < begin + MINUTE for at, _ in calls) for begin, _ in calls)


@pytest.mark.slow
async def test_edits_of_three_processes_stay_within_one_budget_and_use_most_of_it(fleet: Fleet) -> None:
    processes = await fleet.processes("one", "two", "three")
    replies = [(process, f"reply {number}") for process in processes for number in range(3)]
    calls = await fleet.edits(replies, 180)
    assert max_in_a_minute(calls) <= EDITS
    assert len(calls) >= 3 * EDITS * 0.75
    shares = [sum(name == process.name for _, name in calls) for process in processes]
    assert min(shares) >= 0.6 * max(shares)


@pytest.mark.slow
async def test_a_single_reply_asks_the_database_once_for_several_edits(fleet: Fleet) -> None:
    one, _ = await fleet.processes("one", "two")
    calls = await fleet.edits([(one, "reply")], 15)
    assert len(calls) >= 10
    assert one.rates.asked <= len(calls) / 2


async def test_a_refusal_in_one_process_holds_back_the_other(fleet: Fleet) -> None:
    one, two = await fleet.processes("one", "two")
    await one.edits.hold(fleet.clock.monotonic(), 30.0)
    await one.posts.hold(fleet.clock.monotonic(), 20.0)
    assert [await process.edit("a") for process in (one, two)] == [30.0, 30.0]
    assert await two.posts.book(fleet.clock.monotonic()) == 20.0
    await fleet.clock.advance(30.0)
    assert await two.edit("a") == 0.0


async def test_a_taken_call_is_not_made_after_it_has_expired(fleet: Fleet) -> None:
    one, _ = await fleet.processes("one", "two")
    assert await one.edit("a") == 0.0
    await fleet.clock.advance(TAKEN_S)
    assert await one.edit("a") == 0.0
    assert one.rates.asked == 2


async def test_a_call_that_is_made_later_than_it_was_taken_leaves_no_minute_with_more_than_allowed(
    fleet: Fleet,
) -> None:
    one, two = [MethodRate(24, MINUTE, "late", each.replicas) for each in await fleet.processes("one", "two")]
    made_at = [0.0] * 24
    assert await one.ask("a", 0.0) == 0.0
    assert [await two.ask(f"reply {number}", 0.0) for number in range(22)] == [0.0] * 22
    await fleet.clock.advance(4.9)
    assert await one.ask("b", 4.9) == 0.0, "two were taken at once"
    made_at[-1] = 4.9
    await fleet.clock.advance(57.0)
    for number in range(24):
        if await two.ask(f"later {number}", fleet.clock.monotonic()) == 0.0:
            made_at.append(fleet.clock.monotonic())
    assert sum(4.9 <= at < 4.9 + MINUTE for at in made_at) <= 24


async def test_two_processes_post_to_a_channel_once_a_second_together(fleet: Fleet) -> None:
    one, two = await fleet.processes("one", "two")
    places = [await process.posts.book(0.0) for process in (one, two, two, one)]
    assert places == [0.0, 1.0, 2.0, 3.0]
    assert await two.posts.ask("a", 0.0) == 4.0
    assert await one.posts.book(0.0) == 5.0


async def test_a_single_process_asks_the_database_for_no_call(fleet: Fleet) -> None:
    [one] = await fleet.processes("one")
    assert len(await fleet.edits([(one, "reply")], 10)) >= 8
    assert await one.posts.book(0.0) == 0.0
    await one.edits.hold(fleet.clock.monotonic(), 1.0)
    assert one.rates.asked == 0


async def test_calls_made_before_another_process_started_count_for_it_too(fleet: Fleet) -> None:
    [one] = await fleet.processes("one")
    before = await fleet.edits([(one, "reply")], 30)
    await one.replicas.look()
    [two] = await fleet.processes("two")
    await one.replicas.look()
    calls = before + await fleet.edits([(one, "reply"), (two, "another"), (two, "third")], 60)
    assert len(before) >= 20
    assert max_in_a_minute(calls) <= EDITS


async def test_without_the_database_each_process_uses_an_equal_part_of_the_budget(fleet: Fleet) -> None:
    one, two = await fleet.processes("one", "two")
    one.rates.is_down = two.rates.is_down = True
    calls = await fleet.edits([(one, f"reply {number}") for number in range(3)] + [(two, "another")], 180)
    assert max_in_a_minute(calls) <= EDITS
    assert len(calls) >= 3 * EDITS * 0.6
    assert one.rates.asked <= 180 / ALONE_S + 1
    assert await one.posts.ask("a", fleet.clock.monotonic()) == 0.0


_ASKS = st.tuples(
    st.integers(0, 2), st.sampled_from("ab"), st.sampled_from([0.0, 0.5, 2.0, 4.9, 7.0, 31.0]), st.booleans()
)


@given(st.lists(_ASKS, max_size=60), st.sampled_from([1, 3, 12, 24]))
@settings(max_examples=examples(12), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
async def test_no_minute_of_all_processes_holds_more_calls_than_allowed(
    fleet: Fleet, asks: list[tuple[int, str, float, bool]], calls: int
) -> None:
    processes = await fleet.processes("one", "two", "three")
    rates = [MethodRate(calls, MINUTE, f"{asks} {calls}", process.replicas) for process in processes]
    made = list[tuple[float, str]]()
    for number, who, later, leaves in asks:
        await fleet.clock.advance(later)
        if await rates[number].ask(who, fleet.clock.monotonic()) == 0.0:
            made.append((fleet.clock.monotonic(), who))
        if leaves:
            rates[number].remove(who)
    assert not made or max_in_a_minute(made) <= calls
