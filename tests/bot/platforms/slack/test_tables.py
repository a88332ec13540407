"""Tables as Slack sorts them: within its documented limits, or as Markdown."""

from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.messages import Json
from bot.platforms.slack.tables import (
    MAX_CELL_CHARS,
    MAX_COLUMNS,
    MAX_ROWS,
    MAX_TABLES,
    PAGE_ROWS,
    blocks_with_tables,
    count_tables,
)
from tests.fakes.slack_blocks import message_problems, shown_text

BOATS = "| Boat | Feet |\n|---|---:|\n| Ada | 40 |\n| Bee | 7 |"


def problems(blocks: list[Json]) -> list[str]:
    return message_problems(cast("list[dict[str, Any]]", blocks))


def table_of(text: str) -> Any:
    (block,) = blocks_with_tables(text)
    assert problems([block]) == []
    return block


def cells(text: str, column: int = 0) -> list[Any]:
    """Return the cells of a column, without its head."""
    return [row[column] for row in table_of(text)["rows"][1:]]


def column(*values: str) -> str:
    return "\n".join(
        ["| Name | Value |", "|---|---|", *(f"| {chr(97 + at)} | {one} |" for at, one in enumerate(values))]
    )


def test_a_table_stands_between_the_words_around_it() -> None:
    before, table, after = blocks_with_tables(f"# Boats\n\nHere:\n\n{BOATS}\n\nThat is *all*.")
    assert before == {"type": "markdown", "text": "# Boats\n\nHere:"}
    assert after == {"type": "markdown", "text": "That is *all*."}
    assert table == {
        "type": "data_table",
        "caption": "Table: Boat, Feet",
        "page_size": 2,
        "rows": [
            [{"type": "raw_text", "text": "Boat"}, {"type": "raw_text", "text": "Feet"}],
            [{"type": "raw_text", "text": "Ada"}, {"type": "raw_number", "value": 40, "text": "40"}],
            [{"type": "raw_text", "text": "Bee"}, {"type": "raw_number", "value": 7, "text": "7"}],
        ],
    }


def test_marks_in_a_cell_are_shown_as_marks_and_links_as_links() -> None:
    row = "| **bold** and `code` | [words](https://example.com/a) |"
    first, second = table_of(f"| A | B |\n|---|---|\n{row}\n{row}")["rows"][1]
    assert first["elements"][0]["elements"] == [
        {"type": "text", "text": "bold", "style": {"bold": True}},
        {"type": "text", "text": " and "},
        {"type": "text", "text": "code", "style": {"code": True}},
    ]
    assert second["elements"][0]["elements"] == [{"type": "link", "url": "https://example.com/a", "text": "words"}]


def test_a_link_in_bold_stays_a_link_and_an_address_of_another_kind_is_words() -> None:
    row = "| **[words](https://example.com)** | [x](javascript:alert) |"
    first, second = table_of(f"| A | B |\n|---|---|\n{row}\n{row}")["rows"][1]
    (link,) = first["elements"][0]["elements"]
    assert link == {"type": "link", "url": "https://example.com", "text": "words", "style": {"bold": True}}
    assert "javascript" not in str([one for one in second.get("elements", []) if "url" in str(one)])


@pytest.mark.parametrize(
    ("texts", "values"),
    [
        (["3", "-1", "+2"], [3, -1, 2]),
        (["\u22121", "0"], [-1, 0]),
        (["1.5", "1,234"], [1.5, 1234]),
        (["$1,200", "$950.50"], [1200, 950.5]),
        (["1,234,567", "2,000"], [1234567, 2000]),
        (["12%", "7.5 %"], [12, 7.5]),
        (["0.125", "3"], [0.125, 3]),
    ],
)
def test_a_column_of_numbers_is_sorted_by_number_and_shown_as_written(texts: list[str], values: list[float]) -> None:
    shown = cells(column(*texts), 1)
    assert [one["value"] for one in shown] == values
    assert [one["text"] for one in shown] == texts


@pytest.mark.parametrize(
    "texts",
    [
        ["3", "three"],
        ["3", ""],
        ["1.234", "2"],  # a thousand, or one and a bit
        ["1,234", "2"],
        ["$3", "€4"],
        ["3%", "4"],
        ["**3**", "4"],
        ["1e5", "2"],
        ["٣", "٤"],
        ["1234567890123456", "2"],
    ],
)
def test_what_may_be_no_number_is_sorted_by_letter(texts: list[str]) -> None:
    assert {one["type"] for one in cells(column(*texts), 1)} <= {"raw_text", "rich_text"}


def test_an_empty_cell_has_the_one_character_that_slack_demands() -> None:
    assert [one["text"] for one in cells(column("x", ""), 1)] == ["x", " "]


@pytest.mark.parametrize(
    "text",
    [
        "no table",
        "| A |\n|---|\n| only one row |",
        f"> {BOATS.replace(chr(10), chr(10) + '> ')}",
        f"- boats\n\n  {BOATS.replace(chr(10), chr(10) + '  ')}",
        f"```\n{BOATS}\n```",
        f"{BOATS}\n\n[1]: https://example.com",
        f"{'| A ' * (MAX_COLUMNS + 1)}|\n{'|---' * (MAX_COLUMNS + 1)}|\n| x |\n| y |",
        "| A |\n|---|\n" + "| x |\n" * (MAX_ROWS + 1),
        "| A |\n|---|\n" + f"| {'x' * (MAX_CELL_CHARS // 2)} |\n" * 2,
        BOATS.replace("\n", "\r\n"),
        BOATS.replace("Ada", ":white_check_mark: Ada"),
        BOATS.replace("Ada", "<#C0GENERAL>"),
        BOATS.replace("Ada", "see https://example.com/ada"),
    ],
)
def test_what_is_no_table_that_slack_could_sort_stays_markdown(text: str) -> None:
    assert blocks_with_tables(text) == []


def test_many_rows_are_paged() -> None:
    assert table_of("| A |\n|---|\n" + "| x |\n" * MAX_ROWS)["page_size"] == PAGE_ROWS


def test_of_many_tables_the_first_ones_are_sortable_and_none_is_lost() -> None:
    blocks = blocks_with_tables("\n\n".join([BOATS] * (MAX_TABLES + 2)))
    assert count_tables(blocks) == MAX_TABLES
    assert shown_text(cast("list[dict[str, Any]]", blocks)).count("Ada") == MAX_TABLES + 2
    assert problems(blocks) == []
    assert count_tables(blocks_with_tables(f"{BOATS}\n\n{BOATS}", 1)) == 1


words = st.text(st.sampled_from("ab|1,.-$% *`[]()<>\\_~&@!:#\n"), max_size=60)


@pytest.mark.slow
@given(st.lists(st.lists(words, min_size=1, max_size=4), min_size=1, max_size=6), words, words)
def test_every_text_is_sent_within_slacks_limits(rows: list[list[str]], before: str, after: str) -> None:
    lines = [f"| {' | '.join(row)} |" for row in rows]
    text = "\n".join([before, lines[0], "|".join(["---"] * len(rows[0])) + "|", *lines[1:], "", after])
    blocks = blocks_with_tables(text)
    assert problems(blocks) == []


plain = st.text(st.sampled_from("ab12.-%$ "), max_size=12)


@given(
    st.integers(1, 4).flatmap(lambda width: st.lists(st.lists(plain, min_size=width, max_size=width), min_size=3)),
    plain,
)
def test_no_word_of_a_table_is_lost(rows: list[list[str]], after: str) -> None:
    lines = [f"| {' | '.join(row)} |" for row in rows]
    text = "\n".join([lines[0], f"|{'---|' * len(rows[0])}", *lines[1:], "", after])
    shown = shown_text(cast("list[dict[str, Any]]", blocks_with_tables(text)))
    assert [char for char in shown if char.isalnum()] == [char for char in text if char.isalnum()]
