"""A company's network: the only way out is a proxy, which opens TLS traffic and shows certificates of its own."""

import asyncio
import ssl
from base64 import b64decode
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from tests.fakes.tls_server import self_signed

MAX_PIECE = 65_536


@dataclass
class CompanyProxy:
    """`hosts`: where each name leads, as `127.0.0.1:PORT` of a double that speaks no TLS. `asked`: what clients asked
    to be connected to, as `HOST:PORT`. `user`: who may use it, as `NAME:PASSWORD`; "" for everybody.
    """

    authority: Path
    hosts: Mapping[str, str]
    user: str = ""
    asked: list[str] = field(default_factory=list[str])
    address: str = ""
    _open: set[asyncio.StreamWriter] = field(default_factory=set[asyncio.StreamWriter])

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._open.add(writer)
        with suppress(OSError, asyncio.IncompleteReadError, ssl.SSLError):
            head = (await reader.readuntil(b"\r\n\r\n")).decode()
            verb, authority, _ = head.split(" ", 2)
            refusal = self._refusal(verb, authority, head)
            if refusal:
                writer.write(f"HTTP/1.1 {refusal}\r\nContent-Length: 0\r\n\r\n".encode())
                await writer.drain()
            else:
                await self._connect(authority, reader, writer)
        self._open.discard(writer)
        writer.close()

    def close(self) -> None:
        for writer in self._open:
            writer.transport.abort()

    def _refusal(self, verb: str, authority: str, head: str) -> str:
        self.asked.append(authority)
        credentials = [
            line.split()[-1] for line in head.splitlines() if line.lower().startswith("proxy-authorization:")
        ]
        if self.user and [b64decode(one).decode() for one in credentials] != [self.user]:
            return "407 Proxy Authentication Required"
        return "403 Forbidden" if verb != "CONNECT" or authority.rpartition(":")[0] not in self.hosts else ""

    async def _connect(self, authority: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        name, _, port = authority.rpartition(":")
        host, _, behind = self.hosts[name].rpartition(":")
        to_reader, to_writer = await asyncio.open_connection(host, int(behind))
        self._open.add(to_writer)
        try:
            writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
            await writer.drain()
            if port == "443":
                context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
                context.load_cert_chain(self.authority)
                await writer.start_tls(context)
            forth = asyncio.ensure_future(_copy(reader, to_writer))
            await _copy(to_reader, writer)
            forth.cancel()
        finally:
            self._open.discard(to_writer)
            to_writer.close()


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(OSError):
        while piece := await reader.read(MAX_PIECE):
            writer.write(piece)
            await writer.drain()
        writer.close()


@asynccontextmanager
async def company_network(folder: Path, hosts: Mapping[str, str], user: str = "") -> AsyncGenerator[CompanyProxy]:
    """Yield the proxy, which listens at `address`. Its certificates are for these hosts."""
    proxy = CompanyProxy(self_signed(folder, *hosts), hosts, user)
    server = await asyncio.start_server(proxy.serve, "127.0.0.1", 0)
    proxy.address = f"127.0.0.1:{server.sockets[0].getsockname()[1]}"
    try:
        yield proxy
    finally:
        server.close()
        proxy.close()
