"""The pages that are made from the code are what the code makes now, and what they say of the database is so."""

import json
from pathlib import Path

import pytest
from sqlalchemy import Connection, Table, func, insert, inspect, select

from agent.memory.forgetting_plans import Everything
from benchmarks.capacity import MEASURED, SIMULATED
from bot.app.settings import all_settings, setting_names
from docs.site.capacity import capacity_page
from docs.site.figures import MAX_LOAD, benchmarks_page
from docs.site.reference import PAGES, STORED, Fate, each_once, settings_page
from store.all_tables import metadata
from store.api_tokens import api_token
from store.engine import Store, open_store
from store.installations import installation
from store.message_tables import embedding
from store.model_calls import model_call
from store.preferences import preference
from store.replies import verdict
from store.search.index import INDEXES
from store.tool_accounts import sign_in, tool_account
from store.tool_calls import tool_call
from tests.fakes.incoming import START
from tests.fakes.new_database import new_database
from tests.store.forgetting.test_erase import live_through
from tests.store.forgetting.test_erase_anything import Talk, World

ROOT = Path(__file__).parents[1]
FATES = {table: one.fate for tables in STORED.values() for table, one in tables.items()}
PERSON = "ann"


@pytest.mark.parametrize("path", PAGES)
def test_a_page_is_what_the_code_makes_of_it_now(path: str) -> None:
    assert (ROOT / path).read_text(encoding="utf-8") == PAGES[path](), "run `make generated`"


def test_the_page_of_settings_shows_each_once() -> None:
    headings = [line for line in settings_page(all_settings()).splitlines() if line.startswith("### ")]
    assert headings == [f"### {name}" for name in setting_names()]


def test_a_right_without_a_reason_and_a_reason_without_a_right_are_noticed() -> None:
    assert each_once(["read", "write"], {"write": "", "read": ""}) == ["write", "read"]
    for names in (["read"], ["read", "write", "admin"]):
        with pytest.raises(ValueError, match=r"write|admin"):
            each_once(names, {"write": "", "read": ""})


async def test_the_page_names_every_table_of_a_real_database(tmp_path: Path) -> None:
    store = await open_store(await new_database(tmp_path / "store.db"))
    there = await store.database.read(lambda c: inspect(c).get_table_names())
    await store.close()
    of_indexes = {name for name in there if name.startswith(INDEXES)}
    assert {*there} - of_indexes == {*FATES, "alembic_version"}


def naming(connection: Connection, table: Table) -> int:
    """Rows in which the person stands, or words of theirs."""
    rows = connection.execute(select(table)).all()
    return sum(any(PERSON in str(cell) or "quince" in str(cell) for cell in row) for row in rows)


async def lived(store: Store) -> None:
    """Everything that one person can leave behind."""
    world = World(store)
    for _ in range(2):
        await world.live(Talk(PERSON, "own", recalls=0, rests_on=0))
    await live_through(store, "quince", "another thread")
    last = world.said[-1].row

    def more(connection: Connection) -> None:
        connection.execute(insert(embedding).values(message=last, model="m", signs=bytes(8), vector=b"quince"))
        connection.execute(insert(verdict).values(turn=last, person=PERSON, verdict="up", time=START))
        connection.execute(insert(preference).values(owner=PERSON, name="model", value="quince"))
        connection.execute(insert(tool_account).values(person=PERSON, server="wiki", sealed=b"quince"))
        token = {"name": "ide", "audience": f"person:{PERSON}", "source": "slack:T1", "channel": "", "scopes": "ask"}
        connection.execute(insert(api_token).values(hash="hash", person=PERSON, created=START, by_person=True, **token))
        pending = {"handle": "h", "sealed": b"quince", "expires": START}
        connection.execute(insert(sign_in).values(person=PERSON, server="wiki", **pending))
        app = {"source": "slack:T1", "app": "A1", "organization": "", "bot": "U0", "scopes": "", "sealed": b"x"}
        connection.execute(insert(installation).values(installer=PERSON, installed=START, epoch=0, **app))
        took = dict.fromkeys(("input_uncached", "input_cached", "input_written", "output", "reasoning", "bytes_up"), 1)
        spent = {"number": 1, "kind": "turn", "model": "m", "day": START.date(), "estimated": False, **took}
        connection.execute(insert(model_call).values(person=PERSON, channel="C1", **spent))
        call = {"tool": "recall", "effect": "reads", "decision": "yes", "decided_by": "", "outcome": "done"}
        where = {"channel": "C1", "audience": f"person:{PERSON}", "call": "c", "arguments": "quince"}
        connection.execute(insert(tool_call).values(person=PERSON, time=START, **call, **where))

    await store.database.write(more)


@pytest.mark.slow
async def test_what_the_page_says_is_erased_is_found_in_no_row_after_forgetting(tmp_path: Path) -> None:
    store = await open_store(await new_database(tmp_path / "store.db"))
    await lived(store)
    tables = {table.name: table for table in metadata.sorted_tables}
    before = {name: await store.database.read(naming, table) for name, table in tables.items()}
    assert sum(map(bool, before.values())) >= 19, before
    await store.forgetting.forget(Everything(PERSON), START)
    after = {name: await store.database.read(naming, table) for name, table in tables.items()}
    words = select(func.count()).select_from(tool_call).where(tool_call.c.arguments != "")
    told = await store.database.read(lambda c: c.execute(words).scalar_one())
    await store.close()
    assert {name for name, rows in after.items() if rows} <= {
        name for name, fate in FATES.items() if fate is Fate.STAYS
    }
    assert (before["tool_call"], told) == (1, 0)


def test_times_of_a_busy_machine_are_not_shown_and_counts_are() -> None:
    run = {
        "day": "2026-01-05",
        "quick": True,
        "machine": "2 cores",
        "metrics": {
            "slack_first_text_ms": 12.0,
            "discord_first_text_ms": 13.0,
            "rss_mb": 77.0,
            "cpu_ms_per_question": 14.0,
        },
        "baseline": {
            "minimal_slack_ms": 1.0,
            "minimal_discord_ms": 1.0,
            "minimal_rss_mb": 55.0,
            "minimal_cpu_ms_per_question": 1.0,
        },
    }
    idle, busy = (benchmarks_page({"first_text": {**run, "load": load}}, "") for load in (MAX_LOAD, MAX_LOAD + 0.1))
    assert "| 77 MB | 55 MB" in idle
    assert "| 77 MB | 55 MB" in busy
    assert ("12 ms" in idle, "12 ms" in busy) == (True, False)
    assert ("benchmarks.first_text" in idle, "| `python -m benchmarks.first_text` |" in busy) == (True, True)


def test_the_page_about_capacity_shows_processor_times_of_an_idle_machine_only() -> None:
    scale = json.loads(MEASURED.read_text(encoding="utf-8"))
    simulated = json.loads(SIMULATED.read_text(encoding="utf-8"))
    idle, busy = (capacity_page({**scale, "load": load}, simulated, "") for load in (MAX_LOAD, MAX_LOAD + 0.1))
    assert "processor time in the bot" in idle
    assert "| 100,000 |" in idle
    assert "processor time in the bot" not in busy
    assert "| 100,000 |" not in busy
