"""Keep people's accounts at the servers of tools, and the sign-ins that are under way."""

import sqlalchemy as sa
from alembic import op

revision = "r0007"
down_revision = "r0006"
LOSES = (
    ("accounts at tool servers; people have to sign in again", "SELECT count(*) FROM tool_account"),
    ("sign-ins in progress", "SELECT count(*) FROM sign_in"),
)


def upgrade() -> None:
    op.create_table(
        "tool_account",
        sa.Column("person", sa.Text(), nullable=False),
        sa.Column("server", sa.Text(), nullable=False),
        sa.Column("sealed", sa.LargeBinary(), nullable=False),
        sa.Column("renewing", sa.DateTime(timezone=True), nullable=True),
        sa.PrimaryKeyConstraint("person", "server", name="pk_tool_account"),
    )
    op.create_table(
        "sign_in",
        sa.Column("person", sa.Text(), nullable=False),
        sa.Column("server", sa.Text(), nullable=False),
        sa.Column("handle", sa.Text(), nullable=False),
        sa.Column("sealed", sa.LargeBinary(), nullable=False),
        sa.Column("expires", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("person", "server", name="pk_sign_in"),
        sa.UniqueConstraint("handle", name="uq_sign_in_handle"),
    )
    op.create_index("ix_sign_in_expires", "sign_in", ["expires"])


def downgrade() -> None:
    op.drop_table("sign_in")
    op.drop_table("tool_account")
