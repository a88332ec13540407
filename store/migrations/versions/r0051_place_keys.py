"""Store channels' own keys for services of models, and which calls were made with them."""

import sqlalchemy as sa
from alembic import op

revision = "r0051"
down_revision = "r0050"
EXPANDS = True
LOSES = (
    ("channels' own API keys; their managers have to enter them again", "SELECT count(*) FROM place_key"),
    ("marks that a model was called with a channel's own key", "SELECT count(*) FROM model_call WHERE own_key"),
)


def upgrade() -> None:
    op.create_table(
        "place_key",
        sa.Column("id", sa.Integer(), primary_key=True),
        *(sa.Column(name, sa.Text(), nullable=False) for name in ("source", "channel", "audience", "vendor")),
        sa.Column("sealed", sa.LargeBinary(), nullable=False),
        *(sa.Column(name, sa.Text(), nullable=False) for name in ("ending", "mark")),
        sa.Column("added", sa.DateTime(timezone=True), nullable=False),
        sa.Column("refused", sa.DateTime(timezone=True), nullable=True),
        sa.UniqueConstraint("source", "channel", "vendor", name="uq_place_key_source"),
        sa.UniqueConstraint("mark", name="uq_place_key_mark"),
    )
    op.add_column("model_call", sa.Column("own_key", sa.Boolean(), nullable=False, server_default=sa.false()))


def downgrade() -> None:
    op.drop_column("model_call", "own_key")
    op.drop_table("place_key")
