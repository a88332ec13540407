"""The contract of budgets and their periods, the port BudgetDays: what is stored once is so for several at a time."""

import asyncio
from datetime import timedelta

from agent.admission_terms import Whose
from agent.budget_days import BUDGET, BudgetPause, BudgetRef, Decided, Extension, MessageKind, NearSpent
from agent.errors import LeaseLost
from agent.events import Outcome
from agent.memory.forgetting_plans import Everything
from agent.messages import CallTiming, Consent, ModelCall, Usage
from agent.outgoing import NearBudget
from agent.progress import Progress, encode
from agent.shown_replies import DELETE_REPLY
from agent.spending import By, SpendingPeriod
from agent.turn_records import Claim, Claiming, Closing
from store.engine import Store
from tests.contracts.steps import claimed, in_memory_too, same_on_postgresql
from tests.contracts.test_consents import SEND, asks
from tests.fakes.incoming import LEASE, START, said

ANN = BudgetRef(START.date(), "ann", Whose.PERSON, "ann", "")
ALL = BudgetRef(START.date(), "everyone", Whose.EVERYONE, "", "")
UNTIL = START + timedelta(hours=4)
TOMORROW = START + timedelta(days=1)
SPENT = NearBudget(
    whose=Whose.PERSON,
    owner="ann",
    id="ann",
    source="",
    percent=85,
    tokens=850,
    token_limit=1_000,
    dollars=0.0,
    dollar_limit=None,
    resets=TOMORROW,
)


async def paused(store: Store, budget: BudgetRef | None = ANN, person: str = "ann") -> Claim:
    """A turn that waits for a budget, or because of its own limit."""
    await store.ledger.accept(said("one", person=person, conversation=f"thread of {person}"))
    claim = await claimed(store)
    await store.ledger.put_aside(claim, UNTIL, BudgetPause(START, UNTIL, budget))
    return claim


async def number_of(store: Store, budget: BudgetRef = ANN) -> int:
    (day,) = await store.budget_days.of([budget])
    return day.number


async def goes_on(store: Store) -> Claim | None:
    return await store.ledger.claim(Claiming("worker", START, LEASE))


@in_memory_too
async def test_of_many_who_notice_one_warns_and_of_many_who_decide_one_decides(store: Store) -> None:
    days = store.budget_days
    noticed = await asyncio.gather(*(days.near(ANN, SPENT, turn, START) for turn in range(8)))
    assert sorted(noticed) == [False] * 7 + [True]
    (day,) = await days.of([ANN, ALL])
    assert (day.budget, day.near, day.extension) == (ANN, NearSpent(850, 0, 85), Extension.NONE)
    decide = (Extension.GIVEN, Extension.REFUSED)
    people = [(f"op{each}", decide[each % 2]) for each in range(8)]
    outcomes = await asyncio.gather(*(days.decide(day.number, who, what, 50, START) for who, what in people))
    assert outcomes.count(Decided.STORED) == 1
    decided = await days.by_number(day.number)
    assert decided is not None
    assert (decided.person, decided.extension) == people[outcomes.index(Decided.STORED)]


@in_memory_too
async def test_no_turn_waits_for_a_decision_that_is_made_at_the_same_moment(store: Store) -> None:
    await store.budget_days.near(ANN, SPENT, 1, START)
    number = await number_of(store)
    claims = list[Claim]()
    for each in range(6):
        await store.ledger.accept(said("one", conversation=f"thread {each}"))
        claims.append(await claimed(store, f"worker {each}"))
    pause = BudgetPause(START, UNTIL, ANN)
    aside = [store.ledger.put_aside(claim, UNTIL, pause) for claim in claims]
    await asyncio.gather(*aside[:3], store.budget_days.decide(number, "op", Extension.GIVEN, 50, START), *aside[3:])
    assert {claim.turn for _ in claims if (claim := await goes_on(store)) is not None} == {each.turn for each in claims}


async def test_a_turn_that_waits_asks_once_and_goes_on_with_the_decision_or_when_its_time_is_over(
    store: Store,
) -> None:
    first, second = await paused(store), await paused(store, person="ben")
    (day,) = await store.budget_days.of([ANN])
    assert day.extension is Extension.ASKED
    job = await store.jobs.claim(frozenset({BUDGET}), "worker", START, LEASE)
    assert job is not None
    assert job.key == str(day.number)
    assert await goes_on(store) is None
    assert await store.budget_days.waits(day.number)
    question = await store.budget_days.question(day.number)
    assert question is not None
    assert question.person.id == "ann"
    state = await store.budget_days.pause_of(first.turn)
    assert state is not None
    assert (state.budget, state.until, state.is_over) == (day.number, UNTIL, False)
    assert await store.budget_days.budget_of(first.turn) == day.number
    late = await store.ledger.claim(Claiming("worker", UNTIL, LEASE))
    assert late is not None
    assert late.turn == first.turn
    await store.ledger.finish(late, Closing(Outcome.REFUSED, "Too late."), UNTIL)
    assert await store.budget_days.pause_of(first.turn) is None
    assert await store.budget_days.decide(day.number, "op", Extension.REFUSED, 50, START) is Decided.STORED
    on = await goes_on(store)
    assert on is not None
    assert on.turn == second.turn
    assert not await store.budget_days.waits(99)


@same_on_postgresql
async def test_a_stop_ends_a_turn_that_waits(store: Store) -> None:
    claim = await paused(store)
    await store.ledger.stop("thread of ann")
    on = await goes_on(store)
    assert on is not None
    assert on.turn == claim.turn


async def test_a_changed_budget_lets_its_turns_go_on_and_a_channels_those_of_each_workspace(store: Store) -> None:
    await paused(store)
    assert not await store.budget_days.release("ben", START)
    assert await store.budget_days.release("ann", START)
    assert await goes_on(store) is not None
    place = BudgetRef(START.date(), "channel:C1 slack:T1", Whose.CHANNEL, "C1", "slack:T1")
    await paused(store, place, "ben")
    assert await store.budget_days.release("channel:C1", START)


async def test_a_turn_that_waited_for_a_budget_does_not_wait_for_it_again_when_it_waits_for_a_consent(
    store: Store,
) -> None:
    await paused(store)
    await store.budget_days.release("ann", START)
    again = await goes_on(store)
    assert again is not None
    progress = asks(SEND)
    await store.ledger.save(again, progress=encode(progress))
    await store.ledger.put_aside(again, UNTIL)
    state = await store.budget_days.pause_of(again.turn)
    assert state is not None
    assert state.is_over
    assert await goes_on(store) is None
    (key,) = progress.awaited
    await store.consents.decide(again.turn, key, "ann", Consent.GIVEN, START)
    assert await goes_on(store) is not None


async def test_a_day_that_is_over_is_not_decided_about_and_its_rows_go(store: Store) -> None:
    await paused(store)
    number = await number_of(store)
    assert await store.budget_days.decide(number, "op", Extension.GIVEN, 50, TOMORROW) is Decided.OVER
    await store.budget_days.address(number, MessageKind.REQUEST, ["op"])
    later = START + timedelta(days=9)
    await store.budget_days.near(BudgetRef(later.date(), "ann", Whose.PERSON, "ann", ""), SPENT, 1, later)
    assert await store.budget_days.by_number(number) is None
    assert await store.budget_days.messages(number) == []


async def test_its_asker_alone_decides_about_the_limit_of_a_turn_and_once(store: Store) -> None:
    claim = await paused(store, None)
    days, turn = store.budget_days, claim.turn
    assert await days.paused("ann", START) == [turn]
    assert await days.paused("ben", START) == []
    assert await days.decide_turn(turn, "ben", START, goes_on=True) is Decided.NOT_THEIRS
    outcomes = await asyncio.gather(*(days.decide_turn(turn, "ann", START, goes_on=True) for _ in range(4)))
    assert outcomes.count(Decided.STORED) == 1
    again = await goes_on(store)
    assert again is not None
    state = await days.pause_of(turn)
    assert state is not None
    assert (state.extensions, state.is_over, state.refused) == (1, True, False)
    await store.ledger.put_aside(again, UNTIL, BudgetPause(START, UNTIL, extensions=4))
    assert await days.decide_turn(turn, "ann", START, goes_on=False) is Decided.STORED
    state = await days.pause_of(turn)
    assert state is not None
    assert (state.extensions, state.refused) == (4, True)
    assert await days.decide_turn(turn, "ann", START, goes_on=True) is Decided.REFUSED_BEFORE


async def test_people_are_written_once_and_what_they_were_written_falls_with_them(store: Store) -> None:
    await paused(store)
    number, days = await number_of(store), store.budget_days
    await asyncio.gather(*(days.address(number, MessageKind.REQUEST, ["slack:T1:OP", "op2"]) for _ in range(3)))
    await days.address(number, MessageKind.REQUEST, ["op3"])
    assert [each.person for each in await days.messages(number)] == ["op2", "slack:T1:OP"]
    assert await days.shown(number, MessageKind.REQUEST, "slack:T1:OP", ["dm/1"])
    await days.decide(number, "slack:T1:OP", Extension.GIVEN, 50, START)
    await store.ledger.accept(said("hi", person="slack:T1:OP", conversation="other"))
    await store.forgetting.forget(Everything("slack:T1:OP"), START)
    assert [each.person for each in await days.messages(number)] == ["op2"]
    assert not await days.shown(number, MessageKind.REQUEST, "slack:T1:OP", ["dm/2"])
    decided = await days.by_number(number)
    assert decided is not None
    assert (decided.extension, decided.person) == (Extension.GIVEN, "")
    assert await store.jobs.claim(frozenset({DELETE_REPLY}), "worker", START + timedelta(days=30), LEASE) is not None


async def test_a_turn_that_waits_falls_with_its_person_and_the_budget_stays(store: Store) -> None:
    claim = await paused(store)
    number = await number_of(store)
    await store.forgetting.forget(Everything("ann"), START + timedelta(days=30))
    assert await store.budget_days.pause_of(claim.turn) is None
    assert not await store.budget_days.waits(number)
    assert await store.budget_days.question(number) is None
    assert [day.extension for day in await store.budget_days.of([ANN])] == [Extension.ASKED]


def call(tokens: int, minute: int) -> ModelCall:
    return ModelCall("m", Usage(output=tokens), CallTiming(START + timedelta(minutes=minute), 5, 1))


async def tokens_of(store: Store, day: int = 0) -> int:
    on = (START + timedelta(days=day)).date()
    totals = await store.spending.totals(SpendingPeriod(on, on), By.PERSON, person="ann")
    return sum(total.spent.usage.output for total in totals)


async def test_a_call_counts_when_its_progress_is_saved_once_and_for_its_own_day(store: Store) -> None:
    await store.ledger.accept(said("one"))
    claim, calls = await claimed(store), [call(10, 0), call(20, 1), call(40, 24 * 60)]
    for number in (1, 1, 2):
        progress = encode(Progress(calls=tuple(calls[:number])))
        await store.ledger.save(claim, progress=progress, calls=calls[:number])
    assert await tokens_of(store) == 30
    await store.ledger.release(claim)
    second = await claimed(store)
    try:
        await store.ledger.save(claim, progress="", calls=calls)
    except LeaseLost:
        assert await tokens_of(store, 1) == 0
    await store.ledger.finish(second, Closing(Outcome.ANSWERED, "Hi.", calls=tuple(calls)), TOMORROW)
    assert (await tokens_of(store), await tokens_of(store, 1)) == (30, 40)


@same_on_postgresql
async def test_a_turn_that_begins_anew_counts_its_calls_before_and_after(store: Store) -> None:
    asked = said("one")
    await store.ledger.accept(asked)
    claim = await claimed(store)
    await store.ledger.save(claim, progress=encode(Progress(calls=(call(10, 0),))), calls=[call(10, 0)])
    await store.ledger.put_aside(claim, UNTIL, BudgetPause(START, UNTIL, ANN))
    assert await store.ledger.amend("test", "channel", asked.message_id, "two")
    again = await goes_on(store)
    assert again is not None
    assert (again.incoming.text, again.progress) == ("two", "")
    assert await store.budget_days.pause_of(claim.turn) is None
    await store.ledger.finish(again, Closing(Outcome.ANSWERED, "Hi.", calls=(call(7, 3),)), START)
    assert await tokens_of(store) == 17
