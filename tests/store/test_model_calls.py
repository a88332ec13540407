"""Spending in SQLite: what stands in a row, what forgetting leaves of it, and reading beside a process that serves."""

from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from sqlalchemy import Connection, RowMapping, select

from agent.errors import StoreError
from agent.events import Outcome
from agent.messages import CallTiming, ModelCall, Usage
from agent.spending import By, SpendingPeriod, Spent, cost
from agent.turn_records import Claiming, Closing
from store.engine import Store, open_spending, open_store
from store.model_calls import model_call
from tests.contracts.steps import claimed
from tests.fakes.incoming import LEASE, START, said
from tests.fakes.new_database import new_database
from tests.fakes.plans import one_thread
from tests.store.migrating import ADD_A_COLUMN, with_one_more

LUNA = ModelCall("openai:gpt-6-luna", Usage(10, 20, 30, 4, 5, bytes_up=600), CallTiming(START, 1_500, 400))
LOCAL = ModelCall("ollama:llama3.2", Usage(input_uncached=7, output=2, estimated=True))
TODAY = SpendingPeriod.days_until(START, 1)


def rows(connection: Connection) -> list[RowMapping]:
    return list(connection.execute(select(model_call).order_by(model_call.c.id)).mappings())


def files_in(folder: Path) -> list[Path]:
    return list(folder.iterdir())


async def spent(store: Store) -> int:
    """One answered question; its turn."""
    await store.ledger.accept(said("how much?"))
    claim = await claimed(store)
    await store.ledger.finish(claim, Closing(Outcome.ANSWERED, "so much", calls=(LUNA, LOCAL)), START)
    return claim.turn


async def test_each_call_is_a_row_with_its_place_in_the_turn_its_day_and_its_price(tmp_path: Path) -> None:
    store = await open_store(await new_database(tmp_path / "store.db"))
    turn = await spent(store)
    first, second = await store.database.read(rows)
    await store.close()
    assert [(row["turn"], row["number"], row["kind"]) for row in (first, second)] == [
        (turn, 1, "turn"),
        (turn, 2, "turn"),
    ]
    assert (first["model"], first["cost"], first["estimated"]) == (LUNA.model, cost(LUNA), False)
    assert (second["model"], second["cost"], second["estimated"]) == (LOCAL.model, None, True)
    assert (first["person"], first["channel"], first["day"]) == ("ann", said("?").channel, START.date())
    assert (first["input_uncached"], first["input_cached"], first["input_written"]) == (10, 20, 30)
    assert (first["output"], first["reasoning"], first["bytes_up"]) == (4, 5, 600)
    assert (first["began"], first["ms"], first["first_ms"]) == (START, 1_500, 400)
    assert (second["began"], second["ms"], second["first_ms"]) == (None, None, None)


@pytest.mark.parametrize(("days", "channel"), [(0, said("?").channel), (1, "")])
async def test_a_call_of_a_forgotten_turn_names_no_turn_and_after_its_day_no_channel(
    tmp_path: Path, days: int, channel: str
) -> None:
    store = await open_store(await new_database(tmp_path / "store.db"))
    await spent(store)
    await store.forgetting.forget(one_thread("ann", "thread"), START + timedelta(days=days))
    left = await store.database.read(rows)
    await store.close()
    assert {(row["turn"], row["channel"], row["person"], row["began"]) for row in left} == {
        (None, channel, "ann", None)
    }


async def test_the_next_call_that_is_saved_takes_the_channel_of_an_earlier_days_call(either: Store) -> None:
    await spent(either)
    await either.forgetting.forget(one_thread("ann", "thread"), START)
    tomorrow = replace(said("and now?", conversation="another"), time=START + timedelta(days=1))
    await either.ledger.accept(tomorrow)
    claim = await either.ledger.claim(Claiming("worker", tomorrow.time, LEASE))
    assert claim is not None
    await either.ledger.save(claim, progress="", calls=[LUNA])
    left = await either.database.read(rows)
    assert [(row["turn"], row["channel"]) for row in left] == [(None, "")] * 2 + [(claim.turn, tomorrow.channel)]


async def test_it_can_be_read_while_another_process_serves(tmp_path: Path) -> None:
    url = await new_database(tmp_path / "store.db")
    store = await open_store(url)
    async with open_spending(url) as spending:
        assert await spending.totals(TODAY, By.MODEL) == []
        await spent(store)
        [total] = await spending.totals(TODAY, By.PERSON)
    assert total.spent == Spent.on([LUNA, LOCAL])
    await spent(store)
    await store.close()


async def test_without_a_database_there_is_a_sentence_and_still_no_file(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="does not exist yet"):
        async with open_spending(f"sqlite:///{tmp_path}/store.db"):
            pass
    assert files_in(tmp_path) == []


async def test_a_database_of_an_older_version_is_not_read(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/store.db"
    await (await open_store(url)).close()
    with pytest.raises(StoreError, match="Run `cogency migrate` first"):
        async with open_spending(url, migrations=with_one_more(tmp_path, ADD_A_COLUMN)):
            pass


async def test_a_database_of_a_newer_version_is_not_read(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/store.db"
    await (await open_store(url, migrations=with_one_more(tmp_path, ADD_A_COLUMN))).close()
    with pytest.raises(StoreError, match="written by a newer version of Cogency"):
        async with open_spending(url):
            pass
