"""Gemini's Interactions: our messages → request body, the stream's data → our events, and its sessions.

Rules.
- A session is one turn. Each of its answers is an interaction that the vendor stores. The next round names the last
  completed one, and sends only new messages. If the vendor lost it, the whole context is sent once more. A question
  outside of a session is not stored.
- At the end of the turn all its interactions are deleted. The turn knows the handle of each (`HandleKept`), so
  `forget_handles` can retry a failed deletion at any time, from any process. An interaction whose id never arrived
  cannot be deleted: the vendor deletes it at the end of its retention time.
- The stable prefix of a chain is its first input item: `system_instruction` would have to be sent in each round.
- The reply ends before the stop sequence, without it. The status is the same as for a normal end.
- Each step of the model's output starts a paragraph, so that the tag of a block is at the start of a line.
- The total of input tokens includes the cached ones; the total of output tokens does not include the thoughts.
"""

import asyncio
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing, suppress
from dataclasses import dataclass, replace
from urllib.parse import quote

from agent.messages import Json, Message, NativeContent, Role
from agent.ports.model import (
    CallOptions,
    Capabilities,
    Halt,
    HandleKept,
    ProviderEvent,
    ReasoningArrived,
    ResponseEnded,
    StopReason,
    TokensArrived,
)
from agent.protocol.grammar import STOP_SEQUENCE
from agent.providers import wire
from agent.providers.catalog import reasons
from agent.providers.credentials import OutgoingRequest
from agent.providers.dialect import AnswerReader, ModelRequest, ReaderEvent
from agent.providers.faults import Fault, FaultKind, read_error
from agent.providers.http_client import Http, TransportError
from agent.providers.keys import KEY_MARK
from agent.providers.replay import AttemptFailed, ReplayProvider, ServedModel, ServedProvider
from agent.providers.resume_chain import ResumeChain, chain_after
from agent.providers.wire_gemini import IMAGE_TYPES, refuses_thinking, stopped_inside

DONE = "[DONE]"

LOST = frozenset({403, 404})  # The status if there is no such interaction, or none for this key

_STEPS = {Role.USER: "user_input", Role.ASSISTANT: "model_output"}
_REASONS = {
    "completed": StopReason.END,
    "incomplete": StopReason.LENGTH,
    "requires_continuation": StopReason.LENGTH,
    "budget_exceeded": StopReason.LENGTH,
}
# What the vendor does by itself on the way to a text.
_OWN_STEPS = frozenset(
    {
        *("code_execution_call", "code_execution_result", "file_search_call", "file_search_result"),
        *("google_maps_call", "google_maps_result", "google_search_call", "google_search_result"),
        *("mcp_server_tool_call", "mcp_server_tool_result", "processing_call", "processing_result"),
        *("retrieval_call", "retrieval_result", "tool_search_call", "tool_search_result"),
        *("url_context_call", "url_context_result", "user_input", "function_result"),
    }
)
_UNSEEN = frozenset({"image", "audio", "video", "document"})  # Parts of the output that are not shown


@dataclass(frozen=True, slots=True)
class InteractionsDialect:
    """Interactions with one model. `chain` is what the vendor keeps of this turn; None: it must not store anything."""

    model: str
    chain: ResumeChain | None = None
    images: bool = True
    effort: bool = True

    @property
    def name(self) -> str:
        return f"gemini-interactions:{self.model}"

    @property
    def capabilities(self) -> Capabilities:
        return Capabilities(
            halt=Halt.STOP_SEQUENCE,
            resume=True,
            images=self.images,
            effort=self.effort,
            reasons=reasons(self.model),
        )

    def request(self, messages: Sequence[Message], options: CallOptions) -> ModelRequest:
        config: dict[str, Json] = {"stop_sequences": [STOP_SEQUENCE]}
        if self.effort and options.depth in wire.EFFORT:
            config["thinking_level"] = wire.EFFORT[options.depth]
        body: dict[str, Json] = {
            "model": self.model.removeprefix("models/"),
            "stream": True,
            "store": self.chain is not None,
            "generation_config": config,
            **(self._full_input(messages) if self.chain is None else self._chained_input(self.chain, messages)),
        }
        return ModelRequest("/interactions", wire.encoded(body))

    def reader(self) -> "InteractionsReader":
        return InteractionsReader(self.name, stored=self.chain is not None)

    def without(self, fault: Fault) -> "InteractionsDialect | None":
        if self.effort and refuses_thinking(fault):
            return replace(self, effort=False)
        if self.chain and self.chain.handle and fault.status in LOST:
            return replace(self, chain=ResumeChain())
        return None

    def _full_input(self, messages: Sequence[Message]) -> dict[str, Json]:
        system = wire.system_text(messages)
        instruction: dict[str, Json] = {"system_instruction": system} if system.strip() else {}
        return {**instruction, "input": self._steps(messages)}

    def _chained_input(self, chain: ResumeChain, messages: Sequence[Message]) -> dict[str, Json]:
        link = chain.link(messages)
        if link.parent:
            return {"previous_interaction_id": link.parent, "input": self._steps(link.new)}
        prefix = [self._step(Message(Role.USER, system))] if (system := wire.system_text(messages)).strip() else []
        return {"input": [*prefix, *self._steps(messages)]}

    def _steps(self, messages: Sequence[Message]) -> list[Json]:
        return [self._step(message) for message in wire.alternating(messages, "")]

    def _step(self, message: Message) -> Json:
        text, images = wire.with_pictures(message, IMAGE_TYPES if self.images else ())
        pictures: list[Json] = [
            {"type": "image", "data": wire.base64_of(image), "mime_type": image.media_type} for image in images
        ]
        texts: list[Json] = [{"type": "text", "text": text}] if text.strip() else []
        return {"type": _STEPS[message.role], "content": [*texts, *pictures]}


class InteractionsReader(AnswerReader):
    usage_fields = wire.UsageFields(
        input="total_input_tokens",
        cached="total_cached_tokens",
        tools="total_tool_use_tokens",
        output="total_output_tokens",
        reasoning="total_thought_tokens",
        reasoning_apart=True,
    )

    def __init__(self, dialect: str = "", *, stored: bool = False) -> None:
        super().__init__(dialect)
        self._stored = stored
        self._handle = ""
        self._status = ""
        self._texts: list[str] = []
        self._gap = ""

    def receive(self, data: str) -> list[ReaderEvent]:
        if data.strip() == DONE:
            self.begun = self.finished = True
            return []
        event = wire.as_object(wire.parse_json(data))
        self._count(wire.as_object(event.get("metadata")).get("total_usage"))
        match event.get("event_type"):
            case "step.delta":
                return self._delta(wire.as_object(event.get("delta")))
            case "step.start":
                return self._start(wire.as_object(event.get("step")))
            case "interaction.created":
                return self._state(wire.as_object(event.get("interaction")))
            case "interaction.completed":
                self.finished = True
                return self._state({"status": "completed", **wire.as_object(event.get("interaction"))})
            case "interaction.status_update":
                return self._state({**event, "id": event.get("interaction_id")})
            case "step.stop":
                self.begun = True
                return []
            case "error":
                return [read_error(event.get("error"))]
            case _:
                error = wire.error_in(event)
                self.ignored += not error
                return [read_error(error)] if error else []

    def close(self) -> ResponseEnded:
        self._reason = wire.read_stop_reason(self._status, _REASONS)
        if self._reason is StopReason.END and stopped_inside("".join(self._texts)):
            self._reason = StopReason.HALTED
        return super().close()

    def _native(self) -> NativeContent | None:
        usable = self._stored and self._handle and self._status == "completed"
        return NativeContent(self._dialect, ({"id": self._handle},)) if usable else None

    def _state(self, interaction: Mapping[str, object]) -> list[ReaderEvent]:
        self.begun = True
        self._count(interaction.get("usage"))
        self._status = wire.as_text(interaction.get("status")) or self._status
        events: list[ReaderEvent] = []
        if not self._handle and (handle := wire.as_text(interaction.get("id"))):
            self._handle = handle
            events += [HandleKept(handle)] if self._stored else []
        if self._status == "failed":
            events.append(Fault(FaultKind.ANSWERED, 500, "failed"))
        return events

    def _start(self, step: Mapping[str, object]) -> list[ReaderEvent]:
        self.begun = True
        if step.get("type") == "thought":
            return [event for part in wire.as_list(step.get("summary")) for event in _thought(part)]
        if step.get("type") != "model_output":
            self._unseen |= step.get("type") not in _OWN_STEPS
            return []
        if self._texts:
            self._gap = "\n" if self._texts[-1].endswith("\n") else "\n\n"
        parts = [wire.as_object(part) for part in wire.as_list(step.get("content"))]
        self._unseen |= any(part.get("type", "text") != "text" for part in parts)
        return [event for part in parts for event in self._emit(wire.as_text(part.get("text")))]

    def _delta(self, delta: Mapping[str, object]) -> list[ReaderEvent]:
        self.begun = True
        match delta.get("type"):
            case "text":
                return self._emit(wire.as_text(delta.get("text")))
            case "thought_summary":
                return _thought(delta.get("content"))
            case "thought_signature":
                return []
            case kind:
                self._unseen |= kind in _UNSEEN
                self.ignored += 1
                return []

    def _emit(self, text: str) -> list[ReaderEvent]:
        if not text:
            return []
        emitted, self._gap = self._gap + text, ""
        self._texts.append(emitted)
        return [TokensArrived(emitted)]

    def _count(self, usage: object) -> None:
        self._usage = wire.as_object(usage) or self._usage


def _thought(content: object) -> list[ReaderEvent]:
    text = wire.as_text(wire.as_object(content).get("text"))
    return [ReasoningArrived(text)] if text else []


PREFIX = "gemini-interaction:"  # Distinguishes these handles from those of other vendors
DELETE_TIMEOUT_S = 5.0  # For one deletion, before which the turn does not end
CLOSE_TIMEOUT_S = 5.0  # For all deletions at the end of a turn; the rest can be deleted later
AT_ONCE = 8  # Concurrent deletions: fast for a long turn, without flooding the vendor


class InteractionsProvider(ServedProvider):
    def __init__(self, served: ServedModel) -> None:
        super().__init__(served)
        self._dialect = InteractionsDialect(served.model)
        self._http = Http(proxies=not served.endpoint.is_local)

    @property
    def capabilities(self) -> Capabilities:
        return self._dialect.capabilities

    def connect(self, options: CallOptions) -> "InteractionsSession":
        return InteractionsSession(self, options)

    def stream(
        self,
        messages: Sequence[Message],
        options: CallOptions = CallOptions(),  # noqa: B008 -- frozen
    ) -> AsyncGenerator[ProviderEvent, None]:
        """Answer `messages` without storage at the vendor. Raises ProviderError."""
        return self.ask(None, messages, options)

    async def ask(
        self, chain: ResumeChain | None, messages: Sequence[Message], options: CallOptions
    ) -> AsyncGenerator[ProviderEvent, None]:
        """Answer `messages`, of which the vendor keeps those of `chain`. Raises ProviderError."""
        provider = ReplayProvider(self._served, replace(self._dialect, chain=chain), self._http)
        try:
            async with aclosing(provider.stream(messages, options)) as events:
                async for event in events:
                    yield HandleKept(PREFIX + event.handle) if isinstance(event, HandleKept) else event
        finally:
            self._dialect = replace(self._dialect, effort=provider.capabilities.effort)

    async def forget_handles(self, handles: Sequence[str]) -> tuple[str, ...]:
        """Delete these interactions at the vendor, and return those that may still exist.

        Handles of other vendors are ignored. Interactions that do not exist count as deleted. Errors are not raised.
        """
        own_handles = [handle for handle in handles if handle.startswith(PREFIX)]
        gate = asyncio.Semaphore(AT_ONCE)
        ids = [KEY_MARK.sub("", handle.removeprefix(PREFIX)) for handle in own_handles]
        results = await asyncio.gather(*(self._forget(each, gate) for each in ids))
        return tuple(handle for handle, deleted in zip(own_handles, results, strict=True) if not deleted)

    async def aclose(self) -> None:
        await self._http.aclose()

    async def _forget(self, interaction: str, gate: asyncio.Semaphore) -> bool:
        endpoint = self._served.endpoint
        url = f"{endpoint.base_url}/interactions/{quote(interaction, safe='')}"
        try:
            async with gate, asyncio.timeout(DELETE_TIMEOUT_S):
                headers = await self._served.authorise(OutgoingRequest("DELETE", url))
                async with self._http.request("DELETE", url, headers) as reply:
                    return reply.status == 404 or 200 <= reply.status < 300
        except (TransportError, TimeoutError, AttemptFailed):
            return False


class InteractionsSession:
    """One turn. `kept` are the handles of its interactions; after `close`, of those that were not deleted."""

    def __init__(self, provider: InteractionsProvider, options: CallOptions) -> None:
        self._provider = provider
        self._options = options
        self._chain = ResumeChain()
        self.kept: tuple[str, ...] = ()

    async def answer(self, messages: Sequence[Message]) -> AsyncGenerator[ProviderEvent, None]:
        """Answer `messages`. An abandoned answer does not change the chain."""
        async with aclosing(self._provider.ask(self._chain, messages, self._options)) as events:
            async for event in events:
                if isinstance(event, HandleKept):
                    self.kept = (*self.kept, event.handle)
                if isinstance(event, ResponseEnded) and event.native:
                    self._chain = chain_after(messages, self.kept[-1].removeprefix(PREFIX), event.native)
                yield event

    async def close(self) -> tuple[str, ...]:
        """Delete the interactions of this turn within CLOSE_TIMEOUT_S. Return the handles of the others."""
        with suppress(TimeoutError):
            async with asyncio.timeout(CLOSE_TIMEOUT_S):
                self.kept = await self._provider.forget_handles(self.kept)
        return self.kept
