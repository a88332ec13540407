"""How text becomes index words, and how a question becomes keywords. Pure.

Rules
  Case, width and compatibility forms do not matter (NFKC, case folding). Accents do not matter in Latin, Greek and
  Cyrillic; elsewhere a mark makes another letter (Japanese が is not か) and stays.
  Han, Kana and Hangul are written without blanks between words, so a run of them is indexed as its single characters
  and its pairs of neighbours, and looked for by its pairs. (FTS5's own splitter finds nothing for 92 % of Chinese
  questions, pairs of characters find 81 %.)
  Everything that is neither letter, digit nor mark separates words: no operator of a query language survives.
  English endings are left to FTS5's Porter stemmer.
"""

import re
import unicodedata
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import pairwise
from typing import Any, Final

from sqlalchemy import BindParameter, Boolean, ColumnElement, Integer, bindparam, or_

from store.databases.database import StorableText, UtcDateTime
from store.tables import message

MAX_KEYWORDS: Final = 32
"""A pasted page is a valid question; its first words say what it is about."""

TELLING_CHARS: Final = 8
"""Somebody else may say "ok" too; nobody says eight characters of an erased text by chance."""
TELLING_BYTES: Final = 14
"""Of a piece of an erased text: shorter ones, such as "configuration", stand in others' summaries by chance."""
PIECE_CHARS: Final = 32
TELLING_LETTERS: Final = 4
"""Of a single word: a shorter one is a name for too many things."""

_ASCII_WORD: Final = re.compile(r"[a-z0-9]+")
_ACCENTED: Final = re.compile("([a-z\u00c0-\u024f\u0370-\u03ff\u0400-\u052f])[\u0300-\u036f]+")
_CJK_LETTERS: Final = (
    "\u3005\u3007\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"  # Han
    "\u3041-\u309a\u309d-\u309f\u30a1-\u30fa\u30fc-\u30ff\u31f0-\u31ff"  # Kana
    "\u1100-\u11ff\ua960-\ua97f\uac00-\ud7ff"  # Hangul
)
_CJK: Final = re.compile(f"[{_CJK_LETTERS}]+")
_PIECE: Final = re.compile(f"([{_CJK_LETTERS}]+)|([^ {_CJK_LETTERS}]+)")
_SENTENCE_SIGNS: Final = {0xFDFA: " ص ", 0xFDFB: " ج "}
"""One sign each, written out in eighteen and eight letters by NFKC: their usual abbreviations, lest a text grow so."""
_PLAIN_LETTERS: Final = str.maketrans({"ı": "i", "ø": "o", "đ": "d", "ł": "l", "ħ": "h", "æ": "ae", "œ": "oe"})

_STOP: Final = """
a about again all also am an and any are as at be because been being but by can could d did do does doing don
done for from get got had has have having he her here hers him his how i if in into is it its just know ll m me
mine my no not now of off on or our out please re remember s said say says she should so some t tell than that
the their them then there these they this those to told too up us ve was we were what when where which who whom
whose why will with would you your
"""
STOP_WORDS: Final = frozenset(_STOP.split())
"""Words of a question that say nothing about what is looked for."""


_COURTESY: Final = """
afternoon answer anything asking assist assistance bitte bonjour buenas certainly cheers danke dear else evening
everything gern gerne glad gracias greetings guten hallo happy hello help here hola hope know like merci morning
need okay please pleased question questions regards sorry sure tell thank thanks welcome wish
"""
COURTESY: Final = frozenset(_COURTESY.split())
"""Words of greetings, thanks and offers: whoever writes them has them from nobody."""


class _Spaced(dict[int, int]):
    """What `str.translate` puts in the place of a character: itself if words hold it, or a blank."""

    def __missing__(self, code: int) -> int:
        made = code if unicodedata.category(chr(code))[0] in "LNM" else ord(" ")
        if code < _REMEMBERED:
            self[code] = made
        return made


_REMEMBERED: Final = 0x10000
"""Characters up to which it is looked up once: those that are written most, in a few megabytes."""
_SPACED: Final = _Spaced()


def normalised(text: str) -> str:
    """`text` folded to the form in which two spellings of one word are the same characters."""
    if text.isascii():
        return text.lower()
    folded = unicodedata.normalize("NFKC", text.translate(_SENTENCE_SIGNS)).casefold()
    bare = _ACCENTED.sub(r"\1", unicodedata.normalize("NFD", folded))
    return unicodedata.normalize("NFC", bare).translate(_PLAIN_LETTERS)


def index_words(text: str) -> list[str]:
    """The words under which `text` is found, in order; a CJK run gives single characters and pairs."""
    words: list[str] = []
    for piece, cjk in _pieces(text):
        if cjk:
            words += [*piece, *_pairs(piece)]
        else:
            words.append(piece)
    return words


def keywords(question: str) -> list[str]:
    """The different words to look for, at most MAX_KEYWORDS. A question of stop words alone is taken literally."""
    words = [word for piece, cjk in _pieces(question) for word in (_pairs(piece) if cjk else (piece,))]
    telling = [word for word in words if word not in STOP_WORDS]
    return list(dict.fromkeys(telling or words))[:MAX_KEYWORDS]


def holds(held: str, erased: str) -> bool:
    """Is `held` the erased text, or does it contain it, if that is long enough to tell?"""
    return held == erased or (len(erased) >= TELLING_CHARS and erased in held)


def quotes(held: str, erased: str) -> bool:
    """Does `held` contain the erased text or a telling piece of it, whatever the case and the punctuation?"""
    return bool(passages(plain_words(held), plain_words(erased)))


def passages(held: str, erased: str) -> list[str]:
    """The pieces of an erased text, long enough to tell, that stand in `held`, both in plain words; all of a
    shorter one that `held` is.
    """
    longest = max(erased.split(), key=len, default="")
    pieces = [piece for one in (erased, longest) for piece in stretches(one) if len(piece.encode()) >= TELLING_BYTES]
    if not pieces and (len(erased) >= TELLING_CHARS or held == erased):
        pieces = [erased]
    return [piece for piece in dict.fromkeys(pieces) if piece and piece in held]


def plain_words(text: str) -> str:
    """Its words in order, one blank between them, whatever the case and the punctuation."""
    return " ".join(piece for piece, _ in _pieces(text))


def is_telling(word: str) -> bool:
    """May this index word tell where a text came from, if few others have it? Not one of everybody's short words."""
    if word in STOP_WORDS or word in COURTESY:
        return False
    is_number = word.isalnum() and not word.isalpha()
    return len(word) >= TELLING_LETTERS or (is_number and len(word) > 2) or bool(_CJK.fullmatch(word) and len(word) > 1)


def stretches(form: str) -> list[str]:
    """The first, the middle and the last PIECE_CHARS characters of a text, or all of a shorter one."""
    starts = sorted({0, max((len(form) - PIECE_CHARS) // 2, 0), max(len(form) - PIECE_CHARS, 0)})
    return [form[start : start + PIECE_CHARS] for start in starts]


def _pairs(piece: str) -> list[str]:
    if len(piece) == 1:
        return [piece]
    return [piece[at : at + 2] for at in range(len(piece) - 1)]


def _pieces(text: str) -> list[tuple[str, bool]]:
    """Words, and runs of CJK characters (True)."""
    plain = normalised(text)
    if plain.isascii():
        return [(word, False) for word in _ASCII_WORD.findall(plain)]
    spaced = plain.translate(_SPACED)
    if _CJK.search(spaced) is None:
        return [(word, False) for word in spaced.split(" ") if word]
    return [(word, False) if word else (run, True) for run, word in _PIECE.findall(spaced)]


# English endings cut off: Porter's algorithm of 1980, as the full-text index of SQLite has it. Pure.
#
# A word is [C](VC){m}[V], with C a run of consonants and V a run of vowels; `m` is its measure. Each step replaces the
# longest of its endings that fits, if what stands before it is long enough, and never nothing. (y is a vowel after a
# consonant.)

SHORTEST: Final = 3
LONGEST: Final = 64
"""What is shorter or longer stays as it is (SQLite's bounds)."""

_STEP_2: Final = {
    "ational": "ate", "tional": "tion", "enci": "ence", "anci": "ance", "izer": "ize", "logi": "log", "bli": "ble",
    "alli": "al", "entli": "ent", "eli": "e", "ousli": "ous", "ization": "ize", "ation": "ate", "ator": "ate",
    "alism": "al", "iveness": "ive", "fulness": "ful", "ousness": "ous", "aliti": "al", "iviti": "ive",
    "biliti": "ble",
}  # fmt: skip
_STEP_3: Final = {
    "icate": "ic", "ative": "", "alize": "al", "iciti": "ic", "ical": "ic", "ful": "", "ness": "",
}  # fmt: skip
_STEP_4: Final[dict[str, str]] = dict.fromkeys(
    (
        "al", "ance", "ence", "er", "ic", "able", "ible", "ant", "ement", "ment", "ent", "ion", "ou", "ism", "ate",
        "iti", "ous", "ive", "ize",
    ),
    "",
)  # fmt: skip


def stem(word: str) -> str:
    """The stem of a lower-case English word; a word with other than ASCII characters is its own."""
    if not (word.isascii() and SHORTEST <= len(word) <= LONGEST):
        return word
    word = _past(_plural(word))
    if word.endswith("y") and _has_vowel(word[:-1]):
        word = f"{word[:-1]}i"
    word = _replaced(word, _STEP_2, lambda rest, _: _measure(rest) > 0)
    word = _replaced(word, _STEP_3, lambda rest, _: _measure(rest) > 0)
    word = _replaced(word, _STEP_4, _falls_in_step_4)
    return _final(word)


def _plural(word: str) -> str:
    if _ends(word, "sses") or _ends(word, "ies"):
        return word[:-2]
    return word[:-1] if word.endswith("s") and not word.endswith("ss") else word


def _past(word: str) -> str:
    if _ends(word, "eed"):
        return word[:-1] if _measure(word[:-3]) > 0 else word
    for ending in ("ed", "ing"):
        rest = word.removesuffix(ending)
        if rest != word and _has_vowel(rest):
            return _mended(rest)
    return word


def _mended(rest: str) -> str:
    """hop(p), fil(e), siz(e): what a word looks like without -ed and -ing."""
    if rest.endswith(("at", "bl", "iz")):
        return f"{rest}e"
    if rest[-2:-1] == rest[-1:] and rest[-1] not in "aeioulsz":  # SQLite takes the second y of "yy" for a consonant
        return rest[:-1]
    return f"{rest}e" if _measure(rest) == 1 and _is_short(rest) else rest


def _final(word: str) -> str:
    if word.endswith("e"):
        rest = word[:-1]
        measure = _measure(rest)
        if measure > 1 or (measure == 1 and not _is_short(rest)):
            word = rest
    return word[:-1] if word.endswith("ll") and _measure(word[:-1]) > 1 else word


def _falls_in_step_4(rest: str, ending: str) -> bool:
    return _measure(rest) > 1 and (ending != "ion" or rest.endswith(("s", "t")))


def _replaced(word: str, endings: Mapping[str, str], may: Callable[[str, str], bool]) -> str:
    ending = max((one for one in endings if _ends(word, one)), key=len, default="")
    rest = word.removesuffix(ending)
    return rest + endings[ending] if ending and may(rest, ending) else word


def _ends(word: str, ending: str) -> bool:
    return len(word) > len(ending) and word.endswith(ending)


def _measure(word: str) -> int:
    kinds = [_is_vowel(word, at) for at in range(len(word))]
    return sum(before and not after for before, after in pairwise(kinds))


def _has_vowel(word: str) -> bool:
    return any(_is_vowel(word, at) for at in range(len(word)))


def _is_vowel(word: str, at: int) -> bool:
    if word[at] == "y":
        return at > 0 and not _is_vowel(word, at - 1)
    return word[at] in "aeiou"


def _is_short(word: str) -> bool:
    """Does it end in consonant, vowel, consonant, the last not w, x or y?"""
    kinds = [_is_vowel(word, at) for at in range(len(word))]
    return kinds[-3:] == [False, True, False] and word[-1] not in "wxy"


# What a search looks for, in the form in which both engines are asked.

EVER: Final = (datetime(1, 1, 2, tzinfo=UTC), datetime(9999, 12, 30, tzinfo=UTC))
"""A day away from what a datetime can hold, so that no time zone leads beyond it."""

PARAMETERS: Final[tuple[BindParameter[Any], ...]] = (
    bindparam("audiences", type_=StorableText, expanding=True),
    bindparam("exclude", type_=StorableText),
    bindparam("visible", type_=Integer),
    bindparam("since", type_=UtcDateTime),
    bindparam("until", type_=UtcDateTime),
    bindparam("any_author", type_=Boolean),
    bindparam("author", type_=StorableText),
    bindparam("anybody", type_=Boolean),
    bindparam("people", type_=StorableText, expanding=True),
)
"""By which both engines say which messages a search may find; `Sought.bound` gives the values."""


@dataclass(frozen=True, slots=True)
class SearchQuery:
    """`words`: for each keyword its forms, any of which counts. `number` is the person's; `people` None: anybody's."""

    words: tuple[tuple[str, ...], ...]
    number: int
    audiences: tuple[str, ...]
    exclude: str
    since: datetime = EVER[0]
    until: datetime = EVER[1]
    author: str = ""
    people: tuple[str, ...] | None = None
    visible_from: int = 0
    """Of the excluded conversation what stands before this message is looked for, too."""

    @property
    def is_elsewhere(self) -> ColumnElement[bool]:
        """Of a message: it is none that the model sees already."""
        return or_(message.c.conversation != self.exclude, message.c.id < self.visible_from)

    @property
    def bound(self) -> dict[str, Any]:
        return {
            "audiences": self.audiences,
            "exclude": self.exclude,
            "visible": self.visible_from,
            "since": max(self.since, EVER[0]),
            "until": min(self.until, EVER[1]),
            "any_author": not self.author,
            "author": self.author,
            "anybody": self.people is None,
            "people": self.people or (),
        }
