"""Chat Completions on the wire: our messages → request body, the stream's data → our events. Pure.

Rules, from the behaviour of the servers with this protocol (Ollama, llama.cpp, vLLM, LM Studio, OpenRouter, vendors):
- `usage`, `index`, ids and `[DONE]` are optional. Usage may come in any chunk; the last one counts.
- The first `finish_reason` counts, or `[DONE]` of a server that reports none. With neither, or with an unknown reason,
  the answer may be incomplete.
- Reasoning arrives as `reasoning`, as `reasoning_content`, or as parts of `content`.
- A whole answer (`message` in place of `delta`) is read as one chunk: some servers ignore `stream`.
- Unknown fields and unreadable data are ignored and counted.
- Chat templates are strict: the system message comes first and once, a user message follows, then roles alternate.
- No `temperature`: current models refuse it. It is sent only to small models at the operator's own server: with the 0.8
  that servers take by default, a model of 1.5 billion parameters kept the protocol in half as many answers
  (docs/models.md). Only they are bounded by `max_tokens`, as some never end, and by `presence_penalty`, which keeps
  them from repeating the items of a list in a call. (`frequency_penalty` grows with an answer in some servers, and
  spoils long code.)

A model that follows its vendor's form of tool calls better than our blocks receives its tools in that form. The lesson
about blocks is removed from the system message. Native calls are passed on as the text of a block, so that the parser,
its limits and its corrections apply to them. In the next round the calls go back unchanged, with their results. Calls
are passed on in the order in which they begin, when the answer is complete: one that is cut off runs nothing. If a
vendor omits ids or arguments, an id is generated, and the arguments are empty.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Final, cast

from agent.messages import Json, JsonObject, Message, NativeContent, Role, ToolSpec, is_too_deep
from agent.ports.model import CallOptions, Capabilities, Halt, ReasoningArrived, StopReason, TokensArrived
from agent.protocol.grammar import LESSON, STOP_SEQUENCE, ParserLimits, teach_native
from agent.protocol.render import neutralise
from agent.providers import wire
from agent.providers.catalog import reasons
from agent.providers.dialect import AnswerReader, ModelRequest, ReaderEvent
from agent.providers.faults import Fault, read_error
from agent.providers.wire import as_list, as_object, as_text

DONE = "[DONE]"

# Sent to small models at an operator's own server. `max_tokens`: of one answer with its reasoning; at ten tokens per
# second, 2,048 take four minutes. A person who wants more continues the answer. Models that reason repeat themselves
# when little is left to chance, so they keep their server's temperature.
SMALL_MODELS_SAMPLING: Final[Mapping[str, float]] = MappingProxyType(
    {"temperature": 0.2, "presence_penalty": 0.5, "max_tokens": 2_048}
)
SMALL_REASONERS_SAMPLING: Final[Mapping[str, float]] = MappingProxyType({"max_tokens": 8_192})

# Messages of OpenAI, xAI and Ollama for a model without this effort; Ollama uses several statuses.
_NO_EFFORT = ("reasoning_effort", "reasoningeffort", "does not support thinking", "think value")

# Messages of Ollama, llama.cpp, vLLM and OpenAI for a model without tools, with several statuses.
_NO_TOOLS = ("support tools", "--jinja", "tool-call-parser", "tool choice", "tool_choice", "function tools")

_GOOD_ENDS = (
    "stop",
    "stop_sequence",
    "end_turn",
    "eos",
    "eos_token",
    "complete",
    "completed",
    "tool_call",
    "tool_calls",
    "tool_use",
    "function_call",
)
_TOO_LONG = ("length", "max_tokens", "max_output_tokens", "model_length", "max_length", "token_limit")
_FILTERED = (
    "content_filter",
    "sensitive",
    "safety",
    "recitation",
    "blocklist",
    "prohibited_content",
    "spii",
    "refusal",
)
REASONS = {
    **dict.fromkeys(_GOOD_ENDS, StopReason.END),
    **dict.fromkeys((*_TOO_LONG, "model_context_window_exceeded"), StopReason.LENGTH),
    **dict.fromkeys(_FILTERED, StopReason.FILTERED),
}


@dataclass(frozen=True, slots=True)
class ChatDialect:
    """Chat Completions for one model. `stop` and `include_usage` are False for servers that refuse them."""

    model: str
    stop: bool = True
    include_usage: bool = True
    images: bool = False
    """Whether the model reads pictures. If not, the text has a note on them."""
    effort: bool = False
    """Whether the model supports `reasoning_effort`."""
    native: bool = False
    """Whether tools are offered, called and answered in the form of this protocol."""
    sampling: Mapping[str, float] = field(default_factory=dict[str, float])
    """Fields of the request about how tokens are chosen; the rest is left to the server."""
    behind: str = ""
    """The model, if `model` is the name of a deployment."""

    @property
    def name(self) -> str:
        return f"chat:{self.model}"

    @property
    def capabilities(self) -> Capabilities:
        halt = Halt.STOP_SEQUENCE if self.stop and not self.native else Halt.NONE
        return Capabilities(
            halt=halt,
            images=self.images,
            effort=self.effort,
            native_calls=self.native,
            reasons=reasons(self.behind or self.model),
        )

    def request(self, messages: Sequence[Message], options: CallOptions) -> ModelRequest:
        joined = merged(messages)
        system = untaught(joined[0].text) if self._uses_native_calls(joined, options) else None
        items = self._with_calls(messages, system) if system is not None else list(map(self._to_json, joined))
        body: dict[str, Json] = {"model": self.model, "messages": items, "stream": True}
        if system is not None:
            body["tools"] = functions(options.tools)
        if self.include_usage:
            body["stream_options"] = {"include_usage": True}
        if self.stop and system is None:
            body["stop"] = [STOP_SEQUENCE]
        body |= self.sampling
        if self.effort and options.depth in wire.EFFORT:
            body["reasoning_effort"] = wire.EFFORT[options.depth]
        return ModelRequest("/chat/completions", wire.encoded(body))

    def reader(self) -> "ChatReader":
        return ChatReader(self.name)

    def without(self, fault: Fault) -> "ChatDialect | None":
        if self.native and (fault.names_field("tool") or fault.mentions(*_NO_TOOLS)):
            return replace(self, native=False)
        if self.include_usage and fault.names_field("stream_options"):
            return replace(self, include_usage=False)
        if self.stop and fault.names_field("stop"):
            return replace(self, stop=False)
        refused = {name for name in self.sampling if fault.names_field(name)}
        # vLLM refuses a prompt that fits, if the context has not as much room for the answer.
        if fault.too_long and fault.mentions("completion"):
            refused |= self.sampling.keys() & {"max_tokens"}
        if refused:
            left = {name: value for name, value in self.sampling.items() if name not in refused}
            return replace(self, sampling=left)
        if self.effort and fault.mentions(*_NO_EFFORT):
            return replace(self, effort=False)
        return None

    def _uses_native_calls(self, joined: Sequence[Message], options: CallOptions) -> bool:
        return self.native and bool(options.tools and joined) and joined[0].role is Role.SYSTEM

    def _to_json(self, message: Message) -> Json:
        return {"role": str(message.role), "content": self._content(message)}

    def _with_calls(self, messages: Sequence[Message], system: str) -> list[Json]:
        """Return the messages; native calls go back in their own form, followed by their results."""
        items: list[Json] = [{"role": str(Role.SYSTEM), "content": system}]
        run: list[Message] = []
        call_item: JsonObject | None = None
        for message, following in zip(messages, [*messages[1:], None], strict=True):
            if call_item is not None:
                items += _result_items(call_item, message)
                call_item = None
            elif (
                following is not None and following.role is Role.USER and (item := self._call_item(message, len(items)))
            ):
                call_item = item
                items += self._texts_to_json(run, items)
                items.append(dict(call_item))
                run = []
            elif message.role is not Role.SYSTEM:
                run.append(message)
        return [*items, *self._texts_to_json(run, items)]

    def _texts_to_json(self, run: Sequence[Message], preceding: Sequence[Json]) -> list[Json]:
        joined = wire.grouped(run) if len(preceding) > 1 else merged(run)
        return list(map(self._to_json, joined))

    def _call_item(self, message: Message, position: int) -> JsonObject | None:
        """Return a message's calls in the vendor's form: as the vendor sent them, or as they were read from text."""
        native = message.native
        if native is not None and native.dialect == self.name and native.has_calls:
            return native.items[0]
        calls: list[Json] = [
            {
                "id": f"call_{position}_{number}",
                "type": "function",
                "function": {"name": function_name(call.name), "arguments": json.dumps(dict(call.args))},
            }
            for number, call in enumerate(message.calls)
        ]
        return {"role": str(Role.ASSISTANT), "content": message.said, "tool_calls": calls} if calls else None

    def _content(self, message: Message) -> Json:
        if not (self.images and message.images):
            return wire.describe_pictures(message)
        pictures: list[Json] = [
            {"type": "image_url", "image_url": {"url": wire.data_url(image)}} for image in message.images
        ]
        return [{"type": "text", "text": message.text}, *pictures]


def _result_items(call_item: JsonObject, results: Message) -> list[Json]:
    ids = [wire.as_text(wire.as_object(call).get("id")) for call in wire.as_list(call_item.get("tool_calls"))]
    texts = answers(results, len(ids))
    return [{"role": "tool", "tool_call_id": id_, "content": text} for id_, text in zip(ids, texts, strict=True)]


def merged(messages: Sequence[Message]) -> list[Message]:
    """Return the system message first, then alternating roles. Messages of one role are joined by blank lines."""
    system = [message for message in messages if message.role is Role.SYSTEM]
    spoken = [message for message in messages if message.role is not Role.SYSTEM]
    if spoken and spoken[0].role is Role.ASSISTANT:
        spoken.insert(0, Message(Role.USER, wire.MISSING_QUESTION))
    return wire.grouped([*system, *spoken])


class ChatReader(AnswerReader):
    ends_openly = False
    usage_fields = wire.UsageFields(
        input="prompt_tokens",
        cached="prompt_tokens_details.cached_tokens",
        written="prompt_tokens_details.cache_write_tokens",
        output="completion_tokens",
        reasoning="completion_tokens_details.reasoning_tokens",
        total="total_tokens",  # most vendors include reasoning in the completion tokens, but not all
    )

    def __init__(self, dialect: str = "") -> None:
        super().__init__(dialect)
        self._calls = NativeCalls()
        self._texts: list[str] = []
        self._is_torn = False  # A chunk was no JSON, so a part of the answer may be missing

    def receive(self, data: str) -> list[ReaderEvent]:
        if data.strip() == DONE:
            return self._end(StopReason.END)
        value = wire.parse_json(data)
        self._is_torn |= value is None and wire.torn(data)
        chunk = wire.as_object(value)
        is_part = "choices" in chunk or "usage" in chunk
        if error := chunk.get("error") if is_part else wire.error_in(chunk):
            return [read_error(error)]
        if not is_part:
            self.ignored += 1
            return []
        self.begun = True
        self._usage = wire.as_object(chunk.get("usage")) or self._usage
        choices = [wire.as_object(choice) for choice in wire.as_list(chunk.get("choices"))]
        return [event for choice in choices if not choice.get("index") for event in self._choice(choice)]

    def _native(self) -> NativeContent | None:
        items = self._calls.items("".join(self._texts))
        return NativeContent(self._dialect, items) if items else None

    def _choice(self, choice: dict[str, object]) -> list[ReaderEvent]:
        events: list[ReaderEvent] = []
        if error := choice.get("error"):
            return [read_error(error)]
        delta = wire.as_object(choice.get("delta"))
        if not (delta or self._texts):  # behind pieces, some servers send the whole message once more
            delta = wire.as_object(choice.get("message")) or {"content": choice.get("text")}
        text, reasoning = _content(delta.get("content"))
        reasoning = wire.as_text(delta.get("reasoning")) or wire.as_text(delta.get("reasoning_content")) or reasoning
        text = text or wire.as_text(delta.get("refusal"))
        if reasoning:
            events.append(ReasoningArrived(reasoning))
        if text:
            self._texts.append(text)
            events.append(TokensArrived(text))
        if pieces := _call_pieces(delta):
            spilled = "".join(self._calls.receive(piece) for piece in pieces)
            events.append(TokensArrived(spilled))
        if wire.is_stop_reason(reason := wire.as_text(choice.get("finish_reason"))):
            halted = bool(wire.as_text(choice.get("stop_reason")))
            events += self._end(wire.read_stop_reason(reason, REASONS), halted=halted)
        return events

    def _end(self, reason: StopReason, *, halted: bool = False) -> list[ReaderEvent]:
        """Process the end of the answer, and pass on its calls if that is a good one. Only the first end counts."""
        if self.finished:
            return []
        self.begun = self.finished = True
        if self._is_torn and reason is StopReason.END:
            reason = StopReason.UNKNOWN
        is_good = reason is StopReason.END
        self._reason = StopReason.HALTED if is_good and halted else reason
        return self._close_calls() if is_good else []

    def _close_calls(self) -> list[ReaderEvent]:
        before = "".join(self._texts[-1:])
        block = self._calls.close()
        gap = "\n" if block and before and not before.endswith("\n") else ""
        return [TokensArrived(gap + block)] if block else []


def _call_pieces(delta: Mapping[str, object]) -> list[dict[str, object]]:
    """Return the pieces of calls in a chunk. `function_call` is the form before there were several calls."""
    pieces = delta.get("tool_calls")
    if not pieces and (function := wire.as_object(delta.get("function_call"))):
        return [{"function": function}]
    return [wire.as_object(piece) for piece in (wire.as_list(pieces) or [pieces] if pieces else [])]


def _content(content: object) -> tuple[str, str]:
    if isinstance(content, str):
        return content, ""
    texts, thoughts = list[str](), list[str]()
    for one in wire.as_list(content) or [content]:
        part: dict[str, object] = {"text": one} if isinstance(one, str) else wire.as_object(one)
        texts.append(wire.as_text(part.get("text")))
        thinking = part.get("thinking")
        thoughts.append(
            wire.as_text(thinking)
            or "".join(wire.as_text(wire.as_object(p).get("text")) for p in wire.as_list(thinking))
        )
    return "".join(texts), "".join(thoughts)


MAX_CALLS = 32  # The limit of the parser; more are an error of the server
MAX_BLOCK_CHARS = ParserLimits().block  # Of the arguments of all calls: the parser refuses a longer block
NO_RESULT = "(See the other results.)"


def untaught(system: str) -> str | None:
    """Replace the lesson about blocks in the system message by the one about calls; None if it has no lesson."""
    before, lesson, _ = system.rpartition(LESSON)
    return f"{before}{teach_native()}" if lesson else None


_DOT: Final = "--"


def function_name(name: str) -> str:
    """Return a tool's name without the dot of a server's tool: vendors allow letters, digits, - and _ only."""
    return name.replace(".", _DOT, 1)


def _our_name(function: str) -> str:
    """The inverse of `function_name`: no server's name has two hyphens in a row, and no function's has one."""
    return function.replace(_DOT, ".", 1)


def functions(tools: Sequence[ToolSpec]) -> list[Json]:
    return [
        {
            "type": "function",
            "function": {
                "name": function_name(tool.name),
                "description": tool.description,
                "parameters": dict(tool.schema),
            },
        }
        for tool in tools
    ]


def answers(results: Message, calls: int) -> list[str]:
    """Return one text for each of the `calls` from the message with their results; text after them joins the last.

    The contents are neutralised so that they cannot open a block, because a model may also write our form.
    """
    text = results.text.strip()
    entries: list[object] = []
    rest = text
    if text.startswith("<results>"):
        try:
            value, end = json.JSONDecoder().raw_decode(text, len("<results>"))
        except ValueError:
            pass
        else:
            entries = as_list(cast("object", value))
            rest = text[end:].lstrip().removeprefix("</results>").strip()
    contents = [_entry_text(as_object(entry)) for entry in entries[:calls]]
    contents += [NO_RESULT] * (calls - len(contents))
    return [*contents[:-1], "\n\n".join(filter(None, [contents[-1] if entries else "", rest]))]


def _entry_text(entry: Mapping[str, object]) -> str:
    status, content = as_text(entry.get("status")), neutralise(as_text(entry.get("content")))
    return content if status == "success" else f"{status}: {content}"


@dataclass(slots=True)
class _Call:
    """One call while it arrives. `index` and `id` are the vendor's, if it gives any."""

    index: object
    id: str
    name: str
    pieces: list[str] = field(default_factory=list[str])
    _chars: int = 0
    _depth: int = 0
    _in_string: bool = False
    _escaped: bool = False
    is_whole: bool = False
    """Whether the arguments are a complete object: each `{` of them is closed."""

    @property
    def arguments(self) -> str:
        return "".join(self.pieces).strip() or "{}"

    def add(self, text: str) -> None:
        if self.is_whole and len(text) == self._chars and text == "".join(self.pieces):
            return  # some servers send the whole arguments once more at the end
        if self.is_whole and self._chars == len("{}") and text.strip():
            self.pieces, self._chars, self.is_whole = [], 0, False  # others begin with empty ones
        self.pieces.append(text)
        self._chars += len(text)
        for char in text:
            self._scan(char)

    def _scan(self, char: str) -> None:
        if self._in_string:
            self._in_string = self._escaped or char != '"'
            self._escaped = char == "\\" and not self._escaped
        elif char == '"':
            self._in_string = True
        elif char in "{}":
            self._depth += 1 if char == "{" else -1
            self.is_whole = self._depth == 0


class NativeCalls:
    """The native calls of one answer: `receive` each piece, then `close` once, which returns a block of our protocol.

    Which call a piece belongs to. Servers fill in `index`, `id` and `name` in different ways: all calls have index 0,
    the pieces of several calls take turns, an index or id comes only with the first piece, or a new id with each one.

        a new id             begins a call, unless the call at this index has none yet, or the piece only has arguments
                             for a call whose arguments are incomplete
        a known id           continues its call, unless that is at another index, or whole and named again
        a name without id    begins a call, unless the call at this index has no name, or the same and is incomplete
        neither              continues the call at this index; without an index, the last one
    """

    def __init__(self) -> None:
        self._calls: list[_Call] = []
        self._closed = False
        self._chars = 0

    def receive(self, piece: Mapping[str, object]) -> str:
        """Process a piece of a call. Returns "", but passes on more than the parser accepts at once, to be refused."""
        function = as_object(piece.get("function"))
        arguments = function.get("arguments")
        text = arguments if isinstance(arguments, str) else json.dumps(arguments) if arguments else ""
        call = self._call_of(piece, as_text(function.get("name")), text)
        if call is None:
            return ""
        fitted = self._chars <= MAX_BLOCK_CHARS
        self._chars += len(text)
        if fitted:
            call.add(text)
        if self._chars <= MAX_BLOCK_CHARS:
            return ""
        self._closed = True
        return f"\n{self._opened()}" if fitted else text

    def close(self) -> str:
        """Return the block, or "" if there is no call or it was closed already."""
        if not self._named or self._closed:
            return ""
        self._closed = True
        return f"{self._opened()}]\n</execute>"

    def items(self, text: str) -> tuple[JsonObject, ...]:
        """Return the answer as it goes back to the vendor; empty without calls, or if one has invalid arguments."""
        if not self._named or not all(_is_object(call.arguments) for call in self._named):
            return ()
        calls: list[Json] = [
            {"id": id_, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
            for id_, call in zip(self._ids(), self._named, strict=True)
        ]
        return ({"role": str(Role.ASSISTANT), "content": text or None, "tool_calls": calls},)

    @property
    def _named(self) -> list[_Call]:
        return [call for call in self._calls if call.name]

    def _ids(self) -> list[str]:
        """Return one id for each call: the vendor's, or one of ours if it gave none, or the same to several calls."""
        ids = [call.id for call in self._named]
        ours = [f"call_{at + 1}" if f"call_{at + 1}" not in ids else f"call_{at + 1}_" for at in range(len(ids))]
        return [id_ if id_ and id_ not in ids[:at] else ours[at] for at, id_ in enumerate(ids)]

    def _call_of(self, piece: Mapping[str, object], name: str, text: str) -> _Call | None:
        index, id_ = piece.get("index"), as_text(piece.get("id"))
        # Servers number the pieces of a call, or repeat its id, or its name, or nothing of these; several use one index
        # for all calls. The id is the surest sign, then the name, then the index.
        here = self._last(lambda call: index is None or call.index == index)
        same = self._last(lambda call: bool(id_) and call.id == id_)
        if same is not None:
            # One id at another index is a server that gives all calls the same id.
            moved = index is not None and same.index is not None and index != same.index
            call = None if moved or (name and text and same.is_whole) else same
        elif id_:
            # The id may come only after the first piece; a new id without a name goes on with arguments that are not
            # complete.
            is_late = here is not None and not here.id and not (name and here.name)
            is_rest = here is not None and not name and bool(text) and not here.is_whole
            call = here if is_late or is_rest else None
        elif name:
            # A repeated name is a new call only if the arguments before it are complete: some servers repeat it with
            # each piece.
            is_same = here is not None and (not here.name or (here.name == name and not here.is_whole))
            call = here if is_same else None
        else:
            call = here or self._last(lambda _: True)
        if call is None:
            return self._begin(index, id_, name)
        call.id, call.name = call.id or id_, call.name or name
        return call

    def _last(self, fits: Callable[[_Call], bool]) -> _Call | None:
        return next(filter(fits, reversed(self._calls)), None)

    def _begin(self, index: object, id_: str, name: str) -> _Call | None:
        if not (name or id_) or len(self._calls) > MAX_CALLS:
            return None
        self._calls.append(_Call(index, id_, name))
        return self._calls[-1]

    def _opened(self) -> str:
        """Return the block without its end."""
        calls = [
            f'{{"name": {json.dumps(_our_name(call.name), ensure_ascii=False)}, "args": {call.arguments}}}'
            for call in self._named
        ]
        return "<execute>[" + ",\n".join(calls)


def _is_object(text: str) -> bool:
    try:
        return not is_too_deep(text) and isinstance(json.loads(text), dict)
    except ValueError:
        return False
