"""A model for `benchmarks.stream`: it answers many requests at the same time, and writes the time into each token.

It runs in a process of its own, so that its work does not count. Each connection is one answer in the format of Chat
Completions. The tokens start when the requested number of connections is open; each stream has its own offset within
the interval between two tokens, so that they do not all come at once.
"""

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from multiprocessing.connection import Connection

HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream; charset=utf-8\r\ntransfer-encoding: chunked\r\n\r\n"
BEFORE = (
    b'data: {"id":"chatcmpl-C4rtR8eKpQ","object":"chat.completion.chunk","created":1795262400,"model":"m-1",'
    b'"system_fingerprint":"fp_1","choices":[{"index":0,"delta":{"content":"'
)
AFTER = b'"},"logprobs":null,"finish_reason":null}]}\n\n'
FINISH = b'data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n'
LINE = 12  # Tokens of a line of prose
TICK_S = 0.001


@dataclass(frozen=True, slots=True)
class Load:
    """`tokens` for each of `streams`, at `rate` tokens a second."""

    streams: int
    rate: float
    tokens: int


@dataclass(slots=True)
class Streams:
    """The connections that wait for tokens, in rounds."""

    load: Load
    open: list[asyncio.Transport] = field(default_factory=list[asyncio.Transport])
    all_there: asyncio.Event = field(default_factory=asyncio.Event)

    def add(self, transport: asyncio.Transport) -> None:
        transport.write(HEAD)
        self.open.append(transport)
        if len(self.open) == self.load.streams:
            self.all_there.set()

    async def play(self) -> None:
        """Send every token at its time, as exactly as the system allows; then the end of each answer."""
        await self.all_there.wait()
        begin, sent, count = now_us(), 0, self.load.streams * self.load.tokens
        while sent < count:
            due = min(count, int((now_us() - begin) / 1e6 * self.load.rate * self.load.streams) + 1)
            for position in range(sent, due):
                number, stream = divmod(position, self.load.streams)
                self.open[stream].write(_token(number))
            sent = due
            await asyncio.sleep(TICK_S)
        for transport in self.open:
            transport.write(_framed(FINISH) + b"0\r\n\r\n")
        self.open.clear()
        self.all_there.clear()


class Answer(asyncio.Protocol):
    """One connection. Each request gets an answer, whatever it contains."""

    def __init__(self, add: Callable[[asyncio.Transport], None]) -> None:
        self._add = add
        self._received = bytearray()
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        if isinstance(transport, asyncio.Transport):
            self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._received += data
        head, end, body = bytes(self._received).partition(b"\r\n\r\n")
        length = next(
            (int(line[15:]) for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:")), 0
        )
        if end and len(body) >= length and self._transport:
            self._received.clear()
            self._add(self._transport)


def stamped(text: str) -> list[int]:
    """Return the times at which the tokens of a text were sent, in microseconds."""
    return [int(word) for word in text.split()]


def now_us() -> int:
    """Return microseconds of the system's monotonic clock, which all processes share."""
    return time.monotonic_ns() // 1000


def serve(load: Load, port: Connection) -> None:
    """Answer until the process ends. The port is sent first."""
    asyncio.run(_serve(load, port))


async def _serve(load: Load, port: Connection) -> None:
    streams = Streams(load)
    server = await asyncio.get_running_loop().create_server(lambda: Answer(streams.add), "127.0.0.1", 0, backlog=1024)
    port.send(server.sockets[0].getsockname()[1])
    while True:
        await streams.play()


def _token(number: int) -> bytes:
    blank = b"\\n" if number % LINE == LINE - 1 else b" "
    return _framed(b"%s%d%s%s" % (BEFORE, now_us(), blank, AFTER))


def _framed(data: bytes) -> bytes:
    return b"%x\r\n%s\r\n" % (len(data), data)
