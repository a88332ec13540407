"""The messages whose meaning is nearest to a question's, among those that the search may see.

Above: `store.search.search`. Below: `store.search.meaning`, sought; listed, tables.
"""

from collections.abc import Iterable
from typing import Final

from sqlalchemy import Connection, Select, select

from agent.records import Author, Meaning
from store.listed import listed
from store.search import meaning
from store.search.sought import Sought
from store.tables import embedding, message, participant

COMPARED: Final = 5_000
"""The newest messages whose signs are compared: a few years of one person, in some hundredths of a second."""
NEAREST: Final = 32
"""Of them are compared exactly, besides what the keywords found."""

_VECTORS: Final = select(embedding.c.message, embedding.c.vector).where(embedding.c.message.in_(listed("wanted")))


def nearness_of(
    connection: Connection, wanted: Meaning, person: str, sought: Sought, found: Iterable[int]
) -> dict[int, float]:
    """How near the meaning of messages is to `wanted`: of the nearest ones, and of those `found` otherwise."""
    signs = connection.execute(_visible(person, wanted.model, sought)).all()
    nearest = meaning.closest(meaning.signs(wanted.vector), ((id_, held) for id_, held in signs), NEAREST)
    known = {id_ for id_, _ in signs}
    asked = [*{*nearest, *(id_ for id_ in found if id_ in known)}]
    packed = meaning.packed(wanted.vector)
    vectors = connection.execute(_VECTORS, {"wanted": asked}).all()
    return {id_: meaning.nearness(packed, held) for id_, held in vectors if len(held) == len(packed)}


def _visible(person: str, model: str, sought: Sought) -> Select[int, bytes]:
    visible = (
        select(embedding.c.message, embedding.c.signs)
        .join_from(participant, message, message.c.conversation == participant.c.conversation)
        .join(embedding, embedding.c.message == message.c.id)
        .where(participant.c.person == person, sought.is_elsewhere)
        .where(message.c.audience.in_(sought.audiences), embedding.c.model == model)
        .where(message.c.time >= sought.since, message.c.time < sought.until)
    )
    if sought.author:
        visible = visible.where(message.c.author == Author(sought.author))
    if sought.people is not None:
        visible = visible.where(message.c.person.in_(sought.people))
    return visible.order_by(embedding.c.message.desc()).limit(COMPARED)
