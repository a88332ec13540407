"""What one frame of Gemini Live says. Pure.

Above: `wire_live`. Below: `faults`, `reading`, `agent.protocol.grammar`.

Rules.
- A model that speaks is read by the transcript of what it says; its sound is not, but shows that it is at it.
- A turn is complete when the service says so, unless it says with that that it goes on in the background.
- A connection that is closed with a reason has refused something; without one it was lost.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from agent.messages import Usage
from agent.ports import ReasoningArrived, StopReason, TokensArrived
from agent.providers.faults import Fault, FaultKind, read_error
from agent.providers.reading import as_count, as_list, as_object, as_text, read_json

TOOL = "execute"

_KEYS = frozenset(
    {
        *("setupComplete", "serverContent", "toolCall", "toolCallCancellation", "usageMetadata", "goAway"),
        *("sessionResumptionUpdate", "voiceActivity", "voiceActivityDetectionSignal", "error"),
    }
)
_FILTERED = (
    "PROHIBITED",
    "SAFETY",
    "BLOCKLIST",
    "REJECTED",
    "CELEBRITY",
    "MINORS",
    "INPUT_OTHER",
    "INPUT_IP",
    "UNSAFE",
)
"""Words in the reason why a turn is complete that mean that it was withheld."""
_LOST = frozenset({1000, 1001, 1005, 1006})
"""Codes with which a connection ends that say nothing of what was asked."""
_REFUSALS = {
    "api key": 401,
    "api_key": 401,
    "quota": 429,
    "rate limit": 429,
    "exhausted": 429,
    "not found": 404,
    "permission": 403,
    "unavailable": 503,
    "overloaded": 503,
    "deadline": 504,
}
"""What the words of a reason mean."""
_BAD_REQUEST = frozenset({1003, 1007, 1008})


@dataclass(frozen=True, slots=True)
class Call:
    """A call of our function. Without an id it cannot be answered."""

    id: str
    name: str
    args: Mapping[str, object] = field(repr=False)


@dataclass(frozen=True, slots=True)
class Said:
    """One frame. `handle` is None where none is spoken of, and "" where the conversation cannot be resumed now."""

    said: tuple[TokensArrived | ReasoningArrived, ...] = ()
    calls: tuple[Call, ...] = ()
    cancelled: tuple[str, ...] = ()
    complete: StopReason | None = None
    usage: Mapping[str, object] = field(default_factory=dict[str, object])
    ready: bool = False
    leaving: bool = False
    handle: str | None = None
    fault: Fault | None = None
    known: bool = True


def read_said(data: str, *, spoken: bool) -> Said:
    """What the frame says. `spoken`: the model speaks, and its words are the transcript's."""
    frame = as_object(read_json(data))
    content = as_object(frame.get("serverContent"))
    update = frame.get("sessionResumptionUpdate")
    error = frame.get("error")
    return Said(
        said=_words(content, spoken=spoken),
        calls=tuple(map(_call, as_list(as_object(frame.get("toolCall")).get("functionCalls")))),
        cancelled=tuple(map(as_text, as_list(as_object(frame.get("toolCallCancellation")).get("ids")))),
        complete=_complete(content),
        usage=as_object(frame.get("usageMetadata")),
        ready="setupComplete" in frame,
        leaving="goAway" in frame,
        handle=None if update is None else _handle(as_object(update)),
        fault=read_error(error) if error else None,
        known=not _KEYS.isdisjoint(frame),
    )


def call_text(calls: Sequence[Call]) -> str:
    """The calls as the blocks that they stand for. Those of several calls of the function are one list."""
    workspace: object = None
    asked: list[object] = []
    for call in calls:
        if call.name != TOOL:
            asked.append({"name": call.name, "args": dict(call.args)})
            continue
        workspace = workspace or call.args.get("workspace")
        listed = call.args.get("calls", dict(call.args))
        asked += as_list(listed) or [listed]
    known = f"\n<workspace>{_json(workspace)}</workspace>" if as_object(workspace) else ""
    return f"{known}\n<execute>{_json(asked)}\n</execute>"


def read_usage(usage: Mapping[str, object]) -> Usage:
    """Token counts as parts that do not overlap."""
    prompt, cached = as_count(usage.get("promptTokenCount")), as_count(usage.get("cachedContentTokenCount"))
    return Usage(
        input_uncached=max(0, prompt - cached) + as_count(usage.get("toolUsePromptTokenCount")),
        input_cached=cached,
        output=as_count(usage.get("responseTokenCount")),
        reasoning=as_count(usage.get("thoughtsTokenCount")),
    )


def closed_fault(code: int, reason: str) -> Fault:
    """What it means that the service closed the connection."""
    if code in _LOST:
        return Fault(FaultKind.CUT)
    words = reason.lower()
    by_code = 400 if code in _BAD_REQUEST else 500
    status = next((number for word, number in _REFUSALS.items() if word in words), by_code)
    return Fault(FaultKind.ANSWERED, status, str(code), message=reason)


def _words(content: Mapping[str, object], *, spoken: bool) -> tuple[TokensArrived | ReasoningArrived, ...]:
    said: list[TokensArrived | ReasoningArrived] = []
    parts = [as_object(part) for part in as_list(as_object(content.get("modelTurn")).get("parts"))]
    for part in parts:
        if text := as_text(part.get("text")):
            if part.get("thought"):
                said.append(ReasoningArrived(text))
            elif not spoken:
                said.append(TokensArrived(text))
    if spoken and (text := as_text(as_object(content.get("outputTranscription")).get("text"))):
        said.append(TokensArrived(text))
    if not said and any("inlineData" in part for part in parts):
        said.append(TokensArrived(""))
    return tuple(said)


def _complete(content: Mapping[str, object]) -> StopReason | None:
    if not content.get("turnComplete") or content.get("interactionStatus") == "IN_PROGRESS":
        return None
    reason = as_text(content.get("turnCompleteReason"))
    return StopReason.FILTERED if any(word in reason for word in _FILTERED) else StopReason.END


def _call(value: object) -> Call:
    call = as_object(value)
    return Call(as_text(call.get("id")), as_text(call.get("name")), as_object(call.get("args")))


def _handle(update: Mapping[str, object]) -> str:
    return as_text(update.get("newHandle")) if update.get("resumable") else ""


def _json(value: object) -> str:
    """As a model writes it; what is nested too deeply to be written is no list that the parser would run."""
    try:
        return json.dumps(value, ensure_ascii=False)
    except RecursionError:
        return "[null]"
