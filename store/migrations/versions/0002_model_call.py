"""What each model call took.

Revision 0002, after 0001.
"""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "model_call",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("turn", sa.Integer(), nullable=True),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("model", sa.Text(), nullable=False),
        sa.Column("person", sa.Text(), nullable=False),
        sa.Column("channel", sa.Text(), nullable=False),
        sa.Column("day", sa.Date(), nullable=False),
        sa.Column("input_uncached", sa.Integer(), nullable=False),
        sa.Column("input_cached", sa.Integer(), nullable=False),
        sa.Column("input_written", sa.Integer(), nullable=False),
        sa.Column("output", sa.Integer(), nullable=False),
        sa.Column("reasoning", sa.Integer(), nullable=False),
        sa.Column("bytes_up", sa.BigInteger(), nullable=False),
        sa.Column("estimated", sa.Boolean(), nullable=False),
        sa.Column("cost", sa.BigInteger(), nullable=True),
        sa.ForeignKeyConstraint(["turn"], ["turn.id"], name="fk_model_call_turn"),
        sa.PrimaryKeyConstraint("id", name="pk_model_call"),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_model_call_turn", "model_call", ["turn"])
    op.create_index("ix_model_call_person", "model_call", ["person", "day"])
    op.create_index("ix_model_call_day", "model_call", ["day"])


def downgrade() -> None:
    op.drop_table("model_call")
