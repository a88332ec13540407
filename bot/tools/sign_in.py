"""Signing in at servers of tools: what `/tools` answers about it, and what the pages say that a browser is shown.

The rules.
- A link is for the person who asked for it, whom the platform knows. Its page says who that is, on which platform and
  for which server, and nothing happens before they say there that it is them: who is sent somebody else's link sees
  whose it is. What they then agree to comes back in the same browser, or is refused.
- The page that asks must have been shown by that browser itself: no other site can press its button, nor frame it.
- What a browser brings back counts once, for ten minutes, for one server, and only from the issuer that was asked. Each
  server has an address of its own to come back to, so that no other can pass off its codes.
- Where no browser can reach the bot, the person pastes the address that it was sent to. Its state must be their own.
  A code without it is refused: it says neither whose it is, nor from whom.
- Nothing of a request but the addresses that were made here decides where a browser is sent.
"""

import asyncio
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
from agent.ports import Clock
from agent.records import Person, SealedSignIn, platform_of
from bot.texts import tool_texts
from bot.texts.formatting import literal
from bot.tools.accounts import Accounts
from bot.tools.mcp_config import HttpReach, McpServerConfig
from bot.tools.mcp_people import PersonServers
from bot.tools.mcp_source import PageAnswer, PeopleSettings, SignInAnswer
from bot.tools.oauth import Account, BotClient, OAuthFailed, OAuthGrant, OAuthHttp, authorization_url
from bot.tools.sign_in_pages import PATH

TIME: Final = timedelta(minutes=10)  # From asking for a link to the end: to look for a password takes minutes
# Where browsers are sent back to when the bot has no address: the person's own machine, where nothing listens. The
# address then stands in the browser's address bar.
PASTE_URL: Final = "http://127.0.0.1:33418/sign-in/callback"
MAX_PASTED_CHARS: Final = 8_000
MAX_LINKS: Final = 5  # Of one person in `HASTE_S`
HASTE_S: Final = 60.0
MAX_ASKERS: Final = 1_000


@dataclass(frozen=True, slots=True)
class PendingSignIn:
    """`shown`: its person, as the page names them. `verifier`: "" until they have said that it is them; `browser`: a
    hash of what their browser has, "" where none is asked.
    """

    shown: str
    grant: OAuthGrant
    verifier: str = field(default="", repr=False)
    browser: str = ""


PENDING: Final = TypeAdapter(PendingSignIn)


class SignInDesk:
    """Implements `ToolSignIns`. `public`: the address by which browsers reach the pages, "" if they do not.

    `changed`: is told whose account at which server is another now, or none.
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
        self._asked: LRUCache[str, list[float]] = LRUCache(MAX_ASKERS)

    # In the platform.

    async def answer(self, person: Person, words: str) -> SignInAnswer:
        """Raises StoreError."""
        match words.split():
            case []:
                return await self._listed(person)
            case [sign, "in", server] if sign.casefold() == "sign":
                said = await self._known(server, lambda name: self._begin(person, name))
            case [sign, "in", server, pasted] if sign.casefold() == "sign":
                said = await self._known(server, lambda name: self._pasted(person, name, pasted.strip("<>`")))
            case [sign, "out", server] if sign.casefold() == "sign":
                kept = await self._accounts.all_of(person.id)  # also where the operator has taken the server away
                said = await self._known(server, lambda name: self._sign_out(person, name), kept)
            case _:
                said = tool_texts.USAGE
        return SignInAnswer(said)

    async def _listed(self, person: Person) -> SignInAnswer:
        accounts = await self._accounts.all_of(person.id)
        names = dict.fromkeys((*self._servers, *accounts))
        lines = [_line(name, is_kept=name in accounts, account=accounts.get(name)) for name in names]
        signed_in = tuple(name for name in names if name in accounts)
        others = tuple(name for name in self._servers if name not in accounts)
        return SignInAnswer("\n".join([tool_texts.ACCOUNTS, "", *lines]), signed_in, others)

    async def _known(self, server: str, do: Callable[[str], Awaitable[str]], more: Collection[str] = ()) -> str:
        name = server.strip("`.")
        if name not in self._servers and name not in more:
            names = ", ".join(f"`{one}`" for one in self._servers)
            return tool_texts.NO_SUCH_SERVER.format(server=literal(name[:40]), servers=names or tool_texts.NONE)
        try:
            return await do(name)
        except OAuthFailed as failed:
            return tool_texts.NOT_SIGNED_IN.format(server=name, why=failed)

    def _is_hasty(self, person: str) -> bool:
        """Each link costs a server of others some requests, and a button is quickly pressed."""
        now = self._clock.monotonic()
        recent = [time for time in self._asked.get(person, ()) if now - time < HASTE_S]
        self._asked[person] = [*recent, now][-MAX_LINKS:]
        return len(recent) >= MAX_LINKS

    async def _begin(self, person: Person, server: str) -> str:
        if self._is_hasty(person.id):
            return tool_texts.TOO_HASTY
        config = self._servers[server]
        before = await self._accounts.of(person.id, server)
        wants = "" if before is None or not before.wants else f"{before.grant.scope} {before.wants}".strip()
        grant = await self._accounts.servers[server].discover(self.client(server), config.oauth, wants)
        pending = PendingSignIn(shown_person(person), grant)
        if self._public:
            link = await self._keep(person.id, server, pending)
            url = f"{self._public}{PATH}/{link}"
            return tool_texts.SIGN_IN_LINK.format(server=server, url=url, minutes=_minutes())
        url = await self._authorize(person.id, server, pending, "")
        return tool_texts.SIGN_IN_PASTE.format(server=server, url=url, minutes=_minutes())

    async def _pasted(self, person: Person, server: str, address: str) -> str:
        """The address that a browser was sent to."""
        if len(address) > MAX_PASTED_CHARS or "?" not in address:
            return tool_texts.PASTE_WHOLE
        try:
            said = _Brought.read(urlsplit(address).query)
        except ValueError:
            return tool_texts.PASTE_WHOLE
        pending = await self._pending(said.state)
        if pending is None or pending[0].person != person.id or pending[0].server != server:
            return tool_texts.NOT_YOUR_LINK.format(server=server)
        if address.partition("?")[0] != pending[1].grant.redirect or not pending[1].verifier:
            return tool_texts.NOT_YOUR_LINK.format(server=server)
        await self._finish(said, *pending)
        return tool_texts.SIGNED_IN.format(server=server)

    async def _sign_out(self, person: Person, server: str) -> str:
        told = await self._accounts.sign_out(person.id, server)
        await self._changed(person.id, server)
        if told is None:
            return tool_texts.WAS_NOT_SIGNED_IN.format(server=server)
        return (tool_texts.SIGNED_OUT if told else tool_texts.SIGNED_OUT_HERE).format(server=server)

    async def forget(self, person: str) -> list[str]:
        """They want everything forgotten, which whoever asks does next: the servers that have not confirmed it."""
        return await self._accounts.revoke_all(person)

    # In the browser.

    def client(self, server: str) -> BotClient:
        """What the bot is to the authorization server of this one."""
        if not self._public:
            return BotClient(f"{PASTE_URL}/{server}")
        secure = self._public.startswith("https://")
        document = f"{self._public}{PATH}/client/{server}.json" if secure else ""
        return BotClient(f"{self._public}{PATH}/callback/{server}", document)

    def document(self, server: str) -> PageAnswer:
        """The client's metadata for an authorization server that fetches them."""
        if server not in self._servers or not self.client(server).document_url:
            return PageAnswer(404, page(tool_texts.PAGE_NOTHING))
        return PageAnswer(200, json=self.client(server).document())

    async def ask(self, link: str, browser: str) -> PageAnswer:
        """Whether it is them. Nothing is used up: what shows previews of links looks here, too."""
        pending = await self._pending(link)
        if pending is None or pending[1].verifier:
            return PageAnswer(404, page(tool_texts.PAGE_OVER))
        kept, sign_in = pending
        browser = browser or secrets.token_urlsafe(32)
        host = urlsplit(sign_in.grant.authorize_url).hostname or ""
        asked = tool_texts.PAGE_ASKS.format(
            server=escape(kept.server), person=escape(sign_in.shown), host=escape(host), browser=escape(browser)
        )
        return PageAnswer(200, page(asked), cookie=browser)

    async def agree(self, link: str, browser: str, said: str) -> PageAnswer:
        """They say that it is them. `said`: what stood in the page, `browser` what stands in the cookie."""
        pending = await self._pending(link)
        if pending is None or pending[1].verifier:
            return PageAnswer(404, page(tool_texts.PAGE_OVER))
        if not browser or not secrets.compare_digest(browser.encode(), said.encode()):
            return PageAnswer(403, page(tool_texts.PAGE_OTHER_BROWSER))
        kept, sign_in = pending
        try:
            go = await self._authorize(kept.person, kept.server, sign_in, browser, link)
        except OAuthFailed:
            return PageAnswer(404, page(tool_texts.PAGE_OVER))
        return PageAnswer(303, go=go)

    async def come_back(self, server: str, query: str, browser: str) -> PageAnswer:
        """A browser comes back from the authorization server."""
        try:
            said = _Brought.read(query)
        except ValueError:
            return PageAnswer(400, page(tool_texts.PAGE_OVER))
        pending = await self._pending(said.state)
        if pending is None or not pending[1].verifier or pending[0].server != server:
            return PageAnswer(404, page(tool_texts.PAGE_OVER))
        kept, sign_in = pending
        if not browser or not secrets.compare_digest(_handle(browser), sign_in.browser):
            return PageAnswer(403, page(tool_texts.PAGE_OTHER_BROWSER))
        try:
            await self._finish(said, kept, sign_in)
        except CogencyError as failed:
            told = tool_texts.PAGE_FAILED.format(server=escape(server), why=escape(str(failed)))
            return PageAnswer(400, page(told))
        done = tool_texts.PAGE_DONE.format(server=escape(server), person=escape(sign_in.shown))
        return PageAnswer(200, page(done))

    # Both.

    async def _keep(self, person: str, server: str, pending: PendingSignIn, before: str = "") -> str:
        """What leads back to it. `before`: what led to it until now, if it has begun.

        Raises OAuthFailed if that leads nowhere any more: it counts once, and nothing comes back of who was forgotten.
        """
        secret, now = secrets.token_urlsafe(32), self._clock.now()
        sealed = self._accounts.keys.seal(PENDING, pending, "sign-in", _handle(secret), person, server)
        if not before:
            await self._accounts.kept.begin(_handle(secret), SealedSignIn(person, server, sealed), now, now + TIME)
        elif not await self._accounts.kept.go_on(_handle(before), _handle(secret), sealed, now + TIME):
            raise OAuthFailed(tool_texts.OAUTH_USED)
        return secret

    async def _authorize(self, person: str, server: str, pending: PendingSignIn, browser: str, before: str = "") -> str:
        """Where they agree, from now on within the whole time. Raises OAuthFailed as `_keep`."""
        proof = PKCEParameters.generate()
        bound = _handle(browser) if browser else ""
        bound_to = replace(pending, verifier=proof.code_verifier, browser=bound)
        state = await self._keep(person, server, bound_to, before)
        return authorization_url(pending.grant, state, proof.code_challenge)

    async def _pending(self, secret: str) -> tuple[SealedSignIn, PendingSignIn] | None:
        handle = _handle(secret)
        kept = await self._accounts.kept.begun(handle, self._clock.now())
        if kept is None or kept.server not in self._servers:
            return None
        opened = self._accounts.keys.open(PENDING, kept.sealed, "sign-in", handle, kept.person, kept.server)
        return None if opened is None else (kept, opened)

    async def _finish(self, said: "_Brought", kept: SealedSignIn, sign_in: PendingSignIn) -> None:
        """Raises OAuthFailed, and StoreError."""
        under_way = await self._keep(kept.person, kept.server, replace(sign_in, verifier=""), said.state)
        grant = sign_in.grant
        if (said.issuer is None and grant.names_issuer) or not issuers_match(said.issuer or grant.issuer, grant.issuer):
            raise OAuthFailed(tool_texts.OAUTH_OTHER_ISSUER)
        if not said.code:
            raise OAuthFailed(tool_texts.OAUTH_DENIED)
        http = self._accounts.servers[kept.server]
        account = await http.exchange(grant, said.code, sign_in.verifier, _handle(under_way), self._clock.now())
        if not await self._accounts.complete(_handle(under_way), kept.person, kept.server, account):
            raise OAuthFailed(tool_texts.OAUTH_USED)
        await self._changed(kept.person, kept.server)


@dataclass(frozen=True, slots=True)
class _Brought:
    """What an authorization server sends a browser back with."""

    state: str
    code: str
    issuer: str | None

    @classmethod
    def read(cls, query: str) -> "_Brought":
        """Raises ValueError."""
        given = parse_qs(query, max_num_fields=20)
        if any(len(given.get(name, ())) > 1 for name in ("state", "code", "iss")):
            raise ValueError("said twice")
        one = {name: values[0] for name, values in given.items()}
        if not one.get("state"):
            raise ValueError("no state")
        return cls(one["state"], "" if "error" in one else one.get("code", ""), one.get("iss"))


def _line(server: str, *, is_kept: bool, account: Account | None) -> str:
    if not is_kept:
        return tool_texts.NO_ACCOUNT.format(server=server)
    if account is None:
        return tool_texts.ACCOUNT_LOST.format(server=server)
    return (tool_texts.ACCOUNT_WANTS if account.wants else tool_texts.HAS_ACCOUNT).format(server=server)


def _handle(secret: str) -> str:
    return sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()


def _minutes() -> int:
    return int(TIME.total_seconds() // 60)


def shown_person(person: Person) -> str:
    """As a page names them to whoever opens it: a name alone could be anybody's."""
    platform = platform_of(person.id).capitalize()
    who = person.id.partition(":")[2] or person.id
    return tool_texts.PERSON.format(name=person.name or who, platform=platform, id=who)


def page(body: str) -> str:
    """`body`: HTML, in which whatever others wrote is escaped."""
    return tool_texts.PAGE.format(body=body)


@asynccontextmanager
async def open_people(
    configs: Sequence[McpServerConfig],
    settings: PeopleSettings,
    clock: Clock,
    jitter: Callable[[], float],
    timeout_s: float,
) -> AsyncGenerator[tuple[PersonServers, SignInDesk], None]:
    """The servers at which each person signs in, while the block runs."""
    reached = {config.name: OAuthHttp(config.reach) for config in configs if isinstance(config.reach, HttpReach)}
    accounts = Accounts(settings.accounts, settings.keys, reached, clock)
    people = PersonServers(configs, accounts, clock, jitter, timeout_s)
    desk = SignInDesk(people.configs, accounts, settings.public, clock, people.changed)
    closing_idle = asyncio.create_task(people.run())
    try:
        yield people, desk
    finally:
        closing_idle.cancel()
        await asyncio.gather(closing_idle, return_exceptions=True)
        await people.aclose()
