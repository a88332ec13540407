"""The walk of a message in ARCHITECTURE.md is the one that a mention takes through the real bot."""

import re

from benchmarks.house_code import ROOT
from benchmarks.mention_path import mention_path

MAX_FILES = 15  # A newcomer reads so many before they have seen a question answered
FILE = re.compile(r"`((?:agent|bot|store)/[\w/]+\.py)`")


def walk() -> list[str]:
    page = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    _, _, after = page.partition("## A message's way\n")
    return FILE.findall(after.partition("\n## ")[0])


def test_the_walk_names_few_files_and_each_once() -> None:
    assert 10 <= len(walk()) <= MAX_FILES
    assert len(walk()) == len({*walk()})


async def test_a_mention_enters_the_files_of_the_walk_in_their_order() -> None:
    """Between two of them there are others; of each file some function is entered after one of the file before."""
    entered = iter([call.file for call in (await mention_path(1)).functions])
    assert [file for file in walk() if file not in entered] == []
