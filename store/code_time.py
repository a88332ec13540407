"""The seconds of Python code that ran for people, by day; no words. It outlives forgetting, as budgets do."""

from collections.abc import Mapping
from datetime import date, datetime
from typing import Final

import sqlalchemy as sa
from sqlalchemy import BigInteger
from sqlmodel import Field

from agent.spending import SpendingPeriod
from store.databases.database import SqlStore, StorableText, in_order, reads, writes
from store.schema import TableRow, metadata


class CodeTimeRow(TableRow, table=True):
    """How long code ran for a person on a day of UTC, in milliseconds."""

    person: str = Field(sa_type=StorableText, primary_key=True)
    day: date = Field(primary_key=True)
    ms: int = Field(sa_type=BigInteger)


code_time: Final = metadata.tables["code_time"]


def charge_seconds(connection: sa.Connection, person: str, seconds: float, now: datetime) -> None:
    in_order(connection, f"code time {person}")
    that_day, ms = (code_time.c.person == person, code_time.c.day == now.date()), round(seconds * 1_000)
    added = sa.update(code_time).where(*that_day).values(ms=code_time.c.ms + ms)
    if connection.execute(added).rowcount == 0:
        connection.execute(sa.insert(code_time).values(person=person, day=now.date(), ms=ms))


def seconds_by_day(connection: sa.Connection, person: str, period: SpendingPeriod) -> Mapping[date, float]:
    days = sa.select(code_time.c.day, code_time.c.ms).where(code_time.c.person == person)
    found = connection.execute(days.where(code_time.c.day.between(period.first, period.last)))
    return {row.day: row.ms / 1_000 for row in found}


class SqlCodeTime(SqlStore):
    """The port CodeTime."""

    charge_seconds = writes(charge_seconds)
    seconds_by_day = reads(seconds_by_day)
