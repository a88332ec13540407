"""The operators' page over a store in memory, and a browser that requests it without a socket."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from urllib.parse import urlencode, urlsplit

from httpx import ASGITransport, AsyncClient, Response

from agent.machine import new_secret
from agent.messages import JsonObject
from agent.ports.clock import Clock
from agent.ports.tools import ToolContext, ToolEffect
from agent.tool_policy import PolicyRow
from bot.app.settings import Settings, load_settings
from bot.operators.pages.frame import OperatorSite, OperatorView, ViewAnswer
from bot.operators.pages.last_hour import Recent
from bot.operators.pages.views import OfferedTools, OperatorSources
from bot.operators.service import OperatorLinks
from store.engine import Store

HERE = "http://127.0.0.1:8090"


async def _words(query: Mapping[str, str]) -> ViewAnswer:
    return ViewAnswer("sorry.html", {"says": ("Words", query.get("words", "none"))})


SHOWN = (OperatorView("/", "Words", _words), OperatorView("/detail", "", _words))


@dataclass(slots=True)
class OperatorBrowser:
    """Sends requests as a browser does, and stores cookies."""

    site: OperatorSite
    address: str = HERE
    client: tuple[str, int] = ("127.0.0.1", 50_000)
    cookies: dict[str, str] = field(default_factory=dict[str, str])

    async def get(self, path: str, **headers: str) -> Response:
        return await self._ask("GET", path, headers)

    async def post(self, path: str, form: Mapping[str, str] | None = None, /, **headers: str) -> Response:
        """Post from one of its own pages, unless the headers say otherwise."""
        own = {"sec_fetch_site": "same-origin", "origin": "null", "content_type": "application/x-www-form-urlencoded"}
        return await self._ask("POST", path, own | headers, urlencode(form or {}))

    async def _ask(self, method: str, path: str, headers: Mapping[str, str], body: str = "") -> Response:
        named = {name.replace("_", "-"): value for name, value in headers.items() if value}
        cookies = {"cookie": "; ".join(f"{name}={value}" for name, value in self.cookies.items())}
        async with AsyncClient(
            transport=ASGITransport(self.site, client=self.client), base_url=self.address, trust_env=False
        ) as client:
            response = await client.request(
                method, path, headers=(cookies if self.cookies else {}) | named, content=body
            )
        for name, value in response.cookies.items():
            self.cookies[name] = value
        return response

    async def sign_in(self, store: Store, clock: Clock) -> None:
        link = await OperatorLinks(store.operator_sessions, clock, new_secret, self.address).new()
        assert (await self.post(urlsplit(link).path)).status_code == 303


def operator_site(store: Store, clock: Clock, views: Sequence[OperatorView] = SHOWN, address: str = "") -> OperatorSite:
    return OperatorSite(views, store.operator_sessions, clock, new_secret, address)


@dataclass(slots=True)
class FakePlatforms:
    troubles: dict[str, str] = field(default_factory=dict[str, str])


@dataclass(frozen=True, slots=True)
class NamedTool:
    """A tool with this name, which is never called."""

    name: str
    description: str = "Does what it says."
    effect: ToolEffect = ToolEffect.READS
    timeout_s: float = 1.0

    @property
    def schema(self) -> JsonObject:
        return {"type": "object"}

    async def run(self, args: JsonObject, context: ToolContext) -> str:
        raise NotImplementedError


def sources_of(
    store: Store,
    clock: Clock,
    recent: Recent,
    *,
    settings: Settings | None = None,
    tools: Sequence[NamedTool] = (),
    rows: Sequence[PolicyRow] = (),
    away: Mapping[str, str] | None = None,
    troubles: Mapping[str, str] | None = None,
) -> OperatorSources:
    settings = settings or load_settings({})
    return OperatorSources(
        recent,
        store.ledger,
        store.audit,
        clock,
        settings.shown,
        settings.secrets(),
        lambda: {"Version": "1.2.3", "Models": "Model: rehearsal.", "Database": "nowhere"},
        FakePlatforms(dict(troubles or {})),
        OfferedTools(lambda: tools, lambda: away or {}, rows[:1], lambda: dict(enumerate(rows[1:], 1))),
        ["slack", "discord"],
        outbox=store.outbox,
        spending=store.spending,
    )
