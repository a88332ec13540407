"""The questions of docs/operating.md answer what they say, on both engines."""

import re
from dataclasses import replace
from pathlib import Path

from sqlalchemy import Connection, text

from agent.events import Outcome
from agent.messages import ResultStatus, ToolCall, ToolResult
from agent.progress import Progress, RoundStep, encode
from agent.schedules.definitions import NewSchedule, Schedule, ScheduleKind, Timing
from agent.state import ActionRecord, Workspace
from agent.turn_records import Closing
from store.engine import Store
from tests.contracts.steps import claimed
from tests.fakes.incoming import START, dm, said

DOCUMENT = Path(__file__).parents[2] / "docs" / "operating.md"
RUNNING, DONE, INVENTED, SCHEDULED = re.findall(r"```sql\n(.*?)```", DOCUMENT.read_text(encoding="utf-8"), re.DOTALL)


async def rows(store: Store, query: str) -> list[tuple[object, ...]]:
    def ask(connection: Connection) -> list[tuple[object, ...]]:
        return [tuple(row) for row in connection.execute(text(query.strip().rstrip(";")))]

    return await store.database.read(ask)


async def test_what_a_running_task_is_about_is_seen(either: Store) -> None:
    await either.ledger.accept(said("where is my boat?"))
    claim = await claimed(either)
    notes = Workspace("find the boat", "it was said", "search", "")
    await either.ledger.save(claim, progress=encode(Progress((RoundStep(START, workspace=notes),))))
    assert [row[3:6] for row in await rows(either, RUNNING)] == [("find the boat", "it was said", "search")]
    await either.ledger.finish(claim, Closing(Outcome.ANSWERED, "there"), START)
    assert await rows(either, RUNNING) == []


async def test_what_a_turn_did_is_seen_round_by_round(either: Store) -> None:
    await either.ledger.accept(said("where is my boat?"))
    claim = await claimed(either)
    call, result = ToolCall("recall", {"query": "boat"}), ToolResult("recall", ResultStatus.SUCCESS, "in Piraeus")
    first = ActionRecord(1, START, "look it up", (call,), (result,))
    second = replace(first, iteration=2, thinking="answer", calls=(), results=())
    await either.ledger.finish(claim, Closing(Outcome.ANSWERED, "there", actions=(first, second)), START)
    found = await rows(either, DONE)
    assert [(row[0], row[1], row[3]) for row in found] == [(claim.turn, 1, "look it up"), (claim.turn, 2, "answer")]
    assert "Piraeus" in str(found[0][5])


async def test_answers_that_cited_what_nothing_had_brought_are_seen(either: Store) -> None:
    for invented in (0, 2):
        await either.ledger.accept(said("where is my boat?"))
        await either.ledger.finish(await claimed(either), Closing(Outcome.ANSWERED, "there", invented=invented), START)
    ((_, _, usage),) = await rows(either, INVENTED)
    assert '"invented_citations":2' in str(usage).replace(" ", "")


async def test_what_is_done_next_at_a_time_is_seen(either: Store) -> None:
    timing = Timing("UTC", rule="0 9 * * *")
    ids = list[int]()
    for words in ("water the plants", "feed the cat"):
        made = NewSchedule("ann", "test", "C1", dm("ann"), ScheduleKind.REMINDER, words, timing, START)
        kept = await either.schedules.add(made)
        assert isinstance(kept, Schedule)
        ids.append(kept.id)
    await either.schedules.pause("ann", ids[1], paused=True, now=START)
    found = await rows(either, SCHEDULED)
    assert [(row[0], row[4], row[7]) for row in found if row[4] == "active"] == [(ids[0], "active", "water the plants")]
    assert {row[4] for row in found} == {"active", "paused"}
