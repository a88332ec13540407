"""Where found messages stand: in which thread, by whom, when, and what stands beside them.

Above: `store.search.search`. Below: `store.search.ranking` (Line), listed, tables.

Rules
  What stands beside a message is asked for within the same audiences as the message: nothing else is seen.
  A message without words, such as a picture alone, is nobody's neighbour.
"""

from collections.abc import Iterable
from typing import Final

from sqlalchemy import Connection, ScalarSelect, Text, bindparam, cast, func, select, tuple_

from agent.records import Author
from store.listed import listed
from store.search.ranking import NEAR, Line
from store.tables import message, person

_hit, _near_it = message.alias("hit"), message.alias("near")


def _beside(*, after: bool) -> ScalarSelect[str]:
    """The ids of the next messages of the thread on one side of a hit that the search may see, nearest first."""
    here, there = tuple_(_hit.c.turn, _hit.c.id), tuple_(_near_it.c.turn, _near_it.c.id)
    order = (_near_it.c.turn, _near_it.c.id)
    nearest = (
        select(_near_it.c.id)
        .where(_near_it.c.conversation == _hit.c.conversation)
        .where(_near_it.c.audience.in_(bindparam("audiences", expanding=True)))
        .where(there > here if after else there < here)
        .order_by(*(order if after else [column.desc() for column in order]))
        .limit(len(NEAR) - 1)
        .correlate(_hit)
        .subquery()
    )
    return select(func.aggregate_strings(cast(nearest.c.id, Text), " ")).scalar_subquery()


NEIGHBOURS: Final = select(_hit.c.id, _beside(after=False), _beside(after=True)).where(_hit.c.id.in_(listed("hits")))
LINES: Final = (
    select(message.c.id, message.c.conversation, message.c.author, message.c.person, message.c.time, person.c.name)
    .join_from(message, person, person.c.id == message.c.person)
    .where(message.c.id.in_(listed("wanted")), message.c.length > 0)
)


def lines_of(
    connection: Connection, hits: Iterable[int], audiences: tuple[str, ...]
) -> tuple[dict[int, Line], dict[str, str]]:
    """The lines of these messages and of those beside them, and the names of their people by id."""
    found = connection.execute(NEIGHBOURS, {"hits": list(hits), "audiences": audiences}).all()
    beside = {hit: (_ids(before), _ids(after)) for hit, before, after in found}
    wanted = {*beside, *(id_ for sides in beside.values() for side in sides for id_ in side)}
    lines: dict[int, Line] = {}
    names: dict[str, str] = {}
    for id_, thread, author, who, time, name in connection.execute(LINES, {"wanted": list(wanted)}).all():
        lines[id_] = Line(thread, author == Author.PERSON, who, time, *beside.get(id_, ((), ())))
        names[who] = name
    return lines, names


def _ids(joined: str | None) -> tuple[int, ...]:
    return tuple(map(int, (joined or "").split()))
