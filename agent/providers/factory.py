"""A provider for each kind of service: which dialect it speaks, over which transport."""

from dataclasses import replace
from typing import Protocol

from agent.ports import Provider
from agent.providers.catalog import Endpoint, Mode, ToolsForm
from agent.providers.dialect import Dialect, FallbackDialect
from agent.providers.replay import ProviderWorld, ReplayProvider, ServedModel
from agent.providers.responses_session import ResponsesProvider
from agent.providers.socket_session import SocketLimits, SocketProvider
from agent.providers.wire_chat import ChatDialect
from agent.providers.wire_gemini import GeminiDialect
from agent.providers.wire_interactions import InteractionsProvider
from agent.providers.wire_live import LiveDialect, can_write
from agent.providers.wire_messages import MessagesDialect
from agent.providers.wire_realtime import RealtimeDialect
from agent.providers.wire_responses import ResponsesDialect


class OpenedProvider(Provider, Protocol):
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
