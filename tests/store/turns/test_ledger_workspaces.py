"""Seed 001: the workspace lives in `task_workspaces` during a task, survives a crash, and is deleted at its end."""

from pathlib import Path

from sqlalchemy import Connection, select

from agent.events import Outcome
from agent.progress import Progress, RoundStep, encode
from agent.state import Workspace
from agent.turn_records import Closing
from store.engine import Store, open_store
from store.turn_tables import workspace
from tests.contracts.steps import answered, claimed
from tests.fakes.incoming import START, said
from tests.fakes.plans import one_thread

FIRST = Workspace("find the boat", "it is blue", "look in the harbour", "")
SECOND = Workspace("find the boat", "it is blue", "ask the harbour master", "it left at noon")


def progress(*workspaces: Workspace | None) -> str:
    return encode(Progress(tuple(RoundStep(START, workspace=one) for one in workspaces)))


async def kept(store: Store) -> list[tuple[int, str, Workspace]]:
    def read(connection: Connection) -> list[tuple[int, str, Workspace]]:
        rows = connection.execute(select(workspace)).all()
        return [
            (row.task_id, row.person, Workspace(row.objective, row.understanding, row.approach, row.discoveries))
            for row in rows
        ]

    return await store.database.read(read)


async def test_the_newest_workspace_is_kept_with_the_progress_and_goes_with_the_task(either: Store) -> None:
    await either.ledger.accept(said("where is my boat?"))
    claim = await claimed(either)
    assert await kept(either) == []
    await either.ledger.save(claim, progress=progress(FIRST))
    assert await kept(either) == [(claim.turn, "ann", FIRST)]
    await either.ledger.save(claim, progress=progress(FIRST, SECOND, None))
    assert await kept(either) == [(claim.turn, "ann", SECOND)]
    await either.ledger.save(claim, reply_ref="page")
    assert await kept(either) == [(claim.turn, "ann", SECOND)]
    await either.ledger.finish(claim, Closing(Outcome.ANSWERED, "At sea."), START)
    assert await kept(either) == []


async def test_it_survives_a_crash_of_its_task(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/store.db"
    before = await open_store(url)
    await before.ledger.accept(said("where is my boat?"))
    claim = await claimed(before)
    await before.ledger.save(claim, progress=progress(FIRST))
    await before.close()
    after = await open_store(url)
    await after.ledger.release_all()
    again = await claimed(after)
    assert await kept(after) == [(again.turn, "ann", FIRST)]
    await after.ledger.finish(again, Closing(Outcome.ANSWERED, "At sea."), START)
    assert await kept(after) == []
    await after.close()


async def test_a_task_that_begins_anew_because_something_was_forgotten_has_none(either: Store) -> None:
    recalled = await answered(either, said("my boat is blue", conversation="harbour"), "noted")
    await either.ledger.accept(said("where is my boat?"))
    claim = await claimed(either)
    await either.ledger.save(claim, progress=progress(FIRST))
    await either.forgetting.forget(one_thread("ann", "harbour"), START)
    assert recalled.message
    assert await kept(either) == []
