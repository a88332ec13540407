"""The contract of a claim along with an intake, and of what the end of a turn says about those that wait."""

from dataclasses import replace
from datetime import timedelta

from agent.events import Outcome
from agent.turn_records import Claiming, Closing
from store.engine import Store
from tests.contracts.steps import claimed
from tests.fakes.incoming import LEASE, START, said

PLACE = Claiming("worker", START, LEASE)
DONE = Closing(Outcome.ANSWERED, "Done.")


async def test_a_message_is_claimed_with_its_intake_if_nothing_is_before_it(store: Store) -> None:
    message = said("hello")
    accepted = await store.ledger.accept(message, claiming=PLACE)
    assert accepted.claim is not None
    assert (accepted.claim.turn, accepted.claim.incoming, accepted.claim.owner) == (accepted.turn, message, "worker")
    assert await store.ledger.claim(Claiming("other", START, LEASE)) is None


async def test_that_claim_is_held_like_any_other(store: Store) -> None:
    claim = (await store.ledger.accept(said("hello"), claiming=PLACE)).claim
    assert claim is not None
    await store.ledger.save(claim, reply_ref='["page"]')
    again = await claimed(store, "other", now=START + 2 * LEASE)
    assert (again.turn, again.epoch, again.reply_ref) == (claim.turn, claim.epoch + 1, '["page"]')


async def test_what_has_waited_longer_is_claimed_instead(store: Store) -> None:
    first = await store.ledger.accept(said("first", conversation="a"))
    second = await store.ledger.accept(said("second", conversation="b"), claiming=PLACE)
    assert second.claim is not None
    assert second.claim.turn == first.turn
    assert (await claimed(store)).turn == second.turn


async def test_nothing_is_claimed_while_the_conversation_is_busy_or_the_person_has_enough(store: Store) -> None:
    assert (await store.ledger.accept(said("one"), claiming=PLACE)).claim is not None
    assert (await store.ledger.accept(said("two"), claiming=PLACE)).claim is None
    one_each = replace(PLACE, per_person=1)
    assert (await store.ledger.accept(said("three", conversation="another"), claiming=one_each)).claim is None
    bens = await store.ledger.accept(said("four", person="ben", conversation="third"), claiming=one_each)
    assert bens.claim is not None
    assert bens.claim.turn == bens.turn


async def test_who_was_served_last_is_known_to_the_hour(store: Store) -> None:
    for minutes, person, latest in (
        (0, "ann", "ann"),
        (1, "ben", "ben"),
        (59, "ann", "ben"),
        (60, "ann", "ann"),
        (61, "ben", "ben"),
    ):
        asked = said("hello", person=f"test:{person}", conversation=f"{minutes}")
        at = START + timedelta(minutes=minutes)
        claim = (await store.ledger.accept(asked, claiming=replace(PLACE, now=at))).claim
        assert claim is not None
        await store.ledger.finish(claim, DONE, at)
        assert await store.approvals.known_people("test", 1) == [f"test:{latest}"]


async def test_a_message_that_was_taken_in_before_claims_nothing(store: Store) -> None:
    await store.ledger.accept(said("hello", number=1))
    assert (await store.ledger.accept(said("hello", number=1), claiming=PLACE)).claim is None


async def test_the_end_of_a_turn_says_whether_others_wait(store: Store) -> None:
    later = START + timedelta(seconds=1)
    first = (await store.ledger.accept(said("one"), claiming=PLACE)).claim
    await store.ledger.accept(said("two"), claiming=PLACE)
    assert first is not None
    assert await store.ledger.finish(first, DONE, later)
    assert not await store.ledger.finish(await claimed(store), DONE, later)
