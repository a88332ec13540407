"""Gemini Live on the wire, without a wire: what is sent, and what each kind of frame means."""

import json
from collections.abc import Sequence
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.events import CallsArrived, ProtocolEvent, TextArrived, WorkspaceArrived
from agent.messages import Image, Message, NativeContent, Role, ToolCall, Usage
from agent.ports.model import CallOptions, ReasoningArrived, StopReason, TokensArrived
from agent.protocol.grammar import teach
from agent.protocol.parser import Parser
from agent.providers.dialect import ReaderEvent
from agent.providers.faults import Fault, FaultKind
from agent.providers.wire_live import (
    HOW_TO_CALL,
    LIVE_USAGE,
    SEE_FIRST,
    LiveCall,
    LiveDialect,
    LiveDialogue,
    call_text,
    can_write,
    closed_fault,
    read_frame,
)
from tests.fakes.vendor_types import parses

SPEAKER = LiveDialect("gemini-3.8-live")
WRITER = LiveDialect("gemini-live-2.5-flash", spoken=False)
TAUGHT = Message(Role.SYSTEM, teach("echo: say it back"))
CONTEXT = (Message(Role.SYSTEM, "Be brief."), Message(Role.USER, "It is Monday."), Message(Role.USER, "Hello?"))
RESULTS = Message(Role.USER, "<results>[]\n</results>")
HANDLE: dict[str, object] = {"sessionResumptionUpdate": {"newHandle": "h1", "resumable": True}}
DONE: dict[str, object] = {"serverContent": {"turnComplete": True}}

Frame = dict[str, object]


def frame(sent: str) -> Frame:
    return cast("Frame", json.loads(sent))


def setup_of(sent: str) -> Frame:
    return cast("Frame", frame(sent)["setup"])


def content_of(sent: str) -> Frame:
    return cast("Frame", frame(sent)["clientContent"])


def asked(dialect: LiveDialect = SPEAKER, messages: Sequence[Message] = CONTEXT) -> LiveDialogue:
    dialogue = dialect.dialogue(CallOptions())
    dialogue.open(messages)
    hear(dialogue, {"setupComplete": {}})
    dialogue.ask(messages)
    return dialogue


def hear(dialogue: LiveDialogue, *frames: Frame) -> list[ReaderEvent]:
    return [event for data in frames for event in dialogue.receive(json.dumps(data))]


def heard(text: str) -> Frame:
    return {"serverContent": {"outputTranscription": {"text": text}}}


def written(text: str, **fields: object) -> Frame:
    return {"serverContent": {"modelTurn": {"parts": [{"text": text, **fields}]}}}


def called(*ids: str) -> Frame:
    args = {"calls": [{"name": "echo", "args": '{"text": "one"}'}]}
    return {"toolCall": {"functionCalls": [{"id": id_, "name": "execute", "args": args} for id_ in ids]}}


def parsed(text: str) -> list[ProtocolEvent]:
    """What the parser reads in it, besides text."""
    parser = Parser()
    return [event for event in [*parser.feed(text), *parser.close()] if not isinstance(event, TextArrived)]


def going_on(dialogue: LiveDialogue) -> tuple[Message, ...]:
    """The context of the next round, once the answer is complete."""
    return (*CONTEXT, Message(Role.ASSISTANT, "our words", native=dialogue.close().native), RESULTS)


# What is sent


def test_a_model_that_only_speaks_is_asked_for_a_transcript() -> None:
    assert setup_of(SPEAKER.setup(CONTEXT, "")) == {
        "model": "models/gemini-3.8-live",
        "generationConfig": {"responseModalities": ["AUDIO"]},
        "sessionResumption": {},
        "outputAudioTranscription": {},
        "systemInstruction": {"parts": [{"text": "Be brief."}]},
    }


def test_a_model_that_writes_is_asked_for_text() -> None:
    setup = setup_of(WRITER.setup(CONTEXT, "h1"))
    assert setup["generationConfig"] == {"responseModalities": ["TEXT"]}
    assert setup["sessionResumption"] == {"handle": "h1"}
    assert "outputAudioTranscription" not in setup


def test_the_function_is_offered_where_the_protocol_is_taught_and_explained_after_it() -> None:
    assert "tools" not in setup_of(SPEAKER.setup(CONTEXT, ""))
    setup = setup_of(SPEAKER.setup([TAUGHT], ""))
    system = cast("dict[str, list[dict[str, str]]]", setup["systemInstruction"])["parts"][0]["text"]
    assert system == f"{TAUGHT.text}\n\n{HOW_TO_CALL}"
    (tool,) = cast("list[dict[str, list[Frame]]]", setup["tools"])
    (function,) = tool["functionDeclarations"]
    assert (function["name"], function["behavior"]) == ("execute", "BLOCKING")


def test_a_question_is_the_whole_conversation_in_turns() -> None:
    (sent,) = SPEAKER.dialogue(CallOptions()).ask(
        (*CONTEXT, Message(Role.ASSISTANT, "Hi."), Message(Role.USER, "Look", (Image("image/png", b"png"),)))
    )
    assert content_of(sent) == {
        "turns": [
            {"role": "user", "parts": [{"text": "It is Monday.\n\nHello?"}]},
            {"role": "model", "parts": [{"text": "Hi."}]},
            {
                "role": "user",
                "parts": [{"text": "Look"}, {"inlineData": {"mimeType": "image/png", "data": "cG5n"}}],
            },
        ],
        "turnComplete": True,
    }


def test_results_are_the_output_of_the_first_call_and_a_reference_in_the_others() -> None:
    dialogue = asked()
    hear(dialogue, called("c1", "c2"))
    messages = going_on(dialogue)
    assert dialogue.continues(messages)
    (sent,) = dialogue.ask(messages)
    assert frame(sent) == {
        "toolResponse": {
            "functionResponses": [
                {"id": "c1", "name": "execute", "response": {"output": RESULTS.text}},
                {"id": "c2", "name": "execute", "response": {"output": SEE_FIRST}},
            ]
        }
    }


def test_what_follows_a_plain_answer_is_more_content() -> None:
    dialogue = asked()
    hear(dialogue, heard("Hi."), DONE)
    (sent,) = dialogue.ask(going_on(dialogue))
    assert content_of(sent) == {"turns": [{"role": "user", "parts": [{"text": RESULTS.text}]}], "turnComplete": True}


def test_on_another_connection_our_words_stand_for_what_was_called() -> None:
    dialogue = asked()
    hear(dialogue, called("c1"))
    messages = going_on(dialogue)
    dialogue.open(messages)
    turns = cast("list[Frame]", content_of(dialogue.ask(messages)[0])["turns"])
    assert turns[1:] == [
        {"role": "model", "parts": [{"text": "our words"}]},
        {"role": "user", "parts": [{"text": RESULTS.text}]},
    ]


@pytest.mark.slow
@pytest.mark.parametrize("dialect", [SPEAKER, WRITER])
def test_every_frame_is_one_that_the_vendors_client_would_send(dialect: LiveDialect) -> None:
    dialogue = asked(dialect)
    hear(dialogue, called("c1"))
    pictured = (TAUGHT, Message(Role.USER, "Look", (Image("image/png", b"png"),)))
    sent = [
        dialect.setup([TAUGHT], ""),
        dialect.setup(CONTEXT, "h1"),
        *dialogue.ask(going_on(dialogue)),
        *dialogue.ask(pictured),
    ]
    assert all(parses("google.genai.types:LiveClientMessage", frame(each)) for each in sent)


@pytest.mark.parametrize(
    ("model", "writes"),
    [
        ("gemini-3.8-live", False),
        ("gemini-live-2.5-flash", True),
        ("gemini-live-2.5-flash-native-audio", False),
        ("gemini-2.5-flash-native-audio-preview-12-2025", False),
    ],
)
def test_which_models_write_is_known_by_their_names(model: str, writes: bool) -> None:
    assert can_write(model) is writes


def test_speech_has_its_price_and_that_is_said() -> None:
    assert "billed as audio" in SPEAKER.warning
    assert "gemini-3.8-live" in SPEAKER.warning
    assert WRITER.warning == ""


# What is read


def test_the_transcript_is_the_text_of_a_model_that_speaks() -> None:
    sound: Frame = {"serverContent": {"modelTurn": {"parts": [{"inlineData": {"data": "AA=="}}]}}}
    dialogue = asked()
    assert hear(dialogue, heard("Hi"), sound, heard(" there")) == [
        TokensArrived("Hi"),
        TokensArrived(""),
        TokensArrived(" there"),
    ]
    assert hear(dialogue, written("not said")) == []
    assert not dialogue.finished
    hear(dialogue, DONE)
    assert dialogue.finished
    ended = dialogue.close()
    assert (ended.reason, ended.native) == (StopReason.END, NativeContent(SPEAKER.name, ({"text": "Hi there"},)))


def test_the_text_of_a_model_that_writes_is_its_text_and_its_thoughts_are_not() -> None:
    said = hear(asked(WRITER), written("hm", thought=True), written("Hi"), heard("not written"))
    assert said == [ReasoningArrived("hm"), TokensArrived("Hi")]


def test_a_call_ends_the_answer_as_the_block_that_it_stands_for() -> None:
    dialogue = asked()
    said = hear(dialogue, heard("On it."), called("c1", "c2"))
    assert dialogue.finished
    ended = dialogue.close()
    assert ended.reason is StopReason.HALTED
    text = "".join(event.text for event in said if isinstance(event, TokensArrived))
    assert parsed(text) == [CallsArrived((ToolCall("echo", {"text": "one"}),) * 2)]


def test_what_belongs_into_the_workspace_stands_before_the_calls() -> None:
    workspace = {"objective": "o", "understanding": "u", "approach": "a", "discoveries": "", "secure": False}
    call = LiveCall("c1", "execute", {"workspace": workspace, "calls": [{"name": "echo", "args": "{}"}]})
    first, second = parsed(call_text([call]))
    assert isinstance(first, WorkspaceArrived)
    assert (first.workspace.objective, first.secure) == ("o", False)
    assert second == CallsArrived((ToolCall("echo", {}),))


@pytest.mark.parametrize(
    "call",
    [
        LiveCall("c1", "execute", {"calls": [{"name": "echo", "args": {"text": "one"}}]}),
        LiveCall("c1", "execute", {"calls": {"name": "echo", "args": '{"text": "one"}'}}),
        LiveCall("c1", "execute", {"name": "echo", "args": {"text": "one"}}),
        LiveCall("c1", "echo", {"text": "one"}),
    ],
)
def test_a_call_that_is_written_otherwise_means_the_same(call: LiveCall) -> None:
    assert parsed(call_text([call])) == [CallsArrived((ToolCall("echo", {"text": "one"}),))]


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"turnCompleteReason": "NEED_MORE_INPUT"}, StopReason.END),
        ({"turnCompleteReason": "RESPONSE_REJECTED"}, StopReason.FILTERED),
        ({"turnCompleteReason": "GENERATED_CONTENT_SAFETY"}, StopReason.FILTERED),
        ({"interactionStatus": "IDLE"}, StopReason.END),
        ({"turnCompleteReason": "MALFORMED_FUNCTION_CALL"}, StopReason.UNKNOWN),
        ({"turnCompleteReason": "MAX_REGENERATION_REACHED"}, StopReason.UNKNOWN),
        ({"turnCompleteReason": "SOMETHING_NEW"}, StopReason.UNKNOWN),
    ],
)
def test_a_turn_that_is_complete_says_why(fields: dict[str, str], reason: StopReason) -> None:
    dialogue = asked()
    hear(dialogue, {"serverContent": {"turnComplete": True, **fields}})
    assert dialogue.finished
    assert dialogue.close().reason is reason


def test_a_turn_that_was_interrupted_may_be_incomplete() -> None:
    dialogue = asked()
    hear(dialogue, heard("The three steps are"), {"serverContent": {"interrupted": True}}, DONE)
    assert dialogue.finished
    assert dialogue.close().reason is StopReason.UNKNOWN


def test_an_error_beside_the_end_of_a_turn_changes_nothing() -> None:
    dialogue = asked()
    assert not any(
        isinstance(event, Fault) for event in hear(dialogue, heard("Blue."), {**DONE, "error": {"code": 500}})
    )
    assert dialogue.close().reason is StopReason.END


def test_a_turn_that_goes_on_in_the_background_is_not_complete() -> None:
    dialogue = asked()
    hear(dialogue, heard("A moment."), {"serverContent": {"turnComplete": True, "interactionStatus": "IN_PROGRESS"}})
    assert not dialogue.finished


def test_usage_is_in_parts_that_do_not_overlap() -> None:
    usage = {"promptTokenCount": 90, "cachedContentTokenCount": 10, "responseTokenCount": 7, "thoughtsTokenCount": 3}
    counted = Usage(input_uncached=80, input_cached=10, output=7, reasoning=3)
    assert LIVE_USAGE.read(usage) == counted
    dialogue = asked()
    hear(dialogue, heard("Hi"), {**DONE, "usageMetadata": usage})
    assert dialogue.close().usage == counted


def test_known_frames_say_nothing_and_unknown_ones_are_counted() -> None:
    dialogue = asked()
    assert hear(dialogue, {"voiceActivity": {}}, {"usageMetadata": {}}, {"toolCallCancellation": {"ids": ["x"]}}) == []
    assert dialogue.ignored == 0
    assert hear(dialogue, {"weather": {}}) == []
    assert dialogue.receive("{broken") == []
    assert dialogue.ignored == 2


def test_an_error_frame_is_a_fault_before_and_after_the_question() -> None:
    error: Frame = {"error": {"code": 8, "status": "RESOURCE_EXHAUSTED", "message": "no"}}
    (fault,) = hear(asked(), error)
    assert isinstance(fault, Fault)
    assert fault.status == 429
    dialogue = SPEAKER.dialogue(CallOptions())
    dialogue.open(CONTEXT)
    assert hear(dialogue, error) == [fault]


@pytest.mark.parametrize(
    ("code", "reason", "status"),
    [
        (1007, "Request contains an invalid argument.", 400),
        (1007, "API key not valid. Please pass a valid API key.", 401),
        (1008, "models/m is not found for API version v1beta", 404),
        (1011, "You exceeded your current quota.", 429),
        (1011, "Internal error encountered.", 500),
        (1011, "The service is currently unavailable.", 503),
        (4321, "", 500),
    ],
)
def test_a_connection_that_is_closed_with_a_reason_was_refused(code: int, reason: str, status: int) -> None:
    fault = closed_fault(code, reason)
    assert (fault.kind, fault.status) == (FaultKind.ANSWERED, status)
    assert asked().connection_fault(code, reason) == fault


@pytest.mark.parametrize("code", [1000, 1001, 1005, 1006])
def test_a_connection_that_just_ends_was_cut(code: int) -> None:
    assert asked().connection_fault(code, "") == Fault(FaultKind.CUT)


# What came late, or too early


def test_the_end_of_a_turn_that_a_call_has_ended_is_not_the_end_of_the_next() -> None:
    dialogue = asked()
    hear(dialogue, called("c1"))
    dialogue.ask(going_on(dialogue))
    assert hear(dialogue, DONE) == []
    assert not dialogue.finished
    hear(dialogue, heard("Done."), DONE)
    assert dialogue.finished


def test_an_end_that_came_between_the_rounds_is_not_waited_for() -> None:
    dialogue = asked()
    hear(dialogue, called("c1"))
    messages = going_on(dialogue)
    hear(dialogue, DONE)
    dialogue.ask(messages)
    hear(dialogue, DONE)
    assert dialogue.finished


@pytest.mark.parametrize("late", [called("c2"), {"toolCallCancellation": {"ids": ["c1"]}}, {"goAway": {}}])
def test_a_connection_on_which_something_else_goes_on_is_left(late: Frame) -> None:
    dialogue = asked()
    hear(dialogue, called("c1"))
    messages = going_on(dialogue)
    assert dialogue.continues(messages)
    assert hear(dialogue, late) == []
    assert not dialogue.continues(messages)


def test_a_call_that_cannot_be_answered_is_not_built_on() -> None:
    dialogue = asked()
    hear(dialogue, called(""))
    messages = going_on(dialogue)
    assert messages[-2].native is None
    assert not dialogue.continues(messages)


# The handle


def resumed() -> tuple[LiveDialogue, tuple[Message, ...]]:
    dialogue = asked()
    hear(dialogue, called("c1"))
    messages = going_on(dialogue)
    hear(dialogue, HANDLE, {"goAway": {"timeLeft": "5s"}})
    return dialogue, messages


def test_the_next_connection_goes_on_by_the_handle() -> None:
    dialogue, messages = resumed()
    assert setup_of(dialogue.open(messages))["sessionResumption"] == {"handle": "h1"}
    assert not dialogue.ready
    hear(dialogue, {"setupComplete": {}})
    assert dialogue.ready
    assert "toolResponse" in frame(dialogue.ask(messages)[0])


def test_a_handle_that_is_refused_is_forgotten_and_all_is_sent_again() -> None:
    dialogue, messages = resumed()
    dialogue.open(messages)
    assert dialogue.connection_fault(1008, "session not found") is None
    assert setup_of(dialogue.open(messages))["sessionResumption"] == {}
    hear(dialogue, {"setupComplete": {}})
    assert len(cast("list[Frame]", content_of(dialogue.ask(messages)[0])["turns"])) == 3
    assert dialogue.connection_fault(1008, "session not found") is not None


def test_a_conversation_that_cannot_be_resumed_now_has_no_handle() -> None:
    dialogue, messages = resumed()
    hear(dialogue, {"sessionResumptionUpdate": {"resumable": False}})
    assert setup_of(dialogue.open(messages))["sessionResumption"] == {}


def test_a_handle_of_another_conversation_is_not_used() -> None:
    dialogue, _ = resumed()
    assert setup_of(dialogue.open(CONTEXT))["sessionResumption"] == {}


def test_a_handle_that_came_while_the_model_spoke_stands_for_too_little() -> None:
    dialogue = asked()
    hear(dialogue, heard("Hi"), HANDLE, DONE)
    assert setup_of(dialogue.open(going_on(dialogue)))["sessionResumption"] == {}


# Anything at all

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)


def some(**fields: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Anything, or an object with some of these fields."""
    return JSON | st.fixed_dictionaries(dict[str, st.SearchStrategy[Any]](), optional=fields)


FRAMES = some(
    serverContent=some(
        modelTurn=some(parts=st.lists(some(text=JSON, thought=JSON, inlineData=JSON), max_size=3)),
        outputTranscription=some(text=JSON),
        turnComplete=JSON,
        turnCompleteReason=JSON,
        interactionStatus=JSON,
    ),
    toolCall=some(functionCalls=st.lists(some(id=JSON, name=JSON | st.just("execute"), args=JSON), max_size=3)),
    toolCallCancellation=some(ids=JSON),
    usageMetadata=some(promptTokenCount=JSON),
    goAway=JSON,
    sessionResumptionUpdate=some(newHandle=JSON, resumable=JSON),
    error=JSON,
    setupComplete=JSON,
)


@given(st.lists(FRAMES.map(json.dumps) | st.text(max_size=20), max_size=8), st.sampled_from([SPEAKER, WRITER]))
def test_no_data_of_any_shape_raises(data: list[str], dialect: LiveDialect) -> None:
    dialogue = asked(dialect)
    for piece in data:
        dialogue.receive(piece)
    messages = going_on(dialogue)
    for piece in data:
        dialogue.receive(piece)
    dialogue.continues(messages)
    dialogue.open(messages)
    dialogue.ask(messages)


@pytest.mark.parametrize("levels", [250, 900, 100_000])
def test_a_frame_that_is_nested_without_end_is_no_frame(levels: int) -> None:
    deep = "[" * levels + "]" * levels
    frame = f'{{"toolCall": {{"functionCalls": [{{"id": "c1", "name": "execute", "args": {{"calls": {deep}}}}}]}}}}'
    read = read_frame(frame, spoken=False)
    assert (read.known, read.calls) == (False, ())
