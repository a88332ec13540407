"""Budgets and their periods: warnings, requests for extensions, and the turns that wait for them.

Rules
  A row has one warning and one decision, whichever processes store them: they change it only from the state before.
  Who puts a turn aside for a budget, and who decides about it, lock the budget's row first. So each sees what the other
  one has stored, and no turn waits for a decision that was made before.
  Rows of past periods are deleted when a new one begins, and by the budgets' own jobs; forgetting a person deletes
  what they were written.
"""

import json
from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Final

import sqlalchemy as sa

from agent.admission_terms import Whose
from agent.budget_days import (
    BUDGET,
    KEPT,
    SENDING,
    BudgetDay,
    BudgetMessage,
    BudgetPause,
    BudgetRef,
    Decided,
    Extension,
    MessageKind,
    NearSpent,
    PauseState,
)
from agent.incoming import Incoming
from agent.outgoing import NearBudget
from agent.shown_replies import DELETE_REPLY, ShownPage
from agent.spending import NANO
from agent.stored_messages import Author
from store import job_queue, outbox, row_mapping
from store.budget_tables import budget_day, budget_message, budget_pause
from store.databases.database import SqlStore, after_commit, in_order, reads, writes
from store.message_tables import message, person
from store.turn_tables import WAITING, turn

OPEN: Final = ""
REFUSED: Final = "refused"
OVER: Final = "over"
MOST_SHOWN: Final = 20
_QUESTIONS: Final = (
    sa.select(turn, message.c.text, message.c.time, message.c.permalink, message.c.audience)
    .add_columns(person.c.name, person.c.time_zone)
    .join_from(turn, message, sa.and_(message.c.turn == turn.c.id, message.c.author == Author.PERSON))
    .join(person, person.c.id == turn.c.person)
)
_PAUSE: Final = sa.select(budget_pause).where(budget_pause.c.turn == sa.bindparam("paused"))
_CLOSE_PAUSE: Final = (
    sa.update(budget_pause).where(budget_pause.c.turn == sa.bindparam("paused")).values(state=OVER, budget=None)
)
_NOT_STOPPED: Final = turn.c.state == WAITING, ~turn.c.stopping


def _schedule(connection: sa.Connection, number: int, now: datetime) -> None:
    values = {"payload": "", "run_at": now, "person": "", "conversation": ""}
    job_queue.schedule(connection, BUDGET, str(number), values)
    after_commit(connection, job_queue.due_topic(BUDGET))


def _of(budget: BudgetRef) -> sa.ColumnElement[bool]:
    return sa.and_(budget_day.c.day == budget.day, budget_day.c.account == budget.account)


def _locked(connection: sa.Connection, budget: BudgetRef, number: int, now: datetime) -> sa.RowMapping:
    """Return the budget's row, locked; a new one if there is none. `number`: the turn with which it was noticed."""
    in_order(connection, f"budget {budget.account}")
    find = sa.select(budget_day).where(_of(budget)).with_for_update()
    if (found := connection.execute(find).mappings().one_or_none()) is not None:
        return found
    sweep(connection, now)
    where = {"whose": budget.whose, "subject": budget.id, "source": budget.source}
    new = {"day": budget.day, "account": budget.account, "turn": number, **where}
    defaults = {"extension": Extension.NONE, "person": "", "percent": 0, "told": False, "requested": False}
    connection.execute(sa.insert(budget_day).values(**new, **defaults))
    return connection.execute(find).mappings().one()


def sweep(connection: sa.Connection, now: datetime) -> None:
    past = sa.select(budget_day.c.id).where(budget_day.c.day < (now - KEPT).date())
    connection.execute(sa.delete(budget_message).where(budget_message.c.budget.in_(past)))
    connection.execute(sa.delete(budget_day).where(budget_day.c.id.in_(past)))


def near(connection: sa.Connection, budget: BudgetRef, told: NearBudget, number: int, now: datetime) -> bool:
    row = _locked(connection, budget, number, now)
    if row["near_percent"] is not None:
        return False
    spent = {"near_tokens": told.tokens, "near_cost": round(told.dollars * NANO), "near_percent": told.percent}
    connection.execute(sa.update(budget_day).where(budget_day.c.id == row["id"]).values(turn=number, **spent))
    outbox.budget_near(connection, told, now)
    _schedule(connection, row["id"], now)
    return True


def of(connection: sa.Connection, budgets: Collection[BudgetRef]) -> list[BudgetDay]:
    if not budgets:
        return []
    found = connection.execute(sa.select(budget_day).where(sa.or_(*map(_of, budgets)))).mappings()
    return [_day(row) for row in found]


def by_number(connection: sa.Connection, number: int) -> BudgetDay | None:
    row = connection.execute(sa.select(budget_day).where(budget_day.c.id == number)).mappings().one_or_none()
    return None if row is None else _day(row)


def _day(row: sa.RowMapping) -> BudgetDay:
    spent = (row["near_tokens"], row["near_cost"], row["near_percent"])
    return BudgetDay(
        row["id"],
        BudgetRef(row["day"], row["account"], Whose(row["whose"]), row["subject"], row["source"]),
        row["turn"] or 0,
        None if None in spent else NearSpent(*spent),
        Extension(row["extension"]),
        row["percent"],
        row["person"],
        row["told"],
        row["requested"],
    )


def question(connection: sa.Connection, number: int) -> Incoming | None:
    return next(iter(questions(connection, number)), None)


def questions(connection: sa.Connection, number: int) -> list[Incoming]:
    oldest = sa.func.min(turn.c.id)
    waiting = sa.select(oldest).join_from(budget_pause, turn, turn.c.id == budget_pause.c.turn)
    in_channel = waiting.where(_waits_for(number), *_NOT_STOPPED).group_by(turn.c.source, turn.c.channel)
    ids = connection.execute(in_channel.order_by(oldest).limit(MOST_SHOWN)).scalars().all()
    found = _questions_of(connection, turn.c.id.in_(ids)) if ids else []
    noticed = sa.select(budget_day.c.turn).where(budget_day.c.id == number).scalar_subquery()
    return found or _questions_of(connection, turn.c.id == noticed)


def _questions_of(connection: sa.Connection, of_turns: sa.ColumnElement[bool]) -> list[Incoming]:
    rows = connection.execute(_QUESTIONS.where(of_turns).order_by(turn.c.id, message.c.id.desc())).mappings()
    first = {row["id"]: row for row in rows}  # of several messages of a turn, its first
    return [row_mapping.incoming(row, {"team": row["team"], **json.loads(row["payload"])}) for row in first.values()]


def _waits_for(number: int) -> sa.ColumnElement[bool]:
    return sa.and_(budget_pause.c.budget == number, budget_pause.c.state == OPEN)


def waits(connection: sa.Connection, number: int) -> bool:
    paused = sa.select(turn.c.id).join_from(budget_pause, turn, turn.c.id == budget_pause.c.turn)
    return connection.execute(paused.where(_waits_for(number), *_NOT_STOPPED).limit(1)).first() is not None


def decide(
    connection: sa.Connection, number: int, who: str, extension: Extension, percent: int, now: datetime
) -> Decided:
    find = sa.select(budget_day).where(budget_day.c.id == number).with_for_update()
    row = connection.execute(find).mappings().one_or_none()
    if row is None or row["day"] != now.date():
        return Decided.OVER
    match Extension(row["extension"]):
        case Extension.GIVEN:
            return Decided.GIVEN_BEFORE
        case Extension.REFUSED:
            return Decided.REFUSED_BEFORE
        case Extension.UNASKED:
            return Decided.OVER
        case Extension.NONE | Extension.ASKED:
            pass
    values = {"extension": extension, "person": who, "percent": percent, "decided": now}
    connection.execute(sa.update(budget_day).where(budget_day.c.id == number).values(**values))
    _release(connection, number)
    _schedule(connection, number, now)
    return Decided.STORED


def _release(connection: sa.Connection, number: int) -> bool:
    paused = sa.select(budget_pause.c.turn).where(_waits_for(number))
    free = sa.update(turn).where(turn.c.id.in_(paused), *_NOT_STOPPED).values(run_at=None)
    return connection.execute(free).rowcount > 0


def release(connection: sa.Connection, account: str, now: datetime) -> bool:
    named = sa.or_(budget_day.c.account == account, budget_day.c.account.startswith(f"{account} ", autoescape=True))
    same = sa.select(budget_day.c.id).where(named, budget_day.c.day == now.date()).order_by(budget_day.c.id)
    found = connection.execute(same.with_for_update()).scalars().all()
    released = [_release(connection, number) for number in found]
    return any(released)


# The turns that wait


def pause(connection: sa.Connection, number: int, paused: BudgetPause | None) -> None:
    """Store why a turn is put aside; None: for something else than a budget. Call it in the transaction that puts it
    aside.
    """
    if paused is None:
        connection.execute(_CLOSE_PAUSE, {"paused": number})
        return
    values: dict[str, object] = {"budget": None, "until": paused.until, "state": OPEN}
    if paused.budget is None:
        values["extensions"] = paused.extensions
    if paused.budget is not None:
        row = _locked(connection, paused.budget, number, paused.since)
        values["budget"] = row["id"]
        if Extension(row["extension"]).is_open and not row["requested"]:
            asked = sa.update(budget_day).where(budget_day.c.id == row["id"])
            connection.execute(asked.values(extension=Extension.ASKED))
            _schedule(connection, row["id"], paused.since)
    changed = sa.update(budget_pause).where(budget_pause.c.turn == number).values(**values)
    if connection.execute(changed).rowcount == 0:
        connection.execute(sa.insert(budget_pause).values({"turn": number, "extensions": 0, **values}))


def is_paused(connection: sa.Connection, number: int) -> bool:
    """Whether the turn waits for a decision about a budget, or about its own limit."""
    row = connection.execute(_PAUSE, {"paused": number}).mappings().one_or_none()
    if row is None or row["state"] != OPEN:
        return False
    if row["budget"] is None:
        return True
    of_budget = sa.select(budget_day.c.extension).where(budget_day.c.id == row["budget"])
    found = connection.execute(of_budget).scalar_one_or_none()
    return found is not None and Extension(found).is_open


def pause_of(connection: sa.Connection, number: int) -> PauseState | None:
    row = connection.execute(_PAUSE, {"paused": number}).mappings().one_or_none()
    if row is None:
        return None
    is_refused, is_over = row["state"] == REFUSED, row["state"] == OVER
    return PauseState(row["budget"], row["until"], is_refused, row["extensions"], is_over)


def paused(connection: sa.Connection, who: str, now: datetime) -> list[int]:
    own = sa.select(turn.c.id).join_from(budget_pause, turn, turn.c.id == budget_pause.c.turn)
    open_ = budget_pause.c.budget.is_(None), budget_pause.c.state == OPEN, budget_pause.c.until > now
    found = own.where(turn.c.person == who, *open_, *_NOT_STOPPED).order_by(turn.c.id).limit(MOST_SHOWN)
    return [*connection.execute(found).scalars()]


def decide_turn(connection: sa.Connection, number: int, who: str, now: datetime, *, goes_on: bool) -> Decided:
    found = connection.execute(sa.select(turn).where(turn.c.id == number).with_for_update()).mappings().one_or_none()
    row = connection.execute(_PAUSE, {"paused": number}).mappings().one_or_none()
    if found is None or row is None or row["budget"] is not None:
        return Decided.OVER
    if found["person"] != who:
        return Decided.NOT_THEIRS
    if row["state"] == REFUSED:
        return Decided.REFUSED_BEFORE
    is_over = found["state"] != WAITING or found["stopping"] or row["until"] <= now
    if row["state"] != OPEN or is_over:
        return Decided.OVER
    values = {"state": OVER, "extensions": row["extensions"] + 1} if goes_on else {"state": REFUSED}
    connection.execute(sa.update(budget_pause).where(budget_pause.c.turn == number).values(**values))
    connection.execute(sa.update(turn).where(turn.c.id == number).values(run_at=None))
    return Decided.STORED


def budget_of(connection: sa.Connection, number: int) -> int | None:
    row = connection.execute(_PAUSE, {"paused": number}).mappings().one_or_none()
    return None if row is None or row["state"] != OPEN else row["budget"]


def drop_pauses(connection: sa.Connection, turns: sa.ColumnElement[bool]) -> None:
    """Delete the pauses of turns that end, restart or are erased."""
    connection.execute(sa.delete(budget_pause).where(turns))


# What people are written


def messages(connection: sa.Connection, number: int) -> list[BudgetMessage]:
    rows = connection.execute(
        sa.select(budget_message)
        .where(budget_message.c.budget == number)
        .order_by(budget_message.c.kind, budget_message.c.person)
    ).mappings()
    return [
        BudgetMessage(MessageKind(row["kind"]), row["person"], tuple(json.loads(row["pages"])), row["closed"])
        for row in rows
    ]


def address(connection: sa.Connection, number: int, kind: MessageKind, people: Collection[str]) -> None:
    marks = {MessageKind.NEAR: budget_day.c.told, MessageKind.REQUEST: budget_day.c.requested}
    mark = marks[kind]
    first = sa.update(budget_day).where(budget_day.c.id == number, ~mark).values({mark.name: True})
    if connection.execute(first).rowcount and people:
        new = [
            {"budget": number, "kind": kind, "person": each, "pages": "[]", "closed": False}
            for each in dict.fromkeys(people)
        ]
        connection.execute(sa.insert(budget_message), new)


def _message(number: int, kind: MessageKind, who: str) -> sa.ColumnElement[bool]:
    return sa.and_(budget_message.c.budget == number, budget_message.c.kind == kind, budget_message.c.person == who)


def shown(connection: sa.Connection, number: int, kind: MessageKind, who: str, pages: Sequence[str]) -> bool:
    held = sa.update(budget_message).where(_message(number, kind, who))
    return connection.execute(held.values(pages=json.dumps([*pages]))).rowcount > 0


def closed(connection: sa.Connection, number: int, kind: MessageKind, who: str) -> None:
    connection.execute(sa.update(budget_message).where(_message(number, kind, who)).values(closed=True))


def drop_person(connection: sa.Connection, who: str, now: datetime) -> None:
    """Delete what a person was written about budgets, with its messages, and that they decided; not what was spent."""
    mine = budget_message.c.person == who
    for row in connection.execute(sa.select(budget_message.c.pages).where(mine)).all():
        for page in json.loads(row.pages):
            if page in SENDING:
                continue
            gone = ShownPage(who.rpartition(":")[0], "", page)
            values = {"payload": gone.encode(), "run_at": now, "person": "", "conversation": ""}
            job_queue.schedule(connection, DELETE_REPLY, gone.key, values)
    connection.execute(sa.delete(budget_message).where(mine))
    connection.execute(sa.update(budget_day).where(budget_day.c.person == who).values(person=""))


class SqlBudgetDays(SqlStore):
    """The port BudgetDays."""

    near = writes(near)
    sweep = writes(sweep)
    of = reads(of)
    by_number = reads(by_number)
    question = reads(question)
    questions = reads(questions)
    waits = reads(waits)
    decide = writes(decide)
    release = writes(release)
    messages = reads(messages)
    address = writes(address)
    shown = writes(shown)
    closed = writes(closed)
    pause_of = reads(pause_of)
    paused = reads(paused)
    budget_of = reads(budget_of)

    async def decide_turn(self, turn: int, person: str, now: datetime, *, goes_on: bool) -> Decided:
        return await self.database.write(decide_turn, turn, person, now, goes_on=goes_on)
