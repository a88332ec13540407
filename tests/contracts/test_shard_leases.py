"""The contract of the port ShardLeases: which process holds which connection to Discord's gateway."""

from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agent.ports.shard_leases import HeldShard, ShardLeases, ShardSession, ShardShare
from store.engine import Store
from tests.contracts.steps import same_on_postgresql
from tests.examples import examples
from tests.fakes.incoming import START

LEASE, GAP = timedelta(seconds=9), timedelta(seconds=5)
SECOND, DAY = timedelta(seconds=1), timedelta(days=1)
THERE = ShardSession(START, "session-1", "wss://there", 17)


@dataclass
class Process:
    """What one process believes. It no longer listens when its lease, as it knows it, is over."""

    name: str
    leases: ShardLeases
    wants: int = 1
    held: dict[HeldShard, ShardSession] = field(default_factory=dict[HeldShard, ShardSession])
    until: datetime = START

    async def look(self, now: datetime) -> ShardShare:
        if now >= self.until:
            self.held.clear()
        part = await self.leases.share(self.name, now, LEASE, self.held, count=self.wants, heard=START - DAY)
        self.until = now + LEASE
        kept = part.kept | part.excess
        self.held = {shard: session for shard, session in self.held.items() if shard in kept} | dict(part.taken)
        return part

    async def look_and_give_back(self, now: datetime) -> ShardShare:
        part = await self.look(now)
        excess = {shard: self.held.pop(shard) for shard in part.excess}
        await self.leases.give_back(self.name, excess)
        return part

    def listens(self, now: datetime) -> list[HeldShard]:
        return [*self.held] if now < self.until else []


@same_on_postgresql
async def test_the_first_process_has_all_and_one_that_joins_its_part(store: Store) -> None:
    one, two = Process("one", store.shard_leases, 4), Process("two", store.shard_leases, 4)
    part = await one.look_and_give_back(START)
    assert ([*map(_number, part.taken)], part.count) == ([0, 1, 2, 3], 4)
    one.held[HeldShard(3, 4, 2)] = THERE
    assert not (await two.look(START)).taken
    assert sorted(map(_number, (await one.look_and_give_back(START + SECOND)).excess)) == [2, 3]
    taken = (await two.look(START + 2 * SECOND)).taken
    assert [*map(_number, taken)] == [2, 3]
    assert taken[HeldShard(3, 4, 3)] == THERE
    listed = await store.shard_leases.listed(START + 2 * SECOND)
    assert [(shard.owner, shard.since) for shard in listed[1:3]] == [("one", START), ("two", START + 2 * SECOND)]
    assert [shard.until for shard in listed] == [START + SECOND + LEASE] * 2 + [START + 2 * SECOND + LEASE] * 2
    assert [shard.heard for shard in listed] == [START - DAY] * 3 + [START]


async def test_what_a_dead_process_held_is_taken_over_with_its_session_when_its_lease_is_over(store: Store) -> None:
    one, two = Process("one", store.shard_leases), Process("two", store.shard_leases)
    await one.look(START)
    one.held = dict.fromkeys(one.held, replace(THERE, behind=True))
    await one.look(START + SECOND)
    assert not (await two.look(START + LEASE)).taken
    (session,) = (await two.look(START + SECOND + LEASE)).taken.values()
    assert session == replace(THERE, behind=True, orphaned=True)
    late = await one.leases.share(
        "one", START + SECOND + LEASE, LEASE, dict.fromkeys(one.held, ShardSession()), count=1
    )
    assert not late.kept | late.excess
    await one.leases.give_back("one", one.held)
    assert [shard.owner for shard in await one.leases.listed(START + SECOND + LEASE)] == ["two"]
    assert [shard.owner for shard in await one.leases.listed(START + SECOND + 2 * LEASE)] == [""]


async def test_who_leaves_hands_over_at_once(store: Store) -> None:
    one, two = Process("one", store.shard_leases, 2), Process("two", store.shard_leases, 2)
    await one.look(START)
    await two.look(START)
    await one.leases.give_back("one", dict.fromkeys(one.held, THERE))
    await one.leases.leave("one")
    taken = (await two.look(START)).taken
    assert [session.orphaned for session in taken.values()] == [False, False]


async def test_what_was_given_and_never_arrived_is_given_again(store: Store) -> None:
    one = Process("one", store.shard_leases)
    await one.look(START)
    one.held.clear()
    assert [shard.epoch for shard in (await one.look(START)).taken] == [3]


@same_on_postgresql
async def test_of_another_number_none_is_taken_before_all_of_the_number_before_are_given_back(store: Store) -> None:
    one, two = Process("one", store.shard_leases, 2), Process("two", store.shard_leases, 2)
    await one.look(START)
    one.held = dict.fromkeys(one.held, THERE)
    await two.look(START)
    await one.look_and_give_back(START)
    await two.look(START)
    two.held = {shard: replace(THERE, heard=START + SECOND) for shard in two.held}
    joins = Process("three", store.shard_leases, 4)
    assert await joins.look(START) == ShardShare(4, frozenset(), frozenset(), {})
    for one_before in (one, two):
        assert not (await joins.look(START)).taken
        part = await one_before.look_and_give_back(START)
        assert (part.count, part.kept, len(part.excess), part.taken) == (4, frozenset(), 1, {})
    part = await joins.look(START)
    assert [*part.taken] == [HeldShard(0, 4, 5)]
    assert {session.session for session in part.taken.values()} == {""}, "no session of another number can be resumed"
    await one.look(START)
    await two.look(START)
    listed = await store.shard_leases.listed(START)
    assert [shard.heard for shard in listed] == [START, START + SECOND] * 2, "by the one that had their servers"


@pytest.mark.parametrize(("before", "after", "heard"), [(2, 3, [0, 0, 0]), (4, 2, [0, 1]), (1, 2, [0, 0])])
async def test_a_shard_was_heard_as_far_as_all_were_that_had_servers_of_it(
    store: Store, before: int, after: int, heard: list[int]
) -> None:
    one = Process("one", store.shard_leases, before)
    await one.look(START)
    one.held = {shard: replace(THERE, heard=START + shard.number * SECOND) for shard in one.held}
    await store.shard_leases.give_back("one", one.held)
    one.held.clear()
    one.wants = after
    part = await one.look(START)
    assert [session.heard for session in part.taken.values()] == [START + each * SECOND for each in heard]


async def test_what_a_process_wanted_that_is_dead_counts_no_longer(store: Store) -> None:
    one, two = Process("one", store.shard_leases, 3), Process("two", store.shard_leases, 2)
    await one.look(START)
    assert (await two.look(START + LEASE - SECOND)).count == 3
    part = await two.look(START + LEASE)
    assert (part.count, len(part.taken)) == (2, 2)


async def test_the_sessions_of_one_bucket_begin_with_a_gap_in_between(store: Store) -> None:
    leases = store.shard_leases
    assert await leases.identify(0, START, GAP) == 0.0
    assert await leases.identify(0, START + 2 * SECOND, GAP) == 3.0
    assert await leases.identify(1, START + 2 * SECOND, GAP) == 0.0
    assert await leases.identify(0, START + GAP, GAP) == 0.0
    assert await leases.identify(0, START - timedelta(days=1), GAP) == GAP.total_seconds()


async def test_the_gap_counts_from_where_a_session_began_if_that_was_later_than_allowed(store: Store) -> None:
    leases = store.shard_leases
    assert await leases.identify(0, START, GAP) == 0.0
    await leases.identified(0, START + 2 * SECOND)
    await leases.identified(0, START + SECOND)
    assert await leases.identify(0, START + GAP, GAP) == 2.0


moves = st.lists(
    st.tuples(st.integers(0, 2), st.sampled_from(["look", "look", "look", "die", "leave", "count"]), st.integers(0, 6)),
    min_size=10,
    max_size=25,
)


@given(moves)
@settings(max_examples=examples(8), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
async def test_no_two_processes_ever_listen_to_one_shard_and_in_the_end_each_has_its_part(
    store: Store, moves: list[tuple[int, str, int]]
) -> None:
    now, leases = START, store.shard_leases
    for name in ("0", "1", "2"):
        await leases.leave(name)
    processes = [Process(str(number), leases, 5) for number in range(3)]
    for number, move, seconds in moves:
        now += seconds * SECOND
        process = processes[number]
        match move:
            case "look":
                await process.look_and_give_back(now)
            case "die":
                process.held.clear()
            case "leave":
                process.held.clear()
                await leases.leave(process.name)
            case _:
                process.wants = 3 + seconds
        listening = [shard for one in processes for shard in one.listens(now)]
        assert len(listening) == len({shard.number for shard in listening})
        assert len({shard.count for shard in listening}) <= 1
    for _ in range(6):
        now += 3 * SECOND
        for process in processes:
            await process.look_and_give_back(now)
    count = max(one.wants for one in processes)
    listening = sorted(shard for one in processes for shard in one.listens(now))
    assert [(shard.number, shard.count) for shard in listening] == [(number, count) for number in range(count)]
    assert max(len(one.held) for one in processes) - min(len(one.held) for one in processes) <= 1


def _number(shard: HeldShard) -> int:
    return shard.number
