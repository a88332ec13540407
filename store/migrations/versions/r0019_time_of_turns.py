"""Keep where a turn's time went, and let sums of what was spent be read from one index."""

import sqlalchemy as sa
from alembic import op

revision = "r0019"
down_revision = "r0018"
LOSES = (
    ("times of turns and of models' answers", "SELECT count(*) FROM model_call WHERE ms IS NOT NULL"),
    ("times at which turns started", "SELECT count(*) FROM turn WHERE began IS NOT NULL"),
)


def upgrade() -> None:
    op.add_column("turn", sa.Column("began", sa.DateTime(timezone=True), nullable=True))
    ended = sa.text("taken IS NOT NULL AND ended IS NOT NULL")
    op.create_index("ix_turn_ended", "turn", ["ended", "taken"], sqlite_where=ended, postgresql_where=ended)
    op.add_column("model_call", sa.Column("began", sa.DateTime(timezone=True), nullable=True))
    op.add_column("model_call", sa.Column("ms", sa.BigInteger(), nullable=True))
    op.add_column("model_call", sa.Column("first_ms", sa.BigInteger(), nullable=True))
    tokens = ["input_uncached", "input_cached", "input_written", "output", "reasoning"]
    spent = ["day", "model", "person", "channel", "cost", *tokens, "estimated"]
    op.create_index("ix_model_call_spent", "model_call", spent)
    op.drop_index("ix_model_call_day", "model_call")


def downgrade() -> None:
    op.create_index("ix_model_call_day", "model_call", ["day"])
    op.drop_index("ix_model_call_spent", "model_call")
    for name in ("first_ms", "ms", "began"):
        op.drop_column("model_call", name)
    op.drop_index("ix_turn_ended", "turn")
    op.drop_column("turn", "began")
