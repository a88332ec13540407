"""Keep an audit of the tools' calls, and of what changed their policy."""

import sqlalchemy as sa
from alembic import op

revision = "r0010"
down_revision = "r0009"
LOSES = (("audit entries about tool calls and about who can use tools", "SELECT count(*) FROM tool_call"),)


def upgrade() -> None:
    texts = ("call", "person", "channel", "audience", "tool", "arguments", "effect", "decision", "decided_by")
    op.create_table(
        "tool_call",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("turn", sa.Integer(), sa.ForeignKey("turn.id"), nullable=True),
        sa.Column("time", sa.DateTime(timezone=True), nullable=False),
        *(sa.Column(name, sa.Text(), nullable=False) for name in texts),
        sa.Column("outcome", sa.Text(), nullable=False),
        sa.Column("ms", sa.BigInteger(), nullable=True),
        sa.Column("size", sa.BigInteger(), nullable=True),
        sa.PrimaryKeyConstraint("id"),
        sqlite_autoincrement=True,
    )
    policy = sa.text("tool = ''")
    op.create_index("ix_tool_call_policy", "tool_call", ["id"], sqlite_where=policy, postgresql_where=policy)
    for column in ("turn", "time", "person"):
        op.create_index(f"ix_tool_call_{column}", "tool_call", [column])


def downgrade() -> None:
    op.drop_table("tool_call")
