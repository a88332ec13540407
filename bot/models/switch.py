"""Which model answers whom: the usual one, those of channels and people, and what somebody chose with /model.

Order: what the person chose, if it is allowed; the operator's choice for the person; for the channel; the usual model.
Behind each stand the fallback models. A turn that runs keeps its model; the next question gets the new one. Every
provider stays open until the end.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Self

from agent.errors import SettingsError
from agent.ports import Clock, KeepingProvider, Preferences, Provider, WarningProvider
from agent.providers.fallback import FallbackProvider
from agent.records import Incoming
from bot.access.acl import AccessRules, Requester, may_use
from bot.host import ModelMenu
from bot.models.choice import ClosableProvider, ModelChoice, ModelSettings, choose_model, named_choice, open_model
from bot.texts import reply_texts

COMMAND = "/model"
"""What a wrong name is blamed on: whoever wrote it has set nothing."""


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

    @property
    def learning(self) -> Provider:
        """The model for work in the background."""
        return self._row(self.learning_choice)

    @property
    def learning_choice(self) -> ModelChoice:
        """Which one that is."""
        return self._learning[0] if self._learning else self._choice

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

    def provider_for(self, person: str, channel: str, chosen: str = "") -> Provider:
        """The model that answers this person there. `chosen` is what they chose earlier, allowed or not."""
        return self._row(self.choice_for(person, channel, chosen))

    def choice_for(self, person: str, channel: str, chosen: str = "") -> ModelChoice:
        if chosen in self.allowed:
            picked = next((choice for choice in self._allowed if choice.name == chosen), self._choice)
            return replace(picked, why=reply_texts.MODEL_CHOSEN)
        if (own := self._people.get(person.rpartition(":")[2])) is not None:
            return replace(own, why=reply_texts.MODEL_FOR_PERSON)
        if (here := self._channels.get(channel)) is not None:
            return replace(here, why=reply_texts.MODEL_FOR_CHANNEL)
        return self._choice

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
            self._rows[choice.name] = FallbackProvider(providers, self._clock) if others else providers[0]
        return self._rows[choice.name]

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
        others = f"choose one of {', '.join(switch.allowed)}" if switch.allowed else "there is only one here"
        raise SettingsError(reply_texts.MODEL_NOT_ALLOWED.format(others=others))


# What people may know and decide about the model that answers them; their choice is kept among their preferences.

MODEL = "model"
"""The preference's name."""


@dataclass(frozen=True, slots=True)
class ModelDesk:
    switch: ModelSwitch
    preferences: Preferences
    access: AccessRules = field(default_factory=AccessRules)
    """Who may choose which; where a choice is not theirs to make, the usual model answers."""

    async def provider(self, incoming: Incoming) -> Provider:
        """Who answers this message: the model that was chosen for it alone, if that is open to them still."""
        who, asked = Requester.wrote(incoming), incoming.model
        here = asked if asked in self.switch.allowed and may_use(self.access, asked, who) else ""
        return self.switch.provider_for(who.person, who.channel, here or await self._chosen(who))

    async def menu(self, who: Requester) -> ModelMenu:
        choice = self.switch.choice_for(who.person, who.channel, await self._chosen(who))
        return ModelMenu(choice.name, choice.why, self._open_to(who))

    async def choose(self, who: Requester, name: str) -> None:
        """That model from now on; "" goes back to the usual one. Raises SettingsError."""
        if name:
            check_allowed(self.switch, name)
            if not may_use(self.access, name, who):
                raise SettingsError(reply_texts.MODEL_NOT_OPEN.format(names=", ".join(self._open_to(who))))
        await self.preferences.set(who.person, MODEL, name or None)

    async def _chosen(self, who: Requester) -> str:
        chosen = (await self.preferences.of(who.person)).get(MODEL, "")
        return chosen if may_use(self.access, chosen, who) else ""

    def _open_to(self, who: Requester) -> tuple[str, ...]:
        usual, *others = self.switch.allowed or ("",)
        return tuple(name for name in (usual, *others) if name and (name == usual or may_use(self.access, name, who)))
