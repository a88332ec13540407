"""Acting for people in Slack and on Discord, as a feature of the chat bot."""

from collections.abc import Mapping, Sequence

from agent.ports.acting import Hands
from agent.ports.clock import Clock
from agent.ports.tools import ToolSource
from bot.acts.service import ActService
from bot.acts.settings import ActSettings
from bot.acts.tools import ActTools, act_tools
from bot.chat.core import Core, Repositories


def open_acts(core: Core, settings: ActSettings) -> Sequence[ToolSource]:
    """Return the tools that act; none where the operator has turned acting off."""
    if not settings.is_on:
        return ()
    return (tools_on(core.store, core.platforms.hands, core.clock, settings),)


def tools_on(store: Repositories, hands: Mapping[str, Hands], clock: Clock, settings: ActSettings) -> ActTools:
    """Return the tools that act with these hands."""
    service = ActService(
        settings=settings,
        hands=hands,
        acts=store.acts,
        replies=store.replies,
        forgetting=store.forgetting,
        preferences=store.preferences,
        clock=clock,
    )
    return ActTools(act_tools(service), hands)
