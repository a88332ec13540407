"""The model of a conversation and of a place, and how people change it."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from math import inf
from typing import TYPE_CHECKING, Final, Self

from agent.errors import Refused, SettingsError
from agent.ports.clock import Clock
from agent.ports.model import KeepingProvider, Provider, SizedProvider, WarningProvider
from agent.providers.catalog import ToolsForm
from bot.chat.learning_model import LearningModel
from bot.chat.texts import replies as reply_texts
from bot.models import texts as models_texts
from bot.models.choice import (
    NO_FORMS,
    ClosableProvider,
    KeyRings,
    ModelChoice,
    choose_model,
    context_size,
    named_choice,
    open_model,
)
from bot.models.forms import CheckedForms
from bot.models.own_keys import NO_KEYS, KeysOfPlace, OwnKeyRings, PaidByPlace, UnreadableKey
from bot.models.settings import ModelSettings

if TYPE_CHECKING:
    from agent.providers.key_pool import KeyRing

# Which model answers a person: the default model, those set for channels and people, and those chosen with /model.
#
# Order: the person's choice, if it is allowed; the operator's choice for the person; that of the channel's managers;
# the operator's choice for the channel; the default model. Each is followed by the fallback models. A running turn
# keeps its model; the next question gets the new one. Each provider stays open until the process ends.


COMMAND = "/model"  # Named in errors instead of a setting, where a person gave the name

# How often an operator's own server is asked for the size of a model's context: it may be started again with another.
SIZE_HOLDS_S = 300.0
NO_SIZE_HOLDS_S = 30.0  # Ollama says it once the model is loaded
SIZE_TIMEOUT_S = 1.0  # It answers at once, or the question does not wait for it


@dataclass(frozen=True, slots=True)
class PlaceModels:
    """The models of a channel's rules, as far as the operator's settings and the asker's roles allow them. `allowed`:
    the models that may answer there, None for all; () if none of those that its managers allow is left. `preferred`:
    the one that answers there by default, "" for the default model.
    """

    allowed: tuple[str, ...] | None = None
    preferred: str = ""

    def allows(self, name: str) -> bool:
        return self.allowed is None or name in self.allowed


EVERY_MODEL: Final = PlaceModels()


@dataclass(frozen=True, slots=True)
class ModelCriteria:
    """What decides which model answers a person in a channel. `person`: "slack:T1:U1". `chosen`: their earlier choice,
    allowed or not, "" if there is none. `keys`: those that the channel has of its own.
    """

    person: str
    channel: str
    chosen: str = ""
    place: PlaceModels = EVERY_MODEL
    keys: KeysOfPlace = NO_KEYS


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
        self.rings = KeyRings(clock)
        """What is known of the keys, also for models of other kinds at the same services."""
        self._places: dict[str, _ModelsOfPlace] = {}
        self._replaced: list[_ModelsOfPlace] = []  # Turns that run may use them, and keys may come back
        self._sized_until: dict[str, float] = {}
        self._opened: dict[str, ClosableProvider] = {}
        self._providers: dict[tuple[str, ...], Provider] = {}  # By the names of the model and its fallbacks
        self._wrap: Callable[[Provider], Provider] | None = None
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

    def learning_model(self, keys: KeysOfPlace = NO_KEYS) -> LearningModel:
        """Return the model for learning and summaries. `keys`: of the place that it is about."""
        choice = self._learning[0] if self._learning else self._choice
        is_local = choice.endpoint is not None and choice.endpoint.is_local
        provider = self._provider_of(choice, EVERY_MODEL, keys)
        return LearningModel(provider, is_local, can_learn=choice.endpoint is not None)

    def own_ring(self, choice: ModelChoice, keys: KeysOfPlace) -> "KeyRing | None":
        """Return the place's own key for a model of another kind; None if the operator's keys are used there."""
        return None if keys.of(choice.endpoint) is None else self._models_of(keys).rings.of(choice)

    @property
    def sentence(self) -> str:
        """The default model, the reason for the choice, and its provider's warning."""
        provider = self._open(self._choice)
        warning = provider.warning if isinstance(provider, WarningProvider) else ""
        return f"{self._choice.line}. {warning}" if warning else self._choice.line

    @property
    def in_use(self) -> tuple[ModelChoice, ...]:
        """Every model that may be asked, the default one first."""
        chosen = (*self._channels.values(), *self._people.values())
        every = (self._choice, *self._fallbacks, *self._learning, *self._allowed, *chosen)
        return tuple({choice.name: choice for choice in every}.values())

    @property
    def keys_set_aside(self) -> list[str]:
        """A sentence for each key that this process does not use now, because its service refuses it."""
        return self.rings.set_aside()

    @property
    def advice(self) -> str:
        """What the operator can do for the default model at their own server, of which no check has compared the forms
        of tools; "" if there is nothing to do.
        """
        endpoint, model = self._choice.endpoint, self._choice.model
        is_open = (
            self._settings.tools_form is ToolsForm.AUTO
            and endpoint is not None
            and endpoint.is_self_hosted
            and endpoint.offers_forms(model)
            and not self._checked.are_compared(endpoint, model)
        )
        return models_texts.FORMS_UNCHECKED if is_open else ""

    @property
    def allowed(self) -> tuple[str, ...]:
        """The models that people may choose, the default one first; empty if there is no choice."""
        names = dict.fromkeys([self._choice.name, *(choice.name for choice in self._allowed)])
        return tuple(names) if self._allowed else ()

    def provider_for(self, criteria: ModelCriteria) -> Provider:
        """Return the provider for this person in this channel. Raises Refused if no model may answer them there."""
        return self._provider_of(self.choice_for(criteria), criteria.place, criteria.keys)

    async def sized_provider_for(self, criteria: ModelCriteria) -> Provider:
        """The same; a model at the operator's own server knows how large its context is, if the server says so, and one
        of a cloud, which has models of all sizes, if the table of prices does.
        """
        choice = self.choice_for(criteria)
        provider, now = self._open(choice), self._clock.monotonic()
        is_due = now >= self._sized_until.get(choice.name, -inf)
        if (
            is_due
            and isinstance(provider, SizedProvider)
            and choice.endpoint is not None
            and (choice.endpoint.is_self_hosted or choice.endpoint.identity)
        ):
            self._sized_until[choice.name] = now + SIZE_HOLDS_S
            size = await context_size(choice.endpoint, choice.model, choice.key, SIZE_TIMEOUT_S)
            if size is None:
                self._sized_until[choice.name] = now + NO_SIZE_HOLDS_S
            provider.context_tokens = size or provider.context_tokens
        return self._provider_of(choice, criteria.place, criteria.keys)

    def choice_for(self, criteria: ModelCriteria) -> ModelChoice:
        """Return the model for this person in this channel. Raises Refused if none may answer them there."""
        place, chosen = criteria.place, criteria.chosen
        if place.allowed == ():
            raise Refused(models_texts.NO_MODEL_LEFT)
        if chosen in self.allowed and place.allows(chosen):
            return self._among_allowed(chosen, models_texts.MODEL_CHOSEN)
        of_person = self._people.get(criteria.person.rpartition(":")[2])
        if of_person is not None and place.allows(of_person.name):
            return replace(of_person, why=models_texts.MODEL_FOR_PERSON)
        if place.preferred:
            return self._among_allowed(place.preferred, models_texts.MODEL_FOR_PLACE)
        of_channel = self._channels.get(criteria.channel)
        if of_channel is not None and place.allows(of_channel.name):
            return replace(of_channel, why=models_texts.MODEL_FOR_CHANNEL)
        if place.allowed and self._choice.name not in place.allowed:
            return self._among_allowed(place.allowed[0], models_texts.MODEL_FOR_PLACE)
        # Only the log and operators see the setting that named the model, and its address.
        by_setting = self._choice.why != models_texts.MODEL_CHOSEN
        usual = models_texts.REHEARSAL_AS_USUAL if self._choice.endpoint is None else models_texts.MODEL_AS_USUAL
        return replace(self._choice, why=usual) if by_setting else self._choice

    def _among_allowed(self, name: str, why: str) -> ModelChoice:
        return replace(next((choice for choice in self._allowed if choice.name == name), self._choice), why=why)

    async def choose(self, name: str) -> None:
        """Make that model the default one, from the next question on. Raises SettingsError."""
        choice = named_choice(name, self._settings, COMMAND)
        self._provider_of(choice)
        self._choice = replace(choice, why=models_texts.MODEL_CHOSEN)

    async def forget_handles(self, model: str, handles: Sequence[str]) -> Sequence[str]:
        """Delete these handles at the model's vendor; return those that may still exist. Raises SettingsError."""
        provider = self._opened.get(model) or self._open(named_choice(model, self._settings, "COGENCY_MODEL"))
        return await provider.forget_handles(handles) if isinstance(provider, KeepingProvider) else ()

    async def forget_own_handles(self, model: str, handles: Sequence[str], keys: KeysOfPlace) -> Sequence[str]:
        """The same, for handles that one of these keys stored."""
        choice = named_choice(model, self._settings, "COGENCY_MODEL")
        if keys.of(choice.endpoint) is None:
            return handles
        provider = self._open_with(choice, keys)
        return await provider.forget_handles(handles) if isinstance(provider, KeepingProvider) else handles

    async def follow(self, checked: CheckedForms) -> None:
        """Use what checks of models found, from the next call of a model on. To be called before the first question."""
        self._checked = checked
        opened, self._opened, self._providers = self._opened, {}, {}
        for provider in opened.values():
            await provider.aclose()

    def put_behind(self, wrap: Callable[[Provider], Provider] | None) -> None:
        """Let every model that answers, learns or judges be what `wrap` returns for it; None: the model itself. To be
        called before the first question.
        """
        self._wrap, self._providers = wrap, {}

    async def aclose(self) -> None:
        own = (models.opened for models in (*self._places.values(), *self._replaced))
        for opened in (self._opened, *own):
            for provider in opened.values():
                await provider.aclose()

    def _provider_of(
        self, choice: ModelChoice, place: PlaceModels = EVERY_MODEL, keys: KeysOfPlace = NO_KEYS
    ) -> Provider:
        """Return the model with its fallbacks. What is said in a channel goes to no model that is not allowed there,
        even while the others are down. A model that a channel pays for is followed only by those that it pays for, too,
        and by those that cost nothing: the operator does not pay in its place.
        """
        others = [other for other in self._fallbacks if other.name != choice.name and place.allows(other.name)]
        if keys.of(choice.endpoint) is not None:
            others = [other for other in others if keys.of(other.endpoint) is not None or is_free(other)]
        names = (choice.name, *(other.name for other in others))
        own = frozenset(each.name for each in (choice, *others) if keys.of(each.endpoint) is not None)
        self._leave_earlier(keys)
        providers = self._models_of(keys).providers if own else self._providers
        if names not in providers:
            opened = [self._open_with(candidate, keys) for candidate in (choice, *others)]
            provider: Provider = self._with_fallbacks(opened) if others else opened[0]
            provider = provider if self._wrap is None else self._wrap(provider)
            providers[names] = PaidByPlace(provider, own) if own else provider
        return providers[names]

    def _models_of(self, keys: KeysOfPlace) -> "_ModelsOfPlace":
        """Return what is open with exactly these keys."""
        self._leave_earlier(keys)
        if keys.place not in self._places:
            known = next((models for models in self._replaced if models.keys == keys), None)
            if known is not None:
                self._replaced.remove(known)
            self._places[keys.place] = known or _ModelsOfPlace(keys, OwnKeyRings(self._clock, keys))
        return self._places[keys.place]

    def _leave_earlier(self, keys: KeysOfPlace) -> None:
        """Leave what is open with earlier keys of the place to the turns that use it."""
        known = self._places.get(keys.place)
        if known is not None and known.keys != keys:
            self._replaced.append(self._places.pop(keys.place))

    def _open_with(self, choice: ModelChoice, keys: KeysOfPlace) -> ClosableProvider:
        """Open a model with the place's own key, if it has one for the service; nothing is shared with other places."""
        own = keys.of(choice.endpoint)
        if own is None or choice.endpoint is None:
            return self._open(choice)
        if own.key is None:
            return UnreadableKey(choice.name, choice.endpoint.label)
        models = self._models_of(keys)
        if choice.name not in models.opened:
            endpoint = replace(choice.endpoint, key_setting=models_texts.OWN_KEY)  # in errors
            models.opened[choice.name] = open_model(
                replace(choice, endpoint=endpoint, key=own.key),
                self._settings,
                clock=self._clock,
                chance=self._chance,
                checked=self._checked,
                rings=models.rings,
            )
        return models.opened[choice.name]

    def _with_fallbacks(self, providers: Sequence[Provider]) -> Provider:
        from agent.providers.fallback import FallbackProvider  # noqa: PLC0415 -- see the module's docstring

        return FallbackProvider(providers, self._clock)

    def _open(self, choice: ModelChoice) -> ClosableProvider:
        if choice.name not in self._opened:
            self._opened[choice.name] = open_model(
                choice,
                self._settings,
                clock=self._clock,
                chance=self._chance,
                checked=self._checked,
                rings=self.rings,
            )
        return self._opened[choice.name]

    def _choices(self, setting: str, *names: str) -> list[ModelChoice]:
        return [named_choice(name, self._settings, setting) for name in names]

    def _choices_by_id(self, setting: str, entries: Iterable[tuple[str, str]]) -> dict[str, ModelChoice]:
        return {id_: named_choice(name, self._settings, setting) for id_, name in entries}


class _ModelsOfPlace:
    """What is open with one place's own keys. `providers`: by the names of the model and its fallbacks."""

    def __init__(self, keys: KeysOfPlace, rings: OwnKeyRings) -> None:
        self.keys = keys
        self.rings = rings
        self.opened: dict[str, ClosableProvider] = {}
        self.providers: dict[tuple[str, ...], Provider] = {}


def is_free(choice: ModelChoice) -> bool:
    """Return whether no service is paid for this model."""
    return choice.endpoint is None or choice.endpoint.is_self_hosted


def check_allowed(switch: ModelSwitch, name: str) -> None:
    """Raise SettingsError, with the allowed names, if this model may not be chosen."""
    if name not in switch.allowed:
        raise SettingsError(reply_texts.model_not_allowed(switch.allowed))
