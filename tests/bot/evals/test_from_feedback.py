"""An exam of shared feedback: a file that can be used, without names, whatever people wrote."""

from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from agent.feedback import FeedbackItem, FeedbackReason, FeedbackState
from bot.app.evaluation import OWN_TOOLS
from bot.evals.exam import Judged
from bot.evals.exam_file import MAX_TEXT, read_exam
from bot.evals.from_feedback import exam_of
from tests.examples import examples
from tests.fakes.incoming import START

ITEM = FeedbackItem(
    id=7,
    turn=3,
    person="slack:T1:U1",
    place="slack:T1:C1",
    audience="team:slack:T1",
    time=START,
    reason=FeedbackReason.WRONG,
    comment="It is  newer.",
    correction="The port is 8080,\nnot 80.",
    shared=True,
    state=FeedbackState.NEW,
    owner="slack:T1:U2",
    link="https://slack.example/1",
    question="Which port: 80 or 8080?",
    answer="Port 80.",
    person_name="Ada Lovelace",
    owner_name="Bob",
)


def test_a_correction_becomes_a_rubric_and_no_one_is_named() -> None:
    text, asked, left_out = exam_of([ITEM])
    (question,) = read_exam(text, "feedback.yaml", OWN_TOOLS).questions
    assert (asked, left_out) == (1, 0)
    assert (question.name, question.group, question.text) == ("feedback-7", "wrong", "Which port: 80 or 8080?")
    assert question.checks == (
        Judged(
            "The answer agrees with this correction: The port is 8080, not 80. "
            "The person said about an earlier answer: It is newer."
        ),
    )
    for name in ("Ada", "Bob", "slack"):
        assert name not in text


def test_without_a_correction_the_answer_must_not_have_the_same_fault() -> None:
    for reason in FeedbackReason:
        text, _, _ = exam_of([replace(ITEM, reason=reason, correction="", comment="")])
        (question,) = read_exam(text, "feedback.yaml", OWN_TOOLS).questions
        (check,) = question.checks
        assert isinstance(check, Judged)
        assert check.rubric.endswith("Port 80.")


def test_questions_that_are_gone_repeated_too_long_or_secret_are_left_out_and_counted() -> None:
    gone, long = replace(ITEM, question=None), replace(ITEM, question="x" * (MAX_TEXT + 1))
    secret = replace(ITEM, question="My password is hunter2-Xk9. Is it a good one?")
    _, asked, left_out = exam_of([ITEM, gone, long, ITEM, secret])
    assert asked + left_out == 5
    assert asked == 1


@given(st.text(max_size=300), st.text(max_size=300), st.text(max_size=300), st.text(max_size=1_500))
@settings(max_examples=examples(200), deadline=None)
def test_whatever_people_wrote_the_file_can_be_read_and_asks_just_that(
    question: str, comment: str, correction: str, answer: str
) -> None:
    item = replace(ITEM, question=question, comment=comment, correction=correction, answer=answer)
    text, asked, _ = exam_of([item])
    if asked:
        (read,) = read_exam(text, "feedback.yaml", OWN_TOOLS).questions
        assert read.text == question.strip()
