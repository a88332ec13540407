"""Where found messages stand: in which thread, by whom, when, and what stands beside them.

Above: `store.search.search`. Below: `store.search.ranking` (Line), listed, tables.

Rules
  What stands beside a message is asked for within the same audiences as the message: nothing else is seen.
  A message without words, such as a picture alone, is nobody's neighbour.
"""

import json
from collections.abc import Iterable
from datetime import UTC, datetime
from itertools import chain
from typing import Final

from sqlalchemy import Connection, ScalarSelect, bindparam, select, tuple_

from agent.records import Author
from store.listed import gathered, listed
from store.search.ranking import NEAR, Line
from store.tables import message, person

_hit, _near_it = message.alias("hit"), message.alias("near")


def _beside(*, after: bool) -> ScalarSelect[str]:
    """The next messages of the thread on one side of a hit that the search may see, nearest first."""
    here, there = tuple_(_hit.c.turn, _hit.c.id), tuple_(_near_it.c.turn, _near_it.c.id)
    order = (_near_it.c.turn, _near_it.c.id)
    nearest = (
        select(_near_it.c.id, _near_it.c.author, _near_it.c.person, person.c.name, _near_it.c.time)
        .join_from(_near_it, person, person.c.id == _near_it.c.person)
        .where(_near_it.c.conversation == _hit.c.conversation)
        .where(_near_it.c.audience.in_(bindparam("audiences", expanding=True)))
        .where(there > here if after else there < here, _near_it.c.length > 0)
        .order_by(*(order if after else [column.desc() for column in order]))
        .limit(len(NEAR) - 1)
        .correlate(_hit)
        .subquery("nearest")
    )
    return select(gathered(*nearest.c)).scalar_subquery()


SURROUNDINGS: Final = (
    select(_hit.c.id, _hit.c.conversation, _hit.c.author, _hit.c.person, person.c.name, _hit.c.time)
    .add_columns(_beside(after=False), _beside(after=True))
    .join_from(_hit, person, person.c.id == _hit.c.person)
    .where(_hit.c.id.in_(listed("hits")))
)


def lines_of(
    connection: Connection, hits: Iterable[int], audiences: tuple[str, ...]
) -> tuple[dict[int, Line], dict[str, str]]:
    """The lines of these messages and of those beside them, and the names of their people by id."""
    lines: dict[int, Line] = {}
    names: dict[str, str] = {}
    found = connection.execute(SURROUNDINGS, {"hits": list(hits), "audiences": audiences}).all()
    for hit, thread, hit_author, hit_person, hit_name, hit_time, *sides in found:
        beside = [json.loads(side) for side in sides]
        for id_, author, who, name, time in chain(*beside):
            if id_ not in lines:
                lines[id_] = Line(thread, author == Author.PERSON, who, _time(time))
                names[who] = name
        ways = (tuple(near[0] for near in side) for side in beside)
        lines[hit] = Line(thread, hit_author == Author.PERSON, hit_person, hit_time, *ways)
        names[hit_person] = hit_name
    return lines, names


def _time(text: str) -> datetime:
    time = datetime.fromisoformat(text)
    return time if time.tzinfo else time.replace(tzinfo=UTC)  # SQLite keeps no offset (see UtcDateTime)
