"""Every dialect over HTTP: a complete body does not mean a complete answer."""

import asyncio
import json
from collections.abc import AsyncGenerator, Callable
from contextlib import nullcontext
from dataclasses import replace

import pytest

from agent.errors import StreamBroken
from agent.messages import JsonObject, Message, Role
from agent.ports.model import ProviderEvent, ReasoningArrived, ResponseEnded, StopReason, TokensArrived
from agent.providers.catalog import ANTHROPIC, GEMINI, OPENAI, Endpoint
from agent.providers.factory import ProviderWorld, open_chat, open_gemini, open_messages, open_responses_http
from agent.providers.replay import AttemptFailed, ModelTimeouts, ReplayProvider, with_timeouts
from tests.fakes.clock import FakeClock
from tests.fakes.model_server import CHUNKED, ModelServer, framed, head
from tests.patience import PATIENCE_S

QUESTION = (Message(Role.USER, "Hello?"),)
HALF_OF = {
    "responses": {"type": "response.output_text.delta", "output_index": 0, "content_index": 0, "delta": "Half"},
    "messages": {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "Half"}},
    "gemini": {"candidates": [{"content": {"role": "model", "parts": [{"text": "Half"}]}}]},
    "chat": {"choices": [{"delta": {"content": "Half"}}]},
}
Open = Callable[[Endpoint, str, str | None, ProviderWorld], ReplayProvider]


async def answer(name: str, open_: Open, endpoint: Endpoint, seen: list[ProviderEvent]) -> None:
    """Read an answer that has begun and whose body then ends, complete for HTTP."""
    half = b"data: " + json.dumps(HALF_OF[name]).encode() + b"\n\n"
    async with asyncio.timeout(PATIENCE_S), ModelServer([[head(extra=CHUNKED), framed(half), framed(b"")]]) as server:
        line = ProviderWorld(FakeClock(), lambda: 0.0)
        provider = open_(replace(endpoint, base_url=server.url), "m-1", "key", line)
        try:
            async for event in provider.stream(QUESTION):
                seen.append(event)  # noqa: PERF401 -- an error may come in between
        finally:
            await provider.aclose()


@pytest.mark.parametrize(
    ("name", "open_", "endpoint"),
    [
        ("responses", open_responses_http, OPENAI),
        ("messages", open_messages, ANTHROPIC),
        ("gemini", open_gemini, GEMINI),
    ],
)
async def test_where_answers_say_that_they_end_one_that_only_stops_was_cut(
    name: str, open_: Open, endpoint: Endpoint
) -> None:
    seen: list[ProviderEvent] = []
    with pytest.raises(StreamBroken, match="was cut off"):
        await answer(name, open_, endpoint, seen)
    assert [event.text for event in seen if isinstance(event, TokensArrived)] == ["Half"]


ENDS_OF: dict[str, list[JsonObject]] = {
    "messages": [{"type": "message_delta", "delta": {"stop_reason": "end_turn"}}, {"type": "message_stop"}],
    "gemini": [{"candidates": [{"content": {}, "finishReason": "STOP"}]}],
    "chat": [{"choices": [{"delta": {}, "finish_reason": "stop"}]}],
}


@pytest.mark.parametrize("broken", [b"", b'data: {"choices": [{"delta": {"cont\n\n'], ids=["whole", "torn"])
@pytest.mark.parametrize(
    ("name", "open_", "endpoint"),
    [("messages", open_messages, ANTHROPIC), ("gemini", open_gemini, GEMINI), ("chat", open_chat, OPENAI)],
)
async def test_an_answer_with_a_chunk_that_is_no_json_may_be_incomplete(
    name: str, open_: Open, endpoint: Endpoint, broken: bytes
) -> None:
    half, *ends = (b"data: " + json.dumps(one).encode() + b"\n\n" for one in (HALF_OF[name], *ENDS_OF[name]))
    body = [framed(part) for part in (half, broken, *ends) if part]
    async with asyncio.timeout(PATIENCE_S), ModelServer([[head(extra=CHUNKED), *body, framed(b"")]]) as server:
        world = ProviderWorld(FakeClock(), lambda: 0.0)
        provider = open_(replace(endpoint, base_url=server.url), "m-1", "key", world)
        seen = [event async for event in provider.stream(QUESTION)]
        await provider.aclose()
    assert isinstance(seen[-1], ResponseEnded)
    assert seen[-1].reason is (StopReason.UNKNOWN if broken else StopReason.END)


@pytest.mark.parametrize(("last", "in_vain"), [(ReasoningArrived(""), False), (ReasoningArrived("Hm."), True)])
async def test_a_model_that_reasons_silently_is_given_as_long_as_for_its_first_word(
    last: ReasoningArrived, *, in_vain: bool
) -> None:
    async def answers() -> AsyncGenerator[ProviderEvent, None]:
        yield TokensArrived("On it.")
        yield last
        thought = asyncio.Event()
        asyncio.get_running_loop().call_later(0.2, thought.set)
        await thought.wait()
        yield TokensArrived(" Done.")

    patience = ModelTimeouts(first_token_s=10, between_tokens_s=0.05)
    with pytest.raises(AttemptFailed) if in_vain else nullcontext():
        assert [event async for event in with_timeouts(answers(), patience)][-1] == TokensArrived(" Done.")


async def test_a_compatible_server_may_just_stop() -> None:
    seen: list[ProviderEvent] = []
    await answer("chat", open_chat, OPENAI, seen)
    assert isinstance(seen[-1], ResponseEnded)
