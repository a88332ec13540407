"""The operators' view of the last runs of `cogency eval`.

Rule: it shows names, counts and costs; questions and answers only of runs whose operator chose to store them. All of it
is untrusted text.
"""

from collections.abc import Mapping
from functools import partial
from typing import Final

from agent.eval_runs import EvalRun, EvaluatedModel
from agent.ports.eval_runs import EvalRuns
from agent.spending import Money
from bot.chat.texts.formatting import counted, money
from bot.operators import texts as operator_texts
from bot.operators.pages.frame import OperatorView, ViewAnswer
from bot.operators.pages.views import span

SHOWN: Final = 30
MAX_DIGITS: Final = 9  # Of an id in an address


def eval_views(runs: EvalRuns) -> tuple[OperatorView, ...]:
    return (
        OperatorView("/evals", operator_texts.VIEW_EVALS, partial(listed, runs)),
        OperatorView("/eval", "", partial(one_run, runs)),
    )


async def listed(runs: EvalRuns, _: Mapping[str, str]) -> ViewAnswer:
    return ViewAnswer("evals.html", {"runs": [_row(run) for run in await runs.newest(SHOWN)]})


async def one_run(runs: EvalRuns, query: Mapping[str, str]) -> ViewAnswer:
    id_ = query.get("id", "")
    found = await runs.of(int(id_)) if id_.isascii() and id_.isdecimal() and len(id_) <= MAX_DIGITS else None
    if found is None:
        return ViewAnswer("sorry.html", {"says": operator_texts.NO_SUCH_EVAL}, status=404)
    return ViewAnswer(
        "eval.html",
        {
            "run": found,
            "about": _row(found),
            "repeated": found.repeat > 1,
            "answers": [each for each in found.answers if each.status != "passed"],
            "passed": [each for each in found.answers if each.status == "passed"],
        },
    )


def _row(run: EvalRun) -> Mapping[str, object]:
    return {
        "id": run.id,
        "when": f"{run.time:%Y-%m-%d %H:%M}",
        "file": run.file,
        "questions": counted(len(run.questions), "question", "questions"),
        "repeat": run.repeat,
        "models": [_model(model) for model in run.models],
        "took": span(run.seconds),
        "judge": run.judge,
        "judge_cost": _cost(run.judge_cost),
        "has_passed": run.has_passed,
        "threshold": f"{run.threshold * 100:g}%",
        "stopped": operator_texts.EVAL_STOPPED.get(run.stopped, ""),
    }


def _model(model: EvaluatedModel) -> Mapping[str, str]:
    passed = f"{model.passed} of {model.runs}"
    return {"name": model.name, "passed": passed, "errors": f"{model.errors}", "cost": _cost(model.cost)}


def _cost(cost: Money | None) -> str:
    return operator_texts.NO_PRICE if cost is None else money(cost)
