"""Each row of the tables in docs/security.md names a test that exists."""

import re
from functools import cache
from pathlib import Path
from typing import Final

import pytest

from benchmarks.house_code import ROOT
from tests.bot.web.ssrf import WAYS
from tests.injection.attempts import numbered as attempts
from tests.injection.test_sequences import numbered as sequences
from tests.test_docs import definitions

PAGE: Final = ROOT / "docs" / "security.md"
NAMED: Final = re.compile(r"`([^`]+)`")
SEPARATOR: Final = re.compile(r"\|[-|]+\|")


def rows() -> list[list[str]]:
    """The cells of each row, without the heads of tables."""
    lines = PAGE.read_text(encoding="utf-8").splitlines()
    found = [
        line
        for line, after in zip(lines, [*lines[1:], ""], strict=True)
        if line.startswith("| ") and SEPARATOR.fullmatch(after) is None
    ]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in found]


@cache
def parameters() -> frozenset[str]:
    """The names of the tests that are played from the tables themselves."""
    return frozenset({*attempts(), *sequences(), *(f"W{number}" for number in range(1, len(WAYS) + 1))})


def is_test(name: str) -> bool:
    file, _, function = name.partition("::")
    path = Path(ROOT / file)
    is_there = file.startswith("tests/") and path.is_file()
    return name in parameters() or (is_there and (not function or function in definitions(path)))


@pytest.mark.parametrize("cells", rows(), ids=lambda cells: cells[0][:30])
def test_each_row_names_a_test_that_exists(cells: list[str]) -> None:
    names = re.findall(r"\bW\d+\b", cells[-1]) or NAMED.findall(cells[-1])
    assert names, "its last cell names no test"
    assert [name for name in names if not is_test(name)] == []


def test_a_name_that_no_test_has_is_found() -> None:
    assert not is_test("tests/test_security_page.py::test_of_nothing")
    assert not is_test("1-slack-page-nothing")
    assert is_test("tests/test_security_page.py::test_a_name_that_no_test_has_is_found")
