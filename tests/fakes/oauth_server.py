"""A tool server with sign-in, made with the official SDK: authorization server and tools in one, on loopback.

A browser that has the cookie `user` consents as that user.
"""

import asyncio
import secrets
import socket
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from urllib.parse import urlencode

import uvicorn
from mcp.server.auth.middleware.auth_context import get_access_token
from mcp.server.auth.provider import (
    AccessToken,
    AuthorizationCode,
    AuthorizationParams,
    OAuthAuthorizationServerProvider,
    RefreshToken,
    TokenError,
)
from mcp.server.auth.settings import AuthSettings, ClientRegistrationOptions, RevocationOptions
from mcp.server.mcpserver import MCPServer
from mcp.shared.auth import OAuthClientInformationFull, OAuthToken
from pydantic import AnyHttpUrl
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from agent.machine import CLOCK

Asked = tuple[str, AuthorizationParams]


@dataclass
class AuthorizationServer(OAuthAuthorizationServerProvider[AuthorizationCode, RefreshToken, AccessToken]):
    """Rotates refresh tokens, and treats the second use of one as theft: all tokens of that user end."""

    issuer: str
    lifetime: int = 3_600
    clients: dict[str, OAuthClientInformationFull] = field(default_factory=dict[str, OAuthClientInformationFull])
    asked: dict[str, tuple[str, AuthorizationParams]] = field(
        default_factory=dict[str, tuple[str, AuthorizationParams]]
    )
    codes: dict[str, AuthorizationCode] = field(default_factory=dict[str, AuthorizationCode])
    access: dict[str, AccessToken] = field(default_factory=dict[str, AccessToken])
    refresh: dict[str, RefreshToken] = field(default_factory=dict[str, RefreshToken])
    used: dict[str, str] = field(default_factory=dict[str, str])
    refreshed: int = 0
    renewing: asyncio.Event = field(default_factory=asyncio.Event)
    pause_s: float = 0.0
    thefts: int = 0
    revokes_all: bool = False  # Revoking one token revokes all tokens of its client and user, as Google does

    async def get_client(self, client_id: str) -> OAuthClientInformationFull | None:
        return self.clients.get(client_id)

    async def register_client(self, client_info: OAuthClientInformationFull) -> None:
        self.clients[client_info.client_id] = client_info

    async def authorize(self, client: OAuthClientInformationFull, params: AuthorizationParams) -> str:
        name = secrets.token_urlsafe()
        self.asked[name] = client.client_id, params
        return f"{self.issuer}/agree?{urlencode({'name': name})}"

    async def agree(self, request: Request) -> Response:
        user, (client, params) = request.cookies["user"], self.asked.pop(request.query_params["name"])
        code = secrets.token_urlsafe()
        self.codes[code] = AuthorizationCode(
            code=code,
            scopes=params.scopes or [],
            expires_at=CLOCK.now().timestamp() + 60,
            client_id=client,
            code_challenge=params.code_challenge,
            redirect_uri=params.redirect_uri,
            redirect_uri_provided_explicitly=True,
            resource=params.resource,
            subject=user,
        )
        back = {"code": code, "state": params.state or "", "iss": self.issuer}
        return RedirectResponse(f"{params.redirect_uri}?{urlencode(back)}", 302)

    async def load_authorization_code(
        self, client: OAuthClientInformationFull, authorization_code: str
    ) -> AuthorizationCode | None:
        code = self.codes.get(authorization_code)
        return code if code is not None and code.client_id == client.client_id else None

    async def exchange_authorization_code(
        self, client: OAuthClientInformationFull, authorization_code: AuthorizationCode
    ) -> OAuthToken:
        del self.codes[authorization_code.code]
        code = authorization_code
        return self.tokens(client.client_id, code.subject or "", code.resource, code.scopes)

    def tokens(self, client: str, user: str, resource: str | None, scopes: list[str]) -> OAuthToken:
        access, refresh = f"access-{secrets.token_hex(24)}", f"refresh-{secrets.token_hex(24)}"
        self.access[access] = AccessToken(
            token=access,
            client_id=client,
            scopes=scopes,
            expires_at=int(CLOCK.now().timestamp()) + 3_600,
            resource=resource,
            subject=user,
        )
        self.refresh[refresh] = RefreshToken(
            token=refresh, client_id=client, scopes=scopes, resource=resource, subject=user
        )
        return OAuthToken(access_token=access, expires_in=self.lifetime, refresh_token=refresh)

    async def load_refresh_token(self, client: OAuthClientInformationFull, refresh_token: str) -> RefreshToken | None:
        if (user := self.used.get(refresh_token)) is not None:
            self.thefts += 1
            self.end(user)
        token = self.refresh.get(refresh_token)
        return token if token is not None and token.client_id == client.client_id else None

    async def exchange_refresh_token(
        self,
        client: OAuthClientInformationFull,
        refresh_token: RefreshToken,
        scopes: list[str],  # noqa: ARG002 -- they stay the same
    ) -> OAuthToken:
        user = refresh_token.subject or ""
        if self.refresh.pop(refresh_token.token, None) is None:
            raise TokenError("invalid_grant", "used already")
        self.used[refresh_token.token] = user
        self.refreshed += 1
        self.renewing.set()
        await asyncio.sleep(self.pause_s)
        return self.tokens(client.client_id, user, refresh_token.resource, refresh_token.scopes)

    async def load_access_token(self, token: str) -> AccessToken | None:
        return self.access.get(token)

    async def revoke_token(self, token: AccessToken | RefreshToken) -> None:
        self.access.pop(token.token, None)
        self.refresh.pop(token.token, None)
        if self.revokes_all:
            same = token.client_id, token.subject
            self.access = {name: one for name, one in self.access.items() if (one.client_id, one.subject) != same}
            self.refresh = {name: one for name, one in self.refresh.items() if (one.client_id, one.subject) != same}

    def end(self, user: str) -> None:
        """Revoke all tokens of this user."""
        self.access = {name: token for name, token in self.access.items() if token.subject != user}
        self.refresh = {name: token for name, token in self.refresh.items() if token.subject != user}

    def reject_access(self) -> None:
        """Reject the access tokens, so that they have to be renewed."""
        self.access.clear()

    def users(self) -> set[str]:
        return {token.subject or "" for token in self.refresh.values()}


async def _nothing() -> None:
    pass


@dataclass
class ToolService:
    """`notes`: each user's notes."""

    url: str
    authorization: AuthorizationServer
    notes: dict[str, list[str]] = field(default_factory=dict[str, list[str]])
    called: list[str] = field(default_factory=list[str])
    waiting: asyncio.Event = field(default_factory=asyncio.Event)
    stop: Callable[[], Awaitable[None]] = field(default=_nothing)
    cut: Callable[[], Awaitable[None]] = field(default=_nothing)  # Cuts all connections at once


@asynccontextmanager
async def tool_service(*scopes: str) -> AsyncGenerator[ToolService]:
    """Its tool `notes` returns the notes of the token's user. `scopes`: the scopes that a token needs."""
    listening = socket.socket()
    listening.bind(("127.0.0.1", 0))
    listening.listen()
    origin = f"http://127.0.0.1:{listening.getsockname()[1]}"
    authorization = AuthorizationServer(origin)
    service = ToolService(f"{origin}/mcp", authorization)
    server = MCPServer(
        "wiki",
        auth_server_provider=authorization,
        auth=AuthSettings(
            issuer_url=AnyHttpUrl(origin),
            resource_server_url=AnyHttpUrl(service.url),
            client_registration_options=ClientRegistrationOptions(enabled=True),
            required_scopes=list(scopes) or None,
            revocation_options=RevocationOptions(enabled=True),
            validate_token_resource=True,
        ),
    )
    server.custom_route("/agree", ["GET"])(authorization.agree)

    @server.tool(structured_output=False)
    def notes() -> str:  # pyright: ignore[reportUnusedFunction] -- the server calls it
        """Read the notes."""
        token = get_access_token()
        user = (token.subject if token else None) or "nobody"
        service.called.append(user)
        return f"the notes of {user}: {', '.join(service.notes.get(user, []))}"

    @server.tool(structured_output=False)
    async def wait() -> str:  # pyright: ignore[reportUnusedFunction] -- the server calls it
        """Never end."""
        service.waiting.set()
        await asyncio.Event().wait()
        return "never"

    config = uvicorn.Config(
        server.streamable_http_app(), log_level="critical", lifespan="on", timeout_graceful_shutdown=1
    )
    running = uvicorn.Server(config)
    serving = asyncio.create_task(running.serve(sockets=[listening]))

    async def stop() -> None:
        running.should_exit = running.force_exit = True
        await serving

    async def cut() -> None:
        for server in running.servers:
            server.close()
        for connection in list(running.server_state.connections):
            connection.transport.abort()

    service.stop, service.cut = stop, cut
    try:
        yield service
    finally:
        await stop()
