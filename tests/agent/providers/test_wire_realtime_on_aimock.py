"""What only Realtime does, over a real WebSocket, against the npm double: a conversation of another author."""

from agent.events import Outcome
from tests.fakes.aimock import AiMock
from tests.fakes.one_turn import Echo, echo_call, run_turn
from tests.fakes.vendor_doubles import ANY, MESSAGES, REALTIME_SOCKET


async def test_two_rounds_are_one_conversation(aimock: AiMock) -> None:
    call = f"On it.\n<execute>[{echo_call('one')[1:-1]}]\n</execute>\nAnd so on."
    fixtures = (
        {"match": {"userMessage": "<results>"}, "response": {"content": "It echoes."}},
        {**ANY, "response": {"content": call}, "chunkSize": 5},
    )
    tool = Echo()
    async with REALTIME_SOCKET.talking(aimock, *fixtures) as provider:
        ran = await run_turn(provider, tool, MESSAGES)
    assert (ran.ended.outcome, ran.ended.text) == (Outcome.ANSWERED, "On it.\n\nIt echoes.")
    assert tool.said == ["one"]
