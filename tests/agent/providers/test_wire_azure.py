"""Azure OpenAI: our double is first asked by the vendor's own client, then by ours."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import pytest
from openai import AsyncAzureOpenAI, AsyncOpenAI, BadRequestError, NotFoundError

from agent.errors import ProviderError, ProviderRefused, ProviderUnavailable
from agent.messages import Message, ModelCall, Role, Usage
from agent.model_names import model_behind
from agent.ports.model import ResponseEnded, StopReason, TokensArrived
from agent.providers.catalog import Mode, azure_at
from agent.providers.credentials import Token, TokenCredentials
from agent.providers.factory import ProviderWorld, open_provider
from agent.providers.openai_services import HttpEmbedder
from agent.spending import cost
from tests.contracts.model_world import Says
from tests.fakes.azure_service import (
    DEPLOYMENT,
    FILTERED,
    KEY,
    LIMIT,
    MODEL,
    NO_DEPLOYMENT,
    TOKEN,
    VERSION,
    AzureWire,
    azure_world,
    refusal,
)
from tests.fakes.clock import FakeClock
from tests.fakes.http_world import HttpWorld
from tests.fakes.model_server import DONE, ModelServer, event, head, whole
from tests.fakes.openai_service import serving
from tests.patience import PATIENCE_S

QUESTION = (Message(Role.SYSTEM, "Be brief."), Message(Role.USER, "Hello?"))
HI = Says(("Hi", " there"))
NAME = f"{DEPLOYMENT}/{MODEL}"


def world() -> ProviderWorld:
    return ProviderWorld(FakeClock(), lambda: 0.0)


@asynccontextmanager
async def resource(version: str, *turns: Says) -> AsyncGenerator[tuple[HttpWorld, str], None]:
    async with asyncio.timeout(PATIENCE_S), azure_world(version) as double:
        double.plan(*turns)
        yield double, double.server.url.removesuffix("/v1")


async def ours(address: str, version: str = "", model: str = NAME, key: str | TokenCredentials = KEY) -> str:
    provider = open_provider(azure_at(address, version), model, key, world(), Mode.AUTO)
    try:
        events = [event async for event in provider.stream(QUESTION)]
    finally:
        await provider.aclose()
    assert isinstance(events[-1], ResponseEnded)
    assert events[-1].reason is StopReason.END
    assert events[-1].usage
    assert (events[-1].usage.input_uncached, events[-1].usage.input_cached) == (90, 10)
    return "".join(event.text for event in events if isinstance(event, TokensArrived))


# Asked by the vendor's own client


@pytest.mark.parametrize("version", [VERSION, ""], ids=["dated", "v1"])
async def test_the_vendors_own_client_reads_our_double(version: str) -> None:
    async with resource(version, HI) as (double, address):
        if version:
            client = AsyncAzureOpenAI(azure_endpoint=address, api_version=version, api_key=KEY, max_retries=0)
        else:
            client = AsyncOpenAI(base_url=f"{address}/openai/v1/", api_key=KEY, max_retries=0)
        async with client:
            stream = await client.chat.completions.create(
                model=DEPLOYMENT, messages=[{"role": "user", "content": "Hello?"}], stream=True, stop=["</execute>"]
            )
            chunks = [chunk async for chunk in stream]
            with pytest.raises(NotFoundError) as unknown:
                await client.chat.completions.create(model="other", messages=[], stream=True)
        assert unknown.value.code == "DeploymentNotFound"
        assert not chunks[0].choices
        text = "".join(choice.delta.content or "" for chunk in chunks for choice in chunk.choices)
        assert text == "Hi there"
        assert [chunk.usage.prompt_tokens for chunk in chunks if chunk.usage] == [100]
        assert double.asked[0].texts == ("Hello?",)


async def test_the_vendors_own_client_reads_the_refusal_of_our_filter() -> None:
    async with asyncio.timeout(PATIENCE_S), ModelServer([whole(400, FILTERED)]) as server:
        address = server.url.removesuffix("/v1")
        async with AsyncAzureOpenAI(azure_endpoint=address, api_version=VERSION, api_key=KEY, max_retries=0) as client:
            with pytest.raises(BadRequestError) as refused:
                await client.chat.completions.create(model=DEPLOYMENT, messages=[], stream=True)
    assert refused.value.code == "content_filter"


# Asked by ours


@pytest.mark.parametrize("version", [VERSION, ""], ids=["dated", "v1"])
async def test_an_answer_arrives_with_its_usage_by_both_apis(version: str) -> None:
    async with resource(version, HI) as (double, address):
        assert await ours(address, version, DEPLOYMENT) == "Hi there"
        (request,) = double.server.requests
        assert request.headers["api-key"] == KEY
        assert "authorization" not in request.headers
        assert request.json["model"] == DEPLOYMENT


async def test_a_token_of_entra_is_sent_as_one() -> None:
    async def fetch() -> Token:
        return Token({"authorization": f"Bearer {TOKEN}"}, 4e9)

    async with resource(VERSION, HI) as (double, address):
        assert await ours(address, VERSION, key=TokenCredentials(fetch, FakeClock(), "")) == "Hi there"
        assert "api-key" not in double.server.requests[0].headers


async def test_a_deployment_of_one_of_openais_models_is_asked_by_responses_with_sockets_and_without() -> None:
    async with asyncio.timeout(PATIENCE_S), serving("/openai/v1") as service:
        service.key_header, service.keys = ("api-key", ""), (KEY,)
        address = service.url.removesuffix("/openai/v1")
        for mode in (Mode.AUTO, Mode.REPLAY):
            service.planned.append(HI)
            provider = open_provider(azure_at(address), "chat-prod/gpt-6.1-terra", KEY, world(), mode)
            events = [event async for event in provider.stream(QUESTION)]
            await provider.aclose()
            assert "".join(event.text for event in events if isinstance(event, TokensArrived)) == "Hi there"
            assert provider.capabilities.reasons
        assert [body["model"] for body in service.bodies] == ["chat-prod", "chat-prod"]
        assert service.handshakes == 1


@pytest.mark.parametrize(
    ("model", "version", "responses", "stop", "thinks"),
    [
        ("gpt-6.1-terra", "", True, False, True),
        ("gpt-6.1-terra", VERSION, False, False, True),
        ("prod/gpt-6.1-terra", "", True, False, True),
        ("prod/gpt-4.1", VERSION, False, True, False),
        ("gpt-35-turbo", VERSION, False, True, False),
        ("prod", "", False, True, False),
        ("prod/DeepSeek-R1", "", False, True, True),
    ],
)
async def test_the_model_behind_a_deployment_decides_how_it_is_asked(
    model: str, version: str, responses: bool, stop: bool, thinks: bool
) -> None:
    endpoint = azure_at("https://boats.openai.azure.com", version)
    assert endpoint.speaks_responses(model) is responses
    assert endpoint.offers_forms(model) is not responses
    assert endpoint.stops_at_sequences(model) is stop
    provider = open_provider(endpoint, model, KEY, world(), Mode.AUTO)
    assert provider.capabilities.reasons is thinks
    assert provider.name == f"azure:{model}"
    await provider.aclose()


def test_the_model_behind_a_deployment_decides_its_price() -> None:
    usage = Usage(input_uncached=1_000_000, output=1_000_000)
    openais = cost(ModelCall("openai:gpt-6.1-terra", usage))
    assert openais
    assert cost(ModelCall("azure:prod/gpt-6.1-terra", usage)) == openais
    assert cost(ModelCall("azure:gpt-6.1-terra", usage)) == openais
    assert cost(ModelCall("azure:prod", usage)) is None
    assert model_behind("openrouter", "openai/gpt-6") == "openai/gpt-6"


@pytest.mark.parametrize(
    "address",
    [
        "https://boats.openai.azure.com",
        "https://boats.openai.azure.com/",
        "https://boats.openai.azure.com/openai/v1/",
        "https://boats.openai.azure.com/openai/deployments/chat-prod/chat/completions",
        "https://boats.openai.azure.com/openai/responses",
    ],
)
def test_the_address_may_be_any_that_the_portal_shows(address: str) -> None:
    assert azure_at(address).base_url == "https://boats.openai.azure.com/openai/v1"
    dated = azure_at(address, VERSION)
    assert dated.url("/chat/completions", "a b/gpt-4.1") == (
        f"https://boats.openai.azure.com/openai/deployments/a%20b/chat/completions?api-version={VERSION}"
    )


@pytest.mark.parametrize(
    ("address", "base_url"),
    [
        ("https://boats.services.ai.azure.com/api/projects/p-1", "https://boats.services.ai.azure.com/openai/v1"),
        ("https://gateway.example/team-a", "https://gateway.example/team-a/openai/v1"),
        ("http://127.0.0.1:8080/openai", "http://127.0.0.1:8080/openai/v1"),
    ],
)
def test_the_address_may_be_of_a_project_or_of_a_gateway(address: str, base_url: str) -> None:
    assert azure_at(address).base_url == base_url


async def test_embeddings_are_asked_of_their_deployment() -> None:
    answer = whole(200, {"data": [{"index": 0, "embedding": [0.5, 1.0]}], "usage": {"prompt_tokens": 3}})
    async with asyncio.timeout(PATIENCE_S), ModelServer([answer, answer]) as server:
        address = server.url.removesuffix("/v1")
        for version in (VERSION, ""):
            embedder = HttpEmbedder(azure_at(address, version), "meaning/text-embedding-3-small", KEY)
            assert (await embedder.embed(["Hello"])).vectors == ((0.5, 1.0),)
            await embedder.aclose()
        dated, newest = server.requests
        assert dated.path == f"/openai/deployments/meaning/embeddings?api-version={VERSION}"
        assert newest.path == "/openai/v1/embeddings"
        assert dated.headers["api-key"] == newest.headers["api-key"] == KEY
        assert newest.json["model"] == "meaning"


async def test_an_answer_that_the_filter_stops_is_not_a_good_end() -> None:
    wire = AzureWire()
    cut: dict[str, object] = {"choices": [{"index": 0, "finish_reason": "content_filter"}]}
    reply = [head(), *map(event, [*wire.begin(""), wire.text("I will"), cut]), DONE]
    async with asyncio.timeout(PATIENCE_S), ModelServer([reply]) as server:
        provider = open_provider(azure_at(server.url.removesuffix("/v1"), VERSION), NAME, KEY, world(), Mode.AUTO)
        events = [event async for event in provider.stream(QUESTION)]
        await provider.aclose()
    assert isinstance(events[-1], ResponseEnded)
    assert events[-1].reason is StopReason.FILTERED


# Refusals


async def refused(
    status: int, body: object, *, key: str | TokenCredentials = KEY, version: str = VERSION
) -> ProviderError:
    def answer(_: object) -> list[bytes]:
        return whole(status, body)

    async with asyncio.timeout(PATIENCE_S), ModelServer(answer) as server:
        with pytest.raises(ProviderError) as error:
            await ours(server.url.removesuffix("/v1"), version, key=key)
    return error.value


def tokens() -> TokenCredentials:
    async def fetch() -> Token:
        return Token({"authorization": f"Bearer {TOKEN}"}, 4e9)

    return TokenCredentials(fetch, FakeClock(), "")


LACKS = (
    "The principal `11111111-2222` lacks the required data action `Microsoft.CognitiveServices/accounts/OpenAI/"
    "deployments/chat/completions/action` to perform `POST /openai/deployments/{deployment-id}/chat/completions`."
)


@pytest.mark.parametrize(
    ("status", "body", "key", "begins", "does"),
    [
        (400, FILTERED, KEY, "Azure OpenAI's content filter blocked the question (400).", "content filter of"),
        (
            404,
            refusal("DeploymentNotFound", NO_DEPLOYMENT),
            KEY,
            "Azure OpenAI has no deployment “chat-prod” at http://127.0.0.1:",
            "Deployments page",
        ),
        (
            404,
            refusal("404", "Resource not found"),
            KEY,
            "Azure OpenAI does not offer this version of its API at http://127.0.0.1:",
            "Remove AZURE_OPENAI_API_VERSION",
        ),
        (
            400,
            refusal("BadRequest", "Model gpt-6 is enabled only for api versions 2025-03-01-preview and later"),
            KEY,
            "Azure OpenAI does not offer this version",
            "AZURE_OPENAI_API_VERSION",
        ),
        (401, refusal("401", "Access denied"), KEY, "Azure OpenAI refused the API key (401).", "AZURE_OPENAI_ENDPOINT"),
        (
            401,
            refusal("Unauthorized", "Access token is missing, invalid, audience is incorrect, or have expired."),
            None,
            "Azure OpenAI refused the Microsoft Entra ID token (401)",
            "`az login`",
        ),
        (401, refusal("PermissionDenied", LACKS), None, "This machine's identity is not allowed", "OpenAI User"),
        (
            403,
            refusal("AuthenticationTypeDisabled", "Key based authentication is disabled for this resource."),
            KEY,
            "The Azure OpenAI resource does not accept API keys (403).",
            "Remove AZURE_OPENAI_API_KEY",
        ),
        (
            403,
            refusal("403", "Public access is disabled. Please configure private endpoint."),
            KEY,
            "The Azure OpenAI resource does not accept connections from this network (403).",
            "Networking",
        ),
    ],
)
async def test_a_refusal_is_a_sentence_that_says_what_to_do(
    status: int, body: dict[str, object], key: str | None, begins: str, does: str
) -> None:
    error = await refused(status, body, key=key or tokens())
    assert isinstance(error, ProviderRefused)
    assert str(error).startswith(begins)
    assert does in str(error)
    assert str(error).endswith(".")
    assert TOKEN not in error.reason.to_operator
    assert "AZURE" not in error.reason.to_person
    is_about_the_question = status == 400 and body is FILTERED
    assert ("rephrase" in error.reason.to_person) is is_about_the_question


async def test_a_limit_says_when_to_ask_again_and_how_to_raise_it() -> None:
    error = await refused(429, refusal("429", LIMIT))
    assert isinstance(error, ProviderUnavailable)
    assert str(error) == (
        "Azure OpenAI is limiting requests (429). Please ask again in a moment. If this happens often, raise the "
        "deployment's tokens-per-minute limit in the Foundry portal."
    )
    assert error.reason.to_person == "Azure OpenAI is limiting requests (429). Please ask again in a moment."


async def test_a_deployment_that_responses_does_not_find_is_not_asked_again_by_chat() -> None:
    async with (
        asyncio.timeout(PATIENCE_S),
        ModelServer([whole(404, refusal("DeploymentNotFound", NO_DEPLOYMENT))]) as server,
    ):
        endpoint = azure_at(server.url.removesuffix("/v1"))
        provider = open_provider(endpoint, "prod/gpt-6.1-terra", KEY, world(), Mode.REPLAY)
        with pytest.raises(ProviderRefused, match="has no deployment “prod”"):
            await anext(provider.stream(QUESTION))
        await provider.aclose()
        assert len(server.requests) == 1
