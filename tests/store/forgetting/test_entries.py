"""A single thing that was known, once it is deleted: gone from tables and bytes, with what was made of it."""

from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from agent.errors import StoreError
from agent.events import Outcome
from agent.memory.forgetting_plans import EntriesPlan
from agent.memory.layers import WorkingItem
from agent.memory.profile import Insight, Partition, ProfileField, learned
from agent.memory.writing import NewFact, Refusal, WriteRefused, Written
from agent.state import SituationSummary
from agent.turn_records import Closing
from store.engine import Store, open_store
from tests.contracts.steps import claimed, proved, summary_of
from tests.fakes.facts import remember
from tests.fakes.incoming import START, said
from tests.fakes.new_database import new_database, open_new

DM = Partition("ann", "person:ann")
SECRET = "collects vermilion harmoniums in Antananarivo"


async def test_no_byte_of_a_deleted_entry_or_fact_stays_in_file_or_log(tmp_path: Path) -> None:
    store = await open_store(await new_database(tmp_path / "bot.db"))
    try:
        await store.ledger.accept(said("What do I collect?"))
        claim = await claimed(store)
        insight = Insight(ProfileField.INTERESTS, SECRET, (claim.message,), START)
        profile = learned(await store.profiles.get(DM), DM.audience, [insight], 1, START)
        assert await store.profiles.save(DM, profile)
        fact = await remember(store.facts, "ann", f"Ann {SECRET}.", DM.audience, START)
        summary = SituationSummary(goal=f"Help someone who {SECRET}")
        await store.ledger.finish(claim, Closing(Outcome.ANSWERED, "Things.", summary=summary), START)
        (entry,) = (await store.profiles.get(DM)).entries
        assert b"harmoniums" in held(tmp_path)
        plan = EntriesPlan("ann", frozenset({entry.id}), frozenset({fact.id}))
        receipt = await store.forgetting.forget_entries(plan, START)
        assert proved(receipt)
        assert receipt.erased == {"profile": 1, "facts": 1, "summaries": 1, "actions": 0}
        assert b"harmoniums" not in held(tmp_path)
        assert await summary_of(store, "thread") == SituationSummary()
    finally:
        await store.close()


async def test_what_the_person_wrote_stays_where_an_entry_repeats_it(tmp_path: Path) -> None:
    store = await open_store(await new_database(tmp_path / "bot.db"))
    try:
        asked = replace(said(SECRET), conversation="thread")
        await store.ledger.accept(asked)
        claim = await claimed(store)
        fact = await remember(store.facts, "ann", SECRET, DM.audience, START, claim.message)
        await store.ledger.finish(claim, Closing(Outcome.ANSWERED, "Noted."), START)
        receipt = await store.forgetting.forget_entries(EntriesPlan("ann", facts=frozenset({fact.id})), START)
        assert proved(receipt)
        assert await store.conversations.questions("ann", limit=9) == [SECRET]
    finally:
        await store.close()


def held(folder: Path) -> bytes:
    """Every byte that is on the disk."""
    return b"".join(path.read_bytes() for path in folder.iterdir())


async def test_what_was_taken_back_is_kept_again_of_no_repeat_of_its_message_and_of_any_other() -> None:
    store = await open_new()
    try:
        first = await asked(store, "7")
        before = await asked(store, "again:7:1")
        fact = await remember(store.facts, "ann", SECRET, DM.audience, START, first)
        await store.forgetting.forget_entries(EntriesPlan("ann", facts=frozenset({fact.id})), START)
        after = await asked(store, "again:7:2")
        for message in (first, before, after):
            assert await store.facts.write(said_in(message)) == WriteRefused(Refusal.TAKEN_BACK)
            scratch = WorkingItem("music", SECRET, START, START + timedelta(days=1), message)
            with pytest.raises(StoreError, match="deleted"):
                await store.working_set.store_item("thread", DM.audience, scratch)
        assert await store.profiles.unlearned(DM, 9) == []
        assert isinstance(await store.facts.write(said_in(await asked(store, "8"))), Written)
    finally:
        await store.close()


async def test_what_is_brought_back_may_be_kept_again() -> None:
    store = await open_new()
    try:
        first = await asked(store, "7")
        fact = await remember(store.facts, "ann", SECRET, DM.audience, START, first)
        plan = EntriesPlan("ann", facts=frozenset({fact.id}))
        await store.forgetting.delete_entries(plan, "key", START + timedelta(minutes=1))
        assert await store.facts.write(said_in(first)) == WriteRefused(Refusal.TAKEN_BACK)
        assert await store.forgetting.undo("ann", "key")
        assert isinstance(await store.facts.write(said_in(first)), Written)
    finally:
        await store.close()


async def asked(store: Store, message_id: str) -> int:
    """The message of a question that is answered, and may be learned from."""
    await store.ledger.accept(replace(said(SECRET), message_id=message_id, event_id=message_id))
    claim = await claimed(store)
    await store.ledger.finish(claim, Closing(Outcome.ANSWERED, "Noted.", learn_at=START), START)
    return claim.message


def said_in(message: int) -> NewFact:
    return NewFact(
        id="",
        key="",
        value=SECRET,
        source="user",
        timestamp=START,
        audience=DM.audience,
        person="ann",
        source_message=message,
    )
