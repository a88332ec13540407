"""The contract of the ledger's terms: rates and backlog are counted where the message is stored."""

from dataclasses import replace
from datetime import timedelta

import pytest

from agent.admission_terms import BacklogFull, Closed, Obstacle, Rate, RateReached, Terms, TermsNotMet, Whose
from agent.events import Outcome
from agent.incoming import Incoming
from agent.turn_records import Claiming, Closing
from store.engine import Store
from tests.contracts.steps import claimed
from tests.fakes.incoming import START, said

MINUTE = timedelta(minutes=1)
TWO_A_MINUTE = Rate(Whose.PERSON, 2, MINUTE)
THREE_HERE = Rate(Whose.CHANNEL, 3, MINUTE)


def at(seconds: float, *rates: Rate, backlog: int | None = None, closed: bool = False) -> Terms:
    return Terms(START + timedelta(seconds=seconds), rates, backlog, closed)


async def obstacle(store: Store, incoming: Incoming, terms: Terms) -> Obstacle:
    with pytest.raises(TermsNotMet) as caught:
        await store.ledger.accept(incoming, terms)
    return caught.value.obstacle


async def test_a_person_is_stopped_at_their_rate_until_the_first_of_those_is_old_enough(store: Store) -> None:
    for second in (0, 10):
        await store.ledger.accept(said("?"), at(second, TWO_A_MINUTE))
    reached = RateReached(TWO_A_MINUTE, START + MINUTE)
    assert await obstacle(store, said("?"), at(20, TWO_A_MINUTE)) == reached
    await store.ledger.accept(said("?", person="bob"), at(20, TWO_A_MINUTE))
    assert await obstacle(store, said("?"), at(59.9, TWO_A_MINUTE)) == reached
    assert not (await store.ledger.accept(said("?"), at(60, TWO_A_MINUTE))).duplicate
    later = RateReached(TWO_A_MINUTE, START + timedelta(seconds=10) + MINUTE)
    assert await obstacle(store, said("?"), at(61, TWO_A_MINUTE)) == later


async def test_what_was_not_taken_in_left_nothing_and_does_not_count(store: Store) -> None:
    message = said("again")
    await store.ledger.accept(said("one"), at(0, TWO_A_MINUTE))
    await store.ledger.accept(said("two"), at(1, TWO_A_MINUTE))
    for _ in range(5):
        await obstacle(store, message, at(30, TWO_A_MINUTE))
    assert await store.conversations.questions("ann", limit=9) == ["one", "two"]
    assert not (await store.ledger.accept(message, at(61, TWO_A_MINUTE))).duplicate


async def test_a_channel_is_stopped_at_its_rate_whoever_writes(store: Store) -> None:
    for name in ("ann", "bob", "cy"):
        await store.ledger.accept(said("?", person=name), at(0, TWO_A_MINUTE, THREE_HERE))
    found = await obstacle(store, said("?", person="dee"), at(1, TWO_A_MINUTE, THREE_HERE))
    assert found == RateReached(THREE_HERE, START + MINUTE)
    elsewhere = replace(said("?", person="dee"), channel="elsewhere")
    assert not (await store.ledger.accept(elsewhere, at(1, TWO_A_MINUTE, THREE_HERE))).duplicate


async def test_answered_questions_count_and_overheard_ones_do_not(store: Store) -> None:
    for _ in range(3):
        await store.ledger.record_context_message(said("by the way"))
    for second in (0, 1):
        await store.ledger.accept(said("?"), at(second, TWO_A_MINUTE))
        await store.ledger.finish(await claimed(store), Closing(Outcome.ANSWERED, "!"), START)
    assert isinstance(await obstacle(store, said("?"), at(2, TWO_A_MINUTE)), RateReached)


async def test_no_more_is_taken_in_while_too_many_wait(store: Store) -> None:
    for number in range(3):
        await store.ledger.accept(said("?", conversation=f"{number}"), at(0, backlog=3))
    assert await obstacle(store, said("?"), at(1, backlog=3)) == BacklogFull(3)
    await claimed(store)
    assert not (await store.ledger.accept(said("?"), at(2, backlog=3))).duplicate


async def test_while_it_is_closed_nothing_new_is_taken_in(store: Store) -> None:
    assert await obstacle(store, said("?"), at(0, closed=True)) == Closed()
    assert await store.ledger.claim(Claiming("worker", START, MINUTE)) is None


async def test_what_was_taken_in_before_is_known_whatever_the_terms_are_now(store: Store) -> None:
    message = said("?")
    first = await store.ledger.accept(message, at(0, TWO_A_MINUTE, backlog=1))
    for terms in (at(1, Rate(Whose.PERSON, 1, MINUTE)), at(1, backlog=1), at(1, closed=True)):
        again = await store.ledger.accept(message, terms)
        assert (again.turn, again.duplicate) == (first.turn, True)
