"""Opens a provider for each kind of service, with its dialect and transport.

The modules of a protocol are loaded when a model of it is opened: with all of them, a process would load what it never
speaks, and a library for WebSockets. Chat Completions is what most services speak, and what others fall back to.
"""

from dataclasses import replace
from typing import TYPE_CHECKING

from agent.model_names import model_behind
from agent.providers.catalog import Endpoint, Mode, ToolsForm, is_small, reasons
from agent.providers.credentials import Key
from agent.providers.dialect import Dialect, FallbackDialect
from agent.providers.key_pool import KeyPoolProvider, KeyRing, OpenedProvider
from agent.providers.replay import ProviderWorld, ReplayProvider, ServedModel
from agent.providers.wire_chat import SMALL_MODELS_SAMPLING, SMALL_REASONERS_SAMPLING, ChatDialect

if TYPE_CHECKING:
    from agent.providers.socket_session import SocketLimits, SocketProvider
    from agent.providers.wire_interactions import InteractionsProvider
    from agent.providers.wire_responses import ResponsesDialect, ResponsesProvider


def open_provider(
    endpoint: Endpoint, model: str, key: Key, world: ProviderWorld, mode: Mode, form: ToolsForm = ToolsForm.TEXT
) -> OpenedProvider:
    """Open a model of a service, with the protocol that both support."""
    match endpoint.name:
        case _ if endpoint.speaks_responses(model):
            opened = open_responses_http if mode is Mode.REPLAY else open_responses
        case "anthropic":
            opened = open_messages
        case "bedrock":
            return open_converse(endpoint, model, key, world, form)
        case "gemini":
            opened = open_interactions if mode is Mode.RESUME else open_gemini
        case "vertex":
            opened = open_vertex
        case "openai-realtime":
            return open_realtime(endpoint, model, key, world, mode)
        case "gemini-live":
            return open_live(endpoint, model, key, world, mode)
        case _:
            return open_chat(endpoint, model, key, world, form)
    return opened(endpoint, model, key, world)


def open_with_keys(
    endpoint: Endpoint,
    model: str,
    ring: KeyRing | None,
    world: ProviderWorld,
    mode: Mode,
    form: ToolsForm = ToolsForm.TEXT,
    *,
    credentials: Key = None,
) -> OpenedProvider:
    """Open a model of a service that is asked with the keys of `ring`; None: with `credentials`, or without a key."""
    if ring is None or ring.is_single:
        return open_provider(endpoint, model, ring.keys[0] if ring else credentials, world, mode, form)
    # The pool itself waits if every key is limited, so no model waits while another key can answer.
    each = replace(world, retry=replace(world.retry, waits_for_limits=False))
    providers = [open_provider(endpoint, model, key, each, mode, form) for key in ring.keys]
    return KeyPoolProvider(providers, ring, world.clock, world.retry)


def open_chat(
    endpoint: Endpoint, model: str, key: Key, world: ProviderWorld, form: ToolsForm = ToolsForm.TEXT
) -> ReplayProvider:
    dialect = replace(_chat(endpoint, model), native=form is ToolsForm.NATIVE)
    return replaying(endpoint, model, dialect, key, world)


def open_messages(endpoint: Endpoint, model: str, key: Key, world: ProviderWorld) -> ReplayProvider:
    """A model of Anthropic, or of a server with its Messages API. The base URL ends before "/messages"."""
    from agent.providers.wire_messages import MessagesDialect

    return replaying(endpoint, model, MessagesDialect(model), key, world)


def open_converse(
    endpoint: Endpoint, model: str, key: Key, world: ProviderWorld, form: ToolsForm = ToolsForm.TEXT
) -> ReplayProvider:
    """A model of Amazon Bedrock, by Converse. The base URL ends before "/model"."""
    from agent.providers.wire_converse import ConverseDialect

    dialect = ConverseDialect.of(model, native=form is ToolsForm.NATIVE)
    return replaying(endpoint, model, dialect, key, world)


def open_responses(
    endpoint: Endpoint, model: str, key: Key, world: ProviderWorld, limits: "SocketLimits | None" = None
) -> "ResponsesProvider":
    """A model of a service with the Responses API over WebSocket. The base URL ends before "/responses"."""
    from agent.providers.socket_session import SocketLimits
    from agent.providers.wire_responses import ResponsesProvider

    http = open_responses_http(endpoint, model, key, world)
    dialect = _responses(endpoint, model)
    return ResponsesProvider(ServedModel(endpoint, model, key, world), dialect, http, limits or SocketLimits())


def open_responses_http(endpoint: Endpoint, model: str, key: Key, world: ProviderWorld) -> ReplayProvider:
    """The same in replay mode, over HTTP only; a server without Responses is asked by Chat Completions."""
    dialect = FallbackDialect(_responses(endpoint, model), _chat(endpoint, model))
    return replaying(endpoint, model, dialect, key, world)


def open_gemini(endpoint: Endpoint, model: str, key: Key, world: ProviderWorld) -> ReplayProvider:
    """A model of Gemini, by generateContent. The base URL ends before "/models"."""
    from agent.providers.wire_gemini import GeminiDialect

    return replaying(endpoint, model, GeminiDialect(model), key, world)


def open_vertex(endpoint: Endpoint, model: str, key: Key, world: ProviderWorld) -> ReplayProvider:
    """A model of Google or Anthropic at Vertex AI. The base URL ends before "/publishers"."""
    if model.startswith("claude"):
        from agent.providers.wire_messages import MessagesDialect

        return replaying(endpoint, model, MessagesDialect(model, on_vertex=True), key, world)
    from agent.providers.wire_gemini import GeminiDialect

    return replaying(endpoint, model, GeminiDialect(model, publisher="/publishers/google"), key, world)


def open_interactions(endpoint: Endpoint, model: str, key: Key, world: ProviderWorld) -> "InteractionsProvider":
    """A model of Gemini, by Interactions, which store each turn while it runs. The base URL ends before "/models"."""
    from agent.providers.wire_interactions import InteractionsProvider

    return InteractionsProvider(ServedModel(endpoint, model, key, world))


def open_realtime(
    endpoint: Endpoint, model: str, key: Key, world: ProviderWorld, mode: Mode = Mode.AUTO
) -> "SocketProvider":
    """A model of OpenAI Realtime, in text. The base URL ends before "/realtime"."""
    from agent.providers.socket_session import SocketProvider
    from agent.providers.wire_realtime import RealtimeDialect

    served = ServedModel(endpoint, model, key, world)
    return SocketProvider(served, RealtimeDialect(model), resumes=mode is not Mode.REPLAY)


def open_live(
    endpoint: Endpoint, model: str, key: Key, world: ProviderWorld, mode: Mode = Mode.AUTO
) -> "SocketProvider":
    """A model of Gemini Live. The base URL is the root of the service."""
    from agent.providers.socket_session import SocketProvider
    from agent.providers.wire_live import LiveDialect, can_write

    dialect = LiveDialect(model, spoken=not can_write(model))
    return SocketProvider(ServedModel(endpoint, model, key, world), dialect, resumes=mode is not Mode.REPLAY)


def replaying(endpoint: Endpoint, model: str, dialect: Dialect, key: Key, world: ProviderWorld) -> ReplayProvider:
    return ReplayProvider(ServedModel(endpoint, model, key, world), dialect)


def _responses(endpoint: Endpoint, model: str) -> "ResponsesDialect":
    from agent.providers.wire_responses import ResponsesDialect

    return ResponsesDialect(endpoint.name_for(model), endpoint.name, behind=model_behind(endpoint.name, model))


def _chat(endpoint: Endpoint, model: str) -> ChatDialect:
    name, behind = endpoint.name_for(model), model_behind(endpoint.name, model)
    chat = ChatDialect(name, stop=endpoint.stops_at_sequences(model), images=True, effort=True, behind=behind)
    if not (endpoint.is_self_hosted and is_small(model)):
        return chat
    return replace(chat, sampling=SMALL_REASONERS_SAMPLING if reasons(model) else SMALL_MODELS_SAMPLING)
