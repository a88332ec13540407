"""The parser's decisions about what begins at a position. Pure.

Each decision is a value that the parser acts on, or MAYBE if the text ends too early to decide.
"""

import re
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from enum import Enum, auto
from typing import Final, TypeAlias

import regex

from agent.events import CallsArrived, CallsRejected, ProtocolEvent, ReplyEnded, TextArrived, Violation, ViolationFound
from agent.protocol import grammar
from agent.protocol.blocks import IN_BLOCKS, Corrections, Opening, read_calls_of
from agent.protocol.foreign_calls import read_foreign_calls
from agent.protocol.grammar import BlockKind, BlockPlace, ParserLimits
from agent.protocol.json_text import Unreadable
from agent.protocol.native import (
    MARKER_BEGIN,
    SPOKEN_BEGIN,
    Form,
    NativeOpening,
    read_code_element,
    read_native,
    read_plain_call,
    read_spoken,
)

# --------------------------------------------------------------------------------------------------
# The output of a parser: text and events in order, without the whitespace that a removed block leaves. Pure.
#
# Rules.
# - A block on its own lines is removed with its last line break. Before the first visible text, blank lines that follow
#   a block are removed, too. Everywhere else the text is the model's, character for character.
# - After `<summary>` opened, no text is visible any more: the reply is complete.


class Gap(Enum):
    """The position after something was removed from the text; it decides which whitespace is removed."""

    NONE = auto()
    IN_LINE = auto()
    """After it, in a line that had text before: blanks are removed."""
    OWN_LINE = auto()
    """After it, in a line without other text: blanks and the line break are removed."""
    NO_TEXT_YET = auto()
    """On a later line, with no visible text before: blank lines are removed."""


class Output:
    """Collects the visible text and the events of a parser."""

    def __init__(self) -> None:
        self.gap = Gap.NONE
        self.has_visible_text = False  # Text that is not blank was written
        self.after_token = False  # Nothing but blanks was written since a token was removed
        self.last = ""  # The last piece that was written
        self._events: list[ProtocolEvent] = []
        self._text: list[str] = []
        self._muted = False

    def write(self, text: str) -> None:
        """Add text as the model wrote it."""
        if not text:
            return
        self.last = text
        self.gap = Gap.NONE
        self.after_token = self.after_token and text.isspace()
        if self._muted:
            return
        self._text.append(text)
        self.has_visible_text = self.has_visible_text or not text.isspace()

    def feed_plain(self, text: str) -> list[ProtocolEvent] | None:
        """`write` and `take` in one, for printable text when nothing is pending; None if it may contain a tag."""
        if "<" in text or "[" in text or "{" in text:
            return None
        if not text or self._muted:
            self.last = text or self.last
            return []
        self.last = text
        self.has_visible_text = self.has_visible_text or not text.isspace()
        return [TextArrived(text)]

    def write_line_start(self, blanks: str, text: str) -> None:
        """Add the first text of a line or after a block, and the blanks before it."""
        if self.gap in (Gap.IN_LINE, Gap.OWN_LINE):
            blanks = ""
        self.write(blanks + text)

    def write_blank_line(self, blanks: str) -> None:
        """Add a line break after nothing but blanks since the last line break or block."""
        match self.gap:
            case Gap.NONE:
                self.write(blanks + "\n")
            case Gap.IN_LINE:
                self.write("\n")
            case Gap.OWN_LINE | Gap.NO_TEXT_YET:
                self.gap = Gap.NONE if self.has_visible_text else Gap.NO_TEXT_YET

    def emit(self, event: ProtocolEvent) -> None:
        if self._text:
            self._flush()
        if isinstance(event, ReplyEnded):
            if self._muted:
                return
            self._muted = True
        self._events.append(event)

    def take_events(self) -> list[ProtocolEvent]:
        """Return the events since the last call."""
        if self._text:
            self._flush()
        events, self._events = self._events, []
        return events

    def _flush(self) -> None:
        self._events.append(TextArrived("".join(self._text)))
        self._text.clear()


def ends_stream(event: ProtocolEvent) -> bool:
    return isinstance(event, CallsArrived | CallsRejected)


QUOTES = "`'\"“‘«"  # A tag after one of these in the middle of a line is only mentioned
_SENTENCE_ENDS: Final = ".!?…。！？"  # A token of a call that touches one of these is written by a model, not in a text
CODE_INDENT: Final = 4  # As in Markdown: lines that are indented so are code


@dataclass(frozen=True, slots=True)
class Text:
    """Text up to `end`, no block. `about` is the kind of the block that it mentions."""

    end: int
    about: BlockKind | None = None


@dataclass(frozen=True, slots=True)
class Orphan:
    """A tag without a block, which is not shown."""

    kind: BlockKind
    end: int
    gap: Gap


@dataclass(frozen=True, slots=True)
class FenceFound:
    """A code fence whose line ends at `end`."""

    marker: str
    end: int


@dataclass(frozen=True, slots=True)
class PlainCall:
    """A call without any marker, from `begin` to `end`. `marker`: of the fence around it. `tagged`: the fence says that
    it holds calls.
    """

    begin: int
    end: int
    where: BlockPlace
    marker: str = ""
    tagged: bool = False


@dataclass(frozen=True, slots=True)
class ElementFound:
    """An element of HTML that holds code or a quotation, whose opening tag ends at `end`."""

    element: grammar.OpenElement
    end: int


@dataclass(frozen=True, slots=True)
class Unwrapped:
    """Words of the answer in a tag that holds no call: they are text, without the tag and the one that closes it."""

    words: str
    end: int


Beginning: TypeAlias = Text | Orphan | Unwrapped | FenceFound | ElementFound | Opening | NativeOpening | PlainCall


@dataclass(frozen=True, slots=True)
class Openings:
    limits: ParserLimits
    tool_names: frozenset[str] | None
    """None if every name may be a tool's."""
    corrections: Corrections = IN_BLOCKS
    is_whole: bool = False
    """Whether no more text follows."""

    @property
    def begins_line(self) -> frozenset[str]:
        """The characters that may begin anything but text at the start of a line."""
        names = self.tool_names or frozenset[str]()
        words = SPOKEN_BEGIN | _HEADING_BEGIN | {"p"} | {name[0] for name in names} if names else frozenset[str]()
        return frozenset(grammar.BLANKS + "\n`~{-*+0123456789" + MARKER_BEGIN) | words

    def is_tool(self, name: str) -> bool:
        """Return whether a tool of this name may exist."""
        return self.tool_names is None or name in self.tool_names

    def is_named_tool(self, name: str) -> bool:
        """Return whether a tool of this name surely exists: in the wrong place, a call of any other is an example."""
        return self.tool_names is not None and name in self.tool_names

    def may_be_named_tool(self, beginning: str) -> bool:
        return self.tool_names is not None and any(name.startswith(beginning) for name in self.tool_names)

    def at_line_start(
        self, text: str, start: int, mentioned: AbstractSet[BlockKind], blanks: str = "", *, begun: bool = False
    ) -> Beginning | grammar.Maybe:
        """Decide at the first character of a line that is not blank, or after a closing tag. `blanks`: before it;
        `begun`: whether words of the answer stand before it.
        """
        if text[start] == "<" and (element := self._code_element(text, start)) is not None:
            return element
        beginning = self._begins(text, start, mentioned, begun=begun)
        if not blanks or not ("\t" in blanks or len(blanks) >= CODE_INDENT):
            return beginning
        if isinstance(beginning, NativeOpening) and beginning.form is not Form.CALLS:
            return Text(start + 1)
        return _quoted(beginning, text, start)

    def _code_element(self, text: str, start: int) -> ElementFound | grammar.Maybe | None:
        found = read_code_element(text, start, is_whole=self.is_whole)
        return ElementFound(*found) if isinstance(found, tuple) else found

    def _begins(
        self, text: str, start: int, mentioned: AbstractSet[BlockKind], *, begun: bool
    ) -> Beginning | grammar.Maybe:
        if text[start] in _HEADING_BEGIN and (headed := self._headed(text, start)) is not None:
            return headed
        match text[start]:
            case "<" | "[" | "◁" if (native := self._native(text, start, "")) is not None:
                return native
            case character if character.isalpha() or character in ">✿":
                return self._words(text, start)
            case "<":
                return self._tag(text, start, mentioned, begun=begun)
            case "`" | "~":
                return self._fence(text, start, mentioned, begun=begun)
            case "[" | "{":
                return (
                    self._forged(text, start)
                    or self.fenced(text, start, BlockPlace.WITHOUT_TAG)
                    or (None if begun else self._unasked(text, start, BlockPlace.WITHOUT_TAG))
                    or self.plain_call(text, start, BlockPlace.WITHOUT_TAG)
                    or Text(start + 1)
                )
            case _:
                fence = grammar.read_item_fence(text, start, self.limits)
                if fence is grammar.MAYBE:
                    return grammar.MAYBE
                return FenceFound(*fence) if isinstance(fence, tuple) else Text(start + 1)

    def in_line(
        self, text: str, start: int, before: str, mentioned: AbstractSet[BlockKind]
    ) -> Beginning | grammar.Maybe:
        """Decide at a `<`, `[` or `{` in the middle of a line, after the character `before`."""
        # After a quote or backtick the tag is spoken about, not used.
        may_begin_code = text[start] == "<" and (not before or before not in QUOTES)
        if may_begin_code and (element := self._code_element(text, start)) is not None:
            return element
        native = self._native(text, start, before)
        if native is not None:
            # Models go from a finished sentence straight into a call; in the middle of a sentence the token is only
            # mentioned.
            is_meant = isinstance(native, NativeOpening) and before in _SENTENCE_ENDS and native.is_token
            return native if is_meant else _quoted(native, text, start)
        if text[start] in "[{":
            return self.fenced(text, start, BlockPlace.QUOTED) or Text(start + 1)
        tag = grammar.read_tag(text, start, self.limits)
        if tag is None:
            return Text(start + 1)
        if tag is grammar.MAYBE:
            return grammar.MAYBE
        if tag.closing:
            return self._closing_in_line(text, tag, before, mentioned)
        if before in QUOTES:
            quoted = self.fenced(text, start, BlockPlace.QUOTED) if tag.kind is BlockKind.EXECUTE else None
            return quoted or Text(tag.end, tag.kind)
        if tag.kind is BlockKind.THINK:
            return self._thoughts_in_line(text, tag)
        # Within a line only JSON that can be nothing else makes a tag a block: an answer may explain the protocol.
        begin = grammar.read_typical_json(text, tag.end, tag.kind, self.limits, self.is_tool)
        if begin is None:
            return Text(tag.end, tag.kind)
        return grammar.MAYBE if begin is grammar.MAYBE else _quoted(self._misplaced(text, tag, begin), text, start)

    def fenced(self, text: str, start: int, where: BlockPlace, marker: str = "") -> Opening | grammar.Maybe | None:
        """Decide at the beginning of a fence or a line: a workspace, or calls with or without their tag."""
        tagged = text[start : start + 1] not in ("[", "{")
        if not tagged:
            if self.tool_names is None:
                return None
            tag = grammar.Tag(BlockKind.EXECUTE, closing=False, empty=False, end=start)
        else:
            tag = grammar.read_tag(text, start, self.limits)
            if not isinstance(tag, grammar.Tag):
                return tag
            if tag.closing or tag.kind not in (BlockKind.WORKSPACE, BlockKind.EXECUTE):
                return None
        begin = grammar.read_typical_json(text, tag.end, tag.kind, self.limits, self.is_tool)
        if not isinstance(begin, int):
            return begin
        opening = self._misplaced(text, tag, begin)
        violation = Violation.CALLS_FENCED if marker else Violation.TAG_MISPLACED
        return replace(opening, where=where, tagged=tagged, marker=marker, violation=violation)

    def _unasked(self, text: str, start: int, where: BlockPlace, marker: str = "") -> Opening | grammar.Maybe | None:
        """A workspace or a summary without its tag, or a call of a tool that does not exist, before any word of the
        answer. The first two are doubtful until their fields have come.
        """
        if self.tool_names is None or text[start] not in "[{":
            return None
        for kind in (BlockKind.WORKSPACE, BlockKind.SUMMARY):
            begin = grammar.read_typical_json(text, start, kind, self.limits, self.is_tool)
            if begin is not None:
                return self._untagged(kind, begin, where, marker) if isinstance(begin, int) else begin
        name = grammar.read_called_name(text, start, self.limits, self.is_tool)
        if not isinstance(name, str):
            return name
        opening = self._untagged(BlockKind.EXECUTE, start, where, marker)
        if self.is_tool(name):
            return opening
        return replace(opening, rejected=self.corrections.unknown_tool(name, sorted(self.tool_names)))

    def _forged(self, text: str, start: int) -> Opening | grammar.Maybe | None:
        """Results without their tag, which the model invents, of a tool that certainly exists."""
        name = grammar.read_result_of(text, start, self.limits)
        if not isinstance(name, str):
            return None if self.is_whole else name
        return self._untagged(BlockKind.RESULTS, start, BlockPlace.WITHOUT_TAG) if self.is_named_tool(name) else None

    def _untagged(
        self, kind: BlockKind, begin: int, where: BlockPlace, marker: str = "", *, fenced: bool = False
    ) -> Opening:
        violation = Violation.CALLS_FENCED if marker else Violation.TAG_MISPLACED
        return Opening(kind, begin, where, fenced=fenced, tagged=False, marker=marker, violation=violation)

    def _headed(self, text: str, start: int) -> Opening | grammar.Maybe | None:
        """A block below its name in place of its tag: `**workspace**`, `execute:`."""
        match = _HEADING.match(text, start, partial=True)
        if self.tool_names is None or match is None:
            return None
        if match.partial:
            return None if self.is_whole else grammar.MAYBE
        kind = BlockKind(match["kind"].lower())
        return self._behind(text, match.end(), kind, fenced=bool(match["fence"]))

    def _wrapped(self, text: str, start: int) -> Opening | grammar.Maybe | None:
        """A call in a tag of any name: `<json>`, `<执行>`."""
        match = _ANY_TAG.match(text, start, partial=True)
        if self.tool_names is None or match is None:
            return None
        if match.partial:
            return None if self.is_whole else grammar.MAYBE
        return self._behind(text, match.end(), BlockKind.EXECUTE, fenced=bool(match["fence"]))

    def _behind(self, text: str, end: int, kind: BlockKind, *, fenced: bool) -> Opening | grammar.Maybe | None:
        begin = grammar.read_typical_json(text, end, kind, self.limits, self.is_tool)
        if not isinstance(begin, int):
            return begin
        return self._untagged(kind, begin, BlockPlace.WITHOUT_TAG, fenced=fenced)

    def _native(self, text: str, start: int, before: str) -> Beginning | grammar.Maybe | None:
        """Calls, thoughts or tokens in another form that the model was trained on."""
        return read_native(text, start, before, QUOTES, self.is_named_tool, self.limits, is_whole=self.is_whole)

    def _words(self, text: str, start: int) -> Beginning | grammar.Maybe:
        """A call that begins with a word, or text."""
        spoken = read_spoken(text, start, self.is_named_tool)
        return spoken or self.plain_call(text, start, BlockPlace.WITHOUT_TAG) or Text(start + 1)

    def plain_call(
        self, text: str, start: int, where: BlockPlace, marker: str = ""
    ) -> PlainCall | grammar.Maybe | None:
        end = read_plain_call(text, start, self.is_named_tool, self.may_be_named_tool)
        return PlainCall(start, end, where, marker) if isinstance(end, int) else end

    def read_plain(self, call: PlainCall, text: str) -> list[ProtocolEvent]:
        """Return the events of a call without a marker."""
        misplaced = ViolationFound(Violation.TAG_MISPLACED, "execute")
        text = text[call.begin : call.end]
        if self.corrections.no_tag and not call.tagged:
            return [misplaced, CallsRejected(self.corrections.no_tag)]
        try:
            calls = read_foreign_calls(text, self.is_named_tool, self.limits)
        except Unreadable as error:
            return [misplaced, self.corrections.unreadable(str(error))]
        return [misplaced, read_calls_of(calls, self.limits, self.corrections)]

    def _tag(
        self, text: str, start: int, mentioned: AbstractSet[BlockKind], *, begun: bool
    ) -> Beginning | grammar.Maybe:
        tag = grammar.read_tag(text, start, self.limits)
        if tag is None:
            return self._wrapped(text, start) or Text(start + 1)
        if tag is grammar.MAYBE:
            return grammar.MAYBE
        if tag.closing:
            return Text(tag.end) if tag.kind in mentioned else Orphan(tag.kind, tag.end, Gap.OWN_LINE)
        if tag.kind is BlockKind.THINK:
            return Orphan(tag.kind, tag.end, Gap.OWN_LINE) if tag.empty else Opening(tag.kind, tag.end, json=False)
        begin = grammar.read_json_start(text, tag.end, tag.kind, self.limits)
        if begin is None:
            return self._tag_without_json(text, tag, begun=begun)
        return (
            grammar.MAYBE if begin is grammar.MAYBE else Opening(tag.kind, begin, fenced=_is_fenced(text, tag, begin))
        )

    def _tag_without_json(self, text: str, tag: grammar.Tag, *, begun: bool) -> Beginning | grammar.Maybe:
        if tag.empty:
            return Orphan(tag.kind, tag.end, Gap.OWN_LINE)
        # Results come from us. If a model writes some, they are invented, so the block is removed whatever it holds.
        if tag.kind is BlockKind.RESULTS:
            return Opening(tag.kind, tag.end, json=False)
        # A pair of tags around nothing is left out; only blanks up to the gap are searched, to hold back no text for
        # long.
        inside = grammar.skip_blanks(text, tag.end, grammar.BLANKS + "\n")
        end = grammar.read_tag(text, inside, self.limits) if inside - tag.end < self.limits.gap else None
        if end is grammar.MAYBE:
            return grammar.MAYBE
        if end and end.closing and end.kind is tag.kind:
            return Orphan(tag.kind, end.end, Gap.OWN_LINE)
        if tag.kind is BlockKind.EXECUTE:
            # "<execute>I will look it up: {…}": a call that has a sentence before it is a call all the same.
            begin = grammar.read_json_after_prose(text, tag.end, self.limits, self.is_tool)
            if isinstance(begin, int):
                return self._misplaced(text, tag, begin)
            code = grammar.read_call_in_code(text, tag.end, self.limits, self.is_named_tool)
            if code is True:
                return Opening(tag.kind, tag.end, json=False, violation=Violation.TAG_MISPLACED)
            if grammar.MAYBE in (begin, code) and not self.is_whole:
                return grammar.MAYBE
            return self._words_in_tag(text, tag, inside)
        if tag.kind is BlockKind.WORKSPACE:
            # Some models write the workspace as lines of notes: removed like JSON, since nobody is to read it.
            notes = grammar.read_notes(text, tag.end, self.limits)
            if notes is not False:
                return grammar.MAYBE if notes is grammar.MAYBE else Opening(tag.kind, tag.end, json=False)
        if tag.kind is BlockKind.SUMMARY and begun:
            # A summary of the conversation in words, behind the answer
            is_last = grammar.read_last_summary(text, tag.end, self.limits)
            if is_last is not False and not self.is_whole:
                return grammar.MAYBE
            if is_last is True:
                return Opening(tag.kind, tag.end, json=False)
        return Text(tag.end, tag.kind)

    def _words_in_tag(self, text: str, tag: grammar.Tag, inside: int) -> Beginning | grammar.Maybe:
        """Decide about `<execute>` before anything but JSON, which begins at `inside`."""
        if inside < len(text) and text[inside] == "<":
            # Another tag, or a call in another form: the first one says nothing more.
            other = grammar.read_tag(text, inside, self.limits) or self._native(text, inside, "")
            if other is grammar.MAYBE and not self.is_whole:
                return grammar.MAYBE
            if isinstance(other, grammar.Tag | NativeOpening):
                return Orphan(tag.kind, tag.end, Gap.OWN_LINE)
        words = grammar.read_words(text, tag.end, self.limits)
        if words is grammar.MAYBE:
            if not self.is_whole:
                return grammar.MAYBE
            # The vendor's stop sequence has cut off the closing tag.
            return self._with_tool(tag, text[tag.end :]) or Text(tag.end, tag.kind)
        if words is None:
            return Text(tag.end, tag.kind)
        said, end = words
        if grammar.SAYS_NOTHING.fullmatch(said):
            return Orphan(tag.kind, end, Gap.OWN_LINE)
        return self._with_tool(tag, said) or Unwrapped(said.strip(), end)

    def _with_tool(self, tag: grammar.Tag, said: str) -> Opening | None:
        """Words with the name of a tool are a call that cannot be read."""
        if not any(self.is_named_tool(word) for word in _TOOL_WORD.findall(said)):
            return None
        return Opening(tag.kind, tag.end, json=False, violation=Violation.TAG_MISPLACED)

    def _misplaced(self, text: str, tag: grammar.Tag, begin: int) -> Opening:
        fenced = _is_fenced(text, tag, begin)
        return Opening(tag.kind, begin, BlockPlace.IN_LINE, fenced=fenced, violation=Violation.TAG_MISPLACED)

    def _fence(
        self, text: str, start: int, mentioned: AbstractSet[BlockKind], *, begun: bool
    ) -> Beginning | grammar.Maybe:
        fence = grammar.read_fence(text, start, self.limits)
        if fence is None:
            # A whole call in one backtick.
            quoted = self.in_line(text, start + 1, "`", mentioned) if text[start + 1 : start + 2] in "<[{" else None
            return quoted if isinstance(quoted, Opening) or quoted is grammar.MAYBE else Text(start + 1)
        if fence is grammar.MAYBE:
            return grammar.MAYBE
        marker, end = fence
        inside = grammar.skip_blanks(text, end, grammar.BLANKS + "\n")
        if inside - end >= self.limits.gap:
            return FenceFound(marker, end)
        if inside == len(text):
            return grammar.MAYBE
        tagged = "tool" in text[start:end]  # ```tool_code, the form of Gemini and Gemma
        if text[inside].isalpha() or (text[inside] == "[" and text[inside + 1 : inside + 2].isalpha()):
            beginning = self.plain_call(text, inside, BlockPlace.IN_FENCE, marker)
        else:
            beginning = self.fenced(text, inside, BlockPlace.IN_FENCE, marker)
            if beginning is None and not begun:
                beginning = self._unasked(text, inside, BlockPlace.IN_FENCE, marker)
        if tagged and isinstance(beginning, PlainCall | Opening):
            beginning = replace(beginning, tagged=True)
        return beginning or FenceFound(marker, end)

    def _closing_in_line(
        self, text: str, tag: grammar.Tag, before: str, mentioned: AbstractSet[BlockKind]
    ) -> Beginning | grammar.Maybe:
        """A `</think>` that touches the word before it, or ends its line, is a tag; any other is text."""
        if tag.kind is not BlockKind.THINK or tag.kind in mentioned or before in QUOTES:
            return Text(tag.end)
        is_meant = before not in grammar.BLANKS or grammar.ends_line(text, tag.end, self.limits)
        if is_meant is grammar.MAYBE:
            return grammar.MAYBE
        return Orphan(tag.kind, tag.end, Gap.IN_LINE) if is_meant else Text(tag.end)

    def _thoughts_in_line(self, text: str, tag: grammar.Tag) -> Beginning | grammar.Maybe:
        """A `<think>` that ends its line is a tag; any other is text."""
        match grammar.ends_line(text, tag.end, self.limits):
            case True:
                return Opening(tag.kind, tag.end, json=False, violation=Violation.TAG_MISPLACED)
            case False:
                return Text(tag.end, tag.kind)
            case maybe:
                return maybe


_TOOL_WORD: Final = re.compile(r"[^\W\d][\w.-]{0,127}")
# The name of a block as a heading or a label, right before its JSON.
_HEADING: Final = regex.compile(
    r"[*_#]{0,6}[ ]?<?(?P<kind>workspace|execute|summary)>?[*_]{0,3}[ ]?[:(=]?[*_]{0,3}[ \t]{0,4}\n?\s{0,4}"
    r"(?P<fence>`{3}\w{0,8}\s{0,4})?(?=[\[{])",
    regex.IGNORECASE,
)
_HEADING_BEGIN: Final = frozenset("*_#wWeEsS")
# Names that are none of ours but of this kind, and those in other alphabets; others are HTML, and shown at once.
_ANY_TAG: Final = regex.compile(
    r"<(?:[^\x00-\x7f\s][^<>\n]{0,40}"
    r"|(?:json|exec(?:ute[sd:])?|run|command|cmd|request|output|api|use|do)(?:[ _-]\w{1,24})?)>"
    r"\s{0,16}(?P<fence>`{3}\w{0,8}\s{0,4})?(?=[\[{])"
)
_OWN_TAG: Final = re.compile(rf"[<{grammar.BLANKS}]{{1,80}}execute\b", re.IGNORECASE | re.ASCII)


def _quoted(beginning: Beginning | grammar.Maybe, text: str, start: int) -> Beginning | grammar.Maybe:
    """Mark a call in a foreign form that stands where a text shows one: behind other words of its line, or as code."""
    match beginning:
        case NativeOpening(form=Form.CALLS) | PlainCall():
            return replace(beginning, where=BlockPlace.QUOTED)
        case Opening(kind=BlockKind.EXECUTE) if _OWN_TAG.match(text, start) is None:
            return replace(beginning, where=BlockPlace.QUOTED, violation=Violation.TAG_MISPLACED)
        case _:
            return beginning


def _is_fenced(text: str, tag: grammar.Tag, begin: int) -> bool:
    return any(character in "`~" for character in text[tag.end : begin])
