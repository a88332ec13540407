"""Chooses the models that answer, and opens their providers.

`COGENCY_MODEL` decides: "rehearsal", or "provider:model" with a provider of the catalogue. Without it: the server at
`OPENAI_BASE_URL` if that differs from the default, else the first vendor whose key is set, else a local Ollama that
answers, else rehearsal. The HTTP client is imported only when a server is contacted: a rehearsal starts without it.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Protocol, TypeAlias
from urllib.parse import quote

from agent.certificates import certificate_sentence
from agent.errors import ProviderUnavailable, SettingsError
from agent.ports.clock import Clock
from agent.ports.model import Provider
from agent.providers import identities
from agent.providers.catalog import (
    ANTHROPIC,
    BEDROCK,
    ENDPOINTS,
    GEMINI,
    LIVE,
    OPENAI,
    REALTIME,
    VERTEX,
    Endpoint,
    ToolsForm,
)
from agent.providers.faults import RetryPolicy
from agent.providers.rehearsal import INIT, NOTICE, RehearsalProvider
from agent.providers.wire import as_list, as_object, as_text, parse_json
from agent.spending import context_window
from agent.texts import ASK_OPERATOR, AWS_EXTRA_MISSING, AZURE_EXTRA_MISSING, VERTEX_EXTRA_MISSING
from bot.models import texts as models_texts
from bot.models.forms import CheckedForms
from bot.models.settings import ModelSettings
from bot.settings.installation import command_for, typed_command
from bot.settings.secret import Secret

if TYPE_CHECKING:
    from agent.providers.key_pool import KeyRing

log = logging.getLogger(__name__)

# For each vendor a model that answers well at a fair price (November 2026).
DEFAULT_MODELS = {"openai": "gpt-6.1-terra", "anthropic": "claude-sonnet-5-5", "gemini": "gemini-3.8-flash"}

# Names of models in a cloud, for an error message.
CLOUD_EXAMPLES: Final = {
    "azure": "my-deployment/gpt-6.1-terra",
    "vertex": DEFAULT_MODELS["gemini"],
    "bedrock": "us.anthropic.claude-sonnet-5-5",
}

# The vendor of a model by the start of its name, for an error message about a missing provider.
FAMILIES = {
    **dict.fromkeys(("gpt", "chatgpt"), "openai"),
    "claude": "anthropic",
    "gemini": "gemini",
    "grok": "xai",
    "mistral": "mistral",
    "llama": "ollama",
    # Ids of Amazon Bedrock, and ARNs.
    **dict.fromkeys(("arn", "us.", "eu.", "global.", "amazon.", "anthropic.", "meta."), "bedrock"),
}

# A server on this machine accepts a connection at once; without one, the start should not be delayed.
PROBE_TIMEOUT_S = 0.3
LIST_TIMEOUT_S = 5.0  # For the list of models of a server that accepts connections


# Ollama lists models of its cloud with those of the machine (https://docs.ollama.com/cloud): `gpt-oss:120b-cloud`. They
# are used only if a setting names one, because what people write leaves the machine.
CLOUD_MODELS: Final = ("-cloud", ":cloud")


@dataclass(frozen=True, slots=True)
class ModelChoice:
    """A model, and why it was chosen. No endpoint means rehearsal."""

    endpoint: Endpoint | None
    model: str
    key: Secret | None
    why: str

    @property
    def name(self) -> str:
        """The model as `COGENCY_MODEL` names it."""
        return f"{self.endpoint.name}:{self.model}" if self.endpoint else "rehearsal"

    @property
    def line(self) -> str:
        """The log line at the start: "Model: ollama:llama3.2 — a local Ollama answers at http://localhost:11434"."""
        return models_texts.MODEL_LINE.format(name=self.name, why=self.why)


@dataclass(frozen=True, slots=True)
class AskServer:
    """The choice depends on the models of this server. `required`: the settings name it, so it must serve one."""

    endpoint: Endpoint
    key: Secret | None
    required: bool


Choice: TypeAlias = ModelChoice | AskServer
ListModels: TypeAlias = Callable[[Endpoint, Secret | None], Awaitable[Sequence[str] | None]]


class ClosableProvider(Provider, Protocol):
    async def aclose(self) -> None:
        """Close every connection."""
        ...


def first_choice(settings: ModelSettings) -> Choice:
    """Return the choice as far as the settings alone decide it. Pure. Raises SettingsError with setting and remedy."""
    if settings.model:
        return named_choice(settings.model, settings, "COGENCY_MODEL")
    server = settings.endpoint("openai")
    if server != OPENAI:
        return AskServer(server, settings.openai_api_key, required=True)
    for endpoint in (OPENAI, ANTHROPIC, GEMINI):
        if key := settings.key(endpoint.name):
            reason = f"{endpoint.key_setting} is set"
            return ModelChoice(settings.endpoint(endpoint.name), DEFAULT_MODELS[endpoint.name], key, reason)
    return AskServer(settings.endpoint("ollama"), None, required=False)


def choice_after(server: AskServer, models: Sequence[str] | None, init: str = INIT) -> ModelChoice:
    """Return the choice, given the models that the server listed (None: it did not). Pure. Raises SettingsError.

    `init`: the command that sets a model up, as it can be typed here.
    """
    endpoint = server.endpoint
    if not server.required:
        here = [model for model in models or () if not model.endswith(CLOUD_MODELS)]
        if here:
            return ModelChoice(endpoint, here[0], None, f"a local Ollama answers at {endpoint.address}")
        return ModelChoice(
            None,
            "",
            None,
            models_texts.nothing_configured(endpoint, init, answered=models is not None),
        )
    if not models:
        problem = "lists no model" if models is not None else "does not list its models"
        raise SettingsError(
            models_texts.NO_MODELS_SERVED.format(
                address=endpoint.address, setting=endpoint.url_setting, problem=problem
            )
        )
    preferred = DEFAULT_MODELS[endpoint.name]
    model = preferred if preferred in models else models[0]
    others = f", first of {len(models)} models" if len(models) > 1 and model == models[0] else ""
    return ModelChoice(endpoint, model, server.key, f"{endpoint.url_setting} is {endpoint.address}{others}")


async def choose_model(settings: ModelSettings, list_models: ListModels | None = None) -> ModelChoice:
    """Choose the model, asking a server only where the settings leave it open.

    Raises SettingsError, and ProviderUnavailable if a server that the settings name does not answer now.
    """
    choice = first_choice(settings)
    if isinstance(choice, ModelChoice):
        return choice
    try:
        models = await (list_models or models_of)(choice.endpoint, choice.key)
    except ProviderUnavailable:
        if choice.required:
            raise
        models = None
    return choice_after(choice, models, typed_command("init"))


async def models_of(endpoint: Endpoint, key: Secret | None, limit_s: float = LIST_TIMEOUT_S) -> list[str] | None:
    """Return the models that a server lists, without embedding models; None if it refuses to list them.

    Raises ProviderUnavailable if the server does not answer in time, or answers with a server error.
    """
    body = await _listing(endpoint, f"{endpoint.base_url}/models", key, limit_s)
    return None if body is None else read_models(body)


async def context_size(
    endpoint: Endpoint, model: str, key: Secret | None, limit_s: float = LIST_TIMEOUT_S
) -> int | None:
    """Return how many tokens the context of a model holds; None if its server does not say or does not answer.

    Ollama says it only of models that are loaded (https://docs.ollama.com/api/ps), and drops what does not fit. Clouds
    do not say it, so it is read from the table of prices.
    """
    if endpoint.identity:
        return context_window(f"{endpoint.name}:{model}")
    is_ollama = endpoint.name == "ollama"
    url = f"{endpoint.base_url}/models"
    if is_ollama:
        url = f"{endpoint.base_url.removesuffix('/v1')}/api/ps"
    elif endpoint.name in {ANTHROPIC.name, GEMINI.name}:  # their lists are in pages
        url = f"{url}/{quote(model, safe='')}"
    try:
        body = await _listing(endpoint, url, key, limit_s)
    except ProviderUnavailable:
        return None
    return None if body is None else read_context_size(body, model, is_by_name=is_ollama)


async def _listing(endpoint: Endpoint, url: str, key: Secret | None, limit_s: float) -> bytes | None:
    """Return the answer to GET `url`, None if the server refuses it. Raises ProviderUnavailable as `models_of`."""
    away = ProviderUnavailable(models_texts.MODELS_AWAY.format(address=endpoint.address, setting=endpoint.url_setting))
    if endpoint.is_local and not await _listens(endpoint):
        raise away
    from agent.providers.http_client import Http, TransportError, Untrusted  # noqa: PLC0415 -- see the module's docstring

    headers = endpoint.authorisation(key.reveal() if key else None)
    if endpoint.name == ANTHROPIC.name:
        headers |= ANTHROPIC_VERSION
    http = Http(proxies=not endpoint.is_local)
    try:
        async with asyncio.timeout(limit_s):
            async with http.request("GET", url, headers) as reply:
                if reply.status >= 500:
                    raise away
                return await reply.read() if reply.status == 200 else None
    except Untrusted as error:
        sentence = certificate_sentence(error.problem, endpoint.label, endpoint.address)
        raise ProviderUnavailable(sentence, person=ASK_OPERATOR) from None
    except (TransportError, TimeoutError) as error:
        raise away from error
    finally:
        await http.aclose()


def read_models(body: bytes) -> list[str]:
    """Return the ids in an answer to GET /models, in its order. Pure."""
    listed = as_object(parse_json(body))
    entries = map(as_object, as_list(listed.get("data")) or as_list(listed.get("models")))
    ids = (as_text(entry.get("id")) or as_text(entry.get("name")) for entry in entries)
    return [id_ for id_ in ids if id_ and "embed" not in id_]


# Where a server says how large a model's context is: vLLM and SGLang, LM Studio, OpenRouter and Ollama, Groq,
# Anthropic, Gemini.
_CONTEXT_FIELDS: Final = (
    *("max_model_len", "loaded_context_length", "max_context_length", "context_length", "context_window"),
    *("max_input_tokens", "inputTokenLimit"),
)
ANTHROPIC_VERSION: Final = {"anthropic-version": "2023-06-01"}


def read_context_size(body: bytes, model: str, *, is_by_name: bool = False) -> int | None:
    """Return the size of a model's context in a list of models, in tokens; None if it does not say. Pure.

    `is_by_name`: the only entry of the list may be another model. Ollama's "llama3.2" is "llama3.2:latest".
    """
    listed = as_object(parse_json(body))
    entries = list(map(as_object, as_list(listed.get("data")) or as_list(listed.get("models")) or [listed]))
    names = {model, f"{model}:latest", f"models/{model}"}
    named = [entry for entry in entries if {as_text(entry.get("id")), as_text(entry.get("name"))} & names]
    if not named and len(entries) == 1 and not is_by_name:
        named = entries
    for entry in named[:1]:
        # llama.cpp puts it under "meta".
        sizes = (as_object(entry.get("meta")).get("n_ctx"), *(entry.get(name) for name in _CONTEXT_FIELDS))
        return next((size for size in sizes if isinstance(size, int) and size > 0), None)
    return None


NO_FORMS: Final = CheckedForms()


class KeyRings:
    """What is known of the keys of all services. Models of one service share it."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._rings: dict[tuple[str, Secret], KeyRing] = {}

    def of(self, choice: ModelChoice) -> "KeyRing | None":
        """Return the keys of a model; None if it has none."""
        if choice.endpoint is None or choice.key is None:
            return None
        from agent.providers.key_pool import KeyRing  # noqa: PLC0415 -- see the module's docstring

        name = (choice.endpoint.key_setting, choice.key)
        if name not in self._rings:
            self._rings[name] = KeyRing(choice.endpoint, choice.key.reveal_all(), self._clock, log.warning)
        return self._rings[name]

    def set_aside(self) -> list[str]:
        """Return a sentence for each key that is set aside now."""
        return [sentence for ring in self._rings.values() for sentence in ring.set_aside()]


def open_model(
    choice: ModelChoice,
    settings: ModelSettings,
    *,
    clock: Clock,
    chance: Callable[[], float],
    checked: CheckedForms = NO_FORMS,
    rings: KeyRings | None = None,
) -> ClosableProvider:
    """Open the provider of a choice. `chance` returns numbers in [0, 1), for the jitter of retries. `checked`: what is
    known of the forms of models; a setting that names a form decides. `rings`: what is known of the keys.
    """
    if choice.endpoint is None:
        return RehearsalProvider(NOTICE.replace(INIT, typed_command("init")), sleep=clock.sleep)
    from agent.providers.factory import ProviderWorld, open_with_keys  # noqa: PLC0415 -- see the module's docstring
    from agent.providers.replay import ModelTimeouts  # noqa: PLC0415 -- see the module's docstring

    timeouts = ModelTimeouts(settings.first_token_timeout_s, settings.next_token_timeout_s)
    world = ProviderWorld(clock, chance, timeouts, RetryPolicy(settings.provider_retries))
    ring = (rings or KeyRings(clock)).of(choice)
    credentials = settings.credentials(choice.endpoint, choice.key, clock)
    form = settings.tools_form
    form = checked.form(choice.endpoint, choice.model) if form is ToolsForm.AUTO else form
    return open_with_keys(choice.endpoint, choice.model, ring, world, settings.mode, form, credentials=credentials)


_EXTRA_MISSING: Final = {"azure": AZURE_EXTRA_MISSING, "vertex": VERTEX_EXTRA_MISSING, "bedrock": AWS_EXTRA_MISSING}


def named_choice(
    spec: str,
    settings: ModelSettings,
    setting: str,
    why: str = "",
    has_identity: Callable[[str], bool] = identities.is_installed,
) -> ModelChoice:
    """Return the model that a setting or a person names. Raises SettingsError.

    No error repeats the value: it may be a key in the wrong setting. `has_identity`: whether an extra is installed by
    which a service is used without a key.
    """
    why = why or f"it is set in {setting}"
    provider, colon, model = (part.strip() for part in spec.partition(":"))
    provider = provider.lower()
    if provider == "rehearsal" and not model:
        return ModelChoice(None, "", None, why)
    if provider not in ENDPOINTS:
        if vendor := next((family for prefix, family in FAMILIES.items() if provider.startswith(prefix)), None):
            raise SettingsError(models_texts.NO_PROVIDER_NAMED.format(setting=setting, vendor=vendor))
        forms = ", ".join(f"{name}:<model>" for name in ENDPOINTS)
        raise SettingsError(models_texts.UNKNOWN_PROVIDER.format(setting=setting, forms=forms))
    if not model:
        example = {**DEFAULT_MODELS, **CLOUD_EXAMPLES}.get(provider, "llama3.2")
        raise SettingsError(models_texts.NO_MODEL_NAMED.format(setting=setting, provider=provider, example=example))
    endpoint, key = settings.endpoint(provider, model), settings.key(provider)
    if provider == BEDROCK.name and settings.region and not endpoint.region:
        raise SettingsError(models_texts.NOT_A_REGION.format(setting=settings.region_setting))
    if missing := settings.missing(endpoint, model):
        raise SettingsError(
            models_texts.KEY_MISSING.format(key=missing[0], setting=setting, provider=provider, colon=colon)
        )
    if endpoint.identity and key is None and not has_identity(endpoint.identity):
        sentence = _EXTRA_MISSING[endpoint.identity]
        raise SettingsError(sentence.format(key=endpoint.key_setting, command=command_for(endpoint.identity)))
    if provider == VERTEX.name and not model.startswith(("gemini", "claude")):
        raise SettingsError(models_texts.NO_VERTEX_MODEL.format(setting=setting))
    if endpoint.key_required and key is None:
        raise SettingsError(
            models_texts.KEY_MISSING.format(key=endpoint.key_setting, setting=setting, provider=provider, colon=colon)
        )
    return ModelChoice(endpoint, model, key, why)


async def _listens(endpoint: Endpoint) -> bool:
    try:
        async with asyncio.timeout(PROBE_TIMEOUT_S):
            _, writer = await asyncio.open_connection(endpoint.host, endpoint.port)
    except (OSError, TimeoutError):
        return False
    writer.close()
    with suppress(OSError):
        await writer.wait_closed()
    return True


# They offer neither embeddings nor transcription in OpenAI's form at their addresses.
WITHOUT_SERVICES: Final = frozenset({ANTHROPIC.name, GEMINI.name, LIVE.name, REALTIME.name, VERTEX.name, BEDROCK.name})
