"""Which part of a growing answer is final and can be printed."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it.token import Token

from bot.chat.output import printable
from bot.platforms.terminal.markdown_blocks import block_ending, parsed_blocks, settled_chars

LINES = st.sampled_from(
    [
        "",
        "words",
        "more *words*",
        "# heading",
        "#tag",
        "- item",
        "  - inner",
        "1. first",
        "    code",
        "```",
        "```py",
        "~~~",
        "| a | b |",
        "|---|---|",
        "> quote",
        "---",
        "===",
        "[1]: https://example.com",
        "<div>",
        "\ttab",
    ]
)
DOCUMENTS = st.lists(LINES, max_size=14).map("\n".join)


def shape(tokens: list[Token]) -> list[tuple[str, str]]:
    return [(token.type, token.content) for token in tokens]


@pytest.mark.parametrize(
    ("text", "settled"),
    [
        ("", ""),
        ("one", ""),
        ("one\n\n", ""),
        ("one\n\ntwo", ""),
        ("one\n\ntwo\n", "one\n\n"),
        ("one\n#", ""),
        ("one\n# two\n", "one\n"),
        ("one\n\n```py\ncode\n\nmore\n", "one\n\n"),
        ("```py\ncode\n```\nafter\n", "```py\ncode\n```\n"),
        ("| a | b |\n|---|---|\n| 1 | 2 |\n", ""),
        ("| a | b |\n|---|---|\n| 1 | 2 |\n\nafter\n", "| a | b |\n|---|---|\n| 1 | 2 |\n\n"),
        ("- one\n- two\n\n  still two\n", ""),
        ("- one\n\nafter\n\nlast\n", "- one\n\nafter\n\n"),
    ],
)
def test_whole_blocks_are_settled_and_the_last_one_is_not(text: str, settled: str) -> None:
    assert text[: settled_chars(text)] == settled


@given(DOCUMENTS, st.lists(st.integers(1, 20), max_size=30))
def test_printing_block_by_block_shows_the_same_blocks_as_printing_the_whole(text: str, cuts: list[int]) -> None:
    pieces: list[str] = []
    done = shown = 0
    for cut in cuts:
        shown = min(len(text), shown + cut)
        settled = settled_chars(text[done:shown])
        pieces.append(text[done : done + settled])
        done += settled
    pieces.append(text[done:])
    assert "".join(pieces) == text
    assert [entry for piece in pieces for entry in shape(parsed_blocks(piece))] == shape(parsed_blocks(text))


@given(st.text(), st.text())
def test_no_text_can_steer_the_terminal(text: str, more: str) -> None:
    shown = printable(text)
    assert not any(
        (ord(character) < 0x20 and character not in "\t\n") or 0x7F <= ord(character) < 0xA0 for character in shown
    )
    assert printable(text + more).startswith(shown)


def test_line_ends_become_one_kind() -> None:
    assert printable("a\r\nb\rc\x1b[31md\x9b") == "a\nb\nc\ufffd[31md\ufffd"


@pytest.mark.parametrize(
    ("text", "short"),
    [
        ("\n".join("abcdefgh"), "e\nf\ng\nh"),
        ("```py\n1\n2\n3\n4\n5\n6\n7", "```py\n4\n5\n6\n7"),
        ("| a |\n|---|\n| 1 |\n| 2 |\n| 3 |\n| 4 |\n| 5 |", "| a |\n|---|\n| 2 |\n| 3 |\n| 4 |\n| 5 |"),
        ("- a\n- b\n- c\n  - d\n  - e\n- f\n- g", "- c\n  - d\n  - e\n- f\n- g"),
        ("7. a\n8. b\n9. c\n10. d\n11. e\n12. f\n13. g", "10. d\n11. e\n12. f\n13. g"),
        ("- a\nb\nc\nd\ne\nf\ng", "- a\nb\nc\nd\ne\nf\ng"),
        ("a\nb\nc\nd\ne\nf", "a\nb\nc\nd\ne\nf"),
        ("\n" * 9, "\n" * 9),
    ],
)
def test_a_long_block_is_drawn_by_its_end_alone(text: str, short: str) -> None:
    assert block_ending(text, 2) == short


@given(DOCUMENTS, st.integers(1, 5))
def test_what_is_drawn_ends_as_the_text_does(text: str, lines: int) -> None:
    tail = text[settled_chars(text) :]
    assert tail.endswith("\n".join(block_ending(tail, lines).split("\n")[2:]))
