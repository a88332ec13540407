"""What begins here? The decisions of the parser, one for each place where something can begin. Pure.

Above: `agent.protocol.parser`, `agent.protocol.trial`. Below: `agent.protocol.tags`, `agent.protocol.fences`.

Each answer is a value that the parser acts on, or MAYBE: the text ends before it is known.
"""

from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from typing import TypeAlias

from agent.events import Violation
from agent.protocol.blocks import Opening, Where
from agent.protocol.fences import read_fence, read_item_fence
from agent.protocol.grammar import Kind, ParserLimits
from agent.protocol.native import NativeOpening, read_native
from agent.protocol.output import Gap
from agent.protocol.tags import (
    BLANKS,
    MAYBE,
    Maybe,
    Tag,
    ends_line,
    read_call_in_words,
    read_json_after_prose,
    read_json_start,
    read_notes,
    read_tag,
    read_typical_json,
    skip_blanks,
)

QUOTES = "`'\"“‘«"
"""Before a tag in the middle of a line: somebody writes about tags."""

_MISTRAL = "[TOOL_CALLS]"


@dataclass(frozen=True, slots=True)
class Text:
    """No block: say it up to `end`. `about` is the block that it writes about."""

    end: int
    about: Kind | None = None


@dataclass(frozen=True, slots=True)
class Orphan:
    """A tag without a block: it is not shown."""

    kind: Kind
    end: int
    gap: Gap


@dataclass(frozen=True, slots=True)
class Fence:
    """A code fence whose line ends at `end`."""

    marker: str
    end: int


Beginning: TypeAlias = Text | Orphan | Fence | Opening | NativeOpening


@dataclass(frozen=True, slots=True)
class Openings:
    limits: ParserLimits
    tool_names: frozenset[str] | None
    """None if every name may be a tool's."""

    def is_tool(self, name: str) -> bool:
        """Does a tool of this name exist?"""
        return self.tool_names is None or name in self.tool_names

    def is_named_tool(self, name: str) -> bool:
        """As `is_tool`, but a name has to be known: out of place, any other one is an example."""
        return self.tool_names is not None and name in self.tool_names

    def at_line_start(self, text: str, start: int, talked_about: AbstractSet[Kind]) -> Beginning | Maybe:
        """At the first character of a line that is not blank, or behind a closing tag."""
        native = self._mistral(text, start) or read_native(text, start, "", QUOTES, self.is_named_tool)
        match text[start]:
            case "<" | "[" if native is not None:
                return native
            case "<":
                return self._tag(text, start, talked_about)
            case "`" | "~":
                return self._fence(text, start)
            case "[" | "{":
                return self.fenced(text, start, Where.WITHOUT_TAG) or Text(start + 1)
            case _:
                fence = read_item_fence(text, start, self.limits)
                if fence is MAYBE:
                    return MAYBE
                return Fence(*fence) if isinstance(fence, tuple) else Text(start + 1)

    def in_line(self, text: str, start: int, before: str, talked_about: AbstractSet[Kind]) -> Beginning | Maybe:
        """At a `<` in the middle of a line, behind the character `before`."""
        native = read_native(text, start, before, QUOTES, self.is_named_tool)
        if native is not None:
            return native
        tag = read_tag(text, start, self.limits)
        if tag is None:
            return Text(start + 1)
        if tag is MAYBE:
            return MAYBE
        if tag.closing:
            return self._closing_in_line(text, tag, before, talked_about)
        if before in QUOTES:
            return Text(tag.end, tag.kind)
        if tag.kind is Kind.THINK:
            return self._thoughts_in_line(text, tag)
        begin = read_typical_json(text, tag.end, tag.kind, self.limits, self.is_tool)
        if begin is None:
            return Text(tag.end, tag.kind)
        return MAYBE if begin is MAYBE else self._misplaced(text, tag, begin)

    def fenced(self, text: str, start: int, where: Where, marker: str = "") -> Opening | Maybe | None:
        """At the beginning of a fence, or of a line: a workspace, or calls with their tag or without."""
        tagged = text[start : start + 1] not in ("[", "{")
        if not tagged:
            if self.tool_names is None:
                return None
            tag = Tag(Kind.EXECUTE, closing=False, empty=False, end=start)
        else:
            tag = read_tag(text, start, self.limits)
            if not isinstance(tag, Tag):
                return tag
            if tag.closing or tag.kind not in (Kind.WORKSPACE, Kind.EXECUTE):
                return None
        begin = read_typical_json(text, tag.end, tag.kind, self.limits, self.is_tool)
        if not isinstance(begin, int):
            return begin
        opening = self._misplaced(text, tag, begin)
        violation = Violation.CALLS_FENCED if marker else Violation.TAG_MISPLACED
        return replace(opening, where=where, tagged=tagged, marker=marker, violation=violation)

    def _mistral(self, text: str, start: int) -> Opening | Maybe | None:
        """Calls as in `<execute>`, behind a token instead of a tag."""
        if not text.startswith(_MISTRAL, start):
            return None
        begin = read_typical_json(text, start + len(_MISTRAL), Kind.EXECUTE, self.limits, self.is_named_tool)
        if not isinstance(begin, int):
            return begin
        return Opening(Kind.EXECUTE, begin, violation=Violation.TAG_MISPLACED)

    def _tag(self, text: str, start: int, talked_about: AbstractSet[Kind]) -> Beginning | Maybe:
        tag = read_tag(text, start, self.limits)
        if tag is None:
            return Text(start + 1)
        if tag is MAYBE:
            return MAYBE
        if tag.closing:
            return Text(tag.end) if tag.kind in talked_about else Orphan(tag.kind, tag.end, Gap.OWN_LINE)
        if tag.kind is Kind.THINK:
            return Orphan(tag.kind, tag.end, Gap.OWN_LINE) if tag.empty else Opening(tag.kind, tag.end, json=False)
        begin = read_json_start(text, tag.end, tag.kind, self.limits)
        if begin is None:
            return self._tag_without_json(text, tag)
        return MAYBE if begin is MAYBE else Opening(tag.kind, begin, fenced=_is_fenced(text, tag, begin))

    def _tag_without_json(self, text: str, tag: Tag) -> Beginning | Maybe:
        if tag.empty:
            return Orphan(tag.kind, tag.end, Gap.OWN_LINE)
        if tag.kind is Kind.RESULTS:
            return Opening(tag.kind, tag.end, json=False)
        inside = skip_blanks(text, tag.end, BLANKS + "\n")
        end = read_tag(text, inside, self.limits) if inside - tag.end < self.limits.gap else None
        if end is MAYBE:
            return MAYBE
        if end and end.closing and end.kind is tag.kind:
            return Orphan(tag.kind, end.end, Gap.OWN_LINE)
        if tag.kind is Kind.EXECUTE:
            begin = read_json_after_prose(text, tag.end, self.limits, self.is_tool)
            if isinstance(begin, int):
                return self._misplaced(text, tag, begin)
            words = read_call_in_words(text, tag.end, self.limits, self.is_named_tool)
            if words is True:
                return Opening(tag.kind, tag.end, json=False, violation=Violation.TAG_MISPLACED)
            return MAYBE if MAYBE in (begin, words) else Text(tag.end, tag.kind)
        if tag.kind is Kind.WORKSPACE:
            notes = read_notes(text, tag.end, self.limits)
            if notes is not False:
                return MAYBE if notes is MAYBE else Opening(tag.kind, tag.end, json=False)
        return Text(tag.end, tag.kind)

    def _misplaced(self, text: str, tag: Tag, begin: int) -> Opening:
        fenced = _is_fenced(text, tag, begin)
        return Opening(tag.kind, begin, Where.IN_LINE, fenced=fenced, violation=Violation.TAG_MISPLACED)

    def _fence(self, text: str, start: int) -> Beginning | Maybe:
        fence = read_fence(text, start, self.limits)
        if fence is None:
            return Text(start + 1)
        if fence is MAYBE:
            return MAYBE
        marker, end = fence
        inside = skip_blanks(text, end, BLANKS + "\n")
        if inside - end >= self.limits.gap:
            return Fence(marker, end)
        if inside == len(text):
            return MAYBE
        return self.fenced(text, inside, Where.IN_FENCE, marker) or Fence(marker, end)

    def _closing_in_line(self, text: str, tag: Tag, before: str, talked_about: AbstractSet[Kind]) -> Beginning | Maybe:
        """`</think>` that touches the words before it, or ends its line, was meant as one."""
        if tag.kind is not Kind.THINK or tag.kind in talked_about or before in QUOTES:
            return Text(tag.end)
        meant = before not in BLANKS or ends_line(text, tag.end, self.limits)
        if meant is MAYBE:
            return MAYBE
        return Orphan(tag.kind, tag.end, Gap.IN_LINE) if meant else Text(tag.end)

    def _thoughts_in_line(self, text: str, tag: Tag) -> Beginning | Maybe:
        """`<think>` that ends its line was meant as one."""
        match ends_line(text, tag.end, self.limits):
            case True:
                return Opening(tag.kind, tag.end, json=False, violation=Violation.TAG_MISPLACED)
            case False:
                return Text(tag.end, tag.kind)
            case maybe:
                return maybe


def _is_fenced(text: str, tag: Tag, begin: int) -> bool:
    return any(character in "`~" for character in text[tag.end : begin])
