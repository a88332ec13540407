"""What only Gemini's Interactions do, over real HTTP, against the npm double, which keeps and deletes nothing."""

from agent.messages import Message, Role
from agent.ports.model import CallOptions, HandleKept, StopReason
from agent.providers.wire_interactions import PREFIX, InteractionsProvider
from tests.fakes.aimock import AiMock
from tests.fakes.vendor_doubles import ANY, INTERACTIONS, MESSAGES, end_of, texts


async def test_the_rounds_of_a_session_build_on_one_another(aimock: AiMock) -> None:
    call = '<execute>[{"name": "recall", "args": {"query": "boat"}}]'
    async with INTERACTIONS.talking(
        aimock,
        {"match": {"userMessage": "<results>"}, "response": {"content": "It is blue."}},
        {**ANY, "response": {"content": call}},
    ) as provider:
        assert isinstance(provider, InteractionsProvider)
        session = provider.connect(CallOptions())
        first = [event async for event in session.answer(MESSAGES)]
        step = Message(Role.ASSISTANT, "".join(texts(first)), native=end_of(first).native)
        second = [
            event async for event in session.answer([*MESSAGES, step, Message(Role.USER, "<results>[]</results>")])
        ]
        handles = [event.handle for event in (*first, *second) if isinstance(event, HandleKept)]
        await session.close()
    assert end_of(first).reason is StopReason.HALTED
    assert texts(second) == ["It is blue."]
    assert len(set(handles)) == 2
    assert all(handle.startswith(PREFIX) for handle in handles)
    posts = [entry for entry in aimock.journal() if entry["method"] == "POST"]
    assert {entry["path"] for entry in posts} == {"/v1beta/interactions"}
    assert ["Be brief." in str(entry["body"]) for entry in posts] == [True, False]
