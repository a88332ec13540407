"""A receiver of webhooks on loopback: it verifies each request as Standard Webhooks says, and answers as told."""

import asyncio
import json
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Final

import h11
from openai import OpenAI

SECRET: Final = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
HANGS: Final = b""
OK: Final = b"HTTP/1.1 204 No Content\r\n\r\n"
FAILED: Final = b"HTTP/1.1 500 Internal Server Error\r\nContent-Length: 0\r\n\r\n"
GONE: Final = b"HTTP/1.1 410 Gone\r\nContent-Length: 0\r\n\r\n"
_VERIFIER: Final = OpenAI(api_key="none").webhooks  # It implements the same specification


@dataclass(frozen=True, slots=True)
class ReceivedWebhook:
    headers: dict[str, str]
    body: bytes
    path: str

    @property
    def id(self) -> str:
        return self.headers["webhook-id"]

    @property
    def event(self) -> dict[str, Any]:
        return json.loads(self.body)

    def verify(self, secret: str = SECRET, tolerance_s: int = 300) -> None:
        """Raises InvalidWebhookSignatureError. `tolerance_s`: how old it may be, by the machine's clock."""
        _VERIFIER.verify_signature(self.body, self.headers, secret=secret, tolerance=tolerance_s)


@dataclass
class WebhookReceiver:
    """`answer`: returns the bytes of the response to a request; HANGS for none. `got`: all requests, `taken`: those
    that were answered with success.
    """

    answer: Callable[[ReceivedWebhook], bytes] = lambda _: OK
    got: list[ReceivedWebhook] = field(default_factory=list[ReceivedWebhook])
    taken: list[ReceivedWebhook] = field(default_factory=list[ReceivedWebhook])
    port: int = 0

    @property
    def place(self) -> str:
        return f"127.0.0.1:{self.port}"

    @property
    def events(self) -> Sequence[dict[str, Any]]:
        """What it has, without repetitions."""
        return [each.event for each in {each.id: each for each in self.taken}.values()]

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            request = await _read(reader)
            self.got.append(request)
            response = self.answer(request)
            if response == HANGS:
                await reader.read()  # until the bot gives up
                return
            if response.startswith(b"HTTP/1.1 2"):
                self.taken.append(request)
            writer.write(response)
            await writer.drain()
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()


async def _read(reader: asyncio.StreamReader) -> ReceivedWebhook:
    server, body, head = h11.Connection(h11.SERVER), b"", None
    while True:
        event = server.next_event()
        if event is h11.NEED_DATA:
            server.receive_data(await reader.read(65_536))
        elif isinstance(event, h11.Request):
            head = event
        elif isinstance(event, h11.Data):
            body += bytes(event.data)
        else:
            assert isinstance(event, h11.EndOfMessage)
            assert head is not None
            headers = {name.decode(): value.decode() for name, value in head.headers}
            assert head.method == (b"POST" if body else b"GET")
            return ReceivedWebhook(headers, body, head.target.decode())


@asynccontextmanager
async def webhook_receiver() -> AsyncGenerator[WebhookReceiver]:
    receiver = WebhookReceiver()
    server = await asyncio.start_server(receiver.serve, "127.0.0.1", 0)
    receiver.port = server.sockets[0].getsockname()[1]
    async with server:
        yield receiver
        server.close()
