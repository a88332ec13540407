"""The MCP server over HTTP, as a feature of the chat bot."""

import logging
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager, closing
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Final

from agent.hooks.running import Hooks
from agent.ports.api_tokens import ApiToken
from agent.tool_policy import PolicyRow
from agent.toolbox.registry import Toolbox
from bot.api.asking import ApiAsking
from bot.api.feature import Api
from bot.api.mcp_server import texts
from bot.api.mcp_server.client_documents import ClientDocuments
from bot.api.mcp_server.oauth import OAUTH, RESOURCE_METADATA, SCOPES, SERVER_METADATA
from bot.api.mcp_server.oauth_http import OAuthSite
from bot.api.mcp_server.service import PersonalTools, Repositories, nothing_else
from bot.api.mcp_server.token_user import TokenUser, call_rates
from bot.api.settings import ApiSettings
from bot.chat.access.admission import RateCounter
from bot.chat.commands.declaration import BoundCommands
from bot.chat.feature import Feature
from bot.chat.http_routes import HttpRoutes
from bot.chat.network.connections import GuardedConnections, Route, SystemResolver
from bot.chat.network.guard import Networks, WebGuard
from bot.settings.installation import command_for

log = logging.getLogger(__name__)

NAME: Final = "mcp_server"


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenAccess:
    """Implements `TokenClients`. `rates`: see `TokenUser`."""

    asking: ApiAsking
    store: Repositories
    toolbox: Toolbox
    rows: Sequence[PolicyRow]
    commands: BoundCommands
    new_secret: Callable[[], str]
    rates: RateCounter
    hooks: Hooks | None = None

    async def authenticate(self, secret: str) -> ApiToken | None:
        return await self.asking.tokens.authenticate(secret)

    def open(self, token: ApiToken) -> PersonalTools:
        readers = self.asking.core.readers
        return PersonalTools(
            user=TokenUser(self.asking, token, self.rates),
            store=self.store,
            toolbox=self.toolbox,
            rows=self.rows,
            commands=self.commands,
            clock=self.asking.core.clock,
            new_secret=self.new_secret,
            hooks=self.hooks,
            also_readable=nothing_else if readers is None else readers.also_readable,
        )


def feature(
    api: Api,
    settings: ApiSettings,
    store: Repositories,
    toolbox: Toolbox,
    rows: Sequence[PolicyRow],
    commands: BoundCommands,
    address: str,
    new_secret: Callable[[], str],
    version: str,
    route: Callable[[], Route],
    hooks: Hooks | None = None,
) -> Feature:
    """`address`: at which programs reach the bot, "" where they cannot. `commands`: those
    of all features. `version`: of this program. `route`: returns the proxy to the web, if any.
    `hooks`: the operator's.
    """
    asking, sign_ins = api.asking, api.sign_ins
    if asking is None or sign_ins is None or not address:
        return Feature(name=NAME)
    if find_spec("mcp") is None:
        log.info("%s", texts.NOT_SERVED.format(command=command_for("mcp")))
        return Feature(name=NAME)
    from bot.api.mcp_server.http import PATH, HttpClients, McpHttp  # noqa: PLC0415 -- an extra
    from bot.api.mcp_server.server import mcp_server  # noqa: PLC0415 -- an extra

    tokens = TokenAccess(
        asking=asking,
        store=store,
        toolbox=toolbox,
        rows=rows,
        commands=commands,
        new_secret=new_secret,
        rates=call_rates(),
        hooks=hooks,
    )
    core = asking.core
    scopes = settings.person_scopes & frozenset(SCOPES)
    server = mcp_server(HttpClients(tokens), version)
    app = McpHttp(server, tokens, address, core.clock, core.telemetry, signs_in=bool(scopes))
    if not scopes:
        return Feature(name=NAME, routes=[HttpRoutes(PATH, app)], serving=app.serving)
    resolver = SystemResolver()
    connections = GuardedConnections(WebGuard(Networks()), resolver, route=route())
    site = OAuthSite(
        address=address,
        scopes=scopes,
        days=settings.person_days,
        sign_ins=sign_ins,
        tokens=asking.tokens,
        documents=ClientDocuments(connections, f"Cogency/{version} (sign-in)", core.clock),
        clock=core.clock,
        telemetry=core.telemetry,
    )
    oauth = [HttpRoutes(path, site) for path in (OAUTH, RESOURCE_METADATA, SERVER_METADATA)]

    @asynccontextmanager
    async def serving() -> AsyncGenerator[None]:
        with closing(resolver):
            async with app.serving():
                yield

    return Feature(name=NAME, routes=[HttpRoutes(PATH, app), *oauth], serving=serving)
