"""Mark a fact that a newer one may have replaced, and the answer that told of it."""

import sqlalchemy as sa
from alembic import op

revision = "r0025"
down_revision = "r0024"
EXPANDS = True
LOSES = ()


def upgrade() -> None:
    op.add_column("fact", sa.Column("doubted_by", sa.Integer(), nullable=True))
    op.add_column("fact", sa.Column("announced", sa.Integer(), nullable=True))
    op.execute("UPDATE fact SET announced = 0")


def downgrade() -> None:
    op.drop_column("fact", "announced")
    op.drop_column("fact", "doubted_by")
