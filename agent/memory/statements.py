"""What a sentence says, without a model: its subject, its values by kind, and whether it announces a change. Pure.

Above: `agent.memory.conflict`, marking, earlier, composing. Below: nothing.

Rules
  Values are of a kind: money, a share, a time, a number, or a name in its slot (the words around it). Only values of
  one kind can contradict each other.
  The subject of "X is Y" is X; of any other sentence all its content words. English endings do not count. Where words
  are not separated by blanks, a run of characters is one word: less is found there, and nothing wrong.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby
from typing import Final

WORD: Final = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")
_SENTENCE: Final = re.compile(r"[^.!?\n。！？]*(?:[.](?=\S)[^.!?\n。！？]*)*(?:[.!?。！？]+|\n|$)")

_FUNCTION_WORDS: Final = """
a about after again all also am an and any anyway are as at be because been before being but by can could did do does
doing done for from get go going got had has have having he her here him his how i if in into is it its just let let's
ll may me might must my need needs no not of off ok okay on or our out over per please re s shall she should so some t
than that the their them then there these they this those to too under until up us ve very was we were what when where
which while who whom whose why will with would yes you your
"""
FUNCTION_WORDS: Final = frozenset(_FUNCTION_WORDS.split())
"""Words that say nothing about the subject."""

_CUE: Final = re.compile(
    r"\b(?:new|now|actually|instead|rather|correct(?:ed|ion)|chang(?:e|es|ed|ing)|mov(?:e|ed|ing)|updat(?:e|es|ed|ing)"
    r"|switch(?:ed|ing)?|revis(?:e|ed|ion)|replac(?:e|ed|es|ing)|overrid(?:e|es|ing|den)|reschedul(?:e|ed|ing)"
    r"|cancel(?:s|led|ed|ling)?|no longer|not any ?more|as of|make (?:that|it)|scratch that|no,? wait"
    r"|go(?:ing)? back to)\b",
    re.IGNORECASE,
)
"""Words that announce a change: those of seed 003, and their kin."""

_ADDS: Final = re.compile(r"\b(?:also|too|as well|another|in addition|besides|additionally)\b", re.IGNORECASE)
"""What is said beside something else does not change it."""
_RESTORES: Final = re.compile(
    r"\b(?:back to|again|after all|revert\w*|restor\w*|reinstat\w*|stick(?:ing)? (?:to|with))\b", re.IGNORECASE
)
_LABEL: Final = re.compile(r"^\[[^\]\n]{1,80}\]:?\s*")
"""Who speaks, or how it is filed ("[Ann (Legal)]: …"): no part of what is said."""
_ANAPHOR: Final = re.compile(r"\b(?:that|it|this|them)\b", re.IGNORECASE)
_COPULA: Final = re.compile(r"\b(?:is|are|was|were|will be|'s)\b|:(?=\s)")

DAYS: Final = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_DAY: Final = f"(?:{'|'.join(DAYS)})"
_MONTH: Final = (
    r"(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?"
    r"|nov(?:ember)?|dec(?:ember)?)"
)
_AMOUNT: Final = r"\d+(?:[.,]\d+)*"
"""A number with its points and commas. It is begun only where no number goes on: a long list of them is read once."""
_SPACES: Final = re.compile(r"[\s,]+")
_THOUSANDS: Final = re.compile(r"k$")
_DATE: Final = re.compile(rf"^({_MONTH})\.?(\d+)(?:st|nd|rd|th)?")
_NO_WORD: Final = re.compile(r"[_\W]+")
_KINDS: Final = (
    (
        "money",
        re.compile(
            rf"[$€£¥]\s?{_AMOUNT}\s?(?:[kmb]\b)?|(?<!\w)(?<!\d[.,]){_AMOUNT}\s?(?:usd|eur|gbp|dollars|euros)\b",
            re.IGNORECASE,
        ),
    ),
    ("share", re.compile(r"\b\d+(?:\.\d+)?\s?(?:%|percent\b)", re.IGNORECASE)),
    (
        "time",
        re.compile(
            rf"\b{_MONTH}\.? \d{{1,2}}(?:st|nd|rd|th)?\b(?:,? \d{{4}}\b)?|\b\d{{4}}-\d\d-\d\d\b|\b{_DAY}\b"
            r"|\b\d{1,2}(?::\d\d)?\s?[ap]\.?m\b|\b\d{1,2}:\d\d\b|\btoday\b|\btomorrow\b|\btonight\b|\byesterday\b"
            r"|\b(?:this|next|last) (?:week|month|quarter|year)\b"
            r"|\b\d+[- ](?:minute|hour|day|week|month|year)s?\b|\bq[1-4]\b",
            re.IGNORECASE,
        ),
    ),
    ("number", re.compile(r"(?<![\w.,])\d[\d,]*(?:\.\d+)?(?![\w%])")),
)


@dataclass(frozen=True, slots=True)
class Statement:
    """One sentence, read. `values`: (kind, value) pairs; `names`: the subject's words that are written as names;
    `changes`: it announces a change; `anaphoric`: it speaks of "it" or "that".
    """

    text: str
    subject: frozenset[str]
    content: frozenset[str]
    values: frozenset[tuple[str, str]]
    names: frozenset[str]
    changes: bool
    anaphoric: bool
    has_subject: bool = False
    """It says something of something: "X is Y"."""

    def kinds(self) -> frozenset[str]:
        return frozenset(kind for kind, _ in self.values)

    def of_kind(self, kind: str) -> frozenset[str]:
        return frozenset(value for kind_, value in self.values if kind_ == kind)


def sentences(text: str) -> list[str]:
    """The sentences of a text, in order, with their ends."""
    return [found for match in _SENTENCE.finditer(text) if (found := match.group().strip())]


def without_label(text: str) -> str:
    """A sentence without the "[Ann (Legal)]: " before it."""
    return _LABEL.sub("", text)


def is_function_word(word: str) -> bool:
    """Also with its contraction: "we're" says as little as "we"."""
    return word.lower().replace("’", "'").partition("'")[0] in FUNCTION_WORDS


def announces_change(text: str) -> bool:
    return _CUE.search(text) is not None and _ADDS.search(text) is None


def restores(text: str) -> bool:
    """Does it go back to what held before?"""
    return _RESTORES.search(text) is not None


def stem(word: str) -> str:
    """A word without its English ending, roughly: enough to see that two words are one."""
    plain = word.lower().replace("’", "'").removesuffix("'s")
    for ending in ("ing", "ed", "es", "s", "e"):
        if plain.endswith(ending) and len(plain) - len(ending) >= 3:
            return plain[: -len(ending)]
    return plain


def read(text: str, *, about: str = "") -> Statement:
    """Read one sentence, or the value of a fact, whose key then says what it is `about`."""
    said = without_label(text)
    values, rest = _values(said)
    cut = _COPULA.search(rest)
    content = _content(rest)
    before = _content(rest[: cut.start()]) if cut else frozenset[str]()
    about_whom = rest[: cut.start()] if cut and before else rest
    topic = _content(_NO_WORD.sub(" ", about)) if about else frozenset[str]()
    return Statement(
        text=text,
        subject=(before or content) | topic,
        content=content | topic,
        values=frozenset(values) | frozenset(_slots(said)),
        names=frozenset(stem(word) for run, _, _ in _names(about_whom) for word in run.split()),
        changes=announces_change(text),
        anaphoric=_ANAPHOR.search(text) is not None,
        has_subject=bool(cut and before),
    )


def _values(text: str) -> tuple[set[tuple[str, str]], str]:
    """The values, and the text without them."""
    found: set[tuple[str, str]] = set()
    rest = text
    for kind, pattern in _KINDS:
        found |= {(kind, _canonical(kind, match.group())) for match in pattern.finditer(rest)}
        rest = pattern.sub(" ", rest)
    return found, rest


def _canonical(kind: str, value: str) -> str:
    plain = _SPACES.sub("", value.lower())
    if kind == "money":
        plain = _THOUSANDS.sub("000", plain.strip("$€£¥"))
    if kind == "time":
        plain = _DATE.sub(lambda date: date[1][:3] + date[2], plain)
    return plain


def _content(text: str) -> frozenset[str]:
    words = (word for word in WORD.findall(_CUE.sub(" ", text)) if not is_function_word(word))
    return frozenset(stem(word) for word in words if len(word) > 1)


def _names(text: str) -> Iterator[tuple[str, str, str]]:
    """Each run of capitalised words, with the words before and after it."""
    words = [match.group() for match in WORD.finditer(text)]
    start = 0
    for capital, group in groupby(words, key=lambda word: word[:1].isupper() and not is_function_word(word)):
        run = list(group)
        end = start + len(run)
        if capital:
            before = words[start - 1].lower() if start else ""
            after = words[end].lower() if end < len(words) else ""
            yield " ".join(run).lower(), before, after
        start = end


def _slots(text: str) -> Iterator[tuple[str, str]]:
    for name, before, after in _names(text):
        if before and is_function_word(before):
            yield f"{before} _ {after}", name
