"""What only Gemini Live does, over a real WebSocket, against the npm double, which writes instead of speaking."""

import json
from typing import Final

import pytest

from agent.events import Outcome
from tests.fakes.aimock import AiMock
from tests.fakes.one_turn import Echo, run_turn
from tests.fakes.vendor_doubles import ANY, LIVE_SOCKET, MESSAGES

CALLS: Final = {"calls": [{"name": "echo", "args": '{"text": "one"}'}]}
CALL: Final = {"name": "execute", "arguments": json.dumps(CALLS), "id": "call_1"}


@pytest.mark.parametrize("before", ["", "On it."])
async def test_a_call_and_its_result_are_one_conversation(aimock: AiMock, before: str) -> None:
    """The double tells the turn complete right behind the call, whose result has not come yet."""
    tool = Echo()
    called = {"toolCalls": [CALL], **({"content": before} if before else {})}
    async with LIVE_SOCKET.talking(
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
    async with LIVE_SOCKET.talking(
        aimock,
        {"match": {"userMessage": "<results>"}, "response": {"content": "It echoes."}},
        {"match": {"toolCallId": "call_1"}, "response": {"content": "It echoes."}},
        {**ANY, "response": {"blocks": calls}},
    ) as provider:
        ran = await run_turn(provider, tool, MESSAGES)
    assert ran.ended.outcome is Outcome.ANSWERED
    assert ran.ended.text.endswith("It echoes.")
