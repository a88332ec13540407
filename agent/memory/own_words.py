"""Did a person say this themselves? Pure.

A fact that a model wants kept as a person's own needs that person's words. What stands only in a file, a tool's result
or somebody else's message is data: whoever wrote it decides nothing about what the bot holds for true of the asker.

Rules
  Compared are the words that tell something, in any order and with any ending, so that "I'm a vegetarian" supports
  "The user is vegetarian". At least half of them must be the person's.
  Every number, and every name that is written with a capital, must be the person's. A day, a date and a year may be
  the model's: it reckons out what "next Friday" is.
  No word may come from others: one that they wrote and the person did not is theirs.
  What a person quotes ("> …", and all that follows ">>> …") is not in their words.
  What they surely deny, ask, suppose, or tell of somebody else (`agent.memory.clauses`) they have not said; in doubt
  they have.
  In scripts without blanks, pairs of characters stand for words; most of them must be the person's.
"""

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from agent.memory.clauses import ABOUT, SAME_BEGINNING, UNSPACED, otherwise, tells_by_itself
from agent.memory.lexicon import DAYS
from agent.memory.statements import WORD, is_function_word, stem

SHARE: Final = 0.5
"""Of the telling words: a model says the same in its own words, and not something else."""
PAIRS_SHARE: Final = 0.7
"""Of pairs of characters: particles are common to all sentences, so half of them would say little."""
MAX_OWN: Final = 60_000
"""Characters of a person's messages, the newest: more than one message may hold, and read in a few milliseconds."""
MAX_OTHERS: Final = 500_000
"""Characters of what else was read, the newest: more than a turn's context holds."""

_QUOTED: Final = re.compile(r"^[ \t]*>(?:>>[ \t\n](?s:.*)|.*$)", re.MULTILINE)
"""A line, or all that follows: what begins with ">>>" is shown as one quotation to its end."""
_MONTH_NAMES: Final = (
    *("january", "february", "march", "april", "may", "june"),
    *("july", "august", "september", "october", "november", "december"),
)
_MONTHS: Final = tuple(name[:3] for name in _MONTH_NAMES)
_DATE: Final = re.compile(
    rf"\b\d{{4}}-\d\d-\d\d\b|\b(?:19|20)\d\d\b|\b(?:{'|'.join(_MONTHS)})[a-z]{{0,6}}\.? \d{{1,2}}\b", re.IGNORECASE
)
_CALENDAR: Final = frozenset(
    {*map(stem, DAYS), *map(stem, _MONTH_NAMES), *_MONTHS, *map(stem, ("today", "tomorrow", "tonight", "next"))}
    | {*map(stem, ("week", "month", "year", "day"))}
)
"""What a model may reckon out."""
_NUMBER_WORDS: Final = "zero|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve"
_NUMBERS: Final = {word: str(number) for number, word in enumerate(_NUMBER_WORDS.split("|"))}
_TRIVIAL: Final = frozenset({"00"})
"""Of "9:00", for whoever said "9 am"."""
_NO_LETTER_BEFORE: Final = r"(?<![^\W_])"
_DIGITS: Final = re.compile(r"\d+")
_GROUPED: Final = re.compile(r"(?<=\d)[,. ](?=\d{3}(?!\d))")


@dataclass(frozen=True, slots=True)
class _Words:
    """What a text is made of. Stems are there sorted, too: so beginnings are found."""

    stems: frozenset[str]
    in_order: Sequence[str]
    digits: frozenset[str]
    pairs: frozenset[str]

    def has(self, word: str) -> bool:
        """In this form or another one."""
        if word in self.stems:
            return True
        return any(_one_word(word, near) for near in self._neighbours(word))

    def _neighbours(self, word: str) -> Sequence[str]:
        """Among sorted words, those beside where a word belongs share the longest beginning with it."""
        at = bisect_left(self.in_order, word)
        return self.in_order[max(at - 1, 0) : at + 1]


def without_quotes(text: str) -> str:
    """What somebody wrote, without the lines that they quote."""
    return _QUOTED.sub("", text)


def said_by(
    text: str, own: Iterable[str], others: Iterable[str] = (), *, key: str = "", name: str = "", supposing: bool = False
) -> bool:
    """Does `text` say what a person said? `own`: their messages, `others`: what else the model has read, both with the
    newest last; `key`: what a model calls it, which may be in words of its own, but not of others; `name`: what the
    person is called; `supposing`: it is kept as a supposition only.
    """
    unquoted = [*map(without_quotes, own)]
    return _in_words_of(text, unquoted, others, key, name) and not otherwise(text, unquoted, supposing=supposing)


def _in_words_of(text: str, own: Iterable[str], others: Iterable[str], key: str, name: str) -> bool:
    mine = _words(_newest(own, MAX_OWN) + f"\n{name}")
    undated = _DATE.sub(" ", text)
    if not _runs_of_digits(_DATE.sub(" ", f"{key}\n{text}")) <= mine.digits | _TRIVIAL:
        return False
    pairs = frozenset(_pairs(undated))
    if pairs and len(pairs & mine.pairs) < PAIRS_SHARE * len(pairs):
        return False
    told, named = list(_telling(undated)), list(_telling(key))
    missing = {word.stem: word for word in [*told, *named] if not mine.has(word.stem)}
    telling = {word.stem for word in told if not word.is_calendar}
    if len(telling & missing.keys()) > (1 - SHARE) * len(telling):
        return False
    if any(word.is_name and not word.is_calendar for word in missing.values()):
        return False
    if missing and _any_begins(missing, _newest(others, MAX_OTHERS).lower()):
        return False
    return bool(telling or pairs or _DIGITS.search(text)) or (bool(told) and not mine.stems.isdisjoint(_CALENDAR))


@dataclass(frozen=True, slots=True)
class _Word:
    """`is_name`: it is written with a capital inside a sentence."""

    stem: str
    is_name: bool
    is_calendar: bool


def _telling(text: str) -> Iterator[_Word]:
    """The words that tell something."""
    spaced = UNSPACED.sub(" ", text)
    beside_others = any(len(word) > 1 and _is_telling(word, stem(word)) for word in WORD.findall(spaced))
    end = 0
    for match in WORD.finditer(spaced):
        begins = end == 0 or any(mark in spaced[end : match.start()] for mark in ".!?:\n")
        end = match.end()
        word = match.group()
        stemmed = stem(word)
        if _is_telling(word, stemmed) and tells_by_itself(word, beside_others=beside_others):
            yield _Word(stemmed, word[0].isupper() and not begins, stemmed in _CALENDAR)


def _is_telling(word: str, stemmed: str) -> bool:
    return not (is_function_word(word) or stemmed in ABOUT or word.isdigit())


def _words(text: str) -> _Words:
    spaced = UNSPACED.sub(" ", text)
    words = WORD.findall(spaced)
    stems = frozenset(map(stem, words))
    counted = {_NUMBERS[word.lower()] for word in words if word.lower() in _NUMBERS}
    digits = _runs_of_digits(text) | frozenset(_DIGITS.findall(text)) | counted
    return _Words(stems, sorted(stems), digits, frozenset(_pairs(text)))


def _runs_of_digits(text: str) -> frozenset[str]:
    """With "2,000" and "2 000" read as 2000."""
    return frozenset(_DIGITS.findall(_GROUPED.sub("", text)))


def _pairs(text: str) -> Iterator[str]:
    for run in UNSPACED.findall(text):
        yield from (run[at : at + 2] for at in range(max(len(run) - 1, 1)))


def _one_word(one: str, other: str) -> bool:
    """Two forms of one word: they begin alike, as far as the shorter one tells."""
    enough = max(min(len(one), len(other), SAME_BEGINNING), 4)
    return one[:enough] == other[:enough]


def _any_begins(stems: Iterable[str], text: str) -> bool:
    """Does a word of the text begin with one of these?"""
    return any(one in text and re.search(rf"{_NO_LETTER_BEFORE}{re.escape(one)}{_end(one)}", text) for one in stems)


def _end(stemmed: str) -> str:
    """A letter begins too many words: it has to be one."""
    return r"(?![^\W_])" if len(stemmed) == 1 else ""


def _newest(texts: Iterable[str], limit: int) -> str:
    return "\n".join(texts)[-limit:]
