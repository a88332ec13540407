"""A platform is known by name in its own folder, where the bot is put together, in the settings, in the commands
and in the catalogue of what people read.

Everything else takes what is different on a platform from its adapter, or has a neutral word for it: what works for
one platform works for the next. Docstrings and comments may give examples ("slack:T0123:U0123").
"""

import ast
import re
from functools import cache
from pathlib import Path
from typing import Final, cast

from tests.catalogue import ROOT, catalogue_files

PLATFORMS: Final = ROOT / "bot" / "platforms"
# The terminal is no place of others: who may do what there is a rule of its own (`bot.chat.access.acl`).
NAMES: Final = frozenset(one.name for one in PLATFORMS.iterdir() if (one / "run.py").is_file()) - {"terminal"}
PARTS: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
# Names that are part of other words ("display"): those count alone, in names and paths.
WORDS: Final = frozenset({"play"})
# The signatures of senders of webhooks: other programs sign in a platform's form, too.
SENDERS: Final = (ROOT / "bot" / "webhooks" / "signatures.py", ROOT / "bot" / "webhooks" / "deliveries.py")
NAME: Final = re.compile(r"[\w.:/-]+")
COMPOSED: Final = (
    ROOT / "bot" / "app",
    ROOT / "bot" / "settings",
    ROOT / "bot" / "setup",
    *catalogue_files(),
    *(ROOT / "bot").rglob("settings.py"),
)


def words_of(code: ast.AST) -> list[str]:
    """Every name and text in code, but what only stands there to be read by people."""
    nodes = [*ast.walk(code)]
    texts = {id(node.value) for node in nodes if isinstance(node, ast.Expr)}
    fields = (value for node in nodes if id(node) not in texts for _, value in ast.iter_fields(node))
    found = (cast("list[object]", value) if isinstance(value, list) else [value] for value in fields)
    return [word for values in found for word in values if isinstance(word, str)]


def modules() -> list[Path]:
    return [path for package in ("agent", "bot", "store") for path in (ROOT / package).rglob("*.py")]


@cache
def named_in(path: Path) -> set[str]:
    text = path.read_text()
    if not any(name in text.casefold() for name in NAMES):  # nearly all: to parse them takes seconds
        return set()
    words = words_of(ast.parse(text))
    found = {name for name in NAMES - WORDS for word in words if name in word.casefold()}
    names = (word for word in words if NAME.fullmatch(word))
    return found | {part for name in names for part in map(str.casefold, PARTS.findall(name)) if part in WORDS}


def test_no_code_names_a_platform_outside_its_folder_and_where_the_bot_is_put_together() -> None:
    elsewhere = [
        path for path in modules() if not any(path.is_relative_to(one) for one in (PLATFORMS, *COMPOSED, *SENDERS))
    ]
    assert {str(path.relative_to(ROOT)): found for path in elsewhere if (found := named_in(path))} == {}


def test_no_platform_names_another() -> None:
    folders = [one for one in PLATFORMS.iterdir() if one.is_dir()]
    others = {path: named_in(path) - {folder.name} for folder in folders for path in folder.rglob("*.py")}
    assert {str(path.relative_to(ROOT)): found for path, found in others.items() if found} == {}


def test_where_the_bot_is_put_together_no_form_of_a_platforms_ids_is_known() -> None:
    composing = [path for path in modules() if path.is_relative_to(ROOT / "bot" / "app")]
    found = {
        (path.name, word)
        for path in composing
        for word in words_of(ast.parse(path.read_text()))
        if word.casefold().startswith(tuple(f"{name}:" for name in NAMES))
    }
    assert found == set()


def test_the_words_of_code_are_names_and_texts_but_no_docstrings() -> None:
    code = ast.parse('"""slack"""\nX = "a"\n"""slack"""\nfrom b.c import d\ndef e(f): g.h(i=f"j{k}")')
    assert set(words_of(code)) == {"X", "a", "b.c", "d", "e", "f", "g", "h", "i", "j", "k"}
    assert {"slack", "discord", "play"} == NAMES


def test_a_name_that_is_part_of_other_words_is_found_where_it_stands_alone() -> None:
    words = ("PlaySurface", "for_play", "COGENCY_PLAY", "bot.platforms.play.run", "display", "replay", "Player")
    found = [word for word in words if "play" in map(str.casefold, PARTS.findall(word))]
    assert found == ["PlaySurface", "for_play", "COGENCY_PLAY", "bot.platforms.play.run"]
