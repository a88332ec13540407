"""Count rates in all processes."""

import sqlalchemy as sa
from alembic import op

revision = "r0023"
down_revision = "r0022"
EXPANDS = True
LOSES = ()


def upgrade() -> None:
    op.create_table(
        "shared_rate",
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("made", sa.Text(), nullable=False),
        sa.Column("next", sa.BigInteger(), nullable=False),
        sa.Column("until", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("name", name="pk_shared_rate"),
    )
    op.create_index("ix_shared_rate_until", "shared_rate", ["until"])


def downgrade() -> None:
    op.drop_table("shared_rate")
