"""What a person decides about what is known of them, on every store: deleted, opened to all replies, passed over."""

import asyncio
from dataclasses import replace
from datetime import timedelta

import pytest

from agent.events import Outcome
from agent.memory.forgetting_plans import PAUSED, EntriesPlan, Everything, OneThread
from agent.memory.profile import Partition, opened, stated
from agent.turn_records import Closing
from store.engine import Store
from tests.contracts.steps import claimed, in_memory_too, same_on_postgresql
from tests.contracts.test_profiles import CLUB, DM, F, heard, insight, learn, texts
from tests.fakes.facts import remember
from tests.fakes.incoming import START, said
from tests.fakes.plans import one_thread

TEAM = "team:T"
LATER = START + timedelta(days=1)


async def test_a_deleted_entry_is_gone_and_what_it_came_from_teaches_no_more(store: Store) -> None:
    first, second = await heard(store, said("I row")), await heard(store, said("I row and sail", conversation="b"))
    row, sail = (await learn(store, DM, insight("rows", first, second), insight("sails", second))).entries
    receipt = await store.forgetting.forget_entries(EntriesPlan("ann", frozenset({row.id})), LATER)
    assert (receipt.erased["profile"], receipt.found_again) == (1, 0)
    assert [one.id for one in await store.profiles.all_entries("ann", frozenset({DM.audience}))] == [sail.id]
    await store.forgetting.forget(one_thread("ann", "thread"), LATER)
    assert await store.profiles.unlearned(DM, 9) == []


async def test_what_an_entry_came_from_is_learned_again_only_until_one_is_deleted(store: Store) -> None:
    first, second = await heard(store, said("I row")), await heard(store, said("and I sail", conversation="b"))
    entries = (await learn(store, DM, insight("rows and sails", first, second), insight("sails", second))).entries
    await store.forgetting.forget_entries(EntriesPlan("ann", frozenset({entries[1].id})), LATER)
    await store.forgetting.forget(one_thread("ann", "thread"), LATER)
    assert await texts(store, DM.audience) == []
    assert await store.profiles.unlearned(DM, 9) == []


async def test_nobody_deletes_what_is_known_of_another(store: Store) -> None:
    source = await heard(store, said("I row"))
    (entry,) = (await learn(store, DM, insight("rows", source))).entries
    fact = await remember(store.facts, "ann", "The boat is blue.", DM.audience, START)
    plan = EntriesPlan("ben", frozenset({entry.id}), frozenset({fact.id}))
    receipt = await store.forgetting.forget_entries(plan, LATER)
    assert (receipt.erased["profile"], receipt.erased["facts"]) == (0, 0)
    assert await texts(store, DM.audience) == ["rows"]
    assert len(await store.facts.readable("ann", frozenset({DM.audience}))) == 1


async def test_whoever_learns_while_an_entry_is_deleted_begins_anew(store: Store) -> None:
    source = await heard(store, said("I row"))
    before = await learn(store, DM, insight("rows", source))
    await store.forgetting.forget_entries(EntriesPlan("ann", frozenset({before.entries[0].id})), LATER)
    assert not await store.profiles.save(DM, before)
    assert await texts(store, DM.audience) == []


async def test_a_deleted_fact_takes_what_was_derived_from_it_along(store: Store) -> None:
    source = await heard(store, said("the boat is blue"))
    boat = await remember(store.facts, "ann", "The boat is blue.", DM.audience, START, source)
    tea = await remember(store.facts, "ann", "likes tea", DM.audience, START)
    receipt = await store.forgetting.forget_entries(EntriesPlan("ann", facts=frozenset({boat.id})), LATER)
    assert (receipt.erased["facts"], receipt.found_again) == (1, 0)
    assert await store.facts.readable("ann", frozenset({DM.audience})) == [tea]


@same_on_postgresql
async def test_the_persons_own_words_stand_without_a_source_and_are_listed_with_the_rest(store: Store) -> None:
    source = await heard(store, said("I row"))
    (entry,) = (await learn(store, DM, insight("rows", source))).entries
    own = replace(entry, id=0, text="dives", sources=(), time=LATER)
    assert await store.profiles.save(DM, stated(await store.profiles.get(DM), own, LATER))
    known = await store.profiles.all_entries("ann", frozenset({DM.audience}))
    assert [(one.text, one.sources, one.permalink is None) for one in known] == [
        ("rows", (source,), False),
        ("dives", (), True),
    ]


async def test_an_opened_entry_is_read_in_all_replies_to_its_person_and_in_nobody_elses(store: Store) -> None:
    source = await heard(store, said("I row"))
    (entry,) = (await learn(store, DM, insight("rows", source))).entries
    assert await store.profiles.save(DM, opened(await store.profiles.get(DM), entry.id, everywhere=True))
    assert await texts(store, TEAM) == ["rows"]
    assert (await store.profiles.readable("ben", frozenset({TEAM, "person:ben"}))).entries == ()
    assert (await store.profiles.get(Partition("ann", TEAM))).entries == ()
    assert await store.profiles.save(DM, opened(await store.profiles.get(DM), entry.id, everywhere=False))
    assert await texts(store, TEAM) == []


async def test_an_opened_fact_is_read_in_all_replies_to_its_person_and_in_nobody_elses(store: Store) -> None:
    fact = await remember(store.facts, "ann", "The boat is blue.", DM.audience, START)
    assert not await store.facts.open("ben", fact.id, everywhere=True)
    assert await store.facts.open("ann", fact.id, everywhere=True)
    assert [one.value for one in await store.facts.readable("ann", frozenset({TEAM}))] == ["The boat is blue."]
    assert await store.facts.readable("ben", frozenset({TEAM, "person:ben"})) == []
    assert await store.facts.open("ann", fact.id, everywhere=False)
    assert await store.facts.readable("ann", frozenset({TEAM})) == []


async def test_messages_are_passed_over_by_person_by_channel_or_by_both(store: Store) -> None:
    async def ask(text: str, person: str, channel: str) -> None:
        await heard(store, replace(said(text, person=person, conversation=channel, place=CLUB), channel=channel))

    for person in ("ann", "ben"):
        for channel in ("C1", "C2"):
            await ask(f"{person} in {channel}", person, channel)

    async def waiting() -> list[str]:
        partitions = [Partition(person, "group:club") for person in ("ann", "ben")]
        return [one.text for each in partitions for one in await store.profiles.unlearned(each, 9)]

    assert await store.profiles.skip_learning(person="ann", channel="C1") == 1
    assert await waiting() == ["ann in C2", "ben in C1", "ben in C2"]
    assert await store.profiles.skip_learning(channel="C2") == 2
    assert await waiting() == ["ben in C1"]
    assert await store.profiles.skip_learning(person="ben") == 1
    assert await waiting() == []


async def test_what_was_answered_in_a_pause_is_not_learned_from_when_it_is_edited(
    store: Store,
) -> None:
    await store.ledger.accept(replace(said("I row"), channel="C1", message_id="1"))
    await store.ledger.finish(await claimed(store), Closing(Outcome.ANSWERED, "ok", excluded_from_learning=True), START)
    assert await store.forgetting.update_text("test", "C1", "1", "I sail", LATER, LATER)
    assert await store.profiles.unlearned(DM, 9) == []


async def test_a_pause_of_learning_outlives_the_forgetting_of_everything_else(store: Store) -> None:
    await heard(store, said("I row"))
    await store.preferences.set("ann", "learning in club", PAUSED)
    await store.preferences.set("ann", "model", "terra")
    receipt = await store.forgetting.forget(Everything("ann"), LATER)
    assert receipt.erased["preferences"] == 1
    assert await store.preferences.all_of("ann") == {"learning in club": PAUSED}


@in_memory_too
async def test_of_many_who_change_a_choice_at_once_one_does(store: Store) -> None:
    assert await store.preferences.swap("ann", "told", None, "1")
    assert not await store.preferences.swap("ann", "told", None, "2")
    assert await store.preferences.swap("ben", "told", None, "2")
    tried = [store.preferences.swap("cleo", "told", None, str(number)) for number in range(10)]
    assert sum(await asyncio.gather(*tried)) == 1
    assert await store.preferences.all_of("ann") == {"told": "1"}
    assert not await store.preferences.swap("ann", "told", "2", "3")
    assert await store.preferences.swap("ann", "told", "1", "3")
    assert await store.preferences.all_of("ann") == {"told": "3"}


@same_on_postgresql
async def test_entries_of_all_fields_can_be_opened_and_kept(store: Store) -> None:
    source = await heard(store, said("My editor is Vim"))
    vim = insight("Vim", source, field=F.PREFERENCES, key="editor")
    (entry,) = (await learn(store, DM, vim)).entries
    await store.profiles.save(DM, opened(await store.profiles.get(DM), entry.id, everywhere=True))
    (kept,) = (await store.profiles.get(DM)).entries
    assert kept == replace(entry, everywhere=True)


async def test_what_was_deleted_is_nowhere_and_comes_back_as_it_was(store: Store) -> None:
    source, own = await heard(store, said("I row")), frozenset({DM.audience})
    before = await learn(store, DM, insight("rows", source))
    boat = await remember(store.facts, "ann", "The boat is blue.", DM.audience, START, source)
    plan = EntriesPlan("ann", frozenset({before.entries[0].id}), frozenset({boat.id}))
    receipt = await store.forgetting.delete_entries(plan, "f:1", LATER)
    assert (receipt.erased["profile"], receipt.erased["facts"], receipt.found_again) == (1, 1, 0)
    assert await store.facts.readable("ann", own) == []
    assert await store.profiles.all_entries("ann", own) == []
    assert not await store.profiles.save(DM, before), "whoever learns just now begins anew"
    assert await store.forgetting.undo("ben") is None
    assert await store.forgetting.undo("ben", "f:1") is None
    assert await store.forgetting.undo("ann", "f:2") is None
    assert await store.forgetting.undo("ann") == "f:1"
    assert await store.facts.readable("ann", own) == [boat]
    assert await texts(store, DM.audience) == ["rows"]
    assert await store.forgetting.undo("ann") is None


async def test_what_was_wiped_does_not_come_back(store: Store) -> None:
    boat = await remember(store.facts, "ann", "The boat is blue.", DM.audience, START)
    await store.forgetting.delete_entries(EntriesPlan("ann", facts=frozenset({boat.id})), "f:1", LATER)
    assert await store.forgetting.wipe("f:1")
    assert await store.forgetting.undo("ann", "f:1") is None
    assert await store.facts.readable("ann", frozenset({DM.audience})) == []


async def test_what_was_deleted_last_comes_back_first(store: Store) -> None:
    kept = [await remember(store.facts, "ann", text, DM.audience, START) for text in ("tea", "boats", "rain")]
    for number, one in enumerate(kept):
        await store.forgetting.delete_entries(EntriesPlan("ann", facts=frozenset({one.id})), f"f:{number}", LATER)
    assert [await store.forgetting.undo("ann") for _ in range(4)] == ["f:2", "f:1", "f:0", None]
    assert await store.facts.readable("ann", frozenset({DM.audience})) == kept


@pytest.mark.parametrize("plan", [Everything("ann"), one_thread("ann", "thread")])
async def test_what_is_forgotten_meanwhile_does_not_come_back(store: Store, plan: Everything | OneThread) -> None:
    source = await heard(store, said("The boat is turquoise."))
    boat = await remember(store.facts, "ann", "turquoise boat", DM.audience, START, source)
    await store.forgetting.delete_entries(EntriesPlan("ann", facts=frozenset({boat.id})), "f:1", LATER)
    receipt = await store.forgetting.forget(plan, LATER)
    assert receipt.found_again == 0
    assert await store.forgetting.undo("ann") is None
    assert await store.facts.readable("ann", frozenset({DM.audience})) == []
