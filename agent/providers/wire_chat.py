"""Chat Completions on the wire: our messages → request body, the stream's data → our events. Pure.

Rules, learned from the servers that speak this protocol (Ollama, llama.cpp, vLLM, LM Studio, OpenRouter, the vendors):
- `usage`, `finish_reason`, `index`, ids and `[DONE]` are optional. Usage may come in any chunk; the last one counts.
- Reasoning arrives as `reasoning`, as `reasoning_content`, or as parts of `content`.
- A whole answer (`message` in place of `delta`) reads as one chunk: some servers ignore `stream`.
- Unknown fields and unreadable data are ignored and counted.
- Chat templates are strict: the system message comes first and once, a user message follows, then roles alternate.
- No `temperature`: current models refuse it.

A model that keeps its vendor's own form of calls better than ours is handed its tools in that form: the lesson about
blocks is taken out of the system's words; what the model calls goes on as the text that a model would have written, so
that the parser, its limits and its corrections see what they always see; in the next round the calls go back as they
came, with the results beside them. What is passed on goes in the order in which calls begin. Vendors leave out indices,
ids and even arguments: then a call that is named begins a new one, an id is made, and the arguments are empty.
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

# How OpenAI, xAI and Ollama say that a model takes none, or not this one; Ollama under more than one status.
_NO_EFFORT = ("reasoning_effort", "reasoningeffort", "does not support thinking", "think value")

# How Ollama, llama.cpp, vLLM and OpenAI say that this model is offered no tools here, under more than one status.
_NO_TOOLS = ("support tools", "--jinja", "tool-call-parser", "tool choice", "tool_choice", "function tools")

_REASONS = {"length": ports.StopReason.LENGTH, "content_filter": ports.StopReason.FILTERED}


@dataclass(frozen=True, slots=True)
class ChatDialect:
    """Chat Completions for one model. `stop` and `include_usage` are left out for servers that refuse them."""

    model: str
    stop: bool = True
    include_usage: bool = True
    images: bool = False
    """Whether the model reads pictures; where it does not, a line says that there was one."""
    effort: bool = False
    """Whether it takes `reasoning_effort`."""
    native: bool = False
    """Whether tools are handed over, called and answered in the form of this protocol."""

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
        taught = untaught(whole[0].text, reasons=reasons(self.model)) if self._calls(whole, options) else None
        said = self._with_calls(messages, taught) if taught is not None else list(map(self._said, whole))
        body: dict[str, Json] = {"model": self.model, "messages": said, "stream": True}
        if taught is not None:
            body["tools"] = functions(options.tools)
        if self.include_usage:
            body["stream_options"] = {"include_usage": True}
        if self.stop and taught is None:
            body["stop"] = [STOP_SEQUENCE]
        if self.effort and options.depth in wire.EFFORT:
            body["reasoning_effort"] = wire.EFFORT[options.depth]
        return ModelRequest("/chat/completions", wire.encoded(body))

    def reader(self) -> "ChatReader":
        return ChatReader(self.name)

    def without(self, fault: Fault) -> "ChatDialect | None":
        if self.native and (fault.names("tool") or fault.says(*_NO_TOOLS)):
            return replace(self, native=False)
        if self.include_usage and fault.names("stream_options"):
            return replace(self, include_usage=False)
        if self.stop and fault.names("stop"):
            return replace(self, stop=False)
        if self.effort and fault.says(*_NO_EFFORT):
            return replace(self, effort=False)
        return None

    def _calls(self, whole: Sequence[Message], options: ports.CallOptions) -> bool:
        return self.native and bool(options.tools and whole) and whole[0].role is Role.SYSTEM

    def _said(self, message: Message) -> Json:
        return {"role": str(message.role), "content": self._content(message)}

    def _with_calls(self, messages: Sequence[Message], taught: str) -> list[Json]:
        """As the words alone, but what was called in this form goes back in it, and its results behind it."""
        said: list[Json] = [{"role": str(Role.SYSTEM), "content": taught}]
        run: list[Message] = []
        called: JsonObject | None = None
        for message, after in zip(messages, [*messages[1:], None], strict=True):
            if called is not None:
                said += _results(called, message)
                called = None
            elif message.native is not None and self._is_own(message) and after is not None and after.role is Role.USER:
                called = message.native.items[0]
                said += self._worded(run, said)
                said.append(dict(called))
                run = []
            elif message.role is not Role.SYSTEM:
                run.append(message)
        return [*said, *self._worded(run, said)]

    def _worded(self, run: Sequence[Message], behind: Sequence[Json]) -> list[Json]:
        spoken = wire.grouped(run) if len(behind) > 1 else merged(run)
        return list(map(self._said, spoken))

    def _is_own(self, message: Message) -> bool:
        return message.native is not None and message.native.dialect == self.name and message.native.has_calls

    def _content(self, message: Message) -> Json:
        if not (self.images and message.images):
            return wire.described(message)
        pictures: list[Json] = [
            {"type": "image_url", "image_url": {"url": wire.data_url(image)}} for image in message.images
        ]
        return [{"type": "text", "text": message.text}, *pictures]


def _results(called: JsonObject, results: Message) -> list[Json]:
    ids = [wire.as_text(wire.as_object(call).get("id")) for call in wire.as_list(called.get("tool_calls"))]
    texts = answers(results, len(ids))
    return [{"role": "tool", "tool_call_id": id_, "content": text} for id_, text in zip(ids, texts, strict=True)]


def merged(messages: Sequence[Message]) -> list[Message]:
    """The system message first, then user and assistant in turns; what was apart is joined by a blank line."""
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
        total="total_tokens",  # most vendors count reasoning among the completion tokens, but not all
    )

    def __init__(self, dialect: str = "") -> None:
        super().__init__(dialect)
        self._calls = NativeCalls()
        self._said: list[str] = []

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
        items = self._calls.items("".join(self._said))
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
            self._said.append(text)
            events.append(ports.TokensArrived(text))
        before = "".join(self._said[-1:])
        called = [self._calls.receive(wire.as_object(piece), before) for piece in wire.as_list(delta.get("tool_calls"))]
        events += [ports.TokensArrived(written) for written in called if written]
        if reason := wire.as_text(choice.get("finish_reason")):
            self.finished = True
            halted = bool(wire.as_text(choice.get("stop_reason")))
            self._reason = _REASONS.get(reason, ports.StopReason.HALTED if halted else ports.StopReason.END)
            events += self._close_calls() if self._reason is not ports.StopReason.LENGTH else []
        return events

    def _close_calls(self) -> list[ReaderEvent]:
        written = self._calls.close()
        return [ports.TokensArrived(written)] if written else []


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


MAX_CALLS = 32  # As many as the parser takes; a server that begins more is broken
NO_RESULT = "(See the other results.)"


def untaught(system: str, *, reasons: bool) -> str | None:
    """The system's words without the lesson about blocks, and with the one about calls; None if there is none."""
    before, lesson, _ = system.rpartition(LESSON)
    return f"{before}{teach_native(reasons=reasons)}" if lesson else None


_DOT: Final = "--"


def function_name(name: str) -> str:
    """A tool's name as vendors take it, who allow letters, digits, - and _: a server's tool has a dot in its name."""
    return name.replace(".", _DOT, 1)


def _our_name(function: str) -> str:
    """The inverse: no name of a server has two hyphens in a row, and none of a function has one."""
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
    """What stands in the message that answers so many calls, one text a call; what follows the results joins the last.

    What is quoted in them cannot open a block: a model that falls back to our form reads it, too.
    """
    text = results.text.strip()
    entries: list[object] = []
    rest = text
    if text.startswith("<results>"):
        try:
            read, end = json.JSONDecoder().raw_decode(text, len("<results>"))
        except ValueError:
            pass
        else:
            entries = as_list(cast("object", read))
            rest = text[end:].lstrip().removeprefix("</results>").strip()
    said = [_said(as_object(entry)) for entry in entries[:calls]]
    said += [NO_RESULT] * (calls - len(said))
    return [*said[:-1], "\n\n".join(filter(None, [said[-1] if entries else "", rest]))]


def _said(entry: Mapping[str, object]) -> str:
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
    """What a model calls in one answer: `receive` the pieces as they come, and `close` once; both give text of ours."""

    def __init__(self) -> None:
        self._calls: list[_Call] = []
        self._keys: list[object] = []
        self._closed = False

    def receive(self, piece: Mapping[str, object], text_before: str) -> str:
        """A piece of one call. `text_before`: what was said so far, on whose last line no block may begin."""
        function = as_object(piece.get("function"))
        name, arguments = as_text(function.get("name")), function.get("arguments")
        begun = self._begin(piece, name) if name and self._is_new(piece) else ""
        if not self._calls or len(self._calls) > MAX_CALLS or not self._is_current(piece):
            return ""
        written = arguments if isinstance(arguments, str) else json.dumps(arguments) if arguments else ""
        if begun and len(self._calls) == 1 and text_before and not text_before.endswith("\n"):
            begun = f"\n{begun}"
        if written:
            self._calls[-1].pieces.append(written)
        return begun + written

    def close(self) -> str:
        """The end of the block; "" if nothing was called, or it was closed."""
        if not self._calls or self._closed:
            return ""
        self._closed = True
        return f"{self._end_of_call()}]\n</execute>"

    def items(self, text: str) -> tuple[JsonObject, ...]:
        """The answer as it goes back; nothing where no call was made, or where one cannot go back."""
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
        before = f"{self._end_of_call()},\n" if self._calls else "<execute>["
        self._calls.append(_Call(as_text(piece.get("id")) or f"call_{len(self._calls) + 1}", name))
        self._keys.append(piece.get("index"))
        return f'{before}{{"name": {json.dumps(_our_name(name), ensure_ascii=False)}, "args": '

    def _end_of_call(self) -> str:
        return "}" if "".join(self._calls[-1].pieces).strip() else "{}}"


def _is_object(text: str) -> bool:
    try:
        return not is_too_deep(text) and isinstance(json.loads(text), dict)
    except ValueError:
        return False
