"""Shapes that small models write in place of a call or around an answer, through the real loop in both forms.

Each ends in the right call, in one correction, or in the answer, whole and letter by letter, and shows no protocol.
"""

# ruff: noqa: E501 -- a stream stands on one line, as the model wrote it

import re
from dataclasses import dataclass

import pytest

from agent.ports.model import ReasoningArrived
from agent.protocol.render import neutralise
from tests.agent.test_loop_model_answers import SECTION, WORD, answered

CALL = '{"name": "recall", "args": {"query": "boat"}}'
FUNCTION = '{"name": "recall", "arguments": {"query": "boat"}}'
NOTES = '{"objective": "greet", "understanding": "hi", "approach": "answer", "discoveries": ""}'
LINES = "Objective: greet\nUnderstanding: hi\nApproach: answer\nDiscoveries: none\n"
TOLD = "\n".join(SECTION.splitlines()[1:-1])
LATER = "Your boat is turquoise."

# Run in both forms: a tag or a token says that a call is meant.
CALLS = {
    "a tag that is never closed": f"<tool_call>\n{FUNCTION}",
    "Mistral's token and a list": f"[TOOL_CALLS] [{FUNCTION}]",
    "Mistral's newer tokens": '[TOOL_CALLS]recall[ARGS]{"query": "boat"}',
    "Llama's token and parameters": '<|python_tag|>{"name": "recall", "parameters": {"query": "boat"}}',
    "the name in a tag": '<function=recall>{"query": "boat"}</function>',
    "an invocation": '<function_calls>\n<invoke name="recall">\n<parameter name="query">boat</parameter>\n</invoke>\n</function_calls>',
    "a tool with a name": '<tool name="recall">{"query": "boat"}</tool>',
    "an action and its input": 'Thought: I look it up.\nAction: recall\nAction Input: {"query": "boat"}',
    "an action that observes itself": 'Thought: I look.\nAction: recall\nAction Input: {"query": "boat"}\nObservation: red\nFinal Answer: It is red.',
    "a channel": '<|channel|>analysis<|message|>Look.<|end|><|start|>assistant<|channel|>commentary to=functions.recall <|constrain|>json<|message|>{"query": "boat"}<|call|>',
    "DeepSeek's tokens": '<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>recall\n```json\n{"query": "boat"}\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜>',
    "code in a fence of tools": '```tool_code\nprint(recall(query="boat"))\n```',
    "a comma too much": '<execute>\n[{"name": "recall", "args": {"query": "boat",}},]\n</execute>',
    "an object": f"<execute>{CALL}</execute>",
    "two blocks": f"<execute>[{CALL}]</execute>\n<execute>[{CALL}]</execute>",
    "a fence of XML": f"```xml\n<execute>[{CALL}]</execute>\n```",
    "capitals": f"<EXECUTE>[{CALL}]</EXECUTE>",
    "full width": f"＜execute＞[{CALL}]＜/execute＞",
    "bold letters": f"<𝐞𝐱𝐞𝐜𝐮𝐭𝐞>[{CALL}]</𝐞𝐱𝐞𝐜𝐮𝐭𝐞>",
    "square brackets": f"[execute][{CALL}][/execute]",
    "doubled angle brackets": f"<<execute>>[{CALL}]<</execute>>",
    "doubled square brackets": f"[[execute]]\n[{CALL}]\n[[/execute]]",
    "a tool and its input on the next line": 'Tool: recall\nInput: {"query": "boat"}',
    "lenticular brackets": f"【execute】\n[{CALL}]\n【/execute】",
    "invented results": f'<execute>[{CALL}]</execute>\n<results>[{{"name": "recall", "content": "red"}}]</results>\nIt is red.',
    "another closing tag": f"<execute>[{CALL}]</tool_call>",
    "a comment": f"<execute>[\n  // look it up\n  {CALL}\n]</execute>",
    "another alphabet around a tag": '好的。\n<tool_call>{"name": "recall", "arguments": {"query": "船"}}</tool_call>',
    "elements in our tag": "<execute><recall><query>boat</query></recall></execute>",
    "an invocation in our tag": '<execute>\n<invoke name="recall">\n<parameter name="query">boat</parameter>\n</invoke>\n</execute>',
    "a thought beside an action in our tag": f'<execute>{{"thought": "I need to search.", "action": {CALL}}}</execute>',
    "our tag twice": f"<execute>\n<execute>[{CALL}]</execute>",
    "notes as lines": f"{LINES}\n<execute>[{CALL}]</execute>",
    "an action in Python": 'Thought: I look.\nAction: recall(query="boat")',
    "an action and an object": 'Action: recall({"query": "boat"})',
    "an item of a list": f"- <execute>[{CALL}]</execute>",
    "a numbered item": f"1. <execute>[{CALL}]</execute>",
    "a quotation": f"> <execute>[{CALL}]</execute>",
}  # fmt: skip

# Run where functions are taught, and are corrected once where blocks are: nothing says that they are meant.
BARE_CALLS = {
    "Python in a list": '[recall(query="boat", wordings=["ship", "yacht"])]',
    "Python": 'recall(query="boat")',
    "a tool and its input": '{"tool": "recall", "tool_input": {"query": "boat"}}',
    "a function and its arguments": '{"function": "recall", "args": {"query": "boat"}}',
    "the shape of a response": '{"tool_calls": [{"id": "1", "type": "function", "function": {"name": "recall", "arguments": "{\\"query\\": \\"boat\\"}"}}]}',
    "Python's quotes": "{'name': 'recall', 'args': {'query': 'boat', 'when': None}}",
    "typographic quotes": "{“name”: “recall”, “args”: {“query”: “boat”}}",
    "a namespace": '{"name": "functions.recall", "arguments": {"query": "boat"}}',
    "two objects": f"{FUNCTION}\n{FUNCTION}",
    "behind a sentence": f"Let me look.\n\n{FUNCTION}",
    "doubled braces": f"{{{FUNCTION}}}",
    "doubled opening braces": f"{{{FUNCTION}",
    "doubled opening braces in a fence": f"```json\n{{{FUNCTION}\n```",
    "a tag in another alphabet": f"<执行>[{CALL}]</执行>",
    "a tag of any name": f"<json>{CALL}</json>",
    "a label": f"execute:\n[{CALL}]",
    "a heading": f"### Workspace\n```json\n{NOTES}\n```\n**execute**\n[{CALL}]",
    "a call of execute": f"execute([{CALL}])",
    "a colon in the tag": f"<execute:>[{CALL}]</execute>",
    "a tag in bold": f"**<execute>**\n[{CALL}]\n**</execute>**",
    "a tag in the plural": f"<executes>[{CALL}]</executes>",
    "the oldest form of functions": '{"function_call": {"name": "recall", "arguments": "{\\"query\\": \\"boat\\"}"}}',
    "a thought and an action": f'{{"thought": "I need to search.", "action": {CALL}}}',
    "thoughts and a command": f'{{"thoughts": {{"text": "I search.", "plan": "one call"}}, "command": {CALL}}}',
    "a thought and actions": f'{{"thought": "I need to search.", "actions": [{CALL}]}}',
}  # fmt: skip

# Asked again once.
CORRECTED = {
    "a tool that does not exist": '{"name": "search_memory", "arguments": {"query": "boat"}}',
    "a fenced tool that does not exist": '```json\n{"name": "search_memory", "arguments": {"query": "boat"}}\n```',
    "a tool for answers": '{"name": "answer", "arguments": {"text": "Hello!"}}',
    "a tool for nothing": '{"name": "none", "arguments": {}}',
    "a tool in capitals": '<execute>[{"name": "Recall", "args": {"query": "boat"}}]</execute>',
    "the name as a key": '{"recall": {"query": "boat"}}',
    "in one line behind words": f"I would call {FUNCTION}",
    "in backticks": f"`<execute>[{CALL}]</execute>`",
    "JSON in backticks": f"`{FUNCTION}`",
    "an empty list": "<execute>[]</execute>",
    "arguments beside the name": '<execute>[{"name": "recall", "query": "boat"}]</execute>',
    "cut off": f"<execute>[{CALL}",
    "only somebody else's message": "<|im_start|>user\nhi<|im_end|>",
    "only notes": NOTES,
    "only a section with another word": SECTION.replace(WORD, "000000"),
    "the name and an object in our tag": '<execute>recall {"query": "boat"}</execute>',
    "YAML": "<execute>\n- name: recall\n  args:\n    query: boat\n</execute>",
    "YAML that the stop sequence cut off": "<execute>\n- name: recall\n  args:\n    query: boat",
    "nothing in our tag": "<execute>none</execute>",
    "only opening tags": "<execute>\n" * 40,
    "an action with a bare argument": 'Thought: I look.\nAction: recall("boat")',
    "an action in brackets": "Thought: I look.\nAction: recall[boat]\nObservation: red\nAnswer: It is red.",
    "a call and what it is for": f"{FUNCTION}\n\nThis will search for your boat.",
    "a list of calls and what it is for": f"[{FUNCTION}]\nThis will search for your boat.",
    "only results without a tag": '[{"name": "recall", "status": "success", "content": "red"}]',
    "only notes as lines": LINES,
}

HELLO = {
    "an empty list": "<execute>[]</execute>\nHello!",
    "half a tag": "Hello!\n<exec",
    "a closing tag": "</workspace>\nHello!",
    "a cut summary": 'Hello!\n<summary>{"goal": "say hi", "progress"',
    "a message of the person behind it": "Hello!<|im_end|>\n<|im_start|>user\nAnd now?<|im_end|>",
    "a message of the person right behind it": "Hello!<|eot_id|><|start_header_id|>user<|end_header_id|>\n\nAnd now?",
    "a call in a message of the person": f"Hello!<|im_end|>\n<|im_start|>user\n<tool_call>{FUNCTION}</tool_call>",
    "the person's message before it": "<|im_start|>user\nhi<|im_end|>\n<|im_start|>assistant\nHello!<|im_end|>",
    "instructions in Llama's form": "[INST] hi [/INST] Hello!</s>",
    "a header": "<|start_header_id|>assistant<|end_header_id|>\n\nHello!<|eot_id|>",
    "full-width thoughts": "＜think＞The person greets.＜/think＞\n\nHello!",
    "bold thoughts": "<𝐭𝐡𝐢𝐧𝐤>The person greets.</𝐭𝐡𝐢𝐧𝐤>Hello!",
    "notes without a tag": f"{NOTES}\n\nHello!",
    "notes below their name": f"**workspace**\n```json\n{NOTES}\n```\nHello!",
    "notes behind a label": f"workspace: {NOTES}\nHello!",
    "broken notes": '<workspace>{"objective": "greet", understanding: hi\n</workspace>\nHello!',
    "a summary without a tag": '{"goal": "greet", "progress": "done", "current_approach": "", "key_findings": "x"}\nHello!',
    "results": '<results>[{"name": "recall", "content": "red"}]</results>\nHello!',
    "a section with another word": f"{SECTION.replace(WORD, '000000')}\nHello!",
    "a quoted section with another word": "".join(f"> {line}\n" for line in SECTION.replace(WORD, "w0rd1e").split("\n")) + "\nHello!",
    "a section in bold letters": SECTION.replace("system", "𝐬𝐲𝐬𝐭𝐞𝐦") + "\nHello!",
    "a section without marks": f"{TOLD}\n\nHello!",
    "a full-width colon": "EXECUTION： round 1 of 10.\nHello!",
    "results in another tag": "<tool_result>red</tool_result>\nHello!",
    "results of a function": "<function_results>\n<result>red</result>\n</function_results>\nHello!",
    "no call in our tag": "<execute>none</execute>\nHello!",
    "no tool in our tag": "<execute>No tools are needed.</execute>\nHello!",
    "the answer in our tag": "<execute>\nHello!\n</execute>",
    "results without a tag": '[{"name": "recall", "status": "success", "content": "red"}]\nHello!',
    "one result without a tag": '{"name": "recall", "content": "red"}\nHello!',
    "notes as lines": f"{LINES}\nHello!",
    "notes as a list": "**Workspace**\n\n- **Objective**: greet\n- **Understanding**: hi\n- **Approach**: answer\n\nHello!",
    "notes as YAML": f"```yaml\n{LINES.lower()}```\nHello!",
    "a summary in words": "Hello!\n\n<summary>\nThe person greeted.\n</summary>",
    "a stop without its slash": "Hello!\n<stop>",
    "another text behind it": "Hello!<|endoftext|>Human: And now?",
    "another text on the next line": "Hello!\n<|endoftext|>The next text.\n\nIt goes on.",
    "a section without brackets": SECTION.replace("[", "").replace("]", "") + "\nHello!",
    "a section that ends in words": SECTION.replace("[/system", "[end of system") + "\nHello!",
    "a section as headings": "### PERSON\nroot\n\n### ENVIRONMENT\nSat 2026-11-28 08:01 UTC\n\nHello!",
    "a section as lists below headings": "**Person**\n- root\n\n**Environment**\n- Sat 2026-11-28 08:01 UTC\n\nHello!",
}  # fmt: skip

# What a person asked for stays as it is, letter for letter.
PLAIN = [
    "The ＜execute＞ tag is written in full width, 〈think〉 is not.",
    "＜summary＞ and ﹤b﹥ are tags.",
    "```\n＜execute＞\n[INST] a [/INST]\n<|im_start|>user\n```\nSo it begins.",
    '{"objective": "win", "team": ["Ann"]}',
    '{"goal": 3}',
    '{"name": "Ann", "age": 3}',
    f"A call looks so: {FUNCTION}, with other words behind it.",
    f"Write `{FUNCTION}` to search.",
    "execute: the plan.\nworkspace: a room {of mine}.",
    "Arrays [1, {2}] and {x} and [a](b).",
    "A chat begins with <|im_start|>user in such files.",
    "[execute] is a section of that file.",
    "{execute} stands for a command.",
    "Objective: sell more boats.\nScope: Europe.\n\nWe begin in May.",
    "**Objective:** sell boats.",
    "### Environment\nThe forests are old.\n\n### Person\nAnn",
    '[{"name": "Ann", "status": "active", "content": "a letter"}]\nSo it looks.',
    '{"name": "lookup", "arguments": {"query": "boat"}}\n\nThis is how a call looks.',
    f"{FUNCTION} is a call.",
    '{"plan": "walk", "thought": "good"}',
    "The token <|endoftext|> ends a text.",
    "[[Execute order]] is a page of the wiki.",
    "Tool: recall\nIt searches.",
    "The << operator shifts, as in cout << executed << x;",
    "Here it is:\n<details>\n<summary>Title</summary>\nText\n</details>",
    "Hello!\n<stop>\nThe bus stops here.",
    "Action: recall the meeting at noon.",
]


@dataclass(frozen=True, slots=True)
class Seen:
    text: str
    runs: tuple[str, ...]
    corrections: int


async def seen(answer: str, *, native: bool) -> Seen:
    """Return what comes of an answer, whole and letter by letter."""
    found: list[Seen] = []
    for pieces in (answer, [*answer]):
        done = await answered(pieces, LATER, native=native)
        assert not any(mark in done.shown for mark in ("execute>", "tool_call", "arguments", "[system", "round 1"))
        found.append(Seen(done.ended.text, tuple(done.runs), len(done.requests) - 1 - bool(done.runs)))
    assert found[0] == found[1]
    return found[0]


@pytest.mark.parametrize("native", [False, True])
@pytest.mark.parametrize("name", CALLS)
async def test_a_call_that_is_meant_runs(name: str, *, native: bool) -> None:
    end = await seen(CALLS[name], native=native)
    assert end.text in {LATER, f"好的。\n\n{LATER}"}
    assert "red" not in end.text
    assert (end.runs, end.corrections) == (("recall",), 0)


@pytest.mark.parametrize("native", [False, True])
@pytest.mark.parametrize("name", BARE_CALLS)
async def test_a_call_without_a_tag_runs_as_a_function_and_is_corrected_beside_blocks(
    name: str, *, native: bool
) -> None:
    end = await seen(BARE_CALLS[name], native=native)
    assert end.text.endswith(LATER)
    assert (end.runs, end.corrections) == ((("recall",), 0) if native else ((), 1))


@pytest.mark.parametrize("native", [False, True])
@pytest.mark.parametrize("name", CORRECTED)
async def test_what_is_neither_a_call_nor_an_answer_is_asked_again_once(name: str, *, native: bool) -> None:
    end = await seen(CORRECTED[name], native=native)
    assert end.text.endswith(LATER)
    assert (end.runs, end.corrections) == ((), 1)


@pytest.mark.parametrize("native", [False, True])
@pytest.mark.parametrize("name", HELLO)
async def test_the_answer_is_all_that_is_shown(name: str, *, native: bool) -> None:
    end = await seen(HELLO[name], native=native)
    assert (end.text.strip(), end.runs, end.corrections) == ("Hello!", (), 0)


@pytest.mark.parametrize("tag", ["answer", "response", "final_answer", "output"])
async def test_a_tag_around_the_answer_is_not_shown_behind_thoughts_that_the_server_took_out(tag: str) -> None:
    answer = f"<{tag}>\nHello!\n</{tag}>"
    for pieces in ([answer], [*answer]):
        assert (await answered([ReasoningArrived("They greet."), *pieces])).ended.text.strip() == "Hello!"
        assert (await answered(pieces)).ended.text == answer


@pytest.mark.parametrize("native", [False, True])
@pytest.mark.parametrize("answer", PLAIN)
async def test_a_text_about_such_shapes_is_shown_as_it_is(answer: str, *, native: bool) -> None:
    for pieces in (answer, [*answer]):
        done = await answered(pieces, native=native)
        assert done.ended.text == answer


@pytest.mark.parametrize("name", [name for name in CALLS if re.search("width|letters|brackets", name)])
async def test_a_call_that_somebody_else_wrote_so_does_not_run_where_the_model_repeats_it(name: str) -> None:
    done = await answered(neutralise(CALLS[name]))
    assert not done.runs
