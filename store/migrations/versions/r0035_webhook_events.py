"""Keep the events of incoming webhooks until they are posted, and the ids of their deliveries."""

import sqlalchemy as sa
from alembic import op

revision = "r0035"
down_revision = "r0034"
EXPANDS = True
LOSES = (("events of webhooks that wait to be posted", "SELECT count(*) FROM webhook_event WHERE run_at IS NOT NULL"),)


def upgrade() -> None:
    op.create_table(
        "webhook_event",
        sa.Column("id", sa.Integer(), nullable=False),
        *(sa.Column(name, sa.Text(), nullable=False) for name in ("hook", "delivery", "text", "key")),
        sa.Column("closes", sa.Boolean(), nullable=False),
        sa.Column("received", sa.DateTime(timezone=True), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("run_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("source", sa.Text(), nullable=False),
        sa.Column("thread", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_webhook_event"),
        sa.UniqueConstraint("hook", "delivery", name="uq_webhook_event_hook_delivery"),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_webhook_event_key", "webhook_event", ["hook", "key", "id"])
    op.create_index("ix_webhook_event_received", "webhook_event", ["received"])
    waits = sa.text("run_at IS NOT NULL")
    op.create_index("ix_webhook_event_run_at", "webhook_event", ["run_at"], sqlite_where=waits, postgresql_where=waits)


def downgrade() -> None:
    op.drop_table("webhook_event")
