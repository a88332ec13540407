"""Parsing of fences, tables and spans for the cuts between pages."""

import pytest

from bot.chat.reply.markdown import CodeFence, LineBlock, block_after, fence_opening, is_separator, spans


@pytest.mark.parametrize(
    ("line", "fence"),
    [
        ("```", CodeFence("", "```", "")),
        ("```py\r\n", CodeFence("", "```", "py")),
        ("  ~~~~ a `tick`\n", CodeFence("  ", "~~~~", " a `tick`")),
        ("- ```py", CodeFence("  ", "```", "py")),
        ("10. ```py", CodeFence("    ", "```", "py")),
        ("> ```", CodeFence("> ", "```", "")),
        ("``", None),
        ("```code```", None),
        ("text ```", None),
    ],
)
def test_a_fence_opens(line: str, fence: CodeFence | None) -> None:
    assert fence_opening(line) == fence


@pytest.mark.parametrize(
    ("line", "closed"),
    [
        ("```\n", True),
        ("````  \r\n", True),
        ("   ```", True),
        ("    ```", False),
        ("```py", False),
        ("~~~", False),
        ("``", False),
        ("> ```", False),
    ],
)
def test_a_fence_closes_with_at_least_its_own_marker(line: str, *, closed: bool) -> None:
    assert CodeFence("", "```", "py").closed_by(line) is closed


def test_a_fence_in_a_quote_ends_with_the_quote() -> None:
    fence = CodeFence("> ", "```", "")
    assert fence.closed_by("> ```")
    assert not fence.left_by("> code")
    assert fence.left_by("text")
    assert block_after(LineBlock(fence), "text\n", max_line=100) == LineBlock()


def test_a_table_is_a_header_a_separator_and_rows() -> None:
    block = LineBlock()
    for line in ["| a | b |\n", "|:--|--:|\n", "| 1 | 2 |\n", "3 | 4\n"]:
        block = block_after(block, line, max_line=100)
    assert block.table == "| a | b |\n|:--|--:|\n"
    assert block_after(block, "\n", max_line=100) == LineBlock()


def test_what_is_too_long_to_be_repeated_is_text() -> None:
    assert block_after(LineBlock(), "```" + "x" * 20 + "\n", max_line=20) == LineBlock()
    header = block_after(LineBlock(), "| " + "x" * 15 + " |\n", max_line=20)
    assert block_after(header, "|---|\n", max_line=20).table == ""


def test_a_line_of_dashes_without_a_bar_is_no_separator() -> None:
    assert not is_separator("---")
    assert is_separator("|---|")
    assert is_separator("--- | :-:")


@pytest.mark.parametrize(
    "span",
    [
        "`a b`",
        "``a ` b``",
        "[a b](c)",
        '[a [b] c](d_(e) "f g")',
        "![a](b)",
        "[a][b]",
        "<@123>",
        "https://a.b/c?d",
        "**a b**",
        "\\*",
    ],
)
def test_a_span_is_found_whole(span: str) -> None:
    assert (5, 5 + len(span)) in list(spans(f"text {span} text"))


@pytest.mark.parametrize("text", ["a `b", "[a] b", "a * b * c", "2**3 and 4**5", "a < b > c"])
def test_what_only_looks_like_a_span_is_none(text: str) -> None:
    assert list(spans(text)) == []
