"""The model that answers now, and the change to another one. Keeps every provider open until the end.

Above: `bot.app`; the platforms see it as `ModelChoice`. Below: `bot.models`.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Self

from agent.ports import Clock, Provider
from bot.models import ClosableProvider, ModelChoice, ModelSettings, choose_model, open_model


class ModelSwitch:
    """A turn that runs keeps its model; the next question gets the new one."""

    def __init__(self, settings: ModelSettings, choice: ModelChoice, clock: Clock, chance: Callable[[], float]) -> None:
        self._settings = settings
        self._clock = clock
        self._chance = chance
        self._choice = choice
        self._opened: dict[str, ClosableProvider] = {}
        self.provider: Provider = self._open(choice)

    @classmethod
    async def open(cls, settings: ModelSettings, clock: Clock, chance: Callable[[], float]) -> Self:
        """Raises SettingsError if the settings name no usable model."""
        return cls(settings, await choose_model(settings), clock, chance)

    @property
    def sentence(self) -> str:
        return self._choice.line

    async def choose(self, name: str) -> None:
        """Answer with the model of that name ("provider:model") from the next question on. Raises SettingsError."""
        choice = await choose_model(replace(self._settings, model=name))
        self.provider = self._open(choice)
        self._choice = replace(choice, why="you chose it")

    async def aclose(self) -> None:
        for provider in self._opened.values():
            await provider.aclose()

    def _open(self, choice: ModelChoice) -> ClosableProvider:
        if choice.name not in self._opened:
            self._opened[choice.name] = open_model(choice, self._settings, clock=self._clock, chance=self._chance)
        return self._opened[choice.name]
