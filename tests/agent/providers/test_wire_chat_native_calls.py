"""Tools in the form of Chat Completions: offered, called and answered as its types require; the parser sees blocks."""

import json
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.events import CallsArrived, CallsRejected, TextArrived
from agent.messages import JsonObject, Message, NativeContent, ResultStatus, Role, ToolCall, ToolResult, ToolSpec
from agent.ports.model import CallOptions, ResponseEnded, StopReason, TokensArrived
from agent.protocol.grammar import teach
from agent.protocol.parser import Parser
from agent.protocol.render import render_results
from agent.providers.catalog import OLLAMA, OPENAI, OPENROUTER, Endpoint, ToolsForm
from agent.providers.factory import ProviderWorld, open_chat
from agent.providers.faults import Fault, FaultKind
from agent.providers.wire_chat import MAX_CALLS, NO_RESULT, ChatDialect, ChatReader, NativeCalls, answers
from tests.fakes.clock import FakeClock
from tests.fakes.model_server import ModelServer, event, head, whole
from tests.fakes.one_turn import Echo, run_turn
from tests.fakes.vendor_types import fits, knows

SENT = "openai.types.chat.completion_create_params:CompletionCreateParamsStreaming"

SCHEMA: JsonObject = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}
TOOLS = (ToolSpec("echo", "Say it back.", SCHEMA), ToolSpec("look", "Look.", {"type": "object", "properties": {}}))
OPTIONS = CallOptions(tools=TOOLS)
DIALECT = ChatDialect("qwen3:8b", native=True)
SYSTEM = Message(Role.SYSTEM, f"You are a bot.\n\n{teach('echo(text): Say it back.')}")
HI = Message(Role.USER, "hi")


def called(*calls: tuple[str, str, str]) -> NativeContent:
    items: Any = [
        {"id": id_, "type": "function", "function": {"name": name, "arguments": args}} for id_, name, args in calls
    ]
    return NativeContent(DIALECT.name, ({"role": "assistant", "content": None, "tool_calls": items},))


def body(*messages: Message, dialect: ChatDialect = DIALECT, options: CallOptions = OPTIONS) -> Any:
    sent = json.loads(dialect.request(messages, options).body)
    assert fits(SENT, sent)
    return sent


def piece(index: int | None = 0, id_: str | None = None, name: str | None = None, arguments: object = None) -> Any:
    function = {key: value for key, value in {"name": name, "arguments": arguments}.items() if value is not None}
    fields = {"index": index, "id": id_, "type": "function" if name else None, "function": function}
    return {key: value for key, value in fields.items() if value is not None}


def chunk(*pieces: Any, **fields: Any) -> Any:
    choice = {"index": 0, "delta": {"tool_calls": list(pieces)} if pieces else {}, **fields}
    return {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [choice]}


def heard(*chunks: Any) -> tuple[str, ResponseEnded]:
    reader = ChatReader(DIALECT.name)
    events = [event for one in chunks for event in reader.receive(one if isinstance(one, str) else json.dumps(one))]
    return "".join(event.text for event in events if isinstance(event, TokensArrived)), reader.close()


def calls_in(text: str) -> tuple[ToolCall, ...]:
    parser = Parser(tool_names=frozenset({"echo", "look"}))
    events = [*parser.feed(text), *parser.close()]
    return next(event.calls for event in events if isinstance(event, CallsArrived))


def _json(value: object) -> Any:
    return value


def _calls_back(ended: ResponseEnded) -> Any:
    assert ended.native is not None
    return ended.native.items[0]["tool_calls"]


@pytest.mark.slow
def test_the_tools_are_handed_over_and_the_lesson_about_blocks_is_not() -> None:
    sent = body(SYSTEM, HI)
    system = str(sent["messages"][0]["content"])
    assert system.startswith("You are a bot.\n\n# How you write\n")
    assert "<execute>" not in system
    assert "echo(" not in system
    assert "<summary>" not in system
    assert [tool["function"]["name"] for tool in sent["tools"]] == ["echo", "look"]
    assert "stop" not in sent


@pytest.mark.slow
@pytest.mark.parametrize(
    ("messages", "options"),
    [((SYSTEM, HI), CallOptions()), ((Message(Role.SYSTEM, "Learn."), HI), OPTIONS), ((HI,), OPTIONS)],
)
def test_what_is_no_turn_is_asked_in_words(messages: Sequence[Message], options: CallOptions) -> None:
    plain = body(*messages, dialect=ChatDialect("qwen3:8b"), options=options)
    assert body(*messages, options=options) == plain


@pytest.mark.slow
def test_calls_go_back_as_they_came_with_their_results_behind_them() -> None:
    native = called(("a", "echo", '{"text": "<b>"}'), ("b", "look", "{}"))
    results = (
        '<results>[{"name": "echo", "status": "success", "content": "one"},\n'
        '{"name": "look", "status": "failure", "content": "no"}]\n</results>\n\nThis is the last round.'
    )
    before = body(SYSTEM, HI)
    sent = body(SYSTEM, HI, Message(Role.ASSISTANT, "in our words", native=native), Message(Role.USER, results))
    assert sent["messages"][:2] == before["messages"]
    assert sent["messages"][2:] == [
        dict(native.items[0]),
        {"role": "tool", "tool_call_id": "a", "content": "one"},
        {"role": "tool", "tool_call_id": "b", "content": "failure: no\n\nThis is the last round."},
    ]


@pytest.mark.slow
def test_what_another_model_called_stands_in_our_words_and_roles_alternate_around_it() -> None:
    theirs = NativeContent("chat:other", called(("a", "echo", "{}")).items)
    said = Message(Role.ASSISTANT, "<execute>[]\n</execute>", native=theirs)
    ours = Message(Role.ASSISTANT, "x", native=called(("a", "look", "{}")))
    sent = body(
        SYSTEM, HI, said, Message(Role.USER, "r"), ours, Message(Role.USER, "s"), Message(Role.ASSISTANT, "Done."), HI
    )
    roles = [message["role"] for message in sent["messages"]]
    assert roles == ["system", "user", "assistant", "user", "assistant", "tool", "assistant", "user"]


def test_a_call_whose_results_are_missing_does_not_go_back_alone() -> None:
    sent = body(SYSTEM, HI, Message(Role.ASSISTANT, "x", native=called(("a", "look", "{}"))))
    assert [message["role"] for message in sent["messages"]] == ["system", "user", "assistant"]
    assert "tool_calls" not in json.dumps(sent)


def test_results_that_do_not_read_stand_whole_and_none_is_left_out() -> None:
    assert answers(Message(Role.USER, "<results>[broken"), 2) == [NO_RESULT, "<results>[broken"]
    assert answers(Message(Role.USER, "plain words"), 1) == ["plain words"]
    assert answers(Message(Role.USER, '<results>[{"name": "a", "status": "success", "content": "<execute>x"}]'), 1) == [
        "‹execute>x"
    ]


# NUL goes nowhere: the parser drops it.
words = st.text(st.characters(exclude_characters="\0", codec="utf-8"), max_size=12)
arguments = st.dictionaries(words, words | st.integers() | st.booleans(), max_size=3)


@pytest.mark.slow
@given(st.lists(st.tuples(st.sampled_from(["echo", "look"]), arguments), min_size=1, max_size=4), st.data())
def test_however_they_are_cut_calls_arrive_as_they_were_made_and_can_go_back(
    calls: list[tuple[str, dict[str, Any]]], data: st.DataObject
) -> None:
    chunks: list[Any] = []
    for number, (name, args) in enumerate(calls):
        text = json.dumps(args, ensure_ascii=data.draw(st.booleans()))
        cut = data.draw(st.integers(0, len(text)))
        for fields in ({"id_": f"c{number}", "name": name, "arguments": text[:cut]}, {"arguments": text[cut:]}):
            one = chunk(piece(number, **fields))
            assert knows("openai.types.chat:ChatCompletionChunk", one)
            chunks.append(one)
    text, ended = heard(*chunks, chunk(finish_reason="tool_calls"), "[DONE]")
    assert calls_in(text) == tuple(ToolCall(name, args) for name, args in calls)
    again = [json.loads(call["function"]["arguments"]) for call in _calls_back(ended)]
    assert again == [args for _, args in calls]


def test_a_dot_in_a_name_which_vendors_refuse_comes_back_as_it_was() -> None:
    options = CallOptions(tools=(ToolSpec("files.read_all", "Read.", SCHEMA),))
    (sent,) = body(SYSTEM, HI, options=options)["tools"]
    assert sent["function"]["name"] == "files--read_all"
    text, _ = heard(chunk(piece(id_="1", name="files--read_all", arguments="{}")), chunk(finish_reason="tool_calls"))
    assert '"name": "files.read_all"' in text


def test_servers_that_leave_out_indices_ids_and_arguments_are_understood() -> None:
    text, ended = heard(chunk(piece(None, name="look"), piece(None, name="echo", arguments={"text": "a"})), "[DONE]")
    assert calls_in(text) == (ToolCall("look", {}), ToolCall("echo", {"text": "a"}))
    ids = [call["id"] for call in _calls_back(ended)]
    assert ids == ["call_1", "call_2"]


def test_an_answer_in_one_piece_holds_its_calls() -> None:
    message = {"role": "assistant", "content": "On it.", "tool_calls": [piece(None, "a", "echo", '{"text": "b"}')]}
    text, _ = heard({"choices": [{"message": message, "finish_reason": "tool_calls"}]})
    assert text.startswith("On it.\n<execute>")
    assert calls_in(text) == (ToolCall("echo", {"text": "b"}),)


@pytest.mark.parametrize(
    "deltas",
    [
        [{"function_call": {"name": "echo", "arguments": '{"text":'}}, {"function_call": {"arguments": '"a"}'}}],
        [{"tool_calls": {"id": "1", "function": {"name": "echo", "arguments": '{"text":"a"}'}}}],
    ],
    ids=["the older form", "an object in place of a list"],
)
def test_calls_in_a_field_of_another_shape_are_not_lost(deltas: list[Any]) -> None:
    reader = ChatReader("")
    events = [event for delta in deltas for event in reader.receive(json.dumps({"choices": [{"delta": delta}]}))]
    events += reader.receive(json.dumps({"choices": [{"delta": {}, "finish_reason": "function_call"}]}))
    block = "".join(event.text for event in events if isinstance(event, TokensArrived))
    assert block == '<execute>[{"name": "echo", "args": {"text":"a"}}]\n</execute>'


def test_an_answer_in_words_is_only_that() -> None:
    text, ended = heard({"choices": [{"delta": {"content": "Hello."}, "finish_reason": "stop"}]})
    assert (text, ended.native) == ("Hello.", None)


def test_arguments_that_do_not_read_are_corrected_like_any_and_do_not_go_back() -> None:
    text, ended = heard(chunk(piece(0, "a", "echo", '{"text": ')), chunk(finish_reason="tool_calls"))
    events = Parser(tool_names=frozenset({"echo"})).feed(text)
    assert not any(isinstance(event, TextArrived) for event in events)
    assert ended.native is None


def test_a_server_that_begins_calls_without_end_is_bounded() -> None:
    calls = NativeCalls()
    for number in range(10 * MAX_CALLS):
        calls.receive(piece(number, name="look"))
    assert calls.close().count('"name"') == MAX_CALLS + 1


def test_arguments_without_an_end_are_passed_on_and_refused() -> None:
    """They are not collected without a limit: beyond it each piece goes to the parser and the limits of a turn."""
    reader = ChatReader(DIALECT.name)
    chunks = [chunk(piece(0, "a", "echo", '{"text": "')), *[chunk(piece(0, arguments="x" * 10_000))] * 40]
    events = [event for one in chunks for event in reader.receive(json.dumps(one))]
    text = "".join(event.text for event in events if isinstance(event, TokensArrived))
    assert len(text) > 400_000 - 10_000
    refused = Parser(tool_names=frozenset({"echo"})).feed(text)
    assert any(isinstance(event, CallsRejected) for event in refused)


Pieces = list[dict[str, Any]]
TWO = (ToolCall("echo", {"text": "boat"}), ToolCall("echo", {"text": "ship"}))


@pytest.mark.parametrize(
    "pieces",
    [
        pytest.param(
            [piece(0, "c1", "echo", '{"text":"boat"}'), piece(0, "c2", "echo", '{"text":"ship"}')],
            id="all have index 0",
        ),
        pytest.param(
            [
                piece(0, "c1", "echo", ""),
                piece(0, None, None, '{"text":"boat"}'),
                piece(0, "c2", "echo", ""),
                piece(0, None, None, '{"text":"ship"}'),
            ],
            id="index 0, ids only in the first piece of each",
        ),
        pytest.param(
            [piece(0, None, "echo", '{"text":"boat"}'), piece(0, None, "echo", '{"text":"ship"}')],
            id="index 0, no ids",
        ),
        pytest.param(
            [piece(0, "", "echo", '{"text":"boat"}'), piece(0, "", "echo", '{"text":"ship"}')], id="index 0, empty ids"
        ),
        pytest.param(
            [
                piece(0, "c1", "echo", '{"te'),
                piece(1, "c2", "echo", '{"text":'),
                piece(0, None, None, 'xt":"boat"}'),
                piece(1, None, None, '"ship"}'),
            ],
            id="pieces take turns by index",
        ),
        pytest.param(
            [
                piece(None, "c1", "echo", '{"te'),
                piece(None, "c2", "echo", '{"text":'),
                piece(None, "c1", None, 'xt":"boat"}'),
                piece(None, "c2", None, '"ship"}'),
            ],
            id="pieces take turns by id",
        ),
        pytest.param(
            [
                piece(None, "c1", "echo", '{"te'),
                piece(None, None, None, 'xt":"boat"}'),
                piece(None, "c2", "echo", '{"text":"ship"}'),
            ],
            id="no index, id only in the first piece",
        ),
        pytest.param(
            [
                piece(0, "c1", "echo", '{"te'),
                piece(0, "c1", "echo", 'xt":"boat"}'),
                piece(1, "c2", "echo", '{"text":'),
                piece(1, "c2", "echo", '"ship"}'),
            ],
            id="id and name in each piece",
        ),
        pytest.param(
            [
                piece(0, "x1", "echo", ""),
                piece(0, "x2", None, '{"te'),
                piece(0, "x3", None, 'xt":"boat"}'),
                piece(1, "x4", "echo", ""),
                piece(1, "x5", None, '{"text":"ship"}'),
            ],
            id="a new id in each piece",
        ),
        pytest.param(
            [piece(0, "same", "echo", '{"text":"boat"}'), piece(1, "same", "echo", '{"text":"ship"}')],
            id="one id for all, with indices",
        ),
        pytest.param(
            [piece(0, "same", "echo", '{"text":"boat"}'), piece(0, "same", "echo", '{"text":"ship"}')],
            id="one id and index for all",
        ),
        pytest.param(
            [
                piece(0, None, "echo"),
                piece(0, "c1", None, '{"text":"boat"}'),
                piece(1, None, "echo"),
                piece(1, "c2", None, '{"text":"ship"}'),
            ],
            id="the id comes after the name",
        ),
        pytest.param(
            [
                piece(0, "c1"),
                piece(0, None, "echo"),
                piece(0, None, None, '{"text":"boat"}'),
                piece(0, "c2"),
                piece(0, None, "echo", '{"text":"ship"}'),
            ],
            id="the name comes after the id",
        ),
        pytest.param(
            [
                piece(None, "c1", "echo", '{"te'),
                piece(0, None, None, 'xt":"boat"}'),
                piece(None, "c2", "echo", '{"text":"ship"}'),
            ],
            id="the index is missing in the first piece",
        ),
        pytest.param(
            [
                piece(0, "c1", "echo", "{}"),
                piece(0, None, None, '{"text":"boat"}'),
                piece(1, "c2", "echo", '{"text":"ship"}'),
                piece(1, "c2", None, '{"text":"ship"}'),
            ],
            id="empty arguments first, and whole ones once more at the end",
        ),
    ],
)
def test_parallel_calls_are_told_apart_however_a_server_marks_them(pieces: Pieces) -> None:
    text, ended = heard(*map(chunk, pieces), chunk(finish_reason="tool_calls"), "[DONE]")
    assert calls_in(text) == TWO
    ids = [call["id"] for call in _calls_back(ended)]
    assert len(set(ids)) == 2
    together, _ = heard(chunk(*pieces), chunk(finish_reason="tool_calls"))
    assert calls_in(together) == TWO


@given(st.lists(st.tuples(st.sampled_from(["echo", "look"]), arguments), min_size=1, max_size=4), st.data())
def test_pieces_of_calls_that_take_turns_in_any_order_arrive_as_they_were_made(
    calls: list[tuple[str, dict[str, Any]]], data: st.DataObject
) -> None:
    mark = data.draw(st.sampled_from(["index", "id", "both"]))
    queues: list[Pieces] = []
    for number, (name, args) in enumerate(calls):
        text = json.dumps(args)
        edges = [0, *sorted(data.draw(st.lists(st.integers(0, len(text)), max_size=3))), len(text)]
        index, id_ = None if mark == "id" else number, f"c{number}"
        first = piece(index, id_, name, "")
        rest = [piece(index, None if mark == "index" else id_, None, text[a:b]) for a, b in pairwise(edges)]
        queues.append([first, *rest])
    heads = [queue.pop(0) for queue in queues]  # calls begin in their order
    order = data.draw(st.permutations([number for number, queue in enumerate(queues) for _ in queue]))
    chunks = [chunk(one) for one in [*heads, *(queues[number].pop(0) for number in order)]]
    text, _ = heard(*chunks, chunk(finish_reason="tool_calls"))
    assert calls_in(text) == tuple(ToolCall(name, args) for name, args in calls)


@pytest.mark.parametrize("reason", ["length", "error", "network_error", "content_filter", "something new"])
def test_calls_of_an_answer_that_did_not_end_well_do_not_run(reason: str) -> None:
    text, ended = heard(chunk(piece(0, "a", "look")), chunk(finish_reason=reason), "[DONE]")
    assert text == ""
    assert ended.reason not in {StopReason.END, StopReason.HALTED}


def test_calls_of_a_stream_without_any_end_do_not_run() -> None:
    text, ended = heard(chunk(piece(0, "a", "look")))
    assert text == ""
    assert ended.reason is StopReason.UNKNOWN


@pytest.mark.parametrize(
    ("status", "message"),
    [
        (400, "registry.ollama.ai/library/gemma:2b does not support tools"),
        (500, "tools param requires --jinja flag"),
        (400, '"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set'),
        (400, "Function tools with reasoning_effort are not supported for gpt-5.4 in /v1/chat/completions."),
    ],
)
def test_a_model_that_is_offered_no_tools_there_is_asked_in_words(status: int, message: str) -> None:
    fault = Fault(FaultKind.ANSWERED, status, message=message)
    assert DIALECT.without(fault) == ChatDialect("qwen3:8b")


@pytest.mark.parametrize("form", ToolsForm)
@pytest.mark.parametrize("endpoint", [OLLAMA, OPENROUTER])
async def test_tools_are_sent_natively_only_if_the_form_is_decided(endpoint: Endpoint, form: ToolsForm) -> None:
    provider = open_chat(endpoint, "qwen3:8b", "sk-1", ProviderWorld(FakeClock(), lambda: 0.0), form)
    assert provider.capabilities.native_calls is (form is ToolsForm.NATIVE)
    await provider.aclose()


@pytest.mark.slow
async def test_a_turn_calls_a_tool_in_the_vendors_form_and_answers_from_its_result() -> None:
    first = [
        chunk(piece(0, "a1", "echo", '{"text"')),
        chunk(piece(0, arguments=': "boat"}')),
        chunk(finish_reason="tool_calls"),
    ]
    second: list[object] = [
        {"choices": [{"index": 0, "delta": {"content": "Anna hears it."}, "finish_reason": "stop"}]}
    ]
    script = [[head(), *map(event, chunks)] for chunks in (first, second)]
    async with ModelServer(script) as server:
        line = ProviderWorld(FakeClock(), lambda: 0.0)
        provider = open_chat(OPENAI.at(server.url), "m-1", "sk-1", line, ToolsForm.NATIVE)
        tool = Echo()
        ran = await run_turn(provider, tool, (SYSTEM, HI))
        await provider.aclose()
    assert tool.said == ["boat"]
    assert ran.shown == "Anna hears it."
    one, two = (_json(request.json) for request in server.requests)
    assert fits(SENT, one)
    assert fits(SENT, two)
    assert two["messages"][: len(one["messages"])] == one["messages"]
    *_, step, result = two["messages"]
    assert step["tool_calls"][0]["function"] == {"name": "echo", "arguments": '{"text": "boat"}'}
    assert result == {"role": "tool", "tool_call_id": "a1", "content": "Anna hears boat"}, "no reminder of a workspace"


async def test_a_server_that_refuses_tools_is_asked_once_more_in_words() -> None:
    refusal = whole(400, {"error": {"message": "m-1 does not support tools", "type": "api_error"}})
    answer = [head(), event({"choices": [{"index": 0, "delta": {"content": "Hello."}, "finish_reason": "stop"}]})]
    async with ModelServer([refusal, answer]) as server:
        provider = open_chat(
            OPENAI.at(server.url), "m-1", "sk-1", ProviderWorld(FakeClock(), lambda: 0.0), ToolsForm.NATIVE
        )
        ran = await run_turn(provider, Echo(), (SYSTEM, HI))
        await provider.aclose()
    assert ran.shown == "Hello."
    one, two = (_json(request.json) for request in server.requests)
    assert "tools" in one
    assert "tools" not in two
    assert "<execute>" in str(two["messages"])


@pytest.mark.slow
def test_calls_that_a_model_wrote_into_its_text_go_back_in_the_vendors_form() -> None:
    """As text they would teach it blocks."""
    wrote = Message(
        Role.ASSISTANT, "Let me look.\n<execute>…", said="Let me look.", calls=(ToolCall("echo", {"text": "boat"}),)
    )
    results = Message(Role.USER, render_results([ToolResult("echo", ResultStatus.SUCCESS, "blue")]))
    sent = body(SYSTEM, HI, wrote, results)["messages"]
    call = sent[2]["tool_calls"][0]
    assert sent[2]["content"] == "Let me look."
    assert call["function"] == {"name": "echo", "arguments": '{"text": "boat"}'}
    assert (sent[3]["role"], sent[3]["tool_call_id"]) == ("tool", call["id"])
    assert "<execute>" not in str(sent)
