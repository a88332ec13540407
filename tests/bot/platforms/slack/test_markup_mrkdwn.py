"""Markdown in Slack's older markup."""

import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.platforms.slack.markup import NOTICE_CHARS, mrkdwn, notice, pieces


@pytest.mark.parametrize(
    ("markdown", "shown"),
    [
        ("**bold** and *slanted* and ~~gone~~", "*bold* and _slanted_ and ~gone~"),
        ("# A **great** day\n\ntext", "*A great day*\n\ntext"),
        ("a & b < c > d", "a &amp; b &lt; c &gt; d"),
        (r"a \*star\*", "a *star*"),
        ("`a<b` and ``a`b``", "`a&lt;b` and a`b"),
        ("[the *site*](https://example.org/?a=1&b=2)", "<https://example.org/?a=1&amp;b=2|the site>"),
        ("<https://example.org>", "<https://example.org>"),
        ("![a cat](https://example.org/cat.png)", "<https://example.org/cat.png|a cat>"),
        ("[x](<a|b>)", "<a%7Cb|x>"),
        ("- one\n- two\n  - three\n    more", "• one\n• two\n    • three\n        more"),
        ("3. one\n4. two", "3. one\n4. two"),
        ("> said\n> twice", "> said\n> twice"),
        ("```py\nif a < b:\n    pass\n```", "```\nif a &lt; b:\n    pass\n```"),
        ("~~~\na ``` b\n~~~", "```\na `\u2060`\u2060` b\n```"),
        ("| a | **b** |\n|---|---|\n| long cell | 2 |", "```\na          b\n---------  -\nlong cell  2\n```"),
        ("**two\nlines**", "*two*\n*lines*"),
        ("one\n\n---\n\ntwo", "one\n\n────────────\n\ntwo"),
        ("<b>html</b>", "&lt;b&gt;html&lt;/b&gt;"),
        ("", ""),
    ],
)
def test_each_form_has_its_own_or_keeps_its_words(markdown: str, shown: str) -> None:
    assert mrkdwn(markdown) == shown


FORMS = (
    *(
        "{}",
        "**{}**",
        "*{}*",
        "`{}`",
        "~~{}~~",
        "# {}\n\n",
        "- {}\n",
        "  - {}\n",
        "1. {}\n",
        "> {}\n",
        "\n\n{}",
        "&{};<",
    ),
    *(
        "[{}](https://a.b)",
        "![{}](x)",
        "<i>{}</i>",
        "    {}\n",
        "```\n{}\n```\n",
        "| {} | b |\n|---|---|\n| c | d |\n\n",
    ),
)


@st.composite
def texts(draw: st.DrawFn) -> str:
    """Return Markdown of many forms, each with a different word."""
    forms = draw(st.lists(st.sampled_from(FORMS), max_size=25))
    return " ".join(form.format(f"w{number}w") for number, form in enumerate(forms))


def words(text: str) -> list[str]:
    return re.findall(r"w\d+w", text)


@given(texts())
def test_no_word_is_lost_and_none_changes_its_place(markdown: str) -> None:
    assert words(mrkdwn(markdown)) == words(markdown)


@given(texts(), st.integers(30, 200))
def test_the_pieces_fit_and_hold_all_of_it(markdown: str, most: int) -> None:
    shown = mrkdwn(markdown)
    found = pieces(shown, most)
    assert all(0 < len(piece) <= most for piece in found)
    assert words("\n".join(found)) == words(shown)


@given(st.text(alphabet="*_~`<>&|[]()!# -\n\\1.w", max_size=120), st.integers(16, 60))
def test_any_text_at_all_can_be_written_and_cut(markdown: str, most: int) -> None:
    assert all(0 < len(piece) <= most for piece in pieces(mrkdwn(markdown), most))


def test_a_code_block_that_is_cut_goes_on_in_the_next_piece() -> None:
    shown = mrkdwn("before\n\n```\n" + "\n".join(f"line {number}" for number in range(40)) + "\n```\n\nafter")
    found = pieces(shown, 100)
    assert len(found) == 4
    assert all(piece.count("```") % 2 == 0 for piece in found)


def test_a_short_text_is_one_piece() -> None:
    assert pieces("short") == ["short"]
    assert pieces("") == []


@pytest.mark.parametrize(
    ("columns", "rows"),
    [(1_800, ["|" + "a|" * 1_800]), (400, ["a"] * 100), (20, ["|b"] * 60)],
    ids=["wide", "filled up from one word", "filled up from one cell"],
)
def test_a_table_of_more_cells_than_a_chat_shows_is_shown_as_it_was_written(columns: int, rows: list[str]) -> None:
    table = "\n".join(["|" + "a|" * columns, "|" + "-|" * columns, *rows])
    assert mrkdwn(f"So:\n\n{table}\n\nThus.") == f"So:\n\n{table}\n\nThus."


def test_what_stands_beside_a_table_makes_it_no_larger() -> None:
    prose = "\n\n".join(["either a | b"] * 200 + ["word " * 500] * 2)
    assert "```" in mrkdwn(f"{prose}\n\n|a|b|\n|-|-|\n|c|d|")


TABLE = "| a | b |\n|---|---|\n" + "| one | two |\n" * 3_000


@pytest.mark.slow
@pytest.mark.parametrize("text", ["ab\n" * 4_000 + "\n" + TABLE, TABLE, "**bold** & [site](https://a.b)\n" * 2_000])
def test_a_notice_is_the_beginning_and_takes_no_longer_for_a_longer_text(text: str) -> None:
    assert notice(text) == mrkdwn(text[: 2 * NOTICE_CHARS])[:NOTICE_CHARS]
    assert len(notice(text)) == NOTICE_CHARS
    shorter, longer = cpu_seconds(text), cpu_seconds(text * 20)
    assert longer < 3 * shorter + 0.01


def test_the_notice_of_a_short_text_is_all_of_it() -> None:
    assert notice("**bold** & more") == "*bold* &amp; more"


def cpu_seconds(text: str) -> float:
    """Return the time that a notice takes, the best of three."""
    taken: list[float] = []
    for _ in range(3):
        begun = time.process_time()
        notice(text)
        taken.append(time.process_time() - begun)
    return min(taken)
