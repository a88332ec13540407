"""Signing in at MCP servers: the answers of `/tools` about it, and the content of the sign-in pages.

Rules.
- A link is for the person who requested it on the platform. Its page names this person, their platform and the server,
  and waits until they confirm: a person who opens another person's link sees whose it is. The callback must come in the
  same browser.
- The confirmation must come from a page shown in this browser: no other site can press its button or frame it.
- A callback is accepted once, within ten minutes, for one server, and only from the issuer of the request. Each server
  has its own callback address, so that no other server can inject its codes.
- Where browsers cannot reach the bot, the person pastes the callback address. Its state must be one of their own. A
  code alone is refused: it shows neither whose it is, nor which server issued it.
- Browsers are redirected only to addresses that were made here, whatever a request says.
"""

import asyncio
import re
import secrets
from collections.abc import AsyncGenerator, Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import timedelta
from hashlib import sha256
from html import escape
from typing import Final
from urllib.parse import parse_qs, urlsplit

from cachetools import LRUCache
from mcp.client.auth import PKCEParameters
from mcp.client.auth.utils import issuers_match
from pydantic import TypeAdapter

from agent.errors import CogencyError
from agent.incoming import Person, platform_of
from agent.ports.clock import Clock
from agent.ports.tool_accounts import SealedSignIn
from bot.chat.panels import Panel, PanelAction
from bot.chat.texts.formatting import literal
from bot.chat.web_page import PageAnswer, page
from bot.tools import texts as tool_texts
from bot.tools.accounts.accounts import Accounts
from bot.tools.accounts.oauth import Account, BotClient, OAuthFailed, OAuthGrant, OAuthHttp, authorization_url
from bot.tools.accounts.pages import PATH
from bot.tools.mcp.config import HttpReach, McpServerConfig
from bot.tools.mcp.listing import one_line
from bot.tools.mcp.people import PersonServers
from bot.tools.mcp.source import PeopleSettings

TIME: Final = timedelta(minutes=10)  # From requesting a link to the end: finding a password takes minutes
# The callback address when the bot has no address: the person's own machine, where nothing listens. The address stays
# in the browser's address bar, from which the person copies it.
PASTE_URL: Final = "http://127.0.0.1:33418/sign-in/callback"
MAX_PASTED_CHARS: Final = 8_000
MAX_LINKS: Final = 5  # Of one person within RATE_S
RATE_S: Final = 60.0
MAX_ASKERS: Final = 1_000
MAX_BUTTONS: Final = 10  # In one panel; with more accounts, people write the words


@dataclass(frozen=True, slots=True)
class PendingSignIn:
    """A sign-in in progress. `shown`: its person, as the page names them. `verifier`: the PKCE verifier, "" until the
    person has confirmed. `browser`: the hash of the browser's cookie, "" without pages.
    """

    shown: str
    grant: OAuthGrant
    verifier: str = field(default="", repr=False)
    browser: str = ""


PENDING: Final = TypeAdapter(PendingSignIn)


class OAuthSignInService:
    """Implements `SignInService`. `public`: the address of the pages for browsers, "" if there is none.

    `changed`: called with the person and the server when an account was replaced or removed.
    """

    def __init__(
        self,
        servers: Mapping[str, McpServerConfig],
        accounts: Accounts,
        public: str,
        clock: Clock,
        changed: Callable[[str, str], Awaitable[None]],
    ) -> None:
        self._servers = servers
        self._accounts = accounts
        self._public = public
        self._clock = clock
        self._changed = changed
        self._requests: LRUCache[str, list[float]] = LRUCache(MAX_ASKERS)

    # On the platform.

    async def answer(self, person: Person, words: str) -> Panel:
        """Return the answer to `/tools` with these words. Raises StoreError."""
        match words.split():
            case []:
                return await self._list(person)
            case [sign, "in", server] if sign.casefold() == "sign":
                text = await self._with_server(server, lambda name: self._begin(person, name))
            case [sign, "in", server, pasted] if sign.casefold() == "sign":
                text = await self._with_server(server, lambda name: self._paste(person, name, pasted.strip("<>`")))
            case [sign, "out", server] if sign.casefold() == "sign":
                accounts = await self._accounts.all_of(person.id)  # may be at a server that the operator removed
                text = await self._with_server(server, lambda name: self._sign_out(person, name), accounts)
            case _:
                text = tool_texts.USAGE
        return Panel(text)

    async def _list(self, person: Person) -> Panel:
        accounts = await self._accounts.all_of(person.id)
        names = dict.fromkeys((*self._servers, *accounts))
        lines = [_line(name, is_signed_in=name in accounts, account=accounts.get(name)) for name in names]
        signed_in = [name for name in names if name in accounts]
        others = [name for name in self._servers if name not in accounts]
        actions = [
            *(PanelAction(tool_texts.SIGN_IN_AT.format(server=name), f"sign in {name}") for name in others),
            *(
                PanelAction(tool_texts.SIGN_OUT_OF.format(server=name), f"sign out {name}", danger=True)
                for name in signed_in
            ),
        ]
        return Panel("\n".join([tool_texts.ACCOUNTS, "", *lines]), tuple(actions[:MAX_BUTTONS]))

    async def _with_server(self, server: str, do: Callable[[str], Awaitable[str]], more: Collection[str] = ()) -> str:
        name = server.strip("`.")
        if name not in self._servers and name not in more:
            names = ", ".join(f"`{known}`" for known in self._servers)
            return tool_texts.NO_SUCH_SERVER.format(server=literal(name[:40]), servers=names or tool_texts.NONE)
        try:
            return await do(name)
        except OAuthFailed as failed:
            return tool_texts.NOT_SIGNED_IN.format(server=name, why=failed)

    def _is_too_fast(self, person: str) -> bool:
        """Count a request for a link, and return whether there were too many: each causes requests to other servers."""
        now = self._clock.monotonic()
        recent = [time for time in self._requests.get(person, ()) if now - time < RATE_S]
        self._requests[person] = [*recent, now][-MAX_LINKS:]
        return len(recent) >= MAX_LINKS

    async def _begin(self, person: Person, server: str) -> str:
        if self._is_too_fast(person.id):
            return tool_texts.TOO_HASTY
        config = self._servers[server]
        before = await self._accounts.of(person.id, server)
        wants = "" if before is None or not before.wants else f"{before.grant.scope} {before.wants}".strip()
        grant = await self._accounts.servers[server].discover(self.client(server), config.oauth, wants)
        pending = PendingSignIn(shown_person(person), grant)
        if self._public:
            link = await self._store(person.id, server, pending)
            url = f"{self._public}{PATH}/{link}"
            return tool_texts.SIGN_IN_LINK.format(server=server, url=url, minutes=_minutes())
        url = await self._authorize(person.id, server, pending, "")
        return tool_texts.SIGN_IN_PASTE.format(server=server, url=url, minutes=_minutes())

    async def _paste(self, person: Person, server: str, address: str) -> str:
        """Finish a sign-in with the callback address that the person pasted."""
        if len(address) > MAX_PASTED_CHARS or "?" not in address:
            return tool_texts.PASTE_WHOLE
        try:
            callback = _Callback.parse(urlsplit(address).query)
        except ValueError:
            return tool_texts.PASTE_WHOLE
        pending = await self._pending(callback.state)
        if pending is None or pending[0].person != person.id or pending[0].server != server:
            return tool_texts.NOT_YOUR_LINK.format(server=server)
        if address.partition("?")[0] != pending[1].grant.redirect or not pending[1].verifier:
            return tool_texts.NOT_YOUR_LINK.format(server=server)
        await self._finish(callback, *pending)
        return tool_texts.SIGNED_IN.format(server=server)

    async def _sign_out(self, person: Person, server: str) -> str:
        confirmed = await self._accounts.sign_out(person.id, server)
        await self._changed(person.id, server)
        if confirmed is None:
            return tool_texts.WAS_NOT_SIGNED_IN.format(server=server)
        return (tool_texts.SIGNED_OUT if confirmed else tool_texts.SIGNED_OUT_HERE).format(server=server)

    async def forget(self, person: str) -> list[str]:
        return await self._accounts.revoke_all(person)

    # In the browser.

    def client(self, server: str) -> BotClient:
        """Return the bot as an OAuth client of this server."""
        if not self._public:
            return BotClient(f"{PASTE_URL}/{server}")
        secure = self._public.startswith("https://")
        document = f"{self._public}{PATH}/client/{server}.json" if secure else ""
        return BotClient(f"{self._public}{PATH}/callback/{server}", document)

    def document(self, server: str) -> PageAnswer:
        """Serve the client metadata document to authorization servers."""
        if server not in self._servers or not self.client(server).document_url:
            return PageAnswer(404, page(tool_texts.PAGE_NOTHING))
        return PageAnswer(200, json=self.client(server).document())

    async def ask(self, link: str, browser: str) -> PageAnswer:
        """Ask the person to confirm who they are. This changes nothing, as previews of links open the page, too."""
        pending = await self._pending(link)
        if pending is None or pending[1].verifier:
            return PageAnswer(404, page(tool_texts.PAGE_OVER))
        stored, sign_in = pending
        browser = browser or secrets.token_urlsafe(32)
        host = urlsplit(sign_in.grant.authorize_url).hostname or ""
        body = tool_texts.PAGE_ASKS.format(
            server=escape(stored.server), person=escape(sign_in.shown), host=escape(host), browser=escape(browser)
        )
        return PageAnswer(200, page(body), cookie=browser)

    async def agree(self, link: str, browser: str, token: str) -> PageAnswer:
        """The person confirmed. `token`: the value in the form, which must equal `browser`, the value of the cookie."""
        pending = await self._pending(link)
        if pending is None or pending[1].verifier:
            return PageAnswer(404, page(tool_texts.PAGE_OVER))
        if not browser or not secrets.compare_digest(browser.encode(), token.encode()):
            return PageAnswer(403, page(tool_texts.PAGE_OTHER_BROWSER))
        stored, sign_in = pending
        try:
            go = await self._authorize(stored.person, stored.server, sign_in, browser, link)
        except OAuthFailed:
            return PageAnswer(404, page(tool_texts.PAGE_OVER))
        return PageAnswer(303, go=go)

    async def come_back(self, server: str, query: str, browser: str) -> PageAnswer:
        """Handle the callback of the authorization server."""
        try:
            callback = _Callback.parse(query)
        except ValueError:
            return PageAnswer(400, page(tool_texts.PAGE_OVER))
        pending = await self._pending(callback.state)
        if pending is None or not pending[1].verifier or pending[0].server != server:
            return PageAnswer(404, page(tool_texts.PAGE_OVER))
        stored, sign_in = pending
        if not browser or not secrets.compare_digest(_handle(browser), sign_in.browser):
            return PageAnswer(403, page(tool_texts.PAGE_OTHER_BROWSER))
        try:
            await self._finish(callback, stored, sign_in)
        except CogencyError as failed:
            body = tool_texts.PAGE_FAILED.format(server=escape(server), why=escape(str(failed)))
            return PageAnswer(400, page(body))
        body = tool_texts.PAGE_DONE.format(server=escape(server), person=escape(sign_in.shown))
        return PageAnswer(200, page(body))

    # Both.

    async def _store(self, person: str, server: str, pending: PendingSignIn, before: str = "") -> str:
        """Store a sign-in, and return its new secret. `before`: its secret until now; "" for a new sign-in.

        Raises OAuthFailed if `before` is no longer valid: each secret is used once, and forgetting a person deletes it.
        """
        secret, now = secrets.token_urlsafe(32), self._clock.now()
        sealed = self._accounts.keys.seal(PENDING, pending, "sign-in", _handle(secret), person, server)
        if not before:
            await self._accounts.store.begin(_handle(secret), SealedSignIn(person, server, sealed), now, now + TIME)
        elif not await self._accounts.store.advance(_handle(before), _handle(secret), sealed, now + TIME):
            raise OAuthFailed(tool_texts.OAUTH_USED)
        return secret

    async def _authorize(self, person: str, server: str, pending: PendingSignIn, browser: str, before: str = "") -> str:
        """Return the address at which the person authorizes the bot. TIME starts again. Raises OAuthFailed."""
        proof = PKCEParameters.generate()
        confirmed = replace(pending, verifier=proof.code_verifier, browser=_handle(browser) if browser else "")
        state = await self._store(person, server, confirmed, before)
        return authorization_url(pending.grant, state, proof.code_challenge)

    async def _pending(self, secret: str) -> tuple[SealedSignIn, PendingSignIn] | None:
        """Return the sign-in with this secret, if it is still open."""
        handle = _handle(secret)
        stored = await self._accounts.store.find_begun(handle, self._clock.now())
        if stored is None or stored.server not in self._servers:
            return None
        opened = self._accounts.keys.open(PENDING, stored.sealed, "sign-in", handle, stored.person, stored.server)
        return None if opened is None else (stored, opened)

    async def _finish(self, callback: "_Callback", stored: SealedSignIn, sign_in: PendingSignIn) -> None:
        """Exchange the code for tokens and store them. Raises OAuthFailed and StoreError."""
        secret = await self._store(stored.person, stored.server, replace(sign_in, verifier=""), callback.state)
        grant, issuer = sign_in.grant, callback.issuer
        if (issuer is None and grant.names_issuer) or not issuers_match(issuer or grant.issuer, grant.issuer):
            raise OAuthFailed(tool_texts.OAUTH_OTHER_ISSUER)
        if not callback.code:
            raise OAuthFailed(tool_texts.OAUTH_DENIED)
        http = self._accounts.servers[stored.server]
        account = await http.exchange(grant, callback.code, sign_in.verifier, _handle(secret), self._clock.now())
        if not await self._accounts.complete(_handle(secret), stored.person, stored.server, account):
            raise OAuthFailed(tool_texts.OAUTH_USED)
        await self._changed(stored.person, stored.server)


@dataclass(frozen=True, slots=True)
class _Callback:
    """The parameters with which an authorization server sends a browser back."""

    state: str
    code: str
    issuer: str | None

    @classmethod
    def parse(cls, query: str) -> "_Callback":
        """Raises ValueError."""
        parameters = parse_qs(query, max_num_fields=20)
        if any(len(parameters.get(name, ())) > 1 for name in ("state", "code", "iss")):
            raise ValueError("a parameter occurs twice")
        values = {name: first for name, (first, *_) in parameters.items()}
        if not values.get("state"):
            raise ValueError("no state")
        return cls(values["state"], "" if "error" in values else values.get("code", ""), values.get("iss"))


def _line(server: str, *, is_signed_in: bool, account: Account | None) -> str:
    if not is_signed_in:
        return tool_texts.NO_ACCOUNT.format(server=server)
    if account is None:
        return tool_texts.ACCOUNT_LOST.format(server=server)
    return (tool_texts.ACCOUNT_WANTS if account.wants else tool_texts.HAS_ACCOUNT).format(server=server)


def _handle(secret: str) -> str:
    return sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()


def _minutes() -> int:
    return int(TIME.total_seconds() // 60)


MAX_PERSON_CHARS: Final = 40  # Of a name on a page
_NOT_IN_NAMES: Final = re.compile(r"[()\[\]{}<>«»“”„‟\"`|/\\:;,!?（），：；！？「」『』【】]")


def shown_person(person: Person) -> str:
    """Return the name of a person as a page shows it: with platform and id, as a name is not unique.

    Whoever sends the link to somebody else has chosen the name: it is cut, and loses the punctuation and the invisible
    characters with which it could look like another id or like words of the page.
    """
    platform = platform_of(person.id).capitalize()
    id_ = person.id.partition(":")[2] or person.id
    name = one_line(_NOT_IN_NAMES.sub(" ", person.name), MAX_PERSON_CHARS)
    return tool_texts.PERSON.format(name=name or id_, platform=platform, id=id_)


@asynccontextmanager
async def open_people(
    configs: Sequence[McpServerConfig],
    settings: PeopleSettings,
    clock: Clock,
    jitter: Callable[[], float],
    timeout_s: float,
) -> AsyncGenerator[tuple[PersonServers, OAuthSignInService], None]:
    """Run the servers at which each person signs in, until the block ends."""
    clients = {config.name: OAuthHttp(config.reach) for config in configs if isinstance(config.reach, HttpReach)}
    accounts = Accounts(settings.accounts, settings.keys, clients, clock)
    people = PersonServers(configs, accounts, clock, jitter, timeout_s)
    service = OAuthSignInService(people.configs, accounts, settings.public, clock, people.changed)
    sweeping = asyncio.create_task(people.run())
    try:
        yield people, service
    finally:
        sweeping.cancel()
        await asyncio.gather(sweeping, return_exceptions=True)
        await people.aclose()
