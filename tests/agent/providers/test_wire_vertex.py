"""Vertex AI: our double is first asked by the vendors' own clients, then by ours."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import cast

import pytest
from anthropic.lib.vertex import AsyncAnthropicVertex
from google import genai
from google.genai import types
from google.oauth2.credentials import Credentials as GoogleCredentials

from agent.errors import ProviderError, ProviderRefused, ProviderUnavailable
from agent.messages import Depth, Message, ModelCall, NativeContent, Role, Usage
from agent.ports.model import CallOptions, ResponseEnded, StopReason, TokensArrived
from agent.providers.catalog import Endpoint, Mode, vertex_at
from agent.providers.credentials import Key, Token, TokenCredentials
from agent.providers.factory import ProviderWorld, open_provider
from agent.providers.wire_messages import MessagesDialect
from agent.spending import cost
from tests.contracts.model_world import Says
from tests.fakes.clock import FakeClock
from tests.fakes.http_world import HttpWorld
from tests.fakes.model_server import ModelServer, whole
from tests.fakes.vertex_service import (
    CLAUDE,
    GEMINI,
    KEY,
    LOCATION,
    NO_TOKEN,
    PROJECT,
    TOKEN,
    UNKNOWN,
    VertexClaudeWire,
    VertexGeminiWire,
    refusal,
    vertex_world,
)
from tests.patience import PATIENCE_S

QUESTION = (Message(Role.SYSTEM, "Be brief."), Message(Role.USER, "Hello?"))
HI = Says(("Hi", " there"))


@asynccontextmanager
async def project(wire: VertexGeminiWire | VertexClaudeWire) -> AsyncGenerator[tuple[HttpWorld, str], None]:
    async with asyncio.timeout(PATIENCE_S), vertex_world(wire) as double:
        double.plan(HI, HI)
        yield double, double.server.url.removesuffix("/v1")


def tokens(value: str = TOKEN) -> TokenCredentials:
    async def fetch() -> Token:
        return Token({"authorization": f"Bearer {value}"}, 4e9)

    return TokenCredentials(fetch, FakeClock(), "")


async def ours(endpoint: Endpoint, model: str, key: Key) -> str:
    provider = open_provider(endpoint, model, key, ProviderWorld(FakeClock(), lambda: 0.0), Mode.RESUME)
    try:
        events = [event async for event in provider.stream(QUESTION, CallOptions(Depth.DEEP))]
    finally:
        await provider.aclose()
    assert provider.name == f"vertex:{model}"
    assert isinstance(events[-1], ResponseEnded)
    assert events[-1].reason is StopReason.END
    assert events[-1].usage
    assert not events[-1].usage.estimated
    return "".join(event.text for event in events if isinstance(event, TokensArrived))


# Asked by the vendors' own clients


def theirs_of(client: genai.Client) -> str:
    with client:
        chunks = list(client.models.generate_content_stream(model=GEMINI, contents="Hello?"))
    assert chunks[-1].usage_metadata
    assert chunks[-1].usage_metadata.prompt_token_count == 100
    return "".join(chunk.text or "" for chunk in chunks)


async def test_googles_own_client_reads_our_double_and_so_does_ours() -> None:
    async with project(VertexGeminiWire()) as (double, address):
        client = genai.Client(
            vertexai=True,
            project=PROJECT,
            location=LOCATION,
            credentials=GoogleCredentials(TOKEN),
            http_options=types.HttpOptions(base_url=address),
        )
        assert await asyncio.to_thread(theirs_of, client) == "Hi there"
        assert await ours(vertex_at(PROJECT, LOCATION, address), GEMINI, tokens()) == "Hi there"
        theirs, our_own = double.server.requests
        assert theirs.path.partition("/projects/")[2] == our_own.path.partition("/projects/")[2]
        assert our_own.headers["authorization"] == theirs.headers["authorization"] == f"Bearer {TOKEN}"
        thinking = cast("dict[str, dict[str, object]]", our_own.json["generationConfig"])["thinkingConfig"]
        assert thinking == {"thinkingLevel": "HIGH"}


async def test_a_key_alone_is_express_mode() -> None:
    async with project(VertexGeminiWire(express=True)) as (double, address):
        client = genai.Client(vertexai=True, api_key=KEY, http_options=types.HttpOptions(base_url=address))
        assert await asyncio.to_thread(theirs_of, client) == "Hi there"
        assert await ours(vertex_at(address=address), GEMINI, KEY) == "Hi there"
        assert double.server.requests[1].path == f"/v1/publishers/google/models/{GEMINI}:streamGenerateContent?alt=sse"
        assert "authorization" not in double.server.requests[1].headers


async def test_anthropics_own_client_reads_our_double_and_so_does_ours() -> None:
    async with project(VertexClaudeWire()) as (double, address):
        async with AsyncAnthropicVertex(
            region=LOCATION, project_id=PROJECT, access_token=TOKEN, base_url=f"{address}/v1", max_retries=0
        ) as client:
            stream = await client.messages.create(
                model=CLAUDE,
                max_tokens=100,
                messages=[{"role": "user", "content": [{"type": "text", "text": "Hello?"}]}],
                stream=True,
            )
            pieces = [
                event.delta.text
                async for event in stream
                if event.type == "content_block_delta" and event.delta.type == "text_delta"
            ]
        assert "".join(pieces) == "Hi there"
        assert await ours(vertex_at(PROJECT, LOCATION, address), CLAUDE, tokens()) == "Hi there"
        theirs, our_own = double.server.requests
        assert theirs.path == our_own.path
        # Their clients until 2026 sent the version that is sent here, and newer ones send that of Anthropic's own API.
        assert our_own.json["anthropic_version"] == "vertex-2023-10-16"
        assert our_own.json["output_config"] == {"effort": "high"}
        assert "anthropic-version" not in our_own.headers


# What is sent to Claude


def test_the_instructions_and_the_end_are_marked_for_the_cache() -> None:
    dialect = MessagesDialect(CLAUDE, on_vertex=True)
    thought = {"type": "thinking", "thinking": "hm", "signature": "sig-1"}
    native = NativeContent(dialect.name, (thought, {"type": "text", "text": "Wait."}))
    messages = (*QUESTION, Message(Role.ASSISTANT, "Wait.", native=native), Message(Role.USER, "And now?"))
    request = dialect.request(messages, CallOptions())
    assert request.body.count(b'"cache_control":{"type":"ephemeral"}') == 2
    assert request.body.endswith(b'{"type":"text","text":"And now?","cache_control":{"type":"ephemeral"}}]}]}')
    # A message that was marked as the end is sent without the mark in the next round: the text before it is the same.
    assert native.items[1] == {"type": "text", "text": "Wait."}
    plain = MessagesDialect(CLAUDE, on_vertex=True, caching=False).request(messages, CallOptions())
    assert b"cache_control" not in plain.body


def test_the_models_of_vertex_ai_have_prices() -> None:
    usage = Usage(input_uncached=1_000_000, input_cached=1_000_000, output=1_000_000)
    for model in (GEMINI, CLAUDE, "claude-sonnet-4-5@20250929"):
        assert cost(ModelCall(f"vertex:{model}", usage))
    assert cost(ModelCall("vertex:gemini-of-tomorrow", usage)) is None


# Refusals


async def refused(status: int, body: object, *, key: Key, model: str = GEMINI) -> ProviderError:
    def answer(_: object) -> list[bytes]:
        return whole(status, body)

    async with asyncio.timeout(PATIENCE_S), ModelServer(answer) as server:
        with pytest.raises(ProviderError) as error:
            await ours(vertex_at(PROJECT, LOCATION, server.url), model, key)
    return error.value


DISABLED = (
    "Vertex AI API has not been used in project boats-123 before or it is disabled. Enable it by visiting "
    "https://console.developers.google.com/apis/api/aiplatform.googleapis.com/overview?project=boats-123 then retry."
)
DENIED = (
    "Permission 'aiplatform.endpoints.predict' denied on resource '//aiplatform.googleapis.com/projects/boats-123'."
)
ELSEWHERE = "Publisher model `publishers/anthropic/models/claude-sonnet-5-5` is not servable in region europe-west1."


def denied(message: str, reason: str) -> dict[str, object]:
    return refusal(403, "PERMISSION_DENIED", message, reason)


NO_MODEL = "Vertex AI does not offer the model “"
BILLING = "This API method requires billing to be enabled."
ENABLE, LOGIN = "`gcloud services enable aiplatform.googleapis.com`", "gcloud auth application-default login"
NO_KEY = refusal(400, "INVALID_ARGUMENT", "API key not valid.", "API_KEY_INVALID")


@pytest.mark.parametrize(
    ("status", "body", "key", "begins", "does"),
    [
        (404, refusal(404, "NOT_FOUND", UNKNOWN), None, NO_MODEL, "Model Garden"),
        (400, refusal(400, "FAILED_PRECONDITION", ELSEWHERE), None, NO_MODEL, "such as global"),
        (403, denied(DISABLED, "SERVICE_DISABLED"), None, "The Vertex AI API is not enabled", ENABLE),
        (403, denied(BILLING, "BILLING_DISABLED"), None, "Billing is not enabled", "Enable it"),
        (403, denied(DENIED, "IAM_PERMISSION_DENIED"), None, "This machine's Google Cloud", "roles/aiplatform.user"),
        (401, NO_TOKEN, None, "Vertex AI refused the Google Cloud credentials (401)", LOGIN),
        (401, NO_TOKEN, KEY, "Vertex AI refused the API key (401).", "Check VERTEX_API_KEY"),
        (400, NO_KEY, KEY, "Vertex AI refused the API key (400).", "Check VERTEX_API_KEY"),
    ],
)
@pytest.mark.parametrize("model", [GEMINI, CLAUDE])
async def test_a_refusal_is_a_sentence_that_says_what_to_do(
    status: int, body: dict[str, object], key: str | None, begins: str, does: str, model: str
) -> None:
    error = await refused(status, body, key=key or tokens(), model=model)
    assert isinstance(error, ProviderRefused)
    assert str(error).startswith(begins)
    assert does in str(error)
    assert str(error).endswith(".")
    assert PROJECT not in error.reason.to_person
    assert "Please tell my operator" in error.reason.to_person


async def test_a_quota_says_how_to_get_more() -> None:
    message = "Quota exceeded for aiplatform.googleapis.com/online_prediction_requests_per_base_model"
    error = await refused(429, refusal(429, "RESOURCE_EXHAUSTED", message), key=tokens())
    assert isinstance(error, ProviderUnavailable)
    assert str(error) == (
        "Vertex AI is limiting requests (429). Please ask again in a moment. If this happens often, request more quota "
        "for the model in the Google Cloud console, or set GOOGLE_CLOUD_LOCATION to global."
    )


async def test_a_token_that_expired_early_is_replaced_and_the_question_asked_again() -> None:
    clock, fetched = FakeClock(auto=False), list[str]()

    async def fetch() -> Token:
        fetched.append(TOKEN if fetched else "token-0")
        return Token({"authorization": f"Bearer {fetched[-1]}"}, 4e9)

    credentials = TokenCredentials(fetch, clock, "")
    async with project(VertexGeminiWire()) as (_, address):
        endpoint = vertex_at(PROJECT, LOCATION, address)
        with pytest.raises(ProviderRefused, match="refused the Google Cloud credentials"):
            await ours(endpoint, GEMINI, credentials)
        await clock.advance(120)
        assert await ours(endpoint, GEMINI, credentials) == "Hi there"
    assert fetched == ["token-0", TOKEN]
