"""Who is signed in on the operators' page: a link opens one session, which ends by itself."""

from datetime import timedelta

from store.engine import Store
from store.operator_sessions import MAX_ROWS
from tests.fakes.incoming import START

LATER = START + timedelta(minutes=10)
EVENING = START + timedelta(hours=12)
LONG_AGO = START - timedelta(minutes=30)


async def test_a_link_opens_one_session_and_is_gone(either: Store) -> None:
    kept = either.operator_sessions
    await kept.offer("link", START, LATER)
    assert await kept.is_offered("link", START)
    assert await kept.open("link", "session", START, EVENING)
    assert not await kept.is_offered("link", START)
    assert not await kept.open("link", "another", START, EVENING)
    assert await kept.find("session", START, LONG_AGO) is not None
    assert await kept.find("another", START, LONG_AGO) is None


async def test_neither_is_taken_for_the_other(either: Store) -> None:
    kept = either.operator_sessions
    await kept.offer("link", START, LATER)
    assert await kept.find("link", START, LONG_AGO) is None
    assert await kept.open("link", "session", START, EVENING)
    assert not await kept.open("session", "another", START, EVENING)


async def test_a_link_expires(either: Store) -> None:
    kept = either.operator_sessions
    await kept.offer("link", START, LATER)
    assert not await kept.is_offered("link", LATER)
    assert not await kept.open("link", "session", LATER, EVENING)


async def test_a_session_ends_when_it_was_not_used_and_in_the_evening_whatever_is_done(either: Store) -> None:
    kept = either.operator_sessions
    await kept.offer("link", START, LATER)
    await kept.open("link", "session", START, EVENING)
    assert await kept.find("session", LATER, START) is None
    await kept.mark_used("session", LATER)
    assert await kept.find("session", LATER, START) is not None
    await kept.mark_used("session", EVENING)
    assert await kept.find("session", EVENING, START) is None


async def test_all_are_signed_out_and_links_are_gone_too(either: Store) -> None:
    kept = either.operator_sessions
    for name in ("a", "b"):
        await kept.offer(name, START, LATER)
        await kept.open(name, f"session {name}", START, EVENING)
    await kept.offer("c", START, LATER)
    assert len(await kept.listed(START, LONG_AGO)) == 2
    await kept.end("session a")
    assert len(await kept.listed(START, LONG_AGO)) == 1
    assert await kept.end_all() == 1
    assert await kept.listed(START, LONG_AGO) == []
    assert not await kept.is_offered("c", START)


async def test_there_are_so_many_links_and_sessions_at_most(either: Store) -> None:
    kept = either.operator_sessions
    times = [START + timedelta(seconds=second) for second in range(MAX_ROWS + 3)]
    for at in times:
        await kept.offer(f"{at:%M:%S}", at, EVENING)
    offered = [await kept.is_offered(f"{at:%M:%S}", START) for at in times]
    assert offered == [False] * 3 + [True] * MAX_ROWS
