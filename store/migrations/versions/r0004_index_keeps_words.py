"""Keep the words of an entry beside the full-text index of SQLite, without the parts by which other forms are found.

The index is made anew at the start that brings this revision (`store.search.index.TERMS`).
"""

from alembic import op

revision = "r0004"
down_revision = "r0003"
NO_WAY_BACK = "r0005 has none"

FTS5_INDEX = """
CREATE VIRTUAL TABLE message_index
USING fts5(body, tokenize = 'porter ascii', detail = 'none', columnsize = 0, content = '')
"""


def upgrade() -> None:
    if op.get_bind().dialect.name == "sqlite":
        op.execute("DROP TABLE message_index")
        op.execute(FTS5_INDEX)
        op.execute("CREATE TABLE message_index_kept (entry INTEGER PRIMARY KEY, words TEXT NOT NULL)")
