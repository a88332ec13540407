"""One POST through the guard: whatever a receiver does, it ends in time, bounded, with a reason without its words."""

from datetime import UTC, datetime, timedelta

import pytest

from bot.chat.network.connections import GuardedConnections, SystemResolver
from bot.chat.network.guard import WebGuard, WebRefused, parse_networks, parse_target
from bot.webhooks.outgoing import texts
from bot.webhooks.outgoing.sending import (
    MAX_HEAD_BYTES,
    NoLongerWanted,
    NotReceived,
    Received,
    SendResult,
    WebhookSender,
)
from tests.fakes.web_world import web_world
from tests.fakes.webhook_receiver import FAILED, GONE, HANGS, OK, WebhookReceiver, webhook_receiver
from tests.patience import PATIENCE_S

NOW = datetime(2026, 1, 5, 12, 0, tzinfo=UTC)
WORDS = "quetzal"


def sender_to(place: str, seconds: float = PATIENCE_S) -> WebhookSender:
    connections = GuardedConnections(WebGuard(parse_networks(place)), SystemResolver())
    return WebhookSender(connections, "Test/1", seconds)


async def sent(receiver: WebhookReceiver, *, allowed: str | None = None, seconds: float = PATIENCE_S) -> SendResult:
    sender = sender_to(receiver.place if allowed is None else allowed, seconds)
    target = parse_target(f"http://{receiver.place}/hooks?from=bot")
    return await sender.send(target, {"webhook-id": "evt_1"}, b'{"a":1}', NOW)


async def test_a_receiver_gets_the_body_with_its_headers_at_its_path() -> None:
    async with webhook_receiver() as receiver:
        assert await sent(receiver) == Received()
    (request,) = receiver.got
    assert (request.body, request.path) == (b'{"a":1}', "/hooks?from=bot")
    assert request.headers | {"host": ""} == {
        "host": "",
        "user-agent": "Test/1",
        "content-type": "application/json",
        "content-length": "7",
        "connection": "close",
        "webhook-id": "evt_1",
    }


def status(line: str, *headers: str) -> bytes:
    return "\r\n".join([f"HTTP/1.1 {line}", "Content-Length: 0", *headers, "", ""]).encode()


@pytest.mark.parametrize(
    ("response", "result"),
    [
        (OK, Received()),
        (status("200 OK"), Received()),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 1000000000\r\n\r\nquetzal", Received()),
        (GONE, NoLongerWanted()),
        (FAILED, NotReceived(texts.STATUS.format(status=500))),
        (status(f"404 {WORDS}", f"X-Why: {WORDS}"), NotReceived(texts.STATUS.format(status=404))),
        (
            status("429 Too Many", "Retry-After: 120"),
            NotReceived(texts.STATUS.format(status=429), timedelta(minutes=2)),
        ),
        (status("302 Found", "Location: http://127.0.0.1:1/"), NotReceived(texts.REDIRECT.format(status=302))),
        (status("308 Moved", "Location: /elsewhere"), NotReceived(texts.REDIRECT.format(status=308))),
        (b"SSH-2.0-quetzal\r\n", NotReceived(texts.NO_HTTP)),
        (b"HTTP/1.1 200 OK\r\nX: " + b"x" * (MAX_HEAD_BYTES + 100_000), NotReceived(texts.NO_HTTP)),
        (b"HTTP/1.1 103 Early Hints\r\n\r\n" * 20, NotReceived(texts.NO_HTTP)),
    ],
)
async def test_each_response_has_a_result_without_words_of_the_receiver(response: bytes, result: SendResult) -> None:
    async with webhook_receiver() as receiver:
        receiver.answer = lambda _: response
        assert await sent(receiver) == result
        assert len(receiver.got) == 1


async def test_a_receiver_that_hangs_or_is_not_there_fails_in_time() -> None:
    async with webhook_receiver() as receiver:
        receiver.answer = lambda _: HANGS
        assert await sent(receiver, seconds=0.2) == NotReceived(texts.TOO_LATE.format(seconds=0.2))
    assert await sent(receiver) == NotReceived("it could not be reached")


async def test_an_address_in_the_own_network_is_not_reached_unless_the_operator_allows_it() -> None:
    async with webhook_receiver() as receiver:
        result = await sent(receiver, allowed="")
        assert isinstance(result, NotReceived)
        assert "COGENCY_NETWORKS_ALLOWED" in result.reason
        assert receiver.got == []


async def test_a_name_that_leads_into_the_own_network_or_to_plain_http_is_refused_before_connecting() -> None:
    zone = {"inner.example": [["10.0.0.7"]], "turns.example": [["93.184.215.14"], ["10.0.0.7"]]}
    async with web_world({}, zone) as world:
        sender = WebhookSender(GuardedConnections(WebGuard(), world.resolve, world.dial), "Test/1", PATIENCE_S)
        inner = await sender.send(parse_target("https://inner.example/"), {}, b"", NOW)
        plain = await sender.send(parse_target("http://turns.example/"), {}, b"", NOW)
        turned = await sender.send(parse_target("https://turns.example/"), {}, b"", NOW)
        with pytest.raises(WebRefused):
            await sender.check(parse_target("https://turns.example/"))
        assert world.dialled == []
    assert isinstance(inner, NotReceived)
    assert plain == NotReceived(texts.PLAIN_HTTP)
    assert isinstance(turned, NotReceived)
