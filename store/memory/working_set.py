"""The working sets of conversations, in rows (seed 003, layer 3).

Rule: what has expired goes with the next write, whosesoever it is; until then nobody reads it.
"""

from datetime import datetime
from typing import Final

from sqlalchemy import Connection, bindparam, delete, insert, select

from agent import texts
from agent.errors import StoreError
from agent.memory.layers import WorkingItem
from store.databases.database import SqlStore, in_order, writes
from store.tables import message, storable, working_item

MOST: Final = 20
"""Of one conversation: scratch values of a task, not its history. The oldest make room."""


def keep(connection: Connection, conversation: str, audience: str, item: WorkingItem) -> None:
    in_order(connection, f"working set {conversation}")
    source = connection.execute(select(message.c.taken_back).where(message.c.id == item.message)).first()
    if source is None or source.taken_back:
        raise StoreError(texts.SOURCE_FORGOTTEN)
    key, here = storable(item.key), working_item.c.conversation == conversation
    connection.execute(delete(working_item).where(working_item.c.expires <= item.created_at))
    connection.execute(delete(working_item).where(here, working_item.c.key == key))
    newest = select(working_item.c.id).where(here).order_by(working_item.c.id.desc()).limit(MOST - 1)
    staying = connection.execute(newest).scalars().all()
    connection.execute(delete(working_item).where(here, working_item.c.id.not_in(staying)))
    connection.execute(
        insert(working_item).values(
            conversation=conversation,
            audience=audience,
            key=key,
            value=item.value,
            created=item.created_at,
            expires=item.expires_at,
            message=item.message,
        )
    )


class SqlWorkingSet(SqlStore):
    """The port WorkingSet on a database."""

    keep = writes(keep)


def discard_kept_by(connection: Connection, question: int) -> None:
    """Take out what the turn of this question has kept: it will be kept anew."""
    connection.execute(delete(working_item).where(working_item.c.message == question))


_ITEMS: Final = (
    select(working_item)
    .where(working_item.c.conversation == bindparam("here"), working_item.c.expires > bindparam("now"))
    .where(working_item.c.audience.in_(bindparam("audiences", expanding=True)))
    .order_by(working_item.c.id)
)


def working_items(
    connection: Connection, conversation: str, audiences: frozenset[str], now: datetime
) -> list[WorkingItem]:
    """What is kept of this conversation and may be used for these audiences, the oldest first."""
    values = {"here": conversation, "audiences": sorted(audiences), "now": now}
    return [
        WorkingItem(row.key, row.value, row.created, row.expires, row.message)
        for row in connection.execute(_ITEMS, values)
    ]
