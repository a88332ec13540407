"""A small internet on loopback: a DNS server, a client for it, and web servers with every kind of misbehaviour.

Connections to any address lead to one of two servers, by the kind of the address: a public web server, or an internal
one, which must not be reachable from outside. Dialled addresses are recorded.
"""

import asyncio
import socket
import ssl
import struct
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from ipaddress import ip_address
from typing import Any, Final, cast

from tests.patience import PATIENCE_S

PUBLIC: Final = "93.184.215.14"
OTHER_PUBLIC: Final = "2606:2800:21f:cb07:6820:80da:af6b:8b2c"
SECRET: Final = b"inner heron4711"
A, CNAME, AAAA = 1, 5, 28


# Names


def _labels(name: str) -> bytes:
    return b"".join(bytes([len(label)]) + label.encode("ascii") for label in name.rstrip(".").split(".")) + b"\0"


def _name_at(data: bytes, at: int) -> tuple[str, int]:
    labels, after = list[str](), 0
    while length := data[at]:
        if length & 0xC0:
            after, at = after or at + 2, int.from_bytes(data[at : at + 2], "big") & 0x3FFF
            continue
        labels.append(data[at + 1 : at + 1 + length].decode("ascii"))
        at += 1 + length
    return ".".join(labels), after or at + 1


class DnsServer(asyncio.DatagramProtocol):
    """`zone`: for each name the answers to one question after the other; the last answer repeats. An answer that is a
    name is an alias. `asked`: every requested name, once for both kinds of addresses.
    """

    def __init__(self, zone: Mapping[str, Sequence[Sequence[str]]]) -> None:
        self.zone = dict(zone)
        self.asked: list[str] = []
        self._transport: asyncio.DatagramTransport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.DatagramTransport", transport)

    def datagram_received(self, data: bytes, addr: tuple[str, int]) -> None:
        assert self._transport is not None
        name, after = _name_at(data, 12)
        (kind,) = struct.unpack(">H", data[after : after + 2])
        if kind == A:
            self.asked.append(name)
        answers = self._answers(name, self.asked.count(name), kind)
        flags = 0x8180 if name.rstrip(".") in self.zone else 0x8183
        head = data[:2] + struct.pack(">HHHHH", flags, 1, len(answers), 0, 0)
        self._transport.sendto(head + data[12 : after + 4] + b"".join(answers), addr)

    def _answers(self, name: str, time: int, kind: int) -> list[bytes]:
        answers = self.zone.get(name.rstrip("."))
        if answers is None:
            return []
        records, owner = list[bytes](), b"\xc0\x0c"
        for value in answers[min(time, len(answers)) - 1]:
            try:
                packed = ip_address(value).packed
            except ValueError:
                data = _labels(value)
                records += [_record(owner, CNAME, data), *self._answers(value, time, kind)]
                continue
            if kind == (A if len(packed) == 4 else AAAA):
                records.append(_record(owner, kind, packed))
        return records


def _record(owner: bytes, kind: int, data: bytes) -> bytes:
    return owner + struct.pack(">HHIH", kind, 1, 0, len(data)) + data


class _Question(asyncio.DatagramProtocol):
    def __init__(self) -> None:
        self.answer: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()

    def datagram_received(self, data: bytes, addr: object) -> None:  # noqa: ARG002 -- asyncio's
        if not self.answer.done():
            self.answer.set_result(data)


@dataclass
class DnsClient:
    """Resolves with that server, as the machine's resolver does with its own."""

    server: tuple[str, int]

    async def __call__(self, name: str, port: int) -> list[str]:  # noqa: ARG002 -- of a resolver
        found = [*await self._ask(name, A), *await self._ask(name, AAAA)]
        if not found:
            raise socket.gaierror(socket.EAI_NONAME, "no such name")
        return found

    async def _ask(self, name: str, kind: int) -> list[str]:
        loop = asyncio.get_running_loop()
        transport, question = await loop.create_datagram_endpoint(_Question, remote_addr=self.server)
        try:
            transport.sendto(
                struct.pack(">HHHHHH", 7, 0x0100, 1, 0, 0, 0) + _labels(name) + struct.pack(">HH", kind, 1)
            )
            data = await asyncio.wait_for(question.answer, PATIENCE_S)
        finally:
            transport.close()
        _, at = _name_at(data, 12)
        at, found = at + 4, list[str]()
        for _ in range(int.from_bytes(data[6:8], "big")):
            _, at = _name_at(data, at)
            got, _, _, length = struct.unpack(">HHIH", data[at : at + 10])
            if got in (A, AAAA):
                found.append(str(ip_address(data[at + 10 : at + 10 + length])))
            at += 10 + length
        return found


# Servers

Behaviour = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


def answer(
    body: bytes = b"", *, status: str = "200 OK", kind: str = "text/plain; charset=utf-8", **headers: str
) -> Behaviour:
    """Return a valid response. Names of headers are written with _."""
    more = "".join(f"{name.replace('_', '-')}: {value}\r\n" for name, value in headers.items())
    head = f"HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\n{more}\r\n"

    async def behave(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(head.encode() + body)
        await writer.drain()

    return behave


def redirect(to: str, status: str = "302 Found") -> Behaviour:
    return answer(status=status, Location=to)


def raw(*pieces: bytes, again: bytes = b"") -> Behaviour:
    """Send these bytes, and then `again` without end, as fast as they are read."""

    async def behave(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        for piece in pieces:
            writer.write(piece)
        while again:
            writer.write(again)
            await writer.drain()

    return behave


def silence(*pieces: bytes) -> Behaviour:
    """Send these bytes, and then no more."""

    async def behave(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        for piece in pieces:
            writer.write(piece)
        await reader.read()

    return behave


@dataclass
class WebWorld:
    """`pages`: the behaviour of the public server, by host and path ("a.example/x"); all others are not found.

    `dialled`: the addresses and ports that were connected to; `requests`: the heads that reached the public server,
    `inner` those that reached the other one.
    """

    dns: DnsServer
    resolve: DnsClient
    pages: dict[str, Behaviour]
    tls: ssl.SSLContext | None = None
    dialled: list[tuple[str, int]] = field(default_factory=list[tuple[str, int]])
    requests: list[str] = field(default_factory=list[str])
    inner: list[str] = field(default_factory=list[str])
    ports: dict[bool, int] = field(default_factory=dict[bool, int])
    serving: set[asyncio.Task[Any]] = field(default_factory=set[asyncio.Task[Any]])

    async def dial(
        self, address: str, port: int, tls: ssl.SSLContext | None, name: str | None
    ) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        self.dialled.append((address, port))
        is_public = address.partition("%")[0] in (PUBLIC, OTHER_PUBLIC)
        to = self.ports[is_public]
        return await asyncio.open_connection("127.0.0.1", to, ssl=tls, server_hostname=name)

    async def serve_public(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        async def behave(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            head = (await reader.readuntil(b"\r\n\r\n")).decode()
            self.requests.append(head)
            path = head.split(" ", 2)[1]
            host = next(line for line in head.splitlines() if line.lower().startswith("host:")).split(" ", 1)[1]
            await self.pages.get(f"{host}{path}", answer(b"no", status="404 Not Found"))(reader, writer)

        await self._serve(behave, reader, writer)

    async def serve_inner(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        async def behave(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            self.inner.append((await reader.readuntil(b"\r\n\r\n")).decode())
            await answer(SECRET)(reader, writer)

        await self._serve(behave, reader, writer)

    async def _serve(self, behave: Behaviour, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self.serving.add(task)
        try:
            with suppress(ConnectionError, asyncio.IncompleteReadError, ssl.SSLError):
                await behave(reader, writer)
                writer.close()
                await writer.wait_closed()
        finally:
            writer.transport.abort()
            self.serving.discard(task)


@asynccontextmanager
async def web_world(
    pages: Mapping[str, Behaviour] = {},
    zone: Mapping[str, Sequence[Sequence[str]]] = {},
    tls: ssl.SSLContext | None = None,
) -> AsyncGenerator[WebWorld]:
    loop = asyncio.get_running_loop()
    names = {key.partition("/")[0].partition(":")[0]: [[PUBLIC]] for key in pages}
    transport, dns = await loop.create_datagram_endpoint(lambda: DnsServer({**names, **zone}), ("127.0.0.1", 0))
    host, port = transport.get_extra_info("sockname")[:2]
    world = WebWorld(dns, DnsClient((host, port)), dict(pages))
    public = await asyncio.start_server(world.serve_public, "127.0.0.1", 0, ssl=tls)
    inner = await asyncio.start_server(world.serve_inner, "127.0.0.1", 0)
    world.ports = {True: public.sockets[0].getsockname()[1], False: inner.sockets[0].getsockname()[1]}
    try:
        yield world
    finally:
        for server in (public, inner):
            server.close()
        transport.close()
        for task in (serving := list(world.serving)):
            task.cancel()
        await asyncio.gather(*serving, return_exceptions=True)
        await asyncio.sleep(0)  # aborted connections are closed then
