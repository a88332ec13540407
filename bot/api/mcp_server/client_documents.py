"""Client ID Metadata Documents: an app whose client id is the address of a document that describes it.

Rules
  Anybody can make the bot fetch such an address, before anybody signs in: it is fetched through the guard of addresses,
  from the public web and with TLS alone, without redirects, within limits of size and time. Few are fetched in a
  minute, for everybody together, and each is remembered, also one that could not be read.
  Nothing that the other server sends is shown or logged but the document's fields. Why an address is not reached is not
  said: it would show which names there are in the operator's own network.
"""

import asyncio
from typing import Final

import h11
from cachetools import TTLCache

from agent.admission_terms import Rate, Whose
from agent.ports.clock import Clock
from bot.api.mcp_server import oauth, texts
from bot.api.mcp_server.oauth import OAuthClient, OAuthError
from bot.chat.access.admission import MINUTE, RateCounter
from bot.chat.caches import SingleFlight
from bot.chat.network.connections import GuardedConnections
from bot.chat.network.guard import WebRefused
from bot.chat.network.http_exchange import HttpExchange, header

FETCH_S: Final = 5.0  # A person waits for the page
MAX_HEAD_BYTES: Final = 16_000
FETCHES_A_MINUTE: Final = 60
KNOWN_S: Final = 3_600.0
FAILED_S: Final = 60.0
MAX_KNOWN: Final = 500  # More apps than people of one bot use


class ClientDocuments:
    """Returns apps by the addresses of their documents. `agent`: the user agent of requests."""

    def __init__(self, connections: GuardedConnections, agent: str, clock: Clock, seconds: float = FETCH_S) -> None:
        self._connections = connections
        self._agent = agent
        self._clock = clock
        self._seconds = seconds
        self._fetches = RateCounter((Rate(Whose.PERSON, FETCHES_A_MINUTE, MINUTE),))
        self._flights = SingleFlight[OAuthClient]()
        self._known = TTLCache[str, OAuthClient](MAX_KNOWN, KNOWN_S, clock.monotonic)
        self._failed = TTLCache[str, OAuthError](MAX_KNOWN, FAILED_S, clock.monotonic)

    async def client(self, address: str) -> OAuthClient:
        """Return the app that the document at this address describes. Raises OAuthError."""
        oauth.check_document_address(address)
        if (known := self._known.get(address)) is not None:
            return known
        if (failed := self._failed.get(address)) is not None:
            raise OAuthError(failed.code, str(failed))
        return await self._flights.load(address, lambda: self._load(address))

    async def _load(self, address: str) -> OAuthClient:
        if await self._fetches.obstacle("", "", self._clock.now()) is not None:
            raise OAuthError("temporarily_unavailable", texts.TOO_MANY_DOCUMENTS)
        try:
            client = oauth.read_document(address, await self._fetch(address))
        except OAuthError as error:
            self._failed[address] = error
            raise
        self._known[address] = client
        return client

    async def _fetch(self, address: str) -> bytes:
        try:
            async with asyncio.timeout(self._seconds):
                return await self._get(address)
        except TimeoutError:
            error = _unread(texts.DOCUMENT_LATE)
        except WebRefused:
            error = _unread(texts.DOCUMENT_UNREACHABLE)
        except (OSError, h11.ProtocolError):
            error = _unread(texts.DOCUMENT_NO_HTTP)
        raise error from None

    async def _get(self, address: str) -> bytes:
        admitted = await self._connections.admit(address)
        reader, writer = await self._connections.open(admitted, named=False)
        try:
            exchange = HttpExchange(reader, h11.Connection(h11.CLIENT, max_incomplete_event_size=MAX_HEAD_BYTES))
            headers = {
                "Host": admitted.target.authority,
                "User-Agent": self._agent,
                "Accept": "application/json",
                "Accept-Encoding": "identity",
                "Connection": "close",
            }
            writer.write(exchange.request("GET", admitted.target.path, headers))
            response = await exchange.response()
            if response.status_code != 200:
                raise _unread(texts.DOCUMENT_STATUS.format(status=response.status_code))
            if header(response, b"content-encoding") not in {"", "identity"}:
                raise _unread(texts.DOCUMENT_NO_HTTP)
            body = bytearray()
            async for piece in exchange.body():
                body += piece
                if len(body) > oauth.MAX_DOCUMENT_BYTES:
                    raise _unread(texts.DOCUMENT_LARGE.format(limit=oauth.MAX_DOCUMENT_BYTES))
        finally:
            writer.transport.abort()  # discard any bytes that are still to come
        return bytes(body)


def _unread(why: str) -> OAuthError:
    return OAuthError("invalid_client", texts.NO_DOCUMENT.format(why=why))
