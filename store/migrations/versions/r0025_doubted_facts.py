"""Mark a fact that a newer one may have replaced."""

import sqlalchemy as sa
from alembic import op

revision = "r0025"
down_revision = "r0024"
EXPANDS = True
LOSES = ()


def upgrade() -> None:
    op.add_column("fact", sa.Column("doubted_by", sa.Integer(), nullable=True))


def downgrade() -> None:
    op.drop_column("fact", "doubted_by")
