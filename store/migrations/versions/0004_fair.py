"""When a message was taken in, and when a person was last served.

Revision 0004, after 0003.
"""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("turn", sa.Column("taken", sa.DateTime(timezone=True), nullable=True))
    op.create_index("ix_turn_person_taken", "turn", ["person", "taken"])
    op.create_index("ix_turn_channel_taken", "turn", ["channel", "taken"])
    op.add_column("person", sa.Column("served", sa.DateTime(timezone=True), nullable=True))


def downgrade() -> None:
    op.drop_column("person", "served")
    op.drop_index("ix_turn_channel_taken", "turn")
    op.drop_index("ix_turn_person_taken", "turn")
    op.drop_column("turn", "taken")
