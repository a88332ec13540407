"""Keep of each reply what its tools brought for fewer than read it: of earlier ones nothing such is known."""

import sqlalchemy as sa
from alembic import op

revision = "r0005"
down_revision = "r0004"
NO_WAY_BACK = "the earlier version would quote replies without checking who can read their sources"


def upgrade() -> None:
    for table in ("message", "action_record"):
        op.add_column(table, sa.Column("drawn_from", sa.Text(), server_default="", nullable=False))
    drawn = sa.text("drawn_from <> ''")
    op.create_index("ix_message_drawn", "message", ["conversation", "id"], sqlite_where=drawn, postgresql_where=drawn)
