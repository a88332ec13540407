"""Chat Completions over real HTTP, against the vendors' double: what everybody's client has to bear."""

import asyncio
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import cast

import pytest

from agent.errors import ProviderError, ProviderRefused, ProviderUnavailable, StreamBroken
from agent.messages import Message, Role, Usage
from agent.ports import ProviderEvent, ReasoningArrived, ResponseEnded, StopReason, TokensArrived
from agent.providers.catalog import OPENAI, Endpoint
from agent.providers.opening import Line, open_chat
from agent.providers.replay import Patience, ReplayProvider
from tests.fakes.aimock import AiMock
from tests.fakes.clock import FakeClock

BOUND_S = 20.0
LONG = "One sentence that is cut into several pieces. " * 5
ANY = {"match": {"userMessage": "Hello"}}
MESSAGES = (Message(Role.SYSTEM, "Be brief."), Message(Role.USER, "Hello"))


@asynccontextmanager
async def talking(
    aimock: AiMock, *fixtures: Mapping[str, object], endpoint: Endpoint = OPENAI, clock: FakeClock | None = None
) -> AsyncGenerator[ReplayProvider, None]:
    aimock.load(*fixtures)
    line = Line(clock or FakeClock(), lambda: 0.0, Patience(first_token_s=10.0, between_tokens_s=10.0))
    provider = open_chat(endpoint.at(aimock.url), "m-1", "sk-1", line)
    async with asyncio.timeout(BOUND_S):
        try:
            yield provider
        finally:
            await provider.aclose()


async def read(provider: ReplayProvider, messages: Sequence[Message] = MESSAGES) -> list[ProviderEvent]:
    return [event async for event in provider.stream(messages)]


def texts(events: Sequence[ProviderEvent]) -> list[str]:
    return [event.text for event in events if isinstance(event, TokensArrived)]


async def test_an_answer_streams_in_pieces_and_its_usage_is_reported(aimock: AiMock) -> None:
    usage = {
        "prompt_tokens": 100,
        "completion_tokens": 50,
        "prompt_tokens_details": {"cached_tokens": 64},
        "completion_tokens_details": {"reasoning_tokens": 10},
    }
    async with talking(aimock, {**ANY, "response": {"content": LONG, "usage": usage}, "chunkSize": 10}) as provider:
        events = await read(provider)
    assert len(texts(events)) == len(LONG) // 10
    assert "".join(texts(events)) == LONG
    assert isinstance(events[-1], ResponseEnded)
    reported = events[-1].usage
    assert reported is not None
    assert (reported.input_uncached, reported.output) == (100 - reported.input_cached, 50 - reported.reasoning)
    assert not reported.estimated
    assert reported.bytes_up > 0


async def test_reasoning_comes_apart_from_the_answer(aimock: AiMock) -> None:
    async with talking(aimock, {**ANY, "response": {"content": "Hi", "reasoning": "They greet."}}) as provider:
        events = await read(provider)
    assert "".join(event.text for event in events if isinstance(event, ReasoningArrived)) == "They greet."
    assert texts(events) == ["Hi"]


async def test_an_answer_that_grew_too_long_says_so(aimock: AiMock) -> None:
    async with talking(aimock, {**ANY, "response": {"content": "Hi", "finishReason": "length"}}) as provider:
        end = (await read(provider))[-1]
    assert isinstance(end, ResponseEnded)
    assert end.reason is StopReason.LENGTH


async def test_a_call_and_its_results_are_two_requests_of_one_conversation(aimock: AiMock) -> None:
    call = '<execute>[{"name": "recall", "args": {"query": "boat"}}]\n</execute>'
    results = '<results>[{"name": "recall", "status": "success", "content": "blue"}]</results>'
    async with talking(
        aimock,
        {"match": {"userMessage": "<results>"}, "response": {"content": "It is blue."}},
        {**ANY, "response": {"content": call}},
    ) as provider:
        first = "".join(texts(await read(provider)))
        second = await read(provider, [*MESSAGES, Message(Role.ASSISTANT, first), Message(Role.USER, results)])
    assert first == call
    assert texts(second) == ["It is blue."]
    bodies = [cast("dict[str, object]", entry["body"]) for entry in aimock.journal()]
    sent = [cast("list[dict[str, str]]", body["messages"]) for body in bodies]
    assert sent[1][: len(sent[0])] == sent[0]
    assert [message["role"] for message in sent[1]] == ["system", "user", "assistant", "user"]


async def test_a_rate_limit_is_waited_out(aimock: AiMock) -> None:
    clock = FakeClock()
    limit = {"error": {"message": "Rate limit reached", "type": "rate_limit_error"}, "status": 429, "retryAfter": 7}
    async with talking(
        aimock,
        {"match": {"userMessage": "Hello", "sequenceIndex": 0}, "response": limit},
        {"match": {"userMessage": "Hello", "sequenceIndex": 1}, "response": {"content": "Hi"}},
        clock=clock,
    ) as provider:
        assert texts(await read(provider)) == ["Hi"]
    assert clock.monotonic() == 7


async def test_a_failing_server_is_asked_again(aimock: AiMock) -> None:
    failure = {"error": {"message": "oops", "type": "server_error"}, "status": 500}
    async with talking(
        aimock,
        {"match": {"userMessage": "Hello", "sequenceIndex": 0}, "response": failure},
        {"match": {"userMessage": "Hello", "sequenceIndex": 1}, "response": {"content": "Hi"}},
    ) as provider:
        assert texts(await read(provider)) == ["Hi"]


@pytest.mark.parametrize(
    ("response", "kind", "requests"),
    [
        ({"error": {"message": "oops"}, "status": 500}, ProviderUnavailable, 3),
        ({"error": {"message": "busy", "type": "overloaded_error"}, "status": 529}, ProviderUnavailable, 3),
        ({"error": {"message": "no", "code": "invalid_api_key"}, "status": 401}, ProviderRefused, 1),
        ({"error": {"message": "no model", "code": "model_not_found"}, "status": 404}, ProviderRefused, 1),
        ({"error": {"message": "quota", "code": "insufficient_quota"}, "status": 429}, ProviderRefused, 1),
    ],
)
async def test_a_lasting_refusal_ends_after_as_many_requests_as_make_sense(
    aimock: AiMock, response: dict[str, object], kind: type[ProviderError], requests: int
) -> None:
    async with talking(aimock, {**ANY, "response": response}) as provider:
        with pytest.raises(kind):
            await read(provider)
    assert len(aimock.journal()) == requests


async def test_a_connection_lost_in_the_middle_breaks_the_stream_and_what_came_stands(aimock: AiMock) -> None:
    cut = {**ANY, "response": {"content": LONG}, "chunkSize": 10, "truncateAfterChunks": 5, "latency": 20}
    said: list[str] = []

    async def listen(provider: ReplayProvider) -> None:
        async for event in provider.stream(MESSAGES):
            said.extend(texts([event]))

    async with talking(aimock, cut) as provider:
        with pytest.raises(StreamBroken):
            await listen(provider)
    assert said
    assert LONG.startswith("".join(said))
    assert len(aimock.journal()) == 1


async def test_a_connection_lost_before_the_answer_is_told(aimock: AiMock) -> None:
    async with talking(aimock, {**ANY, "response": {"content": "Hi"}, "chaos": {"disconnectRate": 1}}) as provider:
        with pytest.raises(ProviderUnavailable, match="closed the connection without an answer"):
            await read(provider)
    assert len(aimock.journal()) == 1


async def test_an_answer_that_is_no_stream_is_refused(aimock: AiMock) -> None:
    async with talking(aimock, {**ANY, "response": {"content": "Hi"}, "chaos": {"malformedRate": 1}}) as provider:
        with pytest.raises(ProviderRefused, match="does not stream a model’s answers"):
            await read(provider)


async def test_a_slow_stream_is_only_slow(aimock: AiMock) -> None:
    slow = {"ttft": 100, "tps": 50}
    async with talking(aimock, {**ANY, "response": {"content": "Hi there"}, "streamingProfile": slow}) as provider:
        assert "".join(texts(await read(provider))) == "Hi there"


async def test_usage_that_the_double_makes_up_is_not_taken_for_an_estimate_of_ours(aimock: AiMock) -> None:
    async with talking(aimock, {**ANY, "response": {"content": "Hi"}}) as provider:
        end = (await read(provider))[-1]
    assert isinstance(end, ResponseEnded)
    assert end.usage is not None
    assert not end.usage.estimated
    assert end.usage != Usage(bytes_up=end.usage.bytes_up)
