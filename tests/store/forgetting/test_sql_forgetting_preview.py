"""Before much is forgotten: nobody else waits for it to be found, it can be stopped, and it says how far it is."""

import asyncio
import threading
from collections.abc import Callable

import pytest
from sqlalchemy import Connection

from agent.errors import StoreError
from agent.memory.forgetting_plans import AboutTopic, Everything, Preview
from store.engine import Store
from store.forgetting.selection import values_in
from store.message_tables import message
from tests.contracts.steps import answered
from tests.fakes.incoming import said
from tests.patience import PATIENCE_S

BOATS = AboutTopic("ann", "boat")


class Stopped(Exception):
    """Its person wants nothing looked for any more."""


async def test_what_falls_is_looked_for_off_the_event_loop_and_said_as_it_is_found(either: Store) -> None:
    for _ in range(3):
        await answered(either, said("a boat"), "noted")
    told: list[tuple[int, int]] = []
    shown = await either.forgetting.preview(BOATS, lambda found: told.append((threading.get_ident(), found)))
    assert [found for _, found in told][:2] == [3, 6]
    assert threading.get_ident() not in {thread for thread, _ in told}
    assert shown == await either.forgetting.preview(BOATS)


async def test_everything_is_found_as_its_parts_are(either: Store) -> None:
    for number in range(3):
        await answered(either, said("a boat", conversation=f"thread {number}"), "noted")
    told: list[int] = []
    shown = await either.forgetting.preview(Everything("ann"), told.append)
    assert (shown.counts["messages"], shown.counts["conversations"], told[0]) == (6, 3, 6)


async def test_what_a_watch_raises_ends_the_search_and_the_next_one_works(either: Store) -> None:
    await answered(either, said("a boat"), "noted")

    def stop(_: int) -> None:
        raise Stopped

    with pytest.raises(Stopped):
        await either.forgetting.preview(BOATS, stop)
    assert (await either.forgetting.preview(BOATS)).counts["messages"] == 2


async def test_what_is_erased_alone_is_erased_off_the_event_loop(either: Store) -> None:
    assert await either.database.write_alone(lambda _: threading.get_ident()) != threading.get_ident()


def held() -> tuple[asyncio.Event, threading.Event, Callable[[int], None]]:
    """A watch that stops the search: set once it looks, and what lets it go on."""
    looks, go_on = asyncio.Event(), threading.Event()
    loop = asyncio.get_running_loop()

    def wait(_: int) -> None:
        loop.call_soon_threadsafe(looks.set)
        assert go_on.wait(PATIENCE_S)

    return looks, go_on, wait


async def test_others_read_and_write_while_somebody_looks_through_much(either: Store) -> None:
    await answered(either, said("a boat"), "noted")
    looks, go_on, wait = held()
    async with asyncio.timeout(PATIENCE_S):
        looking = asyncio.ensure_future(either.forgetting.preview(BOATS, wait))
        await looks.wait()
        await answered(either, said("hello", person="bo", conversation="elsewhere"), "hi")
        assert not looking.done()
        go_on.set()
        assert (await looking).counts["messages"] == 2


async def test_a_store_that_is_closed_waits_for_what_is_looked_for(either: Store) -> None:
    await answered(either, said("a boat"), "noted")
    looks, go_on, wait = held()
    async with asyncio.timeout(PATIENCE_S):
        looking: asyncio.Future[Preview] = asyncio.ensure_future(either.forgetting.preview(BOATS, wait))
        await looks.wait()
        closing = asyncio.ensure_future(either.database.close())
        await asyncio.sleep(0)
        go_on.set()
        await closing
        assert (await looking).counts["messages"] == 2
        with pytest.raises(StoreError):
            await either.forgetting.preview(BOATS)


async def test_any_names_can_be_looked_for_at_once(either: Store) -> None:
    """NUL and half of a pair of surrogates are nothing that a database takes."""
    names = {"plain", 'quo"ted\\', "東京"}
    for name in sorted(names):
        await answered(either, said("a boat", conversation=name), "noted")

    def found(connection: Connection, wanted: set[str]) -> int:
        return len(set(values_in(connection, message.c.id, message.c.conversation, wanted)))

    assert await either.database.read(found, {*names, "nul\0", "half \ud800"}) == 2 * len(names)
    assert await either.database.read(found, {"plain", "other"}) == 2
