"""Replies found by their pages, and what people think of them.

Revision 0014, after 0013.
"""

import json

import sqlalchemy as sa
from alembic import op

revision = "0014"
down_revision = "0013"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "page",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("turn", sa.Integer(), nullable=False),
        sa.Column("source", sa.Text(), nullable=False),
        sa.Column("page", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(["turn"], ["turn.id"], name="fk_page_turn_turn"),
        sa.PrimaryKeyConstraint("id", name="pk_page"),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_page_page", "page", ["page", "source"])
    op.create_index("ix_page_turn", "page", ["turn"])
    op.create_table(
        "verdict",
        sa.Column("turn", sa.Integer(), nullable=False),
        sa.Column("person", sa.Text(), nullable=False),
        sa.Column("verdict", sa.Text(), nullable=False),
        sa.Column("time", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["turn"], ["turn.id"], name="fk_verdict_turn_turn"),
        sa.PrimaryKeyConstraint("turn", "person", name="pk_verdict"),
    )
    op.create_index("ix_verdict_person", "verdict", ["person"])
    op.create_index("ix_verdict_time", "verdict", ["time"])
    _take_over()


def _take_over() -> None:
    """The pages of the replies so far."""
    connection = op.get_bind()
    turn = sa.table("turn", sa.column("id"), sa.column("source"), sa.column("pages"))
    page = sa.table("page", sa.column("turn"), sa.column("source"), sa.column("page"))
    ended = connection.execute(sa.select(turn).where(turn.c.pages != "[]")).all()
    shown = [{"turn": one.id, "source": one.source, "page": each} for one in ended for each in json.loads(one.pages)]
    if shown:
        connection.execute(sa.insert(page), shown)


def downgrade() -> None:
    op.drop_table("verdict")
    op.drop_table("page")
