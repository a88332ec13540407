"""The draft: the text and steps that follow from events."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.events import (
    SECONDS,
    AgentEvent,
    CallFinished,
    CallProgressed,
    CallStarted,
    IterationStarted,
    NoticeArrived,
    Outcome,
    ReplyEnded,
    TextArrived,
    TurnEnded,
)
from agent.messages import ResultStatus, ToolCall, ToolResult
from bot.chat.reply.pages import NOTE_PERCENT, Draft, status_line, step_lines
from bot.chat.texts import replies as reply_texts

RECALL = CallStarted("1.1", ToolCall("recall", {"query": "boat"}))
RECALLED = CallFinished("1.1", ToolResult("recall", ResultStatus.SUCCESS, "blue"))


def draft_of(*events: AgentEvent) -> Draft:
    draft = Draft()
    for event in events:
        draft.record_event(event)
    return draft


def test_text_of_each_iteration_is_a_paragraph() -> None:
    draft = draft_of(
        IterationStarted(1), TextArrived("I look.\n"), RECALL, IterationStarted(2), TextArrived("\nIt is blue.")
    )
    assert draft.text == "I look.\n\nIt is blue."


def test_a_notice_is_a_paragraph_of_its_own() -> None:
    assert draft_of(TextArrived("It is"), NoticeArrived("It broke off.")).text == "It is\n\nIt broke off."


def test_whitespace_at_the_end_shows_only_when_the_answer_is_complete() -> None:
    draft = draft_of(TextArrived("It is blue.\n"))
    assert (draft.text, draft.complete) == ("It is blue.", False)
    draft.record_event(ReplyEnded())
    assert (draft.text, draft.complete, draft.final) == ("It is blue.\n", True, False)


def test_the_text_with_which_the_turn_ended_is_complete_and_its_end_comes_at_once() -> None:
    draft = draft_of(TextArrived("It is"), TurnEnded(Outcome.CUT, "It is\n\nIt broke off."))
    assert (draft.text, draft.complete, draft.ending, draft.final) == ("It is\n\nIt broke off.", True, True, False)
    draft.end()
    assert (draft.text, draft.ending, draft.final) == ("It is\n\nIt broke off.", False, True)


def test_ended_without_a_word_it_keeps_what_was_said() -> None:
    draft = draft_of(TextArrived("It is blue.\n"))
    draft.end()
    assert (draft.text, draft.final) == ("It is blue.\n", True)


def test_an_answer_that_goes_on_after_its_end_is_not_complete() -> None:
    assert not draft_of(TextArrived("a"), ReplyEnded(), TextArrived("b")).complete
    assert draft_of(TextArrived("a"), ReplyEnded(), TextArrived("\n")).complete


def test_the_status_follows_the_work_until_text_comes() -> None:
    draft = draft_of(IterationStarted(1))
    assert draft.status == reply_texts.THINKING
    draft.record_event(RECALL)
    assert draft.status == "Searching past threads…"
    draft.record_event(RECALLED)
    draft.record_event(TextArrived("\n"))
    assert draft.status == "Searching past threads…"
    draft.record_event(TextArrived("It is blue."))
    assert draft.status == ""


def test_a_tool_without_a_phrase_of_its_own_is_named() -> None:
    assert status_line("weather_map") == "Using weather map…"


@pytest.mark.parametrize(
    ("call", "result", "told"),
    [
        (
            ToolCall("recall", {"query": "boat"}),
            ToolResult("recall", ResultStatus.SUCCESS, "two hits", (1, 2)),
            "searched past threads: boat, 2 found",
        ),
        (
            ToolCall("recall", {"query": "boat"}),
            ToolResult("recall", ResultStatus.FAILURE, "no"),
            "searched past threads: boat (that did not work)",
        ),
        (
            ToolCall("remember", {"text": "tea is hot " * 20}),
            ToolResult("remember", ResultStatus.SUCCESS, "kept"),
            "saved a note: tea is hot",
        ),
        (ToolCall("roll_dice", {}), ToolResult("roll_dice", ResultStatus.SUCCESS, "6"), "used roll dice"),
    ],
)
def test_a_call_leaves_one_line_that_says_with_what_it_was_made(call: ToolCall, result: ToolResult, told: str) -> None:
    draft = Draft()
    draft.record_event(CallStarted("1.1", call))
    assert [step.trace for step in draft.steps] == [""]
    draft.record_event(CallFinished("1.1", result))
    (step,) = draft.steps
    assert step.trace.startswith(told)
    assert len(step.trace) < 120


@given(st.lists(st.floats(0.001, 1), max_size=200))
def test_a_note_tells_how_far_a_tool_is_in_few_steps_and_is_gone_with_it(shares: list[float]) -> None:
    draft, notes = draft_of(RECALL), list[str]()
    for share in shares:
        draft.record_event(CallProgressed("1.1", share * 7, 7))
        assert draft.note.startswith(status_line("recall"))
        notes += [draft.note] if notes[-1:] != [draft.note] else []
    assert len(set(notes)) <= 100 / NOTE_PERCENT + 1
    draft.record_event(RECALLED)
    draft.record_event(CallProgressed("1.1", 1, 2))
    assert draft.note == ""


def test_a_call_that_tells_how_long_it_has_run_shows_its_seconds() -> None:
    draft = Draft()
    draft.record_event(CallStarted("1.1", ToolCall("python", {"code": "1"})))
    draft.record_event(CallProgressed("1.1", 3, 30, SECONDS))
    assert (draft.note, draft.status) == ("Running Python… 3 s", "Running Python… 3 s")
    assert [step.title for step in draft.steps] == ["Running Python… 3 s"]


def test_long_work_shows_its_last_steps_line_by_line_and_what_it_does_now() -> None:
    draft = draft_of(IterationStarted(1), RECALL)
    assert step_lines(draft, 0) == ""
    assert step_lines(draft, 2) == f"→ {status_line('recall')}"
    for number in range(2, 5):
        draft.record_event(CallFinished(f"{number - 1}.1", ToolResult("recall", ResultStatus.SUCCESS, "blue")))
        draft.record_event(IterationStarted(number))
        draft.record_event(CallStarted(f"{number}.1", ToolCall("recall", {"query": "boat"})))
    draft.record_event(CallFinished("4.1", ToolResult("recall", ResultStatus.FAILURE, "no")))
    draft.record_event(IterationStarted(5))
    done = status_line("recall")
    assert step_lines(draft, 2).splitlines() == [
        "2 earlier steps",
        f"✓ {done}",
        f"✗ {done}",
        f"→ {reply_texts.THINKING}",
    ]
