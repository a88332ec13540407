"""The whole bot with its API: the product's composition root and HTTP server, and the people of `cogency play`."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from agent.incoming import Incoming, person_source
from agent.machine import CLOCK, new_secret
from agent.memory.audience import Audience, PersonAudience
from agent.ports.api_tokens import ApiToken, TokenScope
from bot.api.tokens import DailyBudget, OwnersAudit, TokenRequest, TokenService
from bot.app.platforms import serve_platforms
from bot.app.settings import load_settings
from bot.chat.host import Host
from bot.chat.telemetry import Telemetry
from bot.platforms.play.inbound import PlaySchedules
from bot.platforms.play.run import PlayMembership
from bot.platforms.play.workspace import SOURCE
from store.engine import open_api_tokens, open_audit
from tests.fakes.new_database import new_database
from tests.fakes.sign_in_world import free_port
from tests.fakes.surface import FakeSurface
from tests.patience import PATIENCE_S

ANN, BEN = "play:ann", "play:ben"


@dataclass
class ApiBot:
    """`address`: of its server; `url`: of its database; `host`: what a platform is given."""

    address: str
    url: str
    _host: Host | None = None
    tokens: dict[str, ApiToken] = field(default_factory=dict[str, ApiToken])

    @property
    def host(self) -> Host:
        assert self._host is not None, "it runs in another process"
        return self._host

    @property
    def base_url(self) -> str:
        return f"{self.address}/v1"

    async def token(
        self,
        person: str = ANN,
        scopes: frozenset[TokenScope] = frozenset({TokenScope.ASK}),
        *,
        audience: Audience | None = None,
        channel: str = "",
        budget: DailyBudget = DailyBudget(),  # noqa: B008 -- frozen
    ) -> str:
        """Return the secret of a new token: of a person, or with an audience of a service."""
        request = TokenRequest(
            name=f"token-{len(self.tokens)}",
            person="" if audience else person,
            audience=audience or PersonAudience(person),
            source=person_source(person),
            channel=channel,
            scopes=scopes,
            budget=budget,
        )
        async with open_api_tokens(self.url) as tokens, open_audit(self.url) as audit:
            issued = await TokenService(tokens, CLOCK, new_secret, OwnersAudit(audit, CLOCK)).issue(request)
        self.tokens[issued.secret.reveal()] = issued.token
        return issued.secret.reveal()

    async def revoke(self, secret: str) -> None:
        async with open_api_tokens(self.url) as tokens:
            assert await tokens.revoke([self.tokens[secret].id]) == 1


@asynccontextmanager
async def api_bot(folder: Path, **settings: str) -> AsyncGenerator[ApiBot]:
    """The bot on a database in `folder`, until the block ends."""
    url, port = settings.get("COGENCY_DATABASE_URL", "") or await new_database(folder / "bot.db"), free_port()
    connected: asyncio.Future[Host] = asyncio.get_running_loop().create_future()

    async def serve(host: Host, _: Telemetry) -> None:
        host.platforms.register_surface(SOURCE, _surface)
        host.platforms.ask_readers(SOURCE, PlayMembership())
        host.platforms.register_schedules(SOURCE, PlaySchedules("UTC"))
        connected.set_result(host)
        await asyncio.Event().wait()

    given = {
        "COGENCY_DATABASE_URL": url,
        "COGENCY_HTTP": f"127.0.0.1:{port}",
        "COGENCY_MODEL": "rehearsal",
        "COGENCY_FIRST_NOTICE": "off",
        **settings,
    }
    serving = asyncio.create_task(serve_platforms(load_settings(given), {"Play": serve}, grace_s=0.5, sign_ins=False))
    try:
        await asyncio.wait({serving, connected}, timeout=PATIENCE_S, return_when=asyncio.FIRST_COMPLETED)
        if serving.done():
            await serving
        yield ApiBot(f"http://127.0.0.1:{port}", url, connected.result())
    finally:
        serving.cancel()
        await asyncio.wait({serving}, timeout=PATIENCE_S)


def _surface(_: Incoming) -> FakeSurface:
    return FakeSurface(CLOCK)
