"""Anthropic's Messages on the wire: our messages → request body, the stream's data → our events. Pure.

Rules:
- The reply ends before the stop sequence, without it. It cannot be continued (no prefill since 4.6), so the model's
  text and the results go back as separate messages. Thinking goes back unchanged within its turn. If its prefix changed
  (a turn that another process took over), the vendor refuses it, and `replay` retries without it.
- A text after thinking starts a new paragraph, so that the tag of a block is at the start of a line. After some text an
  empty piece of reasoning means that the model thinks again, which may take long.
- Usage comes in two parts, the second cumulative. An `error` may come at any point of a stream with status 200.
- Only the listed reasons end an answer well: no tool is offered, so a call or a pause leaves it incomplete.
- No `temperature`: the current version of the protocol refuses it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import cast
from urllib.parse import quote

from agent.messages import Json, JsonObject, Message, NativeContent, Role
from agent.ports.model import CallOptions, Capabilities, Halt, ReasoningArrived, StopReason, TokensArrived
from agent.protocol.grammar import STOP_SEQUENCE
from agent.providers import wire
from agent.providers.catalog import reasons
from agent.providers.dialect import AnswerReader, ModelRequest, ReaderEvent
from agent.providers.faults import Fault, read_error

# The version of the vendor's own clients, with whose types our tests compare. The older 2023-06-01 is still served; we
# never send what the newer one refuses (sampling parameters, documents and citations in odd places).
VERSION = "2026-10-21"

# Of one answer, including thinking; the protocol requires a limit. All models allow this number, and it leaves room for
# deep thinking; only generated tokens are billed.
MAX_TOKENS = 32_000

IMAGE_TYPES = frozenset({"image/jpeg", "image/png", "image/gif", "image/webp"})

_REASONS = {
    "end_turn": StopReason.END,
    "stop_sequence": StopReason.HALTED,
    "max_tokens": StopReason.LENGTH,
    "model_context_window_exceeded": StopReason.LENGTH,
    "refusal": StopReason.FILTERED,
}
_SHOWN = frozenset({"text", "thinking", "redacted_thinking"})
# What the vendor does by itself on the way to a text.
_STEPS = frozenset(
    {
        *("server_tool_use", "web_search_tool_result", "web_fetch_tool_result", "tool_search_tool_result"),
        *("code_execution_tool_result", "bash_code_execution_tool_result", "text_editor_code_execution_tool_result"),
    }
)
_CACHED: dict[str, Json] = {"type": "ephemeral"}

# The version of the protocol at Vertex AI, which is a field of the body there. The model is in the path.
VERTEX_VERSION = "vertex-2023-10-16"


@dataclass(frozen=True, slots=True)
class MessagesDialect:
    """Messages for one model. `effort` and `caching` are False for models and servers that refuse them.

    `on_vertex`: the model is asked at Vertex AI, which has no automatic caching, so the end is marked in its block.
    """

    model: str
    max_tokens: int = MAX_TOKENS
    images: bool = True
    effort: bool = True
    caching: bool = True
    on_vertex: bool = False

    @property
    def name(self) -> str:
        return f"anthropic-messages:{self.model}"

    @property
    def capabilities(self) -> Capabilities:
        return Capabilities(
            halt=Halt.STOP_SEQUENCE, images=self.images, effort=self.effort, reasons=reasons(self.model)
        )

    def request(self, messages: Sequence[Message], options: CallOptions) -> ModelRequest:
        """Build the request, with two cache marks.

        They are at the system message, which all turns share, and at the end, from which the next round of this turn
        continues.
        """
        version: dict[str, Json] = {"anthropic_version": VERTEX_VERSION} if self.on_vertex else {"model": self.model}
        body: dict[str, Json] = {**version, "max_tokens": self.max_tokens, "stream": True}
        if self.caching and not self.on_vertex:
            body["cache_control"] = _CACHED
        if self.effort and options.depth in wire.EFFORT:
            body["output_config"] = {"effort": wire.EFFORT[options.depth]}
        body["stop_sequences"] = [STOP_SEQUENCE]
        if (system := wire.system_text(messages)).strip():
            mark: dict[str, Json] = {"cache_control": _CACHED} if self.caching else {}
            body["system"] = [{"type": "text", "text": system, **mark}]
        spoken = wire.alternating(messages, self.name)
        contents = [self._content(message) for message in spoken]
        if self.caching and self.on_vertex and contents[-1]:
            contents[-1][-1] = {**cast("JsonObject", contents[-1][-1]), "cache_control": _CACHED}
        body["messages"] = [
            {"role": str(message.role), "content": content} for message, content in zip(spoken, contents, strict=True)
        ]
        if self.on_vertex:
            path = f"/publishers/anthropic/models/{quote(self.model, safe='@')}:streamRawPredict"
            return ModelRequest(path, wire.encoded(body))
        return ModelRequest("/messages", wire.encoded(body), {"anthropic-version": VERSION})

    def reader(self) -> "MessagesReader":
        return MessagesReader(self.name)

    def without(self, fault: Fault) -> "MessagesDialect | None":
        if self.effort and (fault.names_field("output_config") or fault.names_field("effort")):
            return replace(self, effort=False)
        if self.caching and fault.names_field("cache_control"):
            return replace(self, caching=False)
        return None

    def _content(self, message: Message) -> list[Json]:
        if message.role is Role.ASSISTANT and message.native:
            return [dict(item) for item in message.native.items]
        text, images = wire.with_pictures(message, IMAGE_TYPES if self.images else ())
        pictures: list[Json] = [
            {
                "type": "image",
                "source": {"type": "base64", "media_type": image.media_type, "data": wire.base64_of(image)},
            }
            for image in images
        ]
        texts: list[Json] = [{"type": "text", "text": text}] if text.strip() else []
        return [*texts, *pictures]


class _Block:
    """One block of the answer while it arrives: its fields, and the pieces of its text or thinking.

    `gap` is a line break that is passed on before its text if there was another block in between.
    """

    def __init__(self, fields: Mapping[str, object], gap: str = "") -> None:
        self.fields = dict(fields)
        self.kind = wire.as_text(fields.get("type"))
        self.pieces: list[str] = []
        self._gap = gap

    @property
    def text(self) -> str:
        return "".join(self.pieces)

    @property
    def goes_back(self) -> bool:
        """Whether the vendor accepts it back: no empty text, and no thinking without its signature."""
        match self.kind:
            case "text":
                return bool(self.text.strip())
            case "thinking":
                return bool(wire.as_text(self.fields.get("signature")))
            case _:
                return self.kind == "redacted_thinking"

    def grow(self, text: str) -> list[ReaderEvent]:
        if not text or self.kind not in {"text", "thinking"}:
            return []
        gap = "" if self.pieces else self._gap
        self.pieces.append(text)
        return [TokensArrived(gap + text) if self.kind == "text" else ReasoningArrived(text)]

    def item(self) -> JsonObject:
        fields = {**self.fields, self.kind: self.text} if self.kind in {"text", "thinking"} else self.fields
        return cast("JsonObject", fields)


class MessagesReader(AnswerReader):
    usage_fields = wire.UsageFields(
        input="input_tokens",
        cached="cache_read_input_tokens",
        written="cache_creation_input_tokens",
        output="output_tokens",
        reasoning="output_tokens_details.thinking_tokens",
        cached_apart=True,
    )

    def __init__(self, dialect: str = "") -> None:
        super().__init__(dialect)
        self._blocks: list[_Block] = []
        self._by_index: dict[int, _Block] = {}

    def receive(self, data: str) -> list[ReaderEvent]:
        event = wire.as_object(wire.parse_json(data))
        match event.get("type"):
            case "content_block_delta":
                return self._delta(wire.as_object(event.get("delta")), event.get("index"))
            case "content_block_start":
                events = self._start(wire.as_object(event.get("content_block")))
                if isinstance(index := event.get("index"), int):
                    self._by_index[index] = self._blocks[-1]
                return events
            case "message_start":
                self._begin(wire.as_object(event.get("message")))
            case "message_delta":
                self._end(wire.as_object(event.get("delta")).get("stop_reason"), event.get("usage"))
            case "message_stop":
                self.begun = self.finished = True
            case "message":
                return self._complete_message(event)
            case "error":
                return [read_error(event.get("error") or event)]
            case "content_block_stop" | "ping":
                pass
            case _:
                if error := wire.error_in(event):
                    return [read_error(error)]
                self.ignored += 1
        return []

    def _begin(self, message: Mapping[str, object]) -> None:
        self.begun = True
        self._count(message.get("usage"))

    def _start(self, fields: dict[str, object]) -> list[ReaderEvent]:
        self.begun = True
        block = _Block(fields, self._gap())
        thinks_again = block.kind == "thinking" and any(earlier.kind == "text" for earlier in self._blocks)
        self._blocks.append(block)
        self._unseen |= block.kind not in _SHOWN | _STEPS
        return [ReasoningArrived("")] * thinks_again + block.grow(wire.as_text(fields.get(block.kind)))

    def _gap(self) -> str:
        """Return the line breaks between the previous text and one that starts now."""
        last_text = next(
            (block.pieces[-1] for block in reversed(self._blocks) if block.kind == "text" and block.pieces), ""
        )
        if not last_text or self._blocks[-1].kind == "text":
            return ""
        return "\n" if last_text.endswith("\n") else "\n\n"

    def _delta(self, delta: dict[str, object], index: object) -> list[ReaderEvent]:
        """Process a piece of the block at this index; without one, of the last block."""
        block = self._by_index.get(index) if isinstance(index, int) else None
        block = block or (self._blocks[-1] if self._blocks else None)
        match delta.get("type"):
            case "text_delta":
                return self._grow(block, "text", wire.as_text(delta.get("text")))
            case "thinking_delta":
                return self._grow(block, "thinking", wire.as_text(delta.get("thinking")))
            case "signature_delta":
                if block is not None:
                    block.fields["signature"] = wire.as_text(delta.get("signature"))
            case _:
                self.ignored += 1
        return []

    def _grow(self, block: _Block | None, kind: str, text: str) -> list[ReaderEvent]:
        if block is None or block.kind != kind:
            self._start({"type": kind})
            block = self._blocks[-1]
        return block.grow(text)

    def _end(self, reason: object, usage: object) -> None:
        self.begun = True
        self._count(usage)
        if wire.as_text(reason) and not self.finished:
            self.finished = True
            self._reason = wire.read_stop_reason(wire.as_text(reason), _REASONS)

    def _complete_message(self, message: Mapping[str, object]) -> list[ReaderEvent]:
        self._begin(message)
        events = [
            event for block in wire.as_list(message.get("content")) for event in self._start(wire.as_object(block))
        ]
        self._end(message.get("stop_reason"), None)
        self.finished = True
        return events

    def _count(self, usage: object) -> None:
        self._usage |= {name: value for name, value in wire.as_object(usage).items() if value is not None}

    def _native(self) -> NativeContent | None:
        """Return the content to send back if there is more than text. The removed stop sequence is appended."""
        blocks = [block for block in self._blocks if block.goes_back]
        if {block.kind for block in blocks} <= {"text"} or blocks[-1].kind != "text":
            return None
        items = [block.item() for block in blocks]
        if self._reason is StopReason.HALTED:
            items[-1] = {**items[-1], "text": blocks[-1].text + STOP_SEQUENCE}
        return NativeContent(self._dialect, tuple(items))
