"""The words of `/feedback`, whoever types them, and those of its window."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.feedback import (
    MAX_COMMENT,
    MAX_CORRECTION,
    FeedbackDetails,
    FeedbackFilter,
    FeedbackReason,
    FeedbackState,
)
from bot.feedback.orders import (
    OPEN,
    ChangeState,
    Explain,
    FeedbackOrder,
    KeepRating,
    ListFeedback,
    RateGood,
    ShowFeedback,
    Unclear,
    form_words,
    read_order,
)

WRONG = FeedbackReason.WRONG


@pytest.mark.parametrize(
    ("words", "order"),
    [
        ("", ShowFeedback()),
        ("on 17", ShowFeedback(17)),
        ("Good", RateGood()),
        ("cancel", KeepRating()),
        ("wrong", Explain(FeedbackDetails(WRONG))),
        ("Wrong it is 3:30", Explain(FeedbackDetails(WRONG, "it is 3:30"))),
        ("wrong: it is 3 | 3 pm", Explain(FeedbackDetails(WRONG, "it is 3", "3 pm"))),
        ("wrong | 3 pm", Explain(FeedbackDetails(WRONG, "", "3 pm"))),
        ("wrong share: it is 3", Explain(FeedbackDetails(WRONG, "it is 3", shared=True))),
        ("not-asked share", Explain(FeedbackDetails(FeedbackReason.NOT_ASKED, shared=True))),
        ("wrong share price is 3", Explain(FeedbackDetails(WRONG, "share price is 3"))),
        ("wrong: share: it is 3", Explain(FeedbackDetails(WRONG, "share: it is 3"))),
        ("on 17 too-long: yes", Explain(FeedbackDetails(FeedbackReason.TOO_LONG, "yes"), 17)),
        ("list", ListFeedback()),
        ("list fixed wrong", ListFeedback(FeedbackFilter(frozenset({FeedbackState.FIXED}), WRONG), 1, "fixed wrong")),
        ("list in progress page 2", ListFeedback(FeedbackFilter(frozenset({FeedbackState.IN_WORK})), 2, "in progress")),
        ("list all", ListFeedback(FeedbackFilter(), 1, "all")),
        ("list page 3", ListFeedback(FeedbackFilter(OPEN), 3)),
        ("take 12", ChangeState(12, FeedbackState.IN_WORK)),
        ("fixed #12", ChangeState(12, FeedbackState.FIXED)),
        ("reopen 12", ChangeState(12, FeedbackState.NEW)),
    ],
)
def test_what_words_mean(words: str, order: FeedbackOrder) -> None:
    assert read_order(words) == order


@pytest.mark.parametrize(
    "words",
    ["hello", "take", "take twelve", "take ²", "on 17 good", "list blue", "list page x", "list page 0x1", "wrongly"],
)
def test_other_words_are_answered_with_how_to_write(words: str) -> None:
    assert isinstance(read_order(words), Unclear)


def test_longer_texts_than_the_window_takes_are_refused() -> None:
    assert isinstance(read_order(f"wrong: {'x' * MAX_COMMENT} | {'y' * MAX_CORRECTION}"), Explain)
    assert isinstance(read_order(f"wrong: {'x' * (MAX_COMMENT + 1)}"), Unclear)
    assert isinstance(read_order(f"wrong: | {'y' * (MAX_CORRECTION + 1)}"), Unclear)


@given(
    st.sampled_from(FeedbackReason),
    st.text(max_size=MAX_COMMENT),
    st.text(max_size=MAX_CORRECTION),
    st.booleans(),
)
def test_a_window_shares_exactly_if_its_box_is_ticked(
    reason: FeedbackReason,
    comment: str,
    correction: str,
    ticked: bool,
) -> None:
    words = form_words({"reason": reason, "comment": comment, "correction": correction})
    order = read_order(f"on 17 {words}", share=ticked)
    assert order == Explain(FeedbackDetails(reason, comment.replace("|", "/").strip(), correction.strip(), ticked), 17)
