"""The HTTP server of the sign-in pages.

Rule. Requests are limited in size, and connections in number: a new one closes the oldest.
"""

import logging
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from typing import Final, TypeAlias

from aiohttp import web

from agent.errors import CogencyError
from bot.chat.http_listener import closing, listen, quiet_logger
from bot.chat.listen_errors import cannot_listen
from bot.chat.web_page import LATER, PageAnswer
from bot.chat.web_requests import HEADERS, cookie_value, form_field, to_response
from bot.tools.mcp.source import SignInBrowsing

PATH: Final = "/sign-in"
CONNECTIONS: Final = 64
BODY_BYTES: Final = 4_096
COOKIE: Final = "cogency-sign-in"
COOKIE_S: Final = 1_200  # Twice as long as a link is valid

log = logging.getLogger(__name__)


# Waits until sign-ins can be served; returns None if they cannot.
FindService: TypeAlias = Callable[[], Awaitable[SignInBrowsing | None]]


class SignInPages:
    """`public`: the address of the pages for browsers."""

    def __init__(self, service: FindService, public: str) -> None:
        self._service = service
        self._secure = public.startswith("https://")
        self._cookie = f"__Host-{COOKIE}" if self._secure else COOKIE

    def add_to(self, server: web.Application) -> None:
        server.router.add_get(f"{PATH}/client/{{server}}.json", self._document)
        server.router.add_get(f"{PATH}/callback/{{server}}", self._come_back)
        server.router.add_get(f"{PATH}/{{link}}", self._ask)
        server.router.add_post(f"{PATH}/{{link}}", self._agree)

    async def _document(self, request: web.Request) -> web.Response:
        async def answer(service: SignInBrowsing) -> PageAnswer:
            return service.document(request.match_info["server"])

        return await self._answer(answer)

    async def _ask(self, request: web.Request) -> web.Response:
        return await self._answer(lambda service: service.ask(request.match_info["link"], self._browser(request)))

    async def _agree(self, request: web.Request) -> web.Response:
        token = await form_field(request, "browser")
        if token is None:
            return closing(web.Response(status=400, headers=HEADERS))
        link = request.match_info["link"]
        return await self._answer(lambda service: service.agree(link, self._browser(request), token))

    async def _come_back(self, request: web.Request) -> web.Response:
        server, query = request.match_info["server"], request.rel_url.raw_query_string
        return await self._answer(lambda service: service.come_back(server, query, self._browser(request)))

    def _browser(self, request: web.Request) -> str:
        return cookie_value(request, self._cookie)

    async def _answer(self, ask: Callable[[SignInBrowsing], Awaitable[PageAnswer]]) -> web.Response:
        try:
            service = await self._service()
            answer = LATER if service is None else await ask(service)
        except CogencyError as error:
            log.warning("a sign-in page could not be shown: %s", error)
            answer = LATER
        return to_response(answer, self._cookie, COOKIE_S, secure=self._secure)


@asynccontextmanager
async def listening(pages: SignInPages, host: str, port: int, setting: str) -> AsyncGenerator[int, None]:
    """Serve the pages until the block ends, and yield the port. Raises SettingsError or PortInUse."""
    application = web.Application(client_max_size=BODY_BYTES)
    pages.add_to(application)
    runner = web.AppRunner(
        application,
        access_log=None,
        logger=quiet_logger(log, log.debug),
        shutdown_timeout=1.0,
        auto_decompress=False,  # Browsers compress no forms: unpacking would only serve attackers
        keepalive_timeout=5.0,
    )
    await runner.setup()
    try:
        server = await listen(runner, host, port, CONNECTIONS)
    except OSError as error:
        await runner.cleanup()
        raise cannot_listen(setting, host, port, error) from error
    try:
        log.info("serving sign-in pages on port %d at %s", server.sockets[0].getsockname()[1], PATH)
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()
        with suppress(OSError):
            await runner.cleanup()
