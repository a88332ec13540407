"""Expressions that are compiled when they are first used are what `re` makes of them."""

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from agent.patterns import WAITING, compile_later

TEXT = "one two  three"
CALLS = {
    "search": (TEXT,),
    "match": (TEXT,),
    "fullmatch": ("one",),
    "sub": ("x", TEXT),
    "subn": ("x", TEXT),
    "split": (TEXT,),
    "findall": (TEXT,),
    "finditer": (TEXT,),
}


def _told(found: Any) -> str:
    """What a match says of itself, also behind an iterator."""
    return str([*found] if hasattr(found, "__next__") else found)


@pytest.mark.parametrize("method", CALLS)
@pytest.mark.parametrize("flags", [0, re.IGNORECASE])
def test_each_method_gives_what_a_compiled_expression_gives(method: str, flags: int) -> None:
    later, now = compile_later(r"(\w)O?", flags), re.compile(r"(\w)O?", flags)
    for _ in range(2):  # the first use, and one behind it
        assert _told(getattr(later, method)(*CALLS[method])) == _told(getattr(now, method)(*CALLS[method]))


def test_what_it_says_of_itself_is_the_expressions_own() -> None:
    later = compile_later("(?P<a>x)|y", re.IGNORECASE)
    assert (later.pattern, later.groups, dict(later.groupindex)) == ("(?P<a>x)|y", 1, {"a": 1})
    assert later.flags & re.IGNORECASE


def test_a_wrong_expression_is_found_by_its_first_use() -> None:
    wrong = compile_later("(")
    with pytest.raises(re.error):
        wrong.search("x")
    # Otherwise `compile_all` in this process would compile it.
    WAITING[:] = [one for one in WAITING if one.pattern != wrong.pattern]


@pytest.mark.slow
def test_a_start_compiles_nothing_of_the_lexicon_and_compile_all_everything() -> None:
    code = (
        "import bot.setup.cli, agent.memory.lexicon as all\n"
        "from agent.machine import fresh_word\n"
        "from agent.patterns import WAITING, compile_all\n"
        "from agent.protocol import echoes\n"
        "def made(): return sum('search' in vars(one) for one in waited)\n"
        "waited = [*WAITING]; print(all.CUE in waited, 'search' in vars(all.CUE), len(waited) - made())\n"
        "compile_all(); print(len(waited) - made(), len(WAITING))\n"
        "echoes._mark_patterns(len(fresh_word())); print(echoes._mark_patterns.cache_info().hits)\n"
    )
    ran = subprocess.run(  # noqa: S603 -- our own interpreter
        [sys.executable, "-c", code], cwd=Path(__file__).parents[2], capture_output=True, text=True, check=True
    )
    before, after, known_marks = ran.stdout.splitlines()
    listed, compiled, left = before.split()
    assert (listed, compiled) == ("True", "False")
    assert int(left) > 150
    assert after == "0 0"
    assert known_marks == "1"
