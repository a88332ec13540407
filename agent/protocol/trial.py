"""Blocks out of place: calls, or talk about calls? Pure.

Above: `agent.protocol.parser`. Below: `agent.protocol.tags`, `agent.protocol.fences`.

Weak models write their calls in the middle of a line, in a fence, or without a tag. People ask how a call looks, and
models show it to them in just these ways. The characters are the same; what tells them apart is what they name and what
follows. So both readings are kept, the events and the raw text, until one of them is certain:

- It can only be meant if it begins as our blocks do, and a call with the name of a tool that exists. (Models are taught
  to use invented names in examples.) Anything else is text at once, and nothing is held back for it.
- In a line, calls are meant if the stream ends after them, or another tag follows. Talk goes on, if only on the next
  line. Any other block in a line is meant if its line ends with it.
- In a fence that holds nothing else, it is meant if the stream ends after it, or another tag follows. An example is
  followed by words. A fenced workspace alone is also meant if the reply has not begun.
- Calls without any tag, of tools that certainly exist, are meant in the same cases. But they never run: words of other
  people, made unable to open a block, could still be repeated as such. The model is asked to write them as calls.
"""

from enum import Enum, auto

from agent.events import ProtocolEvent
from agent.protocol.blocks import Opening, Where
from agent.protocol.fences import read_fence, read_fence_end
from agent.protocol.openings import Openings
from agent.protocol.output import ends_stream
from agent.protocol.tags import BLANKS, MAYBE, read_tag, skip_blanks


class Verdict(Enum):
    WAIT = auto()
    """More text is needed."""
    GO_ON = auto()
    OPEN = auto()
    """One more block begins."""
    MEANT = auto()
    TALK = auto()


class _Phase(Enum):
    IN_LINE = auto()
    IN_FENCE = auto()
    BEHIND = auto()


class Trial:
    """Between its blocks, `read` tells how it goes on. `raw` grows with what is read, `events` with what that says."""

    def __init__(self, opening: Opening, raw: str, openings: Openings) -> None:
        self.where = opening.where
        self.raw = [raw]
        self.events: list[ProtocolEvent] = []
        self.opening: Opening | None = None
        """What begins, after OPEN."""
        self._marker = opening.marker
        self._openings = openings
        self._limits = openings.limits
        self._room = openings.limits.gap
        """Blanks that may still stand between the blocks, and behind them."""
        self._phase = {Where.IN_LINE: _Phase.IN_LINE, Where.IN_FENCE: _Phase.IN_FENCE}.get(self.where, _Phase.BEHIND)

    @property
    def open_fence(self) -> str:
        """The marker of the fence that is open now, "" if there is none."""
        return self._marker if self._phase is _Phase.IN_FENCE else ""

    @property
    def _has_calls(self) -> bool:
        return any(ends_stream(event) for event in self.events)

    def read(self, text: str, position: int, *, reply_begun: bool) -> tuple[Verdict, int]:
        """How it goes on at `text[position]`, and the position up to which the text is used."""
        in_line = self._phase is _Phase.IN_LINE and not self._has_calls
        start = skip_blanks(text, position, BLANKS if in_line else BLANKS + "\n")
        start = min(start, position + self._room)
        if start > position:
            self._room -= start - position
            return Verdict.GO_ON, start
        match self._phase:
            case _Phase.IN_LINE:
                return self._in_line(text, start), start
            case _Phase.IN_FENCE:
                return self._in_fence(text, start)
            case _Phase.BEHIND:
                return self._behind(text, start, reply_begun=reply_begun)

    def _in_line(self, text: str, start: int) -> Verdict:
        tag = read_tag(text, start, self._limits)
        if tag is MAYBE:
            return Verdict.WAIT
        return Verdict.MEANT if tag or text[start] == "\n" else Verdict.TALK

    def _in_fence(self, text: str, start: int) -> tuple[Verdict, int]:
        self.opening = None
        end = read_fence_end(text, start, self._marker, self._limits) if text[start] == self._marker[0] else None
        opening = self._openings.fenced(text, start, Where.IN_FENCE, self._marker)
        if end is MAYBE or opening is MAYBE:
            return Verdict.WAIT, start
        if end is not None:
            self._phase = _Phase.BEHIND
            return Verdict.GO_ON, end
        self.opening = opening
        return (Verdict.OPEN, opening.begin) if opening else (Verdict.TALK, start)

    def _behind(self, text: str, start: int, *, reply_begun: bool) -> tuple[Verdict, int]:
        tag = read_tag(text, start, self._limits)
        if tag is MAYBE:
            return Verdict.WAIT, start
        has_calls = self._has_calls
        if tag or not (has_calls or reply_begun):
            return Verdict.MEANT, start
        fence = read_fence(text, start, self._limits) if not has_calls else None
        if fence is MAYBE:
            return Verdict.WAIT, start
        if fence:
            self._marker, end = fence
            self._phase = _Phase.IN_FENCE
            return Verdict.GO_ON, end
        return Verdict.TALK, start
