"""The contract of the port Ledger for questions that wait: they may be edited, taken back, and found for stopping."""

from dataclasses import replace

import pytest

from agent.errors import LeaseLost
from agent.events import Outcome
from agent.incoming import Attachment, Quoted
from agent.memory.forgetting_plans import Everything
from agent.messages import Depth, Image
from agent.turn_records import Claiming, Closing
from store.engine import Store
from tests.contracts.steps import answered, claimed, same_on_postgresql, texts_found
from tests.fakes.incoming import LEASE, START, said


@same_on_postgresql
async def test_an_edited_question_that_waits_is_claimed_and_found_as_edited(store: Store) -> None:
    asked = said("where is my bicycle?")
    await store.ledger.accept(asked)
    assert await store.ledger.amend(asked.source, asked.channel, asked.message_id, "where is my boat?")
    assert (await claimed(store)).incoming == replace(asked, text="where is my boat?")
    assert await texts_found(store, "boat") == ["where is my boat?"]
    assert await texts_found(store, "bicycle") == []


@same_on_postgresql
async def test_a_question_that_is_being_answered_stays_as_it_was(store: Store) -> None:
    asked = said("where is my bicycle?")
    await store.ledger.accept(asked)
    claim = await claimed(store)
    assert not await store.ledger.amend(asked.source, asked.channel, asked.message_id, "where is my boat?")
    await store.ledger.save(claim, progress="a step")
    await store.ledger.release_all()
    assert not await store.ledger.amend(asked.source, asked.channel, asked.message_id, "where is my boat?")
    history = await store.conversations.history("thread", before_turn=10**6, limit=9)
    assert [message.text for message in history] == ["where is my bicycle?"]


async def test_what_was_spoken_is_put_down_and_found_as_if_it_had_been_written(store: Store) -> None:
    await store.ledger.accept(said("(no text)"))
    claim = await claimed(store)
    await store.ledger.set_text(claim, "where is my boat?")
    assert await texts_found(store, "boat") == ["where is my boat?"]
    history = await store.conversations.history("thread", before_turn=10**6, limit=9)
    assert [message.text for message in history] == ["where is my boat?"]
    await store.ledger.release(claim)
    with pytest.raises(LeaseLost):
        await store.ledger.set_text(claim, "too late")


async def test_what_was_spoken_is_not_put_down_once_it_was_taken_back(store: Store) -> None:
    asked = said("(no text)")
    await store.ledger.accept(asked)
    claim = await claimed(store)
    await store.ledger.withdraw(asked.source, asked.channel, asked.message_id, START)
    await store.ledger.set_text(claim, "where is my boat?")
    assert await texts_found(store, "boat") == []


@same_on_postgresql
async def test_a_text_is_replaced_only_as_long_as_it_is_the_one_that_was_looked_at(store: Store) -> None:
    await store.ledger.accept(said("where is\x00 my boat?"))
    claim = await claimed(store)
    await store.ledger.set_text(claim, "where is it?", before="where is\x00 my boat?")
    assert await texts_found(store, "boat") == []
    await store.ledger.set_text(claim, "where was it?", before="where is my bicycle?")
    history = await store.conversations.history("thread", before_turn=10**6, limit=9)
    assert [message.text for message in history] == ["where is it?"]


@same_on_postgresql
async def test_files_wait_with_their_question(store: Store) -> None:
    file = Attachment("a.txt", "text/plain", 4, "an address", "Ann", source="file of a forwarded message")
    by_bot = Quoted("earlier in this thread", "bot", "It is a boat.", by_bot=True)
    files = (file, replace(file, spoken=True), replace(file, by_bot=True))
    asked = replace(said("what is this?"), files=files, quoted=(by_bot,), own=False)
    await store.ledger.accept(asked)
    assert (await claimed(store)).incoming == asked


async def test_what_was_never_asked_or_is_answered_is_neither_edited_nor_taken_back(store: Store) -> None:
    done = said("hello")
    await answered(store, done, "hi")
    for message_id in (done.message_id, "another"):
        assert not await store.ledger.amend(done.source, done.channel, message_id, "goodbye")
        assert not await store.ledger.withdraw(done.source, done.channel, message_id, START)


async def test_a_question_that_is_taken_back_is_never_answered_and_its_words_are_gone(store: Store) -> None:
    first, second = said("where is my bicycle?"), said("and my boat?")
    await store.ledger.accept(first)
    await store.ledger.accept(second)
    assert await store.ledger.withdraw(first.source, first.channel, first.message_id, START)
    claim = await claimed(store)
    assert claim.incoming.text == "and my boat?"
    assert await store.conversations.history("thread", before_turn=claim.turn, limit=9) == []
    assert await texts_found(store, "bicycle") == []
    assert (await store.ledger.accept(first)).duplicate
    assert await store.ledger.claim(Claiming("worker", START, LEASE)) is None


@pytest.mark.parametrize("released", [False, True])
async def test_a_question_that_is_taken_back_while_it_is_answered_loses_its_words_and_its_turn_is_told(
    store: Store, *, released: bool
) -> None:
    asked = said("where is my bicycle?")
    turn = (await store.ledger.accept(asked)).turn
    claim = await claimed(store)
    await store.ledger.save(claim, reply_ref='["a page"]')
    assert await store.ledger.withdrawn("worker") == frozenset()
    if released:
        await store.ledger.release(claim)
    assert await store.ledger.withdraw(asked.source, asked.channel, asked.message_id, START)
    assert await texts_found(store, "bicycle") == []
    if released:
        claim = await claimed(store)
        assert (claim.stopping, claim.withdrawn, claim.reply_ref) == (True, True, '["a page"]')
    assert await store.ledger.stopping("worker") == await store.ledger.withdrawn("worker") == {turn}
    assert await store.ledger.withdrawn("another worker") == frozenset()
    await store.ledger.finish(claim, Closing(Outcome.STOPPED, ""), START)
    history = await store.conversations.history("thread", before_turn=10**6, limit=9)
    assert "where is my bicycle?" not in [message.text for message in history]
    assert (await store.ledger.accept(asked)).duplicate


async def test_a_stop_reaches_what_runs_and_what_waits_in_the_conversation_and_nothing_else(store: Store) -> None:
    await answered(store, said("done"), "yes")
    turns = [(await store.ledger.accept(said(text))).turn for text in ("one", "two")]
    running = await claimed(store)
    elsewhere = (await store.ledger.accept(said("elsewhere", conversation="another"))).turn
    assert (await claimed(store)).turn == elsewhere
    assert await store.ledger.stopping("worker") == frozenset()
    assert await store.ledger.stop("thread") == turns
    assert await store.ledger.stop("nowhere") == []
    assert await store.ledger.stopping("worker") == {running.turn}
    assert await store.ledger.stopping("another worker") == frozenset()
    await store.ledger.finish(running, Closing(Outcome.STOPPED, ""), START)
    assert await store.ledger.stopping("worker") == frozenset()
    waited = await claimed(store)
    assert (running.stopping, waited.turn, waited.stopping) == (False, turns[1], True)


@same_on_postgresql
async def test_a_stopped_turn_that_is_claimed_again_is_still_to_be_stopped(store: Store) -> None:
    await store.ledger.accept(said("one"))
    await claimed(store)
    await store.ledger.stop("thread")
    again = await store.ledger.claim(Claiming("another worker", START + 2 * LEASE, LEASE))
    assert again is not None
    assert again.stopping


@same_on_postgresql
@pytest.mark.parametrize("depth", Depth)
async def test_pictures_and_depth_are_there_when_the_question_is_claimed(store: Store, depth: Depth) -> None:
    pictures = (Image("image/png", bytes(range(256))), Image("image/webp", b""))
    asked = replace(said("what is this?"), images=pictures, depth=depth)
    await store.ledger.accept(asked)
    assert (await claimed(store)).incoming == asked


async def test_forgetting_takes_the_pictures_of_a_question_that_waits(store: Store) -> None:
    await store.ledger.accept(replace(said("what is this?"), images=(Image("image/png", b"secret" * 9),)))
    receipt = await store.forgetting.forget(Everything("ann"), START)
    assert receipt.erased["turns"] == 1
    assert await store.ledger.claim(Claiming("worker", START, LEASE)) is None
