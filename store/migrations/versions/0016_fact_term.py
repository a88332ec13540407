"""Words that lead to facts, how their values were read, and when they were last used.

Revision 0016, after 0015. The words and readings are filled in at the start that follows (`store.memory.fact_index`).
"""

import sqlalchemy as sa
from alembic import op

revision = "0016"
down_revision = "0015"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("fact", sa.Column("used", sa.DateTime(timezone=True), nullable=True))
    op.add_column("fact", sa.Column("reading", sa.Text(), server_default="", nullable=False))
    op.add_column("fact", sa.Column("reader", sa.Integer(), server_default="0", nullable=False))
    op.create_index("ix_fact_valid", "fact", ["person", "is_valid", "id"])
    op.create_index("ix_fact_binding", "fact", ["person", "is_constraint", "id"])
    op.create_table(
        "fact_term",
        sa.Column("person", sa.Text(), nullable=False),
        sa.Column("term", sa.Text(), nullable=False),
        sa.Column("fact", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(["fact"], ["fact.id"], name="fk_fact_term_fact"),
        sa.PrimaryKeyConstraint("person", "term", "fact", name="pk_fact_term"),
    )
    op.create_index("ix_fact_term_fact", "fact_term", ["fact"])


def downgrade() -> None:
    op.drop_table("fact_term")
    op.drop_index("ix_fact_binding", "fact")
    op.drop_index("ix_fact_valid", "fact")
    for name in ("reader", "reading", "used"):
        op.drop_column("fact", name)
