"""People's accounts at the servers of tools: sealed where they are kept, renewed in time, and each for its person
alone.

The rules.
- What is kept is sealed (`bot.tools.sealing`), and bound to its person and server: a row that somebody moves to another
  person opens nothing.
- A key that is lost or was changed makes no error: what it had sealed counts as signed out, and stays, should it
  return.
- A token is read anew for each request, so that whoever signs out, or is forgotten, is so in every process at once.
- One process renews an account at a time (`store.sign_ins`), to its end even if nobody waits for it any more.
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
from agent.ports import Clock
from agent.ports import ToolAccounts as KeptAccounts
from bot.texts import tool_texts
from bot.tools.mcp_config import HttpReach
from bot.tools.oauth import Account, OAuthFailed, OAuthHttp, SignInEnded, wanted_scope
from bot.tools.sealing import SealingKeys

RENEW_LEASE: Final = timedelta(seconds=60)  # Four times as long as a request may take
RENEW_PATIENCE_S: Final = 30.0  # For another process that renews; a call waits no longer
LOOK_S: Final = 0.2
KEEP_S: Final = 20.0  # For the store to be back; with a request it is less than the lease
REVOKE_S: Final = 10.0  # Whoever signs out, or is forgotten, waits for no server for longer


ACCOUNT: Final = TypeAdapter(Account)


class NotSignedIn(OAuthFailed):
    """There is no account, or none any more, or none that can be opened."""


class Accounts:
    """`servers`: how to reach the authorization server of each server, by its name."""

    def __init__(self, kept: KeptAccounts, keys: SealingKeys, servers: Mapping[str, OAuthHttp], clock: Clock) -> None:
        self.kept = kept
        self.keys = keys
        self.servers = servers
        self._clock = clock
        self._renewing: dict[tuple[str, str], asyncio.Task[str]] = {}

    async def of(self, person: str, server: str) -> Account | None:
        """Raises StoreError."""
        sealed = await self.kept.get(person, server)
        return None if sealed is None else self._opened(person, server, sealed)

    async def all_of(self, person: str) -> dict[str, Account | None]:
        """By server; None for what cannot be opened. Raises StoreError."""
        kept = await self.kept.all_of(person)
        return {server: self._opened(person, server, sealed) for server, sealed in kept.items()}

    async def complete(self, handle: str, person: str, server: str, account: Account) -> bool:
        """End a sign-in with this account. What stood there before is revoked, or these tokens if the sign-in is over.

        Not what the same client was given before: some authorization servers, Google's among them, revoke with one
        token all that a client has of its user. Raises StoreError.
        """
        try:
            before = await self.of(person, server)
            done = await self.kept.complete(handle, person, server, self._sealed(person, server, account))
        except StoreError:
            await self._revoke(server, account)  # nobody has them
            raise
        idle = before if done else account
        if idle is not None and not (done and idle.grant.client_id == account.grant.client_id):
            await self._revoke(server, idle)
        return done

    async def sign_out(self, person: str, server: str) -> bool | None:
        """Forget the account, here and there: whether the server's own side says so; None if there was none.

        Raises StoreError.
        """
        sealed = await self.kept.drop(person, server)
        if sealed is None:
            return None
        account = self._opened(person, server, sealed)
        return account is not None and await self._revoke(server, account)

    async def revoke_all(self, person: str) -> list[str]:
        """Have everything of this person revoked, which is about to be forgotten: the servers that have not confirmed
        it.

        Raises StoreError.
        """
        accounts = await self.all_of(person)
        told = await asyncio.gather(
            *(self._revoke(name, account) for name, account in accounts.items() if account is not None)
        )
        names = [name for name, account in accounts.items() if account is not None]
        lost = [name for name, account in accounts.items() if account is None]
        return [*(name for name, done in zip(names, told, strict=True) if not done), *lost]

    async def _revoke(self, server: str, account: Account) -> bool:
        """Also at a server that the operator has taken away: where to is kept with the account."""
        http = self.servers.get(server) or OAuthHttp(HttpReach(account.grant.resource))
        with suppress(TimeoutError):
            async with asyncio.timeout(REVOKE_S):
                return await http.revoke(account)
        return False

    async def note_wanted(self, person: str, server: str, scope: str) -> None:
        """A tool needs more rights: they are asked for at the next sign-in. Raises StoreError."""
        sealed = await self.kept.get(person, server)
        account = None if sealed is None else self._opened(person, server, sealed)
        if sealed is not None and account is not None and account.wants != scope:
            await self.kept.swap(person, server, sealed, self._sealed(person, server, replace(account, wants=scope)))

    async def bearer(self, person: str, server: str, rejected: str = "") -> str:
        """The token for a request on behalf of this person. `rejected`: one that the server did not take.

        Raises NotSignedIn; OAuthFailed if it cannot be renewed now; StoreError.
        """
        deadline = self._clock.monotonic() + RENEW_PATIENCE_S
        while True:
            sealed = await self.kept.get(person, server)
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
            await self._clock.sleep(LOOK_S)

    async def _renewed(self, person: str, server: str, sealed: bytes, account: Account) -> str | None:
        """None if somebody else renews it, or it has changed meanwhile."""
        running = self._renewing.get((person, server))
        if running is None:
            if not account.refresh_token:
                await self.kept.swap(person, server, sealed, None)
                return None
            if not await self.kept.renew(person, server, sealed, self._clock.now(), RENEW_LEASE):
                return None
            running = asyncio.create_task(self._renew(person, server, sealed, account))
            self._renewing[person, server] = running
            running.add_done_callback(lambda done: self._done(person, server, done))
        return await asyncio.shield(running) or None

    def _done(self, person: str, server: str, done: "asyncio.Task[str]") -> None:
        self._renewing.pop((person, server), None)
        if not done.cancelled():
            done.exception()  # it is read here, should nobody wait for it any more

    async def _renew(self, person: str, server: str, sealed: bytes, account: Account) -> str:
        """The new token; "" if the account has changed meanwhile, or is no more."""
        try:
            renewed = await self.servers[server].refresh(account, self._clock.now())
        except SignInEnded:
            await self.kept.swap(person, server, sealed, None)
            return ""
        except OAuthFailed:
            await self.kept.swap(person, server, sealed, self._sealed(person, server, account))
            raise
        if await self._keep(person, server, sealed, self._sealed(person, server, renewed)):
            return renewed.access_token
        await self._revoke(server, renewed)  # signed out meanwhile: these tokens are nobody's
        return ""

    async def _keep(self, person: str, server: str, before: bytes, after: bytes) -> bool:
        """What was renewed, also through a short outage: the old refresh token is worth nothing any more.

        Raises StoreError.
        """
        deadline, tries = self._clock.monotonic() + KEEP_S, 0
        while True:
            try:
                swapped = await self.kept.swap(person, server, before, after)
                return swapped or (tries > 0 and await self.kept.get(person, server) == after)
            except StoreError:
                if self._clock.monotonic() > deadline:
                    raise
            tries += 1
            await self._clock.sleep(LOOK_S)

    async def aclose(self) -> None:
        """What is being renewed is kept first."""
        await asyncio.gather(*self._renewing.values(), return_exceptions=True)

    def _sealed(self, person: str, server: str, account: Account) -> bytes:
        return self.keys.seal(ACCOUNT, account, "account", person, server)

    def _opened(self, person: str, server: str, sealed: bytes) -> Account | None:
        return self.keys.open(ACCOUNT, sealed, "account", person, server)


class PersonAuth(httpx2.Auth):
    """The requests of one person's session, each with the token that is theirs then.

    `rejected`: the server did not take a token that was just renewed.
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
        if response.status_code == HTTPStatus.FORBIDDEN and (wanted := wanted_scope(response)):
            with suppress(StoreError):
                await self._accounts.note_wanted(self._person, self._server, wanted)

    async def _token(self, rejected: str = "") -> str:
        try:
            return await self._accounts.bearer(self._person, self._server, rejected)
        except (OAuthFailed, StoreError) as failed:
            raise httpx2.ConnectError(str(failed)) from None
