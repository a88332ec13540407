"""`/mcp` on the public server: the official SDK's client, and requests that nobody should answer."""

import asyncio
import json
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import httpx2
import pytest
from mcp import Client
from mcp.client.context import ClientRequestContext
from mcp.client.session import ElicitationFnT
from mcp.client.streamable_http import streamable_http_client
from mcp_types import CallToolResult, ElicitRequestParams, ElicitResult, ErrorData, TextContent
from starlette.types import Message

from agent.errors import StoreUnavailable
from agent.memory.audience import PersonAudience, TeamAudience
from agent.ports.api_tokens import ApiToken, NewApiToken, TokenScope
from bot.api.mcp_server import texts
from bot.api.mcp_server.http import MAX_BODY_BYTES, MAX_REQUESTS, HttpClients, McpHttp
from bot.api.mcp_server.server import mcp_server
from bot.api.mcp_server.service import PersonalTools
from bot.chat.http_routes import MAX_BRACKETS, HttpRoutes, PublicSite
from bot.chat.telemetry import RequestHandled, TelemetryEvent
from bot.chat.web_server import serving
from tests.fakes.clock import NOON, FakeClock
from tests.fakes.mcp_users import ANNA, BEN, FakeMcpUser, personal_tools
from tests.fakes.no_authorities import NO_AUTHORITIES
from tests.fakes.store import StoreInMemory, store_in_memory
from tests.patience import PATIENCE_S

ADDRESS = "https://bot.example.com"
ALL = frozenset(TokenScope)
LIST = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
HEADERS = {
    "authorization": "Bearer anna",
    "accept": "application/json, text/event-stream",
    "content-type": "application/json",
}


def token(id_: int, person: str, scopes: frozenset[TokenScope] = ALL) -> ApiToken:
    new = NewApiToken("hash", "editor", person, PersonAudience(person), "slack:T1", "", scopes, NOON, None)
    return ApiToken(id_, new)


@dataclass
class FakeTokens:
    """Implements `TokenClients`: tokens by their secrets."""

    store: StoreInMemory
    tokens: dict[str, ApiToken]
    users: dict[str, FakeMcpUser]
    is_down: bool = False

    async def authenticate(self, secret: str) -> ApiToken | None:
        if self.is_down:
            raise StoreUnavailable("down")
        return self.tokens.get(secret)

    def open(self, token: ApiToken) -> PersonalTools:
        return personal_tools(self.store, self.users[token.owner])


@dataclass
class Events:
    """Implements `Telemetry`."""

    ends: asyncio.Queue[str] = field(default_factory=asyncio.Queue[str])

    def record(self, event: TelemetryEvent) -> None:
        if isinstance(event, RequestHandled):
            self.ends.put_nowait(event.end.value)


@dataclass
class Site:
    url: str
    tokens: FakeTokens
    events: Events

    @asynccontextmanager
    async def client(
        self, secret: str = "anna", mode: str = "auto", asks: ElicitationFnT | None = None
    ) -> AsyncGenerator[Client]:
        headers = {"authorization": f"Bearer {secret}"}
        async with httpx2.AsyncClient(headers=headers, timeout=PATIENCE_S, verify=NO_AUTHORITIES) as http:
            transport = streamable_http_client(f"{self.url}/mcp", http_client=http)
            async with Client(
                transport, mode=mode, elicitation_callback=asks, read_timeout_seconds=PATIENCE_S
            ) as client:
                yield client

    async def request(
        self, method: str = "POST", path: str = "/mcp", body: bytes = json.dumps(LIST).encode(), **headers: str
    ) -> httpx2.Response:
        """`headers`: by their names with underscores, "" to leave one out."""
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        given = {name: value for name, value in {**HEADERS, **named}.items() if value}
        async with httpx2.AsyncClient(timeout=PATIENCE_S, verify=NO_AUTHORITIES) as http:
            return await http.request(method, f"{self.url}{path}", content=body, headers=given)


@pytest.fixture
async def site() -> AsyncGenerator[Site]:
    clock = FakeClock(auto=False)
    users = {person.id: FakeMcpUser(clock, person) for person in (ANNA, BEN)}
    service = replace(token(9, ""), definition=replace(token(9, "").definition, audience=TeamAudience("slack:T1")))
    tokens = FakeTokens(
        store_in_memory(),
        {
            "anna": token(1, ANNA.id),
            "ben": token(2, BEN.id),
            "reads": token(3, ANNA.id, frozenset({TokenScope.RECALL})),
            "asks": token(4, ANNA.id, frozenset({TokenScope.ASK})),
            "nothing": token(5, ANNA.id, frozenset[TokenScope]()),
            "service": service,
        },
        users,
    )
    events = Events()
    app = McpHttp(mcp_server(HttpClients(tokens), "1.0"), tokens, ADDRESS, clock, events)
    async with app.serving(), serving(PublicSite([HttpRoutes("/mcp", app)]), "127.0.0.1", 0) as url:
        yield Site(url, tokens, events)


async def called(client: Client, name: str, **arguments: str) -> str:
    return text_of(await client.call_tool(name, arguments))


def text_of(result: CallToolResult) -> str:
    return "\n".join(part.text for part in result.content if isinstance(part, TextContent))


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_clients_of_two_people_each_have_what_is_theirs(site: Site, mode: str) -> None:
    async with site.client("anna", mode) as anna, site.client("ben", mode) as ben:
        assert await called(anna, "remember", text="My boat is blue.") == "Remembered: My boat is blue."
        assert "> My boat is blue." in await called(anna, "recall", query="boat")
        assert "blue" not in await called(ben, "recall", query="boat")
        threads = (await anna.list_resources()).resources
        assert [thread.name for thread in threads] == ["memory", "My boat is blue."]
        assert [thread.name for thread in (await ben.list_resources()).resources] == ["memory"]
        with pytest.raises(Exception, match="no thread"):
            await ben.read_resource(threads[1].uri)
        confirmation = (await called(anna, "forget", what="about boat")).rpartition(" ")[2]
        assert await called(ben, "forget", confirmation=confirmation) == texts.FORGET_STALE
        assert "Forgotten" in await called(anna, "forget", confirmation=confirmation)
        assert await called(anna, "forget", confirmation=confirmation) == texts.FORGET_STALE


async def test_a_client_that_can_ask_its_person_erases_only_what_they_agree_to(site: Site) -> None:
    agrees, asked = False, list[str]()

    async def ask(context: ClientRequestContext, params: ElicitRequestParams) -> ElicitResult | ErrorData:  # noqa: ARG001 -- required by the SDK
        asked.append(params.message)
        return ElicitResult(action="accept", content={"confirm": agrees})

    async with site.client(asks=ask) as client:
        await called(client, "remember", text="My boat is blue.")
        assert await called(client, "forget", what="about boat") == texts.FORGET_NOTHING
        agrees = True
        assert "Forgotten" in await called(client, "forget", what="about boat")
    assert [("My boat is blue." in question) for question in asked] == [True, True]


@pytest.mark.parametrize(
    ("secret", "tools"), [("anna", "recall remember ask forget"), ("reads", "recall"), ("asks", "ask"), ("nothing", "")]
)
async def test_a_token_lists_and_calls_the_tools_of_its_scopes(site: Site, secret: str, tools: str) -> None:
    site.tokens.users[ANNA.id].answered.set()
    calls = {
        "recall": {"query": "x"},
        "remember": {"text": "I sail."},
        "ask": {"question": "x"},
        "forget": {"what": "today"},
    }
    async with site.client(secret) as client:
        assert [tool.name for tool in (await client.list_tools()).tools] == tools.split()
        for name, arguments in calls.items():
            said = await called(client, name, **arguments)
            assert (said == texts.UNKNOWN_TOOL.format(name=name)) == (name not in tools.split())


@pytest.mark.parametrize(
    ("status", "end", "request_"),
    [
        (401, "unsigned", {"authorization": ""}),
        (401, "unsigned", {"authorization": "Bearer mallory"}),
        (401, "unsigned", {"authorization": "Basic anna"}),
        (401, "unsigned", {"authorization": "anna"}),
        (403, "forbidden", {"authorization": "Bearer service"}),
        (403, "forbidden", {"origin": "https://evil.example"}),
        (403, "forbidden", {"origin": "null"}),
        (403, "forbidden", {"origin": "https://bot.example.com.evil.example"}),
        (403, "forbidden", {"host": "evil.example"}),
        (403, "forbidden", {"host": "127.0.0.1.evil.example"}),
        (403, "forbidden", {"host": "127.0.0.1@evil.example"}),
        (403, "forbidden", {"host": "[::1"}),
        (405, "invalid", {"method": "GET"}),
        (405, "invalid", {"method": "DELETE"}),
        (404, "invalid", {"path": "/mcp/sse"}),
        (415, "invalid", {"content_type": "text/plain"}),
        (415, "invalid", {"content_encoding": "gzip"}),
        (413, "too_large", {"body": b" " * (MAX_BODY_BYTES + 1)}),
        (400, "invalid", {"body": b"[" * 1_000}),
        (400, "invalid", {"body": b"[" + b"{}," * MAX_BRACKETS + b"0]"}),
    ],
)
async def test_what_nobody_should_answer_is_refused_with_a_sentence(
    site: Site, status: int, end: str, request_: Mapping[str, Any]
) -> None:
    response = await site.request(**request_)
    assert response.status_code == status
    assert response.json()["error"]["message"]
    assert response.headers["cache-control"] == "no-store"
    assert ("www-authenticate" in response.headers) == (status == 401)
    assert await site.events.ends.get() == end


@pytest.mark.parametrize("headers", [{}, {"origin": ADDRESS}, {"host": "bot.example.com"}, {"host": "localhost:8003"}])
async def test_requests_to_its_own_names_are_answered(site: Site, headers: dict[str, Any]) -> None:
    response = await site.request(**headers)
    assert response.status_code == 200
    assert "recall" in response.text
    assert await site.events.ends.get() == "accepted"


async def test_the_session_of_another_opens_nothing(site: Site) -> None:
    async with site.client("anna", "legacy") as anna:
        await called(anna, "remember", text="My boat is blue.")
    body = json.dumps(
        {
            "jsonrpc": "2.0",
            "id": 1,
            "method": "tools/call",
            "params": {"name": "recall", "arguments": {"query": "boat"}},
        }
    ).encode()
    for session in ("", "0" * 32, "anna"):
        response = await site.request(body=body, authorization="Bearer ben", mcp_session_id=session)
        assert "mcp-session-id" not in response.headers
        assert "blue" not in response.text


async def test_a_token_has_a_bounded_number_of_requests_at_a_time(site: Site) -> None:
    user = site.tokens.users[ANNA.id]
    body = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "tools/call",
        "params": {"name": "ask", "arguments": {"question": "x"}},
    }
    asking = [asyncio.create_task(site.request(body=json.dumps(body).encode())) for _ in range(8)]
    async with asyncio.timeout(PATIENCE_S):
        for _ in range(8):
            await user.changes.acquire()
    beyond = await asyncio.gather(*(site.request(body=json.dumps(body).encode()) for _ in range(2)))
    assert [texts.BUSY in response.text for response in beyond] == [True, True]
    assert (await site.request(authorization="Bearer ben")).status_code == 200
    user.answered.set()
    assert all("You asked: x" in response.text for response in await asyncio.gather(*asking))
    assert MAX_REQUESTS > 8


async def test_a_message_of_very_many_parts_is_refused_before_it_is_parsed(site: Site) -> None:
    response = await site.request(body=b"{}," * (MAX_BRACKETS + 1))
    assert "20,000" in response.json()["error"]["message"]


async def test_a_question_whose_client_goes_away_is_stopped(site: Site) -> None:
    user = site.tokens.users[ANNA.id]
    body = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "tools/call",
        "params": {"name": "ask", "arguments": {"question": "x"}},
    }
    asking = asyncio.create_task(site.request(body=json.dumps(body).encode()))
    async with asyncio.timeout(PATIENCE_S):
        await user.changes.acquire()
        asking.cancel()
        await user.changes.acquire()
    assert user.stopped == ["x"]


async def test_a_database_that_is_away_is_no_wrong_token(site: Site) -> None:
    site.tokens.is_down = True
    response = await site.request()
    assert (response.status_code, response.json()["error"]["message"]) == (503, texts.STORE_AWAY)


async def test_a_revoked_token_opens_nothing_any_more(site: Site) -> None:
    async with site.client("anna") as anna:
        assert (await anna.list_tools()).tools
        del site.tokens.tokens["anna"]
        with pytest.raises(Exception):  # noqa: B017, PT011 -- the SDK's, which differs by its version
            await anna.list_tools()
    assert (await site.request()).status_code == 401


@pytest.mark.parametrize("version", ["2025-11-25", "2026-07-28"])
async def test_a_client_that_reads_nothing_is_given_up(version: str) -> None:
    clock = FakeClock(auto=False)
    tokens = FakeTokens(store_in_memory(), {"anna": token(1, ANNA.id)}, {ANNA.id: FakeMcpUser(clock)})
    events = Events()
    app = McpHttp(mcp_server(HttpClients(tokens), "1.0"), tokens, ADDRESS, clock, events, send_s=0.01)
    headers = {**HEADERS, "host": "bot.example.com", "mcp-protocol-version": version, "mcp-method": "tools/list"}
    meta = {
        "io.modelcontextprotocol/protocolVersion": version,
        "io.modelcontextprotocol/clientInfo": {"name": "x", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    }
    body = json.dumps({**LIST, "params": {"_meta": meta}}).encode()
    scope = {
        "type": "http",
        "method": "POST",
        "path": "/mcp",
        "query_string": b"",
        "headers": [(name.encode(), value.encode()) for name, value in headers.items()],
    }
    received = iter([{"type": "http.request", "body": body, "more_body": False}])

    async def receive() -> Message:
        for message in received:
            return message
        await asyncio.Event().wait()
        return {"type": "http.disconnect"}

    async def send(_: Message) -> None:
        await asyncio.Event().wait()

    async with app.serving(), asyncio.timeout(PATIENCE_S):
        await app(scope, receive, send)
        assert await events.ends.get() == "too_slow"
