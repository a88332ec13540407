"""What somebody gets who attacks the operators' page through a socket of their own: nothing, and nobody waits."""

import asyncio
import re
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import urlsplit

import pytest

from agent.machine import CLOCK, new_secret
from bot.chat.web_server import HEAD_BYTES, serving
from bot.operators.pages.frame import AT_ONCE, MOST_CLIENTS, OperatorSite, TokenBuckets, hashed
from bot.operators.pages.last_hour import Recent
from bot.operators.pages.views import operator_views
from bot.operators.service import OperatorLinks
from store.engine import Store
from tests.fakes.operator_site import sources_of
from tests.fakes.store import store_in_memory
from tests.patience import PATIENCE_S

PAGES: Final = ("/", "/failures", "/tools", "/requests", "/audit", "/settings", "/audit?before=5")
FORM: Final = "Content-Type: application/x-www-form-urlencoded"
SAME: Final = "Sec-Fetch-Site: same-origin"
MANY: Final = 10_000


@dataclass(frozen=True, slots=True)
class Target:
    store: Store
    site: OperatorSite
    port: int

    @property
    def host(self) -> str:
        return f"Host: 127.0.0.1:{self.port}"

    async def cookie(self) -> str:
        """Of a session of its own."""
        session, now = new_secret(), CLOCK.now()
        link = urlsplit(await OperatorLinks(self.store.operator_sessions, CLOCK, new_secret, "").new()).path
        opened = await self.store.operator_sessions.open(
            hashed(link[-43:]), hashed(session), now, now.replace(year=9000)
        )
        assert opened
        return f"Cookie: cogency-operator={session}"

    async def send(self, head: str, *headers: str, body: str = "", client: str = "127.0.0.1") -> tuple[int, str]:
        """The status of the answer, 0 if there is none, and all of it."""
        lines = [head, *headers, *([f"Content-Length: {len(body)}"] if body else []), "Connection: close", "", body]
        return await self.raw("\r\n".join(lines).encode(), client)

    async def raw(self, sent: bytes, client: str = "127.0.0.1") -> tuple[int, str]:
        async with asyncio.timeout(PATIENCE_S):
            reader, writer = await asyncio.open_connection("127.0.0.1", self.port, local_addr=(client, 0))
            try:
                writer.write(sent)
                await writer.drain()
                answer = (await reader.read(-1)).decode(errors="replace")
            except ConnectionError:
                answer = ""
            finally:
                writer.close()
        found = re.match(r"HTTP/1\.1 (\d+)", answer)
        return int(found[1]) if found else 0, answer


@asynccontextmanager
async def target() -> AsyncGenerator[Target]:
    store = store_in_memory()
    sources = sources_of(store, CLOCK, Recent(CLOCK))
    site = OperatorSite(operator_views(sources), store.operator_sessions, CLOCK, new_secret, body_s=0.05)
    async with serving(site, "127.0.0.1", 0, head_s=0.3) as address:
        yield Target(store, site, int(address.rpartition(":")[2]))


async def test_without_a_session_or_with_one_that_has_ended_nothing_is_shown() -> None:
    async with target() as aim:
        ended = await aim.cookie()
        assert (await aim.send("GET / HTTP/1.1", aim.host, ended))[0] == 200
        assert await aim.store.operator_sessions.end_all() == 1
        others = [f"Cookie: cogency-operator={'A' * 43}", "Cookie: cogency-operator=", "Cookie: x=1", ended]
        for path in PAGES:
            for cookie in ("X-No: cookie", *others):
                status, said = await aim.send(f"GET {path} HTTP/1.1", aim.host, cookie)
                assert status == 403
                assert "You are not signed in" in said
                assert "<table" not in said


async def test_a_cookie_alone_changes_nothing() -> None:
    async with target() as aim:
        cookie = await aim.cookie()
        for headers in ((SAME,), ("Sec-Fetch-Site: cross-site",), ("Origin: http://evil.example",), ()):
            for body in ("", "csrf=", f"csrf={'0' * 64}", "csrf=%00", "all=1"):
                head = "POST /sign-out HTTP/1.1"
                status, _ = await aim.send(head, aim.host, cookie, FORM, *headers, body=body)
                assert status in {400, 403}
        assert (await aim.send("GET / HTTP/1.1", aim.host, cookie))[0] == 200


@pytest.mark.parametrize(
    "path",
    [
        "/static/../frame.py",
        "/static/..%2f..%2fframe.py",
        "/static/%2e%2e/%2e%2e/etc/passwd",
        "/../../../../etc/passwd",
        "//etc/passwd",
        "/templates/base.html",
        "/static/pages.css%00.html",
        "/audit/../../x",
        "http://evil.example/audit",
        "/\\..\\..\\windows\\win.ini",
    ],
)
async def test_no_path_leads_to_a_file(path: str) -> None:
    async with target() as aim:
        status, said = await aim.send(f"GET {path} HTTP/1.1", aim.host, await aim.cookie())
        assert status in {0, 400, 404}
        assert not re.search(r"root:|import |\{%", said)


@pytest.mark.parametrize(
    "host",
    [
        "Host: evil.example",
        "Host: 127.0.0.1@evil.example",
        "Host:",
        "X-Forwarded-Host: 127.0.0.1",
        "Host: localhost\r\nHost: evil.example",
    ],
)
async def test_a_name_that_is_made_to_mean_this_machine_gets_nothing(host: str) -> None:
    async with target() as aim:
        status, said = await aim.send("GET / HTTP/1.1", host, await aim.cookie())
        assert status in {400, 421}
        assert "<table" not in said
        assert (await aim.send("GET / HTTP/1.0", await aim.cookie()))[0] == 421


async def test_what_is_too_long_too_slow_or_no_http_is_hung_up_on() -> None:
    async with target() as aim:
        cookie = await aim.cookie()
        assert (await aim.send("GET / HTTP/1.1", aim.host, f"X-Long: {'a' * 50 * HEAD_BYTES}"))[0] in {0, 400, 431}
        assert (await aim.send(f"GET /?{'a' * 5_000} HTTP/1.1", aim.host, cookie))[0] == 404
        fields = "&".join(f"{number}=1" for number in range(500))
        assert (await aim.send(f"GET /audit?{fields[:900]} HTTP/1.1", aim.host, cookie))[0] == 404
        long = "csrf=" + "a" * 100_000
        assert (await aim.send("POST /sign-out HTTP/1.1", aim.host, cookie, FORM, SAME, body=long))[0] in {0, 400}
        head = f"POST /sign-out HTTP/1.1\r\n{aim.host}\r\n{cookie}\r\n{FORM}\r\n{SAME}\r\nContent-Length: 50\r\n\r\ncs"
        assert (await aim.raw(head.encode()))[0] in {0, 400}
        assert (await aim.raw(b"GET / HTTP/1.1\r\nHost: 127"))[1] == ""
        assert (await aim.raw(b"\x16\x03\x01\x02\x00\x01"))[0] in {0, 400}
        upgrade = ("Upgrade: websocket", "Connection: Upgrade", "Sec-WebSocket-Version: 13")
        key = "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ=="
        socket = "\r\n".join(["GET / HTTP/1.1", aim.host, cookie, *upgrade, key, "", ""])
        assert (await aim.raw(socket.encode()))[0] == 403
        assert (await aim.send("GET / HTTP/1.1", aim.host, cookie))[0] == 200


async def asked(site: OperatorSite, client: str) -> int:
    """As uvicorn asks, without a socket."""
    told = list[int]()

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: Any) -> None:
        if message["type"] == "http.response.start":
            told.append(message["status"])

    scope: Mapping[str, Any] = {
        "type": "http",
        "method": "GET",
        "path": "/",
        "query_string": b"",
        "headers": [(b"host", b"127.0.0.1")],
        "client": (client, 1),
        "scheme": "http",
    }
    await site(dict(scope), receive, send)
    return told[0]


async def test_ten_thousand_requests_of_one_client_cost_little_and_are_few_that_count() -> None:
    async with target() as aim:
        cookie, served, before = await aim.cookie(), list[int](), list[int]()

        async def flood() -> None:
            for number in range(MANY):
                served.append(await asked(aim.site, "127.0.0.1"))
                if number % 50 == 0:
                    await asyncio.sleep(0)

        flooding = asyncio.create_task(flood())
        while not flooding.done():
            status, _ = await aim.send("GET / HTTP/1.1", aim.host, cookie, client="127.0.0.2")
            before.append(len(served))
            assert status in {200, 429}  # it is a client that asks without a pause, too
        await flooding
        assert served.count(403) < MANY / 10
        assert served.count(403) + served.count(429) == MANY
        assert before[0] < MANY / 4  # somebody else is answered meanwhile


async def test_hundreds_of_connections_keep_nobody_out_for_long() -> None:
    async with target() as aim:
        cookie = await aim.cookie()
        flood = [asyncio.create_task(aim.send("GET / HTTP/1.1", aim.host, client="127.0.0.3")) for _ in range(300)]
        statuses = [status for status, _ in await asyncio.gather(*flood)]
        assert set(statuses) <= {0, 403, 429, 503}
        assert statuses.count(403) <= 2 * AT_ONCE
        assert (await aim.send("GET / HTTP/1.1", aim.host, cookie))[0] == 200


async def test_as_many_clients_as_there_are_addresses_take_no_more_room() -> None:
    buckets = TokenBuckets(CLOCK, 1.0, 1.0)
    for number in range(3 * MOST_CLIENTS):
        assert buckets.take(f"10.0.{number // 256}.{number % 256}")
    assert len(buckets) == MOST_CLIENTS
