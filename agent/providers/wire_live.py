"""Gemini Live on the wire: our messages → client frames, server frames → our events. Pure.

Above: `socket_session`. Below: `live_reading` (what a server's frame says), `dialogue`, `chain`, `alternation`.

Rules.
- Most of these models only speak. Their words are the transcript that the service writes of their speech, which cannot
  carry the protocol's tags. So the model calls a function in place of writing `<execute>`, and hands it what belongs
  into `<workspace>`; to the parser both look as if they had been written.
- The function is offered where the messages teach the protocol. It is declared as blocking: these models would talk on
  without its result. The arguments of a call are JSON in a text: the service refuses objects of unknown fields.
- An answer ends with a call, or with the model's turn. What still comes of a turn that a call has ended is dropped.
- The service keeps the conversation with the connection and, for hours, under a handle. The handle is used on the next
  connection if it stands for all that was said so far, and is never stored. Where there is none, everything is sent
  again, and our own words stand for what the model called.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from agent.messages import Json, JsonObject, Message, Native, Role
from agent.ports import CallOptions, Capabilities, Halt, ResponseEnded, StopReason, TokensArrived
from agent.protocol.grammar import WORKSPACE_FIELDS
from agent.providers.alternation import alternating, system_text
from agent.providers.chain import Chain, Link, answered
from agent.providers.dialect import ReaderEvent
from agent.providers.faults import Fault, FaultKind
from agent.providers.live_reading import TOOL, Call, Said, call_text, closed_fault, read_said, read_usage
from agent.providers.reading import as_object, as_text
from agent.providers.wire_gemini import IMAGE_TYPES
from agent.providers.writing import base64_of, described, encoded

PATH = "/ws/google.ai.generativelanguage.v1beta.GenerativeService.BidiGenerateContent"

WRITERS = ("gemini-2.0-flash-live", "gemini-live-2.5-flash", "gemini-robotics")
"""How the names of models begin that can write. All others, and every "native-audio", answer in speech."""

PRICE = (
    "{model} answers in speech, of which only the transcript is used: its output is billed as audio, several times the "
    "price of text. For written answers choose another model, such as gemini:gemini-3.8-flash."
)

TAUGHT = "</execute>"
"""Stands in a system message that teaches the protocol, and in no other."""

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
                "properties": {
                    **{name: {"type": "STRING"} for name in WORKSPACE_FIELDS},
                },
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

_HANDLE = "connection"
"""Under which a chain knows that the open connection has its beginning."""
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
        """Whose calls these are."""
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

    def authorisation(self, key: str) -> dict[str, str]:
        return {"x-goog-api-key": key}

    def dialogue(self, options: CallOptions) -> "LiveDialogue":
        del options  # these models refuse a level of thinking
        return LiveDialogue(self)

    def setup(self, messages: Sequence[Message], handle: str) -> str:
        """The first frame of a connection: what holds for all of it. With a handle it goes on where that was left."""
        system = system_text(messages)
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

    def question(self, link: Link) -> str:
        """What asks for the next answer: the output of the calls that the last one ended with, or more content."""
        items = link.answering.items if link.answering else ()
        calls = [as_object(item["functionCall"]) for item in items if "functionCall" in item]
        if calls:
            return _frame({"toolResponse": {"functionResponses": _responses(calls, link.new)}})
        turns: list[Json] = [
            {"role": _ROLES[message.role], "parts": _parts(message)} for message in alternating(link.new, "")
        ]
        return _frame({"clientContent": {"turns": turns, "turnComplete": True}})


class LiveDialogue:
    """One turn over one connection after the other; see `Dialogue`."""

    def __init__(self, dialect: LiveDialect) -> None:
        self.ready = False
        self.finished = False
        self.ignored = 0
        self._dialect = dialect
        self._chain = Chain()
        self._handle = ""
        self._resuming = False
        self._leaving = False
        self._messages: Sequence[Message] | None = None
        self._owed = False
        """The turn that the last call has ended is still to be told complete, perhaps."""
        self._answer = _Answer()

    @property
    def halted(self) -> bool:
        """Never: the model stops at its call by itself."""
        return False

    def open(self, messages: Sequence[Message]) -> str:
        handle = self._handle if self._chain.link(messages).parent else ""
        self._handle, self._resuming = "", bool(handle)
        if not handle:
            self._chain, self._owed = Chain(), False
        self.ready = self._leaving = False
        return self._dialect.setup(messages, handle)

    def continues(self, messages: Sequence[Message]) -> bool:
        return not self._leaving and bool(self._chain.link(messages).parent)

    def ask(self, messages: Sequence[Message]) -> list[str]:
        link = self._chain.link(messages)
        self._chain, self._handle, self._messages = Chain(), "", messages
        self._answer, self.finished = _Answer(), False
        return [self._dialect.question(link)]

    def receive(self, data: str) -> list[ReaderEvent]:
        said = read_said(data, spoken=self._dialect.spoken)
        self.ignored += not said.known
        self._leaving = self._leaving or said.leaving
        if not self.ready:
            self.ready = said.ready
            return [said.fault] if said.fault else []
        if self._messages is None:
            self._take_note(said)
            return []
        return self._read(said)

    def outgoing(self) -> list[str]:
        return []

    def close(self) -> ResponseEnded:
        answer = self._answer
        native = answer.native(self._dialect.name)
        if self._messages is not None:
            self._chain = answered(self._messages, _HANDLE, native)
        self._messages = None
        return ResponseEnded(answer.reason, read_usage(answer.usage) if answer.usage else None, native)

    def lost(self, code: int, reason: str) -> Fault | None:
        if self._resuming and not self.ready:
            self._chain = Chain()
            return None
        return Fault(FaultKind.CUT) if self._leaving else closed_fault(code, reason)

    def _take_note(self, said: Said) -> None:
        """Between two questions. Where the model goes on by itself, or takes back a call, this connection is left."""
        if said.handle is not None:
            self._handle = said.handle
        self._owed = self._owed and said.complete is None
        taken_back = not self._answer.ids.isdisjoint(said.cancelled)
        if said.calls or taken_back:
            self._leaving, self._handle = True, ""

    def _read(self, said: Said) -> list[ReaderEvent]:
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


class _Answer:
    """One answer as it comes."""

    def __init__(self) -> None:
        self.reason = StopReason.END
        self.usage: dict[str, object] = {}
        self._texts: list[str] = []
        self._calls: list[Call] = []

    @property
    def ids(self) -> frozenset[str]:
        return frozenset(call.id for call in self._calls)

    def take(self, said: Said) -> None:
        self.usage = {**said.usage} or self.usage
        self._texts += [event.text for event in said.said if isinstance(event, TokensArrived)]
        self._calls += said.calls
        self.reason = StopReason.HALTED if self._calls else said.complete or StopReason.END

    def native(self, dialect: str) -> Native | None:
        """What the connection must be answered; None where it cannot be."""
        text = "".join(self._texts)
        items: list[JsonObject] = [{"text": text}] if text else []
        calls: list[JsonObject] = [{"functionCall": {"id": call.id, "name": call.name}} for call in self._calls]
        return Native(dialect, (*items, *calls)) if (items or calls) and "" not in self.ids else None


def _responses(calls: Sequence[dict[str, object]], messages: Sequence[Message]) -> list[Json]:
    """The messages as the output of the first call; a reference to it as that of the others."""
    outputs = ["\n\n".join(described(message) for message in messages), *[SEE_FIRST] * (len(calls) - 1)]
    return [
        {"id": as_text(call.get("id")), "name": as_text(call.get("name")), "response": {"output": output}}
        for call, output in zip(calls, outputs, strict=True)
    ]


def _parts(message: Message) -> list[Json]:
    seen = [image for image in message.images if image.media_type in IMAGE_TYPES]
    text = described(replace(message, images=tuple(image for image in message.images if image not in seen)))
    pictures: list[Json] = [{"inlineData": {"mimeType": image.media_type, "data": base64_of(image)}} for image in seen]
    return [{"text": text}, *pictures] if text.strip() else pictures


def _frame(frame: dict[str, Json]) -> str:
    return encoded(frame).decode()
