"""Keep whose team a turn is for, and in which round of that team's people it comes."""

import sqlalchemy as sa
from alembic import op

revision = "r0021"
down_revision = "r0020"

_INDEXES = (
    ("ix_turn_queue", ["source", "team", "round", "id"], "state = 'waiting'"),
    ("ix_turn_waiting", ["conversation", "id"], "state = 'waiting'"),
    ("ix_turn_open", ["person", "round"], "state IN ('waiting', 'running')"),
    ("ix_turn_served", ["source", "team", "began"], "began IS NOT NULL"),
)


def upgrade() -> None:
    op.add_column("turn", sa.Column("team", sa.Text(), nullable=False, server_default=""))
    op.add_column("turn", sa.Column("round", sa.BigInteger(), nullable=False, server_default="0"))
    for name, columns, where in _INDEXES:
        op.create_index(name, "turn", columns, sqlite_where=sa.text(where), postgresql_where=sa.text(where))


def downgrade() -> None:
    for name, _, _ in _INDEXES:
        op.drop_index(name, "turn")
    op.drop_column("turn", "round")
    op.drop_column("turn", "team")
