"""Acting for people in Slack and on Discord, as a feature of the chat bot."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from agent.ports.acting import Hands
from agent.ports.clock import Clock
from agent.ports.tools import ToolSource
from bot.acts.service import CLOSE_POLL, ActService
from bot.acts.settings import ActSettings
from bot.acts.tools import ActTools, act_tools
from bot.chat.core import Core, Repositories
from bot.chat.feature import Feature


@dataclass(frozen=True, slots=True)
class OpenedActs:
    """`sources`: the tools that act; none where the operator has turned acting off."""

    feature: Feature
    sources: Sequence[ToolSource] = ()


def open_acts(core: Core, settings: ActSettings) -> OpenedActs:
    """Open the feature. Polls are closed also after the operator has turned acting off."""
    service = service_on(core.store, core.platforms.hands, core.clock, settings)
    feature = Feature(name="acts", jobs=[{CLOSE_POLL: service.close_due}])
    return OpenedActs(feature, [tools_of(service)] if settings.is_on else ())


def service_on(store: Repositories, hands: Mapping[str, Hands], clock: Clock, settings: ActSettings) -> ActService:
    """Return the service that acts with these hands."""
    return ActService(
        settings=settings,
        hands=hands,
        acts=store.acts,
        replies=store.replies,
        forgetting=store.forgetting,
        preferences=store.preferences,
        jobs=store.jobs,
        clock=clock,
    )


def tools_of(service: ActService) -> ActTools:
    return ActTools(act_tools(service), service.hands)
