"""Asks the questions of an exam, several at once, until all are answered, the budget is used up or someone stops it.

Rules
  A question that was not asked, or whose answer is not complete, has not passed.
  The budget is checked before each question. Answers that have begun then are finished, so a run can cost a bit more.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final, TypeAlias

from agent.errors import CogencyError
from agent.messages import ModelCall
from agent.spending import Money, Spent
from bot.chat.texts.formatting import counted, money
from bot.evals import texts
from bot.evals.checking import Observation, Verdict, check, incomplete
from bot.evals.exam import Exam, Judged, Question
from bot.evals.judge import Judge


class RunStatus(StrEnum):
    PASSED = "passed"
    FAILED = "failed"
    """At least one check does not hold."""
    ERROR = "error"
    """There is no complete answer: the model was down, or the question took too long."""
    NOT_RUN = "not run"


@dataclass(frozen=True, slots=True)
class Run:
    """One question for one model. `number`: of the repetition, from 1."""

    question: Question
    model: str
    number: int = 1


@dataclass(frozen=True, slots=True)
class RunResult:
    """`trouble`: why there is no complete answer. `judged`: what the judge cost."""

    run: Run
    status: RunStatus
    verdicts: tuple[Verdict, ...] = ()
    seen: Observation | None = None
    trouble: str = ""
    judged: Spent = field(default_factory=Spent)

    @property
    def problems(self) -> list[str]:
        """Why it did not pass, in sentences without a capital or a full stop."""
        return [self.trouble] if self.trouble else [verdict.why for verdict in self.verdicts if not verdict.passed]


@dataclass(frozen=True, slots=True)
class EvalBudget:
    """What a whole run may spend; None is no limit."""

    money: Money | None = None
    tokens: int | None = None

    @property
    def is_set(self) -> bool:
        return self.money is not None or self.tokens is not None


NO_BUDGET = EvalBudget()
LEFT: Final = "{left}"  # In a sentence whose number is not known yet


class StopReason(StrEnum):
    BUDGET = "budget"
    INTERRUPTED = "interrupted"


@dataclass(frozen=True, slots=True)
class Sitting:
    """A whole run. `results`: in the order of the file, then of the models and repetitions. `spent`: by everything but
    the judge, `judged`: by the judge. `stopped`: why not everything was asked, and `sentence` about it.
    """

    exam: Exam
    models: tuple[str, ...]
    repeat: int
    results: tuple[RunResult, ...]
    seconds: float
    spent: Spent
    judged: Spent
    judge: str = ""
    stopped: StopReason | None = None
    sentence: str = ""


Ask: TypeAlias = Callable[[Run], Awaitable[Observation]]


@dataclass(slots=True, eq=False)
class Runner:
    """`ask`: asks one question; raises CogencyError. `spent`: returns what was spent so far, without the judge.
    `unpriced`: returns the name of a model that was called and has no price, "" for none; a free one does not count.
    `tell`: gets each result as it comes.
    """

    ask: Ask
    judge: Judge | None
    spent: Callable[[], Spent]
    unpriced: Callable[[], str]
    budget: EvalBudget = NO_BUDGET
    parallel: int = 4
    tell: Callable[[RunResult], None] = lambda _: None
    judge_calls: list[ModelCall] = field(default_factory=list[ModelCall])
    _results: dict[int, RunResult] = field(default_factory=dict[int, RunResult])
    _next: int = 0
    _stopped: StopReason | None = None
    _sentence: str = ""

    async def run(self, runs: Sequence[Run], interrupted: asyncio.Event) -> tuple[RunResult, ...]:
        """Ask all, until `interrupted` is set. Returns a result for each run, in order."""
        workers = [asyncio.create_task(self._work(runs)) for _ in range(min(self.parallel, len(runs)))]
        waiting = asyncio.create_task(interrupted.wait())
        try:
            pending = {*workers}
            while pending and not waiting.done():
                done, _ = await asyncio.wait({*pending, waiting}, return_when=asyncio.FIRST_COMPLETED)
                pending -= done
                for worker in done - {waiting}:
                    worker.result()  # a bug in a check is no result of an answer
        finally:
            for task in (*workers, waiting):
                task.cancel()
            await asyncio.wait({*workers, waiting})
        results = tuple(self._results.get(at, RunResult(run, RunStatus.NOT_RUN)) for at, run in enumerate(runs))
        if interrupted.is_set():
            self._stopped = StopReason.INTERRUPTED
            self._sentence = texts.STOPPED_BY_USER.format(left=_left(results))
        elif self._stopped is StopReason.BUDGET:
            self._sentence = self._sentence.replace(LEFT, _left(results))
        return results

    @property
    def finished(self) -> int:
        return len(self._results)

    @property
    def judged(self) -> Spent:
        return Spent.on(self.judge_calls)

    @property
    def stopped(self) -> tuple[StopReason | None, str]:
        return self._stopped, self._sentence

    async def _work(self, runs: Sequence[Run]) -> None:
        while self._next < len(runs) and self._has_budget():
            at, self._next = self._next, self._next + 1
            result = await self._one(runs[at])
            self._results[at] = result
            self.tell(result)

    def _has_budget(self) -> bool:
        spent = self.spent() + self.judged
        if not self.budget.is_set:
            return True
        tokens = spent.usage.input_uncached + spent.usage.input_cached + spent.usage.input_written
        tokens += spent.usage.output + spent.usage.reasoning
        unpriced = self.unpriced() or (self.judge.name if self.judge is not None and self.judged.unpriced else "")
        if self.budget.money is not None and (model := unpriced):
            self._stopped, self._sentence = StopReason.BUDGET, texts.STOPPED_UNPRICED.format(model=model)
        elif self.budget.money is not None and spent.cost >= self.budget.money:
            shown = texts.STOPPED_BY_BUDGET.format(
                budget=money(self.budget.money), spent=texts.SPENT.format(spent=money(spent.cost)), left=LEFT
            )
            self._stopped, self._sentence = StopReason.BUDGET, shown
        elif self.budget.tokens is not None and tokens >= self.budget.tokens:
            shown = texts.STOPPED_BY_BUDGET.format(
                budget=counted(self.budget.tokens, "token", "tokens"),
                spent=texts.SPENT.format(spent=counted(tokens, "token", "tokens")),
                left=LEFT,
            )
            self._stopped, self._sentence = StopReason.BUDGET, shown
        return self._stopped is None

    async def _one(self, run: Run) -> RunResult:
        try:
            seen = await self.ask(run)
        except CogencyError as error:
            return RunResult(run, RunStatus.ERROR, trouble=str(error))
        if trouble := incomplete(seen):
            return RunResult(run, RunStatus.ERROR, seen=seen, trouble=texts.NO_ANSWER.format(reason=trouble))
        verdicts, judged = list[Verdict](), Spent()
        for one in run.question.checks:
            if isinstance(one, Judged):
                if self.judge is None:
                    raise RuntimeError("a rubric is judged, but no model judges")
                judgement = await self.judge.judge(one, run.question.text, seen.answer)
                verdicts.append(judgement.verdict)
                judged += Spent.on(judgement.calls)
                self.judge_calls += judgement.calls
            else:
                verdicts.append(check(one, seen))
        passed = all(verdict.passed for verdict in verdicts)
        return RunResult(run, RunStatus.PASSED if passed else RunStatus.FAILED, tuple(verdicts), seen, judged=judged)


def planned(exam: Exam, models: Sequence[str], repeat: int) -> list[Run]:
    """Return the runs in order: each question for each model, so that a run that is stopped has compared some."""
    return [
        Run(question, model, number)
        for number in range(1, repeat + 1)
        for question in exam.questions
        for model in models
    ]


def _left(results: Sequence[RunResult]) -> str:
    return counted(sum(result.status is RunStatus.NOT_RUN for result in results), "question", "questions")
