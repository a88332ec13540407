"""Gemini's Interactions on the wire: our messages → request body, the stream's data → our events. Pure.

Above: `interactions_session`. Below: `alternation`, `chain`, `wire_gemini` (what both protocols share), `writing`.

Rules:
- With a chain, the vendor stores the interaction, and the next one names it and brings only what is new. Without one,
  nothing is stored, and each request brings everything.
- What holds for one interaction is not carried over to the next: so the stable prefix of a chain is its first input
  item. As `system_instruction` it would have to be sent in each round.
- The reply stops before the stop sequence and does not hold it; the status does not tell that from an end.
- Each step of the model's output begins a paragraph, so that a block's tag stands at the start of a line.
- Only an interaction that is completed can be built on; any may have been stored.
- The total of input tokens holds the cached ones, that of output tokens does not hold the thoughts.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from agent.messages import Json, Message, Native, Role, Usage
from agent.ports import (
    CallOptions,
    Capabilities,
    Halt,
    HandleKept,
    ReasoningArrived,
    ResponseEnded,
    StopReason,
    TokensArrived,
)
from agent.protocol.grammar import STOP_SEQUENCE
from agent.providers.alternation import alternating, system_text
from agent.providers.catalog import reasons
from agent.providers.chain import Chain
from agent.providers.dialect import ReaderEvent, Request
from agent.providers.faults import Fault, FaultKind, read_error
from agent.providers.reading import as_count, as_list, as_object, as_text, read_json
from agent.providers.wire_gemini import IMAGE_TYPES, LEVEL, refuses_thinking, stopped_inside
from agent.providers.writing import base64_of, described, encoded

DONE = "[DONE]"

LOST = frozenset({403, 404})
"""How the vendor says that it has no such interaction, or none that this key may see."""

_STEPS = {Role.USER: "user_input", Role.ASSISTANT: "model_output"}
_REASONS = {
    "incomplete": StopReason.LENGTH,
    "requires_continuation": StopReason.LENGTH,
    "budget_exceeded": StopReason.LENGTH,
}


@dataclass(frozen=True, slots=True)
class InteractionsDialect:
    """Interactions with one model. `chain` is what the vendor has of this turn; None: it is to store nothing."""

    model: str
    chain: Chain | None = None
    images: bool = True
    effort: bool = True

    @property
    def name(self) -> str:
        return f"gemini-interactions:{self.model}"

    @property
    def capabilities(self) -> Capabilities:
        return Capabilities(
            halt=Halt.STOP_SEQUENCE, resume=True, images=self.images, effort=self.effort, reasons=reasons(self.model)
        )

    def authorisation(self, key: str) -> dict[str, str]:
        return {"x-goog-api-key": key}

    def request(self, messages: Sequence[Message], options: CallOptions) -> Request:
        config: dict[str, Json] = {"stop_sequences": [STOP_SEQUENCE]}
        if self.effort and options.depth in LEVEL:
            config["thinking_level"] = LEVEL[options.depth]
        body: dict[str, Json] = {
            "model": self.model.removeprefix("models/"),
            "stream": True,
            "store": self.chain is not None,
            "generation_config": config,
            **(self._whole(messages) if self.chain is None else self._linked(self.chain, messages)),
        }
        return Request("/interactions", encoded(body))

    def reader(self) -> "InteractionsReader":
        return InteractionsReader(self.name, stored=self.chain is not None)

    def without(self, fault: Fault) -> "InteractionsDialect | None":
        if self.effort and refuses_thinking(fault):
            return replace(self, effort=False)
        if self.chain and self.chain.handle and fault.status in LOST:
            return replace(self, chain=Chain())
        return None

    def _whole(self, messages: Sequence[Message]) -> dict[str, Json]:
        system = system_text(messages)
        instruction: dict[str, Json] = {"system_instruction": system} if system.strip() else {}
        return {**instruction, "input": self._steps(messages)}

    def _linked(self, chain: Chain, messages: Sequence[Message]) -> dict[str, Json]:
        link = chain.link(messages)
        if link.parent:
            return {"previous_interaction_id": link.parent, "input": self._steps(link.new)}
        prefix = [self._step(Message(Role.USER, system))] if (system := system_text(messages)).strip() else []
        return {"input": [*prefix, *self._steps(messages)]}

    def _steps(self, messages: Sequence[Message]) -> list[Json]:
        return [self._step(message) for message in alternating(messages, "")]

    def _step(self, message: Message) -> Json:
        seen = [image for image in message.images if self.images and image.media_type in IMAGE_TYPES]
        text = described(replace(message, images=tuple(image for image in message.images if image not in seen)))
        pictures: list[Json] = [
            {"type": "image", "data": base64_of(image), "mime_type": image.media_type} for image in seen
        ]
        words: list[Json] = [{"type": "text", "text": text}] if text.strip() else []
        return {"type": _STEPS[message.role], "content": [*words, *pictures]}


class InteractionsReader:
    """Reads one answer: `receive` each piece of data, then `close` once. `stored`: the vendor keeps the interaction."""

    def __init__(self, dialect: str = "", *, stored: bool = False) -> None:
        self.begun = False
        self.finished = False
        self.ends_openly = True
        self.ignored = 0
        self._dialect = dialect
        self._stored = stored
        self._handle = ""
        self._status = ""
        self._usage: dict[str, object] = {}
        self._said: list[str] = []
        self._gap = ""

    def receive(self, data: str) -> list[ReaderEvent]:
        """The events of one `data` field, in order. A Fault is the last that will be of use."""
        if data.strip() == DONE:
            self.begun = self.finished = True
            return []
        event = as_object(read_json(data))
        self._count(as_object(event.get("metadata")).get("total_usage"))
        match event.get("event_type"):
            case "step.delta":
                return self._delta(as_object(event.get("delta")))
            case "step.start":
                return self._start(as_object(event.get("step")))
            case "interaction.created":
                return self._state(as_object(event.get("interaction")))
            case "interaction.completed":
                self.finished = True
                return self._state(as_object(event.get("interaction")))
            case "interaction.status_update":
                return self._state({**event, "id": event.get("interaction_id")})
            case "step.stop":
                self.begun = True
                return []
            case "error":
                return [read_error(event.get("error"))]
            case _:
                error = event.get("error")
                self.ignored += not error
                return [read_error(error)] if error else []

    def close(self) -> ResponseEnded:
        reason = _REASONS.get(self._status, StopReason.END)
        if reason is StopReason.END and stopped_inside("".join(self._said)):
            reason = StopReason.HALTED
        usable = self._stored and self._handle and self._status == "completed"
        native = Native(self._dialect, ({"id": self._handle},)) if usable else None
        return ResponseEnded(reason, read_usage(self._usage) if self._usage else None, native)

    def _state(self, interaction: Mapping[str, object]) -> list[ReaderEvent]:
        self.begun = True
        self._count(interaction.get("usage"))
        self._status = as_text(interaction.get("status")) or self._status
        events: list[ReaderEvent] = []
        if not self._handle and (handle := as_text(interaction.get("id"))):
            self._handle = handle
            events += [HandleKept(handle)] if self._stored else []
        if self._status == "failed":
            events.append(Fault(FaultKind.ANSWERED, 500, "failed"))
        return events

    def _start(self, step: Mapping[str, object]) -> list[ReaderEvent]:
        self.begun = True
        if step.get("type") == "thought":
            return [event for part in as_list(step.get("summary")) for event in _thought(part)]
        if step.get("type") != "model_output":
            return []
        if self._said:
            self._gap = "\n" if self._said[-1].endswith("\n") else "\n\n"
        parts = [as_object(part) for part in as_list(step.get("content"))]
        return [event for part in parts for event in self._tell(as_text(part.get("text")))]

    def _delta(self, delta: Mapping[str, object]) -> list[ReaderEvent]:
        self.begun = True
        match delta.get("type"):
            case "text":
                return self._tell(as_text(delta.get("text")))
            case "thought_summary":
                return _thought(delta.get("content"))
            case "thought_signature":
                return []
            case _:
                self.ignored += 1
                return []

    def _tell(self, text: str) -> list[ReaderEvent]:
        if not text:
            return []
        told, self._gap = self._gap + text, ""
        self._said.append(told)
        return [TokensArrived(told)]

    def _count(self, usage: object) -> None:
        self._usage = as_object(usage) or self._usage


def _thought(content: object) -> list[ReaderEvent]:
    text = as_text(as_object(content).get("text"))
    return [ReasoningArrived(text)] if text else []


def read_usage(usage: Mapping[str, object]) -> Usage:
    """Token counts as parts that do not overlap."""
    whole, cached = as_count(usage.get("total_input_tokens")), as_count(usage.get("total_cached_tokens"))
    return Usage(
        input_uncached=max(0, whole - cached) + as_count(usage.get("total_tool_use_tokens")),
        input_cached=cached,
        output=as_count(usage.get("total_output_tokens")),
        reasoning=as_count(usage.get("total_thought_tokens")),
    )
