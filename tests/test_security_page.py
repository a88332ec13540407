"""Each row of docs/security-tests.md has a test that exists, in docs/site/security_tests.toml."""

from functools import cache
from pathlib import Path

import pytest

from benchmarks.house_code import ROOT
from docs.site.security_tests import Row, tables
from tests.test_docs import definitions


@cache
def is_test(name: str) -> bool:
    file, _, function = name.partition(" ")[0].partition("::")
    path = Path(ROOT / file)
    is_there = file.startswith("tests/") and path.is_file()
    return is_there and (not function or function in definitions(path))


@pytest.mark.parametrize("row", [row for table in tables() for row in table.rows], ids=lambda row: row.what[:30])
def test_each_row_names_a_test_that_exists(row: Row) -> None:
    assert row.tests, "it names no test"
    assert [name for name in row.tests if not is_test(name)] == []


def test_each_row_has_a_text_for_each_column_that_a_cell_can_hold() -> None:
    rows = [(table, row) for table in tables() for row in table.rows]
    assert len(rows) > 200
    assert [row.what for table, row in rows if len([row.what, *filter(None, [row.how])]) != len(table.heads)] == []
    assert [row.what for _, row in rows if "|" in row.what + row.how or "\n" in row.what + row.how] == []


def test_a_name_that_no_test_has_is_found() -> None:
    assert not is_test("tests/test_security_page.py::test_of_nothing")
    assert not is_test("tests/test_of_nothing.py")
    assert is_test("tests/test_security_page.py::test_a_name_that_no_test_has_is_found")
    assert is_test("tests/test_security_page.py::test_a_name_that_no_test_has_is_found (with a remark)")
