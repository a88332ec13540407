"""What a run of an exam found: totals for each model, and reports as lines, a table, JSON, JUnit and HTML. Pure."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Final
from xml.etree import ElementTree as ET

from agent.eval_runs import EvalRun, EvaluatedAnswer, EvaluatedModel, EvaluatedQuestion
from agent.messages import Json
from agent.spending import NANO, NOTHING, Money, Spent
from bot.chat.output import printable_json, printable_line
from bot.chat.texts.formatting import counted, money
from bot.evals import texts
from bot.evals.checking import Observation
from bot.evals.exam import (
    CallsNot,
    CallsTool,
    Check,
    Cites,
    Contains,
    ContainsNot,
    CostsAtMost,
    Exam,
    Judged,
    Matches,
    Refuses,
    Remembers,
    RemembersNot,
    RevealsNot,
    RunsNot,
    WithinSeconds,
)
from bot.evals.running import RunResult, RunStatus, Sitting

TEMPLATES: Final = Path(__file__).parent / "templates"
# Characters that XML does not allow.
_NO_XML: Final = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
# The fields of the checks in the file.
_FIELDS: Final[Mapping[type[Check], str]] = {
    Contains: "contains",
    ContainsNot: "does_not_contain",
    Matches: "matches",
    Cites: "cites",
    CallsTool: "calls",
    CallsNot: "does_not_call",
    RunsNot: "does_not_run",
    Refuses: "refuses",
    CostsAtMost: "costs_at_most",
    WithinSeconds: "within_seconds",
    Remembers: "remembers",
    RemembersNot: "does_not_remember",
    RevealsNot: "does_not_reveal",
    Judged: "judged",
}


@dataclass(frozen=True, slots=True)
class Totals:
    """Some runs, counted. `rate`: the share that passed of all that were planned, from 0 to 1. `seconds`: of an answer,
    on average.
    """

    runs: int
    passed: int
    failed: int
    errors: int
    not_run: int
    spent: Spent
    seconds: float
    is_free: bool

    @property
    def rate(self) -> float:
        return self.passed / self.runs if self.runs else 0.0

    @property
    def percent(self) -> str:
        """Rounded down, so that only a full score reads 100 %."""
        return f"{int(self.rate * 100)}%"


def totals(results: Sequence[RunResult]) -> Totals:
    def count(status: RunStatus) -> int:
        return sum(result.status is status for result in results)

    seen = [result.seen for result in results if result.seen is not None]
    return Totals(
        len(results),
        count(RunStatus.PASSED),
        count(RunStatus.FAILED),
        count(RunStatus.ERROR),
        count(RunStatus.NOT_RUN),
        sum((each.spent for each in seen), Spent()),
        sum(each.seconds for each in seen) / max(1, len(seen)),
        all(each.is_free for each in seen),
    )


def of_model(sitting: Sitting, model: str) -> list[RunResult]:
    return [result for result in sitting.results if result.run.model == model]


def has_passed(sitting: Sitting, threshold: float) -> bool:
    """Return whether each model has reached the threshold, a share from 0 to 1."""
    return all(totals(of_model(sitting, model)).rate >= threshold for model in sitting.models)


def cost_of(spent: Spent, *, is_free: bool = False) -> str:
    if spent.unpriced and not is_free:
        return texts.COST_UNKNOWN if spent.cost == NOTHING else texts.COST_AT_LEAST.format(cost=money(spent.cost))
    return money(spent.cost)


def progress_line(result: RunResult, done: int, of: int, *, names_model: bool) -> str:
    """Return the line about a result as it comes."""
    seen = result.seen
    parts = [
        f"[{done:>{len(str(of))}}/{of}]",
        f"{texts.STATUSES[result.status]:<6}",
        result.run.question.name,
        *([printable_line(result.run.model)] if names_model else []),
        *([f"#{result.run.number}"] if result.run.number > 1 else []),
        *([f"{seen.seconds:.1f} s"] if seen is not None else []),
    ]
    line = "  ".join(parts)
    return line if not result.problems else f"{line}\n{_indented(result.problems)}"


def _indented(problems: Sequence[str]) -> str:
    return "\n".join(f"        {printable_line(problem)}" for problem in problems)


def table(sitting: Sitting, threshold: float) -> str:
    """Return the table of all questions and models, and the totals below it, for a terminal."""
    rows = [[texts.QUESTION_COLUMN, *map(printable_line, sitting.models)]]
    groups = {question.group: None for question in sitting.exam.questions}
    for group in groups:
        if group:
            rows.append([group, *(_share(_of_group(sitting, model, group)) for model in sitting.models)])
        for question in sitting.exam.questions:
            if question.group == group:
                name = f"  {question.name}" if group else question.name
                rows.append([name, *(_cell(_of_question(sitting, model, question.name)) for model in sitting.models)])
    rows.append([])
    sums = {model: totals(of_model(sitting, model)) for model in sitting.models}
    named: Mapping[str, Callable[[Totals], str]] = {
        texts.PASSED_ROW: lambda one: f"{one.passed}/{one.runs} ({one.percent})",
        texts.ERRORS_ROW: lambda one: f"{one.errors}",
        texts.NOT_RUN_ROW: lambda one: f"{one.not_run}",
        texts.COST_ROW: lambda one: cost_of(one.spent, is_free=one.is_free),
        texts.SECONDS_ROW: lambda one: f"{one.seconds:.1f} s",
    }
    rows += [[name, *(show(sums[model]) for model in sitting.models)] for name, show in named.items()]
    return f"{_aligned(rows)}\n\n{conclusion(sitting, threshold)}"


def _aligned(rows: Sequence[Sequence[str]]) -> str:
    columns = max(map(len, rows))
    widths = [max((len(row[at]) for row in rows if at < len(row)), default=0) for at in range(columns)]
    return "\n".join(
        "  ".join(f"{value:<{width}}" for value, width in zip(row, widths, strict=False)).rstrip() for row in rows
    )


def _of_question(sitting: Sitting, model: str, name: str) -> list[RunResult]:
    return [result for result in of_model(sitting, model) if result.run.question.name == name]


def _of_group(sitting: Sitting, model: str, group: str) -> list[RunResult]:
    return [result for result in of_model(sitting, model) if result.run.question.group == group]


def _share(results: Sequence[RunResult]) -> str:
    return f"{totals(results).passed}/{len(results)}"


def _cell(results: Sequence[RunResult]) -> str:
    """One run as a word, several as a share."""
    if len(results) == 1:
        return texts.STATUSES[results[0].status]
    return _share(results)


def conclusion(sitting: Sitting, threshold: float) -> str:
    """Return the last sentences: why it stopped, what it cost, and whether the threshold is reached."""
    all_ = totals(sitting.results)
    cost = cost_of(sitting.spent, is_free=all_.is_free)
    sentences = [sitting.sentence] if sitting.sentence else []
    sentences.append(texts.COST_LINE.format(cost=cost, seconds=sitting.seconds))
    if sitting.judge:
        judged = cost_of(sitting.judged)
        sentences.append(texts.JUDGE_LINE.format(judge=printable_line(sitting.judge), cost=judged))
    percent = f"{threshold * 100:g}%"
    sentences.append((texts.REACHED if has_passed(sitting, threshold) else texts.MISSED).format(threshold=percent))
    return "\n".join(sentences)


def announcement(exam: Exam, models: Sequence[str], repeat: int, judge: str) -> str:
    """Return the sentences before the first question: what is asked, and of whom."""
    asked = counted(len(exam.questions), "question", "questions")
    times = f" × {repeat}" if repeat > 1 else ""
    named = ", ".join(map(printable_line, models))
    line = texts.ANNOUNCEMENT.format(file=exam.name, questions=f"{asked}{times}", models=named)
    judged = sum(question.is_judged for question in exam.questions)
    if not judge:
        return line
    judges = texts.JUDGED_BY.format(judge=printable_line(judge), questions=counted(judged, "question", "questions"))
    return f"{line} {judges}"


# For programs.


def as_json(sitting: Sitting, threshold: float, now: datetime) -> str:
    models: list[Json] = []
    for model in sitting.models:
        one = totals(of_model(sitting, model))
        models.append(
            {
                "model": model,
                "runs": one.runs,
                "passed": one.passed,
                "failed": one.failed,
                "errors": one.errors,
                "not_run": one.not_run,
                "pass_rate": round(one.rate, 4),
                "cost_usd": _dollars(one.spent, is_free=one.is_free),
            }
        )
    report: dict[str, Json] = {
        "version": 1,
        "file": sitting.exam.name,
        "time": now.isoformat(timespec="seconds"),
        "seconds": round(sitting.seconds, 1),
        "repeat": sitting.repeat,
        "threshold": threshold,
        "passed": has_passed(sitting, threshold),
        "stopped": None if sitting.stopped is None else sitting.stopped.value,
        "judge": sitting.judge or None,
        "judge_cost_usd": _dollars(sitting.judged) if sitting.judge else None,
        "cost_usd": _dollars(sitting.spent, is_free=totals(sitting.results).is_free),
        "models": models,
        "results": [_result_json(result) for result in sitting.results],
    }
    return printable_json(report, indent=2)


def _dollars(spent: Spent, *, is_free: bool = False) -> float | None:
    cost = _money(spent, is_free=is_free)
    return None if cost is None else cost / NANO


def _result_json(result: RunResult) -> Json:
    seen, run = result.seen, result.run
    return {
        "question": run.question.name,
        "group": run.question.group or None,
        "model": run.model,
        "run": run.number,
        "status": result.status.value,
        "problems": [*result.problems],
        "checks": [
            {"check": check_name(verdict.check), "passed": verdict.passed, "why": verdict.why or None}
            for verdict in result.verdicts
        ],
        "asked": run.question.text,
        "answer": None if seen is None else seen.answer,
        "answered_by": None if seen is None else seen.model or None,
        "calls": [] if seen is None else _calls_json(seen),
        "seconds": None if seen is None else round(seen.seconds, 2),
        "cost_usd": None if seen is None else _dollars(seen.spent, is_free=seen.is_free),
        "judge_cost_usd": _dollars(result.judged) if result.judged.calls else None,
    }


def _calls_json(seen: Observation) -> list[Json]:
    return [{"tool": call.tool, "arguments": {**call.arguments}, "ran": call.ran} for call in seen.calls]


def check_name(one: Check) -> str:
    """Return the check's field in the file."""
    return _FIELDS[type(one)]


def as_junit(sitting: Sitting) -> str:
    """Return the report as JUnit's XML: a suite for each model, a case for each run."""
    root = ET.Element("testsuites", name=_xml(sitting.exam.name), time=f"{sitting.seconds:.1f}")
    for model in sitting.models:
        results = of_model(sitting, model)
        one = totals(results)
        counts = {"tests": one.runs, "failures": one.failed, "errors": one.errors, "skipped": one.not_run}
        named = {"name": _xml(model)} | {name: f"{of}" for name, of in counts.items()}
        suite = ET.SubElement(root, "testsuite", named)
        for result in results:
            _add_case(suite, result)
    ET.indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ET.tostring(root, encoding="unicode") + "\n"


def _add_case(suite: ET.Element, result: RunResult) -> None:
    run, seen = result.run, result.seen
    name = run.question.name if run.number == 1 else f"{run.question.name} #{run.number}"
    group = f".{run.question.group}" if run.question.group else ""
    took = f"{0.0 if seen is None else seen.seconds:.2f}"
    case = ET.SubElement(suite, "testcase", name=_xml(name), classname=_xml(f"{run.model}{group}"), time=took)
    message = _xml("; ".join(result.problems))
    match result.status:
        case RunStatus.PASSED:
            return
        case RunStatus.FAILED:
            found = ET.SubElement(case, "failure", message=message)
        case RunStatus.ERROR:
            found = ET.SubElement(case, "error", message=message)
        case RunStatus.NOT_RUN:
            ET.SubElement(case, "skipped")
            return
    found.text = _xml("" if seen is None else seen.answer)


def _xml(text: str) -> str:
    return _NO_XML.sub("\ufffd", text)


# For the store.


def stored_run(sitting: Sitting, now: datetime, *, answers: bool) -> EvalRun:
    """Return the run as it is stored: names, counts and costs. `answers`: also questions and answers."""
    sums = {model: totals(of_model(sitting, model)) for model in sitting.models}
    return EvalRun(
        time=now,
        file=sitting.exam.name,
        models=tuple(
            EvaluatedModel(
                model, one.runs, one.passed, one.failed, one.errors, one.not_run, _money(one.spent, is_free=one.is_free)
            )
            for model, one in sums.items()
        ),
        questions=tuple(
            EvaluatedQuestion(
                each.name,
                each.group,
                tuple(totals(_of_question(sitting, model, each.name)).passed for model in sitting.models),
            )
            for each in sitting.exam.questions
        ),
        repeat=sitting.repeat,
        threshold=sitting.exam.threshold,
        has_passed=has_passed(sitting, sitting.exam.threshold),
        seconds=sitting.seconds,
        judge=sitting.judge,
        judge_cost=_money(sitting.judged) if sitting.judge else None,
        stopped="" if sitting.stopped is None else sitting.stopped.value,
        answers=tuple(
            _stored_answer(each) for each in sitting.results if answers and each.status is not RunStatus.NOT_RUN
        ),
    )


def _money(spent: Spent, *, is_free: bool = False) -> Money | None:
    """None: at least one call has no list price."""
    return None if spent.unpriced and not is_free else spent.cost


def _stored_answer(result: RunResult) -> EvaluatedAnswer:
    run, answer = result.run, "" if result.seen is None else result.seen.answer
    problems = tuple(result.problems)
    return EvaluatedAnswer(run.question.name, run.model, result.status.value, run.question.text, answer, problems)


# For people, as a page.


def as_html(sitting: Sitting, threshold: float, now: datetime) -> str:
    """Return the report as one page, without scripts and without anything from elsewhere."""
    from jinja2 import Environment, FileSystemLoader  # noqa: PLC0415 -- few runs write a page

    environment = Environment(loader=FileSystemLoader(TEMPLATES), autoescape=True, trim_blocks=True, lstrip_blocks=True)
    questions = [
        {
            "question": question,
            "results": [_of_question(sitting, model, question.name) for model in sitting.models],
            "checks": [*dict.fromkeys(map(check_name, question.checks))],
        }
        for question in sitting.exam.questions
    ]
    sums = {model: totals(of_model(sitting, model)) for model in sitting.models}
    return environment.get_template("report.html").render(
        sitting=sitting,
        now=f"{now:%Y-%m-%d %H:%M} UTC",
        questions=questions,
        sums=sums,
        words=texts.STATUSES,
        cost_of=cost_of,
        conclusion=conclusion(sitting, threshold).splitlines(),
    )
