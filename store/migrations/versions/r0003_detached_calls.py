"""An index to the calls of forgotten turns that still name their channel, for the budget of its day."""

import sqlalchemy as sa
from alembic import op

revision = "r0003"
down_revision = "r0002"


def upgrade() -> None:
    detached = sa.text("turn IS NULL AND channel != ''")
    op.create_index("ix_model_call_detached", "model_call", ["day"], sqlite_where=detached, postgresql_where=detached)
