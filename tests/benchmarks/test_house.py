"""The figures of `benchmarks.house`: on a small tree and a small program whose figures are known, and on the bot."""

import ast
import asyncio
import json
import subprocess
import sys
import threading
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from pathlib import Path
from textwrap import dedent
from types import SimpleNamespace
from typing import Any

import pytest
from sqlalchemy import Engine, StaticPool, create_engine, event, text
from sqlalchemy.ext.asyncio import create_async_engine

from benchmarks.house import (
    BOUNDS,
    CODE_LISTS,
    HOMELESS,
    MENTION_LISTS,
    code_metrics,
    ratios,
    room_metrics,
)
from benchmarks.house_code import ROOT, Code, read_code
from benchmarks.house_names import orphan_test_files, turn_kind_files
from benchmarks.house_parts import Part, is_glued, parts_of
from benchmarks.house_rooms import names_between_rooms
from benchmarks.house_shapes import branches_of, config_optionals, hard_functions, host_members, parameters
from benchmarks.mention_tracer import Watch
from tests.patience import PATIENCE_S

CodeOf = Callable[[Mapping[str, str]], Code]


@pytest.fixture
def code_of(tmp_path: Path) -> CodeOf:
    """Write these files, and read them as a tree of code."""

    def written(files: Mapping[str, str]) -> Code:
        for name, content in files.items():
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / name).write_text(dedent(content), encoding="utf-8")
        return read_code(tmp_path)

    return written


ROOMS = {
    "agent/turn.py": "class Turn: pass",
    "bot/operators/report.py": "",
    "bot/chat/feature.py": "from agent.turn import Turn\nclass Feature: pass",
    "bot/memory/notices.py": "from bot.chat.feature import Feature\nclass Notice: pass\nclass Fact: pass",
    "bot/schedules/words.py": "def read(): pass",
    "bot/app/features.py": "from bot.memory.notices import Notice",
    "bot/setup/doctor.py": "from bot.memory.notices import Notice",
}


@pytest.mark.parametrize(
    ("path", "text", "room", "taken"),
    [
        ("bot/chat/live.py", "from bot.memory.notices import Fact, Notice", "chat", ["Fact", "Notice"]),
        ("bot/chat/live.py", "from ..memory.notices import Notice as Shown", "chat", ["Notice"]),
        ("bot/chat/live.py", "def later():\n    from bot.schedules.words import read", "chat", ["read"]),
        ("bot/chat/live.py", "if TYPE_CHECKING:\n    from bot.memory.notices import Fact", "chat", ["Fact"]),
        ("bot/chat/live.py", "from bot.schedules import words\nwords.read()\nwords.read()", "chat", ["read"]),
        ("bot/chat/live.py", "import bot.schedules.words\nbot.schedules.words.read()", "chat", ["read"]),
        ("bot/chat/live.py", "import bot.schedules.words", "chat", [""]),
        ("bot/chat/live.py", "import_module('bot.schedules.words')", "chat", [""]),
        ("bot/schedules/service.py", "from bot.memory.notices import Notice", "between", ["Notice"]),
        ("bot/channels/service.py", "from bot.memory.notices import *", "between", ["*"]),
        ("bot/platforms/slack/home.py", "from bot.memory.notices import Notice", "platforms", ["Notice"]),
        ("bot/platforms/slack/home.py", "from bot.operators.report import Health", "platforms", ["Health"]),
        ("bot/operators/pages.py", "from bot.memory.notices import Notice", "between", []),
        ("bot/memory/service.py", "from bot.memory.notices import Notice", "between", []),
        (
            "bot/schedules/service.py",
            "from bot.chat.feature import Feature\nfrom agent.turn import Turn",
            "between",
            [],
        ),
    ],
)
def test_names_that_rooms_take_from_features_are_counted_on_imports(
    code_of: CodeOf, path: str, text: str, room: str, taken: list[str]
) -> None:
    names = names_between_rooms(code_of({**ROOMS, path: text}))
    by_room = {"chat": names.chat, "between": names.between, "platforms": names.platforms}
    assert [one.name for one in by_room.pop(room)] == taken
    assert [*by_room.values()] == [(), ()]


def test_a_name_counts_once_for_each_module_that_takes_it(code_of: CodeOf) -> None:
    text = "from bot.memory.notices import Fact"
    names = names_between_rooms(code_of({**ROOMS, "bot/chat/a.py": text, "bot/chat/b.py": text}))
    assert [str(one) for one in names.chat] == [f"bot.chat.{by}: bot.memory.notices.Fact" for by in "ab"]


@pytest.mark.parametrize(("path", "room"), [("bot/brand_new/service.py", "brand_new"), ("bot/caches.py", "caches")])
def test_with_a_module_in_no_room_no_figure_is_the_good_case(code_of: CodeOf, path: str, room: str) -> None:
    code = code_of({**ROOMS, "bot/__main__.py": "import sys", path: "from bot.memory.notices import Notice"})
    assert room_metrics(names_between_rooms(code)) == {}
    assert [*CODE_LISTS["names_between_features"](code)] == [f"in no room: bot/{room}"]
    assert ratios(dict.fromkeys(BOUNDS.keys() - {"names_between_features"}, 0.0)).count(HOMELESS) == 1


def long(name: str, *uses: str) -> str:
    """Write a function of fifty lines that uses these names."""
    return "\n".join([f"def {name}():", *(f"    {use}" for use in uses), *["    pass"] * (49 - len(uses))]) + "\n"


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        (long("first") + long("second"), 2),
        (long("first") + long("second", "first()"), 1),
        (long("first") + "class Second(Base):\n" + "    field: first\n" * 49, 1),
        (long("first") + long("second", "first = 1", "print(first)"), 2),
        (long("first") + long("second", "print(LIMIT)") + "LIMIT = 1\n", 2),
        (long("first", "print(LIMIT)") + long("second", "print(LIMIT)") + "LIMIT = 1\n", 2),
        (long("first") + long("second") + "BOTH = {1: first, 2: second}\n", 1),
        (long("first") + "class Second:\n" + "    pass\n" * 49 + long("third", "x: 'Second'"), 2),
        (long("first", "import os") + long("second", "import os"), 2),
        (long("first", "second()") + long("second", "third()") + long("third"), 1),
    ],
)
def test_parts_of_a_module_are_connected_by_the_names_that_they_use(code_of: CodeOf, text: str, parts: int) -> None:
    (module,) = code_of({"bot/one.py": text}).modules
    assert len(parts_of(module)) == parts
    assert is_glued(module) == (parts > 1)


def test_a_part_has_the_lines_of_its_definitions_with_constants_and_decorators(code_of: CodeOf) -> None:
    text = "import os\n\nLIMIT = 1\n\n\n@cached\ndef first():\n    return LIMIT\n\n\nclass Other:\n    pass\n"
    (module,) = code_of({"bot/one.py": text}).modules
    assert parts_of(module) == [Part("first", 6, 4), Part("Other", 11, 2)]
    assert not is_glued(module)


def test_two_parts_of_which_one_is_short_are_not_glued(code_of: CodeOf) -> None:
    (module,) = code_of({"bot/one.py": long("first") + "def second():\n" + "    pass\n" * 48}).modules
    assert not is_glued(module)


@pytest.mark.parametrize(
    ("body", "branches"),
    [
        ("if a: pass\nelif b: pass\nelse: pass", 2),
        ("return 1 if a and b or c else 2", 3),
        ("for a in b:\n  while c: pass", 2),
        ("try: pass\nexcept A: pass\nexcept B: pass\nfinally: pass", 2),
        ("match a:\n  case 1: pass\n  case b if c: pass\n  case _: pass", 2),
        ("return [a for b in c for d in e if f]", 2),
        ("def inner():\n  if a: pass", 0),
    ],
)
def test_branches_of_a_function(body: str, branches: int) -> None:
    function = ast.parse("def one():\n" + "\n".join(f"  {line}" for line in body.splitlines())).body[0]
    assert isinstance(function, ast.FunctionDef)
    assert branches_of(function) == branches


def test_a_hard_function_is_commented_by_a_comment_on_its_code(code_of: CodeOf) -> None:
    def hard(name: str, comment: str = "") -> str:
        return f'def {name}():\n    "Documented."\n' + "    if x: pass\n" * 12 + f"    y = '#'  {comment}\n"

    code = code_of(
        {
            "bot/one.py": hard("bare")
            + hard("why", "# the service counts bytes")
            + hard("excused", "# noqa: S101 -- so"),
            "bot/two.py": "def easy():\n" + "    if x: pass\n" * 11,
        }
    )
    found, without = hard_functions(code)
    assert [one.name for one in found] == ["bare", "why", "excused"]
    assert [(one.place, one.name, one.figure) for one in without] == [
        ("bot/one.py:1", "bare", 12),
        ("bot/one.py:31", "excused", 12),
    ]


def test_parameters_are_counted_without_self(code_of: CodeOf) -> None:
    text = """
        class One:
            def method(self, a, /, b, *c, d=1, **e): pass
        def function(a): pass
    """
    assert [(one.name, one.figure) for one in parameters(code_of({"bot/one.py": text}))] == [
        ("method", 5),
        ("function", 1),
    ]


HOST_TEXT = """
    class Commands:
        @property
        def tools(self): ...
        def _hidden(self): ...
    @dataclass(frozen=True)
    class Host(Commands):
        name: str
        async def submit(self): ...
    class Bot(Host):
        def other(self): ...
"""


def test_members_of_the_host_are_its_public_ones_with_those_of_its_bases(code_of: CodeOf) -> None:
    assert sorted(host_members(code_of({"bot/chat/host.py": HOST_TEXT}))) == ["name", "submit", "tools"]


def test_a_host_that_is_not_found_is_an_error_that_says_where_its_name_stands(code_of: CodeOf) -> None:
    with pytest.raises(LookupError, match=r"Set HOST in benchmarks\.house_shapes"):
        host_members(code_of({"bot/chat/host.py": HOST_TEXT.replace("Host", "Core")}))


def test_fields_that_may_be_none_are_counted_in_frozen_options_that_are_no_settings(code_of: CodeOf) -> None:
    text = """
        @dataclass(frozen=True, slots=True)
        class CallOptions:
            a: int | None
            b: Callable[[], int | None]
            c: None | str = None
        @dataclass
        class OtherOptions:
            a: int | None
    """
    code = code_of({"agent/calls.py": text, "bot/platforms/slack/options.py": text, "bot/settings/reader.py": text})
    assert [(one.name, one.figure) for one in config_optionals(code)] == [("CallOptions", 2)]


@pytest.mark.parametrize(
    ("text", "reads"),
    [
        ("def read(id_): return id_.startswith('scheduled:')", True),
        ("from agent.kinds import SCHEDULED\nX = read.removeprefix(SCHEDULED)", True),
        ("from agent import kinds\nX = id_.endswith(kinds.WORK)", True),
        ("from agent.kinds import SCHEDULED\nX = re.compile(rf'{SCHEDULED}\\d+')", True),
        ("X = table.c.event_id.like('ambient:' + other)", True),
        ("X = ':work' in id_", True),
        ("from agent.kinds import is_work\nX = is_work(id_)", True),
        ("from agent.kinds import SCHEDULED\nX = f'{SCHEDULED}{number}'", False),
        ("from other import SCHEDULED\nX = id_.startswith(SCHEDULED)", False),
        ("X = id_.startswith('slack:')", False),
        ("'''An id begins with scheduled:'''", False),
    ],
)
def test_a_file_reads_a_turn_s_kind_from_an_id_if_it_searches_for_a_mark_of_kinds(
    code_of: CodeOf, text: str, *, reads: bool
) -> None:
    kinds = "SCHEDULED: Final = 'scheduled:'\nWORK = ':work'\ndef is_work(id_) -> bool: return id_.endswith(WORK)"
    found = turn_kind_files(code_of({"agent/kinds.py": kinds, "bot/one.py": text}))
    assert [*map(str, found)] == ["agent/kinds.py", *(["bot/one.py"] if reads else [])]


def test_test_files_are_named_after_modules_of_the_folder_that_they_mirror(code_of: CodeOf, tmp_path: Path) -> None:
    code_of(
        {
            "bot/turns/worker.py": "x = 1",
            "bot/host.py": "x = 1",
            "tests/bot/turns/test_worker.py": "",
            "tests/bot/turns/test_worker_takeover.py": "",
            "tests/bot/turns/test_turns.py": "",
            "tests/bot/test_turns_order.py": "",
            "tests/bot/turns/test_host.py": "",
            "tests/bot/test_workers.py": "",
            "tests/bot/gone/test_gone.py": "",
            "tests/flows/test_anything.py": "",
        }
    )
    assert [*map(str, orphan_test_files(tmp_path))] == [
        "tests/bot/gone/test_gone.py",
        "tests/bot/test_workers.py",
        "tests/bot/turns/test_host.py",
    ]


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
    "store/row_mapping.py": """
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
    engine = create_engine(
        f"sqlite:///{tmp_path / 'rows.db'}"
    )  # the sweep and the mention write at once, on two threads
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
    assert metrics["functions_per_mention"] >= 100
    assert metrics["calls_to_store"] > metrics["calls_core_to_thread"] >= 2


def test_every_bound_has_its_figure_and_every_figure_its_list(printed: dict[str, Any]) -> None:
    homeless = names_between_rooms(read_code()).homeless
    rooms = {name for name in BOUNDS if name.startswith("names_")} if homeless else set[str]()
    assert BOUNDS.keys() - rooms <= printed["metrics"].keys()
    assert printed["baseline"].keys() > BOUNDS.keys()
    assert {**CODE_LISTS, **MENTION_LISTS}.keys() - rooms == printed["metrics"].keys()


def test_a_list_has_as_many_lines_as_its_figure_says() -> None:
    code = read_code()
    metrics = code_metrics(code, len(orphan_test_files()))
    for name in ("glued_modules", "host_members", "turn_kind_files", "orphan_test_files"):
        assert len([*CODE_LISTS[name](code)]) == metrics[name], name
