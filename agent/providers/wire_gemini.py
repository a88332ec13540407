"""Gemini's generateContent on the wire: our messages → request body, the stream's data → our events. Pure.

Rules:
- The reply ends before the stop sequence, without it. The finish reason is the same as for a normal end.
- Parts with a signature go back unchanged, each as a separate part, within the turn in which they were written.
- Thoughts are parts of the same stream, with a mark.
- Usage may come with any piece; the last one counts. The prompt's count includes the cached tokens, the candidates'
  count does not include the thoughts.
- There is no `[DONE]`: a finish reason or a blocked prompt ends the answer. Only STOP is a good end: after a call that
  the vendor could not read, or another reason, the answer may be incomplete.
- No `temperature`: current models are tuned for their default.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import cast
from urllib.parse import quote

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
from agent.protocol.grammar import STOP_SEQUENCE
from agent.providers import wire
from agent.providers.catalog import reasons
from agent.providers.dialect import AnswerReader, ModelRequest, ReaderEvent
from agent.providers.faults import Fault, read_error

IMAGE_TYPES = frozenset({"image/png", "image/jpeg", "image/webp", "image/heic", "image/heif"})

_ROLES = {Role.USER: "user", Role.ASSISTANT: "model"}
_FILTERED = (
    *("safety", "recitation", "language", "blocklist", "prohibited_content", "spii", "image_safety", "escalation"),
    *("pup_limited_disabled", "model_armor", "image_prohibited_content", "image_recitation"),
)
_REASONS = {
    "stop": StopReason.END,
    **dict.fromkeys(("max_tokens", "continuation"), StopReason.LENGTH),
    **dict.fromkeys(_FILTERED, StopReason.FILTERED),
}
# Fields of a part that is no text and has nothing to show: what the vendor does by itself, and notes on other parts.
_STEPS = frozenset(
    {
        *("executableCode", "codeExecutionResult", "toolCall", "toolResponse", "functionResponse"),
        *("thought", "thoughtSignature", "text", "mediaProcessing", "mediaResolution", "audioTranscription"),
        *("audioMetadata", "documentMetadata", "partMetadata", "speechMetadata", "spreadsheetMetadata"),
        "videoMetadata",
    }
)


@dataclass(frozen=True, slots=True)
class GeminiDialect:
    """generateContent for one model. `effort` is False for models that refuse a level of thinking.

    `publisher`: the path before "/models", at a service that has models of several publishers.
    """

    model: str
    images: bool = True
    effort: bool = True
    publisher: str = ""

    @property
    def name(self) -> str:
        return f"gemini-content:{self.model}"

    @property
    def capabilities(self) -> Capabilities:
        return Capabilities(
            halt=Halt.STOP_SEQUENCE, images=self.images, effort=self.effort, reasons=reasons(self.model)
        )

    def request(self, messages: Sequence[Message], options: CallOptions) -> ModelRequest:
        config: dict[str, Json] = {"stopSequences": [STOP_SEQUENCE]}
        if self.effort and options.depth in wire.EFFORT:
            config["thinkingConfig"] = {"thinkingLevel": wire.EFFORT[options.depth].upper()}
        body: dict[str, Json] = {"generationConfig": config}
        if (system := wire.system_text(messages)).strip():
            body["systemInstruction"] = {"parts": [{"text": system}]}
        body["contents"] = [
            {"role": _ROLES[message.role], "parts": self._parts(message)}
            for message in wire.alternating(messages, self.name)
        ]
        model = quote(self.model.removeprefix("models/"), safe="")
        return ModelRequest(f"{self.publisher}/models/{model}:streamGenerateContent?alt=sse", wire.encoded(body))

    def reader(self) -> "GeminiReader":
        return GeminiReader(self.name)

    def without(self, fault: Fault) -> "GeminiDialect | None":
        return replace(self, effort=False) if self.effort and refuses_thinking(fault) else None

    def _parts(self, message: Message) -> list[Json]:
        if message.role is Role.ASSISTANT and message.native:
            return [dict(item) for item in message.native.items]
        return parts_of(message, IMAGE_TYPES if self.images else ())


def parts_of(message: Message, image_types: Collection[str] = IMAGE_TYPES) -> list[Json]:
    """Return the text part of a message, if it is not blank, and its pictures."""
    text, images = wire.with_pictures(message, image_types)
    pictures: list[Json] = [
        {"inlineData": {"mimeType": image.media_type, "data": wire.base64_of(image)}} for image in images
    ]
    return [{"text": text}, *pictures] if text.strip() else pictures


def refuses_thinking(fault: Fault) -> bool:
    """Return whether the model refuses a level of thinking. The messages differ, and not all name the field."""
    return fault.bad_request and "thinking" in fault.message.lower()


USAGE = wire.UsageFields(
    input="promptTokenCount",
    cached="cachedContentTokenCount",
    tools="toolUsePromptTokenCount",
    output="candidatesTokenCount",
    reasoning="thoughtsTokenCount",
    reasoning_apart=True,
)


class GeminiReader(AnswerReader):
    usage_fields = USAGE

    def __init__(self, dialect: str = "") -> None:
        super().__init__(dialect)
        self._parts: list[dict[str, object]] = []
        self._texts: list[str] = []

    def receive(self, data: str) -> list[ReaderEvent]:
        value = wire.parse_json(data)
        events: list[ReaderEvent] = []
        for piece in wire.as_list(value) or [value]:
            events += self._piece(wire.as_object(piece))
            if events and isinstance(events[-1], Fault):
                break
        return events

    def close(self) -> ResponseEnded:
        if self._reason is StopReason.END and stopped_inside("".join(self._texts)):
            self._reason = StopReason.HALTED
        return super().close()

    def _piece(self, piece: Mapping[str, object]) -> list[ReaderEvent]:
        is_part = not piece.keys().isdisjoint({"candidates", "usageMetadata", "promptFeedback"})
        if error := piece.get("error") if is_part else wire.error_in(piece):
            return [read_error(error)]
        if not is_part:
            self.ignored += 1
            return []
        self.begun = True
        self._usage = wire.as_object(piece.get("usageMetadata")) or self._usage
        if wire.as_object(piece.get("promptFeedback")).get("blockReason"):
            self.finished = True
            self._reason = StopReason.FILTERED
        candidates = [wire.as_object(candidate) for candidate in wire.as_list(piece.get("candidates"))]
        return [event for candidate in candidates if not candidate.get("index") for event in self._candidate(candidate)]

    def _candidate(self, candidate: Mapping[str, object]) -> list[ReaderEvent]:
        parts = wire.as_list(wire.as_object(candidate.get("content")).get("parts"))
        events = [event for part in parts for event in self._part(wire.as_object(part))]
        if (reason := wire.as_text(candidate.get("finishReason"))) and not self.finished:
            self.finished = True
            self._reason = wire.read_stop_reason(reason, _REASONS)
        return events

    def _part(self, part: dict[str, object]) -> list[ReaderEvent]:
        text, thought = wire.as_text(part.get("text")), bool(part.get("thought"))
        if part.get("thoughtSignature") or (text and not thought):
            self._parts.append(part)
        self._unseen |= not part.keys() <= _STEPS
        if not text:
            return []
        if thought:
            return [ReasoningArrived(text)]
        self._texts.append(text)
        return [TokensArrived(text)]

    def _native(self) -> NativeContent | None:
        """Return the content to send back if any part has a signature: signed parts unchanged, text parts joined."""
        if not self._texts or not any(part.get("thoughtSignature") for part in self._parts):
            return None
        stop: list[dict[str, object]] = [{"text": STOP_SEQUENCE}] if self._reason is StopReason.HALTED else []
        items: list[dict[str, object]] = []
        for is_plain, run in groupby([*self._parts, *stop], key=lambda part: part.keys() == {"text"}):
            parts = list(run)
            joined: dict[str, object] = {"text": "".join(wire.as_text(part.get("text")) for part in parts)}
            items += [joined] if is_plain else parts
        return NativeContent(self._dialect, tuple(cast("JsonObject", item) for item in items))


def stopped_inside(text: str) -> bool:
    """Return whether a block of calls is open: then the stop sequence ended the answer, which is not reported."""
    return text.rfind("<execute") > text.rfind("</execute")
