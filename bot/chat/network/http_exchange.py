"""One HTTP/1.1 request and its response, over a connection that is open. Each part of the response is bounded."""

from asyncio import StreamReader
from collections.abc import AsyncGenerator, Mapping
from dataclasses import dataclass
from typing import Final

import h11

PIECE: Final = 65_536
MAX_INTERIM: Final = 10  # Interim responses (103 Early Hints), which a server could send without end


@dataclass(frozen=True, slots=True)
class HttpExchange:
    """`http` bounds the response's head. The methods raise OSError and h11.ProtocolError."""

    reader: StreamReader
    http: h11.Connection

    def request(self, method: str, path: str, headers: Mapping[str, str], body: bytes = b"") -> bytes:
        """Return the bytes to send."""
        head = self.http.send(h11.Request(method=method, target=path, headers=[*headers.items()]))
        data = self.http.send(h11.Data(data=body)) if body else b""
        return (head or b"") + (data or b"") + (self.http.send(h11.EndOfMessage()) or b"")

    async def response(self) -> h11.Response:
        """Return the response's head."""
        for _ in range(MAX_INTERIM):
            event = await self._next()
            if isinstance(event, h11.Response):
                return event
        raise h11.RemoteProtocolError("too many interim answers")

    async def body(self) -> AsyncGenerator[bytes]:
        """Yield the body in pieces; the caller counts them."""
        while isinstance(event := await self._next(), h11.Data):
            yield bytes(event.data)

    async def _next(self) -> object:
        while (event := self.http.next_event()) is h11.NEED_DATA:
            self.http.receive_data(await self.reader.read(PIECE))
        return event


def header(response: h11.Response, name: bytes) -> str:
    """Return the first header of that name; "" if there is none."""
    first = next((value for key, value in response.headers if key == name), b"")
    return first.decode("utf-8", "replace")
