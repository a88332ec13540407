"""Parts of a configuration that are the same for every question: a model, a persona, readable groups, tools."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Final

from agent.context import Persona
from agent.context_composer import ContextConfig
from agent.incoming import Incoming
from agent.memory.audience import Place
from agent.ports.model import Provider
from agent.ports.tools import Asker

WORDED: Final = ContextConfig(lambda: "w0rd")  # Its random word is fixed, so that the model's input can be compared


def always(model: Provider) -> Callable[[Incoming], Awaitable[Provider]]:
    """That model answers all questions."""

    async def chosen(_: Incoming) -> Provider:
        return model

    return chosen


def with_persona(
    persona: str = "You are a bot.", language_rule: str = "Answer in English."
) -> Callable[[Incoming], Awaitable[Persona]]:
    """The same persona for all users."""
    same = Persona(persona, language_rule)

    async def chosen(_: Incoming) -> Persona:
        return same

    return chosen


@dataclass(frozen=True)
class FixedReaders:
    """A private question may use these audiences, too."""

    readable: frozenset[str] = frozenset()

    async def also_readable(self, _: Place) -> frozenset[str]:
        return self.readable


@dataclass(frozen=True)
class FakeServers:
    """Tool servers of which some are unavailable."""

    trouble: Mapping[str, str] = field(default_factory=dict[str, str])

    async def prepare(self, asker: Asker) -> None: ...
    async def settle(self, seconds: float) -> None: ...

    def away(self) -> Mapping[str, str]:
        return self.trouble
