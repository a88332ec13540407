"""Amazon Bedrock's double, asked by Amazon's own client first and then by ours, over real HTTP on loopback.

The double verifies signatures and checks each request by botocore's description of the service.
"""

import asyncio
import json
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from importlib import import_module
from typing import Any

import pytest

from agent.errors import ProviderRefused, ProviderUnavailable
from agent.events import CallsArrived, CallsRejected, ProtocolEvent, TextArrived
from agent.messages import Image, Message, Role, Usage
from agent.ports.model import ProviderEvent, ReasoningArrived, ResponseEnded, StopReason, TokensArrived
from agent.protocol.grammar import STOP_SEQUENCE
from agent.protocol.parser import Parser
from agent.providers.catalog import ToolsForm
from agent.providers.factory import OpenedProvider, ProviderWorld
from agent.providers.http_client import event_stream_data
from agent.providers.wire_converse import ConverseReader
from tests.agent.protocol.deviations import DEVIATIONS, TOOL_NAMES
from tests.contracts.model_world import Breaks, Calls, Refuses, Says, Turn
from tests.fakes.aws_signatures import AwsUser
from tests.fakes.bedrock_service import API_KEY, MODEL, USER, ConverseWire, bedrock_at, refused, usage_counts
from tests.fakes.clock import FakeClock
from tests.fakes.event_frames import STREAM_TYPE, event_frame, exception_frame
from tests.fakes.http_world import HttpWorld, http_world
from tests.fakes.model_server import CHUNKED, ModelServer, Reply, Request, framed, head
from tests.fakes.one_turn import Echo, run_turn
from tests.patience import PATIENCE_S

HELLO = (Message(Role.SYSTEM, "Be brief."), Message(Role.USER, "Hello"))
USAGE = Usage(input_uncached=90, input_cached=10, input_written=5, output=7)
PROFILE_ARN = "arn:aws:bedrock:us-east-1:123456789012:inference-profile/us.anthropic.claude-sonnet-5-5"


@asynccontextmanager
async def serving(
    *turns: Turn, user: AwsUser | None = USER, signer: AwsUser | None = None, model: str = MODEL
) -> AsyncGenerator[HttpWorld, None]:
    """The double for `user`, and our provider that signs as `signer`."""
    wire = ConverseWire(user)
    async with (
        asyncio.timeout(PATIENCE_S),
        http_world(wire, lambda url, line: bedrock_at(url, line, user=signer or user, model=model)) as world,
    ):
        world.plan(*turns)
        yield world


async def read(provider: OpenedProvider | Any, messages: Sequence[Message] = HELLO) -> list[ProviderEvent]:
    return [event async for event in provider.stream(messages)]


def said(events: Sequence[ProviderEvent]) -> str:
    return "".join(event.text for event in events if isinstance(event, TokensArrived))


def end_of(events: Sequence[ProviderEvent]) -> ResponseEnded:
    assert isinstance(events[-1], ResponseEnded)
    return events[-1]


# Amazon's client


def boto3_asks(url: str, user: AwsUser | None, model: str, **fields: object) -> list[dict[str, Any]]:
    """Ask by boto3, and return the events as it parses them. Blocks. Raises its ClientError."""
    config = import_module("botocore.config").Config(retries={"total_max_attempts": 1}, parameter_validation=True)
    session = import_module("boto3").session.Session(
        aws_access_key_id=user.access_key_id if user else "x",
        aws_secret_access_key=user.secret_access_key if user else "x",
        aws_session_token=(user.session_token if user else "") or None,
        region_name=user.region if user else "us-east-1",
    )
    client = session.client("bedrock-runtime", endpoint_url=url.removesuffix("/v1"), config=config)
    try:
        stream = client.converse_stream(modelId=model, **fields)["stream"]
        try:
            return list(stream)
        finally:
            stream.close()
    finally:
        client.close()


QUESTION: dict[str, Any] = {
    "system": [{"text": "Be brief."}, {"cachePoint": {"type": "default"}}],
    "messages": [
        {"role": "user", "content": [{"text": "Hello"}, {"image": {"format": "png", "source": {"bytes": b"png"}}}]}
    ],
    "inferenceConfig": {"maxTokens": 100, "stopSequences": [STOP_SEQUENCE]},
}


@pytest.mark.parametrize("model", [MODEL, PROFILE_ARN, "amazon.nova-pro-v1:0"])
async def test_amazons_client_is_understood_and_understands_the_double(model: str) -> None:
    user = replace(USER, session_token="a-session-token")
    async with serving(Says(("Hi", " there"), "They greet.", USAGE), user=user) as world:
        events = await asyncio.to_thread(boto3_asks, world.server.url, user, model, **QUESTION)
        assert world.asked[0].texts == ("Be brief.", "Hello")
        assert world.asked[0].images == (b"png",)
    texts = [event["contentBlockDelta"]["delta"].get("text") for event in events if "contentBlockDelta" in event]
    assert [text for text in texts if text] == ["Hi", " there"]
    assert events[0]["messageStart"]["role"] == "assistant"
    assert events[-2]["messageStop"]["stopReason"] == "end_turn"
    assert events[-1]["metadata"]["usage"] == usage_counts(USAGE)


@pytest.mark.parametrize(
    "user",
    [
        replace(USER, secret_access_key="another"),
        replace(USER, access_key_id="AKIDANOTHER"),
        replace(USER, region="eu-west-1"),
        replace(USER, session_token="another"),
    ],
)
async def test_amazons_client_is_refused_if_it_signs_as_another(user: AwsUser) -> None:
    async with serving(Says(("Hi",))) as world:
        with pytest.raises(import_module("botocore.exceptions").ClientError) as raised:
            await asyncio.to_thread(boto3_asks, world.server.url, user, MODEL, **QUESTION)
        assert raised.value.response["ResponseMetadata"]["HTTPStatusCode"] == 403
        assert raised.value.response["Error"]["Code"] in {"InvalidSignatureException", "UnrecognizedClientException"}


async def test_amazons_client_raises_the_doubles_exception_of_a_stream() -> None:
    async with serving(Breaks(("Hi",), 429)) as world:
        with pytest.raises(import_module("botocore.exceptions").EventStreamError, match="throttlingException"):
            await asyncio.to_thread(boto3_asks, world.server.url, USER, MODEL, **QUESTION)


async def test_a_request_of_another_form_is_refused() -> None:
    async with serving(Says(("Hi",))) as world:
        wire = ConverseWire(None)
        headers = {"authorization": f"Bearer {API_KEY}", "accept": STREAM_TYPE, "content-type": "application/json"}
        wrong = {"messages": [{"role": "robot", "content": [{"txt": "Hi"}]}], "stream": True}
        request = Request("POST", "/model/amazon.nova-pro-v1%3A0/converse-stream", headers, json.dumps(wrong).encode())
        reply = wire.other(request)
        assert reply is not None
        told = str(reply[1])
        assert all(word in told for word in ("robot", "txt", "stream"))
        assert world.asked == []


# Our client


@pytest.mark.parametrize("model", [MODEL, PROFILE_ARN, "amazon.nova-pro-v1:0"])
async def test_a_signed_request_is_accepted_whatever_the_models_name(model: str) -> None:
    user = replace(USER, session_token="a-session-token", region="eu-central-1")
    async with serving(Says(("Hi", " there"), usage=USAGE), user=user, model=model) as world:
        events = await read(world.provider)
        assert said(events) == "Hi there"
        assert end_of(events).usage == replace(USAGE, bytes_up=world.asked[0].bytes_up)
        (request,) = world.server.requests
        assert request.headers["x-amz-security-token"] == user.session_token
        assert user.secret_access_key not in str(request)


async def test_an_api_key_is_a_bearer_token_and_nothing_is_signed() -> None:
    async with serving(Says(("Hi",)), user=None) as world:
        assert said(await read(world.provider)) == "Hi"
        (request,) = world.server.requests
        assert request.headers["authorization"] == f"Bearer {API_KEY}"
        assert not {name for name in request.headers if name.startswith("x-amz-")}


async def test_keys_that_are_refused_are_named_with_their_settings() -> None:
    other = replace(USER, access_key_id="AKIDANOTHER")
    async with serving(user=USER, signer=other) as world:
        with pytest.raises(ProviderRefused, match="Check AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY"):
            await read(world.provider)


async def test_reasoning_and_calls_go_back_as_they_came() -> None:
    call = '[{"name": "recall", "args": {"query": "boat"}}]'
    async with serving(Calls((call,), "I look.", "Where is it?"), Says(("Blue.",))) as world:
        first = await read(world.provider)
        assert first[0] == ReasoningArrived("Where is it?")
        assert end_of(first).reason is StopReason.HALTED
        step = Message(Role.ASSISTANT, said(first), native=end_of(first).native)
        assert said(await read(world.provider, [*HELLO, step, Message(Role.USER, "<results>[]</results>")])) == "Blue."
        before, after = (request.json["messages"] for request in world.server.requests)
        assert isinstance(after, list)
        assert after[:1] == before
        assert after[1]["content"] == [
            {"reasoningContent": {"reasoningText": {"text": "Where is it?", "signature": "c2lnbmVk"}}},
            {"text": f"I look.\n<execute>{call}{STOP_SEQUENCE}"},
        ]


async def test_a_model_without_cache_points_is_asked_again_at_once_and_remembered() -> None:
    refusal = Refuses(403, message="You invoked an unsupported model or your request did not allow prompt caching.")
    async with serving(refusal, Says(("Hi",)), Says(("Again",))) as world:
        assert said(await read(world.provider)) == "Hi"
        assert said(await read(world.provider)) == "Again"
        assert ["cachePoint" in request.body.decode() for request in world.server.requests] == [True, False, False]
        assert world.clock.monotonic() == 0


async def test_a_model_that_reads_no_pictures_gets_a_note_in_their_place() -> None:
    refusal = Refuses(400, message="This model doesn't support the image content block that you provided.")
    messages = [Message(Role.USER, "See", (Image("image/png", b"png"),))]
    async with serving(refusal, Says(("Hi",))) as world:
        assert said(await read(world.provider, messages)) == "Hi"
        assert [asked.images for asked in world.asked] == [(b"png",), ()]


def exactly(*frames: bytes) -> Reply:
    return [head(content_type=STREAM_TYPE, extra=CHUNKED), *map(framed, frames), framed(b"")]


@asynccontextmanager
async def answering(*replies: Reply, form: ToolsForm = ToolsForm.TEXT) -> AsyncGenerator[OpenedProvider, None]:
    """Our provider at a server with these replies, one for each request; it does not look at the requests."""
    async with asyncio.timeout(PATIENCE_S), ModelServer(replies) as server:
        provider = bedrock_at(server.url, ProviderWorld(FakeClock(), lambda: 0.0), user=None, form=form)
        try:
            yield provider
        finally:
            await provider.aclose()


STOP = event_frame("messageStop", {"stopReason": "end_turn"})


def piece(text: str) -> bytes:
    return event_frame("contentBlockDelta", {"contentBlockIndex": 0, "delta": {"text": text}})


async def test_a_damaged_frame_ends_the_answer_as_cut_off() -> None:
    damaged = bytearray(piece(" there"))
    damaged[-1] ^= 1
    async with answering(exactly(piece("Hi"), bytes(damaged), STOP)) as provider:
        events: list[ProviderEvent] = []
        with pytest.raises(Exception, match="was cut off"):
            events.extend([event async for event in provider.stream(HELLO)])


async def test_a_page_in_place_of_a_stream_names_the_setting_of_the_address() -> None:
    page = [head(content_type="text/html", extra=CHUNKED), framed(b"<html>Sign in</html>"), framed(b"")]
    async with answering(page) as provider:
        with pytest.raises(ProviderRefused, match="Check AWS_ENDPOINT_URL_BEDROCK_RUNTIME"):
            await read(provider)


async def test_an_exception_before_the_answer_is_retried_and_one_within_it_is_not() -> None:
    throttled = exactly(exception_frame("throttlingException", "Too many tokens, please wait"))
    async with answering(throttled, exactly(piece("Hi"), STOP)) as provider:
        assert said(await read(provider)) == "Hi"


async def test_an_unexplained_end_is_no_good_one() -> None:
    async with answering(
        exactly(piece("Hi"), event_frame("messageStop", {"stopReason": "planned_outage"}))
    ) as provider:
        assert end_of(await read(provider)).reason is StopReason.UNKNOWN


async def test_the_service_says_how_long_to_wait_and_what_the_quotas_are() -> None:
    limited = refused(429, "ThrottlingException", "Too many requests, please wait before trying again.")
    async with answering(*[limited] * 3) as provider:
        with pytest.raises(ProviderUnavailable) as raised:
            await read(provider)
        assert "Service Quotas" in str(raised.value)
        assert "Service Quotas" not in raised.value.reason.to_person


# Rounds with native calls


def native_call(text: str) -> Reply:
    start = {"toolUse": {"toolUseId": f"tooluse_{text}", "name": "echo"}}
    arguments = json.dumps({"text": text})
    return exactly(
        event_frame("messageStart", {"role": "assistant"}),
        piece("On it."),
        event_frame("contentBlockStop", {"contentBlockIndex": 0}),
        event_frame("contentBlockStart", {"contentBlockIndex": 1, "start": start}),
        *(
            event_frame("contentBlockDelta", {"contentBlockIndex": 1, "delta": {"toolUse": {"input": part}}})
            for part in (arguments[:5], arguments[5:])
        ),
        event_frame("contentBlockStop", {"contentBlockIndex": 1}),
        event_frame("messageStop", {"stopReason": "tool_use"}),
    )


async def test_a_turn_with_native_calls_runs_them_and_ends() -> None:
    echo = Echo()
    async with answering(native_call("boat"), exactly(piece("Done."), STOP), form=ToolsForm.NATIVE) as provider:
        ran = await run_turn(provider, echo)
    assert echo.said == ["boat"]
    assert ran.shown.endswith("Done.")


# The deviations of weak models


async def test_every_deviation_comes_through_this_wire_as_it_was_written() -> None:
    """In events of three characters, in frames that are cut anywhere: the right calls, a correction, or the answer."""
    for number, deviation in enumerate(DEVIATIONS):
        text, size = deviation.stream, 50 + 7 * number
        frames = b"".join(piece(text[start : start + 3]) for start in range(0, len(text), 3)) + STOP
        parsed = await parsed_from([frames[start : start + size] for start in range(0, len(frames), size)])
        shown = "".join(event.text for event in parsed if isinstance(event, TextArrived))
        calls = [event.calls for event in parsed if isinstance(event, CallsArrived)]
        reasons = [event.reason for event in parsed if isinstance(event, CallsRejected)]
        assert shown == deviation.text, deviation.name
        assert calls == ([deviation.calls] if deviation.calls else []), deviation.name
        assert all(deviation.correction in reason for reason in reasons), deviation.name
        assert len(reasons) == bool(deviation.correction), deviation.name


async def parsed_from(parts: Sequence[bytes]) -> list[ProtocolEvent]:
    async def body() -> AsyncGenerator[bytes, None]:
        for part in parts:
            yield part

    reader, parser = ConverseReader(), Parser(tool_names=TOOL_NAMES)
    heard = [event async for data in event_stream_data(body()) for event in reader.receive(data)]
    parsed = [happened for event in heard if isinstance(event, TokensArrived) for happened in parser.feed(event.text)]
    return [*parsed, *parser.close()]
