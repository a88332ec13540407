"""Count the seconds of code that ran for each person on each day."""

import sqlalchemy as sa
from alembic import op

revision = "r0029"
down_revision = "r0028"
EXPANDS = True
LOSES = ()


def upgrade() -> None:
    op.create_table(
        "code_time",
        sa.Column("person", sa.Text(), nullable=False),
        sa.Column("day", sa.Date(), nullable=False),
        sa.Column("ms", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("person", "day", name="pk_code_time"),
    )


def downgrade() -> None:
    op.drop_table("code_time")
