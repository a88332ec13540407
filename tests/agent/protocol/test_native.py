"""Calls and thoughts in the forms of vendors: they run or are corrected, and are never shown; talk about them is text."""

# ruff: noqa: E501 -- a stream stands on one line, as the model wrote it

import ast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent.events import CallsArrived, CallsRejected, ProtocolEvent, TextArrived, ThoughtArrived
from agent.messages import ToolCall
from agent.protocol.blocks import IN_BLOCKS, IN_FUNCTIONS, Corrections
from agent.protocol.foreign_calls import closing_parenthesis
from agent.protocol.grammar import ParserLimits
from agent.protocol.native import NativeOpening, read_native
from agent.protocol.parser import Parser
from tests.agent.protocol.deviations import BOAT, TOOL_NAMES
from tests.examples import examples, one_in

ARGS = '{"query": "boat"}'
CALL = '{"name": "recall", "arguments": {"query": "boat"}}'
ELEMENT = "<parameter=query>\nboat\n</parameter>\n"
FUNCTION = f"<function=recall>\n{ELEMENT}</function>"

# By the family of models that was trained on it.
CALLS = {
    "DeepSeek V3.2": '<｜DSML｜function_calls>\n<｜DSML｜invoke name="recall">\n<｜DSML｜parameter name="query" string="true">boat</｜DSML｜parameter>\n</｜DSML｜invoke>\n</｜DSML｜function_calls>',
    "DeepSeek V3.2 with other bars": '<‖DSML‖tool_calls>\n<‖DSML‖invoke name="recall">\n<‖DSML‖parameter name="query">boat</‖DSML‖parameter>\n</‖DSML‖invoke>\n</‖DSML‖tool_calls>',
    "MiniMax": '<minimax:tool_call>\n<invoke name="recall">\n<parameter name="query">boat</parameter>\n</invoke>\n</minimax:tool_call>\n',
    "Kimi": f"<|tool_calls_section_begin|><|tool_call_begin|>functions.recall:0<|tool_call_argument_begin|>{ARGS}<|tool_call_end|><|tool_calls_section_end|>",
    "Gemma 4": '<|tool_call>call:recall{query:<|"|>boat<|"|>}<tool_call|>',
    "Gemma's functions": "<start_function_call>call:recall{query:<escape>boat<escape>}<end_function_call>",
    "GLM": "<tool_call>recall\n<arg_key>query</arg_key>\n<arg_value>boat</arg_value>\n</tool_call>",
    "Gemini": '```tool_code\nprint(default_api.recall(query="boat"))\n```',
    "Llama's code": '<|python_tag|>recall.call(query="boat")',
    "Llama's JSON": '<|python_tag|>{"name": "recall", "parameters": {"query": "boat"}}',
    "Llama's function": f"<function=recall>{ARGS}</function>",
    "Llama 4": '<|python_start|>[recall(query="boat")]<|python_end|>',
    "Llama behind its header": f"<|start_header_id|>assistant<|end_header_id|>\n\n<function=recall>{ARGS}</function><|eom_id|>",
    "Phi": f"<|tool_call|>[{CALL}]<|/tool_call|>",
    "Command": '<|START_ACTION|>[{"tool_call_id": "0", "tool_name": "recall", "parameters": {"query": "boat"}}]<|END_ACTION|>',
    "InternLM": '<|action_start|><|plugin|>{"name": "recall", "parameters": {"query": "boat"}}<|action_end|>',
    "Qwen Coder": f"<tool_call>\n{FUNCTION}\n</tool_call>",
    "Qwen between its tokens": f"<|im_start|>assistant\n<tool_call>\n{CALL}\n</tool_call><|im_end|>",
    "Granite": f"<|tool_call|>[{CALL}]",
    "Granite without bars": f"<tool_call>[{CALL}]",
    "Functionary": f">>>recall\n{ARGS}",
    "Nemotron": f"<TOOLCALL>[{CALL}]</TOOLCALL>",
    "FireFunction": f"functools[{CALL}]",
    "Hunyuan": f"<tool_calls>\n<tool_call>recall\n```json\n{ARGS}\n```</tool_call>\n</tool_calls>",
    "Seed": f"<seed:tool_call>\n{FUNCTION}\n</seed:tool_call>",
    "Step": '<｜tool_calls_begin｜><｜tool_call_begin｜>function<｜tool_sep｜><steptml:invoke name="recall"><steptml:parameter name="query">boat</steptml:parameter></steptml:invoke><｜tool_call_end｜><｜tool_calls_end｜>',
    "OLMo": '<function_calls>\nrecall(query="boat")\n</function_calls>',
    "LFM": '<|tool_call_start|>[recall(query="boat")]<|tool_call_end|>',
    "Grok": '<xai:function_call name="recall">\n<parameter name="query">boat</parameter>\n</xai:function_call>',
    "Apertus": '<|tools_prefix|>[{"recall": {"query": "boat"}}]<|tools_suffix|>',
    "Mistral": f"[TOOL_CALLS]recall[CALL_ID]abc123def[ARGS]{ARGS}",
    "Mistral's short form": f"[TOOL_CALLS]recall{ARGS}",
    "LM Studio": f"[TOOL_REQUEST]{CALL}[END_TOOL_REQUEST]",
    "Llama's tag without its end": f"<function=recall{ARGS}</function>",
    "Llama's tag with parentheses": f"<function=recall({ARGS})</function>",
    "Llama's tag around parentheses": f"<function=recall({ARGS})></function>",
    "Llama's tag with brackets": f"<function=recall[]{ARGS}</function>",
    "Llama's tag with blanks": f"<function=recall {ARGS} </function>",
    "Llama's name in parentheses": f"<function(recall){ARGS}</function>",
    "Llama's name behind a slash": f"<function/recall>{ARGS}</function>",
    "Llama's tag with a comma": f"<function=recall,{ARGS}</function>",
    "Claude 2": "<function_calls>\n<invoke>\n<tool_name>recall</tool_name>\n<parameters>\n<query>boat</query>\n</parameters>\n</invoke>\n</function_calls>",
    "LongCat": "<longcat_tool_call>recall\n<longcat_arg_key>query</longcat_arg_key>\n<longcat_arg_value>boat</longcat_arg_value>\n</longcat_tool_call>",
    "MiniMax's code": f"<function_call>```typescript\nfunctions.recall({ARGS})\n```",
    "Command's words": 'Action: ```json\n[{"tool_name": "recall", "parameters": {"query": "boat"}}]\n```',
    "Qwen's flowers": f"✿FUNCTION✿: recall\n✿ARGS✿: {ARGS}\n✿RESULT✿",
    "a role of its own": f"<|im_start|>tool_call\n{CALL}<|im_end|>",
    "a word and a colon": f"tool_call: {CALL}",
    "a word and a name": f"TOOL_CALL: recall({ARGS})",
    "gpt-oss glued": f"assistantcommentary to=functions.recall json{ARGS}",
    "Mistral's list": f"[TOOL_CALLS] [{CALL}]</s>",
    "gpt-oss without its tokens": f"commentary to=functions.recall json{ARGS}",
    "to= and dots": f"to=recall ... {ARGS}",
    "ReAct": f"Action: recall\nAction Input: {ARGS}",
    "tags named like the tool": "<recall>\n<query>boat</query>\n</recall>",
    "attributes": '<recall query="boat"/>',
    "tool_use": f"<tool_use>\n<name>recall</name>\n<arguments>{ARGS}</arguments>\n</tool_use>",
    "a name in an attribute": f'<tool name="recall">{ARGS}</tool>',
    "another name in an attribute": f'<tool_call name="recall">{ARGS}</tool_call>',
    "the arguments first": '<|tool_call|>{"arguments": {"query": "boat"}, "name": "recall"}<|/tool_call|>',
    "call": f"<call>{CALL}</call>",
    "tools": f"<tools>\n{CALL}\n</tools>\n\nYou can use it.",
    "function": f"<function>{CALL}</function>",
    "functions": f"<functions>\n{CALL}\n</functions>",
    "an unknown token": f"<|do_call_now|>{CALL}<|/do_call_now|>",
    "an unknown tag": f"<acme:use_tool>{CALL}</acme:use_tool>",
}  # fmt: skip

# Calls with nothing around them: they run where a model was taught none of our tags, and are corrected once elsewhere.
UNMARKED = {
    "Llama's list": '[recall(query="boat")]',
    "GLM's lines": f"recall\n{ARGS}",
    "braces of a template": '{{"name": "recall", "arguments": {"query": "boat"}}}',
    "braces and a fence too many": f"{{{CALL}}}}}\n```",
    "JSON in a fence": f"To find it, call recall:\n\n```json\n{CALL}\n```",
    "action": '```json\n{"action": "recall", "action_input": {"query": "boat"}}\n```',
    "tool": '{"tool": "recall", "tool_input": {"query": "boat"}}',
    "tool_uses": '{"tool_uses": [{"recipient_name": "functions.recall", "parameters": {"query": "boat"}}]}',
}  # fmt: skip

ANSWERS = {
    "thought": "<thought>Hm.</thought>It is blue.",
    "antThinking": "<antThinking>Hm.</antThinking>It is blue.",
    "GLM's box": "<|begin_of_box|>It is blue.<|end_of_box|>",
    "Kimi K3": "<|open|>think<|sep|>Hm.<|close|>think<|sep|><|open|>response<|sep|>It is blue.<|close|>response<|sep|>",
    "Gemma 4": "<|channel>thought\nHm.\n<channel|>It is blue.",
    "Seed": "<seed:think>Hm.</seed:think>It is blue.",
    "Magistral": "[THINK]Hm.[/THINK]It is blue.",
    "Command": "<|START_THINKING|>Hm.<|END_THINKING|><|START_RESPONSE|>It is blue.<|END_RESPONSE|>",
    "Kimi VL": "◁think▷Hm.◁/think▷It is blue.",
    "Sky": "<|begin_of_thought|>\nHm.\n<|end_of_thought|>\n\n<|begin_of_solution|>It is blue.<|end_of_solution|>",
    "MedGemma": "<unused94>thought\nHm.<unused95>It is blue.",
    "a frame": "<reasoning>Hm.</reasoning><answer>It is blue.</answer>",
    "EXAONE": "<thought>\nHm.\n</thought>\n\nIt is blue.[|endofturn|]",
    "Seed's end": "<seed:think>Hm.</seed:think>It is blue.<seed:eos>",
    "Gemma's turn": "<start_of_turn>model\nIt is blue.<end_of_turn>",
    "Nemotron's token": "It is blue.\n<SPECIAL_12>",
    "tokens without bars": "It is blue.<eos><pad>",
    "an end in the line": "It is blue.</s>",
    "a stray end": "It is blue.\n<stop/>",
    "a stray pair": "It is blue.\n<stop></stop>",
    "an end of Mistral's": "It is blue.\n</s>",
}  # fmt: skip

TEXTS = (
    'Phi-4 writes `<|tool_call|>[{"name": "recall"}]<|/tool_call|>` in its answers.',
    'Use it so:\n```xml\n<minimax:tool_call>\n<invoke name="recall">\n</invoke>\n</minimax:tool_call>\n```\nThat is how.',
    "The <|python_tag|> token precedes code, and <tool_call> a call of recall, for example.",
    "<tool_call> is a tag; recall is a tool. It is called by name.\n",
    'recall(query="boat") searches, and remember(text) keeps.\n',
    "[recall](https://x.org) is a link\n[x] done\n<function> and <call> are tags.\n",
    "recall is a tool.\nremember: another.\n",
    "An <action> element of a form, and <reasoning> in a log.\n",
    "<done/> is a tag, <hr/> another.\n<hr/>\n<div>x</div>\n",
    "See [T](x), a[T]: list[TOOL], [TO DO] and [TOOL_CALLS]; [|x|] is odd.\n",
    "HTML: <s>old</s> new, <pad> and <eos> are tokens, and </s> is one.\n",
    "tool calls:\n- recall\nAction: none\nTool call: recall later.\n",
    "if (a <b && c> d) { call(); }\n",
    '```json\n{"name": "John", "age": 30}\n```\n',
)  # fmt: skip

FORMS = (IN_BLOCKS, IN_FUNCTIONS)


def read(stream: str, size: int, corrections: Corrections = IN_BLOCKS) -> list[ProtocolEvent]:
    parser = Parser(tool_names=TOOL_NAMES, corrections=corrections)
    events = [event for start in range(0, len(stream), size) for event in parser.feed(stream[start : start + size])]
    return [*events, *parser.close()]


def text_of(events: list[ProtocolEvent]) -> str:
    return "".join(event.text for event in events if isinstance(event, TextArrived))


def calls_of(events: list[ProtocolEvent]) -> list[tuple[ToolCall, ...]]:
    return [event.calls for event in events if isinstance(event, CallsArrived)]


@pytest.mark.parametrize("size", [1, 5, 1_000_000])
@pytest.mark.parametrize("corrections", FORMS, ids=["in blocks", "in functions"])
def test_calls_in_any_vendors_form_run_and_are_not_shown(corrections: Corrections, size: int) -> None:
    for name, stream in CALLS.items():
        events = read(stream, size, corrections)
        assert calls_of(events) == [(BOAT,)], name
        assert not text_of(events).strip(), name


@pytest.mark.parametrize("before", ["I look.\n", "<think>Hm.</think>\n", "<|channel>thought\nHm.\n<channel|>"])
def test_calls_behind_words_or_thoughts_run(before: str) -> None:
    for name, stream in CALLS.items():
        events = read(before + stream, 7)
        assert calls_of(events) == [(BOAT,)], name
        assert text_of(events).strip() in {"I look.", ""}, name


@pytest.mark.parametrize("size", [1, 5, 1_000_000])
def test_a_marker_in_brackets_begins_a_call_in_the_middle_of_a_line_too(size: int) -> None:
    events = read(f"I look.[TOOL_CALLS]recall[ARGS]{ARGS}", size)
    assert calls_of(events) == [(BOAT,)]
    assert text_of(events) == "I look."


def test_a_call_whose_arguments_cannot_be_read_does_not_run_without_them() -> None:
    events = read("<tool_call>recall<query>boat</query></tool_call>", 5)
    assert not calls_of(events)
    assert any(isinstance(event, CallsRejected) for event in events)


def test_a_token_behind_a_list_of_calls_is_not_shown() -> None:
    events = read('[recall(query="boat")]<|eot|>', 3, IN_FUNCTIONS)
    assert calls_of(events) == [(BOAT,)]
    assert not text_of(events)


@pytest.mark.parametrize("stream", [f"<tool_call>\n{FUNCTION}\n</tool_call>\n", f"<tool_call>\n{CALL}\n</tool_call>\n"])
def test_several_calls_run_together(stream: str) -> None:
    events = read(stream * 2, 5)
    assert calls_of(events) == [(BOAT, BOAT)]
    assert not text_of(events).strip()


@pytest.mark.parametrize("name", sorted(CALLS.keys() - {"Gemini", "attributes"}))  # code and a tag like any other
def test_the_arguments_of_a_call_that_is_cut_off_are_not_shown(name: str) -> None:
    stream = CALLS[name]
    for end in range(stream.index("recall") + len("recall") + 4, len(stream)):
        events = read(stream[:end], 3)
        assert "boat" not in text_of(events), stream[:end]


@pytest.mark.parametrize("size", [1, 5, 1_000_000])
def test_a_call_without_a_mark_runs_as_a_function_and_is_corrected_where_blocks_are_taught(size: int) -> None:
    for name, stream in UNMARKED.items():
        events = read(stream, size, IN_FUNCTIONS)
        assert calls_of(events) == [(BOAT,)], name
        assert "query" not in text_of(events), name
        (rejected,) = (event for event in read(stream, size) if isinstance(event, CallsRejected))
        assert rejected.reason == IN_BLOCKS.no_tag, name


@pytest.mark.parametrize("size", [1, 5, 1_000_000])
@pytest.mark.parametrize("corrections", FORMS, ids=["in blocks", "in functions"])
def test_thoughts_and_tokens_are_not_shown(corrections: Corrections, size: int) -> None:
    for name, stream in ANSWERS.items():
        events = read(stream, size, corrections)
        assert text_of(events).strip() == "It is blue.", name
        assert [event.text for event in events if isinstance(event, ThoughtArrived)] in ([], ["Hm."]), name


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("size", [1, 5, 1_000_000])
@pytest.mark.parametrize("corrections", FORMS, ids=["in blocks", "in functions"])
def test_what_is_only_talked_about_is_text(corrections: Corrections, size: int, text: str) -> None:
    events = read(text, size, corrections)
    assert text_of(events) == text
    assert not calls_of(events)


def test_a_correction_speaks_of_the_form_that_was_taught() -> None:
    broken = '<|tool_call|>[{"name": "recall", "arguments": {"query": "bo'
    (in_blocks,) = (event for event in read(broken, 5) if isinstance(event, CallsRejected))
    (in_functions,) = (event for event in read(broken, 5, IN_FUNCTIONS) if isinstance(event, CallsRejected))
    assert "<execute>" in in_blocks.reason
    assert "<execute>" not in in_functions.reason
    assert "function call" in in_functions.reason


PARTS = [*CALLS.values(), *UNMARKED.values(), *ANSWERS.values(), *TEXTS, "\n", " ", "Hm. ", "```\n", "<", "[", "|>"]


@given(parts=st.lists(st.sampled_from(PARTS), max_size=5), sizes=st.lists(st.integers(1, 40), min_size=1))
@settings(max_examples=examples(120))
def test_the_events_do_not_depend_on_how_the_stream_is_cut(parts: list[str], sizes: list[int]) -> None:
    stream, start, number = "".join(parts), 0, 0
    parser = Parser(tool_names=TOOL_NAMES)
    events: list[ProtocolEvent] = []
    while start < len(stream):
        size = sizes[number % len(sizes)]
        events += parser.feed(stream[start : start + size])
        start, number = start + size, number + 1
    events += parser.close()
    whole = read(stream, max(1, len(stream)))
    assert text_of(events) == text_of(whole)
    assert calls_of(events) == calls_of(whole)


# What stands before and behind a call that a text shows as code without a fence, or in a sentence.
SHOWN = {
    "indented": ("To search, write:\n\n    ", "\n"),
    "indented by a tab": ("To search, write:\n\n\t", "\n"),
    "indented at the beginning": ("    ", "\n"),
    "pre": ("To search, write:\n<pre>\n", "\n</pre>\n"),
    "pre and code in one line": ('So: <pre class="x"><code>', "</code></pre>\n"),
    "a quoted block": ("They say:\n<blockquote>\n", "\n</blockquote>\n"),
    "an item of a list": ("To search:\n- ", "\n"),
    "a numbered item": ("To search:\n1. ", "\n"),
    "a quotation": ("They say:\n> ", "\n"),
    "a sentence": ("To search, write ", " as it stands there.\n"),
    "glued to a colon": ("Write:", "\n"),
}  # fmt: skip
# The call itself begins on the second line.
TWO_LINES = {"Qwen between its tokens", "Llama behind its header", "Gemini", "Command's words", "a role of its own"}


def _shown(stream: str, before: str, after: str) -> str:
    lines = stream.rstrip("\n").split("\n")
    indent = before.rpartition("\n")[2].replace("- ", "  ").replace("1. ", "   ")
    return before + f"\n{indent if len(indent) < 5 else ''}".join(lines) + after


@pytest.mark.slow
@pytest.mark.parametrize(("place", "corrections"), one_in(2, SHOWN, FORMS))
def test_a_foreign_call_that_a_text_shows_does_not_run(place: str, corrections: Corrections) -> None:
    """Neither in the middle of an answer, where it is text, nor at its end."""
    for name, stream in CALLS.items():
        if name in TWO_LINES and not place.startswith(("indented", "pre", "a quoted block", "a quotation")):
            continue
        shown = _shown(stream, *SHOWN[place])
        for size in (1, 7, 1_000_000):
            for text in (shown, shown + "\nThat is how it is written there.\n"):
                assert not calls_of(read(text, size, corrections)), (name, text)


@pytest.mark.parametrize("place", SHOWN)
@pytest.mark.parametrize("name", ["Llama's function", "Phi", "Mistral's short form", "tool_use", "call"])
def test_words_behind_a_call_that_a_text_shows_reach_the_person(name: str, place: str) -> None:
    shown = _shown(CALLS[name], *SHOWN[place]) + "\nThat is how.\n"
    for size in (1, 7, 1_000_000):
        events = read(shown, size)
        assert text_of(events).endswith("That is how.\n")
        assert not any(isinstance(event, CallsRejected) for event in events)


@pytest.mark.parametrize("corrections", FORMS, ids=["in blocks", "in functions"])
def test_a_call_behind_words_that_ends_the_answer_is_corrected(corrections: Corrections) -> None:
    tagged = f"<tool_call>{CALL}</tool_call>"
    for stream in (
        "Let me look: " + CALLS["Llama's function"],
        f"I look: {tagged}",
        f"Write:\n```\n{tagged}\n```",
        f"Write:\n\n~~~xml\n{tagged}\n~~~\n",
    ):
        (rejected,) = (event for event in read(stream, 5, corrections) if isinstance(event, CallsRejected))
        assert rejected.reason == corrections.quoted


def test_behind_an_element_of_code_that_has_ended_calls_run() -> None:
    for before in (
        "<pre>\nx\n</pre>\n",
        "<code>x</code>\n",
        "The <pre> element keeps blanks.\n",
        "<pre> keeps blanks.\n",
    ):
        for size in (1, 6, 1_000_000):
            events = read(before + CALLS["Phi"], size)
            assert calls_of(events) == [(BOAT,)], before
            assert text_of(events) == before


@pytest.mark.slow
@pytest.mark.parametrize("marker", ["<|start|>assistant", "<|im_start|>assistant", "<|x|>"])
def test_a_model_that_repeats_a_marker_without_an_end_is_read_to_its_last_word(marker: str) -> None:
    parser = Parser(tool_names=frozenset({"recall"}))
    answer = f"{marker * 2_000}\nIt is blue."
    events = [event for start in range(0, len(answer), 500) for event in parser.feed(answer[start : start + 500])]
    events += parser.close()
    assert "".join(event.text for event in events if isinstance(event, TextArrived)).endswith("It is blue.")


def test_a_token_before_a_message_does_not_wait_for_the_end_of_many_others() -> None:
    opening = read_native("<|start|>assistant" * 100, 0, "", "", lambda _: False, ParserLimits())
    assert isinstance(opening, NativeOpening)
    assert opening.end < len("<|start|>assistant") * 10


def test_behind_a_marker_few_others_are_read_for_the_name_of_a_tool() -> None:
    asked = list[str]()

    def is_tool(name: str) -> bool:
        asked.append(name)
        return False

    read_native("<|x|>" * 100, 0, "", "", is_tool, ParserLimits())
    assert len(asked) < 20


@pytest.mark.parametrize(
    "text",
    [
        *('(a="""x ) "y" (""")', "(a='''it's ) \"fine\" (''')", '(a="x\\"""")', '(a="x""")', '(a="""\\""" ) b""")'),
        *('(a="", b=")")', '(a=\'""" )\')', '(a=""")""", b="""(""")'),
    ],
)
def test_what_stands_in_a_string_of_three_quotes_closes_no_call(text: str) -> None:
    assert closing_parenthesis(f"{text} )", 0, 1_000) == len(text)


@settings(max_examples=examples(500))
@given(st.text("\"'\\() a", max_size=12), st.sampled_from(['"', "'", '"""', "'''"]))
def test_a_call_ends_where_python_says_whatever_its_string_holds(body: str, quote: str) -> None:
    text = f"(a={quote}{body}{quote})"
    try:
        call = ast.parse(f"f{text}", mode="eval").body
    except (SyntaxError, ValueError):
        return
    if (
        isinstance(call, ast.Call)
        and isinstance(call.func, ast.Name)
        and isinstance(call.keywords[0].value, ast.Constant)
    ):
        assert closing_parenthesis(text, 0, 1_000) == len(text)


def test_a_call_whose_string_of_three_quotes_holds_parentheses_and_quotes_runs_whole() -> None:
    parser = Parser(ParserLimits(), TOOL_NAMES)
    text = '<|python_tag|>recall.call(query="""he said ":)" and (again) "boat" ) to her""")'
    events = [*parser.feed(text), *parser.close()]
    calls = [event for event in events if isinstance(event, CallsArrived | CallsRejected | TextArrived)]
    assert calls == [CallsArrived((ToolCall("recall", {"query": 'he said ":)" and (again) "boat" ) to her'}),))]
