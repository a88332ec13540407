"""What the pages say about the code is true: modules, files, classes and links that they name exist."""

import ast
import re
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any, Final, NamedTuple, cast

import pytest

from agent.incoming import Person
from agent.memory.audience import PersonAudience, Place
from agent.messages import ToolCall
from agent.ports.tools import Tool, ToolContext
from agent.toolbox.registry import UNASKED, Registry
from benchmarks.house_code import ROOT
from bot.channels import rule, rules
from bot.channels.rule import ChannelRule
from bot.channels.service import ChangePlace, UnclearPlace, read_value, usage
from bot.chat.commands.declaration import AnyCommand, Command, CommandCall
from bot.chat.panels import Panel
from bot.chat.reply import markdown
from bot.schedules import reports
from bot.schedules.reports import ReportRule
from tests.fakes.caller import FakeCaller

PAGES: Final = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / ".github").rglob("*.md")])
# The change log tells of names that are no more.
OF_TODAY: Final = [page for page in PAGES if page.name != "CHANGELOG.md"]
GLOSSARY: Final = ROOT / "docs" / "glossary.md"
MAX_DEFINITION_CHARS: Final = 240  # A row is read at a glance

MAX_README_LINES: Final = 120
MAX_ANSWER_LINES: Final = 12

DOTTED: Final = re.compile(r"(?<![\w./@:-])(?:agent|bot|store|benchmarks|tests)(?:\.[A-Za-z_]\w*)+")
PATH: Final = re.compile(
    r"(?<![\w.@:-])(?<!\w/)(?:agent|bot|store|benchmarks|tests|requirements|docs|\.github)/[\w./-]*"
)
LINK: Final = re.compile(r"\]\(([^)#\s]+)(?:#[\w-]+)?\)")
CODE: Final = re.compile(r"`([^`]+)`")
SWALLOWED: Final = re.compile(r"^(?!\|).*[.:;)] - (?:\*\*|`|[A-Z])", re.MULTILINE)


def page_name(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


@cache
def definitions(module: Path, *within: str) -> frozenset[str]:
    """The names that a module defines or imports; `within`: those of a class in it."""
    body = ast.parse(module.read_text(encoding="utf-8")).body
    for name in within:
        body = next((one.body for one in body if isinstance(one, ast.ClassDef) and one.name == name), list[ast.stmt]())
    return frozenset(name for statement in body for name in names_of(statement))


def names_of(statement: ast.stmt) -> Iterator[str]:
    match statement:
        case ast.ClassDef(name=name) | ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
            yield name
        case ast.Assign(targets=targets):
            yield from (target.id for target in targets if isinstance(target, ast.Name))
        case ast.AnnAssign(target=ast.Name(id=name)):
            yield name
        case ast.ImportFrom(names=names):
            yield from (one.asname or one.name for one in names)
        case _:
            pass


def exists(dotted: str) -> bool:
    """Whether this is a module, or what is defined in one: "agent.turn.Turn.receive"."""
    place, parts = ROOT, dotted.split(".")
    while parts and (place / parts[0]).is_dir():
        place /= parts.pop(0)
    module = place / "__init__.py"
    if parts and place.joinpath(f"{parts[0]}.py").is_file():
        module = place / f"{parts.pop(0)}.py"
    return not parts or (module.is_file() and parts[-1] in definitions(module, *parts[:-1]))


@pytest.mark.parametrize("page", OF_TODAY, ids=page_name)
def test_every_module_and_name_in_it_that_a_page_names_exists(page: Path) -> None:
    assert [name for name in DOTTED.findall(page.read_text(encoding="utf-8")) if not exists(name)] == []


@pytest.mark.parametrize("page", OF_TODAY, ids=page_name)
def test_every_file_and_folder_that_a_page_names_exists(page: Path) -> None:
    named = [path.rstrip(".") for path in PATH.findall(LINK.sub("]", page.read_text(encoding="utf-8")))]
    assert [path for path in named if not (ROOT / path).exists()] == []


@pytest.mark.parametrize("page", PAGES, ids=page_name)
def test_every_link_to_another_page_leads_somewhere(page: Path) -> None:
    links = [link for link in LINK.findall(page.read_text(encoding="utf-8")) if "://" not in link]
    assert [link for link in links if not (page.parent / link).exists()] == []


@pytest.mark.parametrize("page", OF_TODAY, ids=page_name)
def test_each_item_of_a_list_begins_its_own_line(page: Path) -> None:
    text = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    assert SWALLOWED.findall(text) == []


def test_the_first_page_of_the_repository_is_read_at_one_go() -> None:
    assert len((ROOT / "README.md").read_text(encoding="utf-8").splitlines()) <= MAX_README_LINES


def test_each_task_is_answered_in_a_dozen_lines() -> None:
    tasks = (ROOT / "docs" / "how-do-i.md").read_text(encoding="utf-8").split("\n### ")[1:]
    assert len(tasks) >= 30
    lengths = {task.partition("\n")[0]: len(task.partition("\n## ")[0].strip().splitlines()) - 2 for task in tasks}
    assert {title: lines for title, lines in lengths.items() if lines > MAX_ANSWER_LINES} == {}


@pytest.mark.parametrize(
    "gone", ["agent.nothing", "agent.turn.Nothing", "agent.turn.Turn.nothing", "bot.app.nothing", "store.Nothing"]
)
def test_a_name_that_is_no_more_is_noticed(gone: str) -> None:
    assert DOTTED.findall(f"see `{gone}`, which") == [gone]
    assert not exists(gone)


@pytest.mark.parametrize(
    "name", ["agent", "agent.turn", "agent.turn.Turn", "agent.turn.Turn.receive", "bot.setup.cli.CLOCK"]
)
def test_a_name_that_is_there_is_found(name: str) -> None:
    assert exists(name)


class Row(NamedTuple):
    term: str
    definition: str
    carriers: list[str]


def glossary() -> list[Row]:
    cells = [
        line.strip("| ").split(" | ") for line in GLOSSARY.read_text(encoding="utf-8").splitlines() if line[:1] == "|"
    ]
    return [Row(one[0], one[1], CODE.findall(one[2])) for one in cells if len(one) == 3 and "`" in one[2]]


def example(number: int, *modules: ModuleType) -> dict[str, Any]:
    """What a module of CONTRIBUTING.md defines. `modules`: where its lines stand, with their names."""
    page = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    names: dict[str, Any] = {"__name__": f"example{number}"}
    for module in modules:
        names |= vars(module)
    exec(page.split("```python\n")[number].partition("```")[0], names)  # noqa: S102 -- our own page
    return names


async def test_the_tool_that_contributing_shows_is_one_and_can_be_called() -> None:
    tool = example(1)["RollTool"](int)
    assert [name for name in vars(Tool) if not name.startswith("_") and not hasattr(tool, name)] == []
    assert tool.effect in UNASKED
    registry, now = Registry([tool]), datetime(2026, 1, 5, tzinfo=UTC)
    context = ToolContext(Person("slack:T1:U1", "Ann"), Place(PersonAudience("slack:T1:U1")), "thread", 1, now)
    assert registry.check(ToolCall("roll", {"sides": 6})) is None
    assert registry.check(ToolCall("roll", {"sides": "six"})) is not None
    assert await tool.run({"sides": 6}, context) == "6"


async def test_the_command_that_contributing_shows_is_one_and_answers() -> None:
    command = example(2)["COMMAND"]
    assert isinstance(command, Command)
    declared = cast("AnyCommand", command)
    assert await declared.bound(None).run(CommandCall(words="boats", caller=FakeCaller())) == Panel(
        "I know no joke about boats, Ann."
    )


def test_the_rule_of_a_scheduled_question_that_contributing_shows_decides_what_is_posted() -> None:
    longer: ReportRule = example(4, reports)["LONGER"]
    assert longer.posts is not None
    assert [longer.posts(*pair) for pair in (("Hello.", ""), ("Hello.", "Hi."), ("Hi.", "Hello."))] == [
        True,
        True,
        False,
    ]


def test_the_rule_of_a_channel_that_contributing_shows_is_read_shown_and_has_effects() -> None:
    length: ChannelRule = example(5, rule, rules, markdown)["LENGTH"]
    assert [read_value(length, words) for words in (*length.words, "short")] == [
        ChangePlace(length, "300"),
        ChangePlace(length, "1000"),
        ChangePlace(length, ""),
        UnclearPlace(usage()),
    ]
    assert set(length.words) >= set(length.examples)
    (answers,) = (effect for effect in length.effects if isinstance(effect, rule.OnAnswer))
    assert answers.text("300", "Yes.") == "Yes."
    assert 280 < len(answers.text("300", "Yes. " * 100)) <= 300


def test_the_page_about_access_has_a_row_for_each_rule_of_a_channel() -> None:
    page = (ROOT / "docs" / "access.md").read_text(encoding="utf-8")
    cells = [line.split("|")[1] for line in page.splitlines() if line.startswith("| `")]
    missing = [one.name for one in rules.CHANNEL_RULES if not any(f"`{one.name}" in cell for cell in cells)]
    assert missing == [], "rules without a row in the table of docs/access.md"


def test_the_glossary_has_each_term_once_in_one_sentence_with_what_carries_it() -> None:
    rows = glossary()
    assert len(rows) >= 55
    assert [term for term, times in Counter(row.term.casefold() for row in rows).items() if times > 1] == []
    assert [row.term for row in rows if not row.carriers or not row.definition.endswith(".")] == []
    assert [row.term for row in rows if len(row.definition) > MAX_DEFINITION_CHARS] == []


def test_what_the_glossary_says_of_each_term_stands_in_the_code_where_it_says() -> None:
    assert [(row.term, name) for row in glossary() for name in row.carriers if not exists(name)] == []


PORTS: Final = sorted((ROOT / "agent" / "ports").glob("*.py"))


@pytest.mark.parametrize("module", PORTS, ids=page_name)
def test_every_port_and_each_of_its_methods_says_what_it_is_for(module: Path) -> None:
    classes = [one for one in ast.parse(module.read_text(encoding="utf-8")).body if isinstance(one, ast.ClassDef)]
    protocols = [one for one in classes if "Protocol" in map(ast.unparse, one.bases)]
    methods = [
        (one, each)
        for one in protocols
        for each in one.body
        if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef)
    ]
    assert [one.name for one in protocols if not ast.get_docstring(one)] == []
    assert [f"{one.name}.{each.name}" for one, each in methods if not ast.get_docstring(each)] == []


def test_the_form_of_every_id_stands_with_incoming_messages() -> None:
    tree = ast.parse((ROOT / "agent" / "incoming.py").read_text(encoding="utf-8"))
    table = ast.get_docstring(tree) or ""
    explained = {*re.findall(r"^ +(\w+)(?:, (\w+))?  ", table, re.MULTILINE)}
    names = {name for pair in explained for name in pair if name}
    incoming = next(one for one in tree.body if isinstance(one, ast.ClassDef) and one.name == "Incoming")
    required = {
        field.target.id
        for field in incoming.body
        if isinstance(field, ast.AnnAssign)
        and isinstance(field.target, ast.Name)
        and field.value is None
        and ast.unparse(field.annotation) == "str"
    }
    assert required - {"text"} <= names
