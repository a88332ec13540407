"""Bells: a ring wakes whoever waits, here or in another process, and is kept while nobody waits."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from store.databases.database import LocalBell
from store.databases.postgresql import PostgresDatabase, SharedBell
from tests.fakes.postgresql import PostgresServer, running_postgres
from tests.patience import PATIENCE_S

LONG_S = 30.0


@asynccontextmanager
async def bells(url: str, number: int = 2) -> AsyncGenerator[list[SharedBell]]:
    """Several processes' bells, each of them listening."""
    opened = [SharedBell(PostgresDatabase(url).connect) for _ in range(number)]
    try:
        async with asyncio.timeout(LONG_S):
            for bell in opened:
                await bell.wait(LONG_S)  # rings once it listens
            yield opened
    finally:
        for bell in opened:
            await bell.close()


async def test_a_ring_is_kept_for_the_next_wait_and_only_for_that() -> None:
    bell = LocalBell()
    bell.ring()
    bell.ring()
    assert bell.rung
    async with asyncio.timeout(PATIENCE_S):
        await bell.wait(LONG_S)
    assert not bell.rung
    await bell.wait(0.01)
    assert not bell.rung


async def test_a_ring_wakes_a_wait_that_has_begun() -> None:
    bell = LocalBell()
    waiting = asyncio.create_task(bell.wait(LONG_S))
    await asyncio.sleep(0)
    bell.ring()
    async with asyncio.timeout(PATIENCE_S):
        await waiting


async def test_a_ring_is_heard_here_and_in_every_other_process(postgres: PostgresServer) -> None:
    async with bells(await postgres.empty(), 3) as [first, *others]:
        first.ring()
        async with asyncio.timeout(PATIENCE_S):
            await asyncio.gather(*(bell.wait(LONG_S) for bell in (first, *others)))


async def test_ones_own_ring_does_not_come_back(postgres: PostgresServer) -> None:
    async with bells(await postgres.empty(), 1) as [bell]:
        bell.ring()
        await bell.wait(LONG_S)
        await postgres.execute("NOTIFY cogency", database="shared")
        await bell.wait(LONG_S)  # the server tells in order: its own ring would have come before
        assert not bell.rung


async def test_many_rings_are_few_notifications_and_the_last_is_heard(postgres: PostgresServer) -> None:
    async with bells(await postgres.empty()) as (first, other):
        for _ in range(1_000):
            first.ring()
        async with asyncio.timeout(PATIENCE_S):
            await other.wait(LONG_S)


async def test_a_server_that_was_away_is_listened_to_again() -> None:
    with running_postgres() as server:
        async with bells(await server.empty()) as (first, other):
            server.kill()
            first.ring()
            await first.wait(0.1)
            server.start()
            async with asyncio.timeout(PATIENCE_S):
                await first.wait(LONG_S)  # each rings once it listens again
                await other.wait(LONG_S)
                first.ring()
                await other.wait(LONG_S)


async def test_a_bell_without_a_server_still_rings_at_home() -> None:
    bell = SharedBell(PostgresDatabase("postgresql://nobody:x@127.0.0.1:1/bot").connect)
    bell.ring()
    async with asyncio.timeout(PATIENCE_S):
        await bell.wait(LONG_S)
    await bell.close()
