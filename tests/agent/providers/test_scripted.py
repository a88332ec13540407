"""The scripted model does what its script says, and remembers what it was asked."""

import asyncio
from collections.abc import Sequence

import pytest

from agent.errors import ProviderRefused, ProviderUnavailable, StreamBroken
from agent.messages import Message, Role, Usage
from agent.ports.model import Provider, ProviderEvent, ReasoningArrived, ResponseEnded, StopReason, TokensArrived
from agent.providers.scripted import ScriptedProvider, ScriptPause, Until
from tests.patience import PATIENCE_S

QUESTION = (Message(Role.USER, "Hello?"),)


async def read(provider: Provider, messages: Sequence[Message] = QUESTION) -> list[ProviderEvent]:
    return [event async for event in provider.stream(messages)]


async def test_each_request_gets_the_next_answer_and_is_kept() -> None:
    provider = ScriptedProvider(["one", "two"], usage=Usage(output=1))
    assert await read(provider) == [TokensArrived("one"), ResponseEnded(StopReason.END, Usage(output=1))]
    assert (await read(provider))[0] == TokensArrived("two")
    assert provider.requests == [QUESTION, QUESTION]


async def test_a_request_beyond_the_script_is_refused_with_a_sentence() -> None:
    with pytest.raises(ProviderRefused, match="0 answers; this was request 1"):
        await read(ScriptedProvider([]))


async def test_an_answer_may_be_a_function_of_the_messages() -> None:
    provider = ScriptedProvider([lambda messages: messages[-1].text.upper()])
    assert (await read(provider))[0] == TokensArrived("HELLO?")


async def test_one_function_may_answer_every_request() -> None:
    provider = ScriptedProvider(lambda messages: ["you said ", messages[-1].text])
    assert [await read(provider), await read(provider)] == [
        [TokensArrived("you said "), TokensArrived("Hello?"), ResponseEnded(StopReason.END, Usage())]
    ] * 2


async def test_events_pass_through_and_an_ended_response_is_the_last() -> None:
    end = ResponseEnded(StopReason.HALTED)
    provider = ScriptedProvider([[ReasoningArrived("hm"), "text", end, "never"]])
    assert await read(provider) == [ReasoningArrived("hm"), TokensArrived("text"), end]


async def test_errors_are_raised_where_they_stand() -> None:
    provider = ScriptedProvider([[ProviderUnavailable("down")], ["half", StreamBroken("cut")]])
    with pytest.raises(ProviderUnavailable, match="down"):
        await read(provider)
    seen: list[ProviderEvent] = []
    with pytest.raises(StreamBroken, match="cut"):
        seen.extend([event async for event in provider.stream(QUESTION)])
    assert provider.open_streams == 0


async def test_a_pause_goes_through_the_sleep_that_was_given() -> None:
    slept: list[float] = []

    async def sleep(seconds: float) -> None:
        slept.append(seconds)

    await read(ScriptedProvider([["a", ScriptPause(2.5), "b"]], sleep=sleep))
    assert slept == [2.5]


async def test_a_model_that_hangs_can_be_cancelled_and_leaves_nothing_open() -> None:
    never = asyncio.Event()
    provider = ScriptedProvider([["a", Until(never.wait)]])
    arrived = asyncio.Event()

    async def listen() -> None:
        async for _ in provider.stream(QUESTION):
            arrived.set()

    async with asyncio.timeout(PATIENCE_S):
        task = asyncio.create_task(listen())
        await arrived.wait()
        assert provider.open_streams == 1
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    assert provider.open_streams == 0


async def test_closing_the_generator_early_leaves_nothing_open() -> None:
    provider = ScriptedProvider([["a", "b", "c"]])
    stream = provider.stream(QUESTION)
    assert await anext(stream) == TokensArrived("a")
    await stream.aclose()
    assert provider.open_streams == 0
