"""A provider for each kind of service: which dialect it speaks, over which transport."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Protocol

from agent.ports import Clock, Provider
from agent.providers.catalog import Endpoint, Mode, ToolsForm
from agent.providers.dialect import Dialect, FallbackDialect
from agent.providers.faults import RetryPolicy
from agent.providers.replay import ModelTimeouts, ReplayProvider
from agent.providers.responses_session import ResponsesProvider
from agent.providers.socket_session import SocketDialect, SocketLimits, SocketProvider
from agent.providers.wire_chat import ChatDialect
from agent.providers.wire_gemini import GeminiDialect
from agent.providers.wire_interactions import InteractionsProvider
from agent.providers.wire_live import LiveDialect, can_write
from agent.providers.wire_messages import MessagesDialect
from agent.providers.wire_realtime import RealtimeDialect
from agent.providers.wire_responses import ResponsesDialect


class OpenedProvider(Provider, Protocol):
    async def aclose(self) -> None:
        """Close every connection."""
        ...


@dataclass(frozen=True, slots=True)
class ProviderWorld:
    """What every provider needs of the world. `chance` gives numbers in [0, 1), for the jitter of retries."""

    clock: Clock
    chance: Callable[[], float]
    patience: ModelTimeouts = field(default_factory=ModelTimeouts)
    retry: RetryPolicy = field(default_factory=RetryPolicy)


def open_provider(
    endpoint: Endpoint, model: str, key: str | None, line: ProviderWorld, mode: Mode, form: ToolsForm = ToolsForm.TEXT
) -> OpenedProvider:
    """The model of that service, in the protocol that suits both."""
    if endpoint.speaks_responses(model):
        return _open_openai(endpoint, model, key, line, mode)
    match endpoint.name:
        case "anthropic":
            return open_messages(endpoint, model, key, line)
        case "gemini" if mode is Mode.RESUME:
            return open_interactions(endpoint, model, key, line)
        case "gemini":
            return open_gemini(endpoint, model, key, line)
        case "openai-realtime":
            return open_realtime(endpoint, model, key, line, mode)
        case "gemini-live":
            return open_live(endpoint, model, key, line, mode)
        case _:
            return open_chat(endpoint, model, key, line, form)


def open_chat(
    endpoint: Endpoint, model: str, key: str | None, line: ProviderWorld, form: ToolsForm = ToolsForm.TEXT
) -> ReplayProvider:
    """A model of a service that speaks Chat Completions."""
    dialect = replace(_chat(endpoint, model), native=form.is_native(endpoint, model))
    return replaying(endpoint, model, dialect, key, line)


def open_messages(endpoint: Endpoint, model: str, key: str | None, line: ProviderWorld) -> ReplayProvider:
    """A model of Anthropic, or of a server that speaks its Messages. The address ends where "/messages" begins."""
    return replaying(endpoint, model, MessagesDialect(model), key, line)


def open_responses(
    endpoint: Endpoint,
    model: str,
    key: str | None,
    line: ProviderWorld,
    limits: SocketLimits = SocketLimits(),  # noqa: B008 -- frozen
) -> ResponsesProvider:
    """A model of a service that speaks Responses over WebSocket. The address ends where "/responses" begins."""
    dialect = ResponsesDialect(model, endpoint.name)
    http = open_responses_http(endpoint, model, key, line)
    return ResponsesProvider(
        endpoint,
        model,
        dialect,
        key,
        http,
        clock=line.clock,
        chance=line.chance,
        patience=line.patience,
        retry=line.retry,
        limits=limits,
    )


def open_responses_http(endpoint: Endpoint, model: str, key: str | None, line: ProviderWorld) -> ReplayProvider:
    """The same in replay mode: over HTTP only; on a server without Responses, in Chat Completions."""
    either = FallbackDialect(ResponsesDialect(model, endpoint.name), _chat(endpoint, model))
    return replaying(endpoint, model, either, key, line)


def open_realtime(
    endpoint: Endpoint, model: str, key: str | None, line: ProviderWorld, mode: Mode = Mode.AUTO
) -> SocketProvider:
    """A model of OpenAI Realtime, in text. The address ends where "/realtime" begins."""
    return _speaking(endpoint, model, RealtimeDialect(model), key, line, mode)


def open_gemini(endpoint: Endpoint, model: str, key: str | None, line: ProviderWorld) -> ReplayProvider:
    """A model of Gemini, by generateContent. The address ends where "/models" begins."""
    return replaying(endpoint, model, GeminiDialect(model), key, line)


def open_interactions(endpoint: Endpoint, model: str, key: str | None, line: ProviderWorld) -> InteractionsProvider:
    """A model of Gemini, by Interactions, which stores each turn while it runs. The address is as for `open_gemini`."""
    return InteractionsProvider(
        endpoint, model, key, clock=line.clock, chance=line.chance, patience=line.patience, retry=line.retry
    )


def open_live(
    endpoint: Endpoint,
    model: str,
    key: str | None,
    line: ProviderWorld,
    mode: Mode = Mode.AUTO,
    *,
    spoken: bool | None = None,
) -> SocketProvider:
    """A model of Gemini Live, whose address is the service's root. `spoken`: it only speaks; None: by its name."""
    spoken = not can_write(model) if spoken is None else spoken
    return _speaking(endpoint, model, LiveDialect(model, spoken), key, line, mode)


def replaying(endpoint: Endpoint, model: str, dialect: Dialect, key: str | None, line: ProviderWorld) -> ReplayProvider:
    """A model in replay mode, in whatever dialect."""
    return ReplayProvider(
        endpoint, model, dialect, key, clock=line.clock, chance=line.chance, patience=line.patience, retry=line.retry
    )


def _open_openai(endpoint: Endpoint, model: str, key: str | None, line: ProviderWorld, mode: Mode) -> OpenedProvider:
    if mode is Mode.REPLAY:
        return open_responses_http(endpoint, model, key, line)
    return open_responses(endpoint, model, key, line)


def _chat(endpoint: Endpoint, model: str) -> ChatDialect:
    return ChatDialect(model, stop=endpoint.stops_at_sequences(model), images=True, effort=True)


def _speaking(
    endpoint: Endpoint, model: str, dialect: SocketDialect, key: str | None, line: ProviderWorld, mode: Mode
) -> SocketProvider:
    return SocketProvider(
        endpoint,
        model,
        dialect,
        key,
        clock=line.clock,
        chance=line.chance,
        patience=line.patience,
        retry=line.retry,
        resumes=mode is not Mode.REPLAY,
    )
