"""Tables where the platform has none."""

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.cells import cell_len

from agent.events import ReplyEnded, TextArrived
from bot.chat.reply.pages import Draft, Frames
from bot.chat.reply.split import pages
from bot.chat.reply.surface import Limits, MarkdownReader
from bot.chat.reply.tables import SAMPLE_CHARS, show_tables
from tests.examples import examples
from tests.fakes.answers import answers

WIDTH = 40
BOATS = "| Boat | Length | Colour |\n|:---|---:|:---:|\n| Möwe | 9 m | **blue** |\n| 海鷗 | 12 m | `red` |\n"
SHOWN = "```table\nBoat  Length  Colour\n----  ------  ------\nMöwe     9 m  blue\n海鷗    12 m  red\n```\n"


def shown(text: str, *, complete: bool = True) -> str:
    return show_tables(text, WIDTH, complete=complete)


def test_a_table_has_aligned_columns_in_a_block_of_code() -> None:
    assert shown(BOATS) == SHOWN
    assert shown(f"Boats:\n\n{BOATS}\nThat is all.") == f"Boats:\n\n{SHOWN}\nThat is all."
    assert shown(BOATS.rstrip("\n")) == SHOWN.rstrip("\n")


@pytest.mark.parametrize(
    ("cell", "words"),
    [
        ("~~old~~ *new*", "old new"),
        (r"a \| b", "a | b"),
        (r"`x \| y`", "x | y"),
        ("one<br>two", "one / two"),
        (r"1\*2", "1*2"),
        ("👩‍👩‍👧‍👦 crew", "👩‍👩‍👧‍👦 crew"),
        ("", ""),
    ],
)
def test_a_cell_shows_its_words_without_markup(cell: str, words: str) -> None:
    assert f"\n{words}{' ' * (12 - cell_len(words))}  end\n" in shown(
        f"| a | b |\n|---|---|\n| {cell} | end |\n| {'x' * 12} | y |"
    )


@pytest.mark.parametrize(
    "cells", [("船は青いです", "x"), ("👍🏽 yes", "1️⃣"), ("한국어", "ÄÖÜ"), ("e\u0301e\u0301", "…")]
)
def test_columns_are_as_wide_as_what_is_displayed(cells: tuple[str, str]) -> None:
    lines = shown(
        f"| a | b | c |\n|---|---|---|\n| {cells[0]} | {cells[1]} | end |\n| long words | more | end |"
    ).splitlines()
    assert len({cell_len(line.removesuffix("end")) for line in lines[3:5]}) == 1


def test_a_wide_table_is_a_list_of_its_rows() -> None:
    wide = "It is long, and **blue**, and lies in the harbour."
    assert shown(f"| Boat | About | By |\n|---|---|---|\n| Möwe | {wide} | Ann |\n| Rabe | | Bo |\n") == (
        f"**Möwe**\n- About: {wide}\n- By: Ann\n**Rabe**\n- By: Bo\n"
    )


def test_links_stay_links() -> None:
    table = "| Boat | Where |\n|---|---|\n| Möwe | [here](https://a.test/) |\n"
    assert shown(table) == "**Möwe**\n- Where: [here](https://a.test/)\n"


def test_a_table_in_a_quote_or_a_list_stays_there() -> None:
    for margin in ("> ", "   "):
        table = "".join(f"{margin}{line}" for line in BOATS.splitlines(keepends=True))
        assert shown(table) == "".join(f"{margin}{line}" for line in SHOWN.splitlines(keepends=True))


@pytest.mark.parametrize(
    "text", [f"```md\n{BOATS}```\n", "a | b", "a || b\n\nc", "x = a | b\ny = c | d\n", "||spoiler||\n"]
)
def test_what_is_no_table_stays_as_it_is(text: str) -> None:
    assert shown(text) == text


def test_each_page_of_a_long_table_begins_with_its_header() -> None:
    rows = [f"| boat {number} | {number} m | blue |" for number in range(200)]
    found = pages(shown("\n".join(["| Boat | Length | Colour |", "|---|---|---|", *rows])), 2_000)
    assert len(found) > 2
    head = "```table\nBoat     Length  Colour\n-------  ------  ------\nboat "
    assert all(page.text.startswith(head) and page.text.rstrip().endswith("```") for page in found)
    names = [line.split()[1] for page in found for line in page.text.splitlines() if line.startswith("boat ")]
    assert names == [str(number) for number in range(200)]


def test_a_growing_table_is_shown_when_it_is_complete_or_long() -> None:
    assert shown(f"Boats:\n\n{BOATS}", complete=False) == "Boats:\n\n"
    assert shown(f"Boats:\n\n{BOATS[:30]}", complete=False) == "Boats:\n\n"
    assert shown(f"{BOATS}\nThat", complete=False) == f"{SHOWN}\nThat"
    assert shown(BOATS + "| x | y | z |\n" * SAMPLE_CHARS, complete=False).startswith("```table\nBoat  Length")


rows = st.lists(st.sampled_from(["1", "blue", "船", "👍🏽", "`a`", "a longer cell", r"\|", ""]), min_size=1, max_size=4)
tables = st.lists(rows, max_size=90).map(
    lambda table: "\n".join(["| a | b | c |", "|---|---|---|", *(f"| {' | '.join(row)} |" for row in table)])
)
texts = st.lists(
    st.one_of(tables, answers, st.sampled_from(["Words.", "- item", "```\ncode | x\n```"])), max_size=4
).map("\n\n".join)


@settings(max_examples=examples(100))
@given(texts, st.integers(1, 97))
def test_what_was_shown_of_a_growing_text_stays(text: str, step: int) -> None:
    before = ""
    for end in range(0, len(text), step):
        longer = shown(text[:end].rstrip(), complete=False)
        assert longer.startswith(before)
        before = longer
    assert shown(text).startswith(before)


@settings(max_examples=examples(60))
@given(tables, st.integers(20, 400))
def test_every_page_of_a_growing_table_is_readable_alone(table: str, step: int) -> None:
    limits = Limits(2_000, 1, reader=MarkdownReader.LOOSE, table_width=76)
    draft, frames = Draft(), Frames(limits, 1)
    for start in range(0, len(table), step):
        draft.record_event(TextArrived(table[start : start + step]))
        for frame in frames.frames(draft):
            _readable(frame.look.text)
            frames.record_shown(frame)
    draft.record_event(ReplyEnded())
    draft.end()
    for frame in frames.frames(draft):
        _readable(frame.look.text)


def _readable(page: str) -> None:
    """Check that a page has whole blocks that begin with the header, and no row of a table elsewhere."""
    parts = page.split("```")
    assert len(parts) % 2 == 1
    assert all(code.startswith("table\na") for code in parts[1::2])
    assert not any("|" in prose for prose in parts[::2])


@pytest.mark.slow
@pytest.mark.parametrize("piece", ["|", "| a ", "|---", "| a |\n", "| `a` | **b** |\n", "|-|\n", "| a |\n|---|\n"])
def test_whatever_is_repeated_the_time_grows_with_the_length_alone(piece: str) -> None:
    def seconds(times: int) -> float:
        started = time.process_time()
        shown(f"| a | b |\n|---|---|\n{piece * times}")
        return time.process_time() - started

    assert seconds(20_000) < 40 * max(seconds(2_000), 0.005)
