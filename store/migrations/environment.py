"""Runs Alembic's revisions on a connection, with the tables that the schema should have.

The whole upgrade is one transaction, on SQLite too: a crash leaves the old version.
"""

from typing import Literal

from alembic import context
from sqlalchemy import Connection

from store.all_tables import metadata
from store.databases.database import StorableText, UtcDateTime
from store.search.index import INDEXES


def _ours(name: str | None, type_: str, _parent: object) -> bool:
    """Exclude the index's own tables, which belong to FTS5 and not to the metadata."""
    return not (type_ == "table" and name is not None and name.startswith(INDEXES))


def _plain(type_: str, item: object, _context: object) -> str | Literal[False]:
    """Render our types as SQLAlchemy's: a revision is frozen, and our types may change."""
    if type_ == "type" and isinstance(item, StorableText | UtcDateTime):
        return "sa.Text()" if isinstance(item, StorableText) else "sa.DateTime(timezone=True)"
    return False


def run_revisions(connection: Connection) -> None:
    """Run the revisions that Alembic's current command needs."""
    context.configure(
        connection=connection,
        target_metadata=metadata,
        include_name=_ours,
        render_item=_plain,
        transactional_ddl=True,
        render_as_batch=True,  # SQLite changes a column by copying its table
    )
    with context.begin_transaction():
        context.run_migrations()
