"""The last runs of `cogency eval`: names, counts and costs. Questions and answers only if the operator asked for that.

They are no one's words: an exam is a file of the operator, and its people are invented there.
"""

import json
from dataclasses import asdict, replace
from datetime import datetime
from typing import Any, ClassVar, Final

from sqlalchemy import BigInteger, Connection, Row, delete, insert, select
from sqlmodel import Field

from agent.eval_runs import KEPT, MAX_ANSWERS, MAX_CHARS, EvalRun, EvaluatedAnswer, EvaluatedModel, EvaluatedQuestion
from agent.spending import Money
from store.databases.database import SqlStore, StorableText, UtcDateTime, reads, writes
from store.json_columns import json_text
from store.schema import NEVER_REUSED, TableRow, metadata


class EvalRunRow(TableRow, table=True):
    """`models`, `questions` and `answers` are JSON: lists of the classes in `agent.eval_runs`."""

    __table_args__: ClassVar[Any] = (NEVER_REUSED,)

    id: int | None = Field(default=None, primary_key=True)
    time: datetime = Field(sa_type=UtcDateTime)
    file: str = Field(sa_type=StorableText)
    models: str = Field(sa_type=StorableText)
    questions: str = Field(sa_type=StorableText)
    repeat: int
    threshold: float
    has_passed: bool
    seconds: float
    judge: str = Field(sa_type=StorableText, default="")
    judge_cost: int | None = Field(sa_type=BigInteger, default=None)
    stopped: str = Field(sa_type=StorableText, default="")
    answers: str = Field(sa_type=StorableText, default="[]")


eval_run: Final = metadata.tables["eval_run"]
_ROW: Final = eval_run.c
_LISTED: Final = tuple(column for column in eval_run.columns if column.name != "answers")


def add(connection: Connection, run: EvalRun) -> int:
    answers = [
        replace(each, asked=each.asked[:MAX_CHARS], answer=each.answer[:MAX_CHARS])
        for each in run.answers[:MAX_ANSWERS]
    ]
    values = {name: value for name, value in asdict(run).items() if name != "id"}
    values |= {
        "models": json_text(list(map(asdict, run.models))),
        "questions": json_text(list(map(asdict, run.questions))),
        "answers": json_text(list(map(asdict, answers))),
    }
    id_ = connection.execute(insert(eval_run).values(**values).returning(_ROW.id)).scalar_one()
    kept = select(_ROW.id).order_by(_ROW.id.desc()).limit(KEPT)
    connection.execute(delete(eval_run).where(_ROW.id.not_in(list(connection.execute(kept).scalars()))))
    return id_


def newest(connection: Connection, limit: int) -> list[EvalRun]:
    rows = connection.execute(select(*_LISTED).order_by(_ROW.id.desc()).limit(limit))
    return [_run(row, "[]") for row in rows]


def of(connection: Connection, id_: int) -> EvalRun | None:
    row = connection.execute(select(eval_run).where(_ROW.id == id_)).one_or_none()
    return None if row is None else _run(row, row.answers)


def _run(row: Row[Any], answers: str) -> EvalRun:
    return EvalRun(
        id=row.id,
        time=row.time,
        file=row.file,
        models=tuple(map(_model, json.loads(row.models))),
        questions=tuple(map(_question, json.loads(row.questions))),
        repeat=row.repeat,
        threshold=row.threshold,
        has_passed=row.has_passed,
        seconds=row.seconds,
        judge=row.judge,
        judge_cost=None if row.judge_cost is None else Money(row.judge_cost),
        stopped=row.stopped,
        answers=tuple(map(_answer, json.loads(answers))),
    )


def _model(stored: dict[str, Any]) -> EvaluatedModel:
    return EvaluatedModel(**stored)


def _question(stored: dict[str, Any]) -> EvaluatedQuestion:
    return EvaluatedQuestion(stored["name"], stored["group"], tuple(stored["passed"]))


def _answer(stored: dict[str, Any]) -> EvaluatedAnswer:
    answer = EvaluatedAnswer(**stored)
    return replace(answer, problems=tuple(answer.problems))


class SqlEvalRuns(SqlStore):
    """Implements the port `EvalRuns`."""

    add = writes(add)
    newest = reads(newest)
    of = reads(of)
