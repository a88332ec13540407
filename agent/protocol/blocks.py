"""One block, from behind its opening tag to its end. Pure.

Above: `agent.protocol.parser`. Below: `agent.protocol.json_scan`, `agent.protocol.tags`, `agent.protocol.meaning`.

Theory of operation. A block of JSON is followed by the scanner. `<execute>` is over with its JSON: what comes after it
would be discarded anyway, so its calls can run before the closing tag has arrived. The other blocks are over with their
closing tag. `<think>`, and every block whose JSON is wrong, is over with the first literal closing tag.

A private block that is never closed is never shown. But a model that forgets to close a workspace still means its
calls: `<execute>` at the start of a line ends every other block of JSON.
"""

import re
from dataclasses import dataclass
from enum import Enum, auto

from agent.events import CallsRejected, ProtocolEvent, Violation
from agent.protocol.calls import NO_TAG
from agent.protocol.grammar import Kind, ParserLimits
from agent.protocol.json_scan import JsonScanner, Status
from agent.protocol.meaning import Ending, read_body
from agent.protocol.tags import BLANKS, MAYBE, NO_TAG_BEGINS, Tag, read_json_start, read_tag, skip_blanks

_RECENT = 80
"""Characters kept to see whether a tag stands at the start of its line; a line is not indented deeper."""
_STOP = re.compile(rf"(?!{NO_TAG_BEGINS})<")
_STOP_ON_TRIAL = re.compile(rf"(?!{NO_TAG_BEGINS})[<\n]")


class Where(Enum):
    """Where the block opened. Only IN_PLACE is as it should be; elsewhere what follows decides whether it counts."""

    IN_PLACE = auto()
    IN_LINE = auto()
    IN_FENCE = auto()
    WITHOUT_TAG = auto()


@dataclass(frozen=True, slots=True)
class Opening:
    """Where and how a block began. Its body begins at `begin`."""

    kind: Kind
    begin: int
    where: Where = Where.IN_PLACE
    json: bool = True
    """The body begins with JSON."""
    fenced: bool = False
    """A fence stands between the tag and the JSON, so one may stand before the closing tag."""
    tagged: bool = True
    """There is a tag at all."""
    marker: str = ""
    """Of the fence around the block."""
    violation: Violation | None = None


class _Phase(Enum):
    JSON = auto()
    LITERAL = auto()
    """Until the closing tag, whatever comes."""
    TAIL = auto()
    """The JSON is whole; the closing tag should come."""
    OVER = auto()


class Block:
    """Feed it until it `is_over`; then `events` tells what it said."""

    def __init__(self, opening: Opening, limits: ParserLimits) -> None:
        self.kind = opening.kind
        self._where = opening.where
        self._tagged = opening.tagged
        self._limits = limits
        self._phase = _Phase.JSON if opening.json else _Phase.LITERAL
        self._scanner = JsonScanner(
            max_depth=limits.depth,
            max_number=limits.number,
            several=self.kind is Kind.EXECUTE and self._where is not Where.IN_LINE,
        )
        self._ending = Ending.UNCLOSED
        self._body: list[str] = []
        self._size = 0
        self._recent = ""
        self._tail_room = limits.gap
        self._tail_blanks = BLANKS + ("`~" if opening.fenced else "") + ("" if self._is_call_in_line else "\n")

    @property
    def is_over(self) -> bool:
        return self._phase is _Phase.OVER

    @property
    def is_too_long(self) -> bool:
        """Longer than a block may be. It certainly is one then."""
        return self._ending is Ending.TOO_LONG

    @property
    def body(self) -> str:
        """What was read so far; "" if it grew too long."""
        self._body = ["".join(self._body)]
        return self._body[0]

    @property
    def _is_call_in_line(self) -> bool:
        return self.kind is Kind.EXECUTE and self._where is Where.IN_LINE

    def pass_on(self, piece: str) -> list[ProtocolEvent] | None:
        """`feed`, for a printable piece that certainly neither ends nor breaks the block; None for any other."""
        if self._size + len(piece) > self._limits.block:
            return None
        if self._phase is _Phase.JSON:
            passes = self._scanner.passes(piece)
        else:
            passes = self._phase is _Phase.LITERAL and self.kind is Kind.THINK and "<" not in piece
        if not passes:
            return None
        self._size += len(piece)
        self._body.append(piece)
        return []

    def feed(self, text: str, start: int) -> int:
        """Read on from `text[start]`. What is left behind the returned position is to be fed again, with more."""
        position = start
        while position < len(text):
            match self._phase:
                case _Phase.JSON:
                    used = self._read_json(text, position)
                case _Phase.TAIL:
                    used = self._read_tail(text, position)
                case _Phase.LITERAL:
                    used = self._read_literal(text, position)
                case _Phase.OVER:
                    break
            if used is None:
                break
            position = used
        return position

    def end_of_stream(self) -> list[ProtocolEvent]:
        """No more will come: what it said. Whole JSON counts as closed."""
        if self._ending is Ending.UNCLOSED and self._scanner.complete:
            self._ending = Ending.CLOSED
        self._phase = _Phase.OVER
        return self.events()

    def events(self) -> list[ProtocolEvent]:
        if not self._tagged:
            return [CallsRejected(NO_TAG)]
        return read_body(self.kind, self.body, self._ending, self._limits)

    def _end(self, ending: Ending) -> None:
        self._phase = _Phase.OVER
        if self._ending is not Ending.TOO_LONG:
            self._ending = ending

    def _keep(self, piece: str) -> None:
        self._size += len(piece)
        if self._size <= self._limits.block:
            self._body.append(piece)
            return
        self._body.clear()
        self._ending = Ending.TOO_LONG
        self._where = Where.IN_PLACE
        self._phase = _Phase.OVER if self.kind is Kind.EXECUTE else _Phase.LITERAL

    def _read_json(self, text: str, position: int) -> int:
        room = self._limits.block + 1 - self._size
        end = self._scanner.feed(text if len(text) - position <= room else text[: position + room], position)
        self._keep(text[position:end])
        if self._phase is _Phase.JSON and self._scanner.status is Status.DONE:
            self._phase = _Phase.TAIL
            if self.kind is Kind.EXECUTE and self._where is Where.IN_PLACE:
                self._end(Ending.CLOSED)
        elif self._phase is _Phase.JSON and self._scanner.status is Status.FAILED:
            self._phase = _Phase.LITERAL
            self._recent = self.body[-_RECENT:]
        return end

    def _read_tail(self, text: str, position: int) -> int | None:
        start = skip_blanks(text, position, self._tail_blanks)
        if self._where is not Where.IN_PLACE:
            start = min(start, position + self._tail_room)
            self._tail_room -= start - position
        if start > position:
            return start
        tag = read_tag(text, start, self._limits) if text[start] == "<" else None
        if tag is MAYBE:
            return None
        if tag and tag.closing:
            self._end(Ending.CLOSED)
            return tag.end
        if tag or self._where is not Where.IN_PLACE:
            self._end(Ending.CLOSED if self._is_call_in_line else Ending.UNCLOSED)
        else:
            self._phase = _Phase.LITERAL
        return start

    def _read_literal(self, text: str, position: int) -> int | None:
        stop = (_STOP if self._where is Where.IN_PLACE else _STOP_ON_TRIAL).search(text, position)
        if stop is None or stop.start() > position:
            return self._keep_literal(text, position, stop.start() if stop else len(text))
        return self._read_literal_tag(text, position) if stop[0] == "<" else self._read_line_end(text, position)

    def _read_literal_tag(self, text: str, position: int) -> int | None:
        tag = read_tag(text, position, self._limits)
        if tag is MAYBE:
            return None
        if tag and tag.closing and tag.kind is self.kind:
            self._end(Ending.CLOSED)
            return tag.end
        if tag and self._may_end_at(tag):
            start = read_json_start(text, tag.end, tag.kind, self._limits)
            if start is MAYBE:
                return None
            if start is not None:
                self._end(Ending.UNCLOSED)
                return position
        return self._keep_literal(text, position, position + 1)

    def _read_line_end(self, text: str, position: int) -> int | None:
        """On trial, a block of broken JSON goes no further than its line, its paragraph or its fence."""
        start = skip_blanks(text, position + 1)
        in_line, near = self._where is Where.IN_LINE, start - position <= self._limits.indent
        if start == len(text) and near and not in_line:
            return None
        if in_line or (near and text[start] in "`~\n"):
            self._end(Ending.UNCLOSED)
            return position
        return self._keep_literal(text, position, position + 1)

    def _may_end_at(self, tag: Tag) -> bool:
        return (
            tag.kind is Kind.EXECUTE
            and not tag.closing
            and self.kind not in (Kind.THINK, Kind.EXECUTE)
            and self._recent.rstrip(BLANKS).endswith("\n")
        )

    def _keep_literal(self, text: str, start: int, end: int) -> int:
        piece = text[start:end]
        if self.kind is not Kind.THINK:
            self._recent = (self._recent + piece)[-_RECENT:]
        if not self._scanner.complete and self._ending is not Ending.TOO_LONG:
            self._keep(piece)
        return end
