"""Notifiers: a notification wakes whoever waits, here or in another process, and is kept while nobody waits."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from store.databases.database import LocalNotifier
from store.databases.postgresql import PostgresDatabase
from store.databases.shared_notifier import SharedNotifier
from tests.fakes.postgresql import PostgresServer, running_postgres
from tests.patience import PATIENCE_S

LONG_S = 30.0


@asynccontextmanager
async def notifiers(url: str, number: int = 2) -> AsyncGenerator[list[SharedNotifier]]:
    """Several processes' notifiers, each of them listening."""
    opened = [SharedNotifier(PostgresDatabase(url).connect) for _ in range(number)]
    try:
        async with asyncio.timeout(LONG_S):
            for notifier in opened:
                await notifier.wait(LONG_S)  # notifies itself once it listens
            yield opened
    finally:
        for notifier in opened:
            await notifier.close()


async def test_a_notification_is_kept_for_the_next_wait_and_only_for_that() -> None:
    notifier = LocalNotifier()
    notifier.notify()
    notifier.notify()
    assert notifier.is_notified
    async with asyncio.timeout(PATIENCE_S):
        await notifier.wait(LONG_S)
    assert not notifier.is_notified
    await notifier.wait(0.01)
    assert not notifier.is_notified


async def test_a_notification_wakes_a_wait_that_has_begun() -> None:
    notifier = LocalNotifier()
    waiting = asyncio.create_task(notifier.wait(LONG_S))
    await asyncio.sleep(0)
    notifier.notify()
    async with asyncio.timeout(PATIENCE_S):
        await waiting


async def test_a_notification_arrives_here_and_in_every_other_process(postgres: PostgresServer) -> None:
    async with notifiers(await postgres.empty(), 3) as [first, *others]:
        first.notify()
        async with asyncio.timeout(PATIENCE_S):
            await asyncio.gather(*(notifier.wait(LONG_S) for notifier in (first, *others)))


async def test_ones_own_notification_does_not_come_back(postgres: PostgresServer) -> None:
    async with notifiers(await postgres.empty(), 1) as [notifier]:
        notifier.notify()
        await notifier.wait(LONG_S)
        await postgres.execute("NOTIFY cogency", database="shared")
        await notifier.wait(LONG_S)  # the server tells in order: its own notification would have come before
        assert not notifier.is_notified


async def test_many_notifications_are_few_on_the_wire_and_the_last_arrives(postgres: PostgresServer) -> None:
    async with notifiers(await postgres.empty()) as (first, other):
        for _ in range(1_000):
            first.notify()
        async with asyncio.timeout(PATIENCE_S):
            await other.wait(LONG_S)


async def test_a_server_that_was_away_is_listened_to_again() -> None:
    with running_postgres() as server:
        async with notifiers(await server.empty()) as (first, other):
            server.kill()
            first.notify()
            await first.wait(0.1)
            server.start()
            async with asyncio.timeout(PATIENCE_S):
                await first.wait(LONG_S)  # each notifies itself once it listens again
                await other.wait(LONG_S)
                first.notify()
                await other.wait(LONG_S)


async def test_a_notifier_without_a_server_still_notifies_at_home() -> None:
    notifier = SharedNotifier(PostgresDatabase("postgresql://nobody:x@127.0.0.1:1/bot").connect)
    notifier.notify()
    async with asyncio.timeout(PATIENCE_S):
        await notifier.wait(LONG_S)
    await notifier.close()


async def test_what_is_told_reaches_who_listens_to_it_in_every_process_and_nobody_else(
    postgres: PostgresServer,
) -> None:
    async with notifiers(await postgres.empty()) as (first, other):
        heard = {name: asyncio.Event() for name in ("first", "other", "else")}
        first.listen("times", heard["first"].set)
        other.listen("times", heard["other"].set)
        other.listen("places", heard["else"].set)
        first.publish("times")
        async with asyncio.timeout(PATIENCE_S):
            await heard["first"].wait()
            await heard["other"].wait()
        assert not heard["else"].is_set()
