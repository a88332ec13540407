"""People's accounts at MCP servers: stored encrypted, renewed in time, and each used for its person alone.

Rules.
- Accounts are stored sealed (`bot.chat.sealing`), bound to their person and server: a row that is moved to
  another person cannot be opened.
- A lost or changed key is no error: the accounts that it sealed count as signed out. They are not deleted, as the key
  may come back.
- The token is read from the store for each request, so that signing out and forgetting take effect in every process at
  once.
- One process renews an account at a time (`store.tool_accounts`). It finishes even if no request waits for it any more.
"""

import asyncio
from collections.abc import AsyncGenerator, Mapping
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta
from http import HTTPStatus
from typing import Final

import httpx2
from pydantic import TypeAdapter

from agent.errors import StoreError
from agent.ports.clock import Clock
from agent.ports.tool_accounts import ToolAccounts
from bot.chat.sealing import SealingKeys
from bot.tools import texts as tool_texts
from bot.tools.accounts.oauth import Account, OAuthFailed, OAuthHttp, SignInEnded, missing_scope
from bot.tools.mcp.config import HttpReach

RENEW_LEASE: Final = timedelta(seconds=60)  # Four times the timeout of a request
RENEW_PATIENCE_S: Final = 30.0  # How long a call waits for another process that renews
POLL_S: Final = 0.2
STORE_S: Final = 20.0  # How long storing is retried; together with a request, this is less than the lease
REVOKE_S: Final = 10.0  # The longest wait for a server when a person signs out or is forgotten


ACCOUNT: Final = TypeAdapter(Account)


class NotSignedIn(OAuthFailed):
    """There is no account, or it cannot be opened."""


class Accounts:
    """The accounts of all people. `servers`: by the name of each server, the client of its authorization server."""

    def __init__(self, store: ToolAccounts, keys: SealingKeys, servers: Mapping[str, OAuthHttp], clock: Clock) -> None:
        self.store = store
        self.keys = keys
        self.servers = servers
        self._clock = clock
        self._renewing: dict[tuple[str, str], asyncio.Task[str]] = {}

    async def of(self, person: str, server: str) -> Account | None:
        """Return a person's account; None if there is none, or it cannot be opened. Raises StoreError."""
        sealed = await self.store.get(person, server)
        return None if sealed is None else self._opened(person, server, sealed)

    async def all_of(self, person: str) -> dict[str, Account | None]:
        """Return a person's accounts by server; None for one that cannot be opened. Raises StoreError."""
        stored = await self.store.all_of(person)
        return {server: self._opened(person, server, sealed) for server, sealed in stored.items()}

    async def complete(self, handle: str, person: str, server: str, account: Account) -> bool:
        """Finish a sign-in with this account, and return whether the sign-in was still open.

        Revokes the account that it replaces, or the new one if the sign-in is over. But tokens that the same client had
        before are not revoked: some authorization servers, such as Google's, revoke all tokens of a client and user
        with one of them. Raises StoreError.
        """
        try:
            before = await self.of(person, server)
            done = await self.store.complete(handle, person, server, self._sealed(person, server, account))
        except StoreError:
            await self._revoke(server, account)  # its tokens are stored nowhere
            raise
        unused = before if done else account
        if unused is not None and not (done and unused.grant.client_id == account.grant.client_id):
            await self._revoke(server, unused)
        return done

    async def sign_out(self, person: str, server: str) -> bool | None:
        """Delete and revoke the account. Return whether the server confirmed the revocation; None if there was no
        account. Raises StoreError.
        """
        sealed = await self.store.drop(person, server)
        if sealed is None:
            return None
        account = self._opened(person, server, sealed)
        return account is not None and await self._revoke(server, account)

    async def revoke_all(self, person: str) -> list[str]:
        """Revoke all accounts of a person, before the person is forgotten. Return the servers that did not confirm it.

        Raises StoreError.
        """
        accounts = await self.all_of(person)
        opened = {name: account for name, account in accounts.items() if account is not None}
        confirmed = await asyncio.gather(*(self._revoke(name, account) for name, account in opened.items()))
        unconfirmed = [name for name, done in zip(opened, confirmed, strict=True) if not done]
        return [*unconfirmed, *(name for name in accounts if name not in opened)]

    async def _revoke(self, server: str, account: Account) -> bool:
        """Revoke an account. The address is stored with it, so that this works for a server that was removed, too."""
        http = self.servers.get(server) or OAuthHttp(HttpReach(account.grant.resource))
        with suppress(TimeoutError):
            async with asyncio.timeout(REVOKE_S):
                return await http.revoke(account)
        return False

    async def request_scope(self, person: str, server: str, scope: str) -> None:
        """Request the scope that a tool lacked at the next sign-in. Raises StoreError."""
        sealed = await self.store.get(person, server)
        account = None if sealed is None else self._opened(person, server, sealed)
        if sealed is not None and account is not None and account.wants != scope:
            await self.store.swap(person, server, sealed, self._sealed(person, server, replace(account, wants=scope)))

    async def bearer(self, person: str, server: str, rejected: str = "") -> str:
        """Return the access token for a request of this person. `rejected`: a token that the server refused.

        Raises NotSignedIn; OAuthFailed if the token cannot be renewed now; StoreError.
        """
        deadline = self._clock.monotonic() + RENEW_PATIENCE_S
        while True:
            sealed = await self.store.get(person, server)
            account = None if sealed is None else self._opened(person, server, sealed)
            if sealed is None:
                raise NotSignedIn(tool_texts.SIGN_IN_FIRST.format(server=server))
            if account is None:
                raise NotSignedIn(tool_texts.KEY_CHANGED.format(server=server))
            if account.access_token != rejected and not account.ends_soon(self._clock.now()):
                return account.access_token
            if (token := await self._renewed(person, server, sealed, account)) is not None:
                return token
            if self._clock.monotonic() > deadline:
                raise OAuthFailed(tool_texts.OAUTH_UNREACHABLE)
            await self._clock.sleep(POLL_S)

    async def _renewed(self, person: str, server: str, sealed: bytes, account: Account) -> str | None:
        """Renew the account and return its token; None if another process renews it, or it changed meanwhile."""
        running = self._renewing.get((person, server))
        if running is None:
            if not account.refresh_token:
                await self.store.swap(person, server, sealed, None)
                return None
            if not await self.store.renew(person, server, sealed, self._clock.now(), RENEW_LEASE):
                return None
            running = asyncio.create_task(self._renew(person, server, sealed, account))
            self._renewing[person, server] = running
            running.add_done_callback(lambda done: self._done(person, server, done))
        return await asyncio.shield(running) or None

    def _done(self, person: str, server: str, done: "asyncio.Task[str]") -> None:
        self._renewing.pop((person, server), None)
        if not done.cancelled():
            done.exception()  # retrieved, so that asyncio does not log it as never retrieved

    async def _renew(self, person: str, server: str, sealed: bytes, account: Account) -> str:
        """Return the new token; "" if the account changed meanwhile or was deleted."""
        try:
            renewed = await self.servers[server].refresh(account, self._clock.now())
        except SignInEnded:
            await self.store.swap(person, server, sealed, None)
            return ""
        except OAuthFailed:
            await self.store.swap(person, server, sealed, self._sealed(person, server, account))
            raise
        if await self._store_renewed(person, server, sealed, self._sealed(person, server, renewed)):
            return renewed.access_token
        await self._revoke(server, renewed)  # signed out meanwhile, so these tokens are not used
        return ""

    async def _store_renewed(self, person: str, server: str, before: bytes, after: bytes) -> bool:
        """Store a renewed account, and retry through a short outage: the old refresh token is no longer valid.

        Raises StoreError.
        """
        deadline, tries = self._clock.monotonic() + STORE_S, 0
        while True:
            try:
                swapped = await self.store.swap(person, server, before, after)
                return swapped or (tries > 0 and await self.store.get(person, server) == after)
            except StoreError:
                if self._clock.monotonic() > deadline:
                    raise
            tries += 1
            await self._clock.sleep(POLL_S)

    async def aclose(self) -> None:
        """Wait until renewals in progress are stored."""
        await asyncio.gather(*self._renewing.values(), return_exceptions=True)

    def _sealed(self, person: str, server: str, account: Account) -> bytes:
        return self.keys.seal(ACCOUNT, account, "account", person, server)

    def _opened(self, person: str, server: str, sealed: bytes) -> Account | None:
        return self.keys.open(ACCOUNT, sealed, "account", person, server)


class PersonAuth(httpx2.Auth):
    """Adds the current token to each request of one person's session.

    `rejected`: the server refused a token that was just renewed.
    """

    def __init__(self, accounts: Accounts, person: str, server: str) -> None:
        self._accounts = accounts
        self._person = person
        self._server = server
        self.rejected = False

    async def async_auth_flow(self, request: httpx2.Request) -> AsyncGenerator[httpx2.Request, httpx2.Response]:
        token = await self._token()
        request.headers["authorization"] = f"Bearer {token}"
        response = yield request
        if response.status_code == HTTPStatus.UNAUTHORIZED:
            request.headers["authorization"] = f"Bearer {await self._token(token)}"
            response = yield request
        self.rejected = response.status_code == HTTPStatus.UNAUTHORIZED
        if response.status_code == HTTPStatus.FORBIDDEN and (scope := missing_scope(response)):
            with suppress(StoreError):
                await self._accounts.request_scope(self._person, self._server, scope)

    async def _token(self, rejected: str = "") -> str:
        try:
            return await self._accounts.bearer(self._person, self._server, rejected)
        except (OAuthFailed, StoreError) as failed:
            raise httpx2.ConnectError(str(failed)) from None
