"""Responses on the wire, without a wire: what is sent, and what each kind of event means."""

import json
from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.events import CallsArrived, CallsRejected, TextArrived
from agent.messages import Depth, Image, JsonObject, Message, NativeContent, Role, ToolCall, Usage
from agent.ports.model import CallOptions, Halt, ReasoningArrived, StopReason, TokensArrived
from agent.protocol.grammar import teach
from agent.protocol.parser import Parser
from agent.providers.faults import Fault, FaultKind
from agent.providers.resume_chain import ChainLink, ResumeChain, chain_after
from agent.providers.wire_responses import (
    EXECUTE,
    NO_RESULT,
    OPTIONAL,
    SEE_FIRST,
    ResponsesDialect,
    ResponsesReader,
)
from tests.fakes.openai_types import check_sent

DIALECT = ResponsesDialect("gpt-6.1-terra")
NAME = "openai-responses:gpt-6.1-terra"
TAUGHT = Message(Role.SYSTEM, teach("recall"))
REASONING: JsonObject = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "gAAA"}
CALL: JsonObject = {"type": "custom_tool_call", "id": "ctc_1", "call_id": "call_1", "name": "execute", "input": "[]"}
OTHER: JsonObject = {"type": "function_call", "id": "fc_1", "call_id": "call_2", "name": "recall", "arguments": "{}"}
TEXT: JsonObject = {
    "type": "message",
    "id": "msg_1",
    "role": "assistant",
    "status": "completed",
    "phase": "commentary",
    "content": [{"type": "output_text", "text": "Let me look.", "annotations": []}],
}

plain_messages = st.lists(
    st.builds(Message, st.sampled_from(Role), st.text(max_size=10), native=st.none()), min_size=1, max_size=6
)
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)
FIELDS = [
    "error",
    "response",
    "item",
    "output",
    "delta",
    "object",
    "status",
    "usage",
    "id",
    "code",
    "headers",
    "content",
    "incomplete_details",
    "name",
    "call_id",
    "input_tokens_details",
    "input",
    "arguments",
    "encrypted_content",
]
KINDS = [
    "response.completed",
    "response.failed",
    "response.incomplete",
    "response.output_item.done",
    "response.output_text.delta",
    "response.custom_tool_call_input.delta",
    "response.reasoning_text.delta",
    "response.refusal.delta",
    "error",
    "message",
    "reasoning",
    "custom_tool_call",
    "function_call",
]


def shaped_by(inner: st.SearchStrategy[object]) -> st.SearchStrategy[object]:
    """Objects with the names that the protocol has, in any order and nesting."""
    fields = st.dictionaries(st.sampled_from(FIELDS), inner, max_size=4)
    return st.tuples(st.sampled_from(KINDS), fields).map(lambda both: {"type": both[0], **both[1]}) | st.lists(inner)


shaped = st.recursive(cast("st.SearchStrategy[object]", values), shaped_by, max_leaves=12)


def user(text: str) -> Message:
    return Message(Role.USER, text)


def wrote(*items: JsonObject, text: str = "words", dialect: str = NAME) -> Message:
    return Message(Role.ASSISTANT, text, native=NativeContent(dialect, items))


def sent(*messages: Message, options: CallOptions | None = None, dialect: ResponsesDialect = DIALECT) -> JsonObject:
    body = dialect.request(messages, options or CallOptions()).body
    return cast("JsonObject", json.loads(body))


def event(kind: str, **fields: object) -> str:
    return json.dumps({"type": f"response.{kind}", **fields})


def completed(*output: JsonObject, **fields: object) -> str:
    response = {"object": "response", "id": "resp_1", "status": "completed", "output": output, **fields}
    return event("completed", response=response)


def read(*data: str) -> tuple[str, ResponsesReader]:
    """The text of an answer, and the reader that read it."""
    reader = ResponsesReader(NAME)
    events = [event for piece in data for event in reader.receive(piece)]
    return "".join(event.text for event in events if isinstance(event, TokensArrived)), reader


def done(*items: JsonObject) -> list[str]:
    return [event("output_item.done", item=item) for item in items]


def fault_of(data: str) -> Fault:
    (fault,) = ResponsesReader(NAME).receive(data)
    assert isinstance(fault, Fault)
    return fault


# --- requests ---------------------------------------------------------------------------------------------------


def test_a_request_says_what_the_protocol_needs_and_no_more() -> None:
    assert sent(Message(Role.SYSTEM, "Be brief."), user("Hello?"), Message(Role.ASSISTANT, "Hi."), user("So?")) == {
        "model": "gpt-6.1-terra",
        "input": [
            {"type": "message", "role": "developer", "content": "Be brief."},
            {"type": "message", "role": "user", "content": "Hello?"},
            {"type": "message", "role": "assistant", "content": "Hi."},
            {"type": "message", "role": "user", "content": "So?"},
        ],
        "store": False,
        "include": ["reasoning.encrypted_content"],
        "stream": True,
    }


def test_the_tool_is_offered_where_the_protocol_is_taught() -> None:
    body = sent(TAUGHT, user("Hello?"))
    assert body["tools"] == [EXECUTE]
    assert body["parallel_tool_calls"] is False
    assert "tools" not in sent(Message(Role.SYSTEM, "Answer in JSON."), user("</execute>"))


@pytest.mark.parametrize(("depth", "effort"), [(Depth.FAST, "low"), (Depth.DEEP, "high"), (Depth.ADAPT, None)])
def test_depth_is_the_reasoning_effort_and_adapt_says_nothing(depth: Depth, effort: str | None) -> None:
    body = sent(user("Hello?"), options=CallOptions(depth))
    assert body.get("reasoning") == (None if effort is None else {"effort": effort})


def test_requests_that_begin_alike_name_it() -> None:
    assert sent(user("Hello?"), options=CallOptions(cache_key="k"))["prompt_cache_key"] == "k"


def test_pictures_travel_as_data_and_are_described_to_a_model_that_sees_none() -> None:
    message = Message(Role.USER, "Look", (Image("image/png", b"png"),))
    assert sent(message)["input"] == [
        {
            "type": "message",
            "role": "user",
            "content": [
                {"type": "input_text", "text": "Look"},
                {"type": "input_image", "image_url": "data:image/png;base64,cG5n", "detail": "auto"},
            ],
        }
    ]
    assert "you cannot see" in str(sent(message, dialect=ResponsesDialect("m", images=False))["input"])


def test_what_the_model_wrote_goes_back_unchanged_and_results_answer_its_call() -> None:
    assert sent(user("Hello?"), wrote(REASONING, TEXT, CALL), user("<results>…"))["input"] == [
        {"type": "message", "role": "user", "content": "Hello?"},
        REASONING,
        TEXT,
        CALL,
        {"type": "custom_tool_call_output", "call_id": "call_1", "output": "<results>…"},
    ]


def test_several_calls_are_all_answered_and_the_first_holds_the_results() -> None:
    items = DIALECT.items([wrote(CALL, OTHER), user("<results>…"), user("And?")])
    assert items[2:] == [
        {"type": "custom_tool_call_output", "call_id": "call_1", "output": "<results>…"},
        {"type": "function_call_output", "call_id": "call_2", "output": SEE_FIRST},
        {"type": "message", "role": "user", "content": "And?"},
    ]


def test_a_call_that_nothing_follows_is_answered_all_the_same() -> None:
    none = {"type": "custom_tool_call_output", "call_id": "call_1", "output": NO_RESULT}
    assert DIALECT.items([wrote(CALL)])[1:] == [none]
    assert DIALECT.items([wrote(CALL), Message(Role.ASSISTANT, "So.")])[1] == none


def test_what_another_model_wrote_is_told_in_words() -> None:
    items = DIALECT.items([wrote(REASONING, CALL, dialect="anthropic:x"), user("<results>…")])
    assert [cast("JsonObject", item)["content"] for item in items] == ["words", "<results>…"]


def test_an_empty_answer_is_left_out() -> None:
    assert DIALECT.items([Message(Role.ASSISTANT, " "), user("Go on")]) == DIALECT.items([user("Go on")])


def test_a_frame_sends_only_what_is_new_after_its_parent() -> None:
    messages = (TAUGHT, user("Hello?"), wrote(CALL), user("<results>…"))
    chain = chain_after(messages[:2], "resp_1", messages[2].native)
    frame = json.loads(DIALECT.frame(messages, chain.link(messages), CallOptions()))
    assert frame["type"] == "response.create"
    assert frame["previous_response_id"] == "resp_1"
    assert frame["input"] == [{"type": "custom_tool_call_output", "call_id": "call_1", "output": "<results>…"}]
    assert frame["tools"] == [EXECUTE]
    assert "stream" not in frame


def test_a_frame_without_a_parent_sends_everything() -> None:
    messages = (TAUGHT, user("Hello?"))
    frame = json.loads(DIALECT.frame(messages, ChainLink(messages), CallOptions()))
    assert frame["input"] == sent(*messages)["input"]
    assert "previous_response_id" not in frame


@pytest.mark.parametrize("field", OPTIONAL)
def test_a_field_that_a_service_refuses_is_left_out_from_then_on(field: str) -> None:
    options = CallOptions(Depth.DEEP, "k")
    assert field in sent(TAUGHT, options=options)
    simpler = DIALECT.without(Fault(FaultKind.ANSWERED, 400, "unsupported_parameter", field, "Unsupported parameter"))
    assert simpler is not None
    assert field not in sent(TAUGHT, options=options, dialect=simpler)
    assert simpler.without(Fault(FaultKind.ANSWERED, 400, param=field)) is None


@pytest.mark.parametrize(
    ("param", "message", "field"),
    [
        ("include[0]", "Encrypted content is not supported with this model.", "include"),
        ("reasoning.effort", "Unsupported value: 'high'", "reasoning"),
        ("", "Unsupported parameter: 'prompt_cache_key' is not supported.", "prompt_cache_key"),
        ("", 'Unknown field "tools[0].format"', "tools"),
        ("", "Item 'rs_1' of this type was provided without its tools and reasoning.", None),
        ("input", "Item 'rs_1' of type 'reasoning' was provided without its required following item.", None),
        ("", "no", None),
    ],
)
def test_a_refused_field_is_known_by_its_name_and_not_by_a_word_in_passing(
    param: str, message: str, field: str | None
) -> None:
    simpler = DIALECT.without(Fault(FaultKind.ANSWERED, 400, "invalid_request_error", param, message))
    assert (simpler and simpler.left_out) == (frozenset({field}) if field else None)


def test_capabilities_follow_what_is_left_out() -> None:
    assert DIALECT.capabilities.halt is Halt.TOOL
    less = ResponsesDialect("m", left_out=frozenset({"tools", "reasoning"})).capabilities
    assert (less.halt, less.effort) == (Halt.NONE, False)


@given(st.lists(st.builds(Message, st.sampled_from(Role), st.text(st.characters(codec=None), max_size=20)), max_size=5))
def test_any_text_makes_a_valid_request_and_frame(messages: list[Message]) -> None:
    assert "null" not in str(sent(*messages)).replace("'null'", "")
    assert (
        json.loads(DIALECT.frame(messages, ChainLink(tuple(messages)), CallOptions()))["input"]
        == sent(*messages)["input"]
    )


@pytest.mark.slow
def test_what_we_send_is_what_the_vendors_own_types_allow() -> None:
    picture = Message(Role.USER, "Look", (Image("image/png", b"png"),))
    messages = (TAUGHT, picture, wrote(REASONING, TEXT, CALL, OTHER), user("<results>…"), Message(Role.ASSISTANT, "So"))
    options = CallOptions(Depth.DEEP, "k")
    link = chain_after(messages[:2], "resp_1", messages[2].native).link(messages)
    check_sent(sent(*messages, options=options))
    check_sent(json.loads(DIALECT.frame(messages, link, options)))
    check_sent(json.loads(DIALECT.frame(messages, ChainLink(messages), options)))


# --- answers ----------------------------------------------------------------------------------------------------


def test_text_arrives_as_it_comes() -> None:
    reader = ResponsesReader(NAME)
    assert reader.receive(event("created", response={"id": "resp_1"})) == []
    assert reader.begun
    assert reader.receive(event("output_text.delta", delta="Hel", item_id="m")) == [TokensArrived("Hel")]
    assert reader.receive(event("output_text.delta", delta="lo", item_id="m")) == [TokensArrived("lo")]
    assert not reader.finished
    assert reader.receive(completed(TEXT)) == []
    assert reader.finished
    assert reader.close().reason is StopReason.END
    assert reader.ignored == 0


def test_a_refusal_is_an_answer() -> None:
    assert read(event("refusal.delta", delta="I will not."))[0] == "I will not."


def test_reasoning_after_some_text_is_shown_before_its_first_word() -> None:
    begins = event("output_item.added", item={"type": "reasoning", "id": "rs_1", "summary": []})
    reader = DIALECT.reader()
    assert reader.receive(begins) == []
    reader.receive(event("output_text.delta", delta="On it."))
    assert reader.receive(begins) == [ReasoningArrived("")]
    assert reader.ignored == 0


@pytest.mark.parametrize("kind", ["reasoning_text.delta", "reasoning_summary_text.delta"])
def test_reasoning_comes_apart(kind: str) -> None:
    assert ResponsesReader(NAME).receive(event(kind, delta="hm")) == [ReasoningArrived("hm")]


def test_items_that_follow_one_another_are_paragraphs() -> None:
    text, _ = read(
        event("output_text.delta", delta="I ", item_id="a"),
        event("output_text.delta", delta="look.", item_id="a"),
        event("output_text.delta", delta="Found.", item_id="b"),
    )
    assert text == "I look.\n\nFound."


def test_a_call_becomes_its_block_once_the_answer_is_complete() -> None:
    call = {**CALL, "input": '[{"name": "recall", "args": {"query": "boat"}}]'}
    before = [event("custom_tool_call_input.delta", delta='[{"na', item_id="c"), *done(call)]
    assert read(*before)[0] == ""
    text, reader = read(*before, completed())
    assert text == '\n<execute>[{"name": "recall", "args": {"query": "boat"}}]\n</execute>'
    assert reader.close().reason is StopReason.HALTED


def test_a_call_that_is_being_written_shows_that_the_model_is_alive() -> None:
    assert ResponsesReader(NAME).receive(event("custom_tool_call_input.delta", delta="[{")) == [TokensArrived("")]


def test_an_answer_that_is_cut_off_runs_nothing() -> None:
    details = {"incomplete_details": {"reason": "max_output_tokens"}}
    text, reader = read(*done(CALL), event("incomplete", response={"id": "resp_1", "status": "incomplete", **details}))
    assert text == ""
    assert reader.close().reason is StopReason.LENGTH
    assert reader.response_id == ""
    assert reader.close().native is None


ONE = '{"name": "echo", "args": {"n": 1}}'
TWO = '{"name": "echo", "args": {"n": 2}}'
HUGE = f'{{"name": "echo", "args": {{"n": 1{"0" * 5000}}}}}'


@pytest.mark.parametrize(
    ("inputs", "calls"),
    [
        ([f"[{ONE}]"], [1]),
        ([ONE], [1]),
        ([f"{ONE}\n{TWO}"], [1, 2]),
        ([f"```json\n[{ONE}]\n```"], [1]),
        ([f"<execute>[{ONE}]\n</execute>"], [1]),
        ([f"[{ONE}]", f" [{TWO}] "], [1, 2]),
        ([f"[{ONE}]", TWO], [1, 2]),
        ([f"[{ONE}]", "[]", f"[{TWO}]"], [1, 2]),
        ([f"[{ONE}]", "[{"], None),
        ([f"[{ONE}]", "recall the boat"], None),
        ([f"[{ONE}]", f"[{HUGE}]"], None),
        (["recall the boat"], None),
        ([""], None),
    ],
)
def test_calls_end_in_one_list_or_one_correction_and_never_in_the_reply(
    inputs: list[str], calls: list[int] | None
) -> None:
    items = [{**CALL, "input": text, "call_id": f"call_{n}"} for n, text in enumerate(inputs)]
    text, _ = read(*done(*items), completed())
    parser = Parser(tool_names=frozenset({"echo"}))
    events = [event for event in [*parser.feed(text), *parser.close()] if not isinstance(event, TextArrived)]
    if calls is None:
        assert any(isinstance(event, CallsRejected) for event in events)
        assert not any(isinstance(event, CallsArrived) for event in events)
    else:
        assert events == [CallsArrived(tuple(ToolCall("echo", {"n": n}) for n in calls))]


def test_a_function_call_of_a_server_without_free_text_tools_reads_as_a_call() -> None:
    text, _ = read(*done({**OTHER, "arguments": '{"query": "boat"}'}), completed())
    assert text == '\n<execute>[{"name": "recall", "args": {"query": "boat"}}]\n</execute>'


def test_what_was_written_comes_back_without_what_the_vendor_would_refuse() -> None:
    bare: JsonObject = {"type": "reasoning", "id": "rs_2", "summary": []}
    nulls: JsonObject = {**TEXT, "status": None, "content": [{"type": "output_text", "text": "x", "logprobs": None}]}
    _, reader = read(*done(bare, REASONING, nulls, REASONING), completed())
    clean = {key: value for key, value in TEXT.items() if key != "status"}
    assert reader.close().native == NativeContent(
        NAME, (REASONING, {**clean, "content": [{"type": "output_text", "text": "x"}]})
    )
    assert reader.response_id == "resp_1"


def test_half_a_surrogate_pair_in_what_was_written_is_replaced() -> None:
    _, reader = read('{"type":"response.output_item.done","item":{"type":"message","id":"\\ud800"}}', completed())
    assert reader.close().native == NativeContent(NAME, ({"type": "message", "id": "?"},))


@pytest.mark.parametrize(
    "data",
    [
        [*done(TEXT), completed()],
        [completed(TEXT)],
        [json.dumps({"object": "response", "id": "resp_1", "status": "completed", "output": [TEXT]})],
        [event("output_text.delta", delta="Let me look.", item_id="msg_1"), *done(TEXT), completed(TEXT)],
        [event("output_text.delta", delta="Let me look."), completed(TEXT)],
    ],
)
def test_the_same_answer_is_read_however_much_of_it_streams(data: list[str]) -> None:
    text, reader = read(*data)
    assert text == "Let me look."
    assert reader.finished
    assert reader.close().native == NativeContent(NAME, (TEXT,))


def test_usage_is_told_in_parts_that_do_not_overlap() -> None:
    usage: dict[str, object] = {
        "input_tokens": 9000,
        "input_tokens_details": {"cached_tokens": 8192, "cache_write_tokens": 700},
        "output_tokens": 120,
        "output_tokens_details": {"reasoning_tokens": 40},
        "total_tokens": 9120,
    }
    _, reader = read(completed(usage=usage))
    assert reader.close().usage == Usage(108, 8192, 700, output=80, reasoning=40)
    assert ResponsesReader.usage_fields.read({}) == Usage()


def test_an_answer_that_tells_no_usage_has_none() -> None:
    assert read(completed())[1].close().usage is None


def test_an_answer_may_be_withheld() -> None:
    response = {"status": "incomplete", "incomplete_details": {"reason": "content_filter"}}
    assert read(event("incomplete", response=response))[1].close().reason is StopReason.FILTERED


@pytest.mark.parametrize(
    "response",
    [
        {"status": "incomplete", "incomplete_details": {"reason": "steered"}},
        {"status": "cancelled"},
        {"status": "in_progress"},
        {"status": "something_new"},
    ],
)
def test_an_answer_that_ends_in_another_state_may_be_incomplete_and_runs_nothing(response: dict[str, object]) -> None:
    text, reader = read(*done(TEXT), *done(CALL), event("completed", response={"id": "resp_1", **response}))
    assert "<execute>" not in text
    assert reader.response_id == "", "it cannot be continued"
    assert reader.close().reason is StopReason.UNKNOWN


@pytest.mark.parametrize(
    ("code", "status"),
    [
        ("server_error", 500),
        ("rate_limit_exceeded", 429),
        ("invalid_prompt", 400),
        ("bio_policy", 400),
        ("image_too_large", 400),
    ],
)
def test_a_failed_answer_is_worth_another_try_only_if_it_may_go_better(code: str, status: int) -> None:
    fault = fault_of(event("failed", response={"status": "failed", "error": {"code": code, "message": "no"}}))
    assert (fault.status, fault.code, fault.message) == (status, code, "no")


def test_an_error_over_websocket_tells_status_code_and_wait() -> None:
    error = {
        "type": "rate_limit_error",
        "code": "rate_limit_exceeded",
        "message": "slow down",
        "headers": {"Retry-After": 7},
    }
    fault = fault_of(json.dumps({"type": "error", "status": 429, "error": error}))
    assert (fault.status, fault.code, fault.message, fault.retry_after_s) == (
        429,
        "rate_limit_exceeded",
        "slow down",
        7,
    )


@pytest.mark.parametrize(
    ("data", "status"),
    [
        ('{"type": "error", "code": "server_error", "message": "oops", "param": null}', 500),
        ('{"type": "error", "error": {"code": "server_is_overloaded"}}', 529),
        ('{"type": "error"}', 500),
        ('{"error": {"message": "no", "code": "invalid_api_key", "type": "authentication_error"}}', 401),
        ('{"type": "error", "status": "x", "error": "words"}', 500),
    ],
)
def test_an_error_of_any_shape_is_a_fault(data: str, status: int) -> None:
    assert fault_of(data).status == status


@pytest.mark.parametrize("data", ["", "null", "[1]", "{broken", "[" * 100_000, '{"type": "ping"}', "[DONE]", "{}"])
def test_what_cannot_be_read_is_ignored_and_counted(data: str) -> None:
    reader = ResponsesReader(NAME)
    assert reader.receive(data) == []
    assert (reader.ignored, reader.begun) == (1, False)


def test_events_of_kinds_that_are_not_known_yet_are_counted() -> None:
    assert read(event("hologram.delta", delta="?"), event("created"))[1].ignored == 1


def test_items_nested_without_end_are_read_without_an_error() -> None:
    deep = "[" * 150 + "]" * 150
    call = f'{{"type": "custom_tool_call", "input": "[]", "x": {deep}}}'
    _, reader = read(f'{{"type": "response.output_item.done", "item": {call}}}', completed())
    assert reader.close().reason is StopReason.HALTED


@pytest.mark.slow
@given(st.lists(shaped, max_size=6))
def test_no_data_of_any_shape_raises(data: list[object]) -> None:
    reader = ResponsesReader(NAME)
    for value in data:
        reader.receive(json.dumps(value))
    reader.close()


# --- chains -----------------------------------------------------------------------------------------------------


def test_a_chain_that_nobody_has_answered_sends_everything() -> None:
    assert ResumeChain().link([user("Hello?")]) == ChainLink((user("Hello?"),))


@pytest.mark.parametrize(
    "messages",
    [
        (user("Hello!"), wrote(CALL), user("<results>")),
        (user("Hello?"), wrote(TEXT), user("<results>")),
        (user("Hello?"), Message(Role.ASSISTANT, "words"), user("<results>")),
        (user("Hello?"), Message(Role.USER, "words", native=wrote(CALL).native), user("<results>")),
        (user("Hello?"), wrote(CALL)),
        (user("Hello?"),),
        (),
    ],
)
def test_a_context_that_does_not_go_on_from_the_answer_sends_everything(messages: tuple[Message, ...]) -> None:
    chain = chain_after((user("Hello?"),), "resp_1", wrote(CALL).native)
    assert chain.link(messages) == ChainLink(messages)


@pytest.mark.parametrize(("handle", "answer"), [("", wrote(CALL).native), ("resp_1", None)])
def test_an_answer_without_a_handle_or_a_form_of_its_own_cannot_be_built_on(
    handle: str, answer: NativeContent | None
) -> None:
    assert chain_after((user("Hello?"),), handle, answer) == ResumeChain()


@given(plain_messages, plain_messages)
def test_what_the_vendor_has_and_what_is_sent_make_up_the_whole(before: list[Message], new: list[Message]) -> None:
    answer = wrote(CALL)
    link = chain_after(before, "resp_1", answer.native).link([*before, answer, *new])
    assert link == ChainLink(tuple(new), "resp_1", answer.native)
    assert DIALECT.items([*before, answer]) != []
    assert DIALECT.items([*before, answer, *new])[len(DIALECT.items(before)) + 1 :] == DIALECT.items(
        link.new, link.answering
    )
