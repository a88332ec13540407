"""OpenAI's Responses over real HTTP and WebSocket, against the vendors' double.

The double knows no free-text tools and keeps nothing on its sockets: it calls functions, which read as calls all the
same, and answers each request by itself.
"""

import asyncio
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import cast

import pytest

from agent.errors import ProviderError, ProviderRefused, ProviderUnavailable, StreamBroken
from agent.events import Outcome
from agent.messages import Message, Role
from agent.ports import ProviderEvent, ReasoningArrived, ResponseEnded, StopReason, TokensArrived
from agent.providers.catalog import OPENAI, Endpoint
from agent.providers.opening import Line, open_responses, replaying
from agent.providers.replay import Patience, ReplayProvider
from agent.providers.responses_session import ResponsesProvider
from agent.providers.wire_responses import ResponsesDialect
from tests.fakes.aimock import AiMock
from tests.fakes.clock import FakeClock
from tests.fakes.one_turn import Echo, run_turn

BOUND_S = 20.0
LONG = "One sentence that is cut into several pieces. " * 5
ANY = {"match": {"userMessage": "Hello"}}
MESSAGES = (Message(Role.SYSTEM, "Be brief."), Message(Role.USER, "Hello"))
CALL = {"id": "call_1", "name": "echo", "arguments": '{"text": "one"}'}

Opened = ReplayProvider | ResponsesProvider


def over_http(endpoint: Endpoint, model: str, key: str, line: Line) -> ReplayProvider:
    return replaying(endpoint, model, ResponsesDialect(model), key, line)


@pytest.fixture(params=[over_http, open_responses], ids=["http", "websocket"])
def opener(request: pytest.FixtureRequest) -> Callable[..., Opened]:
    return cast("Callable[..., Opened]", request.param)


@asynccontextmanager
async def talking(
    aimock: AiMock, opener: Callable[..., Opened], *fixtures: Mapping[str, object], clock: FakeClock | None = None
) -> AsyncGenerator[Opened, None]:
    aimock.load(*fixtures)
    line = Line(clock or FakeClock(), lambda: 0.0, Patience(first_token_s=10.0, between_tokens_s=10.0))
    provider = opener(OPENAI.at(aimock.url), "gpt-6.1-terra", "sk-1", line)
    async with asyncio.timeout(BOUND_S):
        try:
            yield provider
        finally:
            await provider.aclose()


async def read(provider: Opened, messages: Sequence[Message] = MESSAGES) -> list[ProviderEvent]:
    return [event async for event in provider.stream(messages)]


def texts(events: Sequence[ProviderEvent]) -> list[str]:
    return [event.text for event in events if isinstance(event, TokensArrived) and event.text]


def end_of(events: Sequence[ProviderEvent]) -> ResponseEnded:
    assert isinstance(events[-1], ResponseEnded)
    return events[-1]


async def test_an_answer_streams_in_pieces_and_its_usage_is_reported(
    aimock: AiMock, opener: Callable[..., Opened]
) -> None:
    usage = {"input_tokens": 100, "output_tokens": 50}
    answer = {**ANY, "response": {"content": LONG, "usage": usage}, "chunkSize": 10}
    async with talking(aimock, opener, answer) as provider:
        events = await read(provider)
    assert len(texts(events)) == len(LONG) // 10
    assert "".join(texts(events)) == LONG
    reported = end_of(events).usage
    assert reported is not None
    assert (reported.input_uncached, reported.output) == (100, 50)
    assert not reported.estimated
    assert reported.bytes_up > 0


async def test_reasoning_comes_apart_from_the_answer(aimock: AiMock, opener: Callable[..., Opened]) -> None:
    answer = {**ANY, "response": {"content": "Hi", "reasoning": "They greet."}}
    async with talking(aimock, opener, answer) as provider:
        events = await read(provider)
    assert "".join(event.text for event in events if isinstance(event, ReasoningArrived)) == "They greet."
    assert texts(events) == ["Hi"]


async def test_a_call_ends_in_the_answer_to_its_result(aimock: AiMock, opener: Callable[..., Opened]) -> None:
    fixtures = (
        {"match": {"toolCallId": "call_1"}, "response": {"content": "Anna heard it."}},
        {**ANY, "response": {"content": "I ask.", "toolCalls": [CALL]}},
    )
    tool = Echo()
    async with talking(aimock, opener, *fixtures) as provider:
        ran = await run_turn(provider, tool, MESSAGES)
    assert (ran.ended.outcome, ran.ended.text) == (Outcome.ANSWERED, "I ask.\n\nAnna heard it.")
    assert tool.said == ["one"]
    assert "Anna hears one" in str(aimock.journal()[1]["body"])


async def test_several_calls_of_one_answer_run_together(aimock: AiMock, opener: Callable[..., Opened]) -> None:
    both = [CALL, {"id": "call_2", "name": "echo", "arguments": '{"text": "two"}'}]
    fixtures = (
        {"match": {"toolCallId": "call_2"}, "response": {"content": "Both."}},
        {**ANY, "response": {"toolCalls": both}},
    )
    tool = Echo()
    async with talking(aimock, opener, *fixtures) as provider:
        ran = await run_turn(provider, tool, MESSAGES)
    assert ran.ended.text == "Both."
    assert sorted(tool.said) == ["one", "two"]


async def test_an_answer_that_grew_too_long_says_so(aimock: AiMock, opener: Callable[..., Opened]) -> None:
    answer = {**ANY, "response": {"content": "Hi", "finishReason": "length"}}
    async with talking(aimock, opener, answer) as provider:
        assert end_of(await read(provider)).reason is StopReason.LENGTH


async def test_a_rate_limit_is_waited_out(aimock: AiMock, opener: Callable[..., Opened]) -> None:
    clock = FakeClock()
    limit = {"error": {"message": "Rate limit reached", "type": "rate_limit_error"}, "status": 429, "retryAfter": 7}
    fixtures = (
        {"match": {"userMessage": "Hello", "sequenceIndex": 0}, "response": limit},
        {"match": {"userMessage": "Hello", "sequenceIndex": 1}, "response": {"content": "Hi"}},
    )
    async with talking(aimock, opener, *fixtures, clock=clock) as provider:
        assert texts(await read(provider)) == ["Hi"]
    assert clock.monotonic() > 0


@pytest.mark.parametrize(
    ("response", "kind", "requests"),
    [
        ({"error": {"message": "oops", "type": "server_error"}, "status": 500}, ProviderUnavailable, 3),
        ({"error": {"message": "busy", "type": "overloaded_error"}, "status": 529}, ProviderUnavailable, 3),
        ({"error": {"message": "no", "code": "invalid_authentication"}, "status": 401}, ProviderRefused, 1),
        ({"error": {"message": "no model", "code": "model_not_found"}, "status": 404}, ProviderRefused, 1),
        ({"error": {"message": "quota", "code": "insufficient_quota"}, "status": 429}, ProviderRefused, 1),
    ],
)
async def test_a_lasting_refusal_ends_after_as_many_requests_as_make_sense(
    aimock: AiMock,
    opener: Callable[..., Opened],
    response: dict[str, object],
    kind: type[ProviderError],
    requests: int,
) -> None:
    async with talking(aimock, opener, {**ANY, "response": response}) as provider:
        with pytest.raises(kind):
            await read(provider)
    assert len(aimock.journal()) == requests


async def test_a_connection_lost_in_the_middle_breaks_the_stream_and_what_came_stands(
    aimock: AiMock, opener: Callable[..., Opened]
) -> None:
    cut = {**ANY, "response": {"content": LONG}, "chunkSize": 10, "truncateAfterChunks": 8, "latency": 20}
    said: list[str] = []

    async def listen(provider: Opened) -> None:
        async for event in provider.stream(MESSAGES):
            said.extend(texts([event]))

    async with talking(aimock, opener, cut) as provider:
        with pytest.raises(StreamBroken):
            await listen(provider)
    assert LONG.startswith("".join(said))
    assert said
    assert len(aimock.journal()) == 1


async def test_turns_go_over_one_socket_after_another(aimock: AiMock) -> None:
    async with talking(aimock, open_responses, {**ANY, "response": {"content": "Hi"}}) as provider:
        for _ in range(3):
            assert texts(await read(provider)) == ["Hi"]
    assert {entry["method"] for entry in aimock.journal()} == {"WS"}
