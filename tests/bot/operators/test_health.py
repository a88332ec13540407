"""The operators' health report."""

from datetime import timedelta

from agent.events import Outcome
from agent.messages import ModelCall, Usage
from agent.shown_replies import ReplyVerdict
from agent.spending import Money, Spent, Total
from agent.turn_records import Claiming, Closing, Load
from bot.operators.report import Health, report
from tests.fakes.clock import FakeClock
from tests.fakes.incoming import LEASE, START, said
from tests.fakes.store import store_in_memory


def test_the_report_shows_load_spending_and_verdicts() -> None:
    spent = Spent(calls=3, cost=Money(2_500_000_000))
    text = report(
        Load(running=2, waiting=1_000),
        [Total("ann", spent, "Ann *A*"), Total("bob", Spent(calls=1), "Bob")],
        [Total("openai:m-1", spent)],
        {ReplyVerdict.GOOD: 7, ReplyVerdict.BAD: 1},
        ["**Model**: openai:m-1"],
        timedelta(days=1, hours=2),
    )
    assert "2 answers in progress, 1,000 waiting. Up for 1 day and 2 hours." in text
    assert "**Model**: openai:m-1" in text
    assert "7 good, 1 bad" in text
    assert "$2.50, 4 model calls" in text
    assert "- Ann \\*A\\*: $2.50\n- Bob: $0" in text


def test_a_bot_without_any_turn_has_no_lists() -> None:
    text = report(Load(0, 0), [], [], {}, [], timedelta(minutes=1))
    assert "0 answers in progress, 0 waiting. Up for 0 hours and 1 minute." in text
    assert "By person" not in text


def test_only_the_top_spenders_are_named() -> None:
    people = [Total(f"p{n}", Spent(calls=1, cost=Money(n))) for n in range(9)]
    text = report(Load(0, 0), people, [], {}, [], timedelta())
    assert "p8" in text
    assert "p0" not in text


async def test_it_is_read_from_the_store() -> None:
    store, clock = store_in_memory(), FakeClock()
    await store.ledger.accept(said("where is my boat?"))
    claim = await store.ledger.claim(Claiming("worker", START, LEASE))
    assert claim is not None
    calls = (ModelCall("openai:gpt-6-luna", Usage(1_000, output=100)),)
    await store.ledger.finish(claim, Closing(Outcome.ANSWERED, "here", pages=("1",), calls=calls), clock.now())
    await store.replies.judge(claim.turn, "ann", ReplyVerdict.GOOD, clock.now())
    text = await Health(
        store.ledger, store.replies, store.spending, clock, clock.now(), lambda: ["here"], store.audit
    ).text()
    assert "1 good, 0 bad" in text
    assert "1 model call" in text
    assert "\n\nhere\n\n" in text
