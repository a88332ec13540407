"""What people may know and decide about the model that answers them; their choice is kept among their preferences.

Above: `bot.hosting`, `bot.app`. Below: `bot.model_switch`, the Preferences port.
"""

from dataclasses import dataclass

from agent.ports import Preferences, Provider
from agent.records import Incoming
from bot.host import ModelMenu
from bot.model_switch import ModelSwitch, check_allowed

MODEL = "model"
"""The preference's name."""


@dataclass(frozen=True, slots=True)
class ModelDesk:
    switch: ModelSwitch
    preferences: Preferences

    async def provider(self, incoming: Incoming) -> Provider:
        """Who answers this message."""
        person = incoming.person.id
        return self.switch.provider_for(person, incoming.channel, await self._chosen(person))

    async def menu(self, person: str, channel: str) -> ModelMenu:
        choice = self.switch.choice_for(person, channel, await self._chosen(person))
        return ModelMenu(choice.name, choice.why, self.switch.allowed)

    async def choose(self, person: str, name: str) -> None:
        """That model from now on; "" goes back to the usual one. Raises SettingsError."""
        if name:
            check_allowed(self.switch, name)
        await self.preferences.set(person, MODEL, name or None)

    async def _chosen(self, person: str) -> str:
        return (await self.preferences.of(person)).get(MODEL, "")
