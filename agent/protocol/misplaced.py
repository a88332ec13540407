"""Misplaced blocks: real ones, or examples? Pure.

Weak models write their calls in the middle of a line, in a fence, or without a tag. People ask what a call looks
like, and models show them one in just these ways. The characters are the same; the tool's name and the text that
follows tell them apart. So both readings are kept, the events and the raw text, until one of them is certain:

- A block can only be meant if it begins as our blocks do, and a call only with the name of an existing tool. (The
  prompt tells models to use invented names in examples.) Anything else is text at once, and nothing is held back.
- In a line, calls are meant if the stream ends after them, or another tag follows. An example is followed by text, if
  only on the next line. Any other block in a line is meant if its line ends with it.
- In a fence that holds nothing else, a block is meant if the stream ends after it, or another tag follows. An example
  is followed by text. A fenced workspace alone is also meant if the reply has not begun.
- Calls in a foreign form behind other words of their line, or in indented code, are text if text follows. They never
  run: a guide that the model repeats may hold them so, also at its end. There the model is asked to make the call.
  The same holds for those in tags of others in a fence behind words of the answer.
- JSON that is a call, as the first lines of an answer that goes on in words ("This searches for it."), does not run
  either, and is not shown: the model is asked to make the call.
- Calls without any tag, of tools that certainly exist, are meant in the same cases. But they never run: text of other
  people cannot open a block, but the model could repeat it as such a call. The model is asked to write them as calls.
"""

import re
from enum import Enum, auto
from typing import Final

import regex

from agent.events import ProtocolEvent, SummaryArrived, WorkspaceArrived
from agent.protocol import grammar
from agent.protocol.blocks import Opening
from agent.protocol.grammar import BlockKind, BlockPlace
from agent.protocol.native import NativeOpening, read_marker
from agent.protocol.openings import Openings, PlainCall, ends_stream


class MisplacedVerdict(Enum):
    WAIT = auto()
    """More text is needed."""
    GO_ON = auto()
    OPEN = auto()
    """One more block begins."""
    MEANT = auto()
    TALK = auto()
    """They are examples, which are text."""


class _TrialPhase(Enum):
    IN_LINE = auto()
    IN_FENCE = auto()
    AFTER = auto()


_MAX_MISSING: Final = 2  # Fields of a workspace without its tag; of a summary it has this many at least:
_MIN_FIELDS: Final = 3
_OWN_TAGS: Final = re.compile(rf"<[{grammar.BLANKS}]{{0,80}}(?:execute|workspace)\b", re.IGNORECASE | re.ASCII)
_ANY_CLOSING: Final = regex.compile(r"</[^<>\n]{0,40}>|\[/\w{1,24}\]")
_CLOSERS: Final = re.compile(r"(?:`{3,8}|~{3,8})(?=[ \t]{0,8}(?:\n|\Z))|(?:`{1,2}|~{1,2})\Z|[}\])]{1,8}|\*{1,3}")


class Trial:
    """Decides whether misplaced blocks are meant. `raw` is the text so far, `events` are the events of its blocks.

    `read` is called between the blocks and after them.
    """

    def __init__(self, opening: Opening | PlainCall | NativeOpening, raw: str, openings: Openings) -> None:
        self.where = opening.where
        # Calls between tags that are not ours
        self.is_foreign = isinstance(opening, Opening) and opening.tagged and _OWN_TAGS.search(raw) is None
        self.raw = [raw]
        self.events: list[ProtocolEvent] = []
        self.opening: Opening | None = None  # The block that begins, after OPEN
        self._marker = "" if isinstance(opening, NativeOpening) else opening.marker
        kind = opening.kind if isinstance(opening, Opening) and not opening.tagged else None
        self._is_private = kind in (BlockKind.WORKSPACE, BlockKind.SUMMARY)
        self._is_forged = kind is BlockKind.RESULTS
        # JSON that is a call of an existing tool, in lines of its own
        self._is_json_call = (
            isinstance(opening, Opening)
            and kind is BlockKind.EXECUTE
            and opening.where is BlockPlace.WITHOUT_TAG
            and not opening.rejected
        )
        self.has_whole_json = False  # The last block has ended with its JSON, and not only with its line
        self.is_explained = False  # Words of the answer follow on another line
        self._openings = openings
        self._limits = openings.limits
        self._room = openings.limits.gap  # How many more blanks may follow between the blocks and after them
        self._phase = {BlockPlace.IN_LINE: _TrialPhase.IN_LINE, BlockPlace.IN_FENCE: _TrialPhase.IN_FENCE}.get(
            self.where, _TrialPhase.AFTER
        )

    @property
    def open_fence(self) -> str:
        """The marker of the fence that is open now, "" if there is none."""
        return self._marker if self._phase is _TrialPhase.IN_FENCE else ""

    @property
    def is_doubtful(self) -> bool:
        """Whether this is JSON without a tag that shares only a few of a private block's fields."""
        return self._is_private and not any(
            (isinstance(event, WorkspaceArrived) and len(event.missing) <= _MAX_MISSING)
            or (isinstance(event, SummaryArrived) and len(event.update) >= _MIN_FIELDS)
            for event in self.events
        )

    @property
    def _has_calls(self) -> bool:
        return any(ends_stream(event) for event in self.events)

    def read(self, text: str, position: int, *, reply_begun: bool) -> tuple[MisplacedVerdict, int]:
        """Decide at `text[position]`. Returns the verdict, and the position up to which the text is consumed."""
        in_line = self._phase is _TrialPhase.IN_LINE and not self._has_calls
        start = grammar.skip_blanks(text, position, grammar.BLANKS if in_line else grammar.BLANKS + "\n")
        start = min(start, position + self._room)
        if start > position:
            self._room -= start - position
            return MisplacedVerdict.GO_ON, start
        match self._phase:
            case _TrialPhase.IN_LINE:
                return self._in_line(text, start), start
            case _TrialPhase.IN_FENCE:
                return self._in_fence(text, start)
            case _TrialPhase.AFTER:
                return self._after(text, start, reply_begun=reply_begun)

    def _in_line(self, text: str, start: int) -> MisplacedVerdict:
        tag = grammar.read_tag(text, start, self._limits)
        if tag is grammar.MAYBE:
            return MisplacedVerdict.WAIT
        return MisplacedVerdict.MEANT if tag or text[start] == "\n" else MisplacedVerdict.TALK

    def _in_fence(self, text: str, start: int) -> tuple[MisplacedVerdict, int]:
        self.opening = None
        end = (
            grammar.read_fence_end(text, start, self._marker, self._limits) if text[start] == self._marker[0] else None
        )
        opening = self._openings.fenced(text, start, BlockPlace.IN_FENCE, self._marker)
        if end is grammar.MAYBE or opening is grammar.MAYBE:
            return MisplacedVerdict.WAIT, start
        if end is not None:
            self._phase = _TrialPhase.AFTER
            return MisplacedVerdict.GO_ON, end
        self.opening = opening
        return (MisplacedVerdict.OPEN, opening.begin) if opening else (MisplacedVerdict.TALK, start)

    def _after(self, text: str, start: int, *, reply_begun: bool) -> tuple[MisplacedVerdict, int]:
        tag = grammar.read_tag(text, start, self._limits)
        if tag is grammar.MAYBE:
            return MisplacedVerdict.WAIT, start
        has_calls = self._has_calls
        if has_calls and (rest := _CLOSERS.match(text, start)) is not None:
            # Models close more than they opened. At the end of a piece, a fence may still be one that opens.
            tail = text[rest.end() : rest.end() + 16]
            is_open = rest[0][0] in "`~" and not tail.strip(" \t") and rest.end() + len(tail) == len(text)
            return (MisplacedVerdict.WAIT, start) if is_open else (MisplacedVerdict.GO_ON, rest.end())
        if has_calls and (closing := _ANY_CLOSING.match(text, start, partial=True)) is not None:
            return (MisplacedVerdict.WAIT, start) if closing.partial else (MisplacedVerdict.GO_ON, closing.end())
        if has_calls and text[start] == "<":
            marker = read_marker(text, start, self._openings.is_named_tool)
            if marker is grammar.MAYBE:
                return MisplacedVerdict.WAIT, start
            if marker is not None and marker.is_token:
                return MisplacedVerdict.GO_ON, marker.end
        if self.is_doubtful and tag is None:
            return MisplacedVerdict.TALK, start
        if tag or self._is_forged or not (has_calls or reply_begun):
            return MisplacedVerdict.MEANT, start
        fence = grammar.read_fence(text, start, self._limits) if not has_calls else None
        if fence is grammar.MAYBE:
            return MisplacedVerdict.WAIT, start
        if fence:
            self._marker, end = fence
            self._phase = _TrialPhase.IN_FENCE
            return MisplacedVerdict.GO_ON, end
        if has_calls and self._is_json_call and self.has_whole_json and not reply_begun:
            raw = "".join(self.raw)
            self.is_explained = "\n" in raw[len(raw.rstrip()) :]
            return MisplacedVerdict.MEANT if self.is_explained else MisplacedVerdict.TALK, start
        return MisplacedVerdict.TALK, start
