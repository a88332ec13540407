"""Makes an exam of shared feedback: each question whose answer was rated as bad, and what has to be better. Pure.

Rules
  Only what people shared with the operators becomes part of the file, without their names. A question that is no longer
  stored, or is too long for an exam, is left out.
  A correction is what the answer has to agree with. Without one, the answer must not have the fault that the rating
  names. Both are judged by a model.
"""

from collections.abc import Sequence
from typing import Any, Final

import yaml

from agent.feedback import FeedbackItem, FeedbackReason
from agent.memory.secrets import has_secret
from bot.chat.texts.formatting import shortened
from bot.evals import texts
from bot.evals.exam_file import MAX_QUESTIONS, MAX_TEXT

GROUP: Final = "feedback"
QUOTED_CHARS: Final = 1_000  # Of the answer that was rated


def exam_of(items: Sequence[FeedbackItem]) -> tuple[str, int, int]:
    """Return the file, the number of its questions, and how many ratings were left out. The newest come first."""
    questions: list[dict[str, Any]] = []
    asked = set[str]()
    for item in items:
        text, rubric = (item.question or "").strip(), _rubric(item)
        is_usable = 0 < len(text) <= MAX_TEXT and len(rubric) <= MAX_TEXT and not has_secret(f"{text}\n{rubric}")
        if not is_usable or text in asked or len(questions) == MAX_QUESTIONS:
            continue
        asked.add(text)
        questions.append(
            {
                "name": f"{GROUP}-{item.id}",
                "group": item.reason.value if item.reason else GROUP,
                "ask": text,
                "expect": {"judged": rubric},
            }
        )
    written = yaml.safe_dump({"questions": questions}, sort_keys=False, allow_unicode=True, width=120)
    return f"{texts.FEEDBACK_HEADING}\n{written}", len(questions), len(items) - len(questions)


def _rubric(item: FeedbackItem) -> str:
    """Return what the answer has to satisfy."""
    comment = texts.RUBRIC_COMMENT.format(comment=_plain(item.comment)) if item.comment.strip() else ""
    if item.correction.strip():
        return f"{texts.RUBRIC_CORRECTION.format(correction=_plain(item.correction))}{comment}"
    answer = shortened(item.answer or texts.NOT_STORED_ANY_MORE, QUOTED_CHARS)
    return f"{texts.RUBRICS[item.reason or FeedbackReason.OTHER].format(answer=answer)}{comment}"


def _plain(text: str) -> str:
    return " ".join(text.split())
