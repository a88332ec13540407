"""Ollama's OpenAI-compatible server, in the shapes that its source and its documentation give.

https://docs.ollama.com/api/openai-compatibility, https://docs.ollama.com/api/errors, `openai/openai.go`.
"""

import asyncio
from typing import Any

import pytest

from agent.errors import ContextTooLong, ProviderRefused, ProviderUnavailable, StreamBroken
from agent.messages import JsonObject, Message, Role, ToolSpec
from agent.ports.model import CallOptions, ProviderEvent, ReasoningArrived, ResponseEnded, StopReason, TokensArrived
from agent.protocol.grammar import teach
from agent.providers.catalog import OLLAMA, ToolsForm
from agent.providers.factory import open_chat
from agent.providers.replay import ProviderWorld
from tests.fakes.clock import FakeClock
from tests.fakes.model_server import DONE, ModelServer, Reply, event, head, whole
from tests.patience import PATIENCE_S

MESSAGES = (
    Message(Role.SYSTEM, f"You are a bot.\n\n{teach('look(place): Look there.')}"),
    Message(Role.USER, "How is it there?"),
)
PLACE: JsonObject = {"type": "object", "properties": {"place": {"type": "string"}}}
OPTIONS = CallOptions(tools=(ToolSpec("look", "Look there.", PLACE),))


def chunk(finish: str | None = None, **delta: object) -> bytes:
    """As `ToChunk` writes it: each delta has a role and a content, and each call comes whole."""
    choice = {"index": 0, "delta": {"role": "assistant", "content": "", **delta}, "finish_reason": finish}
    return event({**FRAME, "choices": [choice]})


def usage(prompt: int, completion: int) -> bytes:
    counts = {"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": prompt + completion}
    return event({**FRAME, "choices": [], "usage": counts})


FRAME = {
    "id": "chatcmpl-77",
    "object": "chat.completion.chunk",
    "created": 1_795_900_000,
    "model": "qwen3:8b",
    "system_fingerprint": "fp_ollama",
}


def call(id_: str, index: int, place: str) -> dict[str, object]:
    arguments = f'{{"place":"{place}"}}'
    return {"id": id_, "index": index, "type": "function", "function": {"name": "look", "arguments": arguments}}


async def asked(*script: Reply, form: ToolsForm = ToolsForm.TEXT) -> tuple[list[ProviderEvent], list[Any]]:
    """Return the events of one answer, and the requests."""
    async with asyncio.timeout(PATIENCE_S), ModelServer(script) as server:
        world = ProviderWorld(FakeClock(), lambda: 0.0)
        provider = open_chat(OLLAMA.at(server.url), "qwen3:8b", None, world, form)
        try:
            events = [one async for one in provider.stream(MESSAGES, OPTIONS)]
        finally:
            await provider.aclose()
        return events, [request.json for request in server.requests]


async def refused(*script: Reply, form: ToolsForm = ToolsForm.TEXT) -> Exception:
    with pytest.raises((ContextTooLong, ProviderRefused, ProviderUnavailable, StreamBroken)) as raised:
        await asked(*script, form=form)
    return raised.value


def texts(events: list[ProviderEvent]) -> str:
    return "".join(one.text for one in events if isinstance(one, TokensArrived))


def ended(events: list[ProviderEvent]) -> ResponseEnded:
    assert isinstance(events[-1], ResponseEnded)
    return events[-1]


async def test_thoughts_come_apart_from_the_answer_and_usage_behind_it() -> None:
    answer = [head(), chunk(reasoning="They ask."), chunk(content="Fine."), chunk("stop"), usage(26, 9), DONE]
    events, requests = await asked(answer)
    assert [one for one in events if isinstance(one, ReasoningArrived)] == [ReasoningArrived("They ask.")]
    assert texts(events) == "Fine."
    assert ended(events).reason is StopReason.END
    counted = ended(events).usage
    assert counted is not None
    assert (counted.input_uncached, counted.output, counted.estimated) == (26, 9, False)
    assert requests[0]["stream_options"] == {"include_usage": True}
    assert not requests[0].keys() & {"options", "num_ctx", "keep_alive"}  # fields of its own API, ignored here


async def test_an_answer_at_the_limit_of_tokens_is_cut() -> None:
    events, _ = await asked([head(), chunk(content="Fine, and"), chunk("length"), usage(26, 8192), DONE])
    assert ended(events).reason is StopReason.LENGTH


@pytest.mark.parametrize("reason", ["load", "unload"])
async def test_an_end_without_an_answer_is_no_whole_answer(reason: str) -> None:
    events, _ = await asked([head(), chunk(reason), DONE])
    assert texts(events) == ""
    assert ended(events).reason is StopReason.UNKNOWN


async def test_calls_come_whole_each_in_a_chunk_of_its_own_and_go_back_with_their_results() -> None:
    answer = [
        head(),
        chunk(tool_calls=[call("call_a", 0, "Oslo")]),
        chunk(tool_calls=[call("call_b", 1, "Rome")]),
        chunk("tool_calls"),
        usage(120, 30),
        DONE,
    ]
    events, requests = await asked(answer, form=ToolsForm.NATIVE)
    assert [one["function"]["name"] for one in requests[0]["tools"]] == ["look"]
    assert '{"place":"Oslo"}' in texts(events)
    assert '{"place":"Rome"}' in texts(events)
    native: Any = ended(events).native
    assert [one["id"] for one in native.items[0]["tool_calls"]] == ["call_a", "call_b"]


async def test_a_model_without_tools_or_thoughts_is_asked_without_them() -> None:
    message = "registry.ollama.ai/library/qwen3:8b does not support tools"
    refusal = whole(400, {"error": {"message": message, "type": "api_error", "param": None, "code": None}})
    events, requests = await asked(
        refusal, [head(), chunk(content="Fine."), chunk("stop"), DONE], form=ToolsForm.NATIVE
    )
    assert texts(events) == "Fine."
    assert ["tools" in request for request in requests] == [True, False]


async def test_an_error_in_the_middle_of_an_answer_ends_it_without_a_finish() -> None:
    # The server writes `{"error": …}` between the chunks; its translation makes an empty chunk of that.
    assert isinstance(await refused([head(), chunk(content="Fi"), chunk()]), StreamBroken)


@pytest.mark.parametrize(
    "message",
    [
        "chat prompt error: no user query found in messages",
        "the input length exceeds the context length",
        "request (7935 tokens) exceeds the available context size (4096 tokens), try increasing it",
    ],
)
@pytest.mark.parametrize("status", [400, 500])
async def test_a_prompt_that_does_not_fit_is_no_fault_of_the_server(status: int, message: str) -> None:
    error = await refused(whole(status, {"error": {"message": message, "type": "api_error"}}))
    assert isinstance(error, ContextTooLong)
    assert "OLLAMA_CONTEXT_LENGTH" in str(error)


async def test_a_machine_without_the_memory_for_the_model_is_asked_once() -> None:
    message = "model requires more system memory (9.9 GiB) than is available (7.6 GiB)"
    error = await refused(whole(500, {"error": {"message": message, "type": "api_error"}}))
    assert "does not have enough memory for the model “qwen3:8b”. Choose a smaller model" in str(error)


async def test_a_busy_server_is_asked_again() -> None:
    message = "server busy, please try again.  maximum pending requests exceeded"
    busy = whole(503, {"error": {"message": message, "type": "api_error"}})
    events, requests = await asked(busy, [head(), chunk(content="Fine."), chunk("stop"), DONE])
    assert texts(events) == "Fine."
    assert len(requests) == 2
