"""Converse of Amazon Bedrock on the wire, without a wire: what is sent, and what each kind of event means.

Each request and each event is checked by botocore's description of the service.
"""

import json
from time import process_time
from typing import Any
from urllib.parse import unquote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.events import CallsArrived
from agent.messages import Depth, Image, JsonObject, Message, NativeContent, Role, ToolCall, ToolSpec, Usage
from agent.ports.model import CallOptions, Halt, ProviderEvent, ReasoningArrived, StopReason, TokensArrived
from agent.protocol.grammar import STOP_SEQUENCE, teach
from agent.protocol.parser import Parser
from agent.providers import wire
from agent.providers.converse_models import EffortField, foundation_model, traits_of
from agent.providers.dialect import ReaderEvent
from agent.providers.faults import Fault, FaultKind
from agent.providers.wire_converse import NO_OUTPUT, ConverseDialect, ConverseReader
from tests.fakes.converse_types import converse_events, event_problems, problems, service_model
from tests.patience import cpu_s

CLAUDE = "us.anthropic.claude-sonnet-5-5"
DIALECT = ConverseDialect.of(CLAUDE)
THOUGHT: JsonObject = {"reasoningContent": {"reasoningText": {"text": "They greet.", "signature": "c2ln"}}}
NATIVE = NativeContent(DIALECT.name, (THOUGHT, {"text": "Let me look."}))
CACHE = {"cachePoint": {"type": "default"}}
SCHEMA: JsonObject = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}
TOOLS = (ToolSpec("echo", "Say it back.", SCHEMA), ToolSpec("files.look", " ", {"type": "object", "properties": {}}))
NATIVELY = ConverseDialect.of(CLAUDE, native=True)
TAUGHT = Message(Role.SYSTEM, f"You are a bot.\n\n{teach('echo(text): Say it back.')}")


def system(text: str) -> Message:
    return Message(Role.SYSTEM, text)


def user(text: str, *images: Image) -> Message:
    return Message(Role.USER, text, images)


def body(*messages: Message, depth: Depth = Depth.ADAPT, dialect: ConverseDialect = DIALECT) -> Any:
    return json.loads(dialect.request(messages, CallOptions(depth)).body)


def with_tools(*messages: Message, dialect: ConverseDialect = NATIVELY) -> Any:
    sent = json.loads(dialect.request(messages, CallOptions(tools=TOOLS)).body)
    assert problems(sent, dialect.model) == []
    return sent


def event(name: str, **fields: object) -> dict[str, object]:
    assert event_problems(name, fields) == []
    return {name: fields}


def delta(index: int = 0, **fields: object) -> dict[str, object]:
    return event("contentBlockDelta", contentBlockIndex=index, delta=fields)


def said(text: str, index: int = 0) -> dict[str, object]:
    return delta(index, text=text)


def thought(index: int = 0, **fields: object) -> dict[str, object]:
    return delta(index, reasoningContent=fields)


def called(index: int, id_: str, name: str, *pieces: str) -> list[dict[str, object]]:
    start = {"toolUse": {"toolUseId": id_, "name": name}}
    return [
        event("contentBlockStart", contentBlockIndex=index, start=start),
        *(delta(index, toolUse={"input": piece}) for piece in pieces),
        event("contentBlockStop", contentBlockIndex=index),
    ]


def ended(reason: str) -> dict[str, object]:
    return event("messageStop", stopReason=reason)


def read(reader: ConverseReader, *events: object) -> list[ReaderEvent]:
    return [happened for one in events for happened in reader.receive(json.dumps(one))]


def text_of(events: list[ReaderEvent]) -> str:
    return "".join(one.text for one in events if isinstance(one, TokensArrived))


# Requests


def test_the_request_says_what_the_protocol_needs_and_no_more() -> None:
    request = DIALECT.request([system("Be brief."), user("context"), user("Hello?")], CallOptions())
    assert request.path == "/model/us.anthropic.claude-sonnet-5-5/converse-stream"
    assert request.headers == {}
    assert json.loads(request.body) == {
        "system": [{"text": "Be brief."}, CACHE],
        "messages": [{"role": "user", "content": [{"text": "context\n\nHello?"}, CACHE]}],
        "inferenceConfig": {"maxTokens": 32_000, "stopSequences": [STOP_SEQUENCE]},
    }


@pytest.mark.parametrize(
    "model",
    [
        "anthropic.claude-3-haiku-20240307-v1:0",
        "arn:aws:bedrock:eu-west-1:123456789012:application-inference-profile/a1b2c3",
        "arn:aws-us-gov:bedrock:us-gov-west-1::foundation-model/anthropic.claude-3-haiku-20240307-v1:0",
    ],
)
def test_colons_and_slashes_of_a_model_are_escaped_in_the_path(model: str) -> None:
    path = ConverseDialect.of(model).request([user("hi")], CallOptions()).path
    escaped = path.removeprefix("/model/").removesuffix("/converse-stream")
    assert unquote(escaped) == model
    assert not {*escaped} & {":", "/"}


def test_it_stops_at_the_delimiter_reasons_and_reads_pictures() -> None:
    assert DIALECT.capabilities.halt is Halt.STOP_SEQUENCE
    assert DIALECT.capabilities.images
    assert DIALECT.capabilities.effort
    assert DIALECT.capabilities.reasons
    assert not DIALECT.capabilities.resume
    assert NATIVELY.capabilities.native_calls
    assert NATIVELY.capabilities.halt is Halt.NONE


def test_pictures_travel_whole_and_those_that_no_model_reads_are_described() -> None:
    sent = body(user("See", Image("image/png", b"png"), Image("image/heic", b"heic")))
    words, picture, point = sent["messages"][0]["content"]
    assert words["text"].startswith("See\n\n[With this came a picture, which you cannot see.")
    assert picture == {"image": {"format": "png", "source": {"bytes": "cG5n"}}}
    assert point == CACHE


def test_the_next_round_reads_from_the_cache_what_this_one_writes() -> None:
    step = Message(Role.ASSISTANT, "Let me look.")
    messages = body(system("s"), user("a"), step, user("b"), step, user("c"))["messages"]
    assert [message["content"][-1] == CACHE for message in messages] == [False, False, True, False, True]


def test_what_was_thought_goes_back_unchanged() -> None:
    step = Message(Role.ASSISTANT, "Let me look.", native=NATIVE)
    assert body(user("q"), step, user("r"))["messages"][1] == {"role": "assistant", "content": list(NATIVE.items)}


def test_what_another_model_thought_goes_back_as_text() -> None:
    step = Message(Role.ASSISTANT, "Let me look.", native=NativeContent("converse:other", (THOUGHT,)))
    assert body(user("q"), step, user("r"))["messages"][1]["content"] == [{"text": "Let me look."}]


@pytest.mark.parametrize(
    ("model", "depth", "field", "value"),
    [
        (CLAUDE, Depth.FAST, "outputConfig", {"effort": "low"}),
        (CLAUDE, Depth.DEEP, "outputConfig", {"effort": "high"}),
        (CLAUDE, Depth.ADAPT, "outputConfig", None),
        ("openai.gpt-oss-120b-1:0", Depth.FAST, "additionalModelRequestFields", {"reasoning_effort": "low"}),
        (
            "us.amazon.nova-2-lite-v1:0",
            Depth.DEEP,
            "additionalModelRequestFields",
            {"reasoningConfig": {"type": "enabled", "maxReasoningEffort": "medium"}},
        ),
        ("us.amazon.nova-2-lite-v1:0", Depth.FAST, "additionalModelRequestFields", None),
        ("us.meta.llama4-maverick-17b-instruct-v1:0", Depth.DEEP, "outputConfig", None),
        ("anthropic.claude-3-haiku-20240307-v1:0", Depth.DEEP, "outputConfig", None),
    ],
)
def test_depth_is_the_effort_of_reasoning_where_the_model_takes_it(
    model: str, depth: Depth, field: str, value: object
) -> None:
    sent = body(user("hi"), depth=depth, dialect=ConverseDialect.of(model))
    assert sent.get(field) == value
    assert problems(sent, model) == []


def test_a_model_without_system_prompts_reads_the_instructions_with_the_first_question() -> None:
    dialect = ConverseDialect.of("mistral.mistral-7b-instruct-v0:2")
    sent = body(system("Be brief."), user("Hello?"), dialect=dialect)
    assert "system" not in sent
    assert sent["messages"] == [{"role": "user", "content": [{"text": "Be brief."}, {"text": "Hello?"}]}]


# What each family takes, by Amazon's documentation of November 2026.
FAMILIES = [
    # model, pictures, cache points, native calls, stop sequences
    ("us.anthropic.claude-opus-5", True, True, True, True),
    ("anthropic.claude-3-haiku-20240307-v1:0", True, False, True, True),
    ("us.anthropic.claude-3-5-haiku-20241022-v1:0", False, True, True, True),
    ("eu.amazon.nova-pro-v1:0", True, True, True, True),
    ("amazon.nova-micro-v1:0", False, True, True, True),
    ("us.meta.llama3-3-70b-instruct-v1:0", False, False, False, True),
    ("us.meta.llama3-2-90b-instruct-v1:0", True, False, False, True),
    ("us.meta.llama4-scout-17b-instruct-v1:0", True, False, False, True),
    ("mistral.mistral-large-2402-v1:0", False, False, True, True),
    ("eu.mistral.pixtral-large-2502-v1:0", True, False, True, True),
    ("mistral.mistral-7b-instruct-v0:2", False, False, False, True),
    ("openai.gpt-oss-20b-1:0", False, False, True, False),
    ("qwen.qwen3-vl-235b-a22b-v1:0", True, False, True, False),
    ("arn:aws:bedrock:us-east-1:123456789012:application-inference-profile/a1b2c3", True, True, True, True),
    (
        "arn:aws:bedrock:us-east-1:123456789012:inference-profile/us.meta.llama4-scout-17b-v1:0",
        True,
        False,
        False,
        True,
    ),
]


@pytest.mark.parametrize(("model", "images", "caching", "tools", "stop"), FAMILIES)
def test_each_family_gets_what_it_takes(model: str, images: bool, caching: bool, tools: bool, stop: bool) -> None:
    traits = traits_of(model)
    assert (traits.images, traits.caching, traits.tools, traits.stop) == (images, caching, tools, stop)
    dialect = ConverseDialect.of(model, native=True)
    sent = json.loads(dialect.request([TAUGHT, user("hi", Image("image/png", b"png"))], CallOptions(tools=TOOLS)).body)
    assert problems(sent, model) == []
    assert ("cachePoint" in json.dumps(sent)) is caching
    assert ("toolConfig" in sent) is tools
    assert ("image" in sent["messages"][0]["content"][-1 - caching]) is images


@pytest.mark.parametrize(
    ("model", "name"),
    [
        ("us.anthropic.claude-sonnet-5-5", "anthropic.claude-sonnet-5-5"),
        ("us-gov.anthropic.claude-sonnet-4-5-20250929-v1:0", "anthropic.claude-sonnet-4-5-20250929-v1:0"),
        ("anthropic.claude-3-haiku-20240307-v1:0", "anthropic.claude-3-haiku-20240307-v1:0"),
        ("arn:aws:bedrock:us-east-1::foundation-model/amazon.nova-pro-v1:0", "amazon.nova-pro-v1:0"),
        ("deepseek.v3.2", "deepseek.v3.2"),
    ],
)
def test_a_profile_names_the_model_behind_it(model: str, name: str) -> None:
    assert foundation_model(model) == name


# The words of the service for a field that a model does not take.
REFUSED = [
    (403, "You invoked an unsupported model or your request did not allow prompt caching.", "cachePoint"),
    (400, "This model doesn't support the stopSequences field. Remove stopSequences and try again.", "stopSequences"),
    (400, "The maximum tokens you requested exceeds the model limit of 8192.", "maxTokens"),
    (400, "This model does not support the effort parameter.", "outputConfig"),
    (400, "This model doesn't support system messages. Try again without a system message.", "system"),
]


@pytest.mark.parametrize(("status", "message", "field"), REFUSED)
def test_a_field_that_a_model_refuses_is_left_out(status: int, message: str, field: str) -> None:
    fault = Fault(FaultKind.ANSWERED, status, message=message)
    simpler = DIALECT.without(fault)
    assert simpler is not None
    before = body(system("s"), user("q"), depth=Depth.DEEP)
    after = body(system("s"), user("q"), depth=Depth.DEEP, dialect=simpler)
    assert f'"{field}"' in json.dumps(before)
    assert f'"{field}"' not in json.dumps(after)
    assert simpler.without(fault) is None


def test_a_model_without_native_calls_is_asked_in_words() -> None:
    fault = Fault(FaultKind.ANSWERED, 400, message="This model doesn't support tool use in streaming mode.")
    simpler = NATIVELY.without(fault)
    assert simpler == DIALECT
    assert DIALECT.without(fault) is None


@pytest.mark.parametrize(
    ("status", "message"),
    [(400, "The model returned the following errors: messages.0 is bad"), (403, "not authorized"), (429, "effort")],
)
def test_other_refusals_change_nothing(status: int, message: str) -> None:
    assert DIALECT.without(Fault(FaultKind.ANSWERED, status, message=message)) is None


words = st.text(max_size=20)
pictures = st.sampled_from([(), (Image("image/png", b"png"),), (Image("image/tiff", b"tiff"),)])
CALL: JsonObject = {"toolUse": {"toolUseId": "a", "name": "echo", "input": {"text": "x"}}}
CALLED = NativeContent(DIALECT.name, (CALL,))
natives = st.sampled_from([None, NATIVE, CALLED])
own_calls = st.sampled_from([(), (ToolCall("files.look", {"deep": [1, None]}),)])
conversations = st.lists(
    st.builds(Message, st.sampled_from(Role), words, pictures, natives, words, own_calls), max_size=8
)
models = st.sampled_from([CLAUDE, "mistral.mistral-7b-instruct-v0:2", "amazon.nova-micro-v1:0", "qwen.qwen3-32b-v1:0"])


@given(conversations, st.sampled_from(Depth), models)
def test_every_request_is_one_that_the_service_takes(messages: list[Message], depth: Depth, model: str) -> None:
    sent = body(*messages, depth=depth, dialect=ConverseDialect.of(model))
    assert problems(sent, model) == []
    roles = [message["role"] for message in sent["messages"]]
    assert roles == (["user", "assistant"] * len(roles))[: len(roles)]
    assert roles[-1] == "user"


@given(conversations)
def test_every_request_with_native_calls_is_one_that_the_service_takes(messages: list[Message]) -> None:
    sent = with_tools(TAUGHT, *messages)
    roles = [message["role"] for message in sent["messages"]]
    assert roles == (["user", "assistant"] * len(roles))[: len(roles)]
    assert roles[-1] == "user"
    # The service requires the result of each call in the very next message, and no others.
    contents: list[Any] = [message["content"] for message in sent["messages"]]
    uses = [[block["toolUse"]["toolUseId"] for block in content if "toolUse" in block] for content in contents]
    results = [[block["toolResult"]["toolUseId"] for block in content if "toolResult" in block] for content in contents]
    assert [[], *uses] == [*results, []]
    assert all(block.get("text", "x").strip() for content in contents for block in content)


# Native calls


def test_tools_are_offered_in_the_form_of_the_protocol_and_the_lesson_about_blocks_is_not() -> None:
    sent = with_tools(TAUGHT, user("hi"))
    assert sent["toolConfig"]["tools"] == [
        {"toolSpec": {"name": "echo", "description": "Say it back.", "inputSchema": {"json": dict(SCHEMA)}}},
        {"toolSpec": {"name": "files--look", "inputSchema": {"json": {"type": "object", "properties": {}}}}},
    ]
    assert "<execute>" not in sent["system"][0]["text"]
    assert "stopSequences" not in sent["inferenceConfig"]


def test_what_is_no_turn_is_asked_in_words() -> None:
    assert body(system("Learn."), user("hi"), dialect=NATIVELY) == body(system("Learn."), user("hi"))


def test_calls_go_back_as_they_came_with_their_results_behind_them() -> None:
    reader = ConverseReader(NATIVELY.name)
    events = read(
        reader,
        *(thought(0, text="Hm."), thought(0, signature="c2ln"), said("On it.", 1)),
        *called(2, "t1", "echo", '{"text":', ' "boat"}'),
        *called(3, "t2", "files--look"),
        ended("tool_use"),
    )
    assert text_of(events).startswith("On it.\n<execute>")
    parsed = Parser(tool_names=frozenset({"echo", "files.look"})).feed(text_of(events))
    (calls,) = [one.calls for one in parsed if isinstance(one, CallsArrived)]
    assert calls == (ToolCall("echo", {"text": "boat"}), ToolCall("files.look", {}))
    end = reader.close()
    assert end.reason is StopReason.END
    assert end.native is not None
    assert end.native.has_calls is True
    results = (
        '<results>[{"name": "echo", "status": "success", "content": ""},\n'
        '{"name": "files.look", "status": "failure", "content": "no"}]\n</results>\n\nThis is the last round.'
    )
    step = Message(Role.ASSISTANT, text_of(events), native=end.native)
    sent = with_tools(TAUGHT, user("hi"), step, Message(Role.USER, results, (Image("image/png", b"png"),)))
    assert sent["messages"][1]["content"] == [
        {"reasoningContent": {"reasoningText": {"text": "Hm.", "signature": "c2ln"}}},
        {"text": "On it."},
        {"toolUse": {"toolUseId": "t1", "name": "echo", "input": {"text": "boat"}}},
        {"toolUse": {"toolUseId": "t2", "name": "files--look", "input": {}}},
    ]
    assert sent["messages"][2]["content"] == [
        {"toolResult": {"toolUseId": "t1", "content": [{"text": NO_OUTPUT}]}},
        {"toolResult": {"toolUseId": "t2", "content": [{"text": "failure: no\n\nThis is the last round."}]}},
        {"image": {"format": "png", "source": {"bytes": "cG5n"}}},
        CACHE,
    ]


def test_calls_that_a_model_wrote_as_text_go_back_in_the_form_of_the_protocol() -> None:
    step = Message(Role.ASSISTANT, "x", said="I look.", calls=(ToolCall("files.look", {"deep": True}),))
    sent = with_tools(TAUGHT, user("hi"), step, user("<results>[]</results>"))
    assert sent["messages"][1]["content"] == [
        {"text": "I look."},
        {"toolUse": {"toolUseId": "call_1_0", "name": "files--look", "input": {"deep": True}}},
    ]


def test_native_calls_go_back_as_text_once_tools_are_no_longer_offered() -> None:
    step = Message(Role.ASSISTANT, "in our words", native=CALLED)
    assert body(user("q"), step, user("r"))["messages"][1]["content"] == [{"text": "in our words"}]


def test_arguments_that_are_no_json_go_to_the_parser_and_not_back() -> None:
    reader = ConverseReader(NATIVELY.name)
    events = read(reader, *called(0, "t1", "echo", '{"text": '), ended("tool_use"))
    assert '"args": {"text":}' in text_of(events)
    assert reader.close().native is None


def test_calls_of_an_answer_that_was_cut_off_do_not_run() -> None:
    reader = ConverseReader(NATIVELY.name)
    assert read(reader, *called(0, "t1", "echo", '{"text": "x"}'), ended("max_tokens")) == []
    assert reader.close().reason is StopReason.LENGTH


# Events


@pytest.mark.parametrize(
    ("event", "events"),
    [
        (said("Hi"), [TokensArrived("Hi")]),
        (said(""), []),
        (thought(text="hm"), [ReasoningArrived("hm")]),
        (thought(signature="c2ln"), []),
        (thought(redactedContent="c2ln"), []),
        (delta(toolUse={"input": "{}"}), []),
        (event("messageStart", role="assistant"), []),
        (event("contentBlockStop", contentBlockIndex=0), []),
        ({"contentBlockDelta": {"delta": {"text": "Hi"}}}, [TokensArrived("Hi")]),
        ({"contentBlockDelta": {}}, []),
        ({"contentBlockStart": {}}, []),
        ({"messageStop": {}}, []),
        ({"metadata": {}}, []),
        ({"weather": {}}, []),
        ({}, []),
        (None, []),
        ([1, 2], []),
    ],
)
def test_each_event_means_what_it_says(event: object, events: list[ProviderEvent]) -> None:
    assert read(ConverseReader(), event) == events


def test_what_cannot_be_read_is_counted_and_is_no_answer() -> None:
    reader = ConverseReader()
    reader.receive("{not json")
    read(reader, {"weather": {}}, 7)
    assert reader.ignored == 3
    assert not reader.begun
    read(reader, {"contentBlockDelta": {"delta": {"hum": "x"}}})
    assert reader.ignored == 4


# What botocore knows and is read here on purpose, or left out on purpose.
READ_EVENTS = {"messageStart", "contentBlockStart", "contentBlockDelta", "contentBlockStop", "messageStop", "metadata"}
READ_DELTAS = {"text", "toolUse", "reasoningContent"}
# Of tools that run at the vendor, of citations, and of models that draw: nothing of it is asked for.
UNREAD_DELTAS = {"toolResult", "citation", "image"}
STOP_REASONS = {
    "end_turn": StopReason.END,
    "tool_use": StopReason.END,
    "stop_sequence": StopReason.HALTED,
    "max_tokens": StopReason.LENGTH,
    "model_context_window_exceeded": StopReason.LENGTH,
    "guardrail_intervened": StopReason.FILTERED,
    "content_filtered": StopReason.FILTERED,
    "malformed_model_output": StopReason.UNKNOWN,
    "malformed_tool_use": StopReason.UNKNOWN,
}


def test_every_event_of_the_service_is_known() -> None:
    exceptions = {name for name in converse_events() if name.endswith("Exception")}
    assert {*converse_events()} - exceptions == READ_EVENTS
    for name in exceptions:
        (fault,) = read(ConverseReader(), {name: {"message": "no"}})
        expected = service_model().shape_for(name[:1].upper() + name[1:]).metadata["error"]["httpStatusCode"]
        assert isinstance(fault, Fault)
        assert fault.status == (502 if expected == 424 else expected), name


def test_every_kind_of_piece_and_every_stop_reason_of_the_service_is_known() -> None:
    assert {*service_model().shape_for("ContentBlockDelta").members} == READ_DELTAS | UNREAD_DELTAS
    assert {*service_model().shape_for("StopReason").enum} == STOP_REASONS.keys()
    reasoning = {*service_model().shape_for("ReasoningContentBlockDelta").members}
    assert reasoning == {"text", "signature", "redactedContent"}


@pytest.mark.parametrize(("reason", "meaning"), [*STOP_REASONS.items(), ("something_new", StopReason.UNKNOWN)])
def test_each_stop_reason_has_its_meaning(reason: str, meaning: StopReason) -> None:
    reader = ConverseReader()
    read(reader, {"messageStop": {"stopReason": reason}})
    assert reader.finished
    assert reader.close().reason is meaning


def test_only_the_first_end_counts() -> None:
    reader = ConverseReader()
    read(reader, ended("max_tokens"), ended("end_turn"))
    assert reader.close().reason is StopReason.LENGTH


def test_a_model_that_does_not_report_the_stop_sequence_has_still_halted() -> None:
    reader = ConverseReader()
    read(reader, said('<execute>[{"name": "echo", "args": {}}]'), ended("end_turn"))
    assert reader.close().reason is StopReason.HALTED


def test_usage_counts_cached_tokens_apart() -> None:
    reader = ConverseReader()
    usage = {
        "inputTokens": 5,
        "outputTokens": 7,
        "totalTokens": 132,
        "cacheReadInputTokens": 100,
        "cacheWriteInputTokens": 20,
    }
    read(reader, ended("end_turn"), event("metadata", usage=usage, metrics={"latencyMs": 1}))
    assert reader.close().usage == Usage(input_uncached=5, input_cached=100, input_written=20, output=7)


def test_an_exception_in_the_stream_is_a_fault_with_its_words() -> None:
    (fault,) = read(ConverseReader(), {"modelStreamErrorException": {"message": "x", "originalMessage": "Overloaded"}})
    assert fault == Fault(FaultKind.ANSWERED, 502, "modelStreamErrorException", message="Overloaded")


def test_an_error_of_a_gateway_is_a_fault() -> None:
    (fault,) = read(ConverseReader(), {"error": {"code": "InternalError", "message": "broke"}})
    assert isinstance(fault, Fault)
    assert fault.message == "broke"


# What goes back


def test_reasoning_is_kept_as_it_came_with_the_text_and_the_tag_that_the_stop_swallowed() -> None:
    reader = ConverseReader(DIALECT.name)
    call = '<execute>[{"name": "recall", "args": {}}]'
    read(reader, thought(text="They "), thought(text="greet."), thought(signature="c2ln"))
    read(reader, thought(1, redactedContent="eA=="), said(call, 2), ended("stop_sequence"))
    assert reader.close().native == NativeContent(
        DIALECT.name,
        (THOUGHT, {"reasoningContent": {"redactedContent": "eA=="}}, {"text": call + STOP_SEQUENCE}),
    )


@pytest.mark.parametrize(
    "events",
    [
        [said("Hi"), ended("end_turn")],
        [thought(text="Hm."), said("Hi", 1), ended("end_turn")],  # without its signature, it is not accepted
        [thought(text="Hm."), thought(signature="c2ln"), ended("max_tokens")],
    ],
)
def test_an_answer_that_can_be_sent_as_text_needs_no_form_of_its_own(events: list[object]) -> None:
    reader = ConverseReader(DIALECT.name)
    read(reader, *events)
    assert reader.close().native is None


@pytest.mark.parametrize(("first", "gap"), [("One.", "\n\n"), ("One.\n", "\n")])
def test_text_after_reasoning_begins_a_paragraph(first: str, gap: str) -> None:
    events = read(ConverseReader(), said(first), thought(1, text="Hm."), said("Two.", 2), said(" Three.", 2))
    assert text_of(events) == f"{first}{gap}Two. Three."
    assert ReasoningArrived("") in events  # the model thinks again, which may take long


def test_pieces_of_blocks_that_take_turns_go_to_their_own_block() -> None:
    reader = ConverseReader(DIALECT.name)
    events = read(
        reader, thought(0, text="Hm."), said("Blue", 1), thought(0, signature="c2ln"), said(".", 1), ended("end_turn")
    )
    assert events == [ReasoningArrived("Hm."), TokensArrived("Blue"), TokensArrived(".")]
    back = reader.close().native
    assert back is not None
    assert back.items == (
        {"reasoningContent": {"reasoningText": {"text": "Hm.", "signature": "c2ln"}}},
        {"text": "Blue."},
    )


def test_effort_is_declared_only_where_it_is_sent() -> None:
    for model, *_ in FAMILIES:
        takes = traits_of(model).effort is not EffortField.NONE
        assert ConverseDialect.of(model).capabilities.effort is takes
    assert wire.EFFORT[Depth.DEEP] == "high"


@pytest.mark.parametrize(
    "fields",
    [{"text": ""}, {"reasoningContent": {"text": ""}}, {"reasoningContent": {"signature": "c2ln" * 25}}],
)
@pytest.mark.parametrize("blocks", [1, 20_000])
def test_many_blocks_and_pieces_that_nobody_reads_take_linear_time(fields: JsonObject, blocks: int) -> None:
    """Quadratic time would be 10 seconds and more."""
    reader, began = ConverseReader(DIALECT.name), process_time()
    for number in range(20_000):
        reader.receive(json.dumps(delta(number % blocks, **fields)))
    assert process_time() - began < cpu_s(5)
