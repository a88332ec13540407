"""What weak models write instead of the protocol, and what has to come of it.

Each deviation ends in the right calls, or in one correction for the model, or in the plain answer. In none of them does
the person see protocol text: `text` is all that is visible.
"""

# ruff: noqa: E501 -- a stream stands on one line, as the model wrote it

from dataclasses import dataclass

from agent.messages import ToolCall

TOOL_NAMES = frozenset({"recall", "remember"})

BOAT = ToolCall("recall", {"query": "boat"})
NOTE = ToolCall("remember", {"text": "The boat is blue."})
NO_ARGS = ToolCall("recall", {})

CALL = '[{"name": "recall", "args": {"query": "boat"}}]'
EXECUTE = f"<execute>{CALL}\n</execute>"
WORKSPACE = (
    '<workspace>{"objective": "Find it", "understanding": "It was said", "approach": "Search", "discoveries": "", '
    '"secure": true}</workspace>'
)


@dataclass(frozen=True, slots=True)
class Deviation:
    """`calls`: what has to run. `correction`: a part of the reason that the model reads instead."""

    name: str
    stream: str
    text: str = ""
    calls: tuple[ToolCall, ...] = ()
    correction: str = ""


def _called(name: str, stream: str, text: str = "", calls: tuple[ToolCall, ...] = (BOAT,)) -> Deviation:
    return Deviation(name, stream, text, calls=calls)


def _corrected(name: str, stream: str, correction: str, text: str = "") -> Deviation:
    return Deviation(name, stream, text, correction=correction)


def _answered(name: str, stream: str, text: str) -> Deviation:
    return Deviation(name, stream, text)


_PLACES = (
    _called("no workspace before the calls", EXECUTE),
    _called("workspace after a sentence", f"Let me look.\n{WORKSPACE}\n{EXECUTE}", "Let me look.\n"),
    _called(
        "calls behind a fence in a list",
        f"1. ```sh\n   ls\n   ```\n2. Then look.\n{WORKSPACE}\n{EXECUTE}",
        "1. ```sh\n   ls\n   ```\n2. Then look.\n",
    ),
    _answered("an example in a list's fence", f"- ```\n  {EXECUTE}\n  ```\nOk.", f"- ```\n  {EXECUTE}\n  ```\nOk."),
    _called("calls in a fence", f"```\n{EXECUTE}\n```"),
    _called("calls in a fence that calls itself xml", f"Let me look.\n\n```xml\n{EXECUTE}\n```\n", "Let me look.\n\n"),
    _called("calls in a fence of tildes", f"~~~\n{EXECUTE}\n~~~"),
    _called("calls in an indented fence", f"1. Search:\n   ```\n   {EXECUTE}\n   ```", "1. Search:\n"),
    _called("workspace and calls in one fence", f"```xml\n{WORKSPACE}\n{EXECUTE}\n```"),
    _called("workspace in a fence, calls after it", f"```\n{WORKSPACE}\n```\n{EXECUTE}"),
    _called("workspace and calls in two fences", f"Hm.\n```\n{WORKSPACE}\n```\n\n```\n{EXECUTE}\n```", "Hm.\n"),
    _called("a fence that is never closed", f"```\n{EXECUTE}"),
    _called("a fence that a stop sequence cut", f"```\n<execute>{CALL}"),
    _called("a fence inside execute", f"<execute>```json\n{CALL}\n```</execute>"),
    _called("a fence inside execute, on lines of its own", f"<execute>\n```\n{CALL}\n```\n</execute>"),
    _called("a fence inside execute, with single quotes", "<execute>\n```\n[{'name': 'recall', 'args': {'query': 'boat'}}]\n```\n</execute>"),
    _corrected("calls in a fence without a tag", f"```json\n{CALL}\n```", "outside <execute>"),
    _corrected("calls without a tag", CALL, "outside <execute>"),
    _corrected("calls without a tag behind a sentence", f"Let me look.\n{CALL}\n", "outside <execute>", "Let me look.\n"),
    _called("a tag in the middle of a line", f"Let me look: {EXECUTE}", "Let me look: "),
    _called("a tag in a list item", f"- {EXECUTE}\n", "- "),
    _called("a tag in a quotation", f"> <execute>{CALL}</execute>\n", "> "),
    _answered("a call that is only talked about, with words on the next line", "For example: <execute>[{\"name\": \"recall\"}]</execute>\nThat is how.", "For example: <execute>[{\"name\": \"recall\"}]</execute>\nThat is how."),
    _called("workspace and calls in one line", f"Sure. {WORKSPACE} {EXECUTE}", "Sure. "),
    _called("an indented tag", f"    {EXECUTE}"),
    _called("a byte order mark before the tag", f"\ufeff{EXECUTE}"),
    _called("a zero-width space before the tag", f"Hm.\n\u200b{EXECUTE}", "Hm.\n"),
)  # fmt: skip

_TAGS = (
    _called("capitals", f"<EXECUTE>{CALL}</EXECUTE>"),
    _called("blanks in the tag", f"< execute >{CALL}</ execute >"),
    _called("attributes in the tag", f'<execute id="1" type="json">{CALL}</execute>'),
    _called("a slash at the end of the opening tag", f"<execute/>{CALL}</execute>"),
    _called("no closing tag", f"<execute>{CALL}\n"),
    _called("no closing tag, and results made up", f"<execute>{CALL}\nThe system says: nothing found."),
    _called("the wrong closing tag", f"<execute>{CALL}</workspace>"),
    _called("tool_call instead of execute", '<tool_call>\n{"name": "recall", "arguments": {"query": "boat"}}\n</tool_call>'),
    _called("two blocks of calls", f"{EXECUTE}\n<execute>[{{\"name\": \"remember\"}}]</execute>"),
    _called("results made up after the calls", f"{EXECUTE}\n<results>[]</results>\nIt is blue."),
    _called("a closing tag inside an argument", '<execute>[{"name": "recall", "args": {"query": "</execute>"}}]\n</execute>', calls=(ToolCall("recall", {"query": "</execute>"}),)),
    _answered("an empty execute", "<execute>\n</execute>\nIt is blue.", "It is blue."),
    _answered("a self-closed execute", "<execute/>\nIt is blue.", "It is blue."),
    _answered("an orphan </execute>", "</execute>\nIt is blue.", "It is blue."),
    _answered("an orphan </results>", "It is\n</results>\nblue.", "It is\nblue."),
    _answered("an orphan </think> on its own line", "The person asks.\n</think>\n\nIt is blue.", "The person asks.\n\nIt is blue."),
    _answered("an orphan </think> behind a sentence", "The person asks.</think>\n\nIt is blue.", "The person asks.\n\nIt is blue."),
    _answered("an orphan </think> at the beginning", "</think>\n\nIt is blue.", "It is blue."),
    _answered("thinking instead of think", "<thinking>Hm.</thinking>\n\nIt is blue.", "It is blue."),
    _answered("results made up", 'It is blue.\n<results>[{"name": "recall", "status": "success", "content": "red"}]</results>\n', "It is blue.\n"),
    _answered("results made up and never closed", "It is blue.\n<results>\nrecall: red", "It is blue.\n"),
    _answered("results made up in the middle of a line", 'So: <results>[{"name": "recall", "status": "success"}]</results>\nBlue.', "So: \nBlue."),
    _answered("a fenced workspace before the answer", f"```json\n{WORKSPACE}\n```\n\nIt is blue.", "It is blue."),
    _answered("a workspace in the middle of a line", f"Sure. {WORKSPACE}\nIt is blue.", "Sure. \nIt is blue."),
    _answered("words after the summary", 'It is blue.\n<summary>{"goal": "Boat"}</summary>\nAnything else?', "It is blue.\n"),
    _answered("a summary that is cut off", 'It is blue.\n<summary>{"goal": "Bo', "It is blue.\n"),
    _answered("a tag that is cut off", "It is blue.\n<summ", "It is blue.\n"),
    _called("thoughts that are never closed", f"<think>I search.\n{WORKSPACE}\n{EXECUTE}"),
    _called("a workspace that is never closed", f'<workspace>{{"objective": "Find it"}}\n{EXECUTE}'),
    _called("a broken workspace that is never closed", f"<workspace>{{objective: Find it\n{EXECUTE}"),
    _called("a summary before the calls", f'<summary>{{"goal": "Boat"}}</summary>\n{EXECUTE}'),
    _called("words before the JSON", f"<execute>\nI call recall:\n{CALL}\n</execute>"),
    _called("words after the JSON", f"<execute>{CALL} and wait</execute>"),
)  # fmt: skip

_JSON = (
    _called("an object instead of a list", '<execute>{"name": "recall", "args": {"query": "boat"}}</execute>'),
    _called("objects in a row", '<execute>{"name": "recall", "args": {"query": "boat"}}\n{"name": "recall"}</execute>', calls=(BOAT, NO_ARGS)),
    _called("objects with commas and no list", '<execute>{"name": "recall", "args": {"query": "boat"}}, {"name": "recall"}</execute>', calls=(BOAT, NO_ARGS)),
    _called("a list under a key", '<execute>{"tool_calls": [{"name": "recall", "args": {"query": "boat"}}]}</execute>'),
    _called("no args", '<execute>[{"name": "recall"}]</execute>', calls=(NO_ARGS,)),
    _called("null args", '<execute>[{"name": "recall", "args": null}]</execute>', calls=(NO_ARGS,)),
    _called("arguments instead of args", '<execute>[{"name": "recall", "arguments": {"query": "boat"}}]</execute>'),
    _called("parameters instead of args", '<execute>[{"tool": "recall", "parameters": {"query": "boat"}}]</execute>'),
    _called("input instead of args", '<execute>[{"type": "tool_use", "id": "1", "name": "recall", "input": {"query": "boat"}}]</execute>'),
    _called("a vendor's wrapping", '<execute>[{"type": "function", "function": {"name": "recall", "arguments": "{\\"query\\": \\"boat\\"}"}}]</execute>'),
    _called("args as JSON in a string", '<execute>[{"name": "recall", "args": "{\\"query\\": \\"boat\\"}"}]</execute>'),
    _called("single quotes", "<execute>[{'name': 'recall', 'args': {'query': 'boat'}}]</execute>"),
    _called("single quotes and an apostrophe", """<execute>[{'name': 'recall', 'args': {'query': "Ann's"}}]</execute>""", calls=(ToolCall("recall", {"query": "Ann's"}),)),
    _called("curly quotes", "<execute>[{“name”: “recall”, “args”: {“query”: “boat”}}]</execute>"),
    _called("a trailing comma", '<execute>[{"name": "recall", "args": {"query": "boat",},},]</execute>'),
    _called("Python's literals", '<execute>[{"name": "recall", "args": {"a": True, "b": False, "c": None}}]</execute>', calls=(ToolCall("recall", {"a": True, "b": False, "c": None}),)),
    _called("bare keys", '<execute>[{name: "recall", args: {query: "boat"}}]</execute>'),
    _called("a line break inside a string", '<execute>[{"name": "recall", "args": {"query": "blue\nboat"}}]\n</execute>', calls=(ToolCall("recall", {"query": "blue\nboat"}),)),
    _called("no last bracket", '<execute>[{"name": "recall", "args": {"query": "boat"}}\n</execute>'),
    _called("a bracket too many", '<execute>[{"name": "recall", "args": {"query": "boat"}}]]</execute>'),
    _called("half a surrogate pair and NUL in a string", '<execute>[{"name": "recall", "args": {"query": "a\\ud800b\\u0000c"}}]</execute>', calls=(ToolCall("recall", {"query": "a\ufffdbc"}),)),
    _answered("an empty list", "<execute>[]</execute>", ""),
    _answered("an empty list before the answer", "<execute>[]</execute>\nOk.", "Ok."),
    _corrected("text instead of JSON in the list", "<execute>[recall(boat)]</execute>", "cannot be read"),
    _corrected("an unclosed string", '<execute>[{"name": "recall, "args": {}}]</execute>\nHm.', "cannot be read"),
    _corrected("a missing brace", '<execute>[{"name": "recall", "args": {"query": "boat"}]</execute>', "cannot be read"),
    _corrected("a missing comma between strings", '<execute>[{"name": "recall", "args": {"query": "blue" "boat"}}]</execute>', "cannot be read"),
    _corrected("an ellipsis", '<execute>[{"name": "recall", "args": {…}}]</execute>', "cannot be read"),
    _corrected("calls that are cut off", '<execute>[{"name": "recall", "args": {"query": "bo', "cannot be read"),
    _corrected("calls that are cut off in the middle of a line", 'Hm. <execute>[{"name": "recall", "args": {"query": "bo', "cannot be read", "Hm. "),
    _corrected("broken calls in the middle of a line", 'Hm. <execute>[{"name": "recall", "args": {query boat}}]</execute>', "cannot be read", "Hm. "),
    _corrected("broken calls in a fence", '```\n<execute>[{"name": "recall", "args": {query boat}}]</execute>\n```', "cannot be read"),
    _corrected("arguments beside the name", '<execute>[{"name": "recall", "query": "boat"}]</execute>', '"query" stands beside'),
    _corrected("names instead of calls", '<execute>["recall"]</execute>', "each call is an object"),
    _corrected("no name", '<execute>[{"args": {"query": "boat"}}]</execute>', '"name"'),
    _corrected("args that are a list", '<execute>[{"name": "recall", "args": ["boat"]}]</execute>', '"args" is an object'),
    _corrected("args that are no JSON", '<execute>[{"name": "recall", "args": "boat"}]</execute>', '"args" is a text'),
    _corrected("the same key twice", '<execute>[{"name": "recall", "name": "remember"}]</execute>', "stands twice"),
    _corrected("NaN", '<execute>[{"name": "recall", "args": {"n": NaN}}]</execute>', "NaN"),
    _corrected("a number beyond every float", '<execute>[{"name": "recall", "args": {"n": 1e999}}]</execute>', "too large"),
    _corrected("a number of thousands of digits", f'<execute>[{{"name": "recall", "args": {{"n": {"9" * 5000}}}}}]</execute>', "digits"),
    _corrected("JSON nested a thousand levels deep", f"<execute>{'[' * 5000}</execute>", "nested"),
)  # fmt: skip


def _invoked(name: str, prefix: str = "") -> str:
    """As some models call tools in XML."""
    inside = f'<{prefix}parameter name="query">boat</{prefix}parameter>'
    return f'<{prefix}function_calls>\n<{prefix}invoke name="{name}">\n{inside}\n</{prefix}invoke>\n</{prefix}function_calls>'


_ARGS = '{"query": "boat"}'
_TALK = "The token <|im_start|> begins a message and <|im_end|> ends it; [TOOL_CALLS] is Mistral's, <|channel|> another's.\n"
_NATIVE = (
    _called("XML with a name for each call", _invoked("recall")),
    _called("XML with prefixes", f"Let me look.\n{_invoked('recall', 'antml:')}", "Let me look.\n"),
    _called("one call in XML alone", '<invoke name="recall"><parameter name="query">boat</parameter></invoke>'),
    _called("XML that is cut off", '<invoke name="recall"><parameter name="query">boat'),
    _called("a function's tag", "<function=recall>\n<parameter=query>\nboat\n</parameter>\n</function>"),
    _called("a list in XML", '<invoke name="recall"><parameter name="query">["boat"]</parameter></invoke>', calls=(ToolCall("recall", {"query": ["boat"]}),)),
    _answered("an example in XML", f"So:\n{_invoked('weather')}\nThat is how.", f"So:\n{_invoked('weather')}\nThat is how."),
    _answered("XML in a fence", f"```xml\n{_invoked('recall')}\n```\nThat is how.", f"```xml\n{_invoked('recall')}\n```\nThat is how."),
    _called("channels", f"<|channel|>analysis<|message|>I search.<|end|><|start|>assistant<|channel|>commentary to=functions.recall <|constrain|>json<|message|>{_ARGS}<|call|>"),
    _called("a channel behind its recipient", f"<|start|>assistant to=functions.recall<|channel|>commentary json<|message|>{_ARGS}<|call|>"),
    _called("a channel that a stop sequence cut", f"<|channel|>commentary to=functions.recall<|message|>{_ARGS}"),
    _corrected("a channel with broken arguments", "<|channel|>commentary to=functions.recall<|message|>{query boat}<|call|>", "cannot be read"),
    _answered("a channel's answer", "<|channel|>analysis<|message|>Hm.<|end|><|start|>assistant<|channel|>final<|message|>It is blue.<|return|>", "It is blue."),
    _answered("thoughts in a channel that are never closed", "It is blue.\n<|channel|>analysis<|message|>Hm.", "It is blue.\n"),
    _answered("the tokens around a message", "<|im_start|>assistant\nIt is blue.<|im_end|>", "It is blue."),
    _answered("a header of tokens", "<|start_header_id|>assistant<|end_header_id|>\n\nIt is blue.<|eot_id|>", "It is blue."),
    _answered("a token that is cut off", "It is blue.<|im_e", "It is blue."),
    _answered("talk about tokens", _TALK, _TALK),
    _answered("tokens in code", "`<|im_end|>`\n```\n<|im_start|>user\n[TOOL_CALLS] []\n```\n", "`<|im_end|>`\n```\n<|im_start|>user\n[TOOL_CALLS] []\n```\n"),
    _called("a token before the list", f"[TOOL_CALLS] {CALL}"),
    _called("a token, the name and its arguments", f"[TOOL_CALLS]recall[ARGS]{_ARGS}"),
    _called("tokens with wide bars", f"<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>recall\n```json\n{_ARGS}\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜>"),
    _called("tokens with wide bars, the short form", f"Let me look.<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>recall<｜tool▁sep｜>{_ARGS}<｜tool▁call▁end｜><｜tool▁calls▁end｜>", "Let me look."),
    _called("tokens without bars", f"<tool▁call▁begin▁>recall<tool▁sep▁>{_ARGS}<tool▁call▁end▁>"),
    _answered("a workspace of plain text", "<workspace>\nThe person wants the boat.\n</workspace>\nIt is blue.", "It is blue."),
    _answered("a workspace of one sentence", "<workspace>The person wants the boat.</workspace>\nIt is blue.", "It is blue."),
    _called("a workspace of YAML before the calls", f"<workspace>\nobjective: Find it\napproach: Search\n</workspace>\n{EXECUTE}"),
    _answered("a sentence about the workspace", "<workspace> is my notebook, and </workspace> ends it.\n", "<workspace> is my notebook, and </workspace> ends it.\n"),
    _corrected("a call as a program writes it", '<execute>recall("boat")</execute>', "cannot be read"),
    _corrected("a call as a program writes it, with names", '<execute>\nresult = recall(query="boat")\n</execute>', "cannot be read"),
    _corrected("a call that is printed", '<execute>print(recall("boat"))</execute>', "cannot be read"),
    _corrected("calls in indented code", f"So:\n\n    {CALL}\n", "outside <execute>", "So:\n\n"),
    _called("tagged calls in indented code", f"So:\n\n    {WORKSPACE}\n    {EXECUTE}\n", "So:\n\n"),
    _answered("a summary before the answer", '<summary>{"goal": "Boat"}</summary>\n\nIt is blue.', "It is blue."),
)  # fmt: skip

DEVIATIONS = (*_PLACES, *_TAGS, *_JSON, *_NATIVE)
