"""The model calls of turns, with their usage and cost; one row for each call.

Rules
  A call is priced when it is stored, by the price table of that day; its row is written when the progress of its turn
  is saved with it, at the latest when the turn ends, in whatever way. It counts for the day on which it began. The row
  holds no words. When its turn is forgotten, the row loses its turn and its time of day at once,
  and its channel when a call is stored after its day is over; the person stays. So forgetting resets no budget, neither
  a person's nor a channel's.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from datetime import date, datetime
from functools import cache
from typing import Any, ClassVar, Final

import sqlalchemy as sa
from sqlalchemy import BigInteger, Index
from sqlmodel import Field

from agent import doors
from agent.doors import Door
from agent.messages import ModelCall, Usage
from agent.spending import (
    APP,
    CHANNELS_KEY,
    OPERATORS_KEY,
    WORKSPACE,
    By,
    Money,
    SpendingPeriod,
    Spent,
    SpentBy,
    Total,
    cost,
)
from agent.turn_records import Claim
from store.databases.database import SqlStore, StorableText, UtcDateTime, writes
from store.json_columns import progress_calls
from store.message_tables import person
from store.preferences import preference
from store.schema import NEVER_REUSED, TableRow, metadata, partial_index
from store.turn_tables import turn

TOKENS: Final = ("input_uncached", "input_cached", "input_written", "output", "reasoning")
# The columns that sums over many days read: one index holds them all, in the order in which they are summed.
SPENT: Final = ("day", "model", "person", "channel", "cost", *TOKENS, "estimated")


class ModelCallRow(TableRow, table=True):
    """Usage and cost of one model call. It holds no one's words, and remains after its turn is deleted: then without
    turn, and after its day without channel.

    `number` counts the calls of one turn, `kind` is the purpose, `day` is in UTC, `cost` is in nano-dollars, None for a
    model without a price. `own_key`: its channel's own key was used, and not the operator's. `began`, `ms` and
    `first_ms`: see `agent.messages.CallTiming`; None if not measured. The person is no foreign key: their spending
    still counts after they are forgotten.
    """

    __table_args__: ClassVar[Any] = (
        Index("ix_model_call_person", "person", "day"),
        Index("ix_model_call_spent", *SPENT),
        partial_index("ix_model_call_detached", "day", where="turn IS NULL AND channel != ''"),
        NEVER_REUSED,
    )

    id: int | None = Field(default=None, primary_key=True)
    turn: int | None = Field(default=None, foreign_key="turn.id", index=True)
    number: int
    kind: str = Field(sa_type=StorableText)
    model: str = Field(sa_type=StorableText)
    person: str = Field(sa_type=StorableText)
    channel: str = Field(sa_type=StorableText, default="")
    day: date
    input_uncached: int
    input_cached: int
    input_written: int
    output: int
    reasoning: int
    bytes_up: int = Field(sa_type=BigInteger)
    estimated: bool
    own_key: bool = Field(default=False, sa_column_kwargs={"server_default": sa.false()})
    cost: int | None = Field(sa_type=BigInteger, default=None)
    began: datetime | None = Field(sa_type=UtcDateTime, default=None)
    ms: int | None = Field(sa_type=BigInteger, default=None)
    first_ms: int | None = Field(sa_type=BigInteger, default=None)


model_call: Final = metadata.tables["model_call"]


TURN: Final = "turn"  # The kind of a model call that answers a question


def workspaces(person: sa.ColumnElement[str]) -> sa.ColumnElement[str]:
    """`agent.incoming.person_source` in the SQL of both databases: the part before the last colon."""
    return sa.func.rtrim(sa.func.rtrim(person, sa.func.replace(person, ":", "")), ":")


# `agent.doors.door_of` in SQL.
_DOOR: Final = sa.case(
    (model_call.c.person.contains(f":{doors.WEBHOOK}", autoescape=True), Door.WEBHOOK.value),
    (model_call.c.channel == doors.MCP_CLIENT, Door.MCP.value),
    (model_call.c.channel.startswith(doors.MCP, autoescape=True), Door.MCP.value),
    (model_call.c.person.contains(f":{doors.API}", autoescape=True), Door.API.value),
    (model_call.c.channel.startswith(doors.API, autoescape=True), Door.API.value),
    else_="",
)
_KEYS: Final[Mapping[By, sa.ColumnElement[Any]]] = {
    By.PERSON: model_call.c.person,
    By.CHANNEL: model_call.c.channel,
    By.WORKSPACE: workspaces(model_call.c.person),
    By.DAY: model_call.c.day,
    By.MODEL: model_call.c.model,
    By.DOOR: _DOOR,
    By.KEY: sa.case((model_call.c.own_key, CHANNELS_KEY), else_=OPERATORS_KEY),
}
_COUNTS: Final = (*TOKENS, "bytes_up")


# Statements are built once: building one takes longer than running it.
_NEW_CALLS: Final = sa.insert(model_call)
_SET_CHARGED: Final = (
    sa.update(turn).where(turn.c.id == sa.bindparam("charged_turn")).values(charged=sa.bindparam("calls"))
)
_DETACHED_EARLIER: Final = sa.and_(
    sa.text("model_call.turn IS NULL AND model_call.channel != ''"),  # literals: a partial index finds them
    model_call.c.day < sa.bindparam("today", type_=sa.Date),
)
_FORGET_CHANNELS: Final = sa.update(model_call).where(_DETACHED_EARLIER).values(channel="")
FORGETS: Final = sa.exists().where(_DETACHED_EARLIER)
"""Whether channels of days before `today` are to be forgotten."""
# How many calls of a claimed turn are stored; and FORGETS.
_CHARGED: Final = sa.select(turn.c.charged, FORGETS).where(
    turn.c.id == sa.bindparam("charged_turn"), turn.c.epoch == sa.bindparam("charged_epoch")
)


def record(
    connection: sa.Connection,
    calls: Iterable[ModelCall],
    *,
    turn: int | None,
    person: str,
    channel: str,
    now: datetime,
    kind: str = TURN,
    known: int = 0,
    forgets: bool = True,
) -> None:
    """`known`: how many calls of the turn were stored before these. `forgets`: whether channels of earlier days may be
    left to be forgotten.
    """
    shared = {"turn": turn, "person": person, "channel": channel, "kind": kind}
    values = [
        {
            **shared,
            "number": number,
            "day": (now if call.timing is None else call.timing.began).date(),
            "model": call.model,
            "cost": cost(call),
            "own_key": call.own_key,
            **asdict(call.usage),
            **_timing(call),
        }
        for number, call in enumerate(calls, known + 1)
    ]
    if values:
        connection.execute(_NEW_CALLS, values)
        if forgets:
            _forget_channels(connection, now)


def _timing(call: ModelCall) -> dict[str, object]:
    timed = call.timing
    return {"began": None, "ms": None, "first_ms": None} if timed is None else asdict(timed)


def charge(
    connection: sa.Connection, person: str, kind: str, calls: Sequence[ModelCall], now: datetime, where: str = ""
) -> None:
    record(connection, calls, turn=None, person=person, channel=where, now=now, kind=kind)


def charge_claim(connection: sa.Connection, claim: Claim, calls: Sequence[ModelCall], now: datetime) -> int | None:
    """Store those of the claimed turn's model calls that are not stored yet. `calls`: all of its progress. Return how
    many are stored now, for `charged`; None if that has not changed.
    """
    values = {"charged_turn": claim.turn, "charged_epoch": claim.epoch, "today": now.date()}
    found = connection.execute(_CHARGED, values).one_or_none()
    if found is None or found[0] >= len(calls):  # the claim is lost, or there are none
        return None
    known, forgets = found
    record_claimed(connection, claim, calls, now, known=known, forgets=forgets)
    return len(calls)


def record_claimed(
    connection: sa.Connection, claim: Claim, calls: Sequence[ModelCall], now: datetime, *, known: int, forgets: bool
) -> None:
    """Store the claimed turn's model calls after the first `known` ones. `forgets`: as for `record`."""
    asked = claim.incoming
    record(
        connection,
        calls[known:],
        turn=claim.turn,
        person=asked.person.id,
        channel=asked.channel,
        now=now,
        known=known,
        forgets=forgets,
    )


def settle_claim(connection: sa.Connection, claim: Claim, calls: tuple[ModelCall, ...], now: datetime) -> None:
    """Store these model calls, or else those saved in the progress, before the claimed turn loses its progress and
    `charged`.
    """
    if calls:
        charge_claim(connection, claim, calls, now)
    else:
        settle(connection, turn.c.id == claim.turn, now)


def settle(connection: sa.Connection, lost: sa.ColumnElement[bool], now: datetime) -> None:
    """Store the model calls saved in these turns' progress, before they lose it and their workers the claims."""
    with_progress = sa.select(turn.c.id, turn.c.person, turn.c.channel, turn.c.progress, turn.c.charged).where(
        lost, turn.c.progress != ""
    )
    for id_, who, channel, progress, known in connection.execute(with_progress).all():
        calls = progress_calls(progress)[known:]
        record(connection, calls, turn=id_, person=who, channel=channel, now=now, known=known)
        connection.execute(_SET_CHARGED, {"charged_turn": id_, "calls": 0})


def detach(connection: sa.Connection, turns: sa.SelectBase, now: datetime) -> None:
    """Remove from the calls of these turns (a selection of ids) all but their counts, before the turns are erased."""
    connection.execute(sa.update(model_call).where(model_call.c.turn.in_(turns)).values(turn=None, began=None))
    _forget_channels(connection, now)


def _forget_channels(connection: sa.Connection, now: datetime) -> None:
    """Remove the channels of forgotten turns' calls after their day: until then the channel's budget counts them."""
    connection.execute(_FORGET_CHANNELS, {"today": now.date()})


def totals(connection: sa.Connection, period: SpendingPeriod, by: By, person: str | None = None) -> list[Total]:
    values = {"first": period.first, "last": period.last} | ({} if person is None else {"whose": person})
    found = connection.execute(_sums(by, of_person=person is not None), values).mappings()
    return sorted((_total(row) for row in found), key=lambda total: total.key)


def spent_on(connection: sa.Connection, day: date, *whose: SpentBy) -> list[Spent]:
    values: dict[str, object] = {"on": day}
    for number, one in enumerate(whose):
        values |= {f"person{number}_{place}": who for place, who in enumerate(one.people)}
        source = f"{one.source}:"
        values |= {f"source{number}": source, f"chars{number}": len(source), f"channel{number}": one.channel}
    shapes = tuple((len(one.people), bool(one.source), bool(one.channel)) for one in whose)
    return [_spent(row) for row in connection.execute(_spent_on(shapes), values).mappings()]


def _spent(row: Mapping[Any, Any]) -> Spent:
    used = {name: int(row[name] or 0) for name in (*TOKENS, "cost")}
    usage = Usage(**{name: used[name] for name in TOKENS}, estimated=bool(row["estimated"]))
    return Spent(row["calls"], usage, Money(used["cost"]), row["unpriced"])


class SqlSpending(SqlStore):
    charge = writes(charge)

    async def spent_on(self, day: date, *whose: SpentBy) -> list[Spent]:
        of_people = all(one.people for one in whose)  # a few rows, and not all of the day
        read = self.database.read_few if of_people else self.database.read_one
        return await read(spent_on, day, *whose)

    async def totals(self, period: SpendingPeriod, by: By, *, person: str | None = None) -> list[Total]:
        of_day = person is not None and period.first == period.last  # what each question asks for
        read = self.database.read_few if of_day else self.database.read_one
        return await read(totals, period, by, person)


@cache
def _spent_on(shapes: tuple[tuple[int, bool, bool], ...]) -> sa.CompoundSelect[*tuple[Any, ...]]:
    """The statement for sums of a day, in their order; one index holds all of their columns. `shapes`: of each, how
    many people there are, and whether it is of a workspace and of a channel.
    """
    sums = (
        _sum_of(number, *shape).add_columns(sa.literal_column(str(number), sa.Integer).label("number"))
        for number, shape in enumerate(shapes)
    )
    return sa.union_all(*sums).order_by(sa.text("number"))


def _sum_of(number: int, people: int, of_source: bool, there: bool) -> sa.Select[*tuple[Any, ...]]:  # noqa: FBT001 -- of a shape
    conditions = [model_call.c.day == sa.bindparam("on")]
    if people:
        names = [sa.bindparam(f"person{number}_{place}", type_=StorableText) for place in range(people)]
        conditions.append(model_call.c.person.in_(names))
    if of_source:
        prefix = sa.func.substr(model_call.c.person, 1, sa.bindparam(f"chars{number}"))
        conditions.append(prefix == sa.bindparam(f"source{number}"))
    if there:
        conditions.append(model_call.c.channel == sa.bindparam(f"channel{number}"))
    return sa.select(
        sa.func.count().label("calls"),
        *(sa.func.sum(model_call.c[name]).label(name) for name in (*TOKENS, "cost")),
        sa.func.max(sa.case((model_call.c.estimated, 1), else_=0)).label("estimated"),
        (sa.func.count() - sa.func.count(model_call.c.cost)).label("unpriced"),
    ).where(*conditions)


@cache
def _sums(by: By, *, of_person: bool) -> sa.Select[*tuple[Any, ...]]:
    """The statement for totals of the days from `first` to `last`; `of_person`: of the calls for the person `whose`."""
    key = _KEYS[by]
    within = model_call.c.day.between(sa.bindparam("first"), sa.bindparam("last"))
    sums = (
        sa.select(
            key.label("key"),
            sa.func.count().label("calls"),
            *(sa.func.sum(model_call.c[name]).label(name) for name in _COUNTS),
            sa.func.max(sa.case((model_call.c.estimated, 1), else_=0)).label("estimated"),
            sa.func.coalesce(sa.func.sum(model_call.c.cost), 0).label("cost"),
            (sa.func.count() - sa.func.count(model_call.c.cost)).label("unpriced"),
        )
        .where(within, model_call.c.person == sa.bindparam("whose") if of_person else sa.true())
        .group_by(key)
        .subquery()
    )
    if by is By.PERSON:
        named, name = sums.outerjoin(person, person.c.id == sums.c.key), person.c.name
    elif by is By.WORKSPACE:
        named, name = sums.outerjoin(preference, _app_of(sums.c.key)), preference.c.value
    else:
        return sa.select(sums, sa.literal("").label("name"))
    return sa.select(sums, sa.func.coalesce(name, "").label("name")).select_from(named)


def _app_of(workspace: sa.ColumnElement[str]) -> sa.ColumnElement[bool]:
    return sa.and_(preference.c.owner == sa.literal(WORKSPACE) + workspace, preference.c.name == APP)


def _total(row: Mapping[Any, Any]) -> Total:
    """PostgreSQL returns sums of integers as decimals, so they are converted."""
    usage = Usage(*(int(row[name]) for name in _COUNTS), estimated=bool(row["estimated"]))
    spent = Spent(row["calls"], usage, Money(int(row["cost"])), row["unpriced"])
    return Total(str(row["key"]), spent, row["name"])
