"""OpenAI Realtime on the wire, text in and text out: our messages → client events, server events → our events. Pure.

Rules.
- The system messages at the beginning are the session's instructions, sent once for each connection. All other messages
  are items of the conversation. A new connection is empty: the items are sent again.
- There is no stop sequence: this module searches the text, cancels the response after `</execute>`, and drops the rest
  of it. The service keeps more of the item, so before the next question it is deleted and created again.
- `truncation` is off: the service reports a conversation that is too long, and does not shorten it silently.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import takewhile
from urllib.parse import quote

from agent.messages import Json, JsonObject, Message, NativeContent, Role
from agent.ports.model import CallOptions, Capabilities, Halt, ResponseEnded, StopReason, TokensArrived
from agent.protocol.grammar import STOP_SEQUENCE
from agent.providers import wire
from agent.providers.dialect import ReaderEvent
from agent.providers.faults import Fault, FaultKind, read_error
from agent.providers.resume_chain import ResumeChain, chain_after
from agent.providers.socket_dialect import SocketExchange

# Pictures and text are counted alike.
USAGE = wire.UsageFields(input="input_tokens", cached="input_token_details.cached_tokens", output="output_tokens")
PICTURES = frozenset({"image/png", "image/jpeg"})  # The types that an item may contain

# Known events without new information.
SILENT = frozenset(
    {
        *("session.created", "session.updated", "rate_limits.updated", "conversation.created"),
        *("conversation.item.added", "conversation.item.done", "conversation.item.created"),
        *("conversation.item.deleted", "response.output_item.added", "response.output_item.done"),
        *("response.content_part.added", "response.content_part.done", "response.output_text.done"),
    }
)

_REASONS = {
    "completed": StopReason.END,
    "max_output_tokens": StopReason.LENGTH,
    "content_filter": StopReason.FILTERED,
}
# Prefixes of the ids of our events that may arrive too late, which the service answers with an error.
_LATE_IDS = ("cancel-", "delete-")
_LIMIT = "maximum duration"  # In the reason with which a connection is closed after an hour
# The status of codes that `read_error` does not know.
_STATUS = {"invalid_api_key": 401, "insufficient_quota": 429, "server_is_overloaded": 529}
_TRY_AGAIN = re.compile(r"try again in (\d{1,6}(?:\.\d{1,6})?)(ms|s)\b")


@dataclass(frozen=True, slots=True)
class RealtimeDialect:
    model: str

    @property
    def name(self) -> str:
        return f"openai-realtime:{self.model}"

    @property
    def path(self) -> str:
        return f"/realtime?model={quote(self.model, safe='')}"

    @property
    def capabilities(self) -> Capabilities:
        return Capabilities(
            Halt.STOP_SEQUENCE, resume=True, images=True, effort=self.model.startswith("gpt-realtime-2")
        )

    @property
    def warning(self) -> str:
        return ""

    def dialogue(self, options: CallOptions) -> "RealtimeDialogue":
        return RealtimeDialogue(self, options)

    def session(self, messages: Sequence[Message], options: CallOptions) -> str:
        """Return the first frame of a connection, with its settings."""
        session: dict[str, Json] = {
            "type": "realtime",
            "output_modalities": ["text"],
            "instructions": "\n\n".join(message.text for message in _instructions(messages)),
            "truncation": "disabled",
        }
        if self.capabilities.effort and options.depth in wire.EFFORT:
            session["reasoning"] = {"effort": wire.EFFORT[options.depth]}
        return _frame({"type": "session.update", "session": session})

    def items(self, messages: Sequence[Message]) -> list[str]:
        """Return the frames that add the messages, without the instructions at their beginning, to the conversation."""
        spoken = messages[len(_instructions(messages)) :]
        return [_create(item) for message in spoken for item in self._items(message)]

    def _items(self, message: Message) -> Sequence[JsonObject]:
        if message.native and message.native.dialect == self.name:
            return message.native.items
        text, images = wire.with_pictures(message, PICTURES)
        if message.role is Role.ASSISTANT:
            return [_message_item(text)] if text.strip() else []
        content: list[Json] = [{"type": "input_text", "text": text}] if text.strip() else []
        if message.role is Role.USER:
            pictures: list[Json] = [{"type": "input_image", "image_url": wire.data_url(image)} for image in images]
            content += pictures
        return [{"type": "message", "role": str(message.role), "content": content}] if content else []


class RealtimeDialogue(SocketExchange):
    def __init__(self, dialect: RealtimeDialect, options: CallOptions) -> None:
        super().__init__()
        self._dialect = dialect
        self._options = options
        self._repairs: list[str] = []
        self._expired = False
        self._answer = _RealtimeResponse()

    def open(self, messages: Sequence[Message]) -> str:
        self._chain, self._repairs, self._expired = ResumeChain(), [], False
        return self._dialect.session(messages, self._options)

    def ask(self, messages: Sequence[Message]) -> list[str]:
        link = self._chain.link(messages)
        frames = [*self._repairs, *self._dialect.items(link.new), _frame({"type": "response.create"})]
        self._chain, self._repairs, self._outgoing = ResumeChain(), [], []
        self._messages, self._answer = messages, _RealtimeResponse()
        self.finished = self.halted = False
        return frames

    def receive(self, data: str) -> list[ReaderEvent]:
        event = wire.as_object(wire.parse_json(data))
        kind, id_ = wire.as_text(event.get("type")), wire.as_text(event.get("response_id"))
        if kind == "error":
            return self._error(wire.as_object(event.get("error")))
        if kind == "response.created":
            self._begin(wire.as_text(wire.as_object(event.get("response")).get("id")))
        elif kind == "response.output_text.delta":
            return (
                self._text(wire.as_text(event.get("item_id")), wire.as_text(event.get("delta")))
                if self._reads(id_)
                else []
            )
        elif kind == "response.done":
            response = wire.as_object(event.get("response"))
            return self._done(response) if self._reads(wire.as_text(response.get("id"))) else []
        else:
            self.ignored += kind not in SILENT
        return []

    def close(self) -> ResponseEnded:
        answer = self._answer
        items = tuple(_message_item(text) for text in answer.texts.values() if text)
        native = NativeContent(self._dialect.name, items) if items else None
        if self._messages is not None:
            self._chain = chain_after(self._messages, answer.id, native)
        self._repairs = answer.repairs()
        self._messages = None
        reason = StopReason.HALTED if self.halted else answer.reason
        return ResponseEnded(reason, USAGE.read(answer.usage) if answer.usage else None, native)

    def connection_fault(self, code: int, reason: str) -> Fault | None:
        del code
        is_time_limit = self._expired or _LIMIT in reason
        return None if is_time_limit and not self._answer.id else Fault(FaultKind.CUT)

    def _begin(self, id_: str) -> None:
        if self._messages is not None and not self._answer.id:
            self._answer.id = id_

    def _reads(self, response_id: str) -> bool:
        return self._messages is not None and not self.finished and bool(response_id) and response_id == self._answer.id

    def _text(self, item: str, delta: str) -> list[ReaderEvent]:
        text = self._answer.read(item, delta)
        if self._answer.cut and not self.halted:
            self.halted = True
            id_ = self._answer.id
            self._outgoing.append(_frame({"type": "response.cancel", "event_id": f"cancel-{id_}", "response_id": id_}))
        return [TokensArrived(text)] if text else []

    def _done(self, response: dict[str, object]) -> list[ReaderEvent]:
        answer, status = self._answer, wire.as_text(response.get("status"))
        details = wire.as_object(response.get("status_details"))
        answer.usage = wire.as_object(response.get("usage"))
        answer.is_complete = status == "completed"
        if status == "failed" and not self.halted:
            return [_fault(wire.as_object(details.get("error")))]
        if status == "cancelled" and not self.halted:
            return [Fault(FaultKind.CUT)]
        word = wire.as_text(details.get("reason")) if status == "incomplete" else status
        answer.reason = wire.read_stop_reason(word, _REASONS)
        self.finished = True
        return []

    def _error(self, error: dict[str, object]) -> list[ReaderEvent]:
        if (
            wire.as_text(error.get("event_id")).startswith(_LATE_IDS)
            or error.get("code") == "response_cancel_not_active"
        ):
            return []
        if error.get("code") == "session_expired" and not self._answer.id:
            self._expired = True
            return []
        return [_fault(error)] if self._messages is not None else []


class _RealtimeResponse:
    """One response while it arrives: its text by item, up to the cut. `cut`: the end of the calls was reached."""

    def __init__(self) -> None:
        self.id = ""
        self.texts: dict[str, str] = {}
        self.reason = StopReason.UNKNOWN
        self.usage: dict[str, object] = {}
        self.is_complete = False
        self.cut = False
        self._has_more_text = False
        self._tail = ""

    def read(self, item: str, delta: str) -> str:
        """Return the new text of a delta, up to the end of the calls. Each item starts a paragraph."""
        if self.cut:
            self._has_more_text = self._has_more_text or bool(delta)
            self.texts.setdefault(item, "")
            return ""
        gap = "\n\n" if self._tail and item not in self.texts else ""
        window = self._tail + gap + delta
        index = window.find(STOP_SEQUENCE)
        if index >= 0:
            self.cut = True
            end = index + len(STOP_SEQUENCE)
            self._has_more_text = end < len(window)
            delta = delta[: len(delta) - (len(window) - end)]
        self._tail = window[1 - len(STOP_SEQUENCE) :]
        self.texts[item] = self.texts.get(item, "") + delta
        return gap + delta if delta else ""

    def repairs(self) -> list[str]:
        """Return the frames that reduce this answer in the conversation to its text up to the cut."""
        if not self.cut or (self.is_complete and not self._has_more_text):
            return []
        ids = list(self.texts)
        first = max((index for index, id_ in enumerate(ids) if self.texts[id_]), default=0)
        deletions = [
            _frame({"type": "conversation.item.delete", "event_id": f"delete-{id_}", "item_id": id_})
            for id_ in ids[first:]
        ]
        return [*deletions, *(_create(_message_item(self.texts[id_])) for id_ in ids[first:] if self.texts[id_])]


def _instructions(messages: Sequence[Message]) -> list[Message]:
    return list(takewhile(lambda message: message.role is Role.SYSTEM, messages))


def _message_item(text: str) -> JsonObject:
    return {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": text}]}


def _create(item: JsonObject) -> str:
    return _frame({"type": "conversation.item.create", "item": dict(item)})


def _frame(event: dict[str, Json]) -> str:
    return wire.encoded(event).decode()


def _fault(error: dict[str, object]) -> Fault:
    fault = read_error(error, _STATUS.get(wire.as_text(error.get("code")), 0))
    wait = _TRY_AGAIN.search(fault.message)
    return replace(fault, retry_after_s=float(wait[1]) / (1000 if wait[2] == "ms" else 1)) if wait else fault
