"""One block, from the end of its opening tag to its own end. Pure.

Theory of operation. The scanner follows the JSON of a block. `<execute>` is over with its JSON: what follows would be
discarded anyway, so its calls can run before the closing tag has arrived. The other blocks are over with their closing
tag. `<think>`, and every block with invalid JSON, is over with the first literal closing tag.

A private block that is never closed is never shown. But a model that forgets to close a workspace still means its
calls: `<execute>` at the start of a line ends every other block of JSON.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum, auto
from typing import assert_never

from agent.events import (
    CallsArrived,
    CallsRejected,
    ProtocolEvent,
    SummaryArrived,
    ThoughtArrived,
    Violation,
    ViolationFound,
    WorkspaceArrived,
)
from agent.messages import Json, ToolCall
from agent.protocol.foreign_calls import NAME_KEYS
from agent.protocol.grammar import (
    BLANKS,
    MAYBE,
    NO_TAG_BEGINS,
    NOTE_KEYS,
    SUMMARY_FIELDS,
    WORKSPACE_FIELDS,
    WRAPPING_KEYS,
    BlockKind,
    BlockPlace,
    ParserLimits,
    Tag,
    bare_name,
    read_json_start,
    read_tag,
    skip_blanks,
)
from agent.protocol.json_scanner import JsonScanner, Status
from agent.protocol.json_text import JsonReader, Unreadable, undoubled
from agent.state import Workspace

# --------------------------------------------------------------------------------------------------
# Reading the calls of an `<execute>` block: JSON text in, calls or a reason out. Pure.
#
# Models write calls as they were trained to. Each of these variants has one meaning and is accepted: an object instead
# of a list; "arguments", "parameters" or "input" for "args"; no arguments at all; arguments as JSON in a string; the
# vendors' wrapping {"type": "function", "function": {…}}. Anything ambiguous is rejected.


@dataclass(frozen=True, slots=True)
class Corrections:
    """What the model reads of calls that cannot run, in the words of the form that it was taught.

    `form`: how a call is written. `no_tag`: why a call without a tag does not run; "" if it does. `example`: the same
    of one in a fence behind words. `quoted`: of one in a foreign form that stands as texts show one.
    """

    where: str
    form: str
    no_tag: str
    example: str
    quoted: str

    @property
    def sentences(self) -> tuple[str, ...]:
        """What the model may repeat to the person of a correction."""
        return tuple(filter(None, (self.form, self.no_tag, self.example, self.quoted, UNKNOWN_TOOL)))

    def unreadable(self, problem: str) -> CallsRejected:
        return CallsRejected(f"The JSON in {self.where} cannot be read: {problem}. {self.form}")

    def no_list(self, problem: str) -> CallsRejected:
        return CallsRejected(f"The calls cannot be read: {problem}. {self.form}")

    def too_long(self, limits: ParserLimits) -> CallsRejected:
        return CallsRejected(f"What stands in {self.where} is longer than {limits.block} characters. {self.form}")

    def unknown_tool(self, name: str, tools: Sequence[str]) -> str:
        """Return what the model reads of a call of a tool that does not exist."""
        some = f"Your tools: {', '.join(tools[:_SHOWN_TOOLS])}. " if tools else ""
        return f"There is no tool {name!r}. {some}{UNKNOWN_TOOL}"


UNKNOWN_TOOL = "Call another one, or answer in words. To show JSON, write a sentence before it."
_SHOWN_TOOLS = 12

IN_BLOCKS = Corrections(
    where="<execute>",
    form='Write one list: [{"name": "…", "args": {…}}], then </execute> on a line of its own.',
    no_tag="A call outside <execute> does not run. Write <execute>, then the list of calls, then </execute>.",
    example=(
        "A call in a code fence is an example and does not run. To make the call, write <execute> at the start of a "
        "line, without a fence. To show an example, write the whole answer again, with an invented tool's name in it."
    ),
    quoted=(
        "A call behind other words, or in code, does not run. To make the call, write <execute> at the start "
        "of a line. To show an example, write the whole answer again, with an invented tool's name in it."
    ),
)
IN_FUNCTIONS = Corrections(
    where="the call",
    form="Call the tool with a function call, not in your text.",
    no_tag="",
    example="",
    quoted=(
        "A call behind other words does not run. To make it, call the tool with a function call. To show an example, "
        "write the whole answer again, with an invented tool's name in it."
    ),
)

_ARGS_KEYS = ("args", "arguments", "parameters", "input", "params", "tool_input", "action_input")
_LIST_KEYS = ("calls", "tool_calls", "tool_uses", "actions")
_IGNORED_KEYS = frozenset({"type", "id", "call_id", "tool_call_id", "index"})
_MAX_NAME = 128


BESIDE_ARGS = '{keys} stood beside "args" and was not used. Arguments belong into "args".'


class _NotCalls(ValueError):
    pass


def read_calls(
    body: str, limits: ParserLimits, *, whole: bool, corrections: Corrections = IN_BLOCKS
) -> CallsArrived | CallsRejected | ViolationFound:
    """Read the calls in `body`. An empty list is no call: what follows is the answer. `whole`: the model closed the
    block, so nothing is missing at its end.
    """
    reader = JsonReader(limits)
    try:
        values = _values(reader, body, whole=whole)
    except Unreadable as error:
        return corrections.unreadable(str(error))
    return _check_calls(values, limits, reader, corrections)


def read_calls_of(
    calls: list[Json], limits: ParserLimits, corrections: Corrections
) -> CallsArrived | CallsRejected | ViolationFound:
    """As `read_calls`, for decoded values, each a call."""
    return _check_calls([calls], limits, JsonReader(limits), corrections)


def _check_calls(
    values: list[Json], limits: ParserLimits, reader: JsonReader, corrections: Corrections
) -> CallsArrived | CallsRejected | ViolationFound:
    try:
        items = [_unwrapped(item) for item in _items(values)]
        calls = tuple(_call(item, reader) for item in items)
    except _NotCalls as error:
        return corrections.no_list(str(error))
    if not calls:
        return ViolationFound(Violation.CALLS_UNREAD, "empty")
    if len(calls) > limits.calls:
        return CallsRejected(f"There are {len(calls)} calls in one block; at most {limits.calls} are allowed.")
    unused = sorted({key[:_MAX_NAME] for item in items for key in _beside(item)})
    return CallsArrived(calls, BESIDE_ARGS.format(keys=", ".join(f'"{key}"' for key in unused)) if unused else "")


def _values(reader: JsonReader, body: str, *, whole: bool) -> list[Json]:
    body = body.rstrip().rstrip("`~")
    try:
        return reader.read(body)
    except Unreadable as strict_error:
        for attempt in (body, *undoubled(body)):
            try:
                return reader.read_mended(attempt, whole=whole)
            except Unreadable:
                continue
        raise strict_error from None


def _items(values: list[Json]) -> list[Json]:
    if len(values) > 1:
        return values
    value = values[0]
    if isinstance(value, dict) and len(value.keys() - NOTE_KEYS) == 1:
        value = next((inner for key in _LIST_KEYS if isinstance(inner := value.get(key), list)), value)
    return value if isinstance(value, list) else [value]


def _unwrapped(item: Json) -> Json:
    """Return the call in a value. Chat Completions wraps one as {"type": "function", "function": {…}}, agents as
    {"thought": …, "action": {…}}, and models repeat what they were trained on.
    """
    if not isinstance(item, dict):
        return item
    around = item.keys() - _IGNORED_KEYS - NOTE_KEYS
    wrapped = item[around.pop()] if len(around) == 1 and not around.isdisjoint(WRAPPING_KEYS) else None
    return wrapped if isinstance(wrapped, dict) else item


def _call(item: Json, reader: JsonReader) -> ToolCall:
    if not isinstance(item, dict):
        raise _NotCalls("each call is an object")
    name_keys = [key for key in NAME_KEYS if key in item]
    if len(name_keys) != 1:
        raise _NotCalls('each call has one "name"')
    name = item[name_keys[0]]
    if not isinstance(name, str) or not 0 < len(name.strip()) <= _MAX_NAME:
        raise _NotCalls('"name" is the name of a tool')
    args_keys = [key for key in _ARGS_KEYS if key in item]
    # Which of two sets of arguments is meant cannot be known, and a wrong guess would act.
    if len(args_keys) > 1:
        raise _NotCalls(f'"{args_keys[0]}" and "{args_keys[1]}" stand in one call')
    # Arguments beside "name" could also be misspelt keys of the call: the model is asked to write them in their place.
    if not args_keys and (other := item.keys() - _IGNORED_KEYS - set(NAME_KEYS)):
        raise _NotCalls(f'"{min(other)[:_MAX_NAME]}" stands beside "name"; put the arguments into "args"')
    return ToolCall(bare_name(name.strip()), _args(item[args_keys[0]] if args_keys else None, reader))


def _beside(item: Json) -> set[str]:
    """Return the keys of a call that say nothing here, but may have been meant as arguments."""
    return item.keys() - {*_IGNORED_KEYS, *NAME_KEYS, *_ARGS_KEYS} if isinstance(item, dict) else set()


def _args(value: Json, reader: JsonReader) -> dict[str, Json]:
    if isinstance(value, str) and value.strip():
        try:
            value, *more = reader.read(value)
        except Unreadable as error:
            raise _NotCalls(f'"args" is a text that is not JSON ({error})') from error
        if more:
            raise _NotCalls('"args" holds several values')
    if value is None or value in ("", []):
        return {}
    if not isinstance(value, dict):
        raise _NotCalls('"args" is an object')
    return value


# --------------------------------------------------------------------------------------------------
# Reading the body of a block: text in, events out. Pure.


class Ending(Enum):
    """How a block ended."""

    CLOSED = auto()
    """By its closing tag, or with complete JSON."""
    UNCLOSED = auto()
    """By the end of the stream, or by the next block."""
    TOO_LONG = auto()


_INSECURE = re.compile(r"""["']?secure["']?\s*:\s*["']?(?:false|no|0)\b""", re.IGNORECASE | re.ASCII)
_NO = (False, 0, "false", "no", "0")


def read_body(
    kind: BlockKind, body: str, ending: Ending, limits: ParserLimits, corrections: Corrections
) -> list[ProtocolEvent]:
    """Return the events of one block, its violations first."""
    events: list[ProtocolEvent] = []
    if ending is Ending.TOO_LONG:
        events.append(ViolationFound(Violation.BLOCK_TOO_LONG, kind))
    if ending is Ending.UNCLOSED:
        events.append(ViolationFound(Violation.BLOCK_UNCLOSED, kind))
    match kind:
        case BlockKind.THINK:
            return [*events, *([ThoughtArrived(body.strip())] if ending is Ending.CLOSED and body.strip() else [])]
        case BlockKind.RESULTS:
            return [*events, ViolationFound(Violation.RESULTS_FORGED)]
        case BlockKind.WORKSPACE:
            return events + _read_workspace(body, limits)
        case BlockKind.SUMMARY:
            return events + _read_summary(body, limits)
        case BlockKind.EXECUTE if ending is Ending.TOO_LONG:
            return [*events, corrections.too_long(limits)]
        case BlockKind.EXECUTE:
            return [*events, read_calls(body, limits, whole=ending is Ending.CLOSED, corrections=corrections)]
        case _:
            assert_never(kind)


def _read_object(body: str, limits: ParserLimits) -> dict[str, Json]:
    """Return the first value, which must be an object. Raises Unreadable."""
    reader = JsonReader(limits)
    body = body.rstrip().rstrip("`~")
    try:
        values = reader.read(body)
    except Unreadable:
        values = reader.read_mended(body, whole=True)
    if not isinstance(values[0], dict):
        raise Unreadable("it is no object")
    return values[0]


def _read_workspace(body: str, limits: ParserLimits) -> list[ProtocolEvent]:
    """Read a workspace. A `"secure": false` in it counts even if the JSON cannot be read."""
    try:
        value = _read_object(body, limits)
    except Unreadable as error:
        invalid = ViolationFound(Violation.WORKSPACE_INVALID, str(error))
        insecure = WorkspaceArrived(Workspace(), secure=False, missing=frozenset(WORKSPACE_FIELDS))
        return [invalid, *([insecure] if _INSECURE.search(body) else [])]
    texts = _texts(value, WORKSPACE_FIELDS)
    secure = value.get("secure", True)
    secure = (secure.strip().lower() if isinstance(secure, str) else secure) not in _NO
    events: list[ProtocolEvent] = []
    missing = [name for name in WORKSPACE_FIELDS if name not in texts]
    if missing:
        events.append(ViolationFound(Violation.WORKSPACE_INVALID, f"no text for {', '.join(missing)}"))
    if texts or not secure:
        events.append(WorkspaceArrived(Workspace(**texts), secure, frozenset(missing)))
    return events


def _read_summary(body: str, limits: ParserLimits) -> list[ProtocolEvent]:
    try:
        texts = _texts(_read_object(body, limits), SUMMARY_FIELDS)
    except Unreadable as error:
        return [ViolationFound(Violation.SUMMARY_INVALID, str(error))]
    update = {name: text for name, text in texts.items() if text.strip()}
    return [SummaryArrived(update) if update else ViolationFound(Violation.SUMMARY_INVALID, "no known field")]


def _texts(value: dict[str, Json], names: tuple[str, ...]) -> dict[str, str]:
    return {name: text for name in names if isinstance(text := value.get(name), str)}


_RECENT = 80  # Characters kept to check whether a tag is at the start of its line; no line is indented deeper
_STOP = re.compile(rf"(?!{NO_TAG_BEGINS})<")
_STOP_ON_TRIAL = re.compile(rf"(?!{NO_TAG_BEGINS})[<\n]")


@dataclass(frozen=True, slots=True)
class Opening:
    """Where and how a block began. Its body begins at `begin`."""

    kind: BlockKind
    begin: int
    where: BlockPlace = BlockPlace.IN_PLACE
    json: bool = True
    """The body begins with JSON."""
    fenced: bool = False
    """There is a fence between the tag and the JSON, so there may be one before the closing tag."""
    tagged: bool = True
    """The block has an opening tag."""
    marker: str = ""
    """The marker of the fence around the block."""
    violation: Violation | None = None
    rejected: str = ""
    """Why its calls do not run, whatever they are."""


class _Phase(Enum):
    JSON = auto()
    LITERAL = auto()
    """Any text up to the closing tag."""
    TAIL = auto()
    """The JSON is complete; the closing tag should follow."""
    OVER = auto()


class Block:
    """The body of one block. Call `feed` until it `is_over`; then `events` returns its events."""

    def __init__(self, opening: Opening, limits: ParserLimits, corrections: Corrections = IN_BLOCKS) -> None:
        self.kind = opening.kind
        self._where = opening.where
        self._rejected = opening.rejected or ("" if opening.tagged else corrections.no_tag)
        self._limits = limits
        self._corrections = corrections
        self._phase = _Phase.JSON if opening.json else _Phase.LITERAL
        self._scanner = JsonScanner(
            max_depth=limits.depth,
            max_number=limits.number,
            several=self.kind is BlockKind.EXECUTE and self._where is not BlockPlace.IN_LINE,
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
        """Whether it exceeded the limit. Then it certainly is a block, not an example."""
        return self._ending is Ending.TOO_LONG

    @property
    def has_whole_json(self) -> bool:
        return self._scanner.complete

    @property
    def body(self) -> str:
        """The text so far; "" if it is too long."""
        self._body = ["".join(self._body)]
        return self._body[0]

    @property
    def _is_call_in_line(self) -> bool:
        return self.kind is BlockKind.EXECUTE and self._where is BlockPlace.IN_LINE

    def feed_plain(self, piece: str) -> list[ProtocolEvent] | None:
        """`feed`, for a printable piece that certainly neither ends nor breaks the block; None for any other."""
        if self._size + len(piece) > self._limits.block:
            return None
        if self._phase is _Phase.JSON:
            is_plain = self._scanner.stays_in_string(piece)
        else:
            is_plain = self._phase is _Phase.LITERAL and self.kind is BlockKind.THINK and "<" not in piece
        if not is_plain:
            return None
        self._size += len(piece)
        self._body.append(piece)
        return []

    def feed(self, text: str, start: int) -> int:
        """Read from `text[start]`. The text after the returned position must be passed again, with more."""
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
        """End the block with the stream. Returns its events. Complete JSON counts as closed."""
        if self._ending is Ending.UNCLOSED and self._scanner.complete:
            self._ending = Ending.CLOSED
        self._phase = _Phase.OVER
        return self.events()

    def events(self) -> list[ProtocolEvent]:
        if self._rejected and self.kind is BlockKind.EXECUTE:
            return [CallsRejected(self._rejected)]
        return read_body(self.kind, self.body, self._ending, self._limits, self._corrections)

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
        self._where = BlockPlace.IN_PLACE
        self._phase = _Phase.OVER if self.kind is BlockKind.EXECUTE else _Phase.LITERAL

    def _read_json(self, text: str, position: int) -> int:
        room = self._limits.block + 1 - self._size
        end = self._scanner.feed(text if len(text) - position <= room else text[: position + room], position)
        self._keep(text[position:end])
        if self._phase is _Phase.JSON and self._scanner.status is Status.DONE:
            self._phase = _Phase.TAIL
            if self.kind is BlockKind.EXECUTE and self._where is BlockPlace.IN_PLACE:
                self._end(Ending.CLOSED)
        elif self._phase is _Phase.JSON and self._scanner.status is Status.FAILED:
            self._phase = _Phase.LITERAL
            self._recent = self.body[-_RECENT:]
        return end

    def _read_tail(self, text: str, position: int) -> int | None:
        start = skip_blanks(text, position, self._tail_blanks)
        if self._where is not BlockPlace.IN_PLACE:
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
        if tag or self._where is not BlockPlace.IN_PLACE:
            self._end(Ending.CLOSED if self._is_call_in_line else Ending.UNCLOSED)
        else:
            self._phase = _Phase.LITERAL
        return start

    def _read_literal(self, text: str, position: int) -> int | None:
        stop = (_STOP if self._where is BlockPlace.IN_PLACE else _STOP_ON_TRIAL).search(text, position)
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
        """A misplaced block of broken JSON ends with its line, its paragraph or its fence."""
        start = skip_blanks(text, position + 1)
        in_line, near = self._where is BlockPlace.IN_LINE, start - position <= self._limits.indent
        if start == len(text) and near and not in_line:
            return None
        if in_line or (near and text[start] in "`~\n"):
            self._end(Ending.UNCLOSED)
            return position
        return self._keep_literal(text, position, position + 1)

    def _may_end_at(self, tag: Tag) -> bool:
        return (
            tag.kind is BlockKind.EXECUTE
            and not tag.closing
            and self.kind not in (BlockKind.THINK, BlockKind.EXECUTE)
            and self._recent.rstrip(BLANKS).endswith("\n")
        )

    def _keep_literal(self, text: str, start: int, end: int) -> int:
        piece = text[start:end]
        if self.kind is not BlockKind.THINK:
            self._recent = (self._recent + piece)[-_RECENT:]
        if not self._scanner.complete and self._ending is not Ending.TOO_LONG:
            self._keep(piece)
        return end


# --------------------------------------------------------------------------------------------------
# Calls in thoughts that were never closed. Pure.
#
# A model that forgets `</think>` still means the workspace and the calls after its thoughts, and with a stop sequence
# they are the last that it wrote. If the closing tag came later, they would be thoughts; so this runs only when the
# stream has ended.


_OPENING = re.compile(rf"^[{BLANKS}]*(?=<[{BLANKS}]*(?:workspace|execute)\b)", re.IGNORECASE | re.ASCII | re.MULTILINE)


def read_forgotten_calls(thoughts: str, limits: ParserLimits, is_tool: Callable[[str], bool]) -> list[ProtocolEvent]:
    """Return the thoughts, the workspace and the calls if there are calls of existing tools; else no events."""
    events: list[ProtocolEvent] = []
    first, position = len(thoughts), 0
    while match := _OPENING.search(thoughts, position):
        tag = read_tag(thoughts, match.end(), limits)
        begin = read_json_start(thoughts, tag.end, tag.kind, limits) if isinstance(tag, Tag) else None
        if not isinstance(tag, Tag) or not isinstance(begin, int):
            position = match.end() + 1
            continue
        first = min(first, match.start())
        block = Block(Opening(tag.kind, begin), limits)
        position = block.feed(thoughts, begin)
        events += block.events() if block.is_over else block.end_of_stream()
        if tag.kind is BlockKind.EXECUTE:
            break
    match events[-1:]:
        case [CallsArrived(calls)] if all(is_tool(call.name) for call in calls):
            return [ThoughtArrived(thoughts[:first].strip()), *events]
        case _:
            return []
