"""How often the bot acted for people and in places, by day; no words. It outlives forgetting, as budgets do."""

from datetime import date, datetime
from typing import Final

import sqlalchemy as sa
from sqlmodel import Field

from agent.ports.acts import ActLimit, ActLimits
from store.databases.database import StorableText, in_order
from store.schema import TableRow, metadata


class ActCountRow(TableRow, table=True):
    """`owner`: a person's id, or "place:" and the source and id of a channel. `day`: of UTC."""

    owner: str = Field(sa_type=StorableText, primary_key=True)
    day: date = Field(primary_key=True)
    count: int


act_count: Final = metadata.tables["act_count"]


def charge(connection: sa.Connection, person: str, place: str, limits: ActLimits, now: datetime) -> ActLimit | None:
    owners = {person: (ActLimit.PERSON, limits.person), f"place:{place}": (ActLimit.PLACE, limits.place)}
    for owner in sorted(owners):  # in one order, so that no two transactions wait for each other
        in_order(connection, f"acts {owner}")
    on_day = act_count.c.owner.in_(owners), act_count.c.day == now.date()
    found = connection.execute(sa.select(act_count.c.owner, act_count.c.count).where(*on_day)).all()
    counts = {each.owner: each[1] for each in found}
    for owner, (limit, most) in owners.items():
        if counts.get(owner, 0) >= most:
            return limit
    for owner in owners:
        if owner in counts:
            same = act_count.c.owner == owner, act_count.c.day == now.date()
            connection.execute(sa.update(act_count).where(*same).values(count=act_count.c.count + 1))
        else:
            connection.execute(sa.insert(act_count).values(owner=owner, day=now.date(), count=1))
    return None
