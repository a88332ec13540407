"""Keep which budgets were warned about and extended, and which turns wait for that; count calls as they are made."""

import sqlalchemy as sa
from alembic import op

revision = "r0047"
down_revision = "r0046"
EXPANDS = True
LOSES = (("turns that wait for a budget", "SELECT count(*) FROM budget_pause"),)


def upgrade() -> None:
    op.add_column("turn", sa.Column("charged", sa.Integer(), nullable=False, server_default="0"))
    op.create_table(
        "budget_day",
        sa.Column("id", sa.Integer(), primary_key=True),
        sa.Column("day", sa.Date(), nullable=False),
        *(sa.Column(name, sa.Text(), nullable=False) for name in ("account", "whose", "subject", "source")),
        *(sa.Column(name, sa.Text(), nullable=False) for name in ("extension", "person")),
        *(sa.Column(name, sa.BigInteger(), nullable=True) for name in ("near_tokens", "near_cost")),
        *(sa.Column(name, sa.Integer(), nullable=True) for name in ("near_percent", "turn")),
        sa.Column("percent", sa.Integer(), nullable=False),
        *(sa.Column(name, sa.Boolean(), nullable=False) for name in ("told", "requested")),
        sa.Column("decided", sa.DateTime(timezone=True), nullable=True),
        sa.UniqueConstraint("day", "account"),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "budget_message",
        sa.Column("budget", sa.Integer(), sa.ForeignKey("budget_day.id"), primary_key=True),
        *(sa.Column(name, sa.Text(), primary_key=True) for name in ("kind", "person")),
        sa.Column("pages", sa.Text(), nullable=False),
        sa.Column("closed", sa.Boolean(), nullable=False),
    )
    op.create_index("ix_budget_message_person", "budget_message", ["person"])
    op.create_table(
        "budget_pause",
        sa.Column("turn", sa.Integer(), sa.ForeignKey("turn.id"), primary_key=True),
        sa.Column("budget", sa.Integer(), nullable=True),
        sa.Column("until", sa.DateTime(timezone=True), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("extensions", sa.Integer(), nullable=False),
    )
    op.create_index("ix_budget_pause_budget", "budget_pause", ["budget"])


def downgrade() -> None:
    op.drop_table("budget_pause")
    op.drop_table("budget_message")
    op.drop_table("budget_day")
    op.drop_column("turn", "charged")
