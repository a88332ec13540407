"""A model over HTTP, in replay mode: each answer is one request with the whole context, and a stream of events back.

If an attempt is refused before the first event, or no connection was made, it may be made again: without a field that
the service refuses (remembered as long as the provider lives), without what it refuses of the messages, or after a
wait. A connection that is lost before the answer leaves open whether the model works on it: that is told, not
repeated. Once the answer is finished only its usage is waited for, and only for a moment; losing the connection then
loses nothing.
"""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import aclosing, closing, suppress
from dataclasses import dataclass, field, replace
from typing import TypeVar

from agent import ports
from agent.errors import ProviderError
from agent.messages import Message, Usage, estimate_usage
from agent.providers import faults
from agent.providers.catalog import Endpoint
from agent.providers.dialect import AnswerReader, Dialect
from agent.providers.http_client import Http, Reply, TransportError, Unreachable, event_data
from agent.providers.wire import described

Result = TypeVar("Result")


class IdleTimeout:
    """A limit for each of one task's waits, which never overlap, at the price of one timer. `close` it at the end.

    `asyncio.timeout` makes and cancels a timer for each wait, and a stream waits once for each token: a tenth of what a
    token takes, and more with every stream that is open (`benchmarks.stream`). Here a wait only moves the deadline; the
    timer looks at it when it rings, and is set again if it was early.
    """

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._timer: asyncio.TimerHandle | None = None
        self._deadline = 0.0
        self._waiting: asyncio.Task[object] | None = None
        self._rang = False

    async def wait(self, awaitable: Awaitable[Result], limit_s: float) -> Result:
        """Its result. Raises TimeoutError, after cancelling it, if that takes longer than `limit_s`."""
        self._deadline = self._loop.time() + limit_s
        if self._timer is None or self._timer.when() > self._deadline:
            self._set_timer()
        task = self._waiting = asyncio.current_task()
        cancelling = task.cancelling() if task else 0
        try:
            return await awaitable
        except asyncio.CancelledError:
            if task and self._rang and task.uncancel() <= cancelling:
                raise TimeoutError from None
            raise  # somebody else wants the task to end, too
        finally:
            self._waiting, self._rang = None, False

    def close(self) -> None:
        if self._timer:
            self._timer.cancel()

    def _set_timer(self) -> None:
        self.close()
        self._timer = self._loop.call_at(self._deadline, self._ring)

    def _ring(self) -> None:
        self._timer = None
        if self._waiting is None:
            return
        if self._loop.time() < self._deadline:
            self._set_timer()
        else:
            self._rang = True
            self._waiting.cancel()


@dataclass(frozen=True, slots=True)
class ModelTimeouts:
    first_token_s: float = 180.0
    """A local server may have to load the model from disk and read a long prompt before its first word."""
    between_tokens_s: float = 60.0
    """Slower than any model that a person would wait for, where it does not reason in silence."""
    tail_s: float = 2.0
    """From the finished answer to its usage and the end of the stream."""


class AttemptFailed(Exception):
    """One attempt ended in this fault. Never leaves the providers."""

    def __init__(self, fault: faults.Fault) -> None:
        super().__init__(fault.kind)
        self.fault = fault


@dataclass(frozen=True, slots=True)
class ProviderWorld:
    """What every provider needs of the world. `chance` gives numbers in [0, 1), for the jitter of retries."""

    clock: ports.Clock
    chance: Callable[[], float]
    patience: ModelTimeouts = field(default_factory=ModelTimeouts)
    retry: faults.RetryPolicy = field(default_factory=faults.RetryPolicy)


@dataclass(frozen=True, slots=True)
class ServedModel:
    """One model of one service, and how it is asked."""

    endpoint: Endpoint
    model: str
    key: str | None
    world: ProviderWorld

    def __repr__(self) -> str:
        return f"{self.name!r} at {self.endpoint.address!r}"

    @property
    def name(self) -> str:
        return f"{self.endpoint.name}:{self.model}"

    def error(self, fault: faults.Fault, *, begun: bool) -> ProviderError:
        return faults.provider_error(fault, self.endpoint, self.model, self.key, begun=begun)

    def refusal(self, status: int, headers: Mapping[str, str], body: bytes) -> faults.Fault:
        fault = faults.read_fault(status, body)
        wait_s = faults.retry_after_s(headers, self.world.clock.now())
        return replace(
            fault,
            retry_after_s=fault.retry_after_s if wait_s is None else wait_s,
            should_retry=faults.should_retry(headers),
        )

    def unreachable(self) -> faults.Fault:
        """No connection was made, or it was closed before it carried a question."""
        return faults.Fault(faults.FaultKind.UNREACHABLE, should_retry=not self.endpoint.is_local)

    async def retried(
        self,
        attempt: Callable[[], AsyncGenerator[ports.ProviderEvent, None]],
        mend: Callable[[faults.Fault], bool],
    ) -> AsyncGenerator[ports.ProviderEvent, None]:
        """The events of the first attempt that comes through. Errors as the port says, each with a sentence.

        An attempt that failed before its first event is made again at once if `mend` has changed what failed, else
        after a wait that the policy decides. After the first event nothing is ever repeated.
        """
        retries, waited_s = 0, 0.0
        while True:
            begun = False
            try:
                async with aclosing(attempt()) as events:
                    async for event in events:
                        begun = begun or not isinstance(event, ports.HandleKept)
                        yield event
            except AttemptFailed as failed:
                fault = failed.fault
            else:
                return
            if begun:
                raise self.error(fault, begun=True)
            if mend(fault):
                continue
            delay_s = self.world.retry.delay_s(fault, retries, waited_s, self.world.chance())
            if delay_s is None:
                raise self.error(fault, begun=False)
            retries, waited_s = retries + 1, waited_s + delay_s
            await self.world.clock.sleep(delay_s)


@dataclass(slots=True)
class Question:
    """What is asked, as far as the service takes it, and how many bytes asking took so far."""

    messages: Sequence[Message]
    bytes_up: int = 0

    def mend(self, fault: faults.Fault) -> bool:
        """Leave out what was refused. Not remembered: the next picture may be a better one."""
        plain = plainer(self.messages, fault)
        self.messages = self.messages if plain is None else plain
        return plain is not None


class ServedProvider:
    def __init__(self, served: ServedModel) -> None:
        self._served = served

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._served!r})"

    @property
    def name(self) -> str:
        return self._served.name


class ReplayProvider(ServedProvider):
    """`http` are connections that others use too, and close."""

    def __init__(self, served: ServedModel, dialect: Dialect, http: Http | None = None) -> None:
        super().__init__(served)
        self._dialect = dialect
        self._http = http or Http(proxies=not served.endpoint.is_local)

    @property
    def capabilities(self) -> ports.Capabilities:
        return self._dialect.capabilities

    async def aclose(self) -> None:
        await self._http.aclose()

    def stream(
        self,
        messages: Sequence[Message],
        options: ports.CallOptions = ports.CallOptions(),  # noqa: B008 -- frozen
    ) -> AsyncGenerator[ports.ProviderEvent, None]:
        question = Question(messages)

        def mend(fault: faults.Fault) -> bool:
            simpler = self._dialect.without(fault)
            self._dialect = simpler or self._dialect
            return simpler is not None or question.mend(fault)

        return self._served.retried(
            lambda: in_time(self._attempt(question, options), self._served.world.patience), mend
        )

    async def _attempt(
        self, question: Question, options: ports.CallOptions
    ) -> AsyncGenerator[ports.ProviderEvent, None]:
        request = self._dialect.request(question.messages, options)
        question.bytes_up += len(request.body)
        reader = self._dialect.reader()
        counted = Counted()
        endpoint = self._served.endpoint
        headers = {
            "content-type": "application/json",
            "accept": "text/event-stream",
            **request.headers,
            **endpoint.authorisation(self._served.key),
        }
        try:
            url = f"{endpoint.base_url}{request.path}"
            async with self._http.request("POST", url, headers, request.body) as reply:
                if reply.status != 200:
                    raise AttemptFailed(self._served.refusal(reply.status, reply.headers, await reply.read()))
                async with aclosing(self._data(reply, reader)) as data:
                    async for piece in data:
                        for event in reader.receive(piece):
                            if isinstance(event, faults.Fault):
                                raise AttemptFailed(event)
                            counted.see(event)
                            yield event
                if not reader.begun:
                    raise AttemptFailed(faults.Fault(faults.FaultKind.UNREADABLE))
                if not reader.finished and (reader.ends_openly or not reply.framed):
                    raise AttemptFailed(faults.Fault(faults.FaultKind.CUT))
        except TransportError as error:
            if not reader.finished:
                lost = isinstance(error, Unreachable)
                fault = self._served.unreachable() if lost else faults.Fault(faults.FaultKind.CUT)
                raise AttemptFailed(fault) from error
        yield counted.ended(reader.close(), question)

    async def _data(self, reply: Reply, reader: AnswerReader) -> AsyncGenerator[str, None]:
        """The data of the reply's events, until the stream ends; after the answer's own end, only for a moment."""
        if reply.headers.get("content-type", "").startswith("application/json"):
            yield (await reply.read()).decode("utf-8", "replace")
            return
        async with aclosing(event_data(reply.body())) as stream:
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


def plainer(messages: Sequence[Message], fault: faults.Fault) -> list[Message] | None:
    """The same without what the service refused of them: pictures that it cannot read, or what it wrote itself earlier,
    in its own form. None if there is nothing of that kind.
    """
    if fault.of_pictures and any(message.images for message in messages):
        return [replace(message, text=described(message), images=()) for message in messages]
    if fault.bad_request and any(message.native for message in messages):
        return [replace(message, native=None) for message in messages]
    return None


class Counted:
    """Gives an answer its usage: as the vendor reported it, or else estimated from what was sent and seen."""

    def __init__(self) -> None:
        self._text: list[str] = []
        self._reasoning: list[str] = []

    def see(self, event: ports.ProviderEvent) -> None:
        if isinstance(event, ports.TokensArrived):
            self._text.append(event.text)
        elif isinstance(event, ports.ReasoningArrived):
            self._reasoning.append(event.text)

    def ended(self, ended: ports.ResponseEnded, question: Question) -> ports.ResponseEnded:
        if ended.usage is not None and ended.usage != Usage():
            return replace(ended, usage=replace(ended.usage, bytes_up=question.bytes_up))
        text, reasoning = "".join(self._text), "".join(self._reasoning)
        return replace(ended, usage=estimate_usage(question.messages, text, reasoning, question.bytes_up))


async def in_time(
    events: AsyncGenerator[ports.ProviderEvent, None], patience: ModelTimeouts
) -> AsyncGenerator[ports.ProviderEvent, None]:
    """The same events; AttemptFailed when one of them does not come in time.

    An empty piece of reasoning says that the model thinks again, silently: that may take as long as its first word.
    """
    limit_s = patience.first_token_s
    async with aclosing(events):
        with closing(IdleTimeout()) as watch:
            while True:
                try:
                    event = await watch.wait(anext(events, None), limit_s)
                except TimeoutError:
                    raise AttemptFailed(faults.Fault(faults.FaultKind.SLOW, waited_s=limit_s)) from None
                if event is None:
                    return
                yield event
                if not isinstance(event, ports.HandleKept):
                    silent = isinstance(event, ports.ReasoningArrived) and not event.text
                    limit_s = patience.first_token_s if silent else patience.between_tokens_s
