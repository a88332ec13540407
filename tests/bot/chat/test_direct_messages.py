"""Conversations in direct messages: one lasts until a command or a long silence ends it."""

from datetime import timedelta

from bot.chat.direct_messages import RollingConversations
from tests.fakes.incoming import said
from tests.fakes.store import StoreInMemory, store_in_memory

IDLE = timedelta(hours=1)


def rolling(store: StoreInMemory) -> RollingConversations:
    return RollingConversations(store.conversations, store.preferences)


async def test_the_first_conversation_is_the_channels_own() -> None:
    store, first = store_in_memory(), said("where is my boat?", conversation="dm")
    assert await rolling(store).conversation_of("dm", "m1", first.time, IDLE) == "dm"


async def test_it_lasts_as_long_as_people_write() -> None:
    store, first = store_in_memory(), said("where is my boat?", conversation="dm")
    await store.ledger.accept(first)
    assert await rolling(store).conversation_of("dm", "m2", first.time + IDLE, IDLE) == "dm"


async def test_after_a_long_silence_a_message_begins_a_new_one() -> None:
    store, first = store_in_memory(), said("where is my boat?", conversation="dm")
    await store.ledger.accept(first)
    later = first.time + IDLE + timedelta(seconds=1)
    assert await rolling(store).conversation_of("dm", "m2", later, IDLE) == "dm:m2"
    assert await rolling(store).conversation_of("dm", "m3", later + IDLE, IDLE) == "dm:m2"
    assert await rolling(store).current("dm") == "dm:m2"


async def test_a_command_begins_a_new_one_at_once() -> None:
    store, first = store_in_memory(), said("where is my boat?", conversation="dm")
    await store.ledger.accept(first)
    assert await rolling(store).begin("dm", "new") == "dm:new"
    assert await rolling(store).conversation_of("dm", "m2", first.time, IDLE) == "dm:new"


async def test_direct_messages_are_independent_of_each_other() -> None:
    store = store_in_memory()
    await rolling(store).begin("dm", "new")
    assert await rolling(store).current("another dm") == "another dm"
