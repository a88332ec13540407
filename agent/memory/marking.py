"""Finds superseded values in visible text, and marks or withholds them. Pure.

A context shows valid facts only, but it also shows old messages. Without a mark, a model reads the old value in such a
message as if it were valid.

Rules
  The search is for the wording of a superseded value: a run of its words, some of which occur in no current text.
  Letter case and punctuation are ignored.
  A value that is valid again is not superseded, wherever it occurs.
  A bare value ("Friday", "$200") counts only in sentences that can be about the same thing.
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
MARKED: Final = re.compile(r"\[superseded(?:: [^\[\]]*)?\]")  # Matches the marks of `mark` and `withhold`
ENOUGH: Final = 0.5  # This share of a value's words identifies it; a number among them is enough
SHORT: Final = 2  # A value of up to this many words may belong to many subjects
MOSTLY: Final = 0.5  # From this superseded share on, a sentence says nothing else
# Of the sentences that are analysed for the bare values of one text; values beyond this are marked without a check. A
# thousand characters take some milliseconds, and block the event loop.
ASKED_CHARS: Final = 5_000
# Words of a turn's texts, counted for each value that has them, whose surroundings are compared: a tenth of a second.
# Beyond this each stale word is marked by itself, in one pass over a text.
COMPARED: Final = 50_000
# Sentences of a value that are searched for one by one, besides the whole value: more than a clear fact has.
SENTENCES: Final = 8
# A sentence with no other subject than these ("the value was: …") is about the subject of the value.
ANYTHING: Final = frozenset(map(stem, GENERIC_NOUNS))
_ROUND: Final = str.maketrans("[]", "()")
_TOKEN: Final = re.compile(r"[$€£¥]?\w[\w.,:%'’/-]*")


@dataclass(frozen=True, slots=True)
class Superseded:
    """A value that is no longer valid.

    `stale`: those of its words that occur in no current text; `text`: the value as it was written; `key`: its key.
    """

    words: tuple[str, ...]
    stale: frozenset[str]
    text: str = ""
    key: str = ""

    @property
    def about(self) -> frozenset[str]:
        """The subject of the value, from its key, else from its sentence. Computed when needed, which is seldom."""
        if self.key:
            return read_statement("", about=self.key).subject
        statement = read_statement(self.text)
        return statement.subject if statement.has_subject else frozenset()

    @property
    def content_words(self) -> frozenset[str]:
        return frozenset(self.words) - FUNCTION_WORDS

    @property
    def is_short(self) -> bool:
        """Whether the value alone does not tell its subject: "Friday", "$200"."""
        return len(self.content_words) <= SHORT


class _Token(NamedTuple):
    word: str
    start: int
    end: int


class Wordings(tuple[Superseded, ...]):  # noqa: SLOT001 -- has cached properties
    """Superseded values with an index by word, because most texts contain none."""

    @cached_property
    def reading(self) -> Callable[[str], Statement]:
        """A cache around `read_statement`: a sentence may occur in several texts of a turn."""
        return cache(read_statement)

    @cached_property
    def about(self) -> dict[Superseded, frozenset[str]]:
        """The subjects of values, as far as they were computed."""
        return {}

    @cached_property
    def compared(self) -> list[int]:
        """How many words were compared so far: a list of one number, which is increased."""
        return [0]

    @cached_property
    def words_of(self) -> Mapping[str, frozenset[str]]:
        """The words of the current texts, which are also searched for values."""
        return {}

    @cached_property
    def by_word(self) -> Mapping[str, Sequence[int]]:
        """Indexes of the values by their stale words, or by their longest word if they have no stale one.

        A text without any of these words does not contain the value.
        """
        index: dict[str, list[int]] = {}
        for position, value in enumerate(self):
            for word in value.stale or (max(value.words, key=len),):
                index.setdefault(word, []).append(position)
        return index

    def candidates(self, words: frozenset[str]) -> list[Superseded]:
        """Return the values that may occur in a text with these words."""
        by_word = self.by_word
        if words.isdisjoint(by_word):
            return []
        positions = {position for word in words & by_word.keys() for position in by_word[word]}
        candidates = (self[position] for position in sorted(positions))
        return [value for value in candidates if value.stale & words or words.issuperset(value.words)]


def superseded(
    values: Iterable[str],
    current: Iterable[str] = (),
    keys: Mapping[str, str] = MappingProxyType({}),
    reading: Callable[[str], Statement] | None = None,
) -> Wordings:
    """Prepare the search for values that are no longer valid.

    `current`: all texts that are valid; `keys`: the keys of some values; `reading`: see `Wordings`.
    """
    read_current = {text: _words(text) for text in current}
    word_sets = {words: frozenset(words) for words in read_current.values()}
    # A model repeats a fact as a whole or one of its sentences, so each is searched for.
    all_parts = (part for value in values for part in dict.fromkeys((value, *islice(sentences(value), SENTENCES))))
    part_of = {_words(part): part for part in all_parts}
    # An index by word: a value is compared only with the valid texts that share a word with it, not with all.
    texts_with: dict[str, list[tuple[str, ...]]] = {word: [] for words in part_of for word in words}
    for text, text_words in word_sets.items():
        for word in text_words & texts_with.keys():
            texts_with[word].append(text)
    wordings = Wordings(
        _build_value(words, texts_with, part, keys.get(part, ""))
        for words, part in part_of.items()
        # A wording that a valid text has too is not stale, whoever said it first.
        if words and words not in word_sets
    )
    if reading is not None:
        wordings.reading = reading
    wordings.words_of = {text: word_sets[words] for text, words in read_current.items()}
    return wordings


def mark(text: str, values: Sequence[Superseded]) -> str:
    """Mark each superseded value visibly: for text that the reader sees anyway, such as history."""
    return _replace(text, values, lambda wording: MARK.format(wording.translate(_ROUND)))


def withhold(text: str, values: Sequence[Superseded]) -> str:
    """Replace each superseded value by a short mark: for text that is quoted."""
    return _replace(text, values, lambda _: WITHHELD)


def mostly_superseded(sentence: str, values: Sequence[Superseded]) -> bool:
    sentence = without_label(sentence)
    content_tokens = [token for token in _tokens(sentence) if token.word not in FUNCTION_WORDS]
    spans = _find_spans(sentence, values)
    starts = [start for start, _ in spans]
    inside = [
        token
        for token in content_tokens
        if (index := bisect_right(starts, token.start)) and token.start < spans[index - 1][1]
    ]
    return bool(inside) and len(inside) >= MOSTLY * len(content_tokens)


def _replace(text: str, values: Sequence[Superseded], replacement: Callable[[str], str]) -> str:
    parts: list[str] = []
    position = 0
    for start, end in _find_spans(text, values):
        parts += [text[position:start], replacement(text[start:end])]
        position = end
    return "".join([*parts, text[position:]])


def _build_value(
    words: tuple[str, ...], texts_with: Mapping[str, Sequence[tuple[str, ...]]], value: str, key: str
) -> Superseded:
    """Build a value. A word is stale if it occurs only in current texts that quote the value as a whole."""
    rarest = min((texts_with[word] for word in words), key=len)
    quoting = sum(_contains(text, words) for text in rarest)
    stale = frozenset(word for word in words if len(texts_with[word]) <= quoting) - FUNCTION_WORDS
    return Superseded(words, stale, value, key)


def _find_spans(text: str, values: Sequence[Superseded]) -> list[tuple[int, int]]:
    """Return the spans of superseded wording, in order and merged."""
    if not values:
        return []
    wordings = values if isinstance(values, Wordings) else Wordings(values)
    words = wordings.words_of.get(text)
    candidates = wordings.candidates(frozenset(_words(text)) if words is None else words)
    if not candidates:
        return []
    tokens = list(_tokens(text))
    merged: list[tuple[int, int]] = []
    for start, end in sorted(_candidate_spans(text, tokens, candidates, wordings)):
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return merged


def _candidate_spans(
    text: str, tokens: Sequence[_Token], candidates: Sequence[Superseded], wordings: Wordings
) -> Iterator[tuple[int, int]]:
    """Yield the spans of these values, in their order. After COMPARED words only stale words are searched."""
    positions: dict[str, list[int]] = {}
    for index, token in enumerate(tokens):
        positions.setdefault(token.word, []).append(index)
    surroundings = _Surroundings(text, wordings)
    for number, value in enumerate(candidates):
        value_positions = [positions[word] for word in value.content_words if word in positions]
        wordings.compared[0] += sum(map(len, value_positions))
        if wordings.compared[0] > COMPARED:
            yield from _stale_words(tokens, candidates[number:])
            return
        for start, end, is_clear in _find_runs(tokens, sorted(chain(*value_positions)), value):
            if is_clear or not surroundings.is_about_another(start, value):
                yield start, end


def _stale_words(tokens: Sequence[_Token], values: Iterable[Superseded]) -> Iterator[tuple[int, int]]:
    stale = frozenset[str]().union(*(value.stale or value.content_words for value in values))
    for is_stale, run_tokens in groupby(tokens, key=lambda token: token.word in stale):
        if is_stale:
            run = list(run_tokens)
            yield run[0].start, run[-1].end


class _Surroundings:
    """The sentences around the bare values of a text. Each is analysed once."""

    def __init__(self, text: str, wordings: Wordings) -> None:
        self._text = text
        self._wordings = wordings
        self._chars_left = ASKED_CHARS
        self._subjects: dict[str, frozenset[str] | None] = {}
        # By the start of a sentence: its text, and the position after its label.
        self._sentences: dict[int, tuple[str, int]] = {}

    def is_about_another(self, start: int, value: Superseded) -> bool:
        """Return whether the sentence around a bare value has another subject than the value."""
        subjects = self._wordings.about
        if value not in subjects and self._may_read(len(value.key or value.text)):
            subjects[value] = value.about
        value_subject = subjects.get(value)
        subject = self._subject_around(start) if value_subject else None
        if not subject or not value_subject:
            return False
        return not (subject <= value_subject or value_subject <= subject)

    def _subject_around(self, start: int) -> frozenset[str] | None:
        begins = max(self._text.rfind(mark, max(0, start - READ_CHARS), start) for mark in ".!?\n。！？") + 1
        if begins not in self._sentences:
            sentence = first_sentence(self._text[begins : begins + READ_CHARS])
            self._sentences[begins] = sentence, begins + len(sentence) - len(without_label(sentence.lstrip()))
        sentence, unlabelled = self._sentences[begins]
        if start < unlabelled:
            return None  # a label says nothing about the subject of its sentence
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
        self._chars_left -= min(chars, READ_CHARS)
        return self._chars_left >= 0


def _find_runs(
    tokens: Sequence[_Token], positions: Sequence[int], value: Superseded
) -> Iterator[tuple[int, int, bool]]:
    """Yield each run of the value's words as start, end, and whether it is clear without its sentence.

    `places`: indexes of the tokens that are content words of the value.
    """
    value_words, threshold = frozenset(value.words), ENOUGH * len(value.content_words)
    next_index = 0
    for first in positions:
        if first < next_index:
            continue
        end = first
        while end < len(tokens) and tokens[end].word in value_words:
            end += 1
        next_index, last = end, end - 1
        while tokens[last].word in FUNCTION_WORDS:
            last -= 1
        words = [token.word for token in tokens[first : last + 1]]
        if _identifies(words, value, threshold):
            is_clear = len(value.stale.intersection(words)) >= threshold or _contains(words, value.words)
            yield tokens[first].start, tokens[last].end, is_clear and not value.is_short


def _identifies(run: Sequence[str], value: Superseded, threshold: float) -> bool:
    """Return whether this run is the superseded value, or contains `enough` of its stale words."""
    stale = value.stale.intersection(run)
    return len(stale) >= threshold or any(map(_is_value, stale)) or _contains(run, value.words)


def _is_value(word: str) -> bool:
    return len(word) > 1 and (any(char.isdigit() for char in word) or word in DAYS)


def _contains(text: Sequence[str], words: tuple[str, ...]) -> bool:
    """Return whether the text contains these words in a row. The search is linear even if all words are equal."""
    return f" {' '.join(words)} " in f" {' '.join(text)} "


def _words(text: str) -> tuple[str, ...]:
    """The words of the tokens of a text."""
    return tuple([token.rstrip(".,:'’/-").removesuffix("'s") for token in _TOKEN.findall(text.lower())])


def _tokens(text: str) -> Iterator[_Token]:
    for match in _TOKEN.finditer(text):
        word = match.group().rstrip(".,:'’/-").lower()
        if word:
            yield _Token(word.removesuffix("'s"), match.start(), match.start() + len(match.group().rstrip(".,:'’/-")))
