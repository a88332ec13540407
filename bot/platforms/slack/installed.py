"""Workspaces that installed a distributed Slack app: their tokens are sealed, renewed in time, and used to serve them.

Rules
- Tokens are sealed (`bot.chat.sealing`) and bound to their workspace: a row that was copied to another cannot
  be opened.
- Slack accepts a refresh token once. One process renews at a time, two hours early, and is not interrupted. If it dies
  between Slack's answer and storing it, the next one tries the old refresh token; if Slack refuses that, the workspace
  is served until its token expires, and has to install the app again.
- Every process polls for installed, renewed and removed workspaces every few seconds.
"""

import asyncio
import logging
import re
from base64 import b64encode
from collections.abc import Awaitable, Callable, Collection, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from hashlib import sha256
from typing import Final, NoReturn, Protocol, cast
from urllib.parse import urlencode, urlsplit

from aiohttp import ClientError, ClientSession
from pydantic import TypeAdapter
from slack_sdk.errors import SlackApiError, SlackClientError

from agent.errors import CogencyError, StoreError
from agent.memory.forgetting_plans import Gone
from agent.messages import Json, JsonObject
from agent.ports.clock import Clock
from agent.ports.installations import Installation, Installations
from bot.chat.host import Host
from bot.chat.sealing import SealingKeys
from bot.platforms import texts as platforms_texts
from bot.platforms.slack.api import REVOKED, flag, number, text, web_client
from bot.platforms.slack.http_events import ListenersPages
from bot.platforms.slack.options import PLATFORM, Distribution, Method, RotatingToken, SlackApp
from bot.platforms.slack.revocation import Confirmation, TokenState

INSTALL_PATH: Final = "/slack/install"
REDIRECT_PATH: Final = "/slack/oauth_redirect"
# How long before its end a token is renewed, as Slack's own SDK does: an outage of Slack may last an hour.
EARLY: Final = timedelta(hours=2)
LEASE: Final = timedelta(seconds=60)  # Much longer than the request to Slack and storing its answer may take
STORE_RETRY_S: Final = 20.0  # For the store to be back after Slack's answer; with the request, less than the lease
POLL_S: Final = 3.0  # Between two readings of what is installed
RENEWED_SOON_S: Final = 1.0  # Within which another process that renews stores Slack's answer
RETRY_S: Final = 60.0  # After a failed renewal
MAX_NAME_CHARS: Final = 80
# Slack's error codes for a refresh token that is no longer valid.
EXPIRED_CODES: Final = frozenset({"invalid_refresh_token", "invalid_grant", "token_expired", "token_revoked"})

TEAM_ID: Final = re.compile(r"T[A-Z0-9]{1,30}", re.ASCII)
APP_ID: Final = re.compile(r"A[A-Z0-9]{1,30}", re.ASCII)
USER_ID: Final = re.compile(r"[UW][A-Z0-9]{1,30}", re.ASCII)
_ERROR: Final = re.compile(r"[a-z_]{1,60}")

log = logging.getLogger(__name__)


class InstallFailed(CogencyError):
    """Slack gave no tokens. `code`: its error code; "" if it could not be reached."""

    def __init__(self, sentence: str, code: str = "") -> None:
        super().__init__(sentence)
        self.code = code


@dataclass(frozen=True, slots=True)
class BotTokens:
    """The tokens of one workspace. `refresh`: "" if they do not expire."""

    access: str = field(repr=False)
    refresh: str = field(default="", repr=False)


@dataclass(frozen=True, slots=True)
class Installed:
    """An installation, as Slack describes it. `expires`: when its token does; None for never."""

    tokens: BotTokens
    team: str
    name: str
    organization: str
    app: str
    bot: str
    scopes: str
    installer: str
    expires: datetime | None
    for_organization: bool = False


TOKENS: Final = TypeAdapter(BotTokens)


def read_installed(answer: JsonObject, now: datetime) -> Installed:
    """Parse the answer of `oauth.v2.access`. Raises InstallFailed if it is no installation of a bot. Pure."""
    installed = Installed(
        tokens=BotTokens(text(answer, "access_token"), text(answer, "refresh_token")),
        team=text(answer, "team", "id"),
        name=text(answer, "team", "name")[:MAX_NAME_CHARS],
        organization=text(answer, "enterprise", "id"),
        app=text(answer, "app_id"),
        bot=text(answer, "bot_user_id"),
        scopes=text(answer, "scope"),
        installer=text(answer, "authed_user", "id"),
        expires=_expiry(answer, now),
        for_organization=flag(answer, "is_enterprise_install"),
    )
    ids = (
        (APP_ID, installed.app),
        (USER_ID, installed.bot),
        *(() if installed.for_organization else ((TEAM_ID, installed.team),)),
    )
    if not installed.tokens.access or not all(form.fullmatch(id_) for form, id_ in ids):
        raise InstallFailed(platforms_texts.INSTALL_UNREADABLE)
    return installed


def _expiry(answer: JsonObject, now: datetime) -> datetime | None:
    seconds = number(answer, "expires_in")
    return now + timedelta(seconds=seconds) if seconds > 0 else None


class SlackOAuth:
    """Slack's OAuth: exchanges codes and refresh tokens, and revokes tokens."""

    def __init__(self, distribution: Distribution, api_base_url: str, session: ClientSession, clock: Clock) -> None:
        self._distribution = distribution
        self._base_url = api_base_url
        self._session = session
        self._clock = clock

    def authorize_url(self, state: str) -> str:
        """Return the URL of Slack's page on which the installation is confirmed."""
        parts = urlsplit(self._base_url)
        query = {
            "client_id": self._distribution.client_id,
            "scope": ",".join(self._distribution.scopes),
            "redirect_uri": self._redirect_url,
            "state": state,
        }
        return f"{parts.scheme}://{parts.netloc}/oauth/v2/authorize?{urlencode(query)}"

    @property
    def _redirect_url(self) -> str:
        return f"{self._distribution.address}{REDIRECT_PATH}"

    async def exchange(self, code: str) -> Installed:
        """Exchange a code for an installation. Raises InstallFailed."""
        answer = await self._access(code=code, redirect_uri=self._redirect_url)
        return read_installed(answer, self._clock.now())

    async def refresh(self, refresh_token: str) -> tuple[BotTokens, datetime | None]:
        """Return new tokens, and when they expire. Raises InstallFailed."""
        answer = await self._access(grant_type="refresh_token", refresh_token=refresh_token)
        tokens = BotTokens(text(answer, "access_token"), text(answer, "refresh_token"))
        if not tokens.access or not tokens.refresh:
            raise InstallFailed(platforms_texts.INSTALL_UNREADABLE)
        return tokens, _expiry(answer, self._clock.now())

    async def is_refused(self, token: str) -> bool | None:
        """Whether Slack refuses this token; None if that is not known."""
        try:
            await self._read_answer(self._client(token).api_call(Method.AUTH_TEST))
        except InstallFailed as failed:
            return True if failed.code in REVOKED else None
        return False

    async def revoke(self, token: str) -> None:
        """Revoke a token; log a failure."""
        try:
            await self._read_answer(self._client(token).api_call(Method.REVOKE))
        except InstallFailed as failed:
            log.warning("an unused token could not be revoked: %s", failed)

    async def _access(self, **form: str) -> JsonObject:
        distribution = self._distribution
        client = f"{distribution.client_id}:{distribution.client_secret.reveal()}".encode()
        # The SDK's own method uses a form of authorization that aiohttp has deprecated.
        headers = {"Authorization": f"Basic {b64encode(client).decode()}"}
        return await self._read_answer(self._client().api_call(Method.OAUTH_ACCESS, data=form, headers=headers))

    def _client(self, token: str | None = None) -> "_OAuthClient":
        return cast("_OAuthClient", web_client(self._base_url, self._session, token))

    async def _read_answer(self, request: "Awaitable[_Answer]") -> JsonObject:
        try:
            data = (await request).data
        except SlackApiError as error:
            code = _code(error)
            raise InstallFailed(platforms_texts.INSTALL_REFUSED.format(code=code), code) from None
        except (ClientError, SlackClientError, TimeoutError, ValueError, AttributeError) as error:
            raise InstallFailed(platforms_texts.SLACK_SILENT) from error
        return data if isinstance(data, dict) else {}


class _Answer(Protocol):
    data: "Json | bytes"


class _OAuthClient(Protocol):
    """slack-sdk's own types are incomplete."""

    async def api_call(
        self, api_method: str, *, data: Mapping[str, str] | None = None, headers: Mapping[str, str] | None = None
    ) -> _Answer: ...


def _code(error: SlackApiError) -> str:
    """Return Slack's error code if it has the form of one, since it is shown on a page."""
    response = cast("_Answer", error.response)  # pyright: ignore[reportUnknownMemberType] -- slack_sdk leaves it untyped
    code = text(response.data, "error") if isinstance(response.data, dict) else ""
    return code if _ERROR.fullmatch(code) else "unknown_error"


@dataclass(frozen=True, slots=True)
class DistributedApp:
    """The parts that a distributed app needs: its settings, and where and how its installations are stored."""

    distribution: Distribution
    kept: Installations
    keys: SealingKeys
    new_secret: Callable[[], str]


class PageListener(Protocol):
    """Implemented by `bot.platforms.slack.http_events.EventsListener`.

    `serve_pages` raises SettingsError when the address is not available.
    """

    async def serve_pages(self, pages: ListenersPages) -> None: ...
    async def close(self) -> None: ...


class RunningApps(Protocol):
    """Implemented by `bot.platforms.slack.apps.SlackApps`: runs apps by their names."""

    @property
    def listener(self) -> PageListener: ...
    @property
    def running(self) -> Collection[str]: ...
    async def start(self, app: SlackApp) -> None: ...
    async def stop(self, name: str) -> None: ...


@dataclass(slots=True)
class _Served:
    """A workspace that this process serves. `row`: as last read. `ended`: when it last stopped by itself."""

    row: Installation
    token: RotatingToken
    ended: float | None = None
    confirmation: Confirmation = field(default_factory=Confirmation)


class InstalledApps:
    """Serves each workspace that installed the app, renews its tokens, and stops when the app is removed there."""

    def __init__(
        self,
        distributed: "DistributedApp",
        oauth: SlackOAuth,
        apps: RunningApps,
        host: Host,
        clock: Clock,
    ) -> None:
        self._distribution = distributed.distribution
        self._oauth = oauth
        self._installations = distributed.kept
        self._keys = distributed.keys
        self._apps = apps
        self._host = host
        self._clock = clock
        self._served: dict[str, _Served] = {}
        self._renewing: dict[str, asyncio.Task[None]] = {}
        self._retry_at: dict[str, float] = {}  # After failed renewals, by source
        self._reported: set[tuple[str, str]] = set()
        self._lock = asyncio.Lock()
        self._changed = asyncio.Event()

    def changed(self) -> None:
        """Make `keep` poll at once."""
        self._changed.set()

    async def keep(self) -> NoReturn:
        """Poll until cancelled."""
        while True:
            self._changed.clear()
            try:
                await self.sync()
            except StoreError as error:
                log.warning("Slack installations could not be looked up: %s", error)
            waiting = [asyncio.ensure_future(self._changed.wait()), asyncio.ensure_future(self._clock.sleep(POLL_S))]
            try:
                await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
            finally:
                for waiter in waiting:
                    waiter.cancel()

    async def sync(self) -> None:
        """Start, renew and stop apps by what is installed now. Raises StoreError."""
        async with self._lock:
            rows = {row.source: row for row in await self._installations.listed() if row.removed is None}
            for source in self._served.keys() - rows.keys():
                del self._served[source]
                await self._apps.stop(name_of(source))
            for row in rows.values():
                await self._serve(row)
            if not self._apps.running:
                link = f"{self._distribution.address}{INSTALL_PATH}"
                self._host.platforms.connected(PLATFORM, platforms_texts.INSTALLED_NOWHERE.format(address=link))

    async def _serve(self, row: Installation) -> None:
        tokens = self._keys.open(TOKENS, row.sealed, "installation", row.source)
        if tokens is None:
            self._report(row, platforms_texts.INSTALLATION_SEALED)
            return
        served = self._served.get(row.source)
        if row.expires is not None and row.expires <= self._clock.now():
            await self._apps.stop(name_of(row.source))
            self._start_renewal(row, tokens)
            return
        if served is None or served.row.installed != row.installed:
            token = RotatingToken(tokens.access, lambda: self._current_token(row.source))
            self._served[row.source] = _Served(row, token)
            await self._apps.start(self._app(row, token))
        elif served.row.sealed != row.sealed:
            served.row = row
            served.token.replace(tokens.access)
        if served is not None and name_of(row.source) not in self._apps.running:
            await self._handle_ended(served, tokens)
            return
        self._start_renewal(row, tokens)

    async def _handle_ended(self, served: _Served, tokens: BotTokens) -> None:
        """Handle an app that stopped: record that it was removed if its token is revoked, else start it again."""
        row, now = served.row, self._clock.monotonic()
        state = served.confirmation.record(now, refused=await self._oauth.is_refused(tokens.access))
        if state is TokenState.DOUBTED and served.confirmation.refused_since is not None:
            return  # the next reading asks again
        if state is not TokenState.REVOKED:
            if served.ended is not None and now - served.ended < RETRY_S:
                return
            served.ended = now
            await self._apps.start(self._app(row, served.token))
            return
        gone = Gone(sources=frozenset({row.source}))
        await self._host.events.place_gone(row.source, gone, at_once=False)
        if await self._installations.remove(row.source, row.installed, self._clock.now()):
            log.info("%s removed the app", row.source)
            del self._served[row.source]
        else:  # it was installed again at this moment, or another process was first
            rows = await self._installations.listed()
            await self._host.events.places_back(
                [
                    listed_row.source
                    for listed_row in rows
                    if listed_row.removed is None and listed_row.source == row.source
                ]
            )

    def _app(self, row: Installation, token: RotatingToken) -> SlackApp:
        return SlackApp(
            bot_token=token,
            delivery=self._distribution.delivery,
            name=name_of(row.source),
            app_id=row.app,
            command_prefix=self._distribution.command_prefix,
            team=row.source.partition(":")[2],
        )

    async def _current_token(self, source: str) -> str:
        """Return the token that is stored now: another process may have renewed it since the last poll, or be about to.

        Raises StoreError.
        """
        if (renewing := self._renewing.get(source)) is not None:
            await asyncio.wait({renewing})
        token = await self._stored_token(source)
        if source in self._served and token == self._served[source].token.reveal():
            await self._clock.sleep(RENEWED_SOON_S)
            token = await self._stored_token(source)
        return token

    async def _stored_token(self, source: str) -> str:
        row = next((row for row in await self._installations.listed() if row.source == source), None)
        tokens = None if row is None else self._keys.open(TOKENS, row.sealed, "installation", source)
        return "" if tokens is None else tokens.access

    def _start_renewal(self, row: Installation, tokens: BotTokens) -> None:
        is_due = row.expires is not None and row.expires - self._clock.now() <= EARLY
        is_waiting = self._clock.monotonic() < self._retry_at.get(row.source, 0.0)
        if not is_due or not tokens.refresh or is_waiting or row.source in self._renewing:
            return
        task = asyncio.create_task(self._renew(row, tokens), name=f"renew {row.source}")
        self._renewing[row.source] = task
        task.add_done_callback(lambda done: self._renewal_done(row.source, done))

    def _renewal_done(self, source: str, done: "asyncio.Task[None]") -> None:
        self._renewing.pop(source, None)
        if not done.cancelled() and (error := done.exception()) is not None:
            self._retry_at[source] = self._clock.monotonic() + RETRY_S
            log.warning("the tokens of %s were not renewed: %s", source, error)
        self._changed.set()

    async def _renew(self, row: Installation, tokens: BotTokens) -> None:
        """Renew the tokens, if no other process does. Raises StoreError, and InstallFailed if Slack was not reached."""
        epoch = await self._installations.claim(row.source, row.sealed, self._clock.now(), LEASE)
        if epoch is None:
            return  # another process does, or did
        try:
            renewed, expires = await self._oauth.refresh(tokens.refresh)
        except InstallFailed as failed:
            if failed.code not in EXPIRED_CODES:
                await self._installations.renewed(row.source, epoch, row.sealed, row.expires)  # free for the next try
                raise
            self._report(row, platforms_texts.REFRESH_LOST.format(address=self._distribution.address + INSTALL_PATH))
            self._retry_at[row.source] = self._clock.monotonic() + LEASE.total_seconds() * 10
            return
        await self._store(row.source, epoch, seal(self._keys, row.source, renewed), expires)

    async def _store(self, source: str, epoch: int, sealed: bytes, expires: datetime | None) -> None:
        """Store the new tokens, retrying through a short outage: the old refresh token is no longer valid."""
        deadline = self._clock.monotonic() + STORE_RETRY_S
        while True:
            try:
                await self._installations.renewed(source, epoch, sealed, expires)
            except StoreError:
                if self._clock.monotonic() > deadline:
                    raise
                await self._clock.sleep(POLL_S / 10)
            else:
                return

    def _report(self, row: Installation, why: str) -> None:
        """Log an error and show it in health reports, once for each set of tokens."""
        mark = row.source, digest(row.sealed.hex())
        if mark not in self._reported:
            self._reported.add(mark)
            log.error("%s: %s", row.source, why)
            self._host.platforms.connected(row.source, why)

    async def close(self) -> None:
        """Wait for running renewals."""
        await asyncio.gather(*self._renewing.values(), return_exceptions=True)


def name_of(source: str) -> str:
    """Return the name of the app of a workspace that installed it: the workspace's id in lower case."""
    return source.partition(":")[2].lower()


def seal(keys: SealingKeys, source: str, tokens: BotTokens) -> bytes:
    return keys.seal(TOKENS, tokens, "installation", source)


def digest(secret: str) -> str:
    return sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()
