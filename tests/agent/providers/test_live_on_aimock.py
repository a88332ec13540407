"""Gemini Live over a real WebSocket, against the vendors' double, which writes instead of speaking."""

import asyncio
import json
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager

import pytest

from agent.errors import ProviderRefused, ProviderUnavailable, StreamBroken
from agent.events import Outcome
from agent.messages import Message, Role
from agent.ports import ProviderEvent, ResponseEnded, TokensArrived
from agent.providers.catalog import LIVE
from agent.providers.opening import Line, open_live
from agent.providers.replay import Patience
from agent.providers.socket_session import SocketProvider
from tests.fakes.aimock import AiMock
from tests.fakes.clock import FakeClock
from tests.fakes.one_turn import Echo, run_turn

BOUND_S = 20.0
LONG = "One sentence that is cut into several pieces. " * 5
ANY = {"match": {"userMessage": "Hello"}}
MESSAGES = (Message(Role.SYSTEM, "Be brief."), Message(Role.USER, "Hello"))
CALLS = {"calls": [{"name": "echo", "args": '{"text": "one"}'}]}
CALL = {"name": "execute", "arguments": json.dumps(CALLS), "id": "call_1"}


@asynccontextmanager
async def talking(aimock: AiMock, *fixtures: Mapping[str, object]) -> AsyncGenerator[SocketProvider, None]:
    aimock.load(*fixtures)
    line = Line(FakeClock(), lambda: 0.0, Patience(first_token_s=10.0, between_tokens_s=10.0))
    async with asyncio.timeout(BOUND_S):
        yield open_live(LIVE.at(aimock.url), "gemini-live-2.5-flash", "AIza-1", line)


async def read(provider: SocketProvider) -> list[ProviderEvent]:
    return [event async for event in provider.stream(MESSAGES)]


def texts(events: list[ProviderEvent]) -> list[str]:
    return [event.text for event in events if isinstance(event, TokensArrived)]


async def test_an_answer_streams_in_pieces(aimock: AiMock) -> None:
    async with talking(aimock, {**ANY, "response": {"content": LONG}, "chunkSize": 10}) as provider:
        events = await read(provider)
    assert len(texts(events)) == len(LONG) // 10
    assert "".join(texts(events)) == LONG
    assert isinstance(events[-1], ResponseEnded)


@pytest.mark.parametrize("before", ["", "On it."])
async def test_a_call_and_its_result_are_one_conversation(aimock: AiMock, before: str) -> None:
    """The double tells the turn complete right behind the call, whose result has not come yet."""
    tool = Echo()
    called = {"toolCalls": [CALL], **({"content": before} if before else {})}
    async with talking(
        aimock,
        {"match": {"toolCallId": "call_1"}, "response": {"content": "It echoes."}},
        {**ANY, "response": called},
    ) as provider:
        ran = await run_turn(provider, tool, MESSAGES)
    assert ran.ended.outcome is Outcome.ANSWERED
    assert ran.ended.text.split("\n\n") == ([before] if before else []) + ["It echoes."]
    assert tool.said == ["one"]


async def test_two_calls_of_the_function_are_answered_together_or_told_again(aimock: AiMock) -> None:
    tool = Echo()
    calls = [{"type": "toolCall", **CALL}, {"type": "toolCall", **CALL, "id": "call_2"}]
    async with talking(
        aimock,
        {"match": {"userMessage": "<results>"}, "response": {"content": "It echoes."}},
        {"match": {"toolCallId": "call_1"}, "response": {"content": "It echoes."}},
        {**ANY, "response": {"blocks": calls}},
    ) as provider:
        ran = await run_turn(provider, tool, MESSAGES)
    assert ran.ended.outcome is Outcome.ANSWERED
    assert ran.ended.text.endswith("It echoes.")


async def test_a_rate_limit_is_asked_again_after_a_wait(aimock: AiMock) -> None:
    limit = {"error": {"message": "Rate limit reached", "type": "rate_limit_error"}, "status": 429}
    async with talking(
        aimock,
        {"match": {"userMessage": "Hello", "sequenceIndex": 0}, "response": limit},
        {"match": {"userMessage": "Hello", "sequenceIndex": 1}, "response": {"content": "Hi"}},
    ) as provider:
        assert texts(await read(provider)) == ["Hi"]


async def test_a_lasting_failure_is_told(aimock: AiMock) -> None:
    failure = {"error": {"message": "oops", "type": "INTERNAL"}, "status": 500}
    async with talking(aimock, {**ANY, "response": failure}) as provider:
        with pytest.raises(ProviderUnavailable, match="has a problem"):
            await read(provider)


async def test_a_model_that_is_not_known_is_told(aimock: AiMock) -> None:
    failure = {"error": {"message": "no such model", "type": "NOT_FOUND"}, "status": 404}
    async with talking(aimock, {**ANY, "response": failure}) as provider:
        with pytest.raises(ProviderRefused, match="does not know the model"):
            await read(provider)


async def test_a_connection_lost_in_the_middle_breaks_the_stream(aimock: AiMock) -> None:
    cut = {**ANY, "response": {"content": LONG}, "chunkSize": 10, "truncateAfterChunks": 5, "latency": 20}
    async with talking(aimock, cut) as provider:
        with pytest.raises(StreamBroken):
            await read(provider)
