"""Chooses the models that answer, and opens their providers.

`COGENCY_MODEL` decides: "rehearsal", or "provider:model" with a provider of the catalogue. Without it: the server at
`OPENAI_BASE_URL` if that differs from the default, else the first vendor whose key is set, else a local Ollama that
answers, else rehearsal. The HTTP client is imported only when a server is contacted: a rehearsal starts without it.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Final, Protocol, Self, TypeAlias

from agent.certificates import certificate_sentence
from agent.errors import ProviderUnavailable, SettingsError
from agent.incoming import Incoming
from agent.ports.clock import Clock
from agent.ports.embeddings import Embedder
from agent.ports.model import KeepingProvider, Provider, WarningProvider
from agent.ports.preferences import Preferences
from agent.ports.transcription import Transcriber
from agent.providers import static_embeddings
from agent.providers.catalog import ANTHROPIC, ENDPOINTS, GEMINI, LIVE, OPENAI, REALTIME, Endpoint, Mode, ToolsForm
from agent.providers.faults import RetryPolicy
from agent.providers.rehearsal import RehearsalProvider
from agent.providers.wire import as_list, as_object, as_text, parse_json
from agent.texts import ASK_OPERATOR
from bot.access.acl import AccessRules, PlaceRule, Requester, may_use, rules_at
from bot.host import ModelMenu
from bot.models.forms import CheckedForms
from bot.setting_parsers import Secret
from bot.texts import reply_texts, setup_texts

# For each vendor a model that answers well at a fair price (November 2026).
DEFAULT_MODELS = {"openai": "gpt-6.1-terra", "anthropic": "claude-sonnet-5-5", "gemini": "gemini-3.8-flash"}

# The vendor of a model by the start of its name, for an error message about a missing provider.
FAMILIES = {
    **dict.fromkeys(("gpt", "chatgpt"), "openai"),
    "claude": "anthropic",
    "gemini": "gemini",
    "grok": "xai",
    "mistral": "mistral",
    "llama": "ollama",
}

# A server on this machine accepts a connection at once; without one, the start should not be delayed.
PROBE_TIMEOUT_S = 0.3
LIST_TIMEOUT_S = 5.0  # For the list of models of a server that accepts connections


@dataclass(frozen=True, slots=True)
class ModelSettings:
    """The settings for choosing and using models. An address is stored as its setting holds it."""

    model: str | None = None
    openai_api_key: Secret | None = None
    anthropic_api_key: Secret | None = None
    gemini_api_key: Secret | None = None
    openrouter_api_key: Secret | None = None
    mistral_api_key: Secret | None = None
    xai_api_key: Secret | None = None
    openai_base_url: str = "https://api.openai.com/v1"
    anthropic_base_url: str = "https://api.anthropic.com"
    gemini_base_url: str = "https://generativelanguage.googleapis.com"
    ollama_base_url: str = "http://localhost:11434"
    first_token_timeout_s: float = 180.0
    next_token_timeout_s: float = 60.0
    provider_retries: int = 2
    fallback_models: tuple[str, ...] = ()
    learning_model: str | None = None
    allowed_models: tuple[str, ...] = ()
    channel_models: Mapping[str, str] = field(default_factory=dict[str, str])
    person_models: Mapping[str, str] = field(default_factory=dict[str, str])
    mode: Mode = Mode.AUTO
    tools_form: ToolsForm = ToolsForm.AUTO

    def endpoint(self, name: str) -> Endpoint:
        """Return the service of that name, at the configured address."""
        addresses = {
            "openai": self.openai_base_url,
            "anthropic": self.anthropic_base_url,
            "gemini": self.gemini_base_url,
            "ollama": self.ollama_base_url,
            "openai-realtime": self.openai_base_url,
            "gemini-live": self.gemini_base_url,
        }
        endpoint = ENDPOINTS[name]
        return endpoint.at(addresses[name]) if name in addresses else endpoint

    def key(self, name: str) -> Secret | None:
        """Return the key for the service of that name. No service ever gets the key of another."""
        keys = {
            "openai": self.openai_api_key,
            "anthropic": self.anthropic_api_key,
            "gemini": self.gemini_api_key,
            "openrouter": self.openrouter_api_key,
            "mistral": self.mistral_api_key,
            "xai": self.xai_api_key,
            "openai-realtime": self.openai_api_key,
            "gemini-live": self.gemini_api_key,
        }
        return keys.get(name)


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
        return setup_texts.MODEL_LINE.format(name=self.name, why=self.why)


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


def choice_after(server: AskServer, models: Sequence[str] | None) -> ModelChoice:
    """Return the choice, given the models that the server listed (None: it did not). Pure. Raises SettingsError."""
    endpoint = server.endpoint
    if not server.required:
        if models:
            return ModelChoice(endpoint, models[0], None, f"a local Ollama answers at {endpoint.address}")
        return ModelChoice(None, "", None, setup_texts.nothing_configured(endpoint, answered=models is not None))
    if not models:
        problem = "lists no model" if models is not None else "does not list its models"
        raise SettingsError(
            setup_texts.NO_MODELS_SERVED.format(address=endpoint.address, setting=endpoint.url_setting, problem=problem)
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
    return choice_after(choice, models)


async def models_of(endpoint: Endpoint, key: Secret | None, limit_s: float = LIST_TIMEOUT_S) -> list[str] | None:
    """Return the models that a server lists, without embedding models; None if it refuses to list them.

    Raises ProviderUnavailable if the server does not answer in time, or answers with a server error.
    """
    body = await _listing(endpoint, key, limit_s)
    return None if body is None else read_models(body)


async def context_size(endpoint: Endpoint, model: str, key: Secret | None) -> int | None:
    """Return how many tokens the context of a model holds; None if its server does not say or does not answer."""
    try:
        body = await _listing(endpoint, key, LIST_TIMEOUT_S)
    except ProviderUnavailable:
        return None
    return None if body is None else read_context_size(body, model)


async def _listing(endpoint: Endpoint, key: Secret | None, limit_s: float) -> bytes | None:
    """Return the answer to GET /models, None if the server refuses it. Raises ProviderUnavailable as `models_of`."""
    away = ProviderUnavailable(setup_texts.MODELS_AWAY.format(address=endpoint.address, setting=endpoint.url_setting))
    if endpoint.is_local and not await _listens(endpoint):
        raise away
    from agent.providers.http_client import Http, TransportError, Untrusted  # noqa: PLC0415 -- see the module's docstring

    headers = {"authorization": f"Bearer {key.reveal()}"} if key else {}
    http = Http(proxies=not endpoint.is_local)
    try:
        async with asyncio.timeout(limit_s):
            async with http.request("GET", f"{endpoint.base_url}/models", headers) as reply:
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


# Where a server says how large a model's context is: vLLM and SGLang, LM Studio, OpenRouter, Groq.
_CONTEXT_FIELDS: Final = (
    *("max_model_len", "loaded_context_length", "max_context_length", "context_length", "context_window"),
)


def read_context_size(body: bytes, model: str) -> int | None:
    """Return the size of a model's context in an answer to GET /models, in tokens; None if it does not say. Pure."""
    listed = as_object(parse_json(body))
    entries = list(map(as_object, as_list(listed.get("data")) or as_list(listed.get("models"))))
    named = [entry for entry in entries if model in (entry.get("id"), entry.get("name"))] or entries[
        : len(entries) == 1
    ]
    for entry in named[:1]:
        # llama.cpp puts it under "meta".
        sizes = (as_object(entry.get("meta")).get("n_ctx"), *(entry.get(name) for name in _CONTEXT_FIELDS))
        return next((size for size in sizes if isinstance(size, int) and size > 0), None)
    return None


NO_FORMS: Final = CheckedForms()


def open_model(
    choice: ModelChoice,
    settings: ModelSettings,
    *,
    clock: Clock,
    chance: Callable[[], float],
    checked: CheckedForms = NO_FORMS,
) -> ClosableProvider:
    """Open the provider of a choice. `chance` returns numbers in [0, 1), for the jitter of retries. `checked`: what is
    known of the forms of models; a setting that names a form decides.
    """
    if choice.endpoint is None:
        return RehearsalProvider(sleep=clock.sleep)
    from agent.providers.factory import ProviderWorld, open_provider  # noqa: PLC0415 -- see the module's docstring
    from agent.providers.replay import ModelTimeouts  # noqa: PLC0415 -- see the module's docstring

    timeouts = ModelTimeouts(settings.first_token_timeout_s, settings.next_token_timeout_s)
    world = ProviderWorld(clock, chance, timeouts, RetryPolicy(settings.provider_retries))
    key = choice.key.reveal() if choice.key else None
    form = settings.tools_form
    form = checked.form(choice.endpoint, choice.model) if form is ToolsForm.AUTO else form
    return open_provider(choice.endpoint, choice.model, key, world, settings.mode, form)


def named_choice(spec: str, settings: ModelSettings, setting: str, why: str = "") -> ModelChoice:
    """Return the model that a setting or a person names. Pure. Raises SettingsError.

    No error repeats the value: it may be a key in the wrong setting.
    """
    why = why or f"{setting} says so"
    provider, colon, model = (part.strip() for part in spec.partition(":"))
    provider = provider.lower()
    if provider == "rehearsal" and not model:
        return ModelChoice(None, "", None, why)
    if provider not in ENDPOINTS:
        if vendor := next((family for prefix, family in FAMILIES.items() if provider.startswith(prefix)), None):
            raise SettingsError(setup_texts.NO_PROVIDER_NAMED.format(setting=setting, vendor=vendor))
        forms = ", ".join(f"{name}:<model>" for name in ENDPOINTS)
        raise SettingsError(setup_texts.UNKNOWN_PROVIDER.format(setting=setting, forms=forms))
    if not model:
        example = DEFAULT_MODELS.get(provider, "llama3.2")
        raise SettingsError(setup_texts.NO_MODEL_NAMED.format(setting=setting, provider=provider, example=example))
    endpoint, key = settings.endpoint(provider), settings.key(provider)
    if endpoint.key_required and key is None:
        raise SettingsError(
            setup_texts.KEY_MISSING.format(key=endpoint.key_setting, setting=setting, provider=provider, colon=colon)
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


# The model for embeddings. The HTTP client is imported only where the settings name one.

EMBEDDINGS_SETTING: Final = "COGENCY_EMBEDDINGS"
# They offer neither embeddings nor transcription in OpenAI's form at their addresses.
_WITHOUT: Final = frozenset({ANTHROPIC.name, GEMINI.name, LIVE.name, REALTIME.name})


class OpenEmbedder(Embedder, Protocol):
    @property
    def is_local(self) -> bool:
        """Whether the model runs on this machine."""
        ...

    async def aclose(self) -> None:
        """Close every connection."""
        ...


def open_embedder(
    spec: str, settings: ModelSettings, has_static: Callable[[], bool] = static_embeddings.is_installed
) -> OpenEmbedder:
    """Return an embedder that connects, or reads its weights, at its first use. Raises SettingsError."""
    provider, _, model = (part.strip().lower() for part in spec.partition(":"))
    if provider == static_embeddings.PROVIDER:
        if model != static_embeddings.MODEL:
            raise SettingsError(setup_texts.NO_STATIC_EMBEDDINGS)
        if not has_static():
            raise SettingsError(setup_texts.STATIC_EMBEDDINGS_MISSING)
        return static_embeddings.StaticEmbedder()
    if provider in _WITHOUT:  # a key would not help
        raise SettingsError(setup_texts.NO_EMBEDDINGS)
    choice = named_choice(spec, settings, EMBEDDINGS_SETTING)
    if choice.endpoint is None:
        raise SettingsError(setup_texts.NO_EMBEDDINGS)
    from agent.providers.openai_services import HttpEmbedder  # noqa: PLC0415 -- see the module's docstring

    return HttpEmbedder(choice.endpoint, choice.model, choice.key.reveal() if choice.key else None)


# The model for speech. The HTTP client is imported only where the settings name one.

TRANSCRIPTION_SETTING: Final = "COGENCY_TRANSCRIPTION"


class OpenTranscriber(Transcriber, Protocol):
    async def aclose(self) -> None:
        """Close every connection."""
        ...


def open_transcriber(spec: str, settings: ModelSettings) -> OpenTranscriber:
    """Return a transcriber that connects at its first use. Raises SettingsError."""
    if spec.partition(":")[0].strip().lower() in _WITHOUT:  # a key would not help
        raise SettingsError(setup_texts.NO_TRANSCRIPTION)
    choice = named_choice(spec, settings, TRANSCRIPTION_SETTING)
    if choice.endpoint is None:
        raise SettingsError(setup_texts.NO_TRANSCRIPTION)
    from agent.providers.openai_services import HttpTranscriber  # noqa: PLC0415 -- see the module's docstring

    return HttpTranscriber(choice.endpoint, choice.model, choice.key.reveal() if choice.key else None)


# Which model answers a person: the default model, those set for channels and people, and those chosen with /model.
#
# Order: the person's choice, if it is allowed; the operator's choice for the person; that of the channel's managers;
# the operator's choice for the channel; the default model. Each is followed by the fallback models. A running turn
# keeps its model; the next question gets the new one. Each provider stays open until the process ends.


COMMAND = "/model"  # Named in errors instead of a setting, where a person gave the name


@dataclass(frozen=True, slots=True)
class LearningModel:
    """`is_local`: it runs on this machine, and answers may need it, too. `can_learn`: False for a rehearsal."""

    provider: Provider
    is_local: bool = False
    can_learn: bool = True


@dataclass(frozen=True, slots=True)
class PlaceModels:
    """The models of a channel's rules, as far as the operator's settings and the asker's roles allow them. `allowed`:
    the models that may answer there, () for all. `preferred`: the one that answers there by default, "" for the default
    model.
    """

    allowed: tuple[str, ...] = ()
    preferred: str = ""


class ModelSwitch:
    """Opens models and finds the one for a person and a channel. Models are named as in COGENCY_MODEL,
    "provider:model". Create it with `open`.
    """

    def __init__(self, settings: ModelSettings, choice: ModelChoice, clock: Clock, chance: Callable[[], float]) -> None:
        self._settings = settings
        self._clock = clock
        self._chance = chance
        self._choice = choice
        self._checked = NO_FORMS
        self._opened: dict[str, ClosableProvider] = {}
        self._providers: dict[str, Provider] = {}
        self._fallbacks = self._choices("COGENCY_FALLBACK_MODELS", *settings.fallback_models)
        self._allowed = self._choices("COGENCY_ALLOWED_MODELS", *settings.allowed_models)
        self._channels = self._choices_by_id("COGENCY_CHANNEL_MODELS", settings.channel_models.items())
        self._people = self._choices_by_id("COGENCY_PERSON_MODELS", settings.person_models.items())
        self._learning = (
            self._choices("COGENCY_LEARNING_MODEL", settings.learning_model) if settings.learning_model else []
        )

    @classmethod
    async def open(cls, settings: ModelSettings, clock: Clock, chance: Callable[[], float]) -> Self:
        """Choose the default model. Raises SettingsError if any setting names a model that cannot be used."""
        return cls(settings, await choose_model(settings), clock, chance)

    @property
    def provider(self) -> Provider:
        """The default model's provider."""
        return self._provider_of(self._choice)

    @property
    def name(self) -> str:
        """The default model's name."""
        return self._choice.name

    @property
    def choice(self) -> ModelChoice:
        """The default model."""
        return self._choice

    @property
    def is_rehearsal(self) -> bool:
        """Whether the default model is the rehearsal."""
        return self._choice.endpoint is None

    def learning_model(self) -> LearningModel:
        """Return the model for learning and summaries."""
        choice = self._learning[0] if self._learning else self._choice
        is_local = choice.endpoint is not None and choice.endpoint.is_local
        return LearningModel(self._provider_of(choice), is_local, can_learn=choice.endpoint is not None)

    @property
    def sentence(self) -> str:
        """The default model, the reason for the choice, and its provider's warning."""
        provider = self._open(self._choice)
        warning = provider.warning if isinstance(provider, WarningProvider) else ""
        return f"{self._choice.line}. {warning}" if warning else self._choice.line

    @property
    def allowed(self) -> tuple[str, ...]:
        """The models that people may choose, the default one first; empty if there is no choice."""
        names = dict.fromkeys([self._choice.name, *(choice.name for choice in self._allowed)])
        return tuple(names) if self._allowed else ()

    def provider_for(self, person: str, channel: str, chosen: str = "", place: "PlaceModels | None" = None) -> Provider:
        """Return the provider for this person in this channel. `chosen`: their earlier choice, allowed or not."""
        return self._provider_of(self.choice_for(person, channel, chosen, place))

    def choice_for(
        self, person: str, channel: str, chosen: str = "", place: "PlaceModels | None" = None
    ) -> ModelChoice:
        allowed, preferred = (place.allowed, place.preferred) if place is not None else ((), "")
        if chosen in self.allowed and (not allowed or chosen in allowed):
            return self._among_allowed(chosen, reply_texts.MODEL_CHOSEN)
        of_person = self._people.get(person.rpartition(":")[2])
        if of_person is not None and (not allowed or of_person.name in allowed):
            return replace(of_person, why=reply_texts.MODEL_FOR_PERSON)
        if preferred:
            return self._among_allowed(preferred, reply_texts.MODEL_FOR_PLACE)
        of_channel = self._channels.get(channel)
        if of_channel is not None and (not allowed or of_channel.name in allowed):
            return replace(of_channel, why=reply_texts.MODEL_FOR_CHANNEL)
        if allowed and self._choice.name not in allowed:
            return self._among_allowed(allowed[0], reply_texts.MODEL_FOR_PLACE)
        # Only the log and operators see the setting that named the model, and its address.
        by_setting = self._choice.why != reply_texts.MODEL_CHOSEN
        return replace(self._choice, why=reply_texts.MODEL_AS_USUAL) if by_setting else self._choice

    def _among_allowed(self, name: str, why: str) -> ModelChoice:
        return replace(next((choice for choice in self._allowed if choice.name == name), self._choice), why=why)

    async def choose(self, name: str) -> None:
        """Make that model the default one, from the next question on. Raises SettingsError."""
        choice = named_choice(name, self._settings, COMMAND)
        self._provider_of(choice)
        self._choice = replace(choice, why=reply_texts.MODEL_CHOSEN)

    async def forget_handles(self, model: str, handles: Sequence[str]) -> Sequence[str]:
        """Delete these handles at the model's vendor; return those that may still exist. Raises SettingsError."""
        provider = self._opened.get(model) or self._open(named_choice(model, self._settings, "COGENCY_MODEL"))
        return await provider.forget_handles(handles) if isinstance(provider, KeepingProvider) else ()

    async def follow(self, checked: CheckedForms) -> None:
        """Use what checks of models found, from the next call of a model on. To be called before the first question."""
        self._checked = checked
        opened, self._opened, self._providers = self._opened, {}, {}
        for provider in opened.values():
            await provider.aclose()

    async def aclose(self) -> None:
        for provider in self._opened.values():
            await provider.aclose()

    def _provider_of(self, choice: ModelChoice) -> Provider:
        if choice.name not in self._providers:
            others = [other for other in self._fallbacks if other.name != choice.name]
            providers = [self._open(candidate) for candidate in (choice, *others)]
            self._providers[choice.name] = self._with_fallbacks(providers) if others else providers[0]
        return self._providers[choice.name]

    def _with_fallbacks(self, providers: Sequence[Provider]) -> Provider:
        from agent.providers.factory import FallbackProvider  # noqa: PLC0415 -- see the module's docstring

        return FallbackProvider(providers, self._clock)

    def _open(self, choice: ModelChoice) -> ClosableProvider:
        if choice.name not in self._opened:
            self._opened[choice.name] = open_model(
                choice, self._settings, clock=self._clock, chance=self._chance, checked=self._checked
            )
        return self._opened[choice.name]

    def _choices(self, setting: str, *names: str) -> list[ModelChoice]:
        return [named_choice(name, self._settings, setting) for name in names]

    def _choices_by_id(self, setting: str, entries: Iterable[tuple[str, str]]) -> dict[str, ModelChoice]:
        return {id_: named_choice(name, self._settings, setting) for id_, name in entries}


def check_allowed(switch: ModelSwitch, name: str) -> None:
    """Raise SettingsError, with the allowed names, if this model may not be chosen."""
    if name not in switch.allowed:
        raise SettingsError(reply_texts.model_not_allowed(switch.allowed))


# Showing and choosing the model that answers a person. The choice is stored in the person's preferences.

MODEL = "model"  # The preference's name


@dataclass(frozen=True, slots=True)
class ModelDesk:
    switch: ModelSwitch
    preferences: Preferences
    access: AccessRules = field(default_factory=AccessRules)
    """Decides which models a person may choose; for a choice that is not allowed, the default model answers."""

    async def provider(self, incoming: Incoming) -> Provider:
        """Return the provider for this message: the model chosen for it alone, if the person may still choose that."""
        who, requested = Requester.wrote(incoming), incoming.model
        chosen, place = await asyncio.gather(self._chosen(who), self._place_models(who))
        selected = requested if requested in self._available(who, place) else chosen
        return self.switch.provider_for(who.person, who.channel, selected, place)

    async def menu(self, who: Requester) -> ModelMenu:
        place = await self._place_models(who)
        choice = self.switch.choice_for(who.person, who.channel, await self._chosen(who), place)
        return ModelMenu(choice.name, choice.why, self._available(who, place))

    async def choose(self, who: Requester, name: str) -> None:
        """Set the person's model from the next question on; "" restores the default. Raises SettingsError."""
        if name:
            check_allowed(self.switch, name)
            available = self._available(who, await self._place_models(who))
            if name not in available:
                raise SettingsError(reply_texts.MODEL_NOT_OPEN.format(names=", ".join(available)))
        await self.preferences.set(who.person, MODEL, name or None)

    def for_everybody(self) -> tuple[str, ...]:
        """Return the models that everybody may choose."""
        return self._available(Requester(""))

    async def _chosen(self, who: Requester) -> str:
        chosen = (await self.preferences.all_of(who.person)).get(MODEL, "")
        return chosen if may_use(self.access, chosen, who) else ""

    async def _place_models(self, who: Requester) -> PlaceModels:
        rules = await rules_at(self.preferences, who.channel)
        available = self._available(who)
        allowed = tuple(name for name in rules.models if name in available)
        preferred = rules.text(PlaceRule.MODEL)
        return PlaceModels(allowed, preferred if preferred in (allowed or available) else "")

    def _available(self, who: Requester, place: PlaceModels | None = None) -> tuple[str, ...]:
        usual, *others = self.switch.allowed or ("",)
        names = [name for name in (usual, *others) if name and (name == usual or may_use(self.access, name, who))]
        return tuple(name for name in names if place is None or not place.allowed or name in place.allowed)
