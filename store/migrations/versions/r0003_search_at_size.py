"""Find the newest of many messages without reading them all."""

import sqlalchemy as sa
from alembic import op

revision = "r0003"
down_revision = "r0002"
NO_WAY_BACK = "r0005 has none"


def upgrade() -> None:
    op.drop_index("ix_message_person", "message")
    op.create_index("ix_message_person", "message", ["person", "id"])
    if op.get_bind().dialect.name == "postgresql":
        _name_the_blocks()


def _name_the_blocks() -> None:
    """Each entry holds the block of ids that its message is in. The index is made anew, because to bring it up to date
    entry by entry takes many times as long.
    """
    op.drop_index("ix_message_index_words", "message_index")
    op.execute(
        sa.text("""
            UPDATE message_index SET words = words || array_to_tsvector(ARRAY[
              reader || '#' || (SELECT string_agg((message >> (10 + 2 * place) & 3)::text, '' ORDER BY place DESC)
                                FROM generate_series(0, 10) AS place)])
        """)
    )
    op.create_index(
        "ix_message_index_words",
        "message_index",
        ["words"],
        postgresql_using="gin",
        postgresql_with={"fastupdate": "off"},
    )
