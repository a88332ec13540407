"""Keep of each reply whether it may tell what others wrote: of earlier ones nobody knows."""

import sqlalchemy as sa
from alembic import op

revision = "r0009"
down_revision = "r0008"
LOSES = (
    (
        "marks that a reply contains nothing about others",
        "SELECT count(*) FROM message WHERE NOT retold AND author = 'bot'",
    ),
)


def upgrade() -> None:
    op.add_column("message", sa.Column("retold", sa.Boolean(), server_default=sa.true(), nullable=False))


def downgrade() -> None:
    op.drop_column("message", "retold")
