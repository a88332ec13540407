"""Seed 003, scope tracking: a hypothetical never reaches a global decision."""

import pytest

from agent.memory.facts import Scope
from agent.memory.scopes import is_hypothetical, scopes_of

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
