"""Seed 003, scope tracking: a hypothetical never reaches a global decision."""

import time

import pytest

from agent.memory.facts import Scope, assumed_in, is_hypothetical, reading_scopes, scopes_of
from tests.patience import cpu_s

G, H, D, T = Scope.GLOBAL, Scope.HYPOTHETICAL, Scope.DRAFT, Scope.TASK


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        (["The price is $50", "We ship on Monday"], (G, G)),
        (
            ["Let's imagine we had ten cooks", "We could open in May", "Enough of that", "We have two"],
            (H, H, G, G),
        ),
        (["What if we paid half?", "We pay in full"], (H, G)),
        (["Draft: 24 months", "Signed: 12 months"], (D, G)),
        (["The flat has a bath", "Hold on, my boss calls", "She wants slides", "Back to the flat"], (G, T, T, G)),
        (["The flat has a bath", "Hold on, my boss calls", "She wants slides"], (G, G, G)),
    ],
)
def test_each_message_has_the_scope_in_which_it_was_said(texts: list[str], expected: tuple[Scope, ...]) -> None:
    assert scopes_of(texts) == expected


def test_a_question_may_ask_for_what_was_assumed() -> None:
    assert is_hypothetical("What did we brainstorm about the kitchen?")
    assert not is_hypothetical("When do we open?")


def test_a_question_is_asked_in_its_conversation_and_its_task_and_in_what_was_assumed_if_it_goes_on_with_that() -> None:
    plain = {(Scope.SESSION, "c"), (Scope.TASK, "7")}
    assumed = plain | {(Scope.HYPOTHETICAL, "c"), (Scope.DRAFT, "c")}
    assert _scopes_read([], "What is the budget?") == plain
    assert _scopes_read(["The budget is 5."], "What if it were 9?") == assumed
    assert _scopes_read(["Let's brainstorm: what if the budget were 9?"], "Could we then go?") == assumed
    ended = ["Let's brainstorm: what if the budget were 9?", "Enough of that, for real now."]
    assert _scopes_read(ended, "What is the budget?") == plain


def _scopes_read(earlier: list[str], question: str) -> frozenset[tuple[Scope, str | None]]:
    return reading_scopes(assumed_in(earlier, question), question, "c", "7")


@pytest.mark.parametrize("opening", ["let's ", "just ", "we are only "])
def test_a_long_text_that_opens_many_games_is_read_in_no_time(opening: str) -> None:
    began = time.process_time()
    assert scopes_of([opening * 10_000]) == (G,)
    assert time.process_time() - began < cpu_s(1)


def test_what_is_said_about_a_draft_is_no_draft_and_a_game_that_goes_on_is_one() -> None:
    assert assumed_in([], "Remember that the draft is due on Monday") is Scope.GLOBAL
    assert assumed_in([], "Draft: the report has ten pages") is Scope.DRAFT
    assert assumed_in(["Let's brainstorm about the budget."], "It could be 9 EUR") is Scope.HYPOTHETICAL
    assert assumed_in(["Let's brainstorm about the budget.", "Enough of that."], "It is 5 EUR") is Scope.GLOBAL
