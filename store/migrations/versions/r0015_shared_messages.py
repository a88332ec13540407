"""Keep of each message with the team of which place it is shared, if it is."""

import sqlalchemy as sa
from alembic import op

revision = "r0015"
down_revision = "r0014"


def upgrade() -> None:
    op.add_column("message", sa.Column("place", sa.Integer(), nullable=True))
    of_places = sa.text("place IS NOT NULL")
    op.create_index("ix_message_place", "message", ["place", "id"], sqlite_where=of_places, postgresql_where=of_places)
