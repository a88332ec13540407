"""Vectors from a service with OpenAI's /embeddings: our server, and the npm double."""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace

import pytest

from agent.embeddings import Embedded
from agent.errors import ProviderError, ProviderRefused, ProviderUnavailable
from agent.providers.catalog import OLLAMA, OPENAI
from agent.providers.key_pool import KeyRing
from agent.providers.openai_services import HttpEmbedder, read_vectors
from tests.fakes.aimock import AiMock
from tests.fakes.clock import FakeClock
from tests.fakes.model_server import CUT, ModelServer, Reply, whole
from tests.patience import PATIENCE_S

TWO = {
    "data": [{"index": 1, "embedding": [0, 1.5]}, {"index": 0, "embedding": [1, -0.5]}],
    "usage": {"prompt_tokens": 7},
}


@asynccontextmanager
async def embedder(url: str, key: str | None = "key") -> AsyncGenerator[HttpEmbedder]:
    opened = HttpEmbedder(replace(OPENAI, base_url=url), "m-1", key)
    try:
        yield opened
    finally:
        await opened.aclose()


async def embedded(reply: Reply, texts: Sequence[str] = ("one", "two")) -> tuple[Embedded, ModelServer]:
    async with asyncio.timeout(PATIENCE_S), ModelServer([reply]) as server, embedder(server.url) as opened:
        return await opened.embed(texts), server


async def test_each_text_gets_its_vector_and_the_call_is_counted() -> None:
    answer, server = await embedded(whole(200, TWO))
    assert answer.vectors == ((1.0, -0.5), (0.0, 1.5))
    assert answer.call is not None
    assert (answer.call.model, answer.call.usage.input_uncached) == ("openai:m-1", 7)
    [request] = server.requests
    assert request.path == "/v1/embeddings"
    assert request.headers["authorization"] == "Bearer key"
    assert request.json == {"model": "m-1", "input": ["one", "two"], "encoding_format": "float"}
    assert answer.call.usage.bytes_up == len(request.body)


async def test_the_next_of_several_keys_is_used_where_the_first_is_refused_or_limited() -> None:
    keys, clock, warned = ("sk-organization-one-1111", "sk-organization-two-2222"), FakeClock(), list[str]()
    bad = whole(401, {"error": {"message": "Incorrect API key provided"}})
    busy = whole(429, {"error": {"message": "Rate limit reached"}}, extra="retry-after: 30\r\n")
    async with asyncio.timeout(PATIENCE_S), ModelServer([bad, whole(200, TWO), busy]) as server:
        endpoint = replace(OPENAI, base_url=server.url)
        opened = HttpEmbedder(endpoint, "m-1", keys[0], ring=KeyRing(endpoint, keys, clock, warned.append))
        assert (await opened.embed(["one", "two"])).vectors
        with pytest.raises(ProviderUnavailable, match=r"can be used again in 30 s") as failed:
            await opened.embed(["one", "two"])
        await opened.aclose()
    assert [request.headers["authorization"][-4:] for request in server.requests] == ["1111", "2222", "2222"]
    assert failed.value.retry_after_s == 30
    assert len(warned) == 1


async def test_tokens_that_a_service_does_not_report_are_estimated() -> None:
    answer, _ = await embedded(whole(200, {"data": [{"embedding": [1]}]}), ["a few words"])
    assert answer.call is not None
    assert answer.call.usage.estimated
    assert answer.call.usage.input_uncached > 0


@pytest.mark.parametrize(
    ("reply", "kind"),
    [
        (whole(200, {"data": []}), ProviderError),
        (whole(401, {"error": {"message": "no"}}), ProviderRefused),
        (whole(429, {}), ProviderUnavailable),
        (whole(503, {}), ProviderUnavailable),
        ([CUT], ProviderError),
    ],
)
async def test_whatever_goes_wrong_is_an_error_with_a_sentence(reply: Reply, kind: type[ProviderError]) -> None:
    with pytest.raises(kind, match=r"\."):
        await embedded(reply)


async def test_a_service_that_is_not_there_is_an_error_with_a_sentence() -> None:
    opened = HttpEmbedder(replace(OLLAMA, base_url="http://127.0.0.1:9/v1"), "m-1", None)
    with pytest.raises(ProviderUnavailable):
        await opened.embed(["one"])
    await opened.aclose()


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"[]",
        b'{"data": [{"embedding": [1]}]}',
        b'{"data": [{"embedding": [1]}, {"embedding": []}]}',
        b'{"data": [{"embedding": [1]}, {"embedding": ["x"]}]}',
        b'{"data": [{"embedding": [1]}, {"embedding": [1, 2]}]}',
        b'{"data": [{"index": 5, "embedding": [1]}, {"index": 0, "embedding": [1]}]}',
    ],
)
def test_an_answer_without_a_vector_for_each_text_cannot_be_read(body: bytes) -> None:
    assert read_vectors(body, 2) is None


async def test_the_npm_double_gives_the_same_vector_for_the_same_text(aimock: AiMock) -> None:
    aimock.load()
    async with asyncio.timeout(PATIENCE_S), embedder(f"{aimock.url}/v1") as opened:
        first, second = await opened.embed(["my boat", "my train"]), await opened.embed(["my boat"])
    assert first.vectors[0] == second.vectors[0]
    assert len(first.vectors[0]) == len(first.vectors[1]) > 1
