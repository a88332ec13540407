"""Responses on the wire: our messages → a request body or a WebSocket frame, its events → ours; and its sessions.

Rules.
- Nothing is stored at the vendor (`store: false`), so reasoning comes back encrypted and is returned unchanged, with
  all that was written but what would be refused: nulls, reasoning without its encryption or with nothing behind it.
- The stable prefix is the first input item, in the role "developer". `instructions` would have to be sent each round.
- The model halts by calling a free-text tool in place of writing `<execute>`. It is offered where the messages teach
  the protocol. Calls are passed on when the answer is complete, as one block: an answer that breaks off runs nothing.
  What a round answers is the output of the first call; the others get a reference.
- No field is null, and none is sent that only some models take (`temperature`, `stop`).
- Text, refusals included, is passed on as it comes; items that follow one another are paragraphs. An empty piece shows
  that the model is at it. Servers that send no deltas, or one whole answer, read just the same.
"""

import json
import re
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace
from typing import cast

from agent.loop import one_round
from agent.messages import Json, JsonObject, Message, NativeContent, Role
from agent.ports import (
    CallOptions,
    Capabilities,
    Halt,
    ProviderEvent,
    ReasoningArrived,
    ResponseEnded,
    StopReason,
    TokensArrived,
)
from agent.providers import replay, wire
from agent.providers.catalog import reasons
from agent.providers.dialect import AnswerReader, ChainLink, ModelRequest, ReaderEvent, ResumeChain, answered
from agent.providers.faults import Fault, FaultKind, asked_wait_s, read_error, should_retry
from agent.providers.socket_session import SocketClosed, SocketLimits, WarmSocket, WarmSockets, socket_url

TEXT = frozenset({"response.output_text.delta", "response.refusal.delta"})
REASONING = frozenset({"response.reasoning_summary_text.delta", "response.reasoning_text.delta"})
CALL = frozenset({"response.custom_tool_call_input.delta", "response.function_call_arguments.delta"})
ENDS = frozenset({"response.completed", "response.incomplete", "response.failed"})
ADDED = "response.output_item.added"
# Known events that say nothing new.
SILENT = frozenset(
    {
        *("response.created", "response.in_progress", "response.queued", ADDED),
        *("response.content_part.added", "response.content_part.done", "response.output_text.done"),
        *("response.refusal.done", "response.custom_tool_call_input.done", "response.function_call_arguments.done"),
        *("response.reasoning_text.done", "response.reasoning_summary_text.done"),
        *("response.reasoning_summary_part.added", "response.reasoning_summary_part.done"),
    }
)

# What a model puts around its calls out of habit, though the tool's input is nothing but the calls.
_WRAPPING = re.compile(r"^\s*(?:<execute>|```\w*)|(?:</execute>|```)\s*$")

_PERMANENT = ("policy", "image", "prompt", "residency")  # Words in the code of a failed response that would fail again


class ResponsesReader(AnswerReader):
    """`response_id` is the answer's handle, "" until it is complete: only a completed answer can be built on."""

    usage_fields = wire.UsageFields(
        input="input_tokens",
        cached="input_tokens_details.cached_tokens",
        written="input_tokens_details.cache_write_tokens",
        output="output_tokens",
        reasoning="output_tokens_details.reasoning_tokens",
    )

    def __init__(self, dialect: str = "") -> None:
        super().__init__(dialect)
        self.response_id = ""
        self._items: list[dict[str, object]] = []
        self._place: tuple[object, ...] = ()
        self._said = False
        self._item_said = False

    def receive(self, data: str) -> list[ReaderEvent]:
        event = wire.as_object(wire.parse_json(data))
        kind = wire.as_text(event.get("type"))
        if kind == "error" or (not kind and event.get("error")):
            return [_fault(event)]
        if event.get("object") == "response":
            return self._end(event, "completed")
        if self.finished or not kind.startswith("response."):
            self.ignored += 1
            return []
        self.begun = True
        if kind in TEXT:
            return self._text(wire.as_text(event.get("delta")), _place(event))
        if kind in REASONING:
            return [ReasoningArrived(text)] if (text := wire.as_text(event.get("delta"))) else []
        if kind in CALL:
            return [TokensArrived("")]
        if kind == "response.output_item.done":
            return self._item(wire.as_object(event.get("item")))
        if kind in ENDS:
            return self._end(wire.as_object(event.get("response")), kind.removeprefix("response."))
        self.ignored += kind not in SILENT
        thinks = kind == ADDED and wire.as_object(event.get("item")).get("type") == "reasoning"
        return [ReasoningArrived("")] if thinks and self._said else []

    def _text(self, text: str, place: tuple[object, ...]) -> list[ReaderEvent]:
        if not text:
            return []
        apart = self._said and place != self._place
        self._said, self._item_said, self._place = True, True, place
        return [TokensArrived(f"\n\n{text}" if apart else text)]

    def _item(self, item: dict[str, object]) -> list[ReaderEvent]:
        """An item is complete. Its text counts where no piece of it came before."""
        if not item:
            return []
        self._items.append(item)
        said, self._item_said = self._item_said, False
        if said or item.get("type") != "message":
            return []
        parts = [wire.as_object(part) for part in wire.as_list(item.get("content"))]
        text = "".join(wire.as_text(part.get("text")) or wire.as_text(part.get("refusal")) for part in parts)
        events = self._text(text, (len(self._items),))
        self._item_said = False
        return events

    def _end(self, response: dict[str, object], status: str) -> list[ReaderEvent]:
        """The answer is over. What the response says of itself counts, else the `status` that the event implies."""
        self.begun = True
        status = wire.as_text(response.get("status")) or status
        self._usage = wire.as_object(response.get("usage"))
        if status == "failed":
            return [_fault(response)]
        self.finished = True
        events: list[ReaderEvent] = []
        if not self._items:
            said = self._said
            outputs = [wire.as_object(item) for item in wire.as_list(response.get("output"))]
            texts = [event for item in outputs for event in self._item(item)]
            events = [] if said else texts
        if status == "incomplete":
            details = wire.as_object(response.get("incomplete_details"))
            filtered = wire.as_text(details.get("reason")) == "content_filter"
            self._reason = StopReason.FILTERED if filtered else StopReason.LENGTH
            return events
        self.response_id = wire.as_text(response.get("id"))
        if (block := _execute(self._items)) is not None:
            self._reason = StopReason.HALTED
            events.append(TokensArrived(f"\n<execute>{block}\n</execute>"))
        return events

    def _native(self) -> NativeContent | None:
        if not self.response_id:
            return None
        kept = [item for item in self._items if item.get("type") != "reasoning" or item.get("encrypted_content")]
        while kept and kept[-1].get("type") == "reasoning":
            kept.pop()
        items = _returned(kept)
        return NativeContent(self._dialect, items) if items else None


def _place(event: Mapping[str, object]) -> tuple[object, ...]:
    return (event.get("item_id"), event.get("output_index"), event.get("content_index"))


def _fault(event: Mapping[str, object]) -> Fault:
    """What an `error` event says (flat over HTTP, an object over WebSocket), or a failed response."""
    error = event.get("error") or event
    status = wire.as_count(event.get("status") or event.get("status_code"))
    code = wire.as_text(wire.as_object(error).get("code"))
    if not 400 <= status <= 599:
        status = 400 if any(word in code for word in _PERMANENT) else 0
    headers = {name.lower(): str(value) for name, value in wire.as_object(wire.as_object(error).get("headers")).items()}
    fault = read_error(error, status)
    return replace(fault, retry_after_s=asked_wait_s(headers), should_retry=should_retry(headers))


def _execute(items: Sequence[Mapping[str, object]]) -> str | None:
    """What stands in the `<execute>` block for these calls: the list of one, or the lists of several as one list.

    Where one of several cannot be read, it stands alone, so that the model is told so and nothing runs.
    """
    blocks = [_readable(written) for item in items if (written := _written(item)) is not None]
    if len(blocks) < 2:
        return next(iter(blocks), None)
    broken = next((block for block in blocks if wire.parse_json(block) is None), None)
    inner = [block[1:-1].strip() if block.startswith("[") else block for block in blocks]
    return broken or f"[{', '.join(filter(None, inner))}]"


def _written(item: Mapping[str, object]) -> str | None:
    if item.get("type") == "custom_tool_call":
        return wire.as_text(item.get("input"))
    if item.get("type") != "function_call":
        return None
    arguments = wire.as_text(item.get("arguments")) or "{}"
    return f'[{{"name": {json.dumps(wire.as_text(item.get("name")))}, "args": {arguments}}}]'


def _readable(written: str) -> str:
    """The input as the parser takes it. What is no JSON at all becomes a list that the parser refuses with a reason."""
    text = _WRAPPING.sub("", written).strip()
    return text if text.startswith(("[", "{")) else json.dumps([written])


def _returned(items: Sequence[Mapping[str, object]]) -> tuple[JsonObject, ...]:
    """The items without nulls and without half surrogates; none if they cannot be written."""
    try:
        text = wire.encoded({"items": cast("list[Json]", items)})
        read: object = json.loads(text, object_pairs_hook=_without_nulls)
    except ValueError:
        return ()
    return tuple(cast("JsonObject", item) for item in wire.as_list(wire.as_object(read).get("items")))


def _without_nulls(pairs: list[tuple[str, object]]) -> dict[str, object]:
    return {name: value for name, value in pairs if value is not None}


TOOL = "execute"

EXECUTE: dict[str, Json] = {
    "type": "custom",
    "name": TOOL,
    "description": (
        "Runs your tools. Call it instead of writing an <execute> block. Its input is exactly what belongs between "
        "<execute> and </execute>: the JSON list of calls, and nothing else. Write <workspace> in your text before it."
    ),
    "format": {"type": "text"},
}

TAUGHT = "</execute>"  # Stands in a system message that teaches the protocol, and in no other

# What a service may refuse by name, and can then be left out.
OPTIONAL = ("include", "reasoning", "prompt_cache_key", "parallel_tool_calls", "tools")

SEE_FIRST = "See the result of the first call, which holds the results of all."
NO_RESULT = "There is no result."

_OUTPUTS = {"custom_tool_call": "custom_tool_call_output", "function_call": "function_call_output"}
_NAMED = re.compile(r"['\"`]([^'\"`]+)['\"`]")
_FIELD_NAME = re.compile(r"(?:(?<= )|\A)\w+")


@dataclass(frozen=True, slots=True)
class ResponsesDialect:
    """Responses for one model. `left_out` are the optional fields that the service has refused."""

    model: str
    vendor: str = "openai"
    images: bool = True
    """Whether the model reads pictures; where it does not, a line says that there was one."""
    left_out: frozenset[str] = frozenset()

    @property
    def name(self) -> str:
        """Whose items these are: another model cannot read this one's encrypted reasoning."""
        return f"{self.vendor}-responses:{self.model}"

    @property
    def capabilities(self) -> Capabilities:
        halt = Halt.NONE if "tools" in self.left_out else Halt.TOOL
        return Capabilities(
            halt=halt, images=self.images, effort="reasoning" not in self.left_out, reasons=reasons(self.model)
        )

    def request(self, messages: Sequence[Message], options: CallOptions) -> ModelRequest:
        """The whole context over HTTP."""
        body = self._body(messages, self.items(messages), options)
        return ModelRequest("/responses", wire.encoded({**body, "stream": True}))

    def frame(self, messages: Sequence[Message], link: ChainLink, options: CallOptions) -> str:
        """What asks for the answer to `messages` over WebSocket: what is new since the link's parent."""
        body = self._body(messages, self.items(link.new, link.answering), options)
        if link.parent:
            body["previous_response_id"] = link.parent
        return wire.encoded({"type": "response.create", **body}).decode()

    def reader(self) -> ResponsesReader:
        return ResponsesReader(self.name)

    def without(self, fault: Fault) -> "ResponsesDialect | None":
        refused = next((field for field in OPTIONAL if field not in self.left_out and _names(fault, field)), None)
        return replace(self, left_out=self.left_out | {refused}) if refused else None

    def items(self, messages: Sequence[Message], answering: NativeContent | None = None) -> list[Json]:
        """The messages as input items. `answering` is what the model wrote before them, if the vendor has that."""
        items: list[Json] = []
        calls = _calls(answering)
        for message in messages:
            if calls and message.role is Role.USER:
                items += _outputs(calls, self._content(message))
                calls = []
                continue
            items += _outputs(calls, NO_RESULT)
            native = message.native if message.native and message.native.dialect == self.name else None
            calls = _calls(native)
            items += [dict(item) for item in native.items] if native else self._message(message)
        return items + _outputs(calls, NO_RESULT)

    def _body(self, messages: Sequence[Message], items: list[Json], options: CallOptions) -> dict[str, Json]:
        body: dict[str, Json] = {
            "model": self.model,
            "input": items,
            "store": False,
            "include": ["reasoning.encrypted_content"],
        }
        if any(message.role is Role.SYSTEM and TAUGHT in message.text for message in messages):
            body |= {"tools": [EXECUTE], "parallel_tool_calls": False}
        if options.depth in wire.EFFORT:
            body["reasoning"] = {"effort": wire.EFFORT[options.depth]}
        if options.cache_key:
            body["prompt_cache_key"] = options.cache_key
        return {field: value for field, value in body.items() if field not in self.left_out}

    def _message(self, message: Message) -> list[Json]:
        if message.role is Role.ASSISTANT and not message.text.strip():
            return []
        role = "developer" if message.role is Role.SYSTEM else str(message.role)
        return [{"type": "message", "role": role, "content": self._content(message)}]

    def _content(self, message: Message) -> Json:
        if not (self.images and message.images and message.role is Role.USER):
            return wire.described(message)
        pictures: list[Json] = [
            {"type": "input_image", "image_url": wire.data_url(image), "detail": "auto"} for image in message.images
        ]
        return [{"type": "input_text", "text": message.text}, *pictures]


def _names(fault: Fault, field: str) -> bool:
    """Whether the request was refused because of this field, which is named as such: these are common words."""
    if not fault.bad_request:
        return False
    named = fault.param or " ".join(_NAMED.findall(fault.message))
    return field in _FIELD_NAME.findall(named)


def _calls(native: NativeContent | None) -> list[Mapping[str, Json]]:
    return [item for item in native.items if item.get("type") in _OUTPUTS] if native else []


def _outputs(calls: Sequence[Mapping[str, Json]], content: Json) -> list[Json]:
    return [
        {
            "type": _OUTPUTS[wire.as_text(call["type"])],
            "call_id": wire.as_text(call.get("call_id")),
            "output": SEE_FIRST if position and content != NO_RESULT else content,
        }
        for position, call in enumerate(calls)
    ]


# Responses over WebSocket, in resume mode: the rounds of a turn send only what is new.
#
# A session is one turn. Its first round takes a socket and sends the whole context; the vendor keeps the answer in the
# socket's memory, and the next round names it and sends what came after. The local messages are the only truth.
#
#     the socket or the parent is gone                        the whole context again, over another socket, once
#     an error that may pass, before the first event          the same, after a wait that the policy decides
#     no socket is to be had                                  the round goes over HTTP; later ones try again
#     the connection died after the request was sent          an error that says so: it may have been worked on; where
#                                                             the other side closed it, later rounds go over HTTP
#     anything after the first event                          an error: what was said stands
#
# A socket whose answer was not read to its end is closed: that stops the model, and no late event can reach another
# turn.

LIMIT_REACHED = "websocket_connection_limit_reached"
LOST = frozenset({"previous_response_not_found", LIMIT_REACHED})  # The chain is gone, and nothing else is wrong
# A connection that ended without a leave-taking. Every other code is the decision of somebody who wants no socket.
LOST_LINE = 1006


class ResponsesProvider(replay.ServedProvider):
    """One model over WebSocket, and over HTTP (`http`, of the same model) where no socket is to be had.

    `dialect` loses the fields that the service refuses.
    """

    def __init__(
        self, served: replay.ServedModel, dialect: ResponsesDialect, http: replay.ReplayProvider, limits: SocketLimits
    ) -> None:
        endpoint = served.endpoint
        url, headers = f"{socket_url(endpoint.base_url)}/responses", endpoint.authorisation(served.key)
        super().__init__(served)
        self.served = served
        self.dialect = dialect
        self.sockets = WarmSockets(url, headers, served.world.clock, limits, proxies=not endpoint.is_local)
        self.http = http

    @property
    def capabilities(self) -> Capabilities:
        return replace(self.dialect.capabilities, resume=True)

    def connect(self, options: CallOptions) -> "ResponsesSession":
        return ResponsesSession(self, options)

    def stream(
        self,
        messages: Sequence[Message],
        options: CallOptions = CallOptions(),  # noqa: B008 -- frozen
    ) -> AsyncGenerator[ProviderEvent, None]:
        return one_round(self.connect(options), messages)

    async def aclose(self) -> None:
        await self.sockets.aclose()
        await self.http.aclose()


class ResponsesSession:
    def __init__(self, provider: ResponsesProvider, options: CallOptions) -> None:
        self._provider = provider
        self._options = options
        self._warm: WarmSocket | None = None
        self._chain = ResumeChain()

    async def answer(self, messages: Sequence[Message]) -> AsyncGenerator[ProviderEvent, None]:
        question, replayed = replay.Question(messages), False

        def mend(fault: Fault) -> bool:
            nonlocal replayed
            if fault.code in LOST and not replayed:
                replayed = True
                if fault.code == LIMIT_REACHED:
                    self._drop()
                return True
            simpler = self._provider.dialect.without(fault)
            self._provider.dialect = simpler or self._provider.dialect
            return simpler is not None or question.mend(fault)

        async with aclosing(self._provider.served.retried(lambda: self._attempt(question), mend)) as events:
            async for event in events:
                yield event

    async def close(self) -> tuple[str, ...]:
        if self._warm is not None:
            self._provider.sockets.give_back(self._warm)
            self._warm = None
        return ()

    async def _attempt(self, question: replay.Question) -> AsyncGenerator[ProviderEvent, None]:
        """Over a socket, or over HTTP where there is none. A chain does not outlive the socket that it was made on."""
        if self._warm is None or not self._warm.socket.is_open:
            self._drop()
            self._warm = await self._provider.sockets.take()
        if self._warm is None:
            events = self._over_http(question)
        else:
            events = replay.in_time(self._over_socket(self._warm, question), self._provider.served.world.patience)
        async with aclosing(events):
            async for event in events:
                yield event

    async def _over_http(self, question: replay.Question) -> AsyncGenerator[ProviderEvent, None]:
        async with aclosing(self._provider.http.stream(question.messages, self._options)) as events:
            async for event in events:
                if isinstance(event, ResponseEnded) and event.usage:
                    bytes_up = event.usage.bytes_up + question.bytes_up
                    yield replace(event, usage=replace(event.usage, bytes_up=bytes_up))
                else:
                    yield event

    async def _over_socket(self, warm: WarmSocket, question: replay.Question) -> AsyncGenerator[ProviderEvent, None]:
        """Ask once. Until the answer is complete there is no chain, and no turn may use the socket after this one."""
        link, self._chain = self._chain.link(question.messages), ResumeChain()
        frame = self._provider.dialect.frame(question.messages, link, self._options)
        question.bytes_up += len(frame.encode())
        reader, counted = self._provider.dialect.reader(), replay.Counted()
        over = False
        try:
            await warm.socket.send(frame)
            while not over:
                events = reader.receive(await warm.socket.receive())
                over = reader.finished or any(isinstance(event, Fault) for event in events)
                for event in events:
                    if isinstance(event, Fault):
                        raise replay.AttemptFailed(event)
                    counted.see(event)
                    yield event
        except SocketClosed as closed:
            if not reader.begun and closed.code != LOST_LINE:
                self._provider.sockets.refused()
            raise replay.AttemptFailed(Fault(FaultKind.CUT)) from None
        finally:
            if not over:
                self._drop()
        ended = counted.ended(reader.close(), question)
        self._chain = answered(question.messages, reader.response_id, ended.native)
        yield ended

    def _drop(self) -> None:
        if self._warm is not None:
            self._provider.sockets.drop(self._warm)
        self._warm, self._chain = None, ResumeChain()
