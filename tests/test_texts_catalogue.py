"""What people read stands in the catalogue (`tests.catalogue` lists its files), and its values are filled in whole.

Two rules find what does not. In `bot` no literal is a sentence: a capitalised word with more words behind it, or a
value with words behind it and a full stop. And nowhere are words given to an error that people read.
"""

import ast
import re
from collections import Counter
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from pathlib import Path
from string import Formatter
from typing import Final

from tests.catalogue import CHAT, ROOT, catalogue_files

MODULES: Final = {
    ".".join(path.relative_to(ROOT).with_suffix("").parts): path
    for path in catalogue_files()
    if path.stem != "formatting"
}
SENTENCE: Final = re.compile(r"[*`“(]*[A-Z][a-z’']* [^|\n]*[a-z]|…[ ,:].* .*[.!?]\s*$", re.DOTALL)
# Modules whose literals may look like sentences. What is given to errors is looked at everywhere.
NOT_SENTENCES: Final = {
    "bot/settings/declaration.py": "a section is declared with its heading",
    "bot/models/check.py": "a model reads the probes",
    "bot/models/abilities.py": "a model reads the questions",
    "bot/setup/operator_doctor.py": "what the model is asked is a prompt",
    "bot/evals/judge.py": "a model reads the prompt",
    "bot/platforms/discord/options.py": "permissions have the names that Discord gives them",
    "bot/chat/attachments/text_encoding.py": "encodings have names of their own",
    "bot/chat/attachments/read_again.py": "a model reads what describes a tool, and what it brings",
    "bot/tools/mcp/listing.py": "a model reads what describes a tool",
    "bot/web/fetch_tool.py": "as above",
    "bot/web/search_tool.py": "as above",
    "bot/platforms/discord/channel_history.py": "a model reads what a tool says",
    "bot/platforms/play/surface.py": "a model reads what a tool says",
    "bot/platforms/slack/channel_history.py": "a model reads what a tool says",
    "bot/platforms/slack/search_slack.py": "a model reads what a tool says",
    "bot/platforms/slack/doctor.py": "what was found is said beside its check; what to do about it is in the catalogue",
}
# A command is declared whole in its file: its name, arguments and help. So are a rule of a channel and a setting.
DECLARES: Final = re.compile(r"/(\w+_)?commands(/\w+)?\.py$|^bot/channels/rules\.py$|/(\w+_)?settings\.py$")
# Errors that no person reads.
NOT_READ: Final = {
    "LeaseLost": "another process goes on with the turn",
    "SurfaceError": "a page is tried again, or its remedy is read",
    "ToolError": "the model reads it",
    "SlackRefused": "it is made of a method and a code; its sentence is in the catalogue",
}
# The model of tests and demos: only who writes a script reads that it has ended.
SCRIPTED: Final = "agent/providers/scripted.py"
# Calls whose words no person reads but an operator in the log: logs, patterns, SQL, types.
NO_READERS: Final = re.compile(r"(^|[._])log(ger|ged)?\.|complain$|compile$|(^|\.)text$|cast$")


@cache
def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text())


@cache
def nodes(path: Path) -> list[ast.AST]:
    return [*ast.walk(parsed(path))]


@cache
def bases() -> dict[str, set[str]]:
    """Of each class its bases."""
    found: dict[str, set[str]] = {}
    for path in modules():
        for node in nodes(path):
            if isinstance(node, ast.ClassDef):
                found.setdefault(node.name, set()).update(ast.unparse(base).rpartition(".")[2] for base in node.bases)
    return found


def below(*names: str) -> set[str]:
    """These classes, and all that derive from them."""
    of, known = bases(), set[str]()
    more = set(names)
    while more:
        known |= more
        more = {name for name, parents in of.items() if parents & known} - known
    return known


def modules() -> list[Path]:
    paths = sorted(path for package in ("agent", "store", "bot") for path in (ROOT / package).rglob("*.py"))
    return [path for path in paths if not path.is_relative_to(CHAT) and path.name != "texts.py"]


def literals(code: ast.AST, call: str = "") -> Iterator[tuple[int, str, str]]:
    """Each text but docstrings: its line, the innermost call that it is given to, and itself with … for its values."""
    for node in ast.iter_child_nodes(code):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            continue
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.lineno, call, node.value
        elif isinstance(node, ast.JoinedStr):
            parts = ("…" if isinstance(part, ast.FormattedValue) else ast.literal_eval(part) for part in node.values)
            yield node.lineno, call, "".join(parts)
        else:
            yield from literals(node, ast.unparse(node.func) if isinstance(node, ast.Call) else call)


def astray(path: str, code: ast.AST, read: set[str], unread: set[str]) -> Iterator[str]:
    """The sentences in a module that belong into the catalogue."""
    free = not path.startswith("bot/") or path in NOT_SENTENCES or DECLARES.search(path)
    for line, call, words in literals(code):
        called = call.rpartition(".")[2]
        told = called in read and re.search(r"[a-z]{2,}.* ", words)
        says = not free and called not in unread and not NO_READERS.search(call) and SENTENCE.match(words)
        if told or says:
            yield f"{path}:{line} {words!r}"


def test_no_sentence_for_people_stands_outside_of_the_catalogue() -> None:
    unread = below(*NOT_READ)
    read = below("CogencyError") - unread
    named = {str(path.relative_to(ROOT)): path for path in modules()}
    codes = ((name, parsed(path)) for name, path in named.items() if name != SCRIPTED)
    found = [found for name, code in codes for found in astray(name, code, read, unread)]
    assert found == [], "a sentence goes into the texts.py of its part; a command's own is a name in its file"


def test_a_sentence_is_found_whether_an_error_carries_it_or_not() -> None:
    code = ast.parse(
        'X = f"Written to {name}."\nraise Refused("no, thanks")\nlog.info("Not this one.")\n"""Nor this."""'
    )
    assert [*astray("bot/some.py", code, {"Refused"}, set())] == [
        "bot/some.py:1 'Written to ….'",
        "bot/some.py:2 'no, thanks'",
    ]
    assert [*astray("agent/some.py", code, {"Refused"}, set())] == ["agent/some.py:2 'no, thanks'"]
    assert [*astray("bot/some.py", ast.parse('Refused("Not this one.")'), set(), {"Refused"})] == []


def uses(code: list[ast.AST]) -> Iterator[tuple[tuple[str, str], set[str]]]:
    """Each text of the catalogue that is filled in, by its module and name, and the names of its values."""
    imports = [node for node in code if isinstance(node, ast.ImportFrom)]
    named = {one.asname or one.name: f"{node.module}.{one.name}" for node in imports for one in node.names}
    for node in code:
        match node:
            case ast.Call(ast.Attribute(ast.Attribute(ast.Name(module), name), "format"), keywords=keywords) if (
                named.get(module) in MODULES
            ):
                yield (named[module], name), {str(keyword.arg) for keyword in keywords}
            case _:
                pass


def fields(text: str) -> set[str]:
    return {str(field) for _, field, _, _ in Formatter().parse(text) if field is not None}


def test_each_text_gets_the_values_that_it_has_a_place_for() -> None:
    found = [use for path in modules() for use in uses(nodes(path))]
    texts = {(module, name): getattr(import_module(module), name) for (module, name), _ in found}
    assert len(found) > 100
    assert {name: given for name, given in found if fields(texts[name]) != given} == {}


def test_every_text_is_shown_somewhere() -> None:
    code = "\n".join(path.read_text() for path in (ROOT / "bot").rglob("*.py"))
    code += "\n".join(path.read_text() for package in ("agent", "store") for path in (ROOT / package).rglob("*.py"))
    words = Counter(re.findall(r"\b[A-Z][A-Z_]+\b", code))
    texts = {
        name
        for module in MODULES
        for name in vars(import_module(module))
        if name.isupper() and not name.startswith("_")
    }
    assert sorted(name for name in texts if words[name] < 2) == []
