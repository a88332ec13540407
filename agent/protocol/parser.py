"""The parser of a model's output: text in, events out, independent of how the text is cut. Pure.

Theory of operation. The parser is always in one of seven modes:

    LINE_START   at the start of a line, or after a closing tag: a block or a fence may begin
    TEXT         in the middle of a line
    FENCE        in a code fence: everything is text until it ends
    ELEMENT      in an element of HTML that holds code: the same
    BLOCK        after an opening tag: nothing is shown until the block is over
    TRIAL        after a block in a place where none may be (see `agent.protocol.misplaced`)
    NATIVE       in a call or thoughts in the model's native format (see `agent.protocol.native`)

Before all that, `agent.protocol.channels` takes out thoughts that a model names by words at its beginning.

Each step reads the text from one position on and either consumes some of it or needs more; then the rest is held back
and read again with the next piece. What a step does depends only on the mode and the text, never on where a piece ends:
so the events are the same however the stream is cut. A step needs more only while the text could still become a tag,
and only up to a limit: so little is held back, each character is read a bounded number of times, and the time is
linear.

Rules that the protocol leaves open.
- The calls come first: after a whole list of calls, or one that cannot be read, the stream is over.
- Text that was shown cannot be withdrawn. An orphan `</think>` is not shown, but the text before it was.
- A closing tag without its block is not shown at the start of a line, except where the opening tag was text: HTML's
  <summary> keeps both. An empty block is not shown either, and has no effect.
- After `<summary>` no text is visible, but calls still count. A summary before the first word of the answer hides none
  of it: the model wrote them in the wrong order.
- A tag that is cut off by the end of the stream is not shown at the start of a line. In the middle of one it is text.
- Unclosed thoughts stay private; calls in them count if the stream ends there (see `agent.protocol.blocks`).
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from enum import Enum, auto
from typing import assert_never

from agent.events import (
    CallsArrived,
    CallsRejected,
    ProtocolEvent,
    ReplyEnded,
    ThoughtArrived,
    Violation,
    ViolationFound,
)
from agent.protocol import openings
from agent.protocol.blocks import IN_BLOCKS, Block, Corrections, Opening, read_forgotten_calls
from agent.protocol.channels import Channels, Piece
from agent.protocol.grammar import (
    BLANKS,
    MAYBE,
    NO_MARKER_BEGINS,
    BlockKind,
    BlockPlace,
    Maybe,
    OpenElement,
    OpenFence,
    ParserLimits,
    Tag,
    ends_line,
    is_cut_tag,
    read_tag,
    skip_blanks,
)
from agent.protocol.json_text import SaneStream
from agent.protocol.look_alikes import LookAlikes
from agent.protocol.misplaced import MisplacedVerdict, Trial
from agent.protocol.native import (
    Form,
    NativeBlock,
    NativeOpening,
    OthersTurn,
    is_token,
    read_end,
    read_frame,
    read_others_turn,
    read_stray,
)

# In the middle of a line, "[TOOL_CALLS]", "[|endofturn|]" and "[END FINAL RESPONSE]" are markers as well, and JSON may
# be a call.
_TEXT = re.compile(
    rf"(?:[^\n<\[{{]|{NO_MARKER_BEGINS}|\[(?=[^TBE|{{{BLANKS}]|T[^O]|B[^E]|E[^N])|{{(?=[^\"'“{{{BLANKS}\n]))++(\n)?|(\n)"
)


_CALLING = (BlockKind.EXECUTE, BlockKind.WORKSPACE)


class _Mode(Enum):
    LINE_START = auto()
    TEXT = auto()
    FENCE = auto()
    ELEMENT = auto()
    BLOCK = auto()
    TRIAL = auto()
    NATIVE = auto()


class Parser:
    """Parses the text of one model call. Pass the pieces to `feed`, then call `close`.

    `tool_names`: the names of the existing tools; None if any name may be a tool's. `corrections`: what the model reads
    of calls that cannot run, in the words of the form that it was taught. `after_results`: the model was given results
    before, so words in their form are its answer.
    """

    def __init__(
        self,
        limits: ParserLimits = ParserLimits(),  # noqa: B008 -- frozen
        tool_names: frozenset[str] | None = None,
        corrections: Corrections = IN_BLOCKS,
        *,
        after_results: bool = False,
    ) -> None:
        self._limits = limits
        self._after_results = after_results
        self._corrections = corrections
        self._openings = openings.Openings(limits, tool_names, corrections)
        self._begins_line = self._openings.begins_line  # With any other character, a line is just text
        self._sanitizer = SaneStream()
        self._look_alikes = LookAlikes()
        self._channels = Channels(self._openings.is_named_tool)
        self._output = openings.Output()
        self._mode = _Mode.LINE_START
        self._held_back = ""
        # The fast path for most pieces of most streams. It returns None if a piece needs a full step.
        self._shortcut: Callable[[str], list[ProtocolEvent] | None] | None = None
        self._fence = OpenFence("```", limits)
        self._element = OpenElement("pre", in_line=False)
        self._block: Block | None = None
        self._trial: Trial | None = None
        self._native: NativeBlock | OthersTurn | None = None
        self._mentioned: set[BlockKind] = set()  # Kinds whose opening tag was text, so their closing tag is, too
        self.has_thought = False  # The model thought before its answer, in its text or beside it
        self._frame = ""  # The tag around the answer that is open
        self.halted = False  # All further text is discarded, so that the model may be stopped

    @property
    def unread(self) -> str:
        """The text behind the calls, as far as it came in the same piece."""
        return self._held_back + self._look_alikes.held if self.halted else ""

    def feed(self, chunk: str) -> list[ProtocolEvent]:
        """Parse a piece. Returns the events that are certain now; adjacent text is one event."""
        if self._shortcut and chunk.isprintable() and not self._look_alikes.may_begin(chunk):
            events = self._shortcut(chunk)
            if events is not None:
                self._look_alikes.skip(chunk)
                return events
        if self.halted:
            return []
        text = self._look_alikes.feed(self._sanitizer.feed(chunk))
        if self._channels.passes:  # Most of a stream: nothing is taken out of it any more
            self._run(self._held_back + text)
        else:
            self._receive(self._channels.feed(text))
            self._shortcut = None
        return self._output.take_events()

    def close(self) -> list[ProtocolEvent]:
        """End the stream. Returns the events of what was still open or held back."""
        if self.halted:
            return []
        rest = self._look_alikes.feed(self._sanitizer.flush()) + self._look_alikes.flush()
        self._receive([*self._channels.feed(rest), *self._channels.flush()])
        self._openings = replace(self._openings, is_whole=True)
        self._run(self._held_back)
        if not self.halted:
            self._end_of_stream()
        self.halted, self._shortcut = True, None
        return self._output.take_events()

    def _receive(self, pieces: Sequence[Piece]) -> None:
        for piece in pieces or (Piece(""),):
            if piece.is_thought:
                self._emit(ThoughtArrived(piece.text))
                self._output.gap = openings.Gap.OWN_LINE
                continue
            if piece.begins and not self._held_back and self._mode in (_Mode.TEXT, _Mode.LINE_START):
                begun = self._output.has_visible_text
                self._output.write("\n\n" if begun else "")
                self._output.gap, self._mode = openings.Gap.OWN_LINE, _Mode.LINE_START
            self._run(self._held_back + piece.text)
            if self.halted:
                break

    def _run(self, text: str) -> None:
        position = 0
        while position < len(text) and not self.halted:
            trial = self._trial
            used = self._step(text, position)
            if used is None:
                break
            # What a trial read is kept, so that it can be given back as text if it was no block after all.
            if trial and trial is self._trial:
                trial.raw.append(text[position:used])
            position = used
        self._held_back = text[position:]
        # Most pieces of a stream are plain words: where nothing is held back they go straight to their destination.
        if self._held_back or self._trial or self.halted or self._sanitizer.half:
            self._shortcut = None
        elif self._mode is _Mode.TEXT or (self._mode is _Mode.FENCE and self._fence.line is None):
            self._shortcut = self._output.feed_plain
        else:
            self._shortcut = self._block.feed_plain if self._block is not None and self._mode is _Mode.BLOCK else None

    def _step(self, text: str, position: int) -> int | None:
        """Consume some of the text from `position` on. Returns the new position, or None if more text is needed."""
        match self._mode:
            case _Mode.TEXT:
                return self._in_text(text, position)
            case _Mode.LINE_START:
                return self._at_line_start(text, position)
            case _Mode.BLOCK:
                return self._in_block(text, position)
            case _Mode.FENCE:
                return self._in_fence(text, position)
            case _Mode.ELEMENT:
                return self._in_element(text, position)
            case _Mode.TRIAL:
                return self._on_trial(text, position)
            case _Mode.NATIVE:
                return self._in_native(text, position)
            case _:
                assert_never(self._mode)

    def _at_line_start(self, text: str, position: int) -> int | None:
        if text[position] not in self._begins_line:
            self._mode = _Mode.TEXT
            return self._in_text(text, position)
        start = skip_blanks(text, position)
        if start - position > self._limits.indent:
            return self._write_text(text, position, position + self._limits.indent)
        if start == len(text):
            return None
        if text[start] == "\n":
            self._output.write_blank_line(text[position:start])
            return start + 1
        if text[start] == "<" and (used := self._read_around(text, start)) is not None:
            return None if used is MAYBE else used
        if text[start] in "<[" and (used := self._read_others_turn(text, start)) is not None:
            return None if used is MAYBE else used
        blanks = text[position:start]
        begun = self._output.has_visible_text
        beginning = self._openings.at_line_start(text, start, self._mentioned, blanks, begun=begun)
        return self._begin(beginning, text, position)

    def _in_text(self, text: str, position: int) -> int | None:
        match = _TEXT.match(text, position)
        if match:
            self._output.write(match[0])
            if match.lastindex:
                self._mode = _Mode.LINE_START
            return match.end()
        is_end = text.startswith("</"[: len(text) - position], position)
        if (self._frame or is_end) and (used := self._read_around(text, position)) is not None:
            return None if used is MAYBE else used
        before = self._output.last[-1:]
        return self._begin(self._openings.in_line(text, position, before, self._mentioned), text, position)

    def _read_around(self, text: str, start: int) -> int | Maybe | None:
        """Read a tag around the answer, or one that only ends it: none of them is shown."""
        in_line, begun = self._mode is _Mode.TEXT, self._output.has_visible_text
        if self._frame or ((self.has_thought or self._after_results) and not begun):
            frame = read_frame(text, start, self._frame) if self._frame or self.has_thought else None
            if frame is None and self._after_results and not self._frame:
                frame = read_frame(text, start, "", results=True)
            if isinstance(frame, tuple):
                self._frame, end = frame
                return self._drop(end)
            if frame is MAYBE and not self._openings.is_whole:
                return MAYBE
        if in_line:
            # Behind a blank or a quotation mark the tag is spoken about; the end of an answer follows its last word
            # directly.
            if self._output.last[-1:] in {" ", *openings.QUOTES}:
                return None
            end = read_end(text, start, is_whole=self._openings.is_whole)
            return self._drop(end) if isinstance(end, int) else end
        end = read_stray(text, start, is_whole=self._openings.is_whole)
        return self._drop(end) if isinstance(end, int) else end

    def _read_others_turn(self, text: str, start: int) -> int | Maybe | None:
        """Read the beginning of somebody else's message, before the answer or behind a token that ended it."""
        begun = self._output.has_visible_text
        if begun and not self._output.after_token:
            return None
        end = read_others_turn(text, start, is_whole=self._openings.is_whole)
        if isinstance(end, int):
            self._native, self._mode = OthersTurn(to_end=begun), _Mode.NATIVE
        return end

    def _begins_answer(self, text: str, end: int) -> bool:
        """Return whether a tag that ends at `end` stands alone on its line, right before the first word of the answer:
        small models begin a block and go on in prose.
        """
        is_first = self._mode is _Mode.LINE_START and not self._output.has_visible_text
        inside = skip_blanks(text, end, f"{BLANKS}\n")
        return is_first and text[inside : inside + 1].isalpha() and ends_line(text, end, self._limits) is True

    def _drop(self, end: int) -> int:
        self._output.emit(ViolationFound(Violation.TAG_ORPHANED, "frame"))
        self._output.after_token = True
        self._output.gap = openings.Gap.IN_LINE if self._mode is _Mode.TEXT else openings.Gap.OWN_LINE
        self._mode = _Mode.LINE_START
        return end

    def _begin(self, beginning: openings.Beginning | Maybe, text: str, position: int) -> int | None:
        """Act on the decision about what begins; there may be blanks between `position` and the beginning."""
        match beginning:
            case openings.Text(end, about):
                if about in _CALLING and self._begins_answer(text, end):
                    return self._drop(end)
                if about:
                    self._mentioned.add(about)
                return self._write_text(text, position, end)
            case openings.Orphan(kind, end, gap):
                self._output.emit(ViolationFound(Violation.TAG_ORPHANED, kind))
                self._output.gap = gap
                self._mode = _Mode.LINE_START
                return end
            case openings.Unwrapped(words, end):
                self._output.emit(ViolationFound(Violation.TAG_ORPHANED, "execute"))
                self._output.write(words)
                self._mode = _Mode.TEXT
                return end
            # Within a fence tags are examples.
            case openings.FenceFound(marker, end):
                self._write_text(text, position, end)
                self._fence = OpenFence(marker, self._limits)
                self._mode = _Mode.FENCE
                return end
            case openings.ElementFound(element, end):
                self._write_text(text, position, end)
                self._element, self._mode = element, _Mode.ELEMENT
                return end
            case NativeOpening():
                return self._begin_native(beginning, text, position)
            case openings.PlainCall(_, end):
                self._trial = Trial(beginning, text[position:end], self._openings)
                self._trial.events += self._openings.read_plain(beginning, text)
                self._mode = _Mode.TRIAL
                return end
            case Opening():
                if beginning.where is not BlockPlace.IN_PLACE:
                    self._trial = Trial(beginning, text[position : beginning.begin], self._openings)
                if beginning.violation:
                    self._emit(ViolationFound(beginning.violation, beginning.kind))
                return self._open(beginning)
            case _:
                return None

    def _begin_native(self, beginning: NativeOpening, text: str, position: int) -> int:
        # Single tokens of a chat template are only removed; what stands around them decides which gap is left.
        if beginning.ends_text and self._output.has_visible_text:
            self._native, self._mode = OthersTurn(to_end=True), _Mode.NATIVE
        elif beginning.form is Form.TOKENS:
            self._output.gap = openings.Gap.OWN_LINE if self._mode is _Mode.LINE_START else openings.Gap.IN_LINE
            self._mode, self._output.after_token = _Mode.LINE_START, True
        else:
            self._native = NativeBlock(beginning, self._limits, self._openings.is_named_tool, self._corrections)
            self._mode = _Mode.NATIVE
            # It may be an example in the answer: it is read on trial, and shown again if it turns out to be one.
            if beginning.where is BlockPlace.QUOTED:
                self._trial = Trial(beginning, text[position : beginning.end], self._openings)
        return beginning.end

    def _write_text(self, text: str, position: int, end: int) -> int:
        """Write text up to `end`; the line continues."""
        start = min(skip_blanks(text, position), end)
        self._output.write_line_start(text[position:start], text[start:end])
        self._mode = _Mode.TEXT
        return end

    def _in_fence(self, text: str, position: int) -> int:
        end = self._fence.feed(text, position)
        self._output.write(text[position:end])
        if self._fence.closed:
            self._mode = _Mode.LINE_START
        return end

    def _in_element(self, text: str, position: int) -> int:
        end = self._element.feed(text, position)
        self._output.write(text[position:end])
        if self._element.closed:
            self._mode = _Mode.LINE_START if text[end - 1] == "\n" else _Mode.TEXT
        return end

    def _open(self, opening: Opening) -> int:
        self._block = Block(opening, self._limits, self._corrections)
        self._mode = _Mode.BLOCK
        if opening.kind is BlockKind.SUMMARY and self._output.has_visible_text:
            self._emit(ReplyEnded())
        return opening.begin

    def _in_block(self, text: str, position: int) -> int | None:
        block = self._block
        if block is None:
            return position
        used = block.feed(text, position)
        if self._trial and block.is_too_long:
            self._commit(self._trial)
            self._mode = _Mode.BLOCK
        if not block.is_over:
            return used if used > position else None
        for event in block.events():
            self._emit(event)
        if self._trial:
            self._trial.has_whole_json = block.has_whole_json
            self._mode = _Mode.TRIAL
        else:
            self._output.gap = openings.Gap.OWN_LINE
            self._mode = _Mode.LINE_START
        return used

    def _in_native(self, text: str, position: int) -> int | None:
        native = self._native
        if native is None:
            return position
        used = native.feed(text, position)
        if not native.is_over:
            return used if used > position else None
        for event in native.events():
            self._emit(event)
        self._native = None
        if self._trial:
            self._mode = _Mode.TRIAL
        else:
            self._output.gap = openings.Gap.OWN_LINE
            self._mode = _Mode.LINE_START
        return used

    def _emit(self, event: ProtocolEvent) -> None:
        self.has_thought = self.has_thought or isinstance(event, ThoughtArrived)
        if self._trial:
            self._trial.events.append(event)
        elif not self.halted:
            self._output.emit(event)
            self.halted = openings.ends_stream(event)

    def _on_trial(self, text: str, position: int) -> int | None:
        trial = self._trial
        if trial is None:
            return position
        verdict, used = trial.read(text, position, reply_begun=self._output.has_visible_text)
        match verdict:
            case MisplacedVerdict.WAIT:
                return None
            case MisplacedVerdict.GO_ON:
                pass
            case MisplacedVerdict.OPEN if trial.opening:
                self._open(trial.opening)
            case MisplacedVerdict.MEANT:
                self._commit(trial)
            case _:
                self._release(trial)
        return used

    def _commit(self, trial: Trial) -> None:
        """Emit the events of the trial: its blocks were meant."""
        self._trial = None
        self._mode = _Mode.LINE_START
        is_in_fence = trial.where is BlockPlace.IN_FENCE and trial.is_foreign and self._output.has_visible_text
        is_quoted = trial.where is BlockPlace.QUOTED or is_in_fence or trial.is_explained
        for event in trial.events:
            is_shown = is_quoted and isinstance(event, CallsArrived)
            self._emit(CallsRejected(self._corrections.quoted) if is_shown else event)
        self._output.gap = openings.Gap.IN_LINE if trial.where is BlockPlace.IN_LINE else openings.Gap.OWN_LINE

    def _release(self, trial: Trial) -> None:
        """Write the trial as text: its blocks were not meant."""
        raw = "".join(trial.raw)
        last_line = raw[raw.rfind("\n") + 1 :]
        self._trial = None
        self._output.write(raw)
        if trial.open_fence:
            self._fence = OpenFence(trial.open_fence, self._limits, last_line)
            self._mode = _Mode.FENCE
        else:
            self._mode = _Mode.TEXT if last_line.strip(BLANKS) else _Mode.LINE_START

    def _end_of_stream(self) -> None:
        if self._mode is _Mode.BLOCK and self._block is not None:
            for event in self._end_of_block(self._block):
                self._emit(self._unless_example(event))
        elif self._native is not None and self._trial and not self._ends_with_call(self._trial):
            self._trial.raw.append(self._held_back)
            self._release(self._trial)
        elif self._native is not None:
            for event in self._native.end_of_stream(self._held_back):
                self._emit(event)
        elif self._mode is not _Mode.TRIAL and self._held_back:
            self._end_of_text(self._held_back)
        if self._trial and self._trial.is_doubtful:
            self._release(self._trial)
        elif self._trial:
            self._commit(self._trial)
        self._held_back = ""

    def _ends_with_call(self, trial: Trial) -> bool:
        """Return whether the text of a call that was never closed ends as calls do, and not in other words."""
        return ("".join(trial.raw) + self._held_back).rstrip().endswith(("}", ")", "]", ">"))

    def _unless_example(self, event: ProtocolEvent) -> ProtocolEvent:
        """Replace calls that the vendor's stop sequence has cut off in a fence, behind words of the answer.

        They may be an example: its closing tag is the stop sequence, so nothing of the answer could follow it. Without
        words before it, such a fence is a weak model's call.
        """
        may_be_example = (
            isinstance(event, CallsArrived)
            and self._trial is not None
            and self._trial.where is BlockPlace.IN_FENCE
            and self._output.has_visible_text
            and self._corrections.example
        )
        return CallsRejected(self._corrections.example) if may_be_example else event

    def _end_of_text(self, rest: str) -> None:
        """Write the text that was held back, which began no block. A tag that the stream's end cut off is not shown."""
        at_line_start = self._mode is _Mode.LINE_START
        tag = read_tag(rest, skip_blanks(rest, 0), self._limits)
        if isinstance(tag, Tag) and not tag.closing and tag.kind in _CALLING and self._begins_answer(rest, tag.end):
            self._held_back = ""
            self._run(rest[self._drop(tag.end) :].lstrip("\n"))
            if self._held_back:
                self._end_of_text(self._held_back)
        elif (at_line_start or not self._output.last[-1:].isspace()) and is_token(rest):
            self._output.emit(ViolationFound(Violation.TAG_ORPHANED, "token"))
        elif is_cut_tag(rest, self._limits, at_line_start=at_line_start):
            self._output.emit(ViolationFound(Violation.BLOCK_UNCLOSED, "tag"))
        else:
            self._write_text(rest, 0, len(rest))

    def _end_of_block(self, block: Block) -> list[ProtocolEvent]:
        events = block.end_of_stream()
        if block.kind is BlockKind.THINK:
            events += read_forgotten_calls(block.body, self._limits, self._openings.is_tool)
        return events
