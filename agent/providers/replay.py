"""A model over HTTP, in replay mode: each answer is one request with the whole context and a stream of events back.

An attempt that is refused before the first event, or that cannot connect, may be retried: without a field that the
service refuses (remembered for the lifetime of the provider), without refused parts of the messages, or after a delay.
If the connection is lost before the answer, the model may be working on it, so this is an error and not retried. After
the end of the answer only its usage is awaited, for a short time; to lose the connection then is no error.
"""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import aclosing, closing, suppress
from dataclasses import dataclass, field, replace
from typing import TypeVar

from agent import texts
from agent.errors import ProviderError
from agent.messages import Message, Usage, estimate_usage
from agent.ports.clock import Clock
from agent.ports.model import (
    CallOptions,
    Capabilities,
    HandleKept,
    PromptReduced,
    ProviderEvent,
    ReasoningArrived,
    ResponseEnded,
    StopReason,
    TokensArrived,
)
from agent.providers import faults
from agent.providers.bedrock_refusals import error_type
from agent.providers.catalog import Endpoint
from agent.providers.credentials import CredentialsUnavailable, Key, OutgoingRequest, authorise
from agent.providers.dialect import AnswerReader, Dialect, Framing
from agent.providers.http_client import (
    Http,
    Reply,
    TransportError,
    Unreachable,
    Untrusted,
    event_data,
    event_stream_data,
)
from agent.providers.wire import describe_pictures, torn

Result = TypeVar("Result")

_READERS = {Framing.SERVER_SENT_EVENTS: event_data, Framing.EVENT_STREAM: event_stream_data}

MAX_RENEWALS = 32  # Of the credentials of one question: as many as the keys of any pool


class IdleTimeout:
    """A timeout for each wait of one task, with a single timer. The waits never overlap. `close` it at the end.

    `asyncio.timeout` creates and cancels a timer for each wait, and a stream waits for each token: that is a tenth of
    the time of a token, and more with each open stream (`benchmarks.stream`). Here a wait only moves the deadline. The
    timer compares it with the time when it fires, and is set again if it fired early.
    """

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._timer: asyncio.TimerHandle | None = None
        self._deadline = 0.0
        self._waiting: asyncio.Task[object] | None = None
        self._fired = False

    async def wait(self, awaitable: Awaitable[Result], limit_s: float) -> Result:
        """Return the result of `awaitable`. After `limit_s` it is cancelled, and TimeoutError is raised."""
        self._deadline = self._loop.time() + limit_s
        if self._timer is None or self._timer.when() > self._deadline:
            self._set_timer()
        task = self._waiting = asyncio.current_task()
        cancelling = task.cancelling() if task else 0
        try:
            return await awaitable
        except asyncio.CancelledError:
            if task and self._fired and task.uncancel() <= cancelling:
                raise TimeoutError from None
            raise  # the task was also cancelled by another caller
        finally:
            self._waiting, self._fired = None, False

    def close(self) -> None:
        if self._timer:
            self._timer.cancel()

    def _set_timer(self) -> None:
        self.close()
        self._timer = self._loop.call_at(self._deadline, self._on_timer)

    def _on_timer(self) -> None:
        self._timer = None
        if self._waiting is None:
            return
        if self._loop.time() < self._deadline:
            self._set_timer()
        else:
            self._fired = True
            self._waiting.cancel()


@dataclass(frozen=True, slots=True)
class ModelTimeouts:
    first_token_s: float = 180.0
    """A local server may have to load the model from disk and read a long prompt first."""
    between_tokens_s: float = 60.0
    """Slower than any model that a person would wait for, unless it reasons silently."""
    tail_s: float = 2.0
    """From the end of the answer to its usage and the end of the stream."""


class AttemptFailed(Exception):
    """One attempt ended with this fault. It is never raised outside of the providers."""

    def __init__(self, fault: faults.Fault) -> None:
        super().__init__(fault.kind)
        self.fault = fault


@dataclass(frozen=True, slots=True)
class ProviderWorld:
    """The dependencies of all providers. `chance` returns numbers in [0, 1), for the jitter of retries."""

    clock: Clock
    chance: Callable[[], float]
    patience: ModelTimeouts = field(default_factory=ModelTimeouts)
    retry: faults.RetryPolicy = field(default_factory=faults.RetryPolicy)


@dataclass(frozen=True, slots=True)
class ServedModel:
    """One model of one service, with its key and the providers' dependencies."""

    endpoint: Endpoint
    model: str
    key: Key
    world: ProviderWorld

    def __repr__(self) -> str:
        return f"{self.name!r} at {self.endpoint.address!r}"

    @property
    def name(self) -> str:
        return f"{self.endpoint.name}:{self.model}"

    def error(self, fault: faults.Fault, *, begun: bool, prompt_chars: int = 0) -> ProviderError:
        return faults.provider_error(fault, self.endpoint, self.model, self.key, begun=begun, prompt_chars=prompt_chars)

    async def authorise(self, request: OutgoingRequest) -> dict[str, str]:
        """Return the headers that authorize a request. Raises AttemptFailed if there are no credentials now."""
        try:
            return await authorise(self.endpoint, self.key, request)
        except CredentialsUnavailable as error:
            raise AttemptFailed(faults.Fault(faults.FaultKind.NO_CREDENTIALS, message=str(error))) from None

    def failure(self, fault: faults.Fault, sent: Mapping[str, str]) -> AttemptFailed:
        """Return the error for a request that was sent with these headers, before anything of the answer came."""
        is_renewed = self.key is not None and not isinstance(self.key, str) and self.key.refused(sent, fault)
        return AttemptFailed(replace(fault, renewed=True) if is_renewed else fault)

    def refusal(self, status: int, headers: Mapping[str, str], body: bytes) -> faults.Fault:
        fault = faults.read_fault(status, body)
        fault = replace(fault, code=error_type(headers.get("x-amzn-errortype", "")) or fault.code)
        wait_s = faults.retry_after_s(headers, self.world.clock.now())
        return replace(
            fault,
            retry_after_s=fault.retry_after_s if wait_s is None else wait_s,
            should_retry=faults.should_retry(headers),
        )

    def unreachable(self, error: Unreachable | None = None) -> faults.Fault:
        """Return the fault of a connection that failed, or that was closed before it carried a question."""
        if isinstance(error, Untrusted):
            return faults.Fault(faults.FaultKind.UNTRUSTED, message=error.problem)
        return faults.Fault(faults.FaultKind.UNREACHABLE, should_retry=not self.endpoint.is_local)

    async def with_retries(
        self,
        attempt: Callable[[], AsyncGenerator[ProviderEvent, None]],
        adapt: Callable[[faults.Fault], bool],
        question: "Question",
    ) -> AsyncGenerator[ProviderEvent, None]:
        """Yield the events of the first successful attempt. Raises ProviderError, each with a sentence for people.

        An attempt that failed before its first event is retried at once if its credentials were renewed, or `adapt`
        removed the cause, else after the delay of the retry policy. After the first event there is no retry.
        """
        retries, waited_s, renewals = 0, 0.0, 0
        while True:
            begun = False
            try:
                async with aclosing(attempt()) as events:
                    async for event in events:
                        if not begun and not isinstance(event, HandleKept):
                            begun = True
                            if question.without_pictures:
                                yield PromptReduced(texts.PICTURES_REFUSED)
                        yield event
            except AttemptFailed as failed:
                fault = failed.fault
            else:
                return
            if begun:
                raise self.error(fault, begun=True)
            if fault.renewed and renewals < MAX_RENEWALS:
                renewals += 1
                continue
            if adapt(fault):
                continue
            delay_s = self.world.retry.delay_s(fault, retries, waited_s, self.world.chance())
            if delay_s is None:
                raise self.error(fault, begun=False, prompt_chars=question.chars)
            retries, waited_s = retries + 1, waited_s + delay_s
            await self.world.clock.sleep(delay_s)


@dataclass(slots=True)
class Question:
    """The messages of a question, without refused parts, and the number of bytes sent so far.

    `without_pictures`: its pictures were refused, so it is asked without them.
    """

    messages: Sequence[Message]
    bytes_up: int = 0
    without_pictures: bool = False

    @property
    def chars(self) -> int:
        return sum(len(message.text) for message in self.messages)

    def adapt(self, fault: faults.Fault) -> bool:
        """Remove refused parts of this question; a later picture may be accepted. Return whether there are any."""
        accepted = without_refused_parts(self.messages, fault)
        if accepted is None:
            return False
        self.without_pictures = self.without_pictures or _has_images(self.messages) > _has_images(accepted)
        self.messages = accepted
        return True


class ServedProvider:
    def __init__(self, served: ServedModel) -> None:
        self._served = served

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._served!r})"

    @property
    def name(self) -> str:
        return self._served.name


class ReplayProvider(ServedProvider):
    """`http`: connections that are shared with other providers, and closed by them."""

    def __init__(self, served: ServedModel, dialect: Dialect, http: Http | None = None) -> None:
        super().__init__(served)
        self._dialect = dialect
        self._http = http or Http(proxies=not served.endpoint.is_local)
        self.context_tokens = 0

    @property
    def capabilities(self) -> Capabilities:
        return replace(self._dialect.capabilities, context_tokens=self.context_tokens)

    async def aclose(self) -> None:
        await self._http.aclose()

    def stream(
        self,
        messages: Sequence[Message],
        options: CallOptions = CallOptions(),  # noqa: B008 -- frozen
    ) -> AsyncGenerator[ProviderEvent, None]:
        question = Question(messages)

        def adapt(fault: faults.Fault) -> bool:
            simpler = self._dialect.without(fault)
            self._dialect = simpler or self._dialect
            return simpler is not None or question.adapt(fault)

        return self._served.with_retries(
            lambda: with_timeouts(self._attempt(question, options), self._served.world.patience), adapt, question
        )

    async def _attempt(self, question: Question, options: CallOptions) -> AsyncGenerator[ProviderEvent, None]:
        request = self._dialect.request(question.messages, options)
        question.bytes_up += len(request.body)
        reader = self._dialect.reader()
        answer = _Answer(reader)
        url = self._served.endpoint.url(request.path, self._served.model)
        headers = {"content-type": "application/json", "accept": reader.framing, **request.headers}
        headers |= await self._served.authorise(OutgoingRequest("POST", url, headers, request.body))
        try:
            async with self._http.request("POST", url, headers, request.body) as reply:
                if reply.status != 200:
                    fault = self._served.refusal(reply.status, reply.headers, await reply.read())
                    raise self._served.failure(fault, headers)
                async with aclosing(self._data(reply, reader)) as data:
                    async for piece in data:
                        for event in answer.receive(piece):
                            if isinstance(event, faults.Fault):
                                raise self._served.failure(event, headers)
                            yield event
                if (missing := answer.missing(is_framed=reply.framed)) is not None:
                    raise AttemptFailed(faults.Fault(missing))
        except TransportError as error:
            if not reader.finished:
                is_unreachable = isinstance(error, Unreachable)
                fault = self._served.unreachable(error) if is_unreachable else faults.Fault(faults.FaultKind.CUT)
                raise AttemptFailed(fault) from error
        yield answer.end(question)

    async def _data(self, reply: Reply, reader: AnswerReader) -> AsyncGenerator[str, None]:
        """Yield the data of the reply's events until the stream ends, or for `tail_s` after the end of the answer.

        The content type is not asked: some servers label a stream as JSON, and others one JSON text as a stream.
        """
        async with aclosing(_READERS[reader.framing](reply.body())) as stream:
            async for data in stream:
                yield data
                if reader.finished:
                    break
            with suppress(TimeoutError):
                while True:
                    async with asyncio.timeout(self._served.world.patience.tail_s):
                        tail = await anext(stream, None)
                    if tail is None:
                        return
                    yield tail


class _Answer:
    """What one attempt has received of the answer."""

    def __init__(self, reader: AnswerReader) -> None:
        self._reader = reader
        self._usage = UsageCounter()
        self._is_torn = False

    def receive(self, piece: str) -> Iterator[ProviderEvent | faults.Fault]:
        """Yield the events of one piece of data. After a Fault nothing counts."""
        ended, ignored = self._reader.finished, self._reader.ignored
        for event in self._reader.receive(piece):
            if not isinstance(event, faults.Fault):
                self._usage.add(event)
            elif ended:
                break  # the answer is there already
            yield event
        self._is_torn |= self._reader.ignored > ignored and not ended and torn(piece)

    def missing(self, *, is_framed: bool) -> faults.FaultKind | None:
        """Return what is wrong with the answer once its data have ended. `is_framed`: the transport marks its end."""
        if not self._reader.begun:
            return faults.FaultKind.UNREADABLE if self._reader.ignored else faults.FaultKind.EMPTY
        is_cut = not self._reader.finished and (self._reader.ends_openly or not is_framed)
        return faults.FaultKind.CUT if is_cut else None

    def end(self, question: Question) -> ResponseEnded:
        ended = self._usage.finish(self._reader.close(), question)
        if self._is_torn and ended.reason is StopReason.END:
            return replace(ended, reason=StopReason.UNKNOWN, native=None)
        return ended


def without_refused_parts(messages: Sequence[Message], fault: faults.Fault) -> list[Message] | None:
    """Return the messages without the parts that the service refused, or None if there are none.

    These are pictures that it cannot read, or native content of its earlier answers.
    """
    if fault.of_pictures and _has_images(messages):
        return [replace(message, text=describe_pictures(message), images=()) for message in messages]
    if fault.bad_request and any(message.native for message in messages):
        return [replace(message, native=None) for message in messages]
    return None


def _has_images(messages: Sequence[Message]) -> bool:
    return any(message.images for message in messages)


class UsageCounter:
    """Determines the usage of an answer: as the vendor reports it, else estimated from the texts."""

    def __init__(self) -> None:
        self._text: list[str] = []
        self._reasoning: list[str] = []

    def add(self, event: ProviderEvent) -> None:
        if isinstance(event, TokensArrived):
            self._text.append(event.text)
        elif isinstance(event, ReasoningArrived):
            self._reasoning.append(event.text)

    def finish(self, ended: ResponseEnded, question: Question) -> ResponseEnded:
        if ended.usage is not None and ended.usage != Usage():
            return replace(ended, usage=replace(ended.usage, bytes_up=question.bytes_up))
        text, reasoning = "".join(self._text), "".join(self._reasoning)
        return replace(ended, usage=estimate_usage(question.messages, text, reasoning, question.bytes_up))


async def with_timeouts(
    events: AsyncGenerator[ProviderEvent, None], patience: ModelTimeouts
) -> AsyncGenerator[ProviderEvent, None]:
    """Yield the same events. Raises AttemptFailed if one does not arrive in time.

    An empty ReasoningArrived means that the model reasons silently, so the next event may take as long as the first.
    """
    limit_s = patience.first_token_s
    async with aclosing(events):
        with closing(IdleTimeout()) as timeout:
            while True:
                try:
                    event = await timeout.wait(anext(events, None), limit_s)
                except TimeoutError:
                    raise AttemptFailed(faults.Fault(faults.FaultKind.SLOW, waited_s=limit_s)) from None
                if event is None:
                    return
                yield event
                if not isinstance(event, HandleKept):
                    is_silent = isinstance(event, ReasoningArrived) and not event.text
                    limit_s = patience.first_token_s if is_silent else patience.between_tokens_s
