"""What people may know and decide about the model that answers them; their choice is kept among their preferences.

Above: `bot.hosting`, `bot.app`. Below: `bot.models.switch`, the Preferences port.
"""

from dataclasses import dataclass, field

from agent.errors import SettingsError
from agent.ports import Preferences, Provider
from agent.records import Incoming
from bot.access.lists import AccessRules, Who, may_use
from bot.host import ModelMenu
from bot.models.switch import ModelSwitch, check_allowed

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
        who, asked = Who.wrote(incoming), incoming.model
        here = asked if asked in self.switch.allowed and may_use(self.access, asked, who) else ""
        return self.switch.provider_for(who.person, who.channel, here or await self._chosen(who))

    async def menu(self, who: Who) -> ModelMenu:
        choice = self.switch.choice_for(who.person, who.channel, await self._chosen(who))
        return ModelMenu(choice.name, choice.why, self._open_to(who))

    async def choose(self, who: Who, name: str) -> None:
        """That model from now on; "" goes back to the usual one. Raises SettingsError."""
        if name:
            check_allowed(self.switch, name)
            if not may_use(self.access, name, who):
                raise SettingsError(f"That model is not open to you: choose one of {', '.join(self._open_to(who))}.")
        await self.preferences.set(who.person, MODEL, name or None)

    async def _chosen(self, who: Who) -> str:
        chosen = (await self.preferences.of(who.person)).get(MODEL, "")
        return chosen if may_use(self.access, chosen, who) else ""

    def _open_to(self, who: Who) -> tuple[str, ...]:
        usual, *others = self.switch.allowed or ("",)
        return tuple(name for name in (usual, *others) if name and (name == usual or may_use(self.access, name, who)))
