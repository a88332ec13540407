"""The figures of `benchmarks.house`: on a small tree and a small program whose figures are known, and on the bot."""

import asyncio
import json
import subprocess
import sys
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from sqlalchemy import Engine, StaticPool, create_engine, event, text
from sqlalchemy.ext.asyncio import create_async_engine

from benchmarks.house import BOUNDS, CODE_LISTS, MENTION_LISTS, code_metrics
from benchmarks.house_code import ROOT, read_code
from benchmarks.mention_tracer import Watch
from tests.patience import PATIENCE_S

TREE = {
    "agent/__init__.py": "",
    "agent/turn.py": '"""A turn.\n\nMore.\n"""\n\nimport os\n\n\nclass Turn:\n    class Step:\n        pass\n',
    "store/__init__.py": "from store.rows import Row\n",
    "store/rows.py": "from agent import turn\nfrom agent.turn import Turn\n\nclass Row: pass\n\nclass Step: pass\n",
    "store/migrations/first.py": "class Row: pass\n" * 1_000,
    "bot/slack.py": "\n" * 61,
    "bot/platforms/slack/options.py": "if TYPE_CHECKING:\n    from agent.turn import Turn\nx = 1\n",
    "bot/platforms/discord/options.py": "def later():\n    import store.rows\n",
    "bot/platforms/slack/turn.py": "from ...slack import nothing\n",
}


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    for name, content in TREE.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(content, encoding="utf-8")
    return tmp_path


def test_every_figure_of_a_small_tree_is_as_counted_by_hand(tree: Path) -> None:
    assert code_metrics(read_code(tree)) == {
        "modules": 7,
        "modules_60": 6,
        "max_lines": 61,
        "head_share": 100 * (6 + 1 + 2 + 2 + 1) / 85,
        "duplicate_class_names": 1,
        "duplicate_file_names": 1,
        "one_importer_modules": 1,
        "product_lines": 85,
    }


def test_what_stands_behind_the_figures_is_named(tree: Path) -> None:
    code = read_code(tree)
    assert {name: [*map(str, paths)] for name, paths in code.duplicate_classes().items()} == {
        "Step": ["agent/turn.py", "store/rows.py"]
    }
    assert {name: [*map(str, paths)] for name, paths in code.duplicate_files().items()} == {
        "turn.py": ["agent/turn.py", "bot/platforms/slack/turn.py"]
    }
    assert code.one_importer() == {"bot.slack": "bot.platforms.slack.turn"}
    assert code.importers()["agent.turn"] == {"store.rows", "bot.platforms.slack.options"}


PROGRAM = {
    "bot/run.py": """
async def read(events, store):
    while (event := await events.get()) is not None:
        await taken(event, store)

async def taken(event, store):
    await asyncio.shield(asyncio.ensure_future(submit(event, store)))

async def submit(event, store):
    await store(event)
    await store("the answer")

async def sweep(ticks, on_thread):
    while await ticks.get() is not None:
        await swept(on_thread)

async def swept(on_thread):
    looked()
    await asyncio.gather(asyncio.ensure_future(renewed()), asyncio.to_thread(looked), on_thread("a sweep's own row"))

async def renewed():
    looked()

def looked():
    pass
""",
    "store/rows.py": """
def on_thread(engine):
    def write(text):
        with engine.begin() as connection:
            [insert(connection, text) for _ in range(1)]

    async def accept(text):
        await asyncio.to_thread(write, text)

    return accept

def in_greenlet(engine):
    async def accept(text):
        async with engine.begin() as connection:
            await connection.run_sync(insert, text)

    return accept

def insert(connection, text):
    connection.execute(INSERT, {"text": text})
""",
}


@pytest.fixture
def program(tmp_path: Path) -> SimpleNamespace:
    functions: dict[str, Any] = {"asyncio": asyncio, "INSERT": text("INSERT INTO message VALUES (:text)")}
    for name, content in PROGRAM.items():
        (tmp_path / name).parent.mkdir()
        exec(compile(content, str(tmp_path / name), "exec"), functions)  # noqa: S102 -- as product files elsewhere
    return SimpleNamespace(**functions)


@contextmanager
def watched(watch: Watch) -> Generator[None, None, None]:
    event.listen(Engine, "before_cursor_execute", watch.execute)
    before = sys.getprofile()
    threading.setprofile(watch.see)
    sys.setprofile(watch.see)
    try:
        yield
    finally:
        sys.setprofile(before)
        threading.setprofile(before)
        event.remove(Engine, "before_cursor_execute", watch.execute)


async def through(program: SimpleNamespace, store: Callable[..., Any], watch: Watch) -> None:
    """Send an event during the trace, to a reader that has waited since before."""
    events = asyncio.Queue[str | None]()
    with watched(watch):
        reading = asyncio.ensure_future(program.read(events, store))
        await asyncio.sleep(0)
        watch.begin()
        events.put_nowait("the question")
        events.put_nowait(None)
        async with asyncio.timeout(PATIENCE_S):
            await reading
    asyncio.get_running_loop().set_task_factory(None)


IN_LOOP = ["taken", "submit"]


async def test_the_chain_of_calls_goes_through_tasks_and_a_thread(program: SimpleNamespace, tmp_path: Path) -> None:
    engine = create_engine("sqlite://", poolclass=StaticPool, connect_args={"check_same_thread": False})
    with engine.begin() as connection:
        connection.execute(text("CREATE TABLE message (text)"))
    result = tmp_path / "result"
    await through(program, program.on_thread(engine), Watch("the question", "the answer", result, tmp_path))
    engine.dispose()
    found = json.loads(result.read_text())
    assert [call["function"].rpartition(".")[2] for call in found["chain"]] == [*IN_LOOP, "accept", "write", "insert"]
    assert found["in_thread"] == 2
    assert [call["function"].rpartition(".")[2] for call in found["functions"]] == [
        *IN_LOOP,
        "accept",
        "write",
        "insert",
    ]
    assert found["functions"][0] == {"file": "bot/run.py", "function": "taken", "line": 6}


async def test_the_chain_of_calls_goes_through_the_database_s_greenlet(
    program: SimpleNamespace, tmp_path: Path
) -> None:
    engine = create_async_engine("sqlite+aiosqlite://", poolclass=StaticPool)
    async with engine.begin() as connection:
        await connection.execute(text("CREATE TABLE message (text)"))
    result = tmp_path / "result"
    await through(program, program.in_greenlet(engine), Watch("the question", "the answer", result, tmp_path))
    await engine.dispose()
    found = json.loads(result.read_text())
    assert [call["function"].rpartition(".")[2] for call in found["chain"]] == [*IN_LOOP, "accept", "insert"]
    assert found["in_thread"] == 0


async def test_what_the_process_does_of_itself_meanwhile_is_no_part_of_the_mention(
    program: SimpleNamespace, tmp_path: Path
) -> None:
    engine = create_engine("sqlite://", poolclass=StaticPool, connect_args={"check_same_thread": False})
    with engine.begin() as connection:
        connection.execute(text("CREATE TABLE message (text)"))
    result, ticks, inner = tmp_path / "result", asyncio.Queue[str | None](), program.on_thread(engine)
    sweeping = asyncio.ensure_future(program.sweep(ticks, inner))
    await asyncio.sleep(0)

    async def accept(said: str) -> None:
        ticks.put_nowait("sweep")
        while not ticks.empty():  # noqa: ASYNC110 -- a queue has no event for this; the sweep starts before the mention's own work continues
            await asyncio.sleep(0)
        await inner(said)

    await through(program, accept, Watch("the question", "the answer", result, tmp_path))
    ticks.put_nowait(None)
    await sweeping
    engine.dispose()
    found = json.loads(result.read_text())
    assert [call["function"].rpartition(".")[2] for call in found["functions"]] == [
        *IN_LOOP,
        "accept",
        "write",
        "insert",
    ]


@pytest.fixture(scope="module")
def printed() -> dict[str, Any]:
    command = [sys.executable, "-m", "benchmarks.house", "--quick", "--json"]
    ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=2 * PATIENCE_S, check=True)  # noqa: S603 -- our own interpreter and benchmark
    return json.loads(ran.stdout.splitlines()[-1])


def test_a_mention_is_followed_through_the_real_bot_down_to_its_row(printed: dict[str, Any]) -> None:
    metrics = printed["metrics"]
    assert printed["benchmark"] == "house"
    assert metrics["files_per_mention"] >= 20
    assert metrics["functions_per_mention"] > metrics["files_per_mention"]
    assert metrics["calls_to_store"] > metrics["calls_core_to_thread"] >= 2


def test_every_bound_has_its_figure_and_every_figure_its_list(printed: dict[str, Any]) -> None:
    metrics = printed["metrics"]
    assert BOUNDS.keys() <= metrics.keys()
    assert printed["baseline"].keys() > BOUNDS.keys()
    assert {**CODE_LISTS, **MENTION_LISTS}.keys() == metrics.keys()


def test_a_list_has_as_many_lines_as_its_figure_says() -> None:
    code = read_code()
    metrics = code_metrics(code)
    for name in ("modules", "modules_60", "duplicate_class_names", "one_importer_modules"):
        assert len([*CODE_LISTS[name](code)]) == metrics[name], name
