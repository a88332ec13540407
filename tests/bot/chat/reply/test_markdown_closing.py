"""Unfinished Markdown is closed or held back."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.chat.reply.markdown import HELD_CHARS, close_markdown, cut_markdown
from tests.examples import examples
from tests.fakes.answers import answer_of, answers, scribbles
from tests.fakes.reader import fences_are_balanced

ANY_LIMIT = 1_200  # as far as lines go: the reader keeps those of up to 300 characters


def healed(text: str) -> str:
    """Return the shown text."""
    healing = close_markdown(text)
    return text[: healing.kept] + healing.added


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("It is **bl", "It is **bl**"),
        ("It is **blue ", "It is **blue**"),
        ("It is **blue*", "It is **blue**"),
        ("It is **blue**", "It is **blue**"),
        ("It is **", "It is "),
        ("It is *bl", "It is *bl*"),
        ("It is ***bl", "It is ***bl***"),
        ("It is ***blue**", "It is ***blue***"),
        ("It is **very *bl", "It is **very *bl***"),
        ("It is _bl", "It is _bl_"),
        ("It is ~~bl", "It is ~~bl~~"),
        ("It is ~~blue~", "It is ~~blue~~"),
        ("It is `bl", "It is `bl`"),
        ("It is ``b ` l`", "It is ``b ` l``"),
        ("It is `", "It is "),
        ("It is **`bl", "It is **`bl`**"),
    ],
)
def test_open_emphasis_and_code_are_closed_where_the_text_stops(text: str, shown: str) -> None:
    assert healed(text) == shown


@pytest.mark.parametrize(
    "text",
    [
        "2 * 3 * 4",
        "2*3",
        "snake_case and _",
        "a ~ b",
        "\\*not",
        "\\`not",
        "`*not`",
        "* item",
        "1. item",
        "a ** b",
        "[x] done",
    ],
)
def test_what_is_no_emphasis_is_left_alone(text: str) -> None:
    assert healed(text + " end") == text + " end"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("See [the har", "See "),
        ("See [the harbour]", "See "),
        ("See [the harbour](", "See "),
        ("See [the harbour](http://example.org/a_(b", "See "),
        ('See [the harbour](http://example.org "the ti', "See "),
        ("See [the harbour](http://example.org) now", "See [the harbour](http://example.org) now"),
        ("See [the harbour][ref", "See "),
        ("See ![a pict", "See "),
        ("See **[the har", "See "),
        ("See **the [har", "See **the**"),
        ("See http://example.org/har", "See "),
        ("See <http://example.org/har", "See "),
        ("Ask <@1234", "Ask "),
        ("[a](http://b) and [c](htt", "[a](http://b) and "),
    ],
)
def test_half_a_link_waits(text: str, shown: str) -> None:
    assert healed(text) == shown


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("```", ""),
        ("``", ""),
        ("```py", ""),
        ("```py\n", ""),
        ("```py\n\n", ""),
        ("Look:\n```py\nx = 1", "Look:\n```py\nx = 1\n```"),
        ("```py\nx = 1\n", "```py\nx = 1\n```"),
        ("```py\nx = 1\n``", "```py\nx = 1\n```"),
        ("```py\nx = 1\n```", "```py\nx = 1\n```"),
        ("````md\n```py\nx\n```\n", "````md\n```py\nx\n```\n````"),
        ("~~~\nx ``` y", "~~~\nx ``` y\n~~~"),
        ("- a\n  ```\n  x", "- a\n  ```\n  x\n  ```"),
        ("> ```\n> x", "> ```\n> x\n> ```"),
        ("```py\nx = **1", "```py\nx = **1\n```"),
        ("```py\nsee [the", "```py\nsee [the\n```"),
        ("> ```\n> x\n**", "> ```\n> x\n> ```"),
    ],
)
def test_a_fence_is_closed_or_waits_for_its_first_line_of_code(text: str, shown: str) -> None:
    assert healed(text) == shown


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("So:\n\n| a | b", "So:\n\n"),
        ("So:\n\n| a | b |\n", "So:\n\n"),
        ("So:\n\n| a | b |\n|--", "So:\n\n"),
        ("| a | b |\n|---|---|\n", "| a | b |\n|---|---|\n"),
        ("| a | b |\n|---|---|\n| 1 | 2", "| a | b |\n|---|---|\n| 1 | 2"),
        ("| a | b |\nno table", "| a | b |\nno table"),
        ("a | b", "a | b"),
    ],
)
def test_a_table_header_waits_for_its_separator(text: str, shown: str) -> None:
    assert healed(text) == shown


@pytest.mark.parametrize("marker", ["-", "- ", "=", "==", "#", "*", "---"])
def test_a_marker_alone_waits_because_it_would_make_the_line_before_a_heading(marker: str) -> None:
    assert healed(f"The boat\n{marker}") == "The boat\n"


@settings(max_examples=examples(200))
@given(answers, st.integers(0, 3_000))
def test_every_prefix_of_an_answer_is_shown_without_an_open_fence_as_a_beginning_of_the_text(
    text: str, at: int
) -> None:
    text = text[:at]
    healing = close_markdown(text)
    assert fences_are_balanced(healed(text), ANY_LIMIT)
    assert healed(text) == text[: healing.kept] + healing.added
    assert len(text.rstrip()) - healing.kept <= HELD_CHARS


@pytest.mark.slow
def test_at_every_character_of_a_long_answer_no_fence_and_no_link_is_open() -> None:
    text = answer_of(3_000)
    for at in range(len(text)):
        shown = healed(text[:at])
        assert fences_are_balanced(shown, ANY_LIMIT)
        assert shown.count("](") == shown.count("](http://example.org/a_(b)/c-d)") + shown.count(
            "](http://example.org/p.png)"
        )


@settings(max_examples=examples(300))
@given(scribbles)
def test_no_text_at_all_is_shown_with_an_open_fence(text: str) -> None:
    lines = "\n".join(line[:200] for line in text.split("\n"))
    assert fences_are_balanced(healed(lines), ANY_LIMIT)


def test_a_bracket_that_never_becomes_a_link_is_shown_in_the_end() -> None:
    text = "[" + "word " * 300
    assert healed(text).startswith("[word")


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("It is blue.", "It is blue."),
        ("x" * 22, "x" * 22),
        ("x" * 23, "x" * 22 + "…"),
        ("It is **very blue and green**", "It is **very blue and …**"),
        ("It is `very blue and green`", "It is `very blue and g…`"),
        ("```py\nx = 1\ny = 22222222\n```", "```py\nx = 1\ny = 222222…\n```"),
        ("It is very blue:\n```py\nx = 1\n```", "It is very blue:\n```py\n…\n```"),
        ("```\nx = 1\ny = 2222\n```\nIt is", "```\nx = 1\ny = 2222\n```\n…"),
        ("It is [at the harbour](http://a.example)", "It is [at the harbour]…"),
    ],
)
def test_a_text_is_cut_with_its_open_markup_closed(text: str, shown: str) -> None:
    assert cut_markdown(text, 40) == shown


@pytest.mark.slow
@given(answers, st.integers(40, 600))
@settings(max_examples=examples(300))
def test_a_cut_text_keeps_its_limit_and_leaves_no_fence_open(text: str, limit: int) -> None:
    cut = cut_markdown(text, limit)
    assert len(cut) <= limit
    assert fences_are_balanced(cut, ANY_LIMIT)
