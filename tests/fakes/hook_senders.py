"""Senders of webhooks, and the parts of a bot that receive them."""

import itertools
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import httpx

from agent.ports.clock import Clock
from bot.chat.http_routes import HttpRoutes, PublicSite
from bot.chat.telemetry import Telemetry
from bot.webhooks.config import Hook, no_files, parse_file
from bot.webhooks.dispatcher import EventDispatcher
from bot.webhooks.presets import presets
from bot.webhooks.receiving import PATH, Receiver
from bot.webhooks.signatures import Scheme, sign
from tests.fakes.answering_host import AnsweringHost

SECRET = "0123456789abcdef-secret"
WHSEC = "whsec_MDEyMzQ1Njc4OWFiY2RlZg=="


def hooks_of(**entries: str) -> Mapping[str, Hook]:
    """Return hooks by their names. `entries`: the lines of each, without its secret."""
    hooks = dict[str, Hook]()
    for name, lines in entries.items():
        plain = f"[{name}]\n{lines}\nsecret_env = 'S'\n"
        standard = next((preset for preset in presets() if f'preset = "{preset}"' in lines), "json")
        secret = WHSEC if presets()[standard].signed is Scheme.STANDARD else SECRET
        hooks |= {hook.name: hook for hook in parse_file(plain, "hooks.toml", {"S": secret}, no_files)}
    return hooks


@dataclass
class Sender:
    """Sends deliveries as the vendor of each hook does."""

    hooks: Mapping[str, Hook]
    clock: Clock
    http: httpx.AsyncClient
    dispatcher: EventDispatcher
    _ids: "itertools.count[int]" = field(default_factory=itertools.count)

    async def send(self, name: str, body: bytes, event: str = "", *, id_: str = "", **headers: str) -> int:
        """Deliver; return the status of the response."""
        return (await self.deliver(name, body, event, id_=id_, **headers)).status_code

    async def deliver(
        self, name: str, body: bytes, event: str = "", *, id_: str = "", **headers: str
    ) -> httpx.Response:
        hook = self.hooks[name]
        signed = sign(hook.scheme, hook.revealed[0], body, self.clock.now(), id_ or f"msg_{next(self._ids)}")
        kind = {hook.event_header: event} if hook.event_header else {}
        return await self.http.post(f"{PATH}/{name}", content=body, headers=signed | kind | headers)


class NoTelemetry:
    def record(self, event: object) -> None: ...


@asynccontextmanager
async def receiving(
    host: AnsweringHost, hooks: Mapping[str, Hook], clock: Clock, *, slots: int = 4, telemetry: Telemetry | None = None
) -> AsyncGenerator[Sender]:
    """Receive deliveries in a process, and post their events, until the block ends."""
    store = host.store
    dispatcher = EventDispatcher(
        hooks, store.webhook_events, host.platforms.events, store.spending, clock, host.turns.wake, slots
    )
    receiver = Receiver(hooks, store.webhook_events, clock, telemetry or NoTelemetry())
    site = PublicSite([HttpRoutes(PATH, receiver)])
    transport = httpx.ASGITransport(site)
    async with dispatcher.serving(), httpx.AsyncClient(transport=transport, base_url="http://bot") as http:
        yield Sender(hooks, clock, http, dispatcher)
