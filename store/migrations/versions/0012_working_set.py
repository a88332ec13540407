"""Scratch values of conversations.

Revision 0012, after 0011.
"""

import sqlalchemy as sa
from alembic import op

revision = "0012"
down_revision = "0011"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "working_item",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("conversation", sa.Text(), nullable=False),
        sa.Column("audience", sa.Text(), nullable=False),
        sa.Column("key", sa.Text(), nullable=False),
        sa.Column("value", sa.Text(), nullable=False),
        sa.Column("created", sa.DateTime(timezone=True), nullable=False),
        sa.Column("expires", sa.DateTime(timezone=True), nullable=False),
        sa.Column("message", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_working_item"),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_working_item_conversation", "working_item", ["conversation"])
    op.create_index("ix_working_item_expires", "working_item", ["expires"])
    op.create_index("ix_working_item_message", "working_item", ["message"])


def downgrade() -> None:
    op.drop_table("working_item")
