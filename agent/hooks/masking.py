"""Puts placeholders in the place of values, and the values back, also in a stream that is cut anywhere. Pure.

    ann@example.com, of the kind "email"   →   [EMAIL-1]

Rules
  A value has one placeholder as long as its `Placeholders` live, and a placeholder one value. A placeholder that stands
  in the texts already is left out.
  Of values that overlap, the one that begins first is replaced, and of those the longest.
  A placeholder is recognized in letters of any case: some models change it.
  A value cannot end a JSON string or a line, and opens no tag: put back into a model's stream, it stays what it was, a
  part of a text.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from typing import Any, Final

from agent.messages import Json

MAX_VALUES: Final = 2_000  # In one request: the addresses of a long table
MIN_CHARS: Final = 2
MAX_CHARS: Final = 200
_VALUE: Final = re.compile(rf'[^\x00-\x1f\x7f\x85\u2028\u2029"\\<>]{{{MIN_CHARS},{MAX_CHARS}}}')
_KIND: Final = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,19}")
_PLACEHOLDER: Final = re.compile(r"\[[A-Za-z][A-Za-z0-9_]{0,19}-[0-9]{1,9}\]")
_BEGUN: Final = re.compile(r"\[(?:[A-Za-z][A-Za-z0-9_]{0,19}(?:-[0-9]{0,9})?)?\Z")
_DEPTH: Final = 6  # Of the tree of first letters: beyond, few values have a beginning in common


def problem_of(values: Mapping[Any, Any]) -> str | None:
    """Return why these cannot be hidden, without quoting them, or None."""
    if len(values) > MAX_VALUES:
        return f"it hides more than {MAX_VALUES:,} values"
    for value, kind in values.items():
        if not isinstance(value, str) or _VALUE.fullmatch(value) is None or value.strip() != value:
            return 'a value cannot be hidden: it must be 2 to 200 characters on one line, without ", \\, < and >'
        if not isinstance(kind, str) or _KIND.fullmatch(kind) is None:
            return "the kind of a value must be up to 20 letters, digits and underscores, as in email"
    return None


class Placeholders:
    """The placeholders of one exchange with a model."""

    def __init__(self) -> None:
        self._kinds: dict[str, str] = {}
        self._placeholders: dict[str, str] = {}
        self._values: dict[str, str] = {}
        self._counts: dict[str, int] = {}
        self._taken = set[str]()
        self._pattern: re.Pattern[str] | None = None

    def add(self, values: Mapping[str, str], texts: Iterable[str]) -> None:
        """Hide these values from now on: each with its kind. `texts`: where no placeholder may stand already."""
        if values.keys() - self._kinds.keys():
            self._kinds = {**values, **self._kinds}
            self._pattern = re.compile(_alternatives(sorted(self._kinds)))
        if self._kinds:
            self._taken |= {found[0].upper() for text in texts for found in _PLACEHOLDER.finditer(text)}

    def hide(self, text: str) -> str:
        return text if self._pattern is None else self._pattern.sub(lambda found: self._of(found[0]), text)

    def hide_json(self, value: Json) -> Json:
        match value:
            case str():
                return self.hide(value)
            case list():
                return [self.hide_json(item) for item in value]
            case dict():
                return {name: self.hide_json(item) for name, item in value.items()}
            case _:
                return value

    def restore(self, text: str) -> str:
        return _PLACEHOLDER.sub(lambda found: self._values.get(found[0].upper(), found[0]), text)

    def may_begin(self, text: str) -> bool:
        """Whether the text is the beginning of a placeholder that was used."""
        return any(placeholder.startswith(text) for placeholder in self._values)

    def _of(self, value: str) -> str:
        if value not in self._placeholders:
            kind = self._kinds[value].upper()
            while True:
                self._counts[kind] = count = self._counts.get(kind, 0) + 1
                placeholder = f"[{kind}-{count}]"
                if placeholder not in self._taken:
                    break
            self._placeholders[value], self._values[placeholder] = placeholder, value
        return self._placeholders[value]


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


def _alternatives(values: Sequence[str], depth: int = 0) -> str:
    """Return a pattern of these sorted values, as a tree by their first characters: it looks at few of them anywhere.
    A longer value stands before one that it begins with.
    """
    if len(values) == 1:
        return re.escape(values[0][depth:])
    if depth == _DEPTH:
        rests = sorted((value[depth:] for value in values), key=len, reverse=True)
        return "|".join(map(re.escape, rests))
    branches = [
        f"{re.escape(first)}(?:{_alternatives(list(group), depth + 1)})"
        for first, group in groupby((value for value in values if len(value) > depth), key=lambda value: value[depth])
    ]
    return "|".join([*branches, *([""] if any(len(value) == depth for value in values) else [])])
