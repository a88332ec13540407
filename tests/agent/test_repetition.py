"""When an answer counts as the repetition of one piece."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.repetition import (
    MIN_CHARS,
    MIN_WANTED_CHARS,
    STEP_CHARS,
    TIMES,
    RepetitionWatch,
    is_repetitive,
    without_repetition,
)

LINE = "I'm a professional, and I'm here to help you with your project."
VERSE = "The harbour is a place,\nWith people from all over the world.\nThe people are different,\nSome are happy.\n\n"


def stops_after(pieces: list[str], asked: str = "") -> int | None:
    """Return after how many characters the watch sees a repetition; None if it sees none."""
    watch, length = RepetitionWatch(asked), 0
    for piece in pieces:
        watch.feed(piece)
        length += len(piece)
        if watch.repeats:
            return length
    return None


@pytest.mark.parametrize(
    "pieces",
    [
        [f"{LINE}\n"] * 200,
        ["You're right.\n\n"] * 600,
        ["sea "] * 3_000,
        ["很好。"] * 3_000,
        [VERSE] * 60,
        [f"{number}. The sea is the largest body of water.\n" for number in range(1, 400)],
        [f"- **Step {number}:** Look at the sea.\n" for number in range(1, 400)],
        [f"### {number}) Look\n\nIt is the sea.\n\n" for number in range(1, 400)],
        ["<think>", *["Let me see once more.\n"] * 500],
        ["Here is the code:\n\n```python\nx = 1\n```\n\n", *[f"{LINE}\n"] * 200],
    ],
)
def test_an_answer_that_repeats_a_piece_is_seen_within_a_screen(pieces: list[str]) -> None:
    stopped = stops_after(pieces, "Tell me of it")
    assert stopped is not None
    assert stopped < 2 * MIN_CHARS + STEP_CHARS


@pytest.mark.parametrize(
    ("pieces", "asked"),
    [
        (["I will not talk in class.\n"] * 100, "Write a hundred times: I will not talk in class."),
        ([f"{number}. I will not talk in class.\n" for number in range(100)], "I will not talk in class, 100 times!"),
        (["ha "] * 500, "write ha 500 times"),
        ([f"{number}\n" for number in range(1, 1_000)], "Count to a thousand"),
        ([f"7 x {number} = {7 * number}\n" for number in range(1, 300)], "Multiplication"),
        ([f"| user {n} | user{n}@example.com | active |\n" for n in range(300)], "Make rows"),
        (["```html\n", *['<div class="card"><h2>Title</h2><p>Lorem ipsum dolor sit amet</p></div>\n'] * 24], "A page"),
        (["~~~\n", *["0000000000\n"] * 200], "zeros"),
        (['<execute>[{"name": "share_file", "args": {"text": "', *["a,b,c\\n"] * 400], "Make a file"),
        (["| a | b |\n", f"|{'-' * 500}|{'-' * 500}|\n", *[f"| {n} | |\n" for n in range(90)]], "A table"),
        ([VERSE, *[f"Verse {n} is of ship {n}.\n{VERSE}" for n in range(20)]], "A song with a refrain"),
    ],
)
def test_what_people_ask_for_may_repeat(pieces: list[str], asked: str) -> None:
    assert stops_after(pieces, asked) is None


def test_even_what_was_asked_for_ends() -> None:
    stopped = stops_after(["ha "] * 9_000, "write ha for ever")
    assert stopped is not None
    assert stopped < MIN_WANTED_CHARS + 2 * STEP_CHARS


@given(st.text(min_size=1, max_size=200), st.text(max_size=300))
def test_every_piece_that_repeats_is_found_however_it_begins(piece: str, before: str) -> None:
    assert is_repetitive(before + piece * (2 * MIN_WANTED_CHARS // len(piece)), piece, in_code=True)


@given(st.integers(min_value=1, max_value=90))
def test_the_answer_is_judged_alike_however_it_is_cut(size: int) -> None:
    text = f"```\n{'x' * 700}\n```\n" + f"{LINE}\n" * 100
    stopped = stops_after([text[start : start + size] for start in range(0, len(text), size)])
    assert stopped is not None
    assert stopped < 700 + 2 * MIN_CHARS + STEP_CHARS


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("Hi!\n\n" + f"{LINE}\n" * 30 + LINE[:20], f"Hi!\n\n{LINE}"),
        (VERSE * 12, VERSE.rstrip()),
        ("So it goes: " + "sea " * 500, "So it goes: sea"),
        ("".join(f"{number}. The sea is large.\n" for number in range(1, 90)), "1. The sea is large."),
        ("# Steps\n" + "".join(f"Step {number}: Look.\n" for number in range(1, 90)), "# Steps\nStep 1: Look."),
        ("很好。" * 500, "很好。"),
        (f"{LINE}\n{VERSE}", f"{LINE}\n{VERSE}"),
        ("", ""),
    ],
)
def test_what_an_answer_repeated_is_shown_once(text: str, left: str) -> None:
    assert without_repetition(text) == left


@given(st.text(max_size=20), st.text(min_size=1, max_size=12), st.integers(TIMES, 40))
def test_only_the_repeated_end_of_an_answer_is_left_out(begin: str, piece: str, times: int) -> None:
    text = begin + piece * times
    left = without_repetition(text)
    assert text.startswith(left)
    assert len(left) <= len(begin) + len(piece)
