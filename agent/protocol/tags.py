"""Recognising tags at one position of a stream whose end may still be missing. PURE.

Above: `agent.protocol.parser`, `agent.protocol.blocks`, `agent.protocol.render`. Below: `agent.protocol.grammar`.

Each function answers in three ways: what was found, None (it cannot be one, whatever comes), or MAYBE (the text ends
before that is known). MAYBE is only answered within a limit, so that little is ever held back.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Final, Literal

from agent.protocol.grammar import SUMMARY_FIELDS, TAG_NAMES, WORKSPACE_FIELDS, Kind, ParserLimits

BLANKS: Final = " \t\r\f\v\u00a0\u200b\u200c\u200d\u2060\u3000\ufeff"
"""What may stand before and inside a tag on its line: spaces, zero-width characters, a byte order mark."""


class _Undecided(Enum):
    MAYBE = "maybe"


Maybe = Literal[_Undecided.MAYBE]
MAYBE: Final = _Undecided.MAYBE


@dataclass(frozen=True, slots=True)
class Tag:
    """`end` is the position after its `>`. `empty` is how XML writes a block without content: `<execute/>`."""

    kind: Kind
    closing: bool
    empty: bool
    end: int


_NAME = "|".join(sorted(TAG_NAMES, key=len, reverse=True))
_NAME_BEGUN = "|".join(
    sorted({name[:length] for name in TAG_NAMES for length in range(1, len(name) + 1)}, key=len, reverse=True)
)
_TAG = re.compile(rf"<[{BLANKS}]*(/?)[{BLANKS}]*({_NAME})(?=[{BLANKS}/>])([^<>\n]*)>", re.IGNORECASE)
_TAG_BEGUN = re.compile(rf"<[{BLANKS}]*/?[{BLANKS}]*(?:(?:{_NAME})[{BLANKS}/][^<>\n]*|{_NAME_BEGUN})?\Z", re.IGNORECASE)
_JSON = re.compile(rf"[{BLANKS}\n]*(?:(?:`{{3,}}|~{{3,}})\w*[{BLANKS}\n]*)?([\[{{])")
_JSON_BEGUN = re.compile(rf"[{BLANKS}\n]*(?:`{{1,2}}|~{{1,2}}|(?:`{{3,}}|~{{3,}})\w*[{BLANKS}\n]*)?\Z")
_FENCE = re.compile(r"(?:(`{3,})[^`\n]*|(~{3,})[^\n]*)\n")
_FENCE_BEGUN = re.compile(r"(?:`{1,2}|~{1,2}|`{3,}[^`\n]*|~{3,}[^\n]*)\Z")
_CUT_LETTERS = 2
"""Of a name: a shorter one is as likely "a < b"."""
_FENCE_END_CHARS = 200
_FENCE_END_BEGUN = re.compile(rf"[{BLANKS}]{{0,64}}(?:`*|~*)[{BLANKS}]{{0,64}}")
_REST_OF_LINE = re.compile(rf"[{BLANKS}]*(\n|\Z)")

_CALL_KEYS = ("name", "tool", "tool_name", "function", "type")
_BODY_KEYS = {
    Kind.EXECUTE: _CALL_KEYS,
    Kind.WORKSPACE: (*WORKSPACE_FIELDS, "secure"),
    Kind.SUMMARY: SUMMARY_FIELDS,
    Kind.RESULTS: ("name", "status", "content", "tool"),
}
_FIRST_KEY = re.compile(r"""[\[{\s]*["'“]?(\w*)""")
_FIRST_NAME = re.compile(r"""\b(?:name|tool|tool_name|function)["'”]?\s*:\s*["'“]([^"'“”\n]{1,128})["'”]""")

TAG_LIKE: Final = re.compile(rf"<(?=[{BLANKS}/]*(?:{_NAME}|(?:{_NAME_BEGUN})?\Z))", re.IGNORECASE)
"""Every `<` that could begin a tag of ours, also when the text goes on later."""


def read_tag(text: str, start: int, limits: ParserLimits) -> Tag | Maybe | None:
    """The tag that begins at `text[start]`, which is `<`."""
    found = _TAG.match(text, start, start + limits.tag)
    if found:
        slash, name, attributes = found.groups()
        kind = TAG_NAMES[name.lower()]
        return Tag(kind, closing=bool(slash), empty=attributes.rstrip(BLANKS).endswith("/"), end=found.end())
    if len(text) - start < limits.tag and _TAG_BEGUN.match(text, start):
        return MAYBE
    return None


def read_json_start(text: str, start: int, kind: Kind, limits: ParserLimits) -> int | Maybe | None:
    """Where the JSON of a block begins whose opening tag ends at `start`; a fence may stand before it."""
    found = _JSON.match(text, start, start + limits.gap)
    if found:
        return found.start(1) if found[1] == "{" or kind in (Kind.EXECUTE, Kind.RESULTS) else None
    if len(text) - start < limits.gap and _JSON_BEGUN.match(text, start):
        return MAYBE
    return None


def read_typical_start(
    text: str, start: int, kind: Kind, limits: ParserLimits, is_tool: Callable[[str], bool]
) -> int | Maybe | None:
    """As `read_json_start`, but only if the JSON begins as blocks of this kind do, calls with the name of a real tool."""
    begin = read_json_start(text, start, kind, limits)
    if begin is None or begin is MAYBE or kind is Kind.THINK:
        return begin
    end = begin + limits.head
    key = _FIRST_KEY.match(text, begin, end)
    if not key:
        return None
    if key.end() == len(text) < end:
        return MAYBE if any(known.startswith(key[1]) for known in _BODY_KEYS[kind]) else None
    if key[1] not in _BODY_KEYS[kind]:
        return None
    if kind is not Kind.EXECUTE:
        return begin
    name = _FIRST_NAME.search(text, begin, end)
    if name:
        return begin if is_tool(name[1].strip()) else None
    return MAYBE if len(text) < end else None


def read_fence(text: str, start: int, limits: ParserLimits) -> tuple[str, int] | Maybe | None:
    """The fence whose line begins at `start`: its marker, and the position after its line break."""
    found = _FENCE.match(text, start, start + limits.fence)
    if found:
        return found[1] or found[2], found.end()
    if len(text) - start < limits.fence and _FENCE_BEGUN.match(text, start):
        return MAYBE
    return None


class OpenFence:
    """A code fence. Everything in it is text, which is said at once; only where it ends has to be noticed."""

    def __init__(self, marker: str, line: str | None = "") -> None:
        """`line`: what its last line holds already."""
        self._marker = marker
        self._line = line
        self.closed = False

    def feed(self, text: str, start: int) -> int:
        """The position after the next line break, or after the text."""
        line_break = text.find("\n", start)
        end = line_break if line_break >= 0 else len(text)
        if self._line is not None and end > start:
            line = self._line + text[start:end]
            self._line = line if len(line) <= _FENCE_END_CHARS and _FENCE_END_BEGUN.fullmatch(line) else None
        if line_break < 0:
            return end
        self.closed = self._line is not None and self._line.strip(BLANKS).startswith(self._marker)
        self._line = ""
        return line_break + 1


def read_fence_end(text: str, start: int, marker: str, limits: ParserLimits) -> int | Maybe | None:
    """The position after the line that closes the fence, if its marker stands at `start`."""
    end = start
    while text[end : end + 1] == marker[0]:
        end += 1
    end = skip_blanks(text, end)
    if end == len(text):
        return MAYBE if end - start < limits.fence else None
    return end + 1 if text[end] == "\n" and text.startswith(marker, start) else None


def unclosed_fence(text: str) -> str | None:
    """The marker of the fence in which this text ends, if it ends in one."""
    marker, fence = "", None
    for line in text.rstrip("\n").split("\n"):
        if fence is None:
            start = skip_blanks(line, 0)
            read = read_fence(f"{line}\n", start, ParserLimits()) if line[start : start + 1] in ("`", "~") else None
            if isinstance(read, tuple):
                marker, fence = read[0], OpenFence(read[0])
        else:
            fence.feed(f"{line}\n", 0)
            fence = None if fence.closed else fence
    return marker if fence else None


def ends_line(text: str, start: int, limits: ParserLimits) -> bool | Maybe:
    """Do only blanks follow on this line?"""
    found = _REST_OF_LINE.match(text, start, start + limits.gap)
    if not found or (not found[1] and len(text) - start >= limits.gap):
        return False
    return True if found[1] else MAYBE


def skip_blanks(text: str, start: int, blanks: str = BLANKS) -> int:
    """The position of the first character that is not blank."""
    while start < len(text) and text[start] in blanks:
        start += 1
    return start


def cut_tag(held: str, limits: ParserLimits, *, at_line_start: bool) -> bool:
    """Is `held`, with which the stream ends, a tag of ours that the end has cut off from its block?"""
    cut = held.strip(BLANKS + "\n")
    if not cut.startswith("<"):
        return False
    tag = read_tag(cut, 0, limits)
    if isinstance(tag, Tag):
        rest = cut[tag.end :].lstrip(BLANKS + "\n`~")
        return (not rest and tag.kind is not Kind.SUMMARY and at_line_start) or rest.startswith(("[", "{"))
    return at_line_start and len(cut.lstrip("</" + BLANKS)) >= _CUT_LETTERS and tag is MAYBE
