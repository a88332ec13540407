"""OpenAI's wire: reading the requests of Chat Completions and Responses, and writing their answers. Pure.

Rules
  What a client may leave out may be left out, and unknown fields are ignored, as clients add some. A field that would
  change what the answer is (tools of the client, another form of the answer, several answers) is refused, and fields
  that only tune a model (temperature, seed …) have no effect: the operator chose how the bot answers.
  The last message is the question. Earlier ones, system messages and `instructions` are data that the program sent: the
  model reads them as quotes, and nobody's words or orders. In a conversation that the bot knows, its own history counts
  instead, and earlier messages are ignored.
  A text to post has no options: a field that this version does not know is refused, because it would be ignored.
  Names from clients are limited to a small alphabet before they become a part of an id.
"""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum, auto
from http import HTTPStatus
from typing import Final, TypeAlias, cast

from agent.errors import CogencyError
from agent.events import Outcome
from agent.messages import Json, Usage, is_too_deep
from agent.protocol.json_text import sane_text
from bot.api import texts as api_texts
from bot.chat.http_routes import MAX_BRACKETS, has_too_many_parts

USUAL_MODEL: Final = "cogency"  # The name of the model that the bot uses without a choice
MAX_DEPTH: Final = 32  # Of a request: a message with parts needs six
MAX_QUESTION_CHARS: Final = 100_000  # Longer than any model's context has room for beside the rest
MAX_POST_CHARS: Final = 4_000  # A page on Slack, and two or three messages on Discord
MAX_EARLIER: Final = 100  # Messages: the last ones; more do not fit into the context
MAX_NAME_CHARS: Final = 200  # Of a model
MAX_PAIRS: Final = 16  # Of metadata, as OpenAI limits them
MAX_KEY_CHARS: Final = 64
MAX_VALUE_CHARS: Final = 512
_CONVERSATION: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}", re.ASCII)
_RESPONSE: Final = re.compile(r"resp_([A-Za-z0-9][A-Za-z0-9_-]{0,63})\.[0-9a-f]{32}", re.ASCII)
_TEXT_PARTS: Final = frozenset({"text", "input_text", "output_text", "refusal"})
_ROLES: Final = frozenset({"system", "developer", "user", "assistant", "tool", "function"})
ORDERS: Final = frozenset({"system", "developer"})


Body: TypeAlias = dict[str, Json]
Refusal: TypeAlias = Callable[[Json], bool]  # Returns whether a field's value asks for what the bot does not do


class Endpoint(Enum):
    CHAT = auto()
    RESPONSES = auto()


class ApiError(CogencyError):
    """A request that is not answered. `kind`, `code`, `param`: as OpenAI's errors have them."""

    def __init__(
        self,
        status: int,
        sentence: str,
        *,
        kind: str = "invalid_request_error",
        code: str | None = None,
        param: str | None = None,
        retry: bool | None = None,
        retry_after_s: int = 0,
    ) -> None:
        super().__init__(sentence)
        self.status, self.kind, self.code, self.param = status, kind, code, param
        self.retry, self.retry_after_s = retry, retry_after_s

    @property
    def body(self) -> Body:
        return {"error": {"message": str(self), "type": self.kind, "param": self.param, "code": self.code}}


@dataclass(frozen=True, slots=True)
class SentMessage:
    """A message before the question, as the program sent it. `role`: "user", "assistant", "system" …"""

    role: str
    text: str


@dataclass(frozen=True, slots=True)
class ApiQuestion:
    """What a client asks. `model`: "" for the usual one. `conversation`: the name of one that the bot knows or begins,
    from the client; "" for a new one. `response`: the response that it continues, "" for none.
    """

    endpoint: Endpoint
    text: str
    model: str = ""
    streams: bool = False
    earlier: tuple[SentMessage, ...] = ()
    conversation: str = ""
    response: str = ""
    counts_usage: bool = False
    metadata: Mapping[str, str] = field(default_factory=dict[str, str])


def read_request(endpoint: Endpoint, body: bytes) -> ApiQuestion:
    """Raises ApiError."""
    fields = _read_object(body)
    streams = _flag(fields, "stream")
    metadata = _metadata(fields)
    conversation = _conversation(fields.get("conversation") or metadata.get("conversation"))
    if endpoint is Endpoint.CHAT:
        _refuse(fields, _CHAT_REFUSED)
        messages = _messages(fields, "messages")
        options = fields.get("stream_options")
        counts_usage = isinstance(options, dict) and options.get("include_usage") is True
        response = ""
    else:
        _refuse(fields, _RESPONSES_REFUSED)
        given = fields.get("input")
        messages = [SentMessage("user", sane_text(given))] if isinstance(given, str) else _messages(fields, "input")
        if (instructions := fields.get("instructions")) is not None:
            messages = [SentMessage("system", _text(instructions, "instructions")), *messages]
        counts_usage = True
        response = _response(fields.get("previous_response_id"))
        if response and conversation:
            raise ApiError(400, api_texts.TWO_CONVERSATIONS, param="previous_response_id")
    *earlier, question = messages
    if question.role != "user":
        raise ApiError(400, api_texts.LAST_NOT_USER, param="messages" if endpoint is Endpoint.CHAT else "input")
    if not question.text.strip():
        raise ApiError(400, api_texts.QUESTION_EMPTY, param="messages" if endpoint is Endpoint.CHAT else "input")
    if len(question.text) > MAX_QUESTION_CHARS:
        raise ApiError(400, api_texts.QUESTION_LONG.format(limit=MAX_QUESTION_CHARS), code="context_length_exceeded")
    kept = earlier[-MAX_EARLIER:]
    if conversation or response:
        kept = [message for message in earlier if message.role in ORDERS][-MAX_EARLIER:]
    return ApiQuestion(
        endpoint,
        question.text,
        model=_model(fields),
        streams=streams,
        earlier=tuple(message for message in kept if message.text.strip()),
        conversation=conversation,
        response=response,
        counts_usage=counts_usage,
        metadata=metadata,
    )


@dataclass(frozen=True, slots=True)
class PostRequest:
    """A text to post. `key`: the same for a request that is sent again, "" for none. `channel`: its id, link or name;
    "" for that of the token.
    """

    text: str
    key: str = ""
    channel: str = ""


def read_post(key: str, body: bytes) -> PostRequest:
    """Raises ApiError."""
    if len(key) > MAX_KEY_CHARS or not key.isprintable():
        raise ApiError(400, api_texts.POST_KEY.format(limit=MAX_KEY_CHARS), code="invalid_idempotency_key")
    fields = _read_object(body)
    if "text" not in fields:
        raise ApiError(400, api_texts.MISSING.format(param="text"), param="text")
    if unknown := next((name for name in fields if name not in {"text", "channel"}), ""):
        raise ApiError(400, api_texts.POST_FIELD.format(name=unknown[:100]), param=unknown[:100])
    text = _text(fields["text"], "text").strip()
    if not text:
        raise ApiError(400, api_texts.POST_EMPTY, param="text")
    if len(text) > MAX_POST_CHARS:
        raise ApiError(400, api_texts.POST_LONG.format(limit=MAX_POST_CHARS), param="text")
    channel = _text(fields.get("channel", ""), "channel").strip()
    if len(channel) > MAX_VALUE_CHARS:
        raise ApiError(400, api_texts.POST_NO_SUCH_CHANNEL, param="channel")
    return PostRequest(text, key, channel)


def _read_object(body: bytes) -> Body:
    if has_too_many_parts(body):
        raise ApiError(400, api_texts.MANY_PARTS.format(limit=MAX_BRACKETS))

    def no_number(name: str) -> float:
        raise ValueError(name)

    try:
        text = body.decode()
        if is_too_deep(text, MAX_DEPTH):
            raise ApiError(400, api_texts.TOO_DEEP.format(depth=MAX_DEPTH))
        read: object = json.loads(text, parse_constant=no_number)
    except (ValueError, RecursionError):
        raise ApiError(400, api_texts.NO_JSON) from None
    if not isinstance(read, dict):
        raise ApiError(400, api_texts.NO_OBJECT)
    return cast("Body", read)


def _text(value: Json, param: str) -> str:
    if not isinstance(value, str):
        raise ApiError(400, api_texts.NO_TEXT.format(param=param), param=param)
    return sane_text(value)


def _flag(fields: Body, name: str) -> bool:
    value = fields.get(name)
    if value is not None and not isinstance(value, bool):
        raise ApiError(400, api_texts.NO_FLAG.format(param=name), param=name)
    return value is True


def _model(fields: Body) -> str:
    if "model" not in fields:
        raise ApiError(400, api_texts.MISSING.format(param="model"), param="model")
    name = _text(fields["model"], "model")
    return "" if name == USUAL_MODEL else name[:MAX_NAME_CHARS]


def _metadata(fields: Body) -> dict[str, str]:
    value = fields.get("metadata")
    if value is None:
        return {}
    if not isinstance(value, dict) or len(value) > MAX_PAIRS:
        raise _no_metadata()
    metadata = dict[str, str]()
    for name, one in value.items():
        if not isinstance(one, str) or len(name) > MAX_KEY_CHARS or len(one) > MAX_VALUE_CHARS:
            raise _no_metadata()
        metadata[name] = one
    return metadata


def _no_metadata() -> ApiError:
    why = api_texts.NO_METADATA.format(pairs=MAX_PAIRS, key=MAX_KEY_CHARS, value=MAX_VALUE_CHARS)
    return ApiError(400, why, param="metadata")


def _conversation(value: Json) -> str:
    if isinstance(value, dict):  # as the Responses API also accepts it
        value = value.get("id")
    if value is None:
        return ""
    if not isinstance(value, str) or _CONVERSATION.fullmatch(value) is None:
        raise ApiError(400, api_texts.CONVERSATION_FORM, param="conversation")
    return value


def _response(value: Json) -> str:
    """Return the conversation of the response that is continued; "" for none."""
    if value is None:
        return ""
    found = _RESPONSE.fullmatch(value) if isinstance(value, str) else None
    if found is None:
        raise no_response()
    return found[1]


def no_response() -> ApiError:
    return ApiError(404, api_texts.NO_RESPONSE, code="previous_response_not_found", param="previous_response_id")


def _messages(fields: Body, param: str) -> list[SentMessage]:
    value = fields.get(param)
    if value is None:
        raise ApiError(400, api_texts.MISSING.format(param=param), param=param)
    if not isinstance(value, list) or not value:
        raise ApiError(400, api_texts.NO_MESSAGES.format(param=param), param=param)
    return [_message(item, f"{param}[{at}]") for at, item in enumerate(value)]


def _message(item: Json, param: str) -> SentMessage:
    if not isinstance(item, dict) or item.get("type", "message") != "message":
        raise ApiError(400, api_texts.NO_MESSAGE.format(param=param), param=param)
    role = item.get("role")
    if not isinstance(role, str) or role not in _ROLES:
        raise ApiError(400, api_texts.NO_ROLE.format(param=param, roles=", ".join(sorted(_ROLES))), param=param)
    content = item.get("content")
    if content is None and role == "assistant":  # a message that only called tools
        return SentMessage(role, "")
    if isinstance(content, str):
        return SentMessage(role, sane_text(content))
    if not isinstance(content, list):
        raise ApiError(400, api_texts.NO_TEXT.format(param=f"{param}.content"), param=param)
    return SentMessage(role, "\n".join(_part(part, f"{param}.content[{at}]") for at, part in enumerate(content)))


def _part(part: Json, param: str) -> str:
    kind = part.get("type") if isinstance(part, dict) else None
    if not isinstance(part, dict) or kind not in _TEXT_PARTS:
        raise ApiError(400, api_texts.NO_TEXT_PART.format(param=param), code="unsupported_content", param=param)
    return _text(part.get("refusal") if kind == "refusal" else part.get("text"), param)


def _is_given(value: Json) -> bool:
    return value is not None and value not in (False, [], {}, 0, "none", "auto")


def _other_form(value: Json) -> bool:
    form = value.get("type") if isinstance(value, dict) else None
    return value is not None and form not in (None, "text")


def _other_text_form(value: Json) -> bool:
    return isinstance(value, dict) and _other_form(value.get("format"))


def _with_audio(value: Json) -> bool:
    return value is not None and value != ["text"]


_CHAT_REFUSED: Final[Mapping[str, Refusal]] = {
    "tools": _is_given,
    "functions": _is_given,
    "n": lambda value: value not in (None, 1),
    "logprobs": _is_given,
    "response_format": _other_form,
    "modalities": _with_audio,
    "audio": _is_given,
}
_RESPONSES_REFUSED: Final[Mapping[str, Refusal]] = {
    "tools": _is_given,
    "text": _other_text_form,
    "background": _is_given,
    "prompt": _is_given,
}


def _refuse(fields: Body, refused: Mapping[str, Refusal]) -> None:
    for name, is_refused in refused.items():
        if is_refused(fields.get(name)):
            raise ApiError(400, api_texts.UNSUPPORTED[name], code="unsupported_parameter", param=name)


# Answers.


@dataclass(frozen=True, slots=True)
class AnswerHead:
    """What all parts of one answer carry. `created`: in seconds since 1970. `name`: of its conversation."""

    question: ApiQuestion
    id: str
    created: int
    name: str

    @property
    def model(self) -> str:
        return self.question.model or USUAL_MODEL

    @property
    def metadata(self) -> dict[str, Json]:
        return {**self.question.metadata, "conversation": self.name}


def new_response_id(conversation: str, unique: str) -> str:
    """`unique`: 32 hexadecimal digits. The id names its conversation, which belongs to its asker."""
    return f"resp_{conversation}.{unique}"


def is_complete(outcome: Outcome) -> bool:
    return outcome is Outcome.ANSWERED


def whole_answer(head: AnswerHead, text: str, outcome: Outcome, usage: Usage) -> Body:
    if head.question.endpoint is Endpoint.RESPONSES:
        return _response_object(head, "completed" if is_complete(outcome) else "incomplete", text, usage)
    choice: Body = {
        "index": 0,
        "message": {"role": "assistant", "content": text, "refusal": None},
        "logprobs": None,
        "finish_reason": _finish(outcome),
    }
    more: Body = {"usage": _chat_usage(usage), "metadata": head.metadata}
    return _chat_object(head, "chat.completion", [choice]) | more


def _finish(outcome: Outcome) -> str:
    return "stop" if is_complete(outcome) else "length"


def _chat_object(head: AnswerHead, kind: str, choices: Sequence[Body]) -> Body:
    listed: list[Json] = [*choices]
    return {
        "id": f"chatcmpl-{head.id.removeprefix('resp_')}",
        "object": kind,
        "created": head.created,
        "model": head.model,
        "choices": listed,
    }


def _chat_usage(usage: Usage) -> Body:
    read, written = _counts(usage)
    return {"prompt_tokens": read, "completion_tokens": written, "total_tokens": read + written}


def _counts(usage: Usage) -> tuple[int, int]:
    return usage.input_uncached + usage.input_cached + usage.input_written, usage.output + usage.reasoning


def _response_usage(usage: Usage) -> Body:
    read, written = _counts(usage)
    return {
        "input_tokens": read,
        "input_tokens_details": {"cached_tokens": usage.input_cached},
        "output_tokens": written,
        "output_tokens_details": {"reasoning_tokens": usage.reasoning},
        "total_tokens": read + written,
    }


def _response_object(
    head: AnswerHead, status: str, text: str | None, usage: Usage | None = None, error: ApiError | None = None
) -> Body:
    """`text`: None while there is no message yet."""
    output: list[Json] = [] if text is None else [_message_item(head, status, text)]
    reason: Body = {"reason": "max_output_tokens"}
    return {
        "id": head.id,
        "object": "response",
        "created_at": head.created,
        "status": status,
        "background": False,
        "error": None if error is None else {"code": _failure(error), "message": str(error)},
        "incomplete_details": reason if status == "incomplete" else None,
        "instructions": None,
        "max_output_tokens": None,
        "metadata": head.metadata,
        "model": head.model,
        "output": output,
        "parallel_tool_calls": True,
        "previous_response_id": None,
        "conversation": {"id": head.name},
        "temperature": None,
        "tool_choice": "auto",
        "tools": [],
        "top_p": None,
        "usage": None if usage is None else _response_usage(usage),
    }


def _failure(error: ApiError) -> str:
    return "rate_limit_exceeded" if error.status == HTTPStatus.TOO_MANY_REQUESTS else "server_error"


def _message_item(head: AnswerHead, status: str, text: str) -> Body:
    return {
        "type": "message",
        "id": _item_id(head),
        "status": "in_progress" if status == "in_progress" else "completed" if status == "completed" else "incomplete",
        "role": "assistant",
        "content": [_text_part(text)],
    }


def _item_id(head: AnswerHead) -> str:
    return f"msg_{head.id.removeprefix('resp_')}"


def _text_part(text: str) -> Body:
    return {"type": "output_text", "text": text, "annotations": []}


KEEP_ALIVE: Final = b": keep-alive\n\n"  # A comment, which clients ignore


@dataclass(slots=True)
class AnswerStream:
    """Writes one answer as server-sent events: `begin`, `grow` any number of times, then `end` or `fail`."""

    head: AnswerHead
    _text: str = ""
    _number: int = 0

    def begin(self) -> bytes:
        if self.head.question.endpoint is Endpoint.CHAT:
            return self._chunk({"role": "assistant", "content": ""}, None)
        item: Body = _message_item(self.head, "in_progress", "") | {"content": []}
        response = _response_object(self.head, "in_progress", None)
        return (
            self._event("response.created", {"response": response})
            + self._event("response.in_progress", {"response": response})
            + self._event("response.output_item.added", {"output_index": 0, "item": item})
            + self._event("response.content_part.added", {**self._where, "part": _text_part("")})
        )

    def grow(self, text: str) -> bytes:
        """Write what the answer has more than before. `text`: the whole answer so far. An answer that no longer begins
        as before, which is rare, is written again below what was sent: nothing that was sent can be taken back.
        """
        if text == self._text:
            return b""
        more = text[len(self._text) :] if text.startswith(self._text) else f"\n\n{text}"
        self._text = text
        if self.head.question.endpoint is Endpoint.CHAT:
            return self._chunk({"content": more}, None)
        return self._event("response.output_text.delta", {**self._where, "delta": more, "logprobs": []})

    def end(self, text: str, outcome: Outcome, usage: Usage) -> bytes:
        grown = self.grow(text)
        if self.head.question.endpoint is Endpoint.CHAT:
            ended = grown + self._chunk({}, _finish(outcome))
            if self.head.question.counts_usage:
                counted: Body = {"usage": _chat_usage(usage)}
                ended += _data(_chat_object(self.head, "chat.completion.chunk", []) | counted)
            return ended + b"data: [DONE]\n\n"
        status = "completed" if is_complete(outcome) else "incomplete"
        return (
            grown
            + self._event("response.output_text.done", {**self._where, "text": text, "logprobs": []})
            + self._event("response.content_part.done", {**self._where, "part": _text_part(text)})
            + self._event(
                "response.output_item.done", {"output_index": 0, "item": _message_item(self.head, status, text)}
            )
            + self._event(f"response.{status}", {"response": _response_object(self.head, status, text, usage)})
        )

    def fail(self, error: ApiError) -> bytes:
        if self.head.question.endpoint is Endpoint.CHAT:
            return _data(error.body)
        response = _response_object(self.head, "failed", self._text or None, None, error)
        return self._event("response.failed", {"response": response})

    @property
    def _where(self) -> Body:
        return {"item_id": _item_id(self.head), "output_index": 0, "content_index": 0}

    def _chunk(self, delta: Body, finish: str | None) -> bytes:
        choice: Body = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
        return _data(_chat_object(self.head, "chat.completion.chunk", [choice]))

    def _event(self, name: str, fields: Body) -> bytes:
        event: Body = {"type": name, "sequence_number": self._number, **fields}
        self._number += 1
        return f"event: {name}\n".encode() + _data(event)


def _data(body: Body) -> bytes:
    return f"data: {json.dumps(body)}\n\n".encode()


def models_body(names: Sequence[str], created: int) -> Body:
    listed: list[Json] = [model_body(name, created) for name in names]
    return {"object": "list", "data": listed}


def model_body(name: str, created: int) -> Body:
    return {"id": name, "object": "model", "created": created, "owned_by": "cogency"}


def post_body(id_: str, status: str, message: str) -> Body:
    return {"id": id_, "object": "post", "status": status, "message": message or None}
