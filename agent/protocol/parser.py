"""Reading what a model writes: text in, events out, however the text is cut. PURE.

Above: `agent.loop`. Below: `agent.protocol.tags`, `agent.protocol.blocks`, `agent.protocol.output`.
"""

import re
from enum import Enum, auto
from typing import assert_never

from agent.events import (
    CallsArrived,
    ProtocolEvent,
    ReplyEnded,
    TextArrived,
    ThoughtArrived,
    Violation,
    ViolationFound,
    WorkspaceArrived,
)
from agent.protocol.blocks import Block, Where
from agent.protocol.grammar import Kind, ParserLimits
from agent.protocol.json_text import SaneStream
from agent.protocol.output import Gap, Output, ends_stream
from agent.protocol.tags import (
    BLANKS,
    MAYBE,
    OpenFence,
    Tag,
    cut_tag,
    ends_line,
    read_fence,
    read_fence_end,
    read_json_start,
    read_tag,
    read_typical_start,
    skip_blanks,
)

_QUOTES = "`'\"“‘«"
"""Before a tag in the middle of a line: somebody writes about tags."""
_STOP = re.compile("[\n<]")
_SPECIAL = re.compile("[\n<\x00\ud800-\udfff]")


class _Mode(Enum):
    LINE_START = auto()
    TEXT = auto()
    FENCE = auto()
    BLOCK = auto()
    LINE_TRIAL = auto()
    FENCE_TRIAL = auto()
    AFTER_FENCE_TRIAL = auto()


class _Trial:
    """What may be blocks out of place, or text about blocks: both readings are kept until it is known."""

    def __init__(self, where: Where, raw: str, marker: str = "") -> None:
        self.where = where
        self.raw = [raw]
        self.marker = marker
        self.events: list[ProtocolEvent] = []

    @property
    def has_calls(self) -> bool:
        return any(ends_stream(event) for event in self.events)


class Parser:
    """Feed it the pieces of one model call's text, then `close` it.

    `tool_names`: the tools that exist; None if every name may be one.
    """

    def __init__(
        self,
        limits: ParserLimits = ParserLimits(),  # noqa: B008 -- frozen
        tool_names: frozenset[str] | None = None,
    ) -> None:
        self._limits = limits
        self._tool_names = tool_names
        self._sane = SaneStream()
        self._output = Output()
        self._mode = _Mode.LINE_START
        self._held = ""
        self._fence = OpenFence("```")
        self._block = Block(Kind.THINK, Where.IN_PLACE, limits, json=False)
        self._trial: _Trial | None = None
        self._talked_about: set[Kind] = set()
        self._rereads_thoughts = True
        self._halted = False

    @property
    def halted(self) -> bool:
        """Whatever still comes is discarded: the reader may stop the model."""
        return self._halted

    def feed(self, chunk: str) -> list[ProtocolEvent]:
        """What is known now. Adjacent text is one event."""
        if self._halted:
            return []
        self._run(self._held + self._sane.feed(chunk))
        return self._output.take()

    def close(self) -> list[ProtocolEvent]:
        """The stream has ended: what was still open."""
        if self._halted:
            return []
        self._run(self._held + self._sane.flush())
        if not self._halted:
            self._end_of_stream()
            self._halted = True
        return self._output.take()

    def _run(self, text: str) -> None:
        position = 0
        while position < len(text) and not self._halted:
            trial = self._trial
            used = self._step(text, position)
            if used is None:
                break
            if trial is not None and trial is self._trial:
                trial.raw.append(text[position:used])
            position = used
        self._held = text[position:]

    def _step(self, text: str, position: int) -> int | None:
        """Use some of `text[position:]`: the new position. None if that takes more text than there is."""
        match self._mode:
            case _Mode.LINE_START:
                return self._at_line_start(text, position)
            case _Mode.TEXT:
                return self._in_text(text, position)
            case _Mode.FENCE:
                return self._in_fence(text, position)
            case _Mode.BLOCK:
                return self._in_block(text, position)
            case _Mode.LINE_TRIAL:
                return self._after_line_trial(text, position)
            case _Mode.FENCE_TRIAL:
                return self._in_fence_trial(text, position)
            case _Mode.AFTER_FENCE_TRIAL:
                return self._after_fence_trial(text, position)
            case _:
                assert_never(self._mode)

    # Text

    def _at_line_start(self, text: str, position: int) -> int | None:
        start = skip_blanks(text, position)
        if start - position > self._limits.indent:
            return self._say_in_line(text, position, position + self._limits.indent)
        if start == len(text):
            return None
        match text[start]:
            case "\n":
                self._output.say_blank_line(text[position:start])
                return start + 1
            case "<":
                return self._at_bracket(text, position, start)
            case "`" | "~":
                return self._at_fence(text, position, start)
            case _:
                return self._say_in_line(text, position, start + 1)

    def _say_in_line(self, text: str, position: int, end: int) -> int:
        start = min(skip_blanks(text, position), end)
        self._output.say_line_start(text[position:start], text[start:end])
        self._mode = _Mode.TEXT
        return end

    def _in_text(self, text: str, position: int) -> int | None:
        found = _STOP.search(text, position)
        stop = found.start() if found else len(text)
        if stop > position:
            self._output.say(text[position:stop])
            return stop
        if text[stop] == "\n":
            self._output.say("\n")
            self._mode = _Mode.LINE_START
            return stop + 1
        tag = read_tag(text, stop, self._limits)
        if tag is MAYBE:
            return None
        if tag is None or self._output.last[-1:] in _QUOTES:
            return self._say_tag(text, stop, tag)
        return self._closing_in_line(text, stop, tag) if tag.closing else self._opening_in_line(text, stop, tag)

    def _say_tag(self, text: str, start: int, tag: Tag | None) -> int:
        """It is no tag here, but text."""
        if tag is not None and not tag.closing:
            self._talked_about.add(tag.kind)
        return self._say_in_line(text, start, tag.end if tag else skip_blanks(text, start) + 1)

    def _in_fence(self, text: str, position: int) -> int:
        end = self._fence.feed(text, position)
        self._output.say(text[position:end])
        if self._fence.closed:
            self._mode = _Mode.LINE_START
        return end

    # Tags where they may be

    def _at_bracket(self, text: str, position: int, start: int) -> int | None:
        tag = read_tag(text, start, self._limits)
        if tag is MAYBE:
            return None
        if tag is None:
            return self._say_tag(text, position, None)
        if tag.closing:
            if tag.kind in self._talked_about:
                return self._say_in_line(text, position, tag.end)
            return self._remove(tag, Gap.OWN_LINE)
        if tag.kind is Kind.THINK:
            return self._remove(tag, Gap.OWN_LINE) if tag.empty else self._open(tag, tag.end, text)
        return self._at_json_tag(text, position, tag)

    def _at_json_tag(self, text: str, position: int, tag: Tag) -> int | None:
        begin = read_json_start(text, tag.end, tag.kind, self._limits)
        if begin is MAYBE:
            return None
        if begin is not None:
            return self._open(tag, begin, text)
        if tag.empty:
            return self._remove(tag, Gap.OWN_LINE)
        if tag.kind is Kind.RESULTS:
            return self._open(tag, tag.end, text, json=False)
        after = skip_blanks(text, tag.end, BLANKS + "\n")
        end = read_tag(text, after, self._limits) if text[after : after + 1] == "<" else None
        if end is MAYBE:
            return None
        if end is not None and end.closing and end.kind is tag.kind:
            return self._remove(end, Gap.OWN_LINE)
        self._talked_about.add(tag.kind)
        return self._say_in_line(text, position, tag.end)

    def _remove(self, tag: Tag, gap: Gap) -> int:
        """A tag without a block is not shown."""
        self._output.emit(ViolationFound(Violation.TAG_ORPHANED, tag.kind))
        self._output.gap = gap
        self._mode = _Mode.LINE_START
        return tag.end

    def _open(self, tag: Tag, begin: int, text: str, *, where: Where = Where.IN_PLACE, json: bool = True) -> int:
        fenced = any(character in "`~" for character in text[tag.end : begin])
        self._block = Block(tag.kind, where, self._limits, json=json and tag.kind is not Kind.THINK, fenced=fenced)
        self._mode = _Mode.BLOCK
        if tag.kind is Kind.SUMMARY:
            self._emit(ReplyEnded())
        return begin

    # Blocks

    def _in_block(self, text: str, position: int) -> int | None:
        used = self._block.feed(text, position)
        if self._trial and self._block.is_too_long:
            self._commit(_Mode.BLOCK)
        if self._block.is_over:
            self._block_over()
        elif used == position:
            return None
        return used

    def _block_over(self) -> None:
        for event in self._block.events():
            self._emit(event)
        if self._trial:
            self._mode = _Mode.LINE_TRIAL if self._trial.where is Where.IN_LINE else _Mode.FENCE_TRIAL
        else:
            self._output.gap = Gap.OWN_LINE
            self._mode = _Mode.LINE_START

    def _emit(self, event: ProtocolEvent) -> None:
        if self._trial:
            self._trial.events.append(event)
            return
        self._output.emit(event)
        self._halted = self._halted or ends_stream(event)

    # Tags in the middle of a line

    def _closing_in_line(self, text: str, start: int, tag: Tag) -> int | None:
        """`</think>` that touches the words before it, or ends its line, was meant as one."""
        if tag.kind is not Kind.THINK or tag.kind in self._talked_about:
            return self._say_tag(text, start, tag)
        if self._output.last[-1:] in BLANKS:
            alone = ends_line(text, tag.end, self._limits)
            if alone is MAYBE:
                return None
            if not alone:
                return self._say_tag(text, start, tag)
        return self._remove(tag, Gap.IN_LINE)

    def _opening_in_line(self, text: str, start: int, tag: Tag) -> int | None:
        if tag.kind is Kind.THINK:
            alone = ends_line(text, tag.end, self._limits)
            if alone is MAYBE:
                return None
            if not alone:
                return self._say_tag(text, start, tag)
            self._emit(ViolationFound(Violation.TAG_MISPLACED, tag.kind))
            return self._open(tag, tag.end, text)
        begin = read_typical_start(text, tag.end, tag.kind, self._limits, self._is_tool)
        if begin is MAYBE:
            return None
        if begin is None:
            return self._say_tag(text, start, tag)
        self._trial = _Trial(Where.IN_LINE, text[start:begin])
        self._emit(ViolationFound(Violation.TAG_MISPLACED, tag.kind))
        return self._open(tag, begin, text, where=Where.IN_LINE)

    def _is_tool(self, name: str) -> bool:
        return self._tool_names is None or name in self._tool_names

    def _after_line_trial(self, text: str, position: int) -> int | None:
        """It was meant as a block if nothing follows on its line, or another tag."""
        start = skip_blanks(text, position)
        if start > position or start == len(text):
            return start
        tag = read_tag(text, start, self._limits) if text[start] == "<" else None
        if tag is MAYBE:
            return None
        if text[start] == "\n" or tag is not None:
            self._commit(_Mode.LINE_START)
        else:
            self._release()
        return start

    # Fences

    def _at_fence(self, text: str, position: int, start: int) -> int | None:
        fence = read_fence(text, start, self._limits)
        if fence is MAYBE:
            return None
        if fence is None:
            return self._say_in_line(text, position, start + 1)
        marker, end = fence
        inside = skip_blanks(text, end, BLANKS + "\n")
        if inside == len(text) and inside - end < self._limits.gap:
            return None
        if text[inside : inside + 1] == "<":
            tag = read_tag(text, inside, self._limits)
            if tag is MAYBE:
                return None
            if tag is not None and not tag.closing and tag.kind in (Kind.WORKSPACE, Kind.EXECUTE):
                begin = read_typical_start(text, tag.end, tag.kind, self._limits, self._is_tool)
                if begin is MAYBE:
                    return None
                if begin is not None:
                    self._trial = _Trial(Where.IN_FENCE, text[position:begin], marker)
                    self._emit(ViolationFound(Violation.CALLS_FENCED, tag.kind))
                    return self._open(tag, begin, text, where=Where.IN_FENCE)
        self._output.say_line_start(text[position:start], text[start:end])
        self._fence = OpenFence(marker)
        self._mode = _Mode.FENCE
        return end

    def _in_fence_trial(self, text: str, position: int) -> int | None:
        """Nothing but blocks, or it is an example."""
        start = skip_blanks(text, position, BLANKS + "\n")
        if start > position:
            return start
        trial = self._trial
        assert trial is not None
        if text[start] == "<":
            tag = read_tag(text, start, self._limits)
            if tag is MAYBE:
                return None
            if tag is not None and not tag.closing and tag.kind in (Kind.WORKSPACE, Kind.EXECUTE):
                begin = read_typical_start(text, tag.end, tag.kind, self._limits, self._is_tool)
                if begin is MAYBE:
                    return None
                if begin is not None:
                    return self._open(tag, begin, text, where=Where.IN_FENCE)
        elif text[start] == trial.marker[0]:
            end = read_fence_end(text, start, trial.marker, self._limits)
            if end is MAYBE:
                return None
            if end is not None:
                self._mode = _Mode.AFTER_FENCE_TRIAL
                return end
        self._release()
        return start

    def _after_fence_trial(self, text: str, position: int) -> int | None:
        start = skip_blanks(text, position, BLANKS + "\n")
        if start > position or start == len(text):
            return start
        trial = self._trial
        assert trial is not None
        tag = read_tag(text, start, self._limits) if text[start] == "<" else None
        if tag is MAYBE:
            return None
        if tag is not None or not (trial.has_calls or self._output.visible):
            self._commit(_Mode.LINE_START)
            return start
        if text[start] in "`~" and not trial.has_calls:
            fence = read_fence(text, start, self._limits)
            if fence is MAYBE:
                return None
            if fence is not None:
                trial.marker, end = fence
                self._mode = _Mode.FENCE_TRIAL
                return end
        self._release()
        return start

    # Both ways out of a trial

    def _commit(self, mode: _Mode) -> None:
        """They were blocks."""
        trial = self._trial
        assert trial is not None
        self._trial = None
        self._mode = mode
        for event in trial.events:
            self._emit(event)
            if self._halted:
                return
        self._output.gap = Gap.IN_LINE if trial.where is Where.IN_LINE else Gap.OWN_LINE

    def _release(self) -> None:
        """They were text."""
        trial = self._trial
        assert trial is not None
        raw = "".join(trial.raw)
        self._trial = None
        self._output.say(raw)
        last_line = raw[raw.rfind("\n") + 1 :]
        if self._mode is _Mode.FENCE_TRIAL:
            self._fence = OpenFence(trial.marker)
            self._fence.feed(last_line, 0)
            self._mode = _Mode.FENCE
        else:
            self._mode = _Mode.TEXT if last_line.strip(BLANKS) else _Mode.LINE_START

    # The end

    def _end_of_stream(self) -> None:
        held, self._held = self._held, ""
        if self._mode is _Mode.BLOCK:
            self._end_block()
        if self._trial:
            self._commit(_Mode.LINE_START)
        elif self._mode is not _Mode.BLOCK and held:
            self._end_text(held)

    def _end_block(self) -> None:
        events = self._block.end_of_stream()
        if self._block.kind is Kind.THINK and self._rereads_thoughts and not self._trial:
            events += self._calls_in_thoughts(self._block.body)
        for event in events:
            self._emit(event)

    def _calls_in_thoughts(self, thoughts: str) -> list[ProtocolEvent]:
        """A model that forgot to close `<think>` may still have meant its calls."""
        found = re.search(rf"^[{BLANKS}]*<[{BLANKS}]*(?:workspace|execute)\b", thoughts, re.IGNORECASE | re.MULTILINE)
        if not found:
            return []
        parser = Parser(self._limits, self._tool_names)
        parser._rereads_thoughts = False
        events = [*parser.feed(thoughts[found.start() :]), *parser.close()]
        calls = [event for event in events if isinstance(event, CallsArrived)]
        if not calls or not all(self._is_tool(call.name) for call in calls[0].calls):
            return []
        thought = thoughts[: found.start()].strip()
        kept = [event for event in events if isinstance(event, WorkspaceArrived | CallsArrived | ViolationFound)]
        return [*([ThoughtArrived(thought)] if thought else []), *kept]

    def _end_text(self, held: str) -> None:
        """What was held back became no block. A tag that the stream's end has cut is not shown."""
        if cut_tag(held, self._limits, at_line_start=self._mode is _Mode.LINE_START):
            self._output.emit(ViolationFound(Violation.BLOCK_UNCLOSED, "tag"))
        elif self._mode is _Mode.LINE_START:
            self._say_in_line(held, 0, len(held))
        else:
            self._output.say(held)
