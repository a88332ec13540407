"""Keep what tools ask their askers while calls wait for it."""

import sqlalchemy as sa
from alembic import op

revision = "r0011"
down_revision = "r0010"
LOSES = (("questions of tools that wait for an answer", "SELECT count(*) FROM open_question"),)


def upgrade() -> None:
    op.create_table(
        "open_question",
        sa.Column("turn", sa.Integer(), sa.ForeignKey("turn.id"), primary_key=True),
        sa.Column("key", sa.Text(), primary_key=True),
        sa.Column("epoch", sa.Integer(), nullable=False),
        sa.Column("person", sa.Text(), nullable=False),
        sa.Column("asked", sa.Text(), nullable=False),
        sa.Column("filled", sa.Text(), nullable=False),
        sa.Column("action", sa.Text(), nullable=False),
        sa.Column("until", sa.DateTime(timezone=True), nullable=False),
    )
    op.create_index("ix_open_question_person", "open_question", ["person"])


def downgrade() -> None:
    op.drop_table("open_question")
