"""Loads what people write about times, by language, from schedule_lexicon.toml. Pure.

Numbers and ordinals in words are made of the words for small numbers and for tens. Besides its rules, a language has
words that are about times although no rule understands them, such as "Christmas": where they are left over, the bot
asks.
"""

import tomllib
from collections.abc import Mapping, Sequence
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any, Final

from bot.schedules.phrases.grammar import (
    A_NUMBER,
    Language,
    Node,
    expand,
    fold,
    is_spaceless,
    rule,
    word_list,
    words_at_begin,
)
from bot.schedules.phrases.zones import ABBREVIATIONS, cities, zone_names


@cache
def languages() -> Mapping[str, Language]:
    common = _written()["common"]["rules"]
    return {name: _language(name, written, common) for name, written in _written().items() if name != "common"}


def _language(name: str, written: Mapping[str, Any], common: Mapping[str, Any]) -> Language:
    lists = {kind: _list(kind, entry) for kind, entry in written["lists"].items()}
    numbers = _numbers(written["lists"])
    lists["number"] = word_list(numbers)
    lists.setdefault("on-weekday", lists["on"])
    lists["weekday-part"] = word_list(_weekday_parts(written["lists"]))
    lists["ordinal"] = word_list(_ordinals(written["lists"]))
    kinds = {*common, *written["rules"]}
    rules = dict[str, Node]()
    for kind in kinds:
        merged = dict[str, list[str]]()
        for source in (common, written["rules"]):
            for action, templates in source.get(kind, {}).items():
                merged.setdefault(action, []).extend(templates)
        rules[kind] = rule(merged)
    return words_at_begin(Language(name, lists, rules), _begins())


def _begins() -> Mapping[str, tuple[Sequence[str], frozenset[str]]]:
    """What the slots that are read by code begin with."""
    none, digits = frozenset[str](), frozenset({A_NUMBER})
    kanji = frozenset("〇零一二三四五六七八九十")
    zones = frozenset(fold(name.partition("/")[0]) for name in zone_names()) | {fold(name) for name in ABBREVIATIONS}
    zones |= {"+", "-"}
    return {
        **dict.fromkeys(("hm", "dotted", "compact", "padded", "year", "numdate", "hours-minutes"), ((), digits)),
        **dict.fromkeys(("hour", "minute", "second", "day-number"), (("number",), digits | kanji)),
        **dict.fromkeys(("hour-word", "minute-word"), (("number",), none)),
        **dict.fromkeys(("d", "dth"), (("number", "ordinal"), digits | kanji)),
        "n": (("number", "one"), digits | kanji), "nth": (("ordinal", "last"), digits),
        "weekdays": (("weekday",), none), "weekday-range": (("range-from", "weekday"), none),
        "clocks": (("clock",), none), "duration": (("amount",), none), "repeateds": (("repeated",), none),
        "repeated-range": (("range-from", "repeated"), none), "zone-name": ((), zones),
        "city": (("place",), frozenset(cities().words)),
    }  # fmt: skip


_NOT_LISTS: Final = frozenset(
    {
        "joined-parts",
        "marks",
        "meals",
        "strong",
        "vocabulary",
        "number",
        "tens",
        "compound",
        "ordinal",
        "ordinal-endings",
    }
)


def _list(kind: str, entry: object) -> Node:
    if kind in _NOT_LISTS or not entry:
        return Node()
    match entry:
        case str():
            return word_list({entry: kind})
        case list():
            offset = 1 if kind == "month" else 0
            values: list[str] = entry  # pyright: ignore[reportUnknownVariableType] -- TOML
            return word_list({words: n + offset for n, words in enumerate(values) if words})
        case dict():
            mapping: dict[str, str] = entry  # pyright: ignore[reportUnknownVariableType] -- TOML
            return word_list({words: int(key) if key.isdecimal() else key for key, words in mapping.items()})
        case _:
            raise ValueError(kind)


def _numbers(lists: Mapping[str, Any]) -> dict[str, int]:
    """Number words up to 99."""
    small, tens = lists.get("number", []), lists.get("tens", [])
    numbers = {words: n for n, words in enumerate(small) if words}
    for ten, words in enumerate(tens, start=2):
        for spelled in str(words).split("|"):
            numbers[spelled] = ten * 10
            for one in range(1, 10):
                for unit, pattern in product(str(small[one]).split("|"), str(lists.get("compound", "")).split("|")):
                    if pattern:
                        numbers.setdefault(pattern.replace("TEN", spelled).replace("ONE", unit), ten * 10 + one)
    return numbers


def _weekday_parts(lists: Mapping[str, Any]) -> dict[str, str]:
    """Days of the week with a part of the day in one word: "4 evening" for "Freitagabend"."""
    parts: Mapping[str, str] = lists.get("joined-parts", {})
    return {
        f"{day}{ending}": f"{number} {part}"
        for number, days in enumerate(lists["weekday"])
        for day, (part, endings) in product(str(days).split("|"), parts.items())
        for ending in endings.split("|")
        if len(day) > MAX_SHORT
    }


def _ordinals(lists: Mapping[str, Any]) -> dict[str, int]:
    """Ordinals up to 31, those that are not listed made of the numbers: "zwanzig" and "sten"."""
    ordinals = {words: n for n, words in enumerate(lists.get("ordinal", []), start=1) if words}
    low, high = lists.get("ordinal-endings", ("", ""))
    for words, number in _numbers(lists).items():
        for spelled, ending in product(words.split("|"), (low if number < 20 else high).split("|")):
            if ending and 1 <= number <= 31:
                ordinals.setdefault(f"{spelled}{ending}", number)
    return ordinals


MAX_SHORT: Final = 3  # Letters of words that are left out: "mar" is a month in Italian, the sea in Spanish
_VOCABULARY_LISTS: Final = (
    "weekday", "repeated", "month", "day-word", "part-word", "holiday", "tonight-word", "noon", "midnight", "week-word",
    "month-word", "adverb", "workday", "workdays", "weekend", "fortnightly", "alternate-days", "vocabulary",
    "marks", "part-noun", "strong",
)  # fmt: skip


def _texts(entry: Any) -> list[str]:  # noqa: ANN401 -- TOML
    """All words of a list."""
    values: list[str] = [entry] if isinstance(entry, str) else [*(entry.values() if isinstance(entry, dict) else entry)]
    return [value for value in values if value]


def _words_of(lists: Mapping[str, Any], kinds: Sequence[str]) -> Node:
    """Words that are about times: those of the lists, apart from short ones, which other languages have, too."""
    root = Node()
    for kind in kinds:
        for words in (words for text in _texts(lists.get(kind, "")) for words in expand(text)):
            spaceless = is_spaceless(str(words[0])) and (len(words) > 1 or kind == "vocabulary")
            if kind == "marks" or spaceless or sum(len(str(word)) for word in words) > MAX_SHORT:
                root.add(words, kind)
    return root


@cache
def _written() -> Mapping[str, Any]:
    return tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))


@cache
def strong_words() -> Mapping[str, Node]:
    """By language, the words that are about times whatever stands beside them."""
    names = ("weekday", "repeated", "month", "day-word", "tonight-word", "adverb", "strong", "holiday")
    return {name: _words_of(written.get("lists", {}), names) for name, written in _written().items()}


@cache
def meals() -> Node:
    """The meals in all languages."""
    root = Node()
    for written in _written().values():
        _merge(root, _words_of(written.get("lists", {}), ("meals",)))
    return root


@cache
def vocabulary() -> Node:
    """The words of all languages that are about times."""
    root = Node()
    for written in _written().values():
        _merge(root, _words_of(written.get("lists", {}), _VOCABULARY_LISTS))
    return root


def _merge(into: Node, other: Node) -> None:
    into.values.extend(other.values)
    for word, node in other.words.items():
        _merge(into.words.setdefault(word, Node()), node)
