"""Anthropic's Messages on the wire, without a wire: what is sent, and what each kind of event means."""

import json
from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.messages import Depth, Image, Message, NativeContent, Role, Usage
from agent.ports.model import CallOptions, Halt, ProviderEvent, ReasoningArrived, StopReason, TokensArrived
from agent.protocol.grammar import STOP_SEQUENCE
from agent.providers.catalog import ANTHROPIC
from agent.providers.dialect import ReaderEvent
from agent.providers.faults import Fault, FaultKind, read_fault
from agent.providers.wire_messages import MAX_TOKENS, MessagesDialect, MessagesReader
from tests.fakes.vendor_types import fits, knows

DIALECT = MessagesDialect("claude-sonnet-5-5")
THOUGHT = {"type": "thinking", "thinking": "They greet.", "signature": "sig-1"}
NATIVE = NativeContent(DIALECT.name, (THOUGHT, {"type": "text", "text": "Let me look."}))


def system(text: str) -> Message:
    return Message(Role.SYSTEM, text)


def user(text: str, *images: Image) -> Message:
    return Message(Role.USER, text, images)


def body(*messages: Message, depth: Depth = Depth.ADAPT, dialect: MessagesDialect = DIALECT) -> dict[str, object]:
    return cast("dict[str, object]", json.loads(dialect.request(messages, CallOptions(depth)).body))


def start(kind: str, **fields: object) -> dict[str, object]:
    return {"type": "content_block_start", "index": 0, "content_block": {"type": kind, **fields}}


def delta(kind: str, **fields: object) -> dict[str, object]:
    return {"type": "content_block_delta", "index": 0, "delta": {"type": kind, **fields}}


def said(text: str) -> dict[str, object]:
    return delta("text_delta", text=text)


def ended(reason: str | None, **usage: object) -> dict[str, object]:
    return {"type": "message_delta", "delta": {"stop_reason": reason, "stop_sequence": None}, "usage": usage}


def read(reader: MessagesReader, *events: object) -> list[ReaderEvent]:
    return [happened for event in events for happened in reader.receive(json.dumps(event))]


def test_the_request_says_what_the_protocol_needs_and_no_more() -> None:
    request = DIALECT.request([system("Be brief."), user("context"), user("Hello?")], CallOptions())
    assert request.path == "/messages"
    assert request.headers == {"anthropic-version": "2026-10-21"}
    assert json.loads(request.body) == {
        "model": "claude-sonnet-5-5",
        "max_tokens": MAX_TOKENS,
        "stream": True,
        "cache_control": {"type": "ephemeral"},
        "stop_sequences": [STOP_SEQUENCE],
        "system": [{"type": "text", "text": "Be brief.", "cache_control": {"type": "ephemeral"}}],
        "messages": [{"role": "user", "content": [{"type": "text", "text": "context\n\nHello?"}]}],
    }


def test_the_key_travels_in_a_header_of_its_own() -> None:
    assert ANTHROPIC.authorisation("sk-1") == {"x-api-key": "sk-1"}


def test_it_stops_at_the_delimiter_and_reads_pictures() -> None:
    assert DIALECT.capabilities.halt is Halt.STOP_SEQUENCE
    assert DIALECT.capabilities.images
    assert DIALECT.capabilities.effort
    assert not DIALECT.capabilities.resume


@pytest.mark.parametrize(
    ("depth", "config"),
    [(Depth.FAST, {"effort": "low"}), (Depth.DEEP, {"effort": "high"}), (Depth.ADAPT, None)],
)
def test_depth_is_effort_where_the_person_chose_it(depth: Depth, config: object) -> None:
    assert body(user("hi"), depth=depth).get("output_config") == config


def test_pictures_travel_whole_and_those_that_no_model_reads_are_described() -> None:
    (message,) = cast(
        "list[dict[str, list[dict[str, object]]]]",
        body(user("See", Image("image/png", b"png"), Image("image/heic", b"heic")))["messages"],
    )
    words, picture = message["content"]
    assert str(words["text"]).startswith("See\n\n[With this came a picture, which you cannot see.")
    assert picture == {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "cG5n"}}


def test_what_was_thought_goes_back_unchanged() -> None:
    step = Message(Role.ASSISTANT, "Let me look.", native=NATIVE)
    messages = cast("list[dict[str, object]]", body(user("q"), step, user("<results>[]</results>"))["messages"])
    assert messages[1] == {"role": "assistant", "content": list(NATIVE.items)}


def test_what_another_model_thought_goes_back_as_text() -> None:
    step = Message(Role.ASSISTANT, "Let me look.", native=NativeContent("anthropic-messages:other", (THOUGHT,)))
    messages = cast("list[dict[str, object]]", body(user("q"), step, user("r"))["messages"])
    assert messages[1] == {"role": "assistant", "content": [{"type": "text", "text": "Let me look."}]}


@pytest.mark.parametrize(
    ("message", "gone"),
    [
        ("output_config: Extra inputs are not permitted", "output_config"),
        ("This model does not support the effort parameter.", "output_config"),
        ("cache_control: Extra inputs are not permitted", "cache_control"),
    ],
)
def test_a_field_that_a_server_refuses_can_be_left_out(message: str, gone: str) -> None:
    fault = Fault(FaultKind.ANSWERED, 400, message=message)
    simpler = DIALECT.without(fault)
    assert simpler is not None
    assert gone in json.dumps(body(system("s"), user("q"), depth=Depth.DEEP))
    assert gone not in json.dumps(body(system("s"), user("q"), depth=Depth.DEEP, dialect=simpler))
    assert simpler.without(fault) is None


def test_other_refusals_change_nothing() -> None:
    assert DIALECT.without(Fault(FaultKind.ANSWERED, 400, message="max_tokens is too large")) is None


roles = st.sampled_from(Role)
pictures = st.sampled_from([(), (Image("image/png", b"png"),), (Image("image/tiff", b"tiff"),)])
conversations = st.lists(
    st.builds(Message, roles, st.text(max_size=20), pictures, st.sampled_from([None, NATIVE])), max_size=8
)


@pytest.mark.slow
@given(conversations, st.sampled_from(Depth))
def test_every_request_is_one_that_the_vendors_client_could_send(messages: list[Message], depth: Depth) -> None:
    assert fits("anthropic.types.message_create_params:MessageCreateParamsStreaming", body(*messages, depth=depth))


@pytest.mark.parametrize(
    ("event", "events"),
    [
        (said("Hi"), [TokensArrived("Hi")]),
        (said(""), []),
        (start("text", text=""), []),
        (start("text", text="Hi"), [TokensArrived("Hi")]),
        (start("thinking", thinking="", signature=""), []),
        (delta("thinking_delta", thinking="hm"), [ReasoningArrived("hm")]),
        (delta("thinking_delta", thinking=""), []),
        (delta("signature_delta", signature="s"), []),
        (delta("input_json_delta", partial_json="{}"), []),
        (start("redacted_thinking", data="x"), []),
        (start("tool_use", id="t", name="n", input={}), []),
        ({"type": "content_block_stop", "index": 0}, []),
        ({"type": "ping"}, []),
        ({"type": "message_start"}, []),
        ({"type": "message_delta"}, []),
        ({"type": "weather"}, []),
        ({"type": ["text"]}, []),
        (None, []),
        ([1, 2], []),
    ],
)
def test_each_event_means_what_it_says(event: object, events: list[ProviderEvent]) -> None:
    assert read(MessagesReader(), event) == events


def test_what_cannot_be_read_is_counted_and_is_no_answer() -> None:
    reader = MessagesReader()
    reader.receive("{not json")
    read(reader, {"type": "weather"}, 7, delta("hum_delta"), {"type": "ping"})
    assert reader.ignored == 4
    assert not reader.begun


def test_pieces_of_blocks_that_take_turns_go_to_their_own_block() -> None:
    reader = MessagesReader(DIALECT.name)
    events = read(
        reader,
        {**start("thinking", thinking=""), "index": 0},
        {**start("text", text=""), "index": 1},
        {**delta("thinking_delta", thinking="Hm."), "index": 0},
        {**delta("text_delta", text="Blue"), "index": 1},
        {**delta("signature_delta", signature="s"), "index": 0},
        {**delta("text_delta", text="."), "index": 1},
        ended("end_turn"),
    )
    assert events == [ReasoningArrived("Hm."), TokensArrived("Blue"), TokensArrived(".")]
    assert reader.close().native == NativeContent(
        DIALECT.name,
        ({"type": "thinking", "thinking": "Hm.", "signature": "s"}, {"type": "text", "text": "Blue."}),
    )


@pytest.mark.parametrize(
    "event",
    [{"type": "error", "message": "no"}, {"error": {"message": "no"}}, {"message": "no"}, {"detail": "no"}],
)
def test_an_error_of_any_form_in_the_stream_is_a_fault(event: dict[str, object]) -> None:
    (fault,) = read(MessagesReader(), event)
    assert isinstance(fault, Fault)
    assert fault.message == "no"


@pytest.mark.parametrize(
    ("reason", "meaning"),
    [
        ("end_turn", StopReason.END),
        ("stop_sequence", StopReason.HALTED),
        ("max_tokens", StopReason.LENGTH),
        ("model_context_window_exceeded", StopReason.LENGTH),
        ("refusal", StopReason.FILTERED),
        ("MAX_TOKENS", StopReason.LENGTH),
        ("tool_use", StopReason.UNKNOWN),
        ("pause_turn", StopReason.UNKNOWN),
        ("something new", StopReason.UNKNOWN),
        (None, StopReason.UNKNOWN),
    ],
)
def test_each_stop_reason_has_its_meaning(reason: str | None, meaning: StopReason) -> None:
    reader = MessagesReader()
    read(reader, ended(reason))
    assert reader.finished is (reason is not None)
    assert reader.close().reason is meaning


@pytest.mark.parametrize(
    ("kind", "status"),
    [
        ("overloaded_error", 529),
        ("rate_limit_error", 429),
        ("api_error", 500),
        ("timeout_error", 500),
        ("authentication_error", 401),
        ("invalid_request_error", 400),
    ],
)
def test_an_error_in_the_stream_is_a_fault(kind: str, status: int) -> None:
    (fault,) = read(MessagesReader(), {"type": "error", "error": {"type": kind, "message": "no"}})
    assert isinstance(fault, Fault)
    assert (fault.kind, fault.status) == (FaultKind.ANSWERED, status)


def test_a_lack_of_credit_is_known_by_its_words() -> None:
    message = "Your credit balance is too low to access the Anthropic API."
    error = {"type": "error", "error": {"type": "invalid_request_error", "message": message}}
    assert read_fault(400, json.dumps(error).encode()).no_credit


def test_an_answer_without_thinking_needs_no_form_of_its_own() -> None:
    reader = MessagesReader(DIALECT.name)
    read(reader, start("text", text=""), said("Hi"), ended("end_turn"))
    assert reader.close().native is None


THINKING = (
    start("thinking", thinking="", signature=""),
    delta("thinking_delta", thinking="They "),
    delta("thinking_delta", thinking="greet."),
    delta("signature_delta", signature="sig-1"),
)


def test_thinking_is_kept_as_it_came_with_the_text_and_the_tag_that_the_stop_swallowed() -> None:
    reader = MessagesReader(DIALECT.name)
    call = '<execute>[{"name": "recall", "args": {}}]'
    read(reader, *THINKING, start("redacted_thinking", data="x"), start("text", text=""), said(call))
    read(reader, ended("stop_sequence"))
    assert reader.close().native == NativeContent(
        DIALECT.name,
        (THOUGHT, {"type": "redacted_thinking", "data": "x"}, {"type": "text", "text": call + STOP_SEQUENCE}),
    )


def test_fields_of_thinking_that_we_do_not_know_go_back_too() -> None:
    reader = MessagesReader(DIALECT.name)
    read(reader, start("thinking", thinking="", signature="s", mood="calm"), start("text", text="Hi"))
    native = reader.close().native
    assert native is not None
    assert native.items[0] == {"type": "thinking", "thinking": "", "signature": "s", "mood": "calm"}


def test_thinking_whose_signature_was_lost_does_not_go_back() -> None:
    reader = MessagesReader(DIALECT.name)
    read(reader, *THINKING[:-1], start("text", text="Hi"))
    assert reader.close().native is None


def test_thinking_without_words_does_not_go_back() -> None:
    reader = MessagesReader(DIALECT.name)
    read(reader, *THINKING, ended("max_tokens"))
    assert reader.close().native is None


@pytest.mark.parametrize(("first", "gap"), [("One.", "\n\n"), ("One.\n", "\n")])
def test_text_after_thinking_begins_a_paragraph(first: str, gap: str) -> None:
    reader = MessagesReader()
    events = read(reader, start("text", text=first), *THINKING, start("text", text=""), said("Two."), said(" Three."))
    assert "".join(event.text for event in events if isinstance(event, TokensArrived)) == f"{first}{gap}Two. Three."


def test_thinking_after_some_text_is_shown_before_its_first_word() -> None:
    begins = start("thinking", thinking="", signature="")
    assert read(MessagesReader(DIALECT.name), start("text", text=""), said("On it."), begins) == [
        TokensArrived("On it."),
        ReasoningArrived(""),
    ]
    assert read(MessagesReader(DIALECT.name), begins) == []


def test_adjacent_texts_are_one_text() -> None:
    events = read(MessagesReader(), start("text", text="One"), start("text", text=""), said(" and a half"))
    assert events == [TokensArrived("One"), TokensArrived(" and a half")]


def test_an_answer_that_does_not_stream_is_read_whole() -> None:
    reader = MessagesReader(DIALECT.name)
    content = [THOUGHT, {"type": "text", "text": "Hi"}]
    usage = {"input_tokens": 3, "output_tokens": 2}
    events = read(reader, {"type": "message", "content": content, "stop_reason": "end_turn", "usage": usage})
    assert events == [ReasoningArrived("They greet."), TokensArrived("Hi")]
    assert reader.finished
    assert reader.close().usage == Usage(input_uncached=3, output=2)


@pytest.mark.parametrize(
    ("usage", "expected"),
    [
        ({"input_tokens": 10, "output_tokens": 5}, Usage(input_uncached=10, output=5)),
        (
            {
                "input_tokens": 10,
                "cache_read_input_tokens": 60,
                "cache_creation_input_tokens": 30,
                "output_tokens": 50,
                "output_tokens_details": {"thinking_tokens": 20},
            },
            Usage(input_uncached=10, input_cached=60, input_written=30, output=30, reasoning=20),
        ),
        ({"output_tokens": 5, "output_tokens_details": {"thinking_tokens": 9}}, Usage(reasoning=5)),
        ({"input_tokens": "many", "output_tokens": None, "output_tokens_details": []}, Usage()),
    ],
)
def test_usage_is_split_into_parts_that_do_not_overlap(usage: dict[str, object], expected: Usage) -> None:
    assert MessagesReader.usage_fields.read(usage) == expected


def test_usage_comes_in_two_parts() -> None:
    reader = MessagesReader()
    begun = {"input_tokens": 9, "cache_read_input_tokens": 4, "cache_creation_input_tokens": 2, "output_tokens": 1}
    read(reader, {"type": "message_start", "message": {"usage": begun}})
    read(reader, ended("end_turn", output_tokens=7, input_tokens=None))
    assert reader.close().usage == Usage(input_uncached=9, input_cached=4, input_written=2, output=7)


def test_usage_that_is_missing_is_not_made_up() -> None:
    assert MessagesReader().close().usage is None


@pytest.mark.slow
@pytest.mark.parametrize("event", [start("text", text="", citations=None), said("Hi"), *THINKING])
def test_the_events_of_these_tests_are_the_vendors(event: dict[str, object]) -> None:
    assert knows("anthropic.types:RawMessageStreamEvent", event)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)
kinds = st.sampled_from(
    [
        *("message_start", "message_delta", "message_stop", "message", "content_block_start", "content_block_delta"),
        *("error", "ping", "text", "thinking", "redacted_thinking", "text_delta", "thinking_delta", "signature_delta"),
    ]
)
names = st.sampled_from(
    ["message", "usage", "delta", "content_block", "content", "error", "text", "thinking", "signature", "stop_reason"]
)


def event_of(kind: object, fields: dict[str, object]) -> dict[str, object]:
    return {"type": kind, **fields}


def events_with(inner: st.SearchStrategy[object]) -> st.SearchStrategy[object]:
    return st.builds(event_of, kinds | inner, st.dictionaries(names, inner, max_size=3))


events = st.recursive(json_values, events_with, max_leaves=6)


@given(st.lists(events, max_size=6))
def test_no_event_of_any_shape_raises(values: list[object]) -> None:
    reader = MessagesReader(DIALECT.name)
    read(reader, *values)
    native = reader.close().native
    if native is not None:
        body(user("q"), Message(Role.ASSISTANT, "a", native=native), user("r"))


@given(st.text(max_size=40))
def test_no_data_of_any_kind_raises(data: str) -> None:
    reader = MessagesReader()
    reader.receive(data)
    reader.close()
