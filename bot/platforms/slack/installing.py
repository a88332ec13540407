"""The pages by which a workspace installs the Slack app by itself.

Rules
- An installation starts with a button that this browser was shown, and ends in the same browser: the state is sealed,
  bound to the browser's cookie, and valid once and for ten minutes. Redirects never depend on a request.
- A list says which workspaces may install the app. The tokens of others are revoked at once, and not stored.
"""

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
from agent.ports.clock import Clock
from agent.ports.installations import Installation
from bot.chat.host import Host
from bot.chat.http_listener import closing
from bot.chat.web_page import LATER, PageAnswer, page
from bot.chat.web_requests import HEADERS, cookie_value, form_field, to_response
from bot.platforms import texts as platforms_texts
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

COOKIE: Final = "cogency-install"
TIME: Final = timedelta(minutes=10)  # From the button to the end: Slack's own codes are valid as long
MAX_QUERY_CHARS: Final = 4_096
# Exchanges of codes per minute. Slack limits the method for all workspaces together, and renewals need it, too.
MAX_EXCHANGES: Final = 20
MINUTE_S: Final = 60.0
EVERYBODY: Final = "*"
STATE: Final = TypeAdapter(tuple[datetime, str])  # When it expires, and a random text

log = logging.getLogger(__name__)


class InstallService:
    """The logic of the pages. `changed` is called after an installation is stored."""

    def __init__(
        self,
        distributed: DistributedApp,
        oauth: SlackOAuth,
        host: Host,
        clock: Clock,
        changed: Callable[[], None],
    ) -> None:
        self._distribution = distributed.distribution
        self._oauth = oauth
        self._installations = distributed.kept
        self._keys = distributed.keys
        self._new_secret = distributed.new_secret
        self._host = host
        self._clock = clock
        self._changed = changed
        self._exchanged: deque[float] = deque(maxlen=MAX_EXCHANGES)

    def show(self, browser: str) -> PageAnswer:
        """Return the page with the button. Nothing about the visitor is stored. `browser`: the cookie."""
        if not self._distribution.installers:
            return PageAnswer(403, page(platforms_texts.INSTALL_CLOSED))
        browser = browser or self._new_secret()
        return PageAnswer(200, page(platforms_texts.INSTALL_ASKS.format(browser=escape(browser))), cookie=browser)

    def start(self, browser: str, form_value: str) -> PageAnswer:
        """Redirect to Slack: the button was pressed. `form_value`: from the page. `browser`: the cookie."""
        if not self._distribution.installers:
            return PageAnswer(403, page(platforms_texts.INSTALL_CLOSED))
        if not browser or not compare_digest(browser.encode(), form_value.encode("utf-8", "surrogatepass")):
            return PageAnswer(403, self._other_browser())
        value = (self._clock.now() + TIME, self._new_secret())
        state = self._keys.seal(STATE, value, "slack-install", digest(browser)).hex()
        return PageAnswer(303, go=self._oauth.authorize_url(state))

    async def finish(self, query: str, browser: str) -> PageAnswer:
        """Finish the installation: Slack redirected the browser back. `browser`: the cookie. Raises StoreError."""
        params = _single_values(query)
        state = params.get("state", "")
        if not browser or not self._is_ours(state, browser):
            return PageAnswer(403, self._other_browser())
        if self._is_rate_limited():
            return PageAnswer(429, page(platforms_texts.INSTALL_HASTY.format(address=self._link)))
        # Of one state there are many texts: `fromhex` takes capitals and blanks.
        if not await self._host.deduplication.claim_once("install", bytes.fromhex(state).hex()):
            return PageAnswer(403, page(platforms_texts.INSTALL_USED.format(address=self._link)))
        if "error" in params or not params.get("code"):
            denied = params.get("error") == "access_denied"
            template = platforms_texts.INSTALL_DENIED if denied else platforms_texts.INSTALL_NOT_DONE
            return PageAnswer(400, page(template.format(address=self._link)))
        try:
            installed = await self._oauth.exchange(params["code"])
        except InstallFailed as failed:
            why = escape(str(failed))
            return PageAnswer(400, page(platforms_texts.INSTALL_FAILED.format(why=why, address=self._link)))
        return await self._store(installed)

    async def _store(self, installed: Installed) -> PageAnswer:
        if installed.for_organization:
            await self._oauth.revoke(installed.tokens.access)
            return PageAnswer(400, page(platforms_texts.INSTALL_ORGANIZATION.format(address=self._link)))
        source = f"{PLATFORM}:{installed.team}"
        name = escape(installed.name or installed.team)
        if not self._may_install(installed):
            sources = {row.source for row in await self._installations.listed() if row.removed is None}
            if source not in sources:  # without rotation this is the token that is in use there
                await self._oauth.revoke(installed.tokens.access)
            log.warning(
                "the workspace %s is not allowed to install the app: COGENCY_SLACK_INSTALLERS does not list it",
                installed.team,
            )
            return PageAnswer(403, page(platforms_texts.INSTALL_NOT_LISTED.format(name=name, team=installed.team)))
        installer = f"{source}:{installed.installer}" if USER_ID.fullmatch(installed.installer) else ""
        await self._installations.put(
            Installation(
                source=source,
                app=installed.app,
                organization=installed.organization,
                bot=installed.bot,
                scopes=installed.scopes,
                installer=installer,
                installed=self._clock.now(),
                expires=installed.expires,
                sealed=seal(self._keys, source, installed.tokens),
            )
        )
        log.info("the workspace %s installed the app", installed.team)
        self._changed()
        link = escape(f"https://slack.com/app_redirect?{urlencode({'app': installed.app, 'team': installed.team})}")
        return PageAnswer(200, page(platforms_texts.INSTALL_DONE.format(name=name, link=link)))

    def _may_install(self, installed: Installed) -> bool:
        listed = self._distribution.installers
        return (
            EVERYBODY in listed
            or installed.team in listed
            or (bool(installed.organization) and installed.organization in listed)
        )

    def _is_ours(self, state: str, browser: str) -> bool:
        try:
            sealed = bytes.fromhex(state)
        except ValueError:
            return False
        opened = self._keys.open(STATE, sealed, "slack-install", digest(browser))
        return opened is not None and self._clock.now() < opened[0]

    def _is_rate_limited(self) -> bool:
        now = self._clock.monotonic()
        is_full = len(self._exchanged) == MAX_EXCHANGES and now - self._exchanged[0] < MINUTE_S
        if not is_full:
            self._exchanged.append(now)
        return is_full

    @property
    def _link(self) -> str:
        return escape(f"{self._distribution.address}{INSTALL_PATH}")

    def _other_browser(self) -> str:
        return page(platforms_texts.INSTALL_OTHER_BROWSER.format(address=self._link))


def _single_values(query: str) -> dict[str, str]:
    """Parse a query; {} if it is too long, or has a parameter twice."""
    if len(query) > MAX_QUERY_CHARS:
        return {}
    try:
        params = parse_qs(query, max_num_fields=20)
    except ValueError:
        return {}
    return (
        {} if any(len(values) > 1 for values in params.values()) else {name: value for name, (value,) in params.items()}
    )


class InstallPages:
    """The pages over HTTP, on the server for Slack's requests."""

    def __init__(self, service: InstallService, distribution: Distribution) -> None:
        self.delivery = distribution.delivery
        self._service = service
        self._secure = distribution.address.startswith("https://")
        self._cookie = f"__Host-{COOKIE}" if self._secure else COOKIE

    def add_to(self, server: web.Application) -> None:
        server.router.add_get(INSTALL_PATH, self._show)
        server.router.add_post(INSTALL_PATH, self._start)
        server.router.add_get(REDIRECT_PATH, self._finish)

    async def _show(self, request: web.Request) -> web.Response:
        return self._response(self._service.show(self._browser(request)))

    async def _start(self, request: web.Request) -> web.Response:
        form_value = await form_field(request, "browser")
        if form_value is None:
            return closing(web.Response(status=400, headers=HEADERS))
        return self._response(self._service.start(self._browser(request), form_value))

    async def _finish(self, request: web.Request) -> web.Response:
        try:
            answer = await self._service.finish(request.rel_url.raw_query_string, self._browser(request))
        except CogencyError as error:
            log.warning("an installation could not be stored: %s", error)
            answer = LATER
        return self._response(answer)

    def _browser(self, request: web.Request) -> str:
        return cookie_value(request, self._cookie)

    def _response(self, answer: PageAnswer) -> web.Response:
        return to_response(answer, self._cookie, int(2 * TIME.total_seconds()), secure=self._secure)


@asynccontextmanager
async def installing(
    distributed: DistributedApp, api_base_url: str, apps: RunningApps, host: Host, clock: Clock
) -> AsyncGenerator[InstalledApps]:
    """Serve the pages while the block runs. Raises SettingsError when the address is not available."""
    async with ClientSession(timeout=ClientTimeout(total=TIMEOUT_S)) as session:
        oauth = SlackOAuth(distributed.distribution, api_base_url, session, clock)
        installed = InstalledApps(distributed, oauth, apps, host, clock)
        service = InstallService(distributed, oauth, host, clock, installed.changed)
        await apps.listener.serve_pages(InstallPages(service, distributed.distribution))
        log.info("workspaces can install the app at %s%s", distributed.distribution.address, INSTALL_PATH)
        try:
            yield installed
        finally:
            await installed.close()
            await apps.listener.close()
