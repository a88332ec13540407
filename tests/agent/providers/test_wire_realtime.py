"""OpenAI Realtime on the wire, without a wire: what is sent, and what each kind of event means."""

import json
from collections.abc import Sequence
from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.messages import Depth, Image, JsonObject, Message, NativeContent, Role, Usage
from agent.ports.model import CallOptions, StopReason, TokensArrived
from agent.protocol.grammar import STOP_SEQUENCE
from agent.providers.catalog import REALTIME
from agent.providers.dialect import ReaderEvent
from agent.providers.faults import Fault, FaultKind
from agent.providers.wire_realtime import USAGE, RealtimeDialect, RealtimeDialogue
from tests.fakes.vendor_types import fits

DIALECT = RealtimeDialect("gpt-realtime-2.1-mini")
CONTEXT = (Message(Role.SYSTEM, "Be brief."), Message(Role.USER, "It is Monday."), Message(Role.USER, "Hello?"))
RESULTS = Message(Role.USER, "<results>[]\n</results>")
CALL = f'<execute>[{{"name": "echo", "args": {{}}}}]{STOP_SEQUENCE}'


def frames(sent: Sequence[str]) -> list[dict[str, object]]:
    return [cast("dict[str, object]", json.loads(frame)) for frame in sent]


def item(role: str, kind: str, text: str) -> dict[str, object]:
    return {
        "type": "conversation.item.create",
        "item": {"type": "message", "role": role, "content": [{"type": kind, "text": text}]},
    }


def asked(messages: Sequence[Message] = CONTEXT) -> RealtimeDialogue:
    dialogue = DIALECT.dialogue(CallOptions())
    dialogue.open(messages)
    dialogue.ask(messages)
    return dialogue


def hear(dialogue: RealtimeDialogue, *events: dict[str, object]) -> list[ReaderEvent]:
    return [event for data in events for event in dialogue.receive(json.dumps(data))]


def created(id_: str = "resp_1") -> dict[str, object]:
    return {"type": "response.created", "response": {"id": id_}}


def delta(text: str, id_: str = "resp_1", item: str = "item_1") -> dict[str, object]:
    return {"type": "response.output_text.delta", "response_id": id_, "item_id": item, "delta": text}


def done(status: str = "completed", id_: str = "resp_1", **fields: object) -> dict[str, object]:
    return {"type": "response.done", "response": {"id": id_, "status": status, **fields}}


def text_of(events: Sequence[ReaderEvent]) -> str:
    return "".join(event.text for event in events if isinstance(event, TokensArrived))


# What is sent


def test_the_session_is_text_and_takes_the_system_messages_as_its_instructions() -> None:
    (first,) = frames([DIALECT.dialogue(CallOptions()).open(CONTEXT)])
    assert first == {
        "type": "session.update",
        "session": {
            "type": "realtime",
            "output_modalities": ["text"],
            "instructions": "Be brief.",
            "truncation": "disabled",
        },
    }


def test_a_question_is_the_items_of_the_context_and_a_request_for_a_response() -> None:
    dialogue = DIALECT.dialogue(CallOptions())
    assert frames(dialogue.ask((*CONTEXT, Message(Role.ASSISTANT, "Hi."), Message(Role.SYSTEM, "Go on.")))) == [
        item("user", "input_text", "It is Monday."),
        item("user", "input_text", "Hello?"),
        item("assistant", "output_text", "Hi."),
        item("system", "input_text", "Go on."),
        {"type": "response.create"},
    ]


def test_pictures_are_sent_where_the_service_reads_them_and_named_where_it_does_not() -> None:
    shown = Message(Role.USER, "", (Image("image/png", b"png"), Image("image/webp", b"webp")))
    sent, _ = frames(DIALECT.dialogue(CallOptions()).ask([shown]))
    content = cast("list[dict[str, str]]", cast("dict[str, object]", sent["item"])["content"])
    assert "a picture" in content[0]["text"]
    assert content[1:] == [{"type": "input_image", "image_url": "data:image/png;base64,cG5n"}]


def test_a_message_without_words_is_not_sent() -> None:
    assert frames(DIALECT.dialogue(CallOptions()).ask([Message(Role.ASSISTANT, " "), Message(Role.USER, "")])) == [
        {"type": "response.create"}
    ]


@pytest.mark.parametrize(("depth", "effort"), [(Depth.FAST, "low"), (Depth.DEEP, "high"), (Depth.ADAPT, None)])
def test_the_depth_is_the_effort_where_the_model_takes_one(depth: Depth, effort: str | None) -> None:
    for model, expected in (("gpt-realtime-2.1", effort), ("gpt-realtime-1.5", None)):
        (frame,) = frames([RealtimeDialect(model).dialogue(CallOptions(depth)).open(CONTEXT)])
        session = cast("dict[str, object]", frame["session"])
        assert session.get("reasoning") == (None if expected is None else {"effort": expected})


def test_the_path_names_the_model() -> None:
    assert RealtimeDialect("a/b?c").path == "/realtime?model=a%2Fb%3Fc"
    assert REALTIME.authorisation("sk-1") == {"authorization": "Bearer sk-1"}


@pytest.mark.slow
def test_every_frame_is_one_that_the_vendors_client_would_send() -> None:
    dialogue = DIALECT.dialogue(CallOptions(Depth.DEEP))
    pictured = Message(Role.USER, "Look", (Image("image/png", b"png"),))
    messages = (*CONTEXT, Message(Role.ASSISTANT, "Hi."), Message(Role.SYSTEM, "Go on."), pictured)
    sent = [dialogue.open(messages), *dialogue.ask(messages)]
    hear(dialogue, created(), delta(CALL + " more"))
    sent += dialogue.outgoing()
    hear(dialogue, done("cancelled"))
    native = dialogue.close().native
    sent += dialogue.ask((*messages, Message(Role.ASSISTANT, "", native=native), RESULTS))
    kinds = [frame["type"] for frame in frames(sent)]
    assert {"session.update", "response.cancel", "conversation.item.delete", "response.create"} <= set(kinds)
    assert all(fits("openai.types.realtime:RealtimeClientEventParam", frame) for frame in frames(sent))


# What is read


def test_text_is_passed_on_as_it_comes() -> None:
    dialogue = asked()
    assert hear(dialogue, created(), delta("Hi"), delta(" there")) == [TokensArrived("Hi"), TokensArrived(" there")]
    assert not dialogue.finished
    hear(dialogue, done())
    assert dialogue.finished
    assert dialogue.close().reason is StopReason.END


def test_items_that_follow_one_another_are_paragraphs() -> None:
    dialogue = asked()
    said = hear(dialogue, created(), delta("I look."), delta("Blue", item="item_2"), delta(".", item="item_2"), done())
    assert text_of(said) == "I look.\n\nBlue."
    assert dialogue.close().native == NativeContent(DIALECT.name, (_said("I look."), _said("Blue.")))


def test_usage_is_in_parts_that_do_not_overlap() -> None:
    usage = {"input_tokens": 120, "output_tokens": 30, "input_token_details": {"cached_tokens": 64}}
    assert USAGE.read(cast("dict[str, object]", usage)) == Usage(input_uncached=56, input_cached=64, output=30)
    dialogue = asked()
    hear(dialogue, created(), done(usage=usage))
    assert dialogue.close().usage == Usage(input_uncached=56, input_cached=64, output=30)


@pytest.mark.parametrize(
    ("reason", "expected"),
    [
        ("max_output_tokens", StopReason.LENGTH),
        ("content_filter", StopReason.FILTERED),
        ("something_new", StopReason.UNKNOWN),
        ("", StopReason.UNKNOWN),
    ],
)
def test_an_incomplete_answer_says_why(reason: str, expected: StopReason) -> None:
    dialogue = asked()
    hear(dialogue, created(), delta("Hi"), done("incomplete", status_details={"reason": reason}))
    assert dialogue.close().reason is expected


@pytest.mark.parametrize("status", ["in_progress", "something_new", ""])
def test_a_response_that_is_done_in_another_state_may_be_incomplete(status: str) -> None:
    dialogue = asked()
    hear(dialogue, created(), delta("Hi"), done(status))
    assert dialogue.finished
    assert dialogue.close().reason is StopReason.UNKNOWN


def test_an_answer_that_the_service_stops_by_itself_is_a_broken_one() -> None:
    details = {"type": "cancelled", "reason": "turn_detected"}
    assert hear(asked(), created(), delta("Hi"), done("cancelled", status_details=details))[1:] == [
        Fault(FaultKind.CUT)
    ]


def test_a_failed_answer_is_a_fault_with_the_wait_that_it_asks_for() -> None:
    error = {"type": "tokens", "code": "rate_limit_exceeded", "message": "Limit reached. Please try again in 1.5s."}
    (fault,) = hear(asked(), created(), done("failed", status_details={"error": error}))
    assert isinstance(fault, Fault)
    assert (fault.status, fault.retry_after_s) == (429, 1.5)


@pytest.mark.parametrize(
    ("code", "status"),
    [("invalid_api_key", 401), ("model_not_found", 404), ("insufficient_quota", 429), ("server_error", 500)],
)
def test_an_error_event_is_a_fault(code: str, status: int) -> None:
    error = {"type": "invalid_request_error" if status < 500 else "server_error", "code": code, "message": "no"}
    (fault,) = hear(asked(), {"type": "error", "error": error})
    assert isinstance(fault, Fault)
    assert (fault.status, fault.code) == (status, code)


def test_known_events_say_nothing_and_unknown_ones_are_counted() -> None:
    dialogue = asked()
    assert hear(dialogue, {"type": "session.created"}, {"type": "rate_limits.updated"}) == []
    assert dialogue.ignored == 0
    assert hear(dialogue, {"type": "weather.changed"}) == []
    assert dialogue.receive("{broken") == []
    assert dialogue.ignored == 2


# The halt


def _said(text: str) -> JsonObject:
    return {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": text}]}


@pytest.mark.parametrize("size", [1, 2, 7, 1000])
def test_the_response_is_cancelled_where_the_calls_end_however_it_is_cut(size: int) -> None:
    dialogue, text = asked(), f"On it.\n{CALL}\n<results>made up"
    pieces = [text[start : start + size] for start in range(0, len(text), size)]
    said = hear(dialogue, created(), *map(delta, pieces))
    assert text_of(said) == f"On it.\n{CALL}"
    assert dialogue.halted
    assert not dialogue.finished
    assert frames(dialogue.outgoing()) == [
        {"type": "response.cancel", "event_id": "cancel-resp_1", "response_id": "resp_1"}
    ]
    assert dialogue.outgoing() == []
    assert hear(dialogue, delta(" straggler"), done("cancelled", usage={"input_tokens": 5, "output_tokens": 2})) == []
    ended = dialogue.close()
    assert (ended.reason, ended.usage) == (StopReason.HALTED, Usage(input_uncached=5, output=2))
    assert ended.native == NativeContent(DIALECT.name, (_said(f"On it.\n{CALL}"),))


def test_the_next_question_writes_the_cut_answer_again_and_adds_the_results() -> None:
    dialogue = asked()
    hear(dialogue, created(), delta(CALL + "\nmade up"), done("cancelled"))
    answer = Message(Role.ASSISTANT, "as we would write it", native=dialogue.close().native)
    messages = (*CONTEXT, answer, RESULTS)
    assert dialogue.continues(messages)
    assert frames(dialogue.ask(messages)) == [
        {"type": "conversation.item.delete", "event_id": "delete-item_1", "item_id": "item_1"},
        item("assistant", "output_text", CALL),
        item("user", "input_text", RESULTS.text),
        {"type": "response.create"},
    ]


def test_items_behind_the_cut_are_deleted_too_and_those_before_it_stay() -> None:
    dialogue = asked()
    hear(dialogue, created(), delta("I look."), delta(CALL, item="item_2"), delta("made up", item="item_3"))
    hear(dialogue, done("cancelled"))
    answer = Message(Role.ASSISTANT, "", native=dialogue.close().native)
    assert frames(dialogue.ask((*CONTEXT, answer, RESULTS)))[:4] == [
        {"type": "conversation.item.delete", "event_id": "delete-item_2", "item_id": "item_2"},
        {"type": "conversation.item.delete", "event_id": "delete-item_3", "item_id": "item_3"},
        item("assistant", "output_text", CALL),
        item("user", "input_text", RESULTS.text),
    ]


def test_an_answer_that_ended_there_by_itself_stays_as_it_is() -> None:
    dialogue = asked()
    hear(dialogue, created(), delta(CALL), done())
    ended = dialogue.close()
    assert ended.reason is StopReason.HALTED
    assert frames(dialogue.ask((*CONTEXT, Message(Role.ASSISTANT, "", native=ended.native), RESULTS))) == [
        item("user", "input_text", RESULTS.text),
        {"type": "response.create"},
    ]


def test_a_call_that_is_only_talked_about_halts_nothing() -> None:
    dialogue = asked()
    said = hear(dialogue, created(), delta("Write `</execute>` at the end."), done())
    assert text_of(said) == "Write `</execute>` at the end."
    assert not dialogue.halted


def test_what_comes_of_another_response_is_dropped() -> None:
    dialogue = asked()
    hear(dialogue, created(), delta(CALL), done("cancelled"))
    dialogue.ask((*CONTEXT, Message(Role.ASSISTANT, "", native=dialogue.close().native), RESULTS))
    late = {"code": "response_cancel_not_active", "event_id": "cancel-resp_1", "message": "There is none."}
    assert hear(dialogue, delta("late"), {"type": "error", "error": late}, done()) == []
    said = hear(
        dialogue,
        created("resp_2"),
        delta("late"),
        delta("Blue.", "resp_2", "item_9"),
        done(),
        done("completed", "resp_2"),
    )
    assert text_of(said) == "Blue."
    assert dialogue.finished


def test_an_item_that_is_already_gone_can_be_deleted_all_the_same() -> None:
    error = {"code": "item_delete_invalid_item_id", "event_id": "delete-item_1", "message": "There is none."}
    assert hear(asked(), {"type": "error", "error": error}) == []


# What is sent again


@pytest.mark.parametrize(
    "changed",
    [
        (CONTEXT[0], Message(Role.USER, "It is Tuesday."), CONTEXT[2]),
        CONTEXT[:2],
    ],
)
def test_a_context_that_does_not_go_on_is_another_conversation(changed: tuple[Message, ...]) -> None:
    dialogue = asked()
    hear(dialogue, created(), delta("Hi"), done())
    answer = Message(Role.ASSISTANT, "Hi", native=dialogue.close().native)
    assert not dialogue.continues((*changed, answer, RESULTS))
    assert not dialogue.continues((*CONTEXT, Message(Role.ASSISTANT, "Hi"), RESULTS))
    assert dialogue.continues((*CONTEXT, answer, RESULTS))


def test_another_connection_gets_everything_with_the_models_own_items() -> None:
    dialogue = asked()
    hear(dialogue, created(), delta(CALL + "\nmade up"), done("cancelled"))
    messages = (*CONTEXT, Message(Role.ASSISTANT, "our words", native=dialogue.close().native), RESULTS)
    dialogue.open(messages)
    assert frames(dialogue.ask(messages))[2:] == [
        item("assistant", "output_text", CALL),
        item("user", "input_text", RESULTS.text),
        {"type": "response.create"},
    ]


def test_another_models_items_are_not_sent() -> None:
    native = NativeContent("openai-realtime:another", ({"type": "message"},))
    assert frames(DIALECT.dialogue(CallOptions()).ask([Message(Role.ASSISTANT, "Hi.", native=native)]))[0] == item(
        "assistant", "output_text", "Hi."
    )


def test_a_session_that_is_over_before_the_response_began_may_be_made_anew() -> None:
    limit = "Your session hit the maximum duration of 60 minutes."
    dialogue = asked()
    assert dialogue.connection_fault(1001, limit) is None
    assert dialogue.connection_fault(1006, "") == Fault(FaultKind.CUT)
    assert hear(dialogue, {"type": "error", "error": {"code": "session_expired", "message": "over"}}) == []
    assert dialogue.connection_fault(1000, "") is None
    hear(dialogue, created())
    assert dialogue.connection_fault(1001, limit) == Fault(FaultKind.CUT)


# Anything at all

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)
KINDS = st.sampled_from(
    ["response.created", "response.output_text.delta", "response.done", "error", "session.updated", "x"]
)
IDS = st.sampled_from(["resp_1", "item_1"])
EVENTS = st.fixed_dictionaries(
    {"type": KINDS | JSON},
    optional={
        "response_id": IDS | JSON,
        "item_id": IDS | JSON,
        "delta": st.sampled_from(["\n</exe", "cute>", "x"]) | JSON,
        "error": JSON | st.dictionaries(st.sampled_from(["code", "message", "event_id", "type"]), JSON),
        "response": JSON
        | st.fixed_dictionaries(
            {"id": IDS | JSON},
            optional={
                "status": st.sampled_from(["completed", "cancelled", "failed", "incomplete"]) | JSON,
                "status_details": JSON | st.dictionaries(st.sampled_from(["error", "reason"]), JSON),
                "usage": JSON | st.dictionaries(st.sampled_from(["input_tokens", "input_token_details"]), JSON),
            },
        ),
    },
)


@pytest.mark.slow
@given(st.lists(EVENTS.map(json.dumps) | st.text(max_size=20), max_size=12))
def test_no_data_of_any_shape_raises(data: list[str]) -> None:
    dialogue = asked()
    for piece in data:
        dialogue.receive(piece)
        dialogue.outgoing()
    native = dialogue.close().native
    dialogue.ask((*CONTEXT, Message(Role.ASSISTANT, "", native=native), RESULTS))
