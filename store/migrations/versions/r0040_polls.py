"""Store polls that the bot counts itself, and their votes."""

import sqlalchemy as sa
from alembic import op

revision = "r0040"
down_revision = "r0039"
EXPANDS = True
LOSES = (("polls, which cannot be voted on any more", "SELECT count(*) FROM poll"),)


def upgrade() -> None:
    op.create_table(
        "poll",
        sa.Column("turn", sa.Integer(), nullable=False),
        sa.Column("question", sa.Text(), nullable=False),
        sa.Column("options", sa.Text(), nullable=False),
        sa.Column("closed", sa.Boolean(), nullable=False),
        sa.ForeignKeyConstraint(["turn"], ["turn.id"], name="fk_poll_turn"),
        sa.PrimaryKeyConstraint("turn", name="pk_poll"),
    )
    op.create_table(
        "poll_vote",
        sa.Column("turn", sa.Integer(), nullable=False),
        sa.Column("person", sa.Text(), nullable=False),
        sa.Column("choice", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(["turn"], ["turn.id"], name="fk_poll_vote_turn"),
        sa.PrimaryKeyConstraint("turn", "person", name="pk_poll_vote"),
    )
    op.create_index("ix_poll_vote_person", "poll_vote", ["person"])


def downgrade() -> None:
    op.drop_table("poll_vote")
    op.drop_table("poll")
