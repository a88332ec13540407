"""Only recent requests that Slack signed are read; any other gets no reason for its refusal."""

import asyncio
import json
from collections.abc import AsyncGenerator, Callable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import TypeAlias

import pytest
from aiohttp import ClientConnectionError, ClientSession
from slack_bolt.app.async_app import AsyncApp

from agent.messages import JsonObject
from benchmarks.skipping_loop import run_skipping
from bot.chat.listen_errors import PortInUse
from bot.platforms.slack.api import SlackDown
from bot.platforms.slack.http_events import (
    BODY_BYTES,
    EVENTS_PATH,
    HEALTH_PATH,
    MAX_CONNECTIONS,
    MAX_READS,
    UNSIGNED,
    EventsEndpoint,
    EventsListener,
    ServedWorkspace,
    select_workspace,
    starting,
)
from bot.platforms.slack.options import SlackApp
from bot.platforms.slack.run import serve
from bot.settings.secret import Secret
from tests.fakes.fast_clock import FastClock
from tests.fakes.recording_host import recording_host
from tests.fakes.slack import FakeSlack
from tests.fakes.slack_bot import app_of, http_events, serving, settings
from tests.fakes.slack_things import APP, APP_TOKEN, SIGNING_SECRET
from tests.patience import PATIENCE_S

pytestmark = pytest.mark.slow

BODY = json.dumps({"type": "url_verification", "challenge": "3eZbrw1a", "token": "old"}).encode()
Headers: TypeAlias = dict[str, str]


@pytest.fixture
async def slack() -> AsyncGenerator[FakeSlack, None]:
    async with FakeSlack(FastClock(), over_http=True) as fake:
        fake.state.user("ann")
        fake.state.channel("ann", "im")
        yield fake


async def test_slacks_question_whose_address_this_is_gets_its_challenge_back(slack: FakeSlack) -> None:
    async with serving(slack, recording_host()):
        status, said = await slack.posts.post(BODY, slack.posts.signed(BODY))
    assert (status, json.loads(said)) == (200, {"challenge": "3eZbrw1a"})


async def test_who_asks_while_the_process_starts_is_told_so_and_slack_to_send_it_again(slack: FakeSlack) -> None:
    delivery = http_events()
    here = f"http://{delivery.host}:{delivery.port}"
    async with ClientSession() as session:
        async with starting(delivery):
            async with session.get(f"{here}{HEALTH_PATH}") as health:
                assert (health.status, await health.text()) == (503, "starting")
            async with session.post(f"{here}{EVENTS_PATH}", data=BODY, headers=slack.posts.signed(BODY)) as event:
                assert event.status == 503
        with pytest.raises(ClientConnectionError):  # the address is free for the process that serves
            await session.get(f"{here}{HEALTH_PATH}")


async def test_connections_that_are_kept_open_while_the_process_starts_take_no_files_and_keep_nobody_out() -> None:
    at = http_events()
    async with asyncio.timeout(PATIENCE_S), starting(at):
        opened = [await asyncio.open_connection(at.host, at.port) for _ in range(MAX_CONNECTIONS)]
        opened[1][1].write(b"POST /slack/events HTTP/1.1\r\nX-")
        more = [await asyncio.open_connection(at.host, at.port) for _ in range(3)]
        assert [await reader.read() for reader, _ in opened[:2]] == [b"", b""], "the oldest are closed"
        reader, writer = more[-1]
        writer.write(b"GET /health HTTP/1.1\r\nHost: bot\r\n\r\n" * 3)
        answer = await reader.read()
        for _, writer in [*opened, *more]:
            writer.close()
    assert answer.startswith(b"HTTP/1.1 503")
    assert answer.count(b"HTTP/1.1") == 1, "the connection is closed after its first answer"


async def test_an_address_that_is_taken_stops_no_start_before_its_reason_is_told() -> None:
    delivery = http_events()
    async with starting(delivery), starting(delivery):
        pass


def stale(slack: FakeSlack, minutes: float) -> Headers:
    """Return headers with Slack's signature of another time."""
    now = slack.posts.clock
    slack.posts.clock = FastClock(slack.clock.now() + timedelta(minutes=minutes))
    headers = slack.posts.signed(BODY)
    slack.posts.clock = now
    return headers


FORGED: dict[str, Callable[[FakeSlack], Headers]] = {
    "with another secret": lambda slack: slack.posts.signed(BODY, secret="00000000000000000000000000000000"),
    "for another body": lambda slack: slack.posts.signed(BODY + b" "),
    "without a signature": lambda slack: without(slack, "X-Slack-Signature"),
    "without a time": lambda slack: without(slack, "X-Slack-Request-Timestamp"),
    "at no time": lambda slack: slack.posts.signed(BODY) | {"X-Slack-Request-Timestamp": "noon"},
    "at a time that is too large": lambda slack: slack.posts.signed(BODY) | {"X-Slack-Request-Timestamp": "9" * 500},
    "in another version": lambda slack: slack.posts.signed(BODY) | {"X-Slack-Signature": "v1=0"},
    "in letters that no signature has": lambda slack: slack.posts.signed(BODY) | {"X-Slack-Signature": "v0=é"},
    "more than five minutes ago": lambda slack: stale(slack, -5.1),
    "more than five minutes ahead": lambda slack: stale(slack, 6),
}


def without(slack: FakeSlack, name: str) -> Headers:
    return {key: value for key, value in slack.posts.signed(BODY).items() if key != name}


@pytest.mark.parametrize("how", FORGED)
async def test_what_is_not_slacks_is_refused_without_a_word(slack: FakeSlack, how: str) -> None:
    host = recording_host()
    async with serving(slack, host):
        status, said = await slack.posts.post(BODY, FORGED[how](slack))
    assert (status, said) == (401, b"")


async def test_a_wrong_secret_stands_in_the_log_once_a_minute_and_what_is_not_signed_at_all_does_not(
    slack: FakeSlack, caplog: pytest.LogCaptureFixture
) -> None:
    forged = {**slack.posts.signed(BODY), "X-Slack-Signature": "v0=" + "0" * 64}
    async with serving(slack, recording_host()):
        for headers in (without(slack, "X-Slack-Signature"), forged, forged):
            await slack.posts.post(BODY, headers)
    assert [one.getMessage() for one in caplog.records if one.levelname == "WARNING"] == [
        UNSIGNED % "SLACK_SIGNING_SECRET"
    ]


async def test_bytes_that_are_no_text_are_refused(slack: FakeSlack) -> None:
    async with serving(slack, recording_host()):
        status, said = await slack.posts.post(b"\xff\xfe", slack.posts.signed(BODY))
    assert (status, said) == (401, b"")


async def test_what_says_that_it_is_compressed_is_not_unpacked(
    slack: FakeSlack, caplog: pytest.LogCaptureFixture
) -> None:
    async with serving(slack, recording_host()):
        headers = slack.posts.signed(BODY + b" ") | {"Content-Encoding": "gzip"}
        status, said = await slack.posts.post(BODY, headers)
    assert (status, said) == (401, b"")
    assert not [record for record in caplog.records if record.exc_info]


async def test_a_body_that_breaks_off_is_no_line_in_the_log(slack: FakeSlack, caplog: pytest.LogCaptureFixture) -> None:
    at = http_events()
    async with serving(slack, recording_host(), delivery=at):
        _, writer = await asyncio.open_connection(at.host, at.port)
        writer.write(b"POST /slack/events HTTP/1.1\r\nHost: bot\r\nContent-Length: 100\r\n\r\n{")
        await writer.drain()
        writer.close()
        await writer.wait_closed()
        assert await slack.posts.healthy(at.port)
    assert not [record for record in caplog.records if record.exc_info]


@pytest.mark.parametrize("sent", [b"", b"POST /slack/events HTTP/1.1\r\nX-"])
async def test_a_connection_on_which_no_request_comes_is_closed(slack: FakeSlack, sent: bytes) -> None:
    at = replace(http_events(), idle_s=0.1)
    async with serving(slack, recording_host(), delivery=at), asyncio.timeout(PATIENCE_S):
        reader, writer = await asyncio.open_connection(at.host, at.port)
        writer.write(sent)
        assert await reader.read() == b""
        writer.close()


@pytest.mark.parametrize("body", [b"not json", b"{"])
async def test_what_slack_would_never_send_is_refused_though_it_is_signed(slack: FakeSlack, body: bytes) -> None:
    async with serving(slack, recording_host()):
        status, said = await slack.posts.post(body, slack.posts.signed(body))
    assert (status, said) == (400, b"")


async def test_a_repeated_request_of_four_minutes_ago_is_still_taken(slack: FakeSlack) -> None:
    async with serving(slack, recording_host()):
        status, _ = await slack.posts.post(BODY, stale(slack, -4))
    assert status == 200


async def test_a_body_beyond_the_limit_is_not_read(slack: FakeSlack) -> None:
    async with serving(slack, recording_host()):
        body = b" " * (BODY_BYTES + 1)
        status, _ = await slack.posts.post(body, slack.posts.signed(body))
    assert status == 413


async def test_slacks_check_of_the_certificate_is_answered(slack: FakeSlack) -> None:
    body = b"ssl_check=1&token=old"
    async with serving(slack, recording_host()):
        headers = slack.posts.signed(body, "application/x-www-form-urlencoded")
        status, _ = await slack.posts.post(body, headers)
    assert status == 200


@pytest.mark.parametrize(("path", "status"), [("/health", 200), ("/slack/events", 405), ("/", 404), ("/.env", 404)])
async def test_there_is_nothing_to_get_but_health(slack: FakeSlack, path: str, status: int) -> None:
    at = http_events()
    async with (
        serving(slack, recording_host(), delivery=at),
        ClientSession() as session,
        session.get(f"http://127.0.0.1:{at.port}{path}") as response,
    ):
        assert response.status == status


async def test_two_processes_behind_a_balancer_take_turns_and_know_the_same(slack: FakeSlack) -> None:
    one = recording_host()
    two = recording_host(one.store)
    async with serving(slack, one), serving(slack, two):
        for number in range(4):
            await slack.say("U0ANN", "D0ANN", f"{number}?")
            await slack.settled()
        assert len({attempt.port for attempt in slack.posts.attempts}) == 2
    assert [taken.text for taken in one.taken] == ["0?", "1?", "2?", "3?"]


async def test_an_address_that_is_taken_is_one_sentence_that_names_the_setting(slack: FakeSlack) -> None:
    first = http_events()
    async with serving(slack, recording_host(), delivery=first):
        with pytest.raises(PortInUse, match=rf"^COGENCY_SLACK_HTTP: port {first.port} on 127.0.0.1 is already in use"):
            await serve(recording_host(), app_of(slack, delivery=first), settings(slack), slack.clock)


async def test_no_app_token_is_needed_and_none_is_used(slack: FakeSlack) -> None:
    async with serving(slack, recording_host()):
        await slack.say("U0ANN", "D0ANN", "hello")
        await slack.settled()
    assert slack.opened == 0
    assert not slack.state.called("apps.connections.open")
    assert APP_TOKEN not in {call.token for call in slack.state.calls}


async def test_the_signing_secret_is_not_shown() -> None:
    assert SIGNING_SECRET not in repr(http_events())
    assert repr(Secret(SIGNING_SECRET)) == "Secret(…)"


@pytest.mark.parametrize("signature", ["", "X-Slack-Signature: v0=0\r\nX-Slack-Request-Timestamp: 1\r\n"])
async def test_what_cannot_be_signed_is_refused_before_its_body_is_read(slack: FakeSlack, signature: str) -> None:
    at = http_events()
    async with serving(slack, recording_host(), delivery=at), asyncio.timeout(PATIENCE_S):
        reader, writer = await asyncio.open_connection(at.host, at.port)
        writer.write(f"POST /slack/events HTTP/1.1\r\nHost: bot\r\n{signature}Content-Length: 99999\r\n\r\n".encode())
        assert (await reader.readline()).startswith(b"HTTP/1.1 401")
        writer.close()


@pytest.mark.parametrize("how", ["without a signature", "with another secret"])
async def test_a_flood_of_others_requests_keeps_none_of_slacks_out(slack: FakeSlack, how: str) -> None:
    async with serving(slack, recording_host(), FastClock(speed=0.001)):
        forged = FORGED[how](slack)
        refused = {(await slack.posts.post(BODY, forged))[0] for _ in range(120)}
        status, _ = await slack.posts.post(BODY, slack.posts.signed(BODY))
    assert (refused, status) == ({401}, 200)


async def test_bodies_that_never_come_keep_none_of_slacks_out(
    slack: FakeSlack, caplog: pytest.LogCaptureFixture
) -> None:
    at = http_events()
    async with serving(slack, recording_host(), delivery=at), asyncio.timeout(PATIENCE_S):
        fields = "".join(f"{name}: {held}\r\n" for name, held in slack.posts.signed(BODY).items())
        head = f"POST /slack/events HTTP/1.1\r\nHost: bot\r\n{fields}Content-Length: 100\r\n\r\n{{"
        opened = [await asyncio.open_connection(at.host, at.port) for _ in range(MAX_READS)]
        for _, writer in opened:
            writer.write(head.encode())
            await writer.drain()
        late, writer = await asyncio.open_connection(at.host, at.port)
        writer.write(head.encode())
        await writer.drain()
        assert (await opened[0][0].readline()).split()[1] == b"408", "the one that was awaited for longest is given up"
        status, _ = await slack.posts.post(BODY, slack.posts.signed(BODY))
        for _, one in [*opened, (late, writer)]:
            one.close()
    assert status == 200
    assert len([line for line in caplog.messages if "are dropped" in line]) == 1


def test_two_hundred_signed_requests_at_once_are_all_taken() -> None:
    """All of them are being read, and their bodies arrive then. Waits are skipped: it counts how many, not how fast."""

    async def run() -> set[bytes]:
        at = http_events()
        async with (
            FakeSlack(FastClock(speed=1.0), over_http=True) as slack,
            serving(slack, recording_host(), delivery=at),
        ):
            fields = "".join(f"{name}: {held}\r\n" for name, held in slack.posts.signed(BODY).items())
            expects = f"Expect: 100-continue\r\nContent-Length: {len(BODY)}\r\n\r\n"
            opened = [await asyncio.open_connection(at.host, at.port) for _ in range(200)]
            for _, writer in opened:
                writer.write(f"POST /slack/events HTTP/1.1\r\nHost: bot\r\n{fields}{expects}".encode())
            for reader, _ in opened:
                assert await reader.readuntil(b"\r\n\r\n") == b"HTTP/1.1 100 Continue\r\n\r\n"
            for _, writer in opened:
                writer.write(BODY)
            statuses = {(await reader.readline()).split()[1] for reader, _ in opened}
            for _, writer in opened:
                writer.close()
            return statuses

    assert run_skipping(run(), lambda: 0.0) == {b"200"}


async def test_connections_on_which_nothing_comes_take_no_files_from_others(
    slack: FakeSlack, caplog: pytest.LogCaptureFixture
) -> None:
    at = http_events()
    async with serving(slack, recording_host(), delivery=at), asyncio.timeout(PATIENCE_S):
        opened = [await asyncio.open_connection(at.host, at.port) for _ in range(MAX_CONNECTIONS)]
        opened[1][1].write(b"POST /slack/events HTTP/1.1\r\nX-")
        more = [await asyncio.open_connection(at.host, at.port) for _ in range(3)]
        assert [await reader.read() for reader, _ in opened[:2]] == [b"", b""], "the oldest are closed"
        status, _ = await slack.posts.post(BODY, slack.posts.signed(BODY))
        for _, writer in [*opened, *more]:
            writer.close()
    assert status == 200
    assert len([line for line in caplog.messages if "the oldest are closed" in line]) == 1


@pytest.mark.parametrize("body", [b"[1]", b'"hello"', b"null", b"1", b"{", b"", b"payload=%5B1%5D", b"payload=x"])
async def test_what_slack_signed_and_is_no_object_is_a_bad_request(
    slack: FakeSlack, body: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    form = {"Content-Type": "application/x-www-form-urlencoded"} if body.startswith(b"payload") else {}
    async with serving(slack, recording_host()):
        status, _ = await slack.posts.post(body, slack.posts.signed(body) | form)
    assert status == 400
    assert not [record for record in caplog.records if record.exc_info]


async def test_garbage_is_one_line_in_the_log_a_minute(slack: FakeSlack, caplog: pytest.LogCaptureFixture) -> None:
    at = http_events()
    async with serving(slack, recording_host(), FastClock(speed=0.001), delivery=at), asyncio.timeout(PATIENCE_S):
        for garbage in [
            b"\x16\x03\x01 hello\r\n\r\n",
            b"GET / HTTP/9\r\n\r\n",
            b"POST /\x00 HTTP/1.1\r\nA\r\n\r\n",
        ] * 5:
            reader, writer = await asyncio.open_connection(at.host, at.port)
            writer.write(garbage)
            await reader.read()
            writer.close()
    assert len([record for record in caplog.records if record.levelname in ("WARNING", "ERROR")]) == 1
    assert not [record for record in caplog.records if record.exc_info]


async def test_events_that_slack_left_out_are_a_line_in_the_log_and_are_read_from_the_history(
    slack: FakeSlack, caplog: pytest.LogCaptureFixture
) -> None:
    host = recording_host()
    async with serving(slack, host):
        await slack.say("U0ANN", "D0ANN", "hello")
        await slack.settled()
        slack.state.write("U0ANN", "D0ANN", "and this?")
        minute = int(slack.clock.now().timestamp()) // 60 * 60
        limited = json.dumps({"type": "app_rate_limited", "minute_rate_limited": minute, "team_id": "T0TEAM"}).encode()
        status, _ = await slack.posts.post(limited, slack.posts.signed(limited))
        await slack.until(lambda: len(host.taken) == 2)
    assert status == 200
    assert "30,000 events per hour" in caplog.text


async def test_a_command_that_is_none_of_the_bots_is_logged_and_answered(
    slack: FakeSlack, caplog: pytest.LogCaptureFixture
) -> None:
    async with serving(slack, recording_host()):
        await slack.command("U0ANN", "D0ANN", "/aks", "hello?")
        await slack.until(lambda: slack.state.ephemerals)
    assert "`/ask`" in slack.state.ephemerals[0].text
    assert "command /aks" in caplog.text


OURS = ServedWorkspace("T1", "U1BOT", "E1")
THEIRS = ServedWorkspace("T2", "U2BOT")
SISTER = ServedWorkspace("T3", "U3BOT", "E1")
ANY = ServedWorkspace("T0", "U0BOT", takes_others=True)


def delivered(text: str, team: str = "T1", **body: object) -> dict[str, object]:
    """An event of a message, delivered for a workspace."""
    event = {"type": "message", "text": text}
    return {"event": event, "team_id": team, "authorizations": [{"team_id": team}], **body}


@pytest.mark.parametrize(
    ("body", "workspace"),
    [
        (delivered("hello"), OURS),
        (delivered("<@U1BOT> hello"), OURS),
        (delivered("<@U2BOT> hello"), OURS),  # written by hand: their bot is not in this channel
        (delivered("hello", item_user="U2BOT"), OURS),
        (delivered("<@U2BOT> hello", is_ext_shared_channel=True), THEIRS),
        (delivered("<@U9> and <@U2BOT> hello", is_ext_shared_channel=True), THEIRS),
        (delivered("<@U3BOT> hello"), OURS),
        (delivered("<@U3BOT> hello", enterprise_id="E1"), SISTER),
        (delivered("<@U2BOT> hello", enterprise_id="E1"), OURS),
        (delivered("<@U2BOT> hello", is_ext_shared_channel="yes"), OURS),
        (delivered("<@U2BOT> hello", "T9"), ANY),
        (delivered("hello", "T9"), ANY),
        ({"team": {"id": "T2"}}, THEIRS),
        ({}, ANY),
    ],
)
def test_a_request_is_for_the_workspace_that_was_delivered_for_unless_a_channel_is_shared(
    body: dict[str, object], workspace: ServedWorkspace
) -> None:
    assert select_workspace([OURS, THEIRS, SISTER, ANY], body) is workspace


@dataclass
class Heard:
    """Implements `ConnectionListener`."""

    def connected(self) -> None: ...
    def connection_lost(self, why: str) -> None: ...
    def gap(self, since: datetime) -> None: ...


@pytest.mark.parametrize(
    "about", [{"is_ext_shared_channel": True}, {"enterprise_id": "E1"}], ids=["shared", "organisation"]
)
@pytest.mark.parametrize(
    ("channel", "status", "taken_by"),
    [("C0BOTH", 200, ["T2"]), ("C0MINE", 200, ["T1"]), ("C0UNKNOWN", 503, [])],
)
async def test_a_mention_in_a_shared_channel_leads_only_to_a_workspace_that_has_this_channel(
    slack: FakeSlack, channel: str, status: int, taken_by: list[str], about: dict[str, object]
) -> None:
    """Workspaces of one organisation may share a channel, but need not."""
    delivery, listener, taken = http_events(), EventsListener(slack.clock), list[str]()

    async def reads(asked: str) -> bool:
        if asked == "C0UNKNOWN":
            raise SlackDown("not now")
        return asked == "C0BOTH"

    def endpoint(serves: ServedWorkspace) -> EventsEndpoint:
        async def take(_: JsonObject) -> bool:
            taken.append(serves.team)
            return True

        bolt = AsyncApp(token="xoxb-1", signing_secret=SIGNING_SECRET)
        app = SlackApp(Secret("xoxb-1"), delivery, app_id=APP)
        return EventsEndpoint(take, bolt, app, serves, delivery, slack.clock, Heard(), listener, reads)

    apps = [endpoint(replace(THEIRS, enterprise="E1")), endpoint(OURS)]
    try:
        for app in apps:
            await app.open()
        slack.posts.ports.append(delivery.port)
        event = {"type": "message", "text": "<@U2BOT> hello", "channel": channel}
        sent = delivered("", type="event_callback", api_app_id=APP) | about | {"event": event}
        body = json.dumps(sent).encode()
        assert (await slack.posts.post(body, slack.posts.signed(body)))[0] == status
    finally:
        for app in apps:
            await app.close()
    assert taken == taken_by


def test_a_request_of_a_workspace_that_is_not_served_leads_nowhere() -> None:
    assert select_workspace([OURS, THEIRS], delivered("<@U1BOT> hello", "T9")) is None
    assert select_workspace([OURS, THEIRS], {}) is None
