"""Reads the part of YAML that our manifests are written in: nested mappings, lists, plain and quoted words, comments.

Above: tests of `manifests/`. Below: nothing. Anything else is an error, so that it is not misread.
"""

import re
from collections.abc import Iterator
from typing import Any

_LINE = re.compile(r"(?P<indent> *)(?P<dash>- )?(?:(?P<key>[\w$]+):(?: (?P<value>.+))?|(?P<item>.+))")
_WORDS = {"true": True, "false": False}


def read_yaml(text: str) -> Any:
    """The value of a document. Raises ValueError for what it does not know."""
    lines = [line for line in text.splitlines() if line.strip() and not line.lstrip().startswith("#")]
    value, rest = _block(_unfolded(lines), 0)
    if rest:
        raise ValueError(f"not understood: {rest[0]}")
    return value


def _unfolded(lines: list[str]) -> list[str]:
    """A list item that begins a mapping as two lines: the dash, and the first field below it."""

    def split() -> Iterator[str]:
        for line in lines:
            found = re.fullmatch(r"( *)- ([\w$]+:(?: .*)?)", line)
            if found and not re.fullmatch(r"[\w.]+:[\w.]+", found[2]):
                yield f"{found[1]}-"
                yield f"{found[1]}  {found[2]}"
            else:
                yield line

    return [*split()]


def _block(lines: list[str], indent: int) -> tuple[Any, list[str]]:
    return _items(lines, indent) if lines[0].lstrip().startswith("-") else _fields(lines, indent)


def _items(lines: list[str], indent: int) -> tuple[list[Any], list[str]]:
    items: list[Any] = []
    while lines and _indent(lines[0]) == indent and lines[0].lstrip().startswith("-"):
        item, lines = lines[0].strip().removeprefix("-").strip(), lines[1:]
        if item:
            items.append(_word(item))
        else:
            value, lines = _block(lines, _indent(lines[0]))
            items.append(value)
    return items, lines


def _fields(lines: list[str], indent: int) -> tuple[dict[str, Any], list[str]]:
    fields: dict[str, Any] = {}
    while lines and _indent(lines[0]) == indent:
        found = _LINE.fullmatch(lines[0])
        if found is None or not found["key"]:
            raise ValueError(f"not understood: {lines[0]}")
        lines = lines[1:]
        if found["value"]:
            fields[found["key"]] = _word(found["value"])
        else:
            fields[found["key"]], lines = _block(lines, _indent(lines[0]))
    return fields, lines


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def _word(word: str) -> Any:
    if word in _WORDS:
        return _WORDS[word]
    if re.fullmatch(r"\d+", word):
        return int(word)
    if re.fullmatch(r'"[^"\\]*"', word):
        return word[1:-1]
    if re.match(r"""[\[{"'&*!|>%@`#]""", word) or ": " in word or " #" in word:
        raise ValueError(f"not understood: {word}")
    return word
