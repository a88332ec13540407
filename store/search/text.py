"""How text becomes index words, and how a question becomes keywords. Pure.

Above: `store.search.index`, `store.search.search`, `store.forgetting`, the ledger. Below: nothing.

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
from collections.abc import Iterator
from typing import Final

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
_CJK: Final = re.compile(
    "[\u3005\u3007\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"  # Han
    "\u3041-\u309a\u309d-\u309f\u30a1-\u30fa\u30fc-\u30ff\u31f0-\u31ff"  # Kana
    "\u1100-\u11ff\ua960-\ua97f\uac00-\ud7ff]+"  # Hangul
)
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
    return [word for piece, cjk in _pieces(text) for word in (*(piece if cjk else ()), *_pairs(piece, cjk=cjk))]


def keywords(question: str) -> list[str]:
    """The different words to look for, at most MAX_KEYWORDS. A question of stop words alone is taken literally."""
    words = [word for piece, cjk in _pieces(question) for word in _pairs(piece, cjk=cjk)]
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


def _pairs(piece: str, *, cjk: bool) -> list[str]:
    if not cjk or len(piece) == 1:
        return [piece]
    return [piece[at : at + 2] for at in range(len(piece) - 1)]


def _pieces(text: str) -> Iterator[tuple[str, bool]]:
    """Words, and runs of CJK characters (True)."""
    plain = normalised(text)
    if plain.isascii():
        yield from ((word, False) for word in _ASCII_WORD.findall(plain))
        return
    for word in plain.translate(_SPACED).split():
        end = 0
        for run in _CJK.finditer(word):
            if run.start() > end:
                yield word[end : run.start()], False
            yield run.group(), True
            end = run.end()
        if end < len(word):
            yield word[end:], False
