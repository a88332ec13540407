"""The contract of the port ShardLeases: which process holds which connection to Discord's gateway."""

from dataclasses import dataclass, field
from datetime import datetime, timedelta

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agent.ports import HeldShard, ShardLeases, ShardSession, ShardShare
from store.engine import Store
from tests.examples import examples
from tests.fakes.incoming import START

LEASE, GAP = timedelta(seconds=9), timedelta(seconds=5)
SECOND = timedelta(seconds=1)
THERE = ShardSession(START, "session-1", "wss://there", 17)


@dataclass
class Process:
    """What one process believes. It no longer listens when its lease, as it knows it, is over."""

    name: str
    leases: ShardLeases
    held: dict[HeldShard, ShardSession] = field(default_factory=dict[HeldShard, ShardSession])
    until: datetime = START

    async def look(self, now: datetime) -> ShardShare:
        if now >= self.until:
            self.held.clear()
        part = await self.leases.share(self.name, now, LEASE, self.held)
        self.until = now + LEASE
        kept = part.kept | part.excess
        self.held = {shard: session for shard, session in self.held.items() if shard in kept} | dict(part.taken)
        return part

    async def look_and_give_back(self, now: datetime) -> ShardShare:
        part = await self.look(now)
        excess = {shard: self.held.pop(shard) for shard in part.excess}
        await self.leases.give_back(self.name, excess)
        return part

    def listens(self, now: datetime) -> list[int]:
        return sorted(shard.number for shard in self.held) if now < self.until else []


async def test_the_first_process_has_all_and_one_that_joins_its_part(store: Store) -> None:
    one, two = Process("one", store.shard_leases), Process("two", store.shard_leases)
    assert await store.shard_leases.agree(4, START, exactly=True) == 4
    part = await one.look_and_give_back(START)
    assert ([*map(_number, part.taken)], part.count) == ([0, 1, 2, 3], 4)
    one.held[HeldShard(3, 4, 2)] = THERE
    assert not (await two.look(START)).taken
    assert sorted(map(_number, (await one.look_and_give_back(START + SECOND)).excess)) == [2, 3]
    taken = (await two.look(START + 2 * SECOND)).taken
    assert [*map(_number, taken)] == [2, 3]
    assert taken[HeldShard(3, 4, 3)] == THERE
    assert [shard.owner for shard in await store.shard_leases.listed(START + 2 * SECOND)] == [
        "one",
        "one",
        "two",
        "two",
    ]


async def test_what_a_dead_process_held_is_taken_over_with_its_session_when_its_lease_is_over(store: Store) -> None:
    one, two = Process("one", store.shard_leases), Process("two", store.shard_leases)
    await store.shard_leases.agree(1, START, exactly=True)
    await one.look(START)
    one.held = dict.fromkeys(one.held, THERE)
    await one.look(START + SECOND)
    assert not (await two.look(START + LEASE)).taken
    (session,) = (await two.look(START + SECOND + LEASE)).taken.values()
    assert (session.session, session.sequence, session.orphaned) == ("session-1", 17, True)
    late = await one.leases.share("one", START + SECOND + LEASE, LEASE, dict.fromkeys(one.held, ShardSession()))
    assert not late.kept | late.excess
    await one.leases.give_back("one", one.held)
    assert [shard.owner for shard in await one.leases.listed(START + SECOND + LEASE)] == ["two"]


async def test_who_leaves_hands_over_at_once(store: Store) -> None:
    one, two = Process("one", store.shard_leases), Process("two", store.shard_leases)
    await store.shard_leases.agree(2, START, exactly=True)
    await one.look(START)
    await two.look(START)
    await one.leases.give_back("one", dict.fromkeys(one.held, THERE))
    await one.leases.leave("one")
    taken = (await two.look(START)).taken
    assert [session.orphaned for session in taken.values()] == [False, False]


async def test_what_was_given_and_never_arrived_is_given_again(store: Store) -> None:
    one = Process("one", store.shard_leases)
    await store.shard_leases.agree(1, START, exactly=True)
    await one.look(START)
    one.held.clear()
    assert [shard.epoch for shard in (await one.look(START)).taken] == [3]


@pytest.mark.parametrize(("exactly", "wanted", "agreed"), [(True, 1, 1), (False, 1, 2), (False, 3, 3), (True, 3, 3)])
async def test_one_count_holds_for_all_and_grows_where_discord_recommends_more(
    store: Store, exactly: bool, wanted: int, agreed: int
) -> None:
    one, leases = Process("one", store.shard_leases), store.shard_leases
    assert await leases.agree(2, START, exactly=False) == 2
    await one.look(START)
    one.held = dict.fromkeys(one.held, THERE)
    await one.look(START)
    assert await leases.agree(wanted, START, exactly=exactly) == agreed
    after = await one.look(START + SECOND)
    assert after.count == agreed
    assert len(after.kept) == (2 if agreed == 2 else 0)
    assert {session.heard for session in one.held.values()} == {START}
    assert {session.session for session in one.held.values()} == {"session-1" if agreed == 2 else ""}


async def test_without_a_process_at_work_the_count_is_chosen_anew(store: Store) -> None:
    leases = store.shard_leases
    await leases.agree(3, START, exactly=False)
    assert await leases.agree(2, START, exactly=False) == 2


async def test_the_sessions_of_one_bucket_begin_with_a_gap_in_between(store: Store) -> None:
    leases = store.shard_leases
    assert await leases.identify(0, START, GAP) == 0.0
    assert await leases.identify(0, START + 2 * SECOND, GAP) == 3.0
    assert await leases.identify(1, START + 2 * SECOND, GAP) == 0.0
    assert await leases.identify(0, START + GAP, GAP) == 0.0
    assert await leases.identify(0, START - timedelta(days=1), GAP) == GAP.total_seconds()


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
    count = await leases.agree(5, now, exactly=True)
    processes = [Process(str(number), leases) for number in range(3)]
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
                count = await leases.agree(3 + seconds, now, exactly=True)
                for one in processes:  # another count makes other shards of them
                    await one.look_and_give_back(now)
        listening = [shard for one in processes for shard in one.listens(now)]
        assert len(listening) == len(set(listening))
    for _ in range(4):
        now += 3 * SECOND
        for process in processes:
            await process.look_and_give_back(now)
    assert sorted(shard for one in processes for shard in one.listens(now)) == [*range(count)]
    assert max(len(one.held) for one in processes) - min(len(one.held) for one in processes) <= 1


def _number(shard: HeldShard) -> int:
    return shard.number
