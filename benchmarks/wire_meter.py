"""Counts the bytes that a client sends to a server: HTTP, handshakes and frames, before TLS."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from urllib.parse import urlsplit, urlunsplit

PIECE_BYTES = 65_536


@dataclass(slots=True)
class WireMeter:
    """`url`: the address of the server through the meter."""

    url: str = ""
    bytes_up: int = 0


@asynccontextmanager
async def metered(url: str) -> AsyncGenerator[WireMeter, None]:
    """Run a meter in front of the server at `url`."""
    meter, parts = WireMeter(), urlsplit(url)
    tasks: set[asyncio.Task[None]] = set()

    async def relay(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        server_reader, server_writer = await asyncio.open_connection(parts.hostname, parts.port)
        try:
            await asyncio.gather(_pass_on(reader, server_writer, meter), _pass_on(server_reader, writer, None))
        except ConnectionError:
            pass  # the side that closed the connection knows why
        finally:
            for side in (writer, server_writer):
                side.close()

    def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.create_task(relay(reader, writer))
        tasks.add(task)
        task.add_done_callback(tasks.discard)

    server = await asyncio.start_server(connected, "127.0.0.1", 0)
    host, port = server.sockets[0].getsockname()
    meter.url = urlunsplit(parts._replace(netloc=f"{host}:{port}"))
    try:
        yield meter
    finally:
        server.close()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await asyncio.sleep(0)  # for the transports, which close in the loop's next iteration


async def _pass_on(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, meter: WireMeter | None) -> None:
    while piece := await reader.read(PIECE_BYTES):
        if meter:
            meter.bytes_up += len(piece)
        writer.write(piece)
        await writer.drain()
    writer.close()
