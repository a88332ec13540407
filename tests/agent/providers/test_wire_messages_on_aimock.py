"""What only Anthropic's Messages do, over real HTTP, against the npm double."""

from agent.messages import Message, Role
from agent.ports.model import StopReason
from tests.fakes.aimock import AiMock
from tests.fakes.vendor_doubles import ANTHROPIC_MESSAGES, ANY, MESSAGES, end_of, read, texts, thoughts


async def test_thinking_comes_apart_from_the_answer_and_goes_back_with_the_results(aimock: AiMock) -> None:
    call = '<execute>[{"name": "recall", "args": {"query": "boat"}}]'
    thought = {"content": call, "reasoning": "They ask.", "reasoningSignature": "sig-7"}
    async with ANTHROPIC_MESSAGES.talking(
        aimock,
        {"match": {"userMessage": "<results>"}, "response": {"content": "It is blue."}},
        {**ANY, "response": thought},
    ) as provider:
        first = await read(provider)
        step = Message(Role.ASSISTANT, "".join(texts(first)), native=end_of(first).native)
        second = await read(provider, [*MESSAGES, step, Message(Role.USER, "<results>[]</results>")])
    assert thoughts(first) == "They ask."
    assert texts(second) == ["It is blue."]
    native = end_of(first).native
    assert native is not None
    assert native.items == (
        {"type": "thinking", "thinking": "They ask.", "signature": "sig-7"},
        {"type": "text", "text": call},
    )
    assert {entry["path"] for entry in aimock.journal()} == {"/v1/messages"}


async def test_an_answer_that_grew_too_long_says_so(aimock: AiMock) -> None:
    long = {**ANY, "response": {"content": "Hi", "finishReason": "length"}}
    async with ANTHROPIC_MESSAGES.talking(aimock, long) as provider:
        assert end_of(await read(provider)).reason is StopReason.LENGTH
