"""Requests of browsers to the bot's own pages, over HTTP.

Rules. Headers forbid a page to load anything, to be framed or cached, and to send a referrer. Forms and cookies are
limited in size.
"""

import asyncio
from typing import Final
from urllib.parse import parse_qs

from aiohttp import web

from bot.chat.http_listener import closing
from bot.chat.web_page import PageAnswer

READ_S: Final = 5.0
MAX_FORM_BYTES: Final = 4_096  # A browser says how long its form is
MAX_FIELDS: Final = 20  # Of a form; ours has one
MAX_COOKIE_CHARS: Final = 100
HEADERS: Final = {
    "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'; base-uri 'none'",
    "X-Frame-Options": "DENY",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
}


async def form_field(request: web.Request, name: str) -> str | None:
    """Return a field of the form that a browser sent, "" if it is missing; None for a request that is no such form.

    A request's own charset is not used: it may name any codec of Python, or none.
    """
    if request.content_length is None or request.content_length > MAX_FORM_BYTES:
        return None
    try:
        async with asyncio.timeout(READ_S):
            body = await request.read()
        fields = parse_qs(body.decode("ascii", "replace"), max_num_fields=MAX_FIELDS, keep_blank_values=True)
    except (TimeoutError, ValueError, ConnectionError, web.HTTPException, web.RequestPayloadError):
        return None
    return fields.get(name, [""])[0]


def cookie_value(request: web.Request, cookie: str) -> str:
    """Return the value of a cookie; "" without one, and for a value that we cannot have set."""
    value = request.cookies.get(cookie, "")
    return value if len(value) <= MAX_COOKIE_CHARS and value.isascii() else ""


def to_response(answer: PageAnswer, cookie: str, lasts_s: int, *, secure: bool) -> web.Response:
    """Return the response with an answer. Its cookie is named `cookie` and lasts `lasts_s`. `secure`: it is sent only
    over TLS.
    """
    if answer.json:
        return closing(web.Response(text=answer.json, content_type="application/json", headers=HEADERS))
    response = closing(web.Response(status=answer.status, text=answer.html, content_type="text/html", headers=HEADERS))
    if answer.go:
        response.headers["Location"] = answer.go
    if answer.cookie:
        response.set_cookie(
            cookie, answer.cookie, max_age=lasts_s, path="/", secure=secure, httponly=True, samesite="Lax"
        )
    return response
