"""Channels and labels of known model families: thoughts stay private, calls run, the answer is shown without them."""

from dataclasses import dataclass
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.events import CallsArrived, ProtocolEvent, TextArrived, ThoughtArrived
from agent.messages import ToolCall
from agent.protocol.channels import HELD_CHARS, Channels
from agent.protocol.parser import Parser

BOAT = ToolCall("recall", {"query": "boat"})


@dataclass(frozen=True, slots=True)
class Read:
    text: str
    thoughts: str = ""
    calls: tuple[ToolCall, ...] = ()


def read(*pieces: str) -> Read:
    parser = Parser(tool_names=frozenset({"recall", "remember"}))
    events: list[ProtocolEvent] = [event for piece in pieces for event in parser.feed(piece)]
    events += parser.close()
    return Read(
        "".join(event.text for event in events if isinstance(event, TextArrived)),
        "".join(event.text for event in events if isinstance(event, ThoughtArrived)),
        tuple(call for event in events if isinstance(event, CallsArrived) for call in event.calls),
    )


ANSWERS = {
    # gpt-oss behind a server that drops its tokens
    "analysisThe user asks.assistantfinalIt is blue.": Read("It is blue.", "The user asks."),
    "analysis\nThe user asks.\nassistantfinal\nIt is blue.": Read("It is blue.", "\nThe user asks.\n"),
    "assistantfinalIt is blue.": Read("It is blue."),
    "finalIt is blue.": Read("It is blue."),
    "analysisI search.assistantcommentaryLet me look.assistantfinalBlue.": Read("Let me look.\n\nBlue.", "I search."),
    'analysisI search.assistantcommentary to=functions.recall json{"query": "boat"}': Read("", "I search.", (BOAT,)),
    "analysisThe stream was cut": Read("", "The stream was cut"),
    # Apriel
    "Here are my reasoning steps:\nWe look.\n[BEGIN FINAL RESPONSE]\nBlue.\n[END FINAL RESPONSE]": Read(
        "Blue.\n", "Here are my reasoning steps:\nWe look.\n"
    ),
    "[BEGIN FINAL RESPONSE]It is blue.[END FINAL RESPONSE]": Read("It is blue."),
    "It is blue. [END FINAL RESPONSE]\n<|end|>": Read("It is blue. \n"),
    # ReAct
    "Thought: I know it.\nFinal Answer: It is blue.": Read("It is blue.", "Thought: I know it."),
    'Thought: I look.\nAction: recall\nAction Input: {"query": "boat"}': Read("", "Thought: I look.", (BOAT,)),
    "Thought: Do I need to use a tool? No\nAI: It is blue.": Read(
        "It is blue.", "Thought: Do I need to use a tool? No"
    ),
    # Granite
    "Here is my thought process:\nWe look.\nHere is my response:\n\nIt is blue.": Read(
        "It is blue.", "Here is my thought process:\nWe look."
    ),
    # smolagents
    'Thought: I look.\n<code>\nrecall(query="boat")\n</code>': Read("", "Thought: I look.", (BOAT,)),
    'Thought: I look.\n<code>\nfound = recall(query="boat")\nprint(found)\n</code>': Read(
        "", "Thought: I look.", (BOAT,)
    ),
    'Thoughts: I look.\nCode:\n```py\nprint(recall(query="boat"))\n```<end_code>': Read(
        "", "Thoughts: I look.", (BOAT,)
    ),
    'Thought: I look.\n<code>\n# never recall(query="key")\nrecall(query="boat")\n</code>': Read(
        "", "Thought: I look.", (BOAT,)
    ),
    'Thought: I look.\n<code>\nmail = """Dear "bot",\nrecall(query="key")"""\nrecall(query="boat")\n</code>': Read(
        "", "Thought: I look.", (BOAT,)
    ),
    'Thought: I look.\n<code>\nmail = \'It\\\'s recall(query="key")\'\nprint(recall(query="boat"))\n</code>': Read(
        "", "Thought: I look.", (BOAT,)
    ),
    'Thought: I know.\n<code>\nfinal_answer("It is blue.")\n</code>': Read("It is blue.", "Thought: I know."),
    '<code>final_answer("It is blue.")</code>': Read("It is blue."),
}
TEXTS = [
    "analysis of the data shows that the assistant final answer is 3.",
    "Analysis: sales grow.",
    "final exams are in June.",
    "assistants help people.",
    "assistantfinally was one word there.",
    "Thought: be kind to yourself.\nThat is all for today.",
    "Question: what is a boat?\nAnswer: a small ship.",
    "Final Answer: 42",
    "Use <code>ls -a</code> for that.",
    "<code>\nprint(1)\n</code>",
    "The marker `[BEGIN FINAL RESPONSE]` begins the answer of Apriel.",
    "gpt-oss writes assistantfinalX before its answer.",
    "Here are my reasons: it is blue.",
    "Here is my thought process: first I look, then I answer.",
    f"Thought: {'long ' * HELD_CHARS}\nFinal Answer: no label any more.",
]


@pytest.mark.parametrize("answer", ANSWERS)
def test_words_that_name_thoughts_calls_and_answers_are_read_and_not_shown(answer: str) -> None:
    assert read(answer) == ANSWERS[answer]
    assert read(*answer) == ANSWERS[answer]


@pytest.mark.parametrize("text", TEXTS)
def test_what_a_person_may_write_so_is_text(text: str) -> None:
    assert read(text) == Read(text)
    assert read(*text) == Read(text)


@given(st.sampled_from([*ANSWERS, *TEXTS[:-1]]), st.data())
def test_an_answer_is_read_the_same_however_it_is_cut(answer: str, data: st.DataObject) -> None:
    cuts = sorted(data.draw(st.sets(st.integers(0, len(answer)), max_size=8)) | {0, len(answer)})
    assert read(*(answer[start:end] for start, end in pairwise(cuts))) == read(answer)


PARTS = [
    *(
        "analysis",
        "assistantfinal",
        "assistantcommentary",
        "assistantanalysis",
        " to=",
        "Thought: ",
        "\nFinal Answer: ",
    ),
    *(
        "\nAction: recall\nAction Input: {",
        "<code>",
        "</code>",
        "\n",
        "It is blue.",
        "[BEGIN FINAL RESPONSE]",
        "We look. ",
    ),
    *('final_answer("x")', "Here are my reasoning steps:", 'recall(query="boat")', "assist", "A", "`", "<|end|>"),
]


@given(st.lists(st.sampled_from(PARTS), max_size=10), st.data())
def test_any_stream_of_such_words_is_read_the_same_however_it_is_cut(parts: list[str], data: st.DataObject) -> None:
    answer = "".join(parts)
    cuts = sorted(data.draw(st.sets(st.integers(0, len(answer)), max_size=8)) | {0, len(answer)})
    assert read(*(answer[start:end] for start, end in pairwise(cuts))) == read(answer)


@given(st.lists(st.sampled_from(PARTS), max_size=10))
def test_nothing_is_invented_or_held_for_ever(parts: list[str]) -> None:
    answer = "".join(parts)
    channels = Channels(lambda _: False)
    pieces = [*(piece for char in answer for piece in channels.feed(char)), *channels.flush()]
    position = 0
    for piece in pieces:
        for char in piece.text.strip():
            position = answer.index(char, position) + 1
    assert channels.passes


def test_code_is_read_once_however_many_calls_are_begun_in_it_and_whatever_follows() -> None:
    asked = list[str]()

    def is_tool(name: str) -> bool:
        asked.append(name)
        return True

    channels = Channels(is_tool)
    for piece in ["Thought: I look.\n<code>\n", "recall(" * 500, "\n</code>\n", *["word "] * 500]:
        channels.feed(piece)
    assert len(asked) <= 500
