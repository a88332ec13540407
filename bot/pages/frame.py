"""The frame of the operators' page: who is let in, how a page is shown, and what browsers are told with each answer.

Rules
  Nothing but how to get in is shown to whoever has no session. A link opens one session, by a press: previews of links
  look, and use nothing up. A session ends by itself, and is in the database, so that it counts in every process.
  What changes something comes by POST, from a page of ours, with the session's own word.
  A page is served to the names alone by which it is known: no other site's name can be made to mean it.
  It loads one stylesheet and no script. Every value in it is escaped, and what nobody sees in a text is made visible.
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
from agent.ports import Clock, OperatorSession, OperatorSessions
from bot.exits import STEERING
from bot.health import SESSION_IDLE, SESSION_LASTS
from bot.logs import severity
from bot.texts import page_texts

log = logging.getLogger(__name__)

HERE: Final = Path(__file__).parent
ENTER: Final = "/enter/"
SIGN_OUT: Final = "/sign-out"
CSRF: Final = "csrf"  # The field of a form that holds its session's word
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
# With any port: a forwarded one is another there.
LOCAL: Final = re.compile(r"(?:localhost|127\.0\.0\.1|\[::1\])(?::[0-9]{1,5})?")
TOKEN: Final = re.compile(r"[A-Za-z0-9_-]{43}")  # 256 bits, as `secrets.token_urlsafe` writes them
BODY_BYTES: Final = 4_096
BODY_S: Final = 5.0
FIELDS: Final = 20
SEEN_EVERY: Final = timedelta(minutes=1)  # A session's time is written down so often
PER_S, AT_ONCE = 20.0, 100.0  # Requests of one client: a page takes two. Behind a proxy all are one client.
# Links that one client may look at: each asks the database, and nobody guesses 256 bits.
TRIES_PER_S, TRIES_AT_ONCE = 0.2, 20.0
MOST_CLIENTS: Final = 1_000


@dataclass(frozen=True, slots=True)
class ViewAnswer:
    """What a page shows: a file of `templates`, and plain values for it. A value that it names and is not there is an
    error.
    """

    template: str
    values: Mapping[str, object] = field(default_factory=dict[str, object])
    status: int = 200


# Is given what stands in the address behind "?", bounded, each name once. May raise StoreError.
View: TypeAlias = Callable[[Mapping[str, str]], Awaitable[ViewAnswer]]


@dataclass(frozen=True, slots=True)
class OperatorView:
    """A page: where it is ("/audit"), and its title in the navigation, "" for none there."""

    path: str
    title: str
    show: View


class TokenBuckets:
    """So many at once for each client, and `per_s` more with each second. Clients that were forgotten begin anew."""

    def __init__(self, clock: Clock, per_s: float, at_once: float) -> None:
        self._clock = clock
        self._per_s = per_s
        self._at_once = at_once
        self._left: LRUCache[str, tuple[float, float]] = LRUCache(MOST_CLIENTS)

    def take(self, client: str) -> bool:
        """Whether there is one left, which is then taken."""
        now = self._clock.monotonic()
        left, at = self._left.get(client, (self._at_once, now))
        left = min(self._at_once, left + (now - at) * self._per_s)
        self._left[client] = (left - 1 if left >= 1 else left, now)
        return left >= 1

    def __len__(self) -> int:
        return len(self._left)


_EMOJI: Final = "\u2190-\u2bff\U0001f000-\U0001faff\ufe0f"
_UNSEEN: Final = re.compile(
    f"(?<=[{_EMOJI}])\u200d(?=[{_EMOJI}])|(?<=[{_EMOJI}0-9#*])\ufe0f|([{STEERING}]|{UNSEEN.pattern})"
)


def visible(value: object) -> object:
    """A text with a sign in the place of each character that nobody sees, or that turns others round; anything else as
    it is. What joins signs to one picture stays.
    """
    if not isinstance(value, str) or isinstance(value, Markup):
        return value
    return _UNSEEN.sub(lambda found: "\ufffd" if found[1] else found[0], value)


def hashed(secret: str) -> str:
    return hashlib.sha256(secret.encode()).hexdigest()


@cache
def templates() -> Environment:
    """Where pages are filled in; each is compiled once."""
    made = Environment(
        loader=FileSystemLoader(HERE / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=visible,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    made.filters["count"] = "{:,}".format  # pyright: ignore[reportArgumentType] -- filters are any callable
    return made


def _static() -> dict[str, tuple[str, bytes]]:
    """Each file under a name that changes with it: its type and its content."""
    css = (HERE / "static" / "pages.css").read_bytes()
    return {f"/static/pages.{hashlib.sha256(css).hexdigest()[:12]}.css": ("text/css; charset=utf-8", css)}


class OperatorSite:
    """An ASGI application. `address`: by which browsers reach it through a proxy, as "https://operate.example.com"; ""
    for this machine alone. `secret` makes 256 bits. `body_s`: how long what is filled in may take to come.
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
        self._tries = TokenBuckets(clock, TRIES_PER_S, TRIES_AT_ONCE)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1000})
            return
        response = await self._answer(Request(scope, receive))
        for name, value in HEADERS.items():
            response.headers.setdefault(name, value)
        await response(scope, receive, send)

    async def _answer(self, request: Request) -> Response:
        client = request.client.host if request.client else ""
        if not self._requests.take(client):
            return _refused(429, page_texts.PAGE_TOO_FAST, {"Retry-After": "5"})
        host = request.headers.get("host", "").lower()
        if not host or (host != self._host and not LOCAL.fullmatch(host)):
            return _refused(421, page_texts.PAGE_OTHER_HOST)
        if request.method not in {"GET", "HEAD", "POST"}:
            return _refused(405, page_texts.PAGE_METHOD, {"Allow": "GET, HEAD, POST"})
        if (found := self._static.get(request.url.path)) is not None:
            kept = {"Cache-Control": "private, max-age=86400, immutable"}
            return Response(found[1], headers={"Content-Type": found[0], **kept})
        browser = _Browser(request, is_secure=host == self._host and self._origin.startswith("https:"), client=client)
        try:
            return await (self._act(browser, host) if request.method == "POST" else self._show(browser))
        except StoreError as error:
            log.log(severity(error), "a page for operators could not be shown: %s", error)
            return self._page(ViewAnswer("sorry.html", {"says": page_texts.PAGE_STORE_AWAY}, 503))

    async def _show(self, browser: "_Browser") -> Response:
        path = browser.request.url.path
        if path.startswith(ENTER):
            return await self._offer(browser, path.removeprefix(ENTER))
        session = await self._session(browser)
        if session is None:
            return self._page(ViewAnswer("sign_in.html", status=403))
        view, query = self._views.get(path), _fields(browser.request.url.query)
        if view is None or query is None:
            return self._page(ViewAnswer("sorry.html", {"says": page_texts.PAGE_NOT_THERE}, 404), browser)
        return self._page(await view.show(query), browser)

    async def _offer(self, browser: "_Browser", token: str) -> Response:
        if not await self._is_offered(browser, token):
            return self._page(ViewAnswer("sorry.html", {"says": page_texts.PAGE_LINK_OVER}, 404))
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

    async def _is_offered(self, browser: "_Browser", token: str) -> bool:
        if not TOKEN.fullmatch(token) or not self._tries.take(browser.client):
            return False
        return await self._sessions.is_offered(hashed(token), self._clock.now())

    async def _act(self, browser: "_Browser", host: str) -> Response:
        if not browser.is_from(self._origin if host == self._host else f"http://{host}"):
            return _refused(403, page_texts.PAGE_OTHER_SITE)
        form = await browser.form(self._body_s)
        if form is None:
            return _refused(400, page_texts.PAGE_NO_FORM)
        path = browser.request.url.path
        if path.startswith(ENTER):
            return await self._enter(browser, path.removeprefix(ENTER))
        if await self._session(browser) is None:
            return self._page(ViewAnswer("sign_in.html", status=403))
        if not secrets.compare_digest(browser.csrf.encode(), form.get(CSRF, "").encode()):
            return _refused(403, page_texts.PAGE_OTHER_SITE)
        if path != SIGN_OUT:
            return self._page(ViewAnswer("sorry.html", {"says": page_texts.PAGE_NOT_THERE}, 404), browser)
        if form.get("all"):
            await self._sessions.end_all()
        else:
            await self._sessions.end(hashed(browser.secret))
        log.info("an operator signed out of the page for operators")
        response = self._page(ViewAnswer("sorry.html", {"says": page_texts.PAGE_SIGNED_OUT}))
        response.delete_cookie(browser.cookie, secure=browser.is_secure, httponly=True, samesite="strict")
        response.headers["Clear-Site-Data"] = '"cache"'
        return response

    async def _enter(self, browser: "_Browser", token: str) -> Response:
        session, now = self._secret(), self._clock.now()
        if not await self._is_offered(browser, token) or not await self._sessions.open(
            hashed(token), hashed(session), now, now + SESSION_LASTS
        ):
            return self._page(ViewAnswer("sorry.html", {"says": page_texts.PAGE_LINK_OVER}, 404))
        if browser.secret:
            await self._sessions.end(hashed(browser.secret))
        log.info("an operator signed in on the page for operators")
        response = RedirectResponse("/", status_code=303)
        response.set_cookie(
            browser.cookie, session, path="/", secure=browser.is_secure, httponly=True, samesite="strict"
        )
        return response

    async def _session(self, browser: "_Browser") -> OperatorSession | None:
        """Of the browser, if it has one that counts; it is used now."""
        if not browser.secret:
            return None
        now, known = self._clock.now(), hashed(browser.secret)
        session = await self._sessions.find(known, now, now - SESSION_IDLE)
        if session is not None and now - session.seen >= SEEN_EVERY:
            await self._sessions.see(known, now)
        return session

    def _page(self, shown: ViewAnswer, browser: "_Browser | None" = None) -> Response:
        """`browser`: of somebody who is signed in."""
        always = {
            "navigation": self._navigation if browser is not None else [],
            "here": browser.request.url.path if browser is not None else "",
            "csrf": browser.csrf if browser is not None else "",
            "stylesheet": next(iter(self._static)),
            "now": self._clock.now(),
        }
        html = self._templates.get_template(shown.template).render({**always, **shown.values})
        return HTMLResponse(html, shown.status)


@dataclass(frozen=True, slots=True)
class _Browser:
    """Whoever asks. `secret`: what it has of its session, "" for nothing."""

    request: Request
    is_secure: bool
    client: str

    @property
    def cookie(self) -> str:
        return "__Host-cogency-operator" if self.is_secure else "cogency-operator"

    @property
    def secret(self) -> str:
        kept = self.request.cookies.get(self.cookie, "")
        return kept if TOKEN.fullmatch(kept) else ""

    @property
    def csrf(self) -> str:
        return hashed(f"{CSRF} {self.secret}")

    def is_from(self, origin: str) -> bool:
        """Whether a page of this origin sends it, by what browsers say and no page can change. They hide the origin of
        a page that tells no other where they come from; then they say whether it is the same.
        """
        site, said = self.request.headers.get("sec-fetch-site"), self.request.headers.get("origin")
        if site is None:
            return said == origin
        return site == "same-origin" and said in {None, "null", origin}

    async def form(self, body_s: float) -> Mapping[str, str] | None:
        """What was filled in; None if it is none of our forms, too long or too slow."""
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
    """What stands in an address or a form, by its names; None if it is more than any of ours."""
    try:
        return dict(parse_qsl(text, keep_blank_values=True, max_num_fields=FIELDS)) if len(text) <= BODY_BYTES else None
    except ValueError:
        return None


def _refused(status: int, says: str, headers: Mapping[str, str] | None = None) -> Response:
    return PlainTextResponse(f"{says}\n", status, {"Connection": "close", **(headers or {})})
