"""Properties of Chat Completions servers, over real HTTP, against the npm double."""

from typing import cast

import pytest

from agent.errors import ProviderRefused, ProviderUnavailable
from agent.messages import Message, Role, Usage
from agent.ports.model import StopReason
from tests.fakes.aimock import AiMock
from tests.fakes.vendor_doubles import ANY, CHAT, MESSAGES, end_of, read, texts, thoughts


async def test_reasoning_comes_apart_from_the_answer(aimock: AiMock) -> None:
    async with CHAT.talking(aimock, {**ANY, "response": {"content": "Hi", "reasoning": "They greet."}}) as provider:
        events = await read(provider)
    assert (thoughts(events), texts(events)) == ("They greet.", ["Hi"])


async def test_an_answer_that_grew_too_long_says_so(aimock: AiMock) -> None:
    async with CHAT.talking(aimock, {**ANY, "response": {"content": "Hi", "finishReason": "length"}}) as provider:
        assert end_of(await read(provider)).reason is StopReason.LENGTH


async def test_a_call_and_its_results_are_two_requests_of_one_conversation(aimock: AiMock) -> None:
    call = '<execute>[{"name": "recall", "args": {"query": "boat"}}]\n</execute>'
    results = '<results>[{"name": "recall", "status": "success", "content": "blue"}]</results>'
    async with CHAT.talking(
        aimock,
        {"match": {"userMessage": "<results>"}, "response": {"content": "It is blue."}},
        {**ANY, "response": {"content": call}},
    ) as provider:
        first = "".join(texts(await read(provider)))
        second = await read(provider, [*MESSAGES, Message(Role.ASSISTANT, first), Message(Role.USER, results)])
    assert first == call
    assert texts(second) == ["It is blue."]
    bodies = [cast("dict[str, object]", entry["body"]) for entry in aimock.journal()]
    sent = [cast("list[dict[str, str]]", body["messages"]) for body in bodies]
    assert sent[1][: len(sent[0])] == sent[0]
    assert [message["role"] for message in sent[1]] == ["system", "user", "assistant", "user"]


async def test_a_connection_lost_before_the_answer_is_told(aimock: AiMock) -> None:
    async with CHAT.talking(aimock, {**ANY, "response": {"content": "Hi"}, "chaos": {"disconnectRate": 1}}) as provider:
        with pytest.raises(ProviderUnavailable, match="closed the connection without an answer"):
            await read(provider)
    assert len(aimock.journal()) == 1


async def test_an_answer_that_is_no_stream_is_refused(aimock: AiMock) -> None:
    async with CHAT.talking(aimock, {**ANY, "response": {"content": "Hi"}, "chaos": {"malformedRate": 1}}) as provider:
        with pytest.raises(ProviderRefused, match="does not stream model answers"):
            await read(provider)


async def test_a_slow_stream_is_only_slow(aimock: AiMock) -> None:
    slow = {"ttft": 100, "tps": 50}
    async with CHAT.talking(aimock, {**ANY, "response": {"content": "Hi there"}, "streamingProfile": slow}) as provider:
        assert "".join(texts(await read(provider))) == "Hi there"


async def test_usage_that_the_double_makes_up_is_not_taken_for_an_estimate_of_ours(aimock: AiMock) -> None:
    async with CHAT.talking(aimock, {**ANY, "response": {"content": "Hi"}}) as provider:
        usage = end_of(await read(provider)).usage
    assert usage is not None
    assert not usage.estimated
    assert usage != Usage(bytes_up=usage.bytes_up)
