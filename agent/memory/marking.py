"""Superseded values in visible text: found, and marked or withheld. Pure.

Above: `agent.memory.composing`, earlier; `agent.context`, `agent.tools.recall`. Below: `agent.memory.statements`.

Why: a fact that is no longer valid is not used as long as only facts are shown; as soon as the old message stands
beside it again, the old value is read as if it held.

Rules
  What is looked for is the wording of a superseded value: a run of its words that names something which nothing current
  names. Letter case and punctuation do not matter.
  A value that holds again is not superseded, wherever it stands.
  A current text that quotes a superseded value as a whole ("was: …") does not make it current.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import dropwhile
from typing import Final

from agent.memory.lexicon import DAYS, FUNCTION_WORDS
from agent.memory.statements import sentences, without_label

MARK: Final = "[superseded: {}]"
WITHHELD: Final = "[superseded]"
MARKED: Final = re.compile(r"\[superseded(?:: [^\[\]]*)?\]")
"""What `mark` and `withhold` leave."""
ENOUGH: Final = 0.5
"""So much of a value's words is the value, unless a number among them says so already."""
MOSTLY: Final = 0.5
"""A sentence of which so much is superseded says nothing else."""

_ROUND: Final = str.maketrans("[]", "()")
_TOKEN: Final = re.compile(r"[$€£¥]?\w[\w.,:%'’/-]*")


@dataclass(frozen=True, slots=True)
class Superseded:
    """A value that no longer holds. `stale`: its words that nothing current says."""

    words: tuple[str, ...]
    stale: frozenset[str]


@dataclass(frozen=True, slots=True)
class _Token:
    word: str
    start: int
    end: int


def superseded(values: Iterable[str], current: Iterable[str] = ()) -> tuple[Superseded, ...]:
    """What to look for, given the values that no longer hold and everything that does."""
    standing = [tuple(token.word for token in _tokens(text)) for text in current]
    parts = (part for value in values for part in (value, *sentences(value)))
    read = (tuple(token.word for token in _tokens(part)) for part in parts)
    return tuple(_superseded(words, standing) for words in dict.fromkeys(read) if words and words not in standing)


def mark(text: str, values: Sequence[Superseded]) -> str:
    """The text with every superseded value in a visible mark: for what the reader sees anyway, such as history."""
    return _replaced(text, values, lambda wording: MARK.format(wording.translate(_ROUND)))


def withhold(text: str, values: Sequence[Superseded]) -> str:
    """The text with a short mark in the place of every superseded value: for what is quoted anew."""
    return _replaced(text, values, lambda _: WITHHELD)


def mostly_superseded(sentence: str, values: Sequence[Superseded]) -> bool:
    sentence = without_label(sentence)
    telling = [token for token in _tokens(sentence) if token.word not in FUNCTION_WORDS]
    found = _found(sentence, values)
    inside = [token for token in telling if any(start <= token.start < end for start, end in found)]
    return bool(inside) and len(inside) >= MOSTLY * len(telling)


def _replaced(text: str, values: Sequence[Superseded], by: Callable[[str], str]) -> str:
    parts: list[str] = []
    done = 0
    for start, end in _found(text, values):
        parts += [text[done:start], by(text[start:end])]
        done = end
    return "".join([*parts, text[done:]])


def _superseded(words: tuple[str, ...], standing: Sequence[tuple[str, ...]]) -> Superseded:
    said = {word for text in standing if not _holds(text, words) for word in text}
    return Superseded(words, frozenset(words) - said - FUNCTION_WORDS)


def _found(text: str, values: Sequence[Superseded]) -> list[tuple[int, int]]:
    """The spans of superseded wording, in order, none touching another."""
    if not values:
        return []
    tokens = list(_tokens(text))
    said = {token.word for token in tokens}
    near = (value for value in values if value.stale & said or said.issuperset(value.words))
    spans = sorted(span for value in near for span in _runs(tokens, value))
    merged: list[tuple[int, int]] = []
    for start, end in spans:
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return merged


def _runs(tokens: Sequence[_Token], value: Superseded) -> Iterator[tuple[int, int]]:
    wanted = frozenset(value.words)
    enough = ENOUGH * len(wanted - FUNCTION_WORDS)
    run: list[_Token] = []
    for token in (*tokens, _Token("", 0, 0)):
        if token.word in wanted:
            run.append(token)
            continue
        while run and run[-1].word in FUNCTION_WORDS:
            run.pop()
        run = list(dropwhile(lambda one: one.word in FUNCTION_WORDS, run))
        if run and _tells([one.word for one in run], value, enough):
            yield run[0].start, run[-1].end
        run = []


def _tells(run: Sequence[str], value: Superseded, enough: float) -> bool:
    """Is this run the superseded value, or `enough` of its stale words?"""
    stale = value.stale.intersection(run)
    return len(stale) >= enough or any(map(_is_value, stale)) or _holds(run, value.words)


def _is_value(word: str) -> bool:
    return len(word) > 1 and (any(char.isdigit() for char in word) or word in DAYS)


def _holds(text: Sequence[str], words: tuple[str, ...]) -> bool:
    """As one search in a string, which is linear also where every word is the same."""
    return f" {' '.join(words)} " in f" {' '.join(text)} "


def _tokens(text: str) -> Iterator[_Token]:
    for match in _TOKEN.finditer(text):
        word = match.group().rstrip(".,:'’/-").lower()
        if word:
            yield _Token(word.removesuffix("'s"), match.start(), match.start() + len(match.group().rstrip(".,:'’/-")))
