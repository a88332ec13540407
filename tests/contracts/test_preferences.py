"""The contract of the port Preferences: the last choice stands, each owner's by itself, and forgetting takes it."""

import asyncio

from agent.memory.forgetting_plans import Everything
from store.engine import Store
from tests.contracts.steps import answered, same_on_postgresql
from tests.fakes.incoming import START, said
from tests.fakes.plans import one_thread


@same_on_postgresql
async def test_the_last_choice_of_a_name_stands(store: Store) -> None:
    await store.preferences.set("ann", "model", "ollama:small")
    await store.preferences.set("ann", "model", "ollama:large")
    await store.preferences.set("ann", "depth", "deep")
    assert await store.preferences.all_of("ann") == {"depth": "deep", "model": "ollama:large"}


@same_on_postgresql
async def test_owners_choose_by_themselves(store: Store) -> None:
    await store.preferences.set("ann", "model", "ollama:small")
    await store.preferences.set("channel:C1", "model", "ollama:large")
    assert await store.preferences.all_of("channel:C1") == {"model": "ollama:large"}
    assert await store.preferences.all_of("ben") == {}


async def test_a_choice_can_be_taken_back(store: Store) -> None:
    await store.preferences.set("ann", "model", "ollama:small")
    await store.preferences.set("ann", "model", None)
    await store.preferences.set("ann", "depth", None)
    assert await store.preferences.all_of("ann") == {}


@same_on_postgresql
async def test_any_text_can_be_chosen(store: Store) -> None:
    value = "東京'; DROP TABLE preference; --"
    await store.preferences.set("ann", "model", value)
    assert await store.preferences.all_of("ann") == {"model": value}


async def test_a_block_reads_its_owners_once_until_it_changes_something_or_ends(store: Store) -> None:
    await store.preferences.set("ann", "model", "small")
    with store.preferences.together("ann", "channel:C1"):
        other = asyncio.create_task(_model_of(store, "ann", wait := asyncio.Event()))
        assert await _model_of(store, "ann") == "small"
        assert await store.preferences.all_of("channel:C1") == {}
        assert await store.preferences.all_of("ben") == {}, "the others are read by themselves"
        await store.preferences.set("channel:C1", "model", "large")
        assert await _model_of(store, "channel:C1") == "large"
    await store.preferences.set("ann", "model", "large")
    wait.set()
    assert await other == "large", "a task that outlives the block reads anew"
    assert await _model_of(store, "ann") == "large"


async def test_what_changes_elsewhere_meanwhile_is_seen_after_the_block(store: Store) -> None:
    begun, changed = asyncio.Event(), asyncio.Event()

    async def change() -> None:
        await begun.wait()
        await store.preferences.set("ann", "model", "large")
        changed.set()

    other = asyncio.create_task(change())
    with store.preferences.together("ann") as read:
        assert await _model_of(store, "ann") is None
        begun.set()
        await changed.wait()
        assert await _model_of(store, "ann") is None
        read.end()
        assert await _model_of(store, "ann") == "large"
    await other


async def _model_of(store: Store, owner: str, wait: asyncio.Event | None = None) -> str | None:
    if wait is not None:
        await wait.wait()
    return (await store.preferences.all_of(owner)).get("model")


async def test_forgetting_everything_takes_the_persons_choices_and_leaves_the_others(store: Store) -> None:
    await answered(store, said("hello"), "hi")
    for owner in ("ann", "ben", "channel:ann"):
        await store.preferences.set(owner, "model", "ollama:small")
    await store.forgetting.forget(one_thread("ann", "thread"), START)
    assert await store.preferences.all_of("ann") == {"model": "ollama:small"}
    receipt = await store.forgetting.forget(Everything("ann"), START)
    assert receipt.erased["preferences"] == 1
    assert await store.preferences.all_of("ann") == {}
    assert await store.preferences.all_of("ben") == {"model": "ollama:small"}
    assert await store.preferences.all_of("channel:ann") == {"model": "ollama:small"}
