"""The contract of the port Forgetting: what falls, what stays, and that it does not come back."""

from dataclasses import replace

import pytest

from agent.errors import LeaseLost, StoreError
from agent.events import Outcome
from agent.memory.audience import GroupAudience, Place
from agent.memory.forgetting_plans import AboutTopic, Everything
from agent.shown_replies import DELETE_REPLY, ShownPage, ShownReply
from agent.state import SituationSummary
from agent.turn_records import Claiming, Closing
from store.engine import Store
from tests.contracts.steps import answered, claimed, found, in_memory_too, proved, summary_of, texts_found
from tests.fakes.facts import remember
from tests.fakes.incoming import LEASE, START, said
from tests.fakes.operators import EITHER_WAY, Forget
from tests.fakes.plans import one_thread

CLUB = Place(GroupAudience("club"))


async def history(store: Store, conversation: str) -> list[str]:
    return [m.text for m in await store.conversations.history(conversation, before_turn=10**6, limit=99)]


@in_memory_too
async def test_forgetting_a_thread_leaves_the_other_threads(store: Store) -> None:
    await answered(store, said("my boat is blue", conversation="a"), "a blue boat")
    await answered(store, said("my boat is fast", conversation="b"), "a fast boat")
    receipt = await store.forgetting.forget(one_thread("ann", "a"), START)
    assert receipt.erased["messages"] == 2
    assert proved(receipt)
    assert await history(store, "a") == []
    assert [t.conversation for t in await store.conversations.threads("ann", limit=9)] == ["b"]
    assert set(await texts_found(store, "blue boat")) == {"my boat is fast", "a fast boat"}


@in_memory_too
@EITHER_WAY
async def test_forgetting_everything_leaves_nothing_of_the_person_and_all_of_the_others(
    store: Store, forget: Forget
) -> None:
    await answered(store, said("my boat", conversation="club", place=CLUB), "your boat")
    await answered(store, said("my train", conversation="dm"), "your train")
    await answered(store, said("ben's boat", person="ben", conversation="club", place=CLUB), "his boat")
    await remember(store.facts, "ann", "has a boat", "person:ann", START)
    kept = await remember(store.facts, "ben", "has a boat", "person:ben", START)
    receipt = await forget(store, "ann")
    assert (receipt.erased["messages"], receipt.erased["facts"], receipt.erased["turns"]) == (4, 1, 2)
    assert proved(receipt)
    assert await history(store, "club") == ["ben's boat", "his boat"]
    assert await store.conversations.threads("ann", limit=9) == []
    assert await store.conversations.questions("ann", limit=9) == []
    assert await store.facts.readable("ann", frozenset({"person:ann"})) == []
    assert await store.facts.readable("ben", frozenset({"person:ben"})) == [kept]
    assert await found(store, "boat train", place=CLUB) == []
    assert await found(store, "your boat", person="ben", place=CLUB, elsewhere="") != []
    assert {h.message.person for h in await found(store, "boat", person="ben", place=CLUB)} == {"ben"}


@in_memory_too
async def test_notes_fall_with_the_messages_they_came_from(store: Store) -> None:
    claim = await answered(store, said("remember: tea", conversation="a"), "noted")
    await remember(store.facts, "ann", "tea", "person:ann", START, claim.message)
    kept = await remember(store.facts, "ann", "coffee", "person:ann", START)
    receipt = await store.forgetting.forget(one_thread("ann", "a"), START)
    assert receipt.erased["facts"] == 1
    assert await store.facts.readable("ann", frozenset({"person:ann"})) == [kept]


@in_memory_too
async def test_the_summary_falls_with_its_conversation(store: Store) -> None:
    await store.ledger.accept(said("a secret", conversation="club", place=CLUB))
    summary = SituationSummary(key_findings="a secret")
    await store.ledger.finish(await claimed(store), Closing(Outcome.ANSWERED, "ok", summary=summary), START)
    await answered(store, said("hello", person="ben", conversation="club", place=CLUB), "hi")
    await store.forgetting.forget(one_thread("ann", "club"), START)
    assert await summary_of(store, "club") == SituationSummary()


@in_memory_too
@EITHER_WAY
async def test_a_forgotten_message_that_is_delivered_again_stays_forgotten(store: Store, forget: Forget) -> None:
    message = said("a secret")
    await answered(store, message, "kept")
    await forget(store, "ann")
    assert (await store.ledger.accept(message)).duplicate
    assert await store.ledger.claim(Claiming("worker", START, LEASE)) is None
    assert await history(store, "thread") == []
    assert not (await store.ledger.accept(said("something new"))).duplicate


@in_memory_too
async def test_a_running_turn_that_is_forgotten_loses_its_claim_and_a_waiting_one_never_runs(store: Store) -> None:
    await store.ledger.accept(said("one"))
    await store.ledger.accept(said("two"))
    running = await claimed(store)
    await store.ledger.save(running, progress="half of it")
    receipt = await store.forgetting.forget(one_thread("ann", "thread"), START)
    assert receipt.erased["turns"] == 2
    with pytest.raises(LeaseLost):
        await store.ledger.finish(running, Closing(Outcome.ANSWERED, "too late"), START)
    assert await store.ledger.claim(Claiming("worker", START, LEASE)) is None
    assert await history(store, "thread") == []


@in_memory_too
@EITHER_WAY
async def test_a_note_from_a_message_that_was_forgotten_meanwhile_is_not_kept(store: Store, forget: Forget) -> None:
    await store.ledger.accept(said("remember: tea"))
    running = await claimed(store)
    await forget(store, "ann")
    with pytest.raises(StoreError, match="was forgotten"):
        await remember(store.facts, "ann", "tea", "person:ann", START, running.message)
    assert await store.facts.readable("ann", frozenset({"person:ann"})) == []


@in_memory_too
async def test_forgetting_what_is_not_there_erases_nothing(store: Store) -> None:
    await answered(store, said("hello"), "hi")
    for plan in (Everything("nobody"), one_thread("ann", "elsewhere"), one_thread("nobody", "thread")):
        receipt = await store.forgetting.forget(plan, START)
        assert set(receipt.erased.values()) == {0}
        assert proved(receipt)
    assert await history(store, "thread") == ["hello", "hi"]


@in_memory_too
@EITHER_WAY
async def test_after_a_complete_forgetting_no_sweep_is_owed(store: Store, forget: Forget) -> None:
    await answered(store, said("hello"), "hi")
    await forget(store, "ann")
    assert await store.forgetting.sweep()


async def test_what_is_shown_of_questions_whose_answers_have_not_ended_is_removed(store: Store) -> None:
    await store.ledger.accept(replace(said("my canoe is vermilion"), reply_to="where the first is answered"))
    await store.ledger.accept(replace(said("my canoe is ochre"), reply_to="where the second is answered"))
    await store.ledger.accept(replace(said("my kayak is red", conversation="b"), reply_to="elsewhere"))
    await store.ledger.save(await claimed(store), reply_ref='["page"]')
    await store.forgetting.forget(AboutTopic("ann", "canoe"), START)
    shown = set[tuple[str, ShownReply]]()
    while (job := await store.jobs.claim(frozenset({DELETE_REPLY}), "worker", START, LEASE)) is not None:
        page = ShownPage.decode(job.payload)
        shown.add((page.page, page.what))
        await store.jobs.finish(job)
    assert shown == {
        ("page", ShownReply.PAGE),
        ("where the first is answered", ShownReply.UNANSWERED),
        ("where the second is answered", ShownReply.UNANSWERED),
    }
