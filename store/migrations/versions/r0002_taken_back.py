"""Messages of which nothing is kept again, because their person took that back."""

import sqlalchemy as sa
from alembic import op

revision = "r0002"
down_revision = "r0001"


def upgrade() -> None:
    op.add_column("message", sa.Column("taken_back", sa.Boolean(), server_default=sa.false(), nullable=False))
