"""Store why answers were judged to be bad, and who looks into it."""

import sqlalchemy as sa
from alembic import op

revision = "r0046"
down_revision = "r0045"
EXPANDS = True
LOSES = (("why answers were bad, and who looks into it", "SELECT count(*) FROM feedback"),)


def upgrade() -> None:
    op.create_table(
        "feedback",
        sa.Column("id", sa.Integer(), primary_key=True),
        sa.Column("turn", sa.Integer(), nullable=False),
        sa.Column("person", sa.Text(), nullable=False),
        sa.Column("time", sa.DateTime(timezone=True), nullable=False),
        *(sa.Column(name, sa.Text(), nullable=False) for name in ("reason", "comment", "correction", "state", "owner")),
        sa.Column("shared", sa.Boolean(), nullable=False),
        sa.ForeignKeyConstraint(["turn"], ["turn.id"], name="fk_feedback_turn"),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_feedback_turn", "feedback", ["turn", "person"], unique=True)
    op.create_index("ix_feedback_person", "feedback", ["person"])
    op.create_index("ix_feedback_owner", "feedback", ["owner"])
    op.create_index("ix_feedback_time", "feedback", ["time"])


def downgrade() -> None:
    op.drop_table("feedback")
