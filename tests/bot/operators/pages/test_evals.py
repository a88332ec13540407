"""The operators' view of the last evals: counts, and answers only where they were stored, as text."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from agent.eval_runs import EvalRun, EvaluatedAnswer, EvaluatedModel, EvaluatedQuestion
from agent.spending import NANO, Money
from bot.operators.pages.evals import eval_views
from bot.operators.pages.frame import templates
from store.engine import Store
from tests.fakes.incoming import START
from tests.fakes.new_database import open_new

HOSTILE = "<script>alert(1)</script>"
RUN = EvalRun(
    time=START,
    file=f"{HOSTILE}.yaml",
    models=(
        EvaluatedModel("m:1", 2, 2, 0, 0, 0, Money(2 * NANO)),
        EvaluatedModel(f"m:{HOSTILE}", 2, 1, 0, 1, 0, None),
    ),
    questions=(EvaluatedQuestion("boat", "memory", (1, 0)), EvaluatedQuestion("dog", "", (1, 1))),
    repeat=1,
    threshold=0.9,
    has_passed=False,
    seconds=12.5,
    stopped="interrupted",
)
ANSWER = EvaluatedAnswer("boat", "m:1", "failed", f"Ask {HOSTILE}", f"Say {HOSTILE}", ("it is wrong",))


async def shown(store: Store, path: str, query: Mapping[str, str]) -> tuple[int, str]:
    views = {view.path: view for view in eval_views(store.eval_runs)}
    answer = await views[path].show(query)
    always: Mapping[str, Any] = {"navigation": [], "here": path, "csrf": "", "stylesheet": "", "now": START}
    return answer.status, templates().get_template(answer.template).render({**always, **answer.values})


async def test_the_last_runs_are_listed_with_each_models_share_and_cost() -> None:
    store = await open_new()
    _, html = await shown(store, "/evals", {})
    assert "No runs yet." in html
    await store.eval_runs.add(replace(RUN, answers=(ANSWER,)))
    status, html = await shown(store, "/evals", {})
    assert status == 200
    for words in ("2 of 2", "1 of 2", "$2.00", "no list price", "not reached", "90%", "Interrupted", "2 questions"):
        assert words in html
    assert HOSTILE not in html
    assert "Say " not in html, "the list shows no answers"
    await store.close()


async def test_a_run_shows_its_questions_and_answers_only_if_they_were_stored() -> None:
    store = await open_new()
    bare, whole = await store.eval_runs.add(RUN), await store.eval_runs.add(replace(RUN, answers=(ANSWER,)))
    _, html = await shown(store, "/eval", {"id": f"{bare}"})
    assert "Questions and answers are stored only with" in html
    assert html.count("not passed") == 1
    _, html = await shown(store, "/eval", {"id": f"{whole}"})
    assert "Answers that did not pass" in html
    assert "Say &lt;script&gt;" in html
    assert HOSTILE not in html
    await store.close()


async def test_a_run_that_is_not_stored_is_not_found_whatever_its_number_looks_like() -> None:
    store = await open_new()
    for id_ in ("7", "", "x", "-1", "9" * 40, "\u0661"):
        assert (await shown(store, "/eval", {"id": id_}))[0] == 404
    await store.close()
