"""Gemini Live on the wire: our messages → client frames, server frames → our events. Pure.

Rules.
- Most of these models only speak. Their text is the service's transcript, which cannot contain the protocol's tags;
  the sound only shows that they are active. Instead of writing `<execute>`, the model calls a function, which also
  takes the contents of `<workspace>`. The parser receives both as if they had been written. The function is offered if
  the messages teach the protocol. It is blocking, because these models would go on without its result. The arguments
  of a call are JSON in a string.
- An answer ends with a call, or with the model's turn unless that continues in the background. Later frames of a turn
  that a call has ended are dropped.
- The service keeps the conversation with the connection and, for hours, under a handle. The handle is used for the next
  connection if it includes all messages so far, and it is never stored. Without one, the whole context is sent again.
- A connection that is closed with a reason refused something; without one it was lost.
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from agent.messages import Json, JsonObject, Message, NativeContent, Role
from agent.ports.model import (
    CallOptions,
    Capabilities,
    Halt,
    ReasoningArrived,
    ResponseEnded,
    StopReason,
    TokensArrived,
)
from agent.protocol.grammar import WORKSPACE_FIELDS
from agent.providers import wire
from agent.providers.dialect import ReaderEvent
from agent.providers.faults import Fault, FaultKind, read_error
from agent.providers.resume_chain import ChainLink, ResumeChain, chain_after
from agent.providers.socket_dialect import SocketExchange
from agent.providers.wire_gemini import USAGE, parts_of

TOOL = "execute"

LIVE_USAGE = replace(USAGE, output="responseTokenCount")

_KEYS = frozenset(
    {
        *("setupComplete", "serverContent", "toolCall", "toolCallCancellation", "usageMetadata", "goAway"),
        *("sessionResumptionUpdate", "voiceActivity", "voiceActivityDetectionSignal", "error"),
    }
)
# Words in the reason of a complete turn that mean that its answer was withheld.
_FILTERED = re.compile("PROHIBITED|SAFETY|BLOCKLIST|REJECTED|CELEBRITY|MINORS|INPUT_OTHER|INPUT_IP|UNSAFE")
_GOOD_ENDS = frozenset({"", "TURN_COMPLETE_REASON_UNSPECIFIED", "NEED_MORE_INPUT"})
_LOST = frozenset({1000, 1001, 1005, 1006})  # Close codes that are not about the question
# The status for words of a close reason.
_REFUSALS = {
    **dict.fromkeys(("api key", "api_key"), 401),
    **dict.fromkeys(("quota", "rate limit", "exhausted"), 429),
    "not found": 404,
    "permission": 403,
    "unavailable": 503,
    "overloaded": 503,
    "deadline": 504,
}
_BAD_REQUEST = frozenset({1003, 1007, 1008})


@dataclass(frozen=True, slots=True)
class LiveCall:
    """A call of our function. A call without an id cannot be answered."""

    id: str
    name: str
    args: Mapping[str, object] = field(repr=False)


@dataclass(frozen=True, slots=True)
class LiveFrame:
    """One frame. `handle` is None if the frame has none, and "" if the conversation cannot be resumed now."""

    events: tuple[TokensArrived | ReasoningArrived, ...] = ()
    calls: tuple[LiveCall, ...] = ()
    cancelled: tuple[str, ...] = ()
    complete: StopReason | None = None
    usage: Mapping[str, object] = field(default_factory=dict[str, object])
    ready: bool = False
    leaving: bool = False
    interrupted: bool = False
    handle: str | None = None
    fault: Fault | None = None
    known: bool = True


def read_frame(data: str, *, spoken: bool) -> LiveFrame:
    """Read a frame. `spoken`: the model speaks, and its text is the transcript."""
    frame = wire.as_object(wire.parse_json(data))
    content = wire.as_object(frame.get("serverContent"))
    update = frame.get("sessionResumptionUpdate")
    error = frame.get("error")
    return LiveFrame(
        events=_read_events(content, spoken=spoken),
        calls=tuple(map(_call, wire.as_list(wire.as_object(frame.get("toolCall")).get("functionCalls")))),
        cancelled=tuple(map(wire.as_text, wire.as_list(wire.as_object(frame.get("toolCallCancellation")).get("ids")))),
        complete=_complete(content),
        usage=wire.as_object(frame.get("usageMetadata")),
        ready="setupComplete" in frame,
        leaving="goAway" in frame,
        interrupted=bool(content.get("interrupted")),
        handle=None if update is None else _handle(wire.as_object(update)),
        fault=read_error(error) if error else None,
        known=not _KEYS.isdisjoint(frame),
    )


def call_text(calls: Sequence[LiveCall]) -> str:
    workspace: object = None
    calls_json: list[object] = []
    for call in calls:
        if call.name != TOOL:
            calls_json.append({"name": call.name, "args": dict(call.args)})
            continue
        workspace = workspace or call.args.get("workspace")
        listed = call.args.get("calls", dict(call.args))
        calls_json += wire.as_list(listed) or [listed]
    workspace_block = (
        f"\n<workspace>{json.dumps(workspace, ensure_ascii=False)}</workspace>" if wire.as_object(workspace) else ""
    )
    return f"{workspace_block}\n<execute>{json.dumps(calls_json, ensure_ascii=False)}\n</execute>"


def closed_fault(code: int, reason: str) -> Fault:
    if code in _LOST:
        return Fault(FaultKind.CUT)
    words = reason.lower()
    default = 400 if code in _BAD_REQUEST else 500
    status = next((number for word, number in _REFUSALS.items() if word in words), default)
    return Fault(FaultKind.ANSWERED, status, str(code), message=reason)


def _read_events(content: Mapping[str, object], *, spoken: bool) -> tuple[TokensArrived | ReasoningArrived, ...]:
    events: list[TokensArrived | ReasoningArrived] = []
    parts = [wire.as_object(part) for part in wire.as_list(wire.as_object(content.get("modelTurn")).get("parts"))]
    for part in parts:
        if text := wire.as_text(part.get("text")):
            if part.get("thought"):
                events.append(ReasoningArrived(text))
            elif not spoken:
                events.append(TokensArrived(text))
    if spoken and (text := wire.as_text(wire.as_object(content.get("outputTranscription")).get("text"))):
        events.append(TokensArrived(text))
    if not events and any("inlineData" in part for part in parts):
        events.append(TokensArrived(""))
    return tuple(events)


def _complete(content: Mapping[str, object]) -> StopReason | None:
    if not content.get("turnComplete") or content.get("interactionStatus") == "IN_PROGRESS":
        return None
    reason = wire.as_text(content.get("turnCompleteReason"))
    if _FILTERED.search(reason):
        return StopReason.FILTERED
    return StopReason.END if reason in _GOOD_ENDS else StopReason.UNKNOWN


def _call(value: object) -> LiveCall:
    call = wire.as_object(value)
    return LiveCall(wire.as_text(call.get("id")), wire.as_text(call.get("name")), wire.as_object(call.get("args")))


def _handle(update: Mapping[str, object]) -> str:
    return wire.as_text(update.get("newHandle")) if update.get("resumable") else ""


PATH = "/ws/google.ai.generativelanguage.v1beta.GenerativeService.BidiGenerateContent"

# Prefixes of the names of models that can write. All others, and each "native-audio" model, answer in speech.
WRITERS = ("gemini-2.0-flash-live", "gemini-live-2.5-flash", "gemini-robotics")

PRICE = (
    "{model} answers in speech, of which only the transcript is used: its output is billed as audio, several times the "
    "price of text. For written answers choose another model, such as gemini:gemini-3.8-flash."
)

TAUGHT = "</execute>"  # Only a system message that teaches the protocol contains it

HOW_TO_CALL = """\
# How you call tools here

You cannot write blocks here. Wherever you are told to write <workspace> and <execute>, call the function `execute`
instead and give it the same contents. What it returns is the <results>. Leave out <summary>. Never say or
write a tag, JSON or the name of a tool: everything that you say reaches the person.
"""

EXECUTE: dict[str, Json] = {
    "name": TOOL,
    "description": "Runs your tools, all calls of the list at the same time, and returns their results.",
    "behavior": "BLOCKING",
    "parameters": {
        "type": "OBJECT",
        "properties": {
            "workspace": {
                "type": "OBJECT",
                "description": "What belongs between <workspace> and </workspace>.",
                "properties": {**{name: {"type": "STRING"} for name in WORKSPACE_FIELDS}},
                "required": [*WORKSPACE_FIELDS],
            },
            "calls": {
                "type": "ARRAY",
                "items": {
                    "type": "OBJECT",
                    "properties": {
                        "name": {"type": "STRING", "description": "The tool's name."},
                        "args": {"type": "STRING", "description": "The tool's arguments: a JSON object, as text."},
                    },
                    "required": ["name", "args"],
                },
            },
        },
        "required": ["workspace", "calls"],
    },
}

SEE_FIRST = "See the results of the first call, which holds the results of all."

_HANDLE = "connection"  # The handle of a chain whose beginning the open connection has
_ROLES = {Role.USER: "user", Role.ASSISTANT: "model"}


def can_write(model: str) -> bool:
    """Return whether the model can answer in text, by its name."""
    return model.startswith(WRITERS) and "native-audio" not in model


@dataclass(frozen=True, slots=True)
class LiveDialect:
    """Live for one model. `spoken`: it answers in speech, and its text is a transcript."""

    model: str
    spoken: bool = True

    @property
    def name(self) -> str:
        return f"gemini-live:{self.model}"

    @property
    def path(self) -> str:
        return PATH

    @property
    def capabilities(self) -> Capabilities:
        return Capabilities(halt=Halt.TOOL, resume=True, images=True, reasons=True)

    @property
    def warning(self) -> str:
        return PRICE.format(model=self.model) if self.spoken else ""

    def dialogue(self, options: CallOptions) -> "LiveDialogue":
        del options  # these models refuse a level of thinking
        return LiveDialogue(self)

    def setup(self, messages: Sequence[Message], handle: str) -> str:
        """Return the first frame of a connection, with its settings. With a handle the conversation is resumed."""
        system = wire.system_text(messages)
        setup: dict[str, Json] = {
            "model": self.model if self.model.startswith("models/") else f"models/{self.model}",
            "generationConfig": {"responseModalities": ["AUDIO" if self.spoken else "TEXT"]},
            "sessionResumption": {"handle": handle} if handle else {},
        }
        if self.spoken:
            setup["outputAudioTranscription"] = {}
        if TAUGHT in system:
            system = f"{system}\n\n{HOW_TO_CALL}"
            setup["tools"] = [{"functionDeclarations": [EXECUTE]}]
        if system:
            setup["systemInstruction"] = {"parts": [{"text": system}]}
        return _frame({"setup": setup})

    def question(self, link: ChainLink) -> str:
        """Return the frame for the next answer: the results of the calls of the last one, or more messages."""
        items = link.answering.items if link.answering else ()
        calls = [wire.as_object(item["functionCall"]) for item in items if "functionCall" in item]
        if calls:
            return _frame({"toolResponse": {"functionResponses": _responses(calls, link.new)}})
        turns: list[Json] = [
            {"role": _ROLES[message.role], "parts": parts_of(message)} for message in wire.alternating(link.new, "")
        ]
        return _frame({"clientContent": {"turns": turns, "turnComplete": True}})


class LiveDialogue(SocketExchange):
    """The exchange with Live. `halted` is never set, because the model stops at its call by itself."""

    def __init__(self, dialect: LiveDialect) -> None:
        super().__init__()
        self.ready = False
        self._dialect = dialect
        self._handle = ""
        self._resuming = False
        self._leaving = False
        self._end_pending = False  # Whether the end of the turn with the last call may still be reported
        self._answer = _LiveAnswer()

    def open(self, messages: Sequence[Message]) -> str:
        handle = self._handle if self._chain.link(messages).parent else ""
        self._handle, self._resuming = "", bool(handle)
        if not handle:
            self._chain, self._end_pending = ResumeChain(), False
        self.ready = self._leaving = False
        return self._dialect.setup(messages, handle)

    def continues(self, messages: Sequence[Message]) -> bool:
        return not self._leaving and super().continues(messages)

    def ask(self, messages: Sequence[Message]) -> list[str]:
        link = self._chain.link(messages)
        self._chain, self._handle, self._messages = ResumeChain(), "", messages
        self._answer, self.finished = _LiveAnswer(), False
        return [self._dialect.question(link)]

    def receive(self, data: str) -> list[ReaderEvent]:
        frame = read_frame(data, spoken=self._dialect.spoken)
        self.ignored += not frame.known
        self._leaving = self._leaving or frame.leaving
        if not self.ready:
            self.ready = frame.ready
            return [frame.fault] if frame.fault else []
        if self._messages is None:
            self._receive_idle(frame)
            return []
        return self._read(frame)

    def close(self) -> ResponseEnded:
        answer = self._answer
        native = answer.native(self._dialect.name)
        if self._messages is not None:
            self._chain = chain_after(self._messages, _HANDLE, native)
        self._messages = None
        return ResponseEnded(answer.reason, LIVE_USAGE.read(answer.usage) if answer.usage else None, native)

    def connection_fault(self, code: int, reason: str) -> Fault | None:
        if self._resuming and not self.ready:
            self._chain = ResumeChain()
            return None
        return Fault(FaultKind.CUT) if self._leaving else closed_fault(code, reason)

    def _receive_idle(self, frame: LiveFrame) -> None:
        """Process a frame between two questions. The connection is abandoned if the model goes on or cancels a call."""
        if frame.handle is not None:
            self._handle = frame.handle
        self._end_pending = self._end_pending and frame.complete is None
        is_cancelled = not self._answer.ids.isdisjoint(frame.cancelled)
        if frame.calls or is_cancelled:
            self._leaving, self._handle = True, ""

    def _read(self, frame: LiveFrame) -> list[ReaderEvent]:
        answer = self._answer
        if frame.complete and self._end_pending and not (frame.events or frame.calls):
            self._end_pending = False
            return []
        events: list[ReaderEvent] = [*frame.events]
        self._end_pending = self._end_pending and not (frame.events or frame.calls)
        answer.add(frame)
        if frame.calls:
            events.append(TokensArrived(call_text(frame.calls)))
            self._end_pending = frame.complete is None
        self.finished = bool(frame.calls or frame.complete)
        return [*events, frame.fault] if frame.fault and not self.finished else events


class _LiveAnswer:
    def __init__(self) -> None:
        self.reason = StopReason.UNKNOWN
        self.interrupted = False
        self.usage: dict[str, object] = {}
        self._texts: list[str] = []
        self._calls: list[LiveCall] = []

    @property
    def ids(self) -> frozenset[str]:
        return frozenset(call.id for call in self._calls)

    def add(self, frame: LiveFrame) -> None:
        self.usage = {**frame.usage} or self.usage
        self._texts += [event.text for event in frame.events if isinstance(event, TokensArrived)]
        self._calls += frame.calls
        self.interrupted = self.interrupted or frame.interrupted
        complete = StopReason.UNKNOWN if self.interrupted else frame.complete
        self.reason = StopReason.HALTED if self._calls else complete or StopReason.UNKNOWN

    def native(self, dialect: str) -> NativeContent | None:
        """Return the answer, whose calls the next question must answer; None if it is empty or a call has no id."""
        text = "".join(self._texts)
        items: list[JsonObject] = [{"text": text}] if text else []
        calls: list[JsonObject] = [{"functionCall": {"id": call.id, "name": call.name}} for call in self._calls]
        return NativeContent(dialect, (*items, *calls)) if (items or calls) and "" not in self.ids else None


def _responses(calls: Sequence[dict[str, object]], messages: Sequence[Message]) -> list[Json]:
    outputs = ["\n\n".join(wire.describe_pictures(message) for message in messages), *[SEE_FIRST] * (len(calls) - 1)]
    return [
        {"id": wire.as_text(call.get("id")), "name": wire.as_text(call.get("name")), "response": {"output": output}}
        for call, output in zip(calls, outputs, strict=True)
    ]


def _frame(frame: dict[str, Json]) -> str:
    return wire.encoded(frame).decode()
