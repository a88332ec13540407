"""Vectors of messages, where a model for embeddings is set.

Revision 0011, after 0010.
"""

import sqlalchemy as sa
from alembic import op

revision = "0011"
down_revision = "0010"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "embedding",
        sa.Column("message", sa.Integer(), nullable=False),
        sa.Column("model", sa.Text(), nullable=False),
        sa.Column("signs", sa.LargeBinary(), nullable=False),
        sa.Column("vector", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(["message"], ["message.id"], name="fk_embedding_message", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("message", name="pk_embedding"),
    )
    op.create_index("ix_embedding_model", "embedding", ["model", "message", "signs"])


def downgrade() -> None:
    op.drop_table("embedding")
