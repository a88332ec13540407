"""Reports for operators: money and tokens, slow turns, schedules, documents of places.

Rules
  No one's words are read: no message, no argument of a tool, no text of a schedule or of a document. Of documents that
  a person keeps in direct messages, not even the file name.
  Every query reads a bounded number of rows through an index, however much the store holds.
"""

from collections.abc import Collection, Iterable
from datetime import datetime
from typing import Any, Final

import sqlalchemy as sa

from agent.memory.audience import AudienceKind
from agent.memory.documents import ON, SHARING, Document
from agent.messages import CallTiming, Usage
from agent.schedules.definitions import Schedule
from agent.spending import (
    APP,
    WORKSPACE,
    AnsweredCall,
    By,
    EndedTurn,
    Money,
    SpendingPeriod,
    SpendingSpread,
    Spent,
    ToolTook,
    Total,
    TurnTook,
)
from store import row_mapping, schedule_store
from store.databases.database import SqlStore, reads, reads_long
from store.message_tables import person
from store.model_calls import TOKENS, model_call, workspaces
from store.preferences import preference
from store.schedule_table import schedule
from store.search import passages
from store.search.passages import document
from store.tool_calls import tool_call
from store.turn_tables import turn
from store.turns.consents import consent

MAX_ROWS: Final = 20  # People, channels: nobody reads a chart of more
MAX_STEPS: Final = 500  # Of one turn, and of all turns of one query: more rounds than any turn may have
CHANNEL: Final = "channel:"

# Money and tokens. The calls of a period are read once, from an index that holds all summed columns, in their order.

_KEYS: Final = ("day", "model", "person", "channel")
_SUMS: Final = ("calls", *TOKENS, "estimated", "cost", "unpriced")


def spread(connection: sa.Connection, period: SpendingPeriod) -> SpendingSpread:
    calls = model_call.c
    groups = (
        sa.select(
            *(calls[key] for key in _KEYS),
            sa.func.count().label("calls"),
            *(sa.func.sum(calls[name]).label(name) for name in TOKENS),
            sa.func.max(sa.case((calls.estimated, 1), else_=0)).label("estimated"),
            sa.func.coalesce(sa.func.sum(calls.cost), 0).label("cost"),
            (sa.func.count() - sa.func.count(calls.cost)).label("unpriced"),
        )
        .where(calls.day.between(period.first, period.last))
        .group_by(*(calls[key] for key in _KEYS))
        .cte("spent")
        .prefix_with("MATERIALIZED")
    )
    workspace, first = workspaces(groups.c.person), sa.literal(period.first)
    days = _summed(groups, By.DAY, groups.c.day, groups.c.model, None)
    spaces = _summed(groups, By.WORKSPACE, first, workspace, MAX_ROWS)
    people = _summed(groups, By.PERSON, first, groups.c.person, MAX_ROWS)
    channels = _summed(groups, By.CHANNEL, first, groups.c.channel, MAX_ROWS)
    by: dict[By, list[tuple[Any, str, Spent]]] = {grouping: [] for grouping in By}
    for row in connection.execute(sa.union_all(days, people, channels, spaces)).mappings():
        by[By(row["by"])].append((row["day"], row["key"], _spent(row)))
    names = _names(connection, [key for _, key, _ in by[By.PERSON]])
    apps = _apps(connection, [key for _, key, _ in by[By.WORKSPACE]])
    return SpendingSpread(
        {(f"{day}", model): spent for day, model, spent in by[By.DAY]},
        _dearest(Total(key, spent, names.get(key, "")) for _, key, spent in by[By.PERSON]),
        _dearest(Total(key, spent) for _, key, spent in by[By.CHANNEL]),
        _dearest(Total(key, spent, apps.get(key, "")) for _, key, spent in by[By.WORKSPACE]),
    )


def _summed(groups: sa.CTE, by: By, day: Any, key: Any, limit: int | None) -> sa.Select[*tuple[Any, ...]]:  # noqa: ANN401 -- columns
    sums = {name: sa.func.sum(groups.c[name]).label(name) for name in _SUMS}
    keys = (day, key) if by is By.DAY else (key,)
    chosen = sa.select(sa.literal(by.value).label("by"), day.label("day"), key.label("key"), *sums.values())
    chosen = chosen.group_by(*keys)
    if limit is not None:
        chosen = chosen.order_by(sa.desc("cost"), sa.desc("calls"), "key").limit(limit)
    return sa.select(chosen.subquery())


def _spent(row: sa.RowMapping) -> Spent:
    """PostgreSQL returns sums of integers as decimals."""
    usage = Usage(*(int(row[name]) for name in TOKENS), estimated=bool(row["estimated"]))
    return Spent(int(row["calls"]), usage, Money(int(row["cost"])), int(row["unpriced"]))


def _dearest(totals: Iterable[Total]) -> list[Total]:
    return sorted(totals, key=lambda total: (-total.spent.cost, -total.spent.calls, total.key))


def _names(connection: sa.Connection, ids: Collection[str]) -> dict[str, str]:
    found = connection.execute(sa.select(person.c.id, person.c.name).where(person.c.id.in_(ids)))
    return {row.id: row.name for row in found}


def _apps(connection: sa.Connection, keys: Collection[str]) -> dict[str, str]:
    owners = [f"{WORKSPACE}{key}" for key in keys]
    apps = sa.select(preference.c.owner, preference.c.value)
    found = connection.execute(apps.where(preference.c.owner.in_(owners), preference.c.name == APP))
    return {row.owner.removeprefix(WORKSPACE): row.value for row in found}


# Slow turns. Turns that waited for a consent are left out: people are not timed.

_WAITED: Final = sa.exists().where(consent.c.turn == turn.c.id)


def ended_turns(connection: sa.Connection, since: datetime, limit: int) -> list[EndedTurn]:
    """The last turns that ended since `since`, the newest first."""
    columns = turn.c.id, turn.c.ended, turn.c.taken
    over = sa.select(*columns).where(turn.c.ended >= since, turn.c.taken.is_not(None), ~_WAITED)
    found = connection.execute(over.order_by(turn.c.ended.desc()).limit(limit))
    return [EndedTurn(row.id, row.ended, max(0.0, (row.ended - row.taken).total_seconds())) for row in found]


def durations(connection: sa.Connection, turns: Collection[int]) -> list[TurnTook]:
    """Those of these turns that have ended and were not forgotten, with their steps; the slowest first."""
    columns = ("id", "person", "source", "channel", "outcome", "attempts", "taken", "began", "ended")
    over = sa.select(*(turn.c[name] for name in columns), person.c.name)
    over = over.join(person, person.c.id == turn.c.person)
    over = over.where(turn.c.id.in_(turns), turn.c.taken.is_not(None), turn.c.ended.is_not(None))
    calls, tools = _calls(connection, turns), _tools(connection, turns)
    slow = list[TurnTook]()
    for row in connection.execute(over).mappings():
        values = {str(name): value for name, value in row.items()}
        values["outcome"] = values["outcome"] or ""
        slow.append(TurnTook(**values, calls=tuple(calls.get(row["id"], ())), tools=tuple(tools.get(row["id"], ()))))
    return sorted(slow, key=lambda item: -item.seconds)


def _calls(connection: sa.Connection, turns: Collection[int]) -> dict[int, list[AnsweredCall]]:
    of_turns = sa.select(model_call).where(model_call.c.turn.in_(turns))
    of_turns = of_turns.order_by(model_call.c.turn, model_call.c.number, model_call.c.id).limit(MAX_STEPS)
    calls = dict[int, list[AnsweredCall]]()
    for row in connection.execute(of_turns):
        timing = None if row.began is None or row.ms is None else CallTiming(row.began, row.ms, row.first_ms)
        usage = Usage(*(getattr(row, name) for name in TOKENS), estimated=row.estimated)
        price = None if row.cost is None else Money(row.cost)
        calls.setdefault(row.turn, []).append(AnsweredCall(row.model, usage, price, timing))
    return calls


def _tools(connection: sa.Connection, turns: Collection[int]) -> dict[int, list[ToolTook]]:
    columns = ("turn", "tool", "time", "ms", "effect", "decision", "outcome")
    of_turns = sa.select(*(tool_call.c[name] for name in columns)).where(tool_call.c.turn.in_(turns))
    of_turns = of_turns.order_by(tool_call.c.turn, tool_call.c.id).limit(MAX_STEPS)
    tools = dict[int, list[ToolTook]]()
    for row in connection.execute(of_turns):
        step = ToolTook(row.tool, row.time, row.ms, row.effect, row.decision, row.outcome)
        tools.setdefault(row.turn, []).append(step)
    return tools


# Schedules, and documents of places.


def schedules(connection: sa.Connection, state: str, limit: int) -> tuple[list[tuple[Schedule, str]], dict[str, int]]:
    """The schedules in this state, next first, with their owners' names, without text; and the number by state."""
    columns = [column for column in schedule.c if column.name not in {"words", "run_at"}]
    chosen = sa.select(*columns, sa.literal("").label("words"), person.c.name.label("owner"))
    chosen = chosen.outerjoin(person, person.c.id == schedule.c.person).where(schedule.c.state == state)
    chosen = chosen.order_by(schedule.c.next, schedule.c.id).limit(limit)
    counted = sa.select(schedule.c.state, sa.func.count()).group_by(schedule.c.state)
    shown = [(schedule_store.read(row), row["owner"] or "") for row in connection.execute(chosen).mappings()]
    return shown, {row[0]: row[1] for row in connection.execute(counted)}


def documents(connection: sa.Connection, limit: int) -> tuple[list[Document], int, int]:
    """The newest documents of places, the number of all documents, and of their passages. A document that a person
    keeps for themselves has no name here.
    """
    is_own = document.c.audience.startswith(f"{AudienceKind.PERSON}:", autoescape=True)
    hidden = {name: sa.case((is_own, ""), else_=document.c[name]).label(name) for name in ("name", "link", "address")}
    columns = [hidden.get(name, document.c[name]) for name in ("id", *row_mapping.OF_DOCUMENT)]
    newest = sa.select(*columns, person.c.name.label("by"))
    newest = newest.outerjoin(person, person.c.id == document.c.person).where(document.c.state == passages.KNOWN)
    newest = newest.order_by(document.c.id.desc()).limit(limit)
    shown = [row_mapping.document_of(row) for row in connection.execute(newest).mappings()]
    whole = sa.select(sa.func.count(), sa.func.coalesce(sa.func.sum(document.c.passages), 0))
    count, pieces = connection.execute(whole.where(document.c.state == passages.KNOWN)).one()
    return shown, count, int(pieces)


def sharing(connection: sa.Connection, limit: int) -> list[str]:
    """The ids of channels that share with their teams."""
    chosen = preference.c.name == SHARING, preference.c.value == ON, preference.c.owner.startswith(CHANNEL)
    owners = sa.select(preference.c.owner).where(*chosen).order_by(preference.c.owner).limit(limit)
    return [owner.removeprefix(CHANNEL) for owner in connection.execute(owners).scalars()]


class SqlOperatorReports(SqlStore):
    """Implements `bot.operators.pages.reports.OperatorReports`."""

    spread = reads_long(spread)
    ended_turns = reads_long(ended_turns)
    durations = reads(durations)
    schedules = reads(schedules)
    documents = reads(documents)
    sharing = reads(sharing)
