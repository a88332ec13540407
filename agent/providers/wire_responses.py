"""Responses on the wire: our messages → a request body or a WebSocket frame, its events → ours; and its sessions.

Rules.
- The vendor stores nothing (`store: false`), so reasoning is encrypted. It goes back unchanged with all other items,
  except what would be refused: nulls, and reasoning that is not encrypted or comes last.
- The stable prefix is the first input item, in the role "developer". `instructions` would have to be sent each round.
- Instead of writing `<execute>`, the model calls a free-text tool, which is offered if the messages teach the protocol.
  Calls are passed on as one block when the answer is complete, so an answer that is cut off runs nothing. The results
  of a round are the output of the first call; the other calls get a reference to it.
- No field is null, and no field is sent that only some models support (`temperature`, `stop`).
- Text, including refusals, is passed on as it arrives; each item starts a paragraph. An empty piece shows that the
  model is active. Servers without deltas, or with one whole answer, are supported, too.
"""

import json
import re
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace
from typing import cast

from agent.messages import Json, JsonObject, Message, NativeContent, Role
from agent.model_sessions import SessionProvider
from agent.ports.model import (
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
from agent.providers.dialect import AnswerReader, ModelRequest, ReaderEvent
from agent.providers.faults import Fault, FaultKind, asked_wait_s, read_error, should_retry
from agent.providers.resume_chain import ChainLink, ResumeChain, chain_after
from agent.providers.socket_session import PooledSocket, SocketClosed, SocketLimits, SocketPool, socket_url

TEXT = frozenset({"response.output_text.delta", "response.refusal.delta"})
REASONING = frozenset({"response.reasoning_summary_text.delta", "response.reasoning_text.delta"})
CALL = frozenset({"response.custom_tool_call_input.delta", "response.function_call_arguments.delta"})
ENDS = frozenset({"response.completed", "response.incomplete", "response.failed"})
ADDED = "response.output_item.added"
# Known events without new information.
SILENT = frozenset(
    {
        *("response.created", "response.in_progress", "response.queued", ADDED),
        *("response.content_part.added", "response.content_part.done", "response.output_text.done"),
        *("response.refusal.done", "response.custom_tool_call_input.done", "response.function_call_arguments.done"),
        *("response.reasoning_text.done", "response.reasoning_summary_text.done"),
        *("response.reasoning_summary_part.added", "response.reasoning_summary_part.done"),
    }
)

# Items of an answer that the bot reads, and what the vendor does by itself on the way to them. Any other item asks for
# something that was not offered, or has content that is not shown.
READ = frozenset({"message", "reasoning", "custom_tool_call", "function_call"})
STEPS = frozenset(
    {
        *("web_search_call", "file_search_call", "code_interpreter_call", "tool_search_call", "tool_search_output"),
        *("mcp_list_tools", "mcp_call", "mcp_approval_response", "program", "program_output", "compaction"),
        *("additional_tools", "custom_tool_call_output", "function_call_output", "computer_call_output"),
        *("local_shell_call_output", "shell_call_output", "apply_patch_call_output"),
    }
)

# Why an answer is incomplete. Any other reason, and any status but "completed", leaves open how much is missing.
INCOMPLETE = {
    "content_filter": StopReason.FILTERED,
    **dict.fromkeys(("max_output_tokens", "incomplete"), StopReason.LENGTH),
}

# What models write around their calls, although the tool's input should contain the calls only.
_WRAPPING = re.compile(r"^\s*(?:<execute>|```\w*)|(?:</execute>|```)\s*$")

_PERMANENT = ("policy", "image", "prompt", "residency")  # In the code of a response whose retry would fail, too


class ResponsesReader(AnswerReader):
    """Reads one answer. `response_id` is its handle, "" until it is complete: only then it can be continued."""

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
        self._has_text = False
        self._item_has_text = False

    def receive(self, data: str) -> list[ReaderEvent]:
        event = wire.as_object(wire.parse_json(data))
        kind = wire.as_text(event.get("type"))
        is_whole = event.get("object") == "response"
        # A gateway answers with an error that has no type, or with the whole response where streaming was asked for.
        if kind == "error" or (not kind and (event.get("error") if is_whole else wire.error_in(event))):
            return [_fault(event)]
        if is_whole:
            return self._end(event, "completed")
        if self.finished or not kind.startswith("response."):
            self.ignored += 1
            return []
        self.begun = True
        if kind in TEXT:
            return self._text(wire.as_text(event.get("delta")), _place(event))
        if kind in REASONING:
            return [ReasoningArrived(text)] if (text := wire.as_text(event.get("delta"))) else []
        # An empty piece says that the model is at work: arguments of a call may take longer than the timeout between
        # two events.
        if kind in CALL:
            return [TokensArrived("")]
        if kind == "response.output_item.done":
            return self._item(wire.as_object(event.get("item")))
        if kind in ENDS:
            return self._end(wire.as_object(event.get("response")), kind.removeprefix("response."))
        self.ignored += kind not in SILENT
        # New thoughts after text: an empty event lets the bot show that it thinks again.
        thinks = kind == ADDED and wire.as_object(event.get("item")).get("type") == "reasoning"
        return [ReasoningArrived("")] if thinks and self._has_text else []

    def _text(self, text: str, place: tuple[object, ...]) -> list[ReaderEvent]:
        if not text:
            return []
        is_new_item = self._has_text and place != self._place
        self._has_text, self._item_has_text, self._place = True, True, place
        return [TokensArrived(f"\n\n{text}" if is_new_item else text)]

    def _item(self, item: dict[str, object]) -> list[ReaderEvent]:
        """Process a complete item. Its text counts if no delta of it arrived before."""
        if not item:
            return []
        self._items.append(item)
        self._unseen |= item.get("type", "message") not in READ | STEPS
        had_text, self._item_has_text = self._item_has_text, False
        if had_text or item.get("type") != "message":
            return []
        parts = [wire.as_object(part) for part in wire.as_list(item.get("content"))]
        text = "".join(wire.as_text(part.get("text")) or wire.as_text(part.get("refusal")) for part in parts)
        events = self._text(text, (len(self._items),))
        self._item_has_text = False
        return events

    def _end(self, response: dict[str, object], status: str) -> list[ReaderEvent]:
        """Process the end of the answer. `status` is implied by the event; that of the response takes precedence."""
        self.begun = True
        status = wire.as_text(response.get("status")) or status
        self._usage = wire.as_object(response.get("usage"))
        if status == "failed":
            return [_fault(response)]
        self.finished = True
        events: list[ReaderEvent] = []
        if not self._items:
            had_text = self._has_text
            outputs = [wire.as_object(item) for item in wire.as_list(response.get("output"))]
            texts = [event for item in outputs for event in self._item(item)]
            events = [] if had_text else texts
        if status != "completed":
            details = wire.as_object(response.get("incomplete_details"))
            word = wire.as_text(details.get("reason")) or status
            self._reason = wire.read_stop_reason(word, INCOMPLETE)
            return events
        self._reason = StopReason.END
        self.response_id = wire.as_text(response.get("id"))
        if (block := _execute_block(self._items)) is not None:
            self._reason = StopReason.HALTED
            events.append(TokensArrived(f"\n<execute>{block}\n</execute>"))
        return events

    def _native(self) -> NativeContent | None:
        if not self.response_id:
            return None
        items = [item for item in self._items if item.get("type") != "reasoning" or item.get("encrypted_content")]
        while items and items[-1].get("type") == "reasoning":
            items.pop()
        returned = _without_null_fields(items)
        return NativeContent(self._dialect, returned) if returned else None


def _place(event: Mapping[str, object]) -> tuple[object, ...]:
    return (event.get("item_id"), event.get("output_index"), event.get("content_index"))


def _fault(event: Mapping[str, object]) -> Fault:
    """Read an `error` event (flat over HTTP, an object over WebSocket) or a failed response."""
    error = event.get("error") or event
    status = wire.as_count(event.get("status") or event.get("status_code"))
    code = wire.as_text(wire.as_object(error).get("code"))
    if not 400 <= status <= 599:
        status = 400 if any(word in code for word in _PERMANENT) else 0
    headers = {name.lower(): str(value) for name, value in wire.as_object(wire.as_object(error).get("headers")).items()}
    fault = read_error(error, status)
    return replace(fault, retry_after_s=asked_wait_s(headers), should_retry=should_retry(headers))


def _execute_block(items: Sequence[Mapping[str, object]]) -> str | None:
    """Return the contents of the `<execute>` block for these calls; the lists of several calls are joined.

    If one of several is not valid JSON, only that one is returned: then the model gets an error and nothing runs.
    """
    blocks = [_parseable_input(call_input) for item in items if (call_input := _call_input(item)) is not None]
    if len(blocks) < 2:
        return next(iter(blocks), None)
    invalid = next((block for block in blocks if wire.parse_json(block) is None), None)
    contents = [block[1:-1].strip() if block.startswith("[") else block for block in blocks]
    return invalid or f"[{', '.join(filter(None, contents))}]"


def _call_input(item: Mapping[str, object]) -> str | None:
    if item.get("type") == "custom_tool_call":
        return wire.as_text(item.get("input"))
    if item.get("type") != "function_call":
        return None
    arguments = wire.as_text(item.get("arguments")) or "{}"
    return f'[{{"name": {json.dumps(wire.as_text(item.get("name")))}, "args": {arguments}}}]'


def _parseable_input(call_input: str) -> str:
    """Return the input for the parser. Text that is not JSON becomes a list that the parser refuses with a reason."""
    text = _WRAPPING.sub("", call_input).strip()
    return text if text.startswith(("[", "{")) else json.dumps([call_input])


def _without_null_fields(items: Sequence[Mapping[str, object]]) -> tuple[JsonObject, ...]:
    """Return the items without nulls and half surrogates; empty if they cannot be encoded."""
    try:
        text = wire.encoded({"items": cast("list[Json]", items)})
        value: object = json.loads(text, object_pairs_hook=_without_nulls)
    except ValueError:
        return ()
    return tuple(cast("JsonObject", item) for item in wire.as_list(wire.as_object(value).get("items")))


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

TAUGHT = "</execute>"  # Only a system message that teaches the protocol contains it

# Fields that are left out if a service refuses them by name.
OPTIONAL = ("include", "reasoning", "prompt_cache_key", "parallel_tool_calls", "tools")

SEE_FIRST = "See the result of the first call, which holds the results of all."
NO_RESULT = "There is no result."

_OUTPUTS = {"custom_tool_call": "custom_tool_call_output", "function_call": "function_call_output"}
_NAMED = re.compile(r"['\"`]([^'\"`]+)['\"`]")
_FIELD_NAME = re.compile(r"(?:(?<= )|\A)\w+")


@dataclass(frozen=True, slots=True)
class ResponsesDialect:
    """Responses for one model. `left_out` are the optional fields that the service refused."""

    model: str
    vendor: str = "openai"
    images: bool = True
    """Whether the model reads pictures. If not, the text has a note on them."""
    left_out: frozenset[str] = frozenset()
    behind: str = ""
    """The model, if `model` is the name of a deployment."""

    @property
    def name(self) -> str:
        """The name for native content. It has the model, because others cannot read its encrypted reasoning."""
        return f"{self.vendor}-responses:{self.model}"

    @property
    def capabilities(self) -> Capabilities:
        halt = Halt.NONE if "tools" in self.left_out else Halt.TOOL
        return Capabilities(
            halt=halt,
            images=self.images,
            effort="reasoning" not in self.left_out,
            reasons=reasons(self.behind or self.model),
        )

    def request(self, messages: Sequence[Message], options: CallOptions) -> ModelRequest:
        """Build the request with the whole context over HTTP."""
        body = self._body(messages, self.items(messages), options)
        return ModelRequest("/responses", wire.encoded({**body, "stream": True}))

    def frame(self, messages: Sequence[Message], link: ChainLink, options: CallOptions) -> str:
        """Return the WebSocket frame for the answer to `messages`, with those after the link's parent."""
        body = self._body(messages, self.items(link.new, link.answering), options)
        if link.parent:
            body["previous_response_id"] = link.parent
        return wire.encoded({"type": "response.create", **body}).decode()

    def reader(self) -> ResponsesReader:
        return ResponsesReader(self.name)

    def without(self, fault: Fault) -> "ResponsesDialect | None":
        refused = next((field for field in OPTIONAL if field not in self.left_out and _names_field(fault, field)), None)
        return replace(self, left_out=self.left_out | {refused}) if refused else None

    def items(self, messages: Sequence[Message], answering: NativeContent | None = None) -> list[Json]:
        """Return the messages as input items. `answering`: the last answer, if the vendor keeps it."""
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
            return wire.describe_pictures(message)
        pictures: list[Json] = [
            {"type": "input_image", "image_url": wire.data_url(image), "detail": "auto"} for image in message.images
        ]
        return [{"type": "input_text", "text": message.text}, *pictures]


def _names_field(fault: Fault, field: str) -> bool:
    """Return whether the fault names this field. Its name must be marked, because these are common words."""
    if not fault.bad_request:
        return False
    text = fault.param or " ".join(_NAMED.findall(fault.message))
    return field in _FIELD_NAME.findall(text)


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


# Responses over WebSocket, in resume mode: the rounds of a turn send only new messages.
#
# A session is one turn. Its first round takes a socket from the pool and sends the whole context. The vendor keeps the
# answer in the memory of the socket, and the next round names it and sends the messages after it. The local messages
# are authoritative.
#
#     the socket or the parent is lost                        the whole context again, over another socket, once
#     a temporary error before the first event                the same, after the delay of the retry policy
#     no socket is available                                  this round uses HTTP; later ones try again
#     the connection is lost after the request was sent       an error, because the model may have worked on it; if the
#                                                             peer closed it, later rounds use HTTP
#     any failure after the first event                       an error; the text so far stays
#
# A socket whose answer was not read to its end is closed: this stops the model, and no late event can reach another
# turn.

LIMIT_REACHED = "websocket_connection_limit_reached"
LOST = frozenset({"previous_response_not_found", LIMIT_REACHED})  # The chain is lost, and nothing else is wrong
# A connection that was lost without a closing handshake. Other codes mean that the peer wants no socket.
LOST_LINE = 1006


class ResponsesProvider(replay.ServedProvider, SessionProvider):
    """One model over WebSocket, and over HTTP (`http`, for the same model) if no socket is available.

    `dialect` is replaced by one without the fields that the service refuses.
    """

    def __init__(
        self, served: replay.ServedModel, dialect: ResponsesDialect, http: replay.ReplayProvider, limits: SocketLimits
    ) -> None:
        endpoint = served.endpoint
        url = f"{socket_url(endpoint.base_url)}/responses"
        super().__init__(served)
        self.served = served
        self.dialect = dialect
        self.sockets = SocketPool(url, served.authorise, served.world.clock, limits, proxies=not endpoint.is_local)
        self.http = http

    @property
    def capabilities(self) -> Capabilities:
        return replace(self.dialect.capabilities, resume=True)

    def connect(self, options: CallOptions) -> "ResponsesSession":
        return ResponsesSession(self, options)

    async def aclose(self) -> None:
        await self.sockets.aclose()
        await self.http.aclose()


class ResponsesSession:
    def __init__(self, provider: ResponsesProvider, options: CallOptions) -> None:
        self._provider = provider
        self._options = options
        self._pooled: PooledSocket | None = None
        self._chain = ResumeChain()

    async def answer(self, messages: Sequence[Message]) -> AsyncGenerator[ProviderEvent, None]:
        question, is_replayed = replay.Question(messages), False

        def adapt(fault: Fault) -> bool:
            nonlocal is_replayed
            if fault.code in LOST and not is_replayed:
                is_replayed = True
                if fault.code == LIMIT_REACHED:
                    self._drop()
                return True
            simpler = self._provider.dialect.without(fault)
            self._provider.dialect = simpler or self._provider.dialect
            return simpler is not None or question.adapt(fault)

        async with aclosing(
            self._provider.served.with_retries(lambda: self._attempt(question), adapt, question)
        ) as events:
            async for event in events:
                yield event

    async def close(self) -> tuple[str, ...]:
        if self._pooled is not None:
            self._provider.sockets.release(self._pooled)
            self._pooled = None
        return ()

    async def _attempt(self, question: replay.Question) -> AsyncGenerator[ProviderEvent, None]:
        """Ask over a socket, or over HTTP if there is none. A chain ends with its socket."""
        if self._pooled is None or not self._pooled.socket.is_open:
            self._drop()
            self._pooled = await self._provider.sockets.acquire()
        if self._pooled is None:
            events = self._over_http(question)
        else:
            events = replay.with_timeouts(
                self._over_socket(self._pooled, question), self._provider.served.world.patience
            )
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

    async def _over_socket(
        self, pooled: PooledSocket, question: replay.Question
    ) -> AsyncGenerator[ProviderEvent, None]:
        """Ask once. The chain is empty until the answer is complete, and an incomplete answer discards the socket."""
        link, self._chain = self._chain.link(question.messages), ResumeChain()
        frame = self._provider.dialect.frame(question.messages, link, self._options)
        question.bytes_up += len(frame.encode())
        reader, usage_counter = self._provider.dialect.reader(), replay.UsageCounter()
        is_complete = False
        try:
            await pooled.socket.send(frame)
            while not is_complete:
                events = reader.receive(await pooled.socket.receive())
                is_complete = reader.finished or any(isinstance(event, Fault) for event in events)
                for event in events:
                    if isinstance(event, Fault):
                        raise replay.AttemptFailed(event)
                    usage_counter.add(event)
                    yield event
        except SocketClosed as closed:
            if not reader.begun and closed.code != LOST_LINE:
                self._provider.sockets.refused()
            raise replay.AttemptFailed(Fault(FaultKind.CUT)) from None
        finally:
            if not is_complete:
                self._drop()
        ended = usage_counter.finish(reader.close(), question)
        self._chain = chain_after(question.messages, reader.response_id, ended.native)
        yield ended

    def _drop(self) -> None:
        if self._pooled is not None:
            self._provider.sockets.discard(self._pooled)
        self._pooled, self._chain = None, ResumeChain()
