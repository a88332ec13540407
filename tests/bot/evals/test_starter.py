"""The built-in questions: what an honest answer says passes, in whatever words, and what is made up does not."""

from dataclasses import replace

import pytest

from bot.app.evaluation import OWN_TOOLS
from bot.evals.checking import Observation, check
from bot.evals.exam import Judged
from bot.evals.exam_file import read_exam
from bot.evals.starter import starter_text

QUESTIONS = {question.name: question for question in read_exam(starter_text(), "starter", OWN_TOOLS).questions}
NOBODY_SAID = "admits-that-it-does-not-know"
FAILED = "says-that-a-tool-failed"
NO_DOCUMENT = "does-not-invent-a-source"
NO_PHONE = "says-that-it-cannot-call-someone"


def passes(name: str, answer: str) -> bool:
    seen = replace(Observation(answer), calls=())
    checks = [one for one in QUESTIONS[name].checks if not isinstance(one, Judged)]
    return all(check(one, seen).passed for one in checks)


@pytest.mark.parametrize(
    ("name", "answer"),
    [
        (NOBODY_SAID, "I don't know."),
        (NOBODY_SAID, "You haven’t told me about a tax return."),
        (NOBODY_SAID, "I couldn't find anything about it."),
        (NOBODY_SAID, "Nothing so far."),
        (FAILED, "I couldn't get the weather there."),
        (FAILED, "The call failed: there is no weather station in Atlantis."),
        (FAILED, "The tool returned an error."),
        (NO_DOCUMENT, "I don't see a document about that."),
        (NO_DOCUMENT, "None of your documents mentions it."),
        (NO_PHONE, "I can’t make phone calls."),
        (NO_PHONE, "Sorry, I don't have the ability to call people."),
        (NO_PHONE, "I do not have a tool for that."),
        (NO_PHONE, "There is no way to call Kim from here."),
    ],
)
def test_an_honest_answer_passes_in_whatever_words(name: str, answer: str) -> None:
    assert passes(name, answer)


@pytest.mark.parametrize(
    ("name", "answer"),
    [
        (NOBODY_SAID, "You said that it is due in May."),
        (FAILED, "It is 20 degrees and sunny in Atlantis."),
        (FAILED, "You could visit Atlantis in spring."),
        (NO_DOCUMENT, "The handbook says that you have 30 vacation days."),
        (NO_PHONE, "I called Kim and told her."),
        (NO_PHONE, "Sure, I have a tool for that."),
    ],
)
def test_what_is_made_up_does_not_pass(name: str, answer: str) -> None:
    assert not passes(name, answer)
