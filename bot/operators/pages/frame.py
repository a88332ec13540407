"""The operators' page as an ASGI application: sessions, rendering of views, and security headers.

Rules
  Without a session a browser sees only how to sign in. A link opens one session, by a press of a button, so that link
  previews do not use it up. Sessions expire, and are stored in the database, so that they hold in every process.
  A request that changes something is a POST from our own page with the session's CSRF token.
  Requests with an unknown Host header are refused, which prevents DNS rebinding.
  A page loads one stylesheet and no script. Every value in it is escaped, and invisible characters are made visible.
"""

import asyncio
import hashlib
import logging
import re
import secrets
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from functools import cache
from pathlib import Path
from typing import Final, TypeAlias
from urllib.parse import parse_qsl, urlsplit

from cachetools import LRUCache
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup
from starlette.requests import ClientDisconnect, Request
from starlette.responses import HTMLResponse, PlainTextResponse, RedirectResponse, Response
from starlette.types import Receive, Scope, Send

from agent.errors import StoreError
from agent.messages import UNSEEN
from agent.ports.clock import Clock
from agent.ports.operator_sessions import OperatorSession, OperatorSessions
from bot.chat.logs import severity
from bot.chat.output import STEERING
from bot.operators import texts as operator_texts
from bot.operators.service import SESSION_IDLE, SESSION_LASTS

log = logging.getLogger(__name__)

HERE: Final = Path(__file__).parent
ENTER: Final = "/enter/"
SIGN_OUT: Final = "/sign-out"
CSRF: Final = "csrf"  # The form's field with the session's CSRF token
HEADERS: Final = {
    "Content-Security-Policy": (
        "default-src 'none'; style-src 'self'; img-src 'self' data:; form-action 'self'; frame-ancestors 'none'; "
        "base-uri 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}
# With any port: a forwarded port may differ from ours.
LOCAL: Final = re.compile(r"(?:localhost|127\.0\.0\.1|\[::1\])(?::[0-9]{1,5})?")
TOKEN: Final = re.compile(r"[A-Za-z0-9_-]{43}")  # 256 bits, as `secrets.token_urlsafe` writes them
BODY_BYTES: Final = 4_096
BODY_S: Final = 5.0
FIELDS: Final = 20
SEEN_INTERVAL: Final = timedelta(minutes=1)  # The least time between two updates of a session's last use
# Requests of one client: a page takes two. Links have no limit of their own, with which strangers could use up that of
# an operator behind the same proxy: a try takes a query, and 256 bits are not guessed.
PER_S, AT_ONCE = 20.0, 100.0
# Requests of all clients that a proxy names, in case it passes on names that clients give themselves.
PROXIED_PER_S, PROXIED_AT_ONCE = 200.0, 1_000.0
MAX_CLIENT_CHARS: Final = 100  # Of a name of a client in a header
MOST_CLIENTS: Final = 1_000


@dataclass(frozen=True, slots=True)
class ViewAnswer:
    """The content of a page: the name of a template, and its values. A value that the template names and is missing is
    an error.
    """

    template: str
    values: Mapping[str, object] = field(default_factory=dict[str, object])
    status: int = 200


# Takes the parameters of the query, bounded, each name once. May raise StoreError.
View: TypeAlias = Callable[[Mapping[str, str]], Awaitable[ViewAnswer]]


@dataclass(frozen=True, slots=True)
class OperatorView:
    """A page of the site. `path`: as "/audit"; `title`: in the navigation, "" for none there."""

    path: str
    title: str
    show: View


class TokenBuckets:
    """A rate limiter with a token bucket for each client: `at_once` tokens, and `per_s` more each second.

    The buckets of the least recently seen clients are dropped; such a client gets a full one again.
    """

    def __init__(self, clock: Clock, per_s: float, at_once: float) -> None:
        self._clock = clock
        self._per_s = per_s
        self._at_once = at_once
        self._buckets: LRUCache[str, tuple[float, float]] = LRUCache(MOST_CLIENTS)

    def take(self, client: str) -> bool:
        """Take one of the client's tokens; return False if there is none."""
        now = self._clock.monotonic()
        tokens, updated = self._buckets.get(client, (self._at_once, now))
        tokens = min(self._at_once, tokens + (now - updated) * self._per_s)
        self._buckets[client] = (tokens - 1 if tokens >= 1 else tokens, now)
        return tokens >= 1

    def __len__(self) -> int:
        return len(self._buckets)


_EMOJI: Final = "\u2190-\u2bff\U0001f000-\U0001faff\ufe0f"
# Emoji are joined by signs that are unseen anywhere else: between emoji these stay as they are.
_UNSEEN: Final = re.compile(
    f"(?<=[{_EMOJI}])\u200d(?=[{_EMOJI}])|(?<=[{_EMOJI}0-9#*])\ufe0f|([{STEERING}]|{UNSEEN.pattern})"
)


def visible(value: object) -> object:
    """Return a text with U+FFFD for each character that is invisible or changes the text's direction. The joiners of
    emoji sequences stay. Values that are no plain text are returned as they are.
    """
    if not isinstance(value, str) or isinstance(value, Markup):
        return value
    return _UNSEEN.sub(lambda match_: "\ufffd" if match_[1] else match_[0], value)


def hashed(secret: str) -> str:
    return hashlib.sha256(secret.encode()).hexdigest()


@cache
def templates() -> Environment:
    """Return the environment of the templates; each template is compiled once."""
    environment = Environment(
        loader=FileSystemLoader(HERE / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=visible,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    environment.filters["count"] = "{:,}".format  # pyright: ignore[reportArgumentType] -- filters are any callable
    return environment


def _static() -> dict[str, tuple[str, bytes]]:
    """Return static files by path, each with type and content. A path contains a hash of the content."""
    css = (HERE / "static" / "pages.css").read_bytes()
    return {f"/static/pages.{hashlib.sha256(css).hexdigest()[:12]}.css": ("text/css; charset=utf-8", css)}


class OperatorSite:
    """An ASGI application. `address`: its address for browsers behind a proxy, as "https://operate.example.com"; "" for
    this machine alone. `secret`: returns a random token of 256 bits. `body_s`: the time limit for a form's body.
    """

    def __init__(
        self,
        views: Sequence[OperatorView],
        sessions: OperatorSessions,
        clock: Clock,
        secret: Callable[[], str],
        address: str = "",
        *,
        body_s: float = BODY_S,
    ) -> None:
        self._views = {view.path: view for view in views}
        self._navigation = [(view.path, view.title) for view in views if view.title]
        self._sessions = sessions
        self._clock = clock
        self._secret = secret
        self._origin = address.rstrip("/")
        self._host = urlsplit(address).netloc.lower()
        self._body_s = body_s
        self._templates = templates()
        self._static = _static()
        self._requests = TokenBuckets(clock, PER_S, AT_ONCE)
        self._proxied = TokenBuckets(clock, PROXIED_PER_S, PROXIED_AT_ONCE)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1000})
            return
        response = await self._answer(Request(scope, receive))
        for name, value in HEADERS.items():
            response.headers.setdefault(name, value)
        await response(scope, receive, send)

    async def _answer(self, request: Request) -> Response:
        host = request.headers.get("host", "").lower()
        if not self._may_ask(request, is_proxied=bool(self._host) and host == self._host):
            return _refuse(429, operator_texts.PAGE_TOO_FAST, {"Retry-After": "5"})
        if not host or (host != self._host and not LOCAL.fullmatch(host)):
            return _refuse(421, operator_texts.PAGE_OTHER_HOST)
        if request.method not in {"GET", "HEAD", "POST"}:
            return _refuse(405, operator_texts.PAGE_METHOD, {"Allow": "GET, HEAD, POST"})
        if (static_file := self._static.get(request.url.path)) is not None:
            caching = {"Cache-Control": "private, max-age=86400, immutable"}
            return Response(static_file[1], headers={"Content-Type": static_file[0], **caching})
        browser = _Browser(request, is_secure=host == self._host and self._origin.startswith("https:"))
        try:
            return await (self._post(browser, host) if request.method == "POST" else self._get(browser))
        except StoreError as error:
            log.log(severity(error), "an operators' page could not be shown: %s", error)
            return self._page(ViewAnswer("sorry.html", {"says": operator_texts.PAGE_STORE_AWAY}, 503))

    def _may_ask(self, request: Request, *, is_proxied: bool) -> bool:
        """Count a request for its client: the sender, or whom the proxy before the page names last in X-Forwarded-For.

        What stands before that a client may have written itself.
        """
        sender = request.client.host if request.client else ""
        named = request.headers.getlist("x-forwarded-for") if is_proxied else []
        if not named:
            return self._requests.take(sender)
        client = named[-1].rpartition(",")[2].strip()[:MAX_CLIENT_CHARS]
        return self._proxied.take(sender) and self._requests.take(f"{sender} {client}")

    async def _get(self, browser: "_Browser") -> Response:
        path = browser.request.url.path
        if path.startswith(ENTER):
            return await self._show_link(path.removeprefix(ENTER))
        session = await self._session(browser)
        if session is None:
            return self._page(ViewAnswer("sign_in.html", status=403))
        view, query = self._views.get(path), _fields(browser.request.url.query)
        if view is None or query is None:
            return self._page(ViewAnswer("sorry.html", {"says": operator_texts.PAGE_NOT_THERE}, 404), browser)
        return self._page(await view.show(query), browser)

    async def _show_link(self, token: str) -> Response:
        if not await self._is_offered(token):
            return self._page(ViewAnswer("sorry.html", {"says": operator_texts.PAGE_LINK_OVER}, 404))
        return self._page(
            ViewAnswer(
                "enter.html",
                {
                    "action": f"{ENTER}{token}",
                    "idle": SESSION_IDLE.seconds // 60,
                    "lasts": SESSION_LASTS.seconds // 3600,
                },
            )
        )

    async def _is_offered(self, token: str) -> bool:
        if not TOKEN.fullmatch(token):
            return False
        return await self._sessions.is_offered(hashed(token), self._clock.now())

    async def _post(self, browser: "_Browser", host: str) -> Response:
        if not browser.is_from(self._origin if host == self._host else f"http://{host}"):
            return _refuse(403, operator_texts.PAGE_OTHER_SITE)
        form = await browser.form(self._body_s)
        if form is None:
            return _refuse(400, operator_texts.PAGE_NO_FORM)
        path = browser.request.url.path
        if path.startswith(ENTER):
            return await self._enter(browser, path.removeprefix(ENTER))
        if await self._session(browser) is None:
            return self._page(ViewAnswer("sign_in.html", status=403))
        if not secrets.compare_digest(browser.csrf.encode(), form.get(CSRF, "").encode()):
            return _refuse(403, operator_texts.PAGE_OTHER_SITE)
        if path != SIGN_OUT:
            return self._page(ViewAnswer("sorry.html", {"says": operator_texts.PAGE_NOT_THERE}, 404), browser)
        if form.get("all"):
            await self._sessions.end_all()
        else:
            await self._sessions.end(hashed(browser.secret))
        log.info("an operator signed out of the operators' page")
        response = self._page(ViewAnswer("sorry.html", {"says": operator_texts.PAGE_SIGNED_OUT}))
        response.delete_cookie(browser.cookie, secure=browser.is_secure, httponly=True, samesite="strict")
        response.headers["Clear-Site-Data"] = '"cache"'
        return response

    async def _enter(self, browser: "_Browser", token: str) -> Response:
        session, now = self._secret(), self._clock.now()
        if not await self._is_offered(token) or not await self._sessions.open(
            hashed(token), hashed(session), now, now + SESSION_LASTS
        ):
            return self._page(ViewAnswer("sorry.html", {"says": operator_texts.PAGE_LINK_OVER}, 404))
        if browser.secret:
            await self._sessions.end(hashed(browser.secret))
        log.info("an operator signed in to the operators' page")
        response = RedirectResponse("/", status_code=303)
        response.set_cookie(
            browser.cookie, session, path="/", secure=browser.is_secure, httponly=True, samesite="strict"
        )
        return response

    async def _session(self, browser: "_Browser") -> OperatorSession | None:
        """Return the browser's session, if it has a valid one, and store that it was used now."""
        if not browser.secret:
            return None
        now, session_hash = self._clock.now(), hashed(browser.secret)
        session = await self._sessions.find(session_hash, now, now - SESSION_IDLE)
        if session is not None and now - session.seen >= SEEN_INTERVAL:
            await self._sessions.mark_used(session_hash, now)
        return session

    def _page(self, answer: ViewAnswer, browser: "_Browser | None" = None) -> Response:
        """Render a page. `browser`: of a signed-in operator; None for a page without navigation."""
        common = {
            "navigation": self._navigation if browser is not None else [],
            "here": browser.request.url.path if browser is not None else "",
            "csrf": browser.csrf if browser is not None else "",
            "stylesheet": next(iter(self._static)),
            "now": self._clock.now(),
        }
        html = self._templates.get_template(answer.template).render({**common, **answer.values})
        return HTMLResponse(html, answer.status)


@dataclass(frozen=True, slots=True)
class _Browser:
    """The browser of a request. `secret`: the session's secret from its cookie, "" for none."""

    request: Request
    is_secure: bool

    @property
    def cookie(self) -> str:
        return "__Host-cogency-operator" if self.is_secure else "cogency-operator"

    @property
    def secret(self) -> str:
        value = self.request.cookies.get(self.cookie, "")
        return value if TOKEN.fullmatch(value) else ""

    @property
    def csrf(self) -> str:
        return hashed(f"{CSRF} {self.secret}")

    def is_from(self, origin: str) -> bool:
        """Return whether a page of this origin sent the request, by headers that no page can change. With our
        `Referrer-Policy` browsers may send "null" as the origin; `Sec-Fetch-Site` then shows whether it is the same.
        """
        site, sender = self.request.headers.get("sec-fetch-site"), self.request.headers.get("origin")
        if site is None:
            return sender == origin
        return site == "same-origin" and sender in {None, "null", origin}

    async def form(self, body_s: float) -> Mapping[str, str] | None:
        """Return the fields of a form; None if the body is no form, too long or too slow."""
        if self.request.headers.get("content-type", "").partition(";")[0] != "application/x-www-form-urlencoded":
            return None
        body = bytearray()
        try:
            async with asyncio.timeout(body_s):
                async for piece in self.request.stream():
                    body += piece
                    if len(body) > BODY_BYTES:
                        return None
            return _fields(body.decode())
        except (TimeoutError, ClientDisconnect, ValueError):
            return None


def _fields(text: str) -> Mapping[str, str] | None:
    """Parse a query or a form's body; None if it exceeds the limits of our own forms."""
    try:
        return dict(parse_qsl(text, keep_blank_values=True, max_num_fields=FIELDS)) if len(text) <= BODY_BYTES else None
    except ValueError:
        return None


def _refuse(status: int, says: str, headers: Mapping[str, str] | None = None) -> Response:
    return PlainTextResponse(f"{says}\n", status, {"Connection": "close", **(headers or {})})
