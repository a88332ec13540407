"""The contract of the port SharedRates: what people may do, and calls to a platform, counted by all processes."""

import asyncio
from collections import deque
from datetime import datetime, timedelta

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import Connection, select

from agent.admission_terms import Rate, RateReached, Whose
from agent.ports.shared_rates import CallRate, CallsAsked
from store.engine import Store
from store.shared_rates import shared_rate
from tests.contracts.steps import in_memory_too
from tests.examples import examples
from tests.fakes.incoming import START

SECOND, MINUTE = timedelta(seconds=1), timedelta(minutes=1)
PERSON, CHANNEL = Rate(Whose.PERSON, 3, MINUTE), Rate(Whose.CHANNEL, 4, MINUTE)
ALL = Rate(Whose.EVERYONE, 5, timedelta(hours=1))
EDITS, MANY = CallRate(3, MINUTE), CallRate(10, MINUTE)


async def test_one_more_than_a_rate_allows_is_free_when_the_first_lies_a_minute_behind(store: Store) -> None:
    async def order(now: datetime, person: str = "ann", channel: str = "C1") -> RateReached | None:
        return await store.shared_rates.count("first", [PERSON, CHANNEL], person, channel, now)

    assert [await order(START + number * SECOND) for number in range(3)] == [None] * 3
    reached = await order(START + 10 * SECOND)
    assert reached == RateReached(PERSON, START + MINUTE + SECOND)
    assert await order(START + 13 * SECOND, "ben", "C2") is None
    assert await order(START + 14 * SECOND, "ben") is None
    assert await order(START + 14 * SECOND, "cat") == RateReached(CHANNEL, START + MINUTE + SECOND)
    assert await order(START + MINUTE + SECOND) is None


async def test_what_is_refused_for_one_rate_counts_for_none(store: Store) -> None:
    rates = store.shared_rates
    for _ in range(5):
        await rates.count("second", [PERSON, CHANNEL], "ann", "C1", START)
    assert await rates.count("second", [PERSON, CHANNEL], "ben", "C1", START) is None
    assert await rates.count("other", [PERSON, CHANNEL], "ann", "C1", START) is None


@in_memory_too
async def test_of_many_at_the_same_moment_as_many_as_the_rate_allows_are_let_in(store: Store) -> None:
    rates = [PERSON, CHANNEL, ALL]
    orders = (
        store.shared_rates.count("third", rates, f"p{number % 4}", f"C{number % 3}", START) for number in range(12)
    )
    assert [*await asyncio.gather(*orders)].count(None) == 5


async def test_calls_are_counted_for_all_processes_and_tell_who_else_wants_some(store: Store) -> None:
    async def call(owner: str, now: datetime, asking: int = 1) -> tuple[int, float, int, int]:
        took = await store.shared_rates.take("update", EDITS, CallsAsked(owner, asking=asking), now)
        return took.calls, took.wait_s, took.made, took.asking

    assert await call("one", START, 2) == (1, 0.0, 1, 0)
    assert await call("two", START) == (1, 0.0, 2, 2)
    assert await call("one", START + SECOND) == (1, 0.0, 3, 1)
    assert await call("two", START + 2 * SECOND) == (0, 59.0, 3, 1)
    assert await call("two", START + 61 * SECOND) == (1, 0.0, 2, 0), "a process that is gone wants nothing any more"
    await store.shared_rates.hold("update", START + 70 * SECOND)
    assert (await call("one", START + 65 * SECOND))[:2] == (0, 5.0)


async def test_several_calls_are_taken_at_once_and_what_was_made_before_counts_too(store: Store) -> None:
    async def calls(owner: str, calls: int, now: datetime, made: int = 0) -> tuple[int, int]:
        took = await store.shared_rates.take("several", MANY, CallsAsked(owner, calls, made=made), now)
        return took.calls, took.made

    assert await calls("one", 4, START) == (4, 4)
    assert await calls("two", 4, START, made=3) == (4, 11), "nobody knew of them when they were made"
    assert await calls("one", 4, START + SECOND) == (0, 11)
    assert await calls("one", 20, START + 62 * SECOND) == (10, 10)


async def test_processes_learn_of_each_other_until_one_says_nothing_any_more(store: Store) -> None:
    async def others(owner: str, now: datetime) -> int:
        return await store.shared_rates.others(owner, now, MINUTE)

    assert await others("one", START) == 0
    assert await others("two", START + SECOND) == 1
    assert await others("one", START + 2 * SECOND) == 1
    assert await others("one", START + 61 * SECOND) == 0
    assert await others("one", START + timedelta(days=1)) == 0


async def test_places_in_a_queue_follow_one_another_whoever_books_them(store: Store) -> None:
    async def place(now: datetime) -> float:
        return (await store.shared_rates.book("history", 2 * SECOND, now)).total_seconds()

    assert [await place(START), await place(START), await place(START + SECOND)] == [0.0, 2.0, 3.0]
    assert await place(START + MINUTE) == 0.0
    await store.shared_rates.hold("history", START + 80 * SECOND)
    assert await place(START + 70 * SECOND) == 10.0
    await store.shared_rates.hold("history", START)
    assert await place(START + 70 * SECOND) == 12.0


async def test_no_person_or_place_is_named_and_what_counts_no_longer_goes(store: Store) -> None:
    for number in range(5):
        await store.shared_rates.count("fourth", [PERSON], f"ann-{number}", "C1", START)
    await store.shared_rates.count("fourth", [PERSON], "ben", "C1", START + timedelta(hours=3))

    def rows(connection: Connection) -> list[tuple[str, str]]:
        return [(row.name, row.made) for row in connection.execute(select(shared_rate))]

    kept = await store.database.read(rows)
    assert len(kept) == 1
    assert "ann" not in str(kept)
    assert "ben" not in str(kept)


_DOES = st.lists(st.tuples(st.integers(0, 1), st.sampled_from([0.0, 0.1, 0.9, 5.0, 20.0, 59.0, 61.0])), max_size=25)


@given(_DOES, st.integers(1, 4))
@settings(max_examples=examples(8), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
async def test_two_processes_together_never_exceed_a_rate_and_lose_at_most_a_moment_of_it(
    store: Store, does: list[tuple[int, float]], limit: int
) -> None:
    now, made = START, deque[datetime]()
    name = f"{does} {limit}"
    for process, later in does:
        now += timedelta(seconds=later)
        took = await store.shared_rates.take(name, CallRate(limit, MINUTE), CallsAsked(f"{process}"), now)
        lately = [at for at in made if now - at < MINUTE]
        if took.wait_s == 0.0:
            made.append(now)
            assert len(lately) < limit
        else:
            assert len([at for at in made if now - at <= MINUTE + SECOND]) >= limit
