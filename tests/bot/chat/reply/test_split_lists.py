"""Splitting inside of lists: on each page, the rest of a list reads as a list."""

import re
from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from bot.chat.reply.split import Page, Pager, pages
from tests.examples import examples
from tests.fakes.reader import fences_are_balanced, read_back

MARKDOWN = MarkdownIt("commonmark")
MARK = re.compile(r"Q\d+")


@st.composite
def nested_lists(draw: st.DrawFn) -> str:
    """Return a list with items up to five levels deep, of which each line of text begins with a mark of its own."""
    step = draw(st.sampled_from([2, 3, 4]))
    markers = ["-", "*", "+"] if step == 2 else ["-", "*", "1."]
    by_level = draw(st.lists(st.sampled_from(markers), min_size=5, max_size=5))
    lines, level, mark, counts = list[str](), 0, 0, [0] * 5
    for _ in range(draw(st.integers(5, 40))):
        words = draw(st.integers(1, 12)) * " word"
        counts = [*counts[:level], min(counts[level] + 1, 9), *[0] * (4 - level)]
        marker = by_level[level].replace("1", str(counts[level]))
        lines.append(f"{' ' * (step * level)}{marker} Q{mark}{words}")
        mark += 1
        inside = " " * (step * (level + 1))
        match draw(st.sampled_from(["item"] * 6 + ["paragraph", "code"])):
            case "paragraph":
                lines += ["", f"{inside}Q{mark}{words}", ""]
                mark += 1
            case "code":
                lines += ["", f"{inside}```py", *[f"{inside}x = {mark}"] * draw(st.integers(1, 9)), f"{inside}```", ""]
            case _:
                pass
        level = draw(st.integers(0, min(level + 1, 4)))
    return "\n".join(lines)


def marks_in_code(page: str) -> list[str]:
    return [
        mark for token in MARKDOWN.parse(page) if token.type == "code_block" for mark in MARK.findall(token.content)
    ]


def marks_at_items(page: str) -> Iterator[str]:
    """Yield the marks with which the items of a page begin."""
    tokens = MARKDOWN.parse(page)
    for opening, _, content in zip(tokens, tokens[1:], tokens[2:], strict=False):
        if opening.type == "list_item_open" and (mark := MARK.match(content.content)):
            yield mark[0]


@pytest.mark.slow
@settings(max_examples=examples(150))
@given(nested_lists(), st.sampled_from([400, 1_000, 2_000]))
def test_each_line_of_a_list_is_a_list_item_on_its_page_too(text: str, limit: int) -> None:
    texts = [page.text for page in pages(text, limit)]
    assert read_back(texts, limit) == text
    assert all(len(page) <= limit and fences_are_balanced(page, limit) for page in texts)
    assert [mark for page in texts for mark in marks_in_code(page)] == []
    assert [mark for page in texts for mark in marks_at_items(page)] == [*marks_at_items(text)]


@pytest.mark.slow
@settings(max_examples=examples(150))
@given(nested_lists(), st.data())
def test_wherever_a_page_has_to_end_the_next_one_goes_on_with_the_list(text: str, data: st.DataObject) -> None:
    ends = [match.start() for match in re.finditer(r"(?<=\n)|(?<= )(?=word)", text)]
    pager, end = Pager(1_000), data.draw(st.sampled_from(ends))
    pager.read(text, complete=False)
    pager.freeze(0, end := min(end, pager.pages[0].end), None, text)
    pager.read(text, complete=True)
    texts = [page.text for page in pager.pages]
    assert "".join(page.body for page in pager.pages) == text
    assert pager.pages[1:] == [] or pager.pages[1].start == end
    assert [mark for page in texts for mark in marks_in_code(page)] == []
    assert [mark for page in texts for mark in marks_at_items(page)] == [*marks_at_items(text)]


@pytest.mark.slow
@settings(max_examples=examples(100))
@given(nested_lists(), st.integers(1, 60))
def test_while_a_list_grows_full_pages_stay_and_the_end_is_the_same(text: str, chunk: int) -> None:
    pager, full = Pager(400), list[Page]()
    for at in range(0, len(text), chunk):
        pager.read(text[:at], complete=False)
        assert pager.pages[: len(full)] == full
        full = pager.pages[: pager.full]
    pager.read(text, complete=True)
    assert pager.pages == pages(text, 400)


def test_a_page_that_starts_in_a_nested_list_opens_the_items_around_it_again() -> None:
    text = "- boats\n  - blue ones\n" + "    - word word word\n" * 6
    first, second = (page.text for page in pages(text, 100))
    assert first + second.removeprefix("- …\n  - …\n") == text
    assert second.startswith("- …\n  - …\n    - word")


def test_a_page_that_starts_inside_a_line_of_a_list_goes_on_with_its_item() -> None:
    first, second = (page.text for page in pages("7. " + "word " * 25 + "\n    - more\n8. end", 100))
    assert (first[:8], second[:14]) == ("7. word ", "7. … word word")
    assert second.endswith("word \n    - more\n8. end")


def test_code_in_a_nested_list_is_opened_again_in_its_list() -> None:
    text = "- boats\n  - ```py\n" + "    x = 1\n" * 12 + "    ```\n"
    texts = [page.text for page in pages(text, 100)]
    assert texts[1].startswith("- …\n  - …\n    ```py\n    x = 1\n")
    assert all([token.type for token in MARKDOWN.parse(page)].count("fence") == 1 for page in texts)


@pytest.mark.parametrize("text", ["- a\n  - b\n", "1. a\n   - b\n"])
def test_a_page_that_starts_with_an_item_in_the_margin_repeats_nothing(text: str) -> None:
    assert all("…" not in page.text for page in pages(text * 30, 100))


def test_no_page_has_nothing_but_the_items_that_it_opens_again() -> None:
    for end in range(60, 110):
        text = "- a\n  - b\n" + "    - word\n" * 4 + "    - " + "x" * (end - 60) + " \n     " * 12
        *_, last = pages(text, 100)
        assert last.opener == "" or last.body.strip()
