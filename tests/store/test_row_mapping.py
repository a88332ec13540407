"""Rows and values."""

import json
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.events import Outcome
from agent.messages import ModelCall, ResultStatus, ToolCall, ToolResult, Usage
from agent.state import ActionRecord, SituationSummary
from agent.turn_records import Closing
from store import row_mapping
from tests.fakes.incoming import START

texts = st.text(max_size=20)


@given(st.builds(SituationSummary, texts, texts, texts, texts, texts))
def test_a_summary_reads_back_as_it_was_but_for_blanks(summary: SituationSummary) -> None:
    read, covered = row_mapping.summary(row_mapping.summary_text(summary, 7))
    assert covered == 7
    assert read == SituationSummary().merged(json.loads(row_mapping.summary_text(summary)))
    assert read.goal == (summary.goal if summary.goal.strip() else "")


@pytest.mark.parametrize(
    ("question", "title"),
    [
        ("my boat", "my boat"),
        ("  two\n\nlines\t here ", "two lines here"),
        ("x" * 80, "x" * 80),
        ("x" * 81, "x" * 79 + "…"),
        ("", ""),
    ],
)
def test_a_title_is_one_short_line(question: str, title: str) -> None:
    assert row_mapping.title(question) == title


def test_an_action_record_holds_calls_and_the_beginning_of_results() -> None:
    record = ActionRecord(
        2,
        START + timedelta(seconds=1),
        "hm",
        (ToolCall("fetch", {"url": "x"}),),
        (ToolResult("fetch", ResultStatus.FAILURE, "y" * 1001),),
    )
    columns = row_mapping.action(7, record)
    assert (columns["turn"], columns["iteration"], columns["thinking"]) == (7, 2, "hm")
    assert json.loads(columns["calls"]) == [{"name": "fetch", "args": {"url": "x"}}]
    assert json.loads(columns["results"]) == [{"name": "fetch", "status": "failure", "content": "y" * 1000}]


def test_an_ending_keeps_what_counts_and_clears_what_only_the_running_turn_needed() -> None:
    calls = (ModelCall("m", Usage(output=1)), ModelCall("m", Usage(output=2)))
    closing = Closing(Outcome.CUT, "half", ("p1",), calls=calls, context_messages=(3, 1, 3), context_facts=())
    columns = row_mapping.ending(closing, START)
    assert (columns["state"], columns["outcome"], columns["ended"]) == ("done", "cut", START)
    assert (columns["context_messages"], columns["context_facts"], columns["pages"]) == ("[1,3]", "[]", '["p1"]')
    assert (columns["payload"], columns["progress"], columns["reply_ref"], columns["owner"]) == ("{}", "", "", None)
    assert json.loads(columns["usage"])["output"] == 3
