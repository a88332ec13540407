"""Count how often the bot acts for each person and in each place on each day."""

import sqlalchemy as sa
from alembic import op

revision = "r0037"
down_revision = "r0036"
EXPANDS = True
LOSES = ()


def upgrade() -> None:
    op.create_table(
        "act_count",
        sa.Column("owner", sa.Text(), nullable=False),
        sa.Column("day", sa.Date(), nullable=False),
        sa.Column("count", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("owner", "day", name="pk_act_count"),
    )


def downgrade() -> None:
    op.drop_table("act_count")
