"""Tracebacks of runs, cut to what helps."""

from hypothesis import given
from hypothesis import strategies as st

from bot.python.traceback_text import MAX_CHARS, MAX_FRAMES, shorten_error

BEGIN = "Traceback (most recent call last):"
OWN = '  File "/code.py", line {line}, in work\n    table = read()'
LIBRARY = '  File "/usr/local/lib/python315.zip/pandas/io/parsers.py", line {line}, in read\n    raise ValueError'
STARTER = '  File "<string>", line 21, in <module>'
ERROR = "ValueError: no such column"


def traceback(*frames: str) -> str:
    return "\n".join([BEGIN, *frames, ERROR, ""])


def test_the_codes_own_lines_and_the_place_of_the_error_stay() -> None:
    text = traceback(STARTER, OWN.format(line=3), LIBRARY.format(line=10), LIBRARY.format(line=20))
    assert shorten_error(text) == "\n".join([BEGIN, OWN.format(line=3), LIBRARY.format(line=20), ERROR])


def test_an_error_in_the_code_itself_keeps_only_its_lines() -> None:
    assert shorten_error(traceback(STARTER, OWN.format(line=7))) == "\n".join([BEGIN, OWN.format(line=7), ERROR])


def test_recursion_is_shown_by_its_beginning_and_its_end() -> None:
    shown = shorten_error(traceback(*(OWN.format(line=line) for line in range(100))))
    assert shown.count("in work") == MAX_FRAMES
    assert "[92 more steps]" in shown
    assert "line 0," in shown
    assert "line 99," in shown
    assert shown.endswith(ERROR)


def test_each_of_several_tracebacks_is_cut() -> None:
    text = (
        traceback(STARTER, LIBRARY.format(line=1), OWN.format(line=2)) + "\nDuring handling:\n\n" + traceback(STARTER)
    )
    shown = shorten_error(text)
    assert shown.count(BEGIN) == 2
    assert "pandas" not in shown
    assert STARTER in shown  # where the second error came up


def test_warnings_before_an_error_stay() -> None:
    assert shorten_error("/code.py:3: DeprecationWarning: old\n") == "/code.py:3: DeprecationWarning: old"


@given(st.text(max_size=200), st.integers(1, 400))
def test_whatever_is_written_is_bounded_and_its_end_is_kept(text: str, times: int) -> None:
    shown = shorten_error(f"{text}\n" * times + ERROR)
    assert len(shown) <= MAX_CHARS + len("[…]\n")
    assert shown.endswith(ERROR)
