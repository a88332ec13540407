"""The contract of the port Spending: every call counted once, with its turn, and still after forgetting."""

from datetime import date, datetime, timedelta

import pytest

from agent.errors import LeaseLost
from agent.events import Outcome
from agent.memory.forgetting_plans import Everything, ForgettingPlan
from agent.messages import ModelCall, ResultStatus, ToolCall, ToolResult, Usage
from agent.progress import Progress, RoundStep, encode
from agent.spending import By, SpendingPeriod, Spent, SpentBy, Total
from agent.turn_records import Closing
from store.engine import Store
from tests.contracts.steps import answered, claimed, same_on_postgresql
from tests.fakes.incoming import LEASE, START, said
from tests.fakes.plans import one_thread

TERRA = ModelCall("openai:gpt-6.1-terra", Usage(100, 2_000, 300, 40, 5, bytes_up=9_000))
LUNA = ModelCall("openai:gpt-6-luna", Usage(10, 20, 30, 4, 0, bytes_up=3_000_000_000))
LOCAL = ModelCall("ollama:llama3.2", Usage(input_uncached=7, output=2, bytes_up=50, estimated=True))
LONG_AGO = SpendingPeriod(date(2020, 1, 1), date(2020, 12, 31))
CALL = ToolCall("recall", {"query": "boat"})
TODAY = SpendingPeriod.days_until(START, 1)


async def spent(
    store: Store, *calls: ModelCall, person: str = "ann", conversation: str = "thread", now: datetime = START
) -> None:
    """Somebody asks, and the answer takes these calls."""
    await store.ledger.accept(said("how much?", person=person, conversation=conversation))
    await store.ledger.finish(await claimed(store), Closing(Outcome.ANSWERED, "so much", calls=calls), now)


async def sums(store: Store, by: By, period: SpendingPeriod = TODAY, person: str | None = None) -> dict[str, Spent]:
    totals = await store.spending.totals(period, by, person=person)
    assert [total.key for total in totals] == sorted(total.key for total in totals)
    return {total.key: total.spent for total in totals}


async def test_nothing_was_spent_before_anything_was_asked(store: Store) -> None:
    await spent(store)
    for by in By:
        assert await store.spending.totals(TODAY, by) == []


@same_on_postgresql
async def test_each_count_of_each_call_is_summed_and_money_apart_from_what_has_no_price(store: Store) -> None:
    await spent(store, TERRA, LOCAL, LUNA)
    [total] = (await sums(store, By.PERSON)).values()
    assert total == Spent.on([TERRA, LOCAL, LUNA])
    assert total.usage.bytes_up == 3_000_009_050
    assert (total.calls, total.unpriced, total.usage.estimated) == (3, 1, True)


@same_on_postgresql
async def test_sums_are_taken_by_person_with_their_names(store: Store) -> None:
    await spent(store, TERRA)
    await spent(store, LUNA, LUNA, person="ben", conversation="elsewhere")
    name = said("?", person="ben").person.name
    assert (await store.spending.totals(TODAY, By.PERSON))[1] == Total("ben", Spent.on([LUNA, LUNA]), name)
    assert await sums(store, By.PERSON) == {"ann": Spent.on([TERRA]), "ben": Spent.on([LUNA, LUNA])}
    assert await sums(store, By.PERSON, person="ann") == {"ann": Spent.on([TERRA])}
    assert await sums(store, By.PERSON, person="nobody") == {}


@same_on_postgresql
async def test_sums_are_taken_by_channel(store: Store) -> None:
    here = said("?").channel
    await spent(store, TERRA, LOCAL)
    assert await sums(store, By.CHANNEL) == {here: Spent.on([TERRA, LOCAL])}


@same_on_postgresql
async def test_sums_are_taken_by_workspace_also_where_no_channel_is_known_with_what_its_app_is_called(
    store: Store,
) -> None:
    await spent(store, TERRA, person="slack:T1:U1")
    await store.spending.charge("slack:T1:U2", "learning", [LUNA], START)
    await store.spending.charge("slack:T2:", "ambient", [LUNA], START, "C1")
    await store.spending.charge("discord:7", "learning", [LOCAL], START)
    await store.spending.charge("ann", "learning", [LOCAL], START)
    await store.preferences.set("workspace:slack:T2", "app", "acme")
    totals = await store.spending.totals(TODAY, By.WORKSPACE)
    assert {total.key: (total.spent.calls, total.name) for total in totals} == {
        "": (1, ""),
        "discord": (1, ""),
        "slack:T1": (2, ""),
        "slack:T2": (1, "acme"),
    }


async def test_sums_are_taken_by_model(store: Store) -> None:
    await spent(store, TERRA, LUNA, TERRA)
    assert await sums(store, By.MODEL) == {LUNA.model: Spent.on([LUNA]), TERRA.model: Spent.on([TERRA, TERRA])}


async def test_sums_are_taken_by_day_of_utc_and_for_a_period_with_both_its_ends(store: Store) -> None:
    midnight = datetime.combine(START.date(), datetime.min.time(), START.tzinfo) + timedelta(days=1)
    times = [midnight - timedelta(seconds=1), midnight, midnight + timedelta(days=1)]
    for time in times:
        await spent(store, LUNA, now=time)
    days = [time.date().isoformat() for time in times]
    one = Spent.on([LUNA])
    assert await sums(store, By.DAY, SpendingPeriod.days_until(times[2], 9)) == dict.fromkeys(days, one)
    assert await sums(store, By.DAY, SpendingPeriod.days_until(times[2], 2)) == dict.fromkeys(days[1:], one)
    assert await sums(store, By.DAY, SpendingPeriod(times[0].date(), times[1].date())) == dict.fromkeys(days[:2], one)
    assert await sums(store, By.DAY, LONG_AGO) == {}


@same_on_postgresql
async def test_a_turn_that_ends_without_naming_its_calls_took_those_that_it_saved(store: Store) -> None:
    await store.ledger.accept(said("how much?"))
    claim = await claimed(store)
    await store.ledger.save(claim, progress=encode(Progress(calls=(TERRA, LOCAL))))
    await store.ledger.finish(claim, Closing(Outcome.REFUSED, "I give up."), START)
    assert await sums(store, By.PERSON) == {"ann": Spent.on([TERRA, LOCAL])}


@pytest.mark.parametrize("unsaved", [(), (TERRA,), (LUNA, LUNA)])
async def test_each_call_counts_once_whether_it_was_saved_alone_or_with_others_or_not_at_all(
    store: Store, unsaved: tuple[ModelCall, ...]
) -> None:
    await store.ledger.accept(said("how much?"))
    claim = await claimed(store)
    for calls in ((TERRA,), (TERRA,), (TERRA, LOCAL), (TERRA, LOCAL, LUNA, LUNA)):
        await store.ledger.save(claim, progress=encode(Progress(calls=calls)), calls=calls)
        await store.ledger.save(claim, progress=encode(Progress(calls=calls)))
        assert await sums(store, By.PERSON) == {"ann": Spent.on(calls)}
    calls = (TERRA, LOCAL, LUNA, LUNA, *unsaved)
    await store.ledger.finish(claim, Closing(Outcome.ANSWERED, "so much", calls=calls), START)
    assert await sums(store, By.PERSON) == {"ann": Spent.on(calls)}


async def test_what_a_turn_took_before_it_was_forgotten_or_had_to_start_anew_counts(store: Store) -> None:
    await store.ledger.accept(said("my boat is called Turquoise Lobster"))
    await store.ledger.accept(said("what is the boat called?", person="ben", conversation="elsewhere"))
    ann, ben = await claimed(store), await claimed(store)
    quoting = RoundStep(text="It is called Turquoise Lobster, my boat is called Turquoise Lobster")
    await store.ledger.save(ann, progress=encode(Progress(calls=(TERRA,))))
    await store.ledger.save(ben, progress=encode(Progress(steps=(quoting,), calls=(LUNA,))))
    await store.forgetting.forget(Everything("ann"), START)
    again = await claimed(store)
    assert (again.turn, again.progress) == (ben.turn, "")
    await store.ledger.finish(again, Closing(Outcome.ANSWERED, "No idea.", calls=(LOCAL,)), START)
    assert await sums(store, By.PERSON) == {"ann": Spent.on([TERRA]), "ben": Spent.on([LUNA, LOCAL])}


@same_on_postgresql
async def test_what_a_turn_took_before_a_step_that_quotes_what_is_gone_counts(store: Store) -> None:
    gone = (await answered(store, said("my boat is blue"), "noted")).message
    await store.forgetting.forget(Everything("ann"), START)
    asked = said("which colour?", person="ben", conversation="elsewhere")
    await store.ledger.accept(asked)
    quoting = RoundStep(calls=(CALL,), results=(ToolResult("recall", ResultStatus.SUCCESS, "blue", (gone,)),))
    with pytest.raises(LeaseLost):
        await store.ledger.save(await claimed(store), progress=encode(Progress(steps=(quoting,), calls=(TERRA,))))
    assert await sums(store, By.PERSON, SpendingPeriod.days_until(asked.time, 1)) == {"ben": Spent.on([TERRA])}


@same_on_postgresql
async def test_a_worker_that_lost_its_turn_records_nothing(store: Store) -> None:
    await store.ledger.accept(said("hello"))
    old = await claimed(store, "old")
    await claimed(store, "new", now=START + LEASE)
    with pytest.raises(LeaseLost):
        await store.ledger.finish(old, Closing(Outcome.ANSWERED, "hi", calls=(TERRA,)), START)
    assert await sums(store, By.PERSON) == {}


@pytest.mark.parametrize("plan", [Everything("ann"), one_thread("ann", "thread")])
async def test_what_was_spent_on_what_is_forgotten_still_counts_for_the_person_and_today_for_its_channel(
    store: Store, plan: ForgettingPlan
) -> None:
    await spent(store, TERRA)
    await spent(store, LUNA, person="ben", conversation="elsewhere")
    here = said("?", person="ben", conversation="elsewhere").channel
    receipt = await store.forgetting.forget(plan, START)
    assert receipt.found_again == 0
    assert await sums(store, By.PERSON) == {"ann": Spent.on([TERRA]), "ben": Spent.on([LUNA])}
    assert await sums(store, By.CHANNEL) == {here: Spent.on([TERRA, LUNA])}
    assert await sums(store, By.DAY, person="ann") == {START.date().isoformat(): Spent.on([TERRA])}
    tomorrow = START + timedelta(days=1)
    await spent(store, LOCAL, person="ben", conversation="elsewhere", now=tomorrow)
    assert await sums(store, By.CHANNEL) == {"": Spent.on([TERRA]), here: Spent.on([LUNA])}
    assert await sums(store, By.PERSON) == {"ann": Spent.on([TERRA]), "ben": Spent.on([LUNA])}


async def test_what_is_forgotten_on_a_later_day_names_no_channel_any_more(store: Store) -> None:
    await spent(store, TERRA)
    await store.forgetting.forget(one_thread("ann", "thread"), START + timedelta(days=1))
    assert await sums(store, By.CHANNEL) == {"": Spent.on([TERRA])}


async def test_a_person_who_is_forgotten_has_no_name_any_more(store: Store) -> None:
    await spent(store, TERRA)
    await store.forgetting.forget(Everything("ann"), START)
    assert await store.spending.totals(TODAY, By.PERSON) == [Total("ann", Spent.on([TERRA]))]


async def test_the_sum_of_a_day_is_that_of_its_calls_by_everyone_in_a_workspace_and_in_a_channel(store: Store) -> None:
    await store.spending.charge("slack:T1:U1", "turn", [ModelCall("m", Usage(output=9))], START + timedelta(1), "C1")
    calls = {("slack:T1:U1", "C1"): 1, ("slack:T1:U2", "C1"): 2, ("slack:T12:U1", "C1"): 4, ("discord:7", "C2"): 8}
    for (person, channel), tokens in calls.items():
        model = "openai:gpt-6.1-terra" if tokens > 1 else "ollama:m"
        await store.spending.charge(person, "turn", [ModelCall(model, Usage(output=tokens))], START, channel)

    async def tokens_on(source: str = "", channel: str = "") -> int:
        (spent_there,) = await store.spending.spent_on(START.date(), SpentBy(source=source, channel=channel))
        return spent_there.usage.output

    assert await tokens_on() == 15
    assert [await tokens_on(source) for source in ("slack:T1", "slack:T12", "discord")] == [3, 4, 8]
    assert [await tokens_on("slack:T1", "C1"), await tokens_on("", "C1"), await tokens_on("", "C3")] == [3, 7, 0]
    today = SpendingPeriod(START.date(), START.date())
    whole = sum((total.spent for total in await store.spending.totals(today, By.WORKSPACE)), Spent())
    assert await store.spending.spent_on(START.date(), SpentBy()) == [whole]


async def test_the_sums_of_several_are_read_at_once_and_in_their_order(store: Store) -> None:
    for person, tokens in (("slack:T1:U1", 1), ("slack:T1:U2", 2), ("discord:7", 4)):
        await store.spending.charge(person, "turn", [ModelCall("ollama:m", Usage(output=tokens))], START, "C1")
    connected = SpentBy(people=("discord:7", "slack:T1:U1"))
    whose = (SpentBy(), connected, SpentBy(source="slack:T1"), SpentBy(people=("nobody",)))
    found = await store.spending.spent_on(START.date(), *whose)
    assert [(one.calls, one.usage.output) for one in found] == [(3, 7), (2, 5), (2, 3), (0, 0)]
    assert await store.spending.spent_on(START.date(), connected) == [found[1]]
