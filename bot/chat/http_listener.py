"""Listens for HTTP with a limit on connections: each costs a file descriptor, of which the bot needs some itself."""

import asyncio
import logging
from collections.abc import Callable
from typing import Final

from aiohttp import web
from aiohttp.http_exceptions import HttpProcessingError
from aiohttp.web_protocol import RequestHandler

GARBAGE: Final = "a request was refused because it is not valid HTTP"


async def listen(runner: web.AppRunner, host: str, port: int, limit: int) -> asyncio.Server:
    """Return the server of a runner that was set up. A connection above `limit` closes the oldest. Raises OSError."""

    def connected() -> RequestHandler:
        assert runner.server is not None  # noqa: S101 -- it is set up
        # Later: several may be accepted together, and none is in the server's list before its connection is made.
        asyncio.get_running_loop().call_later(0, _close_oldest, runner.server, limit)
        return runner.server()

    return await asyncio.get_running_loop().create_server(connected, host, port)


def closing(response: web.Response) -> web.Response:
    """Return a response after which its connection is closed. The header alone would only ask the client for it."""
    response.force_close()
    return response


def quiet_logger(parent: logging.Logger, warn: Callable[[str], None]) -> logging.Logger:
    """Return a logger for aiohttp's server, which otherwise logs a traceback for each request that is not HTTP: `warn`
    gets a sentence about it. Our own errors are logged as usual.
    """

    class NoGarbage(logging.Filter):
        def filter(self, record: logging.LogRecord) -> bool:
            is_garbage = record.exc_info is not None and isinstance(record.exc_info[1], HttpProcessingError)
            if record.levelno >= logging.ERROR and is_garbage:
                warn(GARBAGE)
                return False
            return True

    quiet = logging.Logger(f"{parent.name}.server")  # noqa: LOG001 -- one of its own for each server
    quiet.parent = parent
    quiet.addFilter(NoGarbage())
    return quiet


def _close_oldest(server: web.Server, limit: int) -> None:
    for connection in server.connections[:-limit]:
        connection.force_close()
