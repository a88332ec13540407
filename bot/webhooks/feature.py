"""Incoming webhooks, as a feature of the chat bot."""

from collections.abc import Mapping

from bot.chat.core import Core
from bot.chat.feature import Feature
from bot.chat.http_routes import HttpRoutes
from bot.webhooks.config import Hook
from bot.webhooks.dispatcher import EventDispatcher, event_kinds
from bot.webhooks.receiving import PATH, Receiver


def feature(core: Core, hooks: Mapping[str, Hook], *, slots: int) -> Feature:
    """`slots`: see `EventDispatcher`. Without hooks nothing is received, but turns of earlier ones are still ended."""
    events = core.store.webhook_events
    dispatcher = EventDispatcher(
        hooks, events, core.platforms.events, core.store.spending, core.clock, core.turns.wake, slots
    )
    receiver = Receiver(hooks, events, core.clock, core.telemetry)
    return Feature(
        name="webhooks",
        kinds=event_kinds(hooks),
        routes=[HttpRoutes(PATH, receiver)] if hooks else (),
        serving=dispatcher.serving if hooks else None,
    )
