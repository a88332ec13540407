"""Chat Completions on the wire, without a wire: what is sent, and what each kind of chunk means."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.messages import Message, Role, Usage
from agent.ports.model import CallOptions, ProviderEvent, ReasoningArrived, StopReason, TokensArrived
from agent.providers.faults import Fault, FaultKind
from agent.providers.replay import Question, UsageCounter
from agent.providers.wire import MISSING_QUESTION
from agent.providers.wire_chat import DONE, REASONS, ChatDialect, ChatReader, merged

roles = st.sampled_from(Role)
conversations = st.lists(st.builds(Message, roles, st.text(max_size=20)), max_size=12)


def system(text: str) -> Message:
    return Message(Role.SYSTEM, text)


def user(text: str) -> Message:
    return Message(Role.USER, text)


def assistant(text: str) -> Message:
    return Message(Role.ASSISTANT, text)


def chunk(**delta: object) -> str:
    return json.dumps({"choices": [{"delta": delta}]})


def test_what_was_apart_is_joined_by_a_blank_line() -> None:
    messages = [system("a"), user("b"), user("c"), assistant("d"), assistant("e"), user("f"), system("g")]
    assert merged(messages) == [system("a\n\ng"), user("b\n\nc"), assistant("d\n\ne"), user("f")]


def test_history_that_begins_with_an_answer_gets_a_question() -> None:
    assert merged([system("a"), assistant("b")]) == [system("a"), user(MISSING_QUESTION), assistant("b")]


@given(conversations)
def test_strict_templates_get_what_they_want(messages: list[Message]) -> None:
    sent = [message.role for message in merged(messages)]
    spoken = [role for role in sent if role is not Role.SYSTEM]
    assert Role.SYSTEM not in sent[1:]
    assert spoken == [Role.USER if i % 2 == 0 else Role.ASSISTANT for i in range(len(spoken))]


@given(conversations)
def test_no_word_is_lost_by_merging(messages: list[Message]) -> None:
    together = "\0".join(message.text for message in merged(messages))
    assert all(message.text.strip() in together for message in messages)


@given(conversations, conversations)
def test_what_is_appended_after_an_answer_never_changes_the_prefix(before: list[Message], after: list[Message]) -> None:
    """A vendor's cache hits an equal prefix: each round appends an answer and results, and changes nothing before."""
    steps = [message for message in after if message.role is not Role.SYSTEM]
    base = [system("s"), user("q"), *(message for message in before if message.role is not Role.SYSTEM), user("q2")]
    assert merged([*base, assistant("step"), *steps])[: len(merged(base))] == merged(base)


def test_fields_that_a_server_refuses_can_be_left_out() -> None:
    body = json.loads(ChatDialect("m", stop=False, include_usage=False).request([user("hi")], CallOptions()).body)
    assert body == {"model": "m", "messages": [{"role": "user", "content": "hi"}], "stream": True}


@given(st.text(st.characters(codec=None), max_size=30))
def test_any_text_makes_a_valid_body(text: str) -> None:
    sent = json.loads(ChatDialect("m").request([user(text)], CallOptions()).body)
    assert sent["messages"][0]["content"] == text.encode("utf-8", "replace").decode()


@pytest.mark.parametrize(
    ("data", "events"),
    [
        (chunk(content="Hi"), [TokensArrived("Hi")]),
        (chunk(content=""), []),
        (chunk(content=None, role="assistant"), []),
        (chunk(content="a", reasoning="b"), [ReasoningArrived("b"), TokensArrived("a")]),
        (chunk(reasoning_content="b"), [ReasoningArrived("b")]),
        (chunk(reasoning="b", reasoning_content="b"), [ReasoningArrived("b")]),
        (chunk(reasoning=["unknown form"]), []),
        (chunk(content=[{"type": "text", "text": "a"}, {"type": "image"}, "x"]), [TokensArrived("ax")]),
        (
            chunk(content=[{"type": "thinking", "thinking": [{"type": "text", "text": "b"}]}]),
            [ReasoningArrived("b")],
        ),
        (chunk(content={"type": "text", "text": "a"}), [TokensArrived("a")]),
        ('{"choices": [{"text": "a"}]}', [TokensArrived("a")]),
        (chunk(content=[{"thinking": "b"}, {"text": "a"}]), [ReasoningArrived("b"), TokensArrived("a")]),
        (chunk(refusal="I will not"), [TokensArrived("I will not")]),
        (
            chunk(tool_calls=[{"index": 0, "function": {"name": "x"}}]),
            [TokensArrived("")],
        ),
        ('{"choices": [{"index": 1, "delta": {"content": "second"}}]}', []),
        ('{"choices": [{"message": {"content": "whole"}}]}', [TokensArrived("whole")]),
        ('{"choices": [null, 3, "x", {}]}', []),
        ('{"choices": {}}', []),
        ('{"choices": null, "usage": 7}', []),
        ("[DONE]", []),
        ("", []),
        ("null", []),
        ("[1, 2]", []),
        ("{not json", []),
        ('"' + "[" * 3, []),
        ("[" * 100_000, []),
    ],
)
def test_each_chunk_means_what_it_says(data: str, events: list[ProviderEvent]) -> None:
    assert ChatReader().receive(data) == events


def test_what_cannot_be_read_is_counted() -> None:
    reader = ChatReader()
    for data in ("{not json", '{"type": "ping"}', "7"):
        reader.receive(data)
    assert reader.ignored == 3
    assert not reader.begun


@pytest.mark.parametrize(
    ("choice", "reason"),
    [
        ({"finish_reason": "stop"}, StopReason.END),
        ({"finish_reason": "stop", "stop_reason": "\n</execute>"}, StopReason.HALTED),
        ({"finish_reason": "stop", "stop_reason": 128009}, StopReason.END),
        ({"finish_reason": "length"}, StopReason.LENGTH),
        ({"finish_reason": "content_filter"}, StopReason.FILTERED),
        *(({"finish_reason": word}, StopReason.END) for word in ("tool_calls", "TOOL_CALL", "completed")),
        ({"finish_reason": "eos_token"}, StopReason.END),
        *(
            ({"finish_reason": word}, StopReason.LENGTH)
            for word in ("MAX_TOKENS", "max-tokens", "LENGTH", "model_length")
        ),
        *(({"finish_reason": word}, StopReason.FILTERED) for word in ("sensitive", "Content-Filter", "SAFETY")),
        *(
            ({"finish_reason": word}, StopReason.UNKNOWN)
            for word in ("network_error", "error", "abort", "insufficient_system_resource", "OTHER", "something new")
        ),
        ({"finish_reason": None}, StopReason.UNKNOWN),
    ],
)
def test_each_finish_reason_has_its_meaning(choice: dict[str, object], reason: StopReason) -> None:
    reader = ChatReader()
    reader.receive(json.dumps({"choices": [{"delta": {}, **choice}]}))
    assert reader.finished is (choice["finish_reason"] is not None)
    assert reader.close().reason is reason


@given(st.text(min_size=1))
def test_only_a_listed_reason_is_a_good_end(word: str) -> None:
    reader = ChatReader()
    reader.receive(json.dumps({"choices": [{"delta": {"content": "Hi"}, "finish_reason": word}]}))
    is_listed = word.strip().lower().replace("-", "_") in REASONS
    assert (reader.close().reason is StopReason.UNKNOWN) is not is_listed


def test_the_mark_of_the_end_is_enough_for_a_server_that_reports_no_reason() -> None:
    reader = ChatReader()
    reader.receive(chunk(content="Hi"))
    assert reader.close().reason is StopReason.UNKNOWN
    reader.receive("[DONE]")
    assert reader.finished
    assert reader.close().reason is StopReason.END


def test_a_chunk_that_is_no_json_makes_the_answer_incomplete_and_unescaped_line_ends_do_not() -> None:
    torn, odd = ChatReader(), ChatReader()
    for data in (chunk(content="Hi"), '{"choices": [{"delta": {"cont', DONE):
        torn.receive(data)
    assert torn.close().reason is StopReason.UNKNOWN
    assert odd.receive('{"choices": [{"delta": {"content": "a\n\tb"}, "finish_reason": "stop"}]}') == [
        TokensArrived("a\n\tb")
    ]
    assert odd.close().reason is StopReason.END


@pytest.mark.parametrize("word", ["null", "None", "NONE", " "])
def test_a_missing_reason_that_is_written_as_a_word_ends_nothing(word: str) -> None:
    reader = ChatReader()
    reader.receive(json.dumps({"choices": [{"delta": {"content": "Hi"}, "finish_reason": word}]}))
    assert not reader.finished
    reader.receive(json.dumps({"choices": [{"delta": {}, "finish_reason": "stop"}]}))
    assert reader.close().reason is StopReason.END


def test_a_message_that_repeats_the_pieces_at_the_end_is_not_shown_twice() -> None:
    reader = ChatReader()
    reader.receive(chunk(content="Hi"))
    assert reader.receive('{"choices": [{"message": {"content": "Hi"}, "finish_reason": "stop"}]}') == []


def test_the_first_reason_counts() -> None:
    reader = ChatReader()
    for reason in ("length", "stop", "error"):
        reader.receive(json.dumps({"choices": [{"delta": {}, "finish_reason": reason}]}))
    assert reader.close().reason is StopReason.LENGTH


@pytest.mark.parametrize(
    "event",
    [
        {"error": {"message": "no"}},
        {"error": "no"},
        {"errors": [{"message": "no"}]},
        {"type": "error", "error": {"message": "no"}},
        {"type": "error", "message": "no"},
        {"object": "error", "message": "no", "code": 500},
        {"message": "no"},
        {"detail": "no"},
        {"error_code": 336100, "error_msg": "no"},
        {"base_resp": {"status_code": 1002, "status_msg": "no"}},
        {"choices": [{"delta": {}, "error": {"message": "no"}, "finish_reason": "error"}]},
        {"choices": [{"delta": {"content": ""}, "finish_reason": "error"}], "error": {"message": "no"}},
    ],
)
def test_an_error_of_any_form_in_the_stream_is_a_fault(event: object) -> None:
    (fault,) = ChatReader().receive(json.dumps(event))
    assert isinstance(fault, Fault)
    assert fault.message == "no"


@pytest.mark.parametrize("event", [{"error": None, "choices": []}, {"error": {}, "usage": None}, {"type": "ping"}])
def test_an_event_without_an_error_is_none(event: object) -> None:
    assert ChatReader().receive(json.dumps(event)) == []


@pytest.mark.parametrize(
    ("error", "status"),
    [
        ({"code": 429, "message": "slow"}, 429),
        ({"type": "rate_limit_error"}, 429),
        ({"type": "overloaded_error"}, 529),
        ({"code": "context_length_exceeded"}, 400),
        ({"type": "authentication_error"}, 401),
        ("went wrong", 500),
        ({"code": 7}, 500),
    ],
)
def test_an_error_object_in_the_stream_is_a_fault(error: object, status: int) -> None:
    for data in ({"error": error}, {"choices": [{"error": error}]}):
        (fault,) = ChatReader().receive(json.dumps(data))
        assert isinstance(fault, Fault)
        assert (fault.kind, fault.status) == (FaultKind.ANSWERED, status)


@pytest.mark.parametrize(
    ("usage", "expected"),
    [
        ({"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}, Usage(input_uncached=10, output=5)),
        (
            {
                "prompt_tokens": 100,
                "completion_tokens": 50,
                "total_tokens": 150,
                "prompt_tokens_details": {"cached_tokens": 60, "cache_write_tokens": 30},
                "completion_tokens_details": {"reasoning_tokens": 20},
            },
            Usage(input_uncached=10, input_cached=60, input_written=30, output=30, reasoning=20),
        ),
        (
            {
                "prompt_tokens": 100,
                "completion_tokens": 50,
                "total_tokens": 170,
                "completion_tokens_details": {"reasoning_tokens": 20},
            },
            Usage(input_uncached=100, output=50, reasoning=20),
        ),
        ({"prompt_tokens": 5, "prompt_tokens_details": {"cached_tokens": 9}}, Usage(input_cached=9)),
        ({"prompt_tokens": "many", "completion_tokens": None, "prompt_tokens_details": []}, Usage()),
        ({"prompt_tokens": -3, "completion_tokens": 2.0, "total_tokens": True}, Usage(output=2)),
    ],
)
def test_usage_is_split_into_parts_that_do_not_overlap(usage: dict[str, object], expected: Usage) -> None:
    assert ChatReader.usage_fields.read(usage) == expected


def test_the_last_usage_counts_wherever_it_stands() -> None:
    reader = ChatReader()
    reader.receive('{"choices": [{"delta": {"content": "a"}}], "usage": {"completion_tokens": 1}}')
    reader.receive('{"choices": [], "usage": {"completion_tokens": 2}}')
    reader.receive('{"choices": [], "usage": null}')
    assert reader.close().usage == Usage(output=2)


def test_missing_usage_is_estimated_from_what_was_said() -> None:
    reader = ChatReader()
    usage_counter = UsageCounter()
    for event in reader.receive(chunk(content="abcd" * 3, reasoning="abcd" * 2)):
        assert not isinstance(event, Fault)
        usage_counter.add(event)
    end = usage_counter.finish(reader.close(), Question([user("1234" * 5), user("1234" * 2)], 9))
    assert end.usage == Usage(input_uncached=7, output=3, reasoning=2, bytes_up=9, estimated=True)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)
fields = st.sampled_from(["choices", "usage", "error", "delta", "message", "content", "finish_reason", "index"])
chunks = st.recursive(
    json_values, lambda inner: st.lists(inner, max_size=2) | st.dictionaries(fields, inner, max_size=3)
)


@given(st.lists(chunks, max_size=5))
def test_no_chunk_of_any_shape_raises(values: list[object]) -> None:
    reader = ChatReader()
    for value in values:
        reader.receive(json.dumps(value))
    reader.close()


@given(st.text(max_size=40))
def test_no_data_of_any_kind_raises(data: str) -> None:
    reader = ChatReader()
    reader.receive(data)
    reader.close()
