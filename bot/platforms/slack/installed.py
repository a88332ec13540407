"""The tokens of a Slack app that other workspaces install by themselves: got, sealed, renewed in time, and served with.

Rules
- Tokens are sealed (`bot.tools.sealing`), bound to their workspace: moved elsewhere, a row opens nothing.
- Slack takes a refresh token once. One process renews at a time, two hours early, to its end even if nobody waits for
  it. Should it die between Slack's answer and what it keeps, the next one tries the old refresh token; if Slack refuses
  that, the workspace is served until its token ends, and has to install again.
- Every process looks for what was installed, renewed and taken away, every few seconds.
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
from agent.ports import Clock, Installation, Installations
from bot.host import Host
from bot.platforms.slack.api import REVOKED, flag, number, text, web_client
from bot.platforms.slack.http_events import ListenersPages
from bot.platforms.slack.options import PLATFORM, Distribution, Method, RotatingToken, SlackApp
from bot.texts import page_texts
from bot.tools.sealing import SealingKeys

INSTALL_PATH: Final = "/slack/install"
REDIRECT_PATH: Final = "/slack/oauth_redirect"
# So long before a token ends it is renewed, as Slack's own SDK does: an outage of Slack may last an hour.
EARLY: Final = timedelta(hours=2)
LEASE: Final = timedelta(seconds=60)  # Much longer than a request to Slack, and what is kept then, may take
KEEP_S: Final = 20.0  # For the store to be back after Slack has answered; with the request it is less than the lease
LOOK_S: Final = 3.0  # Between two looks at what is installed
SOON_S: Final = 1.0  # In which a process that renews has kept what Slack answered
AGAIN_S: Final = 60.0  # Until what could not be renewed is tried again
MOST_NAME_CHARS: Final = 80
# What Slack answers to a refresh token that counts no more.
ENDED: Final = frozenset({"invalid_refresh_token", "invalid_grant", "token_expired", "token_revoked"})

TEAM_ID: Final = re.compile(r"T[A-Z0-9]{1,30}", re.ASCII)
APP_ID: Final = re.compile(r"A[A-Z0-9]{1,30}", re.ASCII)
USER_ID: Final = re.compile(r"[UW][A-Z0-9]{1,30}", re.ASCII)
_ERROR: Final = re.compile(r"[a-z_]{1,60}")

log = logging.getLogger(__name__)


class InstallFailed(CogencyError):
    """Slack gave nothing, for this reason. `code`: its word for it, "" if it could not be asked."""

    def __init__(self, told: str, code: str = "") -> None:
        super().__init__(told)
        self.code = code


@dataclass(frozen=True, slots=True)
class BotTokens:
    """What Slack gave for one workspace. `refresh`: "" where tokens do not end."""

    access: str = field(repr=False)
    refresh: str = field(default="", repr=False)


@dataclass(frozen=True, slots=True)
class Installed:
    """What Slack tells of an installation."""

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
    """What `oauth.v2.access` answered. Raises InstallFailed for what is no installation of a bot. Pure."""
    told = Installed(
        tokens=BotTokens(text(answer, "access_token"), text(answer, "refresh_token")),
        team=text(answer, "team", "id"),
        name=text(answer, "team", "name")[:MOST_NAME_CHARS],
        organization=text(answer, "enterprise", "id"),
        app=text(answer, "app_id"),
        bot=text(answer, "bot_user_id"),
        scopes=text(answer, "scope"),
        installer=text(answer, "authed_user", "id"),
        expires=_ends(answer, now),
        for_organization=flag(answer, "is_enterprise_install"),
    )
    ids = ((APP_ID, told.app), (USER_ID, told.bot), *(() if told.for_organization else ((TEAM_ID, told.team),)))
    if not told.tokens.access or not all(form.fullmatch(id_) for form, id_ in ids):
        raise InstallFailed(page_texts.INSTALL_UNREADABLE)
    return told


def _ends(answer: JsonObject, now: datetime) -> datetime | None:
    seconds = number(answer, "expires_in")
    return now + timedelta(seconds=seconds) if seconds > 0 else None


class SlackOAuth:
    """Slack's side of it: codes and refresh tokens are exchanged, and tokens revoked."""

    def __init__(self, distribution: Distribution, api_base_url: str, session: ClientSession, clock: Clock) -> None:
        self._distribution = distribution
        self._base_url = api_base_url
        self._session = session
        self._clock = clock

    def authorize_url(self, state: str) -> str:
        """Where a browser is sent, to agree."""
        parts = urlsplit(self._base_url)
        asked = {
            "client_id": self._distribution.client_id,
            "scope": ",".join(self._distribution.scopes),
            "redirect_uri": self._redirect_url,
            "state": state,
        }
        return f"{parts.scheme}://{parts.netloc}/oauth/v2/authorize?{urlencode(asked)}"

    @property
    def _redirect_url(self) -> str:
        return f"{self._distribution.address}{REDIRECT_PATH}"

    async def exchange(self, code: str) -> Installed:
        """Raises InstallFailed."""
        answer = await self._access(code=code, redirect_uri=self._redirect_url)
        return read_installed(answer, self._clock.now())

    async def refresh(self, refresh_token: str) -> tuple[BotTokens, datetime | None]:
        """New tokens, and when they end. Raises InstallFailed."""
        answer = await self._access(grant_type="refresh_token", refresh_token=refresh_token)
        tokens = BotTokens(text(answer, "access_token"), text(answer, "refresh_token"))
        if not tokens.access or not tokens.refresh:
            raise InstallFailed(page_texts.INSTALL_UNREADABLE)
        return tokens, _ends(answer, self._clock.now())

    async def is_revoked(self, token: str) -> bool:
        """Whether Slack takes this token no more, for good. Not known counts as no."""
        try:
            await self._asked(self._client(token).api_call(Method.AUTH_TEST))
        except InstallFailed as failed:
            return failed.code in REVOKED
        return False

    async def revoke(self, token: str) -> None:
        """As far as Slack can be asked."""
        try:
            await self._asked(self._client(token).api_call(Method.REVOKE))
        except InstallFailed as failed:
            log.warning("a token that is not kept could not be revoked: %s", failed)

    async def _access(self, **given: str) -> JsonObject:
        one = self._distribution
        client = f"{one.client_id}:{one.client_secret.reveal()}".encode()
        # The SDK's own method hands aiohttp a kind of authorization that it is about to drop.
        headers = {"Authorization": f"Basic {b64encode(client).decode()}"}
        return await self._asked(self._client().api_call(Method.OAUTH_ACCESS, data=given, headers=headers))

    def _client(self, token: str | None = None) -> "_OAuthClient":
        return cast("_OAuthClient", web_client(self._base_url, self._session, token))

    async def _asked(self, asking: "Awaitable[_Answer]") -> JsonObject:
        try:
            told = (await asking).data
        except SlackApiError as error:
            code = _code(error)
            raise InstallFailed(page_texts.SLACK_REFUSED.format(code=code), code) from None
        except (ClientError, SlackClientError, TimeoutError, ValueError, AttributeError) as error:
            raise InstallFailed(page_texts.SLACK_SILENT) from error
        return told if isinstance(told, dict) else {}


class _Answer(Protocol):
    data: "Json | bytes"


class _OAuthClient(Protocol):
    """slack-sdk's own types are incomplete."""

    async def api_call(
        self, api_method: str, *, data: Mapping[str, str] | None = None, headers: Mapping[str, str] | None = None
    ) -> _Answer: ...


def _code(error: SlackApiError) -> str:
    """Slack's word, as far as it may be shown."""
    response = cast("_Answer", error.response)  # pyright: ignore[reportUnknownMemberType] -- as above
    said = text(response.data, "error") if isinstance(response.data, dict) else ""
    return said if _ERROR.fullmatch(said) else "unknown_error"


@dataclass(frozen=True, slots=True)
class DistributedApp:
    """What it takes to let workspaces install it, and to keep what they gave."""

    distribution: Distribution
    kept: Installations
    keys: SealingKeys
    new_secret: Callable[[], str]


class PageListener(Protocol):
    """As `bot.platforms.slack.http_events.EventsListener`. `stay` raises SettingsError when the address is not free."""

    async def stay(self, pages: ListenersPages) -> None: ...
    async def close(self) -> None: ...


class RunningApps(Protocol):
    """As `bot.platforms.slack.apps.SlackApps` runs them, by their names."""

    @property
    def listener(self) -> PageListener: ...
    @property
    def running(self) -> Collection[str]: ...
    async def start(self, app: SlackApp) -> None: ...
    async def stop(self, name: str) -> None: ...


@dataclass(slots=True)
class _Served:
    """`began`: it was started with these tokens; `row`: as it was seen last."""

    row: Installation
    token: RotatingToken
    ended: float | None = None


class InstalledApps:
    """The apps that workspaces installed: each is served by this process, renewed, and stopped when it goes."""

    def __init__(
        self,
        one: "DistributedApp",
        oauth: SlackOAuth,
        apps: RunningApps,
        host: Host,
        clock: Clock,
    ) -> None:
        self._distribution = one.distribution
        self._oauth = oauth
        self._kept = one.kept
        self._keys = one.keys
        self._apps = apps
        self._host = host
        self._clock = clock
        self._served: dict[str, _Served] = {}
        self._renewing: dict[str, asyncio.Task[None]] = {}
        self._again: dict[str, float] = {}  # When what could not be renewed is tried again
        self._told: set[tuple[str, str]] = set()
        self._looking = asyncio.Lock()
        self._changed = asyncio.Event()

    def changed(self) -> None:
        """Look at once."""
        self._changed.set()

    async def keep(self) -> NoReturn:
        """Look again and again, until cancelled."""
        while True:
            self._changed.clear()
            try:
                await self.look()
            except StoreError as error:
                log.warning("what is installed in Slack cannot be looked up: %s", error)
            waiting = [asyncio.ensure_future(self._changed.wait()), asyncio.ensure_future(self._clock.sleep(LOOK_S))]
            try:
                await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
            finally:
                for one in waiting:
                    one.cancel()

    async def look(self) -> None:
        """Start, renew and stop, by what is installed now. Raises StoreError."""
        async with self._looking:
            rows = {row.source: row for row in await self._kept.listed() if row.removed is None}
            for source in self._served.keys() - rows.keys():
                del self._served[source]
                await self._apps.stop(name_of(source))
            for row in rows.values():
                await self._serve(row)
            if not self._apps.running:
                link = f"{self._distribution.address}{INSTALL_PATH}"
                self._host.platforms.connected(PLATFORM, page_texts.INSTALLED_NOWHERE.format(address=link))

    async def _serve(self, row: Installation) -> None:
        tokens = self._keys.open(TOKENS, row.sealed, "installation", row.source)
        if tokens is None:
            self._tell(row, page_texts.INSTALLATION_SEALED)
            return
        known = self._served.get(row.source)
        if row.expires is not None and row.expires <= self._clock.now():
            await self._apps.stop(name_of(row.source))
            self._renew_soon(row, tokens)
            return
        if known is None or known.row.installed != row.installed:
            token = RotatingToken(tokens.access, lambda: self._newest(row.source))
            self._served[row.source] = _Served(row, token)
            await self._apps.start(self._app(row, token))
        elif known.row.sealed != row.sealed:
            known.row = row
            known.token.replace(tokens.access)
        if known is not None and name_of(row.source) not in self._apps.running:
            await self._ended(known, tokens)
            return
        self._renew_soon(row, tokens)

    async def _ended(self, known: _Served, tokens: BotTokens) -> None:
        """It is not served any more: because it was taken away there, or else it may be again."""
        row, now = known.row, self._clock.monotonic()
        if not await self._oauth.is_revoked(tokens.access):
            if known.ended is not None and now - known.ended < AGAIN_S:
                return
            known.ended = now
            await self._apps.start(self._app(row, known.token))
            return
        gone = Gone(sources=frozenset({row.source}))
        await self._host.forgetting.gone(row.source, gone, at_once=False)
        if await self._kept.remove(row.source, row.installed, self._clock.now()):
            log.info("%s has taken the app away", row.source)
            del self._served[row.source]
        else:  # it was installed anew at this moment, or another process was first
            rows = await self._kept.listed()
            await self._host.forgetting.back(
                [one.source for one in rows if one.removed is None and one.source == row.source]
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

    async def _newest(self, source: str) -> str:
        """The token that is kept now: another process may have renewed it since this one looked, or be about to.

        Raises StoreError.
        """
        if (renewing := self._renewing.get(source)) is not None:
            await asyncio.wait({renewing})
        kept = await self._token(source)
        if source in self._served and kept == self._served[source].token.reveal():
            await self._clock.sleep(SOON_S)
            kept = await self._token(source)
        return kept

    async def _token(self, source: str) -> str:
        row = next((one for one in await self._kept.listed() if one.source == source), None)
        tokens = None if row is None else self._keys.open(TOKENS, row.sealed, "installation", source)
        return "" if tokens is None else tokens.access

    def _renew_soon(self, row: Installation, tokens: BotTokens) -> None:
        is_due = row.expires is not None and row.expires - self._clock.now() <= EARLY
        waits = self._clock.monotonic() < self._again.get(row.source, 0.0)
        if not is_due or not tokens.refresh or waits or row.source in self._renewing:
            return
        task = asyncio.create_task(self._renew(row, tokens), name=f"renew {row.source}")
        self._renewing[row.source] = task
        task.add_done_callback(lambda done: self._renewed(row.source, done))

    def _renewed(self, source: str, done: "asyncio.Task[None]") -> None:
        self._renewing.pop(source, None)
        if not done.cancelled() and (error := done.exception()) is not None:
            self._again[source] = self._clock.monotonic() + AGAIN_S
            log.warning("the tokens of %s were not renewed: %s", source, error)
        self._changed.set()

    async def _renew(self, row: Installation, tokens: BotTokens) -> None:
        """Raises StoreError, and InstallFailed if Slack could not be asked."""
        epoch = await self._kept.claim(row.source, row.sealed, self._clock.now(), LEASE)
        if epoch is None:
            return  # another process does, or did
        try:
            renewed, expires = await self._oauth.refresh(tokens.refresh)
        except InstallFailed as failed:
            if failed.code not in ENDED:
                await self._kept.renewed(row.source, epoch, row.sealed, row.expires)  # free for the next try
                raise
            self._tell(row, page_texts.REFRESH_LOST.format(address=self._distribution.address + INSTALL_PATH))
            self._again[row.source] = self._clock.monotonic() + LEASE.total_seconds() * 10
            return
        await self._insist(row.source, epoch, seal(self._keys, row.source, renewed), expires)

    async def _insist(self, source: str, epoch: int, sealed: bytes, expires: datetime | None) -> None:
        """Keep what was renewed, also through a short outage: the old refresh token is worth nothing any more."""
        deadline = self._clock.monotonic() + KEEP_S
        while True:
            try:
                await self._kept.renewed(source, epoch, sealed, expires)
            except StoreError:
                if self._clock.monotonic() > deadline:
                    raise
                await self._clock.sleep(LOOK_S / 10)
            else:
                return

    def _tell(self, row: Installation, why: str) -> None:
        """Once for each set of tokens."""
        mark = row.source, digest(row.sealed.hex())
        if mark not in self._told:
            self._told.add(mark)
            log.error("%s: %s", row.source, why)
            self._host.platforms.connected(row.source, why)

    async def aclose(self) -> None:
        """What is being renewed is kept first."""
        await asyncio.gather(*self._renewing.values(), return_exceptions=True)


def name_of(source: str) -> str:
    """What an app is called that a workspace installed: the id of that, in small letters."""
    return source.partition(":")[2].lower()


def seal(keys: SealingKeys, source: str, tokens: BotTokens) -> bytes:
    return keys.seal(TOKENS, tokens, "installation", source)


def digest(secret: str) -> str:
    return sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()
