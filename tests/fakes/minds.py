"""What answers, for tests in which there is only one model and one way to answer."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Final

from agent.context import Persona
from agent.memory.audience import Place
from agent.ports import Asker, Provider
from agent.records import Incoming
from agent.turn_setup import ContextConfig

WORDED: Final = ContextConfig(lambda: "w0rd")  # Its word is known, so that what the model is given can be compared


def always(model: Provider) -> Callable[[Incoming], Awaitable[Provider]]:
    """That model answers everybody."""

    async def chosen(_: Incoming) -> Provider:
        return model

    return chosen


def speaking(
    persona: str = "You are a bot.", language_rule: str = "Answer in English."
) -> Callable[[Incoming], Awaitable[Persona]]:
    """The same persona for everybody."""
    same = Persona(persona, language_rule)

    async def chosen(_: Incoming) -> Persona:
        return same

    return chosen


@dataclass(frozen=True)
class FixedGroups:
    """Who asks alone draws from these groups."""

    groups: frozenset[str] = frozenset()

    async def groups_of(self, _: Place) -> frozenset[str]:
        return self.groups


@dataclass(frozen=True)
class FakeServers:
    """Servers of tools of which some are away."""

    trouble: Mapping[str, str] = field(default_factory=dict[str, str])

    async def prepare(self, asker: Asker) -> None: ...
    async def settle(self, seconds: float) -> None: ...

    def away(self) -> Mapping[str, str]:
        return self.trouble
