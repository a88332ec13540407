"""Count rates in all processes."""

import sqlalchemy as sa
from alembic import op

from store.databases.database import StorableText

revision = "r0023"
down_revision = "r0022"
EXPANDS = True
LOSES = ()


def upgrade() -> None:
    op.create_table(
        "shared_rate",
        sa.Column("name", StorableText(), nullable=False),
        sa.Column("made", StorableText(), nullable=False),
        sa.Column("next", sa.BigInteger(), nullable=False),
        sa.Column("until", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("name", name="pk_shared_rate"),
    )
    op.create_index("ix_shared_rate_until", "shared_rate", ["until"])


def downgrade() -> None:
    op.drop_table("shared_rate")
