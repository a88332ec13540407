"""The contract of the port AskedQuestions, and of messages that answer the question of a turn that was put aside."""

from dataclasses import replace
from datetime import timedelta

import pytest

from agent.asking import ASK_USER, UserQuestion
from agent.events import Outcome
from agent.incoming import Attachment, Quoted
from agent.memory.audience import GroupAudience, Place
from agent.memory.forgetting_plans import OneThread
from agent.messages import AnswerOutcome, Consent, Provenance, ResultStatus, ToolCall, ToolResult
from agent.progress import Progress, RoundStep, encode
from agent.turn_records import Claim, Claiming, Closing, Waiting
from store.engine import Store
from tests.contracts.steps import claimed, in_memory_too, known, same_on_postgresql
from tests.fakes.incoming import LEASE, START, said

ASK = ToolCall(ASK_USER, {"question": "Where to?", "options": ["Staging", "Production"]})
SEND = ToolCall("send", {"text": "Hello."})
UNTIL = START + timedelta(days=1)
LATER = START + timedelta(hours=1)


async def asking(store: Store, *others: ToolCall) -> tuple[Claim, str]:
    """A turn of Ann's that was put aside for a question; and the question's key."""
    await store.ledger.accept(said("deploy it"))
    claim = await claimed(store)
    consents = (Consent.ASKED, *[Consent.AWAITED] * len(others))
    step = RoundStep(calls=(ASK, *others), results=(None,) * len(consents), consents=consents, time=START)
    await store.ledger.save(claim, progress=encode(Progress((step,))))
    await store.ledger.put_aside(claim, UNTIL)
    (question,) = await store.asked_questions.open_to("ann")
    return claim, question.key


async def goes_on(store: Store) -> Claim | None:
    return await store.ledger.claim(Claiming("another", LATER, LEASE))


def answered(answer: Waiting) -> Progress:
    """The turn's progress once the answer has joined it."""
    result = ToolResult(ASK_USER, ResultStatus.SUCCESS, "answered")
    return Progress((RoundStep(calls=(ASK,), results=(result,), consents=(Consent.ASKED,), joined=(answer,)),))


@same_on_postgresql
async def test_the_first_press_of_its_asker_answers_it_as_a_message_of_theirs(store: Store) -> None:
    claim, key = await asking(store)
    (question,) = await store.asked_questions.open_to("ann")
    assert (question.turn, question.asked) == (claim.turn, "deploy it")
    assert question.question == UserQuestion("Where to?", ("Staging", "Production"))
    assert await store.asked_questions.open_to("bob") == []
    answer = store.asked_questions.answer
    assert await answer(claim.turn, key, "bob", "Production", LATER) is AnswerOutcome.NOT_THEIRS
    assert await answer(claim.turn, "1.1-0", "ann", "Production", LATER) is AnswerOutcome.OVER
    assert await goes_on(store) is None
    assert await answer(claim.turn, key, "ann", "Staging", LATER, chosen=True) is AnswerOutcome.KEPT
    assert await answer(claim.turn, key, "ann", "Production", LATER) is AnswerOutcome.ANSWERED_BEFORE
    assert await store.asked_questions.decline(claim.turn, key, "ann", LATER) is AnswerOutcome.ANSWERED_BEFORE
    assert await store.asked_questions.open_to("ann") == []
    again = await goes_on(store)
    assert again is not None
    assert (again.turn, again.epoch) == (claim.turn, claim.epoch + 1)
    found = await store.asked_questions.answer_of(claim.turn)
    assert found is not None
    assert (found.text, found.answers, found.own) == ("Staging", True, False)


@pytest.mark.parametrize(
    ("words", "own"), [(Provenance.OWN, True), (Provenance.RELAYED, False), (Provenance.FOREIGN, False)]
)
async def test_an_answer_ends_with_its_turn_and_what_was_chosen_is_their_own_unless_it_held_others_words(
    store: Store, words: Provenance, own: bool
) -> None:
    claim, key = await asking(store)
    await store.asked_questions.answer(claim.turn, key, "ann", "Staging", LATER, chosen=True)
    again = await claimed(store, now=LATER)
    answer = await store.asked_questions.answer_of(claim.turn)
    assert answer is not None
    await store.ledger.save(again, progress=encode(answered(answer)))
    assert await goes_on(store) is None  # the answer is not answered beside it
    closing = Closing(Outcome.ANSWERED, "Where to? Deployed.", joined=(answer,), words=words)
    await store.ledger.finish(again, closing, LATER)
    assert await goes_on(store) is None
    history = (await known(store, "thread")).said
    assert [message.text for message in history] == ["deploy it", "Staging", "Where to? Deployed."]
    assert history[1].own is own


async def test_the_askers_next_message_answers_it_and_blocks_nobody_meanwhile(store: Store) -> None:
    claim, _ = await asking(store, SEND)
    accepted = await store.ledger.accept(said("staging"))
    await store.ledger.accept(said("and mine?", person="bob"))
    other = await goes_on(store)  # the turn still waits for a consent
    assert other is not None
    assert other.incoming.text == "and mine?"
    assert await store.ledger.waiting(other) == []
    await store.ledger.finish(other, Closing(Outcome.ANSWERED, "Yours too."), LATER)
    (waiting,) = await store.consents.undecided("ann")
    await store.consents.decide(claim.turn, waiting.key, "ann", Consent.GIVEN, LATER)
    again = await goes_on(store)
    assert again is not None
    assert again.turn == claim.turn
    found = await store.asked_questions.answer_of(claim.turn)
    assert found is not None
    assert (found.turn, found.text, found.own) == (accepted.turn, "staging", True)


@same_on_postgresql
async def test_what_is_no_answer_is_a_question_of_its_own(store: Store) -> None:
    claim, _ = await asking(store)
    messages = [
        said("mine?", person="bob"),
        said("elsewhere", conversation="another"),
        replace(said("see this"), files=(Attachment("a.txt", "text/plain", 4, "an address"),)),
        replace(said("see that"), quoted=(Quoted("earlier in this thread", "Bob", "a bicycle"),)),
        said("not for all", place=Place(GroupAudience("club"))),
        replace(said("a model's words"), own=False),
    ]
    for message in messages:
        await store.ledger.accept(replace(message, time=LATER))
        other = await goes_on(store)
        assert other is not None
        assert (other.incoming.text, other.turn != claim.turn) == (message.text, True)
        await store.ledger.finish(other, Closing(Outcome.ANSWERED, "Yes."), LATER)
    assert await store.asked_questions.answer_of(claim.turn) is None


@same_on_postgresql
async def test_a_reply_to_the_bots_own_message_answers_it(store: Store) -> None:
    claim, _ = await asking(store)
    quoted = Quoted("the message replied to", "Cogency", "Where to?", by_bot=True)
    await store.ledger.accept(replace(said("staging"), quoted=(quoted,)))
    again = await goes_on(store)
    assert again is not None
    assert again.turn == claim.turn


async def test_of_an_answer_that_is_deleted_before_it_was_read_nothing_is_left_and_the_turn_waits_again(
    store: Store,
) -> None:
    claim, key = await asking(store)
    reply = replace(said("staging"), message_id="the answer")
    await store.ledger.accept(reply)
    assert await store.ledger.withdraw(reply.source, reply.channel, "the answer", LATER)
    again = await goes_on(store)
    assert again is not None
    assert await store.asked_questions.answer_of(claim.turn) is None
    await store.ledger.put_aside(again, UNTIL)
    assert await goes_on(store) is None
    assert await store.asked_questions.answer(claim.turn, key, "ann", "Production", LATER) is AnswerOutcome.KEPT


@same_on_postgresql
async def test_an_answer_that_is_edited_before_it_was_read_is_read_as_it_is_then(store: Store) -> None:
    claim, _ = await asking(store)
    reply = replace(said("staging"), message_id="the answer")
    await store.ledger.accept(reply)
    assert await store.ledger.amend(reply.source, reply.channel, "the answer", "production")
    found = await store.asked_questions.answer_of(claim.turn)
    assert found is not None
    assert found.text == "production"


async def test_a_skipped_question_goes_on_without_an_answer(store: Store) -> None:
    claim, key = await asking(store)
    assert await store.asked_questions.decline(claim.turn, key, "bob", LATER) is AnswerOutcome.NOT_THEIRS
    assert await store.asked_questions.decline(claim.turn, key, "ann", LATER) is AnswerOutcome.KEPT
    assert await store.consents.decided(claim.turn) == {key: Consent.REFUSED}
    again = await goes_on(store)
    assert again is not None
    assert again.turn == claim.turn


async def test_no_question_is_approved_and_nothing_of_it_is_open_after_its_time_or_a_stop(store: Store) -> None:
    claim, key = await asking(store)
    await store.consents.decide(claim.turn, key, "ann", Consent.GIVEN, LATER)
    assert await store.consents.decided(claim.turn) == {}
    late = await store.asked_questions.answer(claim.turn, key, "ann", "Staging", UNTIL)
    assert late is AnswerOutcome.OVER
    await store.ledger.stop("thread")
    assert await store.asked_questions.open_to("ann") == []
    assert await store.asked_questions.answer(claim.turn, key, "ann", "Staging", LATER) is AnswerOutcome.OVER


async def test_the_answer_to_a_turn_that_was_stopped_is_not_answered_by_itself(store: Store) -> None:
    claim, key = await asking(store, SEND)
    await store.asked_questions.answer(claim.turn, key, "ann", "Staging", LATER)
    await store.ledger.stop("thread")
    again = await goes_on(store)
    assert again is not None
    await store.ledger.finish(again, Closing(Outcome.STOPPED, ""), LATER)
    assert await goes_on(store) is None


@same_on_postgresql
async def test_an_answer_whose_turn_failed_is_answered_by_itself(store: Store) -> None:
    claim, key = await asking(store)
    await store.asked_questions.answer(claim.turn, key, "ann", "Staging", LATER)
    again = await goes_on(store)
    assert again is not None
    await store.ledger.finish(again, Closing(Outcome.REFUSED, "The model is down."), LATER)
    alone = await goes_on(store)
    assert alone is not None
    assert alone.incoming.text == "Staging"


@in_memory_too
async def test_forgetting_the_thread_erases_the_answer_and_the_question(store: Store) -> None:
    claim, key = await asking(store)
    await store.asked_questions.answer(claim.turn, key, "ann", "a secret word", LATER)
    again = await claimed(store, now=LATER)
    answer = await store.asked_questions.answer_of(claim.turn)
    assert answer is not None
    await store.ledger.save(again, progress=encode(answered(answer)))
    receipt = await store.forgetting.forget(OneThread("ann", frozenset({"thread"})), LATER)
    assert receipt.found_again == 0
    assert (await known(store, "thread")).said == []
    assert await goes_on(store) is None
