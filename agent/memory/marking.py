"""Superseded values in visible text: found, and marked or withheld. Pure.

Why: a fact that is no longer valid is not used as long as only facts are shown; as soon as the old message stands
beside it again, the old value is read as if it held.

Rules
  What is looked for is the wording of a superseded value: a run of its words that names something which nothing current
  names. Letter case and punctuation do not matter.
  A value that holds again is not superseded, wherever it stands.
  A bare value ("Friday", "$200") is only looked for where the sentence may speak of the same thing.
  A current text that quotes a superseded value as a whole ("was: …") does not make it current.
"""

import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import chain, groupby, islice
from types import MappingProxyType
from typing import Final, NamedTuple

from agent.memory.lexicon import DAYS, FUNCTION_WORDS, GENERIC_NOUNS
from agent.memory.statements import (
    READ_CHARS,
    Statement,
    first_sentence,
    read_statement,
    sentences,
    states_in,
    stem,
    without_label,
)

MARK: Final = "[superseded: {}]"
WITHHELD: Final = "[superseded]"
MARKED: Final = re.compile(r"\[superseded(?:: [^\[\]]*)?\]")  # What `mark` and `withhold` leave
ENOUGH: Final = 0.5  # So much of a value's words is the value, unless a number among them says so already
SHORT: Final = 2  # Words of a value that may be one of many things'
MOSTLY: Final = 0.5  # A sentence of which so much is superseded says nothing else
# Of the sentences of one text that are read for its bare values; further values are marked. A thousand characters take
# some milliseconds, in everybody's event loop.
ASKED_CHARS: Final = 5_000
# Words of the texts of a turn, each counted for every value that has it, that are compared with what stands around
# them: a tenth of a second. After that each stale word is marked by itself, which takes one look at a text.
COMPARED: Final = 50_000
# Of a value that are looked for by themselves, besides all of it: more than a fact has that is clear by itself.
SENTENCES: Final = 8
# What a sentence about these alone speaks of, the value says: "the value was: …".
ANYTHING: Final = frozenset(map(stem, GENERIC_NOUNS))
_ROUND: Final = str.maketrans("[]", "()")
_TOKEN: Final = re.compile(r"[$€£¥]?\w[\w.,:%'’/-]*")


@dataclass(frozen=True, slots=True)
class Superseded:
    """A value that no longer holds. `stale`: its words that nothing current says; `text`: how it was written;
    `key`: what that stood under.
    """

    words: tuple[str, ...]
    stale: frozenset[str]
    text: str = ""
    key: str = ""

    @property
    def about(self) -> frozenset[str]:
        """What it was a value of: its key says so, or else its sentence. Read when it is needed: that is seldom."""
        if self.key:
            return read_statement("", about=self.key).subject
        statement = read_statement(self.text)
        return statement.subject if statement.has_subject else frozenset()

    @property
    def telling(self) -> frozenset[str]:
        return frozenset(self.words) - FUNCTION_WORDS

    @property
    def is_short(self) -> bool:
        """Does it say by itself too little to tell of what it is a value: "Friday", "$200"?"""
        return len(self.telling) <= SHORT


class _Token(NamedTuple):
    word: str
    start: int
    end: int


class Wordings(tuple[Superseded, ...]):  # noqa: SLOT001 -- what is found out about it once is kept
    """Superseded values, found by their words: most texts hold none."""

    @cached_property
    def reading(self) -> Callable[[str], Statement]:
        """As `read`, of which it keeps what each sentence said: one stands in more than one text of a turn."""
        return cache(read_statement)

    @cached_property
    def about(self) -> dict[Superseded, frozenset[str]]:
        """What those were values of that were asked for it."""
        return {}

    @cached_property
    def compared(self) -> list[int]:
        """How many words were compared so far: one number, which is added to."""
        return [0]

    @cached_property
    def words_of(self) -> Mapping[str, frozenset[str]]:
        """The words of the current texts, which are looked through themselves."""
        return {}

    @cached_property
    def by_word(self) -> Mapping[str, Sequence[int]]:
        """Where the values stand of which a word is stale, or without one the longest: a text that has it not does not
        hold them.
        """
        found: dict[str, list[int]] = {}
        for at, value in enumerate(self):
            for word in value.stale or (max(value.words, key=len),):
                found.setdefault(word, []).append(at)
        return found

    def near(self, said: frozenset[str]) -> list[Superseded]:
        """Those that may stand in a text with these words."""
        known = self.by_word
        if said.isdisjoint(known):
            return []
        places = {at for word in said & known.keys() for at in known[word]}
        some = (self[at] for at in sorted(places))
        return [value for value in some if value.stale & said or said.issuperset(value.words)]


def superseded(
    values: Iterable[str],
    current: Iterable[str] = (),
    keys: Mapping[str, str] = MappingProxyType({}),
    reading: Callable[[str], Statement] | None = None,
) -> Wordings:
    """What to look for, given the values that no longer hold and everything that does. `keys`: what some of the values
    were about; `reading`: see `Wordings`.
    """
    read_current = {text: _words(text) for text in current}
    standing = {words: frozenset(words) for words in read_current.values()}
    parts = (part for value in values for part in dict.fromkeys((value, *islice(sentences(value), SENTENCES))))
    read = {_words(part): part for part in parts}
    said_in: dict[str, list[tuple[str, ...]]] = {word: [] for words in read for word in words}
    for text, of_it in standing.items():
        for word in of_it & said_in.keys():
            said_in[word].append(text)
    found = Wordings(
        _superseded(words, said_in, part, keys.get(part, ""))
        for words, part in read.items()
        if words and words not in standing
    )
    if reading is not None:
        found.reading = reading
    found.words_of = {text: standing[words] for text, words in read_current.items()}
    return found


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
    starts = [start for start, _ in found]
    inside = [
        token for token in telling if (at := bisect_right(starts, token.start)) and token.start < found[at - 1][1]
    ]
    return bool(inside) and len(inside) >= MOSTLY * len(telling)


def _replaced(text: str, values: Sequence[Superseded], by: Callable[[str], str]) -> str:
    parts: list[str] = []
    done = 0
    for start, end in _found(text, values):
        parts += [text[done:start], by(text[start:end])]
        done = end
    return "".join([*parts, text[done:]])


def _superseded(
    words: tuple[str, ...], said_in: Mapping[str, Sequence[tuple[str, ...]]], value: str, key: str
) -> Superseded:
    """Of its words those are stale that no current text says but one that quotes the value as a whole."""
    rarest = min((said_in[word] for word in words), key=len)
    quoting = sum(_holds(text, words) for text in rarest)
    stale = frozenset(word for word in words if len(said_in[word]) <= quoting) - FUNCTION_WORDS
    return Superseded(words, stale, value, key)


def _found(text: str, values: Sequence[Superseded]) -> list[tuple[int, int]]:
    """The spans of superseded wording, in order, none touching another."""
    if not values:
        return []
    wordings = values if isinstance(values, Wordings) else Wordings(values)
    said = wordings.words_of.get(text)
    near = wordings.near(frozenset(_words(text)) if said is None else said)
    if not near:
        return []
    tokens = list(_tokens(text))
    merged: list[tuple[int, int]] = []
    for start, end in sorted(_spans(text, tokens, near, wordings)):
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return merged


def _spans(
    text: str, tokens: Sequence[_Token], near: Sequence[Superseded], wordings: Wordings
) -> Iterator[tuple[int, int]]:
    """Where these values stand, in their order. What somebody has whose thousands of values all have the words of their
    long messages is not worth everybody's time: see COMPARED.
    """
    places: dict[str, list[int]] = {}
    for at, token in enumerate(tokens):
        places.setdefault(token.word, []).append(at)
    around = _Around(text, wordings)
    for number, value in enumerate(near):
        theirs = [places[word] for word in value.telling if word in places]
        wordings.compared[0] += sum(map(len, theirs))
        if wordings.compared[0] > COMPARED:
            yield from _stale_words(tokens, near[number:])
            return
        for start, end, whole in _runs(tokens, sorted(chain(*theirs)), value):
            if whole or not around.of_another(start, value):
                yield start, end


def _stale_words(tokens: Sequence[_Token], values: Iterable[Superseded]) -> Iterator[tuple[int, int]]:
    stale = frozenset[str]().union(*(value.stale or value.telling for value in values))
    for found, some in groupby(tokens, key=lambda token: token.word in stale):
        if found:
            run = list(some)
            yield run[0].start, run[-1].end


class _Around:
    """The sentences around the bare values of a text. Each is read once."""

    def __init__(self, text: str, wordings: Wordings) -> None:
        self._text = text
        self._wordings = wordings
        self._left = ASKED_CHARS
        self._subjects: dict[str, frozenset[str] | None] = {}
        # By where one begins: it, and where behind its label it goes on.
        self._sentences: dict[int, tuple[str, int]] = {}

    def of_another(self, start: int, value: Superseded) -> bool:
        """Does the sentence around a bare value speak of another thing than that whose value it was?"""
        about = self._wordings.about
        if value not in about and self._may_read(len(value.key or value.text)):
            about[value] = value.about
        other = about.get(value)
        one = self._subject_around(start) if other else None
        if not one or not other:
            return False
        return not (one <= other or other <= one)

    def _subject_around(self, start: int) -> frozenset[str] | None:
        begins = max(self._text.rfind(mark, max(0, start - READ_CHARS), start) for mark in ".!?\n。！？") + 1
        if begins not in self._sentences:
            sentence = first_sentence(self._text[begins : begins + READ_CHARS])
            self._sentences[begins] = sentence, begins + len(sentence) - len(without_label(sentence.lstrip()))
        sentence, unlabelled = self._sentences[begins]
        if start < unlabelled:
            return None  # how a sentence is filed is no part of what it says of its subject
        if sentence not in self._subjects:
            if not self._may_read(len(sentence)):
                return None
            statement = self._wordings.reading(sentence)
            subject = statement.subject if statement.has_subject else frozenset[str]()
            if statement.progress:
                subject -= frozenset(map(stem, states_in(statement)))  # "Order confirmed: …" is about the order
            self._subjects[sentence] = subject - ANYTHING
        return self._subjects[sentence]

    def _may_read(self, chars: int) -> bool:
        self._left -= min(chars, READ_CHARS)
        return self._left >= 0


def _runs(tokens: Sequence[_Token], places: Sequence[int], value: Superseded) -> Iterator[tuple[int, int, bool]]:
    """Where it stands, and whether as a whole that tells what it is about. `places`: of its telling words."""
    wanted, enough = frozenset(value.words), ENOUGH * len(value.telling)
    done = 0
    for first in places:
        if first < done:
            continue
        end = first
        while end < len(tokens) and tokens[end].word in wanted:
            end += 1
        done, last = end, end - 1
        while tokens[last].word in FUNCTION_WORDS:
            last -= 1
        words = [token.word for token in tokens[first : last + 1]]
        if _tells(words, value, enough):
            told = len(value.stale.intersection(words)) >= enough or _holds(words, value.words)
            yield tokens[first].start, tokens[last].end, told and not value.is_short


def _tells(run: Sequence[str], value: Superseded, enough: float) -> bool:
    """Is this run the superseded value, or `enough` of its stale words?"""
    stale = value.stale.intersection(run)
    return len(stale) >= enough or any(map(_is_value, stale)) or _holds(run, value.words)


def _is_value(word: str) -> bool:
    return len(word) > 1 and (any(char.isdigit() for char in word) or word in DAYS)


def _holds(text: Sequence[str], words: tuple[str, ...]) -> bool:
    """As one search in a string, which is linear also where every word is the same."""
    return f" {' '.join(words)} " in f" {' '.join(text)} "


def _words(text: str) -> tuple[str, ...]:
    """The words of the tokens of a text."""
    return tuple([found.rstrip(".,:'’/-").removesuffix("'s") for found in _TOKEN.findall(text.lower())])


def _tokens(text: str) -> Iterator[_Token]:
    for match in _TOKEN.finditer(text):
        word = match.group().rstrip(".,:'’/-").lower()
        if word:
            yield _Token(word.removesuffix("'s"), match.start(), match.start() + len(match.group().rstrip(".,:'’/-")))
