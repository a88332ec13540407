"""Compares the words of two sentences: forms of one word, values of one kind, and what stands in whose place. Pure."""

import re
from collections.abc import Collection, Iterable, Sequence
from difflib import SequenceMatcher
from functools import lru_cache
from itertools import pairwise
from typing import Final

from agent.memory import cues, grammar, lexicon, when_cues, whose_cues
from agent.memory.statements import READ_CHARS, Statement, Token, content_tokens, stem
from agent.patterns import compile_later

# What is no content of a sentence
MANNER: Final = (cues.TURNED, cues.STOPPED, cues.ADDED, when_cues.WHEN, when_cues.STARTS, grammar.COMPARED)
# Commas and colons within numbers ("2,4", "16:30") separate no clauses, a hyphen only between blanks, conjunctions only
# where a new clause is likelier than a list.
_CLAUSE: Final = compile_later(
    r"(?:[;()–—，；、。]|(?<!\d)[,:]|[,:](?!\d))+|\s-\s"
    r"|(?<!['’])\b(?:and|but|so|und|aber|sondern|et|mais|donc|y(?! (?:est|a)\b)|pero|sino|e|mas|и|но|а)\b"
)
UNSPACED: Final = compile_later("[\u3040-\u30ff\u3400-\u9fff]")
_KANA: Final = compile_later("[\u3040-\u30ff]")
_PREFIXED: Final = compile_later("[不未非無](?=[\u3400-\u9fff])")  # Part of a Japanese noun: "不具合" denies nothing
_LAST_VOWEL: Final = compile_later("[aeoáéíóúâêô]$")
_DOUBLED: Final = compile_later(r"([^\W\d])\1$")
_SAME_BEGINNING: Final = 4  # Letters that two forms of a word share at least
_ENDING: Final = 3  # Letters by which they may differ: with more it is a compound ("garage", "garagedoor")
_NAME_ENDINGS: Final = frozenset({"", "s", "es", "en", "in", "innen"})  # Of names and German nouns: "Chef", "Chefin"
# A day or season in a newer sentence alone: it may hold then only.
_LIMITING: Final = frozenset({"weekday", "relative", "month"})
MAX_CLAUSES: Final = 8  # A sentence with more is a list
MAX_TOKENS: Final = 80  # Of a sentence, that are aligned: the time grows with their square


def content_of(text: str) -> tuple[Token, ...]:
    return content_tokens(text, MANNER)


def is_in(word: Token, words: Collection[Token]) -> bool:
    return any(alike(word, other) for other in words)


def count_in(words: Iterable[Token], others: Collection[Token]) -> int:
    return sum(is_in(word, others) for word in words)


def all_in(words: Collection[Token], others: Collection[Token]) -> bool:
    return bool(words) and all(is_in(word, others) for word in words)


@lru_cache(maxsize=4_096)
def alike(word: Token, other: Token) -> bool:
    """Return whether these are forms of one word. Numbers and names have to be the same."""
    if word.word == other.word:
        return True
    if word.kind or other.kind:
        return False
    short, long = sorted((word.word, other.word), key=len)
    if word.is_name or other.is_name:
        return len(short) >= _SAME_BEGINNING and long.startswith(short) and long[len(short) :] in _NAME_ENDINGS
    if root(short) == root(long):  # "jefa" and "jefe" are one role, "hermano" and "hermana" two people
        return all(lexicon.UNIQUE.fullmatch(raw) is not None for raw in (word.raw, other.raw))
    is_ending = len(long) - len(short) <= _ENDING and "-" not in long[len(short) - 1 :]  # not "mother-in-law"
    return len(short) > _SAME_BEGINNING and is_ending and long[: len(short) - 1] == short[:-1]


def root(word: str) -> str:
    return _DOUBLED.sub(r"\1", _LAST_VOWEL.sub("", word))


def tells(word: Token) -> bool:
    """Return whether a word says more than that something is the case: "costs", "uses" do not."""
    return not (word.raw in lexicon.STATE_VERBS or word.raw in lexicon.GENERIC_VERBS or word.raw in grammar.LIGHT)


def has_any(text: str, patterns: Iterable[re.Pattern[str]]) -> bool:
    folded = lexicon.folded(text[:READ_CHARS])
    return any(pattern.search(folded) is not None for pattern in patterns)


def topic_of(words: Sequence[Token], statement: Statement) -> tuple[Token, ...]:
    """Return the words before the particle or copula, with the letter behind them: "会議室A"."""
    if not statement.has_subject:
        return ()
    last = max((at for at, word in enumerate(words) if word.word in statement.subject and not word.kind), default=-1)
    letter = letter_behind(words, last, statement.text)
    return (*(word for word in words[: last + 1] if not word.kind or word.kind == "code"), *letter)


def letter_behind(words: Sequence[Token], last: int, text: str) -> list[Token]:
    """Return the letter that stands right behind a word, and tells which one is meant: "Server B", "会議室A"."""
    before, letters = words[last : last + 1], words[last + 1 : last + 2]
    is_behind = [
        letter.kind == "code" and letter.word.isalpha() and f"{word.raw}{letter.word}".lower() in _closed(text)
        for word, letter in zip(before, letters, strict=False)
    ]
    return list(letters) if any(is_behind) else []


def _closed(text: str) -> str:
    return lexicon.folded(text[:READ_CHARS]).replace(" ", "")


def by_kind(words: Iterable[Token]) -> dict[str, set[str]]:
    kinds: dict[str, set[str]] = {}
    for word in words:
        if word.kind:
            kinds.setdefault(word.kind, set()).add(word.word)
    return kinds


def values_clash(older: Iterable[Token], newer: Iterable[Token]) -> bool:
    """Return whether both give values of one kind, and none in common. A date may be given as a weekday."""
    old, new = by_kind(older), by_kind(newer)
    if any(values & new.get(kind, set()) for kind, values in old.items()):
        old = {kind: values for kind, values in old.items() if not values & new.get(kind, set())}
    shared = old.keys() & new.keys()
    return any(not old[kind] & new[kind] for kind in shared)


def align(older: Sequence[Token], newer: Sequence[Token]) -> tuple[tuple[list[Token], list[Token]], ...]:
    """Return what the one says in the place of what the other says, between the words that both have."""
    return tuple((said, instead) for _, said, instead in aligned_after(older, newer))


def aligned_after(older: Sequence[Token], newer: Sequence[Token]) -> tuple[tuple[bool, list[Token], list[Token]], ...]:
    """Return the same as `align`, each with whether a word that both have stands before it."""
    old, new = older[:MAX_TOKENS], newer[:MAX_TOKENS]
    names = {word: number for number, word in enumerate(dict.fromkeys((*old, *new)))}
    for word, number in names.items():
        names[word] = next((names[other] for other in names if alike(word, other)), number)
    matcher = SequenceMatcher(None, [names[word] for word in old], [names[word] for word in new], autojunk=False)
    opcodes = matcher.get_opcodes()
    return tuple(
        (
            at > 0,  # Two places are never side by side
            [word for word in old[start:end] if not is_in(word, new)],  # else it only stands elsewhere
            [word for word in new[begin:stop] if not is_in(word, old)],
        )
        for at, (what, start, end, begin, stop) in enumerate(opcodes)
        if what != "equal"
    )


def differing_places(older: Sequence[Token], newer: Sequence[Token], texts: tuple[str, str]) -> int:
    """Return in how many places the one says something in the place of what the other says.

    Only what is surrounded by the same words is compared. "In summer we go to Rome", "in winter we go to Oslo": two.
    "Photos on Dropbox", "videos on Vimeo" are two as well, since a word of `texts` stands between them.
    """
    places = 0
    for said, instead in align(older, newer):
        if not said or not instead:
            continue
        words = (
            any(not word.kind and tells(word) for word in said),
            any(not word.kind and tells(word) for word in instead),
        )
        values = any(word.kind for word in said) and any(word.kind for word in instead)
        places += all(words) + values if all(words) or values else 1
        verbs = [word.raw in lexicon.STATE_VERBS for word in (said[0], instead[0])]
        places += values and all(verbs)  # "opens at 8", "closes at 18"
        places += all(words) and not values and all(map(are_apart, (said, instead), texts))
    return places


def are_apart(words: Sequence[Token], text: str) -> bool:
    """Return whether other words stand between two of these words in the text, which have blanks between them."""
    raw = [re.escape(word.raw) for word in words if not word.kind and tells(word)]
    if len(raw) < 2 or UNSPACED.search(text) is not None:
        return False
    lowered = lexicon.folded(text[:READ_CHARS])
    return any(re.search(rf"{word}\W{{1,3}}{after}", lowered) is None for word, after in pairwise(raw))


def clauses_of(text: str) -> list[str]:
    clauses = _CLAUSE.split(text[:READ_CHARS], maxsplit=MAX_CLAUSES)
    return [clause for clause in clauses if clause.strip()]


def owners_in(text: str) -> list[Token]:
    """Return whose thing a text is about: "my sister's rent", "die Miete meiner Schwester"."""
    owners = (
        match["owner"] or match["whose"] for match in whose_cues.OWNED.finditer(lexicon.folded(text[:READ_CHARS]))
    )
    return [Token(stem(owner), raw=owner) for owner in owners]


def owns(word: Token, text: str) -> bool:
    """Return whether a text is about something of what a word names: "Jonas's wife", "la femme de Jonas"."""
    name = re.escape(word.raw)
    pattern = rf"(?<!\w){name}(?:['’]s?|s['’]?) \w|\b(?:{whose_cues.OF_NAME}) {name}(?!\w)|{name}[的の]"
    return bool(word.raw) and word.is_name and re.search(pattern, lexicon.folded(text[:READ_CHARS])) is not None


def is_theirs(text: str) -> bool:
    return has_any(text, (whose_cues.THEIRS,)) and not has_any(text, (whose_cues.OURS,))


def qualifies(text: str, added: Iterable[Token]) -> bool:
    """Return whether what it adds says for whom or for what it holds: "11 euros with dessert", "free for members"."""
    pieces = [grammar.QUALIFIES.split(clause)[1:] for clause in clauses_of(text)]
    followed = {word for after in pieces for phrase in after for word in lexicon.folded(phrase).split()[:3]}
    return any(word.raw in followed for word in added)


def leaves_out(older: Sequence[Token], newer: Sequence[Token]) -> bool:
    """Return whether the newer one lacks a word of the older one between two that both have: which thing is meant."""
    aligned = [(said, instead) for said, instead in align(older, newer)]
    return any(
        said and not instead and all(not word.kind and tells(word) for word in said) and _is_between(said, older, newer)
        for said, instead in aligned
    )


def _is_between(words: Sequence[Token], older: Sequence[Token], newer: Sequence[Token]) -> bool:
    start = older.index(words[0])
    before, after = older[:start], older[start + len(words) :]
    return bool(before and after) and is_in(before[-1], newer) and not after[0].kind and is_in(after[0], newer)


def limits(older: Sequence[Token], newer: Sequence[Token], text: str) -> bool:
    """Return whether the newer one names a day or a season that the older one does not: it may hold then only."""
    extra = by_kind(newer).keys() - by_kind(older).keys()
    if by_kind(older).keys() & lexicon.DAYLIKE and extra <= lexicon.DAYLIKE:
        return False  # "on March 3" may have become "on Friday"
    return bool(extra & _LIMITING) and not _begins_with_a_day(text)


def _begins_with_a_day(text: str) -> bool:
    """Return whether it says from which day on it holds: "from Monday on", "月曜から". "From 10 to 15" is no day."""
    is_unspaced = UNSPACED.search(text) is not None
    for match in when_cues.STARTS.finditer(lexicon.folded(text[:READ_CHARS])):
        is_suffix = is_unspaced and match.group() not in when_cues.STARTS_BEFORE
        words = content_of(text[: match.start()])[-1:] if is_suffix else content_of(text[match.end() :])[:1]
        if any(word.kind in lexicon.DAYLIKE for word in words):
            return True
    return False


def negates(text: str) -> bool:
    """Return whether a sentence denies something. In Portuguese "no" is "in the"."""
    folded = grammar.without_in_the(lexicon.folded(text[:READ_CHARS]))
    if _KANA.search(folded) is not None:
        folded = _PREFIXED.sub(" ", folded)
    return any(pattern.search(folded) is not None for pattern in (*cues.ENDS, lexicon.NEGATED, grammar.ELIDED_NEGATION))
