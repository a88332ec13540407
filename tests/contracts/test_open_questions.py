"""The contract of the port OpenQuestions: what a tool asks its asker, while the claim that waits for it holds."""

from datetime import timedelta

import pytest

from agent.events import Outcome
from agent.memory.forgetting_plans import Everything, OneThread
from agent.messages import AnswerOutcome, ElicitAction
from agent.turn_records import Claim, Claiming, Closing
from store.engine import Store
from tests.contracts.steps import claimed, same_on_postgresql
from tests.fakes.incoming import LEASE, START, said

SOON = START + timedelta(seconds=10)
UNTIL = START + timedelta(minutes=9)
ASKED, WHITE, RED = '{"text": "Which boat?"}', '{"0": "white"}', '{"0": "red as swordfish"}'
MOST = 3


async def asking(store: Store, key: str = "1-1", person: str = "ann") -> Claim:
    await store.ledger.accept(said("paint it", person=person, conversation=f"of {person}"))
    claim = await claimed(store)
    assert await store.open_questions.open(claim, key, ASKED, START, UNTIL, MOST)
    return claim


async def answer(store: Store, claim: Claim, action: ElicitAction | None, person: str = "ann") -> AnswerOutcome:
    return await store.open_questions.answer(claim.turn, "1-1", person, RED, action, SOON)


@same_on_postgresql
async def test_its_asker_alone_is_shown_it_and_answers_it_once(store: Store) -> None:
    questions, claim = store.open_questions, await asking(store)
    (waiting,) = await questions.waiting("ann", SOON)
    assert (waiting.turn, waiting.key, waiting.asked, waiting.question) == (claim.turn, "1-1", ASKED, "paint it")
    assert await questions.waiting("bob", SOON) == []
    assert await answer(store, claim, ElicitAction.ACCEPT, "bob") is AnswerOutcome.NOT_THEIRS
    assert await questions.answered(claim.turn, "1-1") is None
    assert await answer(store, claim, ElicitAction.ACCEPT) is AnswerOutcome.KEPT
    assert await answer(store, claim, ElicitAction.DECLINE) is AnswerOutcome.ANSWERED_BEFORE
    assert await questions.answered(claim.turn, "1-1") == (ElicitAction.ACCEPT, RED)
    assert await questions.waiting("ann", SOON) == []


@same_on_postgresql
async def test_what_was_filled_in_is_kept_until_it_is_sent(store: Store) -> None:
    claim = await asking(store)
    assert await answer(store, claim, None) is AnswerOutcome.KEPT
    assert await store.open_questions.answered(claim.turn, "1-1") is None
    (waiting,) = await store.open_questions.waiting("ann", SOON)
    assert waiting.filled == RED


@pytest.mark.parametrize("ends", ["closed", "time", "stopped", "killed", "claimed", "finished"])
async def test_once_nobody_waits_for_it_an_answer_is_told_so(store: Store, ends: str) -> None:
    questions, claim, now = store.open_questions, await asking(store), SOON
    match ends:
        case "closed":
            await questions.close(claim.turn, "1-1")
        case "time":
            await store.ledger.renew(claim, UNTIL, LEASE)
            now = UNTIL
        case "stopped":
            await store.ledger.stop("of ann")
        case "killed":
            now = START + LEASE
        case "claimed":
            await store.ledger.release(claim)
            again = await claimed(store, "another", now=SOON)
            assert again.turn == claim.turn
        case _:
            await store.ledger.finish(claim, Closing(Outcome.ANSWERED, "Done."), SOON)
    assert await questions.waiting("ann", now) == []
    late = await questions.answer(claim.turn, "1-1", "ann", RED, ElicitAction.ACCEPT, now)
    assert late is AnswerOutcome.OVER
    knows_best = ends in ("time", "killed", "stopped")  # its own process, which ends the call itself
    assert await questions.answered(claim.turn, "1-1") == (None if knows_best else (ElicitAction.CANCEL, ""))


async def test_of_one_person_only_so_many_wait_and_others_are_not_counted(store: Store) -> None:
    claim, others = await asking(store), await asking(store, person="bob")
    opened = [await store.open_questions.open(claim, f"1-{n}", ASKED, START, UNTIL, MOST) for n in range(2, 5)]
    assert opened == [True, True, False]
    assert await store.open_questions.open(others, "1-2", ASKED, START, UNTIL, MOST)


async def test_what_a_killed_process_left_goes_with_its_turn_or_with_its_time(store: Store) -> None:
    claim, others = await asking(store), await asking(store, person="bob")
    await answer(store, claim, None)
    again = await store.ledger.claim(Claiming("another", START + LEASE, LEASE))
    assert again is not None
    assert again.turn == claim.turn
    await store.ledger.finish(again, Closing(Outcome.ANSWERED, "Done."), UNTIL)
    assert not await held(store, claim)
    assert await held(store, others)
    await store.ledger.accept(said("once more", person="cleo", conversation="of cleo"))
    third = await claimed(store, now=UNTIL)
    while third.incoming.person.id != "cleo":
        third = await claimed(store, now=UNTIL)
    assert await store.open_questions.open(third, "1-1", ASKED, UNTIL, UNTIL + LEASE, MOST)
    assert not await held(store, others)


async def held(store: Store, claim: Claim) -> bool:
    """Whether there is a row, for whomever it counts."""
    late = await store.open_questions.answer(claim.turn, "1-1", "nobody", "", None, SOON)
    return late is AnswerOutcome.NOT_THEIRS


@pytest.mark.parametrize("wish", ["everything", "thread"])
async def test_forgetting_takes_it_along_with_what_was_filled_in(store: Store, wish: str) -> None:
    claim = await asking(store)
    await answer(store, claim, ElicitAction.ACCEPT)
    plan = Everything("ann") if wish == "everything" else OneThread("ann", frozenset({"of ann"}))
    await store.forgetting.forget(plan, SOON)
    assert not await held(store, claim)
    if (files := store.database.files) is not None:
        await files.checkpoint()
        assert not await files.find(frozenset({b"swordfish"}))


async def test_an_edited_question_ends_the_turn_that_asks_and_no_other(store: Store) -> None:
    first = said("paint it", conversation="one")
    await store.ledger.accept(first)
    asks = await claimed(store)
    await store.open_questions.open(asks, "1-1", ASKED, START, UNTIL, MOST)
    second = said("sell it", conversation="two")
    await store.ledger.accept(second)
    works = await claimed(store, now=START)
    for one in (first, second):
        assert not await store.ledger.amend(one.source, one.channel, one.message_id, "nothing")
    assert await store.ledger.stopping("worker") == {asks.turn}
    assert works.turn != asks.turn
