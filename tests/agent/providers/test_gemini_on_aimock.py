"""Gemini's generateContent over real HTTP, against the vendors' double."""

import asyncio
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager

import pytest

from agent.errors import ProviderError, ProviderRefused, ProviderUnavailable, StreamBroken
from agent.messages import Message, Role
from agent.ports import ProviderEvent, ReasoningArrived, ResponseEnded, StopReason, TokensArrived
from agent.providers.opening import Line, open_gemini
from agent.providers.replay import Patience, ReplayProvider
from tests.fakes.aimock import AiMock
from tests.fakes.clock import FakeClock
from tests.fakes.gemini_service import MODEL, gemini_at

BOUND_S = 20.0
LONG = "One sentence that is cut into several pieces. " * 5
ANY = {"match": {"userMessage": "Hello"}}
MESSAGES = (Message(Role.SYSTEM, "Be brief."), Message(Role.USER, "Hello"))


@asynccontextmanager
async def talking(
    aimock: AiMock, *fixtures: Mapping[str, object], clock: FakeClock | None = None
) -> AsyncGenerator[ReplayProvider, None]:
    aimock.load(*fixtures)
    line = Line(clock or FakeClock(), lambda: 0.0, Patience(first_token_s=10.0, between_tokens_s=10.0))
    provider = open_gemini(gemini_at(f"{aimock.url}/v1beta"), MODEL, "key-1", line)
    async with asyncio.timeout(BOUND_S):
        try:
            yield provider
        finally:
            await provider.aclose()


async def read(provider: ReplayProvider, messages: Sequence[Message] = MESSAGES) -> list[ProviderEvent]:
    return [event async for event in provider.stream(messages)]


def texts(events: Sequence[ProviderEvent]) -> list[str]:
    return [event.text for event in events if isinstance(event, TokensArrived)]


def end_of(events: Sequence[ProviderEvent]) -> ResponseEnded:
    assert isinstance(events[-1], ResponseEnded)
    return events[-1]


async def test_an_answer_streams_in_pieces_and_its_usage_is_reported(aimock: AiMock) -> None:
    usage = {"input_tokens": 100, "output_tokens": 50}
    async with talking(aimock, {**ANY, "response": {"content": LONG, "usage": usage}, "chunkSize": 10}) as provider:
        events = await read(provider)
    assert len(texts(events)) == len(LONG) // 10
    assert "".join(texts(events)) == LONG
    reported = end_of(events).usage
    assert reported is not None
    assert (reported.input_uncached, reported.output) == (100, 50)
    assert not reported.estimated
    (entry,) = aimock.journal()
    assert entry["path"] == f"/v1beta/models/{MODEL}:streamGenerateContent?alt=sse"


async def test_thoughts_come_apart_from_the_answer(aimock: AiMock) -> None:
    async with talking(aimock, {**ANY, "response": {"content": "Hi", "reasoning": "They greet."}}) as provider:
        events = await read(provider)
    assert "".join(event.text for event in events if isinstance(event, ReasoningArrived)) == "They greet."
    assert texts(events) == ["Hi"]


async def test_a_call_and_its_results_are_two_requests_of_one_conversation(aimock: AiMock) -> None:
    call = '<execute>[{"name": "recall", "args": {"query": "boat"}}]'
    async with talking(
        aimock,
        {"match": {"userMessage": "<results>"}, "response": {"content": "It is blue."}},
        {**ANY, "response": {"content": call}},
    ) as provider:
        first = await read(provider)
        step = Message(Role.ASSISTANT, "".join(texts(first)), native=end_of(first).native)
        second = await read(provider, [*MESSAGES, step, Message(Role.USER, "<results>[]</results>")])
    assert end_of(first).reason is StopReason.HALTED
    assert texts(second) == ["It is blue."]


async def test_an_answer_that_grew_too_long_says_so(aimock: AiMock) -> None:
    async with talking(aimock, {**ANY, "response": {"content": "Hi", "finishReason": "length"}}) as provider:
        assert end_of(await read(provider)).reason is StopReason.LENGTH


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


@pytest.mark.parametrize(
    ("response", "kind", "requests"),
    [
        ({"error": {"message": "oops", "type": "INTERNAL"}, "status": 500}, ProviderUnavailable, 3),
        ({"error": {"message": "busy", "type": "UNAVAILABLE"}, "status": 503}, ProviderUnavailable, 3),
        ({"error": {"message": "no", "type": "UNAUTHENTICATED"}, "status": 401}, ProviderRefused, 1),
        ({"error": {"message": "models/x is not found", "type": "NOT_FOUND"}, "status": 404}, ProviderRefused, 1),
    ],
)
async def test_a_lasting_refusal_ends_after_as_many_requests_as_make_sense(
    aimock: AiMock, response: dict[str, object], kind: type[ProviderError], requests: int
) -> None:
    async with talking(aimock, {**ANY, "response": response}) as provider:
        with pytest.raises(kind):
            await read(provider)
    assert len(aimock.journal()) == requests


async def test_a_connection_lost_in_the_middle_breaks_the_stream(aimock: AiMock) -> None:
    cut = {**ANY, "response": {"content": LONG}, "chunkSize": 10, "truncateAfterChunks": 5, "latency": 20}
    async with talking(aimock, cut) as provider:
        with pytest.raises(StreamBroken):
            await read(provider)
    assert len(aimock.journal()) == 1
