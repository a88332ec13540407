"""Questions and runs of exams, for tests."""

from bot.evals.checking import Observation
from bot.evals.exam import Check, Contains, Exam, ExamPerson, ExamPlace, Question
from bot.evals.running import Run

PEOPLE = {"ann": ExamPerson("ann", "Ann")}
PLACES = {"general": ExamPlace("general")}


def question(name: str, *checks: Check, group: str = "") -> Question:
    return Question(
        name=name,
        text=f"What is {name}?",
        checks=checks or (Contains(("yes",)),),
        people=PEOPLE,
        places=PLACES,
        person="ann",
        group=group,
    )


def exam(*questions: Question) -> Exam:
    return Exam(name="exam.yaml", questions=questions)


async def says_yes(_: Run) -> Observation:
    return Observation("Yes.", seconds=1.0, model="openai:m-1")
