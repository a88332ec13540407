"""What only Gemini's generateContent does, over real HTTP, against the npm double."""

from agent.messages import Message, Role
from agent.ports.model import StopReason
from tests.fakes.aimock import AiMock
from tests.fakes.gemini_service import MODEL
from tests.fakes.vendor_doubles import ANY, GEMINI, MESSAGES, end_of, read, texts, thoughts


async def test_thoughts_come_apart_from_the_answer(aimock: AiMock) -> None:
    async with GEMINI.talking(aimock, {**ANY, "response": {"content": "Hi", "reasoning": "They greet."}}) as provider:
        events = await read(provider)
    assert (thoughts(events), texts(events)) == ("They greet.", ["Hi"])
    (entry,) = aimock.journal()
    assert entry["path"] == f"/v1beta/models/{MODEL}:streamGenerateContent?alt=sse"


async def test_a_call_and_its_results_are_two_requests_of_one_conversation(aimock: AiMock) -> None:
    call = '<execute>[{"name": "recall", "args": {"query": "boat"}}]'
    async with GEMINI.talking(
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
    async with GEMINI.talking(aimock, {**ANY, "response": {"content": "Hi", "finishReason": "length"}}) as provider:
        assert end_of(await read(provider)).reason is StopReason.LENGTH
