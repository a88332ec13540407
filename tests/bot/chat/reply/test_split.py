"""Splitting into pages: nothing is lost, broken or shown twice, and a full page never changes."""

import time
from itertools import cycle, pairwise

import pytest
import regex
from hypothesis import example, given, settings
from hypothesis import strategies as st

from bot.chat.reply.split import MIN_LAST_CHARS, Page, Pager, pages
from tests.examples import examples
from tests.fakes.answers import ATOMS, CJK, GRAPHEMES, answer_of, answers, edges, scribbles
from tests.fakes.reader import fences_are_balanced, read_back

LIMITS = st.sampled_from([100, 137, 400, 2_000])


def shown(text: str, limit: int) -> list[str]:
    return [page.text for page in pages(text, limit)]


def code(lines: int, info: str = "py") -> str:
    return f"```{info}\n" + "".join(f"line_{number} = {number}\n" for number in range(lines)) + "```\n"


@pytest.mark.parametrize("chars", [10, 3_000, 15_000])
def test_what_is_shown_is_the_text(chars: int) -> None:
    text = answer_of(chars)
    assert len(text) == chars
    texts = shown(text, 2_000)
    assert read_back(texts, 2_000) == text
    assert all(len(page) <= 2_000 for page in texts)
    assert len(texts) <= chars // 1_000 + 1


@pytest.mark.slow
@settings(max_examples=examples(150))
@given(answers, LIMITS)
@example(
    "boat boat [the harbour](http://example.org/a_(b)/c-d)\n\n- …\n- [the harbour](http://example.org/a_(b)/c-d)", 100
)
def test_every_answer_can_be_read_back_from_pages_that_fit_and_stand_alone(text: str, limit: int) -> None:
    texts = shown(text, limit)
    assert read_back(texts, limit) == text
    assert all(len(page) <= limit for page in texts)
    assert all(fences_are_balanced(page, limit) for page in texts)


@settings(max_examples=examples(300))
@given(scribbles, st.sampled_from([40, 60, 100]))
def test_any_text_at_all_can_be_read_back_from_pages_that_fit(text: str, limit: int) -> None:
    texts = shown(text, limit)
    assert read_back(texts, limit) == text
    assert all(len(page) <= limit for page in texts)


@settings(max_examples=examples(100))
@given(answers, LIMITS)
def test_links_code_emphasis_and_graphemes_stay_whole(text: str, limit: int) -> None:
    cuts = {page.end for page in pages(text, limit)[:-1]}
    for atom in [*GRAPHEMES, *(atom for atom in ATOMS if len(atom) < limit // 2)]:
        for found in regex.finditer(regex.escape(atom), text):
            assert not cuts & set(range(found.start() + 1, found.end()))


@settings(max_examples=examples(100))
@given(
    st.one_of(answers, scribbles),
    st.sampled_from([60, 100, 400]),
    st.lists(st.integers(1, 60), min_size=1, max_size=20),
)
def test_however_the_text_grows_full_pages_stay_and_the_end_is_the_same(
    text: str, limit: int, chunks: list[int]
) -> None:
    pager, at, full = Pager(limit), 0, list[Page]()
    for chunk in cycle(chunks):
        at += chunk
        if at >= len(text):
            break
        pager.read(text[:at], complete=False)
        assert pager.pages[: len(full)] == full
        full = pager.pages[: pager.full]
        assert all(len(page.text) <= limit for page in full)
    pager.read(text, complete=True)
    assert pager.pages[: len(full)] == full
    assert pager.pages == pages(text, limit)


@settings(max_examples=examples(300))
@given(st.integers(0, 110), edges, edges)
def test_a_cut_that_is_certain_stays_whatever_follows(words: int, around: str, following: str) -> None:
    text, pager = ("word " * 22)[:words] + around, Pager(100)
    pager.read(text, complete=False)
    assert pages(text + following, 100)[: pager.full] == pager.pages[: pager.full]


@pytest.mark.slow
@pytest.mark.parametrize("limit", [100, 2_000])
def test_the_cut_of_plain_words_is_certain_at_once(limit: int) -> None:
    paragraph = "word " * (limit // 15) + "[with](http://example.org) *all*, `kinds` of it.\n\n"
    line = "- one of many short lines, some_name and **bold**\n"
    sentence = "and *so* on: 2 * 3 [sic], "
    for unit in (paragraph, line, sentence):
        at, pager = 0, Pager(limit)
        text = unit * (4 * limit // len(unit))
        while pager.full == 0:
            at += 1
            pager.read(text[:at], complete=False)
        most = limit + min(limit // 10, MIN_LAST_CHARS) + len(sentence)
        assert at <= most, "where a span ends, or the next line begins, and a page is worth beginning"


WORDS_BEFORE_THE_EDGE = "word " * 18
# The start of a text on pages of a hundred characters, and a continuation that moves its cut.
UNCERTAIN = [
    (WORDS_BEFORE_THE_EDGE + "`and more code", " end`"),
    (WORDS_BEFORE_THE_EDGE + "[and more text", " end](x)"),
    (WORDS_BEFORE_THE_EDGE + "*and more text", " end*"),
    (WORDS_BEFORE_THE_EDGE + "`and more code\n  ", "end`"),
    ("```\n" + "x = 1\n" * 14 + "`", "``\nword"),
    ("word " * 15 + "`code\ncode` a b c d e", " |\n-|-\n"),
    ("word " * 15 + "`code\ncode` a b c d |\n", "-|-\n"),
]


@pytest.mark.parametrize(("text", "following"), UNCERTAIN)
def test_a_cut_that_what_follows_may_move_is_waited_for(text: str, following: str) -> None:
    pager, shown_so_far = Pager(100), pages(text + " word" * 100, 100)
    pager.read(text, complete=False)
    assert pages(text + following + " word" * 100, 100)[0] != shown_so_far[0], "it does move"
    assert pager.full == 0


def test_a_page_is_cut_before_a_paragraph_if_one_begins_in_its_second_half() -> None:
    first, second = "word " * 12 + "end.", "more " * 20
    assert shown(f"{first}\n\n{second}", 100) == [f"{first}\n\n", second]


def test_else_before_a_line() -> None:
    text = "".join(f"line number {number:02d}\n" for number in range(20))
    assert all(page.endswith("\n") for page in shown(text, 100))


def test_else_before_a_word() -> None:
    assert shown("word " * 30, 100) == ["word " * 20, "word " * 10]


def test_chinese_and_japanese_are_cut_between_characters_but_not_before_a_closing_mark() -> None:
    texts = shown("".join(CJK * 20), 100)
    assert all(len(page) > 80 for page in texts[:-1])
    assert not any(page[0] in "。、」" for page in texts)


def test_a_word_longer_than_a_page_is_cut_between_graphemes() -> None:
    texts = shown("👩‍👩‍👧‍👦" * 700, 100)
    assert all(page == "👩‍👩‍👧‍👦" * 14 for page in texts)


def test_a_heading_is_not_left_alone_at_the_end_of_a_page() -> None:
    first = "word " * 11 + "end.\n\n"
    assert shown(first + "## Title\n\n" + "more " * 20, 100)[0] == first


@pytest.mark.parametrize("left", [1, 9, 107, 199])
def test_the_last_page_is_not_a_few_words_if_a_cut_leaves_it_more(left: int) -> None:
    text = ("word " * 500)[: 2_000 + left].rstrip() + "."
    first, last = shown(text, 2_000)
    assert first + last == text
    assert len(last) >= MIN_LAST_CHARS
    paragraphs = ("a word " * 40 + "\n\n") * 7 + "a word " * 5
    assert len(shown(paragraphs, 2_000)[-1]) >= MIN_LAST_CHARS


def test_a_last_line_that_no_good_cut_makes_longer_is_shown_all_the_same() -> None:
    assert shown("x" * 2_009, 2_000) == ["x" * 2_000, "x" * 9]


def test_a_fence_that_goes_on_is_closed_and_opened_again() -> None:
    first, second, *_ = shown(code(30), 100)
    assert first.startswith("```py\nline_0 = 0\n")
    assert first.endswith("\n```")
    assert second.startswith("```py\nline_")


def test_a_fence_is_not_left_empty_at_a_pages_edge() -> None:
    for length in range(40, 110):
        texts = shown("x" * length + "\n" + code(12), 120)
        assert not any("```py\n```" in page for page in texts)


def test_a_code_line_longer_than_a_page_tells_by_a_blank_that_it_goes_on() -> None:
    first, second = shown("```py\n" + "x" * 150 + "\n```", 100)
    assert first == "```py\n" + "x" * 89 + "\n``` "
    assert second == "```py\n" + "x" * 61 + "\n```"


def test_a_fence_in_a_list_or_a_quote_is_closed_and_opened_where_it_stands() -> None:
    listed = "- ```py\n" + "  x = 1\n" * 30 + "  ```\n"
    assert shown(listed, 100)[0].endswith("\n  ```")
    assert shown(listed, 100)[1].startswith("  ```py\n  x")
    quoted = "> ```py\n" + "> x = 1\n" * 30 + "> ```\n"
    assert shown(quoted, 100)[0].endswith("\n> ```")
    assert shown(quoted, 100)[1].startswith("> ```py\n> x")


def test_a_table_that_goes_on_has_its_head_again() -> None:
    head = "| a | b |\n|---|---|\n"
    texts = shown(head + "".join(f"| {row} | x |\n" for row in range(40)) + "\nThat is all.", 100)
    assert all(page.startswith(head) for page in texts)
    assert not any(page == head for page in texts)


def test_what_follows_a_table_has_no_head() -> None:
    rows = "| a | b |\n|---|---|\n" + "| 1 | x |\n" * 7
    assert shown(rows + "\n" + "word " * 15, 100)[1] == "word " * 15


@pytest.mark.slow
@pytest.mark.parametrize(
    "text",
    [
        "```" + "info" * 200 + "\ncode\n```\n" + "word " * 60,
        "`" * 5_000,
        "~~~\n" + "`" * 700 + "\n~~~",
        "```\n" + "`" * 700 + "\nx\n```\n",
        "x" * 5_000,
        "| " + "head " * 100 + "|\n|---|\n" + "| row |\n" * 40,
        "| a |\n|---|\n| " + "cell " * 100 + "|\n| b |\n" * 10,
        "````\n```\ninner\n```\n" + "x\n" * 200 + "````\n",
        "```py\n" + "never closed\n" * 60,
        "```py\r\n" + "x = 1\r\n" * 60 + "```\r\nand\r\n\r\nmore " * 20,
        "\n" * 500 + "end",
        "a" + " " * 500 + "b",
        "e" + "\u0301" * 500,
        "[" + "text " * 100 + "](http://example.org/" + "x" * 300 + ")",
        "`" + "code " * 100 + "`",
        "word " * 15 + "```not a fence``` " * 30,
        "```\n" + "word " * 15 + "``` and so on " * 30 + "\n```",
        "``` ```\n" * 50,
        "> ```\n> code\nleft\n" * 30,
        "1. item\n\n   ```sh\n" + "   ls -l\n" * 40 + "   ```\n2. item\n" * 3,
        "\ud83d\ude00" * 200,
    ],
)
@pytest.mark.parametrize("limit", [40, 100, 2_000])
def test_whatever_is_longer_than_a_page_or_strange_is_shown_whole(text: str, limit: int) -> None:
    texts = shown(text, limit)
    assert read_back(texts, limit) == text
    assert all(0 < len(page) <= limit for page in texts)


def test_a_pair_of_surrogates_is_not_cut() -> None:
    assert all(len(page) % 2 == 0 for page in shown("\ud83d\ude00" * 200, 99))


def test_a_text_that_is_replaced_makes_new_pages() -> None:
    pager = Pager(100)
    pager.read("old " * 200, complete=False)
    pager.read("new", complete=True)
    assert [page.text for page in pager.pages] == ["new"]


def test_no_text_is_no_page() -> None:
    assert pages("", 100) == []


@pytest.mark.slow
def test_full_pages_are_not_read_again() -> None:
    """A stream four times as long takes about four times as long, not sixteen."""

    def seconds(times: int) -> float:
        text, pager = answer_of(10_000) * times, Pager(2_000)
        began = time.process_time()  # other processes do not count
        for at in range(0, len(text), 50):
            pager.read(text[:at], complete=False)
        return time.process_time() - began

    once, four_times = (min(seconds(times) for _ in range(3)) for times in (1, 4))
    assert four_times / once < 8


def test_pages_follow_each_other_without_gap() -> None:
    text = answer_of(9_000)
    for earlier, later in pairwise(pages(text, 500)):
        assert earlier.end == later.start
