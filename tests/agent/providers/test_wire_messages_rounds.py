"""Anthropic's Messages over real HTTP on loopback: rounds of one turn, and what goes back in them."""

import json
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from typing import cast

import pytest

from agent.errors import ProviderRefused, ProviderUnavailable
from agent.messages import Message, Role
from agent.ports.model import ProviderEvent, ReasoningArrived, ResponseEnded, StopReason, TokensArrived
from tests.contracts.model_world import Calls, Refuses, Says
from tests.fakes.anthropic_service import MessagesWire, anthropic_world
from tests.fakes.http_world import USAGE, HttpWorld
from tests.fakes.vendor_types import fits, knows

pytestmark = pytest.mark.slow  # importing the vendor's client takes a second
SENT = "anthropic.types.message_create_params:MessageCreateParamsStreaming"

MESSAGES = (Message(Role.SYSTEM, "Be brief."), Message(Role.USER, "Hello"))
CALL = '[{"name": "recall", "args": {"query": "boat"}}]'


@asynccontextmanager
async def serving(*turns: Says | Calls | Refuses) -> AsyncGenerator[HttpWorld, None]:
    async with anthropic_world() as world:
        world.plan(*turns)
        yield world


async def read(world: HttpWorld, messages: Sequence[Message] = MESSAGES) -> list[ProviderEvent]:
    return [event async for event in world.provider.stream(messages)]


def end_of(events: Sequence[ProviderEvent]) -> ResponseEnded:
    assert isinstance(events[-1], ResponseEnded)
    return events[-1]


def said(events: Sequence[ProviderEvent]) -> str:
    return "".join(event.text for event in events if isinstance(event, TokensArrived))


def after(events: Sequence[ProviderEvent]) -> list[Message]:
    step = Message(Role.ASSISTANT, said(events), native=end_of(events).native)
    return [*MESSAGES, step, Message(Role.USER, "<results>[]</results>")]


def conversation(world: HttpWorld, number: int) -> list[dict[str, object]]:
    return cast("list[dict[str, object]]", world.server.requests[number].json["messages"])


async def test_thinking_and_calls_go_back_as_they_came() -> None:
    async with serving(Calls((CALL,), "I look.", "Where is it?"), Says(("Blue.",))) as world:
        first = await read(world)
        assert first[0] == ReasoningArrived("Where is it?")
        assert end_of(first).reason is StopReason.HALTED
        assert said(await read(world, after(first))) == "Blue."
        assert conversation(world, 1)[:1] == conversation(world, 0)
        assert conversation(world, 1)[1]["content"] == [
            {"type": "thinking", "thinking": "Where is it?", "signature": "sig-1"},
            {"type": "text", "text": f"I look.\n<execute>{CALL}\n</execute>"},
        ]
        assert all(fits(SENT, request.json) for request in world.server.requests)


async def test_thinking_that_the_vendor_no_longer_takes_is_left_out_and_the_words_stay() -> None:
    refusal = Refuses(400, message="messages.1.content.0: Invalid `signature` in `thinking` block")
    async with serving(Calls((CALL,), reasoning="Where?"), refusal, Says(("Blue.",))) as world:
        messages = after(await read(world))
        assert said(await read(world, messages)) == "Blue."
        assert conversation(world, 2)[1]["content"] == [{"type": "text", "text": messages[2].text}]
        assert world.clock.monotonic() == 0


async def test_a_refusal_of_something_else_is_told_after_one_more_try_in_plain_words() -> None:
    refusal = Refuses(400, message="the picture is too large")
    async with serving(Calls((CALL,), reasoning="Where?"), refusal, refusal) as world:
        messages = after(await read(world))
        with pytest.raises(ProviderRefused) as refused:
            await read(world, messages)
    assert "the picture is too large" in refused.value.reason.quoted


async def test_no_credit_comes_as_a_bad_request() -> None:
    async with serving(Refuses(400, message="Your credit balance is too low to access the Anthropic API.")) as world:
        with pytest.raises(ProviderRefused, match="no credit left"):
            await read(world)


async def test_an_overload_is_waited_out_and_then_told() -> None:
    async with serving(*[Refuses(529)] * 3) as world:
        with pytest.raises(ProviderUnavailable, match="Anthropic returned a server error"):
            await read(world)
        assert len(world.asked) == 3


@pytest.mark.parametrize("reasoning", ["", "Hm."])
def test_the_fake_speaks_as_the_vendor_does(reasoning: str) -> None:
    wire = MessagesWire()
    events = [*wire.begin(reasoning), wire.text("Hi"), *wire.end(USAGE, halted=True)]
    assert all(knows("anthropic.types:RawMessageStreamEvent", event) for event in events if event != {"type": "ping"})
    assert knows("anthropic.types:Message", json.loads(json.dumps(cast("dict[str, object]", events[0])["message"])))
