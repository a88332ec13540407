"""Store the last runs of `cogency eval`."""

import sqlalchemy as sa
from alembic import op

revision = "r0045"
down_revision = "r0041"
EXPANDS = True
LOSES = (("results of `cogency eval`", "SELECT count(*) FROM eval_run"),)


def upgrade() -> None:
    op.create_table(
        "eval_run",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("time", sa.DateTime(timezone=True), nullable=False),
        sa.Column("file", sa.Text(), nullable=False),
        sa.Column("models", sa.Text(), nullable=False),
        sa.Column("questions", sa.Text(), nullable=False),
        sa.Column("repeat", sa.Integer(), nullable=False),
        sa.Column("threshold", sa.Float(), nullable=False),
        sa.Column("has_passed", sa.Boolean(), nullable=False),
        sa.Column("seconds", sa.Float(), nullable=False),
        sa.Column("judge", sa.Text(), nullable=False),
        sa.Column("judge_cost", sa.BigInteger(), nullable=True),
        sa.Column("stopped", sa.Text(), nullable=False),
        sa.Column("answers", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_eval_run"),
        sqlite_autoincrement=True,
    )


def downgrade() -> None:
    op.drop_table("eval_run")
