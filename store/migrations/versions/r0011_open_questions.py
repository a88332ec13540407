"""Keep what tools ask their askers while calls wait for it."""

import sqlalchemy as sa
from alembic import op

from store.databases.database import StorableText, UtcDateTime

revision = "r0011"
down_revision = "r0010"
LOSES = (("questions of tools that wait for an answer", "SELECT count(*) FROM open_question"),)


def upgrade() -> None:
    op.create_table(
        "open_question",
        sa.Column("turn", sa.Integer(), sa.ForeignKey("turn.id"), primary_key=True),
        sa.Column("key", StorableText(), primary_key=True),
        sa.Column("epoch", sa.Integer(), nullable=False),
        sa.Column("person", StorableText(), nullable=False),
        sa.Column("asked", StorableText(), nullable=False),
        sa.Column("filled", StorableText(), nullable=False),
        sa.Column("action", StorableText(), nullable=False),
        sa.Column("until", UtcDateTime(), nullable=False),
    )
    op.create_index("ix_open_question_person", "open_question", ["person"])


def downgrade() -> None:
    op.drop_table("open_question")
