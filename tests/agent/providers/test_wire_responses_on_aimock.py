"""What only OpenAI's Responses do, over real HTTP and WebSocket, against the npm double.

The double knows no free-text tools and keeps nothing on its sockets: it calls functions, which read as calls all the
same, and answers each request by itself.
"""

from typing import Final

import pytest

from agent.events import Outcome
from agent.ports.model import StopReason
from tests.fakes.aimock import AiMock
from tests.fakes.one_turn import Echo, run_turn
from tests.fakes.vendor_doubles import (
    ANY,
    MESSAGES,
    RESPONSES,
    RESPONSES_SOCKET,
    Double,
    end_of,
    read,
    texts,
    thoughts,
)

CALL: Final = {"id": "call_1", "name": "echo", "arguments": '{"text": "one"}'}
both = pytest.mark.parametrize("double", [RESPONSES, RESPONSES_SOCKET], ids=["http", "websocket"])


@both
async def test_reasoning_comes_apart_from_the_answer(aimock: AiMock, double: Double) -> None:
    answer = {**ANY, "response": {"content": "Hi", "reasoning": "They greet."}}
    async with double.talking(aimock, answer) as provider:
        events = await read(provider)
    assert (thoughts(events), texts(events)) == ("They greet.", ["Hi"])


@both
async def test_a_call_ends_in_the_answer_to_its_result(aimock: AiMock, double: Double) -> None:
    fixtures = (
        {"match": {"toolCallId": "call_1"}, "response": {"content": "Anna heard it."}},
        {**ANY, "response": {"content": "I ask.", "toolCalls": [CALL]}},
    )
    tool = Echo()
    async with double.talking(aimock, *fixtures) as provider:
        ran = await run_turn(provider, tool, MESSAGES)
    assert (ran.ended.outcome, ran.ended.text) == (Outcome.ANSWERED, "I ask.\n\nAnna heard it.")
    assert tool.said == ["one"]
    assert "Anna hears one" in str(aimock.journal()[1]["body"])


@both
async def test_several_calls_of_one_answer_run_together(aimock: AiMock, double: Double) -> None:
    both = [CALL, {"id": "call_2", "name": "echo", "arguments": '{"text": "two"}'}]
    fixtures = (
        {"match": {"toolCallId": "call_2"}, "response": {"content": "Both."}},
        {**ANY, "response": {"toolCalls": both}},
    )
    tool = Echo()
    async with double.talking(aimock, *fixtures) as provider:
        ran = await run_turn(provider, tool, MESSAGES)
    assert ran.ended.text == "Both."
    assert sorted(tool.said) == ["one", "two"]


@both
async def test_an_answer_that_grew_too_long_says_so(aimock: AiMock, double: Double) -> None:
    answer = {**ANY, "response": {"content": "Hi", "finishReason": "length"}}
    async with double.talking(aimock, answer) as provider:
        assert end_of(await read(provider)).reason is StopReason.LENGTH


async def test_turns_go_over_one_socket_after_another(aimock: AiMock) -> None:
    async with RESPONSES_SOCKET.talking(aimock, {**ANY, "response": {"content": "Hi"}}) as provider:
        for _ in range(3):
            assert texts(await read(provider)) == ["Hi"]
    assert {entry["method"] for entry in aimock.journal()} == {"WS"}
