"""The door: what is genuine is stored before it is acknowledged, and everything else costs little and says why."""

import asyncio
import gzip
import logging
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import datetime

import httpx
import pytest
from starlette.types import Message

from agent.errors import StoreUnavailable
from agent.ports.webhooks import ArrivedEvent, EventAdded, NewWebhookEvent
from bot.chat.http_routes import BODY_BYTES, HttpRoutes, PublicSite
from bot.chat.telemetry import RequestEnd, RequestHandled, TelemetryEvent
from bot.chat.web_server import serving
from bot.webhooks.config import Hook
from bot.webhooks.presets import samples
from bot.webhooks.receiving import PATH, SMALL, Receiver
from bot.webhooks.signatures import sign
from bot.webhooks.storing import BATCH
from tests.fakes.clock import FakeClock
from tests.fakes.hook_senders import hooks_of
from tests.fakes.no_authorities import NO_AUTHORITIES
from tests.patience import PATIENCE_S

HOOKS = hooks_of(
    alerts='preset = "alertmanager"\nchannel = "discord:1"\nper_minute = 5\n',
    plain='preset = "json"\nchannel = "discord:1"\nquiet = "00:00-23:59"\n',
    limited='preset = "json"\ntext = "{{ payload.text }}"\nchannel = "discord:1"\nper_minute = 2\n',
    repo='preset = "github"\nchannel = "discord:1"\n',
)
BODY = b'{"text": "hello"}'


@dataclass
class Door:
    """`stored`: what it stored, with the time from which on it is posted. `ends`: how requests ended."""

    http: httpx.AsyncClient
    clock: FakeClock
    stored: list[tuple[NewWebhookEvent, datetime]] = field(default_factory=list[tuple[NewWebhookEvent, datetime]])
    ends: list[tuple[str, RequestEnd]] = field(default_factory=list[tuple[str, RequestEnd]])
    is_full: bool = False
    is_broken: bool = False
    lookups: int = 0
    batches: list[int] = field(default_factory=list[int])
    ignored: list[tuple[str, tuple[str, ...]]] = field(default_factory=list[tuple[str, tuple[str, ...]]])

    async def add(self, arrived: Sequence[ArrivedEvent], limit: int) -> list[EventAdded]:  # noqa: ARG002 -- the port's
        self.batches.append(len(arrived))
        await asyncio.sleep(0)
        return [self.added(each.event, each.run_at) for each in arrived]

    def added(self, new: NewWebhookEvent, run_at: datetime) -> EventAdded:
        self.lookups += 1
        if self.is_broken:
            raise StoreUnavailable("The database is away.")
        if self.is_full:
            return EventAdded.FULL
        known = [*(ids for _, ids in self.ignored), *(event.ids for event, _ in self.stored)]
        if any({*new.ids} & {*ids} for ids in known):
            return EventAdded.DUPLICATE
        self.stored.append((new, run_at))
        return EventAdded.STORED

    async def add_ignored(self, hook: str, ids: tuple[str, ...], now: datetime) -> EventAdded:  # noqa: ARG002 -- the port's
        if any({*ids} & {*known} for of, known in self.ignored if of == hook):
            return EventAdded.DUPLICATE
        if self.is_broken:
            raise StoreUnavailable("The database is away.")
        self.ignored.append((hook, ids))
        return EventAdded.STORED

    def record(self, event: TelemetryEvent) -> None:
        if isinstance(event, RequestHandled):
            self.ends.append((event.endpoint, event.end))

    async def send(
        self, name: str, body: bytes = BODY, headers: Mapping[str, str] | None = None, id_: str = "1"
    ) -> int:
        hook = HOOKS[name]
        signed = sign(hook.scheme, hook.revealed[0], body, self.clock.now(), id_)
        return (await self.http.post(f"{PATH}/{name}", content=body, headers={**signed, **(headers or {})})).status_code


@asynccontextmanager
async def door(hooks: Mapping[str, Hook] = HOOKS, body_s: float = PATIENCE_S) -> AsyncGenerator[Door]:
    clock = FakeClock()
    async with httpx.AsyncClient(verify=NO_AUTHORITIES) as http:
        opened = Door(http, clock)
        receiver = Receiver(hooks, opened, clock, opened, body_s)  # pyright: ignore[reportArgumentType] -- the part of the store that it uses
        async with asyncio.timeout(PATIENCE_S), serving(PublicSite([HttpRoutes(PATH, receiver)]), "127.0.0.1", 0) as at:
            http.base_url = httpx.URL(at)
            yield opened


async def raw(opened: Door, request: bytes, *, keep_open: bool = False) -> bytes:
    """Send bytes, and return the response."""
    reader, writer = await asyncio.open_connection(opened.http.base_url.host, opened.http.base_url.port)
    writer.write(request)
    if not keep_open and writer.can_write_eof():
        writer.write_eof()
    response = await reader.read()
    writer.close()
    return response


async def test_a_genuine_delivery_is_stored_and_then_acknowledged() -> None:
    async with door() as opened:
        assert await opened.send("repo", headers={"x-github-event": "ping"}) == 200
        assert await opened.send("alerts", b'{"status": "firing", "groupKey": "g", "alerts": []}') == 202
        ((event, run_at),) = opened.stored
        assert (event.hook, event.closes, run_at) == ("alerts", False, opened.clock.now())
        assert event.text.startswith("🔥")
        assert event.key
        assert opened.ends == [("webhook repo", RequestEnd.ACCEPTED), ("webhook alerts", RequestEnd.ACCEPTED)]


async def test_the_same_delivery_is_acknowledged_again_and_stored_once() -> None:
    async with door() as opened:
        assert [await opened.send("plain") for _ in range(3)] == [202, 200, 200]
        assert len(opened.stored) == 1
        assert [end for _, end in opened.ends] == [RequestEnd.ACCEPTED, RequestEnd.REPEATED, RequestEnd.REPEATED]


async def test_in_quiet_hours_it_is_stored_at_once_and_posted_after_them() -> None:
    async with door() as opened:
        assert await opened.send("plain") == 202
        (_, run_at) = opened.stored[0]
        assert (run_at.hour, run_at.minute) == (23, 59)
        assert run_at > opened.clock.now()


async def test_what_cannot_be_stored_is_not_acknowledged() -> None:
    async with door() as opened:
        opened.is_broken = True
        assert await opened.send("plain") == 503
        opened.is_broken, opened.is_full = False, True
        response = await opened.http.post(f"{PATH}/plain", content=BODY, headers=signed_plain(opened))
        assert (response.status_code, response.headers["retry-after"]) == (503, "60")
        assert opened.stored == []


def signed_plain(opened: Door) -> Mapping[str, str]:
    hook = HOOKS["plain"]
    return sign(hook.scheme, hook.revealed[0], BODY, opened.clock.now(), "1")


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"webhook-signature": "v1,AAAA"}, 401),
        ({"webhook-id": "2"}, 401),
        ({"webhook-timestamp": "1"}, 401),
        ({"content-encoding": "gzip"}, 415),
        ({f"x-{number}": "" for number in range(120)}, 431),
    ],
)
async def test_a_forged_or_odd_delivery_is_refused_without_saying_why(headers: Mapping[str, str], status: int) -> None:
    async with door() as opened:
        response = await opened.http.post(f"{PATH}/plain", content=BODY, headers={**signed_plain(opened), **headers})
        assert response.status_code == status
        assert opened.stored == []
        assert "wrong" not in response.text or "missing" in response.text


async def test_a_replayed_delivery_is_too_old_after_five_minutes() -> None:
    async with door() as opened:
        recorded = signed_plain(opened)
        await opened.clock.advance(301.0)
        assert (await opened.http.post(f"{PATH}/plain", content=BODY, headers=recorded)).status_code == 401
        assert opened.ends == [("webhook plain", RequestEnd.EXPIRED)]


@pytest.mark.parametrize("path", ["", "/", "/none", "/plain/", "/plain/x", "/../plain", "/%70lain%00", "/PLAIN"])
async def test_an_unknown_name_is_not_found(path: str) -> None:
    async with door() as opened:
        assert (await opened.http.post(f"{PATH}{path}", content=BODY, headers=signed_plain(opened))).status_code == 404
        assert opened.stored == []


@pytest.mark.parametrize("method", ["GET", "PUT", "DELETE", "HEAD", "OPTIONS", "PATCH"])
async def test_only_a_post_is_received(method: str) -> None:
    async with door() as opened:
        response = await opened.http.request(method, f"{PATH}/plain", headers=signed_plain(opened))
        assert (response.status_code, response.headers["allow"]) == (405, "POST")


async def pieces() -> AsyncGenerator[bytes]:
    yield BODY


async def test_chunks_and_a_missing_or_huge_length_are_refused() -> None:
    async with door() as opened:
        headers = signed_plain(opened)
        assert (await opened.http.post(f"{PATH}/plain", content=pieces(), headers=headers)).status_code == 411
        for length in (b"", b"Content-Length: -1\r\n", b"Content-Length: 1\r\nTransfer-Encoding: chunked\r\n"):
            response = await raw(opened, b"POST /hooks/plain HTTP/1.1\r\nHost: x\r\n" + length + b"\r\n")
            assert response.startswith((b"HTTP/1.1 411", b"HTTP/1.1 400")), length
        large = b'{"a": "' + b"x" * BODY_BYTES + b'"}'
        assert await opened.send("plain", large) == 413
        assert await opened.send("plain", b'{"text": "' + b"x" * (BODY_BYTES - 12) + b'"}') == 202
        assert len(opened.stored) == 1


async def test_a_compressed_body_is_never_unpacked() -> None:
    async with door() as opened:
        bomb = gzip.compress(b'{"text": "' + b"x" * 10_000_000 + b'"}')
        assert await opened.send("plain", bomb, {"content-encoding": "gzip"}) == 415
        assert await opened.send("plain", bomb) == 400


def head(length: int) -> bytes:
    return b"POST /hooks/plain HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n{" % length


async def test_a_slow_body_is_given_up() -> None:
    async with door(body_s=0.2) as opened:
        for response in await asyncio.gather(*(raw(opened, head(100), keep_open=True) for _ in range(20))):
            assert response.startswith(b"HTTP/1.1 408")
        assert await opened.send("plain") == 202


@pytest.mark.parametrize("length", [100, SMALL + 1])
async def test_a_genuine_delivery_is_stored_while_fifty_slow_senders_are_still_sending(length: int) -> None:
    async with door() as opened:
        slow = [await asyncio.open_connection(opened.http.base_url.host, opened.http.base_url.port) for _ in range(50)]
        for _, writer in slow:
            writer.write(head(length))
            await writer.drain()
        assert await opened.send("plain") == 202
        assert opened.ends == [("webhook plain", RequestEnd.ACCEPTED)], "none of the slow ones was answered before it"
        for _, writer in slow:
            writer.close()


async def test_genuine_deliveries_above_the_rate_are_refused_and_forged_ones_use_none_of_it() -> None:
    async with door() as opened:
        for _ in range(20):
            assert await opened.send("alerts", b"{}", {"authorization": "Bearer wrong"}) == 401
        bodies = [b'{"status": "firing", "groupKey": "%d", "alerts": []}' % number for number in range(7)]
        assert [await opened.send("alerts", body) for body in bodies] == [202] * 5 + [429] * 2
        assert await opened.send("plain") == 202, "each hook has its own rate"
        await opened.clock.advance(61.0)
        assert await opened.send("alerts", bodies[6]) == 202


async def test_repeated_and_ignored_deliveries_use_none_of_the_rate() -> None:
    async with door() as opened:
        assert [await opened.send("limited") for _ in range(10)] == [202] + [200] * 9
        assert [await opened.send("limited", b"{}", id_=str(number)) for number in range(10)] == [200] * 10
        assert [await opened.send("limited", id_=id_) for id_ in ("11", "12")] == [202, 429]


async def test_a_recorded_delivery_that_was_ignored_is_not_posted_under_another_kind() -> None:
    async with door() as opened:
        (issue,) = (sample.body for sample in samples("github") if sample.name == "issues.opened")
        assert await opened.send("repo", issue, {"x-github-event": "ping"}) == 200
        assert await opened.send("repo", issue, {"x-github-event": "issues"}) == 200
        await opened.clock.advance(3601.0)
        assert await opened.send("repo", issue, {"x-github-event": "issues"}) == 200
        assert opened.stored == []
        opened.is_broken = True
        assert await opened.send("repo", b"{}", {"x-github-event": "ping"}) == 503, "else it could be posted later"


async def test_what_the_store_refuses_uses_none_of_the_rate() -> None:
    async with door() as opened:
        opened.is_full = True
        assert [await opened.send("limited", id_="1") for _ in range(3)] == [503] * 3
        opened.is_full, opened.is_broken = False, True
        assert [await opened.send("limited", id_="1") for _ in range(3)] == [503] * 3
        opened.is_broken = False
        assert [await opened.send("limited", id_=id_) for id_ in ("1", "2", "3")] == [202, 202, 429]


async def test_a_delivery_that_is_repeated_often_is_looked_up_once_and_in_the_store_after_an_hour() -> None:
    async with door() as opened:
        assert [await opened.send("plain") for _ in range(5)] == [202, 200, 200, 200, 200]
        assert opened.lookups == 1
        await opened.clock.advance(3601.0)
        assert [await opened.send("plain") for _ in range(5)] == [200] * 5
        assert opened.lookups == 2


async def test_refusals_are_logged_once_a_minute_for_each_hook_and_reason(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING, "bot.webhooks.receiving")
    async with door() as opened:
        for _ in range(10):
            await opened.send("plain", headers={"webhook-signature": "v1,SECRETWORD"})
            await opened.send("alerts", headers={"authorization": "Bearer SECRETWORD"})
        await opened.clock.advance(61.0)
        await opened.send("alerts", headers={"authorization": "Bearer SECRETWORD"})
    lines = [record.getMessage() for record in caplog.records]
    assert len(lines) == 3
    assert lines[2].endswith("(and 9 more since the last such line)")
    assert not any("SECRETWORD" in line or "hello" in line for line in lines)


async def test_a_thousand_deliveries_at_once_are_each_answered() -> None:
    """Without a server, whose connections are bounded before (`tests/bot/chat/test_web_server.py`)."""
    hooks = hooks_of(plain='preset = "json"\nchannel = "discord:1"\nper_minute = 6000\n')
    async with httpx.AsyncClient(verify=NO_AUTHORITIES) as http, asyncio.timeout(PATIENCE_S):
        opened, hook = Door(http, FakeClock()), hooks["plain"]
        receiver = Receiver(hooks, opened, opened.clock, opened)  # pyright: ignore[reportArgumentType] -- as above
        statuses = list[int]()

        async def receive() -> Message:
            await asyncio.sleep(0)
            return {"type": "http.request", "body": BODY}

        async def send(message: Message) -> None:
            statuses.extend([message["status"]] if "status" in message else [])

        async def deliver(number: int) -> None:
            signed = sign(hook.scheme, hook.revealed[0], BODY, opened.clock.now(), str(number))
            named = signed | {"content-length": str(len(BODY))}
            headers = [(name.encode(), value.encode()) for name, value in named.items()]
            scope = {"type": "http", "method": "POST", "path": f"{PATH}/plain", "headers": headers}
            await receiver(scope, receive, send)

        await asyncio.gather(*map(deliver, range(1_000)))
        assert statuses == [202] * 1_000
        assert len(opened.stored) == 1_000


async def test_a_flood_is_stored_in_few_transactions_and_each_sender_learns_of_its_own_event() -> None:
    async with door(hooks_of(flooded='preset = "json"\nchannel = "discord:1"\nper_minute = 500\n')) as opened:
        hook = hooks_of(flooded='preset = "json"\nchannel = "discord:1"\n')["flooded"]

        async def send(number: int) -> int:
            body = b'{"text": "%d"}' % number
            signed = sign(hook.scheme, hook.revealed[0], body, opened.clock.now(), f"{number}")
            return (await opened.http.post(f"{PATH}/flooded", content=body, headers=signed)).status_code

        assert [*await asyncio.gather(*map(send, range(120)))] == [202] * 120
        assert len({event.text for event, _ in opened.stored}) == 120
        assert len(opened.batches) < 60
        assert max(opened.batches) <= BATCH
        opened.is_broken = True
        assert {*await asyncio.gather(*(send(number) for number in range(200, 220)))} == {503}
        opened.is_broken = False
        assert await send(200) == 202
