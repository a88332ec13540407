"""The page about `cogency eval`: its files can be used as they are, and its tables name every field and check."""

import re

import pytest

from benchmarks.house_code import ROOT
from bot.app.evaluation import OWN_TOOLS
from bot.evals.exam_file import CHECK_FIELDS, EXAM_FIELDS, QUESTION_FIELDS, read_exam

PAGE = (ROOT / "docs" / "eval.md").read_text(encoding="utf-8")
MODELS = (ROOT / "docs" / "models.md").read_text(encoding="utf-8")


def yaml_blocks() -> list[str]:
    return re.findall(r"^```yaml\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)


def starter_row(model: str) -> list[str]:
    """Return what a model got for each group of built-in questions, and in all."""
    (row,) = re.findall(rf"^\| {re.escape(model)} \| (\d+/\d+.*) \|$", MODELS, re.MULTILINE)
    return row.split(" | ")


@pytest.mark.parametrize("block", yaml_blocks())
def test_a_file_on_the_page_can_be_used_as_it_is(block: str) -> None:
    assert read_exam(block, "exam.yaml", OWN_TOOLS).questions


def test_the_page_names_every_field_and_every_check() -> None:
    rows = "".join(row for row in PAGE.splitlines(keepends=True) if row.startswith("|"))
    first = {name for row in rows.splitlines() for name in re.findall(r"`([a-z_]+)`", row.split("|")[1])}
    assert first >= {*EXAM_FIELDS, *QUESTION_FIELDS, *CHECK_FIELDS}
