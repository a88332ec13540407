"""Gemini's Interactions over real HTTP, against the vendors' double, which keeps and deletes nothing."""

import asyncio
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager

import pytest

from agent.errors import ProviderError, ProviderRefused, ProviderUnavailable, StreamBroken
from agent.messages import Message, Role
from agent.ports import CallOptions, HandleKept, ProviderEvent, ResponseEnded, StopReason, TokensArrived
from agent.providers.interactions_session import PREFIX, InteractionsProvider
from agent.providers.opening import Line, open_interactions
from agent.providers.replay import Patience
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
) -> AsyncGenerator[InteractionsProvider, None]:
    aimock.load(*fixtures)
    line = Line(clock or FakeClock(), lambda: 0.0, Patience(first_token_s=10.0, between_tokens_s=10.0))
    provider = open_interactions(gemini_at(f"{aimock.url}/v1beta"), MODEL, "key-1", line)
    async with asyncio.timeout(BOUND_S):
        try:
            yield provider
        finally:
            await provider.aclose()


async def read(provider: InteractionsProvider, messages: Sequence[Message] = MESSAGES) -> list[ProviderEvent]:
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
    (entry,) = aimock.journal()
    assert entry["path"] == "/v1beta/interactions"


async def test_the_rounds_of_a_session_build_on_one_another(aimock: AiMock) -> None:
    call = '<execute>[{"name": "recall", "args": {"query": "boat"}}]'
    async with talking(
        aimock,
        {"match": {"userMessage": "<results>"}, "response": {"content": "It is blue."}},
        {**ANY, "response": {"content": call}},
    ) as provider:
        session = provider.connect(CallOptions())
        await session.send(MESSAGES)
        first = [event async for event in session.receive()]
        step = Message(Role.ASSISTANT, "".join(texts(first)), native=end_of(first).native)
        await session.send([*MESSAGES, step, Message(Role.USER, "<results>[]</results>")])
        second = [event async for event in session.receive()]
        handles = [event.handle for event in (*first, *second) if isinstance(event, HandleKept)]
        await session.close()
    assert end_of(first).reason is StopReason.HALTED
    assert texts(second) == ["It is blue."]
    assert len(set(handles)) == 2
    assert all(handle.startswith(PREFIX) for handle in handles)
    sent = [entry["body"] for entry in aimock.journal() if entry["method"] == "POST"]
    assert "Be brief." in str(sent[0])
    assert "Be brief." not in str(sent[1])


async def test_a_rate_limit_is_waited_out(aimock: AiMock) -> None:
    clock = FakeClock()
    limit = {"error": {"message": "slow down", "type": "RESOURCE_EXHAUSTED"}, "status": 429, "retryAfter": 7}
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
