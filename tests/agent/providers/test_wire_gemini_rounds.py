"""Gemini's generateContent over real HTTP on loopback: rounds of one turn, and what goes back in them."""

import json
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from pkgutil import resolve_name
from typing import cast

import pytest

from agent.errors import ProviderRefused
from agent.messages import Message, Role
from agent.ports.model import ProviderEvent, ReasoningArrived, ResponseEnded, StopReason, TokensArrived
from tests.contracts.model_world import Calls, Refuses, Says
from tests.fakes.gemini_service import GeminiWire, gemini_world
from tests.fakes.http_world import USAGE, HttpWorld

MESSAGES = (Message(Role.SYSTEM, "Be brief."), Message(Role.USER, "Hello"))
CALL = '[{"name": "recall", "args": {"query": "boat"}}]'


@asynccontextmanager
async def serving(*turns: Says | Calls | Refuses) -> AsyncGenerator[HttpWorld, None]:
    async with gemini_world() as world:
        world.plan(*turns)
        yield world


async def read(world: HttpWorld, messages: Sequence[Message] = MESSAGES) -> list[ProviderEvent]:
    return [event async for event in world.provider.stream(messages)]


def end_of(events: Sequence[ProviderEvent]) -> ResponseEnded:
    assert isinstance(events[-1], ResponseEnded)
    return events[-1]


def said(events: Sequence[ProviderEvent]) -> str:
    return "".join(event.text for event in events if isinstance(event, TokensArrived))


def conversation(world: HttpWorld, number: int) -> list[dict[str, object]]:
    return cast("list[dict[str, object]]", world.server.requests[number].json["contents"])


async def test_signatures_and_calls_go_back_as_they_came() -> None:
    async with serving(Calls((CALL,), "I look.", "Where is it?"), Says(("Blue.",))) as world:
        first = await read(world)
        assert first[0] == ReasoningArrived("Where is it?")
        assert end_of(first).reason is StopReason.HALTED
        step = Message(Role.ASSISTANT, said(first), native=end_of(first).native)
        results = Message(Role.USER, "<results>[]</results>")
        assert said(await read(world, [*MESSAGES, step, results])) == "Blue."
        assert conversation(world, 1)[:1] == conversation(world, 0)
        assert conversation(world, 1)[1]["parts"] == [
            {"text": "", "thoughtSignature": "c2ln"},
            {"text": f"I look.\n<execute>{CALL}\n</execute>"},
        ]


async def test_the_key_stands_in_its_header_and_nowhere_else() -> None:
    async with serving(Says(("Hi",))) as world:
        await read(world)
        (request,) = world.server.requests
        assert request.headers["x-goog-api-key"] == "key-1"
        assert "authorization" not in request.headers
        assert "key-1" not in request.path


async def test_a_bad_key_comes_as_a_bad_request() -> None:
    async with serving(Refuses(400, "API_KEY_INVALID", "API key not valid.")) as world:
        with pytest.raises(ProviderRefused, match=r"refused the API key \(400\)\. Check GEMINI_API_KEY"):
            await read(world)


async def test_an_unknown_model_is_named() -> None:
    message = "models/gemini-3.8-flash is not found for API version v1beta."
    async with serving(Refuses(404, message=message)) as world:
        with pytest.raises(ProviderRefused, match="does not know the model"):
            await read(world)


@pytest.mark.slow
@pytest.mark.parametrize("reasoning", ["", "Hm."])
def test_the_fake_speaks_as_the_vendor_does(reasoning: str) -> None:
    types = resolve_name("google.genai.types")
    wire = GeminiWire()
    for value in (*wire.begin(reasoning), wire.text("Hi"), *wire.end(USAGE, halted=True)):
        assert types.GenerateContentResponse.model_validate_json(json.dumps(value)).candidates
