"""A traceback of a run, cut to what helps to mend the code: its own lines, and where the error came up. Pure."""

import re
from collections.abc import Iterator, Sequence
from typing import Final

from bot.python.sandbox_process import CODE

MAX_FRAMES: Final = 8  # Of the code's own, at the beginning and at the end together: more is recursion
MAX_MESSAGE: Final = 2_000  # Characters of an error's message, which may hold a whole table
MAX_CHARS: Final = 6_000
_FRAME: Final = re.compile(r'  File "([^"\n]{0,1000})", line \d+')
_MARKS: Final = re.compile(r"[ ~^]{1,1000}")
LEFT_OUT: Final = "  [{count} more steps]"


def shorten_error(error: str) -> str:
    """Return what a run wrote on its standard error, with its tracebacks cut. The end is kept, where errors stand."""
    lines = error[-20 * MAX_CHARS :].splitlines()
    shortened = "\n".join(line[:MAX_MESSAGE] for line in _shorten(lines))
    return shortened if len(shortened) <= MAX_CHARS else f"[…]\n{shortened[-MAX_CHARS:]}"


def _shorten(lines: Sequence[str]) -> Iterator[str]:
    frames, position = list[list[str]](), 0
    while position < len(lines):
        line = lines[position]
        if _FRAME.match(line):
            frames.append([line])
        elif frames and line.startswith("  "):  # the code of the frame, and marks below it, which help no model
            frames[-1] += [] if _MARKS.fullmatch(line) else [line]
        else:
            yield from _kept(frames)
            frames = []
            yield line
        position += 1
    yield from _kept(frames)


def _kept(frames: Sequence[list[str]]) -> Iterator[str]:
    """The frames of the code itself, and the last one, where the error came up."""
    own = [frame for frame in frames[:-1] if _is_own(frame)] + [*frames[-1:]]
    half = MAX_FRAMES // 2
    for number, frame in enumerate(own):
        if number == half and len(own) > MAX_FRAMES:
            yield LEFT_OUT.format(count=len(own) - MAX_FRAMES)
        if number < half or number >= len(own) - half or len(own) <= MAX_FRAMES:
            yield from frame


def _is_own(frame: Sequence[str]) -> bool:
    found = _FRAME.match(frame[0])
    return found is not None and found[1] == CODE
