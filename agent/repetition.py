"""Finds out whether a model repeats itself: small ones write the same lines for ever. Pure.

A text is repetitive if its end consists of one piece, again and again: at least TIMES times, and so long that nobody
reads on. Numbers that count lines ("7. ", "Step 7:") make no difference. More is allowed where repetition is often
wanted: in code and calls, and where the person's question holds all words of the piece ("write it a hundred times").
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

TIMES: Final = 5
MIN_CHARS: Final = 1_200  # Twenty lines of prose
MIN_WANTED_CHARS: Final = 6_000  # Of code, or of what the question asks for: a hundred lines, a page of zeros
WINDOW_CHARS: Final = 8_000  # The longest piece that is found is a fifth of it
STEP_CHARS: Final = 400  # From one look to the next
TAIL_CHARS: Final = 8

_COUNTER: Final = re.compile(r"^[ \t*#>-]{0,12}(?:[^\W\d]{1,20} )?\d{1,5}(?:[.):]|\b$)\**[ \t]*", re.MULTILINE)
_FENCE: Final = re.compile(r"^[ \t]{0,3}(?:```|~~~)", re.MULTILINE)
_CALLS: Final = re.compile(r"<execute\b", re.IGNORECASE)
_WORD: Final = re.compile(r"\w+")


@dataclass(slots=True)
class RepetitionWatch:
    """Pass each piece of an answer to `feed`, then read `repeats`. `asked`: the question."""

    asked: str = ""
    repeats: bool = False
    _end: str = ""
    _new: int = 0
    _line: str = ""
    _fences: int = 0
    _has_calls: bool = False

    def feed(self, piece: str) -> None:
        self._new += len(piece)
        self._end += piece
        if self._new >= STEP_CHARS and not self.repeats:
            self._look()

    def _look(self) -> None:
        # Fences are counted in whole lines; a line that is still being written waits for the next look.
        *lines, self._line = f"{self._line}{self._end[-self._new :]}".rsplit("\n", 1)
        self._fences += len(_FENCE.findall("".join(lines)))
        self._line = self._line[-WINDOW_CHARS:]
        self._end, self._new = self._end[-WINDOW_CHARS:], 0
        self._has_calls = self._has_calls or _CALLS.search(self._end) is not None
        in_code = self._fences % 2 == 1 or self._has_calls
        self.repeats = is_repetitive(self._end, self.asked, in_code=in_code)


def is_repetitive(text: str, asked: str = "", *, in_code: bool = False) -> bool:
    """Return whether the end of the text repeats one piece of it."""
    if not in_code:
        text = _COUNTER.sub("", text)
    if text.count(text[-TAIL_CHARS:]) < TIMES:  # as in nearly every answer: what follows takes milliseconds
        return False
    wanted = in_code
    for length, period in _periods(text):
        if length < MIN_CHARS or period * TIMES > length:
            continue
        if length >= MIN_WANTED_CHARS:
            return True
        # Each length in between is a question about the same piece, so its words are compared once.
        if not wanted:
            wanted = _is_asked_for(text[-2 * period :], asked)
            if not wanted:
                return True
    return False


def without_repetition(text: str) -> str:
    """Return the text with the piece that its end repeats only once; all of it if its end repeats none.

    The whole end counts that consists of the piece, even where its last one is cut off.
    """
    start, period = _repeated(text)
    if period:
        return text[: start + period].rstrip()
    # Lines that differ in their number
    lines = text.splitlines(keepends=True)
    start, period = _repeated([_COUNTER.sub("", line) for line in lines])
    return "".join(lines[: start + period]).rstrip() if period else text


def _repeated(items: Sequence[str]) -> tuple[int, int]:
    """Return where the longest end begins that repeats one piece, and the length of the piece; (0, 0) without one."""
    found = [(length, period) for length, period in _periods(items) if period * TIMES <= length]
    length, period = max(found, default=(0, 0))
    return (len(items) - length, period) if period else (0, 0)


def _periods(items: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Yield for each length of an end after how many items it repeats; the length itself if it does not.

    The failure function of Knuth, Morris and Pratt: `borders[i]` is the length of the longest beginning of the first
    i + 1 items, from the last one back, that is also their end.
    """
    backwards = items[::-1]
    borders = [0] * len(backwards)
    for index in range(1, len(backwards)):
        border = borders[index - 1]
        while border and backwards[index] != backwards[border]:
            border = borders[border - 1]
        borders[index] = border + (backwards[index] == backwards[border])
        yield index + 1, index + 1 - borders[index]


def _is_asked_for(twice: str, asked: str) -> bool:
    """Return whether the question holds all words of a piece. `twice`: the piece, two times; it may begin in a word."""
    words = _WORD.findall(twice.lower())
    return set(words[1:] or words) <= set(_WORD.findall(asked.lower()))
