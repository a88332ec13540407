"""The contract of the port WorkingSet: scratch values of one conversation, for a while (seed 003, layer 3)."""

from dataclasses import replace
from datetime import datetime, timedelta

import pytest

from agent.errors import StoreError
from agent.memory.audience import GroupAudience, Place
from agent.memory.layers import WorkingItem
from store.engine import Store
from store.working_sets import MOST_ITEMS
from tests.contracts.steps import answered, proved, same_on_postgresql
from tests.fakes.incoming import START, said
from tests.fakes.plans import one_thread

DM = "person:ann"
DAY = timedelta(days=1)


async def kept(
    store: Store, conversation: str = "thread", *, now: datetime = START, place: Place | None = None
) -> list[tuple[str, str]]:
    """What a turn that begins now would be given."""
    asked = said("and now?", conversation=conversation, place=place, number=99)
    asked = replace(asked, time=now)
    known = await store.knowledge.for_turn(asked, frozenset({DM}), before_turn=10**6, messages=9, actions=3)
    return [(item.key, item.value) for item in known.working_set]


def item(key: str, value: str, message: int, *, minutes: int = 0) -> WorkingItem:
    at = START + timedelta(minutes=minutes)
    return WorkingItem(key, value, at, at + DAY, message)


async def test_a_value_is_kept_for_its_conversation_until_it_expires_or_a_newer_one_of_its_key_comes(
    store: Store,
) -> None:
    claim = await answered(store, said("we go by train"), "fine")
    await store.working_set.store_item("thread", DM, item("route", "by train", claim.message))
    await store.working_set.store_item("thread", DM, item("days", "2", claim.message, minutes=1))
    assert await kept(store) == [("route", "by train"), ("days", "2")]
    assert await kept(store, "another") == []
    await store.working_set.store_item("thread", DM, item("route", "by boat", claim.message, minutes=2))
    assert await kept(store) == [("days", "2"), ("route", "by boat")]
    assert await kept(store, now=START + DAY + timedelta(minutes=1)) == [("route", "by boat")]
    assert await kept(store, now=START + DAY * 2) == []


async def test_the_oldest_make_room(store: Store) -> None:
    claim = await answered(store, said("many"), "fine")
    for number in range(MOST_ITEMS + 3):
        await store.working_set.store_item("thread", DM, item(f"key {number}", "x", claim.message, minutes=number))
    assert [key for key, _ in await kept(store)] == [f"key {number}" for number in range(3, MOST_ITEMS + 3)]


@same_on_postgresql
async def test_what_belongs_to_other_readers_is_not_read(store: Store) -> None:
    claim = await answered(store, said("we go by train", place=Place(GroupAudience("club"))), "fine")
    await store.working_set.store_item("thread", "group:club", item("route", "by train", claim.message))
    assert await kept(store) == []


async def test_it_falls_with_its_message(store: Store) -> None:
    claim = await answered(store, said("we go by train"), "fine")
    await store.working_set.store_item("thread", DM, item("route", "by train", claim.message))
    assert proved(await store.forgetting.forget(one_thread("ann", "thread"), START))
    assert await kept(store) == []
    with pytest.raises(StoreError, match="forgotten or deleted"):
        await store.working_set.store_item("thread", DM, item("route", "by train", claim.message))
