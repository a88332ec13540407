"""Amazon's event streams: the same messages as botocore reads, however the bytes are cut, and no more than allowed."""

import json
import struct
import time
from collections.abc import AsyncGenerator, Sequence
from importlib import import_module
from itertools import pairwise
from typing import Any
from zlib import crc32

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.providers.event_stream import (
    MAX_HEADER_BYTES,
    MAX_MESSAGE_BYTES,
    EventStreamDecoder,
    MalformedStream,
    StreamMessage,
    message_data,
)
from agent.providers.http_client import NO_STREAM, Disconnected, event_stream_data
from tests.fakes.event_frames import event_frame, exception_frame, frame, header, text_header
from tests.patience import cpu_s

STREAM = b"".join(
    [
        event_frame("messageStart", {"role": "assistant"}),
        event_frame("contentBlockDelta", {"contentBlockIndex": 0, "delta": {"text": "船 \U0001f6f6"}}),
        exception_frame("throttlingException", "Too many tokens"),
    ]
)
DATA = [
    {"messageStart": {"role": "assistant", "p": "abcdefghij"}},
    {"contentBlockDelta": {"contentBlockIndex": 0, "delta": {"text": "船 \U0001f6f6"}, "p": "abcdefghij"}},
    {"throttlingException": {"message": "Too many tokens"}},
]


async def pieces(parts: Sequence[bytes]) -> AsyncGenerator[bytes, None]:
    for part in parts:
        yield part


async def read(*parts: bytes) -> list[str]:
    return [data async for data in event_stream_data(pieces(parts))]


def decoded(*parts: bytes) -> list[StreamMessage]:
    decoder = EventStreamDecoder()
    messages = [message for part in parts for message in decoder.feed(part)]
    decoder.flush()
    return messages


async def test_events_and_exceptions_become_objects_with_their_names() -> None:
    assert [json.loads(data) for data in await read(STREAM)] == DATA


async def test_each_cut_of_the_bytes_gives_the_same_data() -> None:
    for cut in range(len(STREAM) + 1):
        assert [json.loads(data) for data in await read(STREAM[:cut], STREAM[cut:])] == DATA, cut


async def test_one_byte_at_a_time_gives_the_same_data() -> None:
    assert [json.loads(data) for data in await read(*(STREAM[i : i + 1] for i in range(len(STREAM))))] == DATA


# The same as botocore

text = st.text(max_size=12)
names = st.text(min_size=1, max_size=12)
values = st.one_of(
    st.sampled_from([(0, b""), (1, b"")]),
    st.binary(min_size=1, max_size=1).map(lambda data: (2, data)),
    st.binary(min_size=2, max_size=2).map(lambda data: (3, data)),
    st.binary(min_size=4, max_size=4).map(lambda data: (4, data)),
    st.tuples(st.sampled_from([5, 8]), st.binary(min_size=8, max_size=8)),
    st.binary(max_size=20).map(lambda data: (6, struct.pack(">H", len(data)) + data)),
    text.map(lambda value: (7, struct.pack(">H", len(value.encode())) + value.encode())),
    st.binary(min_size=16, max_size=16).map(lambda data: (9, data)),
)
heads = st.dictionaries(names, values, max_size=4).map(
    lambda found: b"".join(header(name, kind, value) for name, (kind, value) in found.items())
)
frames = st.builds(frame, heads, st.binary(max_size=40))


def as_botocore_reads(stream: bytes) -> list[tuple[dict[str, Any], bytes]]:
    buffer = import_module("botocore.eventstream").EventStreamBuffer()
    buffer.add_data(stream)
    return [(dict(message.headers), message.payload) for message in buffer]


@given(st.lists(frames, max_size=4), st.data())
def test_random_messages_are_read_as_botocore_reads_them(parts: list[bytes], draw: st.DataObject) -> None:
    stream = b"".join(parts)
    edges = [0, *sorted(draw.draw(st.lists(st.integers(0, len(stream)), max_size=4))), len(stream)]
    messages = decoded(*(stream[a:b] for a, b in pairwise(edges)))
    assert [(dict(message.headers), message.payload) for message in messages] == as_botocore_reads(stream)


@given(frames, st.data())
def test_a_changed_byte_is_noticed(part: bytes, draw: st.DataObject) -> None:
    at = draw.draw(st.integers(0, len(part) - 1))
    changed = bytearray(part)
    changed[at] ^= draw.draw(st.integers(1, 255))
    with pytest.raises(MalformedStream):
        decoded(bytes(changed))


@given(st.binary(max_size=64), st.booleans())
def test_any_bytes_are_messages_or_a_malformed_stream(data: bytes, is_framed: bool) -> None:
    stream = frame(data, b"{}") if is_framed else data
    try:
        decoded(stream)
    except MalformedStream:
        return
    assert decoded(stream) == decoded(*(stream[i : i + 1] for i in range(len(stream))))


# What is wrong with a stream


def prelude(total: int, headers: int) -> bytes:
    lengths = struct.pack(">II", total, headers)
    return lengths + struct.pack(">I", crc32(lengths))


@pytest.mark.parametrize(
    ("total", "headers"),
    [(15, 0), (16, 1), (0, 0), (MAX_MESSAGE_BYTES + 1, 0), (MAX_MESSAGE_BYTES, MAX_HEADER_BYTES + 1), (2**32 - 1, 0)],
)
def test_lengths_outside_of_the_limits_are_refused_at_once(total: int, headers: int) -> None:
    with pytest.raises(MalformedStream, match="length"):
        decoded(prelude(total, headers))


@pytest.mark.parametrize(
    "headers",
    [
        header("a", 10, b""),  # no such type
        header("a", 7, b"\x00\x05ab"),  # a text that ends early
        header("a", 4, b"\x00"),
        header("a", 7, b"\x00\x01\xff"),  # no UTF-8
        b"\x05ab",
        text_header("a", "1") + text_header("a", "2"),
    ],
)
def test_headers_that_are_none_are_refused(headers: bytes) -> None:
    with pytest.raises(MalformedStream):
        decoded(frame(headers, b""))


async def test_what_came_before_the_damage_is_read_and_then_the_connection_counts_as_lost() -> None:
    damaged = bytearray(STREAM)
    damaged[-1] ^= 1
    stream = event_stream_data(pieces([bytes(damaged)]))
    assert [json.loads(await anext(stream)) for _ in range(2)] == DATA[:2]
    with pytest.raises(Disconnected, match="checksum"):
        await anext(stream)


async def test_a_stream_that_ends_inside_of_a_message_was_cut_off() -> None:
    with pytest.raises(Disconnected, match="incomplete"):
        await read(STREAM[:-1])


@pytest.mark.parametrize("body", [b"<html>Sign in to the proxy</html>", b'{"message": "x"}', b"data: {}\n\n"])
async def test_another_kind_of_body_is_passed_on_as_something_unreadable(body: bytes) -> None:
    assert await read(body) == [NO_STREAM]


async def test_an_empty_body_has_no_data() -> None:
    assert await read() == await read(b"") == []


def test_an_error_without_a_payload_is_read_from_its_headers() -> None:
    headers = text_header(":message-type", "error") + text_header(":error-code", "InternalError")
    (message,) = decoded(frame(headers + text_header(":error-message", 'It "broke"'), b""))
    assert json.loads(message_data(message)) == {"error": {"code": "InternalError", "message": 'It "broke"'}}


def test_a_message_without_a_payload_is_an_empty_event() -> None:
    (message,) = decoded(frame(text_header(":event-type", "ping") + text_header(":message-type", "event"), b" "))
    assert json.loads(message_data(message)) == {"ping": {}}


def test_a_name_that_is_no_text_is_read_as_none() -> None:
    (message,) = decoded(frame(header(":event-type", 0, b""), b"{}"))
    assert json.loads(message_data(message)) == {"": {}}


def test_a_long_stream_is_read_in_linear_time() -> None:
    def seconds(count: int) -> float:
        stream = event_frame("contentBlockDelta", {"contentBlockIndex": 0, "delta": {"text": "word"}}) * count
        decoder, begun = EventStreamDecoder(), time.process_time()
        assert sum(1 for _ in decoder.feed(stream)) == count
        return time.process_time() - begun

    seconds(100)
    assert seconds(20_000) < max(40 * seconds(1_000), cpu_s(2))


def test_a_long_message_in_single_bytes_is_read_in_linear_time() -> None:
    part = frame(b"", b"x" * 300_000)
    decoder, begun = EventStreamDecoder(), time.process_time()
    messages = [message for at in range(len(part)) for message in decoder.feed(part[at : at + 1])]
    assert [len(message.payload) for message in messages] == [300_000]
    assert time.process_time() - begun < cpu_s(5)
