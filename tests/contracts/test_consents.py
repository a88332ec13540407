"""The contract of turns that wait for their asker's word, and of the port Consents."""

import asyncio
from collections import Counter
from dataclasses import replace
from datetime import timedelta

import pytest

from agent.admission_terms import Terms
from agent.consents import ConsentOutcome
from agent.errors import LeaseLost
from agent.events import Outcome
from agent.incoming import Incoming
from agent.memory.audience import GroupAudience, Place, TeamAudience
from agent.memory.forgetting_plans import Everything, OneThread
from agent.messages import Consent, ResultStatus, ToolCall, ToolResult
from agent.progress import Progress, RoundStep, call_digest, encode
from agent.turn_records import Claim, Claiming, Closing
from store.engine import Store
from tests.contracts.steps import claimed, in_memory_too, same_on_postgresql
from tests.fakes.incoming import LEASE, START, said

SEND, BOOK = ToolCall("send", {"text": "Hello."}), ToolCall("book", {"seats": 2})
UNTIL = START + timedelta(days=1)
LATER = START + timedelta(hours=1)
AWAITED = Consent.AWAITED


def asks(*calls: ToolCall, done: ToolResult | None = None) -> Progress:
    """Of a turn that waits for a word about these calls, and perhaps has done something before."""
    before = (RoundStep(calls=(BOOK,), results=(done,)),) if done else ()
    step = RoundStep(calls=calls, results=(None,) * len(calls), consents=(AWAITED,) * len(calls), time=START)
    return Progress((*before, step))


async def put_aside(store: Store, asked: Incoming, progress: Progress) -> Claim:
    await store.ledger.accept(asked)
    claim = await claimed(store)
    await store.ledger.save(claim, progress=encode(progress))
    await store.ledger.put_aside(claim, UNTIL)
    return claim


async def waits(store: Store) -> bool:
    return await store.ledger.claim(Claiming("another", LATER, LEASE)) is None


@same_on_postgresql
async def test_it_waits_until_its_asker_has_spoken_and_then_goes_on_in_any_process(store: Store) -> None:
    progress = asks(SEND)
    claim = await put_aside(store, said("send it"), progress)
    (waiting,) = await store.consents.undecided("ann")
    assert (waiting.turn, waiting.call, waiting.asked) == (claim.turn, SEND, "send it")
    assert await waits(store)
    assert await store.ledger.waits_for_people("thread")
    assert not await store.ledger.waits_for_people("another thread")
    given = await store.consents.decide(claim.turn, waiting.key, "ann", Consent.GIVEN, LATER)
    assert given is ConsentOutcome.GOES_ON
    assert not await store.ledger.waits_for_people("thread")
    again = await claimed(store, "another", now=LATER)
    assert (again.turn, again.epoch, again.progress) == (claim.turn, claim.epoch + 1, encode(progress))
    assert await store.consents.decided(claim.turn) == {waiting.key: Consent.GIVEN}
    assert await store.consents.undecided("ann") == []
    with pytest.raises(LeaseLost):
        await store.ledger.save(claim, progress="too late")


@same_on_postgresql
async def test_it_goes_on_only_with_the_last_word(store: Store) -> None:
    claim = await put_aside(store, said("do both"), asks(SEND, BOOK))
    first, second = await store.consents.undecided("ann")
    assert await store.consents.decide(claim.turn, second.key, "ann", Consent.REFUSED, LATER) is ConsentOutcome.KEPT
    assert await store.consents.undecided("ann") == [first]
    assert await waits(store)
    assert await store.consents.decide(claim.turn, first.key, "ann", Consent.GIVEN, LATER) is ConsentOutcome.GOES_ON
    assert await store.consents.decided(claim.turn) == {first.key: Consent.GIVEN, second.key: Consent.REFUSED}


@same_on_postgresql
async def test_the_first_word_counts_and_a_second_one_is_told_which_it_was(store: Store) -> None:
    claim = await put_aside(store, said("do both"), asks(SEND, BOOK))
    first, second = await store.consents.undecided("ann")
    await store.consents.decide(claim.turn, first.key, "ann", Consent.GIVEN, LATER)
    again = await store.consents.decide(claim.turn, first.key, "ann", Consent.REFUSED, LATER)
    await store.consents.decide(claim.turn, second.key, "ann", Consent.REFUSED, LATER)
    assert again is ConsentOutcome.ALLOWED_BEFORE
    await store.ledger.finish(await claimed(store), Closing(Outcome.ANSWERED, "Done."), LATER)
    after = await store.consents.decide(claim.turn, second.key, "ann", Consent.GIVEN, LATER)
    assert after is ConsentOutcome.REFUSED_BEFORE
    assert (await store.consents.decided(claim.turn))[first.key] is Consent.GIVEN


@in_memory_too
async def test_of_words_at_the_same_time_one_counts_and_all_others_are_told_which(store: Store) -> None:
    claim = await put_aside(store, said("send it"), asks(SEND))
    (waiting,) = await store.consents.undecided("ann")
    words = [Consent.GIVEN, Consent.REFUSED] * 4
    told = await asyncio.gather(*(store.consents.decide(claim.turn, waiting.key, "ann", word, LATER) for word in words))
    (kept,) = (word for word, outcome in zip(words, told, strict=True) if outcome is ConsentOutcome.GOES_ON)
    assert await store.consents.decided(claim.turn) == {waiting.key: kept}
    before = ConsentOutcome.ALLOWED_BEFORE if kept is Consent.GIVEN else ConsentOutcome.REFUSED_BEFORE
    assert Counter(told) == {ConsentOutcome.GOES_ON: 1, before: len(words) - 1}


async def test_nobody_else_decides_and_nobody_else_sees_it(store: Store) -> None:
    claim = await put_aside(store, said("send it"), asks(SEND))
    (waiting,) = await store.consents.undecided("ann")
    assert await store.consents.undecided("ben") == []
    said_by_ben = await store.consents.decide(claim.turn, waiting.key, "ben", Consent.GIVEN, LATER)
    assert said_by_ben is ConsentOutcome.NOT_THEIRS
    assert await waits(store)


@same_on_postgresql
async def test_a_word_about_another_call_counts_for_nothing(store: Store) -> None:
    claim = await put_aside(store, said("send it"), asks(SEND))
    (waiting,) = await store.consents.undecided("ann")
    other = next(iter(asks(replace(SEND, args={"text": "Goodbye."})).awaited))
    assert other.partition("-")[0] == waiting.key.partition("-")[0]
    for key in (other, "1.2-0", "", "1.1"):
        assert await store.consents.decide(claim.turn, key, "ann", Consent.GIVEN, LATER) is ConsentOutcome.OVER
    assert await store.consents.decide(claim.turn + 1, waiting.key, "ann", Consent.GIVEN, LATER) is ConsentOutcome.OVER
    assert await waits(store)


@same_on_postgresql
async def test_when_its_time_is_over_it_goes_on_and_no_word_counts_any_more(store: Store) -> None:
    claim = await put_aside(store, said("send it"), asks(SEND))
    (waiting,) = await store.consents.undecided("ann")
    assert await store.consents.decide(claim.turn, waiting.key, "ann", Consent.GIVEN, UNTIL) is ConsentOutcome.OVER
    assert (await claimed(store, now=UNTIL)).turn == claim.turn
    assert await store.consents.decide(claim.turn, waiting.key, "ann", Consent.GIVEN, UNTIL) is ConsentOutcome.OVER
    assert await store.consents.decided(claim.turn) == {}


@same_on_postgresql
async def test_a_quick_word_counts_while_the_turn_is_still_being_put_aside(store: Store) -> None:
    await store.ledger.accept(said("send it"))
    claim = await claimed(store)
    await store.ledger.save(claim, progress=encode(asks(SEND)))
    (waiting,) = await store.consents.undecided("ann")
    given = await store.consents.decide(claim.turn, waiting.key, "ann", Consent.GIVEN, START)
    assert given is ConsentOutcome.GOES_ON
    await store.ledger.put_aside(claim, UNTIL)
    assert (await claimed(store)).turn == claim.turn


async def test_what_is_stopped_or_deleted_while_it_is_being_put_aside_ends_at_once(store: Store) -> None:
    for asked in (said("send it"), said("send it again")):
        await store.ledger.accept(asked)
        claim = await claimed(store)
        await store.ledger.save(claim, progress=encode(asks(SEND)))
        if asked.text == "send it":
            await store.ledger.stop(asked.conversation)
        else:
            await store.ledger.withdraw(asked.source, asked.channel, asked.message_id, START)
        await store.ledger.put_aside(claim, UNTIL)
        again = await claimed(store)
        assert (again.turn, again.stopping) == (claim.turn, True)
        await store.ledger.finish(again, Closing(Outcome.STOPPED, ""), START)


@same_on_postgresql
async def test_whoever_dies_before_it_is_put_aside_leaves_it_to_another_who_puts_it_aside(store: Store) -> None:
    await store.ledger.accept(said("send it"))
    await store.ledger.save(await claimed(store), progress=encode(asks(SEND)))
    again = await claimed(store, "another", now=START + 2 * LEASE)
    await store.ledger.put_aside(again, UNTIL)
    assert len(await store.consents.undecided("ann")) == 1
    assert await waits(store)


@same_on_postgresql
async def test_its_conversation_goes_on_meanwhile_and_it_is_no_backlog(store: Store) -> None:
    claim = await put_aside(store, said("send it"), asks(SEND))
    next_one = await store.ledger.accept(said("and the weather?"), Terms(LATER, backlog=1))
    other = await claimed(store, now=LATER)
    assert other.turn == next_one.turn
    assert await store.ledger.waiting(other) == []
    assert not await store.ledger.finish(other, Closing(Outcome.ANSWERED, "Sunny."), LATER)
    (waiting,) = await store.consents.undecided("ann")
    await store.consents.decide(claim.turn, waiting.key, "ann", Consent.GIVEN, LATER)
    assert (await claimed(store, now=LATER)).turn == claim.turn


@same_on_postgresql
async def test_stop_ends_it_and_no_word_counts_any_more(store: Store) -> None:
    claim = await put_aside(store, said("send it"), asks(SEND))
    (waiting,) = await store.consents.undecided("ann")
    assert await store.ledger.stop("thread") == [claim.turn]
    assert not await store.ledger.waits_for_people("thread")
    assert await store.consents.undecided("ann") == []
    assert await store.consents.decide(claim.turn, waiting.key, "ann", Consent.GIVEN, LATER) is ConsentOutcome.OVER
    assert (await claimed(store)).stopping


async def test_a_deleted_question_ends_it(store: Store) -> None:
    asked = said("send it")
    claim = await put_aside(store, asked, asks(SEND))
    (waiting,) = await store.consents.undecided("ann")
    assert await store.ledger.withdraw(asked.source, asked.channel, asked.message_id, LATER)
    assert await store.consents.decide(claim.turn, waiting.key, "ann", Consent.GIVEN, LATER) is ConsentOutcome.OVER
    again = await claimed(store)
    assert (again.turn, again.stopping, again.withdrawn) == (claim.turn, True, True)


async def test_an_edited_question_is_asked_anew_and_nothing_that_was_allowed_counts_for_it(store: Store) -> None:
    asked = said("send it")
    claim = await put_aside(store, asked, asks(SEND, BOOK))
    first, _ = await store.consents.undecided("ann")
    await store.consents.decide(claim.turn, first.key, "ann", Consent.GIVEN, LATER, standing=True)
    assert await store.ledger.amend(asked.source, asked.channel, asked.message_id, "send it to Ben")
    again = await claimed(store)
    assert (again.turn, again.incoming.text, again.progress) == (claim.turn, "send it to Ben", "")
    await store.ledger.save(again, progress=encode(asks(SEND, BOOK)))
    await store.ledger.put_aside(again, UNTIL)
    assert await store.consents.decided(claim.turn) == {}
    assert await store.consents.standing("thread", "ann") == frozenset()
    assert len(await store.consents.undecided("ann")) == 2


async def test_if_something_was_done_of_it_it_goes_on_with_the_new_words_and_without_what_waited(store: Store) -> None:
    asked = said("do both, and tell Ben “do both”")
    progress = asks(SEND, BOOK, done=ToolResult("book", ResultStatus.SUCCESS, f"Booked for {asked.text}."))
    claim = await put_aside(store, asked, progress)
    first, second = await store.consents.undecided("ann")
    await store.consents.decide(claim.turn, second.key, "ann", Consent.GIVEN, LATER, standing=True)
    assert not await store.ledger.amend(asked.source, asked.channel, asked.message_id, "only book")
    assert await waits(store)
    assert await store.forgetting.update_text(asked.source, asked.channel, asked.message_id, "only book", LATER)
    again = await claimed(store, now=LATER)
    assert (again.turn, again.stopping, again.incoming.text) == (claim.turn, False, "only book")
    assert again.progress == encode(progress)
    assert await store.consents.decided(claim.turn) == dict.fromkeys((first.key, second.key), Consent.EDITED)
    assert await store.consents.standing("thread", "ann") == frozenset()
    for one in (first, second):
        told = await store.consents.decide(claim.turn, one.key, "ann", Consent.GIVEN, LATER)
        assert told is ConsentOutcome.OVER


async def test_a_word_may_stand_for_the_tool_in_the_conversation_and_for_its_person_alone(store: Store) -> None:
    claim = await put_aside(store, said("send it"), asks(SEND, BOOK))
    first, second = await store.consents.undecided("ann")
    await store.consents.decide(claim.turn, first.key, "ann", Consent.GIVEN, LATER, standing=True)
    await store.consents.decide(claim.turn, second.key, "ann", Consent.REFUSED, LATER, standing=True)
    assert await store.consents.standing("thread", "ann") == {"send"}
    assert await store.consents.standing_calls("thread", "ann") == {call_digest(first.call)}
    assert await store.consents.standing_calls("thread", "ben") == frozenset()
    assert await store.consents.standing("another", "ann") == frozenset()
    assert await store.consents.standing("thread", "ben") == frozenset()


@pytest.mark.parametrize("what", [Everything("ann"), OneThread("ann", frozenset({"thread"}))])
async def test_what_is_forgotten_takes_what_waits_and_what_stands_with_it(
    store: Store, what: Everything | OneThread
) -> None:
    claim = await put_aside(store, said("send it"), asks(SEND))
    (waiting,) = await store.consents.undecided("ann")
    await store.consents.decide(claim.turn, waiting.key, "ann", Consent.GIVEN, LATER, standing=True)
    await store.forgetting.forget(what, LATER)
    assert await store.consents.standing("thread", "ann") == frozenset()
    assert await store.consents.decided(claim.turn) == {}
    assert await store.consents.decide(claim.turn, waiting.key, "ann", Consent.GIVEN, LATER) is ConsentOutcome.OVER
    assert await store.ledger.claim(Claiming("another", UNTIL, LEASE)) is None


async def test_before_something_is_forgotten_what_waits_is_marked_to_be_taken_back(store: Store) -> None:
    claim = await put_aside(store, said("send it"), asks(SEND))
    elsewhere = await put_aside(store, said("send it", conversation="another"), asks(SEND))
    await put_aside(store, said("send it", person="ben", conversation="bens"), asks(SEND))
    assert await store.ledger.take_back("ann", "thread") == [claim.turn]
    again = await claimed(store)
    assert (again.turn, again.stopping, again.withdrawn) == (claim.turn, True, True)
    assert await store.ledger.take_back("ann", None) == [elsewhere.turn]
    assert len(await store.consents.undecided("ben")) == 1


async def test_in_a_place_that_fewer_can_read_it_begins_anew_at_once(store: Store) -> None:
    asked = said("send it", place=Place(TeamAudience("slack:T1")))
    claim = await put_aside(store, asked, asks(SEND))
    (waiting,) = await store.consents.undecided("ann")
    await store.ledger.restrict_place(
        asked.source, asked.channel, Place(GroupAudience("slack:G1"), whole_channel=True), LATER
    )
    again = await claimed(store, "another", now=LATER)
    assert (again.turn, again.progress) == (claim.turn, "")
    assert await store.consents.decide(claim.turn, waiting.key, "ann", Consent.GIVEN, LATER) is ConsentOutcome.OVER
