"""Credentials are asked when a request is sent, over HTTP and for the handshake of a WebSocket."""

import asyncio
import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from hashlib import sha256

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.errors import ProviderRefused, ProviderUnavailable
from agent.messages import Message, Role
from agent.ports.model import TokensArrived
from agent.providers.catalog import OPENAI, REALTIME
from agent.providers.credentials import (
    EARLY_S,
    FRESH_S,
    RETRY_S,
    CredentialsUnavailable,
    OutgoingRequest,
    Token,
    TokenCredentials,
    authorise,
)
from agent.providers.factory import ProviderWorld, open_chat, open_realtime, open_responses
from agent.providers.faults import Fault, FaultKind
from agent.providers.openai_services import HttpEmbedder
from tests.fakes.clock import FakeClock
from tests.fakes.model_server import DONE, ModelServer, head, text, whole
from tests.patience import PATIENCE_S

QUESTION = (Message(Role.USER, "Hello?"),)
ANSWER = [head(), text("Hi", finish_reason="stop"), DONE]
REQUEST = OutgoingRequest("GET", "https://example.com/")
UNANSWERED = "The sign-in does not respond. Check the network."
REFUSED = Fault(FaultKind.ANSWERED, 401)


@dataclass
class Source:
    """Gives "token-1", "token-2", …, valid for an hour. `failing` and `hanging` say what happens instead."""

    clock: FakeClock
    fetched: int = 0
    failing: bool = False
    gate: asyncio.Event = field(default_factory=asyncio.Event)

    async def fetch(self) -> Token:
        self.fetched += 1
        number = self.fetched
        await self.gate.wait()
        if self.failing:
            raise CredentialsUnavailable("Sign in with `az login`.")
        headers = {"authorization": f"Bearer token-{number}-secret"}
        return Token(headers, self.clock.now().timestamp() + 3600)


def tokens(*, open_gate: bool = True) -> tuple[FakeClock, Source, TokenCredentials]:
    clock = FakeClock(auto=False)
    source = Source(clock)
    if open_gate:
        source.gate.set()
    return clock, source, TokenCredentials(source.fetch, clock, UNANSWERED)


async def bearer(credentials: TokenCredentials) -> str:
    async with asyncio.timeout(PATIENCE_S):
        return (await credentials.headers(REQUEST))["authorization"].split("-")[1]


async def test_a_token_is_fetched_once_and_renewed_before_it_expires() -> None:
    clock, source, credentials = tokens()
    assert [await bearer(credentials), await bearer(credentials)] == ["1", "1"]
    await clock.advance(3600 - EARLY_S - 1)
    assert await bearer(credentials) == "1"
    await clock.advance(1)
    assert await bearer(credentials) == "2"
    assert source.fetched == 2


async def test_concurrent_requests_wait_for_one_fetch_which_outlives_a_cancelled_request() -> None:
    _, source, credentials = tokens(open_gate=False)
    waiting = [asyncio.create_task(bearer(credentials)) for _ in range(5)]
    while not source.fetched:  # noqa: ASYNC110 -- the source has no event for it
        await asyncio.sleep(0)
    waiting[0].cancel()
    source.gate.set()
    async with asyncio.timeout(PATIENCE_S):
        first, *others = await asyncio.gather(*waiting, return_exceptions=True)
    assert isinstance(first, asyncio.CancelledError)
    assert others == ["1"] * 4
    assert source.fetched == 1


async def test_a_token_is_used_until_it_expires_if_it_cannot_be_renewed() -> None:
    clock, source, credentials = tokens()
    await bearer(credentials)
    source.failing = True
    await clock.advance(3600 - EARLY_S)
    assert await bearer(credentials) == "1"
    assert await bearer(credentials) == "1"
    assert source.fetched == 2  # not again with each request
    await clock.advance(RETRY_S)
    assert await bearer(credentials) == "1"
    assert source.fetched == 3
    await clock.advance(EARLY_S)
    with pytest.raises(CredentialsUnavailable, match="az login"):
        await bearer(credentials)
    source.failing = False
    assert await bearer(credentials) == "5"


async def test_a_token_that_expires_soon_is_not_fetched_again_with_each_request() -> None:
    clock, fetched = FakeClock(auto=False), list[str]()

    async def fetch() -> Token:
        fetched.append("again")
        return Token({"authorization": "Bearer token-1-secret"}, 1_767_614_400.0 + 200)  # 200 s after the clock's start

    credentials = TokenCredentials(fetch, clock, UNANSWERED)
    for _ in range(3):
        assert await bearer(credentials) == "1"
    assert len(fetched) == 1
    await clock.advance(RETRY_S)
    assert await bearer(credentials) == "1"
    assert len(fetched) == 2


async def test_a_refused_token_is_replaced_unless_it_is_new() -> None:
    clock, _, credentials = tokens()
    sent = await credentials.headers(REQUEST)
    assert not credentials.refused(sent, REFUSED)
    await clock.advance(FRESH_S)
    assert not credentials.refused(sent, Fault(FaultKind.ANSWERED, 403))
    assert credentials.refused(sent, REFUSED)
    assert credentials.refused(sent, REFUSED)  # of a second request that was sent with the same token
    assert await bearer(credentials) == "2"
    assert credentials.refused(sent, REFUSED)
    assert not credentials.refused(await credentials.headers(REQUEST), REFUSED)


async def test_a_fetch_without_an_answer_ends() -> None:
    source = Source(FakeClock(auto=False))
    credentials = TokenCredentials(source.fetch, source.clock, UNANSWERED, timeout_s=0.01)
    with pytest.raises(CredentialsUnavailable, match="does not respond"):
        await bearer(credentials)
    source.gate.set()
    assert await bearer(credentials) == "2"


@given(st.text(alphabet="ab \n-", max_size=50))
async def test_no_text_keeps_a_token(around: str) -> None:
    _, _, credentials = tokens()
    header = (await credentials.headers(REQUEST))["authorization"]
    hidden = credentials.hide(f"{around}{header}{around}")
    assert "token-1-secret" not in hidden
    assert "token-1-secret" not in repr(credentials) + repr(Token({"authorization": header}, 0.0))


@dataclass
class Signer:
    """Signs each request with the `keys` in turn: the first that is not refused."""

    keys: list[str]
    statuses: frozenset[int] = frozenset({401, 429})

    async def headers(self, request: OutgoingRequest) -> Mapping[str, str]:
        if not self.keys:
            raise CredentialsUnavailable("No key is left. Add one.")
        return {"x-signature": signature(request.method, request.url, request.body), "x-key": self.keys[0]}

    def refused(self, sent: Mapping[str, str], fault: Fault) -> bool:
        if fault.status in self.statuses and sent["x-key"] in self.keys:
            self.keys.remove(sent["x-key"])
        return fault.status in self.statuses and bool(self.keys)

    def hide(self, text: str) -> str:
        return text.replace("key-1", "…")


def signature(method: str, url: str, body: bytes) -> str:
    return sha256(b" ".join((method.encode(), url.encode(), body))).hexdigest()


def world() -> ProviderWorld:
    return ProviderWorld(FakeClock(), lambda: 0.0)


async def test_a_request_is_signed_as_it_is_sent_and_again_with_the_next_key() -> None:
    replies = [whole(401, {"error": "bad key-1"}), whole(429, {"error": "slow down"}), ANSWER]
    async with asyncio.timeout(PATIENCE_S), ModelServer(replies) as server:
        provider = open_chat(OPENAI.at(server.url), "m-1", Signer(["key-1", "key-2", "key-3"]), world())
        events = [event async for event in provider.stream(QUESTION)]
        await provider.aclose()
        assert "".join(event.text for event in events if isinstance(event, TokensArrived)) == "Hi"
        assert [request.headers["x-key"] for request in server.requests] == ["key-1", "key-2", "key-3"]
        for request in server.requests:
            url = f"{server.url}/chat/completions"
            assert request.headers["x-signature"] == signature("POST", url, request.body)
            assert "authorization" not in request.headers


async def test_an_error_in_the_stream_before_the_answer_asks_for_other_credentials_too() -> None:
    limit = {"error": {"message": "busy", "code": 429}}
    replies = [[head(), b"data: " + json.dumps(limit).encode() + b"\n\n"], ANSWER]
    async with asyncio.timeout(PATIENCE_S), ModelServer(replies) as server:
        provider = open_chat(OPENAI.at(server.url), "m-1", Signer(["key-1", "key-2"]), world())
        assert [event async for event in provider.stream(QUESTION)]
        await provider.aclose()
        assert [request.headers["x-key"] for request in server.requests] == ["key-1", "key-2"]


async def test_the_last_refusal_is_an_error_without_the_key() -> None:
    async with (
        asyncio.timeout(PATIENCE_S),
        ModelServer([whole(400, {"error": {"message": "what is key-1"}})]) as server,
    ):
        provider = open_chat(OPENAI.at(server.url), "m-1", Signer(["key-1"]), world())
        with pytest.raises(ProviderRefused) as refused:
            await anext(provider.stream(QUESTION))
        await provider.aclose()
    assert refused.value.reason.quoted == "what is …"


async def test_credentials_that_accept_each_refusal_end_after_a_while() -> None:
    class Endless(Signer):
        def refused(self, sent: Mapping[str, str], fault: Fault) -> bool:
            return bool(sent and fault)

    replies = [whole(401, {"error": "no"})] * 40
    async with asyncio.timeout(PATIENCE_S), ModelServer(replies) as server:
        provider = open_chat(OPENAI.at(server.url), "m-1", Endless(["key-1"]), world())
        with pytest.raises(ProviderRefused):
            await anext(provider.stream(QUESTION))
        await provider.aclose()
        assert len(server.requests) < len(replies)


async def test_each_handshake_of_a_voice_model_is_signed() -> None:
    replies = [whole(401, {"error": "expired"}), whole(401, {"error": "unknown"})]
    async with asyncio.timeout(PATIENCE_S), ModelServer(replies) as server:
        endpoint = replace(REALTIME, base_url=server.url)
        provider = open_realtime(endpoint, "m-1", Signer(["key-1", "key-2"]), world())
        with pytest.raises(ProviderRefused):
            await anext(provider.stream(QUESTION))
        assert [request.headers["x-key"] for request in server.requests] == ["key-1", "key-2"]
        url = f"{server.url.replace('http', 'ws')}/realtime?model=m-1"
        assert [request.headers["x-signature"] for request in server.requests] == [signature("GET", url, b"")] * 2


async def test_the_handshake_of_responses_is_signed_and_so_is_the_request_that_replaces_it() -> None:
    replies = [whole(404, {}), whole(400, {"error": "no"})]
    async with asyncio.timeout(PATIENCE_S), ModelServer(replies) as server:
        provider = open_responses(OPENAI.at(server.url), "gpt-6.1-terra", Signer(["key-1"]), world())
        with pytest.raises(ProviderRefused):
            await anext(provider.stream(QUESTION))
        await provider.aclose()
        handshake, request = server.requests
        url = f"{server.url}/responses"
        assert handshake.headers["x-signature"] == signature("GET", url.replace("http", "ws"), b"")
        assert request.headers["x-signature"] == signature("POST", url, request.body)


async def test_without_credentials_nothing_is_sent_and_the_operator_reads_what_to_do() -> None:
    async with asyncio.timeout(PATIENCE_S), ModelServer([]) as server:
        for opened in (
            open_chat(OPENAI.at(server.url), "m-1", Signer([]), world()),
            open_responses(OPENAI.at(server.url), "gpt-6.1-terra", Signer([]), world()),
        ):
            with pytest.raises(ProviderUnavailable, match=r"^No key is left\. Add one\.$") as error:
                await anext(opened.stream(QUESTION))
            assert error.value.reason.to_person == "The model cannot answer right now. Please tell my operator."
            await opened.aclose()
        embedder = HttpEmbedder(OPENAI.at(server.url), "m-1", Signer([]))
        with pytest.raises(ProviderUnavailable, match="No key is left"):
            await embedder.embed(["Hello"])
        assert server.connections == 0


async def test_a_fixed_key_is_the_header_of_its_service() -> None:
    assert await authorise(OPENAI, "sk-1", REQUEST) == {"authorization": "Bearer sk-1"}
    assert await authorise(OPENAI, None, REQUEST) == {}
