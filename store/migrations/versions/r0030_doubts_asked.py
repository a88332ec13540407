"""Count how often a model was asked whether a fact is outdated."""

import sqlalchemy as sa
from alembic import op

revision = "r0030"
down_revision = "r0029"
EXPANDS = True
LOSES = ()


def upgrade() -> None:
    op.add_column("fact", sa.Column("doubt_asked", sa.Integer(), nullable=False, server_default="0"))


def downgrade() -> None:
    op.drop_column("fact", "doubt_asked")
