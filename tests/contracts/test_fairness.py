"""The contract of the ledger's order: nobody waits behind another person's flood."""

from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from agent.admission_terms import Authority, Terms, TermsNotMet
from agent.events import Outcome
from agent.turn_records import Claim, Claiming, Closing
from benchmarks.scale_flood import Flood, delays, ratio
from store.engine import Store, open_store
from tests.contracts.steps import claimed, same_on_postgresql
from tests.fakes.incoming import LEASE, START, said


async def flood(store: Store, number: int = 20, person: str = "flo", team: str = "") -> None:
    for thread in range(number):
        await store.ledger.accept(replace(said("?", person=person, conversation=f"{person} {thread}"), team=team))


async def next_of(store: Store, seconds: float = 0.0, per_person: int | None = None) -> Claim | None:
    return await store.ledger.claim(
        Claiming("worker", START + timedelta(seconds=seconds), LEASE, per_person=per_person)
    )


async def finished(store: Store, claim: Claim) -> None:
    await store.ledger.finish(claim, Closing(Outcome.ANSWERED, "!"), START)


@same_on_postgresql
async def test_whoever_has_nothing_running_comes_before_a_flood(store: Store) -> None:
    await flood(store)
    await claimed(store)
    await store.ledger.accept(said("me too?", person="ann", conversation="ann"))
    assert (await claimed(store)).incoming.person.id == "ann"
    assert (await claimed(store)).incoming.person.id == "flo"


@same_on_postgresql
async def test_with_one_worker_people_take_turns(store: Store) -> None:
    await flood(store, 6)
    await finished(store, await claimed(store))
    for name in ("ann", "bob"):
        for thread in range(2):
            await store.ledger.accept(said("?", person=name, conversation=f"{name} {thread}"))
    order: list[str] = []
    for second in range(1, 7):
        claim = await claimed(store, now=START + timedelta(seconds=second))
        order.append(claim.incoming.person.id)
        await finished(store, claim)
    assert order == ["ann", "bob", "flo", "ann", "bob", "flo"]


@same_on_postgresql
async def test_of_one_person_the_oldest_goes_first_and_no_more_run_than_allowed(store: Store) -> None:
    await flood(store, 5)
    running = [await next_of(store, per_person=2) for _ in range(3)]
    assert [claim.incoming.conversation for claim in running if claim] == ["flo 0", "flo 1"]
    await store.ledger.accept(said("?", person="ann", conversation="ann"))
    other = await next_of(store, per_person=2)
    assert other is not None
    assert other.incoming.person.id == "ann"
    assert running[0] is not None
    await finished(store, running[0])
    again = await next_of(store, per_person=2)
    assert again is not None
    assert again.incoming.conversation == "flo 2"


@same_on_postgresql
async def test_a_turn_whose_worker_is_gone_is_taken_over_first_even_beyond_what_one_person_may_run(
    store: Store,
) -> None:
    await flood(store, 3)
    first = await next_of(store, per_person=1)
    await store.ledger.accept(said("?", person="ann", conversation="ann"))
    taken_over = await next_of(store, LEASE.total_seconds(), per_person=1)
    assert first is not None
    assert taken_over is not None
    assert (taken_over.turn, taken_over.attempts) == (first.turn, 2)


@same_on_postgresql
async def test_a_conversation_keeps_its_order_whoever_writes_in_it(store: Store) -> None:
    first = await store.ledger.accept(said("one", person="flo", conversation="shared"))
    second = await store.ledger.accept(said("two", person="ann", conversation="shared"))
    await flood(store, 2)
    running = await claimed(store)
    assert running.turn == first.turn
    assert (await claimed(store)).incoming.person.id == "flo"
    await finished(store, running)
    assert (await claimed(store)).turn == second.turn


@same_on_postgresql
async def test_what_a_person_is_where_they_write_is_there_when_it_is_claimed(store: Store) -> None:
    message = replace(said("?"), authority=Authority.MANAGER, roles=frozenset({"R1", "R2"}), team="T1", model="m")
    await store.ledger.accept(message)
    assert (await claimed(store)).incoming == message


@same_on_postgresql
async def test_a_team_of_many_people_does_not_go_before_another_team(store: Store) -> None:
    for number in range(12):
        await flood(store, 2, person=f"{number}", team="large")
    for _ in range(4):
        await claimed(store)
    await flood(store, 1, person="ann", team="small")
    assert (await claimed(store)).incoming.person.id == "ann"


@same_on_postgresql
async def test_with_one_worker_teams_take_turns_and_so_do_the_people_of_each(store: Store) -> None:
    for person, team in (("ann", "A"), ("al", "A"), ("bob", "B"), ("cy", "C")):
        await flood(store, 3, person, team)
    order: list[str] = []
    for second in range(1, 10):
        claim = await claimed(store, now=START + timedelta(seconds=second))
        order.append(claim.incoming.person.id)
        await finished(store, claim)
    assert order == ["ann", "bob", "cy", "al", "bob", "cy", "ann", "bob", "cy"]


@same_on_postgresql
async def test_whoever_waits_is_reached_however_many_people_come_anew(store: Store) -> None:
    await flood(store, 4)
    order: list[str] = []
    for second in range(1, 13):
        await flood(store, 1, person=f"new {second}")
        await flood(store, 1, person=f"newer {second}")
        claim = await claimed(store, now=START + timedelta(seconds=second))
        order.append(claim.incoming.person.id)
        await finished(store, claim)
    assert order.count("flo") == 2  # of twenty-five people, in twelve answers


@same_on_postgresql
async def test_a_team_none_of_whose_turns_may_run_holds_up_no_other(store: Store) -> None:
    await flood(store, 3, team="A")
    await claimed(store)
    await store.ledger.accept(replace(said("?", person="ann", conversation="ann"), team="B"))
    await next_of(store, per_person=1)
    assert await next_of(store, per_person=1) is None


@same_on_postgresql
async def test_a_flood_of_one_team_leaves_the_other_its_time(store: Store, tmp_path: Path) -> None:
    small = Flood(questions=60, people=12, seconds=12, slots=4, takes_s=2.0, per_person=2)
    calm = await open_store(f"sqlite:///{tmp_path / 'calm.db'}")
    try:
        alone = await delays(calm, small, flooded=False)
    finally:
        await calm.close()
    assert ratio(await delays(store, small, flooded=True), alone) < 2


@same_on_postgresql
async def test_a_backlog_that_one_team_has_filled_is_open_to_another(store: Store) -> None:
    terms = Terms(START, backlog=20)
    for number in range(20):
        large = replace(said("?", person=f"{number}", conversation=f"{number}"), team="large")
        await store.ledger.accept(large, terms)
    with pytest.raises(TermsNotMet):
        await store.ledger.accept(replace(said("?", conversation="one more"), team="large"), terms)
    small = [replace(said("?", person="ann", conversation=f"ann {number}"), team="small") for number in range(3)]
    assert not any([(await store.ledger.accept(one, terms)).duplicate for one in small[:2]])
    with pytest.raises(TermsNotMet):
        await store.ledger.accept(small[2], terms)
