"""Gemini's Interactions on the wire, without a wire: what is sent, and what each kind of event means."""

import json
from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.messages import Depth, Image, Message, NativeContent, Role, Usage
from agent.ports.model import CallOptions, Halt, HandleKept, ProviderEvent, ReasoningArrived, StopReason, TokensArrived
from agent.protocol.grammar import STOP_SEQUENCE
from agent.providers.catalog import GEMINI
from agent.providers.dialect import ReaderEvent
from agent.providers.faults import Fault, FaultKind
from agent.providers.resume_chain import ResumeChain, chain_after
from agent.providers.wire_interactions import InteractionsDialect, InteractionsReader
from tests.fakes.vendor_types import knows

PLAIN = InteractionsDialect("gemini-3.8-flash")
STORED = InteractionsDialect("gemini-3.8-flash", ResumeChain())


def system(text: str) -> Message:
    return Message(Role.SYSTEM, text)


def user(text: str, *images: Image) -> Message:
    return Message(Role.USER, text, images)


CONTEXT = (system("Be brief."), user("Hello?"))
ANSWER = NativeContent(PLAIN.name, ({"id": "v1_1"},))
STEP = Message(Role.ASSISTANT, "Let me look.", native=ANSWER)
CHAINED = InteractionsDialect("gemini-3.8-flash", chain_after(CONTEXT, "v1_1", ANSWER))


def body(dialect: InteractionsDialect, *messages: Message, depth: Depth = Depth.ADAPT) -> dict[str, object]:
    return cast("dict[str, object]", json.loads(dialect.request(messages, CallOptions(depth)).body))


def spoken(kind: str, text: str) -> dict[str, object]:
    return {"type": kind, "content": [{"type": "text", "text": text}]}


def start(kind: str, **fields: object) -> dict[str, object]:
    return {"event_type": "step.start", "index": 0, "step": {"type": kind, **fields}}


def delta(kind: str, **fields: object) -> dict[str, object]:
    return {"event_type": "step.delta", "index": 0, "delta": {"type": kind, **fields}}


def state(event: str, status: str, **fields: object) -> dict[str, object]:
    return {"event_type": f"interaction.{event}", "interaction": {"id": "v1_1", "status": status, **fields}}


def read(reader: InteractionsReader, *events: object) -> list[ReaderEvent]:
    return [happened for event in events for happened in reader.receive(json.dumps(event))]


def test_what_is_not_to_be_stored_brings_everything() -> None:
    assert PLAIN.request(CONTEXT, CallOptions()).path == "/interactions"
    assert body(PLAIN, *CONTEXT) == {
        "model": "gemini-3.8-flash",
        "stream": True,
        "store": False,
        "generation_config": {"stop_sequences": [STOP_SEQUENCE]},
        "system_instruction": "Be brief.",
        "input": [spoken("user_input", "Hello?")],
    }


def test_a_chain_begins_with_the_stable_prefix_as_its_first_input() -> None:
    sent = body(STORED, *CONTEXT)
    assert sent["store"] is True
    assert sent["input"] == [spoken("user_input", "Be brief."), spoken("user_input", "Hello?")]
    assert "system_instruction" not in sent


def test_the_next_round_names_the_last_one_and_brings_what_is_new() -> None:
    sent = body(CHAINED, *CONTEXT, STEP, user("<results>[]</results>"))
    assert sent["previous_interaction_id"] == "v1_1"
    assert sent["input"] == [spoken("user_input", "<results>[]</results>")]
    assert "system_instruction" not in sent


def test_a_context_that_changed_begins_a_new_chain() -> None:
    sent = body(CHAINED, system("Be long."), user("Hello?"), STEP, user("r"))
    assert "previous_interaction_id" not in sent
    assert sent["input"] == [
        spoken("user_input", "Be long."),
        spoken("user_input", "Hello?"),
        spoken("model_output", "Let me look."),
        spoken("user_input", "r"),
    ]


@pytest.mark.parametrize("status", [403, 404])
def test_an_interaction_that_the_vendor_has_not_is_done_without(status: int) -> None:
    fault = Fault(FaultKind.ANSWERED, status)
    simpler = CHAINED.without(fault)
    assert simpler == STORED
    assert STORED.without(fault) is None
    assert PLAIN.without(fault) is None


def test_a_level_of_thinking_that_a_model_refuses_can_be_left_out() -> None:
    fault = Fault(FaultKind.ANSWERED, 400, message="thinking_level is not supported")
    simpler = CHAINED.without(fault)
    assert simpler is not None
    assert simpler.chain == CHAINED.chain
    assert "thinking_level" not in json.dumps(body(simpler, user("q"), depth=Depth.DEEP))


@pytest.mark.parametrize(("depth", "level"), [(Depth.FAST, "low"), (Depth.DEEP, "high"), (Depth.ADAPT, None)])
def test_depth_is_a_level_of_thinking_where_the_person_chose_it(depth: Depth, level: str | None) -> None:
    config = cast("dict[str, object]", body(PLAIN, user("q"), depth=depth)["generation_config"])
    assert config.get("thinking_level") == level


def test_pictures_travel_whole_and_those_that_no_model_reads_are_described() -> None:
    (step,) = cast(
        "list[dict[str, list[dict[str, object]]]]",
        body(PLAIN, user("See", Image("image/png", b"png"), Image("image/tiff", b"tiff")))["input"],
    )
    words, picture = step["content"]
    assert str(words["text"]).startswith("See\n\n[With this came a picture, which you cannot see.")
    assert picture == {"type": "image", "data": "cG5n", "mime_type": "image/png"}


def test_it_resumes_and_stops_at_the_delimiter() -> None:
    assert PLAIN.capabilities.resume
    assert PLAIN.capabilities.halt is Halt.STOP_SEQUENCE
    assert PLAIN.capabilities.images
    assert GEMINI.authorisation("key-1") == {"x-goog-api-key": "key-1"}


roles = st.sampled_from(Role)
pictures = st.sampled_from([(), (Image("image/png", b"png"),), (Image("image/tiff", b"tiff"),)])
conversations = st.lists(
    st.builds(Message, roles, st.text(max_size=20), pictures, st.sampled_from([None, ANSWER])), max_size=6
)


@pytest.mark.slow
@given(conversations, st.sampled_from(Depth), st.sampled_from([PLAIN, STORED, CHAINED]))
def test_every_request_is_one_that_the_vendors_client_could_send(
    messages: list[Message], depth: Depth, dialect: InteractionsDialect
) -> None:
    assert knows("google.genai._gaos.types.interactions:CreateModelInteraction", body(dialect, *messages, depth=depth))


@given(conversations)
def test_no_word_of_a_new_round_is_lost(messages: list[Message]) -> None:
    rest = [message for message in messages if message.role is not Role.SYSTEM]
    sent = body(CHAINED, *CONTEXT, STEP, user("r"), *rest)
    assert "previous_interaction_id" in sent
    said = "\0".join(
        str(part.get("text"))
        for step in cast("list[dict[str, list[dict[str, object]]]]", sent["input"])
        for part in step["content"]
    )
    assert all(message.text in said for message in rest if message.text.strip())


@pytest.mark.parametrize(
    ("event", "events"),
    [
        (delta("text", text="Hi"), [TokensArrived("Hi")]),
        (delta("text", text=""), []),
        (delta("thought_summary", content={"type": "text", "text": "hm"}), [ReasoningArrived("hm")]),
        (delta("thought_summary"), []),
        (delta("thought_signature", signature="s"), []),
        (delta("arguments_delta", arguments="{}"), []),
        (start("model_output"), []),
        (start("model_output", content=[{"type": "text", "text": "Hi"}, None]), [TokensArrived("Hi")]),
        (start("thought", summary=[{"type": "text", "text": "hm"}]), [ReasoningArrived("hm")]),
        (start("function_call", name="x"), []),
        ({"event_type": "step.stop", "index": 0}, []),
        (state("created", "in_progress"), [HandleKept("v1_1")]),
        ({"event_type": "interaction.status_update", "interaction_id": "v1_2"}, [HandleKept("v1_2")]),
        ({"event_type": "interaction.created"}, []),
        ({"event_type": "weather"}, []),
        ({"event_type": ["step.delta"]}, []),
        ("[DONE]", []),
        (None, []),
    ],
)
def test_each_event_means_what_it_says(event: object, events: list[ProviderEvent]) -> None:
    assert read(InteractionsReader(stored=True), event) == events


def test_a_handle_is_told_once_and_only_where_something_is_stored() -> None:
    created, completed = state("created", "in_progress"), state("completed", "completed")
    assert read(InteractionsReader(stored=True), created, completed) == [HandleKept("v1_1")]
    assert read(InteractionsReader(), created, completed) == []


def test_what_cannot_be_read_is_counted_and_is_no_answer() -> None:
    reader = InteractionsReader()
    reader.receive("{not json")
    read(reader, {"event_type": "weather"}, 7)
    assert reader.ignored == 3
    assert not reader.begun


@pytest.mark.parametrize(
    ("status", "reason"),
    [
        ("completed", StopReason.END),
        ("requires_action", StopReason.UNKNOWN),
        ("cancelled", StopReason.UNKNOWN),
        ("in_progress", StopReason.UNKNOWN),
        ("incomplete", StopReason.LENGTH),
        ("requires_continuation", StopReason.LENGTH),
        ("budget_exceeded", StopReason.LENGTH),
        ("something_new", StopReason.UNKNOWN),
    ],
)
def test_each_status_has_its_meaning(status: str, reason: StopReason) -> None:
    reader = InteractionsReader(PLAIN.name, stored=True)
    read(reader, state("created", "in_progress"), delta("text", text="Hi"))
    assert not reader.finished
    read(reader, state("completed", status))
    assert reader.finished
    ended = reader.close()
    assert ended.reason is reason
    assert ended.native == (ANSWER if status == "completed" else None)


def test_an_interaction_that_is_not_stored_cannot_be_built_on() -> None:
    reader = InteractionsReader(PLAIN.name)
    read(reader, state("completed", "completed"))
    assert reader.close().native is None


def test_a_stop_inside_a_call_is_told_from_an_end() -> None:
    reader = InteractionsReader()
    read(reader, delta("text", text='<execute>[{"name": "recall"}]'), state("completed", "completed"))
    assert reader.close().reason is StopReason.HALTED


@pytest.mark.parametrize(
    ("event", "status"),
    [
        ({"event_type": "error", "error": {"code": "RESOURCE_EXHAUSTED", "message": "slow"}}, 429),
        ({"event_type": "error", "error": {"code": "UNAVAILABLE"}}, 503),
        ({"event_type": "error"}, 500),
        ({"error": {"code": 400, "message": "bad"}}, 400),
        (state("completed", "failed"), 500),
    ],
)
def test_an_error_in_the_stream_is_a_fault(event: object, status: int) -> None:
    (*_, fault) = read(InteractionsReader(), event)
    assert isinstance(fault, Fault)
    assert (fault.kind, fault.status) == (FaultKind.ANSWERED, status)


@pytest.mark.parametrize(("first", "gap"), [("One.", "\n\n"), ("One.\n", "\n")])
def test_each_step_of_output_begins_a_paragraph(first: str, gap: str) -> None:
    events = read(
        InteractionsReader(),
        *(start("model_output"), delta("text", text=first), start("thought"), start("model_output")),
        *(delta("text", text="Two."), delta("text", text=" Three.")),
    )
    assert "".join(event.text for event in events if isinstance(event, TokensArrived)) == f"{first}{gap}Two. Three."


@pytest.mark.parametrize(
    ("usage", "expected"),
    [
        (
            {
                "total_input_tokens": 100,
                "total_cached_tokens": 60,
                "total_output_tokens": 30,
                "total_thought_tokens": 20,
                "total_tokens": 150,
            },
            Usage(input_uncached=40, input_cached=60, output=30, reasoning=20),
        ),
        ({"total_input_tokens": 5, "total_tool_use_tokens": 2}, Usage(input_uncached=7)),
        ({"total_input_tokens": "many", "total_output_tokens": None}, Usage()),
    ],
)
def test_usage_is_split_into_parts_that_do_not_overlap(usage: dict[str, object], expected: Usage) -> None:
    assert InteractionsReader.usage_fields.read(usage) == expected


def test_the_last_usage_counts_wherever_it_stands() -> None:
    reader = InteractionsReader()
    assert reader.close().usage is None
    read(reader, {**delta("text", text="a"), "metadata": {"total_usage": {"total_output_tokens": 1}}})
    assert reader.close().usage == Usage(output=1)
    read(reader, state("completed", "completed", usage={"total_output_tokens": 2}))
    assert reader.close().usage == Usage(output=2)


@pytest.mark.slow
@pytest.mark.parametrize(
    "event",
    [
        *(state("created", "in_progress"), state("completed", "completed", usage={"total_output_tokens": 2})),
        *(start("model_output"), delta("text", text="Hi"), delta("thought_signature", signature="s")),
        delta("thought_summary", content={"type": "text", "text": "hm"}),
        {"event_type": "interaction.status_update", "interaction_id": "v1_2", "status": "in_progress"},
        {"event_type": "step.stop", "index": 0},
        {"event_type": "error", "error": {"code": "UNAVAILABLE"}},
    ],
)
def test_the_events_of_these_tests_are_the_vendors(event: dict[str, object]) -> None:
    assert knows("google.genai._gaos.types.interactions:InteractionSSEEvent", event)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)
kinds = st.sampled_from(
    [
        *("interaction.created", "interaction.completed", "interaction.status_update", "step.start", "step.delta"),
        *("error", "text", "thought_summary", "model_output", "thought"),
    ]
)
names = st.sampled_from(
    [
        *("interaction", "interaction_id", "id", "status", "usage", "step", "delta", "content", "summary", "text"),
        *("error", "metadata", "total_usage"),
    ]
)


def event_of(kind: object, fields: dict[str, object]) -> dict[str, object]:
    return {"type": kind, "event_type": kind, **fields}


def events_with(inner: st.SearchStrategy[object]) -> st.SearchStrategy[object]:
    return st.builds(event_of, kinds | inner, st.dictionaries(names, inner, max_size=3))


events = st.recursive(json_values, events_with, max_leaves=6)


@given(st.lists(events, max_size=6), st.booleans())
def test_no_event_of_any_shape_raises(values: list[object], stored: bool) -> None:
    reader = InteractionsReader(PLAIN.name, stored=stored)
    read(reader, *values)
    reader.close()


@given(st.text(max_size=40))
def test_no_data_of_any_kind_raises(data: str) -> None:
    reader = InteractionsReader()
    reader.receive(data)
    reader.close()
