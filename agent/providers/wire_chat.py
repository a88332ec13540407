"""Chat Completions on the wire: our messages → request body, the stream's data → our events. Pure.

Rules, from the behaviour of the servers with this protocol (Ollama, llama.cpp, vLLM, LM Studio, OpenRouter, vendors):
- `usage`, `finish_reason`, `index`, ids and `[DONE]` are optional. Usage may come in any chunk; the last one counts.
- Reasoning arrives as `reasoning`, as `reasoning_content`, or as parts of `content`.
- A whole answer (`message` in place of `delta`) is read as one chunk: some servers ignore `stream`.
- Unknown fields and unreadable data are ignored and counted.
- Chat templates are strict: the system message comes first and once, a user message follows, then roles alternate.
- No `temperature`: current models refuse it.

A model that follows its vendor's form of tool calls better than our blocks receives its tools in that form. The lesson
about blocks is removed from the system message. Native calls are passed on as the text of a block, so that the parser,
its limits and its corrections apply to them. In the next round the calls go back unchanged, with their results. Calls
are passed on in the order in which they begin. If a vendor omits indices, ids or arguments, a named call begins a new
one, an id is generated, and the arguments are empty.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, cast

from agent import ports
from agent.messages import Json, JsonObject, Message, NativeContent, Role, is_too_deep
from agent.ports import ToolSpec
from agent.protocol.grammar import LESSON, STOP_SEQUENCE, teach_native
from agent.protocol.render import neutralise
from agent.providers import wire
from agent.providers.catalog import reasons
from agent.providers.dialect import AnswerReader, ModelRequest, ReaderEvent
from agent.providers.faults import Fault, read_error
from agent.providers.wire import as_list, as_object, as_text

DONE = "[DONE]"

# Messages of OpenAI, xAI and Ollama for a model without this effort; Ollama uses several statuses.
_NO_EFFORT = ("reasoning_effort", "reasoningeffort", "does not support thinking", "think value")

# Messages of Ollama, llama.cpp, vLLM and OpenAI for a model without tools, with several statuses.
_NO_TOOLS = ("support tools", "--jinja", "tool-call-parser", "tool choice", "tool_choice", "function tools")

_REASONS = {"length": ports.StopReason.LENGTH, "content_filter": ports.StopReason.FILTERED}


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

    @property
    def name(self) -> str:
        return f"chat:{self.model}"

    @property
    def capabilities(self) -> ports.Capabilities:
        halt = ports.Halt.STOP_SEQUENCE if self.stop and not self.native else ports.Halt.NONE
        return ports.Capabilities(
            halt=halt, images=self.images, effort=self.effort, native_calls=self.native, reasons=reasons(self.model)
        )

    def request(self, messages: Sequence[Message], options: ports.CallOptions) -> ModelRequest:
        whole = merged(messages)
        system = untaught(whole[0].text, reasons=reasons(self.model)) if self._calls_natively(whole, options) else None
        items = self._with_calls(messages, system) if system is not None else list(map(self._to_json, whole))
        body: dict[str, Json] = {"model": self.model, "messages": items, "stream": True}
        if system is not None:
            body["tools"] = functions(options.tools)
        if self.include_usage:
            body["stream_options"] = {"include_usage": True}
        if self.stop and system is None:
            body["stop"] = [STOP_SEQUENCE]
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
        if self.effort and fault.mentions(*_NO_EFFORT):
            return replace(self, effort=False)
        return None

    def _calls_natively(self, joined: Sequence[Message], options: ports.CallOptions) -> bool:
        return self.native and bool(options.tools and joined) and joined[0].role is Role.SYSTEM

    def _to_json(self, message: Message) -> Json:
        return {"role": str(message.role), "content": self._content(message)}

    def _with_calls(self, messages: Sequence[Message], system: str) -> list[Json]:
        """Return the messages; native calls go back in their own form, followed by their results."""
        items: list[Json] = [{"role": str(Role.SYSTEM), "content": system}]
        run: list[Message] = []
        call_item: JsonObject | None = None
        for message, after in zip(messages, [*messages[1:], None], strict=True):
            if call_item is not None:
                items += _result_items(call_item, message)
                call_item = None
            elif message.native is not None and self._is_own(message) and after is not None and after.role is Role.USER:
                call_item = message.native.items[0]
                items += self._texts_to_json(run, items)
                items.append(dict(call_item))
                run = []
            elif message.role is not Role.SYSTEM:
                run.append(message)
        return [*items, *self._texts_to_json(run, items)]

    def _texts_to_json(self, run: Sequence[Message], preceding: Sequence[Json]) -> list[Json]:
        joined = wire.grouped(run) if len(preceding) > 1 else merged(run)
        return list(map(self._to_json, joined))

    def _is_own(self, message: Message) -> bool:
        return message.native is not None and message.native.dialect == self.name and message.native.has_calls

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

    def receive(self, data: str) -> list[ReaderEvent]:
        if data.strip() == DONE:
            self.begun = self.finished = True
            return self._close_calls()
        chunk = wire.as_object(wire.parse_json(data))
        if error := chunk.get("error"):
            return [read_error(error)]
        if "choices" not in chunk and "usage" not in chunk:
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
        delta = wire.as_object(choice.get("delta")) or wire.as_object(choice.get("message"))
        text, reasoning = _content(delta.get("content"))
        reasoning = wire.as_text(delta.get("reasoning")) or wire.as_text(delta.get("reasoning_content")) or reasoning
        text = text or wire.as_text(delta.get("refusal"))
        if reasoning:
            events.append(ports.ReasoningArrived(reasoning))
        if text:
            self._texts.append(text)
            events.append(ports.TokensArrived(text))
        before = "".join(self._texts[-1:])
        blocks = [self._calls.receive(wire.as_object(piece), before) for piece in wire.as_list(delta.get("tool_calls"))]
        events += [ports.TokensArrived(block) for block in blocks if block]
        if reason := wire.as_text(choice.get("finish_reason")):
            self.finished = True
            halted = bool(wire.as_text(choice.get("stop_reason")))
            self._reason = _REASONS.get(reason, ports.StopReason.HALTED if halted else ports.StopReason.END)
            events += self._close_calls() if self._reason is not ports.StopReason.LENGTH else []
        return events

    def _close_calls(self) -> list[ReaderEvent]:
        block = self._calls.close()
        return [ports.TokensArrived(block)] if block else []


def _content(content: object) -> tuple[str, str]:
    if isinstance(content, str):
        return content, ""
    texts, thoughts = list[str](), list[str]()
    for part in map(wire.as_object, wire.as_list(content)):
        texts.append(wire.as_text(part.get("text")))
        thinking = part.get("thinking")
        thoughts.append(
            wire.as_text(thinking)
            or "".join(wire.as_text(wire.as_object(p).get("text")) for p in wire.as_list(thinking))
        )
    return "".join(texts), "".join(thoughts)


MAX_CALLS = 32  # The limit of the parser; more are an error of the server
NO_RESULT = "(See the other results.)"


def untaught(system: str, *, reasons: bool) -> str | None:
    """Replace the lesson about blocks in the system message by the one about calls; None if it has no lesson."""
    before, lesson, _ = system.rpartition(LESSON)
    return f"{before}{teach_native(reasons=reasons)}" if lesson else None


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
    id: str
    name: str
    pieces: list[str] = field(default_factory=list[str])

    @property
    def arguments(self) -> str:
        return "".join(self.pieces).strip() or "{}"


class NativeCalls:
    """The native calls of one answer: `receive` each piece, then `close` once. Both return text of our protocol."""

    def __init__(self) -> None:
        self._calls: list[_Call] = []
        self._keys: list[object] = []
        self._closed = False

    def receive(self, piece: Mapping[str, object], text_before: str) -> str:
        """Process a piece of a call. `text_before`: the text so far; a block must start on a new line."""
        function = as_object(piece.get("function"))
        name, arguments = as_text(function.get("name")), function.get("arguments")
        opening = self._begin(piece, name) if name and self._is_new(piece) else ""
        if not self._calls or len(self._calls) > MAX_CALLS or not self._is_current(piece):
            return ""
        text = arguments if isinstance(arguments, str) else json.dumps(arguments) if arguments else ""
        if opening and len(self._calls) == 1 and text_before and not text_before.endswith("\n"):
            opening = f"\n{opening}"
        if text:
            self._calls[-1].pieces.append(text)
        return opening + text

    def close(self) -> str:
        """Return the end of the block, or "" if there is no call or it was closed already."""
        if not self._calls or self._closed:
            return ""
        self._closed = True
        return f"{self._end_of_call()}]\n</execute>"

    def items(self, text: str) -> tuple[JsonObject, ...]:
        """Return the answer as it goes back to the vendor; empty without calls, or if one has invalid arguments."""
        if not self._calls or not all(_is_object(call.arguments) for call in self._calls):
            return ()
        calls: list[Json] = [
            {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
            for call in self._calls
        ]
        return ({"role": str(Role.ASSISTANT), "content": text or None, "tool_calls": calls},)

    def _is_new(self, piece: Mapping[str, object]) -> bool:
        index, id_ = piece.get("index"), as_text(piece.get("id"))
        if index is not None:
            return index not in self._keys
        return not id_ or id_ not in {call.id for call in self._calls}

    def _is_current(self, piece: Mapping[str, object]) -> bool:
        index = piece.get("index")
        return index is None or index == self._keys[-1]

    def _begin(self, piece: Mapping[str, object], name: str) -> str:
        separator = f"{self._end_of_call()},\n" if self._calls else "<execute>["
        self._calls.append(_Call(as_text(piece.get("id")) or f"call_{len(self._calls) + 1}", name))
        self._keys.append(piece.get("index"))
        return f'{separator}{{"name": {json.dumps(_our_name(name), ensure_ascii=False)}, "args": '

    def _end_of_call(self) -> str:
        return "}" if "".join(self._calls[-1].pieces).strip() else "{}}"


def _is_object(text: str) -> bool:
    try:
        return not is_too_deep(text) and isinstance(json.loads(text), dict)
    except ValueError:
        return False
