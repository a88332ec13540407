"""English endings cut off: Porter's algorithm of 1980, as the full-text index of SQLite has it. Pure.

Above: `store.search.tsvector` (both engines find the same words), forms; `store.forgetting.chosen`. Below: nothing.

A word is [C](VC){m}[V], with C a run of consonants and V a run of vowels; `m` is its measure. Each step replaces the
longest of its endings that fits, if what stands before it is long enough, and never nothing. (y is a vowel after a
consonant.)
"""

from collections.abc import Callable, Mapping
from itertools import pairwise
from typing import Final

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
    if rest[-2:-1] == rest[-1:] and not _is_vowel(rest, len(rest) - 1) and rest[-1] not in "lsz":
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
