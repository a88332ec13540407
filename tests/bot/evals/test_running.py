"""Asking the questions of an exam: several at once, within a budget, until someone stops it."""

import asyncio
from dataclasses import dataclass, field

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent.errors import ProviderUnavailable
from agent.events import Outcome
from agent.messages import Usage
from agent.providers.scripted import ScriptedProvider
from agent.spending import NANO, Money, Spent
from bot.evals.checking import Observation
from bot.evals.exam import Judged
from bot.evals.judge import Judge
from bot.evals.running import EvalBudget, Run, Runner, RunResult, RunStatus, StopReason, planned
from tests.examples import examples
from tests.fakes.evals import exam, question, says_yes
from tests.patience import until

LEFT = "Not asked: 3 questions. To ask the rest, raise --budget."
FIVE = exam(*map(question, "abcde"))


def no_model() -> str:
    return ""


@dataclass
class Meter:
    """Asks, and counts what it costs: each answer a dollar and a hundred tokens."""

    asked: list[Run] = field(default_factory=list[Run])
    running: int = 0
    most: int = 0

    async def ask(self, run: Run) -> Observation:
        self.asked.append(run)
        self.running += 1
        self.most = max(self.most, self.running)
        for _ in range(3):
            await asyncio.sleep(0)
        self.running -= 1
        return await says_yes(run)

    def spent(self) -> Spent:
        return Spent(len(self.asked), Usage(output=100 * len(self.asked)), Money(NANO * len(self.asked)))


async def test_all_questions_are_asked_of_all_models_as_often_as_wanted_and_at_most_so_many_at_once() -> None:
    meter, told = Meter(), list[RunResult]()
    runs = planned(FIVE, ["a:1", "b:2"], 3)
    runner = Runner(meter.ask, None, meter.spent, no_model, parallel=4, tell=told.append)
    results = await runner.run(runs, asyncio.Event())
    assert [result.run for result in results] == runs
    assert {result.status for result in results} == {RunStatus.PASSED}
    assert sorted(map(id, told)) == sorted(map(id, results))
    assert (meter.most, len(meter.asked)) == (4, 30)
    assert runner.stopped == (None, "")


@pytest.mark.parametrize(
    ("budget", "sentence"),
    [
        (
            EvalBudget(money=Money(2 * NANO)),
            f"Stopped: the budget of $2.00 is used up ($2.00 spent). {LEFT}",
        ),
        (
            EvalBudget(tokens=150),
            f"Stopped: the budget of 150 tokens is used up (200 tokens spent). {LEFT}",
        ),
    ],
)
async def test_a_used_up_budget_stops_the_run_with_a_sentence(budget: EvalBudget, sentence: str) -> None:
    meter = Meter()
    runner = Runner(meter.ask, None, meter.spent, no_model, budget, parallel=1)
    results = await runner.run(planned(FIVE, ["a:1"], 1), asyncio.Event())
    passed, not_run = [RunStatus.PASSED] * 2, [RunStatus.NOT_RUN] * 3
    assert [result.status for result in results] == [*passed, *not_run]
    assert runner.stopped == (StopReason.BUDGET, sentence)


async def test_a_budget_in_dollars_stops_at_a_model_without_a_price() -> None:
    meter = Meter()

    def unpriced() -> str:
        return "llamacpp:own" if meter.asked else ""

    runner = Runner(meter.ask, None, meter.spent, unpriced, EvalBudget(money=Money(10**15)), parallel=1)
    await runner.run(planned(FIVE, ["a:1"], 1), asyncio.Event())
    assert len(meter.asked) == 1
    stopped, sentence = runner.stopped
    assert stopped is StopReason.BUDGET
    assert sentence.startswith("Stopped: llamacpp:own has no list price, so a budget in dollars cannot be checked.")


async def test_an_interrupted_run_keeps_what_was_finished_and_ends_what_was_not() -> None:
    interrupted, cancelled = asyncio.Event(), list[str]()

    async def ask(run: Run) -> Observation:
        if run.question.name == "a":
            return await says_yes(run)
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            cancelled.append(run.question.name)
            raise
        raise AssertionError

    runner = Runner(ask, None, Spent, no_model, parallel=2)
    running = asyncio.create_task(runner.run(planned(FIVE, ["a:1"], 1), interrupted))
    await until(lambda: runner.finished == 1)
    interrupted.set()
    results = await running
    assert [result.status for result in results] == [RunStatus.PASSED, *[RunStatus.NOT_RUN] * 4]
    assert sorted(cancelled) == ["b", "c"]
    assert runner.stopped == (
        StopReason.INTERRUPTED,
        "Interrupted. The report contains the finished questions. Not finished: 4 questions.",
    )


async def test_a_question_that_cannot_be_asked_is_an_error_and_the_others_go_on() -> None:
    async def ask(run: Run) -> Observation:
        if run.question.name == "b":
            raise ProviderUnavailable("the model is down")
        if run.question.name == "c":
            return Observation("Half an", outcome=Outcome.CUT)
        if run.question.name == "d":
            return Observation("Perhaps.")
        return await says_yes(run)

    results = await Runner(ask, None, Spent, no_model).run(planned(FIVE, ["a:1"], 1), asyncio.Event())
    assert [(result.status, result.problems) for result in results] == [
        (RunStatus.PASSED, []),
        (RunStatus.ERROR, ["the model is down"]),
        (RunStatus.ERROR, ["there is no complete answer: the outcome of the turn is `cut`: “Half an”"]),
        (RunStatus.FAILED, ["the answer does not contain “yes”"]),
        (RunStatus.PASSED, []),
    ]


async def test_a_bug_in_asking_ends_the_run_instead_of_looking_like_an_answer() -> None:
    async def ask(_: Run) -> Observation:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await Runner(ask, None, Spent, no_model).run(planned(FIVE, ["a:1"], 1), asyncio.Event())


async def test_judged_answers_are_judged_and_paid_for() -> None:
    def verdict(messages: object) -> str:
        return '{"passes": true}' if "What is a?" in str(messages) else '{"passes": false, "reason": "no"}'

    provider = ScriptedProvider(verdict, name="openai:gpt-6-luna", usage=Usage(input_uncached=1_000))
    judge = Judge(provider, lambda: "w0rd")
    questions = exam(question("a", Judged("It agrees.")), question("b", Judged("It agrees.")))
    runner = Runner(says_yes, judge, Spent, no_model)
    results = await runner.run(planned(questions, ["a:1"], 1), asyncio.Event())
    assert [result.status for result in results] == [RunStatus.PASSED, RunStatus.FAILED]
    assert [result.judged.calls for result in results] == [1, 1]
    assert runner.judged.usage.input_uncached == 2_000


async def test_what_the_judge_spends_counts_toward_the_budget() -> None:
    provider = ScriptedProvider(lambda _: '{"passes": true}', name="openai:m", usage=Usage(input_uncached=1_000))
    questions = exam(*(question(name, Judged("It agrees.")) for name in "abc"))
    budget = EvalBudget(tokens=1_500)
    runner = Runner(says_yes, Judge(provider, lambda: "w0rd"), Spent, no_model, budget, parallel=1)
    results = await runner.run(planned(questions, ["a:1"], 1), asyncio.Event())
    assert [result.status for result in results] == [RunStatus.PASSED, RunStatus.PASSED, RunStatus.NOT_RUN]


@given(st.lists(st.integers(0, 50), min_size=1, max_size=20), st.integers(1, 200), st.integers(1, 6))
@settings(max_examples=examples(300), deadline=None)
def test_a_run_costs_at_most_its_budget_and_the_answers_that_had_begun(
    costs: list[int], limit: int, parallel: int
) -> None:
    async def run() -> None:
        spent, running, begun_within = 0, 0, True

        async def ask(one: Run) -> Observation:
            nonlocal spent, running, begun_within
            begun_within = begun_within and spent < limit
            running += 1
            assert running <= parallel
            for _ in range(costs[int(one.question.name)] % 4):
                await asyncio.sleep(0)
            spent += costs[int(one.question.name)]
            running -= 1
            return await says_yes(one)

        def spent_now() -> Spent:
            return Spent(cost=Money(spent))

        questions = exam(*(question(f"{number}") for number in range(len(costs))))
        runner = Runner(ask, None, spent_now, no_model, EvalBudget(money=Money(limit)), parallel)
        results = await runner.run(planned(questions, ["a:1"], 1), asyncio.Event())
        left = sum(result.status is RunStatus.NOT_RUN for result in results)
        assert begun_within, "no question is asked once the budget is used up"
        assert spent < limit + parallel * max(1, *costs)
        assert (runner.stopped[0] is StopReason.BUDGET) == (left > 0)
        assert left == 0 or spent >= limit

    asyncio.run(run())
