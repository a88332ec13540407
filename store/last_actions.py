"""The bot's last actions for a person in a conversation, which stand in for a summary that is not made yet.

Rule: an action counts only if every message and fact in its turn's context, and every document that its tools quoted,
may be used for these audiences now, or its text could disclose what they may not read. A removed document takes the
records of the turns that quoted it along.
"""

from typing import Final

import sqlalchemy as sa

from agent.memory.audience import WIDE
from agent.messages import Provenance
from agent.state import LastActions
from agent.stored_messages import Author
from store import row_mapping
from store.json_columns import read_ids
from store.json_lists import ids_in_parameter
from store.memory_tables import fact
from store.message_tables import message, participant
from store.search.passages import GONE, document
from store.sharing import shares
from store.turn_tables import action_record, turn

_ASKED: Final = sa.and_(message.c.turn == turn.c.id, message.c.audience.in_(sa.bindparam("audiences", expanding=True)))
_DRAWN: Final = {"context_messages": message, "context_facts": fact, "given_documents": document}
# NULL if nothing was answered: then nobody knows.
_RETOLD: Final = (
    sa.select(message.c.retold).where(message.c.turn == turn.c.id, message.c.author == Author.BOT).limit(1)
).scalar_subquery()
_LAST_ACTIONS: Final = (
    sa.select(action_record, *(turn.c[column] for column in _DRAWN), _RETOLD.label("retold"))
    .join_from(action_record, turn, action_record.c.turn == turn.c.id)
    .where(turn.c.conversation == sa.bindparam("here"), turn.c.person == sa.bindparam("asker"))
    .where(turn.c.id < sa.bindparam("before_turn"), sa.exists().where(_ASKED))
    .where(action_record.c.drawn_from.in_(sa.bindparam("drawn", expanding=True)))
    .order_by(turn.c.id.desc(), action_record.c.iteration.desc())
    .limit(sa.bindparam("most"))
)

HAS_ACTIONS: Final = sa.exists(
    sa.select(action_record.c.id)
    .join_from(action_record, turn, action_record.c.turn == turn.c.id)
    .where(turn.c.conversation == sa.bindparam("here"), turn.c.person == sa.bindparam("asker"))
)
"""Whether there may be any for the person `asker` in the conversation `here`."""


def last_actions(
    connection: sa.Connection,
    conversation_id: str,
    person_id: str,
    audiences: frozenset[str],
    before_turn: int,
    limit: int,
) -> LastActions:
    values = {
        "here": conversation_id,
        "asker": person_id,
        "audiences": sorted(audiences),
        "drawn": [WIDE, *sorted(audiences)],
        "before_turn": before_turn,
        "most": limit,
    }
    found = connection.execute(_LAST_ACTIONS, values).mappings().all()[::-1]
    drawn = [{column: read_ids(row[column]) for column in _DRAWN} for row in found]
    closed = {
        column: _closed(connection, table, {id_ for ids in drawn for id_ in ids[column]}, audiences, person_id)
        for column, table in _DRAWN.items()
    }
    usable = [at for at, ids in enumerate(drawn) if not any(closed[column] & ids[column] for column in _DRAWN)]
    sources = {id_ for at in usable for id_ in drawn[at]["context_messages"]}
    records = tuple(row_mapping.action_record(found[at]) for at in usable)
    # The question may have mentioned a name, and it is not looked up whether it did.
    words = Provenance.NAMED if all(found[at]["retold"] is False for at in usable) else Provenance.RELAYED
    return LastActions(records, tuple(sorted(sources)), words)


_TAKES_PART: Final = sa.exists().where(
    participant.c.conversation == message.c.conversation, participant.c.person == sa.bindparam("asker")
)
_NO_LONGER_SHARED: Final = sa.and_(
    message.c.place.is_not(None), ~_TAKES_PART, ~shares("channel:" + message.c.channel, message.c.person)
)


_CLOSED: Final = {message: _NO_LONGER_SHARED, document: document.c.state == GONE}
_CLOSED_OF: Final = {
    table: sa.select(table.c.id).where(
        table.c.id.in_(ids_in_parameter("ids")),
        sa.or_(table.c.audience.not_in(sa.bindparam("audiences", expanding=True)), _CLOSED.get(table, sa.false())),
    )
    for table in _DRAWN.values()
}


def _closed(
    connection: sa.Connection, table: sa.Table, ids: set[int], audiences: frozenset[str], asker: str
) -> set[int]:
    """The ids of these rows that may not be used for these audiences: text drawn from them would disclose them. Of
    other people's messages also those that are no longer shared, and of documents those that are being removed.
    """
    if not ids:
        return set()
    values = {"ids": sorted(ids), "audiences": sorted(audiences)} | ({"asker": asker} if table is message else {})
    return set(connection.execute(_CLOSED_OF[table], values).scalars())
