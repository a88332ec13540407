"""Gemini Live on the wire: our messages → client frames, server frames → our events. Pure.

Rules.
- Most of these models only speak. Their words are the service's transcript, which cannot carry the protocol's tags; the
  sound only shows that they are at it. So the model calls a function in place of writing `<execute>`, and hands it what
  belongs into `<workspace>`; to the parser both look as if they had been written. It is offered where the messages
  teach the protocol, as blocking: these models would talk on without its result. A call's arguments are JSON in a text.
- An answer ends with a call, or with the model's turn, unless that goes on in the background. What still comes of a
  turn that a call has ended is dropped.
- The service keeps the conversation with the connection and, for hours, under a handle, which is used on the next
  connection if it stands for all that was said so far, and never stored. Without one, everything is sent again.
- A connection that is closed with a reason has refused something; without one it was lost.
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from agent.messages import Json, JsonObject, Message, NativeContent, Role
from agent.ports import CallOptions, Capabilities, Halt, ReasoningArrived, ResponseEnded, StopReason, TokensArrived
from agent.protocol.grammar import WORKSPACE_FIELDS
from agent.providers import wire
from agent.providers.dialect import ChainLink, ReaderEvent, ResumeChain, SocketExchange, answered
from agent.providers.faults import Fault, FaultKind, read_error
from agent.providers.wire_gemini import USAGE, parts_of

TOOL = "execute"

LIVE_USAGE = replace(USAGE, output="responseTokenCount")

_KEYS = frozenset(
    {
        *("setupComplete", "serverContent", "toolCall", "toolCallCancellation", "usageMetadata", "goAway"),
        *("sessionResumptionUpdate", "voiceActivity", "voiceActivityDetectionSignal", "error"),
    }
)
# Words in the reason why a turn is complete that mean that it was withheld.
_FILTERED = re.compile("PROHIBITED|SAFETY|BLOCKLIST|REJECTED|CELEBRITY|MINORS|INPUT_OTHER|INPUT_IP|UNSAFE")
_LOST = frozenset({1000, 1001, 1005, 1006})  # Codes with which a connection ends that say nothing of what was asked
# What the words of a reason mean.
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
    """A call of our function. Without an id it cannot be answered."""

    id: str
    name: str
    args: Mapping[str, object] = field(repr=False)


@dataclass(frozen=True, slots=True)
class LiveFrame:
    """One frame. `handle` is None where none is spoken of, and "" where the conversation cannot be resumed now."""

    said: tuple[TokensArrived | ReasoningArrived, ...] = ()
    calls: tuple[LiveCall, ...] = ()
    cancelled: tuple[str, ...] = ()
    complete: StopReason | None = None
    usage: Mapping[str, object] = field(default_factory=dict[str, object])
    ready: bool = False
    leaving: bool = False
    handle: str | None = None
    fault: Fault | None = None
    known: bool = True


def read_frame(data: str, *, spoken: bool) -> LiveFrame:
    """What the frame says. `spoken`: the model speaks, and its words are the transcript's."""
    frame = wire.as_object(wire.parse_json(data))
    content = wire.as_object(frame.get("serverContent"))
    update = frame.get("sessionResumptionUpdate")
    error = frame.get("error")
    return LiveFrame(
        said=_words(content, spoken=spoken),
        calls=tuple(map(_call, wire.as_list(wire.as_object(frame.get("toolCall")).get("functionCalls")))),
        cancelled=tuple(map(wire.as_text, wire.as_list(wire.as_object(frame.get("toolCallCancellation")).get("ids")))),
        complete=_complete(content),
        usage=wire.as_object(frame.get("usageMetadata")),
        ready="setupComplete" in frame,
        leaving="goAway" in frame,
        handle=None if update is None else _handle(wire.as_object(update)),
        fault=read_error(error) if error else None,
        known=not _KEYS.isdisjoint(frame),
    )


def call_text(calls: Sequence[LiveCall]) -> str:
    workspace: object = None
    asked: list[object] = []
    for call in calls:
        if call.name != TOOL:
            asked.append({"name": call.name, "args": dict(call.args)})
            continue
        workspace = workspace or call.args.get("workspace")
        listed = call.args.get("calls", dict(call.args))
        asked += wire.as_list(listed) or [listed]
    known = f"\n<workspace>{json.dumps(workspace, ensure_ascii=False)}</workspace>" if wire.as_object(workspace) else ""
    return f"{known}\n<execute>{json.dumps(asked, ensure_ascii=False)}\n</execute>"


def closed_fault(code: int, reason: str) -> Fault:
    if code in _LOST:
        return Fault(FaultKind.CUT)
    words = reason.lower()
    by_code = 400 if code in _BAD_REQUEST else 500
    status = next((number for word, number in _REFUSALS.items() if word in words), by_code)
    return Fault(FaultKind.ANSWERED, status, str(code), message=reason)


def _words(content: Mapping[str, object], *, spoken: bool) -> tuple[TokensArrived | ReasoningArrived, ...]:
    said: list[TokensArrived | ReasoningArrived] = []
    parts = [wire.as_object(part) for part in wire.as_list(wire.as_object(content.get("modelTurn")).get("parts"))]
    for part in parts:
        if text := wire.as_text(part.get("text")):
            if part.get("thought"):
                said.append(ReasoningArrived(text))
            elif not spoken:
                said.append(TokensArrived(text))
    if spoken and (text := wire.as_text(wire.as_object(content.get("outputTranscription")).get("text"))):
        said.append(TokensArrived(text))
    if not said and any("inlineData" in part for part in parts):
        said.append(TokensArrived(""))
    return tuple(said)


def _complete(content: Mapping[str, object]) -> StopReason | None:
    if not content.get("turnComplete") or content.get("interactionStatus") == "IN_PROGRESS":
        return None
    reason = wire.as_text(content.get("turnCompleteReason"))
    return StopReason.FILTERED if _FILTERED.search(reason) else StopReason.END


def _call(value: object) -> LiveCall:
    call = wire.as_object(value)
    return LiveCall(wire.as_text(call.get("id")), wire.as_text(call.get("name")), wire.as_object(call.get("args")))


def _handle(update: Mapping[str, object]) -> str:
    return wire.as_text(update.get("newHandle")) if update.get("resumable") else ""


PATH = "/ws/google.ai.generativelanguage.v1beta.GenerativeService.BidiGenerateContent"

# How the names of models begin that can write. All others, and every "native-audio", answer in speech.
WRITERS = ("gemini-2.0-flash-live", "gemini-live-2.5-flash", "gemini-robotics")

PRICE = (
    "{model} answers in speech, of which only the transcript is used: its output is billed as audio, several times the "
    "price of text. For written answers choose another model, such as gemini:gemini-3.8-flash."
)

TAUGHT = "</execute>"  # Stands in a system message that teaches the protocol, and in no other

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

_HANDLE = "connection"  # Under which a chain knows that the open connection has its beginning
_ROLES = {Role.USER: "user", Role.ASSISTANT: "model"}


def can_write(model: str) -> bool:
    """Whether the model answers in text, by its name."""
    return model.startswith(WRITERS) and "native-audio" not in model


@dataclass(frozen=True, slots=True)
class LiveDialect:
    """Live for one model. `spoken`: it answers in speech, and its words are a transcript."""

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
        """The first frame of a connection: what holds for all of it. With a handle it goes on where that was left."""
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
        """What asks for the next answer: the output of the calls that the last one ended with, or more content."""
        items = link.answering.items if link.answering else ()
        calls = [wire.as_object(item["functionCall"]) for item in items if "functionCall" in item]
        if calls:
            return _frame({"toolResponse": {"functionResponses": _responses(calls, link.new)}})
        turns: list[Json] = [
            {"role": _ROLES[message.role], "parts": parts_of(message)} for message in wire.alternating(link.new, "")
        ]
        return _frame({"clientContent": {"turns": turns, "turnComplete": True}})


class LiveDialogue(SocketExchange):
    """It never is `halted`: the model stops at its call by itself."""

    def __init__(self, dialect: LiveDialect) -> None:
        super().__init__()
        self.ready = False
        self._dialect = dialect
        self._handle = ""
        self._resuming = False
        self._leaving = False
        self._owed = False  # The turn that the last call has ended is still to be told complete, perhaps
        self._answer = _LiveAnswer()

    def open(self, messages: Sequence[Message]) -> str:
        handle = self._handle if self._chain.link(messages).parent else ""
        self._handle, self._resuming = "", bool(handle)
        if not handle:
            self._chain, self._owed = ResumeChain(), False
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
        said = read_frame(data, spoken=self._dialect.spoken)
        self.ignored += not said.known
        self._leaving = self._leaving or said.leaving
        if not self.ready:
            self.ready = said.ready
            return [said.fault] if said.fault else []
        if self._messages is None:
            self._take_note(said)
            return []
        return self._read(said)

    def close(self) -> ResponseEnded:
        answer = self._answer
        native = answer.native(self._dialect.name)
        if self._messages is not None:
            self._chain = answered(self._messages, _HANDLE, native)
        self._messages = None
        return ResponseEnded(answer.reason, LIVE_USAGE.read(answer.usage) if answer.usage else None, native)

    def lost(self, code: int, reason: str) -> Fault | None:
        if self._resuming and not self.ready:
            self._chain = ResumeChain()
            return None
        return Fault(FaultKind.CUT) if self._leaving else closed_fault(code, reason)

    def _take_note(self, said: LiveFrame) -> None:
        """Between two questions. Where the model goes on by itself, or takes back a call, this connection is left."""
        if said.handle is not None:
            self._handle = said.handle
        self._owed = self._owed and said.complete is None
        taken_back = not self._answer.ids.isdisjoint(said.cancelled)
        if said.calls or taken_back:
            self._leaving, self._handle = True, ""

    def _read(self, said: LiveFrame) -> list[ReaderEvent]:
        answer = self._answer
        if said.complete and self._owed and not (said.said or said.calls):
            self._owed = False
            return []
        events: list[ReaderEvent] = [*said.said]
        self._owed = self._owed and not (said.said or said.calls)
        answer.take(said)
        if said.calls:
            events.append(TokensArrived(call_text(said.calls)))
            self._owed = said.complete is None
        self.finished = bool(said.calls or said.complete)
        return [*events, said.fault] if said.fault else events


class _LiveAnswer:
    def __init__(self) -> None:
        self.reason = StopReason.END
        self.usage: dict[str, object] = {}
        self._texts: list[str] = []
        self._calls: list[LiveCall] = []

    @property
    def ids(self) -> frozenset[str]:
        return frozenset(call.id for call in self._calls)

    def take(self, said: LiveFrame) -> None:
        self.usage = {**said.usage} or self.usage
        self._texts += [event.text for event in said.said if isinstance(event, TokensArrived)]
        self._calls += said.calls
        self.reason = StopReason.HALTED if self._calls else said.complete or StopReason.END

    def native(self, dialect: str) -> NativeContent | None:
        """What the connection must be answered; None where it cannot be."""
        text = "".join(self._texts)
        items: list[JsonObject] = [{"text": text}] if text else []
        calls: list[JsonObject] = [{"functionCall": {"id": call.id, "name": call.name}} for call in self._calls]
        return NativeContent(dialect, (*items, *calls)) if (items or calls) and "" not in self.ids else None


def _responses(calls: Sequence[dict[str, object]], messages: Sequence[Message]) -> list[Json]:
    outputs = ["\n\n".join(wire.described(message) for message in messages), *[SEE_FIRST] * (len(calls) - 1)]
    return [
        {"id": wire.as_text(call.get("id")), "name": wire.as_text(call.get("name")), "response": {"output": output}}
        for call, output in zip(calls, outputs, strict=True)
    ]


def _frame(frame: dict[str, Json]) -> str:
    return wire.encoded(frame).decode()
