"""Which model answers: the choice, and the providers that come of it.

`COGENCY_MODEL` decides: "rehearsal", or "provider:model" with a provider of the catalogue. Without it: the server at
`OPENAI_BASE_URL` if that was moved, else the first vendor whose key is set, else a local Ollama that answers, else
rehearsal. The HTTP client is imported when a server is talked to, not before: a rehearsal starts without it.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Final, Protocol, Self, TypeAlias

from agent.errors import ProviderUnavailable, SettingsError
from agent.ports import Clock, Embedder, KeepingProvider, Preferences, Provider, Transcriber, WarningProvider
from agent.providers import static_embeddings
from agent.providers.catalog import ANTHROPIC, ENDPOINTS, GEMINI, LIVE, OPENAI, REALTIME, Endpoint, Mode, ToolsForm
from agent.providers.faults import RetryPolicy
from agent.providers.rehearsal import RehearsalProvider
from agent.providers.wire import as_list, as_object, as_text, parse_json
from agent.records import Incoming
from bot.access.acl import AccessRules, PlaceRule, Requester, may_use, rules_at
from bot.host import ModelMenu
from bot.setting_parsers import Secret
from bot.texts import reply_texts, setup_texts

# Of each vendor the one that answers well at a fair price (November 2026).
DEFAULT_MODELS = {"openai": "gpt-6.1-terra", "anthropic": "claude-sonnet-5-5", "gemini": "gemini-3.8-flash"}

# Whose a model is by how its name begins, for somebody who named no provider.
FAMILIES = {
    **dict.fromkeys(("gpt", "chatgpt"), "openai"),
    "claude": "anthropic",
    "gemini": "gemini",
    "grok": "xai",
    "mistral": "mistral",
    "llama": "ollama",
}

# A server on this machine accepts a connection at once; where nobody listens, the person should not wait.
PROBE_TIMEOUT_S = 0.3
LIST_TIMEOUT_S = 5.0  # For the list of models, once somebody listens


@dataclass(frozen=True, slots=True)
class ModelSettings:
    """The settings that the choice and the use of a model need. An address is what its setting holds."""

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
        """The service of that name, at its address."""
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
        """The key for the service of that name. No service ever gets the key of another."""
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
        """What `COGENCY_MODEL` would say."""
        return f"{self.endpoint.name}:{self.model}" if self.endpoint else "rehearsal"

    @property
    def line(self) -> str:
        """For the start: "Model: ollama:llama3.2 — a local Ollama answers at http://localhost:11434"."""
        return setup_texts.MODEL_LINE.format(name=self.name, why=self.why)


@dataclass(frozen=True, slots=True)
class AskServer:
    """The choice depends on what this server serves. `required`: the person named it, so it must serve something."""

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
    """What the settings alone decide. Pure. Raises SettingsError with the setting and the remedy."""
    if settings.model:
        return named_choice(settings.model, settings, "COGENCY_MODEL")
    server = settings.endpoint("openai")
    if server != OPENAI:
        return AskServer(server, settings.openai_api_key, required=True)
    for endpoint in (OPENAI, ANTHROPIC, GEMINI):
        if key := settings.key(endpoint.name):
            why = f"{endpoint.key_setting} is set"
            return ModelChoice(settings.endpoint(endpoint.name), DEFAULT_MODELS[endpoint.name], key, why)
    return AskServer(settings.endpoint("ollama"), None, required=False)


def choice_after(asked: AskServer, models: Sequence[str] | None) -> ModelChoice:
    """The choice, now that the server has listed its models (None: it did not). Pure. Raises SettingsError."""
    endpoint = asked.endpoint
    if not asked.required:
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
    return ModelChoice(endpoint, model, asked.key, f"{endpoint.url_setting} is {endpoint.address}{others}")


async def choose_model(settings: ModelSettings, list_models: ListModels | None = None) -> ModelChoice:
    """The whole choice. Asks a server only where the settings leave it open.

    Raises SettingsError; and ProviderUnavailable where the server that was named does not answer now.
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
    """The models that a server lists, without those that only embed; None if it lists none. Raises ProviderUnavailable
    if it does not answer in time, or says that it cannot now.
    """
    away = ProviderUnavailable(setup_texts.MODELS_AWAY.format(address=endpoint.address, setting=endpoint.url_setting))
    if endpoint.is_local and not await _listens(endpoint):
        raise away
    from agent.providers.http_client import Http, TransportError  # noqa: PLC0415 -- see the module's docstring

    headers = {"authorization": f"Bearer {key.reveal()}"} if key else {}
    http = Http(proxies=not endpoint.is_local)
    try:
        async with asyncio.timeout(limit_s):
            async with http.request("GET", f"{endpoint.base_url}/models", headers) as reply:
                if reply.status >= 500:
                    raise away
                return read_models(await reply.read()) if reply.status == 200 else None
    except (TransportError, TimeoutError) as error:
        raise away from error
    finally:
        await http.aclose()


def read_models(body: bytes) -> list[str]:
    """The ids in an answer to GET /models, in its order. Pure."""
    listed = as_object(parse_json(body))
    entries = map(as_object, as_list(listed.get("data")) or as_list(listed.get("models")))
    ids = (as_text(entry.get("id")) or as_text(entry.get("name")) for entry in entries)
    return [id_ for id_ in ids if id_ and "embed" not in id_]


def open_model(
    choice: ModelChoice, settings: ModelSettings, *, clock: Clock, chance: Callable[[], float]
) -> ClosableProvider:
    """The provider of the choice. `chance` gives numbers in [0, 1), for the jitter of retries."""
    if choice.endpoint is None:
        return RehearsalProvider(sleep=clock.sleep)
    from agent.providers.factory import ProviderWorld, open_provider  # noqa: PLC0415 -- see the module's docstring
    from agent.providers.replay import ModelTimeouts  # noqa: PLC0415 -- as above

    patience = ModelTimeouts(settings.first_token_timeout_s, settings.next_token_timeout_s)
    line = ProviderWorld(clock, chance, patience, RetryPolicy(settings.provider_retries))
    key = choice.key.reveal() if choice.key else None
    return open_provider(choice.endpoint, choice.model, key, line, settings.mode, settings.tools_form)


def named_choice(spec: str, settings: ModelSettings, setting: str, why: str = "") -> ModelChoice:
    """The model that a setting (or a person) names. Pure. Raises SettingsError.

    No error repeats the value: it may be a key in the wrong place.
    """
    why = why or f"{setting} says so"
    provider, colon, model = (part.strip() for part in spec.partition(":"))
    provider = provider.lower()
    if provider == "rehearsal" and not model:
        return ModelChoice(None, "", None, why)
    if provider not in ENDPOINTS:
        if vendor := next((whose for begins, whose in FAMILIES.items() if provider.startswith(begins)), None):
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


# The model for embeddings that the settings name.
#
# The HTTP client is imported only where a model is named.

EMBEDDINGS_SETTING: Final = "COGENCY_EMBEDDINGS"
# They offer no embeddings in OpenAI's form at these addresses.
_WITHOUT: Final = frozenset({ANTHROPIC.name, GEMINI.name, LIVE.name, REALTIME.name})


class OpenEmbedder(Embedder, Protocol):
    @property
    def is_local(self) -> bool:
        """Whether it runs on this machine."""
        ...

    async def aclose(self) -> None:
        """Close every connection."""
        ...


def open_embedder(
    spec: str, settings: ModelSettings, has_static: Callable[[], bool] = static_embeddings.is_installed
) -> OpenEmbedder:
    """Connects, or reads its weights, when it is first used. Raises SettingsError."""
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


# The model for speech that the settings name.
#
# The HTTP client is imported only where a model is named.

TRANSCRIPTION_SETTING: Final = "COGENCY_TRANSCRIPTION"  # They take no speech in OpenAI's form at these addresses


class OpenTranscriber(Transcriber, Protocol):
    async def aclose(self) -> None:
        """Close every connection."""
        ...


def open_transcriber(spec: str, settings: ModelSettings) -> OpenTranscriber:
    """Connects when it is first used. Raises SettingsError."""
    if spec.partition(":")[0].strip().lower() in _WITHOUT:  # a key would not help
        raise SettingsError(setup_texts.NO_TRANSCRIPTION)
    choice = named_choice(spec, settings, TRANSCRIPTION_SETTING)
    if choice.endpoint is None:
        raise SettingsError(setup_texts.NO_TRANSCRIPTION)
    from agent.providers.openai_services import HttpTranscriber  # noqa: PLC0415 -- see the module's docstring

    return HttpTranscriber(choice.endpoint, choice.model, choice.key.reveal() if choice.key else None)


# Which model answers whom: the usual one, those of channels and people, and what somebody chose with /model.
#
# Order: what the person chose, if it is allowed; the operator's choice for the person; for the channel; the usual one.
# Behind each stand the fallback models. A turn that runs keeps its model; the next question gets the new one. Every
# provider stays open until the end.


COMMAND = "/model"  # What a wrong name is blamed on: whoever wrote it has set nothing


@dataclass(frozen=True, slots=True)
class LearningModel:
    """`is_local`: it runs on this machine, where answers need it, too. `can_learn`: a rehearsal cannot."""

    provider: Provider
    is_local: bool = False
    can_learn: bool = True


@dataclass(frozen=True, slots=True)
class PlaceModels:
    """What was chosen for a channel, as far as the operator's settings and its asker's roles allow it. `only`: the
    models that answer there, () for all; `first`: the one that does where nobody chose another, "" for the usual one.
    """

    only: tuple[str, ...] = ()
    first: str = ""


class ModelSwitch:
    """Made by `open`. Names of models are as in COGENCY_MODEL, "provider:model"."""

    def __init__(self, settings: ModelSettings, choice: ModelChoice, clock: Clock, chance: Callable[[], float]) -> None:
        self._settings = settings
        self._clock = clock
        self._chance = chance
        self._choice = choice
        self._opened: dict[str, ClosableProvider] = {}
        self._rows: dict[str, Provider] = {}
        self._fallbacks = self._named("COGENCY_FALLBACK_MODELS", *settings.fallback_models)
        self._allowed = self._named("COGENCY_ALLOWED_MODELS", *settings.allowed_models)
        self._channels = self._by_id("COGENCY_CHANNEL_MODELS", settings.channel_models.items())
        self._people = self._by_id("COGENCY_PERSON_MODELS", settings.person_models.items())
        self._learning = (
            self._named("COGENCY_LEARNING_MODEL", settings.learning_model) if settings.learning_model else []
        )

    @classmethod
    async def open(cls, settings: ModelSettings, clock: Clock, chance: Callable[[], float]) -> Self:
        """Raises SettingsError if the settings name no usable model, or name one wrongly anywhere."""
        return cls(settings, await choose_model(settings), clock, chance)

    @property
    def provider(self) -> Provider:
        """The usual model."""
        return self._row(self._choice)

    @property
    def name(self) -> str:
        """The usual model's."""
        return self._choice.name

    @property
    def is_rehearsal(self) -> bool:
        """Whether no real model answers."""
        return self._choice.endpoint is None

    def learning_model(self) -> LearningModel:
        """The model for work in the background."""
        choice = self._learning[0] if self._learning else self._choice
        is_local = choice.endpoint is not None and choice.endpoint.is_local
        return LearningModel(self._row(choice), is_local, can_learn=choice.endpoint is not None)

    @property
    def sentence(self) -> str:
        """Which model answers, why, and what its provider warns of."""
        provider = self._open(self._choice)
        warning = provider.warning if isinstance(provider, WarningProvider) else ""
        return f"{self._choice.line}. {warning}" if warning else self._choice.line

    @property
    def allowed(self) -> tuple[str, ...]:
        """Among which people may choose, the usual one first; empty if there is no choice."""
        names = dict.fromkeys([self._choice.name, *(choice.name for choice in self._allowed)])
        return tuple(names) if self._allowed else ()

    def provider_for(self, person: str, channel: str, chosen: str = "", here: "PlaceModels | None" = None) -> Provider:
        """The model that answers this person there. `chosen` is what they chose earlier, allowed or not."""
        return self._row(self.choice_for(person, channel, chosen, here))

    def choice_for(self, person: str, channel: str, chosen: str = "", here: "PlaceModels | None" = None) -> ModelChoice:
        only, first = (here.only, here.first) if here is not None else ((), "")
        if chosen in self.allowed and (not only or chosen in only):
            return self._among_allowed(chosen, reply_texts.MODEL_CHOSEN)
        own = self._people.get(person.rpartition(":")[2])
        if own is not None and (not only or own.name in only):
            return replace(own, why=reply_texts.MODEL_FOR_PERSON)
        if first:
            return self._among_allowed(first, reply_texts.MODEL_FOR_PLACE)
        of_channel = self._channels.get(channel)
        if of_channel is not None and (not only or of_channel.name in only):
            return replace(of_channel, why=reply_texts.MODEL_FOR_CHANNEL)
        if only and self._choice.name not in only:
            return self._among_allowed(only[0], reply_texts.MODEL_FOR_PLACE)
        # Which setting it comes from, and at which address it is, is for the log and for operators.
        by_setting = self._choice.why != reply_texts.MODEL_CHOSEN
        return replace(self._choice, why=reply_texts.MODEL_AS_USUAL) if by_setting else self._choice

    def _among_allowed(self, name: str, why: str) -> ModelChoice:
        return replace(next((choice for choice in self._allowed if choice.name == name), self._choice), why=why)

    async def choose(self, name: str) -> None:
        """Make that model the usual one, from the next question on. Raises SettingsError."""
        choice = named_choice(name, self._settings, COMMAND)
        self._row(choice)
        self._choice = replace(choice, why=reply_texts.MODEL_CHOSEN)

    async def forget_handles(self, model: str, handles: Sequence[str]) -> Sequence[str]:
        """Have that model's vendor delete what it keeps; what may still be there. Raises SettingsError."""
        provider = self._opened.get(model) or self._open(named_choice(model, self._settings, "COGENCY_MODEL"))
        return await provider.forget_handles(handles) if isinstance(provider, KeepingProvider) else ()

    async def aclose(self) -> None:
        for provider in self._opened.values():
            await provider.aclose()

    def _row(self, choice: ModelChoice) -> Provider:
        if choice.name not in self._rows:
            others = [other for other in self._fallbacks if other.name != choice.name]
            providers = [self._open(one) for one in (choice, *others)]
            self._rows[choice.name] = self._with_fallbacks(providers) if others else providers[0]
        return self._rows[choice.name]

    def _with_fallbacks(self, providers: Sequence[Provider]) -> Provider:
        from agent.providers.factory import FallbackProvider  # noqa: PLC0415 -- see the module's docstring

        return FallbackProvider(providers, self._clock)

    def _open(self, choice: ModelChoice) -> ClosableProvider:
        if choice.name not in self._opened:
            self._opened[choice.name] = open_model(choice, self._settings, clock=self._clock, chance=self._chance)
        return self._opened[choice.name]

    def _named(self, setting: str, *names: str) -> list[ModelChoice]:
        return [named_choice(name, self._settings, setting) for name in names]

    def _by_id(self, setting: str, entries: Iterable[tuple[str, str]]) -> dict[str, ModelChoice]:
        return {id_: named_choice(name, self._settings, setting) for id_, name in entries}


def check_allowed(switch: ModelSwitch, name: str) -> None:
    """Raises SettingsError with the names that are allowed."""
    if name not in switch.allowed:
        raise SettingsError(reply_texts.model_not_allowed(switch.allowed))


# What people may know and decide about the model that answers them; their choice is kept among their preferences.

MODEL = "model"  # The preference's name


@dataclass(frozen=True, slots=True)
class ModelDesk:
    switch: ModelSwitch
    preferences: Preferences
    access: AccessRules = field(default_factory=AccessRules)
    """Who may choose which; where a choice is not theirs to make, the usual model answers."""

    async def provider(self, incoming: Incoming) -> Provider:
        """Who answers this message: the model that was chosen for it alone, if that is open to them still."""
        who, asked = Requester.wrote(incoming), incoming.model
        chosen, here = await asyncio.gather(self._chosen(who), self._chosen_here(who))
        own = asked if asked in self._open_to(who, here) else chosen
        return self.switch.provider_for(who.person, who.channel, own, here)

    async def menu(self, who: Requester) -> ModelMenu:
        here = await self._chosen_here(who)
        choice = self.switch.choice_for(who.person, who.channel, await self._chosen(who), here)
        return ModelMenu(choice.name, choice.why, self._open_to(who, here))

    async def choose(self, who: Requester, name: str) -> None:
        """That model from now on; "" goes back to the usual one. Raises SettingsError."""
        if name:
            check_allowed(self.switch, name)
            open_ = self._open_to(who, await self._chosen_here(who))
            if name not in open_:
                raise SettingsError(reply_texts.MODEL_NOT_OPEN.format(names=", ".join(open_)))
        await self.preferences.set(who.person, MODEL, name or None)

    def for_everybody(self) -> tuple[str, ...]:
        """Among which everybody may choose."""
        return self._open_to(Requester(""))

    async def _chosen(self, who: Requester) -> str:
        chosen = (await self.preferences.of(who.person)).get(MODEL, "")
        return chosen if may_use(self.access, chosen, who) else ""

    async def _chosen_here(self, who: Requester) -> PlaceModels:
        rules = await rules_at(self.preferences, who.channel)
        open_ = self._open_to(who)
        only = tuple(name for name in rules.models if name in open_)
        first = rules.text(PlaceRule.MODEL)
        return PlaceModels(only, first if first in (only or open_) else "")

    def _open_to(self, who: Requester, here: PlaceModels | None = None) -> tuple[str, ...]:
        usual, *others = self.switch.allowed or ("",)
        open_ = [name for name in (usual, *others) if name and (name == usual or may_use(self.access, name, who))]
        return tuple(name for name in open_ if here is None or not here.only or name in here.only)
