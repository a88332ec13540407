"""Reports of a run: a table, JSON, JUnit and a page, which hold what models wrote as text alone."""

import json
from dataclasses import replace
from datetime import UTC, datetime
from xml.etree import ElementTree as ET

from agent.events import Outcome
from agent.messages import ModelCall, Usage
from agent.spending import Money, Spent
from bot.chat.texts.formatting import money
from bot.evals.checking import Observation, ObservedCall, Verdict
from bot.evals.exam import Contains
from bot.evals.report import as_html, as_json, as_junit, has_passed, progress_line, stored_run, table
from bot.evals.running import Run, RunResult, RunStatus, Sitting, StopReason
from tests.fakes.evals import exam, question

NOW = datetime(2026, 11, 29, 20, 0, tzinfo=UTC)
SPENT = Spent.on([ModelCall("openai:gpt-6-luna", Usage(input_uncached=1_000, output=1_000))])
BAD = "<script>alert(1)</script> \x07 ]]>"
SEEN = Observation("Yes.", spent=SPENT, seconds=1.25, calls=(ObservedCall("recall", {"query": "a"}, ran=True),))
A, B = question("a", group="memory"), question("b")


def result(of: Run, status: RunStatus, why: str = "", seen: Observation | None = SEEN) -> RunResult:
    verdicts = (Verdict(Contains(("yes",)), why),)
    return RunResult(of, status, verdicts if seen is not None else (), seen)


def sitting(*results: RunResult, models: tuple[str, ...] = ("m:1",), repeat: int = 1) -> Sitting:
    return Sitting(exam(A, B), models, repeat, results, 3.0, SPENT + SPENT, Spent())


TWO = sitting(
    result(Run(A, "m:1"), RunStatus.PASSED),
    result(Run(A, "m:2"), RunStatus.FAILED, "the answer does not contain “yes”", replace(SEEN, answer=BAD)),
    result(Run(B, "m:1"), RunStatus.PASSED),
    replace(result(Run(B, "m:2"), RunStatus.ERROR), trouble="the model is down", verdicts=(), seen=None),
    models=("m:1", "m:2"),
)


def test_a_table_shows_models_side_by_side_with_totals_and_the_threshold() -> None:
    assert table(TWO, 0.5).splitlines() == [
        "Question      m:1         m:2",
        "memory        1/1         0/1",
        "  a           passed      FAILED",
        "b             passed      ERROR",
        "",
        "Passed        2/2 (100%)  0/2 (0%)",
        "No answer     0           1",
        "Not asked     0           0",
        f"Cost          {money(Money(2 * SPENT.cost)):<12}{money(SPENT.cost)}",
        "Average time  1.2 s       1.2 s",
        "",
        f"Cost: {money(Money(2 * SPENT.cost))}. Time: 3 s.",
        "The threshold of 50% was not reached.",
    ]


def test_each_model_has_to_reach_the_threshold_and_what_was_not_asked_has_not_passed() -> None:
    runs = [Run(question(f"{at}"), "m:1") for at in range(10)]
    nine = sitting(*(result(run, RunStatus.PASSED) for run in runs[:9]), RunResult(runs[9], RunStatus.NOT_RUN))
    assert has_passed(nine, 0.9)
    assert not has_passed(nine, 0.91)
    assert not has_passed(TWO, 0.5)
    assert has_passed(TWO, 0)


def test_repeated_questions_are_shown_as_shares() -> None:
    runs = [result(Run(A, "m:1", 1), RunStatus.PASSED), result(Run(A, "m:1", 2), RunStatus.FAILED, "no")]
    shown = table(sitting(*runs, repeat=2), 1.0)
    assert "  a           1/2" in shown
    assert "1/2 (50%)" in shown


def test_a_share_is_rounded_down_so_that_only_all_are_all() -> None:
    runs = [result(Run(A, "m:1", at), RunStatus.PASSED) for at in range(1, 1_000)]
    assert "999/1000 (99%)" in table(sitting(*runs, result(Run(A, "m:1", 1_000), RunStatus.FAILED, "no")), 1.0)


def test_an_unknown_cost_is_not_shown_as_nothing() -> None:
    unpriced = Spent.on([ModelCall("llamacpp:own", Usage(output=1))])
    own = sitting(result(Run(A, "m:1"), RunStatus.PASSED, seen=replace(SEEN, spent=unpriced)))
    assert "Cost: no list price." in table(replace(own, spent=unpriced), 1.0)
    assert "Cost: at least $" in table(replace(own, spent=unpriced + SPENT), 1.0)
    assert json.loads(as_json(replace(own, spent=unpriced + SPENT), 1.0, NOW))["cost_usd"] is None
    free = replace(own, results=(result(Run(A, "m:1"), RunStatus.PASSED, seen=Observation("Yes.", is_free=True)),))
    assert "Cost: $0." in table(replace(free, spent=Spent(unpriced=3)), 1.0)


def test_a_line_shows_each_result_as_it_comes() -> None:
    passed, failed, *_ = TWO.results
    assert progress_line(passed, 3, 40, names_model=False) == "[ 3/40]  passed  a  1.2 s"
    lines = progress_line(failed, 4, 40, names_model=True).splitlines()
    assert lines == ["[ 4/40]  FAILED  a  m:2  1.2 s", "        the answer does not contain “yes”"]


def test_json_holds_everything_and_parses_to_what_was_answered() -> None:
    read = json.loads(as_json(TWO, 0.5, NOW))
    assert (read["version"], read["passed"], read["stopped"]) == (1, False, None)
    assert [model["pass_rate"] for model in read["models"]] == [1.0, 0.0]
    first, second, _, last = read["results"]
    assert first["calls"] == [{"tool": "recall", "arguments": {"query": "a"}, "ran": True}]
    assert second["answer"] == BAD
    assert second["checks"] == [{"check": "contains", "passed": False, "why": "the answer does not contain “yes”"}]
    assert (last["status"], last["answer"], last["problems"]) == ("error", None, ["the model is down"])


def test_junit_has_a_suite_for_each_model_and_a_case_for_each_run() -> None:
    root = ET.fromstring(as_junit(TWO))  # noqa: S314 -- our own
    first, second = root.findall("testsuite")
    counts = ("tests", "failures", "errors", "skipped")
    assert [first.get(count) for count in counts] == ["2", "0", "0", "0"]
    assert [second.get(count) for count in counts] == ["2", "1", "1", "0"]
    failed, error = second.findall("testcase")
    (failure,) = failed.findall("failure")
    assert failure.get("message") == "the answer does not contain “yes”"
    assert failure.text == BAD.replace("\x07", "\ufffd")
    assert [each.get("message") for each in error.findall("error")] == ["the model is down"]
    assert failed.get("classname") == "m:2.memory"


def test_a_page_shows_what_models_wrote_as_text() -> None:
    page = as_html(TWO, 0.5, NOW)
    assert "<script>" not in page
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page
    assert "default-src &#39;none&#39;" in page or "default-src 'none'" in page
    assert "0 of 2 (0%)" in page


def test_a_stopped_run_says_so_in_each_report() -> None:
    stopped = replace(TWO, stopped=StopReason.INTERRUPTED, sentence="Interrupted.")
    assert "Interrupted." in table(stopped, 1.0)
    assert "<p>Interrupted.</p>" in as_html(stopped, 1.0, NOW)
    assert json.loads(as_json(stopped, 1.0, NOW))["stopped"] == "interrupted"


def test_an_answer_that_was_cut_off_stays_readable_in_the_reports() -> None:
    cut = RunResult(Run(A, "m:1"), RunStatus.ERROR, (), replace(SEEN, answer="Half an", outcome=Outcome.CUT), "cut")
    assert "Half an" in as_html(sitting(cut), 1.0, NOW)


def test_what_is_stored_has_names_and_counts_and_answers_only_if_they_were_asked_for() -> None:
    partial = replace(TWO, results=(*TWO.results[:3], RunResult(TWO.results[3].run, RunStatus.NOT_RUN)))
    bare = stored_run(partial, NOW, answers=False)
    assert [(each.name, each.passed, each.failed, each.not_run) for each in bare.models] == [
        ("m:1", 2, 0, 0),
        ("m:2", 0, 1, 1),
    ]
    assert [(each.name, each.group, each.passed) for each in bare.questions] == [
        ("a", "memory", (1, 0)),
        ("b", "", (1, 0)),
    ]
    assert "script" not in str(bare), "no answer"
    whole = stored_run(partial, NOW, answers=True)
    assert [(each.question, each.model, each.status) for each in whole.answers] == [
        ("a", "m:1", "passed"),
        ("a", "m:2", "failed"),
        ("b", "m:1", "passed"),
    ]
    assert whole.answers[1].answer == BAD
