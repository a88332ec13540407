"""A growing answer on a terminal: the final screen, and what must never happen before it."""

from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.console import Console

from bot.platforms.terminal.tty import LiveDisplay, RenderedAnswer
from tests.examples import examples, one_in
from tests.fakes.screen import FakeScreen

ANSWER = """\
# Boats

Your boat is *blue*, 青い船 🚤, and it floats well on every sea that we know of.

```python
def float_on(sea: str) -> bool:
    return sea != "dry"
```

| Name | Colour | Where it was last seen by anybody |
|---|---|---|
| Ada | blue | https://harbour.example.com/berths/north/number/seventeen |
| 花子 | 赤 | 横浜 |

1. Row.
2. Rest.
   - Eat.

> Ahoy.

---

That is all. <div> is text, and [this](https://example.com) is a link.
"""


def console_on(screen: FakeScreen, *, no_color: bool = False) -> Console:
    return Console(
        file=screen,
        force_terminal=True,
        width=screen.width,
        height=screen.height,
        no_color=no_color,
        color_system="truecolor",
        legacy_windows=False,
        highlight=False,
    )


def growing(text: str, step: int) -> Iterator[str]:
    yield from (text[:end] for end in range(step, len(text), step))
    yield text


def shown_live(text: str, step: int, width: int = 80, height: int = 24) -> FakeScreen:
    screen = FakeScreen(width, height)
    display = LiveDisplay(console_on(screen))
    for frame in growing(text, step):
        display.show(frame)
    display.close()
    return screen


def shown_whole(text: str, width: int = 80) -> str:
    screen = FakeScreen(width, 10_000)
    console_on(screen).print(RenderedAnswer(text))
    return screen.text


@pytest.mark.slow
@pytest.mark.parametrize(("width", "height", "step"), one_in(3, [80, 40, 20], [24, 5], [1, 7, 100_000]))
def test_a_growing_answer_ends_up_as_if_printed_once(width: int, height: int, step: int) -> None:
    assert shown_live(ANSWER, step, width, height).text == shown_whole(ANSWER, width)


@settings(max_examples=examples(50), deadline=None)
@given(
    st.lists(
        st.sampled_from(
            ["word", "*x*", "\n", "\n\n", "# h", "- i", "```\n", "| a | b |\n|---|---|\n", "青い船", "  ", "> q", "---"]
        )
    ).map("".join),
    st.integers(1, 12),
)
def test_any_answer_ends_up_as_if_printed_once(text: str, step: int) -> None:
    assert shown_live(text, step, 30, 6).text == shown_whole(text, 30)


@pytest.mark.slow
def test_at_every_moment_the_screen_shows_the_end_of_the_answer() -> None:
    screen = FakeScreen(40, 8)
    display = LiveDisplay(console_on(screen))
    for number in range(1, 60):
        display.show("".join(f"- point {n}\n" for n in range(1, number + 1)))
        assert any(line.endswith(f"point {number}") for line in screen.lines[-8:])
    display.close()
    assert [line for line in screen.lines if line.endswith(" 7")] == [" • point 7"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("begin", "line"),
    [("```py\n", "x = {n}\n"), ("", "- point {n}\n"), ("", "{n}. point\n"), ("", "line {n}\n"), ("", "> line {n}\n")],
)
def test_the_end_of_a_long_block_looks_as_if_the_whole_were_drawn(begin: str, line: str) -> None:
    text = begin + "".join(line.format(n=n) for n in range(1, 200))
    screen = FakeScreen(40, 8)
    display = LiveDisplay(console_on(screen))
    display.show(text)
    assert shown_whole(text, 40).endswith(f"\n{screen.text}")
    assert len(screen.lines) == 7
    display.close()
    assert screen.text == shown_whole(text, 40)


def test_a_block_is_written_for_good_only_once() -> None:
    screen = FakeScreen()
    display = LiveDisplay(console_on(screen))
    display.show("first block\n\nsecond\n")
    written = len(screen.written)
    for frame in growing("first block\n\nsecond\n\nthird block and more\n\nfourth", 3):
        if len(frame) > len("first block\n\nsecond\n"):
            display.show(frame)
    display.close()
    assert "first" not in screen.written[written:]


def test_the_status_stands_below_the_answer_while_it_lasts_and_then_is_gone() -> None:
    screen = FakeScreen()
    display = LiveDisplay(console_on(screen))
    display.status("Searching past threads…")
    assert screen.text == "Searching past threads…"
    display.show("Let me see.")
    assert screen.text == "Let me see.\nSearching past threads…"
    display.status("")
    assert screen.text == "Let me see."
    display.show("Let me see.\n\nIt is blue.")
    display.close()
    assert screen.text == "Let me see.\n\nIt is blue."


def test_a_status_alone_leaves_nothing() -> None:
    screen = FakeScreen()
    display = LiveDisplay(console_on(screen))
    display.status("Searching past threads…")
    display.close()
    assert screen.text == ""
    assert not screen.cursor_hidden


def test_the_cursor_comes_back_when_an_answer_is_cut_short_and_what_was_said_stands() -> None:
    screen = FakeScreen()
    display = LiveDisplay(console_on(screen))
    display.show("It is **bl")
    assert screen.cursor_hidden
    display.close()
    display.close()
    display.show("too late")
    display.status("too late")
    assert not screen.cursor_hidden
    assert screen.text == "It is **bl"


def test_an_answer_that_changed_after_it_was_printed_follows_below_a_line() -> None:
    screen = FakeScreen(20, 24)
    display = LiveDisplay(console_on(screen))
    display.show("one\n\ntwo\n\nthree\n")
    display.show("other\n\nanswer")
    display.close()
    assert screen.text == f"one\n\ntwo\n\n{'-' * 20}\n\nother\n\nanswer"


@pytest.mark.slow
def test_an_unfinished_end_may_change() -> None:
    screen = FakeScreen()
    display = LiveDisplay(console_on(screen))
    display.show("one\n\n```py\ncode\n```")
    display.show("one\n\n```py\ncode = 1\n```")
    display.show("one\n\n```py\ncode = 1\n```\n\nDone.")
    display.close()
    assert screen.text == shown_whole("one\n\n```py\ncode = 1\n```\n\nDone.")


@pytest.mark.slow
def test_without_colour_nothing_is_coloured() -> None:
    screen = FakeScreen()
    display = LiveDisplay(console_on(screen, no_color=True))
    for frame in growing(ANSWER, 9):
        display.show(frame)
    display.close()
    coloured = [
        code for code in screen.written.split("\x1b[") if code.partition("m")[0].split(";")[0] in {"31", "34", "38"}
    ]
    assert coloured == []
    assert screen.text == shown_whole(ANSWER)


def test_an_answer_cannot_steer_the_terminal() -> None:
    screen = FakeScreen()
    display = LiveDisplay(console_on(screen))
    display.show("a\x1b[2Jb\x9bc\x07")
    display.status("x\x1b]0;title\x07")
    display.close()
    assert screen.text == "a\ufffd[2Jb\ufffdc\ufffd"


def test_addresses_stay_readable_and_nothing_is_hidden() -> None:
    text = shown_whole(
        "<b>bold</b> ![boat](https://e.example/b.png) <https://e.example> [1]\n\n[1]: https://e.example/1"
    )
    assert text == "<b>bold</b> !boat (https://e.example/b.png) https://e.example [1]\n\n[1]: https://e.example/1"


def test_line_breaks_are_kept_and_headings_stand_left() -> None:
    assert shown_whole("# Title\n\none\ntwo") == "Title\n\none\ntwo"


def test_no_word_of_a_table_is_cut_on_a_narrow_screen() -> None:
    text = shown_whole("| Name | Address |\n|---|---|\n| Ada | " + "x" * 70 + " |", width=20)
    assert text.count("x") == 70


def test_code_that_is_copied_begins_where_it_was_written() -> None:
    lines = shown_whole("See:\n\n```py\nif boat:\n    row()\n```\n\n    indented = True\n").splitlines()
    assert [line for line in lines if line.strip()] == ["See:", "if boat:", "    row()", "indented = True"]


@given(st.lists(st.integers(0, 10**8), min_size=1, max_size=12, unique=True), st.integers(20, 120))
def test_the_numbers_of_a_list_are_those_that_were_written(numbers: list[int], width: int) -> None:
    text = "\n".join(f"{number}. boat" for number in numbers)
    assert [line.split() for line in shown_whole(text, width).splitlines()] == [[str(one), "boat"] for one in numbers]


def test_a_list_that_leaves_the_counting_to_the_reader_is_counted() -> None:
    assert shown_whole("3. one\n3. two\n3. three").split() == ["3", "one", "4", "two", "5", "three"]


def test_what_was_done_on_the_way_stays_above_the_answer_once() -> None:
    screen = FakeScreen()
    display = LiveDisplay(console_on(screen))
    display.status("Searching past threads…")
    display.trace("searched past threads: boat, 2 found")
    for text in ("Your", "Your boat", "Your boat is blue."):
        display.show(text)
    display.close()
    display.trace("too late")
    assert screen.text == "searched past threads: boat, 2 found\n\nYour boat is blue."
