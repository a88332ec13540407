"""OpenAI's Responses over WebSocket, in resume mode: the rounds of a turn send only what is new.

Theory of operation. A session is one turn. Its first round takes a socket and sends the whole context; the vendor keeps
the answer in the socket's memory, and the next round names it and sends what came after. The local messages are the
only truth, so a chain may be lost at any time: the next request then sends everything again, and a new chain begins.

    the socket was closed before the request was sent       another socket, the whole context
    the vendor no longer has the parent, or the socket       the same, once
      has reached its limit of time
    an error that may pass, before the first event          the whole context again, after a wait that `retry` decides
    no socket is to be had                                  the round goes over HTTP; later ones try again
    the connection died after the request was sent          an error that says so: it may have been worked on; where
                                                            the other side closed it, later rounds go over HTTP
    anything after the first event                          an error: what was said stands

A socket whose answer was not read to its end is closed: that stops the model, and no late event can reach another turn.
"""

from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace

from agent.errors import ProviderError
from agent.loop import one_round
from agent.messages import Message
from agent.ports import CallOptions, Capabilities, Clock, ProviderEvent, ResponseEnded
from agent.providers.catalog import Endpoint
from agent.providers.dialect import ResumeChain, answered
from agent.providers.faults import Fault, FaultKind, RetryPolicy, provider_error
from agent.providers.replay import AttemptFailed, Counted, ModelTimeouts, ReplayProvider, in_time, plainer
from agent.providers.socket_session import SocketLimits, WarmSocket, WarmSockets
from agent.providers.websocket import SocketClosed, socket_url
from agent.providers.wire_responses import ResponsesDialect

LIMIT_REACHED = "websocket_connection_limit_reached"
LOST = frozenset({"previous_response_not_found", LIMIT_REACHED})
"""The chain is gone, and nothing else is wrong."""
LOST_LINE = 1006
"""A connection that ended without a leave-taking. Every other code is the decision of somebody who wants no socket."""


@dataclass(slots=True)
class ResponsesService:
    """What the sessions of one model share. `dialect` loses the fields that the service refuses."""

    endpoint: Endpoint
    model: str
    key: str | None
    dialect: ResponsesDialect
    sockets: WarmSockets
    http: ReplayProvider
    clock: Clock
    chance: Callable[[], float]
    patience: ModelTimeouts
    retry: RetryPolicy

    def error(self, fault: Fault, *, begun: bool) -> ProviderError:
        return provider_error(fault, self.endpoint, self.model, self.key, begun=begun)


class ResponsesProvider:
    """One model over WebSocket, and over HTTP (`http`, of the same model) where no socket is to be had."""

    def __init__(
        self,
        endpoint: Endpoint,
        model: str,
        dialect: ResponsesDialect,
        key: str | None,
        http: ReplayProvider,
        *,
        clock: Clock,
        chance: Callable[[], float],
        patience: ModelTimeouts,
        retry: RetryPolicy,
        limits: SocketLimits,
    ) -> None:
        url = f"{socket_url(endpoint.base_url)}/responses"
        headers = dialect.authorisation(key) if key else {}
        sockets = WarmSockets(url, headers, clock, limits, proxies=not endpoint.is_local)
        self._line = ResponsesService(endpoint, model, key, dialect, sockets, http, clock, chance, patience, retry)

    def __repr__(self) -> str:
        return f"ResponsesProvider({self.name!r} at {self._line.endpoint.address!r})"

    @property
    def name(self) -> str:
        return self._line.http.name

    @property
    def capabilities(self) -> Capabilities:
        return replace(self._line.dialect.capabilities, resume=True)

    def connect(self, options: CallOptions) -> "ResponsesSession":
        return ResponsesSession(self._line, options)

    def stream(
        self,
        messages: Sequence[Message],
        options: CallOptions = CallOptions(),  # noqa: B008 -- frozen
    ) -> AsyncGenerator[ProviderEvent, None]:
        """Answer `messages` in a session of one round."""
        return one_round(self.connect(options), messages)

    async def aclose(self) -> None:
        """Close every connection."""
        await self._line.sockets.aclose()
        await self._line.http.aclose()


class ResponsesSession:
    """One turn. See the module's docstring for what happens when something is lost."""

    def __init__(self, line: ResponsesService, options: CallOptions) -> None:
        self._line = line
        self._options = options
        self._messages: Sequence[Message] = ()
        self._warm: WarmSocket | None = None
        self._chain = ResumeChain()
        self._bytes_up = 0

    async def send(self, messages: Sequence[Message]) -> None:
        """Remembers what to ask: whether a request went out well is known when its answer begins."""
        self._messages = messages

    async def receive(self) -> AsyncGenerator[ProviderEvent, None]:
        messages, line = self._messages, self._line
        retries, waited_s, replayed = 0, 0.0, False
        self._bytes_up = 0
        while await self._connected():
            begun = False
            try:
                async with aclosing(in_time(self._attempt(messages), line.patience)) as events:
                    async for event in events:
                        begun = True
                        yield event
            except AttemptFailed as failed:
                fault = failed.fault
            else:
                return
            if begun:
                raise line.error(fault, begun=True)
            if fault.code in LOST and not replayed:
                replayed = True
                if fault.code == LIMIT_REACHED:
                    self._drop()
                continue
            if (simpler := line.dialect.without(fault)) is not None:
                line.dialect = simpler
                continue
            if (plain := plainer(messages, fault)) is not None:
                messages = plain
                continue
            delay_s = line.retry.delay_s(fault, retries, waited_s, line.chance())
            if delay_s is None:
                raise line.error(fault, begun=False)
            retries, waited_s = retries + 1, waited_s + delay_s
            await line.clock.sleep(delay_s)
        async with aclosing(line.http.stream(messages, self._options)) as events:
            async for event in events:
                yield self._with_earlier_bytes(event)

    async def close(self) -> tuple[str, ...]:
        if self._warm is not None:
            self._line.sockets.give_back(self._warm)
            self._warm = None
        return ()

    async def _connected(self) -> bool:
        """Whether there is an open socket. A chain does not outlive the socket that it was made on."""
        if self._warm is not None and self._warm.socket.is_open:
            return True
        self._drop()
        self._warm = await self._line.sockets.take()
        return self._warm is not None

    async def _attempt(self, messages: Sequence[Message]) -> AsyncGenerator[ProviderEvent, None]:
        """Ask once. Until the answer is complete there is no chain, and no turn may use the socket after this one."""
        if (warm := self._warm) is None:
            raise AttemptFailed(Fault(FaultKind.UNREACHABLE))
        link, self._chain = self._chain.link(messages), ResumeChain()
        frame = self._line.dialect.frame(messages, link, self._options)
        self._bytes_up += len(frame.encode())
        reader, counted = self._line.dialect.reader(), Counted()
        over = False
        try:
            await warm.socket.send(frame)
            while not over:
                events = reader.receive(await warm.socket.receive())
                over = reader.finished or any(isinstance(event, Fault) for event in events)
                for event in events:
                    if isinstance(event, Fault):
                        raise AttemptFailed(event)
                    counted.see(event)
                    yield event
        except SocketClosed as closed:
            if not reader.begun and closed.code != LOST_LINE:
                self._line.sockets.refused()
            raise AttemptFailed(Fault(FaultKind.CUT)) from None
        finally:
            if not over:
                self._drop()
        ended = counted.ended(reader.close(), messages, self._bytes_up)
        self._chain = answered(messages, reader.response_id, ended.native)
        yield ended

    def _drop(self) -> None:
        if self._warm is not None:
            self._line.sockets.drop(self._warm)
        self._warm, self._chain = None, ResumeChain()

    def _with_earlier_bytes(self, event: ProviderEvent) -> ProviderEvent:
        if isinstance(event, ResponseEnded) and event.usage and self._bytes_up:
            return replace(event, usage=replace(event.usage, bytes_up=event.usage.bytes_up + self._bytes_up))
        return event
