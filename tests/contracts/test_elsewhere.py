"""The contract of the port Ledger for turns of other processes: what one that is gone has left, and how one ended."""

from dataclasses import replace
from datetime import datetime, timedelta

from agent.events import Outcome
from agent.incoming import Incoming
from agent.memory.forgetting_plans import Everything
from agent.turn_records import Claiming, Closing
from store.engine import Store
from tests.contracts.steps import claimed, same_on_postgresql
from tests.fakes.incoming import LEASE, START, said

LATER = START + timedelta(days=1)


def asked(text: str, *, source: str = "terminal:1", person: str = "ann") -> Incoming:
    return replace(said(text, person=person, conversation=text), source=source)


async def adopted(store: Store, source: str = "terminal:2", *, now: datetime = LATER) -> int:
    return await store.ledger.take_over_turns("ann", "terminal", source, now, LEASE)


async def left(store: Store, source: str = "terminal:2", *, now: datetime = LATER) -> list[str]:
    """What a process that shows the replies of one source finds to do."""
    found: list[str] = []
    while (claim := await store.ledger.claim(Claiming("worker", now, LEASE, sources=frozenset({source})))) is not None:
        found.append(claim.incoming.text)
    return found


@same_on_postgresql
async def test_what_a_process_left_is_taken_over_by_the_next_one_of_its_kind_and_person(store: Store) -> None:
    for one in (asked("runs"), asked("waits", source="terminal")):
        await store.ledger.accept(one)
    for other in (
        asked("on Slack", source="slack"),
        asked("ben's", person="ben"),
        asked("like it", source="terminals"),
    ):
        await store.ledger.accept(other)
    await claimed(store)
    assert await left(store) == []
    assert await adopted(store) == 2
    assert await left(store) == ["runs", "waits"]
    assert await adopted(store) == 0


async def test_what_a_process_left_of_everyone_is_taken_over_at_once(store: Store) -> None:
    for person, source in (("ann", "api:1"), ("ben", "api:2"), ("ann", "terminal:1")):
        await store.ledger.accept(asked(f"{person} by {source}", source=source, person=person))
    await store.ledger.accept(asked("held", source="api:4"))
    assert await store.ledger.hold_place("api:4", LATER + LEASE)
    assert await store.ledger.take_over_turns("", "api", "api:3", LATER, LEASE) == 2
    assert await left(store, "api:3") == ["ann by api:1", "ben by api:2"]


async def test_holding_a_place_never_shortens_the_lease_of_a_turn_that_runs(store: Store) -> None:
    await store.ledger.accept(asked("runs", source="api:1"))
    claim = await claimed(store)
    await store.ledger.renew(claim, LATER, 3 * LEASE)
    assert await store.ledger.hold_place("api:1", LATER + LEASE)
    assert await store.ledger.take_over_turns("", "api", "api:2", LATER + 2 * LEASE, LEASE) == 0
    assert await store.ledger.take_over_turns("", "api", "api:2", LATER + 3 * LEASE, LEASE) == 1


@same_on_postgresql
async def test_what_a_living_process_runs_stays_its_own(store: Store) -> None:
    await store.ledger.accept(asked("runs"))
    claim = await claimed(store, now=LATER)
    assert await adopted(store) == 0
    await store.ledger.release(claim)
    assert await adopted(store) == 1
    assert await left(store) == ["runs"]


async def test_a_process_is_told_how_its_turns_ended_elsewhere(store: Store) -> None:
    turns = [(await store.ledger.accept(asked(text))).turn for text in ("one", "two", "three")]
    for outcome in (Outcome.ANSWERED, Outcome.STOPPED):
        await store.ledger.finish(await claimed(store), Closing(outcome, "Yes."), START)
    await claimed(store)
    assert await store.ledger.ended(frozenset()) == {}
    assert await store.ledger.ended(frozenset(turns)) == {turns[0]: Outcome.ANSWERED, turns[1]: Outcome.STOPPED}
    await store.forgetting.forget(Everything("ann"), START)
    assert await store.ledger.ended(frozenset(turns)) == dict.fromkeys(turns)


async def test_the_pages_of_a_reply_are_known_once_its_turn_is_over(store: Store) -> None:
    number = (await store.ledger.accept(asked("one"))).turn
    assert await store.ledger.pages(number) is None
    claim = await claimed(store)
    assert await store.ledger.pages(number) is None
    await store.ledger.finish(claim, Closing(Outcome.ANSWERED, "Yes.", pages=("a", "b")), START)
    assert await store.ledger.pages(number) == ("a", "b")
    await store.forgetting.forget(Everything("ann"), START)
    assert await store.ledger.pages(number) == ()
