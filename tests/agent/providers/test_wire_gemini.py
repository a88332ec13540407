"""Gemini's generateContent on the wire, without a wire: what is sent, and what each kind of piece means."""

import json
from pkgutil import resolve_name
from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.messages import Depth, Image, Message, NativeContent, Role, Usage
from agent.ports.model import CallOptions, Halt, ProviderEvent, ReasoningArrived, StopReason, TokensArrived
from agent.protocol.grammar import STOP_SEQUENCE
from agent.providers.catalog import GEMINI
from agent.providers.dialect import ReaderEvent
from agent.providers.faults import Fault, FaultKind
from agent.providers.wire_gemini import GeminiDialect, GeminiReader, stopped_inside

DIALECT = GeminiDialect("gemini-3.8-flash")
SIGNED = {"text": "Let me look.", "thoughtSignature": "c2ln"}
NATIVE = NativeContent(DIALECT.name, (SIGNED,))


def system(text: str) -> Message:
    return Message(Role.SYSTEM, text)


def user(text: str, *images: Image) -> Message:
    return Message(Role.USER, text, images)


def body(*messages: Message, depth: Depth = Depth.ADAPT, dialect: GeminiDialect = DIALECT) -> dict[str, object]:
    return cast("dict[str, object]", json.loads(dialect.request(messages, CallOptions(depth)).body))


def contents(*messages: Message) -> list[dict[str, list[dict[str, object]]]]:
    return cast("list[dict[str, list[dict[str, object]]]]", body(*messages)["contents"])


def piece(*parts: object, **fields: object) -> dict[str, object]:
    return {"candidates": [{"content": {"role": "model", "parts": list(parts)}, "index": 0, **fields}]}


def read(reader: GeminiReader, *pieces: object) -> list[ReaderEvent]:
    return [happened for value in pieces for happened in reader.receive(json.dumps(value))]


def test_the_request_says_what_the_protocol_needs_and_no_more() -> None:
    request = DIALECT.request([system("Be brief."), user("context"), user("Hello?")], CallOptions())
    assert request.path == "/models/gemini-3.8-flash:streamGenerateContent?alt=sse"
    assert json.loads(request.body) == {
        "generationConfig": {"stopSequences": [STOP_SEQUENCE]},
        "systemInstruction": {"parts": [{"text": "Be brief."}]},
        "contents": [{"role": "user", "parts": [{"text": "context\n\nHello?"}]}],
    }


@pytest.mark.parametrize("name", ["models/gemini-3.8-flash", "gemini-3.8-flash"])
def test_a_model_may_be_named_as_the_vendor_lists_it(name: str) -> None:
    assert GeminiDialect(name).request([], CallOptions()).path.startswith("/models/gemini-3.8-flash:")


def test_no_name_of_a_model_leads_elsewhere() -> None:
    assert GeminiDialect("../x?y#z").request([], CallOptions()).path.startswith("/models/..%2Fx%3Fy%23z:")


def test_the_key_travels_in_a_header_of_its_own() -> None:
    assert GEMINI.authorisation("key-1") == {"x-goog-api-key": "key-1"}


def test_it_stops_at_the_delimiter_and_reads_pictures() -> None:
    assert DIALECT.capabilities.halt is Halt.STOP_SEQUENCE
    assert DIALECT.capabilities.images
    assert DIALECT.capabilities.effort
    assert not DIALECT.capabilities.resume


@pytest.mark.parametrize(
    ("depth", "config"),
    [(Depth.FAST, {"thinkingLevel": "LOW"}), (Depth.DEEP, {"thinkingLevel": "HIGH"}), (Depth.ADAPT, None)],
)
def test_depth_is_a_level_of_thinking_where_the_person_chose_it(depth: Depth, config: object) -> None:
    assert cast("dict[str, object]", body(user("hi"), depth=depth)["generationConfig"]).get("thinkingConfig") == config


def test_pictures_travel_whole_and_those_that_no_model_reads_are_described() -> None:
    (message,) = contents(user("See", Image("image/png", b"png"), Image("image/tiff", b"tiff")))
    words, picture = message["parts"]
    assert str(words["text"]).startswith("See\n\n[With this came a picture, which you cannot see.")
    assert picture == {"inlineData": {"mimeType": "image/png", "data": "cG5n"}}


def test_what_was_signed_goes_back_unchanged() -> None:
    step = Message(Role.ASSISTANT, "Let me look.", native=NATIVE)
    assert contents(user("q"), step, user("r"))[1] == {"role": "model", "parts": [SIGNED]}


def test_what_another_model_signed_goes_back_as_text() -> None:
    step = Message(Role.ASSISTANT, "Let me look.", native=NativeContent("gemini-content:other", (SIGNED,)))
    assert contents(user("q"), step, user("r"))[1] == {"role": "model", "parts": [{"text": "Let me look."}]}


def test_a_level_of_thinking_that_a_model_refuses_can_be_left_out() -> None:
    fault = Fault(FaultKind.ANSWERED, 400, message="Thinking level is not supported for this model.")
    simpler = DIALECT.without(fault)
    assert simpler is not None
    assert "thinkingConfig" not in json.dumps(body(user("q"), depth=Depth.DEEP, dialect=simpler))
    assert not simpler.capabilities.effort
    assert simpler.without(fault) is None
    assert DIALECT.without(Fault(FaultKind.ANSWERED, 400, message="contents is empty")) is None


roles = st.sampled_from(Role)
pictures = st.sampled_from([(), (Image("image/png", b"png"),), (Image("image/tiff", b"tiff"),)])
conversations = st.lists(
    st.builds(Message, roles, st.text(max_size=20), pictures, st.sampled_from([None, NATIVE])), max_size=8
)


@pytest.mark.slow
@given(conversations, st.sampled_from(Depth))
def test_every_request_is_one_that_the_vendors_client_could_send(messages: list[Message], depth: Depth) -> None:
    types, sent = resolve_name("google.genai.types"), body(*messages, depth=depth)
    for content in cast("list[object]", sent["contents"]):
        assert types.Content.model_validate_json(json.dumps(content)).parts
    types.GenerationConfig.model_validate_json(json.dumps(sent["generationConfig"]))
    if "systemInstruction" in sent:
        types.Content.model_validate_json(json.dumps(sent["systemInstruction"]))
    assert sent.keys() <= {"contents", "generationConfig", "systemInstruction"}


@pytest.mark.parametrize(
    ("value", "events"),
    [
        (piece({"text": "Hi"}), [TokensArrived("Hi")]),
        (piece({"text": ""}), []),
        (piece({"text": "Hi", "thought": False}), [TokensArrived("Hi")]),
        (piece({"text": "hm", "thought": True}, {"text": "Hi"}), [ReasoningArrived("hm"), TokensArrived("Hi")]),
        (piece({"functionCall": {"name": "x"}}), []),
        (piece({"text": ["unknown form"]}, "x", None), []),
        (piece({"text": "second"}, index=1), []),
        ({"candidates": [{"finishReason": "STOP"}]}, []),
        ({"candidates": None, "usageMetadata": 7}, []),
        ({"usageMetadata": {}}, []),
        ([piece({"text": "in a "}), piece({"text": "list"})], [TokensArrived("in a "), TokensArrived("list")]),
        ([], []),
        (None, []),
        ("[DONE]", []),
    ],
)
def test_each_piece_means_what_it_says(value: object, events: list[ProviderEvent]) -> None:
    assert read(GeminiReader(), value) == events


def test_what_cannot_be_read_is_counted_and_is_no_answer() -> None:
    reader = GeminiReader()
    reader.receive("[DONE]")
    read(reader, {"weather": "fine"}, 7)
    assert reader.ignored == 3
    assert not reader.begun


@pytest.mark.parametrize(
    ("reason", "meaning"),
    [
        ("STOP", StopReason.END),
        ("MAX_TOKENS", StopReason.LENGTH),
        ("CONTINUATION", StopReason.LENGTH),
        ("SAFETY", StopReason.FILTERED),
        ("RECITATION", StopReason.FILTERED),
        ("PROHIBITED_CONTENT", StopReason.FILTERED),
        ("stop", StopReason.END),
        ("MALFORMED_FUNCTION_CALL", StopReason.UNKNOWN),
        ("UNEXPECTED_TOOL_CALL", StopReason.UNKNOWN),
        ("TOO_MANY_TOOL_CALLS", StopReason.UNKNOWN),
        ("MALFORMED_RESPONSE", StopReason.UNKNOWN),
        ("FINISH_REASON_UNSPECIFIED", StopReason.UNKNOWN),
        ("OTHER", StopReason.UNKNOWN),
        ("SOMETHING_NEW", StopReason.UNKNOWN),
        (None, StopReason.UNKNOWN),
    ],
)
def test_each_finish_reason_has_its_meaning(reason: str | None, meaning: StopReason) -> None:
    reader = GeminiReader()
    read(reader, piece({"text": "Hi"}, finishReason=reason))
    assert reader.finished is (reason is not None)
    assert reader.close().reason is meaning


@pytest.mark.slow
def test_every_reason_that_the_vendor_knows_ends_the_answer() -> None:
    for reason in resolve_name("google.genai.types:FinishReason"):
        reader = GeminiReader()
        read(reader, piece(finishReason=reason.value))
        assert reader.finished


def test_a_stop_inside_a_call_is_told_from_an_end() -> None:
    reader = GeminiReader()
    read(reader, piece({"text": '<execute>[{"name": "recall"}]'}, finishReason="STOP"))
    assert reader.close().reason is StopReason.HALTED
    assert not stopped_inside("<execute>[]\n</execute> and on")
    assert not stopped_inside("no call at all")


def test_a_question_that_was_blocked_is_an_answer_that_was_filtered() -> None:
    reader = GeminiReader()
    read(reader, {"promptFeedback": {"blockReason": "SAFETY"}, "usageMetadata": {"promptTokenCount": 4}})
    assert reader.finished
    assert reader.close().reason is StopReason.FILTERED


def test_an_error_in_the_stream_is_a_fault() -> None:
    error = {"code": 503, "status": "UNAVAILABLE", "message": "busy"}
    for value in ({"error": error}, [{"error": error}]):
        (fault,) = read(GeminiReader(), value)
        assert isinstance(fault, Fault)
        assert (fault.kind, fault.status) == (FaultKind.ANSWERED, 503)


def test_an_answer_without_signatures_needs_no_form_of_its_own() -> None:
    reader = GeminiReader(DIALECT.name)
    read(reader, piece({"text": "hm", "thought": True}, {"text": "Hi"}, finishReason="STOP"))
    assert reader.close().native is None


def test_signed_parts_are_kept_apart_and_others_are_joined() -> None:
    reader = GeminiReader(DIALECT.name)
    read(
        reader, piece({"text": "hm", "thought": True}), piece(SIGNED), piece({"text": " And"}), piece({"text": " on."})
    )
    read(reader, piece({"text": "", "thoughtSignature": "ZW5k"}, finishReason="STOP"))
    native = reader.close().native
    assert native == NativeContent(
        DIALECT.name, (SIGNED, {"text": " And on."}, {"text": "", "thoughtSignature": "ZW5k"})
    )


def test_the_tag_that_the_stop_swallowed_is_put_back_beside_what_is_signed() -> None:
    reader = GeminiReader(DIALECT.name)
    call = {"text": "<execute>[]", "thoughtSignature": "c2ln"}
    read(reader, piece(call, finishReason="STOP"))
    assert reader.close().native == NativeContent(DIALECT.name, (call, {"text": STOP_SEQUENCE}))


@pytest.mark.parametrize(
    ("usage", "expected"),
    [
        (
            {
                "promptTokenCount": 100,
                "cachedContentTokenCount": 60,
                "candidatesTokenCount": 30,
                "thoughtsTokenCount": 20,
                "totalTokenCount": 150,
            },
            Usage(input_uncached=40, input_cached=60, output=30, reasoning=20),
        ),
        ({"promptTokenCount": 5, "toolUsePromptTokenCount": 2}, Usage(input_uncached=7)),
        ({"promptTokenCount": 5, "cachedContentTokenCount": 9}, Usage(input_cached=9)),
        ({"promptTokenCount": "many", "candidatesTokenCount": None}, Usage()),
    ],
)
def test_usage_is_split_into_parts_that_do_not_overlap(usage: dict[str, object], expected: Usage) -> None:
    assert GeminiReader.usage_fields.read(usage) == expected


def test_the_last_usage_counts() -> None:
    reader = GeminiReader()
    read(reader, {**piece({"text": "a"}), "usageMetadata": {"promptTokenCount": 3}}, piece({"text": "b"}))
    read(reader, {"usageMetadata": {"promptTokenCount": 3, "candidatesTokenCount": 2}})
    assert reader.close().usage == Usage(input_uncached=3, output=2)


def test_usage_that_is_missing_is_not_made_up() -> None:
    assert GeminiReader().close().usage is None


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)
names = st.sampled_from(
    [
        *("candidates", "usageMetadata", "promptFeedback", "blockReason", "error", "details", "content", "parts"),
        *("text", "thought", "thoughtSignature", "finishReason", "index"),
    ]
)
pieces = st.recursive(
    json_values, lambda inner: st.lists(inner, max_size=2) | st.dictionaries(names, inner, max_size=3)
)


@given(st.lists(pieces, max_size=5))
def test_no_piece_of_any_shape_raises(values: list[object]) -> None:
    reader = GeminiReader(DIALECT.name)
    read(reader, *values)
    reader.close()


parts = st.lists(st.dictionaries(st.sampled_from(["text", "thought", "thoughtSignature"]), json_values), max_size=4)


@given(parts)
def test_what_is_kept_can_be_sent(parts: list[object]) -> None:
    reader = GeminiReader(DIALECT.name)
    read(reader, piece(*parts))
    native = reader.close().native
    if native is not None:
        assert contents(user("q"), Message(Role.ASSISTANT, "a", native=native), user("r"))[1]["parts"]


@pytest.mark.slow
@given(st.text(max_size=40))
def test_no_data_of_any_kind_raises(data: str) -> None:
    reader = GeminiReader()
    reader.receive(data)
    reader.close()
