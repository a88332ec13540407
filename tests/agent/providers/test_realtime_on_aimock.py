"""Realtime over a real WebSocket, against the vendors' double: a conversation that somebody else has written."""

import asyncio
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager

import pytest

from agent.errors import ProviderUnavailable, StreamBroken
from agent.events import Outcome
from agent.messages import Message, Role
from agent.ports import ProviderEvent, ResponseEnded, TokensArrived
from agent.providers.catalog import REALTIME
from agent.providers.opening import Line, open_realtime
from agent.providers.replay import Patience
from agent.providers.socket_session import SocketProvider
from tests.fakes.aimock import AiMock
from tests.fakes.clock import FakeClock
from tests.fakes.one_turn import Echo, echo_call, run_turn

BOUND_S = 20.0
LONG = "One sentence that is cut into several pieces. " * 5
ANY = {"match": {"userMessage": "Hello"}}
MESSAGES = (Message(Role.SYSTEM, "Be brief."), Message(Role.USER, "Hello"))


@asynccontextmanager
async def talking(aimock: AiMock, *fixtures: Mapping[str, object]) -> AsyncGenerator[SocketProvider, None]:
    aimock.load(*fixtures)
    line = Line(FakeClock(), lambda: 0.0, Patience(first_token_s=10.0, between_tokens_s=10.0))
    async with asyncio.timeout(BOUND_S):
        yield open_realtime(REALTIME.at(f"{aimock.url}/v1"), "gpt-realtime-2.1-mini", "sk-1", line)


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


async def test_two_rounds_are_one_conversation(aimock: AiMock) -> None:
    call = f"On it.\n<execute>[{echo_call('one')[1:-1]}]\n</execute>\nAnd so on."
    fixtures = (
        {"match": {"userMessage": "<results>"}, "response": {"content": "It echoes."}},
        {**ANY, "response": {"content": call}, "chunkSize": 5},
    )
    tool = Echo()
    async with talking(aimock, *fixtures) as provider:
        ran = await run_turn(provider, tool, MESSAGES)
    assert (ran.ended.outcome, ran.ended.text) == (Outcome.ANSWERED, "On it.\n\nIt echoes.")
    assert tool.said == ["one"]


async def test_a_failing_response_is_asked_for_again(aimock: AiMock) -> None:
    failure = {"error": {"message": "oops", "type": "server_error"}, "status": 500}
    async with talking(
        aimock,
        {"match": {"userMessage": "Hello", "sequenceIndex": 0}, "response": failure},
        {"match": {"userMessage": "Hello", "sequenceIndex": 1}, "response": {"content": "Hi"}},
    ) as provider:
        assert texts(await read(provider)) == ["Hi"]


async def test_a_lasting_failure_is_told(aimock: AiMock) -> None:
    failure = {"error": {"message": "oops", "type": "server_error"}, "status": 500}
    async with talking(aimock, {**ANY, "response": failure}) as provider:
        with pytest.raises(ProviderUnavailable, match="has a problem"):
            await read(provider)


async def test_a_connection_lost_in_the_middle_breaks_the_stream(aimock: AiMock) -> None:
    cut = {**ANY, "response": {"content": LONG}, "chunkSize": 10, "truncateAfterChunks": 5, "latency": 20}
    async with talking(aimock, cut) as provider:
        with pytest.raises(StreamBroken):
            await read(provider)
