"""Finished runs of `cogency eval`, as they are stored. Pure values."""

from dataclasses import dataclass
from datetime import datetime
from typing import Final

from agent.spending import Money

KEPT: Final = 100  # Runs; the oldest are deleted
MAX_ANSWERS: Final = 500  # Of one run
MAX_CHARS: Final = 4_000  # Of a question, and of an answer


@dataclass(frozen=True, slots=True)
class EvaluatedModel:
    """How many answers of a model passed. `cost`: None if a call has no list price."""

    name: str
    runs: int
    passed: int
    failed: int
    errors: int
    not_run: int
    cost: Money | None


@dataclass(frozen=True, slots=True)
class EvaluatedQuestion:
    """`passed`: how many of its runs, for each model in their order."""

    name: str
    group: str
    passed: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class EvaluatedAnswer:
    """`problems`: why it did not pass, in sentences."""

    question: str
    model: str
    status: str
    asked: str
    answer: str
    problems: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class EvalRun:
    """`threshold`: the share that had to pass, from 0 to 1. `judge`: the name of the model that judged, "" for none;
    `judge_cost`: None if it has no list price. `stopped`: "budget", "interrupted", or "" if everything was asked.
    `answers`: empty, unless the operator asked to store them.
    """

    time: datetime
    file: str
    models: tuple[EvaluatedModel, ...]
    questions: tuple[EvaluatedQuestion, ...]
    repeat: int
    threshold: float
    has_passed: bool
    seconds: float
    judge: str = ""
    judge_cost: Money | None = None
    stopped: str = ""
    answers: tuple[EvaluatedAnswer, ...] = ()
    id: int = 0
    """0 until it is stored."""
