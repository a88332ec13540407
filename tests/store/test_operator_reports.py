"""What operators are shown of a store: sums that are those of `cogency usage`, times, and no word of anybody."""

from datetime import timedelta

from sqlalchemy import Connection, delete, insert, update

from agent.admission_terms import Terms
from agent.events import Outcome
from agent.memory.documents import ON, SHARING
from agent.messages import CallTiming, ModelCall, Usage
from agent.ports.tool_audit import AuditedCall
from agent.schedules.definitions import NewSchedule, Schedule, ScheduleKind, Timing
from agent.spending import By, SpendingPeriod
from agent.turn_records import Closing
from store.engine import Store
from store.operator_reports import MAX_ROWS, SqlOperatorReports
from store.search.passages import document
from store.turn_tables import turn
from store.turns.consents import consent
from tests.contracts.steps import answered, claimed
from tests.fakes.busy_store import fill
from tests.fakes.incoming import START, dm, said

PEOPLE = [f"Person {at}" for at in range(30)]
MONTH = SpendingPeriod.days_until(START, 30)


async def busy(store: Store) -> SqlOperatorReports:
    await store.database.write(fill, START, turns=200, days=60, people=PEOPLE, calls=3)
    return SqlOperatorReports(store.database)


async def test_sums_of_a_period_are_those_of_usage(either: Store) -> None:
    found = await (await busy(either)).spread(MONTH)
    for by, sums in ((By.DAY, found.of_days()), (By.MODEL, found.of_models())):
        totals = await either.spending.totals(MONTH, by)
        assert {total.key: (total.spent.calls, total.spent.cost, total.spent.unpriced) for total in totals} == {
            key: (spent.calls, spent.cost, spent.unpriced) for key, spent in sums.items()
        }
    for by, listed in ((By.PERSON, found.people), (By.CHANNEL, found.channels), (By.WORKSPACE, found.workspaces)):
        totals = sorted(await either.spending.totals(MONTH, by), key=lambda one: (-one.spent.cost, one.key))
        assert [(one.key, one.name, one.spent.calls, one.spent.cost, one.spent.usage.output) for one in listed] == [
            (one.key, one.name, one.spent.calls, one.spent.cost, one.spent.usage.output) for one in totals[:MAX_ROWS]
        ]


async def test_a_turn_tells_when_it_was_begun_and_what_its_calls_took(either: Store) -> None:
    await either.ledger.accept(said("where is my boat?"), Terms(START))
    claim = await claimed(either, now=START + timedelta(seconds=2))
    asked = START + timedelta(seconds=3)
    call = ModelCall("openai:gpt-6-luna", Usage(10, 20), CallTiming(asked, 1_500, 400))
    used = AuditedCall(asked, "ann", "c", "a", "recall", '{"query": "boat"}', "reads", "unasked", "effect", call="1.1")
    id_ = await either.audit.add(used, claim)
    await either.audit.end(id_, 70, 9, "success")
    await either.ledger.finish(claim, Closing(Outcome.ANSWERED, "there", calls=(call,)), START + timedelta(seconds=9))
    reports = SqlOperatorReports(either.database)
    [ended] = await reports.ended_turns(START, 10)
    [one] = await reports.durations([ended.id, 77])
    assert (one.id, one.began, one.seconds) == (claim.turn, START + timedelta(seconds=2), ended.seconds)
    assert [(each.model, each.timing) for each in one.calls] == [(call.model, call.timing)]
    assert [(each.tool, each.began, each.ms, each.decision) for each in one.tools] == [("recall", asked, 70, "unasked")]
    assert "boat" not in repr(one)


async def test_a_turn_that_is_claimed_again_began_with_its_first_claim(either: Store) -> None:
    await either.ledger.accept(said("where is my boat?"), Terms(START))
    first = await claimed(either)
    await either.ledger.release(first)
    again = await claimed(either, now=START + timedelta(minutes=5))
    await either.ledger.finish(again, Closing(Outcome.ANSWERED, "there"), START + timedelta(minutes=6))
    [one] = await SqlOperatorReports(either.database).durations([again.turn])
    assert one.began == START


async def test_what_waits_for_its_asker_is_not_slow_and_what_is_older_not_recent(either: Store) -> None:
    old, waited, recent = [await answered(either, said(f"question {at}"), "so") for at in range(3)]

    def happened(connection: Connection) -> None:
        for id_, when in ((old.turn, START - timedelta(days=2)), (waited.turn, START), (recent.turn, START)):
            connection.execute(update(turn).where(turn.c.id == id_).values(taken=when, ended=when))
        said_ = dict.fromkeys(("call", "word", "person", "conversation", "tool"), "x")
        connection.execute(insert(consent).values(turn=waited.turn, decided=START, **said_))

    await either.database.write(happened)
    found = await SqlOperatorReports(either.database).ended_turns(START - timedelta(days=1), 10)
    assert [one.id for one in found] == [recent.turn]


async def test_schedules_are_counted_and_shown_without_their_words(either: Store) -> None:
    await answered(either, said("hello"), "hello")
    timing = Timing("Europe/Berlin", rule="0 9 * * 1", since=START)
    kind, words = ScheduleKind.REMINDER, "feed the cat"
    made = NewSchedule("ann", "slack", "C1", dm("ann"), kind, words, timing, START, "thread", "m1", direct=True)
    kept = await either.schedules.add(made)
    shown, counts = await SqlOperatorReports(either.database).schedules("active", 10)
    assert counts == {"active": 1}
    assert isinstance(kept, Schedule)
    assert [(one.id, one.next, name) for one, name in shown] == [(kept.id, kept.next, "Ann")]
    assert "cat" not in repr(shown)
    assert await SqlOperatorReports(either.database).schedules("paused", 10) == ([], counts)


async def test_a_persons_own_document_has_no_name_and_what_is_gone_is_not_counted(either: Store) -> None:
    await answered(either, said("hello"), "hello")
    same = {"source": "slack", "channel": "C1", "person": "ann", "time": START, "passages": 3}
    rows = [
        {"name": "handbook.pdf", "audience": "team:T1", "state": "known", "address": ""},
        {"name": "divorce.pdf", "audience": "person:ann", "state": "known", "address": "https://secret.example"},
        {"name": "old.pdf", "audience": "team:T1", "state": "gone", "address": ""},
    ]
    web = {"seen": START}

    def lay(connection: Connection) -> None:
        connection.execute(delete(document))
        connection.execute(insert(document), [{**same, **web, **row} for row in rows])

    await either.database.write(lay)
    shown, count, passages = await SqlOperatorReports(either.database).documents(10)
    assert [(one.name, one.by) for one in shown] == [("", "Ann"), ("handbook.pdf", "Ann")]
    assert (count, passages) == (2, 6)
    assert "secret" not in repr(shown)
    assert len((await SqlOperatorReports(either.database).documents(1))[0]) == 1


async def test_channels_that_share_are_named(either: Store) -> None:
    await either.preferences.set("channel:C2", SHARING, ON)
    await either.preferences.set("ann", SHARING, "paused")
    assert await SqlOperatorReports(either.database).sharing(5) == ["C2"]
