"""The working sets of conversations (seed 003, layer 3).

Rule: expired items are never read, and the next write of any conversation deletes them.
"""

from datetime import datetime
from typing import Any, ClassVar, Final

import sqlalchemy as sa
from sqlmodel import Field

from agent import texts
from agent.errors import StoreError
from agent.memory.layers import WorkingItem
from store.databases.database import SqlStore, StorableText, UtcDateTime, in_order, storable, writes
from store.message_tables import message
from store.schema import NEVER_REUSED, TableRow, metadata


class WorkingItemRow(TableRow, table=True):
    """A scratch value of a conversation; deleted when it expires, and with the question in whose turn it was kept."""

    __table_args__: ClassVar[Any] = NEVER_REUSED

    id: int | None = Field(default=None, primary_key=True)
    conversation: str = Field(sa_type=StorableText, index=True)
    audience: str = Field(sa_type=StorableText)
    key: str = Field(sa_type=StorableText)
    value: str = Field(sa_type=StorableText)
    created: datetime = Field(sa_type=UtcDateTime)
    expires: datetime = Field(sa_type=UtcDateTime, index=True)
    message: int = Field(index=True)


working_item: Final = metadata.tables["working_item"]

MOST_ITEMS: Final = 20  # Of one conversation: scratch values of a task, not its history. The oldest are deleted first.


def keep_item(connection: sa.Connection, conversation: str, audience: str, item: WorkingItem) -> None:
    in_order(connection, f"working set {conversation}")
    source = connection.execute(sa.select(message.c.taken_back).where(message.c.id == item.message)).first()
    if source is None or source.taken_back:
        raise StoreError(texts.SOURCE_FORGOTTEN)
    key, same = storable(item.key), working_item.c.conversation == conversation
    connection.execute(sa.delete(working_item).where(working_item.c.expires <= item.created_at))
    connection.execute(sa.delete(working_item).where(same, working_item.c.key == key))
    newest = sa.select(working_item.c.id).where(same).order_by(working_item.c.id.desc()).limit(MOST_ITEMS - 1)
    staying = connection.execute(newest).scalars().all()
    connection.execute(sa.delete(working_item).where(same, working_item.c.id.not_in(staying)))
    connection.execute(
        sa.insert(working_item).values(
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
    store_item = writes(keep_item)


def discard_kept_by(connection: sa.Connection, question: int) -> None:
    """Delete the items that the turn of this question has kept: the turn restarts, and keeps them again."""
    connection.execute(sa.delete(working_item).where(working_item.c.message == question))


_CURRENT: Final = sa.and_(
    working_item.c.conversation == sa.bindparam("here"), working_item.c.expires > sa.bindparam("now", type_=UtcDateTime)
)
HAS_ITEMS: Final = sa.exists().where(_CURRENT)
"""Whether the conversation `here` has items at the time `now`."""
_ITEMS: Final = (
    sa.select(working_item)
    .where(_CURRENT)
    .where(working_item.c.audience.in_(sa.bindparam("audiences", expanding=True)))
    .order_by(working_item.c.id)
)


def working_items(
    connection: sa.Connection, conversation: str, audiences: frozenset[str], now: datetime
) -> list[WorkingItem]:
    """The items of this conversation that may be used for these audiences, the oldest first."""
    values = {"here": conversation, "audiences": sorted(audiences), "now": now}
    return [
        WorkingItem(row.key, row.value, row.created, row.expires, row.message)
        for row in connection.execute(_ITEMS, values)
    ]
