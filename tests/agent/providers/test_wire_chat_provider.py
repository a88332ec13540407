"""Chat Completions over real HTTP on loopback, against a server that misbehaves on demand."""

import asyncio
import json
import logging
import socket
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing, asynccontextmanager

import pytest

from agent.errors import ProviderRefused, ProviderUnavailable, StreamBroken
from agent.messages import Depth, Image, Message, Role, Usage
from agent.ports.model import (
    CallOptions,
    Halt,
    PromptReduced,
    ProviderEvent,
    ReasoningArrived,
    ResponseEnded,
    StopReason,
    TokensArrived,
)
from agent.protocol.grammar import STOP_SEQUENCE
from agent.providers.catalog import OLLAMA, OPENAI, VLLM, Endpoint
from agent.providers.factory import ProviderWorld, open_chat
from agent.providers.replay import ModelTimeouts, ReplayProvider
from agent.providers.wire_chat import SMALL_MODELS_SAMPLING, SMALL_REASONERS_SAMPLING
from agent.texts import PICTURES_REFUSED
from tests.fakes.clock import FakeClock
from tests.fakes.model_server import (
    CHUNKED,
    CUT,
    DONE,
    KEEP,
    KEEP_ALIVE,
    ModelServer,
    Reply,
    Wait,
    event,
    framed,
    head,
    text,
    whole,
)
from tests.patience import PATIENCE_S

KEY = "sk-secret-4711"
MESSAGES = (Message(Role.SYSTEM, "Be brief."), Message(Role.USER, "context"), Message(Role.USER, "Hello?"))
PATIENT = ModelTimeouts()
IMPATIENT = ModelTimeouts(first_token_s=0.2, between_tokens_s=0.2, tail_s=0.1)


def connected(
    server: ModelServer,
    *,
    endpoint: Endpoint = OPENAI,
    patience: ModelTimeouts = PATIENT,
    clock: FakeClock | None = None,
) -> ReplayProvider:
    return open_chat(endpoint.at(server.url), "m-1", KEY, ProviderWorld(clock or FakeClock(), lambda: 0.0, patience))


@asynccontextmanager
async def serving(
    *script: Reply, patience: ModelTimeouts = PATIENT, clock: FakeClock | None = None
) -> AsyncGenerator[tuple[ReplayProvider, ModelServer], None]:
    async with asyncio.timeout(PATIENCE_S), ModelServer(script) as server:
        provider = connected(server, patience=patience, clock=clock)
        try:
            yield provider, server
        finally:
            await provider.aclose()


async def read(provider: ReplayProvider, messages: Sequence[Message] = MESSAGES) -> list[ProviderEvent]:
    return [event async for event in provider.stream(messages)]


def texts(events: Sequence[ProviderEvent]) -> str:
    return "".join(event.text for event in events if isinstance(event, TokensArrived))


def end_of(events: Sequence[ProviderEvent]) -> ResponseEnded:
    assert isinstance(events[-1], ResponseEnded)
    return events[-1]


ANSWER: Reply = [head(), text("Hi"), text(" there", finish_reason="stop"), DONE]


async def test_an_answer_arrives_piece_by_piece_and_ends() -> None:
    async with serving(ANSWER) as (provider, _):
        events = await read(provider)
    assert events[:2] == [TokensArrived("Hi"), TokensArrived(" there")]
    assert end_of(events).reason is StopReason.END


async def test_the_request_says_what_the_protocol_needs_and_no_more() -> None:
    async with serving(ANSWER) as (provider, server):
        await read(provider)
        (request,) = server.requests
    assert (request.method, request.path) == ("POST", "/v1/chat/completions")
    assert request.headers["authorization"] == f"Bearer {KEY}"
    assert request.json == {
        "model": "m-1",
        "messages": [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "context\n\nHello?"},
        ],
        "stream": True,
        "stream_options": {"include_usage": True},
        "stop": [STOP_SEQUENCE],
    }


async def test_usage_and_bytes_are_reported() -> None:
    usage = {"prompt_tokens": 100, "completion_tokens": 20, "prompt_tokens_details": {"cached_tokens": 64}}
    reply = [head(), text("Hi", finish_reason="stop"), event({"choices": [], "usage": usage}), DONE]
    async with serving(reply) as (provider, server):
        end = end_of(await read(provider))
        sent = len(server.requests[0].body)
    assert end.usage == Usage(input_uncached=36, input_cached=64, output=20, bytes_up=sent)


async def test_usage_that_is_missing_is_estimated_and_marked() -> None:
    async with serving(ANSWER) as (provider, _):
        usage = end_of(await read(provider)).usage
    assert usage is not None
    assert usage.estimated
    assert usage.output == 2
    assert usage.input_uncached > 0


async def test_tools_of_the_transport_are_forgiving() -> None:
    """Comments, garbage, unknown events, null fields, half characters between packets, no [DONE]."""
    boat = text("caf\u00e9 \U0001f6f6", finish_reason="stop")
    reply = [
        head(extra=CHUNKED),
        framed(b": ping\n\n"),
        framed(b"data: broken\n\n"),
        framed(event({"object": "ping"})),
        framed(event({"choices": None, "usage": None})),
        framed(event({"choices": [{"index": 0, "delta": {"role": "assistant", "content": None}}]})),
        *[framed(boat[i : i + 1]) for i in range(len(boat))],
        framed(b""),
    ]
    async with serving(reply) as (provider, _):
        events = await read(provider)
    assert texts(events) == "caf\u00e9 \U0001f6f6"
    assert end_of(events).reason is StopReason.END


@pytest.mark.parametrize("field", ["reasoning", "reasoning_content"])
async def test_reasoning_is_told_apart_from_the_answer(field: str) -> None:
    reply = [head(), event({"choices": [{"delta": {field: "hm"}}]}), text("Hi", finish_reason="stop"), DONE]
    async with serving(reply) as (provider, _):
        events = await read(provider)
    assert events[:2] == [ReasoningArrived("hm"), TokensArrived("Hi")]


async def test_a_server_that_does_not_stream_is_read_whole() -> None:
    answer = {"choices": [{"message": {"role": "assistant", "content": "Hi there"}, "finish_reason": "stop"}]}
    async with serving(whole(200, answer)) as (provider, _):
        assert texts(await read(provider)) == "Hi there"


async def test_an_answer_without_an_end_may_be_incomplete_even_if_the_body_is_whole() -> None:
    """A gateway ends the body in good form when the model behind it is gone."""
    reply = [head(extra=CHUNKED), framed(text("Hi")), framed(b"")]
    async with serving(reply) as (provider, _):
        events = await read(provider)
    assert texts(events) == "Hi"
    assert end_of(events).reason is StopReason.UNKNOWN


@pytest.mark.parametrize(
    "error", [event({"error": {"message": "gone"}}), b"event: error\ndata: gone\n\n", b'error: {"code": 500}\n\n']
)
async def test_an_error_after_the_end_changes_nothing(error: bytes) -> None:
    async with serving([head(), text("Hi", finish_reason="stop"), error, DONE]) as (provider, _):
        events = await read(provider)
    assert texts(events) == "Hi"
    assert end_of(events).reason is StopReason.END


@pytest.mark.parametrize(
    "error",
    [
        event({"error": {"message": "gone"}}),
        event({"object": "error", "message": "gone"}),
        event({"detail": "gone"}),
        b"event: error\ndata: gone\n\n",
        b'event: error\ndata: {"message": "gone"}\n\n',
        b'error: {"code": 500, "message": "gone"}\n\n',
        b'{"error": {"message": "gone"}}\n\n',
        event({"choices": [{"finish_reason": "error"}], "error": {"code": 502, "message": "gone"}}),
    ],
)
async def test_an_error_of_any_form_within_the_answer_breaks_it(error: bytes) -> None:
    async with serving([head(), text("Hi"), error, DONE]) as (provider, _):
        stream = provider.stream(MESSAGES)
        assert await anext(stream) == TokensArrived("Hi")
        with pytest.raises(StreamBroken):
            await anext(stream)


WHOLE = {"choices": [{"message": {"role": "assistant", "content": "It is blue."}, "finish_reason": "stop"}]}


@pytest.mark.parametrize("content_type", ["text/event-stream", "application/json; charset=utf-8", "text/plain", ""])
@pytest.mark.parametrize(
    "body",
    [
        text("It is blue.", finish_reason="stop") + DONE,
        json.dumps(WHOLE).encode(),
        json.dumps(WHOLE, indent=2).encode(),
        b"\n".join(
            json.dumps({"choices": [{"delta": {"content": word}, "finish_reason": end}]}).encode()
            for word, end in (("It is ", None), ("blue.", "stop"))
        ),
    ],
    ids=["events", "one line", "many lines", "a line each"],
)
async def test_the_form_of_an_answer_is_seen_whatever_its_label_says(content_type: str, body: bytes) -> None:
    async with serving([head(content_type=content_type), body]) as (provider, _):
        events = await read(provider)
    assert texts(events) == "It is blue."
    assert end_of(events).reason is StopReason.END


@pytest.mark.parametrize("body", [b"", b"\n\n", b": ping\n\n"])
async def test_an_empty_answer_is_asked_for_again(body: bytes) -> None:
    async with serving([head(extra=CHUNKED), *([framed(body)] if body else []), framed(b"")], ANSWER) as (
        provider,
        server,
    ):
        assert texts(await read(provider)) == "Hi there"
        assert len(server.requests) == 2


async def test_answers_that_stay_empty_are_told() -> None:
    empty: Reply = [head(extra="content-length: 0\r\n")]
    async with serving(*[empty] * 3) as (provider, _):
        with pytest.raises(ProviderUnavailable) as caught:
            await read(provider)
    assert caught.value.reason.to_person == "OpenAI sent an empty answer; please ask again."
    assert "check OPENAI_BASE_URL" in str(caught.value)


PICTURE = Message(Role.USER, "What is this?", images=(Image("image/png", b"png"),))


@pytest.mark.parametrize("status", [400, 403, 404, 413, 415, 422])
async def test_pictures_that_are_refused_in_any_words_are_left_out_once_and_the_answer_says_so(status: int) -> None:
    async with serving(whole(status, {"error": {"message": "Invalid content type"}}), ANSWER) as (provider, server):
        events = await read(provider, (*MESSAGES, PICTURE))
        one, two = (request.body for request in server.requests)
    assert b"image_url" in one
    assert b"image_url" not in two
    assert [event for event in events if isinstance(event, PromptReduced)] == [PromptReduced(PICTURES_REFUSED)]
    assert texts(events) == "Hi there"


async def test_a_refusal_that_stays_without_pictures_is_told_as_it_is() -> None:
    refusal = whole(400, {"error": {"message": "Invalid thing"}})
    async with serving(refusal, refusal) as (provider, server):
        with pytest.raises(ProviderRefused) as caught:
            await read(provider, (*MESSAGES, PICTURE))
        assert len(server.requests) == 2
    assert "Invalid thing" in caught.value.reason.to_operator


async def test_an_answer_without_a_finish_is_cut_if_the_body_has_no_end() -> None:
    async with serving([head(), text("Hi")]) as (provider, _):
        with pytest.raises(StreamBroken, match=r"OpenAI was cut off\. Please ask again"):
            await read(provider)


async def test_a_lost_connection_after_the_finish_loses_nothing() -> None:
    reply = [head(extra=CHUNKED), framed(text("Hi", finish_reason="stop")), CUT]
    async with serving(reply) as (provider, _):
        assert texts(await read(provider)) == "Hi"


async def test_a_server_that_stays_open_after_the_finish_is_not_waited_for() -> None:
    never = asyncio.Event()
    reply = [head(), text("Hi", finish_reason="length"), Wait(never.wait)]
    async with serving(reply, patience=ModelTimeouts(tail_s=0.05)) as (provider, server):
        assert end_of(await read(provider)).reason is StopReason.LENGTH
        await server.left.wait()


async def test_a_cut_in_the_middle_breaks_the_stream_and_is_never_repeated() -> None:
    async with serving([head(extra=CHUNKED), framed(text("Hi")), CUT], ANSWER) as (provider, server):
        stream = provider.stream(MESSAGES)
        assert await anext(stream) == TokensArrived("Hi")
        with pytest.raises(StreamBroken):
            await anext(stream)
        assert len(server.requests) == 1


@pytest.mark.parametrize("cut", [[CUT], [head(extra=CHUNKED), framed(b": ping\n\n"), CUT]])
async def test_a_cut_before_the_first_event_is_told_and_never_repeated(cut: Reply) -> None:
    async with serving(cut, ANSWER) as (provider, server):
        with pytest.raises(ProviderUnavailable, match=r"may have processed the question\. Please ask again"):
            await read(provider)
        assert len(server.requests) == 1


async def test_bytes_of_every_attempt_are_counted() -> None:
    async with serving(whole(503, {}), ANSWER) as (provider, server):
        usage = end_of(await read(provider)).usage
        assert usage is not None
        assert usage.bytes_up == sum(len(request.body) for request in server.requests)


async def test_an_error_object_before_the_answer_is_an_error() -> None:
    reply = [head(), event({"error": {"message": "no such thing", "code": 400}}), DONE]
    async with serving(reply) as (provider, _):
        with pytest.raises(ProviderRefused, match=r"refused the request \(400\)"):
            await read(provider)


async def test_an_overload_before_the_answer_is_tried_again() -> None:
    reply = [head(), event({"error": {"type": "overloaded_error", "message": "busy"}})]
    async with serving(reply, ANSWER) as (provider, _):
        assert texts(await read(provider)) == "Hi there"


async def test_an_error_object_in_the_middle_breaks_the_stream() -> None:
    reply = [head(), text("Hi"), event({"error": {"type": "server_error", "message": "oops"}})]
    async with serving(reply) as (provider, _):
        with pytest.raises(StreamBroken, match=r"was cut off with an error \(500\)"):
            await read(provider)


@pytest.mark.parametrize(
    ("refusal", "missing"),
    [
        ({"error": {"message": "Unsupported parameter: 'stop'", "param": "stop"}}, "stop"),
        ({"error": "stream_options is not a known field"}, "stream_options"),
        ({"detail": [{"loc": ["body", "stream_options"], "msg": "Extra inputs are not permitted"}]}, "stream_options"),
    ],
)
async def test_a_field_that_the_server_refuses_is_left_out_from_then_on(
    refusal: dict[str, object], missing: str
) -> None:
    clock = FakeClock()
    async with serving(whole(400, refusal), ANSWER, ANSWER, clock=clock) as (provider, server):
        await read(provider)
        await read(provider)
        assert [missing in request.json for request in server.requests] == [True, False, False]
        assert clock.monotonic() == 0
        assert provider.capabilities.halt is (Halt.NONE if missing == "stop" else Halt.STOP_SEQUENCE)


@pytest.mark.parametrize(
    ("status", "refusal"),
    [
        (400, {"error": {"message": '"llama3.2" does not support thinking', "type": "invalid_request_error"}}),
        (500, {"error": {"message": 'think value "low" is not supported for this model', "type": "api_error"}}),
        (400, {"code": "Client error", "error": "Model grok-4 does not support parameter reasoningEffort."}),
        (422, {"message": {"detail": [{"type": "extra_forbidden", "loc": ["body", "reasoning_effort"]}]}}),
    ],
)
async def test_a_model_that_takes_no_effort_answers_without(status: int, refusal: dict[str, object]) -> None:
    async with serving(whole(status, refusal), ANSWER) as (provider, server):
        events = [event async for event in provider.stream(MESSAGES, CallOptions(depth=Depth.DEEP))]
        assert texts(events) == "Hi there"
        assert ["reasoning_effort" in request.json for request in server.requests] == [True, False]
        assert not provider.capabilities.effort


@pytest.mark.parametrize(
    ("endpoint", "model", "sampling"),
    [
        (OLLAMA, "qwen2.5:1.5b", SMALL_MODELS_SAMPLING),
        (OPENAI, "SmolLM2-135M-Instruct", SMALL_MODELS_SAMPLING),
        (OLLAMA, "qwen3:8b", SMALL_REASONERS_SAMPLING),
        (OLLAMA, "llama3.3:70b", {}),
        (OLLAMA, "llama3.2", {}),
    ],
)
async def test_only_for_small_models_of_ones_own_server_little_is_left_to_chance_and_answers_are_bounded(
    endpoint: Endpoint, model: str, sampling: Mapping[str, float]
) -> None:
    async with asyncio.timeout(PATIENCE_S), ModelServer([ANSWER]) as server:
        provider = open_chat(endpoint.at(server.url), model, None, ProviderWorld(FakeClock(), lambda: 0.0))
        await read(provider)
        await provider.aclose()
        sent = server.requests[0].json
        assert {name: sent[name] for name in SMALL_MODELS_SAMPLING if name in sent} == sampling


@pytest.mark.parametrize("name", SMALL_MODELS_SAMPLING)
async def test_a_server_that_refuses_a_field_about_sampling_is_asked_without(name: str) -> None:
    refusal = {"error": {"message": f"Unsupported parameter: '{name}'", "type": "invalid_request_error"}}
    async with asyncio.timeout(PATIENCE_S), ModelServer([whole(400, refusal), ANSWER]) as server:
        provider = open_chat(OLLAMA.at(server.url), "qwen2.5:1.5b", None, ProviderWorld(FakeClock(), lambda: 0.0))
        assert texts(await read(provider)) == "Hi there"
        await provider.aclose()
        assert [name in request.json for request in server.requests] == [True, False]
        assert len(SMALL_MODELS_SAMPLING.keys() - server.requests[1].json.keys()) == 1


@pytest.mark.parametrize(
    "message",
    [
        "Unsupported parameter: 'max_tokens'",
        "'max_tokens' or 'max_completion_tokens' is too large: 2048. The maximum context length is 4096 tokens.",
        "The maximum context length is 4096 tokens. You requested 5048 (3000 in the messages, 2048 in the completion).",
    ],
)
async def test_a_server_without_room_for_the_longest_answer_is_asked_without_a_bound(message: str) -> None:
    refusal = {"error": {"message": message, "type": "invalid_request_error"}}
    async with asyncio.timeout(PATIENCE_S), ModelServer([whole(400, refusal), ANSWER]) as server:
        provider = open_chat(VLLM.at(server.url), "qwen2.5:1.5b", None, ProviderWorld(FakeClock(), lambda: 0.0))
        assert texts(await read(provider)) == "Hi there"
        await provider.aclose()
        assert ["max_tokens" in request.json for request in server.requests] == [True, False]


@pytest.mark.parametrize(
    ("status", "refusal"),
    [
        (404, {"error": {"message": "No endpoints found that support image input", "code": 404}}),
        (500, {"error": {"message": "image input is not supported - hint: provide the mmproj", "code": 500}}),
        (400, {"error": {"message": "messages[1].content must be a string", "type": "invalid_request_error"}}),
        (413, {"error": {"message": "Payload too large"}}),
    ],
)
async def test_a_server_that_reads_no_pictures_is_told_of_them(status: int, refusal: dict[str, object]) -> None:
    question = Message(Role.USER, "What is this?", (Image("image/png", b"\x89PNG"),))
    async with serving(whole(status, refusal), ANSWER) as (provider, server):
        assert texts(await read(provider, [question])) == "Hi there"
        assert ["image_url" in str(request.json) for request in server.requests] == [True, False]
        assert "With this came a picture" in str(server.requests[1].json)


async def test_both_fields_may_be_refused_one_after_the_other() -> None:
    refusals = [whole(422, {"error": {"message": f"unknown field {name}"}}) for name in ("stream_options", "stop")]
    async with serving(*refusals, ANSWER) as (provider, _):
        assert texts(await read(provider)) == "Hi there"


async def test_a_server_that_refuses_a_field_that_was_not_sent_is_believed() -> None:
    refusal = whole(400, {"error": {"message": "stop it"}})
    async with serving(refusal, refusal) as (provider, _):
        with pytest.raises(ProviderRefused, match=r"refused the request \(400\)"):
            await read(provider)


async def test_retry_after_is_honoured_to_the_millisecond() -> None:
    clock = FakeClock()
    limited = whole(429, {"error": {"message": "slow down"}}, extra="retry-after-ms: 1250\r\nretry-after: 9\r\n")
    async with serving(limited, ANSWER, clock=clock) as (provider, _):
        assert texts(await read(provider)) == "Hi there"
    assert clock.monotonic() == 1.25


async def test_a_wait_that_is_too_long_is_told_instead() -> None:
    limited = whole(429, {"error": {"message": "slow down"}}, extra="retry-after: 120\r\n")
    async with serving(limited) as (provider, _):
        with pytest.raises(ProviderUnavailable, match=r"is limiting requests \(429\)\. Please ask again in 120 s"):
            await read(provider)


async def test_trying_again_has_an_end() -> None:
    clock = FakeClock()
    async with serving(*[whole(503, {})] * 3, clock=clock) as (provider, server):
        with pytest.raises(
            ProviderUnavailable, match=r"returned a server error \(503\)\. Please ask again in a moment"
        ):
            await read(provider)
        assert len(server.requests) == 3
    assert clock.monotonic() == 0.5 + 1


async def test_a_server_that_hangs_before_the_first_token_is_given_up() -> None:
    never = asyncio.Event()
    async with serving([Wait(never.wait)], patience=IMPATIENT) as (provider, server):
        with pytest.raises(ProviderUnavailable, match=r"did not start to answer within 0\.2 s"):
            await read(provider)
        await server.left.wait()


async def test_comments_are_no_sign_of_life_of_the_model() -> None:
    never = asyncio.Event()
    async with serving([head(), b": ping\n\n", Wait(never.wait)], patience=IMPATIENT) as (provider, server):
        with pytest.raises(ProviderUnavailable, match="did not start"):
            await read(provider)
        assert len(server.requests) == 1


async def test_a_server_that_falls_silent_breaks_the_stream() -> None:
    never = asyncio.Event()
    patience = ModelTimeouts(between_tokens_s=0.2)
    async with serving([head(), text("Hi"), Wait(never.wait)], patience=patience) as (provider, _):
        with pytest.raises(StreamBroken, match=r"because nothing more came for 0\.2 s"):
            await read(provider)


@pytest.mark.slow
async def test_a_reader_that_takes_its_time_is_not_a_slow_server() -> None:
    async with serving(ANSWER, patience=ModelTimeouts(between_tokens_s=0.3)) as (provider, _):
        pieces: list[ProviderEvent] = []
        async with aclosing(provider.stream(MESSAGES)) as stream:
            async for happened in stream:
                await asyncio.sleep(0.35)
                pieces.append(happened)
    assert texts(pieces) == "Hi there"


async def test_closing_the_generator_closes_the_connection() -> None:
    never = asyncio.Event()
    async with serving([head(), text("Hi"), Wait(never.wait)]) as (provider, server):
        stream = provider.stream(MESSAGES)
        assert await anext(stream) == TokensArrived("Hi")
        await stream.aclose()
        await server.left.wait()


@pytest.mark.parametrize("begun", [True, False])
async def test_cancelling_the_reader_closes_the_connection(*, begun: bool) -> None:
    never, arrived = asyncio.Event(), asyncio.Event()

    async def server_is_waiting() -> None:
        arrived.set()
        await never.wait()

    reply: Reply = [head(), text("Hi"), Wait(server_is_waiting)] if begun else [Wait(server_is_waiting)]
    async with serving(reply) as (provider, server):
        task = asyncio.create_task(read(provider))
        await arrived.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await server.left.wait()


async def test_a_timeout_around_the_turn_raises() -> None:
    never = asyncio.Event()
    async with serving([head(), Wait(never.wait)]) as (provider, server):
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.3):
                await read(provider)
        await server.left.wait()


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


async def test_a_local_server_that_is_not_there_is_named_with_the_remedy_at_once() -> None:
    clock = FakeClock()
    address = f"http://127.0.0.1:{free_port()}"
    provider = open_chat(OLLAMA.at(address), "m", None, ProviderWorld(clock, lambda: 0.0))
    with pytest.raises(ProviderUnavailable) as raised:
        await read(provider)
    await provider.aclose()
    assert str(raised.value) == (
        f"Ollama does not respond at {address}/v1: start it with `ollama serve`, or set OLLAMA_BASE_URL."
    )
    assert clock.monotonic() == 0


async def test_a_web_page_is_not_an_answer() -> None:
    async with serving([head(content_type="text/html"), b"<html>Welcome</html>"]) as (provider, _):
        with pytest.raises(ProviderRefused, match=r"does not stream model answers\. Check OPENAI_BASE_URL"):
            await read(provider)


@pytest.mark.parametrize("status", [400, 401, 403, 404, 418, 429])
async def test_a_key_never_stands_in_an_error_a_log_or_a_repr(status: int, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    body = {"error": {"message": f"Incorrect API key provided: {KEY}", "code": "insufficient_quota"}}
    async with serving(whole(status, body if status == 429 else {"error": body["error"]["message"]})) as (provider, _):
        with pytest.raises(ProviderRefused) as raised:
            await read(provider)
        assert KEY not in f"{raised.value!r} {raised.value.__cause__!r} {raised.value.__context__!r} {provider!r}"
        assert KEY not in repr(vars(provider)["_http"])
    assert KEY not in caplog.text


async def test_no_proxy_of_the_environment_stands_before_a_loopback_address(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, f"http://127.0.0.1:{free_port()}")
    for name in ("NO_PROXY", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
    async with serving(ANSWER) as (provider, _):
        assert texts(await read(provider)) == "Hi there"


async def test_a_server_may_close_the_connection_after_each_answer_without_saying_so() -> None:
    """As llama.cpp does, a moment after the end of a stream."""
    closing: Reply = [KEEP_ALIVE, framed(text("Hi", finish_reason="stop") + DONE), framed(b""), KEEP]
    async with serving(closing, closing) as (provider, server):
        assert texts(await read(provider)) == "Hi"
        assert texts(await read(provider)) == "Hi"
        assert server.connections == 2


async def test_two_answers_stream_at_the_same_time() -> None:
    first_may_end = asyncio.Event()
    slow: Reply = [head(), text("slow"), Wait(first_may_end.wait), text("!", finish_reason="stop"), DONE]
    async with serving(slow, ANSWER) as (provider, _):
        stream = provider.stream(MESSAGES)
        assert await anext(stream) == TokensArrived("slow")
        assert texts(await read(provider)) == "Hi there"
        first_may_end.set()
        assert await anext(stream) == TokensArrived("!")
        await stream.aclose()
