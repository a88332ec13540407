"""The pages by which a workspace installs the Slack app by itself.

Rules
- An installation is begun by a button that this browser was shown, and comes back to it: what leads back is sealed,
  bound to its cookie, counts once and for ten minutes. Nothing of a request decides where a browser is sent.
- Who may install is a list. What a workspace gave that is not on it is revoked at once, and kept nowhere.
"""

import asyncio
import logging
from collections import deque
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from datetime import datetime, timedelta
from hmac import compare_digest
from html import escape
from typing import Final
from urllib.parse import parse_qs, urlencode

from aiohttp import ClientSession, ClientTimeout, web
from pydantic import TypeAdapter

from agent.errors import CogencyError
from agent.ports import Clock, Installation
from bot.host import Host
from bot.platforms.slack.api import TIMEOUT_S
from bot.platforms.slack.installed import (
    INSTALL_PATH,
    REDIRECT_PATH,
    USER_ID,
    DistributedApp,
    Installed,
    InstalledApps,
    InstallFailed,
    RunningApps,
    SlackOAuth,
    digest,
    seal,
)
from bot.platforms.slack.options import PLATFORM, Distribution
from bot.texts import page_texts, tool_texts
from bot.tools.mcp_source import PageAnswer
from bot.tools.sign_in_pages import HEADERS, READ_S, kept_by_browser, to_response

COOKIE: Final = "cogency-install"
TIME: Final = timedelta(minutes=10)  # From the button to the end: as long as Slack's own codes hold
MAX_QUERY_CHARS: Final = 4_096
# Codes that are exchanged in a minute. Slack limits the method for all workspaces together, and renewing needs it.
MAX_EXCHANGES: Final = 20
MINUTE_S: Final = 60.0
EVERYBODY: Final = "*"
STATE: Final = TypeAdapter(tuple[datetime, str])  # When it ends, and something random

log = logging.getLogger(__name__)


class InstallDesk:
    """What the pages do. `changed`: is called after an installation is kept."""

    def __init__(
        self,
        one: DistributedApp,
        oauth: SlackOAuth,
        host: Host,
        clock: Clock,
        changed: Callable[[], None],
    ) -> None:
        self._distribution = one.distribution
        self._oauth = oauth
        self._kept = one.kept
        self._keys = one.keys
        self._new_secret = one.new_secret
        self._host = host
        self._clock = clock
        self._changed = changed
        self._exchanged: deque[float] = deque(maxlen=MAX_EXCHANGES)

    def ask(self, browser: str) -> PageAnswer:
        """The page with the button. Nothing is kept of who looks at it."""
        if not self._distribution.installers:
            return PageAnswer(403, _page(page_texts.INSTALL_CLOSED))
        browser = browser or self._new_secret()
        return PageAnswer(200, _page(page_texts.INSTALL_ASKS.format(browser=escape(browser))), cookie=browser)

    def begin(self, browser: str, said: str) -> PageAnswer:
        """The button was pressed. `said`: what stood in the page, `browser` what stands in the cookie."""
        if not self._distribution.installers:
            return PageAnswer(403, _page(page_texts.INSTALL_CLOSED))
        if not browser or not compare_digest(browser.encode(), said.encode("utf-8", "surrogatepass")):
            return PageAnswer(403, self._other_browser())
        value = (self._clock.now() + TIME, self._new_secret())
        state = self._keys.seal(STATE, value, "slack-install", digest(browser)).hex()
        return PageAnswer(303, go=self._oauth.authorize_url(state))

    async def come_back(self, query: str, browser: str) -> PageAnswer:
        """A browser comes back from Slack. Raises StoreError."""
        given = _one_of_each(query)
        state = given.get("state", "")
        if not browser or not self._is_ours(state, browser):
            return PageAnswer(403, self._other_browser())
        if self._is_hasty():
            return PageAnswer(429, _page(page_texts.INSTALL_HASTY.format(address=self._link)))
        if not await self._host.claims.claim_once("install", state):
            return PageAnswer(403, _page(page_texts.INSTALL_USED.format(address=self._link)))
        if "error" in given or not given.get("code"):
            denied = given.get("error") == "access_denied"
            told = page_texts.INSTALL_DENIED if denied else page_texts.INSTALL_NOT_DONE
            return PageAnswer(400, _page(told.format(address=self._link)))
        try:
            installed = await self._oauth.exchange(given["code"])
        except InstallFailed as failed:
            why = escape(str(failed))
            return PageAnswer(400, _page(page_texts.INSTALL_FAILED.format(why=why, address=self._link)))
        return await self._keep(installed)

    async def _keep(self, told: Installed) -> PageAnswer:
        if told.for_organization:
            await self._oauth.revoke(told.tokens.access)
            return PageAnswer(400, _page(page_texts.INSTALL_ORGANIZATION.format(address=self._link)))
        source = f"{PLATFORM}:{told.team}"
        name = escape(told.name or told.team)
        if not self._may_install(told):
            kept = {one.source for one in await self._kept.listed() if one.removed is None}
            if source not in kept:  # without rotation this is the token that is in use there
                await self._oauth.revoke(told.tokens.access)
            log.warning(
                "the workspace %s may not install the app: COGENCY_SLACK_INSTALLERS does not name it", told.team
            )
            return PageAnswer(403, _page(page_texts.INSTALL_NOT_LISTED.format(name=name, team=told.team)))
        installer = f"{source}:{told.installer}" if USER_ID.fullmatch(told.installer) else ""
        await self._kept.put(
            Installation(
                source=source,
                app=told.app,
                organization=told.organization,
                bot=told.bot,
                scopes=told.scopes,
                installer=installer,
                installed=self._clock.now(),
                expires=told.expires,
                sealed=seal(self._keys, source, told.tokens),
            )
        )
        log.info("the workspace %s installed the app", told.team)
        self._changed()
        link = escape(f"https://slack.com/app_redirect?{urlencode({'app': told.app, 'team': told.team})}")
        return PageAnswer(200, _page(page_texts.INSTALL_DONE.format(name=name, link=link)))

    def _may_install(self, told: Installed) -> bool:
        listed = self._distribution.installers
        return EVERYBODY in listed or told.team in listed or (bool(told.organization) and told.organization in listed)

    def _is_ours(self, state: str, browser: str) -> bool:
        try:
            sealed = bytes.fromhex(state)
        except ValueError:
            return False
        opened = self._keys.open(STATE, sealed, "slack-install", digest(browser))
        return opened is not None and self._clock.now() < opened[0]

    def _is_hasty(self) -> bool:
        now = self._clock.monotonic()
        full = len(self._exchanged) == MAX_EXCHANGES and now - self._exchanged[0] < MINUTE_S
        if not full:
            self._exchanged.append(now)
        return full

    @property
    def _link(self) -> str:
        return escape(f"{self._distribution.address}{INSTALL_PATH}")

    def _other_browser(self) -> str:
        return _page(page_texts.INSTALL_OTHER_BROWSER.format(address=self._link))


def _page(body: str) -> str:
    return tool_texts.PAGE.format(body=body)


def _one_of_each(query: str) -> dict[str, str]:
    """What a query says; nothing if it is too long, or says something twice."""
    if len(query) > MAX_QUERY_CHARS:
        return {}
    try:
        given = parse_qs(query, max_num_fields=20)
    except ValueError:
        return {}
    return {} if any(len(values) > 1 for values in given.values()) else {name: one for name, (one,) in given.items()}


class InstallPages:
    """The pages over HTTP, on the server that takes Slack's requests."""

    def __init__(self, desk: InstallDesk, distribution: Distribution) -> None:
        self.delivery = distribution.delivery
        self._desk = desk
        self._secure = distribution.address.startswith("https://")
        self._cookie = f"__Host-{COOKIE}" if self._secure else COOKIE

    def add_to(self, server: web.Application) -> None:
        server.router.add_get(INSTALL_PATH, self._ask)
        server.router.add_post(INSTALL_PATH, self._begin)
        server.router.add_get(REDIRECT_PATH, self._come_back)

    async def _ask(self, request: web.Request) -> web.Response:
        return self._response(self._desk.ask(self._browser(request)))

    async def _begin(self, request: web.Request) -> web.Response:
        if (request.content_length or 0) > MAX_QUERY_CHARS:
            return web.Response(status=413, headers=HEADERS)
        try:
            async with asyncio.timeout(READ_S):
                said = (await request.post()).get("browser", "")
        except (TimeoutError, ValueError, ConnectionError, web.HTTPException):
            return web.Response(status=400, headers=HEADERS)
        written = said if isinstance(said, str) else ""
        return self._response(self._desk.begin(self._browser(request), written))

    async def _come_back(self, request: web.Request) -> web.Response:
        try:
            answer = await self._desk.come_back(request.rel_url.raw_query_string, self._browser(request))
        except CogencyError as error:
            log.warning("an installation could not be kept: %s", error)
            answer = PageAnswer(503, _page(tool_texts.PAGE_LATER))
        return self._response(answer)

    def _browser(self, request: web.Request) -> str:
        return kept_by_browser(request, self._cookie)

    def _response(self, answer: PageAnswer) -> web.Response:
        return to_response(answer, self._cookie, int(2 * TIME.total_seconds()), secure=self._secure)


@asynccontextmanager
async def installing(
    one: DistributedApp, api_base_url: str, apps: RunningApps, host: Host, clock: Clock
) -> AsyncGenerator[InstalledApps]:
    """The pages are served while the block runs. Raises SettingsError when the address cannot be had."""
    async with ClientSession(timeout=ClientTimeout(total=TIMEOUT_S)) as session:
        oauth = SlackOAuth(one.distribution, api_base_url, session, clock)
        installed = InstalledApps(one, oauth, apps, host, clock)
        desk = InstallDesk(one, oauth, host, clock, installed.changed)
        await apps.listener.stay(InstallPages(desk, one.distribution))
        log.info("workspaces can install the app at %s%s", one.distribution.address, INSTALL_PATH)
        try:
            yield installed
        finally:
            await installed.aclose()
            await apps.listener.close()
