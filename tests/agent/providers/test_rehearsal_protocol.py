"""What the rehearsal model writes is the real protocol: the real parser reads it without one violation."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.appended_messages import appended_messages
from agent.events import (
    CallsArrived,
    ProtocolEvent,
    ReplyEnded,
    SummaryArrived,
    TextArrived,
    WorkspaceArrived,
)
from agent.messages import Message, ResultStatus, Role, ToolResult
from agent.progress import RoundStep
from agent.protocol.parser import Parser
from agent.providers.rehearsal import NOTICE, PIECE_CHARS, rehearse

TOOLS = frozenset({"recall", "remember"})
PARTS = [
    *(
        "<execute>",
        "</execute>",
        "<execute>[{",
        "</workspace>",
        "<results>[",
        "<Summary>{",
        "</ think >",
        "<\u200bthink>",
    ),
    *("\n", " ", '"', "\\", "`", "```", "~~~", "}]", "a b", "é", "船", "\x00", "\ud800", "\u2028", "\r"),
]
words = st.lists(st.sampled_from(PARTS), max_size=12).map("".join)
openings = st.sampled_from(["", "remember that ", "what did I say about ", "show me code for "])


def read(answer: str) -> list[ProtocolEvent]:
    parser = Parser(tool_names=TOOLS)
    events = [
        event
        for start in range(0, len(answer), PIECE_CHARS)
        for event in parser.feed(answer[start : start + PIECE_CHARS])
    ]
    return [*events, *parser.close()]


def asked(question: str) -> list[Message]:
    return [Message(Role.SYSTEM, "s"), Message(Role.USER, "context"), Message(Role.USER, question)]


def answered(question: str, content: str) -> list[ProtocolEvent]:
    """The events of the answer after the one call of the first answer came back with this content."""
    workspace, calls = read(rehearse(asked(question)))
    assert isinstance(workspace, WorkspaceArrived)
    assert isinstance(calls, CallsArrived)
    result = ToolResult(calls.calls[0].name, ResultStatus.SUCCESS, content)
    step = RoundStep(workspace=workspace.workspace, calls=calls.calls, results=(result,))
    return read(rehearse([*asked(question), *appended_messages([step], "A hint.")]))


def shown(events: list[ProtocolEvent]) -> str:
    return "".join(event.text for event in events if isinstance(event, TextArrived))


@pytest.mark.parametrize(
    ("question", "name", "args"),
    [
        ("remember that my boat is blue", "remember", {"text": "my boat is blue"}),
        ("what did I say about my boat?", "recall", {"query": "boat"}),
    ],
)
def test_a_call_is_read_as_one_call_with_its_workspace(question: str, name: str, args: dict[str, str]) -> None:
    workspace, calls = read(rehearse(asked(question)))
    assert isinstance(workspace, WorkspaceArrived)
    assert workspace.workspace.understanding
    assert isinstance(calls, CallsArrived)
    assert [(call.name, call.args) for call in calls.calls] == [(name, args)]


def test_an_answer_after_results_is_read_as_text_and_summary() -> None:
    *texts, ended, summary = answered("what did I say about my boat?", "[1] my boat is blue")
    assert "> [1] my boat is blue" in shown(texts)
    assert NOTICE in shown(texts)
    assert isinstance(ended, ReplyEnded)
    assert isinstance(summary, SummaryArrived)


@given(openings, words)
def test_no_words_of_a_person_are_a_violation(opening: str, text: str) -> None:
    events = read(rehearse(asked(opening + text)))
    assert {type(event) for event in events} in ({TextArrived}, {WorkspaceArrived, CallsArrived})


@given(openings.filter(lambda opening: opening.startswith(("remember", "what"))), words)
def test_no_result_of_a_tool_is_a_violation(opening: str, content: str) -> None:
    events = answered(opening + "the boat", content)
    assert {type(event) for event in events} <= {TextArrived, ReplyEnded, SummaryArrived}
    assert NOTICE in shown(events)
