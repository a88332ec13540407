"""Apps whose client id is the address of a document: what is fetched, from where, how often, and what it must say."""

import asyncio
import json
import ssl
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.api.mcp_server import oauth, texts
from bot.api.mcp_server.client_documents import FAILED_S, FETCHES_A_MINUTE, KNOWN_S, ClientDocuments
from bot.api.mcp_server.oauth import OAuthClient, OAuthError
from bot.chat.network.connections import GuardedConnections
from bot.chat.network.guard import Networks, WebGuard
from tests.fakes.clock import FakeClock
from tests.fakes.webhook_receiver import HANGS, WebhookReceiver, webhook_receiver
from tests.patience import PATIENCE_S

APP = "https://app.example/oauth/client.json"
BACK = "http://127.0.0.1:4000/back"
DOCUMENT: dict[str, Any] = {
    "client_id": APP,
    "client_name": "My Editor",
    "redirect_uris": [BACK, "https://app.example/back"],
    "grant_types": ["authorization_code", "refresh_token"],
    "token_endpoint_auth_method": "none",
}
EDITOR = OAuthClient(APP, "My Editor", (BACK, "https://app.example/back"), refreshes=True)
NAMES = {"app.example": "93.184.216.34", "inside.example": "10.0.0.7"}


def document(**changed: object) -> bytes:
    return json.dumps({name: value for name, value in {**DOCUMENT, **changed}.items() if value is not None}).encode()


def page(body: bytes, status: str = "200 OK", *headers: str) -> bytes:
    head = "\r\n".join([f"HTTP/1.1 {status}", f"Content-Length: {len(body)}", *headers, "", ""])
    return head.encode() + body


@dataclass
class Web:
    """The server of all names. `dialed`: the addresses that were connected to, and the names of their TLS."""

    server: WebhookReceiver
    clock: FakeClock = field(default_factory=lambda: FakeClock(auto=False))
    dialed: list[tuple[str, int, str | None]] = field(default_factory=list[tuple[str, int, str | None]])

    async def resolve(self, name: str, _: int) -> Sequence[str]:
        if name not in NAMES:
            raise OSError(name)
        return [NAMES[name]]

    async def dial(
        self, address: str, port: int, tls: ssl.SSLContext | None, name: str | None
    ) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        assert tls is not None
        self.dialed.append((address, port, name))
        return await asyncio.open_connection("127.0.0.1", self.server.port)

    def documents(self, seconds: float = PATIENCE_S) -> ClientDocuments:
        connections = GuardedConnections(WebGuard(Networks()), self.resolve, self.dial)
        return ClientDocuments(connections, "Test/1", self.clock, seconds)


@asynccontextmanager
async def web(answer: bytes = page(document())) -> AsyncGenerator[Web]:
    async with webhook_receiver() as server:
        server.answer = lambda _: answer
        yield Web(server)


async def test_an_app_is_known_by_its_document_which_is_fetched_once_an_hour() -> None:
    async with web() as there:
        documents = there.documents()
        assert await asyncio.gather(*(documents.client(APP) for _ in range(3))) == [EDITOR] * 3
        await there.clock.advance(KNOWN_S - 1)
        assert await documents.client(APP) == EDITOR
        assert there.dialed == [("93.184.216.34", 443, "app.example")]
        assert there.server.got[0].path == "/oauth/client.json"
        await there.clock.advance(1)
        assert await documents.client(APP) == EDITOR
        assert len(there.dialed) == 2


@pytest.mark.parametrize(
    "address",
    [
        "https://app.example",
        "https://app.example/",
        "https://app.example/a/../b",
        "https://app.example/%2e%2e/b",
        "https://app.example/a#b",
        "https://ann@app.example/a",
        "https://app.example:8443/a",
        "https://APP.example/a",
        "https://app.example/a b",
        "https://app.example/\\a",
        f"https://app.example/{'a' * 500}",
        "https:///a",
        "https://[::1/a",
        "https://10.0.0.7/a",
        "https://127.0.0.1/a",
        "https://[::1]/a",
        "https://169.254.169.254/latest",
        "https://inside.example/a",
        "https://nowhere.example/a",
    ],
)
async def test_only_plain_addresses_of_the_public_web_are_fetched(address: str) -> None:
    async with web(page(document(client_id=address))) as there:
        with pytest.raises(OAuthError) as refused:
            await there.documents().client(address)
        assert refused.value.code == "invalid_client"
        assert there.dialed == []


@pytest.mark.parametrize(
    "answer",
    [
        page(document(client_id="https://app.example/other.json")),
        page(document(client_id=None)),
        page(document(client_id=f"{APP}/")),
        page(document(redirect_uris=None)),
        page(document(redirect_uris=[])),
        page(document(redirect_uris=["javascript:alert(1)", "http://evil.example/"])),
        page(document(redirect_uris=[BACK] * 51)),
        page(document(redirect_uris=[BACK, 7])),
        page(document(token_endpoint_auth_method="client_secret_basic")),
        page(document(token_endpoint_auth_method="private_key_jwt")),
        page(b"[]"),
        page(b"{" * 100_000),
        page(b'{"a":' * 50 + b"1" + b"}" * 50),
        page(document(client_uri="x" * oauth.MAX_DOCUMENT_BYTES)),
        page(document(), "404 Not Found"),
        page(b"", "302 Found", "Location: https://app.example/elsewhere"),
        page(document(), "200 OK", "Content-Encoding: gzip"),
        b"SSH-2.0-quetzal\r\n",
        b"HTTP/1.1 200 OK\r\nX: " + b"x" * 200_000,
        b"HTTP/1.1 103 Early Hints\r\n\r\n" * 20,
    ],
)
async def test_a_document_that_does_not_describe_its_app_is_refused_and_not_fetched_again_at_once(
    answer: bytes,
) -> None:
    async with web(answer) as there:
        documents = there.documents()
        for _ in range(2):
            with pytest.raises(OAuthError) as refused:
                await documents.client(APP)
            assert refused.value.code == "invalid_client"
            assert "quetzal" not in str(refused.value)
        assert len(there.dialed) == 1
        there.server.answer = lambda _: page(document())
        await there.clock.advance(FAILED_S)
        assert await documents.client(APP) == EDITOR


async def test_a_server_that_hangs_is_given_up() -> None:
    async with web(HANGS) as there:
        with pytest.raises(OAuthError, match="too long"):
            await there.documents(0.1).client(APP)


async def test_few_documents_are_fetched_in_a_minute_and_known_ones_are_still_served() -> None:
    async with web() as there:
        documents = there.documents()
        await documents.client(APP)
        for number in range(FETCHES_A_MINUTE - 1):
            with pytest.raises(OAuthError, match="client_id is this address"):
                await documents.client(f"{APP}?{number}")
        with pytest.raises(OAuthError) as refused:
            await documents.client(f"{APP}?more")
        assert (refused.value.code, str(refused.value)) == ("temporarily_unavailable", texts.TOO_MANY_DOCUMENTS)
        assert await documents.client(APP) == EDITOR
        await there.clock.advance(60)
        with pytest.raises(OAuthError, match="client_id is this address"):
            await documents.client(f"{APP}?more")


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
)


@given(st.dictionaries(st.sampled_from([*DOCUMENT]), JSON))
def test_whatever_a_document_holds_it_describes_an_app_of_its_own_address_or_is_refused(fields: dict[str, Any]) -> None:
    try:
        client = oauth.read_document(APP, json.dumps({**DOCUMENT, **fields}).encode())
    except OAuthError:
        return
    assert client.id == APP
    assert client.redirects
    assert client.name
    assert client.name.isprintable()


async def test_a_refusal_does_not_say_which_names_there_are_in_the_own_network() -> None:
    sentences = set[str]()
    async with web() as there:
        for host in ("inside.example", "nowhere.example", "10.0.0.7", "127.0.0.1"):
            with pytest.raises(OAuthError) as refused:
                await there.documents().client(f"https://{host}/a")
            sentences.add(str(refused.value))
    assert sentences == {texts.NO_DOCUMENT.format(why=texts.DOCUMENT_UNREACHABLE)}
