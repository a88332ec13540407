"""A provider for each kind of service: which dialect it speaks, over which transport. And a row of models.

Rules of a row: when the first cannot answer, the next one does, and says so, but only before the first event. Within a
turn the model that answered goes on: its vendor knows the earlier rounds. A model that is down rests for a while, so
that not every question waits for it; the last one in the row never does, nor one that refused: that takes no time, and
may be about this question alone. The last error is the one that is raised.
"""

from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import replace
from typing import Protocol

from agent import ports
from agent.errors import FailureReason, ProviderError, ProviderUnavailable, StreamBroken
from agent.loop import one_round, open_session
from agent.messages import Message
from agent.providers.catalog import Endpoint, Mode, ToolsForm
from agent.providers.dialect import Dialect, FallbackDialect
from agent.providers.replay import ProviderWorld, ReplayProvider, ServedModel
from agent.providers.socket_session import SocketLimits, SocketProvider
from agent.providers.wire_chat import ChatDialect
from agent.providers.wire_gemini import GeminiDialect
from agent.providers.wire_interactions import InteractionsProvider
from agent.providers.wire_live import LiveDialect, can_write
from agent.providers.wire_messages import MessagesDialect
from agent.providers.wire_realtime import RealtimeDialect
from agent.providers.wire_responses import ResponsesDialect, ResponsesProvider


class OpenedProvider(ports.Provider, Protocol):
    async def aclose(self) -> None: ...


def open_provider(
    endpoint: Endpoint, model: str, key: str | None, line: ProviderWorld, mode: Mode, form: ToolsForm = ToolsForm.TEXT
) -> OpenedProvider:
    """The model of that service, in the protocol that suits both."""
    match endpoint.name:
        case _ if endpoint.speaks_responses(model):
            opened = open_responses_http if mode is Mode.REPLAY else open_responses
        case "anthropic":
            opened = open_messages
        case "gemini":
            opened = open_interactions if mode is Mode.RESUME else open_gemini
        case "openai-realtime":
            return open_realtime(endpoint, model, key, line, mode)
        case "gemini-live":
            return open_live(endpoint, model, key, line, mode)
        case _:
            return open_chat(endpoint, model, key, line, form)
    return opened(endpoint, model, key, line)


def open_chat(
    endpoint: Endpoint, model: str, key: str | None, line: ProviderWorld, form: ToolsForm = ToolsForm.TEXT
) -> ReplayProvider:
    dialect = replace(_chat(endpoint, model), native=form.is_native(endpoint, model))
    return replaying(endpoint, model, dialect, key, line)


def open_messages(endpoint: Endpoint, model: str, key: str | None, line: ProviderWorld) -> ReplayProvider:
    """A model of Anthropic, or of a server that speaks its Messages. The address ends where "/messages" begins."""
    return replaying(endpoint, model, MessagesDialect(model), key, line)


def open_responses(
    endpoint: Endpoint, model: str, key: str | None, line: ProviderWorld, limits: SocketLimits | None = None
) -> ResponsesProvider:
    """A model of a service that speaks Responses over WebSocket. The address ends where "/responses" begins."""
    http = open_responses_http(endpoint, model, key, line)
    dialect = ResponsesDialect(model, endpoint.name)
    return ResponsesProvider(ServedModel(endpoint, model, key, line), dialect, http, limits or SocketLimits())


def open_responses_http(endpoint: Endpoint, model: str, key: str | None, line: ProviderWorld) -> ReplayProvider:
    """The same in replay mode: over HTTP only; on a server without Responses, in Chat Completions."""
    either = FallbackDialect(ResponsesDialect(model, endpoint.name), _chat(endpoint, model))
    return replaying(endpoint, model, either, key, line)


def open_gemini(endpoint: Endpoint, model: str, key: str | None, line: ProviderWorld) -> ReplayProvider:
    """A model of Gemini, by generateContent. The address ends where "/models" begins."""
    return replaying(endpoint, model, GeminiDialect(model), key, line)


def open_interactions(endpoint: Endpoint, model: str, key: str | None, line: ProviderWorld) -> InteractionsProvider:
    """A model of Gemini, by Interactions, which stores each turn while it runs. The address is as for `open_gemini`."""
    return InteractionsProvider(ServedModel(endpoint, model, key, line))


def open_realtime(
    endpoint: Endpoint, model: str, key: str | None, line: ProviderWorld, mode: Mode = Mode.AUTO
) -> SocketProvider:
    """A model of OpenAI Realtime, in text. The address ends where "/realtime" begins."""
    served = ServedModel(endpoint, model, key, line)
    return SocketProvider(served, RealtimeDialect(model), resumes=mode is not Mode.REPLAY)


def open_live(
    endpoint: Endpoint, model: str, key: str | None, line: ProviderWorld, mode: Mode = Mode.AUTO
) -> SocketProvider:
    """A model of Gemini Live, whose address is the service's root."""
    dialect = LiveDialect(model, spoken=not can_write(model))
    return SocketProvider(ServedModel(endpoint, model, key, line), dialect, resumes=mode is not Mode.REPLAY)


def replaying(endpoint: Endpoint, model: str, dialect: Dialect, key: str | None, line: ProviderWorld) -> ReplayProvider:
    return ReplayProvider(ServedModel(endpoint, model, key, line), dialect)


def _chat(endpoint: Endpoint, model: str) -> ChatDialect:
    return ChatDialect(model, stop=endpoint.stops_at_sequences(model), images=True, effort=True)


# How long a model that is down is passed over: outages last longer, a hiccup costs one minute of the second best.
REST_S = 60.0


class FallbackProvider:
    """Answers with the first of `providers` that can. At least one."""

    def __init__(self, providers: Sequence[ports.Provider], clock: ports.Clock, rest_s: float = REST_S) -> None:
        self._providers = tuple(providers)
        self._clock = clock
        self._rest_s = rest_s
        self._failed: dict[int, tuple[float, FailureReason]] = {}

    @property
    def name(self) -> str:
        return self._providers[0].name

    @property
    def capabilities(self) -> ports.Capabilities:
        """Those of the first; each turn has a session of its own, which keeps to the model that answered."""
        return replace(self._providers[0].capabilities, resume=True)

    def connect(self, options: ports.CallOptions) -> "FallbackSession":
        return FallbackSession(self, options)

    def stream(
        self,
        messages: Sequence[Message],
        options: ports.CallOptions = ports.CallOptions(),  # noqa: B008 -- frozen
    ) -> AsyncGenerator[ports.ProviderEvent, None]:
        return one_round(self.connect(options), messages)

    def candidates(self) -> list[tuple[int, ports.Provider, FailureReason | None]]:
        """Those that may answer now, each with the reason why the one before it did not; None for the first."""
        now = self._clock.monotonic()
        why: FailureReason | None = None
        found: list[tuple[int, ports.Provider, FailureReason | None]] = []
        for place, provider in enumerate(self._providers):
            failed_at, reason = self._failed.get(place, (float("-inf"), None))
            if now - failed_at < self._rest_s and place < len(self._providers) - 1:
                why = why or reason
            else:
                found.append((place, provider, why))
        return found

    def failed(self, place: int, reason: FailureReason) -> None:
        self._failed[place] = (self._clock.monotonic(), reason)


class FallbackSession:
    def __init__(self, row: FallbackProvider, options: ports.CallOptions) -> None:
        self._row = row
        self._options = options
        self._current: ports.ModelSession | None = None

    async def answer(self, messages: Sequence[Message]) -> AsyncGenerator[ports.ProviderEvent, None]:
        if self._current is not None:
            async with aclosing(self._current.answer(messages)) as events:
                async for event in events:
                    yield event
            return
        candidates = self._row.candidates()
        failure: FailureReason | None = None
        for place, provider, rested in candidates:
            last = place == candidates[-1][0]
            session, why = open_session(provider, self._options), failure or rested
            begun = False
            try:
                async with aclosing(session.answer(messages)) as events:
                    async for event in events:
                        if not (begun or isinstance(event, ports.HandleKept)):
                            begun, self._current = True, session
                            if why:
                                yield ports.ModelChanged(provider.name, why)
                        yield event
            except ProviderError as error:
                if begun or last or isinstance(error, StreamBroken):
                    raise
                failure = failure or error.reason
                if isinstance(error, ProviderUnavailable):
                    self._row.failed(place, error.reason)
            finally:
                if self._current is not session:
                    await session.close()
            if begun:
                return

    async def close(self) -> tuple[str, ...]:
        return () if self._current is None else await self._current.close()
