"""The contract of the port Ledger for messages that wait behind a running turn, and are answered together with it."""

from dataclasses import replace

from agent.events import Outcome
from agent.incoming import Attachment, Quoted
from agent.memory.audience import GroupAudience, Place
from agent.memory.forgetting_plans import Everything
from agent.messages import Image
from agent.progress import Progress, RoundStep, encode
from agent.turn_records import Claim, Claiming, Closing, Waiting
from store.engine import Store
from tests.contracts.steps import claimed, proved, same_on_postgresql
from tests.fakes.incoming import LEASE, START, said


async def running(store: Store) -> Claim:
    """Ann's question is being answered."""
    await store.ledger.accept(said("where is my bicycle?"))
    return await claimed(store)


async def words(store: Store, claim: Claim) -> list[str]:
    return [one.text for one in await store.ledger.waiting(claim)]


async def test_what_the_person_wrote_behind_the_running_turn_waits_in_order(store: Store) -> None:
    claim = await running(store)
    assert await store.ledger.waiting(claim) == []
    turns = [(await store.ledger.accept(said(text))).turn for text in ("the blue one", "with a bell")]
    await store.ledger.accept(said("hello", conversation="another"))
    found = await store.ledger.waiting(claim)
    assert [(one.turn, one.text) for one in found] == list(zip(turns, ("the blue one", "with a bell"), strict=True))


@same_on_postgresql
async def test_nothing_joins_from_behind_what_has_to_wait(store: Store) -> None:
    hindrances = [
        said("mine is red", person="bob"),
        replace(said("this one"), images=(Image("image/png", b"png"),)),
        replace(said("this one"), files=(Attachment("a.txt", "text/plain", 4, "an address"),)),
        replace(said("this one"), quoted=(Quoted("attached file", "Ann", "a bicycle"),)),
        said("not for all", place=Place(GroupAudience("club"))),
        replace(said("which is cheapest?"), own=False),
    ]
    for number, hindrance in enumerate(hindrances):
        thread = f"thread {number}"
        for one in (said("first"), said("second"), replace(hindrance, time=said("").time), said("third")):
            await store.ledger.accept(replace(one, conversation=thread))
        claim = await claimed(store)
        assert (claim.incoming.conversation, await words(store, claim)) == (thread, ["second"])


@same_on_postgresql
async def test_what_was_told_to_stop_does_not_join(store: Store) -> None:
    claim = await running(store)
    await store.ledger.accept(said("the blue one"))
    await store.ledger.stop("thread")
    assert await store.ledger.waiting(claim) == []


@same_on_postgresql
async def test_what_joined_is_answered_with_the_running_turn_and_stands_before_its_reply(store: Store) -> None:
    claim = await running(store)
    later = said("the blue one")
    await store.ledger.accept(later)
    joined = tuple(await store.ledger.waiting(claim))
    await store.ledger.accept(said("with a bell"))
    await store.ledger.finish(claim, Closing(Outcome.ANSWERED, "In the shed.", joined=joined), START)
    following = await claimed(store)
    assert following.incoming.text == "with a bell"
    history = await store.conversations.history("thread", before_turn=following.turn, limit=9)
    assert [message.text for message in history] == ["where is my bicycle?", "the blue one", "In the shed."]
    assert (await store.ledger.accept(later)).duplicate
    await store.ledger.finish(following, Closing(Outcome.ANSWERED, "Yes."), START)
    assert await store.ledger.claim(Claiming("worker", START, LEASE)) is None


@same_on_postgresql
async def test_what_was_edited_after_it_had_joined_is_answered_as_edited(store: Store) -> None:
    claim = await running(store)
    later = said("the blue one")
    await store.ledger.accept(later)
    joined = tuple(await store.ledger.waiting(claim))
    assert await store.ledger.amend(later.source, later.channel, later.message_id, "the red one")
    await store.ledger.finish(claim, Closing(Outcome.ANSWERED, "In the shed.", joined=joined), START)
    assert (await claimed(store)).incoming.text == "the red one"


async def test_what_the_running_turn_has_read_is_neither_edited_nor_taken_back(store: Store) -> None:
    claim = await running(store)
    later = said("the blue one")
    await store.ledger.accept(later)
    joined = tuple(await store.ledger.waiting(claim))
    await store.ledger.save(claim, progress=encode(Progress((RoundStep(joined=joined),))))
    assert not await store.ledger.amend(later.source, later.channel, later.message_id, "the red one")
    assert not await store.ledger.withdraw(later.source, later.channel, later.message_id, START)
    assert await words(store, claim) == ["the blue one"]


async def test_what_is_taken_back_between_reading_and_saving_does_not_begin_the_turn_anew(store: Store) -> None:
    claim = await running(store)
    later = said("the blue one")
    await store.ledger.accept(later)
    joined = tuple(await store.ledger.waiting(claim))
    assert await store.ledger.withdraw(later.source, later.channel, later.message_id, START)
    await store.ledger.save(claim, progress=encode(Progress((RoundStep(joined=joined),))))
    await store.ledger.finish(claim, Closing(Outcome.ANSWERED, "In the shed.", joined=joined), START)
    history = await store.conversations.history("thread", before_turn=10**6, limit=9)
    assert [message.text for message in history] == ["where is my bicycle?", "In the shed."]
    assert await store.ledger.claim(Claiming("worker", START, LEASE)) is None


@same_on_postgresql
async def test_a_turn_without_a_reply_answers_nothing_that_joined(store: Store) -> None:
    claim = await running(store)
    await store.ledger.accept(said("the blue one"))
    joined = tuple(await store.ledger.waiting(claim))
    await store.ledger.finish(claim, Closing(Outcome.STOPPED, "", joined=joined), START)
    assert (await claimed(store)).incoming.text == "the blue one"


async def test_what_joined_is_forgotten_like_any_other_message(store: Store) -> None:
    claim = await running(store)
    later = said("the blue one")
    await store.ledger.accept(later)
    joined = tuple(await store.ledger.waiting(claim))
    ids = tuple(one.message for one in joined)
    closing = Closing(Outcome.ANSWERED, "In the shed.", joined=joined, context_messages=ids)
    await store.ledger.finish(claim, closing, START)
    assert proved(await store.forgetting.forget(Everything("ann"), START))
    assert (await store.ledger.accept(later)).duplicate
    assert await store.conversations.history("thread", before_turn=10**6, limit=9) == []


@same_on_postgresql
async def test_what_is_not_there_is_not_ended(store: Store) -> None:
    claim = await running(store)
    none = (Waiting(10**6, 10**6, "nothing"),)
    await store.ledger.finish(claim, Closing(Outcome.ANSWERED, "In the shed.", joined=none), START)
