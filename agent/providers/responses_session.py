"""OpenAI's Responses over WebSocket, in resume mode: the rounds of a turn send only what is new.

A session is one turn. Its first round takes a socket and sends the whole context; the vendor keeps the answer in the
socket's memory, and the next round names it and sends what came after. The local messages are the only truth.

    the socket or the parent is gone                        the whole context again, over another socket, once
    an error that may pass, before the first event          the same, after a wait that the policy decides
    no socket is to be had                                  the round goes over HTTP; later ones try again
    the connection died after the request was sent          an error that says so: it may have been worked on; where
                                                            the other side closed it, later rounds go over HTTP
    anything after the first event                          an error: what was said stands

A socket whose answer was not read to its end is closed: that stops the model, and no late event can reach another turn.
"""

from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import replace

from agent.loop import one_round
from agent.messages import Message
from agent.ports import CallOptions, Capabilities, ProviderEvent, ResponseEnded
from agent.providers import replay
from agent.providers.dialect import ResumeChain, answered
from agent.providers.faults import Fault, FaultKind
from agent.providers.socket_session import SocketClosed, SocketLimits, WarmSocket, WarmSockets, socket_url
from agent.providers.wire_responses import ResponsesDialect

LIMIT_REACHED = "websocket_connection_limit_reached"
LOST = frozenset({"previous_response_not_found", LIMIT_REACHED})
"""The chain is gone, and nothing else is wrong."""
LOST_LINE = 1006
"""A connection that ended without a leave-taking. Every other code is the decision of somebody who wants no socket."""


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
