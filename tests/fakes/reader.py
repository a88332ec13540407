"""A reader who knows the rules of `bot.chat.reply.split` and restores the text from the pages it was shown on.

It uses no product code, so a test passes only if both are right.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

# The longest fence line or table head that is repeated, and how much of a line is searched for its "|"
KEPT_WHOLE = 300

_OPENING = re.compile(r"((?:[ \t]|>|(?:[-*+]|\d{1,9}[.)])[ \t])*)(?:(`{3,})([^`]*)|(~{3,})(.*))", re.DOTALL)
_OPENED_ITEM = re.compile(r"(?:\n(?= *\d))? *(?:[-*+]|\d{1,9}[.)]) …[\n ]")
_SEPARATOR = re.compile(r"[ \t>]*\|?[ \t]*:?-+:?[ \t]*(\|[ \t]*:?-+:?[ \t]*)*\|?[ \t]*")


@dataclass(frozen=True)
class Place:
    """The block that is open at the end of a text: a fence, as its prefix, marker and info; or a table, as its first
    two lines.
    """

    fence: tuple[str, str, str] | None = None
    table: str = ""
    head: str = ""  # The first two lines of a fence for a table


def read_back(shown: Sequence[str], limit: int) -> str:
    """Return the text that was cut into these pages of at most `limit` characters."""
    text = ""
    for number, page in enumerate(shown):
        body = _without_opener(text, page, limit)
        text += body if number == len(shown) - 1 else _without_closer(text, body, limit)
    return text


def fences_are_balanced(page: str, limit: int) -> bool:
    """Return whether a reader of this page alone sees every fence closed."""
    return place_after(page + "\n", limit).fence is None


def _without_opener(text: str, page: str, limit: int) -> str:
    place = place_after(text, limit)
    inside_line = bool(text) and not text.endswith("\n")
    without_items = _without_items(text, page, inside_line=inside_line and not place.fence)
    # Items are opened again around a line that has begun, a fence, or what would be code by its margin; others are own.
    if inside_line or place.fence or re.match(r"\n*(?: {4}|\t| {1,3}\t)", without_items):
        page = without_items
    if place.fence:
        prefix, marker, info = place.fence
        opener = f"{prefix}{marker}{info}\n" + (prefix if inside_line and ">" in prefix else "")
        opener += "" if inside_line else place.head
        assert page.startswith(opener), "a fence that goes on is opened again"
        return page.removeprefix(opener)
    return page if inside_line else page.removeprefix(place.table)


def _without_items(text: str, page: str, *, inside_line: bool) -> str:
    """Remove the list items that were opened again: lines with "…" alone, before a number with a blank line behind
    them, or with the rest of a line behind it.
    """
    at = 0
    while text and (item := _OPENED_ITEM.match(page, at)):
        at = item.end()
        if item[0].endswith(" "):
            return page[at:] if inside_line else page
    if inside_line:
        return page
    return page[at:].removeprefix("\n") if at and re.match(r"\s*\d{1,9}[.)]", page[at:]) else page[at:]


def _without_closer(text: str, body: str, limit: int) -> str:
    place = place_after(text + body, limit)
    if place.fence is None:
        return body
    prefix, marker, _ = place.fence
    for closer in (f"\n{prefix}{marker} ", f"{prefix}{marker}"):
        if body.endswith(closer):
            return body.removesuffix(closer)
    raise AssertionError("a fence that goes on is closed first")


def place_after(text: str, limit: int) -> Place:
    """Return the block that is open at the end of `text`; an incomplete line only counts if it leaves a quote."""
    longest = min(limit // 4, KEPT_WHOLE)
    place, before = Place(), ""
    for whole in text.split("\n")[:-1]:
        line, header, before = whole.rstrip("\r"), before, ""
        short = len(line) <= longest
        if place.fence and not _leaves_quote(line, place.fence):
            if short and _closes(line, place.fence):
                place = Place()
            elif place.fence[2] == "table" and place.head.count("\n") < 2:
                place = Place(place.fence, head=f"{place.head}{whole}\n")
            continue
        if short and (opened := _OPENING.fullmatch(line)):
            prefix = re.sub(r"[^>\s]", " ", opened[1])
            place = Place(fence=(prefix, opened[2] or opened[4], opened[3] if opened[2] else opened[5]))
        elif "|" not in whole[:KEPT_WHOLE]:
            place = Place()
        elif not place.table:
            head = f"{header}\n{whole}\n"
            separates = bool(header) and _SEPARATOR.fullmatch(line) and len(head) <= longest
            place = Place(table=head) if separates else Place()
            before = "" if separates or len(whole) + 1 > longest else whole
    last_line = text.rpartition("\n")[2]
    return Place() if last_line and place.fence and _leaves_quote(last_line, place.fence) else place


def _leaves_quote(line: str, fence: tuple[str, str, str]) -> bool:
    margin = re.match(r"[ \t]*", line)
    columns = fence[0].find(">")
    return (
        columns >= 0
        and margin is not None
        and (line[margin.end() : margin.end() + 1] != ">" or margin.end() > columns + 3)
    )


def _closes(line: str, fence: tuple[str, str, str]) -> bool:
    prefix, marker, _ = fence
    closing = re.fullmatch(r"([ \t>]*)(`{3,}|~{3,})[ \t]*", line)
    if closing is None or (">" in closing[1] and ">" not in prefix):
        return False
    return closing[2].startswith(marker) and _columns(closing[1]) <= _columns(prefix) + 3


def _columns(prefix: str) -> int:
    return len(prefix.expandtabs(4).split(">")[-1])
