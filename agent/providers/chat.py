"""Any service that speaks Chat Completions, in replay mode: OpenAI, Ollama, llama.cpp, vLLM, LM Studio, OpenRouter…

Above: `bot.models`. Below: `wire_chat` (what is said), `http` and `sse` (how it travels), `retry` and `faults`.

Theory of operation. An attempt sends the whole context and reads the stream. If it fails before the first event, it may
be made again: without a field that the server refuses (remembered as long as the provider lives), or after a wait that
`retry` decides. After the first event nothing is ever repeated. Once the answer is finished only its usage is waited
for, and only for a moment; losing the connection then loses nothing.
"""

import asyncio
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace
from datetime import datetime

from agent.errors import ProviderError
from agent.messages import Message
from agent.ports import Capabilities, Clock, Halt, ProviderEvent
from agent.providers.catalog import Endpoint
from agent.providers.faults import Fault, FaultKind, provider_error, read_fault
from agent.providers.http import Http, Reply, TransportError, Unreachable
from agent.providers.retry import RetryPolicy, retry_after_s, should_retry
from agent.providers.sse import event_data
from agent.providers.wire_chat import ChatReader, ChatRequest
from agent.tokens import estimate_tokens


@dataclass(frozen=True, slots=True)
class Patience:
    """How long to wait for a model, in seconds."""

    first_token_s: float = 180.0
    """A local server may have to load the model from disk and read a long prompt before its first word."""
    between_tokens_s: float = 60.0
    """Slower than any model that a person would wait for; hidden reasoning happens before the first token."""
    tail_s: float = 2.0
    """From the finished answer to its usage and the end of the stream."""


class AttemptFailed(Exception):
    """One attempt ended in this fault. Never leaves this module."""

    def __init__(self, fault: Fault) -> None:
        super().__init__(fault.kind)
        self.fault = fault


class ChatProvider:
    """One model of one service. `chance` gives numbers in [0, 1) for the jitter of retries."""

    def __init__(
        self,
        endpoint: Endpoint,
        model: str,
        key: str | None,
        *,
        clock: Clock,
        chance: Callable[[], float],
        patience: Patience = Patience(),
        retry: RetryPolicy = RetryPolicy(),  # noqa: B008 -- frozen
        estimate: Callable[[str], int] = estimate_tokens,
    ) -> None:
        self._endpoint = endpoint
        self._model = model
        self._key = key
        self._clock = clock
        self._chance = chance
        self._patience = patience
        self._retry = retry
        self._estimate = estimate
        self._http = Http(proxies=not endpoint.is_local)
        self._stop = endpoint.stops_at_sequences(model)
        self._include_usage = True

    def __repr__(self) -> str:
        return f"ChatProvider({self.name!r} at {self._endpoint.address!r})"

    @property
    def name(self) -> str:
        return f"{self._endpoint.name}:{self._model}"

    @property
    def capabilities(self) -> Capabilities:
        return Capabilities(halt=Halt.STOP_SEQUENCE if self._stop else Halt.NONE)

    async def aclose(self) -> None:
        """Close every connection."""
        await self._http.aclose()

    async def stream(self, messages: Sequence[Message]) -> AsyncGenerator[ProviderEvent, None]:
        """Answer `messages`. Errors as the port says, each with a sentence for the person."""
        retries, waited_s, bytes_up = 0, 0.0, 0
        while True:
            body = ChatRequest(self._model, messages, self._stop, self._include_usage).encoded()
            bytes_up += len(body)
            begun = False
            try:
                async with aclosing(self._in_time(self._attempt(messages, body, bytes_up))) as events:
                    async for event in events:
                        begun = True
                        yield event
            except AttemptFailed as failed:
                fault = failed.fault
            else:
                return
            if begun:
                raise self._error(fault, begun=True)
            if self._leave_out(fault):
                continue
            delay_s = self._retry.delay_s(fault, retries, waited_s, self._chance())
            if delay_s is None:
                raise self._error(fault, begun=False)
            retries, waited_s = retries + 1, waited_s + delay_s
            await self._clock.sleep(delay_s)

    async def _attempt(
        self, messages: Sequence[Message], body: bytes, bytes_up: int
    ) -> AsyncGenerator[ProviderEvent, None]:
        reader = ChatReader()
        try:
            async with self._http.request("POST", self._url, self._headers, body) as reply:
                if reply.status != 200:
                    raise AttemptFailed(_refusal(reply, await reply.read(), self._clock.now()))
                async with aclosing(self._data(reply, reader)) as data:
                    async for piece in data:
                        for event in reader.receive(piece):
                            if isinstance(event, Fault):
                                raise AttemptFailed(event)
                            yield event
                if not reader.begun:
                    raise AttemptFailed(Fault(FaultKind.UNREADABLE))
                if not (reader.finished or reply.framed):
                    raise AttemptFailed(Fault(FaultKind.CUT))
        except TransportError as error:
            if not reader.finished:
                raise AttemptFailed(self._lost(error)) from error
        yield reader.close(messages, bytes_up, self._estimate)

    async def _data(self, reply: Reply, reader: ChatReader) -> AsyncGenerator[str, None]:
        """The data of the reply's events, until the stream ends; after the answer's own end, only for a moment."""
        if reply.headers.get("content-type", "").startswith("application/json"):
            yield (await reply.read()).decode("utf-8", "replace")
            return
        async with aclosing(event_data(reply.body())) as stream:
            while True:
                try:
                    async with asyncio.timeout(self._patience.tail_s if reader.finished else None):
                        data = await anext(stream, None)
                except TimeoutError:
                    return
                if data is None:
                    return
                yield data

    async def _in_time(self, events: AsyncGenerator[ProviderEvent, None]) -> AsyncGenerator[ProviderEvent, None]:
        """The same events, unless one of them does not come in time."""
        limit_s = self._patience.first_token_s
        async with aclosing(events):
            while True:
                try:
                    async with asyncio.timeout(limit_s):
                        event = await anext(events, None)
                except TimeoutError:
                    raise AttemptFailed(Fault(FaultKind.SLOW, waited_s=limit_s)) from None
                if event is None:
                    return
                yield event
                limit_s = self._patience.between_tokens_s

    @property
    def _url(self) -> str:
        return f"{self._endpoint.base_url}/chat/completions"

    @property
    def _headers(self) -> dict[str, str]:
        headers = {"content-type": "application/json", "accept": "text/event-stream"}
        return {**headers, "authorization": f"Bearer {self._key}"} if self._key else headers

    def _leave_out(self, fault: Fault) -> bool:
        """Stop sending a field that the server has refused by name. False when there is nothing to leave out."""
        if self._include_usage and fault.names("stream_options"):
            self._include_usage = False
            return True
        if self._stop and fault.names("stop"):
            self._stop = False
            return True
        return False

    def _lost(self, error: TransportError) -> Fault:
        if isinstance(error, Unreachable):
            return Fault(FaultKind.UNREACHABLE, should_retry=not self._endpoint.is_local)
        return Fault(FaultKind.CUT)

    def _error(self, fault: Fault, *, begun: bool) -> ProviderError:
        return provider_error(fault, self._endpoint, self._model, self._key, begun=begun)


def _refusal(reply: Reply, body: bytes, now: datetime) -> Fault:
    fault = read_fault(reply.status, body)
    return replace(fault, retry_after_s=retry_after_s(reply.headers, now), should_retry=should_retry(reply.headers))
