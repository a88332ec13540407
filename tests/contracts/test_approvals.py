"""The contract of calls that others than their asker decide about: the port Approvals."""

import asyncio
from datetime import timedelta

import pytest

from agent.approvers import Approvers
from agent.consents import APPROVAL, SENDING, Approval, ConsentOutcome
from agent.errors import LeaseLost
from agent.memory.audience import GroupAudience, Place, TeamAudience
from agent.memory.forgetting_plans import Everything
from agent.messages import Consent
from agent.progress import encode
from agent.shown_replies import DELETE_REPLY
from agent.turn_records import Claim
from store.engine import Store
from tests.contracts.steps import claimed, in_memory_too, same_on_postgresql
from tests.contracts.test_consents import BOOK, LATER, SEND, UNTIL, asks, waits
from tests.fakes.incoming import LEASE, START, said

MANAGER, TWO = Approvers("manager"), Approvers("manager", 2)
CLOSED = Place(GroupAudience("test:channel"), whole_channel=True)
GIVEN, REFUSED = Consent.GIVEN, Consent.REFUSED
AFTER_ALL = START + timedelta(days=30)  # Of all messages that a process has made: each is a second after the one before


async def requested(store: Store, rule: Approvers = MANAGER, people: tuple[str, ...] = ("mia", "tom")) -> Claim:
    """A turn of ann that is put aside for two calls, the first of which these people decide about."""
    await store.ledger.accept(said("do both", place=Place(TeamAudience("t1"), within_team="t1")))
    claim = await claimed(store)
    progress = asks(SEND, BOOK)
    await store.ledger.save(claim, progress=encode(progress))
    await store.approvals.request(claim, {next(iter(progress.awaited)): (rule, people)}, START)
    await store.ledger.put_aside(claim, UNTIL)
    return claim


async def only(store: Store, claim: Claim) -> Approval:
    (approval,) = await store.approvals.of(claim.turn, LATER)
    return approval


async def decide(store: Store, claim: Claim, person: str, word: Consent, reason: str = "") -> ConsentOutcome:
    key = (await only(store, claim)).key
    return await store.approvals.decide(claim.turn, key, person, word, LATER, reason=reason)


async def test_who_is_asked_sees_the_call_and_their_decision_is_the_calls(store: Store) -> None:
    claim = await requested(store)
    (waiting,) = await store.approvals.waiting("mia", LATER)
    assert (waiting.call, waiting.tool, waiting.rule, waiting.question.text) == (SEND, "send", MANAGER, "do both")
    assert waiting.until == UNTIL
    assert await store.approvals.waiting("ann", LATER) == []
    assert [each.call for each in await store.consents.undecided("ann")] == [BOOK]
    assert await decide(store, claim, "mia", GIVEN) is ConsentOutcome.KEPT  # the asker has still to decide about BOOK
    assert (await only(store, claim)).consent is GIVEN
    assert await store.consents.decided(claim.turn) == {waiting.key: GIVEN}
    assert await store.approvals.waiting("tom", LATER) == []
    (own,) = await store.consents.undecided("ann")
    assert await store.consents.decide(claim.turn, own.key, "ann", GIVEN, LATER) is ConsentOutcome.GOES_ON
    assert not await waits(store)


async def test_the_asker_decides_neither_as_such_nor_as_one_who_was_asked(store: Store) -> None:
    claim = await requested(store, people=("ann", "mia"))
    approval = await only(store, claim)
    assert [each.person for each in approval.people] == ["mia"]
    assert await decide(store, claim, "ann", GIVEN) is ConsentOutcome.NOT_THEIRS
    mine = await store.consents.decide(claim.turn, approval.key, "ann", GIVEN, LATER, standing=True)
    assert mine is ConsentOutcome.NOT_THEIRS
    assert await store.consents.decided(claim.turn) == {}


@same_on_postgresql
async def test_two_have_to_approve_and_one_person_counts_once(store: Store) -> None:
    claim = await requested(store, TWO)
    assert await decide(store, claim, "mia", GIVEN) is ConsentOutcome.KEPT
    assert await decide(store, claim, "mia", GIVEN) is ConsentOutcome.ALLOWED_BEFORE
    assert ((await only(store, claim)).consent, (await only(store, claim)).given) == (Consent.AWAITED, 1)
    assert await store.consents.decided(claim.turn) == {}
    await decide(store, claim, "cleo", GIVEN)  # who was not asked, and may decide
    assert (await only(store, claim)).consent is GIVEN


@same_on_postgresql
async def test_one_denial_is_enough_and_its_reason_is_kept(store: Store) -> None:
    claim = await requested(store, TWO)
    await decide(store, claim, "mia", GIVEN)
    await decide(store, claim, "tom", REFUSED, "Too early.")
    approval = await only(store, claim)
    assert approval.consent is REFUSED
    assert [each.reason for each in approval.people] == ["", "Too early."]
    assert await decide(store, claim, "cleo", GIVEN) is ConsentOutcome.OVER


@in_memory_too
async def test_of_decisions_at_the_same_time_the_first_counts(store: Store) -> None:
    claim = await requested(store)
    people = [(person, word) for person in ("mia", "tom", "cleo") for word in (GIVEN, REFUSED)]
    told = await asyncio.gather(*(decide(store, claim, person, word) for person, word in people))
    assert told.count(ConsentOutcome.KEPT) == 1
    decided = [each for each in (await only(store, claim)).people if each.consent is not Consent.NOT_NEEDED]
    assert [each.consent for each in decided] == [(await only(store, claim)).consent]


async def test_a_call_for_which_too_few_can_be_asked_is_decided_at_once(store: Store) -> None:
    claim = await requested(store, TWO, ("mia", "ann", "mia"))
    assert await store.approvals.of(claim.turn, LATER) == []
    assert [*(await store.consents.decided(claim.turn)).values()] == [Consent.UNASKED]


async def test_so_is_one_whose_approvers_cannot_be_reached(store: Store) -> None:
    claim = await requested(store)
    key = (await only(store, claim)).key
    await store.approvals.unreachable(claim.turn, key, "mia", LATER)
    assert await store.consents.decided(claim.turn) == {}
    await store.approvals.unreachable(claim.turn, key, "tom", LATER)
    assert await store.consents.decided(claim.turn) == {key: Consent.UNASKED}


@same_on_postgresql
async def test_nothing_is_decided_once_the_time_is_over_or_the_turn_is_stopped(store: Store) -> None:
    claim = await requested(store)
    key = (await only(store, claim)).key
    late = await store.approvals.decide(claim.turn, key, "mia", GIVEN, UNTIL + timedelta(seconds=1))
    assert late is ConsentOutcome.OVER
    await store.ledger.stop(claim.incoming.conversation)
    assert await decide(store, claim, "mia", GIVEN) is ConsentOutcome.OVER
    assert await store.approvals.waiting("mia", LATER) == []


async def test_what_was_shown_is_deleted_with_the_question_and_what_is_being_sent_is_looked_for(store: Store) -> None:
    claim = await requested(store)
    key = (await only(store, claim)).key
    assert await store.approvals.shown(claim.turn, key, "mia", ["D1/1.1", "D1/1.2"])
    assert await store.approvals.shown(claim.turn, key, "tom", SENDING)
    await store.forgetting.forget(Everything("ann"), START)
    assert await store.approvals.of(claim.turn, LATER) == []
    assert not await store.approvals.shown(claim.turn, key, "tom", ["D2/2.1"])
    # The last one removes what shows that the question will be answered.
    assert await deleted(store) == ["D1/1.1", "D1/1.2", "unanswered"]
    lost = [job for _ in range(2) if (job := await store.jobs.claim(frozenset({APPROVAL}), "w", AFTER_ALL, LEASE))]
    assert [job.payload for job in lost if job.payload] == [f'["test", "tom", "{claim.turn}.{key}"]']


async def deleted(store: Store) -> list[str]:
    """The messages that are to be deleted."""
    jobs = [await store.jobs.claim(frozenset({DELETE_REPLY}), "w", AFTER_ALL, LEASE) for _ in range(3)]
    return sorted(job.key.split()[-1] for job in jobs if job is not None)


async def test_an_edited_question_asks_anew_and_what_was_shown_is_deleted(store: Store) -> None:
    claim = await requested(store)
    key = (await only(store, claim)).key
    await store.approvals.shown(claim.turn, key, "mia", ["D1/1.1"])
    asked = claim.incoming
    assert await store.ledger.amend(asked.source, asked.channel, asked.message_id, "do neither")
    assert await store.approvals.of(claim.turn, LATER) == []
    assert await store.approvals.decide(claim.turn, key, "mia", GIVEN, LATER) is not ConsentOutcome.GOES_ON
    assert await store.consents.decided(claim.turn) == {}
    assert await deleted(store) == ["D1/1.1"]


async def test_a_deleted_question_is_decided_by_nobody(store: Store) -> None:
    claim = await requested(store)
    key = (await only(store, claim)).key
    asked = claim.incoming
    assert await store.ledger.withdraw(asked.source, asked.channel, asked.message_id, LATER)
    told = await store.approvals.decide(claim.turn, key, "mia", GIVEN, LATER)
    assert told in (ConsentOutcome.OVER, ConsentOutcome.NOT_THEIRS)
    assert await store.approvals.waiting("mia", LATER) == []


@same_on_postgresql
async def test_a_place_that_fewer_people_read_asks_anew_too(store: Store) -> None:
    claim = await requested(store)
    key = (await only(store, claim)).key
    await store.approvals.shown(claim.turn, key, "mia", ["D1/1.1"])
    asked = claim.incoming
    await store.ledger.restrict_place(asked.source, asked.channel, CLOSED, LATER)
    assert await store.approvals.of(claim.turn, LATER) == []
    assert await deleted(store) == ["D1/1.1"]


async def test_a_forgotten_approver_leaves_neither_a_row_nor_a_reason_nor_a_message(store: Store) -> None:
    claim = await requested(store)
    key = (await only(store, claim)).key
    await store.approvals.shown(claim.turn, key, "mia", ["D1/1.1"])
    await decide(store, claim, "mia", REFUSED, "Too early.")
    await store.forgetting.forget(Everything("mia"), START)
    assert [each.person for each in (await only(store, claim)).people] == ["tom"]
    job = await store.jobs.claim(frozenset({DELETE_REPLY}), "w", AFTER_ALL, LEASE)
    assert job is not None
    assert job.key.endswith("D1/1.1")


async def test_a_reminder_is_noted_once(store: Store) -> None:
    claim = await requested(store)
    key = (await only(store, claim)).key
    assert [await store.approvals.reminded(claim.turn, key, "mia") for _ in range(2)] == [True, False]


async def test_a_process_that_lost_the_turn_asks_nobody(store: Store) -> None:
    claim = await requested(store)
    key = (await only(store, claim)).key
    (own,) = await store.consents.undecided("ann")
    await store.consents.decide(claim.turn, own.key, "ann", GIVEN, LATER)
    await decide(store, claim, "mia", GIVEN)
    await claimed(store, "another", now=LATER)
    with pytest.raises(LeaseLost):
        await store.approvals.request(claim, {key: (MANAGER, ["cleo"])}, LATER)
