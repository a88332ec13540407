"""Find what is due by its time, too: a schedule that a wrong clock had put off is looked for among all of them."""

from alembic import op

revision = "r0017"
down_revision = "r0016"


def upgrade() -> None:
    op.create_index("ix_schedule_next", "schedule", ["state", "next"])


def downgrade() -> None:
    op.drop_index("ix_schedule_next", "schedule")
