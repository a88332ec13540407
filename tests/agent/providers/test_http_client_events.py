"""The data of server-sent events come out the same, however the bytes were cut."""

from collections.abc import AsyncGenerator, Sequence
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.providers.http_client import MAX_EVENT_BYTES, Disconnected, EventReader, event_data

STREAM = (
    b": a comment\n\n"
    b'data: {"text": "\xe8\x88\xb9 \xf0\x9f\x9b\xb6 caf\xc3\xa9"}\n\n'
    b"event: ping\ndata: two\ndata: lines\r\n\r\n"
    b": another comment\n"
    b"id: 7\nretry: 10\nunknown: field\ndata:no space\n\n"
    b"event: without data\n\n"
    b"data: [DONE]\n\n"
)
DATA = ['{"text": "船 🛶 café"}', "two\nlines", "no space", "[DONE]"]


async def pieces(parts: Sequence[bytes]) -> AsyncGenerator[bytes, None]:
    for part in parts:
        yield part


async def read(*parts: bytes) -> list[str]:
    return [data async for data in event_data(pieces(parts))]


@pytest.mark.parametrize("ending", [b"\n", b"\r\n", b"\r"])
async def test_each_cut_of_the_bytes_gives_the_same_data(ending: bytes) -> None:
    stream = STREAM.replace(b"\r\n", b"\n").replace(b"\n", ending)
    for cut in range(len(stream) + 1):
        assert await read(stream[:cut], stream[cut:]) == DATA, cut


async def test_one_byte_at_a_time_gives_the_same_data() -> None:
    assert await read(*(STREAM[i : i + 1] for i in range(len(STREAM)))) == DATA


@given(st.lists(st.integers(0, len(STREAM)), max_size=8))
async def test_any_number_of_cuts_gives_the_same_data(cuts: list[int]) -> None:
    edges = [0, *sorted(cuts), len(STREAM)]
    assert await read(*(STREAM[a:b] for a, b in pairwise(edges))) == DATA


@given(
    st.lists(st.sampled_from([b"data: a", b"data", b":", b"\n", b"\r", b"\xef\xbb\xbf", b"\xe8\x88\xb9", b"\0"])),
    st.data(),
)
def test_any_bytes_give_the_same_data_however_they_are_cut(words: list[bytes], draw: st.DataObject) -> None:
    stream = b"".join(words)
    edges = [0, *sorted(draw.draw(st.lists(st.integers(0, len(stream)), max_size=4))), len(stream)]
    whole, cut = EventReader(), EventReader()
    expected = [*whole.feed(stream), *whole.flush()]
    assert [data for a, b in pairwise(edges) for data in cut.feed(stream[a:b])] + cut.flush() == expected


async def test_a_byte_order_mark_is_not_part_of_the_first_line() -> None:
    assert await read(b"\xef\xbb", b"\xbfdata: one\n\n") == ["one"]


async def test_an_event_that_ends_with_a_bare_return_does_not_wait_for_the_next_piece() -> None:
    reader = EventReader()
    assert reader.feed(b"data: one\r\r") == ["one"]
    assert reader.feed(b"\ndata: two\r\n\r") == ["two"]
    assert reader.feed(b"\n") == []


async def test_the_last_event_counts_without_its_blank_line() -> None:
    assert await read(b"data: one\n\ndata: two") == ["one", "two"]
    assert await read(b"data: one\n\ndata: two\n") == ["one", "two"]


async def test_events_without_a_blank_line_between_them_are_told_apart() -> None:
    assert await read(b'data: {"a": 1}\ndata: {"b": 2}\ndata: [DONE]\n') == ['{"a": 1}', '{"b": 2}', "[DONE]"]
    assert await read(b'data: {"a":\ndata: {"b": 2}\ndata: }\n\n') == ['{"a":\n{"b": 2}\n}']


async def test_a_field_that_is_named_twice_is_one() -> None:
    assert await read(b'data: data: {"a": 1}\n\ndata: data: [DONE]\n\n') == ['{"a": 1}', "[DONE]"]


async def test_bytes_that_are_not_utf8_do_not_end_the_stream() -> None:
    assert await read(b"data: \xff\xfe\n\ndata: two\n\n") == ["\ufffd\ufffd", "two"]


@pytest.mark.parametrize("piece", [b"x" * 1_000_000, b"data: " + b"x" * 999_993 + b"\n"])
async def test_an_event_without_an_end_is_given_up(piece: bytes) -> None:
    with pytest.raises(Disconnected):
        await read(b"data: ", *[piece] * (MAX_EVENT_BYTES // 1_000_000 + 1))


async def test_closing_early_closes_the_body() -> None:
    closed: list[bool] = []

    async def body() -> AsyncGenerator[bytes, None]:
        try:
            yield b"data: one\n\n"
            yield b"data: two\n\n"
        finally:
            closed.append(True)

    source = body()
    events = event_data(source)
    assert await anext(events) == "one"
    await events.aclose()
    await source.aclose()
    assert closed == [True]


PRETTY = b'{\n  "choices": [\n    {"message": {}}\n  ]\n}\n'


@pytest.mark.parametrize(
    ("body", "data"),
    [
        (b'{"a": 1}', ['{"a": 1}']),
        (b'{"a": 1}\n{"b": 2}\n', ['{"a": 1}', '{"b": 2}']),
        (b'data: one\n\n{"error": {}}\n\ndata: two\n\n', ["one", '{"error": {}}', "two"]),
        (PRETTY, [PRETTY.decode().rstrip()]),
        (b'[{"a": 1},\n{"b": 2}]\n', ['[{"a": 1},\n{"b": 2}]']),
        (b"<html>\n<p>no</p>\n</html>", ["<html>\n<p>no</p>\n</html>"]),
        (b"event: error\ndata: no\n\n", ['{"error": "no"}']),
        (b'event: error\ndata: {"code": 5}\n\n', ['{"error": {"code": 5}}']),
        (b'event: error\ndata: {"error": 5}\n\n', ['{"error": 5}']),
        (b'error: {"code": 5}\n\n', ['{"error": {"code": 5}}']),
        (b"event: error\n\ndata: one\n\n", ["one"]),
        (b"event: error\ndata: no\n\ndata: one\n\n", ['{"error": "no"}', "one"]),
    ],
)
async def test_servers_that_do_not_keep_to_the_form_are_understood(body: bytes, data: list[str]) -> None:
    assert await read(body) == data
    for cut in range(len(body) + 1):
        assert await read(body[:cut], body[cut:]) == data, cut


async def test_json_text_without_an_end_is_given_up() -> None:
    with pytest.raises(Disconnected):
        await read(b"{\n", *[b"x" * 999_999 + b"\n"] * (MAX_EVENT_BYTES // 1_000_000 + 1))
