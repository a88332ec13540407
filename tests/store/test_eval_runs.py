"""The stored runs of `cogency eval`: the newest stay, and answers only if they were asked for."""

from dataclasses import replace
from datetime import timedelta

from agent.eval_runs import (
    KEPT,
    MAX_ANSWERS,
    MAX_CHARS,
    EvalRun,
    EvaluatedAnswer,
    EvaluatedModel,
    EvaluatedQuestion,
)
from agent.spending import Money
from store.engine import Store
from tests.fakes.incoming import START
from tests.store.engines import same_on_either

ANSWER = EvaluatedAnswer("boat", "m:2", "failed", "What is it called?", "No “idea” \x00", ("the answer is short",))
RUN = EvalRun(
    time=START,
    file="exam.yaml",
    models=(
        EvaluatedModel("m:1", 2, 2, 0, 0, 0, Money(5_000_000_000)),
        EvaluatedModel("m:2", 2, 1, 1, 0, 0, None),
    ),
    questions=(EvaluatedQuestion("boat", "memory", (1, 0)), EvaluatedQuestion("dog", "", (1, 1))),
    repeat=1,
    threshold=0.9,
    has_passed=False,
    seconds=12.5,
    judge="m:3",
    judge_cost=Money(7),
    stopped="budget",
)


async def test_a_run_is_read_as_it_was_stored_and_lists_leave_its_answers_out(either: Store) -> None:
    id_ = await either.eval_runs.add(replace(RUN, answers=(ANSWER,)))
    kept = replace(RUN, id=id_, answers=(replace(ANSWER, answer=ANSWER.answer.replace("\x00", "\ufffd")),))
    assert await either.eval_runs.of(id_) in (kept, replace(kept, answers=(ANSWER,)))
    assert list(await either.eval_runs.newest(5)) == [replace(RUN, id=id_)]
    assert await either.eval_runs.of(id_ + 1) is None


async def test_only_the_newest_runs_stay_and_the_newest_are_listed_first(either: Store) -> None:
    ids = [await either.eval_runs.add(replace(RUN, time=START + timedelta(minutes=at))) for at in range(KEPT + 2)]
    assert [run.id for run in await either.eval_runs.newest(3)] == ids[:-4:-1]
    assert await either.eval_runs.of(ids[1]) is None
    assert await either.eval_runs.of(ids[2]) is not None


@same_on_either
async def test_answers_are_bounded(either: Store) -> None:
    long = replace(ANSWER, asked="x" * 2 * MAX_CHARS, answer="y" * 2 * MAX_CHARS)
    id_ = await either.eval_runs.add(replace(RUN, answers=(long,) * (MAX_ANSWERS + 1)))
    stored = await either.eval_runs.of(id_)
    assert stored is not None
    assert len(stored.answers) == MAX_ANSWERS
    assert {(len(each.asked), len(each.answer)) for each in stored.answers} == {(MAX_CHARS, MAX_CHARS)}
