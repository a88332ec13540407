"""Finds out whether a model repeats itself: small ones write the same lines for ever. Pure.

A text is repetitive if its end consists of one piece, again and again: at least TIMES times, and MIN_CHARS long. What
people ask for ("write it a hundred times", a table's rule, a page of zeros) is shorter, or differs from line to line.
"""

from dataclasses import dataclass
from typing import Final

TIMES: Final = 8
MIN_CHARS: Final = 6_000
WINDOW_CHARS: Final = 8_000  # The longest piece that is found is an eighth of it
STEP_CHARS: Final = 800  # From one look to the next: each takes a millisecond


@dataclass(slots=True)
class RepetitionWatch:
    """Pass each piece of an answer to `feed`, then read `repeats`."""

    repeats: bool = False
    _end: str = ""
    _new: int = 0

    def feed(self, piece: str) -> None:
        self._new += len(piece)
        self._end += piece
        if self._new >= STEP_CHARS:
            self._end, self._new = self._end[-WINDOW_CHARS:], 0
            self.repeats = self.repeats or is_repetitive(self._end)


def is_repetitive(text: str) -> bool:
    """Return whether the end of the text repeats one piece of it."""
    backwards = text[::-1]
    # The failure function of Knuth, Morris and Pratt: `borders[i]` is the length of the longest beginning of the first
    # i + 1 characters that is also their end, so they repeat every i + 1 - borders[i] characters.
    borders = [0] * len(backwards)
    for index in range(1, len(backwards)):
        border = borders[index - 1]
        while border and backwards[index] != backwards[border]:
            border = borders[border - 1]
        borders[index] = border + (backwards[index] == backwards[border])
        length = index + 1
        if length >= MIN_CHARS and (length - borders[index]) * TIMES <= length:
            return True
    return False
