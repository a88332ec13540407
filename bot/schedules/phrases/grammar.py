"""Templates of what people write, and how they are matched. Pure.

Theory of operation
  A language is a table in schedule_lexicon.toml. Its word lists give words a value ("monday" is 0), its rules have
  templates in its own word order: "half past {hour}", "[the] {nth} {weekday} of each month". A slot in braces is
  a word list, another rule, or something that schedule_slots.py reads; brackets mark what may be missing, bars what may
  stand for each other. "{weekday.2}" is a second slot of the same kind. Templates are expanded into a tree by their
  first words when a language is loaded, and a text is matched by walking that tree: a rule returns all its readings at
  a token, each with the token behind it. What a slot is at a token is determined once.
"""

import re
import unicodedata
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Final, TypeAlias

from agent.messages import normalisable

_CJK: Final = "\u3005\u3040-\u30ff\u3400-\u9fff"
_SPACELESS: Final = re.compile(f"[{_CJK}]")
_TOKEN: Final = re.compile(rf"[{_CJK}]|\d+|(?:(?![{_CJK}])[^\W\d_])+|[^\s]")
# Signs that people write in several forms; a time in brackets reads as one between commas.
_SAME: Final = str.maketrans(
    {
        "(": ",",
        ")": ",",
        "、": ",",
        "，": ",",
        "：": ":",
        "〜": "-",
        "～": "-",
        "~": "-",
        "’": "'",
        "‘": "'",
        "`": "'",
        "´": "'",
        "–": "-",
        "—": "-",
        "−": "-",
        "‐": "-",
    }
)
MAX_READINGS: Final = 24  # Of one rule at one token; real phrases have a handful


@dataclass(frozen=True, slots=True)
class TimeToken:
    """`text`: in the form in which words are compared."""

    text: str
    start: int
    end: int


def fold(text: str) -> str:
    """Return the form in which words are compared: small letters without accents."""
    text = text.translate(_SAME)
    if text.isascii():
        return text.casefold()
    if _SPACELESS.match(text):
        return text
    text = unicodedata.normalize("NFKD", normalisable(text.casefold()))
    return "".join(c for c in text if not unicodedata.combining(c))


def is_spaceless(text: str) -> bool:
    """Return whether a part of it is in a language that is written without blanks."""
    return _SPACELESS.search(text) is not None


def tokens_of(text: str) -> list[TimeToken]:
    return [TimeToken(fold(found[0]), found.start(), found.end()) for found in _TOKEN.finditer(text)]


# --------------------------------------------------------------------------------------------------
# Templates.

_PART: Final = re.compile(r"\{(?P<slot>[a-z.0-9-]+)\}|(?P<sign>[\[\]()|])|(?P<words>[^{}\[\]()|]+)")


@dataclass(frozen=True, slots=True)
class Slot:
    """`kind`: what it is; `name`: under which its value is passed on."""

    kind: str
    name: str


Element: TypeAlias = str | Slot  # A token, or a slot


def expand(template: str) -> list[tuple[Element, ...]]:
    """Return all sequences that a template stands for. Raises ValueError if it is not well formed."""
    parts = [match for match in _PART.finditer(template) if match[0].strip()]
    if sum(len(match[0]) for match in _PART.finditer(template)) != len(template):
        raise ValueError(template)
    rest = deque(parts)
    sequences = _alternatives(rest)
    if rest:
        raise ValueError(template)
    return sequences


def _alternatives(parts: deque[re.Match[str]]) -> list[tuple[Element, ...]]:
    """Take the parts up to a closing bracket, and return the sequences that they stand for."""
    closed = list[tuple[Element, ...]]()
    sequences: list[tuple[Element, ...]] = [()]
    while parts and parts[0]["sign"] not in {"]", ")"}:
        part = parts.popleft()
        if part["sign"] == "|":
            closed += sequences
            sequences = [()]
        else:
            sequences = [(*before, *after) for before, after in product(sequences, _options(part, parts))]
    return closed + sequences


def _options(part: re.Match[str], parts: deque[re.Match[str]]) -> list[tuple[Element, ...]]:
    """Return what may stand at one place of a template; the parts in a bracket are taken."""
    if part["sign"]:
        inner = _alternatives(parts)
        if not parts:
            raise ValueError(part.string)
        parts.popleft()
        return [(), *inner] if part["sign"] == "[" else inner
    if part["slot"]:
        kind, _, number = part["slot"].partition(".")
        return [(Slot(kind, kind + number),)]
    return [tuple(token.text for token in tokens_of(part["words"]))]


@dataclass(slots=True)
class Node:
    """A place in the tree of templates. `values`: of the templates that end here."""

    words: dict[str, "Node"] = field(default_factory=dict[str, "Node"])
    slots: dict[Slot, "Node"] = field(default_factory=dict[Slot, "Node"])
    values: list[object] = field(default_factory=list[object])

    def add(self, sequence: Sequence[Element], value: object) -> None:
        node = self
        for element in sequence:
            node = (
                node.words.setdefault(element, Node())
                if isinstance(element, str)
                else node.slots.setdefault(element, Node())
            )
        if value not in node.values:
            node.values.append(value)


Bindings: TypeAlias = Mapping[str, object]
Reading: TypeAlias = tuple[object, int]  # A value, and the token behind it
# Returns what a template means whose slots have these values; None if that is nothing.
Action: TypeAlias = Callable[[Bindings], object]


A_NUMBER: Final = "in digits"  # Among words that begin something: any number. No token has a blank


@dataclass(frozen=True, slots=True)
class Language:
    """`lists`: of words with their values; `rules`: of templates with the names of their actions. `begun_by`: by word,
    the kinds that may begin with it.
    """

    name: str
    lists: Mapping[str, Node]
    rules: Mapping[str, Node]
    begun_by: Mapping[str, frozenset[str]] = field(default_factory=dict[str, frozenset[str]])

    def kinds_at(self, text: str) -> frozenset[str]:
        """Return the kinds that may begin with this token."""
        kinds = self.begun_by.get(text, frozenset())
        return kinds | self.begun_by.get(A_NUMBER, frozenset()) if text.isdecimal() else kinds


def words_at_begin(language: Language, built_in: Mapping[str, tuple[Sequence[str], frozenset[str]]]) -> Language:
    """The language with the words that begin each kind. `built_in`: of slots that are no rules, the kinds with which
    they begin, and other words.
    """
    kinds = (*language.lists, *language.rules, *built_in)
    words, inner = dict[str, set[str]](), dict[str, set[str]]()
    for kind in kinds:
        of_kinds, of_words = built_in.get(kind, ((), frozenset[str]()))
        roots = [root for root in (language.lists.get(kind), language.rules.get(kind)) if root is not None]
        words[kind] = set(of_words).union(*(root.words for root in roots))
        inner[kind] = set(of_kinds).union(*({slot.kind for slot in root.slots} for root in roots))
    # A rule may begin with another that begins with the first: pass words on until none is new.
    grows = True
    while grows:
        grows = False
        for kind in kinds:
            size = len(words[kind])
            words[kind].update(*(words.get(other, ()) for other in inner[kind]))
            grows = grows or len(words[kind]) > size
    begun_by = dict[str, set[str]]()
    for kind, beginnings in words.items():
        for word in beginnings:
            begun_by.setdefault(word, set()).add(kind)
    return Language(language.name, language.lists, language.rules, {w: frozenset(k) for w, k in begun_by.items()})


def word_list(values: Mapping[str, object]) -> Node:
    """A list of words: each key is a template without slots."""
    root = Node()
    for template, value in values.items():
        for sequence in expand(template):
            root.add(sequence, value)
    return root


def rule(templates: Mapping[str, Sequence[str]]) -> Node:
    """A rule; by the names of its actions, the templates."""
    root = Node()
    for action, written in templates.items():
        for template in written:
            for sequence in expand(template):
                root.add(sequence, action)
    return root


@dataclass(slots=True)
class Matcher:
    """Matches one text in one language. `actions`: by kind and action of the rules; `built_in`: slots that are none."""

    language: Language
    tokens: Sequence[TimeToken]
    actions: Mapping[str, Action]
    built_in: Mapping[str, Callable[[int], Iterable[Reading]]]
    memo: dict[tuple[str, int], Sequence[Reading]] = field(default_factory=dict[tuple[str, int], Sequence[Reading]])
    beginning: Sequence[frozenset[str]] = field(init=False)  # By token, the kinds that may begin there

    def __post_init__(self) -> None:
        self.beginning = [self.language.kinds_at(token.text) for token in self.tokens]

    def read(self, kind: str, at: int) -> Sequence[Reading]:
        """Return all readings of this kind at this token, the longest first."""
        if at >= len(self.tokens) or kind not in self.beginning[at]:
            return ()
        key = kind, at
        if key not in self.memo:
            self.memo[key] = ()  # a rule that begins with itself has no reading
            found = list[Reading](dict.fromkeys(self._all(kind, at)))
            self.memo[key] = sorted(found, key=lambda reading: -reading[1])[:MAX_READINGS]
        return self.memo[key]

    def longest(self, kind: str, at: int) -> Reading | None:
        readings = self.read(kind, at)
        return readings[0] if readings else None

    def _all(self, kind: str, at: int) -> Iterator[Reading]:
        if (built_in := self.built_in.get(kind)) is not None:
            yield from built_in(at)
        if (words := self.language.lists.get(kind)) is not None:
            yield from ((value, stop) for value, _, stop in self._walk(words, at))
        if (templates := self.language.rules.get(kind)) is not None:
            for action, bindings, stop in self._walk(templates, at):
                value = self.actions[f"{kind}.{action}"](bindings)
                if value is not None:
                    yield value, stop

    def _walk(self, root: Node, at: int) -> Iterator[tuple[object, Bindings, int]]:
        open_: list[tuple[Node, Bindings, int]] = [(root, {}, at)]
        while open_:
            node, bindings, stop = open_.pop()
            for value in node.values:
                yield value, bindings, stop
            if stop >= len(self.tokens):
                continue
            if (following := node.words.get(self.tokens[stop].text)) is not None:
                open_.append((following, bindings, stop + 1))
            beginning = self.beginning[stop]
            for slot, following in node.slots.items():
                if slot.kind in beginning:  # most slots have no reading there: do not even ask
                    readings = self.read(slot.kind, stop)
                    open_ += [(following, {**bindings, slot.name: value}, end) for value, end in readings]
