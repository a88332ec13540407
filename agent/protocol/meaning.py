"""What the body of a block says: text in, events out. Pure.

Above: `agent.protocol.blocks`. Below: `agent.protocol.calls`, `agent.protocol.json_text`.
"""

import re
from enum import Enum, auto
from typing import assert_never

from agent.events import (
    CallsRejected,
    ProtocolEvent,
    SummaryArrived,
    ThoughtArrived,
    Violation,
    ViolationFound,
    WorkspaceArrived,
)
from agent.messages import Json
from agent.protocol.calls import FORM, read_calls
from agent.protocol.grammar import SUMMARY_FIELDS, WORKSPACE_FIELDS, Kind, ParserLimits
from agent.protocol.json_text import JsonReader, Unreadable
from agent.state import Workspace


class Ending(Enum):
    """How a block ended."""

    CLOSED = auto()
    """By its closing tag, or with whole JSON."""
    UNCLOSED = auto()
    """By the end of the stream, or by the next block."""
    TOO_LONG = auto()


_INSECURE = re.compile(r"""["']?secure["']?\s*:\s*["']?(?:false|no|0)\b""", re.IGNORECASE | re.ASCII)
_NO = (False, 0, "false", "no", "0")


def read_body(kind: Kind, body: str, ending: Ending, limits: ParserLimits) -> list[ProtocolEvent]:
    """The events of one block, its violations first."""
    events: list[ProtocolEvent] = []
    if ending is Ending.TOO_LONG:
        events.append(ViolationFound(Violation.BLOCK_TOO_LONG, kind))
    if ending is Ending.UNCLOSED:
        events.append(ViolationFound(Violation.BLOCK_UNCLOSED, kind))
    match kind:
        case Kind.THINK:
            return [*events, *([ThoughtArrived(body.strip())] if ending is Ending.CLOSED and body.strip() else [])]
        case Kind.RESULTS:
            return [*events, ViolationFound(Violation.RESULTS_FORGED)]
        case Kind.WORKSPACE:
            return events + _read_workspace(body, limits)
        case Kind.SUMMARY:
            return events + _read_summary(body, limits)
        case Kind.EXECUTE if ending is Ending.TOO_LONG:
            return [*events, CallsRejected(f"<execute> is longer than {limits.block} characters. {FORM}")]
        case Kind.EXECUTE:
            return [*events, read_calls(body, limits, whole=ending is Ending.CLOSED)]
        case _:
            assert_never(kind)


def _read_object(body: str, limits: ParserLimits) -> dict[str, Json]:
    """The first value, which must be an object. Raises Unreadable."""
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
    """Unreadable or not, `"secure": false` in it always counts."""
    try:
        read = _read_object(body, limits)
    except Unreadable as error:
        invalid = ViolationFound(Violation.WORKSPACE_INVALID, str(error))
        nothing = WorkspaceArrived(Workspace(), secure=False, missing=frozenset(WORKSPACE_FIELDS))
        return [invalid, *([nothing] if _INSECURE.search(body) else [])]
    texts = _texts(read, WORKSPACE_FIELDS)
    secure = read.get("secure", True)
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


def _texts(read: dict[str, Json], names: tuple[str, ...]) -> dict[str, str]:
    return {name: text for name in names if isinstance(text := read.get(name), str)}
