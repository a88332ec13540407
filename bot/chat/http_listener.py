"""Listens for HTTP with a limit on connections: each costs a file descriptor, of which the bot needs some itself."""

import asyncio

from aiohttp import web
from aiohttp.web_protocol import RequestHandler


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


def _close_oldest(server: web.Server, limit: int) -> None:
    for connection in server.connections[:-limit]:
        connection.force_close()
