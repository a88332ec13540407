"""Sends a webhook: one POST over a guarded connection (`bot.chat.network.connections`), within a time limit.

Rules. Redirects are not followed. Only the head of a response is read. Plain HTTP goes only to hosts in the operator's
own network.
"""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from http import HTTPStatus
from typing import Final, TypeAlias

import h11

from bot.chat.network.connections import Admitted, GuardedConnections
from bot.chat.network.guard import Target, WebRefused
from bot.chat.network.http_exchange import HttpExchange, header
from bot.webhooks.outgoing import texts
from bot.webhooks.outgoing.retries import parse_retry_after

SEND_S: Final = 15.0  # For one attempt; the specification recommends 15 to 30 seconds
MAX_HEAD_BYTES: Final = 16_000


@dataclass(frozen=True, slots=True)
class Received:
    """The receiver answered with a status of success."""


@dataclass(frozen=True, slots=True)
class NoLongerWanted:
    """The receiver answered with 410 Gone: it wants no more requests."""


@dataclass(frozen=True, slots=True)
class NotReceived:
    """`reason`: a sentence without words of the receiver. `asked`: the pause that it asked for."""

    reason: str
    asked: timedelta | None = None


SendResult: TypeAlias = Received | NoLongerWanted | NotReceived


class WebhookSender:
    """`agent`: the user agent."""

    def __init__(self, connections: GuardedConnections, agent: str, seconds: float = SEND_S) -> None:
        self._connections = connections
        self._agent = agent
        self._seconds = seconds

    async def send(self, target: Target, headers: Mapping[str, str], body: bytes, now: datetime) -> SendResult:
        try:
            async with asyncio.timeout(self._seconds):
                return await self._post(target, headers, body, now)
        except TimeoutError:
            return NotReceived(texts.TOO_LATE.format(seconds=self._seconds))
        except WebRefused as refused:
            return NotReceived(str(refused))
        except (OSError, h11.ProtocolError):
            return NotReceived(texts.NO_HTTP)

    async def check(self, target: Target) -> None:
        """Check that the target may be reached, without connecting. Raises WebRefused."""
        await self._admit(target)

    async def _admit(self, target: Target) -> Admitted:
        admitted = await self._connections.admit(target.address)
        if target.scheme != "https" and not admitted.is_own:
            raise WebRefused(texts.PLAIN_HTTP)
        return admitted

    async def _post(self, target: Target, headers: Mapping[str, str], body: bytes, now: datetime) -> SendResult:
        reader, writer = await self._connections.open(await self._admit(target), named=True)
        try:
            exchange = HttpExchange(reader, h11.Connection(h11.CLIENT, max_incomplete_event_size=MAX_HEAD_BYTES))
            all_headers = {
                "Host": target.authority,
                "User-Agent": self._agent,
                "Content-Type": "application/json",
                "Content-Length": str(len(body)),
                "Connection": "close",
                **headers,
            }
            writer.write(exchange.request("POST", target.path, all_headers, body))
            response = await exchange.response()
        finally:
            writer.transport.abort()  # discard any bytes that are still to come
        if 200 <= response.status_code < 300:
            return Received()
        if response.status_code == HTTPStatus.GONE:
            return NoLongerWanted()
        reason = texts.REDIRECT if 300 <= response.status_code < 400 else texts.STATUS
        asked = parse_retry_after(header(response, b"retry-after"), now)
        return NotReceived(reason.format(status=response.status_code), asked)
