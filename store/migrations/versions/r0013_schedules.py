"""Keep what is done at a time."""

import sqlalchemy as sa
from alembic import op

revision = "r0013"
down_revision = "r0012"
LOSES = (("reminders and other schedules", "SELECT count(*) FROM schedule"),)


def upgrade() -> None:
    op.create_table(
        "schedule",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_schedule"),
        *(
            sa.Column(name, sa.Text(), nullable=False)
            for name in ("person", "source", "channel", "audience", "conversation", "message", "words", "made", "state")
        ),
        *(sa.Column(name, sa.DateTime(timezone=True), nullable=True) for name in ("next", "last", "run_at")),
        sa.Column("epoch", sa.Integer(), nullable=False),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_schedule_run_at", "schedule", ["state", "run_at"])
    op.create_index("ix_schedule_person", "schedule", ["person"])


def downgrade() -> None:
    op.drop_table("schedule")
