"""`benchmarks.scale` writes the same rows as the store itself, and its simulation agrees with queueing theory."""

from random import Random

import pytest
from sqlalchemy import text

from benchmarks.capacity import DATABASES, PLANS, Plan, busiest, erlang, limits, simulated
from benchmarks.scale_store import Size, grow
from benchmarks.search_scale import made_vocabulary
from store.engine import open_store
from store.search import index
from tests.fakes.postgresql import PostgresServer

ENTRIES = text("SELECT reader, message, words::text FROM message_index ORDER BY reader, message")


@pytest.mark.slow
async def test_entries_that_sql_writes_are_those_that_the_store_makes(postgres: PostgresServer) -> None:
    async with postgres.database() as url:
        await grow(url, Size(messages=400, people=3, one_person=200, searches=1), Random(1), made_vocabulary(500))
        store = await open_store(url)
        try:
            written = await store.database.read(lambda connection: connection.execute(ENTRIES).all())
            await store.database.write(index.renew, 0)
            made = await store.database.read(lambda connection: connection.execute(ENTRIES).all())
        finally:
            await store.close()
    assert len(written) == 400
    assert written == made


@pytest.mark.parametrize("plan", [plan for plan in PLANS if plan.per_minute <= 1_000], ids=lambda plan: plan.name)
def test_nobody_waits_where_the_formula_says_so_and_everybody_where_there_is_too_little(plan: Plan) -> None:
    found = simulated(plan, cpu_ms=1.0)
    assert (found["wait_p95_s"] < 0.1) == (erlang(plan) < 0.05)


def test_processors_limit_what_places_do_not() -> None:
    one, four = (simulated(Plan(600, 40, cores), cpu_ms=200.0)["wait_p95_s"] for cores in (1, 4))
    assert one > four + 1


MEASURED = {"messages": 1e7, "bytes_per_message": 1000.0, "cpu_ms_per_question_1": 50.0, "bot_ms_per_question_1": 30.0}


@pytest.mark.parametrize(
    ("metric", "limit"),
    [
        ("messages", "workspaces_measured"),
        ("bytes_per_message", "workspaces_disk"),
        ("cpu_ms_per_question_1", "workspaces_processor"),
    ],
)
def test_each_measured_figure_moves_the_limit_that_it_is_about_and_no_other(metric: str, limit: str) -> None:
    before, after = limits({"metrics": MEASURED}), limits({"metrics": MEASURED | {metric: MEASURED[metric] * 2}})
    assert [name for name in before if before[name] != after[name]] == [limit]


@pytest.mark.parametrize("databases", DATABASES)
def test_workspaces_put_where_there_is_the_least_work_are_more_even_than_those_chosen_by_id(databases: int) -> None:
    hashed, placed = busiest(databases)
    assert 1 <= placed < hashed
