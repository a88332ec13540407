"""Each claim of docs/memory.md names the tests that hold it, in a comment below it, and these exist."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "memory.md"
COMMENT = re.compile(r"<!-- tested:(?P<names>[^>]*)-->")
# The page's introduction claims nothing itself.
INTRODUCTION = "This page explains what the bot remembers"


def claims() -> Iterator[str]:
    """Yield each paragraph and each item of a list, with its comment."""
    block = list[str]()
    for line in [*PAGE.read_text(encoding="utf-8").splitlines(), ""]:
        if (not line.strip() or line.startswith(("- ", "#"))) and block:
            yield "\n".join(block)
            block.clear()
        if line.strip() and not line.startswith("#"):
            block.append(line)


CLAIMS = [claim for claim in claims() if not claim.startswith(INTRODUCTION)]


@pytest.fixture(scope="module")
def known() -> frozenset[str]:
    """The names of all tests, without "test_"."""
    files = (path.read_text(encoding="utf-8") for path in (ROOT / "tests").rglob("test_*.py"))
    return frozenset(name for text in files for name in re.findall(r"^(?:async )?def test_(\w+)", text, re.MULTILINE))


def test_the_page_makes_claims() -> None:
    assert len(CLAIMS) > 40


@pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: claim[:40])
def test_each_claim_names_tests_that_exist(claim: str, known: frozenset[str]) -> None:
    comment = COMMENT.search(claim)
    assert comment is not None, claim
    names = comment["names"].split()
    assert names
    assert [name for name in names if name not in known] == []
