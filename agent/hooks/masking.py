"""Puts placeholders in the place of values, and the values back, also in a stream that is cut anywhere. Pure.

    ann@example.com, of the kind "email"   →   [EMAIL-1]

Rules
  A value has one placeholder as long as its `Placeholders` live, and a placeholder one value. A placeholder that stands
  in the texts already is left out. A text that looks like one that is in use has a placeholder of its own.
  Of values that overlap, the one that begins first is replaced, and of those the longest.
  A placeholder is recognized in letters of any case: some models change it.
  A value that is put back cannot end a JSON string or a line, and opens no tag. It adds no argument and no call, also
  where the model wrote its placeholder without quotation marks. Every other value is hidden too, and its placeholder
  stays.
"""

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping
from itertools import accumulate
from typing import Any, Final

from agent.messages import Json

MAX_CHARS: Final = 200  # Longer values are hidden in pieces
_RESTORED: Final = re.compile(rf"""[^\x00-\x1f\x7f\x85\u2028\u2029"'\\<>]{{2,{MAX_CHARS}}}""")
_KIND: Final = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,19}")
_PLACEHOLDER: Final = re.compile(r"\[([A-Za-z][A-Za-z0-9_]{0,19})-[0-9]{1,9}\]")
_BEGUN: Final = re.compile(r"\[(?:[A-Za-z][A-Za-z0-9_]{0,19}(?:-[0-9]{0,9})?)?\Z")
_HEAD: Final = 8  # The first characters by which most places of a text are passed over


def problem_of(values: Mapping[Any, Any]) -> str | None:
    """Return why these cannot be hidden, without quoting them, or None."""
    for value, kind in values.items():
        if not isinstance(value, str):
            return "a value must be a str"
        if not isinstance(kind, str) or _KIND.fullmatch(kind) is None:
            return "the kind of a value must be up to 20 letters, digits and underscores, as in email"
    return None


def can_be_restored(value: str) -> bool:
    """Whether the value may be put back into a model's stream."""
    if _RESTORED.fullmatch(value) is None or value.strip() != value:
        return False
    adds_argument = "," in value and (":" in value or "=" in value)
    return not adds_argument and min(accumulate((each == "(") - (each == ")") for each in value)) >= 0


class Placeholders:
    """The placeholders of one exchange with a model."""

    def __init__(self) -> None:
        self._kinds: dict[str, str] = {}
        self._placeholders: dict[str, str] = {}
        self._values: dict[str, str] = {}
        self._counts: dict[str, int] = {}
        self._taken = set[str]()
        self._restored = set[str]()
        self._finder = _Finder(())

    def add(self, values: Mapping[str, str], texts: Iterable[str]) -> None:
        """Hide these values from now on: each with its kind. `texts`: where no placeholder may stand already."""
        pieces = {piece: kind for value, kind in values.items() for piece in _pieces(value)}
        if pieces.keys() - self._kinds.keys():
            self._kinds = {**pieces, **self._kinds}
            self._finder = _Finder(self._kinds)
        self._restored |= set(filter(can_be_restored, values))
        self._taken |= {found[0].upper() for text in texts for found in _PLACEHOLDER.finditer(text)}

    def hide(self, text: str) -> str:
        forged = {found.start(): found for found in _PLACEHOLDER.finditer(text) if found[0].upper() in self._values}
        parts, end = list[str](), 0
        for at in sorted({*self._finder.candidates(text), *forged}):
            if at < end:
                continue
            value = self._finder.longest(text, at)
            if at in forged and len(forged[at][0]) > len(value):
                value, kind = forged[at][0], forged[at][1]
                self._restored.add(value)
            elif value:
                kind = self._kinds[value]
            else:
                continue
            parts += text[end:at], self._of(value, kind)
            end = at + len(value)
        return "".join((*parts, text[end:]))

    def hide_json(self, value: Json, left: frozenset[str] = frozenset()) -> Json:
        """Hide the values in all texts and names, but for the names that are to be `left`."""
        match value:
            case str():
                return self.hide(value)
            case list():
                return [self.hide_json(item, left) for item in value]
            case dict():
                return {
                    name if name in left else self.hide(name): self.hide_json(item, left)
                    for name, item in value.items()
                }
            case _:
                return value

    def restore(self, text: str) -> str:
        return _PLACEHOLDER.sub(lambda found: self._values.get(found[0].upper(), found[0]), text)

    def may_begin(self, text: str) -> bool:
        """Whether the text, in capitals, is the beginning of a placeholder of a kind that was used."""
        kind, dash, _ = text[1:].partition("-")
        return kind in self._counts if dash else any(used.startswith(kind) for used in self._counts)

    def _of(self, value: str, kind: str) -> str:
        if value not in self._placeholders:
            kind = kind.upper()
            while True:
                self._counts[kind] = count = self._counts.get(kind, 0) + 1
                placeholder = f"[{kind}-{count}]"
                if placeholder not in self._taken:
                    break
            self._placeholders[value] = placeholder
            if value in self._restored:
                self._values[placeholder] = value
        return self._placeholders[value]


class _Finder:
    """Finds values in texts. At each place it does the same little work, however many values begin alike."""

    def __init__(self, values: Iterable[str]) -> None:
        self._sorted = sorted(values)
        self._head = min((_HEAD, *map(len, self._sorted)))
        self._heads = frozenset(value[: self._head] for value in self._sorted)
        self._lengths = list[int]()
        """Of each value, a bit for the length of each value that it begins with, itself included."""
        around = list[tuple[str, int]]()
        for value in self._sorted:
            while around and not value.startswith(around[-1][0]):
                around.pop()
            lengths = (around[-1][1] if around else 0) | 1 << len(value)
            around.append((value, lengths))
            self._lengths.append(lengths)

    def candidates(self, text: str) -> Iterator[int]:
        """Yield where a value may begin."""
        head, heads = self._head, self._heads
        return (at for at in range(len(text) if heads else 0) if text[at : at + head] in heads)

    def longest(self, text: str, at: int) -> str:
        """Return the longest value that begins here, or an empty text."""
        rest = text[at : at + MAX_CHARS]
        index = bisect_right(self._sorted, rest) - 1  # the longest value that `rest` begins with also begins this one
        if index < 0:
            return ""
        lengths = self._lengths[index] & ((2 << _common(self._sorted[index], rest)) - 1)
        return rest[: lengths.bit_length() - 1] if lengths else ""


def _common(one: str, other: str) -> int:
    """Return how many characters both begin with."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if one[low:middle] == other[low:middle] else (low, middle - 1)
    return low


def _pieces(value: str) -> Iterator[str]:
    """Cut a value into pieces of about the same size that are no longer than MAX_CHARS."""
    count = -(-len(value) // MAX_CHARS)
    for number in range(count):
        yield value[len(value) * number // count : len(value) * (number + 1) // count]


class Restoring:
    """Puts values back into a stream: `feed` returns what is certain by now, `flush` the rest."""

    def __init__(self, placeholders: Placeholders) -> None:
        self._placeholders = placeholders
        self._rest = ""

    def feed(self, piece: str) -> str:
        text = self._rest + piece
        begun = text.rfind("[")
        is_open = begun >= 0 and _BEGUN.match(text, begun) and self._placeholders.may_begin(text[begun:].upper())
        cut = begun if is_open else len(text)
        self._rest = text[cut:]
        return self._placeholders.restore(text[:cut])

    def flush(self) -> str:
        rest, self._rest = self._rest, ""
        return rest
