"""The audit of tool calls: what a row says, what forgetting leaves of it, and for how long it is kept."""

from collections.abc import AsyncGenerator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from sqlalchemy import Connection, RowMapping, select

from agent.errors import LeaseLost
from agent.events import Outcome
from agent.memory.forgetting_plans import Everything
from agent.messages import ResultStatus, ToolCall, ToolResult
from agent.ports.tool_audit import AuditedCall
from agent.progress import Progress, RoundStep, encode
from agent.turn_records import Claim, Closing
from store.engine import Store, open_audit, open_store
from store.tool_calls import KEPT, tool_call
from tests.contracts.steps import claimed
from tests.fakes.incoming import START, said
from tests.fakes.new_database import new_database
from tests.fakes.plans import one_thread
from tests.fakes.postgresql import PostgresServer

SECRET = "quinceharbour"
CALL = AuditedCall(
    START, "ann", "yard", "person:ann", "send", f'{{"text":"{SECRET}"}}', "acts_outward", "allowed", "asker", call="1.1"
)


@pytest.fixture(params=["sqlite", "postgresql"])
async def store(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncGenerator[Store]:
    if request.param == "postgresql":
        server: PostgresServer = request.getfixturevalue("postgres")
        url = await server.empty()
    else:
        url = await new_database(tmp_path / "store.db")
    opened = await open_store(url)
    yield opened
    await opened.close()


def rows(connection: Connection) -> list[RowMapping]:
    return list(connection.execute(select(tool_call).order_by(tool_call.c.id)).mappings())


def bytes_in(folder: Path) -> bytes:
    return b"".join(file.read_bytes() for file in folder.iterdir())


async def running(store: Store, text: str = "send it") -> Claim:
    """A turn whose call is saved and about to run."""
    await store.ledger.accept(said(text))
    claim = await claimed(store)
    call = ToolCall("send", {"text": SECRET})
    await store.ledger.save(claim, progress=encode(Progress((RoundStep(calls=(call,), results=(None,), time=START),))))
    return claim


async def done(store: Store, one: AuditedCall = CALL) -> int:
    claim = await running(store)
    id_ = await store.audit.add(one, claim)
    await store.audit.end(id_, 12, 34, "success")
    await store.ledger.finish(claim, Closing(Outcome.ANSWERED, "sent"), START)
    return claim.turn


async def test_after_forgetting_no_byte_of_its_words_and_its_counts_are_left(tmp_path: Path) -> None:
    store = await open_store(await new_database(tmp_path / "store.db"))
    await done(store)
    assert SECRET.encode() in bytes_in(tmp_path)
    receipt = await store.forgetting.forget(one_thread("ann", "thread"), START)
    assert receipt.found_again == 0
    (left,) = await store.database.read(rows)
    await store.close()
    assert SECRET.encode() not in bytes_in(tmp_path)
    assert [left[name] for name in ("turn", "person", "channel", "audience", "arguments")] == [None, "", "", "", ""]
    assert [left[name] for name in ("tool", "effect", "decision", "ms", "size", "outcome")] == [
        "send",
        "acts_outward",
        "allowed",
        12,
        34,
        "success",
    ]
    assert left["time"] == START


async def test_a_call_that_never_ended_says_so(store: Store) -> None:
    await store.audit.add(CALL, await running(store))
    (left,) = await store.audit.newest(10)
    assert (left.outcome, left.ms, left.size) == ("begun", None, None)


async def test_the_words_of_a_call_that_runs_while_it_is_forgotten_fall_and_its_end_is_still_counted(
    store: Store,
) -> None:
    id_ = await store.audit.add(CALL, await running(store))
    await store.forgetting.forget(Everything("ann"), START)
    await store.audit.end(id_, 5, 6, "success")
    (left,) = await store.audit.newest(10)
    assert (left.turn, left.person, left.channel, left.arguments) == (None, "", "", "")
    assert (left.tool, left.ms, left.size, left.outcome) == ("send", 5, 6, "success")


async def test_who_has_lost_the_turn_leaves_no_row_and_may_not_run_the_call(store: Store) -> None:
    claim = await running(store)
    await store.forgetting.forget(Everything("ann"), START)
    with pytest.raises(LeaseLost):
        await store.audit.add(CALL, claim)
    assert await store.audit.newest(10) == []


async def test_the_words_of_a_call_fall_with_the_message_that_it_was_made_of(store: Store) -> None:
    """The turn of somebody else stays."""
    await store.ledger.accept(said("the first", person="ben", conversation="club"))
    first = await claimed(store)
    await store.ledger.finish(first, Closing(Outcome.ANSWERED, "yes"), START)
    claim = await running(store)
    await store.audit.add(CALL, claim)
    ending = Closing(Outcome.ANSWERED, "sent", context_messages=(first.message,))
    await store.ledger.finish(claim, ending, START)
    await store.forgetting.forget(Everything("ben"), START)
    (left,) = await store.audit.newest(10)
    assert (left.turn, left.person, left.arguments) == (claim.turn, "ann", "")


async def test_what_its_person_changed_in_the_policy_stays_without_their_name(store: Store) -> None:
    await store.audit.add(replace(CALL, tool="", arguments="* ann * no", decision="changed", decided_by="command"))
    await store.audit.add(replace(CALL, person="ben", tool="", arguments="send ann * no", decided_by="command"))
    await store.audit.add(replace(CALL, person="ben", tool="", arguments="send anna * no", decided_by="command"))
    await store.ledger.accept(said("hello"))
    await store.forgetting.forget(Everything("ann"), START)
    found = await store.audit.newest(10)
    assert [(one.person, one.arguments) for one in found] == [("ben", "send anna * no"), ("ben", ""), ("", "")]


async def test_a_refusal_is_told_once_however_often_it_is_met(store: Store) -> None:
    claim = await running(store)
    refused = replace(CALL, decision="refused", outcome="not run")
    assert await store.audit.add(refused, claim) == await store.audit.add(refused, claim)
    assert len(await store.audit.newest(10)) == 1


async def test_a_refusal_in_a_turn_that_began_anew_is_another_one(store: Store) -> None:
    """Its first call is called like the one before, whose words fell with what they were made of."""
    await store.ledger.accept(said("the first", conversation="club"))
    first = await claimed(store)
    await store.ledger.finish(first, Closing(Outcome.ANSWERED, "yes"), START)
    claim = await running(store)
    brought = ToolResult("recall", ResultStatus.SUCCESS, SECRET, sources=(first.message,))
    progress = encode(Progress((RoundStep(calls=(ToolCall("recall", {}),), results=(brought,), time=START),)))
    await store.ledger.save(claim, progress=progress)
    refused = replace(CALL, decision="refused", outcome="not run")
    await store.audit.add(refused, claim)
    await store.forgetting.forget(one_thread("ann", "club"), START)
    again = await claimed(store)
    await store.ledger.save(again, progress=encode(Progress((RoundStep(calls=(), results=(), time=START),))))
    await store.audit.add(refused, again)
    assert [one.arguments for one in await store.audit.newest(10)] == [CALL.arguments, ""]


async def test_rows_are_kept_for_a_time_and_no_longer(store: Store) -> None:
    await store.audit.add(replace(CALL, arguments="old"))
    await store.audit.add(replace(CALL, time=START + KEPT, arguments="at its end"))
    assert [one.arguments for one in await store.audit.newest(10)] == ["at its end", "old"]
    await store.audit.add(replace(CALL, time=START + KEPT + timedelta(seconds=1), arguments="new"))
    assert [one.arguments for one in await store.audit.newest(10)] == ["new", "at its end"]


async def test_pages_follow_one_another_from_the_oldest(store: Store) -> None:
    for hour in range(5):
        await store.audit.add(replace(CALL, time=START + timedelta(hours=hour), arguments=str(hour)))
    since = START + timedelta(hours=1)
    first = await store.audit.page(since, after=0, limit=2)
    second = await store.audit.page(since, after=first[-1].id, limit=10)
    assert [[one.arguments for one in page] for page in (first, second)] == [["1", "2"], ["3", "4"]]


async def test_it_can_be_read_while_another_process_serves(tmp_path: Path) -> None:
    url = await new_database(tmp_path / "store.db")
    store = await open_store(url)
    async with open_audit(url) as audit:
        await done(store)
        (found,) = await audit.newest(10)
    await store.close()
    assert (found.tool, found.outcome) == ("send", "success")
