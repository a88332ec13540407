"""Serves what other programs call: the routes of all features, on one server."""

import logging
from collections.abc import AsyncGenerator, Iterable
from contextlib import AsyncExitStack, asynccontextmanager

from bot.app import texts as app_texts
from bot.app.from_settings import http_address
from bot.app.settings import Settings
from bot.chat.feature import Feature
from bot.chat.http_routes import PublicSite
from bot.chat.listen_errors import cannot_listen

log = logging.getLogger(__name__)


@asynccontextmanager
async def public_http(settings: Settings, features: Iterable[Feature]) -> AsyncGenerator[None]:
    """Serve the features' routes, unless that is off, until the block ends. Raises SettingsError and PortInUse."""
    address = http_address(settings)
    if settings.http.listen is None:
        yield
        return
    from bot.chat.web_server import serving  # noqa: PLC0415 -- loaded only where something is served

    host, port = settings.http.listen
    async with AsyncExitStack() as stack:
        site = PublicSite([routes for feature in features for routes in feature.routes])
        try:
            await stack.enter_async_context(serving(site, host, port))
        except OSError as error:
            raise cannot_listen("COGENCY_HTTP", host, port, error) from error
        log.info("%s", app_texts.HTTP_LISTENS.format(address=address))
        yield
