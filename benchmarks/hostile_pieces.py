"""The parts of an expression: for each part that it repeats, some texts that match, and the text that precedes them."""

import importlib
import re
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Any, Final, TypeAlias

import regex

Pattern: TypeAlias = "re.Pattern[str] | regex.Pattern[str]"
_tree: Final[Any] = importlib.import_module("re._parser")
_code: Final[Any] = importlib.import_module("re._constants")
_REPEATS: Final = frozenset({"MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT"})
_LETTERS: Final = "aA1 \n.-_<>[]{}()*`'\"|:/,=@#$é中、\u0301\u200b😀\t"
_VARIANTS: Final = 3
MOST_PIECES: Final = 40


def expression_pieces(pattern: Pattern, most_chars: int) -> Iterator[tuple[str, str]]:
    """Return the pieces, each with its prefix, shorter than `most_chars`."""
    flags = pattern.flags & (re.VERBOSE | re.IGNORECASE | re.DOTALL | re.MULTILINE | re.ASCII)
    try:
        tree = _tree.parse(pattern.pattern, flags)
    except re.error:  # the other library has more syntax: its text is used literally
        for letter in dict.fromkeys(pattern.pattern):
            yield "", letter
        return
    pieces = [piece for piece in dict.fromkeys(_pieces_of(tree, "")) if piece[1] and len(piece[1]) < most_chars]
    yield from pieces[:: max(len(pieces) // MOST_PIECES, 1)]  # a list of a thousand words has many similar ones


def _pieces_of(tree: Any, before: str) -> Iterator[tuple[str, str]]:  # noqa: ANN401 -- the parser's own types are private
    for op, value in tree:
        name = str(op)
        for part in _inside(name, value):
            yield from _pieces_of(part, before)
        if name in _REPEATS:
            for variant in range(_VARIANTS):
                yield before, _sample(value[2], variant)
            # What begins the expression anew with each piece: its literal with a letter after which a word can begin.
            for letter in _edges(value[2]) if before else ():
                yield "", before + letter
        before += _one(name, value, 0)
    yield "", before
    yield "", before[:-1]


def _edges(tree: Any) -> Iterable[str]:  # noqa: ANN401 -- the parser's own types are private
    """Return letters that a repeated part matches: each kind of them once, and those that end a word."""
    letters = [letter for op, value in tree if str(op) == "IN" for letter in _letters_in(value)]
    return dict.fromkeys([*letters[:1], *(letter for letter in letters if not letter.isalnum())][: 1 + _VARIANTS])


def _inside(name: str, value: Any) -> Iterable[Any]:  # noqa: ANN401 -- the parser's own types are private
    if name == "BRANCH":
        return value[1]
    if name == "SUBPATTERN":
        return [value[3]]
    if name == "ATOMIC_GROUP":
        return [value]
    if name in {"ASSERT", "ASSERT_NOT"}:
        return [value[1]]
    return [value[2]] if name in _REPEATS else []


def _sample(tree: Any, variant: int) -> str:  # noqa: ANN401 -- the parser's own types are private
    return "".join(_one(str(op), value, variant) for op, value in tree)


def _one(name: str, value: Any, variant: int) -> str:  # noqa: ANN401 -- the parser's own types are private
    """Return a string that this part of an expression matches."""
    if name == "LITERAL":
        return chr(value)
    if name == "NOT_LITERAL":
        return "b" if value == ord("a") else "a"
    if name == "ANY":
        return "a"
    if name == "IN":
        letters = _letters_in(value)
        return letters[variant * 7 % len(letters)]
    if name == "BRANCH":
        return _sample(value[1][variant % len(value[1])], variant)
    if name == "SUBPATTERN":
        return _sample(value[3], variant)
    if name == "ATOMIC_GROUP":
        return _sample(value, variant)
    if name in _REPEATS:
        return _sample(value[2], variant) * max(value[0], 1)
    return ""


def _letters_in(members: Any) -> str:  # noqa: ANN401 -- the parser's own types are private
    named = [chr(number) for op, value in members for number in _numbers(str(op), value)]
    spelled = "".join(_spelled(str(op), value) for op, value in members)
    fits = re.compile(f"[{spelled}]")
    return "".join(dict.fromkeys(one for one in chain(named, _LETTERS) if fits.match(one))) or "a"


def _numbers(name: str, value: Any) -> Iterable[int]:  # noqa: ANN401 -- the parser's own types are private
    return [value] if name == "LITERAL" else value if name == "RANGE" else []


def _spelled(name: str, value: Any) -> str:  # noqa: ANN401 -- the parser's own types are private
    if name == "NEGATE":
        return "^"
    if name == "LITERAL":
        return re.escape(chr(value)) if chr(value) != "^" else "\\^"
    if name == "RANGE":
        return f"{re.escape(chr(value[0]))}-{re.escape(chr(value[1]))}"
    kinds = {"DIGIT": "d", "SPACE": "s", "WORD": "w"}
    kind = str(value).removeprefix("CATEGORY_")
    letter = kinds[kind.removeprefix("NOT_")]
    return f"\\{letter.upper() if kind.startswith('NOT_') else letter}"
