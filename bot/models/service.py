"""Answers `/model`."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace

from agent.errors import SettingsError
from agent.incoming import Incoming
from agent.ports.model import Provider
from agent.ports.preferences import Preferences
from bot.chat.access.acl import AccessRules, may_use
from bot.chat.access.place_rules import MODEL as MODEL_RULE
from bot.chat.access.place_rules import rules_at
from bot.chat.askers import Requester
from bot.chat.ports import ModelMenu
from bot.models import texts as models_texts
from bot.models.own_keys import KeysOfPlace, no_keys_at
from bot.models.switch import EVERY_MODEL, ModelCriteria, ModelSwitch, PlaceModels, check_allowed

# Showing and choosing the model that answers a person. The choice is stored in the person's preferences.

MODEL = "model"  # The preference's name


@dataclass(frozen=True, slots=True)
class ModelService:
    switch: ModelSwitch
    preferences: Preferences
    access: AccessRules = field(default_factory=AccessRules)
    """Decides which models a person may choose; for a choice that is not allowed, the default model answers."""
    keys_at: Callable[[str, str], Awaitable[KeysOfPlace]] = no_keys_at
    """Returns the keys that a channel of a source has of its own. Raises StoreError."""

    async def provider(self, incoming: Incoming) -> Provider:
        """Return the provider for this message: the model chosen for it alone, if the person may still choose that.

        Raises Refused if no model may answer them there, and StoreError.
        """
        who, requested = Requester.wrote(incoming), incoming.model
        if not self.switch.allowed:  # nobody can have chosen anything for themselves
            place, keys = await asyncio.gather(self._place_models(who), self.keys_at(who.source, who.channel))
            return self.switch.provider_for(ModelCriteria(who.person, who.channel, place=place, keys=keys))
        chosen, place, keys = await asyncio.gather(
            self._chosen(who), self._place_models(who), self.keys_at(who.source, who.channel)
        )
        selected = requested if requested in self._available(who, place) else chosen
        return await self.switch.sized_provider_for(ModelCriteria(who.person, who.channel, selected, place, keys))

    async def menu(self, who: Requester) -> ModelMenu:
        place = await self._place_models(who)
        if place.allowed == ():
            return ModelMenu("", "", sentence=models_texts.NO_MODEL_LEFT)
        choice = self.switch.choice_for(ModelCriteria(who.person, who.channel, await self._chosen(who), place))
        return ModelMenu(choice.name, choice.why, self._available(who, place))

    async def choose(self, who: Requester, name: str) -> None:
        """Set the person's model from the next question on; "" restores the default. Raises SettingsError."""
        if name:
            check_allowed(self.switch, name)
            place = await self._place_models(who)
            if place.allowed == ():
                raise SettingsError(models_texts.NO_MODEL_LEFT)
            available = self._available(who, place)
            if name not in available:
                raise SettingsError(models_texts.MODEL_NOT_OPEN.format(names=", ".join(available)))
        await self.preferences.set(who.person, MODEL, name or None)

    def for_everybody(self) -> tuple[str, ...]:
        """Return the models that everybody may choose."""
        return self._available(Requester(""))

    async def _chosen(self, who: Requester) -> str:
        chosen = (await self.preferences.all_of(who.person)).get(MODEL, "")
        return chosen if may_use(self.access, chosen, who) else ""

    async def _place_models(self, who: Requester) -> PlaceModels:
        rules = await rules_at(self.preferences, who.source, who.channel)
        available = self._available(who) or (self.switch.name,)  # without a choice the default model answers
        place = PlaceModels(tuple(name for name in rules.models if name in available) if rules.models else None)
        preferred = rules.text(MODEL_RULE)
        return replace(place, preferred=preferred) if preferred in available and place.allows(preferred) else place

    def _available(self, who: Requester, place: PlaceModels = EVERY_MODEL) -> tuple[str, ...]:
        usual, *others = self.switch.allowed or ("",)
        names = [name for name in (usual, *others) if name and (name == usual or may_use(self.access, name, who))]
        return tuple(name for name in names if place.allows(name))
