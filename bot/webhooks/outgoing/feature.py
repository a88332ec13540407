"""Outgoing webhooks, as a feature of the chat bot: events go to the receivers of the operator's file."""

import logging
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import ExitStack, asynccontextmanager
from importlib.metadata import version

from agent.outgoing import CLEANUP, job_kind
from agent.ports.outbox import Outbox
from bot.chat.core import Core
from bot.chat.feature import Feature
from bot.chat.network.connections import GuardedConnections, Route, SystemResolver
from bot.chat.network.guard import Networks, WebGuard
from bot.webhooks.outgoing import texts
from bot.webhooks.outgoing.rows import OutgoingRow
from bot.webhooks.outgoing.sending import WebhookSender
from bot.webhooks.outgoing.service import DeliveryService

log = logging.getLogger(__name__)


def feature(
    core: Core,
    outbox: Outbox,
    rows: Sequence[OutgoingRow],
    networks: Networks,
    route: Route,
    random: Callable[[], float],
) -> Feature:
    """`route`: the proxy, if any. Without rows, what earlier rows left is deleted when the bot starts."""
    # A resolver for each row: names that resolve slowly delay no other row.
    resolvers = [SystemResolver() for _ in rows]
    services = [
        DeliveryService(
            row=row,
            outbox=outbox,
            preferences=core.store.preferences,
            jobs=core.store.jobs,
            sender=sender(networks, route, resolver),
            clock=core.clock,
            random=random,
            telemetry=core.telemetry,
        )
        for row, resolver in zip(rows, resolvers, strict=True)
    ]

    @asynccontextmanager
    async def serving() -> AsyncGenerator[None]:
        disabled = await outbox.subscribe([row.subscription for row in rows], core.clock.now())
        if rows:
            log.info(texts.SERVING, ", ".join(row.name for row in rows))
        for name in sorted(disabled):
            log.warning(texts.STILL_DISABLED, name, name)
        with ExitStack() as stack:
            for resolver in resolvers:
                stack.callback(resolver.close)
            yield

    handlers = [{job_kind(each.row.name): each.deliver, CLEANUP: each.delete_old} for each in services]
    return Feature(name="outgoing webhooks", jobs=handlers, serving=serving)


def sender(networks: Networks, route: Route, resolver: SystemResolver) -> WebhookSender:
    connections = GuardedConnections(WebGuard(networks), resolver, route=route)
    return WebhookSender(connections, f"Cogency/{version('cogency-bot')} (webhooks)")
