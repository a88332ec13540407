"""The contract of the port Ledger: taken in once, run one at a time, fenced by the epoch."""

from dataclasses import replace
from datetime import timedelta

import pytest

from agent.errors import LeaseLost, StoreError
from agent.events import Outcome
from agent.incoming import Quoted
from agent.memory.audience import GroupAudience, PersonAudience, Place, TeamAudience
from agent.progress import Progress, RoundStep, encode
from agent.state import SituationSummary
from agent.stored_messages import Author
from agent.turn_records import Accepted, Claiming, Closing
from store.engine import Store
from tests.contracts.steps import answered, claimed, same_on_postgresql, summary_of
from tests.fakes.incoming import LEASE, START, said


@same_on_postgresql
async def test_the_same_event_is_taken_in_once(store: Store) -> None:
    first = await store.ledger.accept(said("hello", number=1))
    again = await store.ledger.accept(said("hello", number=1))
    assert (first.duplicate, again.duplicate) == (False, True)
    assert again.turn == first.turn


@same_on_postgresql
async def test_one_post_that_arrives_as_two_events_is_taken_in_once(store: Store) -> None:
    message = said("hello")
    first = await store.ledger.accept(message)
    again = await store.ledger.accept(replace(message, event_id="another event"))
    assert again.duplicate
    assert again.turn == first.turn


@same_on_postgresql
async def test_a_claim_carries_the_message_whole(store: Store) -> None:
    message = said("hello")
    accepted = await store.ledger.accept(message)
    claim = await claimed(store)
    assert claim.incoming == message
    assert (claim.turn, claim.attempts, claim.progress, claim.reply_ref) == (accepted.turn, 1, "", "")


@same_on_postgresql
async def test_with_nothing_waiting_there_is_no_claim(store: Store) -> None:
    assert await store.ledger.claim(Claiming("worker", START, LEASE)) is None


@same_on_postgresql
async def test_the_oldest_turn_is_claimed_first(store: Store) -> None:
    turns = [(await store.ledger.accept(said("?", conversation=name))).turn for name in ("b", "a", "c")]
    assert [(await claimed(store)).turn for _ in turns] == turns


async def test_a_question_that_arrives_late_is_answered_before_what_was_asked_after_it(store: Store) -> None:
    running, late, third, fourth = said("one"), said("two"), said("three"), said("four")
    await store.ledger.accept(running)
    first = await claimed(store)
    third_turn = (await store.ledger.accept(third)).turn
    await store.ledger.accept(fourth)
    assert await store.ledger.accept(late) == Accepted(third_turn, duplicate=False)
    assert (await store.ledger.accept(third)).duplicate
    assert await store.ledger.amend(third.source, third.channel, third.message_id, "three, but edited")
    answers: list[str] = []
    while first is not None:
        answers.append(first.incoming.text)
        said_before = await store.conversations.history("thread", before_turn=first.turn, limit=50)
        assert [one.text for one in said_before if one.author is Author.PERSON] == answers[:-1]
        await store.ledger.finish(first, Closing(Outcome.ANSWERED, "done"), START)
        first = await store.ledger.claim(Claiming("worker", START, LEASE))
    assert answers == ["one", "two", "three, but edited", "four"]


@same_on_postgresql
async def test_a_question_that_was_claimed_once_keeps_its_place(store: Store) -> None:
    late, begun = said("asked before"), said("asked after")
    first = await store.ledger.accept(begun)
    await store.ledger.release(await claimed(store))
    assert (await store.ledger.accept(late)).turn > first.turn
    assert (await claimed(store)).incoming == begun


async def test_what_has_joined_a_running_turn_keeps_its_place(store: Store) -> None:
    late, joins = said("asked before"), said("asked after")
    await store.ledger.accept(said("one"))
    running = await claimed(store)
    joined = await store.ledger.accept(joins)
    (waiting,) = await store.ledger.waiting(running)
    await store.ledger.save(running, progress=encode(Progress((RoundStep(joined=(waiting,)),))))
    assert (await store.ledger.accept(late)).turn > joined.turn


@same_on_postgresql
async def test_a_conversation_runs_one_turn_at_a_time_and_the_others_meanwhile(store: Store) -> None:
    first = await store.ledger.accept(said("one", conversation="a"))
    second = await store.ledger.accept(said("two", conversation="a"))
    other = await store.ledger.accept(said("three", conversation="b"))
    running = await claimed(store)
    assert running.turn == first.turn
    assert (await claimed(store)).turn == other.turn
    assert await store.ledger.claim(Claiming("worker", START, LEASE)) is None
    await store.ledger.finish(running, Closing(Outcome.ANSWERED, "done"), START)
    assert (await claimed(store)).turn == second.turn


async def test_a_released_turn_is_claimed_at_once_before_those_behind_it_and_goes_on(store: Store) -> None:
    await store.ledger.accept(said("one"))
    await store.ledger.accept(said("two"))
    parked = await claimed(store, "one")
    await store.ledger.save(parked, progress="step 1", reply_ref="page 1")
    await store.ledger.release(parked)
    again = await claimed(store, "other")
    assert (again.turn, again.attempts, again.progress, again.reply_ref) == (parked.turn, 1, "step 1", "page 1")
    with pytest.raises(LeaseLost):
        await store.ledger.release(parked)


async def test_attempts_count_from_where_a_turn_last_got_further(store: Store) -> None:
    await store.ledger.accept(said("one"))
    crashed = await claimed(store)
    again = await claimed(store, now=START + LEASE)
    assert (crashed.attempts, again.attempts) == (1, 2)
    await store.ledger.save(again, reply_ref="page 1")
    once_more = await claimed(store, now=START + 2 * LEASE)
    assert once_more.attempts == 3
    await store.ledger.save(once_more, progress="step 1")
    assert (await claimed(store, now=START + 4 * LEASE)).attempts == 1  # the third attempt holds it for two leases


async def test_a_claim_that_is_discounted_is_no_attempt_and_holds_the_turn(store: Store) -> None:
    await store.ledger.accept(said("one"))
    first = await claimed(store)
    await store.ledger.discount(first)
    await store.ledger.save(first, reply_ref="page 1")
    again = await claimed(store, now=START + LEASE)
    assert (first.attempts, again.attempts) == (1, 1)
    with pytest.raises(LeaseLost):
        await store.ledger.discount(first)


async def test_a_process_claims_only_what_came_from_where_it_can_show_replies(store: Store) -> None:
    elsewhere = replace(said("there", conversation="there"), source="elsewhere")
    await store.ledger.accept(elsewhere)
    await store.ledger.accept(said("here", conversation="here"))
    here = frozenset({"test"})
    claim = await store.ledger.claim(Claiming("worker", START, LEASE, sources=here))
    assert claim is not None
    assert claim.incoming.text == "here"
    assert await store.ledger.claim(Claiming("worker", START, LEASE, sources=here)) is None
    assert (await claimed(store)).incoming.text == "there"
    lost = [await store.ledger.claim(Claiming("worker", START + LEASE, LEASE, sources=here)) for _ in range(2)]
    assert [claim and claim.turn for claim in lost] == [claim.turn, None]
    assert await store.ledger.claim(Claiming("worker", START, LEASE, sources=frozenset())) is None


@same_on_postgresql
async def test_a_lease_that_ran_out_is_taken_over_and_the_old_owner_changes_nothing(store: Store) -> None:
    await store.ledger.accept(said("hello"))
    old = await claimed(store, "old")
    await store.ledger.save(old, progress="step 1", reply_ref="page 1")
    assert await store.ledger.claim(Claiming("new", START + LEASE - timedelta(seconds=1), LEASE)) is None
    new = await store.ledger.claim(Claiming("new", START + LEASE, LEASE))
    assert new is not None
    assert (new.turn, new.epoch, new.attempts) == (old.turn, old.epoch + 1, 1)
    assert (new.progress, new.reply_ref) == ("step 1", "page 1")
    with pytest.raises(LeaseLost):
        await store.ledger.save(old, progress="a zombie's step")
    with pytest.raises(LeaseLost):
        await store.ledger.renew(old, START, LEASE)
    with pytest.raises(LeaseLost):
        await store.ledger.finish(old, Closing(Outcome.ANSWERED, "a zombie's answer"), START)
    assert await store.conversations.history("thread", before_turn=new.turn + 1, limit=9) != []
    await store.ledger.finish(new, Closing(Outcome.ANSWERED, "the answer"), START)
    history = await store.conversations.history("thread", before_turn=new.turn + 1, limit=9)
    assert [m.text for m in history] == ["hello", "the answer"]


@same_on_postgresql
async def test_a_renewed_lease_is_not_taken_over(store: Store) -> None:
    await store.ledger.accept(said("hello"))
    claim = await claimed(store)
    await store.ledger.renew(claim, START + LEASE, LEASE)
    assert await store.ledger.claim(Claiming("new", START + LEASE, LEASE)) is None
    assert await store.ledger.claim(Claiming("new", START + 2 * LEASE, LEASE)) is not None


@same_on_postgresql
async def test_saving_one_thing_keeps_the_other(store: Store) -> None:
    await store.ledger.accept(said("hello"))
    claim = await claimed(store)
    await store.ledger.save(claim, progress="step 1")
    await store.ledger.save(claim, reply_ref="page 1")
    await store.ledger.save(claim)
    again = await claimed(store, now=START + LEASE)
    assert (again.progress, again.reply_ref, again.attempts) == ("step 1", "page 1", 1)
    with pytest.raises(LeaseLost):
        await store.ledger.save(claim, progress="from before the restart")


@same_on_postgresql
async def test_a_finished_turn_is_over(store: Store) -> None:
    claim = await answered(store, said("hello"), "hi")
    assert await store.ledger.claim(Claiming("worker", START + 9 * LEASE, LEASE)) is None
    with pytest.raises(LeaseLost):
        await store.ledger.finish(claim, Closing(Outcome.ANSWERED, "hi again"), START)


@same_on_postgresql
async def test_finishing_stores_the_reply_and_the_summary(store: Store) -> None:
    await store.ledger.accept(said("hello"))
    claim = await claimed(store)
    summary = SituationSummary(goal="greet")
    closing = Closing(Outcome.ANSWERED, "hi", pages=("page 1", "page 2"), summary=summary)
    await store.ledger.finish(claim, closing, START)
    [question, answer] = await store.conversations.history("thread", before_turn=claim.turn + 1, limit=9)
    assert (question.author, question.id, question.text) == (Author.PERSON, claim.message, "hello")
    assert (answer.author, answer.text, answer.time, answer.message_id) == (Author.BOT, "hi", START, "page 1")
    assert answer.audience == question.audience
    assert answer.person == question.person == "ann"
    assert await summary_of(store, "thread") == summary


@same_on_postgresql
async def test_a_turn_stopped_before_a_word_leaves_no_reply(store: Store) -> None:
    await store.ledger.accept(said("hello"))
    claim = await claimed(store)
    await store.ledger.finish(claim, Closing(Outcome.STOPPED, ""), START)
    history = await store.conversations.history("thread", before_turn=claim.turn + 1, limit=9)
    assert [m.text for m in history] == ["hello"]


@same_on_postgresql
async def test_an_overheard_message_is_history_and_is_not_answered(store: Store) -> None:
    await answered(store, said("first?"), "first.")
    overheard = said("by the way", person="bob")
    assert not (await store.ledger.record_context_message(overheard)).duplicate
    assert (await store.ledger.record_context_message(overheard)).duplicate
    await store.ledger.accept(said("second?"))
    claim = await claimed(store)
    assert claim.incoming.text == "second?"
    history = await store.conversations.history("thread", before_turn=claim.turn, limit=9)
    assert [message.text for message in history] == ["first?", "first.", "by the way"]


@same_on_postgresql
async def test_what_came_with_a_message_is_there_when_it_is_claimed(store: Store) -> None:
    quoted = (Quoted("earlier in this thread", "Bob", "It is blue."), Quoted("attached file a.txt", "", "1\n2"))
    await store.ledger.accept(replace(said("what colour?"), quoted=quoted))
    assert (await claimed(store)).incoming.quoted == quoted


@same_on_postgresql
@pytest.mark.parametrize(
    "place",
    [
        Place(GroupAudience("")),
        Place(PersonAudience("")),
        Place(TeamAudience("")),
        Place(GroupAudience("club"), within_team=""),
    ],
)
async def test_a_message_from_a_place_without_a_name_is_refused_and_the_others_are_served(
    store: Store, place: Place
) -> None:
    with pytest.raises(StoreError, match="who can read that conversation"):
        await store.ledger.accept(said("nobody knows where", place=place))
    with pytest.raises(StoreError, match="who can read that conversation"):
        await store.ledger.record_context_message(said("nobody knows where", place=place))
    await store.ledger.accept(said("hello"))
    assert (await claimed(store)).incoming.text == "hello"
