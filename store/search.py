"""Recall: a person's past threads, searched for a reply in one place.

Above: `store.memories`. Below: `store.index`, text, ranking, conversations, tables.

Rules
  A search reads only the entries of the person who asks, so only threads that they wrote in. The audience labels and
  the excluded conversation are conditions of the query itself: what may not flow into the reply never leaves it, not
  as a hit, not as a neighbour, not in the rarity of a word.
  What the engines find is ranked here, so both rank alike.
"""

from typing import Final

from sqlalchemy import Connection, Integer, bindparam, func, select, text

from agent.records import Hit, RecallQuery, StoredMessage
from store import index, people, ranking, rows
from store.columns import StorableText
from store.conversations import stored_messages
from store.tables import message
from store.text import keywords

NEIGHBOURS: Final = text(
    """
    SELECT hit.id AS hit,
      (SELECT near.id FROM message AS near
       WHERE near.conversation = hit.conversation AND near.audience IN :audiences
         AND (near.turn, near.id) < (hit.turn, hit.id)
       ORDER BY near.turn DESC, near.id DESC LIMIT 1) AS before,
      (SELECT near.id FROM message AS near
       WHERE near.conversation = hit.conversation AND near.audience IN :audiences
         AND (near.turn, near.id) > (hit.turn, hit.id)
       ORDER BY near.turn, near.id LIMIT 1) AS after
    FROM message AS hit WHERE hit.id IN :hits
    """
).bindparams(bindparam("audiences", type_=StorableText, expanding=True), bindparam("hits", expanding=True))


def search(connection: Connection, query: RecallQuery) -> list[Hit]:
    words = keywords(query.text)
    number = people.number_of(connection, query.person)
    audiences = sorted(query.audiences)
    if not words or number is None or not audiences:
        return []
    found = index.matches(connection, query, words, number)
    best = ranking.ranked(found, total=_total(connection, query.person))[: max(query.limit, 0)]
    near = _near(connection, [id_ for id_, _ in best], audiences)
    stored = _messages(connection, {id_ for trio in near.values() for id_ in trio if id_ is not None})
    hits: list[Hit] = []
    for id_, score in best:
        _, before, after = near[id_]
        hits.append(Hit(stored[id_], score, _at(stored, before), _at(stored, after)))
    return hits


def _total(connection: Connection, person_id: str) -> int:
    """About how many messages could match. A size for the scale of rarity; it need not be exact."""
    return connection.execute(
        select(func.count(type_=Integer)).select_from(message).where(message.c.person == person_id)
    ).scalar_one()


def _near(
    connection: Connection, hits: list[int], audiences: list[str]
) -> dict[int, tuple[int, int | None, int | None]]:
    if not hits:
        return {}
    found = connection.execute(NEIGHBOURS, {"hits": hits, "audiences": audiences})
    return {hit: (hit, before, after) for hit, before, after in found}


def _messages(connection: Connection, wanted: set[int]) -> dict[int, StoredMessage]:
    found = connection.execute(stored_messages().where(message.c.id.in_(wanted))).mappings()
    return {row["id"]: rows.message(row) for row in found}


def _at(stored: dict[int, StoredMessage], id_: int | None) -> StoredMessage | None:
    return None if id_ is None else stored[id_]
