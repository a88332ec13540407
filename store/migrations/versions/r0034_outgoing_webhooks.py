"""Store the events that wait for the receivers of outgoing webhooks."""

import sqlalchemy as sa
from alembic import op

revision = "r0034"
down_revision = "r0033"
EXPANDS = True
LOSES = (("events that wait for webhooks, or could not be delivered", "SELECT count(*) FROM outgoing_delivery"),)


def upgrade() -> None:
    op.create_table(
        "outgoing_webhook",
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("events", sa.Text(), nullable=False),
        sa.Column("places", sa.Text(), nullable=False),
        sa.Column("address", sa.Text(), nullable=False),
        sa.Column("disabled", sa.DateTime(timezone=True), nullable=True),
        sa.PrimaryKeyConstraint("name", name="pk_outgoing_webhook"),
    )
    op.create_table(
        "outgoing_delivery",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("webhook", sa.Text(), nullable=False),
        sa.Column("key", sa.Text(), nullable=False),
        sa.Column("event", sa.Text(), nullable=False),
        sa.Column("time", sa.DateTime(timezone=True), nullable=False),
        sa.Column("data", sa.Text(), nullable=False),
        sa.Column("turn", sa.Integer(), nullable=True),
        sa.Column("person", sa.Text(), nullable=False),
        sa.Column("until", sa.DateTime(timezone=True), nullable=False),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("failed", sa.DateTime(timezone=True), nullable=True),
        sa.PrimaryKeyConstraint("id", name="pk_outgoing_delivery"),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_outgoing_delivery_key", "outgoing_delivery", ["webhook", "key", "id"])
    op.create_index("ix_outgoing_delivery_turn", "outgoing_delivery", ["turn"])
    op.create_index("ix_outgoing_delivery_person", "outgoing_delivery", ["person"])
    op.create_index(
        "ix_outgoing_delivery_failed",
        "outgoing_delivery",
        ["failed"],
        sqlite_where=sa.text("failed IS NOT NULL"),
        postgresql_where=sa.text("failed IS NOT NULL"),
    )


def downgrade() -> None:
    op.drop_table("outgoing_delivery")
    op.drop_table("outgoing_webhook")
